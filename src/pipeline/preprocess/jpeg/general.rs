//! All kinds of JPEG, by `zune-jpeg`; it allocates per image. It also says what is wrong with a file.

use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::{JpegHeader, corrupt};
use crate::pipeline::failure::{ImageError, Reason};

const END_OF_IMAGE: [u8; 2] = [0xff, 0xd9];

/// Decodes to RGB, 3 bytes a pixel, rows from the top, as stored.
///
/// `pixels` holds exactly width × height × 3 bytes.
///
/// A file that lacks the end-of-image marker is decoded twice with different bytes in place of what
/// is missing: if no pixel depends on them, then nothing but the marker is missing. A scan that an
/// end-of-image marker ends early passes, as in libjpeg, which warns of it.
pub(in super::super) fn decode(
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
    if header.progressive && !all_refined(scan, header.components) {
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

/// Whether the scans of a progressive JPEG bring every coefficient of every component to its last bit;
/// the last scan may still be cut.
fn all_refined(scans: &[u8], components: u8) -> bool {
    let mut done: Vec<(u8, [bool; 64])> = Vec::new();
    let mut at = 0;
    while let Some(found) = scans[at..].windows(2).position(|pair| pair == [0xff, 0xda]) {
        at += found + 2;
        // Length, number of components, two bytes each, first and last coefficient, bits.
        let Some(&count) = scans.get(at + 2) else { return false };
        let names_end = at + 3 + 2 * usize::from(count);
        let (Some(names), Some(&[first, last, bits])) =
            (scans.get(at + 3..names_end), scans.get(names_end..names_end + 3))
        else {
            return false;
        };
        if bits & 15 != 0 || last > 63 || first > last {
            continue;
        }
        for &name in names.iter().step_by(2) {
            let index = done.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                done.push((name, [false; 64]));
                done.len() - 1
            });
            done[index].1[usize::from(first)..=usize::from(last)].fill(true);
        }
    }
    done.len() == usize::from(components) && done.iter().all(|(_, all)| all.iter().all(|&d| d))
}

fn decode_as_is(bytes: &[u8], header: &JpegHeader, pixels: &mut [u8]) -> Result<(), ImageError> {
    // Adobe's transform 0 means RGB where there are three components; the decoder takes it for CMYK.
    // Told that they are YCbCr both before and after, it converts nothing.
    if let (3, Some(at)) = (header.components, header.adobe_at)
        && bytes[at] == 0
    {
        let mut patched = bytes.to_vec();
        patched[at] = 1;
        return match run(&patched, header, ColorSpace::YCbCr, pixels) {
            // Components that are named R, G and B are RGB to it whatever Adobe's segment says.
            Err(error) if error.detail().contains("mapping from RGB to YCbCr") => {
                run(&patched, header, ColorSpace::RGB, pixels)
            }
            result => result,
        };
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
