//! The report as text, 80 columns wide, for the scrollback of a terminal.

pub(in crate::export) mod format;
mod gpus;

use std::fmt::Write;

use super::report::{Quantiles, Report, ShareReport, ThreadReport};
use crate::pipeline::Stage;
use crate::pipeline::knobs::KnobValue;
use crate::profile::limit::Limit;
use format::{clipped, count, ms, percent, rate, shown, wrapped};

/// Columns of the text.
pub const WIDTH: usize = 80;
/// A setting that held for less is not worth a row: a dragged gauge makes dozens.
const SHORT_S: f64 = 0.5;
/// Columns of a thread's bar.
const BAR: usize = 30;
/// The most threads that are listed; the JSON report has all.
const MOST_THREADS: usize = 48;

/// A space at which no line is broken.
const UNBROKEN: char = '\u{a0}';

/// With which characters the text is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// ASCII alone (names from outside are kept as they are).
    pub ascii: bool,
}

/// The report as text; each line ends with a line's end.
pub fn render(report: &Report, style: Style) -> String {
    let mut text = Text { out: String::new(), style };
    text.head(report);
    text.limit(report);
    text.items(report);
    text.stages(report);
    text.queues(report);
    text.threads(report);
    text.locks(report);
    text.gpus(report);
    text.segments(report);
    text.notices(report);
    text.knobs(report);
    text.machine(report);
    text.out
}

struct Text {
    out: String,
    style: Style,
}

