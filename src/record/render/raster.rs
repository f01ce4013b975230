//! Fills outlines into masks: of each pixel the share that lies inside, exact but for the curves,
//! which are cut into short lines.
//!
//! Only additions, multiplications, divisions and square roots are used, which IEEE 754 defines to the
//! last bit: the same outline gives the same mask on every machine.

use super::path::{Path, Point, Segment};

/// How much of each pixel is covered: 0 none, 255 all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Pixels a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Row by row.
    pub cover: Vec<u8>,
}

impl Mask {
    /// An empty mask.
    pub fn new(width: usize, height: usize) -> Self {
        Self { width, height, cover: vec![0; width * height] }
    }

    /// Whether nothing is covered.
    pub fn is_empty(&self) -> bool {
        self.cover.iter().all(|&cover| cover == 0)
    }

    /// Covers a rectangle of whole pixels, by `cover`; what lies outside is cut off.
    pub fn rect(&mut self, (x0, y0): (i32, i32), (x1, y1): (i32, i32), cover: u8) {
        let clip = |at: i32, most: usize| usize::try_from(at).unwrap_or(0).min(most);
        let columns = clip(x0, self.width)..clip(x1, self.width);
        for row in clip(y0, self.height)..clip(y1, self.height) {
            let Some(pixels) = self.cover.chunks_exact_mut(self.width).nth(row) else { return };
            for pixel in pixels.get_mut(columns.clone()).unwrap_or_default() {
                *pixel = (*pixel).max(cover);
            }
        }
    }

    /// Covers the inside of an outline; what lies outside of the mask is cut off.
    pub fn fill(&mut self, path: &Path) {
        let mut areas = Areas::new(self.width, self.height);
        areas.path(path);
        let rows = self.cover.chunks_exact_mut(self.width);
        for (pixels, sums) in rows.zip(areas.sums.chunks_exact(areas.stride)) {
            let mut winding = 0.0_f32;
            for (pixel, sum) in pixels.iter_mut().zip(sums) {
                winding += sum;
                let cover = (winding.abs().min(1.0) * 255.0 + 0.5) as u8;
                // Two outlines that meet in a pixel cover it together.
                *pixel = pixel.saturating_add(cover);
            }
        }
    }
}

/// For each pixel, by how much the covered area changes from the pixel to its left.
struct Areas {
    width: f32,
    height: f32,
    stride: usize,
    sums: Vec<f32>,
}

impl Areas {
    fn new(width: usize, height: usize) -> Self {
        let stride = width + 2;
        Self {
            width: width as f32,
            height: height as f32,
            stride,
            sums: vec![0.0; stride * height],
        }
    }

    fn path(&mut self, path: &Path) {
        let (mut start, mut at) = ((0.0, 0.0), (0.0, 0.0));
        for &segment in &path.0 {
            match segment {
                Segment::Move(to) => (start, at) = (to, to),
                Segment::Line(to) => {
                    self.line(at, to);
                    at = to;
                }
                Segment::Quad(a, to) => {
                    let third = |end: Point| {
                        (end.0 + (a.0 - end.0) * 2.0 / 3.0, end.1 + (a.1 - end.1) * 2.0 / 3.0)
                    };
                    self.cubic(at, third(at), third(to), to);
                    at = to;
                }
                Segment::Cubic(a, b, to) => {
                    self.cubic(at, a, b, to);
                    at = to;
                }
                Segment::Close => {
                    self.line(at, start);
                    at = start;
                }
            }
        }
    }

    fn cubic(&mut self, from: Point, a: Point, b: Point, to: Point) {
        let span = |p: Point, q: Point| (p.0 - q.0).abs() + (p.1 - q.1).abs();
        let length = span(from, a) + span(a, b) + span(b, to);
        // Chords of about a pixel and a half are off the curve by a few hundredths of a pixel.
        let pieces = (length / 1.5).ceil().clamp(2.0, 64.0);
        let mut at = from;
        for piece in 1..=pieces as u32 {
            let t = piece as f32 / pieces;
            let u = 1.0 - t;
            let weights = [u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t];
            let mix = |axis: fn(Point) -> f32| {
                weights[0] * axis(from)
                    + weights[1] * axis(a)
                    + weights[2] * axis(b)
                    + weights[3] * axis(to)
            };
            let next = (mix(|p| p.0), mix(|p| p.1));
            self.line(at, next);
            at = next;
        }
    }

