//! What a script has to say, over the last rows of the screen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

use crate::tui::theme::Theme;

/// The most rows that a caption covers.
const MOST_ROWS: u16 = 3;

/// Draws the caption in as many rows as it needs, the last one at the bottom.
pub fn render(frame: &mut Frame<'_>, caption: &str, theme: &Theme, area: Rect) {
    let text = theme.write(caption);
    let width = area.width.saturating_sub(4).max(1);
    let rows = wrapped(&text, usize::from(width)).clamp(1, MOST_ROWS).min(area.height);
    let area = Rect { y: area.bottom() - rows, height: rows, ..area };
    frame.render_widget(Clear, area);
    let style = theme.accent.add_modifier(Modifier::REVERSED);
    frame.buffer_mut().set_style(area, style);
    let inner = Rect { x: area.x + 2.min(area.width), width: width.min(area.width), ..area };
    let text = Paragraph::new(Line::from(text)).style(style).wrap(Wrap { trim: true });
    frame.render_widget(text, inner);
}

/// How many rows a text takes, broken at spaces.
fn wrapped(text: &str, width: usize) -> u16 {
    let (mut rows, mut used) = (1, 0);
    for word in text.split_whitespace() {
        let word = word.width();
        if used > 0 && used + 1 + word > width {
            (rows, used) = (rows + 1, word);
        } else {
            used += word + usize::from(used > 0);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caption_takes_the_rows_that_it_needs() {
        assert_eq!(wrapped("", 10), 1);
        assert_eq!(wrapped("one two", 7), 1);
        assert_eq!(wrapped("one two three", 7), 2);
        assert_eq!(wrapped("one two three four", 5), 4);
    }
}
