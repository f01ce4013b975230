//! Activations, arithmetic and batch normalisation.

use super::{Builder, Operator, Value};
use crate::pipeline::infer::graph::constant::Constant;
use crate::pipeline::infer::graph::view::View;
use crate::pipeline::infer::graph::{Activation, BinaryOp, Broadcast, Epilogue, Op};

/// The activation that an operator is, if it is one.
pub(super) fn activation(op: &Operator) -> Result<Option<Activation>, String> {
    Ok(Some(match op.kind {
        "Relu" => Activation::Relu,
        "Clip" => {
            let limit = |index: usize, name: &str, default: f32| match op.maybe_constant(index)? {
                Some(given) => {
                    given.scalar().ok_or_else(|| format!("its {name} is not one number"))
                }
                None => Ok(op.attributes.float(name, default)),
            };
            let (min, max) = (limit(1, "min", f32::NEG_INFINITY)?, limit(2, "max", f32::INFINITY)?);
            if min == 0.0 && max == f32::INFINITY {
                Activation::Relu
            } else {
                Activation::Clip { min, max }
            }
        }
        "LeakyRelu" => Activation::LeakyRelu { slope: op.attributes.float("alpha", 0.01) },
        "Sigmoid" => Activation::Sigmoid,
        "HardSigmoid" => Activation::HardSigmoid {
            slope: op.attributes.float("alpha", 0.2),
            shift: op.attributes.float("beta", 0.5),
        },
        "HardSwish" => Activation::HardSwish,
        "Tanh" => Activation::Tanh,
        "Gelu" => match op.attributes.text("approximate").unwrap_or("none") {
            "none" => Activation::Gelu,
            other => {
                return Err(format!(
                    "its approximation `{other}` is not known; exact GELU is taken"
                ));
            }
        },
        _ => return Ok(None),
    }))
}

impl Builder {
    pub(super) fn binary(&mut self, op: &Operator) -> Result<Value, String> {
        let kind = match op.kind {
            "Add" => BinaryOp::Add,
            "Sub" => BinaryOp::Sub,
            "Mul" => BinaryOp::Mul,
            _ => BinaryOp::Div,
        };
        match (op.inputs.first(), op.inputs.get(1)) {
            (Some(Some(Value::Tensor(a))), Some(Some(Value::Tensor(b)))) => self.two(kind, a, b),
            (Some(Some(Value::Tensor(x))), Some(Some(Value::Constant(c)))) => {
                let (x, axis, c) = Self::channel_constant(x, c)?;
                let (scale, shift): (Vec<_>, Vec<_>) = c
                    .into_iter()
                    .map(|c| match kind {
                        BinaryOp::Add => (1.0, c),
                        BinaryOp::Sub => (1.0, -c),
                        BinaryOp::Mul => (c, 0.0),
                        BinaryOp::Div => (c.recip(), 0.0),
                    })
                    .unzip();
                self.affine(&x, axis, scale, shift).map(Value::Tensor)
            }
            (Some(Some(Value::Constant(c))), Some(Some(Value::Tensor(x)))) => {
                let (x, axis, c) = Self::channel_constant(x, c)?;
                let (scale, shift): (Vec<_>, Vec<_>) = match kind {
                    BinaryOp::Add => c.into_iter().map(|c| (1.0, c)).unzip(),
                    BinaryOp::Sub => c.into_iter().map(|c| (-1.0, c)).unzip(),
                    BinaryOp::Mul => c.into_iter().map(|c| (c, 0.0)).unzip(),
                    BinaryOp::Div => {
                        return Err("it divides a constant by a computed tensor".into());
                    }
                };
                self.affine(&x, axis, scale, shift).map(Value::Tensor)
            }
            _ => Err("an input is missing".into()),
        }
    }

