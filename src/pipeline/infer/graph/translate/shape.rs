//! Operators that move values or only name them anew.

use super::{Builder, Operator, Value};
use crate::pipeline::infer::graph::constant::{Constant, Int};
use crate::pipeline::infer::graph::fold::{self, axes, wrap};
use crate::pipeline::infer::graph::view::View;
use crate::pipeline::infer::graph::{Epilogue, Op};

impl Builder {
    pub(super) fn shape(op: &Operator) -> Result<Constant, String> {
        let x = op.tensor(0)?;
        let sizes = x.dims.iter().map(|&size| Int::Is(fold::signed(size)));
        let all: Vec<_> = std::iter::once(Int::Batch).chain(sizes).collect();
        let rank = fold::signed(all.len());
        let at = |axis: i64| (if axis < 0 { axis + rank } else { axis }).clamp(0, rank) as usize;
        let (start, end) = (at(op.attributes.int("start", 0)), at(op.attributes.int("end", rank)));
        let part = all.get(start..end.max(start)).unwrap_or_default().to_vec();
        Ok(Constant::ints(vec![part.len()], part))
    }

    pub(super) fn reshape(&mut self, op: &Operator) -> Result<Value, String> {
        let x = op.tensor(0)?.clone();
        let target = op.constant(1)?.as_ints().ok_or("its shape is not of whole numbers")?;
        let zero_keeps = op.attributes.int("allowzero", 0) == 0;
        let old = |at: usize| match at {
            0 => Some(Int::Batch),
            _ => x.dims.get(at - 1).map(|&size| Int::Is(fold::signed(size))),
        };
        let target: Vec<Int> = target
            .iter()
            .enumerate()
            .map(|(at, &int)| match int {
                Int::Is(0) if zero_keeps => old(at).ok_or("it keeps an axis that is not there"),
                int => Ok(int),
            })
            .collect::<Result<_, _>>()?;
        let Some((first, rest)) = target.split_first() else {
            return Err("it makes one number of a batch".into());
        };
        let count = x.len();
        let product = |sizes: &[Int]| {
            sizes.iter().try_fold(1_usize, |product, size| match size {
                Int::Is(-1) => Some(product),
                Int::Is(n) => product.checked_mul(usize::try_from(*n).ok()?),
                Int::Batch => None,
            })
        };
        let mixes = || format!("{target:?} would mix images of a batch");
        let known = product(rest).ok_or_else(mixes)?;
        let free = rest.iter().position(|size| *size == Int::Is(-1));
        // A first size of 1 comes from an export for one image; every image of a batch is then done as that one.
        let batch_first =
            matches!(first, Int::Batch | Int::Is(1)) || (*first == Int::Is(-1) && known == count);
        let fits = match free {
            Some(_) => known > 0 && count % known == 0,
            None => known == count,
        };
        if !batch_first || !fits {
            return Err(mixes());
        }
        let dims: Vec<usize> = rest
            .iter()
            .map(|size| match size {
                Int::Is(n) if *n > 0 => *n as usize,
                _ => count / known,
            })
            .collect();
        Ok(Value::Tensor(self.with_dims(&x, &dims)))
    }

    /// The same values in ONNX's order under other sizes.
    fn with_dims(&mut self, x: &View, dims: &[usize]) -> View {
        if let Some(view) = x.reshaped(dims) {
            return view;
        }
        // Rows and columns that stay go outermost, so that what comes of the rest is an image again: the shuffle
        // of channels in groups.
        let rank = x.dims.len();
        if dims.len() == 3 && rank > 3 && x.dims[rank - 2..] == dims[1..] {
            let order: Vec<_> = [rank - 2, rank - 1].into_iter().chain(0..rank - 2).collect();
            if let Some(view) = self.laid(x, &order).reshaped(dims) {
                return view;
            }
        }
        let plain = self.plain(x);
        View::plain(plain.tensor, dims.to_vec())
    }

    pub(super) fn flatten(&mut self, op: &Operator) -> Result<Value, String> {
        let x = op.tensor(0)?.clone();
        let axis = wrap(op.attributes.int("axis", 1), x.dims.len() + 2)?;
        if axis != 1 {
            return Err(format!("its axis is {axis}; 1 keeps images apart"));
        }
        Ok(Value::Tensor(self.with_dims(&x, &[x.len()])))
    }

