//! Reads the outlines of a TrueType font: as much of the format as the fonts that are part of the
//! program have, and no more.
//!
//! Tables and their fields: <https://learn.microsoft.com/typography/opentype/spec/>.

use super::path::{Path, Point, Segment};

/// Parts of parts at most; the fonts have one level.
const DEPTH: u8 = 4;

/// How a part is turned and scaled (where one unit along x goes, and one along y), and then moved.
type Affine = [Point; 3];

/// As it is.
const SAME: Affine = [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)];

/// A direction of a part, as it is in the whole.
fn turned([along, up, _]: Affine, (x, y): Point) -> Point {
    (along.0 * x + up.0 * y, along.1 * x + up.1 * y)
}

/// A point of a part, where it is in the whole.
fn placed(place: Affine, point: Point) -> Point {
    let (x, y) = turned(place, point);
    (x + place[2].0, y + place[2].1)
}

/// A font file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sfnt {
    /// Of the em square.
    pub(super) units: u16,
    cmap: Bytes,
    glyf: Bytes,
    loca: Bytes,
    hmtx: Bytes,
    /// Whether offsets of glyphs are four bytes long.
    long: bool,
    /// Glyphs with an advance of their own; all that follow have the last one's.
    advances: usize,
}

/// A part of the file; what lies outside of it is not there.
#[derive(Clone, Copy, Debug)]
struct Bytes(&'static [u8]);

impl Bytes {
    fn from(self, at: usize) -> Self {
        Self(self.0.get(at..).unwrap_or_default())
    }

    fn u8(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    fn u16(self, at: usize) -> Option<u16> {
        Some(u16::from_be_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    fn i16(self, at: usize) -> Option<i16> {
        self.u16(at).map(u16::cast_signed)
    }

    fn u32(self, at: usize) -> Option<usize> {
        usize::try_from(u32::from_be_bytes(*self.0.get(at..)?.first_chunk()?)).ok()
    }
}

impl Sfnt {
    /// Finds the tables; `None` where one is missing.
    pub(super) fn new(file: &'static [u8]) -> Option<Self> {
        let file = Bytes(file);
        let table = |tag: &[u8; 4]| {
            let count = usize::from(file.u16(4)?);
            let mut records = (0..count).map(|record| file.from(12 + 16 * record));
            let record = records.find(|record| record.0.starts_with(tag))?;
            let (start, length) = (record.u32(8)?, record.u32(12)?);
            file.0.get(start..start.checked_add(length)?).map(Bytes)
        };
        let head = table(b"head")?;
        Some(Self {
            units: head.u16(18)?,
            cmap: unicode(table(b"cmap")?)?,
            glyf: table(b"glyf")?,
            loca: table(b"loca")?,
            hmtx: table(b"hmtx")?,
            long: head.u16(50)? != 0,
            advances: usize::from(table(b"hhea")?.u16(34)?),
        })
    }

    /// The glyph of a character, if there is one.
    pub(super) fn glyph(&self, c: char) -> Option<u16> {
        let code = u16::try_from(u32::from(c)).ok()?;
        let table = self.cmap;
        let twice = usize::from(table.u16(6)?);
        // Four arrays, one behind the other: ends, starts, deltas, offsets.
        let (ends, starts) = (14, 16 + twice);
        let (deltas, offsets) = (starts + twice, starts + 2 * twice);
        let at = (0..twice)
            .step_by(2)
            .find(|&at| table.u16(ends + at).is_some_and(|end| code <= end))?;
        let start = table.u16(starts + at)?;
        let (delta, offset) = (table.u16(deltas + at)?, table.u16(offsets + at)?);
        let index = usize::from(code.checked_sub(start)?);
        let glyph = if offset == 0 {
            code.wrapping_add(delta)
        } else {
            // An offset counts from where it stands itself.
            match table.u16(offsets + at + usize::from(offset) + 2 * index)? {
                0 => 0,
                glyph => glyph.wrapping_add(delta),
            }
        };
        Some(glyph).filter(|&glyph| glyph != 0)
    }

    /// How far the next character is, in units.
    pub(super) fn advance(&self, glyph: u16) -> u16 {
        let index = usize::from(glyph).min(self.advances.saturating_sub(1));
        self.hmtx.u16(4 * index).unwrap_or_default()
    }

    /// A glyph's outline, in units, y upwards.
    pub(super) fn outline(&self, glyph: u16) -> Option<Path> {
        let mut path = Path::default();
        self.add(glyph, &mut path, SAME, DEPTH)?;
        Some(path)
    }

    fn add(&self, glyph: u16, path: &mut Path, place: Affine, depth: u8) -> Option<()> {
        let index = usize::from(glyph);
        let offset = |index: usize| {
            if self.long {
                self.loca.u32(4 * index)
            } else {
                Some(2 * usize::from(self.loca.u16(2 * index)?))
            }
        };
        let (start, end) = (offset(index)?, offset(index + 1)?);
        let data = Bytes(self.glyf.0.get(start..end)?);
        if data.0.is_empty() {
            return Some(());
        }
        match usize::try_from(data.i16(0)?) {
            Ok(contours) => simple(data.from(10), contours, path, place),
            Err(_) if depth > 0 => self.parts(data.from(10), path, place, depth - 1),
            Err(_) => None,
        }
    }

    /// A glyph that is put together of others, each turned, scaled and moved.
    fn parts(&self, data: Bytes, path: &mut Path, place: Affine, depth: u8) -> Option<()> {
        let mut at = 0;
        loop {
            let (bits, glyph) = (data.u16(at)?, data.u16(at + 2)?);
            // Points matched to points are not in our fonts.
            if bits & 2 == 0 {
                return None;
            }
            at += 4;
            let (x, y) = if bits & 1 == 0 {
                let byte = |at| data.u8(at).map(|byte| i16::from(byte.cast_signed()));
                at += 2;
                (byte(at - 2)?, byte(at - 1)?)
            } else {
                at += 4;
                (data.i16(at - 4)?, data.i16(at - 2)?)
            };
            // Fractions of 2^14: none, one for all, one an axis, or all four.
            let mut scale = || {
                at += 2;
                data.i16(at - 2).map(|scale| f32::from(scale) / 16_384.0)
            };
            let (along, up) = match bits & 0xc8 {
                0 => ((1.0, 0.0), (0.0, 1.0)),
                8 => {
                    let both = scale()?;
                    ((both, 0.0), (0.0, both))
                }
                0x40 => ((scale()?, 0.0), (0.0, scale()?)),
                _ => ((scale()?, scale()?), (scale()?, scale()?)),
            };
            let moved = placed(place, (f32::from(x), f32::from(y)));
            let part = [turned(place, along), turned(place, up), moved];
            self.add(glyph, path, part, depth)?;
            if bits & 0x20 == 0 {
                return Some(());
            }
        }
    }
}

/// Unicode's basic plane, in format 4.
fn unicode(cmap: Bytes) -> Option<Bytes> {
    let count = usize::from(cmap.u16(2)?);
    let mut tables = (0..count).filter_map(|record| cmap.u32(4 + 8 * record + 4));
    tables.find(|&at| cmap.u16(at) == Some(4)).map(|at| cmap.from(at))
}

/// A glyph of contours.
fn simple(data: Bytes, contours: usize, path: &mut Path, place: Affine) -> Option<()> {
    let ends: Vec<usize> = (0..contours)
        .map(|contour| data.u16(2 * contour).map(usize::from))
        .collect::<Option<_>>()?;
    let count = ends.last().map_or(0, |last| last + 1);
    let instructions = usize::from(data.u16(2 * contours)?);
    let mut at = 2 * contours + 2 + instructions;
    let mut flags = Vec::with_capacity(count);
    while flags.len() < count {
        let flag = data.u8(at)?;
        at += 1;
        let mut times = 1;
        if flag & 8 != 0 {
            times += usize::from(data.u8(at)?);
            at += 1;
        }
        flags.extend(std::iter::repeat_n(flag, times));
    }
    // One axis after the other: a step is short and has its sign in the flag, or none, or long.
    let mut axis = |short: u8, same: u8| -> Option<Vec<i16>> {
        let mut value = 0_i16;
        let mut values = Vec::with_capacity(count);
        for flag in &flags[..count] {
            if flag & short != 0 {
                let step = i16::from(data.u8(at)?);
                value = value.wrapping_add(if flag & same != 0 { step } else { -step });
                at += 1;
            } else if flag & same == 0 {
                value = value.wrapping_add(data.i16(at)?);
                at += 2;
            }
            values.push(value);
        }
        Some(values)
    };
    let (xs, ys) = (axis(2, 16)?, axis(4, 32)?);
    let points: Vec<(Point, bool)> = xs
        .iter()
        .zip(&ys)
        .zip(&flags)
        .map(|((&x, &y), flag)| (placed(place, (f32::from(x), f32::from(y))), flag & 1 != 0))
        .collect();
    let mut start = 0;
    for end in ends {
        contour(points.get(start..=end)?, path);
        start = end + 1;
    }
    Some(())
}

/// A contour; between two points off it there is one on it, in the middle.
fn contour(points: &[(Point, bool)], path: &mut Path) {
    let middle = |a: Point, b: Point| (f32::midpoint(a.0, b.0), f32::midpoint(a.1, b.1));
    let (Some(&(head, _)), Some(&(last, _))) = (points.first(), points.last()) else {
        return;
    };
    // Begun at a point on it, where there is one.
    let on = points.iter().position(|point| point.1);
    let begin = on.map_or_else(|| middle(last, head), |index| points[index].0);
    path.0.push(Segment::Move(begin));
    let mut control: Option<Point> = None;
    let (skip, take) = on.map_or((0, points.len()), |index| (index + 1, points.len() - 1));
    let round = points.iter().cycle().skip(skip).take(take);
    for &(point, on) in round {
        match (control, on) {
            (None, true) => path.0.push(Segment::Line(point)),
            (None, false) => control = Some(point),
            (Some(off), true) => {
                path.0.push(Segment::Quad(off, point));
                control = None;
            }
            (Some(off), false) => {
                path.0.push(Segment::Quad(off, middle(off, point)));
                control = Some(point);
            }
        }
    }
    if let Some(off) = control {
        path.0.push(Segment::Quad(off, begin));
    }
    path.0.push(Segment::Close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_font_is_refused_and_what_is_cut_off_has_no_outlines() {
        assert!(Sfnt::new(b"").is_none());
        assert!(Sfnt::new(b"\0\x01\0\0\0\x03 and no more").is_none());
        let bytes = Bytes(b"\0\x01");
        assert_eq!((bytes.u16(0), bytes.u16(1), bytes.u32(0)), (Some(1), None, None));
    }

    #[test]
    fn a_contour_of_points_off_it_runs_through_their_middles() {
        let mut path = Path::default();
        let off = |x, y| ((x, y), false);
        contour(&[off(0.0, 0.0), off(4.0, 0.0), off(4.0, 4.0), off(0.0, 4.0)], &mut path);
        assert_eq!(path.0[0], Segment::Move((0.0, 2.0)));
        assert_eq!(path.0[1], Segment::Quad((0.0, 0.0), (2.0, 0.0)));
        assert_eq!(path.0[4], Segment::Quad((0.0, 4.0), (0.0, 2.0)));
        let mut path = Path::default();
        contour(&[((0.0, 0.0), false), ((4.0, 0.0), true), ((4.0, 4.0), true)], &mut path);
        let expected = [
            Segment::Move((4.0, 0.0)),
            Segment::Line((4.0, 4.0)),
            Segment::Quad((0.0, 0.0), (4.0, 0.0)),
            Segment::Close,
        ];
        assert_eq!(path.0, expected);
    }
}
