//! Draws grids into pixels: each cell is a mask (which pixels its character covers, and how far)
//! and a ramp (the pixel's value for each cover, from the ground's colour to the text's).

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::font::Fonts;
use super::geometry::{self, CellSize};
use super::grid::{Cell, Grid, Look, flags};
use super::raster::Mask;

/// Pixels of one kind: colours, or indices into a palette.
pub struct Canvas<P> {
    /// Pixels a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Row by row.
    pub pixels: Vec<P>,
    cell: CellSize,
    /// Room around the cells.
    margin: usize,
    shown: Option<Grid>,
}

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Its first column.
    pub left: usize,
    /// Its first row.
    pub top: usize,
    /// Its columns.
    pub width: usize,
    /// Its rows.
    pub height: usize,
}

impl Area {
    /// The smallest that holds both.
    fn with(self, other: Self) -> Self {
        let (left, top) = (self.left.min(other.left), self.top.min(other.top));
        let right = (self.left + self.width).max(other.left + other.width);
        let bottom = (self.top + self.height).max(other.top + other.height);
        Self { left, top, width: right - left, height: bottom - top }
    }
}

impl<P: Copy + PartialEq> Canvas<P> {
    /// For a screen of that many columns and rows, all of it `ground`.
    pub fn new((cols, rows): (u16, u16), fonts: &Fonts, ground: P) -> Self {
        let margin = margin(fonts.cell);
        let (width, height) = size((cols, rows), fonts);
        let pixels = vec![ground; width * height];
        Self { width, height, pixels, cell: fonts.cell, margin, shown: None }
    }

    /// Draws a screen; `ramp` gives the value of each cover for a look. Only cells that are not as
    /// they were are drawn, and the area that they lie in is returned.
    pub fn draw(
        &mut self,
        grid: &Grid,
        masks: &mut Masks<'_>,
        ramp: &mut dyn FnMut(Look) -> Rc<[P; 256]>,
    ) -> Option<Area> {
        let before = self.shown.take().filter(|before| before.cols == grid.cols);
        let mut drawn: Option<Area> = None;
        let default = ramp(Look::default());
        if before.as_ref().is_none_or(|before| before.rows.len() != grid.rows.len()) {
            // Another size: what lies outside of it now is ground.
            self.pixels.fill(default[0]);
            drawn = Some(Area { left: 0, top: 0, width: self.width, height: self.height });
        }
        for (y, row) in grid.rows.iter().enumerate() {
            let old = before.as_ref().and_then(|before| before.rows.get(y));
            if old == Some(row) {
                continue;
            }
            for (x, cell) in row.iter().enumerate().filter(|(_, cell)| cell.width > 0) {
                let same = |old: &[Cell]| {
                    let end = x + usize::from(cell.width);
                    old.get(x..end) == row.get(x..end)
                };
                if old.is_some_and(|old| same(old)) {
                    continue;
                }
                let area = self.cell_area(x, y, cell.width);
                let mask = masks.of(cell);
                self.paint(area, &mask, &ramp(cell.look));
                drawn = Some(drawn.map_or(area, |drawn| drawn.with(area)));
            }
        }
        self.shown = Some(grid.clone());
        drawn
    }

    fn cell_area(&self, x: usize, y: usize, width: u8) -> Area {
        let (w, h) = (self.cell.width as usize, self.cell.height as usize);
        let (left, top) = (self.margin + x * w, self.margin + y * h);
        Area { left, top, width: w * usize::from(width), height: h }
    }

    fn paint(&mut self, area: Area, mask: &Mask, ramp: &[P; 256]) {
        let covers = mask.cover.chunks_exact(mask.width);
        let rows = self.pixels.chunks_exact_mut(self.width).skip(area.top);
        for (row, covers) in rows.zip(covers) {
            let Some(row) = row.get_mut(area.left..area.left + area.width) else { return };
            for (pixel, &cover) in row.iter_mut().zip(covers) {
                *pixel = ramp[usize::from(cover)];
            }
        }
    }
}

/// Pixels across and down of a screen of that many columns and rows.
pub fn size((cols, rows): (u16, u16), fonts: &Fonts) -> (usize, usize) {
    let margin = margin(fonts.cell);
    let side = |cells: u16, pixels: i32| usize::from(cells) * pixels as usize + 2 * margin;
    (side(cols, fonts.cell.width), side(rows, fonts.cell.height))
}

/// Room around the cells: about a cell's width.
pub const fn margin(cell: CellSize) -> usize {
    cell.width as usize
}

/// The masks of the cells that were drawn so far.
pub struct Masks<'a> {
    fonts: &'a Fonts,
    known: HashMap<Key, Rc<Mask>>,
}

