//! Convolutions and matrix products: rows of the input times packed weights.
//!
//! The output is a matrix of one row a pixel and one column a channel. Its tiles are computed by [`Isa`]'s kernels, each over
//! a run of the inner axis:
//!
//! - **Weights** are packed once into panels of one or two vectors of columns, so that a kernel reads them in order.
//! - **Input rows** are read in place where the inner axis lies together in memory (1×1 convolutions at stride 1 and
//!   matrix products); elsewhere the rows of a block are gathered first, zeros for what lies in the padding. No
//!   matrix of all windows is ever made.
//! - **Blocks.** A block of rows and a run of the inner axis are chosen so that they and one panel stay in the second-level cache.
//!
//! Bias, residual and clipping are done in registers; other activations on a block that was just written.

mod gather;

use super::buffer::Buffer;
use super::simd::{Isa, MAX_ROWS, Tile};
use crate::pipeline::infer::graph::{Activation, Conv, Graph, Linear, Node, Window};

/// The longest run of the inner axis: its panel of 32 columns takes 147 kB.
const MAX_DEPTH: usize = 1152;
/// Values of a block of rows: 384 kB.
const BLOCK: usize = 96 * 1024;

/// A convolution or matrix product, ready to run.
pub(super) struct Product {
    isa: &'static Isa,
    /// Rows an image.
    rows: usize,
    groups: usize,
    /// Columns of one group.
    columns: usize,
    /// The inner axis.
    depth: usize,
    /// How rows are found.
    source: Source,
    panels: Vec<Panel>,
    weights: Buffer,
    bias: Buffer,
    min: f32,
    max: f32,
    /// What is left to do after clipping.
    activation: Activation,
}

/// Some columns of one group.
struct Panel {
    group: usize,
    /// The first column within the group.
    column: usize,
    /// Columns that are there.
    columns: usize,
    /// Vectors a row.
    vectors: usize,
    /// Where its weights begin.
    weights: usize,
    /// Where its bias begins.
    bias: usize,
}

enum Source {
    /// Row r begins at r · step, its values lie together.
    Rows { step: usize },
    /// Row r is the window of pixel r; `channels` are those of the input.
    Windows { window: Window, channels: usize },
}

/// What a product works on.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) input: *const f32,
    pub(super) output: *mut f32,
    /// Null where nothing is added.
    pub(super) residual: *const f32,
    pub(super) images: usize,
}

/// How a product is cut into tasks: blocks of rows times groups of panels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    rows: usize,
    columns: usize,
}

impl Cut {
    pub(super) fn tasks(self) -> usize {
        self.rows * self.columns
    }
}

/// Part `index` of `parts` of `total`, as even as can be.
pub(super) fn part(total: usize, parts: usize, index: usize) -> std::ops::Range<usize> {
    total * index / parts..total * (index + 1) / parts
}

/// What min and max leave of an activation.
pub(super) fn clipped(activation: Activation) -> (f32, f32, Activation) {
    let (none, all) = (Activation::None, f32::INFINITY);
    match activation {
        Activation::None => (-all, all, none),
        Activation::Relu => (0.0, all, none),
        Activation::Clip { min, max } => (min, max, none),
        other => (-all, all, other),
    }
}

impl Product {
    pub(super) fn conv(isa: &'static Isa, graph: &Graph, node: &Node, conv: &Conv) -> Self {
        let window = conv.window;
        let source = if window.is_pointwise() && conv.groups == 1 {
            Source::Rows { step: conv.inputs }
        } else {
            Source::Windows { window, channels: conv.inputs }
        };
        let rows = window.output[0] * window.output[1];
        let depth = window.kernel[0] * window.kernel[1] * (conv.inputs / conv.groups);
        Self::new(
            isa,
            graph,
            node,
            (rows, conv.groups, conv.outputs / conv.groups, depth),
            conv.weight,
            source,
        )
    }

    pub(super) fn linear(isa: &'static Isa, graph: &Graph, node: &Node, linear: &Linear) -> Self {
        let source = Source::Rows { step: linear.inputs };
        Self::new(
            isa,
            graph,
            node,
            (linear.rows, 1, linear.outputs, linear.inputs),
            linear.weight,
            source,
        )
    }

    fn new(
        isa: &'static Isa,
        graph: &Graph,
        node: &Node,
        (rows, groups, columns, depth): (usize, usize, usize, usize),
        weight: crate::pipeline::infer::graph::WeightId,
        source: Source,
    ) -> Self {
        let given = &graph.weight(weight).data;
        let bias = node.epilogue.bias.map(|bias| graph.weight(bias).data.as_slice());
        let (mut weights, mut biases, mut panels) = (Vec::new(), Vec::new(), Vec::new());
        for group in 0..groups {
            let mut column = 0;
            while column < columns {
                let vectors = if columns - column > isa.lanes { 2 } else { 1 };
                let width = vectors * isa.lanes;
                let here = width.min(columns - column);
                panels.push(Panel {
                    group,
                    column,
                    columns: here,
                    vectors,
                    weights: weights.len(),
                    bias: biases.len(),
                });
                let first = group * columns + column;
                for k in 0..depth {
                    weights.extend(
                        (0..width)
                            .map(|c| if c < here { given[(first + c) * depth + k] } else { 0.0 }),
                    );
                }
                biases.extend((0..width).map(|c| {
                    if c < here { bias.map_or(0.0, |bias| bias[first + c]) } else { 0.0 }
                }));
                column += here;
            }
        }
        let (min, max, activation) = clipped(node.epilogue.activation);
        let (weights, bias) = (Buffer::from_values(&weights), Buffer::from_values(&biases));
        Self {
            isa,
            rows,
            groups,
            columns,
            depth,
            source,
            panels,
            weights,
            bias,
            min,
            max,
            activation,
        }
    }

