//! How throughput goes with a knob, while a sweep measures it.
//!
//! ```text
//! ┌ throughput by preprocess.threads ──────────── 5 of 16, 00:42 left ┬ points ──────────────┐
//! │ ● native  ▲ gil-hold  ┈ ideal                                     │ threads  img/s    ±% │
//! │     ┤                                 ⠔●                          │▌      1   84.6   0.9 │
//! │     ┤                    ⠔●⠒   ┊ 16 cores                         │       2  162.5   1.2 │
//! │     ┤      ⠔●▲⠒▲                                                  │       3      …       │
//! ├ native, 3 threads: 243 img/s ±4.1% of 3% ─────────────────────────┤                      │
//! │ ● native     scales 1.9 × at 2 threads                            │                      │
//! └───────────────────────────────────────────────────────────────────┴──────────────────────┘
//! ```

pub mod chart;
pub mod heat;
pub mod table;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::tui::app::App;
use crate::tui::format::{clauses, clock, fit, rate};
use crate::tui::layout::{Layout, Size};
use crate::tui::theme::{State as Look, Theme};
use crate::tui::widgets::{bar, panel, stack};
use crate::tune::axis::Axis;
use crate::tune::curve::Curve;
use crate::tune::say;
use crate::tune::sweep::{State, Sweep};

/// What stands here while nothing is swept.
const HINT: [&str; 7] = [
    "No sweep runs.",
    "",
    "pipetop sweep --over preprocess.threads=1..16",
    "",
    "measures throughput at each value of a knob, with 95 % confidence, and",
    "draws it: how far it scales, what the threads wait for, where it stops.",
    "--svg, --png, --csv and --json keep it; pipetop sweep --help tells more.",
];

/// A work's mark: filled, hollow (more threads than cores), and in ASCII.
const MARKS: [(&str, &str, &str); 6] = [
    ("●", "○", "o"),
    ("▲", "△", "^"),
    ("■", "□", "#"),
    ("◆", "◇", "*"),
    ("▼", "▽", "v"),
    ("✚", "┼", "+"),
];

/// A work's mark.
pub(super) const fn mark(work: usize, hollow: bool, theme: &Theme) -> &'static str {
    let (filled, open, ascii) = MARKS[work % MARKS.len()];
    theme.pick(if hollow { open } else { filled }, ascii)
}

/// A work's colour.
pub(super) const fn style(work: usize, theme: &Theme) -> Style {
    [theme.knob, theme.upper, theme.busy, theme.queue, theme.lower, theme.text][work % 6]
}

/// Draws the screen.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout) {
    let Some(sweep) = app.sweep() else {
        let inner = panel::panel(frame, theme, layout.size, layout.table, "sweep", Vec::new());
        for (index, (text, row)) in HINT.iter().zip(inner.rows()).enumerate() {
            let style = if index == 2 { theme.accent } else { theme.text };
            let text = format!(" {}", fit(text, usize::from(row.width).saturating_sub(1)));
            frame.render_widget(Line::styled(text, style), row);
        }
        return;
    };
    let curves = Curve::all(sweep);
    let names: Vec<_> = sweep.axes.iter().map(Axis::name).collect();
    let title = format!("throughput by {}", names.join(" and "));
    let right = vec![Span::styled(progress(sweep), theme.label)];
    let inner = panel::panel(frame, theme, layout.size, layout.tune.chart, &title, right);
    if curves.is_empty() {
        heat::render(frame, app, sweep, theme, inner);
    } else {
        chart::render(frame, sweep, &curves, theme, inner);
    }
    says(frame, sweep, &curves, theme, layout);
    if !layout.tune.shares.is_empty() {
        shares(frame, app, sweep, theme, layout);
    }
    let right = match sweep.axes[..] {
        [_] if sweep.works.len() == 1 => Vec::new(),
        _ => vec![Span::styled(format!("{}", sweep.points.len()), theme.label)],
    };
    let inner = panel::panel(frame, theme, layout.size, layout.table, "points", right);
    table::render(frame, app, sweep, &curves, theme, layout, inner);
}

/// `5 of 16, 00:00:42 left`.
fn progress(sweep: &Sweep) -> String {
    let (done, all) = (sweep.done(), sweep.points.len());
    match (sweep.state, sweep.left()) {
        (State::Done, _) => format!("{all} of {all}, done"),
        (State::Interrupted, _) => format!("{done} of {all}, ended"),
        (State::Running, None) => format!("{done} of {all}"),
        (State::Running, Some(left)) => {
            // Hours stand there only where there are some.
            let left = clock(left);
            format!("{done} of {all}, {} left", left.strip_prefix("00:").unwrap_or(&left))
        }
    }
}

