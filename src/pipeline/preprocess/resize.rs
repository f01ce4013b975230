//! Resize the shorter side and cut out the middle, or squash: one resampling, from the source rectangle that the crop
//! covers, first along the rows and then along the columns.
//!
//! The order matters because the rows in between are rounded to bytes. Pillow goes along the rows first, and
//! so does torchvision on Pillow pictures; `fast_image_resize` would take the columns of a byte picture first.
//! The other order changes one pixel in a few by one level, enough to turn close calls of a classifier.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};

use super::orientation::Orientation;
use crate::pipeline::failure::{ImageError, Reason};
use crate::pipeline::infer::Geometry;

/// How pixels are resampled. All but nearest widen with the scale (antialiased), as Pillow's do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The nearest pixel, nothing averaged.
    Nearest,
    /// Triangle.
    Bilinear,
    /// Catmull-Rom (a = −0.5), which Pillow calls bicubic.
    Cubic,
    /// Lanczos, 3 lobes.
    Lanczos3,
}

impl Filter {
    /// All filters, in the order of [`FILTERS`](crate::pipeline::knobs::FILTERS).
    pub const ALL: [Self; 4] = [Self::Nearest, Self::Bilinear, Self::Cubic, Self::Lanczos3];

    /// The filter at an index of [`FILTERS`](crate::pipeline::knobs::FILTERS); past its end the last.
    pub fn from_index(index: usize) -> Self {
        Self::ALL[index.min(Self::ALL.len() - 1)]
    }

    const fn algorithm(self) -> ResizeAlg {
        match self {
            Self::Nearest => ResizeAlg::Nearest,
            Self::Bilinear => ResizeAlg::Convolution(FilterType::Bilinear),
            Self::Cubic => ResizeAlg::Convolution(FilterType::CatmullRom),
            Self::Lanczos3 => ResizeAlg::Convolution(FilterType::Lanczos3),
        }
    }

    /// How far from a pixel's centre the kernel reaches at scale 1; nothing where it is no convolution.
    const fn support(self) -> Option<f64> {
        match self {
            Self::Nearest => None,
            Self::Bilinear => Some(1.0),
            Self::Cubic => Some(2.0),
            Self::Lanczos3 => Some(3.0),
        }
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

/// `length` from `start`, but not past `end`: rounding may leave it a hair outside of the picture, which the
/// resizer refuses.
fn length_within(start: f64, length: f64, end: f64) -> f64 {
    let mut length = length.min(end - start);
    while start + length > end {
        length = length.next_down();
    }
    length
}

/// First row and number of rows of a picture `height` rows high that a kernel reaches which makes `side` rows
/// of those that `rect` covers.
fn rows_needed(rect: Rect, height: u32, side: u32, support: f64) -> (u32, u32) {
    // One more on each side costs little and leaves rounding out of the question.
    let reach = support * (rect.height / f64::from(side)).max(1.0) + 1.0;
    let first = (rect.top - reach).floor().max(0.0);
    let end = (rect.top + rect.height + reach).ceil().min(f64::from(height));
    (first as u32, (end - first) as u32)
}

/// Bytes of intermediate rows that are kept from image to image.
const KEPT: usize = 64 << 20;

/// A resizer with the buffers that it keeps.
pub(super) struct SquareResizer {
    resizer: Resizer,
    side: u32,
    /// The needed rows of the source, `side` wide.
    rows: Vec<u8>,
    square: Vec<u8>,
}

impl SquareResizer {
    pub(super) fn new(side: u32) -> Self {
        let square = vec![0; side as usize * side as usize * 3];
        Self { resizer: Resizer::new(), side, rows: Vec::new(), square }
    }

    /// Resamples `rect` of an RGB picture to `side` × `side`; the result stays as stored.
    pub(super) fn run(
        &mut self,
        pixels: &[u8],
        (width, height): (u32, u32),
        rect: Rect,
        filter: Filter,
    ) -> Result<(), ImageError> {
        let side = self.side;
        let algorithm = filter.algorithm();
        let target = (self.square.as_mut_slice(), (side, side));
        let done = match filter.support() {
            None => resample(&mut self.resizer, (pixels, (width, height)), target, algorithm, rect),
            Some(support) => {
                let (first, count) = rows_needed(rect, height, side, support);
                let across = f64::from(side);
                let used = side as usize * count as usize * 3;
                if self.rows.len() < used {
                    self.rows.resize(used, 0);
                }
                let rows = &mut self.rows[..used];
                let along = Rect { top: f64::from(first), height: f64::from(count), ..rect };
                let top = rect.top - along.top;
                let covered = length_within(top, rect.height, along.height);
                let down = Rect { left: 0.0, top, width: across, height: covered };
                let source = (pixels, (width, height));
                resample(&mut self.resizer, source, (rows, (side, count)), algorithm, along)
                    .and_then(|()| {
                        let source = (&self.rows[..used], (side, count));
                        resample(&mut self.resizer, source, target, algorithm, down)
                    })
            }
        };
        if self.rows.len() > KEPT {
            self.rows = Vec::new();
        }
        if self.resizer.size_of_internal_buffers() > KEPT {
            self.resizer.reset_internal_buffers();
        }
        done.map_err(|error| {
            ImageError::new(Reason::Internal, format!("resizing {width}×{height}: {error}"))
        })
    }

    /// The result of the last run: RGB, side × side × 3.
    pub(super) fn square(&self) -> &[u8] {
        &self.square
    }
}

/// Resamples `rect` of `source` to all of `target`, both RGB with width and height. An axis along which
/// nothing changes is left alone.
fn resample(
    resizer: &mut Resizer,
    (source, (source_width, source_height)): (&[u8], (u32, u32)),
    (target, (width, height)): (&mut [u8], (u32, u32)),
    algorithm: ResizeAlg,
    rect: Rect,
) -> Result<(), String> {
    let source = TypedImageRef::<U8x3>::from_buffer(source_width, source_height, source)
        .map_err(|error| error.to_string())?;
    let mut target = TypedImage::<U8x3>::from_buffer(width, height, target)
        .map_err(|error| error.to_string())?;
    let options = ResizeOptions::new().resize_alg(algorithm).crop(
        rect.left,
        rect.top,
        rect.width,
        rect.height,
    );
    resizer.resize_typed(&source, &mut target, &options).map_err(|error| error.to_string())
}
