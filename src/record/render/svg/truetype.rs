//! A TrueType font of a few characters, written from their outlines.
//!
//! Tables and their fields: <https://learn.microsoft.com/typography/opentype/spec/>.

use super::super::font::{Face, Fonts};
use super::super::path::{Path, Point, Segment};

/// Units of the em square.
const UNITS: u16 = 1000;
/// JetBrains Mono's advance, ascent and descent in these units.
const ADVANCE: u16 = 600;
const ASCENT: i16 = 1020;
const DESCENT: i16 = -300;

/// A contour's points, and whether each lies on the outline.
type Contour = Vec<(i16, i16, bool)>;

/// A font of these characters, each from its face; `None` where there are none.
pub(super) fn font(fonts: &Fonts, chars: impl Iterator<Item = (char, Face)>) -> Option<Vec<u8>> {
    let fonts = fonts.at(f32::from(UNITS));
    let mut glyphs = vec![(None, missing())];
    for (c, face) in chars.filter(|(c, _)| u32::from(*c) < 0x1_0000) {
        let bold = face == Face::Bold;
        let outline = fonts.face(c, bold).and_then(|face| fonts.outline(c, face));
        let Some((path, advance)) = outline else { continue };
        // In the middle of the cell, as when it is drawn.
        let shift =
            if advance > 0.0 { (f32::from(ADVANCE) - advance) / 2.0 } else { f32::from(ADVANCE) };
        glyphs.push((Some(c), contours(&path.map(|(x, y)| (x + shift, -y)))));
    }
    // Both faces of symbols may have given the same character.
    glyphs.dedup_by_key(|(c, _)| *c);
    (glyphs.len() > 1).then(|| assemble(&glyphs))
}

/// What stands for a character that no font at hand has: a box.
fn missing() -> Vec<Contour> {
    let corners = |left, bottom, right, top| -> Contour {
        vec![(left, bottom, true), (left, top, true), (right, top, true), (right, bottom, true)]
    };
    let mut hole = corners(120, 70, 480, 660);
    hole.reverse();
    vec![corners(60, 0, 540, 730), hole]
}

/// An outline of lines and quadratic curves as TrueType has them.
fn contours(path: &Path) -> Vec<Contour> {
    let unit = |at: f32| at.round().clamp(-16_000.0, 16_000.0) as i16;
    let point = |(x, y): Point, on: bool| (unit(x), unit(y), on);
    let mut contours: Vec<Contour> = Vec::new();
    for segment in &path.0 {
        match (*segment, contours.last_mut()) {
            (Segment::Move(to), _) => contours.push(vec![point(to, true)]),
            // The fonts have no cubic curves.
            (Segment::Line(to) | Segment::Cubic(_, _, to), Some(contour)) => {
                contour.push(point(to, true));
            }
            (Segment::Quad(a, to), Some(contour)) => {
                contour.extend([point(a, false), point(to, true)]);
            }
            _ => {}
        }
    }
    for contour in &mut contours {
        // A contour closes by itself.
        if contour.len() > 1 && contour.first() == contour.last() {
            contour.pop();
        }
    }
    contours.retain(|contour| contour.len() > 1);
    contours
}

/// Bytes of a table, most significant first.
#[derive(Default)]
struct Table(Vec<u8>);

impl Table {
    fn u8(&mut self, values: &[u8]) -> &mut Self {
        self.0.extend_from_slice(values);
        self
    }

    fn u16(&mut self, values: &[u16]) -> &mut Self {
        self.0.extend(values.iter().flat_map(|value| value.to_be_bytes()));
        self
    }

    fn i16(&mut self, values: &[i16]) -> &mut Self {
        self.0.extend(values.iter().flat_map(|value| value.to_be_bytes()));
        self
    }

    fn u32(&mut self, values: &[u32]) -> &mut Self {
        self.0.extend(values.iter().flat_map(|value| value.to_be_bytes()));
        self
    }
}

