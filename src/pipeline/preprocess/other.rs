//! All formats but JPEG, through the `image` crate: they allocate per image.

use image::{DynamicImage, ImageDecoder, ImageReader, Limits};
use std::error::Error;
use std::io::{self, Cursor};

use super::orientation::Orientation;
use super::sniff::Format;
use crate::pipeline::failure::{ImageError, Reason};

/// Bytes of the deepest pixel that is decoded (RGBA, f32), for the limit on allocations.
const DEEPEST: u64 = 16;

fn decoder(
    bytes: &[u8],
    format: Format,
    max_pixels: u64,
) -> Result<impl ImageDecoder + '_, ImageError> {
    let mut limits = Limits::default();
    // Twice, since some decoders hold a canvas beside the picture; and room for tables.
    limits.max_alloc = Some(max_pixels.saturating_mul(2 * DEEPEST).saturating_add(16 << 20));
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format.in_image_crate());
    reader.limits(limits);
    reader.into_decoder().map_err(|error| failure(&error, format, bytes))
}

/// Width, height and orientation as stored.
pub(super) fn header(
    bytes: &[u8],
    format: Format,
    max_pixels: u64,
) -> Result<(u32, u32, Orientation), ImageError> {
    let mut decoder = decoder(bytes, format, max_pixels)?;
    let (width, height) = decoder.dimensions();
    // Metadata that cannot be read make no picture worthless.
    let orientation = decoder
        .orientation()
        .map_or_else(|_| Orientation::default(), |o| Orientation::from_exif(o.to_exif()));
    Ok((width, height, orientation))
}

/// The picture as RGB, 3 bytes a pixel. Alpha is dropped, as Pillow's `convert("RGB")` does; 16 bits
/// are rounded to 8.
pub(super) fn decode(bytes: &[u8], format: Format, max_pixels: u64) -> Result<Vec<u8>, ImageError> {
    let decoder = decoder(bytes, format, max_pixels)?;
    let image =
        DynamicImage::from_decoder(decoder).map_err(|error| failure(&error, format, bytes))?;
    Ok(image.into_rgb8().into_raw())
}

fn failure(error: &image::ImageError, format: Format, bytes: &[u8]) -> ImageError {
    let reason = match error {
        image::ImageError::Unsupported(_) => Reason::Unsupported,
        image::ImageError::Limits(_) => Reason::TooLarge,
        _ if ends_early(error) || looks_cut(format, bytes) => Reason::Truncated,
        image::ImageError::Decoding(_) | image::ImageError::IoError(_) => Reason::Corrupt,
        image::ImageError::Encoding(_) | image::ImageError::Parameter(_) => Reason::Internal,
    };
    ImageError::new(reason, format!("{}: {error}", format.name()))
}

fn ends_early(error: &image::ImageError) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::UnexpectedEof) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Whether a file that failed to decode lacks its end, by what its format says of where that is.
fn looks_cut(format: Format, bytes: &[u8]) -> bool {
    let word = |at: usize| {
        bytes.get(at..at + 4).map(|b| u64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])))
    };
    let length = bytes.len() as u64;
    match format {
        Format::Png => !bytes.windows(4).rev().any(|chunk| chunk == b"IEND"),
        Format::Gif => bytes.last() != Some(&0x3b),
        Format::WebP => word(4).is_none_or(|size| size + 8 > length),
        Format::Bmp => word(2).is_none_or(|size| size > length),
        Format::Jpeg | Format::Tiff => false,
    }
}
