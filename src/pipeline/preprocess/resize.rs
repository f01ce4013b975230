//! Resize the shorter side, cut out the middle: one call, from the source rectangle that the crop covers.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};

use super::orientation::Orientation;
use crate::pipeline::failure::{ImageError, Reason};

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

/// What the crop of `side` × `side` from the middle of the resized upright picture covers in the
/// stored one. Odd remainders leave the smaller part on the left and on top.
pub(super) fn source_rect(
    (width, height): (u32, u32),
    orientation: Orientation,
    short: u32,
    side: u32,
) -> Rect {
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
    let mut length = (side as f64 * scale).min(end - start);
    // Rounding may leave the end a hair outside of the picture, which the resizer refuses.
    while start + length > end {
        length = length.next_down();
    }
    (start, length)
}

/// Bytes of intermediate rows that are kept from image to image.
const KEPT: usize = 64 << 20;

/// A resizer with the buffers that it keeps.
pub(super) struct SquareResizer {
    resizer: Resizer,
    side: u32,
    square: Vec<u8>,
}

impl SquareResizer {
    pub(super) fn new(side: u32) -> Self {
        let square = vec![0; side as usize * side as usize * 3];
        Self { resizer: Resizer::new(), side, square }
    }

    /// Resamples `rect` of an RGB picture to `side` × `side`; the result stays as stored.
    pub(super) fn run(
        &mut self,
        pixels: &[u8],
        (width, height): (u32, u32),
        rect: Rect,
        filter: Filter,
    ) -> Result<(), ImageError> {
        let internal = |error: &dyn std::fmt::Display| {
            ImageError::new(Reason::Internal, format!("resizing {width}×{height}: {error}"))
        };
        let source = TypedImageRef::<U8x3>::from_buffer(width, height, pixels)
            .map_err(|error| internal(&error))?;
        let mut target = TypedImage::<U8x3>::from_buffer(self.side, self.side, &mut self.square)
            .map_err(|error| internal(&error))?;
        let options = ResizeOptions::new().resize_alg(filter.algorithm()).crop(
            rect.left,
            rect.top,
            rect.width,
            rect.height,
        );
        self.resizer
            .resize_typed(&source, &mut target, &options)
            .map_err(|error| internal(&error))?;
        if self.resizer.size_of_internal_buffers() > KEPT {
            self.resizer.reset_internal_buffers();
        }
        Ok(())
    }

    /// The result of the last run: RGB, side × side × 3.
    pub(super) fn square(&self) -> &[u8] {
        &self.square
    }
}