/// The least and the greatest of a glyph's x and y: left, bottom, right, top.
fn bounds(contours: &[Contour]) -> [i16; 4] {
    let points = || contours.iter().flatten();
    let range = |axis: fn(&(i16, i16, bool)) -> i16| {
        let least = points().map(axis).min().unwrap_or_default();
        (least, points().map(axis).max().unwrap_or_default())
    };
    let ((left, right), (bottom, top)) = (range(|point| point.0), range(|point| point.1));
    [left, bottom, right, top]
}

fn glyph(contours: &[Contour]) -> Vec<u8> {
    let mut table = Table::default();
    if contours.is_empty() {
        return table.0;
    }
    table.u16(&[contours.len() as u16]).i16(&bounds(contours));
    let mut end = 0;
    for contour in contours {
        end += contour.len();
        table.u16(&[(end - 1) as u16]);
    }
    // No instructions.
    table.u16(&[0]);
    let points: Vec<_> = contours.iter().flatten().copied().collect();
    let mut flags = Vec::new();
    let (mut xs, mut ys) = (Table::default(), Table::default());
    let (mut x, mut y) = (0, 0);
    for (px, py, on) in points {
        let mut flag = u8::from(on);
        for (bits, table, step) in [((2, 16), &mut xs, px - x), ((4, 32), &mut ys, py - y)] {
            let (short, same) = bits;
            match step {
                0 => flag |= same,
                -255..=255 => {
                    flag |= short | if step > 0 { same } else { 0 };
                    table.u8(&[step.unsigned_abs() as u8]);
                }
                _ => {
                    table.i16(&[step]);
                }
            }
        }
        flags.push(flag);
        (x, y) = (px, py);
    }
    table.u8(&flags).u8(&xs.0).u8(&ys.0);
    while table.0.len() % 4 != 0 {
        table.0.push(0);
    }
    table.0
}

/// Which glyph a character has: format 4, a segment a character.
fn cmap(chars: &[char]) -> Vec<u8> {
    let codes: Vec<u16> = chars.iter().map(|&c| c as u16).chain([0xffff]).collect();
    let count = codes.len() as u16;
    let power = 1_u16 << count.ilog2();
    let mut table = Table::default();
    // One subtable: Unicode's basic plane, for Windows.
    table.u16(&[0, 1, 3, 1]).u32(&[12]);
    let length = 16 + 8 * count;
    table.u16(&[4, length, 0, count * 2, power * 2, power.ilog2() as u16, (count - power) * 2]);
    table.u16(&codes).u16(&[0]).u16(&codes);
    for (index, code) in codes.iter().enumerate() {
        // The last segment is there to be the last: it has no glyph.
        let glyph = if index + 1 == codes.len() { 0 } else { index as u16 + 1 };
        table.u16(&[glyph.wrapping_sub(*code)]);
    }
    for _ in &codes {
        table.u16(&[0]);
    }
    table.0
}

