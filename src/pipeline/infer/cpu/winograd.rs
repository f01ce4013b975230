//! Winograd's F(2×2, 3×3): 2×2 pixels of a 3×3 convolution with 16 multiplications a channel where 36 are counted.
//!
//! 4×4 pixels of the input become 16 values a channel (Bᵀ d B), each filter became 16 values when the model was loaded (G g Gᵀ), the
//! sums over channels are 16 matrix products, and 16 sums become 2×2 pixels (Aᵀ m A). A. Lavin and S. Gray, *Fast Algorithms for
//! Convolutional Neural Networks*, 2015, equations 7 and 8. Rounding stays that of a plain convolution; larger tiles would save more and lose
//! digits.

use super::buffer::Buffer;
use super::product::{Job, clipped, part};
use super::simd::{Isa, Patch, Tile};
use crate::pipeline::infer::graph::{Activation, Conv, Graph, Node, Window};

/// Places of a transformed tile.
const PLACES: usize = 16;
/// Values of transformed input and output that a block holds: half a MB.
const BLOCK: usize = 128 * 1024;

/// A convolution, ready to run.
pub(super) struct Winograd {
    isa: &'static Isa,
    window: Window,
    inputs: usize,
    outputs: usize,
    /// Tiles of 2×2 an image, down and across.
    tiles: [usize; 2],
    /// Outputs rounded up to whole panels.
    width: usize,
    /// Columns of a panel.
    panel: usize,
    /// Place by place, panel by panel: `[inputs, panel]`.
    weights: Buffer,
    /// `[width]`.
    bias: Buffer,
    zeros: Buffer,
    limits: (f32, f32),
    /// What is left to do after clipping.
    activation: Activation,
}

impl Winograd {
    /// Whether it takes less time so: not where weights, which are 16/9 of the plain ones, are read for a few tiles only.
    pub(super) fn pays(conv: &Conv) -> bool {
        let Window { kernel, stride, dilation, output: [height, width], .. } = conv.window;
        let plain = (kernel, stride, dilation, conv.groups) == ([3, 3], [1, 1], [1, 1], 1);
        let tiles = height.div_ceil(2) * width.div_ceil(2);
        plain && conv.inputs >= 32 && conv.outputs >= 32 && tiles >= 48
    }

    pub(super) fn new(isa: &'static Isa, graph: &Graph, node: &Node, conv: &Conv) -> Self {
        let (inputs, outputs) = (conv.inputs, conv.outputs);
        let panel = 2 * isa.lanes;
        let width = outputs.next_multiple_of(panel);
        let given = &graph.weight(conv.weight).data;
        let mut weights = vec![0.0; PLACES * width * inputs];
        for o in 0..outputs {
            for i in 0..inputs {
                let filter = std::array::from_fn(|at| given[(o * 9 + at) * inputs + i]);
                for (place, value) in transformed(&filter).into_iter().enumerate() {
                    let panel_start = (place * width / panel + o / panel) * inputs * panel;
                    weights[panel_start + i * panel + o % panel] = value;
                }
            }
        }
        let mut bias =
            node.epilogue.bias.map_or_else(Vec::new, |bias| graph.weight(bias).data.clone());
        bias.resize(width, 0.0);
        let (min, max, activation) = clipped(node.epilogue.activation);
        Self {
            isa,
            window: conv.window,
            inputs,
            outputs,
            tiles: conv.window.output.map(|size| size.div_ceil(2)),
            width,
            panel,
            weights: Buffer::from_values(&weights),
            bias: Buffer::from_values(&bias),
            zeros: Buffer::new(panel),
            limits: (min, max),
            activation,
        }
    }

    /// Values of a tile's row of input, rounded up to whole vectors and kept off multiples of 4 kB, at which rows would meet in few
    /// lines of the first-level cache.
    fn step(&self) -> usize {
        let step = self.inputs.next_multiple_of(self.isa.lanes);
        if step.is_multiple_of(1024) { step + 16 } else { step }
    }

    pub(super) fn tasks(&self, images: usize, threads: usize) -> usize {
        let total = images * self.tiles[0] * self.tiles[1];
        let most = (BLOCK / (PLACES * (self.step() + self.width))).max(48);
        let finest = if threads > 1 { (2 * threads).min(total.div_ceil(24)) } else { 1 };
        total.div_ceil(most).max(finest)
    }

    pub(super) fn scratch(&self, images: usize, threads: usize) -> usize {
        let total = images * self.tiles[0] * self.tiles[1];
        total.div_ceil(self.tasks(images, threads)) * PLACES * (self.step() + self.width)
    }

