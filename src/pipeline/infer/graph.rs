//! A model as the engines run it: a short list of fused operations over tensors without a batch axis.
//!
//! An ONNX file becomes a [`Graph`] in four steps, one module each:
//!
//! | module | what |
//! |---|---|
//! | [`load`] | the file is parsed and its input checked |
//! | `constant`, `fold` | constants, and chains of operators on constants and shapes, become numbers |
//! | `view`, `translate`, `patterns` | operators become [`Node`]s; reshapes and transposes become views where they can |
//! | `passes`, [`plan`] | affine maps, activations and residuals are fused; tensors get places in one arena |
//!
//! **Shapes.** A tensor holds one image's values; a batch of n images is n such blocks one after another. Its
//! [`Tensor::dims`] are in the order in which values lie in memory, the last axis fastest. What ONNX calls
//! N×C×H×W therefore is `[H, W, C]` here (NHWC), and N×T×C is `[T, C]`. No operation looks across images.
//!
//! **Order.** [`Graph::nodes`] are in an order in which they can be run. A node writes [`Node::output`] and
//! nothing else; the plan never gives it memory that one of its inputs still holds.

mod constant;
mod fold;
pub mod load;
mod passes;
mod patterns;
pub mod plan;
#[cfg(test)]
pub(crate) mod reference;
#[cfg(test)]
mod tests;
mod translate;
mod view;

pub use load::{GraphError, load_bytes, load_file};
pub use plan::Plan;

/// Which tensor: an index into [`Graph::tensors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorId(pub usize);

/// Which weight: an index into [`Graph::weights`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WeightId(pub usize);

/// A classifier, ready for an engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// What is computed, by [`TensorId`].
    pub tensors: Vec<Tensor>,
    /// Constants, by [`WeightId`].
    pub weights: Vec<Weight>,
    /// What to do, in order.
    pub nodes: Vec<Node>,
    /// The picture, `[side, side, 3]`, normalised. An engine fills it from its batch slot.
    pub input: TensorId,
    /// The logits (or probabilities) of one image, `classes` values.
    pub output: TensorId,
    /// Side of the square input in pixels.
    pub side: usize,
    /// Classes that the model tells apart.
    pub classes: usize,
    /// Whether the model ends in a softmax.
    pub probabilities: bool,
    /// Where each tensor lies.
    pub plan: Plan,
}

impl Graph {
    /// The tensor of that id.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.0]
    }

    /// The weight of that id.
    pub fn weight(&self, id: WeightId) -> &Weight {
        &self.weights[id.0]
    }
}

/// Values of one image.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The ONNX value that it holds, for profiles and messages.
    pub name: String,
    /// Sizes, outermost first; the product is the number of values an image.
    pub dims: Vec<usize>,
}

impl Tensor {
    /// Values an image.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A constant of the model, f32 whatever it was in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// Sizes, outermost first; what they mean stands with the operation that uses it.
    pub dims: Vec<usize>,
    /// The values, the last axis fastest.
    pub data: Vec<f32>,
}

/// One operation with what was fused into its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The ONNX node that it comes from, for profiles and messages.
    pub name: String,
    /// What is computed.
    pub op: Op,
    /// The tensors that it reads, as many as `op` says; a residual is in `epilogue` instead.
    pub inputs: Vec<TensorId>,
    /// The tensor that it writes, whole.
    pub output: TensorId,
    /// What happens to each value before it is written.
    pub epilogue: Epilogue,
}

impl Node {
    /// Every tensor that is read, the residual included.
    pub fn reads(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.inputs.iter().copied().chain(self.epilogue.residual)
    }
}

/// The end of an operation: y = activation(x + bias\[channel\] + residual).
///
/// A bias and a residual are found with [`Op::Conv`] and [`Op::Linear`] alone; an activation also with [`Op::Affine`]
/// and [`Op::Binary`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Epilogue {
    /// One value an output channel.
    pub bias: Option<WeightId>,
    /// A tensor of the output's size, added value by value.
    pub residual: Option<TensorId>,
    /// What is applied last.
    pub activation: Activation,
}

