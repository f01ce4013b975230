//! Matrix products with constants.

use super::{Builder, Operator, Value};
use crate::pipeline::infer::graph::fold;
use crate::pipeline::infer::graph::view::View;
use crate::pipeline::infer::graph::{Epilogue, Linear, Op};

impl Builder {
    pub(super) fn gemm(&mut self, op: &Operator) -> Result<Value, String> {
        let x = op.tensor(0)?.clone();
        let &[inputs] = x.dims.as_slice() else {
            return Err(format!(
                "its first input has {} axes, where N×values is taken",
                x.dims.len() + 1
            ));
        };
        if op.attributes.int("transA", 0) != 0 {
            return Err("it turns its first input (transA), which would mix images".into());
        }
        let (alpha, beta) = (op.attributes.float("alpha", 1.0), op.attributes.float("beta", 1.0));
        let given = op.constant(1)?;
        let turned = if op.attributes.int("transB", 0) == 0 {
            fold::transpose(given, &[1, 0])?
        } else {
            given.clone()
        };
        let &[outputs, width] = turned.dims.as_slice() else {
            return Err(format!("its weights are {:?}, where a matrix is taken", turned.dims));
        };
        if width != inputs {
            return Err(format!("its weights take {width} values, where the input has {inputs}"));
        }
        let floats = turned.as_floats().ok_or("its weights are not of floats")?;
        let floats = floats.iter().map(|&value| value * alpha).collect();
        let weight = self.add_weight(vec![outputs, inputs], floats);
        let bias = if op.maybe_constant(2)?.is_some() {
            let given = op.floats(2)?;
            let bias: Vec<f32> = match given.len() {
                1 => vec![given[0] * beta; outputs],
                n if n == outputs => given.iter().map(|&value| value * beta).collect(),
                n => return Err(format!("its bias has {n} values for {outputs} outputs")),
            };
            Some(self.add_weight(vec![outputs], bias))
        } else {
            None
        };
        let linear = Op::Linear(Linear { rows: 1, inputs, outputs, weight });
        let epilogue = Epilogue { bias, ..Epilogue::default() };
        let x = self.plain(&x);
        let tensor = self.push(linear, vec![x.tensor], vec![outputs], epilogue);
        Ok(Value::Tensor(View::plain(tensor, vec![outputs])))
    }

    pub(super) fn matmul(&mut self, op: &Operator) -> Result<Value, String> {
        if let Some(Some(Value::Tensor(_))) = op.inputs.get(1) {
            return Err(
                "it multiplies two computed matrices (attention); products with weights are taken"
                    .into(),
            );
        }
        let x = op.tensor(0)?.clone();
        let turned = fold::transpose(op.constant(1)?, &[1, 0])?;
        let &[outputs, inputs] = turned.dims.as_slice() else {
            return Err(format!("its weights are {:?}, where a matrix is taken", turned.dims));
        };
        let Some((&last, leading)) = x.dims.split_last() else {
            return Err("its first input is one number an image".into());
        };
        if last != inputs {
            return Err(format!("its weights take {inputs} values, where the input has {last}"));
        }
        let floats = turned.as_floats().ok_or("its weights are not of floats")?.to_vec();
        let weight = self.add_weight(vec![outputs, inputs], floats);
        let rows = leading.iter().product();
        let dims = [leading, &[outputs]].concat();
        // Rows may come in any order, as long as each lies together.
        let x = self.innermost(&x, x.dims.len() - 1);
        let order = x.order();
        let physical = order.iter().map(|&axis| dims[axis]).collect();
        let linear = Op::Linear(Linear { rows, inputs, outputs, weight });
        let tensor = self.push(linear, vec![x.tensor], physical, Epilogue::default());
        Ok(Value::Tensor(View::laid_out(tensor, dims, &order)))
    }
}