    /// Does one task: some tiles.
    ///
    /// # Safety
    /// The job's pointers reach so many images; no one else writes what this task reads or writes; `scratch` has the room
    /// that [`Self::scratch`] says.
    pub(super) unsafe fn run(&self, job: &Job, threads: usize, task: usize, scratch: *mut f32) {
        let per_image = self.tiles[0] * self.tiles[1];
        let tiles = part(job.images * per_image, self.tasks(job.images, threads), task);
        let (count, step) = (tiles.len(), self.step());
        // Place by place, tile by tile, channel by channel.
        let spread = scratch;
        // SAFETY: within the scratch memory.
        let summed = unsafe { scratch.add(PLACES * count * step) };
        let Window { input, output, pad, .. } = self.window;
        let at = |tile: usize| {
            (tile / per_image, [tile % per_image / self.tiles[1], tile % self.tiles[1]])
        };
        for (index, tile) in tiles.clone().enumerate() {
            let (image, place) = at(tile);
            let line = input[1] * self.inputs;
            // The pixels of 4×4 that are within the image.
            let within = |axis: usize| {
                let first = 2 * place[axis];
                let from = pad[axis].saturating_sub(first).min(4);
                [from, (input[axis] + pad[axis]).saturating_sub(first).clamp(from, 4)]
            };
            let first = 2 * place[0] * line + 2 * place[1] * self.inputs;
            // SAFETY: `within` keeps to the image; tile `index` has room in the scratch memory.
            unsafe {
                self.isa.spread(&Patch {
                    image: job.input.add(image * input[0] * line).wrapping_add(first).cast_mut(),
                    origin: pad[0] * line + pad[1] * self.inputs,
                    line_step: line,
                    channels: self.inputs,
                    rows: within(0),
                    columns: within(1),
                    values: spread.add(index * step),
                    value_step: count * step,
                });
            }
        }
        // SAFETY: both parts of the scratch memory hold so many tiles.
        unsafe { self.multiply(spread, summed, count) };
        for (index, tile) in tiles.enumerate() {
            let (image, place) = at(tile);
            let line = output[1] * self.outputs;
            let first =
                image * output[0] * line + 2 * place[0] * line + 2 * place[1] * self.outputs;
            let there = |axis: usize| [0, (output[axis] - 2 * place[axis]).min(2)];
            // SAFETY: `there` keeps to the image, these tiles are this task's own.
            unsafe {
                let residual =
                    if job.residual.is_null() { job.residual } else { job.residual.add(first) };
                let patch = Patch {
                    image: job.output.add(first),
                    origin: 0,
                    line_step: line,
                    channels: self.outputs,
                    rows: there(0),
                    columns: there(1),
                    values: summed.add(index * self.width),
                    value_step: count * self.width,
                };
                self.isa.collect(&patch, self.bias.start(), residual, self.limits);
                if self.activation != Activation::None {
                    for row in 0..there(0)[1] {
                        let start = job.output.add(first + row * line);
                        let values =
                            std::slice::from_raw_parts_mut(start, there(1)[1] * self.outputs);
                        self.isa.activate(self.activation, values);
                    }
                }
            }
        }
    }

    /// The sums over channels, place by place.
    ///
    /// # Safety
    /// `spread` and `summed` hold `count` tiles of all places.
    unsafe fn multiply(&self, spread: *const f32, summed: *mut f32, count: usize) {
        let (step, panels) = (self.step(), self.width / self.panel);
        let tiles = count.div_ceil(self.isa.rows);
        for place in 0..PLACES {
            for panel in 0..panels {
                for tile in 0..tiles {
                    let rows = part(count, tiles, tile);
                    let first = place * count + rows.start;
                    // SAFETY: the caller vouches for both; weights and zeros hold whole panels.
                    unsafe {
                        let tile = Tile {
                            left: spread.add(first * step),
                            left_step: step,
                            right: self
                                .weights
                                .start()
                                .add((place * panels + panel) * self.inputs * self.panel),
                            depth: self.inputs,
                            out: summed.add(first * self.width + panel * self.panel),
                            out_step: self.width,
                            columns: self.panel,
                            bias: self.zeros.start(),
                            residual: std::ptr::null(),
                            min: f32::NEG_INFINITY,
                            max: f32::INFINITY,
                        };
                        self.isa.tile(rows.len(), 2, &tile);
                    }
                }
            }
        }
    }
}

/// G g Gᵀ, row by row.
fn transformed(g: &[f32; 9]) -> [f32; PLACES] {
    let line = |a: f32, b: f32, c: f32| [a, 0.5 * (a + b + c), 0.5 * (a - b + c), c];
    let columns: [[f32; 4]; 3] = std::array::from_fn(|x| line(g[x], g[3 + x], g[6 + x]));
    let rows: [[f32; 4]; 4] =
        std::array::from_fn(|y| line(columns[0][y], columns[1][y], columns[2][y]));
    std::array::from_fn(|place| rows[place / 4][place % 4])
}