/// A function of one value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Activation {
    /// x.
    #[default]
    None,
    /// max(x, 0).
    Relu,
    /// min(max(x, min), max).
    Clip {
        /// The least that comes out.
        min: f32,
        /// The most that comes out.
        max: f32,
    },
    /// x where x ≥ 0, slope · x elsewhere.
    LeakyRelu {
        /// The slope below 0.
        slope: f32,
    },
    /// 1 / (1 + e⁻ˣ).
    Sigmoid,
    /// min(max(slope · x + shift, 0), 1).
    HardSigmoid {
        /// ONNX's alpha.
        slope: f32,
        /// ONNX's beta.
        shift: f32,
    },
    /// x / (1 + e⁻ˣ).
    Silu,
    /// x · min(max(x / 6 + 1/2, 0), 1).
    HardSwish,
    /// x / 2 · (1 + erf(x / √2)).
    Gelu,
    /// tanh(x).
    Tanh,
}

/// A window that slides over rows and columns; each pair is (rows, columns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Size of the input.
    pub input: [usize; 2],
    /// Size of the output.
    pub output: [usize; 2],
    /// Size of the window.
    pub kernel: [usize; 2],
    /// Steps from one output to the next.
    pub stride: [usize; 2],
    /// Steps from one value of the window to the next.
    pub dilation: [usize; 2],
    /// Rows above and columns to the left that are not there. Output (0, 0) begins at −`pad`.
    pub pad: [usize; 2],
    /// Rows below and columns to the right that are not there. Windows may reach further where the model rounds its
    /// output size up.
    pub pad_end: [usize; 2],
}

impl Window {
    /// Whether it is one value at stride 1 without padding: a convolution with it is a matrix product.
    pub fn is_pointwise(&self) -> bool {
        self.kernel == [1, 1]
            && self.stride == [1, 1]
            && self.input == self.output
            && self.pad == [0, 0]
    }
}

/// A two-dimensional convolution (a cross-correlation, as everywhere in networks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv {
    /// Where it looks. What lies outside of the input counts as 0.
    pub window: Window,
    /// Channels of the input.
    pub inputs: usize,
    /// Channels of the output.
    pub outputs: usize,
    /// Output channel o sees the input channels of group o / (outputs / groups) alone.
    pub groups: usize,
    /// `[outputs, kernel rows, kernel columns, inputs / groups]`.
    pub weight: WeightId,
}

impl Conv {
    /// Whether each channel is convolved on its own, one filter a channel.
    pub fn is_depthwise(&self) -> bool {
        self.groups > 1 && self.groups == self.inputs && self.groups == self.outputs
    }

    /// Multiplications and additions an image, counted one by one.
    pub fn flop(&self) -> usize {
        let Window { output: [h, w], kernel: [kh, kw], .. } = self.window;
        2 * h * w * self.outputs * kh * kw * (self.inputs / self.groups)
    }
}

/// A matrix product with constants, row by row: y\[r, o\] = Σᵢ x\[r, i\] · weight\[o, i\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Rows an image; 1 in the last layer of a classifier.
    pub rows: usize,
    /// Values of an input row.
    pub inputs: usize,
    /// Values of an output row.
    pub outputs: usize,
    /// `[outputs, inputs]`.
    pub weight: WeightId,
}

/// How a pool makes one value out of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// The greatest; what lies outside of the input does not count.
    Max,
    /// The mean.
    Average {
        /// Whether the padding (`pad` and `pad_end`, nothing beyond) counts as zeros; else only what lies in the input
        /// is divided by.
        count_padding: bool,
    },
}

/// A binary operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// a + b.
    Add,
    /// a − b.
    Sub,
    /// a · b.
    Mul,
    /// a / b.
    Div,
}

/// How the second input of a binary operation is laid over the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broadcast {
    /// Both are of one size.
    Same,
    /// The second has as many values an image as the first has channels (its last axis), one each: squeeze and excite.
    Channels,
}

