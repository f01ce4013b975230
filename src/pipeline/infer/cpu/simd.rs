//! Kernels: the inner loops, one set for each instruction set.
//!
//! Every kernel is written once, in `kernels.rs`, over the few vector operations of `avx512.rs`, `avx2.rs` and `portable.rs`. [`Isa::best`]
//! picks a set when a model is loaded; its functions are reached through the table [`Isa`] alone.

mod kernels;
mod math;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use crate::pipeline::infer::graph::{Activation, BinaryOp};

/// The most rows that a tile has.
pub(super) const MAX_ROWS: usize = 12;

/// A block of a matrix product: `rows` × `columns` values of the output over `depth` values of the inner axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    /// The left matrix, row by row: value (r, i) at r · `left_step` + i.
    pub(super) left: *const f32,
    pub(super) left_step: usize,
    /// A panel of the right matrix: value (i, column) at i · width + column, where width is that of the kernel.
    pub(super) right: *const f32,
    pub(super) depth: usize,
    /// The output: value (r, column) at r · `out_step` + column.
    pub(super) out: *mut f32,
    pub(super) out_step: usize,
    /// Columns that are there; those up to the width are computed and dropped.
    pub(super) columns: usize,
    /// Where the sum begins: with these values, one a column of the width, or (where null) with what `out` holds.
    pub(super) bias: *const f32,
    /// What is added at the end, laid out as `out`; null for nothing.
    pub(super) residual: *const f32,
    /// What the result is cut off at.
    pub(super) min: f32,
    pub(super) max: f32,
}

/// One output row of a depthwise convolution or a pool of one image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) window: &'a crate::pipeline::infer::graph::Window,
    pub(super) channels: usize,
    /// The image, `[rows, columns, channels]`.
    pub(super) image: *const f32,
    /// The output row, `[columns, channels]`.
    pub(super) out: *mut f32,
    /// Which row of the output it is.
    pub(super) at: usize,
    /// `[kernel rows, kernel columns, step]`; `step` is the channels rounded up to whole vectors.
    pub(super) weights: *const f32,
    pub(super) step: usize,
    /// `[step]`.
    pub(super) bias: *const f32,
    pub(super) min: f32,
    pub(super) max: f32,
}

/// Windows that lie within an image, to be laid out in rows: the values of a window are `lines` × `blocks` × `run`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    /// Where the first row goes, and how far apart rows are.
    pub(super) to: *mut f32,
    pub(super) to_step: usize,
    /// Where the first window begins, how many there are and how far apart.
    pub(super) from: *const f32,
    pub(super) pixels: usize,
    pub(super) pixel_step: usize,
    /// Lines of the image that a window takes values from.
    pub(super) lines: usize,
    pub(super) line_step: usize,
    /// Runs of each line.
    pub(super) blocks: usize,
    pub(super) block_step: usize,
    /// Values that lie together.
    pub(super) run: usize,
}

/// Pixels that a Winograd transform takes or gives, and the 4×4 values that they are turned into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    /// Pixel (0, 0) less `origin` values: that pixel itself may lie outside of the image, above or to the left.
    pub(super) image: *mut f32,
    pub(super) origin: usize,
    pub(super) line_step: usize,
    pub(super) channels: usize,
    /// Which of the rows and columns are there; the others are zeros, or not written.
    pub(super) rows: [usize; 2],
    pub(super) columns: [usize; 2],
    /// Value i of channel c at i · `value_step` + c, with room for whole vectors of channels.
    pub(super) values: *mut f32,
    pub(super) value_step: usize,
}

/// Patch, bias, residual or null, and what the result is cut off at.
type CollectKernel = unsafe fn(&Patch, *const f32, *const f32, (f32, f32));
type TileKernel = unsafe fn(&Tile);
/// Output, x, scale, shift.
type AffineKernel = unsafe fn(&mut [f32], &[f32], &[f32], &[f32]);
/// Operation, whether swapped, output, a, b.
type CombineKernel = unsafe fn(BinaryOp, bool, &mut [f32], &[f32], &[f32]);
/// Output, x, scale, shift, epsilon.
type LayerNormKernel = unsafe fn(&mut [f32], &[f32], &[f32], &[f32], f32);

/// The kernels for one instruction set.
pub(super) struct Isa {
    /// What to call it.
    pub(super) name: &'static str,
    /// Values of a vector.
    pub(super) lanes: usize,
    /// Rows of the largest tile.
    pub(super) rows: usize,
    /// Kernels of a product by vectors a row (one or two) and rows, both less one.
    tiles: [&'static [TileKernel]; 2],
    copy: unsafe fn(*mut f32, *const f32, usize),
    gather: unsafe fn(&Windows),
    spread: unsafe fn(&Patch),
    collect: CollectKernel,
    depthwise: unsafe fn(&Row),
    max_pool: unsafe fn(&Row),
    average_pool: unsafe fn(&Row, bool),
    activate: unsafe fn(Activation, &mut [f32]),
    combine: CombineKernel,
    accumulate: unsafe fn(&mut [f32], &[f32]),
    affine: AffineKernel,
    layer_norm: LayerNormKernel,
}

impl Isa {
    /// The fastest set that this machine has.
    pub(super) fn best() -> &'static Self {
        Self::all().first().copied().unwrap_or(&portable::ISA)
    }

