//! The screens with tables: a panel with the columns' names, the rows, and what lies below.

use ratatui::layout::{Constraint, Layout as Split, Rect};

use super::{Layout, Size};
use crate::tui::app::App;
use crate::tui::screens::{locks, threads};
use crate::tui::table::place;

/// What lies inside of a panel.
pub fn inside(size: Size, area: Rect) -> Rect {
    if size.bordered() {
        Rect {
            x: area.x + 1,
            y: area.y + 1,
            width: area.width.saturating_sub(2),
            height: area.height.saturating_sub(2),
        }
    } else {
        let title = area.height.min(1);
        Rect { y: area.y + title, height: area.height - title, ..area }
    }
}

/// ```text
/// ┌ threads ───────────────────────────────────┐
/// │ thread        where its time goes  CPU …   │
/// │ rows                                       │
/// │ █ running  ▓ runnable …                    │
/// └────────────────────────────────────────────┘
/// ```
pub(super) fn threads(layout: &mut Layout, body: Rect, app: &App) {
    layout.table = body;
    let inner = inside(layout.size, body);
    let columns =
        threads::columns::columns(inner.width, app.threads().ranges(), &app.drawn_states());
    layout.thread_columns = place(Rect { height: inner.height.min(1), ..inner }, columns);
    let height = inner.height.saturating_sub(2);
    layout.rows = Rect { y: inner.y + inner.height.min(1), height, ..inner };
}

/// ```text
/// ┌ locks ─────────────────────────────────────┐
/// │ lock          acq/s  contended  wait/s …   │
/// │ rows                                       │
/// ├ preprocess.pool ───────────────────────────┤
/// │ its waits by length        │ who, over time│
/// └────────────────────────────────────────────┘
/// ```
pub(super) fn locks(layout: &mut Layout, body: Rect, app: &App) {
    let edge = if layout.size.bordered() { 3 } else { 2 };
    let count = app.snapshot().map_or(0, |snapshot| snapshot.locks.len()) as u16;
    // The selected lock has the larger half.
    let most = (body.height * 2 / 5).max(edge + 3).min(body.height);
    let [table, detail] = Split::vertical([
        Constraint::Length(count.saturating_add(edge).clamp(edge + 1, most.max(edge + 1))),
        Constraint::Fill(1),
    ])
    .areas(body);
    layout.table = table;
    layout.detail = (detail.height >= 4).then_some(detail);
    let inner = inside(layout.size, table);
    let columns = locks::rows::columns(inner.width);
    layout.lock_columns = place(Rect { height: inner.height.min(1), ..inner }, columns);
    let head = inner.height.min(1);
    layout.rows = Rect { y: inner.y + head, height: inner.height - head, ..inner };
}