    /// Runs of the inner axis.
    fn runs(&self) -> usize {
        self.depth.div_ceil(MAX_DEPTH).max(1)
    }

    /// Whether rows are read where they lie.
    fn in_place(&self) -> bool {
        // Rows whose distance is a multiple of 4 kB meet in few lines of the first-level cache.
        matches!(self.source, Source::Rows { step } if !step.is_multiple_of(1024))
    }

    /// How to cut the work for so many threads.
    pub(super) fn cut(&self, images: usize, threads: usize) -> Cut {
        let total = self.rows * images;
        let run = self.depth.div_ceil(self.runs());
        let most = (BLOCK / run.max(self.columns.min(1024)).max(1)).max(self.isa.rows);
        let mut rows = total.div_ceil(most).max(1);
        let mut columns = 1;
        if threads > 1 {
            // Three blocks a thread even out well; blocks of fewer than two tiles do not pay.
            let finest = (total / (2 * self.isa.rows)).max(1);
            rows = rows.max((3 * threads).min(finest));
            columns = (2 * threads).div_ceil(rows).min(self.panels.len());
        }
        Cut { rows, columns }
    }

    /// Values of scratch memory that a task needs.
    pub(super) fn scratch(&self, images: usize, threads: usize) -> usize {
        if self.in_place() {
            return 0;
        }
        let rows = (self.rows * images).div_ceil(self.cut(images, threads).rows);
        rows * self.scratch_step()
    }

    fn scratch_step(&self) -> usize {
        let step = self.depth.div_ceil(self.runs()).next_multiple_of(16);
        if step.is_multiple_of(1024) { step + 16 } else { step }
    }

    /// Does one task.
    ///
    /// # Safety
    /// The job's pointers reach so many images; no one else writes what this task reads or writes; `scratch` has the room
    /// that [`Self::scratch`] says.
    pub(super) unsafe fn run(&self, job: &Job, cut: Cut, task: usize, scratch: *mut f32) {
        let rows = part(self.rows * job.images, cut.rows, task / cut.columns);
        let panels = part(self.panels.len(), cut.columns, task % cut.columns);
        let (runs, step) = (self.runs(), self.scratch_step());
        let out_step = self.groups * self.columns;
        let tiles = rows.len().div_ceil(self.isa.rows.min(MAX_ROWS));
        let per_group = self.panels.len() / self.groups;
        for group in panels.start / per_group..panels.end.div_ceil(per_group) {
            let panels =
                panels.start.max(group * per_group)..panels.end.min((group + 1) * per_group);
            for run in 0..runs {
                let depth = part(self.depth, runs, run);
                let (left, left_step) = match self.source {
                    // SAFETY: the run lies within a row of the input.
                    Source::Rows { step } if self.in_place() => unsafe {
                        (job.input.add(rows.start * step + depth.start), step)
                    },
                    // SAFETY: the caller vouches for the scratch memory and the input.
                    _ => unsafe {
                        self.gather(job.input, rows.clone(), depth.clone(), group, scratch);
                        (scratch.cast_const(), step)
                    },
                };
                for panel in &self.panels[panels.clone()] {
                    let width = panel.vectors * self.isa.lanes;
                    let column = panel.group * self.columns + panel.column;
                    for tile in 0..tiles {
                        let at = part(rows.len(), tiles, tile);
                        let out = (rows.start + at.start) * out_step + column;
                        let last = run + 1 == runs;
                        // SAFETY: the tile lies within the rows of this task and the columns of its panel; weights and bias hold
                        // whole panels; the caller vouches for input and output.
                        unsafe {
                            let residual = if last && !job.residual.is_null() {
                                job.residual.add(out)
                            } else {
                                std::ptr::null()
                            };
                            let bias = if run == 0 {
                                self.bias.start().add(panel.bias).cast_const()
                            } else {
                                std::ptr::null()
                            };
                            self.isa.tile(
                                at.len(),
                                panel.vectors,
                                &Tile {
                                    left: left.add(at.start * left_step),
                                    left_step,
                                    right: self
                                        .weights
                                        .start()
                                        .add(panel.weights + depth.start * width),
                                    depth: depth.len(),
                                    out: job.output.add(out),
                                    out_step,
                                    columns: panel.columns,
                                    bias,
                                    residual,
                                    min: if last { self.min } else { f32::NEG_INFINITY },
                                    max: if last { self.max } else { f32::INFINITY },
                                },
                            );
                        }
                    }
                }
            }
        }
        if self.activation != Activation::None {
            // SAFETY: these rows and columns are this task's own.
            unsafe { self.activate(job.output, rows, panels, out_step) };
        }
    }

    /// Applies what is left of the activation to the rows and panels of a task.
    unsafe fn activate(
        &self,
        output: *mut f32,
        rows: std::ops::Range<usize>,
        panels: std::ops::Range<usize>,
        out_step: usize,
    ) {
        let first = |panel: &Panel| panel.group * self.columns + panel.column;
        let (Some(from), Some(last)) =
            (self.panels.get(panels.start), self.panels.get(panels.end - 1))
        else {
            return;
        };
        let (from, to) = (first(from), first(last) + last.columns);
        // SAFETY: the caller vouches for rows and columns.
        unsafe {
            if to - from == out_step {
                let values = std::slice::from_raw_parts_mut(
                    output.add(rows.start * out_step),
                    rows.len() * out_step,
                );
                self.isa.activate(self.activation, values);
                return;
            }
            for row in rows {
                let values =
                    std::slice::from_raw_parts_mut(output.add(row * out_step + from), to - from);
                self.isa.activate(self.activation, values);
            }
        }
    }
}