    pub(super) fn transpose(op: &Operator) -> Result<Value, String> {
        let x = op.tensor(0)?;
        let perm =
            op.attributes.ints("perm").ok_or("it reverses all axes, the batch among them")?;
        let axes: Vec<usize> = perm.iter().skip(1).map(|&axis| axis as usize).collect();
        let mut sorted = axes.clone();
        sorted.sort_unstable();
        if perm.first() != Some(&0) || !sorted.into_iter().eq(1..=x.dims.len()) {
            return Err(format!(
                "its order {perm:?} moves the batch, or is none of {} axes",
                x.dims.len() + 1
            ));
        }
        let perm: Vec<_> = axes.iter().map(|axis| axis - 1).collect();
        Ok(Value::Tensor(x.permuted(&perm)))
    }

    pub(super) fn squeeze(op: &Operator) -> Result<Value, String> {
        let x = op.tensor(0)?;
        let rank = x.dims.len() + 1;
        let gone = match (op.maybe_constant(1)?, op.attributes.ints("axes")) {
            (None, None) => (1..rank).filter(|&at| x.dims[at - 1] == 1).collect(),
            (given, _) => {
                let given = axes(&op.attributes, given)?;
                given.iter().map(|&axis| wrap(axis, rank)).collect::<Result<Vec<_>, _>>()?
            }
        };
        if gone.iter().any(|&at| at == 0 || x.dims[at - 1] != 1) {
            return Err(format!(
                "it drops axes {gone:?} of N×{:?}, which are not all of size 1",
                x.dims
            ));
        }
        let kept: Vec<_> =
            (1..rank).filter(|at| !gone.contains(at)).map(|at| x.dims[at - 1]).collect();
        x.reshaped(&kept).map(Value::Tensor).ok_or_else(|| "its input cannot be read so".into())
    }

    pub(super) fn unsqueeze(op: &Operator) -> Result<Value, String> {
        let x = op.tensor(0)?;
        let given = axes(&op.attributes, op.maybe_constant(1)?)?;
        let rank = x.dims.len() + 1 + given.len();
        let new = given.iter().map(|&axis| wrap(axis, rank)).collect::<Result<Vec<_>, _>>()?;
        if new.contains(&0) {
            return Err("it puts an axis before the batch".into());
        }
        let mut old = x.dims.iter();
        let dims: Vec<_> = (1..rank)
            .map(|at| if new.contains(&at) { 1 } else { old.next().copied().unwrap_or(1) })
            .collect();
        x.reshaped(&dims).map(Value::Tensor).ok_or_else(|| "its input cannot be read so".into())
    }

    pub(super) fn concat(&mut self, op: &Operator) -> Result<Value, String> {
        let first = op.tensor(0)?.clone();
        let rank = first.dims.len() + 1;
        let axis = wrap(op.attributes.int("axis", 0), rank)?;
        let axis = axis.checked_sub(1).ok_or("it joins images to a larger batch")?;
        let order = first.order();
        let place = order.iter().position(|&at| at == axis).unwrap_or(0);
        let outer: usize = order[..place].iter().map(|&at| first.dims[at]).product();
        let (mut inputs, mut lens, mut total) = (Vec::new(), Vec::new(), 0);
        for index in 0..op.inputs.len() {
            let view = op.tensor(index)?.clone();
            let alike = |at: usize| at == axis || view.dims.get(at) == Some(&first.dims[at]);
            if view.dims.len() + 1 != rank || !(0..rank - 1).all(alike) {
                return Err(format!("N×{:?} does not fit to N×{:?}", view.dims, first.dims));
            }
            let view = self.laid(&view, &order);
            total += view.dims[axis];
            lens.push(order[place..].iter().map(|&at| view.dims[at]).product());
            inputs.push(view.tensor);
        }
        let mut dims = first.dims;
        dims[axis] = total;
        let physical = order.iter().map(|&at| dims[at]).collect();
        let tensor = self.push(Op::Concat { outer, lens }, inputs, physical, Epilogue::default());
        Ok(Value::Tensor(View::laid_out(tensor, dims, &order)))
    }

