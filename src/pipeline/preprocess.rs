//! How the bytes of an image become a picture for the engine: decode → resize → slot.
//!
//! Geometry ([`Geometry`]; `short256-crop224` for the built-in model): the upright picture's shorter side is
//! resized to `short_side`, and the middle [`InputSpec::side`] × `side` is cut out. Both
//! happen in one resampling from the part of the source that the crop covers. The filter still
//! reaches beyond that part where the crop's neighbours would have been, so that the values are those
//! of resizing first and cutting then (within rounding), without computing pixels that are cut off.
//! Squashed pictures are resampled as a whole. EXIF orientation is applied last, on the small picture; the
//! crop is that of the upright one. What goes into the slot has the form that the engine wants
//! ([`InputSpec::format`]).
//!
//! Decoders and resizers of our own stop between groups of rows at a [`checkpoint`](crate::probe::lock::gil::checkpoint),
//! where a worker that stands for a Python thread may have to drop the emulated GIL; on all other threads that is one
//! look at a flag. Libraries' decoders can't be interrupted, as native calls that keep the GIL can't in CPython.
//!
//! Colours: grey becomes three equal channels; CMYK JPEGs are taken as Adobe writes them (inverted),
//! as Pillow does; alpha is dropped and 16 bits are rounded to 8; colour profiles are not applied.

pub mod counted;
mod guard;
mod jpeg;
mod normalise;
mod orientation;
mod other;
mod resize;
mod sniff;
#[cfg(test)]
mod tests;
mod turn;
mod vectors;

pub use guard::guarded;
pub use orientation::Orientation;
pub use resize::Filter;
pub use sniff::{Format, sniff};

use jpeg::{JpegDecoder, JpegHeader};
use normalise::Normaliser;
use resize::SquareResizer;

use super::failure::{ImageError, Reason};
use super::infer::{Geometry, InputSpec};
use super::pixels::PixelsMut;

/// Pixels that an image may have unless the user says otherwise: 100 million.
pub const MAX_PIXELS: u64 = 100_000_000;

/// Bytes of decoded pixels that a worker keeps from image to image, and of a decoder's own buffers; a larger
/// picture's are freed.
const KEPT: usize = 64 << 20;

/// What an image's first bytes say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its format, by content.
    pub format: Format,
    /// Width in pixels, as stored.
    pub width: u32,
    /// Height in pixels, as stored.
    pub height: u32,
    /// How the stored picture is to be turned.
    pub orientation: Orientation,
    jpeg: Option<JpegHeader>,
}

/// How images are brought to the size that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How pixels are resampled.
    pub filter: Filter,
    /// JPEGs are decoded no larger than the crop needs, and their planes resampled before they become RGB;
    /// otherwise they are decoded in full, as all other formats are, and as they are in any case for filters that do
    /// not widen with the scale.
    pub scaled: bool,
}

impl Default for Options {
    /// Bicubic, scaled.
    fn default() -> Self {
        Self { filter: Filter::Cubic, scaled: true }
    }
}

/// The vector instructions with which pictures are resized and normalised here: `avx512`, `avx2`, `neon`, or
/// `baseline` for what every processor of its kind has.
pub fn vector_instructions() -> &'static str {
    vectors::Vectors::best().name()
}

/// Decodes, resizes and normalises, one image after another; one for each worker.
///
/// It owns the decoded pixels, the resizer's rows and the small picture, and reuses them; so does the decoder of
/// ordinary JPEGs with its own: for those nothing is allocated per image.
pub struct Preprocessor {
    side: u32,
    geometry: Geometry,
    max_pixels: u64,
    pixels: Vec<u8>,
    jpeg: JpegDecoder,
    /// Whether the picture that was decoded last lies in planes in `jpeg`, not in `pixels`.
    planes: bool,
    /// Whether all JPEGs are left to the general decoder.
    general: bool,
    resizer: SquareResizer,
    normaliser: Normaliser,
}

impl Preprocessor {
    /// A preprocessor for what an engine wants; images over `max_pixels` are refused.
    pub fn new(spec: &InputSpec, max_pixels: u64) -> Self {
        let side = spec.side.max(1);
        Self {
            side,
            geometry: match spec.geometry {
                Geometry::Crop { short_side } => {
                    Geometry::Crop { short_side: short_side.max(side) }
                }
                Geometry::Squash => Geometry::Squash,
            },
            max_pixels,
            pixels: Vec::new(),
            jpeg: JpegDecoder::default(),
            planes: false,
            general: false,
            resizer: SquareResizer::new(side),
            normaliser: Normaliser::new(spec),
        }
    }

    /// The same with the general decoder for all JPEGs, as on processors for which there is no other: to compare.
    #[must_use]
    pub fn with_general_jpeg_decoder(mut self) -> Self {
        self.general = true;
        self
    }

