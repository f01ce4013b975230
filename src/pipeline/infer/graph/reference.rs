//! A graph computed in plain loops, each operation as its definition says: what engines and passes are checked against.

use super::{
    Activation, BinaryOp, Broadcast, Conv, Graph, Linear, Node, Op, PoolKind, TensorId, Window,
};

/// The logits of one image; `picture` is `[side, side, 3]`.
pub(crate) fn run(graph: &Graph, picture: &[f32]) -> Vec<f32> {
    let mut values: Vec<Vec<f32>> = vec![Vec::new(); graph.tensors.len()];
    values[graph.input.0] = picture.to_vec();
    for node in &graph.nodes {
        let inputs: Vec<&[f32]> = node.inputs.iter().map(|id| values[id.0].as_slice()).collect();
        let mut out = compute(graph, node, &inputs);
        finish(graph, node, &mut out, &values);
        assert_eq!(out.len(), graph.tensor(node.output).len(), "{}", node.name);
        values[node.output.0] = out;
    }
    values[graph.output.0].clone()
}

fn finish(graph: &Graph, node: &Node, out: &mut [f32], values: &[Vec<f32>]) {
    if let Some(bias) = node.epilogue.bias {
        let bias = &graph.weight(bias).data;
        for row in out.chunks_exact_mut(bias.len()) {
            row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
        }
    }
    if let Some(TensorId(residual)) = node.epilogue.residual {
        assert_eq!(values[residual].len(), out.len(), "{}", node.name);
        out.iter_mut().zip(&values[residual]).for_each(|(value, other)| *value += other);
    }
    for value in out {
        *value = activate(node.epilogue.activation, *value);
    }
}

/// An activation by its definition.
pub(crate) fn activate(activation: Activation, x: f32) -> f32 {
    let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
    match activation {
        Activation::None => x,
        Activation::Relu => x.max(0.0),
        Activation::Clip { min, max } => x.max(min).min(max),
        Activation::LeakyRelu { slope } => {
            if x < 0.0 {
                slope * x
            } else {
                x
            }
        }
        Activation::Sigmoid => sigmoid(x),
        Activation::HardSigmoid { slope, shift } => (slope * x + shift).clamp(0.0, 1.0),
        Activation::Silu => x * sigmoid(x),
        Activation::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        Activation::Gelu => {
            (f64::from(x) / 2.0 * (1.0 + erf(f64::from(x) / 2.0_f64.sqrt()))) as f32
        }
        Activation::Tanh => x.tanh(),
    }
}

/// The error function by its series at 0, which is exact enough below 4.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

fn compute(graph: &Graph, node: &Node, inputs: &[&[f32]]) -> Vec<f32> {
    let x = inputs[0];
    match &node.op {
        Op::Conv(conv) => convolve(conv, x, &graph.weight(conv.weight).data),
        Op::Linear(Linear { inputs, weight, .. }) => {
            let rows = x.chunks_exact(*inputs);
            let filters = || graph.weight(*weight).data.chunks_exact(*inputs);
            rows.flat_map(|row| {
                filters().map(move |filter| row.iter().zip(filter).map(|(a, b)| a * b).sum())
            })
            .collect()
        }
        Op::Pool { kind, window, channels } => pool(*kind, window, *channels, x),
        Op::GlobalAverage { positions, channels } => (0..*channels)
            .map(|c| x.iter().skip(c).step_by(*channels).sum::<f32>() / *positions as f32)
            .collect(),
        Op::Binary { op, broadcast, swapped } => {
            let other = inputs[1];
            let at = |index: usize| match broadcast {
                Broadcast::Same => other[index],
                Broadcast::Channels => other[index % other.len()],
            };
            let pair =
                |index: usize, x: f32| if *swapped { (at(index), x) } else { (x, at(index)) };
            let value = |(index, &x): (usize, &f32)| {
                let (a, b) = pair(index, x);
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    BinaryOp::Div => a / b,
                }
            };
            x.iter().enumerate().map(value).collect()
        }
        Op::Affine { channels, scale, shift } => {
            let (scale, shift) = (&graph.weight(*scale).data, &graph.weight(*shift).data);
            x.iter()
                .enumerate()
                .map(|(at, x)| x * scale[at % channels] + shift[at % channels])
                .collect()
        }
        Op::Activate => x.to_vec(),
        Op::Lrn { channels, size, alpha, beta, bias } => {
            let value = |(at, &value): (usize, &f32)| {
                let (row, c) = (at - at % channels, at % channels);
                let from = c.saturating_sub((size - 1) / 2);
                let to = (c + size / 2).min(channels - 1);
                let sum: f32 = x[row + from..=row + to].iter().map(|value| value * value).sum();
                value / (bias + alpha / *size as f32 * sum).powf(*beta)
            };
            x.iter().enumerate().map(value).collect()
        }
        Op::Pad { input: [h, w], channels, before, after, value } => {
            let (height, width) = (h + before[0] + after[0], w + before[1] + after[1]);
            let mut out = vec![*value; height * width * channels];
            for row in 0..*h {
                let to = ((row + before[0]) * width + before[1]) * channels;
                out[to..to + w * channels]
                    .copy_from_slice(&x[row * w * channels..][..w * channels]);
            }
            out
        }
        Op::Softmax { len, .. } => {
            let soft = |row: &[f32]| {
                let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let powers: Vec<f32> = row.iter().map(|x| (x - max).exp()).collect();
                let sum: f32 = powers.iter().sum();
                powers.into_iter().map(move |power| power / sum)
            };
            x.chunks_exact(*len).flat_map(soft).collect()
        }
        Op::LayerNorm { len, epsilon, scale, shift, .. } => {
            let (scale, shift) = (&graph.weight(*scale).data, &graph.weight(*shift).data);
            let norm = |row: &[f32]| {
                let mean = row.iter().sum::<f32>() / *len as f32;
                let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / *len as f32;
                let root = (variance + epsilon).sqrt();
                row.iter()
                    .zip(scale)
                    .zip(shift)
                    .map(|((x, s), t)| (x - mean) / root * s + t)
                    .collect::<Vec<_>>()
            };
            x.chunks_exact(*len).flat_map(norm).collect()
        }
        _ => rearrange(&node.op, inputs),
    }
}

