//! The locks: which are fought for, for how long, by whom.
//!
//! ```text
//! ┌ locks ─────────────────────────────────────────────────────────────────────────────┐
//! │ lock               acq/s  contended   wait/s▼  waiters  wait %   longest   held by … │
//! │▌preprocess.pool    1 640        84%    960 ms        3     96%   12.1 ms    prep-1   │
//! │ queue.loaded       3 200         1%   1.20 ms        0      0%    310 µs         —   │
//! ├ preprocess.pool ───────────────────────────────────────────── waits of the last 1 s ─┤
//! │                    histogram              │ held by prep-1, prep-0 waits …           │
//! └──────────────────────────────────────────────────────────────────────────────────────┘
//! ```

pub mod detail;
pub mod rows;

use ratatui::Frame;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use self::rows::{Column, LockRow};
use crate::profile::snapshot::Wait;
use crate::tui::app::App;
use crate::tui::format::{MISSING, fit};
use crate::tui::layout::Layout;
use crate::tui::theme::{State, Theme};
use crate::tui::widgets::{heads, note, panel};

/// From this share of a window on a figure of a lock stands out.
const NOTABLE: f64 = 0.01;

/// Draws the table and the selected lock.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout) {
    let rows = app.lock_rows();
    let page = usize::from(layout.rows.height);
    let (selected, first) = app.lock_place(&rows, page);
    let mut right = Vec::new();
    if rows.len() > page && page > 0 {
        let last = (first + page).min(rows.len());
        let text = format!("{}–{last} of {}", first + 1, rows.len());
        right.push(Span::styled(text, theme.label));
    }
    let inner = panel::panel(frame, theme, layout.size, layout.table, "locks", right);
    if note::bare(app) {
        note::render(frame, theme, inner, note::BARE);
        return;
    }
    let mut sort = app.locks().sort();
    // Names go up where figures go down.
    sort.reversed ^= sort.by == Column::Name;
    heads::render(frame, theme, &layout.lock_columns, sort, |column| {
        (column.name(), column.left())
    });
    if rows.is_empty() {
        let text = if app.window().is_none() { "measuring" } else { "this run has no locks" };
        note::render(frame, theme, layout.rows, text);
    }
    for ((index, row), at) in rows.iter().enumerate().skip(first).zip(layout.rows.rows()) {
        let spans = line(row, index == selected, layout, theme);
        frame.render_widget(Line::from(spans), at);
    }
    if let (Some(area), Some(row)) = (layout.detail, rows.get(selected)) {
        detail::render(frame, app, theme, layout, area, row);
    }
}

fn line(row: &LockRow<'_>, selected: bool, layout: &Layout, theme: &Theme) -> Vec<Span<'static>> {
    // What nobody ever waited for stays in the background.
    let quiet = !row.ever_contended();
    let mark = if selected { theme.pick("▌", ">") } else { " " };
    let mut spans = vec![Span::styled(mark, theme.accent)];
    for placed in &layout.lock_columns {
        let cells = usize::from(placed.head.width);
        let text = row.write(placed.column);
        if placed.column == Column::Name {
            let style = match (selected, quiet) {
                (true, _) => theme.accent,
                (false, true) => theme.label,
                (false, false) => theme.text,
            };
            let text = fit(&text, cells.saturating_sub(2));
            let pad = " ".repeat(cells.saturating_sub(1 + text.width()));
            spans.push(Span::styled(format!("{text}{pad}"), style));
            continue;
        }
        let notable = row.get(placed.column).is_some_and(|value| value >= NOTABLE);
        let style = match placed.column {
            _ if quiet || text == MISSING => theme.label,
            Column::Contended | Column::Wait | Column::WaitShare | Column::Waiters if notable => {
                theme.state(State::Wait(Wait::Lock))
            }
            Column::Wait | Column::Acquired => theme.value,
            _ => theme.text,
        };
        let text = fit(&text, cells.saturating_sub(1));
        let pad = " ".repeat(cells.saturating_sub(text.width()));
        spans.push(Span::styled(format!("{pad}{text}"), style));
    }
    spans
}