fn assemble(glyphs: &[(Option<char>, Vec<Contour>)]) -> Vec<u8> {
    let count = glyphs.len() as u16;
    let chars: Vec<char> = glyphs.iter().filter_map(|(c, _)| *c).collect();
    let outlines: Vec<Vec<u8>> = glyphs.iter().map(|(_, contours)| glyph(contours)).collect();
    let all: Vec<Contour> = glyphs.iter().flat_map(|(_, contours)| contours).cloned().collect();
    let [left, bottom, right, top] = bounds(&all);
    let (mut head, mut hhea, mut maxp, mut os2) =
        (Table::default(), Table::default(), Table::default(), Table::default());
    // Version, revision, checksum, magic; no flags but a baseline at 0; long offsets.
    head.u32(&[0x1_0000, 0x1_0000, 0, 0x5f0f_3cf5]).u16(&[1, UNITS]).u32(&[0; 4]);
    head.i16(&[left, bottom, right, top]).u16(&[0, 8]).i16(&[2, 1, 0]);
    hhea.u32(&[0x1_0000]).i16(&[ASCENT, DESCENT, 0]).u16(&[ADVANCE]);
    hhea.i16(&[left, 0, right, 1, 0, 0, 0, 0, 0, 0, 0]).u16(&[count]);
    let points = |contours: &Vec<Contour>| contours.iter().map(Vec::len).sum::<usize>() as u16;
    let most_points = glyphs.iter().map(|(_, contours)| points(contours)).max().unwrap_or_default();
    let most_contours = glyphs.iter().map(|(_, contours)| contours.len() as u16).max();
    maxp.u32(&[0x1_0000]).u16(&[count, most_points, most_contours.unwrap_or_default()]);
    maxp.u16(&[0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
    let (first, last) = (chars.iter().min(), chars.iter().max());
    let code = |c: Option<&char>| c.map_or(0, |&c| c as u16);
    // Version 1: widths and positions, PANOSE (monospaced), ranges, no vendor, a regular style.
    os2.u16(&[1, ADVANCE, 400, 5, 0]);
    os2.i16(&[650, 600, 0, 75, 650, 600, 0, 350, 50, 300, 0]);
    os2.u8(&[2, 0, 0, 9, 0, 0, 0, 0, 0, 0]).u32(&[0; 4]).u8(b"    ");
    os2.u16(&[0x40, code(first), code(last)]).i16(&[ASCENT, DESCENT, 0]);
    os2.u16(&[ASCENT.unsigned_abs(), DESCENT.unsigned_abs()]).u32(&[1, 0]);
    let mut post = Table::default();
    post.u32(&[0x3_0000, 0]).i16(&[-155, 50]).u32(&[1, 0, 0, 0, 0]);
    let mut name = Table::default();
    name.u16(&[0, 0, 6]);
    let (mut hmtx, mut loca, mut glyf) = (Table::default(), Table::default(), Table::default());
    for ((_, contours), outline) in glyphs.iter().zip(&outlines) {
        hmtx.u16(&[ADVANCE]).i16(&[bounds(contours)[0]]);
        loca.u32(&[glyf.0.len() as u32]);
        glyf.u8(outline);
    }
    loca.u32(&[glyf.0.len() as u32]);
    file(&[
        (b"OS/2", os2.0),
        (b"cmap", cmap(&chars)),
        (b"glyf", glyf.0),
        (b"head", head.0),
        (b"hhea", hhea.0),
        (b"hmtx", hmtx.0),
        (b"loca", loca.0),
        (b"maxp", maxp.0),
        (b"name", name.0),
        (b"post", post.0),
    ])
}

fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(4).map(|chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        u32::from_be_bytes(word)
    });
    words.fold(0, u32::wrapping_add)
}

/// The directory of tables, then the tables; `head` holds the sum over all of it.
fn file(tables: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut out = Table::default();
    let power = 1_u16 << tables.len().ilog2();
    let count = tables.len() as u16;
    out.u32(&[0x1_0000]);
    out.u16(&[count, power * 16, power.ilog2() as u16, (count - power) * 16]);
    let mut offset = 12 + 16 * tables.len();
    let mut adjustment = None;
    for (tag, table) in tables {
        out.u8(*tag).u32(&[sum(table), offset as u32, table.len() as u32]);
        if *tag == b"head" {
            adjustment = Some(offset + 8);
        }
        offset += table.len().next_multiple_of(4);
    }
    for (_, table) in tables {
        out.u8(table);
        while out.0.len() % 4 != 0 {
            out.0.push(0);
        }
    }
    let mut bytes = out.0;
    let total = 0xb1b0_afba_u32.wrapping_sub(sum(&bytes));
    if let Some(place) = adjustment.and_then(|at| bytes.get_mut(at..at + 4)) {
        place.copy_from_slice(&total.to_be_bytes());
    }
    bytes
}
