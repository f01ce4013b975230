//! Resize the shorter side and cut out the middle, or squash: one resampling, from the source rectangle that the
//! square covers, first along the rows and then along the columns.
//!
//! The order matters because the rows in between are rounded to bytes, as in Pillow, which goes along the rows
//! first too, and so does torchvision on Pillow pictures. The other order changes one pixel in a few by one level,
//! enough to turn close calls of a classifier. (From version 13 on Pillow takes the columns first where that is
//! cheaper: where a picture is squashed that is clearly taller than wide.)
//!
//! | word | library that gives the same pixels, but for one level of rounding |
//! |---|---|
//! | `nearest` | Pillow's `NEAREST`, OpenCV's `INTER_NEAREST_EXACT` (its `INTER_NEAREST` has other centres) |
//! | `bilinear`, `cubic`, `lanczos3` | Pillow's `BILINEAR`, `BICUBIC`, `LANCZOS`; torchvision with `antialias=True` |
//! | `cubic-cv` | OpenCV's `INTER_CUBIC`: 4 × 4 taps whatever the scale |
//!
//! | module | what |
//! |---|---|
//! | [`kernel`] | the filters, and how their libraries treat scale and edges |
//! | [`weights`] | the weights of each window along one axis |
//! | [`passes`], [`avx2`] | the sums |

#[cfg(target_arch = "x86_64")]
mod avx2;
mod kernel;
mod passes;
#[cfg(test)]
mod tests;
mod weights;

pub(super) use kernel::Kernel;
use passes::{LANES, Ring, Rounding, TOGETHER};
use weights::{Span, Weights};

use super::orientation::Orientation;
use super::vectors::Vectors;
use crate::pipeline::infer::Geometry;
use crate::probe::lock::gil::checkpoint;

/// How pixels are resampled. Those of Pillow widen with the scale (antialiased), all but nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The nearest pixel, nothing averaged.
    Nearest,
    /// Triangle.
    Bilinear,
    /// Catmull-Rom (a = −0.5), which Pillow calls bicubic.
    Cubic,
    /// OpenCV's bicubic: a = −0.75, 4 × 4 pixels whatever the scale (not antialiased), edges repeated.
    CubicCv,
    /// Lanczos, 3 lobes.
    Lanczos3,
}

impl Filter {
    /// All filters, in the order of [`FILTERS`](crate::pipeline::knobs::FILTERS).
    pub const ALL: [Self; 5] =
        [Self::Nearest, Self::Bilinear, Self::Cubic, Self::Lanczos3, Self::CubicCv];

    /// The filter at an index of [`FILTERS`](crate::pipeline::knobs::FILTERS); past its end the last.
    pub fn from_index(index: usize) -> Self {
        Self::ALL[index.min(Self::ALL.len() - 1)]
    }
}

/// A rectangle of a stored picture, in pixels and parts of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Size of the upright picture once its shorter side is `short`: the longer one is
/// ⌊short × long / shorter⌋, as torchvision's `Resize` computes it.
pub(super) fn resized_size(width: u32, height: u32, short: u32) -> (u64, u64) {
    let (w, h, s) = (u64::from(width), u64::from(height), u64::from(short));
    if w <= h { (s, s * h / w) } else { (s * w / h, s) }
}

/// What the square of `side` × `side` covers in the stored picture: all of it, or what lies under the middle of
/// the resized upright one. Odd remainders leave the smaller part on the left and on top.
pub(super) fn source_rect(
    (width, height): (u32, u32),
    orientation: Orientation,
    geometry: Geometry,
    side: u32,
) -> Rect {
    let Geometry::Crop { short_side: short } = geometry else {
        return Rect { left: 0.0, top: 0.0, width: f64::from(width), height: f64::from(height) };
    };
    let (upright_w, upright_h) = orientation.upright(width, height);
    let (resized_w, resized_h) = resized_size(upright_w, upright_h, short);
    let side = u64::from(side);
    let offset = ((resized_w - side) / 2, (resized_h - side) / 2);
    let stored = if orientation.swap { (resized_h, resized_w) } else { (resized_w, resized_h) };
    let (left, top) = orientation.stored_offset(offset, side, stored);
    let (left, across) = span(left, side, width, stored.0);
    let (top, down) = span(top, side, height, stored.1);
    Rect { left, top, width: across, height: down }
}

/// Start and length in the source of `side` pixels from `offset`, where `source` pixels became `resized`.
fn span(offset: u64, side: u64, source: u32, resized: u64) -> (f64, f64) {
    let end = f64::from(source);
    let scale = end / resized as f64;
    let start = offset as f64 * scale;
    (start, length_within(start, side as f64 * scale, end))
}

/// `length` from `start`, but not past `end`: rounding may leave it a hair outside of the picture.
fn length_within(start: f64, length: f64, end: f64) -> f64 {
    let mut length = length.min(end - start);
    while start + length > end {
        length = length.next_down();
    }
    length
}

