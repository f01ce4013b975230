//! The GPU screen: which GPUs, what they say, how it was over time, and the state of one.

use ratatui::layout::{Constraint, Layout as Split, Rect};

use super::tables::inside;
use super::{Layout, Size};
use crate::tui::app::App;
use crate::tui::screens::gpu::{figures::FIGURES, table};
use crate::tui::table::place;

/// Where the parts of the GPU screen lie; what has no room is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct GpuAreas {
    /// What the figures say together.
    pub reading: Rect,
    /// The figures over time.
    pub charts: Rect,
    /// Clocks, memory, power, links, errors.
    pub state: Rect,
    /// The engine's own account.
    pub batches: Rect,
    /// Who has memory on it.
    pub processes: Rect,
}

/// ```text
/// compact                          from 100 columns
/// ┌ (GPUs, where several) ─────┐   ┌ (GPUs, where several) ────────────────────────┐
/// │ reading                    │   │ reading                                       │
/// │ charts, a row each         │   │ charts                                        │
/// │ state                      │   │ state                │ batches  │ processes   │
/// └────────────────────────────┘   └──────────────────────┴──────────┴─────────────┘
/// ```
pub(super) fn gpu(layout: &mut Layout, body: Rect, app: &App) {
    let edge = if layout.size.bordered() { 2 } else { 1 };
    let count = app.snapshot().map_or(0, |snapshot| snapshot.gpus.len()) as u16;
    if count == 0 {
        layout.table = body;
        return;
    }
    // One GPU needs no table.
    let most = (body.height / 3).max(edge + 2);
    let table = if count > 1 { (count + 1 + edge).min(most) } else { 0 };
    let reading = if layout.size.bordered() { 4 } else { 2 };
    let left = body.height.saturating_sub(table + reading);
    let lower = match layout.size {
        // The charts keep a row each where there is room for both, or else four.
        Size::Compact => {
            let each = FIGURES.len() as u16 + 1;
            left.saturating_sub(each).max(left.saturating_sub(5).min(left * 2 / 5))
        }
        Size::Normal => 11.min(left / 2),
        Size::Wide => 13,
    };
    let [table, reading, charts, lower] = Split::vertical([
        Constraint::Length(table),
        Constraint::Length(reading),
        Constraint::Fill(1),
        Constraint::Length(lower),
    ])
    .areas(body);
    let (state, batches, processes) = if layout.size.bordered() {
        let [state, batches, processes] =
            Split::horizontal([Constraint::Fill(6), Constraint::Fill(4), Constraint::Fill(3)])
                .areas(lower);
        (state, batches, processes)
    } else if lower.height >= 6 {
        let [state, batches] =
            Split::vertical([Constraint::Fill(1), Constraint::Length(3)]).areas(lower);
        (state, batches, Rect::default())
    } else {
        (lower, Rect::default(), Rect::default())
    };
    layout.table = table;
    layout.gpu = GpuAreas { reading, charts, state, batches, processes };
    if count > 1 {
        let inner = inside(layout.size, table);
        layout.gpu_columns =
            place(Rect { height: inner.height.min(1), ..inner }, table::columns(inner.width));
        let head = inner.height.min(1);
        layout.rows = Rect { y: inner.y + head, height: inner.height - head, ..inner };
    }
}
