//! Blocks: eighths, quadrants, sextants and shades.

use super::{CellSize, Shape};

/// The picture of a block character.
pub(super) fn shapes(c: char, size: CellSize) -> Vec<Shape> {
    let (w, h) = (size.width, size.height);
    let code = c as i32;
    let full = |from, to| vec![Shape::Rect(from, to, 255)];
    let shade = |quarters: i32| vec![Shape::Rect((0, 0), (w, h), (quarters * 64).min(255) as u8)];
    match c {
        '▀' => full((0, 0), (w, part(h, 4, 8))),
        '▁'..='█' => full((0, h - part(h, code - 0x2580, 8)), (w, h)),
        '▉'..='▏' => full((0, 0), (part(w, 0x2590 - code, 8), h)),
        '▐' => full((part(w, 4, 8), 0), (w, h)),
        '░'..='▓' => shade(code - 0x2590),
        '▔' => full((0, 0), (w, part(h, 1, 8))),
        '▕' => full((w - part(w, 1, 8), 0), (w, h)),
        '▖'..='▟' => grid(QUADRANTS[(code - 0x2596) as usize], 2, size),
        // Upper blocks of 2, 3, 5, 6 and 7 eighths, then right ones.
        '\u{1fb82}'..='\u{1fb86}' => {
            let eighths = [2, 3, 5, 6, 7][(code - 0x1fb82) as usize];
            full((0, 0), (w, part(h, eighths, 8)))
        }
        '\u{1fb87}'..='\u{1fb8b}' => {
            let eighths = [2, 3, 5, 6, 7][(code - 0x1fb87) as usize];
            full((w - part(w, eighths, 8), 0), (w, h))
        }
        _ => grid(sextant(c as u32), 3, size),
    }
}

/// So many parts of a length, rounded; of what is not nothing, a pixel at least.
fn part(length: i32, parts: i32, of: i32) -> i32 {
    let pixels = (length * parts * 2 + of) / (of * 2);
    if parts == 0 { 0 } else { pixels.max(1) }
}

/// Which quadrants U+2596 and those after it fill: 1 upper left, 2 upper right, 4 lower left, 8 lower
/// right.
const QUADRANTS: [u32; 10] = [4, 8, 1, 13, 9, 7, 11, 2, 6, 14];

/// Which sextants a character fills, row by row. Those that are blocks already (nothing, left half,
/// right half, all) have no sextant character and are left out of the order.
const fn sextant(code: u32) -> u32 {
    let pattern = code - 0x1fb00 + 1;
    let pattern = if pattern >= 0b01_0101 { pattern + 1 } else { pattern };
    if pattern >= 0b10_1010 { pattern + 1 } else { pattern }
}

/// A grid of two columns, each bit one field of it.
fn grid(pattern: u32, rows: i32, size: CellSize) -> Vec<Shape> {
    let middle = part(size.width, 1, 2);
    let row = |row: i32| (size.height * row * 2 + rows) / (rows * 2);
    let mut shapes = Vec::new();
    for y in 0..rows {
        let bits = pattern >> (2 * y) & 3;
        let columns = match bits {
            0 => continue,
            1 => (0, middle),
            2 => (middle, size.width),
            _ => (0, size.width),
        };
        shapes.push(Shape::Rect((columns.0, row(y)), (columns.1, row(y + 1)), 255));
    }
    shapes
}
