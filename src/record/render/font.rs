//! The fonts that are part of the program: JetBrains Mono in two weights, and for symbols that it
//! lacks DejaVu Sans Mono. `scripts/subset_fonts.py` makes the files.

use super::geometry::CellSize;
use super::path::Path;
use super::raster::Mask;
use super::sfnt::Sfnt;

static REGULAR: &[u8] = include_bytes!("../../../assets/fonts/JetBrainsMono-Regular.ttf");
static BOLD: &[u8] = include_bytes!("../../../assets/fonts/JetBrainsMono-Bold.ttf");
static SYMBOLS: &[u8] = include_bytes!("../../../assets/fonts/DejaVuSansMono-Symbols.ttf");

/// JetBrains Mono's advance, ascent and height, in parts of the font's size.
const ADVANCE: f32 = 0.6;
const ASCENT: f32 = 1.02;
const HEIGHT: f32 = 1.32;
/// How far an upright outline leans where italics are asked for: JetBrains Mono's 9 degrees.
const LEAN: f32 = 0.158;

/// A face of the fonts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Face {
    /// JetBrains Mono.
    Regular,
    /// JetBrains Mono Bold.
    Bold,
    /// Symbols of DejaVu Sans Mono.
    Symbols,
}

/// The fonts at a size.
pub struct Fonts {
    faces: [Sfnt; 3],
    /// The size in pixels.
    pub size: f32,
    /// A cell of this size.
    pub cell: CellSize,
    /// Where letters stand, from the cell's top.
    pub baseline: i32,
}

impl Fonts {
    /// The fonts at a size in pixels.
    ///
    /// # Panics
    /// Never: the fonts are part of the program.
    pub fn new(size: f32) -> Self {
        let face = |bytes| Sfnt::new(bytes).expect("a test reads them");
        let height = (size * HEIGHT).round().max(4.0) as i32;
        let width = (size * ADVANCE).round().max(2.0) as i32;
        let cell = CellSize { width, height, light: ((height + 9) / 18).max(1) };
        let baseline = (size * ASCENT).round() as i32;
        Self { faces: [face(REGULAR), face(BOLD), face(SYMBOLS)], size, cell, baseline }
    }

    /// The same outlines at another size.
    pub(super) fn at(&self, size: f32) -> Self {
        Self { size, ..*self }
    }

    /// Where a line under text begins, from the cell's top.
    pub fn underline(&self) -> i32 {
        (self.baseline + (self.size * 0.13).round() as i32).min(self.cell.height - self.cell.light)
    }

    /// Where a line through text begins, from the cell's top.
    pub fn strike(&self) -> i32 {
        self.baseline - (self.size * 0.3).round() as i32
    }

    /// The face that has a character.
    pub fn face(&self, c: char, bold: bool) -> Option<Face> {
        let first = if bold { Face::Bold } else { Face::Regular };
        let mut faces = [first, Face::Symbols].into_iter();
        faces.find(|&face| self.faces[face as usize].glyph(c).is_some())
    }

    /// A character's outline, its origin at the left end of the baseline, and its advance.
    pub fn outline(&self, c: char, face: Face) -> Option<(Path, f32)> {
        let font = &self.faces[face as usize];
        let glyph = font.glyph(c)?;
        let scale = self.size / f32::from(font.units);
        let path = font.outline(glyph)?.map(|(x, y)| (x * scale, -y * scale));
        Some((path, f32::from(font.advance(glyph)) * scale))
    }

    /// A character with what combines with it, as a mask of `cells` cells.
    pub fn mask(&self, text: &str, cells: i32, bold: bool, italic: bool) -> Mask {
        let width = self.cell.width * cells;
        let mut mask = Mask::new(width as usize, self.cell.height as usize);
        let baseline = self.baseline as f32;
        for c in text.chars().filter(|&c| !is_invisible(c)) {
            let outline = self.face(c, bold).and_then(|face| self.outline(c, face));
            let Some((path, advance)) = outline else {
                self.missing(&mut mask, width);
                return mask;
            };
            // A mark without an advance lies left of its origin.
            let x =
                if advance > 0.0 { (width as f32 - advance) / 2.0 } else { self.cell.width as f32 };
            let lean = if italic { LEAN } else { 0.0 };
            // Leaning about half the height of small letters keeps them in the cell's middle.
            let middle = self.size * 0.275;
            mask.fill(&path.map(|(px, py)| (x + px + lean * (-py - middle), baseline + py)));
        }
        mask
    }

