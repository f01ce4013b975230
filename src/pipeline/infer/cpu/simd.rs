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
