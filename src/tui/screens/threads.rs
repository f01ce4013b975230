//! The threads: where the time of each goes, grouped by stage.
//!
//! ```text
//! ┌ threads · prep (2 of 14) ──────────────────────────── threads use 1.92 cores, pipetop 0.01 ┐
//! │ thread           time spent                  CPU▼  lock  runnable  img/s  vol/s  inv/s core │
//! │ ▾ preprocess ×2                                                                             │
//! │ ▌  prep-0        ██████████████╳╳╳╳╳╳╳╳╳░    51%   44%        1%    205  1 310     12    0  │
//! │    prep-1        █████████████╳╳╳╳╳╳╳╳╳╳░    48%   46%        2%    207  1 298     15    1  │
//! │ █ running  ▓ runnable  ░ starved  ▒ back-pressured  ╳ lock                                  │
//! └─────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```

pub mod columns;
pub mod past;
pub mod rows;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use self::columns::Column;
use self::rows::{Member, Row, Rows, Subject, group_name};
use crate::pipeline::Stage;
use crate::profile::snapshot::{Group, Wait};
use crate::profile::window::Window;
use crate::tui::app::App;
use crate::tui::format::{MISSING, fit};
use crate::tui::layout::Layout;
use crate::tui::table::Placed;
use crate::tui::theme::{State, Theme};
use crate::tui::widgets::bar::Stack;
use crate::tui::widgets::{bar, heads, note, panel, threads};

/// Draws the table, or the past of the opened thread.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout) {
    if let Some(subject) = app.opened() {
        past::render(frame, app, theme, layout, subject);
        return;
    }
    let rows = app.thread_rows();
    let page = usize::from(layout.rows.height);
    let (selected, first) = app.thread_place(&rows, page);
    let right = right(app, theme, &rows, (first, page));
    let title = title(app, theme, &rows);
    let inner = panel::panel(frame, theme, layout.size, layout.table, &title, right);
    if inner.height < 2 {
        return;
    }
    if note::bare(app) {
        note::render(frame, theme, inner, note::BARE);
        return;
    }
    let mut sort = app.threads().sort();
    // Names go up where figures go down.
    sort.reversed ^= sort.by == Column::Name;
    heads::render(frame, theme, &layout.thread_columns, sort, |column| {
        (column.name(), column.left())
    });
    if rows.rows.is_empty() {
        let text = match app.window() {
            None => "measuring".to_owned(),
            Some(_) => format!("nothing is named like `{}`", app.threads().filter()),
        };
        note::render(frame, theme, layout.rows, &text);
    }
    for ((index, row), at) in rows.rows.iter().enumerate().skip(first).zip(layout.rows.rows()) {
        let line = Line::from(line(row, index == selected, layout, theme));
        frame.render_widget(line, at);
    }
    let foot = Rect { y: inner.bottom() - 1, height: 1, ..inner };
    frame.render_widget(
        Line::from(foot_line(app, &rows, theme, &layout.thread_columns, foot.width)),
        foot,
    );
}

/// The filter and how many passed it; while it is typed, with a cursor.
fn title(app: &App, theme: &Theme, rows: &Rows<'_>) -> String {
    let view = app.threads();
    let cursor = if view.typing() { theme.pick("▏", "_") } else { "" };
    if view.filter().is_empty() && !view.typing() {
        return "threads".to_owned();
    }
    format!("threads · /{}{cursor} ({} of {})", view.filter(), rows.matched, rows.all)
}

/// What the threads use together, and which rows are shown where not all are.
fn right<'a>(
    app: &App,
    theme: &Theme,
    rows: &Rows<'_>,
    (first, page): (usize, usize),
) -> Vec<Span<'a>> {
    let mut spans = Vec::new();
    if let Some(cores) = app.window().and_then(|window| used(&window)) {
        spans.push(Span::styled("the pipeline uses ", theme.label));
        spans.push(Span::styled(format!("{cores:.2}"), theme.value));
        spans.push(Span::styled(" cores", theme.label));
    }
    let all = rows.rows.len();
    if all > page {
        let last = (first + page).min(all);
        let position = format!("{}–{last} of {all}", first + 1);
        if !spans.is_empty() {
            spans.push(Span::raw("  "));
        }
        spans.push(Span::styled(position, theme.label));
    }
    spans
}

/// Cores that all threads but pipetop's own use together; `None` where one could not be read.
fn used(window: &Window<'_>) -> Option<f64> {
    let threads = window.to().threads.iter().filter(|thread| thread.group != Group::Own);
    let cpus: Option<Vec<f64>> = threads.map(|thread| window.thread_cpu(thread)).collect();
    cpus.filter(|cpus| !cpus.is_empty()).map(|cpus| cpus.iter().sum())
}

/// The glyphs of the states; where stages are folded, what their figures mean.
fn foot_line(
    app: &App,
    rows: &Rows<'_>,
    theme: &Theme,
    columns: &[Placed<Column>],
    width: u16,
) -> Vec<Span<'static>> {
    let folded = rows.rows.iter().any(|row| matches!(row, Row::Folded { .. }));
    let note = match (folded, app.threads().ranges()) {
        (true, true) => "folded: least/median/most   ",
        (true, false) => "folded: median   ",
        (false, _) => "",
    };
    let mut spans = vec![Span::styled(format!(" {note}"), theme.text)];
    let bars = columns.iter().find(|placed| placed.column == Column::States);
    let bars = bars.map_or(0, |placed| placed.head.width);
    let stacks = rows.rows.iter().flat_map(|row| match row {
        Row::Folded { open, .. } => {
            open.iter().filter_map(|member| member.figures.states).collect()
        }
        Row::Member(member) => member.figures.states.into_iter().collect(),
        Row::Head { .. } => Vec::new(),
    });
    let room = usize::from(width).saturating_sub(note.len() + 2);
    spans.extend(threads::legend(theme, room, &threads::drawn(stacks, bars)));
    spans
}

