//! JPEG: a quick look at the header, and decoding into a buffer that is kept.
//!
//! There are three decoders. Of our own are one for plain files on CPUs with AVX2, which gives libjpeg's pixels
//! ([`baseline`]), and one that decodes no larger than needed and resamples planes ([`scaled`]): they read a file
//! by the same [`reader`]. All others are for `zune-jpeg` ([`general`]). It rounds chroma up where libjpeg rounds
//! by turns, so that its pixels are a fifth of a level off on average.

#[cfg(target_arch = "x86_64")]
mod baseline;
mod bits;
#[cfg(target_arch = "x86_64")]
mod colour;
mod entropy;
mod frame;
mod general;
mod huffman;
#[cfg(target_arch = "x86_64")]
mod idct;
mod progressive;
mod reader;
mod scaled;
mod sequential;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod upsample;
mod zigzag;

use super::orientation::Orientation;
use super::resize::{Filter, Rect};
use crate::pipeline::failure::{ImageError, Reason};
use reader::Reader;
use scaled::Scaled;

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

pub(super) use general::decode as decode_generally;

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
                if progressive {
                    few_scans(bytes)?;
                }
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

/// Scans of a progressive picture; cameras and editors write about ten. Each goes over the whole picture, so that
/// many empty ones make a small file a day's work.
const MAX_SCANS: usize = 500;

fn few_scans(bytes: &[u8]) -> Result<(), ImageError> {
    let scans = bytes.windows(2).filter(|pair| *pair == [0xff, 0xda]).count();
    if scans > MAX_SCANS {
        let detail = format!("it has {scans} scans, where {MAX_SCANS} are the limit");
        return Err(ImageError::new(Reason::Unsupported, detail));
    }
    Ok(())
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

/// Decodes JPEGs; keeps what its own decoders need from image to image.
#[derive(Default)]
pub(super) struct JpegDecoder {
    reader: Reader,
    #[cfg(target_arch = "x86_64")]
    baseline: baseline::Baseline,
    scaled: Scaled,
}

impl JpegDecoder {
    /// Decodes to RGB, 3 bytes a pixel, rows from the top, as stored.
    ///
    /// `pixels` holds exactly width × height × 3 bytes.
    pub(super) fn decode(
        &mut self,
        bytes: &[u8],
        header: &JpegHeader,
        pixels: &mut [u8],
    ) -> Result<(), ImageError> {
        #[cfg(target_arch = "x86_64")]
        if header.components != 4 {
            let size = (header.width as usize, header.height as usize);
            let done = self.baseline.decode(&mut self.reader, bytes, size, pixels);
            self.free_large_buffers();
            if done.is_some() {
                return Ok(());
            }
        }
        general::decode(bytes, header, pixels)
    }

    /// Decodes as much as it takes to fill a square of `side` from `rect`, and keeps it for
    /// [`resize_scaled`](Self::resize_scaled).
    ///
    /// Tells whether it did: not with [`Filter::Nearest`], which wants pixels, and not where the file is damaged or of
    /// an unusual kind. [`decode`](Self::decode) then finds what is wrong.
    pub(super) fn decode_scaled(
        &mut self,
        bytes: &[u8],
        (rect, side): (Rect, u32),
        filter: Filter,
    ) -> bool {
        let target = (rect, side as usize);
        let done = self.scaled.decode(&mut self.reader, bytes, target, filter);
        if done.is_none() {
            self.free_large_buffers();
        }
        done.is_some()
    }

    /// Fills `square`, side × side × 3, RGB, as stored, from what was decoded last.
    pub(super) fn resize_scaled(&mut self, square: &mut [u8], side: u32) {
        self.scaled.resize(square, side as usize);
    }

    /// To be called where nothing decoded is waiting.
    fn free_large_buffers(&mut self) {
        if self.reader.held() > super::KEPT {
            self.reader = Reader::default();
        }
        #[cfg(target_arch = "x86_64")]
        if self.baseline.held() > super::KEPT {
            self.baseline = baseline::Baseline::default();
        }
        if self.scaled.held() > super::KEPT {
            self.scaled = Scaled::default();
        }
    }
}

fn cut_in_header() -> ImageError {
    ImageError::new(Reason::Truncated, "the file ends within its header")
}

fn corrupt(detail: impl Into<String>) -> ImageError {
    ImageError::new(Reason::Corrupt, detail)
}
