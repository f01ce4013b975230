//! Characters that are pictures of the cell: boxes, blocks, shades, sextants, braille, Powerline's
//! triangles. They are drawn to the pixel for the cell's size, so that neighbours meet without a gap,
//! which no font's outlines do at every size.

mod blocks;
mod boxes;
mod dots;

use super::path::Path;
use super::raster::Mask;

/// A cell in pixels, and the thickness of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CellSize {
    /// Its width.
    pub width: i32,
    /// Its height.
    pub height: i32,
    /// The thickness of a light line.
    pub light: i32,
}

impl CellSize {
    /// The thickness of a heavy line.
    pub const fn heavy(self) -> i32 {
        self.light * 2
    }

    /// Where a line of that thickness through the middle lies, upright: from which column to which.
    const fn upright(self, thickness: i32) -> (i32, i32) {
        let from = (self.width - thickness) / 2;
        (from, from + thickness)
    }

    /// The same of a level line: from which row to which.
    const fn level(self, thickness: i32) -> (i32, i32) {
        let from = (self.height - thickness) / 2;
        (from, from + thickness)
    }
}

/// A part of a character's picture, in pixels of the cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Whole pixels from a corner to (not including) another, covered by this much of 255.
    Rect((i32, i32), (i32, i32), u8),
    /// An outline.
    Path(Path),
}

/// The picture of a character that is drawn as geometry; `None` for what a font draws.
pub fn shapes(c: char, size: CellSize) -> Option<Vec<Shape>> {
    match c {
        '\u{2500}'..='\u{257f}' => Some(boxes::shapes(c, size)),
        '\u{2580}'..='\u{259f}' | '\u{1fb00}'..='\u{1fb3b}' | '\u{1fb82}'..='\u{1fb8b}' => {
            Some(blocks::shapes(c, size))
        }
        '\u{2800}'..='\u{28ff}' => Some(dots::shapes(c, size)),
        '\u{e0b0}'..='\u{e0b3}' => Some(powerline(c, size)),
        _ => None,
    }
}

/// A picture as a mask of one cell.
pub fn mask(shapes: &[Shape], size: CellSize) -> Mask {
    let side = |length: i32| usize::try_from(length).unwrap_or(0);
    let mut mask = Mask::new(side(size.width), side(size.height));
    for shape in shapes {
        match shape {
            Shape::Rect(from, to, cover) => mask.rect(*from, *to, *cover),
            Shape::Path(path) => mask.fill(path),
        }
    }
    mask
}

/// Powerline's triangles: full ones, and their two slanted sides alone.
fn powerline(c: char, size: CellSize) -> Vec<Shape> {
    let (w, h) = (size.width as f32, size.height as f32);
    let leftwards = matches!(c, '\u{e0b2}' | '\u{e0b3}');
    let turn = |(x, y): (f32, f32)| if leftwards { (w - x, y) } else { (x, y) };
    let path = if matches!(c, '\u{e0b0}' | '\u{e0b2}') {
        Path::polygon(&[(0.0, 0.0), (w, h / 2.0), (0.0, h)])
    } else {
        let slope = w / (h / 2.0);
        let across = size.light as f32 * (1.0 + slope * slope).sqrt();
        let (outer, inner) = ((w, h / 2.0), (w - across, h / 2.0));
        Path::polygon(&[(0.0, 0.0), (across, 0.0), outer, (across, h), (0.0, h), inner])
    };
    vec![Shape::Path(path.map(turn))]
}

#[cfg(test)]
mod tests;