    /// A constant next to `x`: one value for all, or one for each place along one axis, which comes back with them.
    fn channel_constant(x: &View, c: &Constant) -> Result<(View, usize, Vec<f32>), String> {
        let values = c.as_floats().ok_or("a computed tensor meets whole numbers")?;
        let rank = x.dims.len() + 1;
        if c.dims.len() > rank && c.len() != 1 {
            return Err(format!("a constant of {:?} has more axes than the tensor", c.dims));
        }
        if let [one] = *values {
            let order = x.order();
            let long = order.iter().rev().find(|&&at| x.dims[at] > 1);
            let axis = *long.or(order.last()).ok_or("its input is one number an image")?;
            return Ok((x.clone(), axis, vec![one; x.dims[axis]]));
        }
        let wide = [vec![1; rank - c.dims.len()], c.dims.clone()].concat();
        let long: Vec<_> = (0..rank).filter(|&at| wide[at] != 1).collect();
        match long[..] {
            [at] if at > 0 && x.dims[at - 1] == wide[at] => {
                Ok((x.clone(), at - 1, values.to_vec()))
            }
            _ => Err(format!(
                "a constant of {:?} meets a tensor of N×{:?}; one value, or one a channel, is taken",
                c.dims, x.dims
            )),
        }
    }

    /// x · scale + shift along `axis`.
    pub(super) fn affine(
        &mut self,
        x: &View,
        axis: usize,
        scale: Vec<f32>,
        shift: Vec<f32>,
    ) -> Result<View, String> {
        if scale.len() != x.dims[axis] || shift.len() != scale.len() {
            return Err(format!("{} values for {} channels", scale.len(), x.dims[axis]));
        }
        let x = self.innermost(x, axis);
        let channels = scale.len();
        let scale = self.add_weight(vec![channels], scale);
        let shift = self.add_weight(vec![channels], shift);
        let dims = x.order().iter().map(|&axis| x.dims[axis]).collect();
        let op = Op::Affine { channels, scale, shift };
        let tensor = self.push(op, vec![x.tensor], dims, Epilogue::default());
        Ok(View { tensor, ..x })
    }

    pub(super) fn batch_norm(&mut self, op: &Operator) -> Result<Value, String> {
        if op.attributes.int("training_mode", 0) != 0 {
            return Err("it is in training mode; export the model in eval mode".into());
        }
        let x = op.tensor(0)?.clone();
        let (gamma, beta, mean, variance) =
            (op.floats(1)?, op.floats(2)?, op.floats(3)?, op.floats(4)?);
        if x.dims.is_empty() || [beta.len(), mean.len(), variance.len()] != [gamma.len(); 3] {
            return Err("its parameters do not fit together".into());
        }
        let epsilon = op.attributes.float("epsilon", 1e-5);
        let scale: Vec<f32> =
            gamma.iter().zip(variance).map(|(g, v)| g / (v + epsilon).sqrt()).collect();
        let shift = beta.iter().zip(mean).zip(&scale).map(|((b, m), s)| b - m * s).collect();
        self.affine(&x, 0, scale, shift).map(Value::Tensor)
    }

    fn two(&mut self, op: BinaryOp, a: &View, b: &View) -> Result<Value, String> {
        if a.dims.len() != b.dims.len() {
            return Err(format!("N×{:?} and N×{:?} have not as many axes", a.dims, b.dims));
        }
        let covers = |big: &View, small: &View| {
            big.dims.iter().zip(&small.dims).all(|(&whole, &part)| part == whole || part == 1)
        };
        let (big, small, swapped) = if covers(a, b) {
            (a, b, false)
        } else if covers(b, a) {
            (b, a, true)
        } else {
            return Err(format!("N×{:?} and N×{:?} do not cover each other", a.dims, b.dims));
        };
        let swapped = swapped && matches!(op, BinaryOp::Sub | BinaryOp::Div);
        let long: Vec<_> = (0..big.dims.len()).filter(|&at| small.dims[at] != 1).collect();
        let (big, small, broadcast) = if big.dims == small.dims {
            let order = big.order();
            (big.clone(), self.laid(small, &order), Broadcast::Same)
        } else if let [axis] = long[..] {
            (self.innermost(big, axis), small.clone(), Broadcast::Channels)
        } else {
            return Err(format!(
                "N×{:?} is laid over N×{:?}; tensors of one size, or one value a channel, are taken",
                small.dims, big.dims
            ));
        };
        let dims = big.order().iter().map(|&axis| big.dims[axis]).collect();
        let op = Op::Binary { op, broadcast, swapped };
        let tensor = self.push(op, vec![big.tensor, small.tensor], dims, Epilogue::default());
        Ok(Value::Tensor(View { tensor, ..big }))
    }
}
