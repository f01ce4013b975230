//! From a file to a graph.

use rten_onnx::onnx::{DataType, Dimension, GraphProto, ModelProto, ValueInfoProto};
use std::path::Path;

use super::passes::fuse;
use super::plan::plan;
use super::translate::translate;
use super::{Graph, Op, Weight, WeightId};
use crate::pipeline::infer::onnx::MAX_SIDE;

/// Why a model has no graph; the text is for the person who chose the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// No ONNX model, or a broken one.
    #[error("no ONNX model can be read from it ({0})")]
    Unreadable(String),
    /// An input that is no picture.
    #[error("{0}; expected is one float input of N×3×H×W or 1×3×H×W with H = W")]
    Input(String),
    /// No output of classes.
    #[error("{0}; expected is a float output of N×classes")]
    Output(String),
    /// Results of one picture that no memory should be asked for.
    #[error("its results of one picture take {} GiB at a time, where {} are the limit", .0 >> 30, MAX_ARENA >> 30)]
    TooLarge(usize),
    /// An operator that is not taken, or not in this form.
    #[error("{op} `{node}`: {why}")]
    Unsupported {
        /// The operator: `GridSample`.
        op: String,
        /// The node's name, or that of its output.
        node: String,
        /// What about it is not taken.
        why: String,
    },
}

/// Bytes of results of one picture that may be held at a time: 8 GiB.
const MAX_ARENA: usize = 8 << 30;

impl GraphError {
    pub(super) fn unsupported(op: &str, node: &str, why: impl Into<String>) -> Self {
        Self::Unsupported { op: printable(op), node: printable(node), why: printable(&why.into()) }
    }
}

/// Names in a model's file must not drive the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Reads an ONNX model from memory; `size` is the side in pixels where the model leaves it open.
///
/// # Errors
/// Where it is no classifier that a graph can express.
pub fn load_bytes(bytes: &[u8], size: Option<u32>) -> Result<Graph, GraphError> {
    read(bytes, None, size)
}

/// As [`load_bytes`] from a file; weights may lie in other files beside it.
///
/// # Errors
/// As for [`load_bytes`], and where the file cannot be read.
pub fn load_file(path: &Path, size: Option<u32>) -> Result<Graph, GraphError> {
    let bytes = std::fs::read(path).map_err(|error| GraphError::Unreadable(error.to_string()))?;
    read(&bytes, path.parent(), size)
}

fn read(bytes: &[u8], folder: Option<&Path>, size: Option<u32>) -> Result<Graph, GraphError> {
    let model = ModelProto::parse_buf(bytes)
        .map_err(|error| GraphError::Unreadable(printable(&error.to_string())))?;
    let proto =
        model.graph.ok_or_else(|| GraphError::Unreadable("there is no graph in it".into()))?;
    let own = |domain: Option<&str>| matches!(domain, None | Some("" | "ai.onnx"));
    let opset = model.opset_import.iter().find(|set| own(set.domain.as_deref()));
    let opset = opset.and_then(|set| set.version).unwrap_or(1);
    let input = only_input(&proto)?;
    let name = input.name.as_deref().unwrap_or_default();
    let side = side(input, name, size)?;
    let mut refused = None;
    for output in &proto.output {
        let output = output.name.as_deref().unwrap_or_default();
        match build(&proto, opset, folder, (name, side), output) {
            Ok(graph) => return Ok(graph),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| GraphError::Output("the model has no output".into())))
}

fn build(
    proto: &GraphProto,
    opset: i64,
    folder: Option<&Path>,
    input: (&str, usize),
    output: &str,
) -> Result<Graph, GraphError> {
    let side = input.1;
    let (mut builder, view) = translate(proto, opset, folder, input, output)?;
    let classes = match *view.dims {
        [classes] | [classes, 1, 1] if classes > 1 => classes,
        _ => {
            let sizes: Vec<_> = view.dims.iter().map(ToString::to_string).collect();
            let sizes = sizes.join("×");
            return Err(GraphError::Output(printable(&format!(
                "its output `{output}` is N×{sizes}"
            ))));
        }
    };
    let input = super::TensorId(0);
    let output = view.tensor;
    let nodes = fuse(builder.nodes, &mut builder.weights, output);
    let plan = plan(&builder.tensors, &nodes, input, output);
    let arena = plan.size.saturating_mul(size_of::<f32>());
    if arena > MAX_ARENA {
        return Err(GraphError::TooLarge(arena));
    }
    let last = nodes.iter().find(|node| node.output == output);
    let probabilities = last.is_some_and(|node| matches!(node.op, Op::Softmax { .. }));
    let mut graph = Graph {
        tensors: builder.tensors,
        weights: builder.weights,
        nodes,
        input,
        output,
        side,
        classes,
        probabilities,
        plan,
    };
    drop_unused_weights(&mut graph);
    Ok(graph)
}

