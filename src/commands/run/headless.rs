//! A run without a dashboard: progress on stderr.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::pipeline::control::Pipeline;
use crate::probe::clock::{self, Nanos};
use crate::profile::limit::{Limit, limit};
use crate::profile::sampler::Sampler;
use crate::profile::snapshot::Snapshot;
use crate::profile::window::Window;

/// Waits until the run ends or a signal asks for its end.
pub(super) fn wait(sampler: &Sampler, pipeline: &Pipeline, signals: &AtomicBool) {
    let mut progress = Progress::new();
    let mut last = sampler.latest();
    while !pipeline.wait(Duration::from_millis(50)) {
        if signals.load(Ordering::Acquire) || pipeline.is_stopping() {
            break;
        }
        let now = sampler.latest();
        if progress.is_due() {
            progress.show(&last, &now);
            last = now;
        }
    }
    progress.end();
}

/// One line that is rewritten on a terminal; elsewhere a line every few seconds.
struct Progress {
    terminal: bool,
    shown: Nanos,
    written: bool,
}

impl Progress {
    fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), shown: clock::now(), written: false }
    }

    fn is_due(&self) -> bool {
        let period = if self.terminal { 500_000_000 } else { 2_000_000_000 };
        clock::now().saturating_sub(self.shown) >= period
    }

    fn show(&mut self, last: &Arc<Snapshot>, now: &Arc<Snapshot>) {
        self.shown = clock::now();
        self.written = true;
        let line = line(last, now);
        let mut err = std::io::stderr().lock();
        // Nobody reads it: nobody misses it.
        let _ = if self.terminal { write!(err, "\r\x1b[K{line}") } else { writeln!(err, "{line}") };
        let _ = err.flush();
    }

    fn end(&self) {
        if self.terminal && self.written {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(last: &Snapshot, now: &Snapshot) -> String {
    let window = Window::between(last, now);
    let labels = now.label_words();
    let labels =
        if labels.is_empty() { String::new() } else { format!("  [{}]", labels.join(", ")) };
    let rate = window.throughput().map_or_else(|| "—".to_owned(), |rate| format!("{rate:.1}"));
    let p99 = window.latency().quantile(0.99);
    let p99 = p99.map_or_else(|| "—".to_owned(), |p99| format!("{:.1}", p99 / 1e6));
    let limit = match limit(&window) {
        Limit::Measuring => "measuring…".to_owned(),
        Limit::Stage(stage) => format!("{stage} limits"),
        Limit::Input => "input is slower".to_owned(),
    };
    let failed = match now.items.failed {
        0 => String::new(),
        failed => format!("  {failed} failed"),
    };
    format!(
        "{:6.1} s  {rate:>9} img/s  p99 {p99:>8} ms  {} predicted{failed}  {limit}{labels}",
        now.at as f64 / 1e9,
        now.items.predicted,
    )
}
