//! The threads: where the time of each goes, grouped by stage.

use std::fmt::Write as _;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::pipeline::Stage;
use crate::profile::snapshot::{Group, LaneSample, Snapshot, ThreadSample, Wait};
use crate::profile::window::Window;
use crate::tui::app::App;
use crate::tui::format::{MISSING, fit, percent, rate};
use crate::tui::layout::Layout;
use crate::tui::theme::{State, Theme};
use crate::tui::widgets::{bar, panel, threads};

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    /// The name of a group, and what to know of it.
    Group(&'static str, &'static str),
    /// All lanes together.
    Lanes,
    /// A load lane.
    Lane(&'a LaneSample),
    /// A thread.
    Thread(&'a ThreadSample),
}

/// All rows, in order: the lanes together, the stages' threads from source to sink, the others, and
/// the lanes one by one, of which there may be hundreds.
pub fn rows(snapshot: &Snapshot) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let groups = Stage::ALL.into_iter().map(Group::Stage);
    for group in groups.chain([Group::Runtime, Group::Own, Group::Foreign]) {
        let threads = snapshot.threads.iter().filter(|t| t.group == group).map(Row::Thread);
        let lanes = group == Group::Stage(Stage::Load) && !snapshot.lanes.is_empty();
        let threads: Vec<_> = threads.collect();
        if threads.is_empty() && !lanes {
            continue;
        }
        rows.push(match group {
            Group::Stage(stage) if lanes => {
                Row::Group(stage.name(), "a lane is one read in flight")
            }
            Group::Stage(stage) => Row::Group(stage.name(), ""),
            Group::Runtime => Row::Group("runtime", "beneath the lanes"),
            Group::Own => Row::Group("pipetop's own", "out of the totals"),
            Group::Foreign => Row::Group("foreign", "a library's: CPU time only"),
        });
        if lanes {
            rows.push(Row::Lanes);
        }
        rows.extend(threads);
    }
    if !snapshot.lanes.is_empty() {
        rows.push(Row::Group("lanes", "one by one"));
        rows.extend(snapshot.lanes.iter().map(Row::Lane));
    }
    rows
}

/// The numbers beside the bar, as far as they fit: name and width.
const NUMBERS: [(&str, u16); 10] = [
    ("CPU", 6),
    ("runnable", 10),
    ("lock", 6),
    ("starved", 9),
    ("backpr.", 9),
    ("img/s", 8),
    ("core", 6),
    ("GPU", 6),
    ("I/O", 6),
    ("other", 7),
];

/// Width of the names.
const NAME: u16 = 16;
/// The least width of the bars.
const LEAST_BAR: u16 = 12;

/// Draws the table.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout) {
    let area = layout.table;
    let all = app.snapshot().map(rows).unwrap_or_default();
    let inner = panel::panel(
        frame,
        theme,
        layout.size,
        area,
        "threads",
        position(app, theme, &all, layout),
    );
    if inner.height < 2 {
        return;
    }
    let (columns, bar_width) = columns(inner.width);
    head(frame, theme, Rect { height: 1, ..inner }, columns, bar_width);
    let Some(window) = app.window() else {
        let note = Line::styled("  measuring", theme.label);
        frame.render_widget(note, Rect { y: inner.y + 1, height: 1, ..inner });
        return;
    };
    let page = inner.height.saturating_sub(2);
    let body = Rect { y: inner.y + 1, height: page, ..inner };
    let scroll = app.scroll().min(all.len().saturating_sub(usize::from(page)));
    for (row, at) in all.iter().skip(scroll).zip(body.rows()) {
        let spans = draw(row, &window, columns, bar_width, theme);
        frame.render_widget(Line::from(spans), at);
    }
    let foot = Rect { y: inner.bottom() - 1, height: 1, ..inner };
    let mut legend = vec![Span::raw(" ")];
    legend.extend(threads::legend(theme, foot.width + 18));
    frame.render_widget(Line::from(legend), foot);
}

/// Which rows are shown of how many, where not all are.
fn position<'a>(app: &App, theme: &Theme, all: &[Row<'_>], layout: &Layout) -> Vec<Span<'a>> {
    let around = if layout.size.bordered() { 4 } else { 3 };
    let page = usize::from(layout.table.height.saturating_sub(around));
    if all.len() <= page {
        return Vec::new();
    }
    let first = app.scroll().min(all.len() - page) + 1;
    vec![Span::styled(
        format!("rows {first} to {} of {}", first + page - 1, all.len()),
        theme.label,
    )]
}

