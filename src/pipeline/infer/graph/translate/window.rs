//! Convolutions, pools and padding.

use super::{Builder, Operator, Value};
use crate::pipeline::infer::graph::constant::Constant;
use crate::pipeline::infer::graph::fold;
use crate::pipeline::infer::graph::view::View;
use crate::pipeline::infer::graph::{Conv, Epilogue, Op, PoolKind, Window};

/// Where a window of `kernel` goes over `input`, by the attributes of Conv and of pools.
/// No picture has windows, steps or paddings beyond it; sizes that overflow would come of some.
const LARGEST: usize = 4096;

fn window(op: &Operator, input: [usize; 2], kernel: [usize; 2]) -> Result<Window, String> {
    let stride = op.attributes.pair("strides", 1)?;
    let dilation = op.attributes.pair("dilations", 1)?;
    if stride.contains(&0) || dilation.contains(&0) || kernel.contains(&0) {
        return Err("a window, step or dilation of 0".into());
    }
    if stride.iter().chain(&dilation).chain(&kernel).any(|&size| size > LARGEST) {
        return Err(format!("a window, step or dilation above {LARGEST}"));
    }
    let reach: [usize; 2] = std::array::from_fn(|axis| (kernel[axis] - 1) * dilation[axis] + 1);
    let given = match op.attributes.ints("pads") {
        None => [0; 4],
        Some(&[a, b, c, d])
            if [a, b, c, d]
                .iter()
                .all(|&pad| usize::try_from(pad).is_ok_and(|pad| pad <= LARGEST)) =>
        {
            [a, b, c, d].map(|pad| pad as usize)
        }
        Some(other) => {
            return Err(format!(
                "its pads are {other:?}, where four sizes up to {LARGEST} are taken"
            ));
        }
    };
    let (mut pad, mut pad_end) = ([given[0], given[1]], [given[2], given[3]]);
    match op.attributes.text("auto_pad").unwrap_or("NOTSET") {
        "NOTSET" => {}
        "VALID" => (pad, pad_end) = ([0; 2], [0; 2]),
        same @ ("SAME_UPPER" | "SAME_LOWER") => {
            for axis in 0..2 {
                let steps = input[axis].div_ceil(stride[axis]);
                let total =
                    ((steps.max(1) - 1) * stride[axis] + reach[axis]).saturating_sub(input[axis]);
                let less = total / 2;
                let upper = same == "SAME_UPPER";
                pad[axis] = if upper { less } else { total - less };
                pad_end[axis] = total - pad[axis];
            }
        }
        other => return Err(format!("its auto_pad `{other}` is not known")),
    }
    let ceil = op.attributes.int("ceil_mode", 0) != 0;
    let mut output = [0; 2];
    for axis in 0..2 {
        let room = (input[axis] + pad[axis] + pad_end[axis]).checked_sub(reach[axis]).ok_or_else(
            || format!("its window of {} is larger than its input of {}", reach[axis], input[axis]),
        )?;
        output[axis] = if ceil { room.div_ceil(stride[axis]) } else { room / stride[axis] } + 1;
        // A last window that begins in the padding at the end is left out.
        if ceil && (output[axis] - 1) * stride[axis] >= input[axis] + pad[axis] {
            output[axis] -= 1;
        }
    }
    Ok(Window { input, output, kernel, stride, dilation, pad, pad_end })
}

impl Builder {
    pub(super) fn conv(&mut self, op: &Operator) -> Result<Value, String> {
        let (x, [channels, height, width]) = self.image(op.tensor(0)?)?;
        let weight = op.constant(1)?;
        let &[outputs, per_group, rows, columns] = weight.dims.as_slice() else {
            return Err(format!(
                "its weights are {:?}, where images (4 axes) are taken",
                weight.dims
            ));
        };
        if let Some(shape) = op.attributes.ints("kernel_shape")
            && !shape.iter().map(|&size| usize::try_from(size).ok()).eq([Some(rows), Some(columns)])
        {
            return Err(format!(
                "its kernel_shape is {shape:?}, but its weights are {rows}×{columns}"
            ));
        }
        let groups = usize::try_from(op.attributes.int("group", 1)).unwrap_or(0);
        if groups == 0 || per_group * groups != channels || outputs % groups != 0 {
            return Err(format!(
                "{channels} channels in {groups} groups do not fit weights of {:?}",
                weight.dims
            ));
        }
        let window = window(op, [height, width], [rows, columns])?;
        let Constant { dims, .. } = weight;
        let moved = fold::transpose(
            &Constant { dims: dims.clone(), data: weight.data.clone() },
            &[0, 2, 3, 1],
        )?;
        let floats = moved.as_floats().ok_or("its weights are not of floats")?.to_vec();
        let weight = self.add_weight(moved.dims.clone(), floats);
        let bias = self.bias(op, 2, outputs)?;
        let conv = Conv { window, inputs: channels, outputs, groups, weight };
        let [oh, ow] = window.output;
        let epilogue = Epilogue { bias, ..Epilogue::default() };
        let tensor = self.push(Op::Conv(conv), vec![x.tensor], vec![oh, ow, outputs], epilogue);
        Ok(Value::Tensor(View::image(tensor, [outputs, oh, ow])))
    }

