//! Depthwise convolutions and pools: windows over each channel on its own, row by row.

use super::{Memory, Place, Step};
use crate::pipeline::infer::cpu::buffer::Buffer;
use crate::pipeline::infer::cpu::product::part;
use crate::pipeline::infer::cpu::simd::{Isa, Row};
use crate::pipeline::infer::graph::{Activation, Conv, Graph, Node, Window};

/// What is done with a window.
pub(super) enum Kind {
    Depthwise,
    Max,
    Average { count_padding: bool },
}

/// A depthwise convolution or a pool.
pub(super) struct Windows {
    isa: &'static Isa,
    kind: Kind,
    window: Window,
    channels: usize,
    /// Channels rounded up to whole vectors.
    step: usize,
    weights: Buffer,
    bias: Buffer,
    min: f32,
    max: f32,
    /// What is left to do after clipping.
    activation: Activation,
    residual: Option<Place>,
    input: Place,
    output: Place,
}

/// A depthwise convolution.
pub(super) fn depthwise(
    isa: &'static Isa,
    graph: &Graph,
    node: &Node,
    conv: &Conv,
    input: Place,
    output: Place,
) -> Windows {
    let channels = conv.inputs;
    let step = channels.next_multiple_of(isa.lanes);
    let given = &graph.weight(conv.weight).data;
    let taps = conv.window.kernel[0] * conv.window.kernel[1];
    let mut weights = vec![0.0; taps * step];
    for (channel, filter) in given.chunks_exact(taps).enumerate() {
        for (tap, &value) in filter.iter().enumerate() {
            weights[tap * step + channel] = value;
        }
    }
    let mut bias = node.epilogue.bias.map_or_else(Vec::new, |bias| graph.weight(bias).data.clone());
    bias.resize(step, 0.0);
    let residual = node.epilogue.residual.map(|id| Place::of(graph, id));
    let clip = match node.epilogue.activation {
        _ if residual.is_some() => None,
        Activation::Relu => Some((0.0, f32::INFINITY)),
        Activation::Clip { min, max } => Some((min, max)),
        _ => None,
    };
    let (min, max) = clip.unwrap_or((f32::NEG_INFINITY, f32::INFINITY));
    Windows {
        isa,
        kind: Kind::Depthwise,
        window: conv.window,
        channels,
        step,
        weights: Buffer::from_values(&weights),
        bias: Buffer::from_values(&bias),
        min,
        max,
        activation: if clip.is_some() { Activation::None } else { node.epilogue.activation },
        residual,
        input,
        output,
    }
}

/// A pool.
pub(super) fn pool(
    isa: &'static Isa,
    kind: Kind,
    window: Window,
    channels: usize,
    input: Place,
    output: Place,
) -> Windows {
    Windows {
        isa,
        kind,
        window,
        channels,
        step: 0,
        weights: Buffer::new(0),
        bias: Buffer::new(0),
        min: f32::NEG_INFINITY,
        max: f32::INFINITY,
        activation: Activation::None,
        residual: None,
        input,
        output,
    }
}

impl Step for Windows {
    fn tasks(&self, images: usize, threads: usize) -> usize {
        let rows = images * self.window.output[0];
        if threads == 1 { 1 } else { rows.min(4 * threads) }
    }

    unsafe fn run(&self, memory: &Memory, task: usize, _scratch: *mut f32) {
        let rows = self.window.output[0];
        let total = memory.images * rows;
        let image = self.window.input[0] * self.window.input[1] * self.channels;
        let line = self.window.output[1] * self.channels;
        let (input, output) = (memory.start(self.input), memory.start(self.output));
        for at in part(total, self.tasks(memory.images, memory.threads), task) {
            // SAFETY: image at / rows and output row `at` are within their tensors; the row is this task's own.
            unsafe {
                let row = Row {
                    window: &self.window,
                    channels: self.channels,
                    image: input.add(at / rows * image),
                    out: output.add(at * line),
                    at: at % rows,
                    weights: self.weights.start(),
                    step: self.step,
                    bias: self.bias.start(),
                    min: self.min,
                    max: self.max,
                };
                match self.kind {
                    Kind::Depthwise => self.isa.depthwise(&row),
                    Kind::Max => self.isa.max_pool(&row),
                    Kind::Average { count_padding } => self.isa.average_pool(&row, count_padding),
                }
                let values = memory.write(self.output, at * line..(at + 1) * line);
                if let Some(residual) = self.residual {
                    let residual = &memory.read(residual)[at * line..][..line];
                    for (value, other) in values.iter_mut().zip(residual) {
                        *value += other;
                    }
                }
                if self.activation != Activation::None {
                    self.isa.activate(self.activation, values);
                }
            }
        }
    }
}