    /// From `x` the places `start .. start + count` along one axis.
    fn cut(&mut self, x: &View, axis: usize, start: usize, count: usize) -> View {
        if count == x.dims[axis] {
            return x.clone();
        }
        let order = x.order();
        let x = self.laid(x, &order);
        let place = order.iter().position(|&at| at == axis).unwrap_or(0);
        let inner: usize = order[place + 1..].iter().map(|&at| x.dims[at]).product();
        let outer = order[..place].iter().map(|&at| x.dims[at]).product();
        let op = Op::Slice {
            outer,
            len: x.dims[axis] * inner,
            start: start * inner,
            count: count * inner,
        };
        let mut dims = x.dims.clone();
        dims[axis] = count;
        let physical = order.iter().map(|&at| dims[at]).collect();
        let tensor = self.push(op, vec![x.tensor], physical, Epilogue::default());
        View::laid_out(tensor, dims, &order)
    }

    pub(super) fn slice(&mut self, op: &Operator) -> Result<Value, String> {
        let mut x = op.tensor(0)?.clone();
        let sizes: Vec<_> = std::iter::once(None).chain(x.dims.iter().copied().map(Some)).collect();
        let given = [
            op.maybe_constant(1)?,
            op.maybe_constant(2)?,
            op.maybe_constant(3)?,
            op.maybe_constant(4)?,
        ];
        for cut in fold::cuts(&op.attributes, &sizes, &given)? {
            if cut.step != 1 || cut.count == 0 {
                return Err(format!(
                    "it takes {} places at steps of {}; steps of 1 are taken",
                    cut.count, cut.step
                ));
            }
            x = self.cut(&x, cut.axis - 1, cut.start, cut.count);
        }
        Ok(Value::Tensor(x))
    }

    pub(super) fn gather(&mut self, op: &Operator) -> Result<Value, String> {
        let x = op.tensor(0)?.clone();
        let axis = wrap(op.attributes.int("axis", 0), x.dims.len() + 1)?;
        let axis = axis.checked_sub(1).ok_or("it takes some images of a batch")?;
        let at = op.constant(1)?;
        let index = match at.known_ints().as_deref() {
            Some(&[one]) if at.dims.is_empty() => wrap(one, x.dims[axis])?,
            _ => return Err("it takes several places, where one is taken".into()),
        };
        let cut = self.cut(&x, axis, index, 1);
        let mut dims = cut.dims.clone();
        dims.remove(axis);
        cut.reshaped(&dims).map(Value::Tensor).ok_or_else(|| "its input cannot be read so".into())
    }

    pub(super) fn split(&mut self, op: &Operator) -> Result<(), String> {
        let x = op.tensor(0)?.clone();
        let axis = wrap(op.attributes.int("axis", 0), x.dims.len() + 1)?;
        let axis = axis.checked_sub(1).ok_or("it takes a batch apart")?;
        let size = x.dims[axis];
        let outputs = op.proto.output.len();
        let counts: Vec<usize> = match (op.maybe_constant(1)?, op.attributes.ints("split")) {
            (Some(given), _) => {
                let given = given.known_ints().ok_or("its sizes are no numbers")?;
                given.iter().map(|&count| count.max(0) as usize).collect()
            }
            (None, Some(given)) => given.iter().map(|&count| count.max(0) as usize).collect(),
            (None, None) => {
                let each = size.div_ceil(outputs.max(1));
                (0..outputs).map(|index| each.min(size.saturating_sub(index * each))).collect()
            }
        };
        if counts.len() != outputs || counts.iter().sum::<usize>() != size || counts.contains(&0) {
            return Err(format!("it splits {size} places into {counts:?} for {outputs} outputs"));
        }
        let mut start = 0;
        for (index, count) in counts.into_iter().enumerate() {
            let part = self.cut(&x, axis, start, count);
            self.set(op.proto, index, Value::Tensor(part))?;
            start += count;
        }
        Ok(())
    }
}
