//! Means, softmax and normalisation over one image.

use super::{Builder, Operator, Value};
use crate::pipeline::infer::graph::fold::{axes, wrap};
use crate::pipeline::infer::graph::view::View;
use crate::pipeline::infer::graph::{Epilogue, Op};

impl Builder {
    /// `GlobalAveragePool`, and `ReduceMean` over all axes but one that lies innermost.
    pub(super) fn mean(&mut self, op: &Operator) -> Result<Value, String> {
        let x = op.tensor(0)?.clone();
        let rank = x.dims.len() + 1;
        let (gone, keep) = if op.kind == "GlobalAveragePool" {
            ((2..rank).collect::<Vec<_>>(), true)
        } else {
            let given = axes(&op.attributes, op.maybe_constant(1)?)?;
            let gone = given.iter().map(|&axis| wrap(axis, rank)).collect::<Result<_, _>>()?;
            (gone, op.attributes.int("keepdims", 1) != 0)
        };
        if gone.contains(&0) {
            return Err("it takes the mean over the images of a batch".into());
        }
        let left: Vec<_> = (0..x.dims.len()).filter(|at| !gone.contains(&(at + 1))).collect();
        let [axis] = left[..] else {
            return Err("it takes a mean that leaves more than channels; means over pixels or tokens are taken".into());
        };
        let channels = x.dims[axis];
        let x = self.innermost(&x, axis);
        let op = Op::GlobalAverage { positions: x.len() / channels.max(1), channels };
        let tensor = self.push(op, vec![x.tensor], vec![channels], Epilogue::default());
        let dims = if keep {
            (0..x.dims.len()).map(|at| if at == axis { channels } else { 1 }).collect()
        } else {
            vec![channels]
        };
        Ok(Value::Tensor(View::plain(tensor, dims)))
    }

    pub(super) fn softmax(&mut self, op: &Operator) -> Result<Value, String> {
        let x = op.tensor(0)?.clone();
        let rank = x.dims.len() + 1;
        let axis = wrap(op.attributes.int("axis", if self.opset < 13 { 1 } else { -1 }), rank)?;
        // Up to opset 12 all axes from `axis` on were one.
        let single = axis > 0 && (self.opset >= 13 || x.dims[axis..].iter().all(|&size| size == 1));
        if !single {
            return Err(format!("its axis {axis} of {rank} is not one axis of an image"));
        }
        let x = self.innermost(&x, axis - 1);
        let len = x.dims[axis - 1];
        let dims = x.order().iter().map(|&axis| x.dims[axis]).collect();
        let op = Op::Softmax { rows: x.len() / len.max(1), len };
        let tensor = self.push(op, vec![x.tensor], dims, Epilogue::default());
        Ok(Value::Tensor(View { tensor, ..x }))
    }

    pub(super) fn layer_norm(&mut self, op: &Operator) -> Result<Value, String> {
        let x = op.tensor(0)?.clone();
        let rank = x.dims.len() + 1;
        let axis = wrap(op.attributes.int("axis", -1), rank)?;
        if axis == 0 {
            return Err("it normalises over the images of a batch".into());
        }
        let len = x.dims[axis - 1..].iter().product();
        let scale = op.floats(1)?.to_vec();
        let shift = match op.maybe_constant(2)? {
            Some(_) => op.floats(2)?.to_vec(),
            None => vec![0.0; len],
        };
        if scale.len() != len || shift.len() != len {
            return Err(format!("{} values of scale for rows of {len}", scale.len()));
        }
        let epsilon = op.attributes.float("epsilon", 1e-5);
        let mut order = x.order();
        order.retain(|&at| at < axis - 1);
        order.extend(axis - 1..x.dims.len());
        let x = self.laid(&x, &order);
        Ok(Value::Tensor(self.push_layer_norm(&x, epsilon, scale, shift)))
    }

    /// Normalisation alone along one axis, as older exports write it out.
    pub(super) fn plain_layer_norm(
        &mut self,
        x: &View,
        axis: i64,
        epsilon: f32,
    ) -> Result<View, String> {
        let axis = wrap(axis, x.dims.len() + 1)?
            .checked_sub(1)
            .ok_or("it normalises over the images of a batch")?;
        let x = self.innermost(x, axis);
        let len = x.dims[axis];
        Ok(self.push_layer_norm(&x, epsilon, vec![1.0; len], vec![0.0; len]))
    }

    /// Over the innermost axes of `x`, as many values as `scale` has.
    fn push_layer_norm(
        &mut self,
        x: &View,
        epsilon: f32,
        scale: Vec<f32>,
        shift: Vec<f32>,
    ) -> View {
        let len = scale.len();
        let dims = x.order().iter().map(|&axis| x.dims[axis]).collect();
        let scale = self.add_weight(vec![len], scale);
        let shift = self.add_weight(vec![len], shift);
        let op = Op::LayerNorm { rows: x.len() / len.max(1), len, epsilon, scale, shift };
        let tensor = self.push(op, vec![x.tensor], dims, Epilogue::default());
        View { tensor, ..x.clone() }
    }

    pub(super) fn lrn(&mut self, op: &Operator) -> Result<Value, String> {
        let (x, [channels, height, width]) = self.image(op.tensor(0)?)?;
        let size = usize::try_from(op.attributes.int("size", 0)).ok().filter(|&size| size > 0);
        let lrn = Op::Lrn {
            channels,
            size: size.ok_or("its size is missing")?,
            alpha: op.attributes.float("alpha", 1e-4),
            beta: op.attributes.float("beta", 0.75),
            bias: op.attributes.float("bias", 1.0),
        };
        let tensor =
            self.push(lrn, vec![x.tensor], vec![height, width, channels], Epilogue::default());
        Ok(Value::Tensor(View { tensor, ..x }))
    }
}
