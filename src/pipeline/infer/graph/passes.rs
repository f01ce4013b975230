//! Fusing: what can be done while a value is at hand is not done in a pass of its own.
//!
//! 1. A convolution takes in the zeros of a Pad before it.
//! 2. An affine map (batch normalisation) goes into the weights of the convolution, matrix product or layer
//!    normalisation before it, or into the affine map before it.
//! 3. An activation goes into the node before it.
//! 4. A sum goes into the later of the two convolutions or matrix products that it adds, which then stands where the sum stood.
//!
//! All of it only where nothing else reads the tensor in between.

use super::{Activation, BinaryOp, Broadcast, Epilogue, Node, Op, TensorId, Weight, WeightId};

/// The graph while it is made smaller. Nodes that went into others are `None`.
pub(super) struct Fuser<'a> {
    nodes: Vec<Option<Node>>,
    weights: &'a mut Vec<Weight>,
    output: TensorId,
}

/// Fuses what can be fused; the nodes that are left come back.
pub(super) fn fuse(nodes: Vec<Node>, weights: &mut Vec<Weight>, output: TensorId) -> Vec<Node> {
    let mut fuser = Fuser { nodes: nodes.into_iter().map(Some).collect(), weights, output };
    fuser.each(Fuser::pad);
    fuser.each(Fuser::affine);
    fuser.each(Fuser::activation);
    fuser.each(Fuser::residual);
    fuser.nodes.into_iter().flatten().collect()
}