    /// A box: there is something here that no font at hand can show.
    fn missing(&self, mask: &mut Mask, width: i32) {
        let line = self.cell.light;
        let (left, right) = (line, width - line);
        let (top, bottom) = (self.baseline - (self.size * 0.73).round() as i32, self.baseline);
        mask.cover.fill(0);
        mask.rect((left, top), (right, top + line), 255);
        mask.rect((left, bottom - line), (right, bottom), 255);
        mask.rect((left, top), (left + line, bottom), 255);
        mask.rect((right - line, top), (right, bottom), 255);
    }
}

/// Characters that only say how others are to be shown.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_has_ink_and_bold_has_more() {
        let fonts = Fonts::new(15.0);
        let ink = |c: char, bold| -> u32 {
            let mask = fonts.mask(&c.to_string(), 1, bold, false);
            mask.cover.iter().map(|&cover| u32::from(cover)).sum()
        };
        for c in ('!'..='~').chain("éßµ°×→…—●▶◀▲▼■▸▾≈·λЖ".chars()) {
            assert!(ink(c, false) > 255, "{c}");
        }
        let all = |bold| ('a'..='z').map(|c| ink(c, bold)).sum::<u32>();
        assert!(all(true) * 10 > all(false) * 12, "{} {}", all(true), all(false));
        assert_eq!(ink(' ', false), 0);
    }

    #[test]
    fn every_character_of_the_fonts_has_an_outline_that_fits_its_cell() {
        let fonts = Fonts::new(30.0);
        let mut known = 0;
        for c in ('\u{0}'..='\u{ffff}').filter(|c| !c.is_control()) {
            for bold in [false, true] {
                let Some(face) = fonts.face(c, bold) else { continue };
                let (path, advance) = fonts.outline(c, face).unwrap_or_else(|| panic!("{c:?}"));
                known += 1;
                assert!(advance == 0.0 || (advance - 18.0).abs() < 0.2, "{c:?} {advance}");
                assert!(path.0.len() < 2000, "{c:?}");
            }
        }
        assert!(known > 3500, "{known}");
    }

    #[test]
    fn symbols_come_from_the_second_font_and_the_rest_is_a_box() {
        let fonts = Fonts::new(15.0);
        assert_eq!(fonts.face('a', true), Some(Face::Bold));
        assert_eq!(fonts.face('⏎', true), Some(Face::Symbols));
        assert_eq!(fonts.face('写', false), None);
        let box_of_two = fonts.mask("写", 2, false, false);
        assert_eq!(box_of_two.width, 18);
        assert_eq!(box_of_two, fonts.mask("真", 2, false, false));
        assert!(!box_of_two.is_empty());
    }

    #[test]
    fn marks_combine_and_selectors_are_not_seen() {
        let fonts = Fonts::new(30.0);
        let mask = |text: &str| fonts.mask(text, 1, false, false);
        assert_ne!(mask("e\u{301}"), mask("e"));
        assert_eq!(mask("▶\u{fe0e}"), mask("▶"));
    }

    #[test]
    fn letters_stay_in_their_cell() {
        for size in [13.0, 15.0, 24.0, 30.0] {
            let fonts = Fonts::new(size);
            assert!((fonts.cell.width as f32 - size * 0.6).abs() <= 0.5);
            let gj = fonts.mask("g", 1, false, false);
            let below = &gj.cover[(fonts.baseline as usize + 1) * gj.width..];
            assert!(below.iter().any(|&cover| cover > 100), "descenders are seen at {size}");
        }
    }
}
