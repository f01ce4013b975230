//! Rows of the components' samples to RGB.
//!
//! Samples are less 128, so that those of chroma are what the formulas want (T.871, clause 7).

#![expect(clippy::inline_always, reason = "compiled for the instructions of whoever calls")]

use super::super::frame::Colours;
use super::words::Words;

/// Fraction bits of the samples.
pub(super) const BITS: i32 = 6;

/// `factor` with 15 fraction bits.
const fn factor(factor: f64) -> i16 {
    (factor * 32_768.0 + 0.5) as i16
}

/// Converts one row to `rgb`, 3 bytes a pixel; the components' rows reach to whole vectors.
#[inline(always)]
pub(super) fn row<W: Words>(colours: Colours, [a, b, c, d]: [&[i16]; 4], rgb: &mut [u8]) {
    match colours {
        Colours::Grey => row_of::<W, false, false>([a, a, a, a], rgb),
        Colours::Rgb => row_of::<W, false, false>([a, b, c, a], rgb),
        Colours::YCbCr => row_of::<W, true, false>([a, b, c, a], rgb),
        Colours::Cmyk => row_of::<W, false, true>([a, b, c, d], rgb),
        Colours::Ycck => row_of::<W, true, true>([a, b, c, d], rgb),
    }
}

#[inline(always)]
fn row_of<W: Words, const YCC: bool, const INK: bool>(samples: [&[i16]; 4], rgb: &mut [u8]) {
    let [a, b, c, d] = samples;
    let rows = a.as_chunks().0.iter().zip(b.as_chunks().0).zip(c.as_chunks().0);
    let rows = rows.zip(d.as_chunks().0);
    let mut chunks = rgb.chunks_mut(48);
    for (((a, b), c), d) in rows {
        let Some(out) = chunks.next() else { break };
        let planes = planes_of::<W, YCC, INK>([W::load(a), W::load(b), W::load(c)], W::load(d));
        if let Some(out) = out.first_chunk_mut() {
            W::store_bytes(planes, out);
        } else {
            let mut last = [0; 48];
            W::store_bytes(planes, &mut last);
            out.copy_from_slice(&last[..out.len()]);
        }
    }
}

/// Sixteen pixels.
#[inline(always)]
fn planes_of<W: Words, const YCC: bool, const INK: bool>(samples: [W; 3], black: W) -> [W; 3] {
    let [a, b, c] = if YCC { rgb_of(samples) } else { samples };
    let [mut a, mut b, mut c] = [whole(a), whole(b), whole(c)];
    if INK {
        let black = whole(black);
        if YCC {
            // YCC was made of what CMY leaves to white.
            let white = W::splat(255);
            [a, b, c] = [white.sub(a), white.sub(b), white.sub(c)];
        }
        [a, b, c] = [darken(a, black), darken(b, black), darken(c, black)];
    }
    [a, b, c]
}

/// Red, green and blue, less 128.
#[inline(always)]
fn rgb_of<W: Words>([luma, blue, red]: [W; 3]) -> [W; 3] {
    [
        luma.add(red.add(red.mul(W::splat(factor(0.402))))),
        luma.sub(blue.mul(W::splat(factor(0.344_136))).add(red.mul(W::splat(factor(0.714_136))))),
        luma.add(blue.add(blue.mul(W::splat(factor(0.772))))),
    ]
}

/// Rounded to whole numbers from 0 on.
#[inline(always)]
fn whole<W: Words>(samples: W) -> W {
    samples.add(W::splat((128 << BITS) + (1 << (BITS - 1)))).shr::<BITS>()
}

/// How light paper is with an ink and black, both inverted: their product ÷ 255.
#[inline(always)]
fn darken<W: Words>(ink: W, black: W) -> W {
    let (zero, most) = (W::splat(0), W::splat(255));
    let (ink, black) = (ink.clamp(zero, most).shl::<7>(), black.clamp(zero, most).shl::<7>());
    // Half the product, then 2 ÷ 255 = 257 ÷ 2¹⁵ and a bit.
    ink.mul(black).mul(W::splat(257))
}
