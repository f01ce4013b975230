//! From ONNX operators to nodes.

pub(super) mod attributes;
mod matrix;
mod norm;
mod pointwise;
mod shape;
mod window;

use rten_onnx::onnx::{GraphProto, NodeProto};
use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::constant::Constant;
use super::fold::fold;
use super::load::GraphError;
use super::patterns::{self, Fused};
use super::view::View;
use super::{Activation, Epilogue, Node, Op, Tensor, TensorId, Weight, WeightId};
use attributes::Attributes;

/// What an ONNX name stands for.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Constant(Constant),
    Tensor(View),
}

/// The model so far.
pub(super) struct Builder {
    opset: i64,
    values: HashMap<String, Value>,
    pub(super) tensors: Vec<Tensor>,
    pub(super) weights: Vec<Weight>,
    pub(super) nodes: Vec<Node>,
    /// The ONNX node that is being translated.
    at: String,
}

/// An operator with what it is given.
struct Operator<'a> {
    kind: &'a str,
    attributes: Attributes<'a>,
    inputs: Vec<Option<Value>>,
    proto: &'a NodeProto,
}

impl Operator<'_> {
    /// The input of that number as a tensor.
    fn tensor(&self, index: usize) -> Result<&View, String> {
        match self.inputs.get(index) {
            Some(Some(Value::Tensor(view))) => Ok(view),
            Some(Some(Value::Constant(_))) => Err(format!("its input {index} is a constant")),
            _ => Err(format!("its input {index} is missing")),
        }
    }

    /// The input of that number as a constant, where it is given.
    fn maybe_constant(&self, index: usize) -> Result<Option<&Constant>, String> {
        match self.inputs.get(index) {
            Some(Some(Value::Constant(constant))) => Ok(Some(constant)),
            Some(Some(Value::Tensor(_))) => {
                Err(format!("its input {index} is computed, where a constant is taken"))
            }
            _ => Ok(None),
        }
    }

    fn constant(&self, index: usize) -> Result<&Constant, String> {
        self.maybe_constant(index)?.ok_or_else(|| format!("its input {index} is missing"))
    }

    fn floats(&self, index: usize) -> Result<&[f32], String> {
        self.constant(index)?
            .as_floats()
            .ok_or_else(|| format!("its input {index} is not of floats"))
    }
}

/// Builds what `output` needs of the model; its view comes back.
///
/// # Errors
/// Where an operator cannot be expressed.
pub(super) fn translate(
    proto: &GraphProto,
    opset: i64,
    folder: Option<&Path>,
    input: (&str, usize),
    output: &str,
) -> Result<(Builder, View), GraphError> {
    let (input, side) = input;
    let mut builder = Builder {
        opset,
        values: HashMap::new(),
        tensors: Vec::new(),
        weights: Vec::new(),
        nodes: Vec::new(),
        at: String::new(),
    };
    let needed = needed(proto, output);
    let names: HashSet<&str> = needed
        .iter()
        .flat_map(|&at| &proto.node[at].input)
        .map(String::as_str)
        .chain([output])
        .collect();
    for tensor in &proto.initializer {
        let name = tensor.name.as_deref().unwrap_or_default();
        if !names.contains(name) {
            continue;
        }
        let constant = Constant::decode(tensor, folder)
            .map_err(|why| GraphError::unsupported("initializer", name, why))?;
        builder.values.insert(name.to_owned(), Value::Constant(constant));
    }
    let picture = builder.add_tensor(input, vec![side, side, 3]);
    builder.values.insert(input.to_owned(), Value::Tensor(View::image(picture, [3, side, side])));

    let fused = patterns::find(proto, &needed, &builder.values);
    for &at in &needed {
        if fused.inner.contains(&at) {
            continue;
        }
        let node = &proto.node[at];
        let kind = node.op_type.as_deref().unwrap_or_default();
        builder.at = node_name(node);
        let done = match fused.roots.get(&at) {
            Some(found) => builder.fused(node, found),
            None => builder.node(node, kind),
        };
        done.map_err(|why| GraphError::unsupported(kind, &builder.at, why))?;
    }
    match builder.values.get(output) {
        Some(Value::Tensor(view)) => {
            let view = view.clone();
            Ok((builder, view))
        }
        _ => {
            Err(GraphError::Output(format!("its output `{output}` does not depend on the picture")))
        }
    }
}

