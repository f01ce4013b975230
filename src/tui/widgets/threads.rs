//! The overview's threads: a bar of states each, or one a stage where they are too many.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::bar::Stack;
use super::{bar, note, panel};
use crate::pipeline::Stage;
use crate::profile::snapshot::{Group, Snapshot, ThreadSample, Wait};
use crate::profile::window::{Shares, Window};
use crate::tui::app::App;
use crate::tui::format::{fit, percent};
use crate::tui::layout::Layout;
use crate::tui::layout::tables::inside;
use crate::tui::theme::{State, Theme};

/// Width of a row's name.
const NAME: u16 = 16;

/// A row: a name, its states, its CPU.
struct Row {
    name: String,
    states: Option<Stack>,
    cpu: Option<f64>,
}

/// Draws the threads.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout, area: Rect) {
    let inner = inside(layout.size, area);
    let window = app.window().filter(|_| !note::bare(app));
    let all = window.as_ref().map(rows).unwrap_or_default();
    let each = all.len() <= usize::from(inner.height);
    let rows = if each { all } else { window.as_ref().map(by_stage).unwrap_or_default() };
    let rows: Vec<_> = rows.into_iter().take(usize::from(inner.height)).collect();
    // What several threads share a row for is a mean, the CPU too.
    let bars = inner.width.saturating_sub(NAME + 6);
    let drawn = drawn(rows.iter().filter_map(|row| row.states), bars);
    let room = |title: &str| usize::from(area.width).saturating_sub(title.width() + 8);
    let short = |state: State| state.short().to_owned();
    let title = match each {
        true => "threads",
        false if cells(&drawn, short, 1) <= room("threads · mean") => "threads · mean",
        // What is drawn must be named.
        false => "mean",
    };
    let legend = legend(theme, room(title), &drawn);
    panel::panel(frame, theme, layout.size, area, title, legend);
    if note::bare(app) {
        note::render(frame, theme, inner, note::BARE);
        return;
    }
    let name = NAME;
    for (row, area) in rows.iter().zip(inner.rows()) {
        let bar_width = inner.width.saturating_sub(name + 6);
        let mut spans = vec![Span::styled(
            format!(
                " {:<width$}",
                fit(&row.name, usize::from(name) - 2),
                width = usize::from(name) - 1
            ),
            theme.text,
        )];
        spans.extend(match &row.states {
            Some(states) => bar::stacked(states, bar_width, theme),
            None => bar::unknown(bar_width, theme),
        });
        let cpu = percent(row.cpu);
        let style = if row.cpu.is_some() { theme.value } else { theme.label };
        spans.push(Span::styled(format!(" {cpu}"), style));
        frame.render_widget(Line::from(spans).style(theme.text), area);
    }
}

/// The states that these stacks show in bars of so many cells, the largest share first.
pub fn drawn(stacks: impl IntoIterator<Item = Stack>, cells: u16) -> Vec<State> {
    let mut most = State::ALL.map(|state| (state, 0.0f64));
    for stack in stacks {
        let Some(whole) = bar::shared_out(&stack, usize::from(cells)) else { continue };
        for ((most, (_, share)), cells) in most.iter_mut().zip(stack).zip(whole) {
            if cells > 0 {
                most.1 = most.1.max(share);
            }
        }
    }
    most.sort_by(|a, b| b.1.total_cmp(&a.1));
    most.into_iter().filter(|&(_, share)| share > 0.0).map(|(state, _)| state).collect()
}

/// The glyphs of the states that are drawn, with their names, and of others while there is room;
/// where `room` is little, names are short, and states with the least shares are left out.
pub fn legend(theme: &Theme, room: usize, drawn: &[State]) -> Vec<Span<'static>> {
    let full = |state: State| format!(" {}", state.name());
    let (entry, gap): (fn(State) -> String, usize) = if cells(drawn, full, 2) <= room {
        (|state| format!(" {}", state.name()), 2)
    } else {
        (|state| state.short().to_owned(), 1)
    };
    let others = State::ALL.into_iter().filter(|state| !drawn.contains(state));
    let mut shown: Vec<State> = Vec::new();
    for state in drawn.iter().copied().chain(others) {
        shown.push(state);
        if cells(&shown, entry, gap) > room {
            shown.pop();
            break;
        }
    }
    let mut spans = Vec::new();
    for state in State::ALL.into_iter().filter(|state| shown.contains(state)) {
        if !spans.is_empty() {
            spans.push(Span::raw(" ".repeat(gap)));
        }
        spans.push(Span::styled(theme.glyph(state), theme.state(state)));
        spans.push(Span::styled(entry(state), theme.label));
    }
    spans
}

