//! A graph's operations as the device does them: convolutions are brought into the kernels' form.

use super::half;
use super::launch::Place;
use super::tiles::Product;
use crate::pipeline::infer::graph::{Activation, Node, TensorId};

/// What values are on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// fp16, with sums in fp32.
    Halves,
    /// fp32, for devices without fp16 tensor cores.
    Floats,
}

impl std::str::FromStr for Precision {
    type Err = String;

    /// Reads `fp16` or `fp32`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fp16" => Ok(Self::Halves),
            "fp32" => Ok(Self::Floats),
            _ => Err(format!("`{text}` is no precision: fp16 or fp32")),
        }
    }
}

impl Precision {
    /// Bytes of a value.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Halves => 2,
            Self::Floats => 4,
        }
    }

    pub(super) fn pack(self, values: &[f32]) -> Vec<u8> {
        match self {
            Self::Halves => {
                values.iter().flat_map(|&value| half::from_f32(value).to_le_bytes()).collect()
            }
            Self::Floats => floats(values),
        }
    }
}

pub(super) fn floats(values: &[f32]) -> Vec<u8> {
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
