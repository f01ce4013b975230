//! Braille: eight dots a cell.

use super::super::path::Path;
use super::{CellSize, Shape};

/// The bit of each dot: row by row, left and right.
const BITS: [[u32; 2]; 4] = [[0, 3], [1, 4], [2, 5], [6, 7]];
/// Up to this width a dot is a square of whole pixels: a disc so small is a blur.
const SQUARE: i32 = 3;

/// The picture of a braille character.
pub(super) fn shapes(c: char, size: CellSize) -> Vec<Shape> {
    let pattern = c as u32 - 0x2800;
    // Half of a dot's field each way, so that lines of dots read as lines.
    let field = (size.width / 2).min(size.height / 4);
    let side = ((field + 1) / 2).max(1);
    let mut shapes = Vec::new();
    for (row, bits) in BITS.iter().enumerate() {
        for (column, bit) in bits.iter().enumerate() {
            if pattern >> bit & 1 == 0 {
                continue;
            }
            // The middle of the dot's field, in halves and eighths of the cell.
            let middle = |length: i32, index: usize, fields: i32| {
                length as f32 * (index as f32 + 0.5) / fields as f32
            };
            let (x, y) = (middle(size.width, column, 2), middle(size.height, row, 4));
            shapes.push(if side <= SQUARE {
                let corner = |at: f32| (at - side as f32 / 2.0).round() as i32;
                let (left, top) = (corner(x), corner(y));
                Shape::Rect((left, top), (left + side, top + side), 255)
            } else {
                Shape::Path(Path::disc((x, y), side as f32 / 2.0))
            });
        }
    }
    shapes
}
