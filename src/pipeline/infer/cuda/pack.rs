//! Weights in the form that the kernels take, in one piece for the device.

use super::layers::{Act, Conv, Input, Layer, Model, Precision, Source, floats};
use crate::pipeline::infer::InputSpec;
use crate::pipeline::infer::graph::{self, Graph, Node, Op, TensorId, WeightId};

/// Packs a graph for a device.
pub(super) fn build(graph: &Graph, spec: &InputSpec, precision: Precision) -> (Model, Vec<u8>) {
    let mut packer = Packer { graph, precision, blob: Vec::new(), stem: stem(graph) };
    let input = Input {
        side: graph.side,
        width: if packer.stem { graph.side.next_multiple_of(2) } else { graph.side },
        channels: if packer.stem { 4 } else { 3 },
        mean: spec.mean,
        scale: spec.std.map(|std| 1.0 / std),
    };
    let layers = graph.nodes.iter().map(|node| packer.layer(node, &input)).collect();
    let model = Model {
        precision,
        layers,
        input,
        offsets: (0..graph.tensors.len()).map(|id| graph.plan.offset(TensorId(id))).collect(),
        lens: graph.tensors.iter().map(graph::Tensor::len).collect(),
        arena: graph.plan.size,
        pictures: graph.input,
        output: graph.output,
        classes: graph.classes,
    };
    (model, packer.blob)
}

/// Whether the pictures are read by plain convolutions alone, so that they may have a form of their own.
fn stem(graph: &Graph) -> bool {
    let plain = |node: &Node| match &node.op {
        Op::Conv(conv) => {
            conv.groups == 1 && conv.inputs == 3 && node.epilogue.residual != Some(graph.input)
        }
        _ => false,
    };
    let mut readers =
        graph.nodes.iter().filter(|node| node.reads().any(|id| id == graph.input)).peekable();
    readers.peek().is_some() && readers.all(plain) && graph.output != graph.input
}

struct Packer<'a> {
    graph: &'a Graph,
    precision: Precision,
    blob: Vec<u8>,
    stem: bool,
}

