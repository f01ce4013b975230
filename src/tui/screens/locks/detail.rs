//! The selected lock: its waits by length, who holds it and who waits, and how that was over time.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Split, Rect};
use ratatui::text::{Line, Span};

use super::rows::LockRow;
use crate::probe::clock::Nanos;
use crate::probe::histogram::Histogram;
use crate::profile::snapshot::Wait;
use crate::profile::window::LockUse;
use crate::tui::app::App;
use crate::tui::format::{MISSING, fit, length, percent, rate, thousands};
use crate::tui::layout::Layout;
use crate::tui::theme::{State, Theme};
use crate::tui::widgets::{bar, chart, lengths, panel};

/// How far back the charts reach.
const SPAN: Nanos = 60_000_000_000;
/// From this width on the histogram and the rest lie side by side.
const SIDE_BY_SIDE: u16 = 96;

/// Draws the panel.
pub fn render(
    frame: &mut Frame<'_>,
    app: &App,
    theme: &Theme,
    layout: &Layout,
    area: Rect,
    row: &LockRow<'_>,
) {
    let whole = app.locks().whole();
    let range = if whole {
        "waits of the whole run".to_owned()
    } else {
        format!("waits of the window: {}", app.length_name())
    };
    let right = vec![Span::styled(range, theme.label)];
    let inner = panel::panel(frame, theme, layout.size, area, &row.lock.title(), right);
    let waits =
        if whole { Some(&row.lock.waits) } else { row.used.as_ref().map(|used| &used.waits) };
    if inner.width >= SIDE_BY_SIDE && inner.height >= 8 {
        let [left, _, right] =
            Split::horizontal([Constraint::Fill(1), Constraint::Length(1), Constraint::Fill(1)])
                .areas(inner);
        histogram(frame, theme, left, waits);
        let facts = facts(app, row, waits, theme, right.width);
        let height = facts.len() as u16;
        put(frame, right, facts);
        let below =
            Rect { y: right.y + height, height: right.height.saturating_sub(height), ..right };
        charts(frame, app, theme, row, below);
    } else {
        let mut told = facts(app, row, waits, theme, inner.width);
        told.extend(sparklines(app, theme, row, inner.width));
        // The histogram keeps three rows.
        told.truncate(usize::from(inner.height.saturating_sub(3)));
        let height = told.len() as u16;
        put(frame, inner, told);
        let below = Rect { y: inner.y + height, height: inner.height - height, ..inner };
        histogram(frame, theme, below, waits);
    }
}

fn put(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'_>>) {
    for (line, row) in lines.into_iter().zip(area.rows()) {
        frame.render_widget(line, row);
    }
}

fn histogram(frame: &mut Frame<'_>, theme: &Theme, area: Rect, waits: Option<&Histogram>) {
    lengths::render(frame, area, waits, theme.state(State::Wait(Wait::Lock)), theme);
}

/// Who holds it and who waits, and its waits in numbers.
fn facts(
    app: &App,
    row: &LockRow<'_>,
    waits: Option<&Histogram>,
    theme: &Theme,
    width: u16,
) -> Vec<Line<'static>> {
    let room = usize::from(width).saturating_sub(11);
    let label = |text: &str| Span::styled(format!(" {text:<9}"), theme.label);
    let holder = row.lock.holder.clone();
    let (holder, style) = match holder {
        Some(holder) => (holder, theme.value),
        None => ("nobody at this moment".to_owned(), theme.text),
    };
    let mut lines = vec![
        Line::from(vec![label("held by"), Span::styled(fit(&holder, room), style)]),
        Line::from(vec![
            label("waiting"),
            Span::styled(fit(&waiting(app, row), room), theme.state(State::Wait(Wait::Lock))),
        ]),
    ];
    if let Some(switching) = row.used.as_ref().and_then(|used| used.switching) {
        let of = |per_second| rate(Some(per_second));
        let text = format!(
            "{}/s  forced {}/s  asked for {}/s",
            of(switching.switches),
            of(switching.forced),
            of(switching.requests)
        );
        lines.push(Line::from(vec![label("switches"), Span::styled(fit(&text, room), theme.text)]));
    }
    let quantile = |q| length(waits.and_then(|waits| waits.quantile(q)));
    let n = waits.map_or(0, Histogram::count);
    let mut text = thousands(n);
    if n > 0 {
        let (p50, p99, most) = (quantile(0.5), quantile(0.99), quantile(1.0));
        text = format!("{text}  p50 {p50}  p99 {p99}  max {most}");
    }
    lines.push(Line::from(vec![label("waits"), Span::styled(fit(&text, room), theme.text)]));
    lines
}

