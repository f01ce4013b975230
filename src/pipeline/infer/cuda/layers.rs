//! A graph's operations as the device does them: weights packed, convolutions brought into the kernels' form.

use super::half;
use super::launch::Place;
use super::tiles::Product;
use crate::pipeline::infer::InputSpec;
use crate::pipeline::infer::graph::{self, Activation, Graph, Node, Op, TensorId, WeightId};

/// What values are on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// fp16, with sums in fp32.
    Halves,
    /// fp32, for devices without fp16 tensor cores.
    Floats,
}

impl Precision {
    /// Bytes of a value.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Halves => 2,
            Self::Floats => 4,
        }
    }

    fn pack(self, values: &[f32]) -> Vec<u8> {
        match self {
            Self::Halves => {
                values.iter().flat_map(|&value| half::from_f32(value).to_le_bytes()).collect()
            }
            Self::Floats => floats(values),
        }
    }
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The greatest half.
const MOST_HALF: f32 = 65_504.0;

/// An activation as the kernels number them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Act {
    /// See `activate` in `kernels/common.cuh`.
    pub kind: i32,
    /// Its first parameter.
    pub a: f32,
    /// Its second.
    pub b: f32,
}

impl Act {
    /// The number of an activation; what would leave the range of halves is kept in it.
    pub(super) fn new(activation: Activation, precision: Precision) -> Self {
        let most = match precision {
            Precision::Halves => MOST_HALF,
            Precision::Floats => f32::MAX,
        };
        let (kind, a, b) = match activation {
            Activation::None => (0, -most, most),
            Activation::Relu => (0, 0.0, most),
            Activation::Clip { min, max } => (0, min.max(-most), max.min(most)),
            Activation::LeakyRelu { slope } => (1, slope, 0.0),
            Activation::Sigmoid => (2, 0.0, 0.0),
            Activation::HardSigmoid { slope, shift } => (3, slope, shift),
            Activation::Silu => (4, 0.0, 0.0),
            Activation::HardSwish => (5, 0.0, 0.0),
            Activation::Gelu => (6, 0.0, 0.0),
            Activation::Tanh => (7, 0.0, 0.0),
        };
        Self { kind, a, b }
    }
}

/// What a convolution reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The pictures, four channels a pixel.
    Pictures,
    /// A tensor.
    Tensor(TensorId),
}

/// A convolution or matrix product in the kernels' form. Pairs are (rows, columns).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Conv {
    /// What it is called.
    pub name: String,
    /// Reads this,
    pub source: Source,
    /// adds this,
    pub residual: Option<TensorId>,
    /// and writes this.
    pub output: TensorId,
    /// Size of the input.
    pub input: [usize; 2],
    /// Size of the output.
    pub size: [usize; 2],
    /// Size of the window.
    pub kernel: [usize; 2],
    /// Steps of the window.
    pub stride: [usize; 2],
    /// Steps within the window.
    pub dilation: [usize; 2],
    /// Where output (0, 0) begins, before the input.
    pub pad: [usize; 2],
    /// Channels of a group of the input.
    pub channels: usize,
    /// Channels of a group of the output.
    pub outputs: usize,
    /// Groups.
    pub groups: usize,
    /// Values of a pixel of the input.
    pub pitch: usize,
    /// Values of a row of the weights.
    pub row: usize,
    /// Where the weights are: `[groups × outputs, row]`.
    pub weights: usize,
    /// Where the biases are, floats.
    pub bias: Option<usize>,
    /// Where they are as halves, zeros where there are none; for cuDNN.
    pub half_bias: usize,
    /// What is applied last.
    pub act: Act,
    /// Whether one filter a channel: weights are `[kernel, channels]` then, and `groups` is 1.
    pub depthwise: bool,
}

impl Conv {
    /// Of how many channels the input has a multiple, as far as copies can make use of it.
    pub(super) fn vector(&self) -> usize {
        [8, 4, 2].into_iter().find(|vector| self.channels.is_multiple_of(*vector)).unwrap_or(1)
    }

    /// Whether it ends in `ReLU`.
    pub(super) fn is_relu(&self) -> bool {
        self.act.kind == 0 && self.act.a == 0.0 && self.act.b >= MOST_HALF
    }

    /// Whether it ends in no activation.
    pub(super) fn is_linear(&self) -> bool {
        self.act.kind == 0 && self.act.a <= -MOST_HALF && self.act.b >= MOST_HALF
    }

    /// All that its speed depends on.
    pub(super) fn shape(&self) -> String {
        format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {} {} {} {} {:?} {} {}",
            self.input,
            self.size,
            self.kernel,
            self.stride,
            self.dilation,
            self.pad,
            self.channels,
            self.outputs,
            self.groups,
            self.pitch,
            self.act,
            self.residual.is_some(),
            self.depthwise,
        )
    }

    /// As a matrix product, for n images.
    pub(super) fn product(&self, n: usize) -> Product {
        Product {
            rows: n * self.size[0] * self.size[1],
            columns: self.outputs,
            depth: self.row,
            groups: self.groups,
            vector: self.vector(),
            residual: self.residual.is_some(),
        }
    }
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Layer {
    /// On the convolution kernels.
    Conv(Conv),
    /// On a kernel of its own: the node, and where its constants are (scale, shift).
    Plain(Node, Option<[usize; 2]>),
}

/// How the pictures come in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Input {
    /// Side of a picture.
    pub side: usize,
    /// Pixels of a row on the device; those past the side are zero.
    pub width: usize,
    /// Channels on the device: 4, or 3 where something else than a plain convolution reads the pictures.
    pub channels: usize,
    /// What is subtracted.
    pub mean: [f32; 3],
    /// By what is multiplied.
    pub scale: [f32; 3],
}

/// A graph ready for a device, weights apart.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// What values are.
    pub precision: Precision,
    /// What to do, in order.
    pub layers: Vec<Layer>,
    /// How the pictures come in.
    pub input: Input,
    /// Where tensors begin, values an image, by id.
    pub offsets: Vec<Option<usize>>,
    /// Values of the tensors, an image, by id.
    pub lens: Vec<usize>,
    /// Values of the arena, an image.
    pub arena: usize,
    /// The pictures as a tensor.
    pub pictures: TensorId,
    /// The logits.
    pub output: TensorId,
    /// Classes.
    pub classes: usize,
}

impl Model {
    /// Where a tensor is, for n images.
    pub(super) fn place(&self, id: TensorId, n: usize) -> Place {
        let offset =
            self.offsets[id.0].expect("the plan has a place for what a node reads or writes");
        Place::Arena(offset * n * self.precision.bytes())
    }

    /// The last layer's output goes straight to the logits, as floats.
    pub(super) fn writes_logits(&self, layer: &Layer) -> bool {
        matches!(layer, Layer::Conv(conv) if conv.output == self.output && !conv.depthwise)
    }

    /// The largest batch whose tensors can be counted in 31 bits.
    pub(super) fn most_images(&self) -> usize {
        let pictures = self.input.side * self.input.width * self.input.channels;
        let largest = self.lens.iter().copied().max().unwrap_or(0).max(pictures).max(1);
        (i32::MAX as usize / largest).max(1)
    }
}

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