/// What a node is called: its name, or that of its first output.
fn node_name(node: &NodeProto) -> String {
    let named = node.name.clone().filter(|name| !name.is_empty());
    named.or_else(|| node.output.first().cloned()).unwrap_or_default()
}

/// The nodes that `output` depends on, in the file's order.
fn needed(proto: &GraphProto, output: &str) -> Vec<usize> {
    let mut makers: HashMap<&str, usize> = HashMap::new();
    for (at, node) in proto.node.iter().enumerate() {
        makers.extend(
            node.output.iter().filter(|name| !name.is_empty()).map(|name| (name.as_str(), at)),
        );
    }
    let mut wanted = vec![output];
    let mut found = vec![false; proto.node.len()];
    while let Some(name) = wanted.pop() {
        if let Some(&at) = makers.get(name)
            && !found[at]
        {
            found[at] = true;
            wanted.extend(proto.node[at].input.iter().map(String::as_str));
        }
    }
    (0..proto.node.len()).filter(|&at| found[at]).collect()
}

impl Builder {
    fn node(&mut self, node: &NodeProto, kind: &str) -> Result<(), String> {
        if let Some(domain) = node.domain.as_deref()
            && !matches!(domain, "" | "ai.onnx")
        {
            return Err(format!("it is of the domain `{domain}`; ONNX's own operators are taken"));
        }
        let attributes = Attributes::of(node);
        if kind == "Constant" {
            return self.set(node, 0, Value::Constant(attributes.constant()?));
        }
        let mut inputs = Vec::with_capacity(node.input.len());
        for name in &node.input {
            inputs.push(match self.values.get(name) {
                Some(value) => Some(value.clone()),
                None if name.is_empty() => None,
                None => return Err(format!("its input `{name}` is made by nothing before it")),
            });
        }
        let constants: Option<Vec<Option<&Constant>>> = inputs
            .iter()
            .map(|input| match input {
                None => Some(None),
                Some(Value::Constant(constant)) => Some(Some(constant)),
                Some(Value::Tensor(_)) => None,
            })
            .collect();
        if let Some(constants) = constants {
            let folded = fold(kind, &attributes, &constants)?
                .ok_or("it computes with constants in a way that is not folded")?;
            return self.set(node, 0, Value::Constant(folded));
        }
        let operator = Operator { kind, attributes, inputs, proto: node };
        self.operator(&operator)
    }

    fn operator(&mut self, op: &Operator) -> Result<(), String> {
        let result = match op.kind {
            "Conv" => self.conv(op)?,
            "MaxPool" | "AveragePool" | "GlobalMaxPool" => self.pool(op)?,
            "Pad" => self.pad(op)?,
            "GlobalAveragePool" | "ReduceMean" => self.mean(op)?,
            "Gemm" => self.gemm(op)?,
            "MatMul" => self.matmul(op)?,
            "Add" | "Sub" | "Mul" | "Div" => self.binary(op)?,
            "BatchNormalization" => self.batch_norm(op)?,
            "Softmax" => self.softmax(op)?,
            "LayerNormalization" => self.layer_norm(op)?,
            "LRN" => self.lrn(op)?,
            "Reshape" => self.reshape(op)?,
            "Flatten" => self.flatten(op)?,
            "Transpose" => Self::transpose(op)?,
            "Squeeze" => Self::squeeze(op)?,
            "Unsqueeze" => Self::unsqueeze(op)?,
            "Concat" => self.concat(op)?,
            "Slice" => self.slice(op)?,
            "Gather" => self.gather(op)?,
            "Split" => return self.split(op),
            "Shape" => Value::Constant(Self::shape(op)?),
            // Outside of training they do nothing.
            "Identity" | "Dropout" => Value::Tensor(op.tensor(0)?.clone()),
            "Cast" => match op.attributes.int("to", 1) {
                1 | 10 | 11 | 16 => Value::Tensor(op.tensor(0)?.clone()),
                other => {
                    return Err(format!(
                        "it makes data type {other} of a computed tensor; floats are taken"
                    ));
                }
            },
            _ => match pointwise::activation(op)? {
                Some(activation) => Value::Tensor(self.activate(op.tensor(0)?.clone(), activation)),
                None => return Err("the operator is not among those that are taken".into()),
            },
        };
        self.set(op.proto, 0, result)
    }

