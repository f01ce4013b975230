//! JPEG: a quick look at the header, and decoding into a buffer that is kept.

use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::orientation::Orientation;
use crate::pipeline::failure::{ImageError, Reason};

/// What the segments before the first scan say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JpegHeader {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) orientation: Orientation,
    progressive: bool,
    components: u8,
    /// Where Adobe's colour transform is stored, if it is.
    adobe_at: Option<usize>,
    /// Where the first scan's segment begins.
    scan_at: usize,
}

const END_OF_IMAGE: [u8; 2] = [0xff, 0xd9];

/// Reads the segments up to the first scan; decodes nothing.
pub(super) fn header(bytes: &[u8]) -> Result<JpegHeader, ImageError> {
    let mut at = 2;
    let mut frame = None;
    let mut orientation = Orientation::default();
    let mut adobe_at = None;
    loop {
        // Fill bytes may precede a marker, and careless writers leave padding between segments.
        let skipped = bytes.get(at..).and_then(|rest| rest.iter().position(|&b| b == 0xff));
        at += skipped.ok_or_else(cut_in_header)?;
        let code = loop {
            at += 1;
            match bytes.get(at) {
                Some(0xff) => {}
                Some(&code) => break code,
                None => return Err(cut_in_header()),
            }
        };
        let start = at - 1;
        at += 1;
        match code {
            // Stuffed, temporary and restart codes carry no length.
            0x00 | 0x01 | 0xd0..=0xd8 => continue,
            0xd9 => return Err(corrupt("the image ends before its first scan")),
            _ => {}
        }
        let length = bytes.get(at..at + 2).ok_or_else(cut_in_header)?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        if length < 2 {
            return Err(corrupt(format!("segment FF{code:02X} has length {length}")));
        }
        let body = bytes.get(at + 2..at + length).ok_or_else(cut_in_header)?;
        match code {
            0xc0..=0xc2 => frame = Some(frame_of(code, body)?),
            0xc4 | 0xc8 | 0xcc => {}
            0xc3 | 0xc5..=0xcf => {
                return Err(ImageError::new(
                    Reason::Unsupported,
                    "lossless, hierarchical and arithmetic-coded JPEGs are not decoded here: save it as an ordinary JPEG",
                ));
            }
            0xe1 if body.starts_with(b"Exif\0\0") => {
                orientation = Orientation::from_exif_block(&body[6..]);
            }
            0xee if body.starts_with(b"Adobe") && body.len() >= 12 => adobe_at = Some(at + 2 + 11),
            0xda => {
                let (width, height, components, progressive) =
                    frame.ok_or_else(|| corrupt("a scan comes before the frame's size"))?;
                return Ok(JpegHeader {
                    width,
                    height,
                    orientation,
                    progressive,
                    components,
                    adobe_at,
                    scan_at: start,
                });
            }
            _ => {}
        }
        at += length;
    }
}

fn frame_of(code: u8, body: &[u8]) -> Result<(u32, u32, u8, bool), ImageError> {
    let &[precision, h1, h0, w1, w0, components, ..] = body else {
        return Err(corrupt(format!("the frame's segment has {} bytes", body.len())));
    };
    let height = u32::from(u16::from_be_bytes([h1, h0]));
    let width = u32::from(u16::from_be_bytes([w1, w0]));
    if precision != 8 {
        return Err(ImageError::new(
            Reason::Unsupported,
            format!("{precision} bits a sample: only 8-bit JPEGs are decoded"),
        ));
    }
    if !matches!(components, 1 | 3 | 4) {
        return Err(ImageError::new(
            Reason::Unsupported,
            format!(
                "{components} colour components: only grey, RGB, YCbCr and CMYK JPEGs are decoded"
            ),
        ));
    }
    Ok((width, height, components, code == 0xc2))
}