/// What is measured now: `native, 8 threads: 578 img/s ±4.1%`.
fn now(sweep: &Sweep, theme: &Theme, width: usize) -> Vec<Span<'static>> {
    let Some(now) = &sweep.now else {
        let text = if sweep.state == State::Done { "all points are measured" } else { "starting" };
        return vec![Span::styled(format!(" {text}"), theme.label)];
    };
    let point = &sweep.points[now.point];
    let values =
        sweep.values(point).into_iter().map(|(id, value)| format!("{} {value}", id.spec().label));
    let values = values.collect::<Vec<_>>().join(", ");
    let work = &sweep.works[point.work].name;
    let name = if sweep.works.len() > 1 { format!("{work}, {values}") } else { values };
    let mut spans =
        vec![Span::styled(theme.pick(" ▸ ", " > "), theme.notice), Span::styled(name, theme.value)];
    let rated = now.rate.filter(|rate| rate.slices > 0);
    let Some(of) = rated else {
        let text = if now.warming { "warming up" } else { "measuring" };
        spans.push(Span::styled(format!("  {text}"), theme.label));
        return spans;
    };
    spans.push(Span::styled(format!("  {}", rate(Some(of.mean))), theme.value));
    spans.push(Span::styled(" img/s", theme.label));
    let target = sweep.target.relative;
    if let Some(relative) = of.relative() {
        let sign = theme.pick("±", "+-");
        spans.push(Span::styled(format!("  {sign}{:.1}%", relative * 100.0), theme.value));
        let text = format!(" of {}% ", say::plain(target * 100.0));
        spans.push(Span::styled(text, theme.label));
        let used: usize = spans.iter().map(Span::width).sum();
        let room = width.saturating_sub(used + 12).min(24);
        if room >= 6 {
            // Full when the interval is as narrow as it should be.
            let share = (target / relative.max(1e-9)).min(1.0);
            spans.extend(bar::gauge(share, room as u16, theme.busy, theme));
        }
    }
    let (elapsed, limit) = (now.elapsed as f64 / 1e9, sweep.target.limit as f64 / 1e9);
    spans.push(Span::styled(format!(" {elapsed:.0}/{limit:.0} s"), theme.label));
    spans
}

/// What is measured now, and what each work shows so far.
fn says(
    frame: &mut Frame<'_>,
    sweep: &Sweep,
    curves: &[Curve<'_>],
    theme: &Theme,
    layout: &Layout,
) {
    let area = layout.tune.says;
    let emulated = (0..sweep.works.len()).filter(|&work| sweep.emulated(work));
    let emulated: Vec<_> = emulated.map(|work| sweep.works[work].name.as_str()).collect();
    let right = match &emulated[..] {
        [] => Vec::new(),
        names => vec![Span::styled(format!("emulated: {}", names.join(", ")), theme.label)],
    };
    let inner = match layout.size {
        Size::Compact => area,
        _ => panel::panel(frame, theme, layout.size, area, "so far", right),
    };
    let width = usize::from(inner.width);
    let mut lines = vec![Line::from(now(sweep, theme, width))];
    let longest = sweep.works.iter().map(|work| work.name.width()).max().unwrap_or(0);
    for (index, work) in sweep.works.iter().enumerate() {
        let text =
            curves.get(index).map_or_else(|| say::map(sweep, index), |curve| curve.sentence(sweep));
        let alone = sweep.works.len() == 1 && work.name == "as-set";
        let name = if alone { String::new() } else { format!("{:longest$} ", work.name) };
        let room = width.saturating_sub(3 + name.width());
        let text = text.replace("each thread ", "");
        lines.push(Line::from(vec![
            Span::styled(format!(" {} ", mark(index, false, theme)), style(index, theme)),
            Span::styled(name, theme.text),
            Span::styled(clauses(&text, room).replace('×', theme.pick("×", "x")), theme.label),
        ]));
    }
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        frame.render_widget(line, row);
    }
}

/// Where the time of the threads went, a bar a point of the selected point's work.
fn shares(frame: &mut Frame<'_>, app: &App, sweep: &Sweep, theme: &Theme, layout: &Layout) {
    let selected = app.selected_point();
    let Some(of) = sweep.points.get(selected) else { return };
    let points: Vec<_> = sweep.of_work(of.work).filter(|point| point.at[1] == of.at[1]).collect();
    let stacks: Vec<_> = points
        .iter()
        .map(|point| point.measured().and_then(|m| m.shares.as_ref()).map(bar::states))
        .collect();
    let seen = |state: &Look| {
        stacks.iter().flatten().flatten().any(|&(of, share)| of == *state && share >= 0.01)
    };
    let mut right: Vec<Span<'_>> = Vec::new();
    for state in Look::ALL.into_iter().filter(seen) {
        right.push(Span::styled(theme.glyph(state), theme.state(state)));
        right.push(Span::styled(format!(" {}  ", state.name()), theme.label));
    }
    let work = &sweep.works[of.work].name;
    let title = if sweep.works.len() > 1 {
        format!("{} threads, {work}", sweep.stage)
    } else {
        format!("{} threads", sweep.stage)
    };
    let inner = panel::panel(frame, theme, layout.size, layout.tune.shares, &title, right);
    let rows = inner.height.saturating_sub(1);
    let plot = Rect {
        x: inner.x + chart::LEFT.min(inner.width),
        width: inner.width.saturating_sub(chart::LEFT),
        height: rows,
        ..inner
    };
    let count = points.len().max(1) as u16;
    let each = (plot.width / count).clamp(1, 9);
    let bar = each.saturating_sub(1).max(1);
    let mut columns = vec![None; usize::from(plot.width)];
    let mut free = plot.x;
    for (index, (point, stack)) in points.iter().zip(&stacks).enumerate() {
        let from = index as u16 * each;
        for column in from..(from + bar).min(plot.width) {
            columns[usize::from(column)] = *stack;
        }
        let name = sweep.axes[0].values[point.at[0]].to_string();
        let x = plot.x + from;
        let wide = name.width() as u16;
        if x >= free && x + wide <= plot.right() {
            let style = if std::ptr::eq(*point, of) { theme.accent } else { theme.label };
            frame.buffer_mut().set_string(x, plot.bottom(), &name, style);
            free = x + wide + 1;
        }
    }
    stack::render(frame, plot, &columns, theme);
    for (share, y) in [("100%", 0), ("0%", rows.saturating_sub(1))] {
        let text = format!("{share:>7} ");
        frame.buffer_mut().set_stringn(
            inner.x,
            inner.y + y,
            text,
            usize::from(chart::LEFT),
            theme.label,
        );
    }
}