    /// What an image says of itself; decodes nothing.
    ///
    /// # Errors
    /// `empty`, `not-an-image`, `unsupported`, `too-large`, `truncated` or `corrupt`, as far as the
    /// first bytes tell; `internal` where a decoder panics.
    pub fn header(&self, bytes: &[u8]) -> Result<Header, ImageError> {
        guard::guard(|| self.read_header(bytes))
    }

    fn read_header(&self, bytes: &[u8]) -> Result<Header, ImageError> {
        let format = sniff(bytes)?;
        let header = if format == Format::Jpeg {
            let jpeg = jpeg::header(bytes)?;
            let JpegHeader { width, height, orientation, .. } = jpeg;
            Header { format, width, height, orientation, jpeg: Some(jpeg) }
        } else {
            let (width, height, orientation) = other::header(bytes, format, self.max_pixels)?;
            Header { format, width, height, orientation, jpeg: None }
        };
        let (width, height) = (header.width, header.height);
        if width == 0 || height == 0 {
            let detail = format!("its header says {width}×{height} pixels");
            return Err(ImageError::new(Reason::Corrupt, detail));
        }
        if u64::from(width) * u64::from(height) > self.max_pixels {
            let detail = format!(
                "{width}×{height} is more than {} pixels: raise the limit with --max-pixels",
                self.max_pixels
            );
            return Err(ImageError::new(Reason::TooLarge, detail));
        }
        Ok(header)
    }

    /// Decodes, resizes and normalises the image whose header was read before, into `out`:
    /// 3 × side × side values in the form of [`InputSpec::format`], upright.
    ///
    /// After an error `out` holds anything.
    ///
    /// # Errors
    /// `truncated`, `corrupt`, `unsupported` or `too-large`; `internal` where a decoder panics.
    ///
    /// # Panics
    /// If `out` has another length than [`InputSpec::values`], or another type than the format.
    pub fn run(
        &mut self,
        bytes: &[u8],
        header: &Header,
        options: Options,
        out: PixelsMut<'_>,
    ) -> Result<(), ImageError> {
        self.decode(bytes, header, options)?;
        self.resize(header, options)?;
        self.normalise(header, out);
        Ok(())
    }

    /// First step of [`run`](Self::run): the picture as stored, kept inside; of a JPEG that is decoded no larger
    /// than needed, the planes of its components, for which `options` hold in the second step too.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn decode(
        &mut self,
        bytes: &[u8],
        header: &Header,
        options: Options,
    ) -> Result<(), ImageError> {
        guard::guard(|| self.decode_unguarded(bytes, header, options))
    }

    fn decode_unguarded(
        &mut self,
        bytes: &[u8],
        header: &Header,
        options: Options,
    ) -> Result<(), ImageError> {
        self.planes = false;
        if header.jpeg.is_some() && options.scaled && !self.general {
            let target = (self.rect(header), self.side);
            self.planes = self.jpeg.decode_scaled(bytes, target, options.filter);
            if self.planes {
                return Ok(());
            }
        }
        let wanted = header.width as usize * header.height as usize * 3;
        if self.pixels.len() > KEPT && wanted <= KEPT {
            self.pixels = Vec::new();
        }
        if let Some(jpeg) = &header.jpeg {
            if self.pixels.len() < wanted {
                self.pixels.resize(wanted, 0);
            }
            let pixels = &mut self.pixels[..wanted];
            if self.general {
                return jpeg::decode_generally(bytes, jpeg, pixels);
            }
            return self.jpeg.decode(bytes, jpeg, pixels);
        }
        self.pixels = other::decode(bytes, header.format, self.max_pixels)?;
        if self.pixels.len() < wanted {
            let detail = format!("{} bytes decoded of {wanted}", self.pixels.len());
            return Err(ImageError::new(Reason::Internal, detail));
        }
        Ok(())
    }

    /// Second step: the crop of the picture that was decoded last, as stored, kept inside.
    ///
    /// # Errors
    /// `internal` where the resizer panics.
    pub fn resize(&mut self, header: &Header, options: Options) -> Result<(), ImageError> {
        let size = (header.width, header.height);
        let used = header.width as usize * header.height as usize * 3;
        guard::guard(|| {
            if self.planes {
                self.jpeg.resize_scaled(self.resizer.square_mut(), self.side);
                return Ok(());
            }
            let rect = self.rect(header);
            self.resizer.run(&self.pixels[..used], size, rect, options.filter);
            Ok(())
        })
    }

    /// What the crop covers of the stored picture.
    fn rect(&self, header: &Header) -> resize::Rect {
        let size = (header.width, header.height);
        resize::source_rect(size, header.orientation, self.geometry, self.side)
    }

    /// Third step: the crop that was made last to `out`, upright and in the form of [`InputSpec::format`].
    ///
    /// # Panics
    /// If `out` has another length than [`InputSpec::values`], or another type than the format.
    pub fn normalise(&mut self, header: &Header, out: PixelsMut<'_>) {
        self.normaliser.run(self.resizer.square(), self.side as usize, header.orientation, out);
    }
}