/// Decodes to RGB, 3 bytes a pixel, rows from the top, as stored.
///
/// `pixels` holds exactly width × height × 3 bytes.
///
/// A file that lacks the end-of-image marker is decoded twice with different bytes in place of what
/// is missing: if no pixel depends on them, then nothing but the marker is missing.
pub(super) fn decode(
    bytes: &[u8],
    header: &JpegHeader,
    pixels: &mut [u8],
) -> Result<(), ImageError> {
    let scan = &bytes[header.scan_at..];
    if scan.ends_with(&END_OF_IMAGE) || scan.windows(2).rev().any(|pair| pair == END_OF_IMAGE) {
        return decode_as_is(bytes, header, pixels);
    }
    let cut = || {
        ImageError::new(
            Reason::Truncated,
            format!("the file ends after {} bytes, before the image does", bytes.len()),
        )
    };
    if header.progressive {
        // Each scan refines the whole picture: that the last one is whole does not show that all are there.
        return Err(cut());
    }
    // The marker's own first half may be there.
    let ends = bytes.iter().rposition(|&byte| byte != 0xff).map_or(0, |last| last + 1);
    let mut completed = bytes[..ends].to_vec();
    completed.extend(END_OF_IMAGE);
    decode_as_is(&completed, header, pixels).map_err(|_| cut())?;
    completed.truncate(ends);
    completed.extend([0x55; 64]);
    completed.extend(END_OF_IMAGE);
    let mut other = vec![0; pixels.len()];
    decode_as_is(&completed, header, &mut other).map_err(|_| cut())?;
    if other == pixels { Ok(()) } else { Err(cut()) }
}

fn decode_as_is(bytes: &[u8], header: &JpegHeader, pixels: &mut [u8]) -> Result<(), ImageError> {
    // Adobe's transform 0 means RGB where there are three components; the decoder takes it for CMYK.
    // Told that they are YCbCr both before and after, it converts nothing.
    if let (3, Some(at)) = (header.components, header.adobe_at)
        && bytes[at] == 0
    {
        let mut patched = bytes.to_vec();
        patched[at] = 1;
        return run(&patched, header, ColorSpace::YCbCr, pixels);
    }
    run(bytes, header, ColorSpace::RGB, pixels)
}

fn run(
    bytes: &[u8],
    header: &JpegHeader,
    colours: ColorSpace,
    pixels: &mut [u8],
) -> Result<(), ImageError> {
    // Where the scan's data run out early the decoder may leave rows unwritten and say nothing:
    // no JPEG decodes to this noise.
    let last_row = pixels.len() - header.width as usize * 3;
    let noise = |at: usize| (at as u32).wrapping_mul(0x9e37_79b1).to_be_bytes()[0];
    for (at, byte) in pixels[last_row..].iter_mut().enumerate() {
        *byte = noise(at);
    }
    // Strict: otherwise what is missing is filled with grey, and passes for a picture.
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .jpeg_set_out_colorspace(colours);
    match decode_with(bytes, header, options, pixels) {
        Err(DecodeErrors::FormatStatic(text)) if text.contains("Extra bytes between headers") => {
            // Harmless padding; nothing else that strict mode refuses is.
            decode_with(bytes, header, options.set_strict_mode(false), pixels)
        }
        result => result,
    }
    .map_err(failure)?;
    if pixels[last_row..].iter().enumerate().all(|(at, &byte)| byte == noise(at)) {
        return Err(corrupt("its scan ends before its last row"));
    }
    Ok(())
}

fn decode_with(
    bytes: &[u8],
    header: &JpegHeader,
    options: DecoderOptions,
    pixels: &mut [u8],
) -> Result<(), DecodeErrors> {
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers()?;
    if decoder.dimensions() != Some((header.width as usize, header.height as usize)) {
        return Err(DecodeErrors::FormatStatic("its headers name two sizes"));
    }
    decoder.decode_into(pixels)
}

fn failure(error: DecodeErrors) -> ImageError {
    match error {
        DecodeErrors::ExhaustedData
        | DecodeErrors::IoErrors(_)
        | DecodeErrors::FormatStatic("Premature end of buffer") => {
            ImageError::new(Reason::Truncated, "the data end before the image does")
        }
        DecodeErrors::Unsupported(what) => {
            ImageError::new(Reason::Unsupported, format!("{what:?}"))
        }
        other => corrupt(format!("{other:?}")),
    }
}

fn cut_in_header() -> ImageError {
    ImageError::new(Reason::Truncated, "the file ends within its header")
}

fn corrupt(detail: impl Into<String>) -> ImageError {
    ImageError::new(Reason::Corrupt, detail)
}
