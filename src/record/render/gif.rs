//! A film as a GIF: one palette, of each frame only the rectangle that changed.

mod palette;

use std::collections::HashMap;
use std::io::Write;
use std::rc::Rc;
use std::time::Duration;

use gif::{DisposalMethod, Encoder, EncodingError, Frame, Repeat};
use rayon::prelude::*;

use super::canvas::{self, Area, Canvas, Masks};
use super::film::Film;
use super::font::Fonts;
use super::grid::Look;
use super::scheme::Scheme;
use palette::Palette;

/// Frames that are compressed side by side.
const TOGETHER: usize = 32;
/// The longest delay that one frame can have, in hundredths of a second.
const LONGEST: u64 = 65_535;

/// Why a film cannot be a GIF.
#[derive(Debug, thiserror::Error)]
pub enum GifError {
    /// It has too many pixels.
    #[error(
        "a GIF of {0}×{1} pixels is too large: 65535×65535 at most (--font-size makes it smaller)"
    )]
    TooLarge(usize, usize),
    /// It cannot be written.
    #[error("{0}")]
    Encoding(#[from] EncodingError),
}

/// A frame's pixels before they are compressed.
struct Picture {
    area: Area,
    /// Indices into the palette.
    pixels: Vec<u8>,
    /// The same, with what has not changed transparent.
    changes: Option<Vec<u8>>,
    /// Hundredths of a second.
    delay: u64,
}

/// Draws a film and writes it as a GIF that loops; its last frame is held for `hold` longer.
///
/// # Errors
/// Where it is too large or cannot be written.
pub fn write(
    out: impl Write,
    film: &Film,
    scheme: &Scheme,
    fonts: &Fonts,
    hold: Duration,
) -> Result<(), GifError> {
    let palette = Palette::of(film, scheme);
    let ground = palette.index(scheme.bg);
    let (width, height) = canvas::size(film.size(), fonts);
    let sides = u16::try_from(width).ok().zip(u16::try_from(height).ok());
    let (width, height) = sides.ok_or(GifError::TooLarge(width, height))?;
    let mut canvas = Canvas::new(film.size(), fonts, ground);
    let mut encoder = Encoder::new(out, width, height, &palette.bytes())?;
    encoder.set_repeat(Repeat::Infinite)?;
    let mut masks = Masks::new(fonts);
    let mut ramps: HashMap<Look, Rc<[u8; 256]>> = HashMap::new();
    let mut ramp = |look: Look| {
        Rc::clone(ramps.entry(look).or_insert_with(|| Rc::new(palette.ramp(scheme.inks(look)))))
    };
    let mut waiting: Vec<Picture> = Vec::new();
    let mut clock = 0;
    let mut before = canvas.pixels.clone();
    for (index, (frame, time)) in film.shown().enumerate() {
        let drawn = canvas.draw(&frame.grid, &mut masks, &mut ramp);
        // Each delay is the way from the last whole hundredth to the next: roundings do not add up.
        let end =
            frame.at + time + if index + 1 == film.frames.len() { hold } else { Duration::ZERO };
        let delay = hundredths(end).saturating_sub(clock);
        clock += delay;
        let area = drawn.and_then(|area| changed(&canvas, &before, area));
        let transparent = palette.transparent().filter(|_| index > 0);
        match (area, waiting.last_mut()) {
            (None, Some(last)) => last.delay += delay,
            (area, _) => {
                let first = Area { left: 0, top: 0, width: canvas.width, height: canvas.height };
                let area = if index == 0 {
                    first
                } else {
                    area.unwrap_or(Area { width: 1, height: 1, ..first })
                };
                waiting.push(cut_out(&canvas, &before, area, transparent, delay));
                copy(&canvas, &mut before, area);
            }
        }
        if waiting.len() > TOGETHER {
            // The last one may yet be shown for longer.
            let last = waiting.pop();
            flush(&mut encoder, &mut waiting, palette.transparent())?;
            waiting.extend(last);
        }
    }
    flush(&mut encoder, &mut waiting, palette.transparent())?;
    encoder.into_inner()?.flush().map_err(EncodingError::from)?;
    Ok(())
}