/// What a mask depends on: a character, what combines with it, cells, and flags.
type Key = (char, Option<Arc<String>>, u8, u8);

/// The flags that change a cell's mask; the others change its colours.
const IN_MASK: u8 = flags::BOLD | flags::ITALIC | flags::UNDERLINE | flags::STRIKE;

impl<'a> Masks<'a> {
    /// None so far.
    pub fn new(fonts: &'a Fonts) -> Self {
        Self { fonts, known: HashMap::new() }
    }

    fn of(&mut self, cell: &Cell) -> Rc<Mask> {
        let key = (cell.c, cell.marks.clone(), cell.width, cell.look.flags & IN_MASK);
        let fonts = self.fonts;
        Rc::clone(self.known.entry(key).or_insert_with(|| Rc::new(mask(fonts, cell))))
    }
}

/// The mask of a cell.
fn mask(fonts: &Fonts, cell: &Cell) -> Mask {
    let size = fonts.cell;
    let cells = i32::from(cell.width.max(1));
    let shapes = (cell.width == 1).then(|| geometry::shapes(cell.c, size)).flatten();
    let mut mask = if let Some(shapes) = shapes {
        geometry::mask(&shapes, size)
    } else {
        let mut text = String::from(cell.c);
        text.push_str(cell.marks());
        fonts.mask(&text, cells, cell.look.has(flags::BOLD), cell.look.has(flags::ITALIC))
    };
    for (flag, top) in [(flags::UNDERLINE, fonts.underline()), (flags::STRIKE, fonts.strike())] {
        if cell.look.has(flag) {
            mask.rect((0, top), (size.width * cells, top + size.light), 255);
        }
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    fn grid(lines: &[&str]) -> Grid {
        Grid::from(&Buffer::with_lines(lines.iter().copied()))
    }

    /// Cover as it is.
    fn plain(_: Look) -> Rc<[u8; 256]> {
        Rc::new(std::array::from_fn(|cover| cover as u8))
    }

    #[test]
    fn a_full_block_fills_its_cell_and_nothing_else() {
        let fonts = Fonts::new(15.0);
        let mut canvas = Canvas::new((3, 2), &fonts, 0);
        let area = canvas.draw(&grid(&[" █ ", "   "]), &mut Masks::new(&fonts), &mut plain);
        assert_eq!((canvas.width, canvas.height), (3 * 9 + 18, 2 * 20 + 18));
        let all = Area { left: 0, top: 0, width: canvas.width, height: canvas.height };
        assert_eq!(area, Some(all));
        for (index, &pixel) in canvas.pixels.iter().enumerate() {
            let (x, y) = (index % canvas.width, index / canvas.width);
            let inside = (18..27).contains(&x) && (9..29).contains(&y);
            assert_eq!(pixel, if inside { 255 } else { 0 }, "{x},{y}");
        }
    }

    #[test]
    fn only_what_changed_is_drawn_again_and_comes_out_the_same() {
        let fonts = Fonts::new(13.0);
        let mut masks = Masks::new(&fonts);
        let frames = [
            grid(&["ab写cd", "─┼──  ", "      "]),
            grid(&["ab写cd", "─┼─│  ", "   x  "]),
            grid(&["a写bcd", "─┼─│  ", "   x  "]),
            grid(&["abcdef", "      ", "      "]),
        ];
        let mut canvas = Canvas::new((6, 3), &fonts, 0);
        for frame in &frames {
            canvas.draw(frame, &mut masks, &mut plain);
            let mut whole = Canvas::new((6, 3), &fonts, 0);
            whole.draw(frame, &mut masks, &mut plain);
            assert_eq!(canvas.pixels, whole.pixels);
        }
        assert_eq!(canvas.draw(&frames[3], &mut masks, &mut plain), None);
        canvas.draw(&frames[0], &mut masks, &mut plain);
        let area = canvas.draw(&frames[1], &mut masks, &mut plain).unwrap();
        let (w, h) = (fonts.cell.width as usize, fonts.cell.height as usize);
        assert_eq!(area, Area { left: w + 3 * w, top: w + h, width: w, height: 2 * h });
    }

    #[test]
    fn lines_under_and_through_text_go_on_from_cell_to_cell() {
        let fonts = Fonts::new(15.0);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 3, 1));
        buffer.set_string(0, 0, "a b", Style::new().underlined().crossed_out());
        let mut canvas = Canvas::new((3, 1), &fonts, 0);
        canvas.draw(&Grid::from(&buffer), &mut Masks::new(&fonts), &mut plain);
        for top in [fonts.underline(), fonts.strike()] {
            let row = 9 + top as usize;
            let line = &canvas.pixels[row * canvas.width..][..canvas.width];
            assert!(line[9..36].iter().all(|&pixel| pixel == 255), "{line:?}");
        }
    }
}
