//! The names above a table's columns: the one that the rows are sorted by is marked.

use ratatui::Frame;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::tui::format::fit;
use crate::tui::table::{Placed, Sort};
use crate::tui::theme::Theme;

/// Draws the names; `text` tells a column's name and whether it stands at the left.
pub fn render<C: Copy + PartialEq>(
    frame: &mut Frame<'_>,
    theme: &Theme,
    columns: &[Placed<C>],
    sort: Sort<C>,
    text: impl Fn(C) -> (&'static str, bool),
) {
    for &Placed { column, head } in columns {
        let (name, left) = text(column);
        let width = usize::from(head.width);
        let (name, style) = if column == sort.by {
            (format!("{name}{}", arrow(sort.reversed, theme)), theme.accent)
        } else {
            (name.to_owned(), theme.label)
        };
        let name = fit(&name, width.saturating_sub(1));
        let pad = " ".repeat(width.saturating_sub(name.width() + usize::from(left)));
        let name = if left { format!(" {name}{pad}") } else { format!("{pad}{name}") };
        frame.render_widget(Line::styled(name, style), head);
    }
}

/// Which way the rows are sorted: down from the largest, or up from the smallest.
pub const fn arrow(reversed: bool, theme: &Theme) -> &'static str {
    if reversed { theme.pick("▲", "^") } else { theme.pick("▼", "v") }
}