    fn fused(&mut self, node: &NodeProto, found: &Fused) -> Result<(), String> {
        let Some(Value::Tensor(x)) = self.values.get(found.input()).cloned() else {
            return Err(format!("its input `{}` is no tensor", found.input()));
        };
        let view = match *found {
            Fused::Activation { activation, .. } => self.activate(x, activation),
            Fused::LayerNorm { axis, epsilon, .. } => self.plain_layer_norm(&x, axis, epsilon)?,
        };
        self.set(node, 0, Value::Tensor(view))
    }

    fn set(&mut self, node: &NodeProto, index: usize, value: Value) -> Result<(), String> {
        let name = node.output.get(index).ok_or("it has no output")?;
        if let Value::Tensor(view) = &value
            && let Some(tensor) = self.tensors.get_mut(view.tensor.0)
            && tensor.name.is_empty()
        {
            tensor.name.clone_from(name);
        }
        self.values.insert(name.clone(), value);
        Ok(())
    }

    fn add_tensor(&mut self, name: &str, dims: Vec<usize>) -> TensorId {
        self.tensors.push(Tensor { name: name.to_owned(), dims });
        TensorId(self.tensors.len() - 1)
    }

    fn add_weight(&mut self, dims: Vec<usize>, data: Vec<f32>) -> WeightId {
        self.weights.push(Weight { dims, data });
        WeightId(self.weights.len() - 1)
    }

    /// Adds a node; its output of `dims` comes back.
    fn push(
        &mut self,
        op: Op,
        inputs: Vec<TensorId>,
        dims: Vec<usize>,
        epilogue: Epilogue,
    ) -> TensorId {
        // Named by the operator that asks for it, in `set`, or for good where it stays inside.
        let output = self.add_tensor("", dims);
        self.nodes.push(Node { name: self.at.clone(), op, inputs, output, epilogue });
        output
    }

    fn activate(&mut self, x: View, activation: Activation) -> View {
        if activation == Activation::None {
            return x;
        }
        let dims = self.tensors[x.tensor.0].dims.clone();
        let epilogue = Epilogue { activation, ..Epilogue::default() };
        let tensor = self.push(Op::Activate, vec![x.tensor], dims, epilogue);
        View { tensor, ..x }
    }

    /// The view with its axes in memory as `order` says; values are moved where they lie otherwise.
    fn laid(&mut self, view: &View, order: &[usize]) -> View {
        if view.lies(order) {
            return View::laid_out(view.tensor, view.dims.clone(), order);
        }
        let memory = view.order();
        let dims: Vec<_> = memory.iter().map(|&axis| view.dims[axis]).collect();
        let place = |axis: &usize| memory.iter().position(|at| at == axis).unwrap_or(0);
        let perm: Vec<_> = order.iter().map(place).collect();
        let out = order.iter().map(|&axis| view.dims[axis]).collect();
        let op = Op::Transpose { dims, perm };
        let tensor = self.push(op, vec![view.tensor], out, Epilogue::default());
        View::laid_out(tensor, view.dims.clone(), order)
    }

    /// The view with its values in ONNX's order.
    fn plain(&mut self, view: &View) -> View {
        let order: Vec<_> = (0..view.dims.len()).collect();
        self.laid(view, &order)
    }

    /// The view as an image, H×W×C in memory, with channels, rows and columns.
    fn image(&mut self, view: &View) -> Result<(View, [usize; 3]), String> {
        let Ok(dims) = <[usize; 3]>::try_from(view.dims.as_slice()) else {
            return Err(format!(
                "its input has {} axes, where images (N×C×H×W) are taken",
                view.dims.len() + 1
            ));
        };
        Ok((self.laid(view, &[1, 2, 0]), dims))
    }

    /// The view with `axis` innermost in memory, the others as they lie.
    fn innermost(&mut self, view: &View, axis: usize) -> View {
        let mut order = view.order();
        order.retain(|&at| at != axis);
        order.push(axis);
        self.laid(view, &order)
    }
}