impl Packer<'_> {
    fn put(&mut self, bytes: &[u8]) -> usize {
        self.blob.resize(self.blob.len().next_multiple_of(256), 0);
        let offset = self.blob.len();
        self.blob.extend_from_slice(bytes);
        offset
    }

    fn put_floats(&mut self, weight: WeightId) -> usize {
        let bytes = floats(&self.graph.weight(weight).data);
        self.put(&bytes)
    }

    fn layer(&mut self, node: &Node, input: &Input) -> Layer {
        match &node.op {
            Op::Conv(conv) => Layer::Conv(self.conv(node, conv, input)),
            Op::Linear(linear) => Layer::Conv(self.linear(node, linear)),
            Op::Affine { scale, shift, .. } | Op::LayerNorm { scale, shift, .. } => {
                let constants = [self.put_floats(*scale), self.put_floats(*shift)];
                Layer::Plain(node.clone(), Some(constants))
            }
            _ => Layer::Plain(node.clone(), None),
        }
    }

    fn linear(&mut self, node: &Node, linear: &graph::Linear) -> Conv {
        let graph::Linear { rows, inputs, outputs, weight } = *linear;
        let shape = Shape { channels: inputs, outputs, groups: 1, kernel: [1, 1] };
        let (row, weights) = self.rows(&self.graph.weight(weight).data, &shape);
        Conv {
            input: [rows, 1],
            size: [rows, 1],
            stride: [1, 1],
            dilation: [1, 1],
            pad: [0, 0],
            pitch: inputs,
            row,
            weights,
            ..self.frame(node, &shape)
        }
    }

    fn conv(&mut self, node: &Node, conv: &graph::Conv, input: &Input) -> Conv {
        let window = conv.window;
        let data = &self.graph.weight(conv.weight).data;
        let shape = Shape {
            channels: conv.inputs / conv.groups,
            outputs: conv.outputs / conv.groups,
            groups: conv.groups,
            kernel: window.kernel,
        };
        let frame = Conv {
            input: window.input,
            size: window.output,
            stride: window.stride,
            dilation: window.dilation,
            pad: window.pad,
            pitch: conv.inputs,
            ..self.frame(node, &shape)
        };
        if self.stem && node.inputs[0] == self.graph.input {
            return self.first(frame, data, input);
        }
        if conv.is_depthwise() {
            let taps = window.kernel[0] * window.kernel[1];
            let by_tap: Vec<f32> = (0..taps)
                .flat_map(|tap| (0..conv.outputs).map(move |channel| channel * taps + tap))
                .map(|at| data[at])
                .collect();
            let weights = self.put(&self.precision.pack(&by_tap));
            let outputs = conv.outputs;
            return Conv {
                channels: outputs,
                outputs,
                groups: 1,
                weights,
                depthwise: true,
                ..frame
            };
        }
        let (shape, joined) = shape.joined(data);
        let (row, weights) = self.rows(joined.as_deref().unwrap_or(data), &shape);
        let Shape { channels, outputs, groups, .. } = shape;
        Conv { channels, outputs, groups, row, weights, ..frame }
    }

    /// What convolutions and products have in common.
    fn frame(&mut self, node: &Node, shape: &Shape) -> Conv {
        let is_output = node.output == self.graph.output;
        let precision = if is_output { Precision::Floats } else { self.precision };
        Conv {
            name: node.name.clone(),
            source: Source::Tensor(node.inputs[0]),
            residual: node.epilogue.residual,
            output: node.output,
            input: [1, 1],
            size: [1, 1],
            kernel: shape.kernel,
            stride: [1, 1],
            dilation: [1, 1],
            pad: [0, 0],
            channels: shape.channels,
            outputs: shape.outputs,
            groups: shape.groups,
            pitch: 0,
            row: 0,
            weights: 0,
            bias: node.epilogue.bias.map(|bias| self.put_floats(bias)),
            half_bias: self.half_bias(node, shape.outputs * shape.groups),
            act: Act::new(node.epilogue.activation, precision),
            depthwise: false,
        }
    }

    fn half_bias(&mut self, node: &Node, outputs: usize) -> usize {
        if self.precision == Precision::Floats {
            return 0;
        }
        let zeros = vec![0.0; outputs];
        let bias = node.epilogue.bias.map_or(&zeros, |bias| &self.graph.weight(bias).data);
        let bytes = self.precision.pack(bias);
        self.put(&bytes)
    }

    /// Weights with each filter's row filled up to a multiple of eight values; the row's length and the place.
    fn rows(&mut self, data: &[f32], shape: &Shape) -> (usize, usize) {
        let values = shape.kernel[0] * shape.kernel[1] * shape.channels;
        let row = values.next_multiple_of(8);
        let mut rows = vec![0.0; row * shape.outputs * shape.groups];
        for (to, from) in rows.chunks_exact_mut(row).zip(data.chunks_exact(values)) {
            to[..values].copy_from_slice(from);
        }
        (row, self.put(&self.precision.pack(&rows)))
    }

    /// A convolution of the pictures, whose pixels have four channels on the device.
    ///
    /// Where the window steps over an even number of columns, two pixels in a row become one of eight channels, so that
    /// copies are whole 16 bytes. For that the window begins at an even column and has an even width; filters get taps of zeros.
    fn first(&mut self, frame: Conv, data: &[f32], input: &Input) -> Conv {
        let [rows, columns] = frame.kernel;
        let pairs = frame.stride[1].is_multiple_of(2)
            && frame.dilation[1] == 1
            && self.precision == Precision::Halves;
        let shift = if pairs { frame.pad[1] % 2 } else { 0 };
        let wide = if pairs { (columns + shift).next_multiple_of(2) } else { columns };
        let mut filled = vec![0.0; frame.outputs * rows * wide * 4];
        for (pixel, from) in data.chunks_exact(3).enumerate() {
            let (line, column) = (pixel / columns, pixel % columns);
            filled[(line * wide + column + shift) * 4..][..3].copy_from_slice(from);
        }
        let join = if pairs { 2 } else { 1 };
        let shape = Shape {
            channels: 4 * join,
            outputs: frame.outputs,
            groups: 1,
            kernel: [rows, wide / join],
        };
        let (row, weights) = self.rows(&filled, &shape);
        Conv {
            source: Source::Pictures,
            input: [frame.input[0], input.width / join],
            kernel: shape.kernel,
            stride: [frame.stride[0], frame.stride[1] / join],
            pad: [frame.pad[0], (frame.pad[1] + shift) / join],
            channels: shape.channels,
            pitch: shape.channels,
            row,
            weights,
            ..frame
        }
    }
}

#[derive(Clone, Copy)]
struct Shape {
    channels: usize,
    outputs: usize,
    groups: usize,
    kernel: [usize; 2],
}

impl Shape {
    /// Fewer groups of more channels, with zeros between those that do not belong together: the tensor cores want wide
    /// groups, and have products to spare.
    fn joined(self, data: &[f32]) -> (Self, Option<Vec<f32>>) {
        let wide = |by: &usize| {
            let (channels, outputs) = (by * self.channels, by * self.outputs);
            channels >= 32 && channels.is_multiple_of(8) && outputs >= 32
        };
        let divisors = (1..=self.groups).filter(|by| self.groups.is_multiple_of(*by));
        let by = divisors.clone().find(wide).unwrap_or(1);
        if by == 1 {
            return (self, None);
        }
        let taps = self.kernel[0] * self.kernel[1];
        let shape = Self {
            channels: self.channels * by,
            outputs: self.outputs * by,
            groups: self.groups / by,
            kernel: self.kernel,
        };
        let mut joined = vec![0.0; data.len() * by];
        for (place, from) in data.chunks_exact(self.channels).enumerate() {
            let (filter, tap) = (place / taps, place % taps);
            let group = filter / self.outputs % by;
            let to = (filter * taps + tap) * shape.channels + group * self.channels;
            joined[to..to + self.channels].copy_from_slice(from);
        }
        (shape, Some(joined))
    }
}
