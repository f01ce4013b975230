//! Inverse cosine transforms at n/8 of full size, n from 1 to 8, of two blocks at a time in 16-bit words.
//!
//! A block's lowest n × n coefficients are taken for those of n × n samples (T.81, A.3.3, with n in place of 8):
//! along each axis sample j is the sum over k of c(k) F(k) cos((2j + 1) k π / 2n), c(0) = 1/√8, c(k) = 1/2.
//!
//! Every product is rounded to the nearest with 4 to 6 fraction bits, so that a sample is off by a few hundredths
//! of a level. Sums stop at the ends of 16 bits, which lie at four times what sound files have.

#![expect(clippy::inline_always, reason = "compiled for the instructions of whoever calls")]

use super::super::entropy::Block;
use super::super::zigzag::ZIGZAG;
use super::words::{Words, transpose};

/// Fraction bits of dequantised coefficients.
const COEFFICIENT_BITS: i32 = 4;
/// Fraction bits of what a transform gives; the two passes add one each.
const SAMPLE_BITS: i32 = COEFFICIENT_BITS + 2;
/// Fraction bits of stored samples. These are less 128, so that the sign is all that the whole part leaves.
pub(super) const STORED_BITS: i32 = 8;

/// Quantisation steps in the order of a [`Block`], with [`COEFFICIENT_BITS`].
#[derive(Clone, Default)]
pub(super) struct Steps([[i16; 8]; 8]);

impl Steps {
    /// From a table in zigzag order.
    pub(super) fn new(zigzag: &[u16; 64]) -> Self {
        let mut steps = Self::default();
        for (&at, &step) in ZIGZAG.iter().zip(zigzag) {
            // A coefficient is below 2¹¹: with steps as long as that it is 0 or ±1.
            let step = step.min(2047) << COEFFICIENT_BITS;
            steps.0[usize::from(at / 8)][usize::from(at % 8)] = step.cast_signed();
        }
        steps
    }
}

/// cos((2j + 1) k π / 2n) by k and j, and √½ for k = 0, with 15 fraction bits.
const fn cosines(n: usize) -> [[i16; 8]; 8] {
    let mut table = [[23_170; 8]; 8];
    let mut k = 1;
    while k < n {
        let mut j = 0;
        while j < n {
            table[k][j] = cosine((2 * j + 1) * k, 2 * n);
            j += 1;
        }
        k += 1;
    }
    table
}

/// cos(part π / whole) with 15 fraction bits.
const fn cosine(part: usize, whole: usize) -> i16 {
    // Into the first quarter, where the series converges fast.
    let part = part % (2 * whole);
    let part = if part > whole { 2 * whole - part } else { part };
    let (part, sign) = if 2 * part > whole { (whole - part, -1.0) } else { (part, 1.0) };
    let x = part as f64 * std::f64::consts::PI / whole as f64;
    let (mut sum, mut term, mut i) = (1.0, 1.0, 0.0);
    while i < 20.0 {
        term *= -x * x / ((i + 1.0) * (i + 2.0));
        sum += term;
        i += 2.0;
    }
    let scaled = sum * 32_768.0;
    let rounded = (scaled + 0.5) as i32;
    // cos 0 itself does not occur.
    (sign * rounded as f64) as i16
}

struct Cosines<const N: usize>;

impl<const N: usize> Cosines<N> {
    const TABLE: [[i16; 8]; 8] = cosines(N);
}

/// The sum of `x[k]` times its factor over k = `first`, `first + step` … below N.
#[inline(always)]
fn sum<W: Words, const N: usize>(x: &[W; 8], first: usize, step: usize, j: usize) -> W {
    let mut sum = x[first].mul(W::splat(Cosines::<N>::TABLE[first][j]));
    let mut k = first + step;
    while k < N {
        sum = sum.add(x[k].mul(W::splat(Cosines::<N>::TABLE[k][j])));
        k += step;
    }
    sum
}

