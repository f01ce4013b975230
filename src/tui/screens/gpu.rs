//! The GPU: busy, and how full, which is another thing.
//!
//! ```text
//! ┌ GPU 0 · NVIDIA H200 ─────────────────────────────────────────── driver 580.159 · Hopper ┐
//! │▌small kernels  busy 100%, SM active 36%, SM occupancy 4%: kernels are resident but small │
//! ├ figures · 60 s ──────────────────────────────────────────────────────────────────────────┤
//! │ busy          100%  ████████████████▇▇███████████████████████████████████████████████   │
//! │ our events     98%  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇   │
//! │ SM occupancy    4%  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁   │
//! ├ state ─────────────────────────────────┬ our batches ────────────┬ processes ───────────┤
//! │ clocks    SM 1 755 of 1 980 MHz        │ copy in 1.2 ms …        │ pipetop     2.0 GiB  │
//! └────────────────────────────────────────┴─────────────────────────┴──────────────────────┘
//! ```

pub mod batches;
pub mod figures;
mod missing;
mod processes;
mod state;
pub mod table;

use ratatui::Frame;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::profile::snapshot::GpuWatch;
use crate::tui::app::App;
use crate::tui::format::{clauses, fit};
use crate::tui::layout::Layout;
use crate::tui::readings::{self, Figures};
use crate::tui::theme::Theme;
use crate::tui::widgets::panel;

/// Draws the screen.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout) {
    let Some((index, window)) = app.gpu().zip(app.window()) else {
        missing::render(frame, app, theme, layout);
        return;
    };
    if !layout.rows.is_empty() {
        table::render(frame, app, theme, layout);
    }
    reading(frame, app, theme, layout, index);
    figures::render(frame, app, theme, layout, index);
    if let Some(used) = window.gpu(index) {
        state::render(frame, &used, &window, index, theme, layout);
        processes::render(frame, used.sample(), theme, layout);
    }
    batches::render(frame, app, theme, layout, layout.gpu.batches);
}

/// Which GPU, and what its figures say together.
fn reading(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout, index: usize) {
    let Some((snapshot, window)) = app.snapshot().zip(app.window()) else { return };
    let Some(gpu) = snapshot.gpus.get(index) else { return };
    let figures = Figures::of(&window, index).unwrap_or_default();
    let (name, text) = readings::reading(&figures);
    let area = layout.gpu.reading;
    let title = format!("GPU {} · {}", gpu.facts.number(), gpu.facts.name);
    let title = theme.write(&title);
    let mut about = Vec::new();
    if let GpuWatch::On { driver, recorded, .. } = &snapshot.gpu_watch {
        if *recorded {
            about.push("recorded".to_owned());
        }
        about.extend(driver.as_ref().map(|driver| format!("driver {driver}")));
    }
    about.extend(gpu.facts.architecture.clone());
    if snapshot.engine_gpu() == Some(index) {
        about.push("the engine's".to_owned());
    }
    match gpu.usable {
        Some(true) => {}
        Some(false) => about.push("not for this run".to_owned()),
        None => about.push("maybe not for this run".to_owned()),
    }
    let about = about.join(theme.pick(" · ", " - "));
    let style = if gpu.lost.is_some() { theme.alarm } else { theme.notice };
    let inner = if layout.size.bordered() {
        let right = vec![Span::styled(about.clone(), theme.label)];
        panel::panel(frame, theme, layout.size, area, &title, right)
    } else {
        area
    };
    let plain = if layout.size.bordered() { "  " } else { "| " };
    let edge = || Span::styled(theme.pick("▌ ", plain), style);
    let width = usize::from(inner.width);
    let mut lines = Vec::new();
    if !layout.size.bordered() {
        let room = width.saturating_sub(4 + title.width());
        let mut spans =
            vec![edge(), Span::styled(fit(&title, width.saturating_sub(3)), theme.value)];
        if !about.is_empty() && room > 12 {
            spans.push(Span::styled(format!("  {}", fit(&about, room)), theme.label));
        }
        lines.push(Line::from(spans));
    }
    let headline = fit(name, width.saturating_sub(3));
    let text = theme.write(&text);
    let room = width.saturating_sub(headline.width() + 5);
    let mut told = vec![edge(), Span::styled(headline.clone(), style)];
    if layout.size.bordered() || room < 20 {
        // The whole sentence has a row of its own where there is one.
        if layout.size.bordered() {
            lines.push(Line::from(told));
            let text = clauses(&text, width.saturating_sub(3));
            lines.push(Line::from(vec![edge(), Span::styled(text, theme.text)]));
        } else {
            lines.push(Line::from(told));
        }
    } else {
        told.push(Span::styled(format!("  {}", clauses(&text, room)), theme.text));
        lines.push(Line::from(told));
    }
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        frame.render_widget(line, row);
    }
}
