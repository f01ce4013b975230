//! A terminal that shows what a program wrote.
//!
//! The emulator is `avt`, which asciinema's own player and converter are built on: a cast from another
//! program looks as it does there (line drawing by charset, reflow on resize, struck through text), and
//! it brings in nothing but `unicode-width`.

use std::sync::Arc;

use avt::{Color as VtColor, Pen, Terminal};

use super::grid::{Cell, Color, Grid, Look, Row, flags};

/// Set while a program draws a frame, so that nobody shows half of one.
const SYNC_BEGIN: &str = "\u{1b}[?2026h";
const SYNC_END: &str = "\u{1b}[?2026l";

/// A terminal without a window.
pub(super) struct Screen {
    terminal: Terminal,
    /// The last characters written: a control sequence may come in two pieces.
    tail: String,
    drawing: bool,
    shown: Option<Grid>,
}

impl Screen {
    /// An empty one; both sides are 1 at least.
    pub(super) fn new(cols: u16, rows: u16) -> Self {
        let size = (usize::from(cols.max(1)), usize::from(rows.max(1)));
        let terminal = Terminal::new(size.0, size.1).expect("both sides are positive");
        Self { terminal, tail: String::new(), drawing: false, shown: None }
    }

    /// Takes in what a program wrote.
    pub(super) fn write(&mut self, text: &str) {
        self.terminal.feed(text);
        self.tail.push_str(text);
        match (self.tail.rfind(SYNC_BEGIN), self.tail.rfind(SYNC_END)) {
            (Some(begin), end) if end.is_none_or(|end| end < begin) => self.drawing = true,
            (_, Some(_)) => self.drawing = false,
            _ => {}
        }
        let mut keep = self.tail.len().saturating_sub(SYNC_END.len() - 1);
        while !self.tail.is_char_boundary(keep) {
            keep += 1;
        }
        self.tail.drain(..keep);
    }

    /// Has another size from now on.
    pub(super) fn resize(&mut self, cols: u16, rows: u16) {
        self.terminal.resize(usize::from(cols), usize::from(rows));
    }

    /// Whether a program is in the middle of drawing a frame.
    pub(super) const fn is_drawing(&self) -> bool {
        self.drawing
    }

    /// What is on it now. Rows that are as they were when last asked are shared with that answer.
    pub(super) fn grid(&mut self) -> Grid {
        let cols = self.terminal.size().0;
        let cursor = self.terminal.cursor().position();
        let mut rows: Vec<Row> = Vec::new();
        for (y, line) in self.terminal.screen().visible_lines().enumerate() {
            let cells = line.cells().iter().enumerate().map(|(x, cell)| {
                let mut look = look_of(cell.pen());
                if cursor == Some((x, y)) {
                    look.flags ^= flags::REVERSE;
                }
                let c = if cell.width() == 0 { ' ' } else { cell.char() };
                Cell { c, marks: None, width: cell.width(), look }
            });
            let before = self.shown.as_ref().and_then(|grid| grid.rows.get(y));
            rows.push(match before {
                Some(row) if row.len() == cols && cells.clone().eq(row.iter().cloned()) => {
                    Arc::clone(row)
                }
                _ => cells.collect(),
            });
        }
        let grid = Grid { cols: u16::try_from(cols).unwrap_or(u16::MAX), rows };
        self.shown = Some(grid.clone());
        grid
    }
}

fn look_of(pen: &Pen) -> Look {
    let mut bits = 0;
    for (set, flag) in [
        (pen.is_bold(), flags::BOLD),
        (pen.is_faint(), flags::DIM),
        (pen.is_italic(), flags::ITALIC),
        (pen.is_underline(), flags::UNDERLINE),
        (pen.is_inverse(), flags::REVERSE),
        (pen.is_strikethrough(), flags::STRIKE),
    ] {
        if set {
            bits |= flag;
        }
    }
    Look { fg: color_of(pen.foreground()), bg: color_of(pen.background()), flags: bits }
}

const fn color_of(color: Option<VtColor>) -> Color {
    match color {
        None => Color::Default,
        Some(VtColor::Indexed(index)) => Color::Indexed(index),
        Some(VtColor::RGB(rgb)) => Color::Rgb([rgb.r, rgb.g, rgb.b]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_seen() {
        let mut screen = Screen::new(12, 3);
        screen.write(
            "\u{1b}[?25l\u{1b}[1;38;5;75mab\u{1b}[0m \u{1b}[9;48;2;1;2;3m写\r\n\u{1b}(0lqk\u{1b}(B",
        );
        let grid = screen.grid();
        assert_eq!(grid.text(), "ab 写\n┌─┐\n\n");
        let row = &grid.rows[0];
        assert_eq!(
            row[0].look,
            Look { fg: Color::Indexed(75), flags: flags::BOLD, ..Look::default() }
        );
        assert_eq!((row[3].width, row[4].width), (2, 0));
        assert_eq!((row[3].look.bg, row[3].look.flags), (Color::Rgb([1, 2, 3]), flags::STRIKE));
    }

    #[test]
    fn the_cursor_is_seen_unless_hidden_and_rows_are_shared() {
        let mut screen = Screen::new(4, 2);
        screen.write("ab");
        let first = screen.grid();
        assert!(first.rows[0][2].look.has(flags::REVERSE));
        screen.write("\u{1b}[2;1H");
        let second = screen.grid();
        assert!(!second.rows[0][2].look.has(flags::REVERSE));
        assert!(second.rows[1][0].look.has(flags::REVERSE));
        screen.write("\u{1b}[?25l");
        let third = screen.grid();
        assert!(Arc::ptr_eq(&second.rows[0], &third.rows[0]));
        assert!(!third.rows[1][0].look.has(flags::REVERSE));
    }

    #[test]
    fn a_frame_half_drawn_is_known_as_one_even_in_pieces() {
        let mut screen = Screen::new(4, 2);
        screen.write("a\u{1b}[?20");
        assert!(!screen.is_drawing());
        screen.write("26hb");
        assert!(screen.is_drawing());
        screen.write("…日本語\u{1b}[?2026l\u{1b}[?2026h");
        assert!(screen.is_drawing());
        screen.write("\u{1b}[?2026l");
        assert!(!screen.is_drawing());
    }
}