fn hundredths(time: Duration) -> u64 {
    u64::try_from((time.as_nanos() + 5_000_000) / 10_000_000).unwrap_or(u64::MAX)
}

/// The smallest rectangle within `area` that holds all pixels that are not as before.
fn changed(canvas: &Canvas<u8>, before: &[u8], area: Area) -> Option<Area> {
    let line = |pixels: &[u8], row: usize| {
        let start = row * canvas.width + area.left;
        start..(start + area.width).min(pixels.len())
    };
    let mut rows = None;
    let (mut left, mut right) = (area.width, 0);
    for row in area.top..area.top + area.height {
        let range = line(before, row);
        let (old, new) = (&before[range.clone()], &canvas.pixels[range]);
        let differs = |(a, b): (&u8, &u8)| a != b;
        let Some(first) = old.iter().zip(new).position(differs) else { continue };
        let last = old.iter().zip(new).rposition(differs).unwrap_or(first);
        (left, right) = (left.min(first), right.max(last + 1));
        let (top, _) = rows.unwrap_or((row, row));
        rows = Some((top, row + 1));
    }
    rows.map(|(top, bottom)| Area {
        left: area.left + left,
        top,
        width: right - left,
        height: bottom - top,
    })
}

fn cut_out(
    canvas: &Canvas<u8>,
    before: &[u8],
    area: Area,
    transparent: Option<u8>,
    delay: u64,
) -> Picture {
    let rows = || {
        (area.top..area.top + area.height).map(|row| {
            let start = row * canvas.width + area.left;
            start..start + area.width
        })
    };
    let pixels = rows().flat_map(|range| &canvas.pixels[range]).copied().collect();
    let changes = transparent.map(|transparent| {
        let pairs =
            rows().flat_map(|range| canvas.pixels[range.clone()].iter().zip(&before[range]));
        pairs.map(|(new, old)| if new == old { transparent } else { *new }).collect()
    });
    Picture { area, pixels, changes, delay }
}

fn copy(canvas: &Canvas<u8>, before: &mut [u8], area: Area) {
    for row in area.top..area.top + area.height {
        let start = row * canvas.width + area.left;
        let range = start..start + area.width;
        before[range.clone()].copy_from_slice(&canvas.pixels[range]);
    }
}

/// Compresses the pictures side by side and writes them in order.
fn flush<W: Write>(
    encoder: &mut Encoder<W>,
    pictures: &mut Vec<Picture>,
    transparent: Option<u8>,
) -> Result<(), EncodingError> {
    let frames: Vec<(Frame<'static>, u64)> = pictures
        .par_drain(..)
        .map(|picture| {
            let side = |pixels: usize| u16::try_from(pixels).unwrap_or(u16::MAX);
            let Area { left, top, width, height } = picture.area;
            let frame = |buffer: Vec<u8>, transparent| {
                let mut frame = Frame {
                    left: side(left),
                    top: side(top),
                    width: side(width),
                    height: side(height),
                    dispose: DisposalMethod::Keep,
                    transparent,
                    buffer: buffer.into(),
                    ..Frame::default()
                };
                frame.make_lzw_pre_encoded();
                frame
            };
            let whole = frame(picture.pixels, None);
            let changes = picture.changes.map(|changes| frame(changes, transparent));
            let smaller = changes.filter(|changes| changes.buffer.len() < whole.buffer.len());
            (smaller.unwrap_or(whole), picture.delay)
        })
        .collect();
    for (mut frame, delay) in frames {
        frame.delay = delay.min(LONGEST) as u16;
        encoder.write_lzw_pre_encoded_frame(&frame)?;
        // What one frame cannot wait for, copies of it do.
        let mut left = delay - delay.min(LONGEST);
        while left > 0 {
            frame.delay = left.min(LONGEST) as u16;
            left -= left.min(LONGEST);
            encoder.write_lzw_pre_encoded_frame(&frame)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
