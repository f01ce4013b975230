//! Along the rows, then along the columns, rows in between being kept only as long as they are needed.

use super::super::vectors::Vectors;
use super::weights::{Weights, both};

/// Source rows that go through the first pass together.
pub(super) const TOGETHER: usize = 4;
/// Values of a row in between that the second pass takes together; rows are padded to a multiple.
pub(super) const LANES: usize = 32;

/// How sums become values between the passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounding {
    /// Fraction bits that are dropped, at least one.
    pub(super) shift: u32,
    /// Least and largest value.
    pub(super) range: (i16, i16),
}

/// First pass: `side` pixels of each of four rows of RGB bytes to a row of 16-bit values each.
///
/// Windows may reach beyond a row's pixels: each of `rows` holds [`Weights::reach`] bytes.
pub(super) fn along(
    vectors: Vectors,
    rows: [&[u8]; TOGETHER],
    weights: &Weights,
    rounding: Rounding,
    out: [&mut [i16]; TOGETHER],
) {
    match vectors {
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "the processor decides which function may run")]
        // SAFETY: both are made only where the processor has AVX2.
        Vectors::Avx2 | Vectors::Avx512 => unsafe {
            super::avx2::along(rows, weights, rounding, out);
        },
        Vectors::Portable => {
            for (row, out) in rows.into_iter().zip(out) {
                along_one(row, weights, rounding, out);
            }
        }
    }
}

fn along_one(row: &[u8], weights: &Weights, rounding: Rounding, out: &mut [i16]) {
    let half = 1 << (rounding.shift - 1);
    let (low, high) = rounding.range;
    let (pixels, _) = row.as_chunks::<3>();
    let (out, _) = out.as_chunks_mut::<3>();
    for (index, (out, &start)) in out.iter_mut().zip(&weights.starts).enumerate() {
        let mut sums = [half; 3];
        let (taps, _) = pixels[start as usize..].as_chunks::<2>();
        for (&pair, [first, second]) in weights.window(index).iter().zip(taps) {
            let (w0, w1) = both(pair);
            for channel in 0..3 {
                sums[channel] += w0 * i32::from(first[channel]) + w1 * i32::from(second[channel]);
            }
        }
        *out =
            sums.map(|sum| (sum >> rounding.shift).clamp(i32::from(low), i32::from(high)) as i16);
    }
}

/// The rows in between, of which the last so many are kept.
pub(super) struct Ring<'a> {
    pub(super) values: &'a [i16],
    /// Values from row to row, a multiple of [`LANES`].
    pub(super) stride: usize,
    /// Rows that are kept.
    pub(super) rows: usize,
}

impl<'a> Ring<'a> {
    /// A row by its number in the source.
    pub(super) fn row(&self, number: usize) -> &'a [i16] {
        &self.values[number % self.rows * self.stride..][..self.stride]
    }
}

/// Second pass: one row of the result from those that its window covers. `out` is exactly the row.
pub(super) fn down(
    vectors: Vectors,
    ring: &Ring<'_>,
    start: usize,
    window: &[i32],
    shift: u32,
    out: &mut [u8],
) {
    match vectors {
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "the processor decides which function may run")]
        // SAFETY: both are made only where the processor has AVX2.
        Vectors::Avx2 | Vectors::Avx512 => unsafe {
            super::avx2::down(ring, start, window, shift, out);
        },
        Vectors::Portable => down_portable(ring, start, window, shift, out),
    }
}

fn down_portable(ring: &Ring<'_>, start: usize, window: &[i32], shift: u32, out: &mut [u8]) {
    for (part, out) in out.chunks_mut(LANES).enumerate() {
        let mut sums = [1_i32 << (shift - 1); LANES];
        for (index, &pair) in window.iter().enumerate() {
            let (w0, w1) = both(pair);
            let at = part * LANES;
            let first = &ring.row(start + 2 * index)[at..at + LANES];
            let second = &ring.row(start + 2 * index + 1)[at..at + LANES];
            for lane in 0..LANES {
                sums[lane] += w0 * i32::from(first[lane]) + w1 * i32::from(second[lane]);
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = (sum >> shift).clamp(0, 255) as u8;
        }
    }
}
