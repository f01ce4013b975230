//! Operators on constants and shapes, done once when the model is loaded.

use super::constant::{Constant, Data, Int};
use super::translate::attributes::Attributes;

/// What an operator makes of constants; `None` where it is not one that is folded.
///
/// An input that was left out is `None`.
pub(super) fn fold(
    op: &str,
    attributes: &Attributes,
    inputs: &[Option<&Constant>],
) -> Result<Option<Constant>, String> {
    let input = |index: usize| inputs.get(index).copied().flatten();
    let need = |index: usize| input(index).ok_or_else(|| format!("its input {index} is missing"));
    Ok(Some(match op {
        "Identity" | "Dropout" => need(0)?.clone(),
        "Cast" => cast(need(0)?, attributes.int("to", 1)),
        "Unsqueeze" => {
            let x = need(0)?;
            let axes = axes(attributes, input(1))?;
            let rank = x.dims.len() + axes.len();
            let axes: Vec<_> =
                axes.iter().map(|&axis| wrap(axis, rank)).collect::<Result<_, _>>()?;
            let mut old = x.dims.iter();
            let dims = (0..rank)
                .map(|at| if axes.contains(&at) { 1 } else { old.next().copied().unwrap_or(1) });
            Constant { dims: dims.collect(), data: x.data.clone() }
        }
        "Squeeze" => {
            let x = need(0)?;
            let axes = match axes(attributes, input(1)) {
                Ok(axes) => {
                    axes.iter().map(|&axis| wrap(axis, x.dims.len())).collect::<Result<_, _>>()?
                }
                Err(_) => (0..x.dims.len()).filter(|&at| x.dims[at] == 1).collect::<Vec<_>>(),
            };
            let kept = |(at, _): &(usize, &usize)| !axes.contains(at);
            let dims = x.dims.iter().enumerate().filter(kept).map(|(_, &size)| size).collect();
            Constant { dims, data: x.data.clone() }
        }
        "Reshape" => {
            let x = need(0)?;
            let target = need(1)?.known_ints().ok_or("a constant is reshaped by the batch size")?;
            let dims = reshape_dims(&x.dims, &target, attributes.int("allowzero", 0) != 0)?;
            Constant { dims, data: x.data.clone() }
        }
        "Flatten" => {
            let x = need(0)?;
            let axis = attributes.int("axis", 1);
            let axis =
                if axis == signed(x.dims.len()) { x.dims.len() } else { wrap(axis, x.dims.len())? };
            let dims = vec![x.dims[..axis].iter().product(), x.dims[axis..].iter().product()];
            Constant { dims, data: x.data.clone() }
        }
        "Transpose" => {
            let x = need(0)?;
            let reversed = || (0..x.dims.len()).rev().collect();
            let perm = attributes
                .ints("perm")
                .map_or_else(reversed, |perm| perm.iter().map(|&p| p as usize).collect::<Vec<_>>());
            transpose(x, &perm)?
        }
        "Gather" => {
            let (x, at) = (need(0)?, need(1)?);
            gather(x, at, attributes.int("axis", 0))?
        }
        "Slice" => slice(attributes, need(0)?, &[input(1), input(2), input(3), input(4)])?,
        "Concat" => {
            let parts: Vec<_> = (0..inputs.len()).map(need).collect::<Result<_, _>>()?;
            concat(&parts, attributes.int("axis", 0))?
        }
        "ConstantOfShape" => {
            let dims = need(0)?.known_ints().ok_or("a constant is made as large as the batch")?;
            let dims: Vec<_> = dims.iter().map(|&d| d.max(0) as usize).collect();
            let count = dims.iter().product();
            match attributes.tensor("value")? {
                Some(Constant { data: Data::Ints(value), .. }) => {
                    Constant::ints(dims, vec![*value.first().ok_or("its value is empty")?; count])
                }
                Some(Constant { data: Data::Floats(value), .. }) => {
                    Constant::floats(dims, vec![*value.first().ok_or("its value is empty")?; count])
                }
                None => Constant::floats(dims, vec![0.0; count]),
            }
        }
        "Add" | "Sub" | "Mul" | "Div" | "Pow" => match arithmetic(op, need(0)?, need(1)?) {
            Some(result) => result?,
            None => return Ok(None),
        },
        "Sqrt" | "Reciprocal" | "Neg" | "Abs" | "Exp" => match need(0)?.as_floats() {
            Some(values) => {
                let function: fn(f32) -> f32 = match op {
                    "Sqrt" => f32::sqrt,
                    "Reciprocal" => f32::recip,
                    "Neg" => |x| -x,
                    "Abs" => f32::abs,
                    _ => f32::exp,
                };
                Constant::floats(
                    need(0)?.dims.clone(),
                    values.iter().copied().map(function).collect(),
                )
            }
            None => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

/// A size as ONNX writes it.
pub(super) fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Counts a negative axis from the end.
pub(super) fn wrap(axis: i64, rank: usize) -> Result<usize, String> {
    let wrapped = if axis < 0 { axis + signed(rank) } else { axis };
    match usize::try_from(wrapped) {
        Ok(at) if at < rank => Ok(at),
        _ => Err(format!("axis {axis} is none of {rank}")),
    }
}

/// Axes from the second input (opset 13 on) or the attribute (before).
pub(super) fn axes(attributes: &Attributes, input: Option<&Constant>) -> Result<Vec<i64>, String> {
    if let Some(axes) = input {
        return axes.known_ints().ok_or_else(|| "its axes are no numbers".to_owned());
    }
    attributes.ints("axes").map(<[i64]>::to_vec).ok_or_else(|| "its axes are missing".to_owned())
}

fn reshape_dims(old: &[usize], target: &[i64], zero_is_zero: bool) -> Result<Vec<usize>, String> {
    let count: usize = old.iter().product();
    let mut dims = Vec::with_capacity(target.len());
    for (at, &size) in target.iter().enumerate() {
        dims.push(match size {
            0 if !zero_is_zero => *old.get(at).ok_or("it keeps an axis that is not there")?,
            -1 => 0,
            size => usize::try_from(size).map_err(|_| format!("{size} is no size"))?,
        });
    }
    if let Some(free) = target.iter().position(|&size| size == -1) {
        let rest: usize =
            dims.iter().enumerate().filter(|&(at, _)| at != free).map(|(_, &d)| d).product();
        dims[free] = count.checked_div(rest).unwrap_or(0);
    }
    if dims.iter().product::<usize>() == count {
        Ok(dims)
    } else {
        Err(format!("{old:?} cannot become {target:?}"))
    }
}

fn cast(x: &Constant, to: i64) -> Constant {
    // FLOAT, FLOAT16, DOUBLE, BFLOAT16; whatever else there is, is whole numbers to us.
    let to_float = matches!(to, 1 | 10 | 11 | 16);
    let data = match &x.data {
        Data::Ints(ints) if to_float => {
            let known: Option<Vec<f32>> = ints
                .iter()
                .map(|int| match int {
                    Int::Is(n) => Some(*n as f32),
                    Int::Batch => None,
                })
                .collect();
            // Shapes go through floats and back in old exports; the batch stays what it is.
            known.map_or_else(|| x.data.clone(), |known| Data::Floats(known.into()))
        }
        Data::Floats(floats) if !to_float => {
            Data::Ints(floats.iter().map(|&value| Int::Is(value as i64)).collect::<Vec<_>>().into())
        }
        same => same.clone(),
    };
    Constant { dims: x.dims.clone(), data }
}

/// Takes values by index, whatever they are.
fn pick(x: &Constant, dims: Vec<usize>, indices: impl Iterator<Item = usize>) -> Constant {
    match &x.data {
        Data::Floats(data) => Constant::floats(dims, indices.map(|at| data[at]).collect()),
        Data::Ints(data) => Constant::ints(dims, indices.map(|at| data[at]).collect()),
    }
}

pub(super) fn transpose(x: &Constant, perm: &[usize]) -> Result<Constant, String> {
    let rank = x.dims.len();
    let mut seen = perm.to_vec();
    seen.sort_unstable();
    if !seen.into_iter().eq(0..rank) {
        return Err(format!("{perm:?} is no order of {rank} axes"));
    }
    let mut steps = vec![1; rank];
    for at in (0..rank.saturating_sub(1)).rev() {
        steps[at] = steps[at + 1] * x.dims[at + 1];
    }
    let dims: Vec<_> = perm.iter().map(|&axis| x.dims[axis]).collect();
    let source = |mut index: usize| {
        let mut at = 0;
        for (axis, &size) in dims.iter().enumerate().rev() {
            at += index % size * steps[perm[axis]];
            index /= size;
        }
        at
    };
    Ok(pick(x, dims.clone(), (0..x.len()).map(source)))
}

fn gather(x: &Constant, at: &Constant, axis: i64) -> Result<Constant, String> {
    let axis = wrap(axis, x.dims.len())?;
    let size = x.dims[axis];
    let wanted = at.known_ints().ok_or("its indices are no numbers")?;
    let wanted: Vec<usize> =
        wanted.iter().map(|&index| wrap(index, size)).collect::<Result<_, _>>()?;
    let outer: usize = x.dims[..axis].iter().product();
    let inner: usize = x.dims[axis + 1..].iter().product();
    let mut dims = x.dims[..axis].to_vec();
    dims.extend(&at.dims);
    dims.extend(&x.dims[axis + 1..]);
    let mut indices = Vec::with_capacity(outer * wanted.len() * inner);
    for row in 0..outer {
        for &index in &wanted {
            indices.extend((0..inner).map(|column| (row * size + index) * inner + column));
        }
    }
    Ok(pick(x, dims, indices.into_iter()))
}

/// One axis of a slice: from where, how many, how far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) axis: usize,
    pub(super) start: usize,
    pub(super) count: usize,
    pub(super) step: i64,
}

/// What a Slice takes: `starts, ends, axes, steps` are inputs 1 to 4 (attributes before opset 10). `sizes` are the sizes of
/// all axes, `None` for the batch.
pub(super) fn cuts(
    attributes: &Attributes,
    sizes: &[Option<usize>],
    inputs: &[Option<&Constant>; 4],
) -> Result<Vec<Cut>, String> {
    let list = |index: usize, name: &str| match inputs[index] {
        Some(given) => {
            given.known_ints().ok_or_else(|| format!("its {name} are no numbers")).map(Some)
        }
        None => Ok(attributes.ints(name).map(<[i64]>::to_vec)),
    };
    let starts = list(0, "starts")?.ok_or("its starts are missing")?;
    let ends = list(1, "ends")?.ok_or("its ends are missing")?;
    let axes = list(2, "axes")?.unwrap_or_else(|| (0..signed(starts.len())).collect());
    let steps = list(3, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return Err("its starts, ends, axes and steps are not as many".into());
    }
    let mut cuts = Vec::new();
    for (((start, end), axis), step) in starts.into_iter().zip(ends).zip(axes).zip(steps) {
        let axis = wrap(axis, sizes.len())?;
        if step == 0 {
            return Err("its step is 0".into());
        }
        let Some(size) = sizes[axis] else {
            // All of the batch is no cut.
            if start == 0 && end >= i64::from(i32::MAX) && step == 1 {
                continue;
            }
            return Err("it takes some images of a batch".into());
        };
        let size = signed(size);
        let clamp = |at: i64, low: i64, high: i64| {
            (if at < 0 { at.saturating_add(size) } else { at }).clamp(low, high)
        };
        let (start, count) = if step > 0 {
            let (start, end) = (clamp(start, 0, size), clamp(end, 0, size));
            (start, (end - start).max(0).unsigned_abs().div_ceil(step.unsigned_abs()))
        } else {
            let (start, end) = (clamp(start, 0, size - 1), clamp(end, -1, size - 1));
            (start, (start - end).max(0).unsigned_abs().div_ceil(step.unsigned_abs()))
        };
        cuts.push(Cut { axis, start: start as usize, count: count as usize, step });
    }
    Ok(cuts)
}

fn slice(
    attributes: &Attributes,
    x: &Constant,
    inputs: &[Option<&Constant>; 4],
) -> Result<Constant, String> {
    let sizes: Vec<_> = x.dims.iter().copied().map(Some).collect();
    let mut out = x.clone();
    for cut in cuts(attributes, &sizes, inputs)? {
        let at =
            (0..signed(cut.count)).map(|i| Int::Is(signed(cut.start) + i * cut.step)).collect();
        out = gather(&out, &Constant::ints(vec![cut.count], at), signed(cut.axis))?;
    }
    Ok(out)
}

fn concat(parts: &[&Constant], axis: i64) -> Result<Constant, String> {
    let first = parts.first().ok_or("it has no input")?;
    let axis = wrap(axis, first.dims.len())?;
    let mut dims = first.dims.clone();
    dims[axis] = parts.iter().map(|part| part.dims.get(axis).copied().unwrap_or(0)).sum();
    let outer: usize = dims[..axis].iter().product();
    let run = |part: &Constant| part.dims[axis..].iter().product::<usize>();
    if parts.iter().any(|part| part.dims.len() != dims.len() || part.len() != outer * run(part)) {
        return Err("its inputs do not fit together".into());
    }
    if let Some(floats) = parts.iter().map(|part| part.as_floats()).collect::<Option<Vec<_>>>() {
        let rows = (0..outer).flat_map(|row| {
            floats
                .iter()
                .zip(parts)
                .flat_map(move |(data, part)| data[row * run(part)..][..run(part)].iter().copied())
        });
        return Ok(Constant::floats(dims.clone(), rows.collect()));
    }
    let ints = parts
        .iter()
        .map(|part| part.as_ints())
        .collect::<Option<Vec<_>>>()
        .ok_or("floats and whole numbers mix")?;
    let rows = (0..outer).flat_map(|row| {
        ints.iter()
            .zip(parts)
            .flat_map(move |(data, part)| data[row * run(part)..][..run(part)].iter().copied())
    });
    Ok(Constant::ints(dims.clone(), rows.collect()))
}

/// Two constants, value by value, with broadcasting. `None` where the batch is in it.
fn arithmetic(op: &str, a: &Constant, b: &Constant) -> Option<Result<Constant, String>> {
    let rank = a.dims.len().max(b.dims.len());
    let padded = |dims: &[usize]| [vec![1; rank - dims.len()], dims.to_vec()].concat();
    let (wide_a, wide_b) = (padded(&a.dims), padded(&b.dims));
    let dims: Vec<_> =
        wide_a.iter().zip(&wide_b).map(|(&x, &y)| if x == 1 { y } else { x }).collect();
    if wide_a.iter().zip(&wide_b).any(|(&x, &y)| x != y && x != 1 && y != 1) {
        return Some(Err(format!("{:?} and {:?} do not fit together", a.dims, b.dims)));
    }
    let count: usize = dims.iter().product();
    let source = |wide: &[usize], mut index: usize| {
        let (mut at, mut step) = (0, 1);
        for (&own, &size) in wide.iter().zip(&dims).rev() {
            at += if own == 1 { 0 } else { index % size * step };
            index /= size;
            step *= own;
        }
        at
    };
    let pairs = (0..count).map(|index| (source(&wide_a, index), source(&wide_b, index)));
    match (&a.data, &b.data) {
        (Data::Floats(left), Data::Floats(right)) => {
            let apply: fn(f32, f32) -> f32 = match op {
                "Add" => |x, y| x + y,
                "Sub" => |x, y| x - y,
                "Mul" => |x, y| x * y,
                "Div" => |x, y| x / y,
                _ => f32::powf,
            };
            Some(Ok(Constant::floats(
                dims.clone(),
                pairs.map(|(i, j)| apply(left[i], right[j])).collect(),
            )))
        }
        (Data::Ints(left), Data::Ints(right)) => {
            let apply: fn(i64, i64) -> Option<i64> = match op {
                "Add" => i64::checked_add,
                "Sub" => i64::checked_sub,
                "Mul" => i64::checked_mul,
                "Div" => i64::checked_div,
                _ => return None,
            };
            let values: Option<Vec<Int>> = pairs
                .map(|(i, j)| match (left[i], right[j]) {
                    (Int::Is(x), Int::Is(y)) => apply(x, y).map(Int::Is),
                    (Int::Batch, Int::Is(1)) if matches!(op, "Mul" | "Div") => Some(Int::Batch),
                    (Int::Is(1), Int::Batch) if op == "Mul" => Some(Int::Batch),
                    _ => None,
                })
                .collect();
            values.map(|values| Ok(Constant::ints(dims.clone(), values)))
        }
        _ => None,
    }
}