fn rearrange(op: &Op, inputs: &[&[f32]]) -> Vec<f32> {
    let x = inputs[0];
    match op {
        Op::Transpose { dims, perm } => {
            let out: Vec<usize> = perm.iter().map(|&axis| dims[axis]).collect();
            let source = |index: usize| {
                let mut left = index;
                let mut places = vec![0; dims.len()];
                for (at, &size) in out.iter().enumerate().rev() {
                    places[perm[at]] = left % size;
                    left /= size;
                }
                dims.iter().zip(&places).fold(0, |at, (size, place)| at * size + place)
            };
            (0..x.len()).map(|index| x[source(index)]).collect()
        }
        Op::Concat { outer, lens } => (0..*outer)
            .flat_map(|row| {
                inputs
                    .iter()
                    .zip(lens)
                    .flat_map(move |(input, len)| input[row * len..][..*len].to_vec())
            })
            .collect(),
        Op::Slice { len, start, count, .. } => {
            x.chunks_exact(*len).flat_map(|row| row[*start..][..*count].to_vec()).collect()
        }
        _ => unreachable!("computed above"),
    }
}

/// Calls `each` with the input's row and column for every place of the window at (row, column) that is within the input.
fn places(
    window: &Window,
    row: usize,
    column: usize,
    mut each: impl FnMut([usize; 2], [usize; 2]),
) {
    for k in 0..window.kernel[0] {
        for l in 0..window.kernel[1] {
            let y = (row * window.stride[0] + k * window.dilation[0]).checked_sub(window.pad[0]);
            let x = (column * window.stride[1] + l * window.dilation[1]).checked_sub(window.pad[1]);
            if let (Some(y), Some(x)) = (y, x)
                && y < window.input[0]
                && x < window.input[1]
            {
                each([k, l], [y, x]);
            }
        }
    }
}

fn convolve(conv: &Conv, x: &[f32], weights: &[f32]) -> Vec<f32> {
    let Conv { window, inputs, outputs, groups, .. } = conv;
    let (ins, outs) = (inputs / groups, outputs / groups);
    let mut out = Vec::new();
    for row in 0..window.output[0] {
        for column in 0..window.output[1] {
            for o in 0..*outputs {
                let group = o / outs;
                let mut sum = 0.0;
                places(window, row, column, |[k, l], [y, z]| {
                    let filter = ((o * window.kernel[0] + k) * window.kernel[1] + l) * ins;
                    let pixel = (y * window.input[1] + z) * inputs + group * ins;
                    for i in 0..ins {
                        sum += x[pixel + i] * weights[filter + i];
                    }
                });
                out.push(sum);
            }
        }
    }
    out
}

fn pool(kind: PoolKind, window: &Window, channels: usize, x: &[f32]) -> Vec<f32> {
    let mut out = Vec::new();
    for row in 0..window.output[0] {
        for column in 0..window.output[1] {
            for c in 0..channels {
                let (mut max, mut sum, mut count) = (f32::NEG_INFINITY, 0.0, 0);
                places(window, row, column, |_, [y, z]| {
                    let value = x[(y * window.input[1] + z) * channels + c];
                    max = max.max(value);
                    sum += value;
                    count += 1;
                });
                out.push(match kind {
                    PoolKind::Max => max,
                    PoolKind::Average { count_padding: false } => sum / count as f32,
                    PoolKind::Average { count_padding: true } => {
                        let within = |axis: usize, at: usize| {
                            let padded =
                                window.input[axis] + window.pad[axis] + window.pad_end[axis];
                            (0..window.kernel[axis])
                                .filter(|k| {
                                    at * window.stride[axis] + k * window.dilation[axis] < padded
                                })
                                .count()
                        };
                        sum / (within(0, row) * within(1, column)) as f32
                    }
                });
            }
        }
    }
    out
}