/// The threads that wait for it now; more may wait than were seen in their own state.
fn waiting(app: &App, row: &LockRow<'_>) -> String {
    let threads = app.snapshot().map(|snapshot| snapshot.threads.as_slice()).unwrap_or_default();
    let named = threads.iter().filter(|thread| thread.lock.as_deref() == Some(&row.lock.name));
    let names: Vec<_> = named.map(|thread| thread.name.as_str()).collect();
    match (row.lock.waiters, names.as_slice()) {
        (0, []) => "nobody at this moment".to_owned(),
        (n, []) => n.to_string(),
        (n, names) if n as usize > names.len() => format!("{n}, of these {}", names.join(", ")),
        (_, names) => names.join(", "),
    }
}

/// What a lock was like over time, column by column.
fn over_time(
    app: &App,
    row: &LockRow<'_>,
    columns: usize,
    value: impl Fn(LockUse) -> Option<f64>,
) -> Vec<Option<f64>> {
    let windows = app.history().column_windows(columns, SPAN);
    let used = windows.into_iter().map(|window| {
        let window = window?;
        let lock = window.to().locks.iter().find(|lock| lock.name == row.lock.name)?;
        value(window.lock(lock)?)
    });
    used.collect()
}

/// Contended share and time waited over the last minute, in a row each.
fn sparklines(app: &App, theme: &Theme, row: &LockRow<'_>, width: u16) -> Vec<Line<'static>> {
    let cells = usize::from(width.saturating_sub(18));
    let line = |name: &str, value: &dyn Fn(LockUse) -> Option<f64>| {
        let now = row.used.clone().and_then(value);
        let mut spans = vec![Span::styled(format!(" {name:<10}"), theme.label)];
        let now = percent(now);
        let style = if now.trim() == MISSING { theme.label } else { theme.value };
        spans.push(Span::styled(format!("{now} "), style));
        let past = over_time(app, row, cells, value);
        // A share of one thread's time may be more than one.
        let top = past.iter().flatten().copied().fold(1.0, f64::max);
        let past: Vec<_> = past.iter().map(|v| v.map(|v| v / top)).collect();
        spans.extend(bar::sparkline(&past, theme.state(State::Wait(Wait::Lock)), theme));
        Line::from(spans)
    };
    vec![
        line("contended", &|used: LockUse| used.contended),
        line("waited", &|used: LockUse| Some(used.wait)),
    ]
}

/// The same as charts.
fn charts(frame: &mut Frame<'_>, app: &App, theme: &Theme, row: &LockRow<'_>, area: Rect) {
    let [upper, lower] = Split::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    let one =
        |frame: &mut Frame<'_>, area: Rect, title: &str, value: &dyn Fn(LockUse) -> Option<f64>| {
            if area.height < 3 {
                return;
            }
            let head = Rect { height: 1, ..area };
            frame.render_widget(Line::styled(format!(" {title}"), theme.label), head);
            let area = Rect { y: area.y + 1, height: area.height - 1, ..area };
            let plot = chart::plot(area);
            let past = over_time(app, row, usize::from(plot.width), value);
            let most = past.iter().flatten().copied().fold(0.0, f64::max);
            let top = if most > 1.0 { chart::ceiling(most) } else { 1.0 };
            chart::axis(frame, area, top, |v| format!("{:.0}%", v * 100.0), theme);
            chart::area(frame, plot, &past, top, theme.state(State::Wait(Wait::Lock)), theme);
            chart::marks(frame, plot, &app.history().marks(usize::from(plot.width), SPAN), theme);
        };
    one(frame, upper, "acquisitions that had to wait · 60 s", &|used| used.contended);
    one(frame, lower, "time waited, of one thread's time · 60 s", &|used| Some(used.wait));
}
