//! The stages, a row each: workers, how busy, how fast, service time, and the queue to the next.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{bar, panel};
use crate::pipeline::Stage;
use crate::profile::history::{History, QUEUES, Series};
use crate::profile::limit::Limit;
use crate::profile::snapshot::Snapshot;
use crate::profile::window::Window;
use crate::tui::app::App;
use crate::tui::format::{MISSING, nanos, percent, rate, thousands};
use crate::tui::layout::Layout;
use crate::tui::theme::Theme;

/// How far back the little histories of the queues reach.
const SPAN: u64 = 30_000_000_000;

/// From this width on a history has room for a word.
const DRAINING: u16 = 9;

/// Widths of the columns; 0 leaves a column out.
struct Columns {
    name: u16,
    workers: u16,
    busy: u16,
    rate: u16,
    service: u16,
    queue_name: u16,
    queue: u16,
    depth: u16,
    history: u16,
    limits: u16,
}

impl Columns {
    fn of(width: u16) -> Self {
        let service = if width >= 78 { 15 } else { 0 };
        let queue_name = if width >= 94 { 10 } else { 0 };
        let mut columns = Self {
            name: 11,
            workers: if width >= 78 { 4 } else { 3 },
            busy: 4,
            rate: 8,
            service,
            queue_name,
            queue: 4,
            depth: 10,
            history: 0,
            limits: 9,
        };
        let mut left = width.saturating_sub(columns.total());
        // The rest goes to what is drawn: bars first, then the histories.
        for most in [[9, 8, 12], [24, 16, 90]] {
            let drawn = [&mut columns.busy, &mut columns.queue, &mut columns.history];
            for (column, most) in drawn.into_iter().zip(most) {
                let more = left.min(u16::saturating_sub(most, *column));
                *column += more;
                left -= more;
            }
        }
        columns
    }

    /// All columns with the gaps between them.
    const fn total(&self) -> u16 {
        // A mark, the percentage of the busy gauge, a gap before the queue.
        2 + self.name
            + self.workers
            + 1
            + self.busy
            + 5
            + self.rate
            + self.service
            + 2
            + self.queue_name
            + self.queue
            + self.depth
            + self.history
            + 1
            + self.limits
    }
}

/// Draws the stages.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout, limit: Limit) {
    let area = layout.pipeline;
    let inner = if layout.size.bordered() {
        panel::panel(frame, theme, layout.size, area, "pipeline", Vec::new())
    } else {
        area
    };
    if inner.is_empty() {
        return;
    }
    let columns = Columns::of(inner.width);
    let top = Rect { height: 1, ..inner };
    if !layout.size.bordered() {
        panel::rule(frame, theme, top);
    }
    head(frame, theme, top, &columns, layout.size.bordered());
    let Some(snapshot) = app.snapshot() else { return };
    for (stage, row) in Stage::ALL.into_iter().zip(inner.rows().skip(1)) {
        let limits = limit == Limit::Stage(stage);
        let spans = stage_row(app, snapshot, theme, &columns, stage, limits);
        frame.render_widget(Line::from(spans), row);
    }
}

/// The names of the columns: numbers' names end where the numbers end.
fn head(frame: &mut Frame<'_>, theme: &Theme, row: Rect, columns: &Columns, bordered: bool) {
    let busy = 2 + columns.name + columns.workers + 1;
    let rate = busy + columns.busy + 5 + columns.rate;
    let service = rate + columns.service;
    let queue = service + 2;
    let depth = queue + columns.queue_name + columns.queue + columns.depth;
    let mut put = |text: &str, at: u16| {
        let text = format!(" {text} ");
        let x = row.x + at.saturating_sub(1);
        let width = (text.len() as u16).min(row.right().saturating_sub(x));
        frame.render_widget(Line::styled(text, theme.label), Rect { x, width, ..row });
    };
    put(if bordered { "stage" } else { "pipeline" }, 2);
    put("n", busy - 2);
    put("busy", busy);
    put("img/s", rate - 5);
    if columns.service > 0 {
        put("p50 / p95 ms", service - 12);
    }
    if columns.queue_name > 0 {
        put("queue after", queue);
    } else {
        put("queue", queue);
    }
    put("depth", depth - 5);
    if columns.history >= 8 {
        put("30 s", depth + 1);
    }
}