impl Text {
    fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if self.style.ascii {
            let line = line.replace('—', "-").replace('→', "->").replace('·', "|");
            self.out += &line.replace('°', "").replace('µ', "u");
        } else {
            self.out += line;
        }
        let kept = self.out.trim_end_matches(' ').len();
        self.out.truncate(kept);
        self.out.push('\n');
    }

    /// A heading with a rule to the right edge.
    fn heading(&mut self, title: &str) {
        let rule = if self.style.ascii { "-" } else { "─" };
        let rest = WIDTH.saturating_sub(title.chars().count() + 1);
        let line = format!("{title} {}", rule.repeat(rest));
        self.line("");
        self.line(line);
    }

    fn head(&mut self, report: &Report) {
        for label in &report.labels {
            let of = report.labelled.iter().filter(|l| l.word.word() == *label);
            let what: Vec<_> = of.map(|l| l.what.as_str()).collect();
            self.line(format!("{}: {}", label.to_uppercase(), what.join(", ")));
        }
        if report.own.bare {
            self.line("NO PROBES: threads, queues and locks were not measured");
        }
        let input = &report.input;
        let images = if input.images == 1 { "image" } else { "images" };
        let engine = &report.engine;
        let model = if engine.classes == 0 {
            engine.name.clone()
        } else {
            format!("{}, {}", shown(&engine.model), engine.name)
        };
        let title = format!("{} ({} {images}) → {model}", shown(&input.name), count(input.images));
        self.line(clipped(&title, WIDTH));
        self.line("");
        let latency = &report.latency_ms;
        self.line(format!(
            "{:>10} img/s   latency p50 {}  p95 {}  p99 {} ms   {} MB/s read",
            rate(report.throughput_img_s),
            ms(latency.p50),
            ms(latency.p95),
            ms(latency.p99),
            rate(report.read_mb_s),
        ));
        self.line(format!(
            "           over {:.1} s, after {:.1} s of warm-up",
            report.window_s, report.warmup_s
        ));
        if let Some(behind) = report.items.behind_s.filter(|&behind| behind >= 0.1) {
            self.line(format!(
                "           the set arrival rate was not kept: behind by {behind:.1} s at the stop"
            ));
        }
    }

    fn limit(&mut self, report: &Report) {
        let why = match report.limit {
            Limit::Measuring if report.own.bare => "not known: the run had no probes".to_owned(),
            Limit::Measuring => "too little was measured to say".to_owned(),
            Limit::Input => "none: the pipeline keeps up with the set arrival rate".to_owned(),
            Limit::Stage(stage) => {
                let ready = |name: &str| {
                    let queue = report.queues.iter().find(|queue| queue.name == name);
                    percent(queue.and_then(|queue| queue.ready))
                };
                let (before, after) = around(stage);
                let mut why = stage.name().to_owned();
                if let Some(before) = before {
                    let _ = write!(
                        why,
                        ": `{before}` before it had work ready for {} of the time",
                        ready(before).trim()
                    );
                }
                if let Some(after) = after {
                    let link = if before.is_some() { ", `" } else { ": `" };
                    let had = if before.is_some() { "" } else { "had work ready for " };
                    let _ = write!(why, "{link}{after}` after it {had}{}", ready(after).trim());
                }
                if let Some(name) = &report.limit_lock {
                    let lock = report.locks.iter().find(|lock| lock.name == *name);
                    let label = lock.and_then(|lock| lock.label);
                    let label = label.map_or_else(String::new, |label| format!(" ({label})"));
                    let _ = write!(why, "; its threads wait for the lock `{name}`{label}");
                }
                why
            }
        };
        self.line("");
        for (index, line) in wrapped(&why, WIDTH - 8).into_iter().enumerate() {
            self.line(format!("{:<7} {line}", if index == 0 { "limit" } else { "" }));
        }
    }

    fn items(&mut self, report: &Report) {
        let items = &report.items;
        self.line(format!(
            "images  {} read = {} predicted + {} failed + {} abandoned",
            count(items.read),
            count(items.predicted),
            count(items.failed),
            count(items.abandoned)
        ));
        for (reason, times) in &items.failures {
            let named = items.failed_items.iter().filter(|item| item.reason == *reason);
            let names: Vec<_> = named.map(|item| shown(&item.name)).collect();
            let head = format!("        {:>7} {reason:<14}", count(*times));
            let room = WIDTH.saturating_sub(head.chars().count() + 1);
            self.line(format!("{head} {}", clipped(&names.join(", "), room)));
        }
        if items.failed_unlisted > 0 {
            self.line(format!(
                "        {:>7} of these are counted without their names",
                count(items.failed_unlisted)
            ));
        }
    }

    fn stages(&mut self, report: &Report) {
        self.heading("stages");
        self.line(format!(
            "{:<12}{:>8}{:>11}{:>7}{:>8}{:>11}{:>9}{:>9}",
            "", "threads", "img/s", "busy", "device", "p50 ms", "p95 ms", "p99 ms"
        ));
        for stage in &report.stages {
            let service = &stage.service_ms;
            self.line(format!(
                "{:<12}{:>8}{:>11}{:>7}{:>8}{:>11}{:>9}{:>9}",
                stage.name,
                stage.threads,
                rate(stage.img_s),
                percent(stage.busy),
                percent(stage.device_busy),
                ms(service.p50),
                ms(service.p95),
                ms(service.p99),
            ));
        }
        self.line(
            "threads of load are reads in flight; times are one image's, in infer one batch's",
        );
    }

    fn queues(&mut self, report: &Report) {
        self.heading("queues");
        self.line(format!(
            "{:<12}{:>8}{:>11}{:>19}{:>19}",
            "", "depth", "of", "something ready", "no room"
        ));
        for queue in &report.queues {
            let depth = queue.depth_mean.map_or_else(|| "—".to_owned(), |d| format!("{d:.1}"));
            self.line(format!(
                "{:<12}{depth:>8}{:>11}{:>19}{:>19}  {}",
                queue.name,
                count(queue.capacity),
                percent(queue.ready),
                percent(queue.full),
                queue.unit
            ));
        }
    }

    fn threads(&mut self, report: &Report) {
        self.heading("threads");
        self.line(format!("{:<20}{:>6}{:>10}  where the time went", "", "cpu", "images"));
        let (runtime, listed): (Vec<_>, Vec<_>) =
            report.threads.iter().partition(|thread| thread.group == "runtime");
        for thread in listed.iter().copied().take(MOST_THREADS) {
            let bar = match &thread.share {
                // What pipetop's own threads wait for is no part of the pipeline's story.
                _ if thread.group == "own" => String::new(),
                Some(share) => bar(share, self.style.ascii),
                None => "cpu time alone is known".to_owned(),
            };
            let items = match thread.group {
                "stage" => count(thread.items),
                _ => String::new(),
            };
            let name = clipped(&named(thread), 20);
            self.line(format!("{name:<20}{:>6}{items:>10}  {bar}", percent(thread.cpu)));
        }
        if !runtime.is_empty() {
            let cpu = runtime.iter().filter_map(|thread| thread.cpu).sum();
            let name = format!("load-io ×{} (runtime)", runtime.len());
            let name = if self.style.ascii { name.replace('×', "x") } else { name };
            self.line(format!(
                "{name:<20}{:>6}{:>10}  they serve the load lanes",
                percent(Some(cpu)),
                ""
            ));
        }
        if let Some(more) = listed.len().checked_sub(MOST_THREADS).filter(|&n| n > 0) {
            self.line(format!("… {more} more: the JSON report has them all"));
        }
        self.lanes(report);
        let legend: Vec<_> = glyphs(self.style.ascii)
            .iter()
            .map(|(glyph, name, _)| format!("{glyph}{UNBROKEN}{name}"))
            .collect();
        for line in wrapped(&legend.join("  "), WIDTH) {
            self.line(line.replace(UNBROKEN, " "));
        }
    }

    /// Read slots are many and alike: their mean.
    fn lanes(&mut self, report: &Report) {
        let lanes = report.lanes.len();
        if lanes == 0 {
            return;
        }
        let mean = |share: fn(&super::report::LaneShareReport) -> f64| {
            let sum: f64 = report.lanes.iter().map(|lane| share(&lane.share)).sum();
            percent(Some(sum / lanes as f64)).trim().to_owned()
        };
        let line = format!(
            "load lanes, mean of {lanes}: io {}, delay {}, back-pressured {}, starved {}, \
             parked{UNBROKEN}{}",
            mean(|s| s.io),
            mean(|s| s.delay),
            mean(|s| s.backpressured),
            mean(|s| s.starved),
            mean(|s| s.parked)
        );
        for line in wrapped(&line, WIDTH) {
            self.line(line.replace(UNBROKEN, " "));
        }
    }

    fn locks(&mut self, report: &Report) {
        let taken: Vec<_> = report.locks.iter().filter(|lock| lock.acquisitions > 0).collect();
        if taken.is_empty() {
            return;
        }
        self.heading("locks");
        self.line(format!(
            "{:<20}{:>14}{:>11}{:>12}{:>12}",
            "", "acquisitions", "contended", "waited s", "held s"
        ));
        for lock in taken {
            let name = match lock.label {
                Some(label) => format!("{} ({label})", lock.name),
                None => lock.name.clone(),
            };
            let held = lock.hold_s.map_or_else(|| "—".to_owned(), |held| format!("{held:.3}"));
            self.line(format!(
                "{:<20}{:>14}{:>11}{:>12.3}{held:>12}",
                clipped(&name, 20),
                count(lock.acquisitions),
                percent(lock.contended),
                lock.wait_s
            ));
        }
    }

    fn notices(&mut self, report: &Report) {
        if report.notices.is_empty() {
            return;
        }
        self.heading("what happened");
        for notice in &report.notices {
            for line in wrapped(&format!("{:.1} s  {}", notice.at_s, notice.text), WIDTH) {
                self.line(line);
            }
        }
    }

    fn segments(&mut self, report: &Report) {
        if report.segments.len() < 2 {
            return;
        }
        self.heading("by knob setting");
        self.line(format!(
            "{:<8}{:>10}{:>10}{:>10}  {}",
            "from", "img/s", "p50 ms", "p99 ms", "turned"
        ));
        let last = report.segments.len() - 1;
        let held = |index: usize| {
            let segment = &report.segments[index];
            index == last || segment.to_s - segment.from_s >= SHORT_S
        };
        for (_, segment) in report.segments.iter().enumerate().filter(|&(index, _)| held(index)) {
            let Quantiles { p50, p99, .. } = segment.latency_ms;
            let turned: Vec<_> = report
                .knob_changes
                .iter()
                .filter(|change| change.epoch == segment.epoch)
                .map(|change| format!("{} {} → {}", change.knob, change.from, change.to))
                .collect();
            let from = format!("{:.1} s", segment.from_s);
            self.line(format!(
                "{from:<8}{:>10}{:>10}{:>10}  {}",
                rate(segment.throughput_img_s),
                ms(p50),
                ms(p99),
                clipped(&turned.join(", "), WIDTH - 40)
            ));
        }
        let short = (0..=last).filter(|&index| !held(index)).count();
        if short > 0 {
            self.line(format!(
                "{short} more that held for less than {SHORT_S} s: in the JSON report"
            ));
        }
    }

    fn knobs(&mut self, report: &Report) {
        self.heading("knobs at the stop");
        let knobs: Vec<_> = report
            .knobs
            .iter()
            .map(|(id, value)| {
                let spec = id.spec();
                // "unlimited" stands alone, as do words.
                let unit = match value {
                    KnobValue::Rate(None) | KnobValue::Choice(..) => "",
                    _ => spec.unit,
                };
                format!("{:<26}{}", spec.name, format!("{value} {unit}").trim_end())
            })
            .collect();
        for pair in knobs.chunks(2) {
            self.line(format!("{:<40}{}", pair[0], pair.get(1).map_or("", String::as_str)));
        }
    }

    fn machine(&mut self, report: &Report) {
        let (host, own) = (&report.host, &report.own);
        self.heading("machine");
        let cpu = host.cpu_name.as_deref().unwrap_or("CPU of unknown name");
        let of = host.cpus.map_or_else(String::new, |cpus| format!(" of {cpus}"));
        let cores = if host.cores == 1 { "core" } else { "cores" };
        let gib = |mib: Option<f64>| {
            mib.map_or_else(|| "—".to_owned(), |mib| format!("{:.1}", mib / 1024.0))
        };
        let line = format!(
            "{} · {}{of} {cores} usable · CPU {} · memory {} of {}{UNBROKEN}GiB",
            shown(cpu),
            host.cores,
            percent(host.cpu).trim(),
            gib(host.memory_used_mib),
            gib(host.memory_total_mib)
        );
        for line in wrapped(&line, WIDTH) {
            self.line(line.replace(UNBROKEN, " "));
        }
        let cores =
            |cores: Option<f64>| cores.map_or_else(|| "—".to_owned(), |c| format!("{c:.2}"));
        let own_share =
            own.cpu.map_or_else(|| "—".to_owned(), |cpu| format!("{:.1}%", cpu * 100.0));
        let rss = own.rss_mib.map_or_else(|| "—".to_owned(), |rss| format!("{rss:.0}"));
        let mut line = format!(
            "pipetop itself (its own threads) {own_share} of a core; the whole process {} cores, \
             {rss} MiB",
            cores(own.process_cpu)
        );
        if own.samples_missed > 0 {
            let _ = write!(line, "; {} samples late or missed", count(own.samples_missed));
        }
        for line in wrapped(&line, WIDTH) {
            self.line(line.replace(UNBROKEN, " "));
        }
        let id = format!("run {} · pipetop {}", report.run_id, report.version);
        self.line(id);
    }
}