/// Resamples pictures to a square; keeps the weights while pictures of the same size follow each other, and
/// all of its memory.
pub(super) struct SquareResizer {
    side: u32,
    vectors: Vectors,
    /// For what the weights are.
    key: Option<(Filter, Span, Span)>,
    across: Weights,
    down: Weights,
    /// Rows that went through the first pass, as a ring.
    between: Vec<i16>,
    /// Copies of source rows whose windows reach beyond the picture's last byte.
    last_rows: [Vec<u8>; TOGETHER],
    square: Vec<u8>,
}

impl SquareResizer {
    pub(super) fn new(side: u32) -> Self {
        Self::with(side, Vectors::best())
    }

    fn with(side: u32, vectors: Vectors) -> Self {
        Self {
            side,
            vectors,
            key: None,
            across: Weights::default(),
            down: Weights::default(),
            between: Vec::new(),
            last_rows: Default::default(),
            square: vec![0; side as usize * side as usize * 3],
        }
    }

    /// Resamples `rect` of an RGB picture to `side` × `side`; the result stays as stored.
    ///
    /// # Panics
    /// If `pixels` are fewer than width × height, or there is none.
    pub(super) fn run(
        &mut self,
        pixels: &[u8],
        (width, height): (u32, u32),
        rect: Rect,
        filter: Filter,
    ) {
        let pixels = &pixels[..3 * width as usize * height as usize];
        let target = self.side;
        let across = Span { source: width, start: rect.left, length: rect.width, target };
        let down = Span { source: height, start: rect.top, length: rect.height, target };
        let Some(kernel) = Kernel::of(filter) else {
            self.nearest(pixels, across, down);
            return;
        };
        if self.key != Some((filter, across, down)) {
            self.across.compute(across, &kernel);
            self.down.compute(down, &kernel);
            self.key = Some((filter, across, down));
        }
        self.convolve(pixels, (width as usize, height as usize), &kernel);
    }

    fn convolve(&mut self, pixels: &[u8], (width, height): (usize, usize), kernel: &Kernel) {
        let row_values = 3 * self.side as usize;
        let stride = (row_values + 1).next_multiple_of(LANES);
        let kept = (2 * self.down.per_window + TOGETHER).next_multiple_of(TOGETHER) + TOGETHER;
        let reach = self.across.reach();
        if self.between.len() < kept * stride {
            self.between.resize(kept * stride, 0);
        }
        let rounding = Rounding {
            shift: self.across.bits - kernel.between,
            range: if kernel.between == 0 { (0, 255) } else { (i16::MIN, i16::MAX) },
        };
        let shift = self.down.bits + kernel.between;
        let mut next = self.down.starts[0] as usize / TOGETHER * TOGETHER;
        for (index, out) in self.square.chunks_exact_mut(row_values).enumerate() {
            if index % 16 == 0 {
                checkpoint();
            }
            let start = self.down.starts[index] as usize;
            let end = (start + 2 * self.down.per_window).min(height);
            while next < end {
                let rows = source_rows(pixels, (width, height), next, reach, &mut self.last_rows);
                let slot = next % kept;
                let rings = four(&mut self.between[slot * stride..], stride);
                passes::along(self.vectors, rows, &self.across, rounding, rings);
                next += TOGETHER;
            }
            let ring = Ring { values: &self.between, stride, rows: kept };
            passes::down(self.vectors, &ring, start, self.down.window(index), shift, out);
        }
    }

    fn nearest(&mut self, pixels: &[u8], across: Span, down: Span) {
        let key = Some((Filter::Nearest, across, down));
        if self.key != key {
            self.across.nearest(across);
            self.down.nearest(down);
            self.key = key;
        }
        let (pixels, _) = pixels.as_chunks::<3>();
        let (out, _) = self.square.as_chunks_mut::<3>();
        let width = across.source as usize;
        for (out, &row) in out.chunks_exact_mut(self.side as usize).zip(&self.down.starts) {
            let row = &pixels[row as usize * width..][..width];
            for (pixel, &column) in out.iter_mut().zip(&self.across.starts) {
                *pixel = row[column as usize];
            }
        }
    }

    /// The same, to be filled by others.
    pub(super) fn square_mut(&mut self) -> &mut [u8] {
        &mut self.square
    }

    /// The result of the last run: RGB, side × side × 3.
    pub(super) fn square(&self) -> &[u8] {
        &self.square
    }
}

/// Four source rows from `first` on, each with `reach` bytes; below the picture its last row is repeated.
fn source_rows<'a>(
    pixels: &'a [u8],
    (width, height): (usize, usize),
    first: usize,
    reach: usize,
    copies: &'a mut [Vec<u8>; TOGETHER],
) -> [&'a [u8]; TOGETHER] {
    let mut row = first;
    copies.each_mut().map(|copy| {
        let rest = &pixels[row.min(height - 1) * 3 * width..];
        row += 1;
        if let Some(enough) = rest.get(..reach) {
            return enough;
        }
        copy.clear();
        copy.extend_from_slice(&rest[..reach.min(rest.len())]);
        copy.resize(reach, 0);
        &copy[..]
    })
}

/// The first four rows of `stride` values.
fn four(values: &mut [i16], stride: usize) -> [&mut [i16]; TOGETHER] {
    let mut rows = values.chunks_exact_mut(stride);
    std::array::from_fn(|_| rows.next().unwrap_or_default())
}
