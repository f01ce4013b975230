//! A screen as a grid of cells, wherever it came from.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::style::{Color as TuiColor, Modifier};
use unicode_width::UnicodeWidthStr as _;

use crate::record::cast::Rgb;

/// A colour as a program asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Color {
    /// The terminal's own, of text or ground.
    #[default]
    Default,
    /// Of the palette of 256, of which the first 16 are the terminal's own.
    Indexed(u8),
    /// This one.
    Rgb(Rgb),
}

/// Bits of [`Look::flags`].
pub mod flags {
    /// Bold.
    pub const BOLD: u8 = 1;
    /// Dim.
    pub const DIM: u8 = 2;
    /// Italic.
    pub const ITALIC: u8 = 4;
    /// Underlined.
    pub const UNDERLINE: u8 = 8;
    /// Colours of text and ground swapped.
    pub const REVERSE: u8 = 16;
    /// Struck through.
    pub const STRIKE: u8 = 32;
    /// Not to be seen.
    pub const HIDDEN: u8 = 64;
}

/// How a cell looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Look {
    /// Of its text.
    pub fg: Color,
    /// Of its ground.
    pub bg: Color,
    /// See [`flags`].
    pub flags: u8,
}

impl Look {
    /// Whether a flag is set.
    pub const fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Its character.
    pub c: char,
    /// What combines with it.
    pub marks: Option<Arc<String>>,
    /// How many cells it fills: 1, 2, or 0 behind one that fills two.
    pub width: u8,
    /// How it looks.
    pub look: Look,
}

impl Cell {
    /// An empty cell.
    pub const BLANK: Self = Self {
        c: ' ',
        marks: None,
        width: 1,
        look: Look { fg: Color::Default, bg: Color::Default, flags: 0 },
    };

    /// What combines with its character; empty where nothing does.
    pub fn marks(&self) -> &str {
        self.marks.as_ref().map_or("", |marks| marks.as_str())
    }

    /// Whether nothing but its ground is to be seen.
    pub fn is_blank(&self) -> bool {
        let lines = flags::UNDERLINE | flags::STRIKE;
        matches!(self.c, ' ' | '\u{a0}' | '\u{2800}') && !self.look.has(lines)
            || self.look.has(flags::HIDDEN)
    }
}

/// A row of cells, shared by all frames in which it is the same.
pub type Row = Arc<[Cell]>;

/// A screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Cells a row.
    pub cols: u16,
    /// Its rows.
    pub rows: Vec<Row>,
}

impl Grid {
    /// An empty screen.
    pub fn blank(cols: u16, rows: u16) -> Self {
        let row: Row = vec![Cell::BLANK; usize::from(cols)].into();
        Self { cols, rows: vec![row; usize::from(rows)] }
    }

    /// The text alone, a line a row, without blanks at the ends.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let start = text.len();
            for cell in row.iter().filter(|cell| cell.width > 0) {
                text.push(if cell.look.has(flags::HIDDEN) { ' ' } else { cell.c });
                text.push_str(cell.marks());
            }
            text.truncate(start + text[start..].trim_end().len());
            text.push('\n');
        }
        text
    }
}

impl From<&Buffer> for Grid {
    fn from(buffer: &Buffer) -> Self {
        let cols = buffer.area.width;
        let row = |cells: &[ratatui::buffer::Cell]| -> Row {
            let mut row: Vec<Cell> = Vec::with_capacity(cells.len());
            for cell in cells {
                let look = look_of(cell);
                if row.last().is_some_and(|before| before.width == 2) {
                    row.push(Cell { width: 0, look, ..Cell::BLANK });
                    continue;
                }
                let symbol = cell.symbol();
                let mut chars = symbol.chars();
                let c = chars.next().filter(|c| !c.is_control()).unwrap_or(' ');
                let marks = Some(chars.as_str()).filter(|marks| !marks.is_empty());
                let marks = marks.map(|marks| Arc::new(marks.to_owned()));
                let wide = symbol.width() > 1 && row.len() + 1 < cells.len();
                row.push(Cell { c, marks, width: 1 + u8::from(wide), look });
            }
            row.into()
        };
        let rows = buffer.content.chunks(usize::from(cols).max(1)).map(row).collect();
        Self { cols, rows }
    }
}

fn look_of(cell: &ratatui::buffer::Cell) -> Look {
    let mut bits = 0;
    for (modifier, flag) in [
        (Modifier::BOLD, flags::BOLD),
        (Modifier::DIM, flags::DIM),
        (Modifier::ITALIC, flags::ITALIC),
        (Modifier::UNDERLINED, flags::UNDERLINE),
        (Modifier::REVERSED, flags::REVERSE),
        (Modifier::CROSSED_OUT, flags::STRIKE),
        (Modifier::HIDDEN, flags::HIDDEN),
    ] {
        if cell.modifier.contains(modifier) {
            bits |= flag;
        }
    }
    Look { fg: color_of(cell.fg), bg: color_of(cell.bg), flags: bits }
}

const fn color_of(color: TuiColor) -> Color {
    let index = match color {
        TuiColor::Reset => return Color::Default,
        TuiColor::Rgb(r, g, b) => return Color::Rgb([r, g, b]),
        TuiColor::Indexed(index) => index,
        TuiColor::Black => 0,
        TuiColor::Red => 1,
        TuiColor::Green => 2,
        TuiColor::Yellow => 3,
        TuiColor::Blue => 4,
        TuiColor::Magenta => 5,
        TuiColor::Cyan => 6,
        TuiColor::Gray => 7,
        TuiColor::DarkGray => 8,
        TuiColor::LightRed => 9,
        TuiColor::LightGreen => 10,
        TuiColor::LightYellow => 11,
        TuiColor::LightBlue => 12,
        TuiColor::LightMagenta => 13,
        TuiColor::LightCyan => 14,
        TuiColor::White => 15,
    };
    Color::Indexed(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    #[test]
    fn a_buffer_becomes_a_grid() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 2));
        let bold = Style::new().fg(TuiColor::Indexed(75)).add_modifier(Modifier::BOLD);
        buffer.set_string(0, 0, "e\u{301}写x", bold);
        buffer.set_string(2, 1, "─", Style::new().bg(TuiColor::LightRed));
        let grid = Grid::from(&buffer);
        assert_eq!((grid.cols, grid.rows.len()), (6, 2));
        let row = &grid.rows[0];
        assert_eq!(row.iter().map(|cell| cell.width).collect::<Vec<_>>(), [1, 2, 0, 1, 1, 1]);
        assert_eq!((row[0].c, row[0].marks()), ('e', "\u{301}"));
        assert_eq!(
            row[3].look,
            Look { fg: Color::Indexed(75), flags: flags::BOLD, ..Look::default() }
        );
        assert_eq!(grid.rows[1][2].look.bg, Color::Indexed(9));
        assert!(row[5].is_blank() && !row[3].is_blank());
        assert_eq!(grid.text(), "e\u{301}写x\n  ─\n");
    }
}