/// One pass: `x[k]` holds the `k`th coefficient of sixteen transforms, the result their samples.
#[inline(always)]
fn pass<W: Words, const N: usize>(x: &[W; 8]) -> [W; 8] {
    let mut out = *x;
    if N == 1 {
        out[0] = sum::<W, N>(x, 0, 8, 0);
        return out;
    }
    // Even coefficients are alike on both sides of the middle, and odd ones opposite.
    let half = N / 2;
    let mut even = *x;
    if N % 2 == 1 {
        for (j, even) in even.iter_mut().enumerate().take(half + 1) {
            *even = sum::<W, N>(x, 0, 2, j);
        }
        out[half] = even[half];
    } else {
        // So are, in each half, those with an even half of their index.
        for j in 0..half.div_ceil(2) {
            let same = sum::<W, N>(x, 0, 4, j);
            if 2 * j + 1 == half {
                even[j] = same;
                continue;
            }
            let opposite = sum::<W, N>(x, 2, 4, j);
            even[j] = same.add(opposite);
            even[half - 1 - j] = same.sub(opposite);
        }
    }
    for j in 0..half {
        let odd = sum::<W, N>(x, 1, 2, j);
        out[j] = even[j].add(odd);
        out[N - 1 - j] = even[j].sub(odd);
    }
    out
}

/// Transforms blocks to samples at n/8. Column x of the first block's samples goes to `out[x × stride..]`, and
/// those of the next blocks follow; up to seven words behind a column may be overwritten. The last of `blocks` is not
/// transformed.
#[inline(always)]
pub(super) fn transform_all<W: Words>(
    n: usize,
    blocks: &[Block],
    steps: &Steps,
    out: &mut [i16],
    stride: usize,
) {
    match n {
        1 => each::<W, 1>(blocks, steps, out, stride),
        2 => each::<W, 2>(blocks, steps, out, stride),
        3 => each::<W, 3>(blocks, steps, out, stride),
        4 => each::<W, 4>(blocks, steps, out, stride),
        5 => each::<W, 5>(blocks, steps, out, stride),
        6 => each::<W, 6>(blocks, steps, out, stride),
        7 => each::<W, 7>(blocks, steps, out, stride),
        _ => each::<W, 8>(blocks, steps, out, stride),
    }
}

#[inline(always)]
fn each<W: Words, const N: usize>(blocks: &[Block], steps: &Steps, out: &mut [i16], stride: usize) {
    let count = blocks.len() - 1;
    for index in (0..count).step_by(2) {
        let columns = samples::<W, N>([&blocks[index], &blocks[index + 1]], steps);
        let out = &mut out[index * N * stride..];
        let pair = index + 1 < count;
        let last = if pair { 2 * N - 1 } else { N - 1 } * stride;
        assert!(out.len() >= last + 8, "room for the samples");
        for (x, column) in columns[..N].iter().enumerate() {
            #[expect(
                unsafe_code,
                reason = "a check for each column would cost as much as its store"
            )]
            // SAFETY: no column begins behind `last`, and eight words are there from that on.
            unsafe {
                if pair {
                    column.store_high_at(out, (N + x) * stride);
                }
                column.store_low_at(out, x * stride);
            }
        }
    }
}

#[inline(always)]
fn samples<W: Words, const N: usize>(blocks: [&Block; 2], steps: &Steps) -> [W; 8] {
    let [first, second] = blocks;
    let (first, second) = (first.0.as_chunks::<8>().0, second.0.as_chunks::<8>().0);
    let mut rows = [W::splat(0); 8];
    for (row, value) in rows.iter_mut().enumerate().take(N) {
        let steps = W::pair(&steps.0[row], &steps.0[row]);
        *value = W::pair(&first[row], &second[row]).wrapping_mul(steps);
    }
    let mut rows = pass::<W, N>(&rows);
    for row in &mut rows[N..] {
        *row = W::splat(0);
    }
    let mut columns = pass::<W, N>(&transpose(rows));
    for column in &mut columns[..N] {
        *column = stored(*column);
    }
    columns
}

/// Clamped to what a byte holds.
#[inline(always)]
fn stored<W: Words>(samples: W) -> W {
    let (least, most) = (W::splat(-128 << SAMPLE_BITS), W::splat(127 << SAMPLE_BITS));
    samples.clamp(least, most).shl::<{ STORED_BITS - SAMPLE_BITS }>()
}
