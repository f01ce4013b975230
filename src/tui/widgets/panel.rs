//! A panel: a rounded border where there is room, a title line where there is not.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Block;

use crate::tui::layout::Size;
use crate::tui::theme::Theme;

/// Draws a panel's frame and returns what is inside. `right` stands at the right end of the title.
pub fn panel(
    frame: &mut Frame<'_>,
    theme: &Theme,
    size: Size,
    area: Rect,
    title: &str,
    right: Vec<Span<'_>>,
) -> Rect {
    let title = Span::styled(title, theme.label);
    let mut right = right;
    let room = usize::from(area.width).saturating_sub(title.width() + 8);
    if right.iter().map(Span::width).sum::<usize>() > room {
        right.clear();
    }
    if size.bordered() {
        let mut block = Block::bordered()
            .border_set(theme.border())
            .border_style(theme.line)
            .title_top(Line::from(vec![Span::raw(" "), title, Span::raw(" ")]));
        if !right.is_empty() {
            right.insert(0, Span::raw(" "));
            right.push(Span::raw(" "));
            block = block.title_top(Line::from(right).right_aligned());
        }
        let inner = block.inner(area);
        frame.render_widget(block, area);
        return inner;
    }
    let top = Rect { height: area.height.min(1), ..area };
    rule(frame, theme, top);
    frame.render_widget(
        Line::from(vec![Span::raw(" "), title, Span::raw(" ")]),
        Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..top },
    );
    if !right.is_empty() {
        right.insert(0, Span::raw(" "));
        right.push(Span::raw(" "));
        let width = right.iter().map(Span::width).sum::<usize>() as u16;
        let x = (area.right().saturating_sub(width + 1)).max(area.x);
        frame.render_widget(Line::from(right), Rect { x, width: width.min(area.width), ..top });
    }
    Rect { y: area.y + top.height, height: area.height - top.height, ..area }
}

/// A horizontal line over a row.
pub fn rule(frame: &mut Frame<'_>, theme: &Theme, row: Rect) {
    let line = theme.pick("─", "-").repeat(usize::from(row.width));
    frame.render_widget(Line::styled(line, theme.line), row);
}