/// The queues before and after a stage.
const fn around(stage: Stage) -> (Option<&'static str>, Option<&'static str>) {
    match stage {
        Stage::Load => (None, Some("loaded")),
        Stage::Preprocess => (Some("loaded"), Some("batches")),
        Stage::Infer => (Some("batches"), Some("results")),
        Stage::Decode => (Some("results"), Some("answers")),
        Stage::Respond => (Some("answers"), None),
    }
}

/// A thread's name, with its group where that is not a stage.
fn named(thread: &ThreadReport) -> String {
    match thread.group {
        "stage" => shown(&thread.name),
        "own" => format!("{} (pipetop)", shown(&thread.name)),
        group => format!("{} ({group})", shown(&thread.name)),
    }
}

type Glyph = (char, &'static str, fn(&ShareReport) -> f64);

/// The characters of a bar, in their order in it: those of the screen.
fn glyphs(ascii: bool) -> [Glyph; 9] {
    let [running, runnable, lock, gpu, io, pressed, starved, parked, other] =
        if ascii { *b"#+xgi%._?" } else { [0; 9] };
    let pick = |ascii_glyph: u8, glyph: char| if ascii { ascii_glyph as char } else { glyph };
    [
        (pick(running, '█'), "running", |s| s.running),
        (pick(runnable, '▓'), "runnable", |s| s.runnable),
        (pick(lock, '╳'), "lock", |s| s.lock),
        (pick(gpu, '▞'), "gpu", |s| s.gpu),
        (pick(io, '≈'), "io", |s| s.io),
        (pick(pressed, '▒'), "back-pressured", |s| s.backpressured),
        (pick(starved, '░'), "starved", |s| s.starved),
        (pick(parked, '·'), "parked", |s| s.parked),
        (pick(other, '╌'), "other", |s| s.other),
    ]
}

/// Shares as a bar of [`BAR`] characters: cells go to the largest remainders.
fn bar(share: &ShareReport, ascii: bool) -> String {
    let glyphs = glyphs(ascii);
    let exact = glyphs.map(|(_, _, of)| of(share).max(0.0) * BAR as f64);
    let mut cells = exact.map(|cells| cells as usize);
    while cells.iter().sum::<usize>() < BAR {
        let remainder = |index: usize| exact[index] - cells[index] as f64;
        let next = (0..cells.len()).max_by(|&a, &b| remainder(a).total_cmp(&remainder(b)));
        match next {
            Some(next) if remainder(next) > 0.0 => cells[next] += 1,
            _ => break,
        }
    }
    glyphs.iter().zip(cells).flat_map(|((glyph, ..), n)| std::iter::repeat_n(*glyph, n)).collect()
}

#[cfg(test)]
mod tests;
