//! A number in large digits: three cells wide, three rows high, drawn in half blocks.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Rows of a large number.
pub const HEIGHT: u16 = 3;

/// Five rows of three dots each, from the top; a dot is half a cell high.
const fn dots(c: char) -> Option<[u8; 5]> {
    Some(match c {
        '0' => [0b111, 0b101, 0b101, 0b101, 0b111],
        '1' => [0b010, 0b110, 0b010, 0b010, 0b111],
        '2' => [0b111, 0b001, 0b111, 0b100, 0b111],
        '3' => [0b111, 0b001, 0b111, 0b001, 0b111],
        '4' => [0b101, 0b101, 0b111, 0b001, 0b001],
        '5' => [0b111, 0b100, 0b111, 0b001, 0b111],
        '6' => [0b111, 0b100, 0b111, 0b101, 0b111],
        '7' => [0b111, 0b001, 0b001, 0b001, 0b001],
        '8' => [0b111, 0b101, 0b111, 0b101, 0b111],
        '9' => [0b111, 0b101, 0b111, 0b001, 0b111],
        '—' => [0, 0, 0b111, 0, 0],
        _ => return None,
    })
}

/// Cells that a text takes.
pub fn width(text: &str) -> u16 {
    text.chars().map(cells).sum::<u16>().saturating_sub(1)
}

/// Cells of a character, with the gap after it.
const fn cells(c: char) -> u16 {
    match c {
        '.' => 2,
        ' ' => 1,
        _ => 4,
    }
}

/// Draws a text of digits, spaces, a point or `—`.
pub fn render(frame: &mut Frame<'_>, text: &str, style: Style, area: Rect) {
    let mut rows = [String::new(), String::new(), String::new()];
    for c in text.chars() {
        let Some(dots) = dots(c) else {
            let (low, gap) = if c == '.' { ("▀ ", "  ") } else { (" ", " ") };
            rows[0].push_str(gap);
            rows[1].push_str(gap);
            rows[2].push_str(low);
            continue;
        };
        for (index, row) in rows.iter_mut().enumerate() {
            let (upper, lower) = (dots[index * 2], dots.get(index * 2 + 1).copied().unwrap_or(0));
            for bit in [0b100, 0b010, 0b001] {
                row.push(match (upper & bit != 0, lower & bit != 0) {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    (false, false) => ' ',
                });
            }
            row.push(' ');
        }
    }
    let lines = rows.map(|row| Line::from(Span::styled(row, style)));
    for (line, row) in lines.into_iter().zip(area.rows()) {
        frame.render_widget(line, row);
    }
}
