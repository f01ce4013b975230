//! Screens as SVG: text as text, with each run at its exact place, boxes and blocks as outlines; the
//! characters' outlines come along as a small font, so that every viewer shows the same.

mod film;
mod row;
mod truetype;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::canvas;
use super::font::{Face, Fonts};
use super::grid::{Grid, Row};
use super::scheme::Scheme;
use crate::record::cast::Rgb;

pub use film::film;

/// Fonts that look much the same, should the one that comes along not be taken.
const STACK: &str =
    "'JetBrains Mono','Cascadia Mono','SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace";
/// The radius of the picture's corners, in pixels.
const CORNER: usize = 6;

/// A screen as SVG, with a title for those who cannot see it.
pub fn still(grid: &Grid, scheme: &Scheme, fonts: &Fonts, title: &str) -> String {
    let mut sheet = Sheet::new(scheme, fonts);
    let mut body = String::new();
    for (y, row) in grid.rows.iter().enumerate() {
        let markup = sheet.row(row);
        push_row(&mut body, y * fonts.cell.height as usize, &markup);
    }
    let rows = grid.rows.len();
    sheet.document((usize::from(grid.cols), rows), title, "", &body)
}

fn push_row(body: &mut String, top: usize, markup: &str) {
    if markup.is_empty() {
        return;
    }
    if top == 0 {
        body.push_str(markup);
        return;
    }
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(body, "<g transform=\"translate(0,{top})\">{markup}</g>");
}

/// What all parts of one document share: colours as classes, and the characters that it shows.
struct Sheet<'a> {
    scheme: &'a Scheme,
    fonts: &'a Fonts,
    colors: Vec<Rgb>,
    chars: BTreeSet<(char, Face)>,
}

impl<'a> Sheet<'a> {
    const fn new(scheme: &'a Scheme, fonts: &'a Fonts) -> Self {
        Self { scheme, fonts, colors: Vec::new(), chars: BTreeSet::new() }
    }

    /// The markup of a row, its upper left corner at 0,0.
    fn row(&mut self, row: &Row) -> String {
        row::markup(self, row)
    }

    /// The number of the class that fills with a colour.
    fn color(&mut self, color: Rgb) -> usize {
        let known = self.colors.iter().position(|&known| known == color);
        known.unwrap_or_else(|| {
            self.colors.push(color);
            self.colors.len() - 1
        })
    }

    /// The whole document.
    fn document(
        &self,
        (cols, rows): (usize, usize),
        title: &str,
        style: &str,
        body: &str,
    ) -> String {
        let margin = canvas::margin(self.fonts.cell);
        let width = cols * self.fonts.cell.width as usize + 2 * margin;
        let height = rows * self.fonts.cell.height as usize + 2 * margin;
        let size = self.fonts.size;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n"
        );
        if !title.is_empty() {
            let _ = writeln!(out, "<title>{}</title>", escaped(title));
        }
        out.push_str("<style>\n");
        for (face, weight) in [(Face::Regular, 400), (Face::Bold, 700)] {
            let bold = face == Face::Bold;
            let chars = self.chars.iter().filter(|(_, used)| (*used == Face::Bold) == bold);
            let font = truetype::font(self.fonts, chars.copied());
            if let Some(font) = font {
                let data = base64(&font);
                let _ = writeln!(
                    out,
                    "@font-face{{font-family:screen;font-weight:{weight};\
                     src:url(data:font/ttf;base64,{data})}}"
                );
            }
        }
        let _ = writeln!(
            out,
            "text{{font:{size}px screen,{STACK};white-space:pre;font-variant-ligatures:none}}\
             .b{{font-weight:700}}.i{{font-style:italic}}.e{{shape-rendering:crispEdges}}"
        );
        for (number, color) in self.colors.iter().enumerate() {
            let _ = write!(out, ".c{number}{{fill:{}}}", hex(*color));
        }
        let _ = writeln!(
            out,
            "\n{style}</style>\n<rect width=\"{width}\" height=\"{height}\" rx=\"{CORNER}\" fill=\"{}\"/>\n\
             <g transform=\"translate({margin},{margin})\">\n{body}</g>\n</svg>",
            hex(self.scheme.bg)
        );
        out
    }
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Text as it stands in XML; characters that XML does not have are left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut three = [0; 3];
        three[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit) & 63) as usize;
            out.push(if digit <= chunk.len() { char::from(DIGITS[value]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests;