impl Fuser<'_> {
    fn each(&mut self, pass: fn(&mut Self, usize) -> Option<()>) {
        for at in 0..self.nodes.len() {
            pass(self, at);
        }
    }

    /// The node that makes `tensor`, where `tensor` is read once.
    fn only_maker(&self, tensor: TensorId) -> Option<usize> {
        let reads = self
            .nodes
            .iter()
            .flatten()
            .flat_map(Node::reads)
            .filter(|&read| read == tensor)
            .count();
        if reads != 1 || tensor == self.output {
            return None;
        }
        self.nodes.iter().position(|node| node.as_ref().is_some_and(|node| node.output == tensor))
    }

    fn node(&self, at: usize) -> Option<&Node> {
        self.nodes[at].as_ref()
    }

    fn add(&mut self, data: Vec<f32>) -> WeightId {
        self.weights.push(Weight { dims: vec![data.len()], data });
        WeightId(self.weights.len() - 1)
    }

    fn values(&self, id: WeightId) -> Vec<f32> {
        self.weights[id.0].data.clone()
    }

    /// `at` is done by the node `into`, which from now on writes its output.
    fn absorb(&mut self, into: usize, at: usize, change: impl FnOnce(&mut Node)) {
        if let Some(gone) = self.nodes[at].take()
            && let Some(node) = &mut self.nodes[into]
        {
            node.output = gone.output;
            change(node);
        }
    }

    fn pad(&mut self, at: usize) -> Option<()> {
        let node = self.node(at)?;
        let Op::Conv(_) = node.op else { return None };
        let before = self.only_maker(node.inputs[0])?;
        let Op::Pad { input, before: first, after: last, value: 0.0, .. } = self.node(before)?.op
        else {
            return None;
        };
        let source = self.node(before)?.inputs[0];
        self.nodes[before] = None;
        let node = self.nodes[at].as_mut()?;
        node.inputs[0] = source;
        if let Op::Conv(conv) = &mut node.op {
            conv.window.input = input;
            for axis in 0..2 {
                conv.window.pad[axis] += first[axis];
                conv.window.pad_end[axis] += last[axis];
            }
        }
        Some(())
    }

    fn affine(&mut self, at: usize) -> Option<()> {
        let node = self.node(at)?;
        let Op::Affine { channels, scale, shift } = node.op else { return None };
        let before = self.only_maker(node.inputs[0])?;
        let maker = self.node(before)?;
        if maker.epilogue.activation != Activation::None || maker.epilogue.residual.is_some() {
            return None;
        }
        let (own_scale, own_shift) = (self.values(scale), self.values(shift));
        match maker.op.clone() {
            Op::Conv(super::Conv { outputs, weight, .. })
            | Op::Linear(super::Linear { outputs, weight, .. }) => {
                if outputs != channels {
                    return None;
                }
                let bias = maker
                    .epilogue
                    .bias
                    .map_or_else(|| vec![0.0; channels], |bias| self.values(bias));
                let Weight { dims, mut data } = self.weights[weight.0].clone();
                let filter = data.len() / channels;
                for (filter, factor) in data.chunks_exact_mut(filter.max(1)).zip(&own_scale) {
                    for value in filter {
                        *value *= factor;
                    }
                }
                let bias = bias
                    .iter()
                    .zip(&own_scale)
                    .zip(&own_shift)
                    .map(|((b, s), t)| b * s + t)
                    .collect();
                let bias = self.add(bias);
                self.weights.push(Weight { dims, data });
                let folded = WeightId(self.weights.len() - 1);
                self.absorb(before, at, |node| {
                    node.epilogue.bias = Some(bias);
                    match &mut node.op {
                        Op::Conv(conv) => conv.weight = folded,
                        Op::Linear(linear) => linear.weight = folded,
                        _ => {}
                    }
                });
            }
            Op::Affine { channels: same, scale, shift }
            | Op::LayerNorm { len: same, scale, shift, .. } => {
                if same != channels {
                    return None;
                }
                let shift = self.values(shift);
                let shift = shift
                    .iter()
                    .zip(&own_scale)
                    .zip(&own_shift)
                    .map(|((b, s), t)| b * s + t)
                    .collect();
                let scale = self.values(scale).iter().zip(&own_scale).map(|(a, b)| a * b).collect();
                let (new_scale, new_shift) = (self.add(scale), self.add(shift));
                self.absorb(before, at, |node| {
                    if let Op::Affine { scale, shift, .. } | Op::LayerNorm { scale, shift, .. } =
                        &mut node.op
                    {
                        (*scale, *shift) = (new_scale, new_shift);
                    }
                });
            }
            _ => return None,
        }
        Some(())
    }

    fn activation(&mut self, at: usize) -> Option<()> {
        let node = self.node(at)?;
        let (Op::Activate, activation) = (&node.op, node.epilogue.activation) else { return None };
        let before = self.only_maker(node.inputs[0])?;
        let maker = self.node(before)?;
        let takes =
            matches!(maker.op, Op::Conv(_) | Op::Linear(_) | Op::Affine { .. } | Op::Binary { .. });
        if !takes || maker.epilogue.activation != Activation::None {
            return None;
        }
        self.absorb(before, at, |node| node.epilogue.activation = activation);
        Some(())
    }

    fn residual(&mut self, at: usize) -> Option<()> {
        let node = self.node(at)?;
        let Op::Binary { op: BinaryOp::Add, broadcast: Broadcast::Same, .. } = node.op else {
            return None;
        };
        let [a, b] = node.inputs[..] else { return None };
        if a == b {
            return None;
        }
        let product = |tensor: TensorId| {
            self.only_maker(tensor).filter(|&maker| {
                self.node(maker).is_some_and(|node| {
                    let Epilogue { residual, activation, .. } = node.epilogue;
                    matches!(node.op, Op::Conv(_) | Op::Linear(_))
                        && residual.is_none()
                        && activation == Activation::None
                })
            })
        };
        let (before, residual) = match (product(a), product(b)) {
            (Some(first), Some(second)) if first < second => (second, a),
            (Some(maker), _) => (maker, b),
            (None, Some(maker)) => (maker, a),
            (None, None) => return None,
        };
        let activation = node.epilogue.activation;
        let output = node.output;
        let mut maker = self.nodes[before].take()?;
        maker.output = output;
        maker.epilogue.residual = Some(residual);
        maker.epilogue.activation = activation;
        self.nodes[at] = Some(maker);
        Some(())
    }
}