    fn line(&mut self, from: Point, to: Point) {
        let (sign, top, bottom) = if from.1 < to.1 { (1.0, from, to) } else { (-1.0, to, from) };
        let slope = (bottom.0 - top.0) / (bottom.1 - top.1);
        let (first, last) = (top.1.max(0.0), bottom.1.min(self.height));
        if first >= last || !slope.is_finite() {
            return;
        }
        let mut row = first as usize;
        let mut y = first;
        while y < last {
            let next = ((row + 1) as f32).min(last);
            let x = |y: f32| (top.0 + (y - top.1) * slope).clamp(0.0, self.width);
            self.piece(row, x(y), x(next), sign * (next - y));
            (y, row) = (next, row + 1);
        }
    }

    /// A piece of a line within one row: from `x0` to `x1`, with the height `area` (signed).
    fn piece(&mut self, row: usize, x0: f32, x1: f32, area: f32) {
        let (left, right) = if x0 < x1 { (x0, x1) } else { (x1, x0) };
        let (first, last) = (left.floor(), right.ceil());
        let start = row * self.stride + first as usize;
        let Some(sums) = self.sums.get_mut(start..(row + 1) * self.stride) else { return };
        if last - first <= 1.0 {
            // Within one pixel: what is right of the line's middle is inside.
            let middle = f32::midpoint(left, right) - first;
            sums[0] += area * (1.0 - middle);
            sums[1] += area * middle;
            return;
        }
        // Over several pixels: by the share of the height that the line has in each.
        let per_pixel = area / (right - left);
        let mut x = left;
        let mut pixel = 0;
        while x < right {
            let edge = (first + (pixel + 1) as f32).min(right);
            let height = per_pixel * (edge - x);
            let middle = f32::midpoint(x, edge) - (first + pixel as f32);
            sums[pixel] += height * (1.0 - middle);
            sums[pixel + 1] += height * middle;
            (x, pixel) = (edge, pixel + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(path: &Path, width: usize, height: usize) -> Mask {
        let mut mask = Mask::new(width, height);
        mask.fill(path);
        mask
    }

    #[test]
    fn a_rectangle_covers_its_pixels_by_their_share() {
        let path = Path::polygon(&[(0.5, 1.0), (3.0, 1.0), (3.0, 2.5), (0.5, 2.5)]);
        let mask = filled(&path, 4, 4);
        #[rustfmt::skip]
        assert_eq!(mask.cover, [
            0,   0,   0,   0,
            128, 255, 255, 0,
            64,  128, 128, 0,
            0,   0,   0,   0,
        ]);
        let mut same = filled(&path.map(|(x, y)| (3.5 - x, y)), 4, 4);
        same.cover.chunks_mut(4).for_each(|row| row[..3].reverse());
        assert_eq!(same.cover[4..7], [255, 255, 128], "turned the other way round");
    }

    #[test]
    fn what_lies_outside_is_cut_off() {
        let all = Path::polygon(&[(-9.0, -9.0), (99.0, -9.0), (99.0, 99.0), (-9.0, 99.0)]);
        assert!(filled(&all, 5, 3).cover.iter().all(|&cover| cover == 255));
        let none = Path::polygon(&[(6.0, 0.0), (9.0, 0.0), (9.0, 9.0), (6.0, 9.0)]);
        assert!(filled(&none, 5, 3).is_empty());
        let left = Path::polygon(&[(-9.0, 0.0), (2.0, 0.0), (2.0, 3.0), (-9.0, 3.0)]);
        assert_eq!(filled(&left, 4, 1).cover, [255, 255, 0, 0]);
    }

    #[test]
    fn a_disc_has_the_area_of_a_disc() {
        let mask = filled(&Path::disc((10.0, 10.0), 8.0), 20, 20);
        let area: f32 = mask.cover.iter().map(|&cover| f32::from(cover) / 255.0).sum();
        assert!((area - std::f32::consts::PI * 64.0).abs() < 1.0, "{area}");
        assert_eq!(mask.cover[10 * 20 + 10], 255);
        assert_eq!(mask.cover[0], 0);
    }

    #[test]
    fn a_triangle_is_halved_by_its_diagonal() {
        let mask = filled(&Path::polygon(&[(0.0, 0.0), (4.0, 4.0), (0.0, 4.0)]), 4, 4);
        for (row, pixels) in mask.cover.chunks(4).enumerate() {
            for (column, &cover) in pixels.iter().enumerate() {
                let expected = match column.cmp(&row) {
                    std::cmp::Ordering::Less => 255,
                    std::cmp::Ordering::Equal => 128,
                    std::cmp::Ordering::Greater => 0,
                };
                assert_eq!(cover, expected, "{column},{row}");
            }
        }
    }
}