fn columns(width: u16) -> (&'static [(&'static str, u16)], u16) {
    let mut count = NUMBERS.len();
    loop {
        let numbers: u16 = NUMBERS[..count].iter().map(|(_, width)| width).sum();
        let bar = width.saturating_sub(NAME + numbers + 2);
        if bar >= LEAST_BAR || count == 0 {
            return (&NUMBERS[..count], bar);
        }
        count -= 1;
    }
}

fn head(frame: &mut Frame<'_>, theme: &Theme, row: Rect, columns: &[(&str, u16)], bar_width: u16) {
    let mut text = format!(" {:<name$}", "thread", name = usize::from(NAME) - 1);
    let width = usize::from(bar_width);
    let time = if width > 19 { "where its time goes" } else { "states" };
    let _ = write!(text, "{:<width$}", fit(time, width));
    for (name, width) in columns {
        let _ = write!(text, "{name:>width$}", width = usize::from(*width));
    }
    frame.render_widget(Line::styled(text, theme.label), row);
}

fn draw(
    row: &Row<'_>,
    window: &Window<'_>,
    columns: &[(&'static str, u16)],
    bar_width: u16,
    theme: &Theme,
) -> Vec<Span<'static>> {
    match row {
        Row::Group(name, note) => {
            let mut spans = vec![Span::styled(format!(" {name}"), theme.accent)];
            if !note.is_empty() {
                spans.push(Span::styled(format!("  {note}"), theme.label));
            }
            spans
        }
        Row::Lanes => {
            let mean = threads::lane_mean(window);
            let n = mean.map_or(0, |(n, _)| n);
            let states = mean.map(|(_, shares)| bar::lane_states(&shares));
            line(
                &format!("{n} lanes"),
                states.as_ref(),
                None,
                None,
                None,
                columns,
                bar_width,
                theme,
            )
        }
        Row::Lane(lane) => {
            let states = bar::lane_states(&window.lane(lane));
            let from = window.from().lanes.iter().find(|from| from.name == lane.name);
            let images = window.rate(from.map_or(0, |from| from.items), lane.items);
            line(&lane.name, Some(&states), None, images, None, columns, bar_width, theme)
        }
        Row::Thread(thread) => {
            let states = window.thread(thread).map(|(_, shares)| bar::states(&shares));
            let pipeline = matches!(thread.group, Group::Stage(_));
            line(
                &thread.name,
                states.as_ref(),
                window.thread_cpu(thread),
                window.thread_rate(thread).filter(|_| pipeline),
                thread.core,
                columns,
                bar_width,
                theme,
            )
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "one row of a table, with its columns")]
fn line(
    name: &str,
    states: Option<&[(State, f64); State::ALL.len()]>,
    cpu: Option<f64>,
    images: Option<f64>,
    core: Option<u32>,
    columns: &[(&'static str, u16)],
    bar_width: u16,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let width = usize::from(NAME) - 3;
    let mut spans = vec![Span::styled(format!("   {:<width$}", fit(name, width - 1)), theme.text)];
    spans.extend(match states {
        Some(states) => bar::stacked(states, bar_width, theme),
        None => bar::unknown(bar_width, theme),
    });
    let share = |state: State| {
        states.and_then(|states| states.iter().find(|(s, _)| *s == state)).map(|&(_, share)| share)
    };
    for &(column, width) in columns {
        let (text, style) = match column {
            "img/s" => (images.map_or_else(|| MISSING.to_owned(), |v| rate(Some(v))), theme.value),
            "core" => {
                (core.map_or_else(|| MISSING.to_owned(), |core| core.to_string()), theme.text)
            }
            "CPU" => (percent(cpu), theme.value),
            name => {
                let state = match name {
                    "runnable" => State::Runnable,
                    "lock" => State::Wait(Wait::Lock),
                    "starved" => State::Wait(Wait::Starved),
                    "backpr." => State::Wait(Wait::Backpressured),
                    "GPU" => State::Wait(Wait::Gpu),
                    "I/O" => State::Wait(Wait::Io),
                    _ => State::Other,
                };
                let share = share(state);
                let some = share.is_some_and(|share| share >= 0.005);
                (percent(share), if some { theme.state(state) } else { theme.label })
            }
        };
        let style = if text.trim() == MISSING { theme.label } else { style };
        spans.push(Span::styled(format!("{text:>width$}", width = usize::from(width)), style));
    }
    spans
}
