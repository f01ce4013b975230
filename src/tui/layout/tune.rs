//! The tune screen: the chart, what is measured now, where the time went, the points.

use ratatui::layout::{Constraint, Layout as Split, Rect};

use super::tables::inside;
use super::{Layout, Size};
use crate::tui::app::App;
use crate::tui::screens::tune::table;

/// Where the parts of the tune screen lie; what has no room is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct TuneAreas {
    /// Throughput against the knob.
    pub chart: Rect,
    /// What is measured now, and what each work shows so far.
    pub says: Rect,
    /// Where the time of the threads went.
    pub shares: Rect,
}

/// ```text
/// compact                          from 100 columns
/// ┌ throughput by … ───────────┐   ┌ throughput by … ───────────┬ points ─────────┐
/// │ chart                      │   │ chart                      │                 │
/// │ now                        │   ├ now ───────────────────────┤                 │
/// │ points                     │   │ works and what they show   │                 │
/// └────────────────────────────┘   ├ where the time went ───────┤                 │
///                                  └────────────────────────────┴─────────────────┘
/// ```
pub(super) fn tune(layout: &mut Layout, body: Rect, app: &App) {
    let Some(sweep) = app.sweep() else {
        layout.table = body;
        return;
    };
    let (works, points) = (sweep.works.len() as u16, sweep.points.len() as u16);
    let (chart, says, shares, table) = if layout.size.bordered() {
        let right = table::width(sweep).clamp(44, body.width * 9 / 20);
        let [left, right] =
            Split::horizontal([Constraint::Fill(1), Constraint::Length(right)]).areas(body);
        let says = (works + 3).min(left.height / 3);
        let shares = match layout.size {
            Size::Wide => 14,
            _ if left.height >= 29 => 9,
            _ => 0,
        };
        let [chart, says, shares] = Split::vertical([
            Constraint::Fill(1),
            Constraint::Length(says),
            Constraint::Length(shares),
        ])
        .areas(left);
        (chart, says, shares, right)
    } else {
        // The chart keeps the larger half.
        let table = (points + 2).min(body.height / 3);
        let says = if body.height >= 19 { 1 + works.min(4) } else { 1 };
        let [chart, says, table] = Split::vertical([
            Constraint::Fill(1),
            Constraint::Length(says),
            Constraint::Length(table),
        ])
        .areas(body);
        (chart, says, Rect::default(), table)
    };
    layout.tune = TuneAreas { chart, says, shares };
    layout.table = table;
    let inner = inside(layout.size, table);
    let head = inner.height.min(1);
    layout.rows = Rect { y: inner.y + head, height: inner.height - head, ..inner };
}