/// What a node computes. `inputs[0]` is x.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// `[h, w, inputs]` → `[h′, w′, outputs]`.
    Conv(Conv),
    /// `[rows, inputs]` → `[rows, outputs]`.
    Linear(Linear),
    /// `[h, w, channels]` → `[h′, w′, channels]`.
    Pool {
        /// Greatest or mean.
        kind: PoolKind,
        /// Where it looks.
        window: Window,
        /// Channels.
        channels: usize,
    },
    /// `[positions, channels]` → `[channels]`: the mean over the positions.
    GlobalAverage {
        /// Pixels, or tokens.
        positions: usize,
        /// Channels.
        channels: usize,
    },
    /// `inputs[0]` and `inputs[1]`, value by value → the size of the first.
    Binary {
        /// What is done.
        op: BinaryOp,
        /// How the second is laid over the first.
        broadcast: Broadcast,
        /// Whether the second input is the left operand.
        swapped: bool,
    },
    /// x · scale\[channel\] + shift\[channel\]; channels are the last axis. Batch normalisation that could not be folded, and
    /// arithmetic with constants.
    Affine {
        /// Size of the last axis.
        channels: usize,
        /// `[channels]`.
        scale: WeightId,
        /// `[channels]`.
        shift: WeightId,
    },
    /// The epilogue's activation and nothing else.
    Activate,
    /// Local response normalisation: x / (bias + alpha / size · Σ x²)^beta, the sum over `size` channels about each.
    Lrn {
        /// Channels.
        channels: usize,
        /// Channels that are summed: from c − (size − 1) / 2 (rounded down) to c + size / 2 (rounded down).
        size: usize,
        /// ONNX's alpha.
        alpha: f32,
        /// ONNX's beta.
        beta: f32,
        /// ONNX's bias.
        bias: f32,
    },
    /// `[h, w, channels]` → rows and columns added around it, filled with `value`.
    Pad {
        /// Rows and columns of the input.
        input: [usize; 2],
        /// Channels.
        channels: usize,
        /// Rows above, columns to the left.
        before: [usize; 2],
        /// Rows below, columns to the right.
        after: [usize; 2],
        /// What is filled in.
        value: f32,
    },
    /// e^(x − max) / Σ over each row of `len` values.
    Softmax {
        /// Rows an image.
        rows: usize,
        /// Values of a row.
        len: usize,
    },
    /// (x − mean) / √(variance + epsilon) · scale + shift over each row of `len` values.
    LayerNorm {
        /// Rows an image.
        rows: usize,
        /// Values of a row.
        len: usize,
        /// Keeps the root off 0.
        epsilon: f32,
        /// `[len]`.
        scale: WeightId,
        /// `[len]`.
        shift: WeightId,
    },
    /// The values in another order: output axis i is input axis `perm[i]` of `dims`.
    Transpose {
        /// The input's sizes.
        dims: Vec<usize>,
        /// Which input axis each output axis is.
        perm: Vec<usize>,
    },
    /// The inputs one after another along one axis: `[outer, lens[k]]` each → `[outer, Σ lens]`.
    Concat {
        /// Rows.
        outer: usize,
        /// Values a row, input by input.
        lens: Vec<usize>,
    },
    /// `[outer, len]` → `[outer, count]`: from each row the values from `start` on.
    Slice {
        /// Rows.
        outer: usize,
        /// Values of an input row.
        len: usize,
        /// The first value taken.
        start: usize,
        /// How many are taken.
        count: usize,
    },
}

impl Op {
    /// What to call it in a profile.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Conv(conv) if conv.is_depthwise() => "depthwise",
            Self::Conv(_) => "conv",
            Self::Linear(_) => "linear",
            Self::Pool { kind: PoolKind::Max, .. } => "max pool",
            Self::Pool { .. } => "average pool",
            Self::GlobalAverage { .. } => "global average",
            Self::Binary { op: BinaryOp::Add, .. } => "add",
            Self::Binary { op: BinaryOp::Sub, .. } => "sub",
            Self::Binary { op: BinaryOp::Mul, .. } => "mul",
            Self::Binary { op: BinaryOp::Div, .. } => "div",
            Self::Affine { .. } => "affine",
            Self::Activate => "activation",
            Self::Lrn { .. } => "lrn",
            Self::Pad { .. } => "pad",
            Self::Softmax { .. } => "softmax",
            Self::LayerNorm { .. } => "layer norm",
            Self::Transpose { .. } => "transpose",
            Self::Concat { .. } => "concat",
            Self::Slice { .. } => "slice",
        }
    }
}