/// Weights that were folded into others are let go.
fn drop_unused_weights(graph: &mut Graph) {
    let mut places: Vec<Option<WeightId>> = vec![None; graph.weights.len()];
    let mut kept = Vec::new();
    let mut keep = |id: &mut WeightId| {
        let place = &mut places[id.0];
        *id = *place.get_or_insert_with(|| {
            let Weight { dims, data } = &mut graph.weights[id.0];
            kept.push(Weight { dims: std::mem::take(dims), data: std::mem::take(data) });
            WeightId(kept.len() - 1)
        });
    };
    for node in &mut graph.nodes {
        match &mut node.op {
            Op::Conv(conv) => keep(&mut conv.weight),
            Op::Linear(linear) => keep(&mut linear.weight),
            Op::Affine { scale, shift, .. } | Op::LayerNorm { scale, shift, .. } => {
                keep(scale);
                keep(shift);
            }
            _ => {}
        }
        if let Some(bias) = &mut node.epilogue.bias {
            keep(bias);
        }
    }
    graph.weights = kept;
}

/// The input that is no initialiser, if there is only one.
fn only_input(proto: &GraphProto) -> Result<&ValueInfoProto, GraphError> {
    let held =
        |name: &str| proto.initializer.iter().any(|tensor| tensor.name.as_deref() == Some(name));
    let inputs: Vec<_> = proto
        .input
        .iter()
        .filter(|input| !held(input.name.as_deref().unwrap_or_default()))
        .collect();
    match inputs[..] {
        [one] => Ok(one),
        [] => Err(GraphError::Input("the model has no input".into())),
        ref several => {
            let names: Vec<_> =
                several.iter().map(|input| input.name.as_deref().unwrap_or("?")).collect();
            Err(GraphError::Input(printable(&format!(
                "the model has {} inputs: {}",
                names.len(),
                names.join(", ")
            ))))
        }
    }
}

/// The side of the picture that the input wants.
fn side(input: &ValueInfoProto, name: &str, size: Option<u32>) -> Result<usize, GraphError> {
    let bad = |what: String| GraphError::Input(printable(&format!("its input `{name}` {what}")));
    let tensor = input.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref());
    let tensor = tensor.ok_or_else(|| bad("is no tensor".into()))?;
    if let Some(kind) = tensor.elem_type
        && kind != DataType::FLOAT
    {
        return Err(bad(format!("is of type {kind}, not of floats")));
    }
    let given = || {
        size.map(|side| side as usize)
            .ok_or_else(|| bad("says no size; say the side: --size 224".into()))
    };
    let Some(shape) = &tensor.shape else { return given() };
    let [batch, channels, height, width] = &shape.dim[..] else {
        return Err(bad(format!("has {} dimensions, not 4", shape.dim.len())));
    };
    let fixed = |dim: &Dimension| dim.dim_value.filter(|&value| value > 0);
    if let Some(images) = fixed(batch).filter(|&images| images != 1) {
        return Err(bad(format!("takes a fixed batch of {images}")));
    }
    if let Some(channels) = fixed(channels).filter(|&channels| channels != 3) {
        return Err(bad(format!("takes {channels} channels")));
    }
    let side = match (fixed(height), fixed(width)) {
        (Some(h), Some(w)) if h != w => {
            return Err(bad(format!("takes {h}×{w} pixels, not a square")));
        }
        (Some(side), _) | (_, Some(side)) => usize::try_from(side).unwrap_or(usize::MAX),
        (None, None) => given()?,
    };
    if side > MAX_SIDE as usize {
        return Err(bad(format!("takes {side}×{side} pixels; up to {MAX_SIDE} can be fed")));
    }
    Ok(side)
}
