//! Cells as a terminal is told to show them: cursor moves, styles, text.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

/// A whole frame onto whatever there was: the cursor hidden, the screen cleared, then every cell that is
/// not blank.
pub(super) fn whole(frame: &Buffer) -> String {
    let mut out = String::from("\u{1b}[?25l\u{1b}[0m\u{1b}[2J\u{1b}[H");
    cells(&Buffer::empty(frame.area), frame, &mut out);
    out
}

/// What turns the frame before into this one; `""` where they are the same.
pub(super) fn changes(before: &Buffer, frame: &Buffer) -> String {
    let mut out = String::new();
    cells(before, frame, &mut out);
    out
}

fn cells(before: &Buffer, frame: &Buffer, out: &mut String) {
    let mut cursor = None;
    let mut look: Option<Look> = None;
    for (x, y, cell) in before.diff(frame) {
        if cursor != Some((x, y)) {
            // Writing to a String cannot fail, here and below.
            let _ = write!(out, "\u{1b}[{};{}H", y + 1, x + 1);
        }
        let wanted = Look::of(cell);
        if look != Some(wanted) {
            wanted.write(out);
            look = Some(wanted);
        }
        out.push_str(cell.symbol());
        // At the last column terminals differ in where the cursor is.
        let next = x + cell.symbol().width().max(1) as u16;
        cursor = (next < frame.area.right()).then_some((next, y));
    }
    if look.is_some() {
        out.push_str("\u{1b}[0m");
    }
}

/// How a cell looks, but for its symbol.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Look {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

impl Look {
    const fn of(cell: &Cell) -> Self {
        Self { fg: cell.fg, bg: cell.bg, modifier: cell.modifier }
    }

    /// Writes the style anew, whatever it was.
    fn write(self, out: &mut String) {
        const CODES: [(Modifier, u8); 9] = [
            (Modifier::BOLD, 1),
            (Modifier::DIM, 2),
            (Modifier::ITALIC, 3),
            (Modifier::UNDERLINED, 4),
            (Modifier::SLOW_BLINK, 5),
            (Modifier::RAPID_BLINK, 6),
            (Modifier::REVERSED, 7),
            (Modifier::HIDDEN, 8),
            (Modifier::CROSSED_OUT, 9),
        ];
        out.push_str("\u{1b}[0");
        for (modifier, code) in CODES {
            if self.modifier.contains(modifier) {
                let _ = write!(out, ";{code}");
            }
        }
        colour(out, self.fg, 30);
        colour(out, self.bg, 40);
        out.push('m');
    }
}

/// A colour's code; `base` is 30 for text and 40 for what is behind it.
fn colour(out: &mut String, colour: Color, base: u8) {
    let named = match colour {
        Color::Reset => return,
        Color::Indexed(n) => {
            let _ = write!(out, ";{};5;{n}", base + 8);
            return;
        }
        Color::Rgb(r, g, b) => {
            let _ = write!(out, ";{};2;{r};{g};{b}", base + 8);
            return;
        }
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 60,
        Color::LightRed => 61,
        Color::LightGreen => 62,
        Color::LightYellow => 63,
        Color::LightBlue => 64,
        Color::LightMagenta => 65,
        Color::LightCyan => 66,
        Color::White => 67,
    };
    let _ = write!(out, ";{}", base + named);
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn only_what_changed_is_written_and_each_run_of_a_style_once() {
        let before = Buffer::with_lines(["abcdef", "ghijkl"]);
        let mut after = before.clone();
        assert_eq!(changes(&before, &after), "");
        after.set_string(1, 1, "XY", Style::new().fg(Color::Indexed(75)));
        after.set_string(3, 1, "Z", Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED));
        let written = changes(&before, &after);
        assert_eq!(written, "\u{1b}[2;2H\u{1b}[0;38;5;75mXY\u{1b}[0;1;7mZ\u{1b}[0m");
    }

    #[test]
    fn wide_characters_move_the_cursor_by_two() {
        let mut after = Buffer::empty(Rect::new(0, 0, 6, 1));
        after.set_string(0, 0, "写真ab", Style::new());
        let written = whole(&after);
        assert!(written.ends_with("\u{1b}[1;1H\u{1b}[0m写真ab\u{1b}[0m"), "{written:?}");
    }

    #[test]
    fn colours_have_the_codes_of_terminals() {
        let code = |fg, base| {
            let mut out = String::new();
            colour(&mut out, fg, base);
            out
        };
        assert_eq!(code(Color::Gray, 30), ";37");
        assert_eq!(code(Color::DarkGray, 30), ";90");
        assert_eq!(code(Color::LightCyan, 40), ";106");
        assert_eq!(code(Color::Rgb(1, 2, 3), 40), ";48;2;1;2;3");
    }
}
