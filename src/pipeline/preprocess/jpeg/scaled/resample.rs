//! Planes to the target's size: first along the rows, then along the columns, as the conventional resizer does.
//!
//! A plane's samples lie column by column, as the transforms leave them. Both passes thus add up whole vectors
//! times one weight each; what lies between them is transposed on the way.

#![expect(clippy::inline_always, reason = "compiled for the instructions of whoever calls")]

use super::weights::Axis;
use super::words::{Words, transpose};

/// Columns of the target that are made at a time.
const COLUMNS: usize = 8;

/// Words that are added up at a time: planes and rows are padded to as many.
pub(super) const STEP: usize = 32;

/// Samples between the passes, row by row.
#[derive(Default)]
pub(super) struct Rows {
    samples: Vec<i16>,
    /// Distance of rows: the target's width, padded.
    stride: usize,
}

impl Rows {
    /// Bytes of memory that are held.
    pub(super) fn held(&self) -> usize {
        2 * self.samples.capacity()
    }

    /// Resamples along the rows. The columns of `plane` are `stride` apart, the first is sample `left` of what
    /// `axis` counts, and `rows` of their words are used; they must reach to a whole [`STEP`].
    #[inline(always)]
    pub(super) fn fill<W: Words>(
        &mut self,
        (plane, stride): (&[i16], usize),
        rows: usize,
        axis: &Axis,
        left: usize,
    ) {
        self.stride = axis.starts.len().next_multiple_of(STEP);
        let size = self.stride * rows.next_multiple_of(STEP);
        if self.samples.len() < size {
            self.samples.resize(size, 0);
        }
        // Strips of rows, so that a strip of the plane stays in the first-level cache.
        for row in (0..rows).step_by(STEP) {
            let groups = axis.starts.chunks(COLUMNS).zip(axis.weights.chunks(COLUMNS * axis.taps));
            for (group, (starts, weights)) in groups.enumerate() {
                let mut columns = [[W::splat(0); COLUMNS]; 2];
                let each = starts.iter().zip(weights.chunks_exact(axis.taps)).enumerate();
                for (column, (&start, weights)) in each {
                    let from = (start as usize - left) * stride + row;
                    let sums = weighted(plane, from, stride, weights);
                    [columns[0][column], columns[1][column]] = sums;
                }
                for (half, columns) in columns.into_iter().enumerate() {
                    let from = (row + 16 * half) * self.stride + COLUMNS * group;
                    self.put(transpose(columns), from);
                }
            }
        }
    }

    /// Stores eight words of each of sixteen rows.
    #[inline(always)]
    fn put<W: Words>(&mut self, rows: [W; 8], from: usize) {
        let out = &mut self.samples[from..];
        assert!(out.len() >= 15 * self.stride + 8, "room for sixteen rows");
        for (index, words) in rows.iter().enumerate() {
            #[expect(unsafe_code, reason = "a check for each row would cost as much as its store")]
            // SAFETY: the index is below 8, and eight words from 15 rows on are there.
            unsafe {
                words.store_low_at(out, index * self.stride);
                words.store_high_at(out, (index + 8) * self.stride);
            }
        }
    }

    /// Resamples along the columns to row `row` of the target; `axis` counts so that the first row is sample
    /// `top`.
    #[inline(always)]
    pub(super) fn row<W: Words>(&self, axis: &Axis, row: usize, top: usize, out: &mut Vec<i16>) {
        out.resize(self.stride, 0);
        let taps = axis.taps;
        let from = (axis.starts[row] as usize - top) * self.stride;
        let weights = &axis.weights[row * taps..(row + 1) * taps];
        for (index, out) in out.as_chunks_mut::<STEP>().0.iter_mut().enumerate() {
            let sums: [W; 2] = weighted(&self.samples, from + STEP * index, self.stride, weights);
            for (sum, out) in sums.iter().zip(out.as_chunks_mut().0) {
                sum.store(out);
            }
        }
    }
}

/// The sum of [`STEP`] words from `from` on, `stride` apart, each time with their weight.
#[inline(always)]
fn weighted<W: Words>(samples: &[i16], from: usize, stride: usize, weights: &[i32]) -> [W; 2] {
    let samples = &samples[from..from + (weights.len() - 1) * stride + STEP];
    let mut sums = [W::splat(0); 2];
    let mut at = 0;
    for &weight in weights {
        let weight = W::splat_twice(weight);
        // SAFETY: `at` is at most (number of weights − 1) × stride, from where the slice has `STEP` words.
        #[expect(unsafe_code, reason = "a check for each vector would cost as much as its sum")]
        let [low, high] =
            unsafe { [W::load_from(samples, at), W::load_from(samples, at + STEP / 2)] };
        sums = [sums[0].add(low.mul(weight)), sums[1].add(high.mul(weight))];
        at += stride;
    }
    sums
}
