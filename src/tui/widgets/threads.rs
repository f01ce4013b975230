//! The overview's threads: a bar of states each, or one a stage where they are too many.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{bar, note, panel};
use crate::pipeline::Stage;
use crate::profile::snapshot::{Group, Snapshot, ThreadSample, Wait};
use crate::profile::window::{Shares, Window};
use crate::tui::app::App;
use crate::tui::format::{fit, percent};
use crate::tui::layout::Layout;
use crate::tui::theme::{State, Theme};

/// A row: a name, its states, its CPU.
struct Row {
    name: String,
    states: Option<[(State, f64); State::ALL.len()]>,
    cpu: Option<f64>,
}

/// Draws the threads.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout, area: Rect) {
    let inner = panel::panel(frame, theme, layout.size, area, "threads", legend(theme, area.width));
    if note::bare(app) {
        note::render(frame, theme, inner, note::BARE);
        return;
    }
    let Some(window) = app.window() else { return };
    let all = rows(&window);
    let rows = if all.len() <= usize::from(inner.height) { all } else { by_stage(&window) };
    let name = 16;
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

/// The states that most runs show, with their glyphs: as many as fit.
pub fn legend(theme: &Theme, width: u16) -> Vec<Span<'static>> {
    let common = [
        State::Running,
        State::Runnable,
        State::Wait(Wait::Lock),
        State::Wait(Wait::Starved),
        State::Wait(Wait::Backpressured),
        State::Wait(Wait::Gpu),
        State::Wait(Wait::Io),
        State::Other,
    ];
    let mut spans = Vec::new();
    let mut room = usize::from(width).saturating_sub(20);
    for state in common {
        let name = format!(" {}", state.name());
        let Some(left) = room.checked_sub(name.len() + 3) else { break };
        room = left;
        if !spans.is_empty() {
            spans.push(Span::raw("  "));
        }
        spans.push(Span::styled(theme.glyph(state), theme.state(state)));
        spans.push(Span::styled(name, theme.label));
    }
    spans
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
        let measured: Vec<Shares> =
            threads.iter().filter_map(|t| Some(window.thread(t)?.1)).collect();
        let name = match group {
            Group::Stage(stage) => stage.name(),
            _ => "runtime",
        };
        let cpus: Option<Vec<f64>> = threads.iter().map(|t| window.thread_cpu(t)).collect();
        (!threads.is_empty()).then(|| Row {
            name: format!("{} ×{}", name, threads.len()),
            states: (!measured.is_empty()).then(|| bar::states(&mean(&measured))),
            cpu: cpus.map(|cpus| cpus.iter().sum()),
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
