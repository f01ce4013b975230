//! The overview: how fast, what limits it, what to turn.
//!
//! ```text
//!  pipetop  photos/ → efficientnet_lite0 · CPU (AVX2)      1 Overview  2 Threads  ▶ 00:01:42
//!   12 480 img/s   p50 21.0 ms  p95 30.1 ms  p99 41.2 ms                          synthetic
//! ─ pipeline ── n ─ busy ────────── img/s ─ p50 / p95 ms ─ queue ───── depth ────────────────
//!   load        8  ███▍┄┄┄┄┄  41%  15 100   2.10 /  4.02   ███████▍  212/256
//! ▶ preprocess  2  ██████████ 100%  12 480   9.10 / 14.20  ▏┄┄┄┄┄┄┄    0/4     ◀ limits
//! ▌ preprocess limits  work waits for it 98% of the time, the device idles 62%
//! ▌ → raise preprocess.threads 2 → 3
//! ─ knobs ─────────────── preprocess workers that run: decode, resize, normalise ────────────
//! ```

use ratatui::Frame;

use crate::profile::limit::{Limit, limit};
use crate::profile::snapshot::Phase;
use crate::tui::advice::advice;
use crate::tui::app::App;
use crate::tui::layout::Layout;
use crate::tui::theme::Theme;
use crate::tui::widgets::{failures, knobs, machine, pipeline, plots, queues, threads, verdict};

/// Draws the overview.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout) {
    // What limits is always told of the shortest window, so that a turned knob shows at once.
    let second = app.history().verdict();
    let running = second.filter(|second| second.to().phase == Phase::Running);
    let limit = running.map_or(Limit::Measuring, |second| limit(&second));
    pipeline::render(frame, app, theme, layout, limit);
    verdict::render(frame, app, theme, layout, &advice(second.as_ref()));
    knobs::render(frame, app, theme, layout);
    if let Some(area) = layout.throughput {
        plots::throughput(frame, app, theme, layout, area);
    }
    if let Some(area) = layout.latency {
        plots::latency(frame, app, theme, layout, area);
    }
    if let Some(area) = layout.queues {
        queues::render(frame, app, theme, layout, area);
    }
    if let Some(area) = layout.threads {
        threads::render(frame, app, theme, layout, area);
    }
    if let Some(area) = layout.machine {
        machine::render(frame, app, theme, layout, area);
    }
    if let Some(area) = layout.failures {
        failures::render(frame, app, theme, area);
    }
}