/// How many cells a legend of these states takes.
fn cells(states: &[State], entry: impl Fn(State) -> String, gap: usize) -> usize {
    let all: usize = states.iter().map(|&state| 1 + entry(state).width() + gap).sum();
    all.saturating_sub(gap)
}

/// The threads of the stages and of the runtime.
pub fn ours(snapshot: &Snapshot) -> impl Iterator<Item = &ThreadSample> {
    let stages = |thread: &&ThreadSample| matches!(thread.group, Group::Stage(_));
    let runtime = |thread: &&ThreadSample| thread.group == Group::Runtime;
    let threads = &snapshot.threads;
    threads.iter().filter(stages).chain(threads.iter().filter(runtime))
}

/// The lanes together, then every thread of the stages and of the runtime.
fn rows(window: &Window<'_>) -> Vec<Row> {
    let ours = ours(window.to());
    lanes(window)
        .into_iter()
        .chain(ours.map(|thread| Row {
            name: thread.name.clone(),
            states: window.thread(thread).map(|(_, shares)| bar::states(&shares)),
            cpu: window.thread_cpu(thread),
        }))
        .collect()
}

fn by_stage(window: &Window<'_>) -> Vec<Row> {
    let groups = Stage::ALL.into_iter().map(Group::Stage).chain([Group::Runtime]);
    let stages = groups.filter_map(|group| {
        let threads: Vec<_> = window.to().threads.iter().filter(|t| t.group == group).collect();
        let shares = |t: &&ThreadSample| window.thread(t).map(|(_, shares)| shares);
        let parked =
            |t: &&ThreadSample| shares(t).is_some_and(|shares| shares.wait(Wait::Parked) >= 0.5);
        let running: Vec<_> = threads.iter().copied().filter(|t| !parked(t)).collect();
        let told = if running.is_empty() { &threads } else { &running };
        let measured: Vec<Shares> = told.iter().filter_map(shares).collect();
        let name = match group {
            Group::Stage(stage) => stage.name(),
            _ => "runtime",
        };
        let count = match running.len() {
            n if n == threads.len() => format!("×{n}"),
            n => format!("{n}/{}", threads.len()),
        };
        let cpus: Option<Vec<f64>> = told.iter().map(|t| window.thread_cpu(t)).collect();
        (!threads.is_empty()).then(|| Row {
            name: format!("{name} {count}"),
            states: (!measured.is_empty()).then(|| bar::states(&mean(&measured))),
            cpu: cpus.map(|cpus| cpus.iter().sum::<f64>() / cpus.len().max(1) as f64),
        })
    });
    lanes(window).into_iter().chain(stages).collect()
}

/// Mean shares of several threads.
pub fn mean(all: &[Shares]) -> Shares {
    let n = all.len().max(1) as f64;
    let mut sum = Shares::default();
    for shares in all {
        sum.running += shares.running / n;
        sum.runnable += shares.runnable / n;
        sum.other += shares.other / n;
        for (total, wait) in sum.waits.iter_mut().zip(shares.waits) {
            *total += wait / n;
        }
    }
    sum
}

/// Mean shares of the lanes that are not parked; `None` where there is none.
pub fn lane_mean(window: &Window<'_>) -> Option<(usize, [f64; Wait::ALL.len()])> {
    let lanes = window.to().lanes.iter().map(|lane| window.lane(lane));
    let open: Vec<_> = lanes.filter(|shares| shares[Wait::Parked as usize] < 0.5).collect();
    let n = open.len();
    (n > 0).then(|| {
        (n, std::array::from_fn(|i| open.iter().map(|shares| shares[i]).sum::<f64>() / n as f64))
    })
}

fn lanes(window: &Window<'_>) -> Option<Row> {
    let (n, shares) = lane_mean(window)?;
    Some(Row { name: format!("{n} lanes"), states: Some(bar::lane_states(&shares)), cpu: None })
}