fn stage_row(
    app: &App,
    snapshot: &Snapshot,
    theme: &Theme,
    columns: &Columns,
    stage: Stage,
    limits: bool,
) -> Vec<Span<'static>> {
    let window = app.window();
    let sample = snapshot.stage(stage);
    let busy = window.and_then(|w| {
        if snapshot.run.engine.device && stage == Stage::Infer {
            w.device_busy(stage)
        } else {
            w.busy(stage)
        }
    });
    let name_style = if limits { theme.notice } else { theme.text };
    let workers = sample.map_or_else(|| MISSING.to_owned(), |s| s.workers.to_string());
    let (mark, name) = (if limits { theme.pick("▶ ", "* ") } else { "  " }, stage.name());
    let mut spans = vec![
        Span::styled(mark, theme.notice),
        Span::styled(format!("{name:<width$}", width = usize::from(columns.name)), name_style),
        Span::styled(
            format!("{:>width$} ", workers, width = usize::from(columns.workers)),
            theme.text,
        ),
    ];
    spans.extend(match busy {
        Some(busy) => {
            let style = if limits { theme.notice } else { theme.busy };
            bar::gauge(busy, columns.busy, style, theme)
        }
        None => bar::unknown(columns.busy, theme),
    });
    let faint = |text: &str| text.trim() == MISSING;
    let mut number = |text: String, width: u16| {
        let style = if faint(&text) { theme.label } else { theme.value };
        spans.push(Span::styled(format!("{:>width$}", text, width = usize::from(width)), style));
    };
    number(percent(busy), 5);
    number(rate(window.and_then(|w| w.stage_rate(stage))), columns.rate);
    if columns.service > 0 {
        spans.push(service(window, stage, columns.service, theme));
    }
    spans.push(Span::raw("  "));
    spans.extend(queue(app.history(), snapshot, stage, columns, theme));
    let draining = columns.history < DRAINING && draining(snapshot, stage);
    if draining && !limits {
        spans.push(Span::styled(" draining", theme.notice));
    }
    if limits {
        spans.push(Span::styled(theme.pick(" ◀ limits", " < limits"), theme.notice));
    }
    spans
}

fn service(window: Option<Window<'_>>, stage: Stage, width: u16, theme: &Theme) -> Span<'static> {
    let times = window.and_then(|w| w.service(stage));
    let quantile = |q| nanos(times.as_ref().and_then(|t| t.quantile(q)));
    let text = format!("{:>6} / {:>5}", quantile(0.5), quantile(0.95));
    Span::styled(format!("{:>width$}", text, width = usize::from(width)), theme.text)
}

/// Whether the queue behind a stage holds more than it has room for, since that was made less.
fn draining(snapshot: &Snapshot, stage: Stage) -> bool {
    let index = Stage::ALL.iter().position(|&s| s == stage);
    let queue = index.and_then(|index| snapshot.queue(QUEUES.get(index)?));
    queue.is_some_and(|queue| queue.depth > queue.capacity)
}

/// The queue behind a stage: name, fill, depth, history.
fn queue(
    history: &History,
    snapshot: &Snapshot,
    stage: Stage,
    columns: &Columns,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let blank = columns.queue_name + columns.queue + columns.depth + columns.history + 1;
    let nothing = || vec![Span::raw(" ".repeat(usize::from(blank)))];
    let Some(index) = Stage::ALL.iter().position(|&s| s == stage) else { return nothing() };
    let Some(name) = QUEUES.get(index) else { return nothing() };
    let mut spans = Vec::new();
    if columns.queue_name > 0 {
        let width = usize::from(columns.queue_name);
        spans.push(Span::styled(format!("{name:<width$}"), theme.label));
    }
    let Some(queue) = snapshot.queue(name) else {
        // A run without probes.
        let width = usize::from(columns.depth);
        spans.extend(bar::unknown(columns.queue, theme));
        spans.push(Span::styled(format!("{MISSING:>width$}"), theme.label));
        spans.push(Span::raw(" ".repeat(usize::from(columns.history) + 1)));
        return spans;
    };
    let fill = queue.depth as f64 / queue.capacity.max(1) as f64;
    spans.extend(bar::gauge(fill, columns.queue, theme.queue, theme));
    let capacity = format!("/{}", thousands(queue.capacity).replace(' ', ""));
    let width = usize::from(columns.depth).saturating_sub(capacity.len());
    let over = queue.depth > queue.capacity;
    let style = if over { theme.notice } else { theme.value };
    spans.push(Span::styled(format!("{:>width$}", queue.depth), style));
    spans.push(Span::styled(capacity, theme.label));
    // Its room was made less than what it holds.
    spans.push(Span::styled(if over { theme.pick("▼", "v") } else { " " }, theme.notice));
    let cells = usize::from(columns.history);
    if over && columns.history >= DRAINING {
        spans.push(Span::styled(format!("{:<cells$}", " draining"), theme.notice));
        return spans;
    }
    let past = history.columns(Series::QueueFill(index), cells, SPAN);
    spans.extend(bar::sparkline(&past, theme.queue, theme));
    spans
}