    /// Every set that this machine has, the fastest first.
    pub(super) fn all() -> Vec<&'static Self> {
        let mut sets = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("fma")
            {
                sets.push(&avx512::ISA);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                sets.push(&avx2::ISA);
            }
        }
        sets.push(&portable::ISA);
        sets
    }
}

impl Isa {
    /// Computes a tile of so many rows and vectors a row.
    ///
    /// # Safety
    /// All that [`Tile`] says is so, with `rows` from 1 to [`Self::rows`] and one or two vectors.
    pub(super) unsafe fn tile(&self, rows: usize, vectors: usize, tile: &Tile) {
        let kernel = self.tiles[vectors - 1][rows - 1];
        // SAFETY: this set was found on this machine, and the caller vouches for the tile.
        unsafe { kernel(tile) }
    }

    /// Copies `count` values.
    ///
    /// # Safety
    /// Both pointers reach so far and do not overlap.
    pub(super) unsafe fn copy(&self, to: *mut f32, from: *const f32, count: usize) {
        // SAFETY: this set was found on this machine, and the caller vouches for the pointers.
        unsafe { (self.copy)(to, from, count) }
    }

    /// Lays windows out in rows.
    ///
    /// # Safety
    /// All that [`Windows`] says is so.
    pub(super) unsafe fn gather(&self, windows: &Windows) {
        // SAFETY: this set was found on this machine, and the caller vouches for the windows.
        unsafe { (self.gather)(windows) }
    }

    /// Turns 4×4 pixels into 4×4 values.
    ///
    /// # Safety
    /// All that [`Patch`] says is so.
    pub(super) unsafe fn spread(&self, patch: &Patch) {
        // SAFETY: this set was found on this machine, and the caller vouches for the patch.
        unsafe { (self.spread)(patch) }
    }

    /// Turns 4×4 values into 2×2 pixels, adds bias and residual and cuts off.
    ///
    /// # Safety
    /// All that [`Patch`] says is so; the bias is of whole vectors, the residual null or laid out as the image from pixel (0, 0) on.
    pub(super) unsafe fn collect(
        &self,
        patch: &Patch,
        bias: *const f32,
        residual: *const f32,
        limits: (f32, f32),
    ) {
        // SAFETY: this set was found on this machine, and the caller vouches for the rest.
        unsafe { (self.collect)(patch, bias, residual, limits) }
    }

    /// A row of a depthwise convolution.
    ///
    /// # Safety
    /// All that [`Row`] says is so.
    pub(super) unsafe fn depthwise(&self, row: &Row) {
        // SAFETY: this set was found on this machine, and the caller vouches for the row.
        unsafe { (self.depthwise)(row) }
    }

    /// A row of a pool of maxima; it has no weights.
    ///
    /// # Safety
    /// All that [`Row`] says is so.
    pub(super) unsafe fn max_pool(&self, row: &Row) {
        // SAFETY: this set was found on this machine, and the caller vouches for the row.
        unsafe { (self.max_pool)(row) }
    }

    /// A row of a pool of means; it has no weights.
    ///
    /// # Safety
    /// All that [`Row`] says is so.
    pub(super) unsafe fn average_pool(&self, row: &Row, count_padding: bool) {
        // SAFETY: this set was found on this machine, and the caller vouches for the row.
        unsafe { (self.average_pool)(row, count_padding) }
    }

    /// Applies an activation.
    pub(super) fn activate(&self, activation: Activation, values: &mut [f32]) {
        // SAFETY: this set was found on this machine; there is nothing else to it.
        unsafe { (self.activate)(activation, values) }
    }

    /// out = a ∘ b, value by value; `a` is the second operand where `swapped`.
    pub(super) fn combine(
        &self,
        op: BinaryOp,
        swapped: bool,
        out: &mut [f32],
        a: &[f32],
        b: &[f32],
    ) {
        // SAFETY: this set was found on this machine; there is nothing else to it.
        unsafe { (self.combine)(op, swapped, out, a, b) }
    }

    /// out += x, value by value.
    pub(super) fn accumulate(&self, out: &mut [f32], x: &[f32]) {
        // SAFETY: this set was found on this machine; there is nothing else to it.
        unsafe { (self.accumulate)(out, x) }
    }

    /// out = x · scale + shift, value by value.
    pub(super) fn affine(&self, out: &mut [f32], x: &[f32], scale: &[f32], shift: &[f32]) {
        // SAFETY: this set was found on this machine; there is nothing else to it.
        unsafe { (self.affine)(out, x, scale, shift) }
    }

    /// Layer normalisation of one row.
    pub(super) fn layer_norm(
        &self,
        out: &mut [f32],
        x: &[f32],
        scale: &[f32],
        shift: &[f32],
        epsilon: f32,
    ) {
        // SAFETY: this set was found on this machine; there is nothing else to it.
        unsafe { (self.layer_norm)(out, x, scale, shift, epsilon) }
    }
}
