//! Rows that do not lie together in memory are gathered: windows of convolutions, strided pixels.

use std::ops::Range;

use super::{Product, Source};
use crate::pipeline::infer::cpu::simd::Windows;
use crate::pipeline::infer::graph::Window;

impl Product {
    /// Copies a run of the inner axis of some rows to `scratch`.
    ///
    /// # Safety
    /// The input holds the rows, `scratch` has room for them.
    pub(super) unsafe fn gather(
        &self,
        input: *const f32,
        rows: Range<usize>,
        depth: Range<usize>,
        group: usize,
        scratch: *mut f32,
    ) {
        let step = self.scratch_step();
        let first = rows.start;
        match &self.source {
            Source::Rows { step: from } => {
                for row in rows {
                    // SAFETY: the caller vouches for both.
                    unsafe {
                        let to = scratch.add((row - first) * step);
                        self.isa.copy(to, input.add(row * from + depth.start), depth.len());
                    }
                }
            }
            Source::Windows { window, channels } => {
                let mut row = rows.start;
                while row < rows.end {
                    let (image, pixel) = (row / self.rows, row % self.rows);
                    // SAFETY: the caller vouches for both; what is read is kept within the image.
                    unsafe {
                        let image = input.add(image * window.input[0] * window.input[1] * channels);
                        let to = scratch.add((row - first) * step);
                        let inner =
                            if depth.len() == self.depth { inner(window, pixel) } else { 0 };
                        let inner = inner.min(rows.end - row);
                        if inner > 0 {
                            self.whole_windows(window, *channels, image, pixel, inner, group, to);
                            row += inner;
                        } else {
                            self.window_row(
                                window,
                                *channels,
                                image,
                                pixel,
                                depth.clone(),
                                group,
                                to,
                            );
                            row += 1;
                        }
                    }
                }
            }
        }
    }

    /// The windows of `count` pixels of one output row, all of which lie within the image.
    ///
    /// # Safety
    /// They do, `image` is one image of the input, and `to` has room for the rows.
    #[expect(clippy::too_many_arguments, reason = "what gathered rows are made of")]
    unsafe fn whole_windows(
        &self,
        window: &Window,
        channels: usize,
        image: *const f32,
        pixel: usize,
        count: usize,
        group: usize,
        to: *mut f32,
    ) {
        let ins = channels / self.groups;
        let (oy, ox) = (pixel / window.output[1], pixel % window.output[1]);
        let y = oy * window.stride[0] - window.pad[0];
        let x = ox * window.stride[1] - window.pad[1];
        let together = window.dilation[1] == 1 && self.groups == 1;
        let columns = window.kernel[1];
        let (blocks, run) = if together { (1, columns * ins) } else { (columns, ins) };
        // SAFETY: the first window begins at (y, x), within the image; the caller vouches for the rest.
        unsafe {
            self.isa.gather(&Windows {
                to,
                to_step: self.scratch_step(),
                from: image.add((y * window.input[1] + x) * channels + group * ins),
                pixels: count,
                pixel_step: window.stride[1] * channels,
                lines: window.kernel[0],
                line_step: window.dilation[0] * window.input[1] * channels,
                blocks,
                block_step: window.dilation[1] * channels,
                run,
            });
        }
    }

    /// One row of windows: the window of `pixel`, from `depth.start` to `depth.end`.
    ///
    /// # Safety
    /// `image` is one image of the input, `to` has room for the run.
    #[expect(clippy::too_many_arguments, reason = "what a gathered row is made of")]
    unsafe fn window_row(
        &self,
        window: &Window,
        channels: usize,
        image: *const f32,
        pixel: usize,
        depth: Range<usize>,
        group: usize,
        to: *mut f32,
    ) {
        let ins = channels / self.groups;
        let (oy, ox) = (pixel / window.output[1], pixel % window.output[1]);
        // Values of the inner axis from `from` on: `count` zeros or a copy, cut to the run.
        let place = |from: usize, count: usize, source: Option<*const f32>| {
            let (start, end) = (from.max(depth.start), (from + count).min(depth.end));
            if start >= end {
                return;
            }
            // SAFETY: start .. end is within the run, for which there is room, and within the source.
            unsafe {
                let to = to.add(start - depth.start);
                match source {
                    Some(source) => self.isa.copy(to, source.add(start - from), end - start),
                    None => to.write_bytes(0, end - start),
                }
            }
        };
        // Columns of a window lie together where nothing lies between them.
        let together = window.dilation[1] == 1 && self.groups == 1;
        let [kernel_rows, kernel_columns] = window.kernel;
        let left = ox * window.stride[1];
        for ky in 0..kernel_rows {
            let from = ky * kernel_columns * ins;
            let y = (oy * window.stride[0] + ky * window.dilation[0]).wrapping_sub(window.pad[0]);
            if y >= window.input[0] {
                place(from, kernel_columns * ins, None);
                continue;
            }
            // SAFETY: row y and the columns below are within the image.
            let line = unsafe { image.add(y * window.input[1] * channels + group * ins) };
            if together {
                let before = window.pad[1].saturating_sub(left).min(kernel_columns);
                let end = (window.input[1] + window.pad[1])
                    .saturating_sub(left)
                    .min(kernel_columns)
                    .max(before);
                place(from, before * ins, None);
                // SAFETY: column left + before − pad is within the image where anything is copied.
                let source = line.wrapping_add(
                    (left + before).wrapping_sub(window.pad[1]).wrapping_mul(channels),
                );
                place(from + before * ins, (end - before) * ins, Some(source));
                place(from + end * ins, (kernel_columns - end) * ins, None);
                continue;
            }
            for kx in 0..kernel_columns {
                let x = (left + kx * window.dilation[1]).wrapping_sub(window.pad[1]);
                let source = (x < window.input[1]).then(|| line.wrapping_add(x * channels));
                place(from + kx * ins, ins, source);
            }
        }
    }
}

/// How many pixels of an output row, from `pixel` on, have windows that lie within the image.
fn inner(window: &Window, pixel: usize) -> usize {
    let at = [pixel / window.output[1], pixel % window.output[1]];
    let reach = |axis: usize| (window.kernel[axis] - 1) * window.dilation[axis] + 1;
    let fits = |axis: usize, at: usize| {
        let start = at * window.stride[axis];
        start >= window.pad[axis] && start - window.pad[axis] + reach(axis) <= window.input[axis]
    };
    if !fits(0, at[0]) || !fits(1, at[1]) {
        return 0;
    }
    let room = window.input[1] + window.pad[1] - reach(1) - at[1] * window.stride[1];
    (room / window.stride[1] + 1).min(window.output[1] - at[1])
}