fn line(row: &Row<'_>, selected: bool, layout: &Layout, theme: &Theme) -> Vec<Span<'static>> {
    match row {
        Row::Head { group, members, parked } => head(*group, (*members, *parked), selected, theme),
        Row::Folded { group, open, all } => folded(*group, open, *all, selected, layout, theme),
        Row::Member(member) => thread(member, selected, layout, theme),
    }
}

/// The mark of the selected row.
fn mark(selected: bool, theme: &Theme) -> Span<'static> {
    Span::styled(if selected { theme.pick("▌", ">") } else { " " }, theme.accent)
}

fn head(
    group: Group,
    (members, parked): (usize, usize),
    selected: bool,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let note = match group {
        Group::Stage(Stage::Load) => "a lane is one read in flight",
        Group::Stage(_) => "",
        Group::Runtime => "beneath the lanes",
        Group::Own => "its own, out of the totals",
        Group::Foreign => "a library's: CPU time only",
    };
    let name = format!(
        "{} {} ×{}",
        theme.pick("▾", "-"),
        group_name(group),
        members - parked.min(members)
    );
    let parked = if parked > 0 { format!("  {parked} parked") } else { String::new() };
    vec![
        mark(selected, theme),
        Span::styled(name, theme.accent),
        Span::styled(format!("{parked}  {note}"), theme.label),
    ]
}

fn folded(
    group: Group,
    open: &[Member<'_>],
    all: usize,
    selected: bool,
    layout: &Layout,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let stacks: Vec<Stack> = open.iter().filter_map(|member| member.figures.states).collect();
    let mean = bar::mean(&stacks);
    let count = match open.len() {
        n if n == all => format!("×{n}"),
        // Of these, so many are not parked.
        n => format!("{n}/{all}"),
    };
    let name = format!("{} {} {count}", theme.pick("▸", "+"), group_name(group));
    cells(&name, theme.accent, mean.as_ref(), selected, layout, theme, |column, width| {
        if column == Column::LockName {
            return (String::new(), theme.text);
        }
        let values: Vec<f64> =
            open.iter().filter_map(|member| member.figures.get(column)).collect();
        let text = column.write_range(values, width);
        (text, state_style(column, mean.as_ref(), theme))
    })
}

fn thread(
    member: &Member<'_>,
    selected: bool,
    layout: &Layout,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let figures = &member.figures;
    let style = match (selected, member.group) {
        (true, _) => theme.accent,
        (false, Group::Own) => theme.label,
        (false, _) => theme.text,
    };
    let name = format!("  {}", member.subject.name());
    let states = figures.states.as_ref();
    cells(&name, style, states, selected, layout, theme, |column, width| match column {
        Column::LockName => match member.subject {
            Subject::Thread(thread) => {
                let lock = thread.lock.as_deref().unwrap_or_default();
                (fit(lock, width.saturating_sub(2)), theme.state(State::Wait(Wait::Lock)))
            }
            Subject::Lane(_) => (String::new(), theme.text),
        },
        column => (column.write(figures.get(column)), state_style(column, states, theme)),
    })
}

/// How a figure is drawn: a state's in its colour where there is any of it.
fn state_style(column: Column, states: Option<&Stack>, theme: &Theme) -> Style {
    match column {
        Column::Share(state) => {
            let share = states.and_then(|stack| stack.iter().find(|(s, _)| *s == state));
            let some = share.is_some_and(|&(_, share)| share >= 0.005);
            if some { theme.state(state) } else { theme.label }
        }
        Column::Core => theme.text,
        _ => theme.value,
    }
}

/// A row: name, bar, and a figure a column.
fn cells(
    name: &str,
    style: Style,
    states: Option<&Stack>,
    selected: bool,
    layout: &Layout,
    theme: &Theme,
    figure: impl Fn(Column, usize) -> (String, Style),
) -> Vec<Span<'static>> {
    let mut spans = vec![mark(selected, theme)];
    for placed in &layout.thread_columns {
        let width = placed.head.width;
        let cells = usize::from(width);
        match placed.column {
            Column::Name => {
                let name = fit(name, cells.saturating_sub(2));
                let pad = " ".repeat(cells.saturating_sub(1 + name.width()));
                spans.push(Span::styled(format!("{name}{pad}"), style));
            }
            Column::States => spans.extend(match states {
                Some(states) => bar::stacked(states, width, theme),
                None => bar::unknown(width, theme),
            }),
            column => {
                let (text, style) = figure(column, cells);
                let style = if text == MISSING { theme.label } else { style };
                let pad = cells.saturating_sub(text.width());
                let (before, after) =
                    if column.left() { (2.min(pad), pad.saturating_sub(2)) } else { (pad, 0) };
                let text = format!("{}{text}{}", " ".repeat(before), " ".repeat(after));
                spans.push(Span::styled(text, style));
            }
        }
    }
    spans
}