    /// The bias in input `index`, one value a channel, where there is one.
    pub(super) fn bias(
        &mut self,
        op: &Operator,
        index: usize,
        channels: usize,
    ) -> Result<Option<super::WeightId>, String> {
        if op.maybe_constant(index)?.is_none() {
            return Ok(None);
        }
        let bias = op.floats(index)?;
        if bias.len() != channels {
            return Err(format!("its bias has {} values for {channels} channels", bias.len()));
        }
        let bias = bias.to_vec();
        Ok(Some(self.add_weight(vec![channels], bias)))
    }

    pub(super) fn pool(&mut self, op: &Operator) -> Result<Value, String> {
        let (x, [channels, height, width]) = self.image(op.tensor(0)?)?;
        if op.kind == "MaxPool" && op.proto.output.get(1).is_some_and(|name| !name.is_empty()) {
            return Err("its second output, the places of the maxima, is not made".into());
        }
        let kernel = if op.kind == "GlobalMaxPool" {
            [height, width]
        } else {
            op.attributes.ints("kernel_shape").ok_or("its kernel_shape is missing")?;
            op.attributes.pair("kernel_shape", 1)?
        };
        let window = window(op, [height, width], kernel)?;
        if (0..2).any(|axis| window.pad[axis].max(window.pad_end[axis]) >= window.kernel[axis]) {
            return Err("its padding is as large as its window, which then may hold nothing".into());
        }
        let kind = if op.kind == "AveragePool" {
            PoolKind::Average { count_padding: op.attributes.int("count_include_pad", 0) != 0 }
        } else {
            PoolKind::Max
        };
        let [oh, ow] = window.output;
        let pool = Op::Pool { kind, window, channels };
        let tensor = self.push(pool, vec![x.tensor], vec![oh, ow, channels], Epilogue::default());
        Ok(Value::Tensor(View::image(tensor, [channels, oh, ow])))
    }

    pub(super) fn pad(&mut self, op: &Operator) -> Result<Value, String> {
        let view = op.tensor(0)?;
        match op.attributes.text("mode").unwrap_or("constant") {
            "constant" => {}
            other => return Err(format!("its mode is `{other}`; constant is taken")),
        }
        let pads = match op.maybe_constant(1)? {
            Some(given) => given.known_ints().ok_or("its pads are no numbers")?,
            None => op.attributes.ints("pads").ok_or("its pads are missing")?.to_vec(),
        };
        if op.maybe_constant(3)?.is_some() {
            return Err("its axes are named one by one; export it at an opset below 18".into());
        }
        let value = match op.maybe_constant(2)? {
            Some(given) => given.scalar().ok_or("its value is not one number")?,
            None => op.attributes.float("value", 0.0),
        };
        if pads.iter().all(|&pad| pad == 0) {
            return Ok(Value::Tensor(view.clone()));
        }
        let &[0, 0, top, left, 0, 0, bottom, right] = pads.as_slice() else {
            return Err(format!("its pads are {pads:?}; rows and columns of images are padded"));
        };
        let size = |pad: i64| match usize::try_from(pad) {
            Ok(size) if size <= LARGEST => Ok(size),
            Ok(size) => Err(format!("it pads by {size}, where {LARGEST} are the limit")),
            Err(_) => Err("its pads cut something off".to_owned()),
        };
        let (before, after) = ([size(top)?, size(left)?], [size(bottom)?, size(right)?]);
        let (x, [channels, height, width]) = self.image(view)?;
        let (oh, ow) = (height + before[0] + after[0], width + before[1] + after[1]);
        let pad = Op::Pad { input: [height, width], channels, before, after, value };
        let tensor = self.push(pad, vec![x.tensor], vec![oh, ow, channels], Epilogue::default());
        Ok(Value::Tensor(View::image(tensor, [channels, oh, ow])))
    }
}
