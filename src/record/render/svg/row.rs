//! A row of cells as markup: grounds, then outlines, then text.

use std::fmt::Write as _;

use super::super::geometry::{self, Shape};
use super::super::grid::{Cell, Row, flags};
use super::super::path::{Path, Segment};
use super::super::scheme::mix;
use super::{Face, Sheet, escaped};
use crate::record::cast::Rgb;

/// A filled rectangle: left, top, right, bottom.
type Rect = (i32, i32, i32, i32);

/// What is to be drawn besides text, in the order in which it is drawn.
#[derive(Default)]
struct Fills {
    /// Rectangles of whole pixels, by colour.
    rects: Vec<(Rgb, Vec<Rect>)>,
    /// Outlines with soft edges, as path data, by colour.
    paths: Vec<(Rgb, String)>,
}

/// The group of a colour, which is added where there is none.
fn group<T: Default>(groups: &mut Vec<(Rgb, T)>, color: Rgb) -> &mut T {
    let index = groups.iter().position(|(known, _)| *known == color).unwrap_or_else(|| {
        groups.push((color, T::default()));
        groups.len() - 1
    });
    &mut groups[index].1
}

impl Fills {
    /// Adds a rectangle, to one that it goes on from where there is one.
    fn rect(&mut self, color: Rgb, (left, top, right, bottom): Rect) {
        let rects = group(&mut self.rects, color);
        let before = rects.iter_mut().rev().take(8);
        for known in before {
            if known.2 == left && known.1 == top && known.3 == bottom {
                known.2 = right;
                return;
            }
        }
        rects.push((left, top, right, bottom));
    }

    fn write(self, sheet: &mut Sheet<'_>, out: &mut String) {
        for (color, rects) in self.rects {
            let _ = write!(out, "<path class=\"e c{}\" d=\"", sheet.color(color));
            for (left, top, right, bottom) in rects {
                let _ = write!(out, "M{left} {top}H{right}V{bottom}H{left}z");
            }
            out.push_str("\"/>");
        }
        for (color, data) in self.paths {
            let _ = write!(out, "<path class=\"c{}\" d=\"{data}\"/>", sheet.color(color));
        }
    }
}

/// A run of text in one style.
#[derive(Default)]
struct Run {
    text: String,
    x: i32,
    /// Cells that it fills.
    cells: i32,
    class: String,
    /// Blank cells that follow it and become part of it if text follows.
    blanks: i32,
}

impl Run {
    fn write(&mut self, sheet: &Sheet<'_>, out: &mut String) {
        if self.text.is_empty() {
            return;
        }
        let y = sheet.fonts.baseline;
        let _ = write!(out, "<text class=\"{}\" x=\"{}\" y=\"{y}\"", self.class, self.x);
        if self.cells > 1 {
            let _ = write!(out, " textLength=\"{}\"", self.cells * sheet.fonts.cell.width);
        }
        let _ = write!(out, ">{}</text>", escaped(&self.text));
        self.text.clear();
    }
}

/// The markup of a row.
pub(super) fn markup(sheet: &mut Sheet<'_>, row: &Row) -> String {
    let size = sheet.fonts.cell;
    let (mut grounds, mut fills) = (Fills::default(), Fills::default());
    let (mut text, mut run) = (String::new(), Run::default());
    for (left, cell) in (0..).step_by(size.width as usize).zip(row.iter()) {
        if cell.width == 0 {
            continue;
        }
        let right = left + size.width * i32::from(cell.width);
        let (fg, bg) = sheet.scheme.inks(cell.look);
        if bg != sheet.scheme.bg {
            grounds.rect(bg, (left, 0, right, size.height));
        }
        if cell.is_blank() {
            run.blanks += i32::from(cell.width);
            continue;
        }
        let lines =
            [(flags::UNDERLINE, sheet.fonts.underline()), (flags::STRIKE, sheet.fonts.strike())];
        for (_, top) in lines.into_iter().filter(|(flag, _)| cell.look.has(*flag)) {
            fills.rect(fg, (left, top, right, top + size.light));
        }
        let shapes = (cell.width == 1).then(|| geometry::shapes(cell.c, size)).flatten();
        if let Some(shapes) = shapes {
            run.write(sheet, &mut text);
            for shape in shapes {
                add(&mut fills, shape, left, (fg, bg));
            }
            continue;
        }
        add_text(sheet, &mut text, &mut run, (left, cell, fg));
    }
    run.write(sheet, &mut text);
    let mut out = String::new();
    grounds.write(sheet, &mut out);
    fills.write(sheet, &mut out);
    out.push_str(&text);
    out
}

fn add(fills: &mut Fills, shape: Shape, left: i32, (fg, bg): (Rgb, Rgb)) {
    match shape {
        Shape::Rect((x0, y0), (x1, y1), cover) => {
            fills.rect(mix(bg, fg, cover), (left + x0, y0, left + x1, y1));
        }
        Shape::Path(path) => {
            let data = group(&mut fills.paths, fg);
            data.push_str(&data_of(&path.map(|(x, y)| (left as f32 + x, y))));
        }
    }
}

/// Adds a cell's text to the run, or begins another where it cannot go on.
fn add_text(
    sheet: &mut Sheet<'_>,
    out: &mut String,
    run: &mut Run,
    (left, cell, fg): (i32, &Cell, Rgb),
) {
    let bold = cell.look.has(flags::BOLD);
    let mut class = format!("c{}", sheet.color(fg));
    for (flag, name) in [(flags::BOLD, " b"), (flags::ITALIC, " i")] {
        if cell.look.has(flag) {
            class.push_str(name);
        }
    }
    let face = sheet.fonts.face(cell.c, bold);
    // What comes from another font may have another width: it stands alone.
    let alone = face.is_none() || cell.width > 1 || cell.marks.is_some();
    let width = sheet.fonts.cell.width;
    let goes_on = !alone
        && !run.text.is_empty()
        && run.class == class
        && run.blanks <= 1
        && run.x + (run.cells + run.blanks) * width == left;
    if !goes_on {
        run.write(sheet, out);
        *run = Run { x: left, class, ..Run::default() };
    }
    for _ in 0..std::mem::take(&mut run.blanks) {
        run.text.push(' ');
        run.cells += 1;
        sheet.chars.insert((' ', if bold { Face::Bold } else { Face::Regular }));
    }
    run.text.push(cell.c);
    run.text.push_str(cell.marks());
    run.cells += 1;
    let marks = cell.marks().chars();
    for c in std::iter::once(cell.c).chain(marks) {
        let face = sheet.fonts.face(c, bold);
        // In bold text symbols, too, are looked for in the bold font.
        let face = face.map(|face| if bold { Face::Bold } else { face });
        sheet.chars.extend(face.map(|face| (c, face)));
    }
    if alone {
        run.cells = 1;
        run.write(sheet, out);
    }
}

/// Path data, with two decimals.
fn data_of(path: &Path) -> String {
    let mut out = String::new();
    let number = |value: f32| {
        let text = format!("{value:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        if text == "-0" { "0".to_owned() } else { text.to_owned() }
    };
    let pair = |(x, y): (f32, f32)| format!("{} {}", number(x), number(y));
    for segment in &path.0 {
        let _ = match *segment {
            Segment::Move(to) => write!(out, "M{}", pair(to)),
            Segment::Line(to) => write!(out, "L{}", pair(to)),
            Segment::Quad(a, to) => write!(out, "Q{} {}", pair(a), pair(to)),
            Segment::Cubic(a, b, to) => write!(out, "C{} {} {}", pair(a), pair(b), pair(to)),
            Segment::Close => write!(out, "z"),
        };
    }
    out
}
