//! From layers to launches, for a batch of n images.

use super::launch::{Launch, Number, Place};
use super::layers::{Act, Conv, Layer, Model, Precision, Source};
use super::tiles::Cut;
use crate::pipeline::infer::graph::{BinaryOp, Broadcast, Node, Op, PoolKind, Window};

/// Axes that the transposing kernel takes.
const AXES: usize = 6;

macro_rules! numbers {
    ($($value:expr),* $(,)?) => { vec![$(Number::from($value)),*] };
}

/// The launch that brings the uploaded pictures into the device's form.
pub(super) fn normalise(model: &Model, n: usize) -> Launch {
    let input = &model.input;
    let pixels = n * input.side * input.width;
    let mut numbers = numbers![pixels, input.side, input.width, input.channels];
    numbers.extend(input.mean.map(Number::from));
    numbers.extend(input.scale.map(Number::from));
    let to = if input.channels == 4 { Place::Input } else { model.place(model.pictures, n) };
    let places = vec![to, Place::Pictures];
    if input.channels == 4 && input.width == input.side && input.side.is_multiple_of(4) {
        return Launch::over("normalise_by4", pixels / 4, places, numbers);
    }
    Launch::over("normalise", pixels, places, numbers)
}

/// The launch that makes floats of the logits, where the last layer did not.
pub(super) fn logits(model: &Model, n: usize) -> Option<Launch> {
    if model.layers.iter().any(|layer| model.writes_logits(layer)) {
        return None;
    }
    let count = n * model.classes;
    let places = vec![Place::Logits, model.place(model.output, n)];
    Some(Launch::over("to_floats", count, places, numbers![count]))
}

/// A layer's launches; `cut` is for convolutions on tensor cores.
pub(super) fn layer(model: &Model, layer: &Layer, n: usize, cut: Option<Cut>) -> Vec<Launch> {
    match layer {
        Layer::Conv(conv) if conv.depthwise => vec![depthwise(model, conv, n)],
        Layer::Conv(conv) => vec![convolve(model, conv, n, cut, model.writes_logits(layer))],
        Layer::Plain(node, constants) => Plain { model, node, n }.launches(*constants),
    }
}

fn source(model: &Model, conv: &Conv, n: usize) -> Place {
    match conv.source {
        Source::Pictures => Place::Input,
        Source::Tensor(id) => model.place(id, n),
    }
}

/// The places of a convolution: output, input, weights, bias, residual.
pub(super) fn operands(model: &Model, conv: &Conv, n: usize, floats: bool) -> [Place; 5] {
    [
        if floats { Place::Logits } else { model.place(conv.output, n) },
        source(model, conv, n),
        Place::Weights(conv.weights),
        conv.bias.map_or(Place::Null, Place::Weights),
        conv.residual.map_or(Place::Null, |id| model.place(id, n)),
    ]
}

fn convolve(model: &Model, conv: &Conv, n: usize, cut: Option<Cut>, floats: bool) -> Launch {
    let product = conv.product(n);
    let (kernel, rows, columns, threads, shared, splits) = match cut {
        Some(Cut { tile, splits }) => {
            (tile.kernel, tile.rows, tile.columns, tile.threads, tile.shared(), splits)
        }
        None => ("sgemm", 64, 64, 256, 0, 1),
    };
    let tiles = product.columns.div_ceil(columns);
    let blocks = product.rows.div_ceil(rows) * tiles;
    let mut places = operands(model, conv, n, floats).to_vec();
    places.extend([Place::Partial, Place::Counters]);
    let Act { kind, a, b } = conv.act;
    let numbers = numbers![
        product.rows,
        conv.input[0],
        conv.input[1],
        conv.channels,
        conv.outputs,
        conv.size[0],
        conv.size[1],
        conv.kernel[0],
        conv.kernel[1],
        conv.stride[0],
        conv.stride[1],
        conv.dilation[0],
        conv.dilation[1],
        conv.pad[0],
        conv.pad[1],
        conv.pitch,
        conv.outputs * conv.groups,
        conv.row,
        tiles,
        splits,
        kind,
        a,
        b,
        usize::from(floats),
    ];
    let grid = [blocks, splits, conv.groups].map(|size| size as u32);
    Launch { kernel, grid, threads, shared: shared as u32, places, numbers }
}

fn depthwise(model: &Model, conv: &Conv, n: usize) -> Launch {
    let [rows, columns] = conv.size;
    let square = conv.kernel[0] == conv.kernel[1] && conv.stride[0] == conv.stride[1];
    let whole = conv.channels.is_multiple_of(8);
    // Outputs a thread, as in `kernels/ops.cu`.
    let (kernel, wide) = match (conv.kernel[0], conv.stride[0]) {
        (3, 1) => ("depthwise_3_1", 4),
        (3, 2) => ("depthwise_3_2", 2),
        (5, 1) => ("depthwise_5_1", 4),
        (5, 2) => ("depthwise_5_2", 2),
        (7, 1) => ("depthwise_7_1", 4),
        _ => ("depthwise_8", 1),
    };
    let (kernel, wide) = match (whole, square && conv.dilation == [1, 1]) {
        (true, true) => (kernel, wide),
        (true, false) => ("depthwise_8", 1),
        (false, _) => ("depthwise_1", 1),
    };
    let groups = columns.div_ceil(wide);
    let count = n * rows * groups * (conv.channels / if whole { 8 } else { 1 });
    let Act { kind, a, b } = conv.act;
    let numbers = numbers![
        count,
        conv.input[0],
        conv.input[1],
        conv.channels,
        rows,
        columns,
        conv.kernel[0],
        conv.kernel[1],
        conv.stride[0],
        conv.stride[1],
        conv.dilation[0],
        conv.dilation[1],
        conv.pad[0],
        conv.pad[1],
        groups,
        kind,
        a,
        b,
    ];
    Launch::over(kernel, count, operands(model, conv, n, false).to_vec(), numbers)
}

/// A node with a kernel of its own.
struct Plain<'a> {
    model: &'a Model,
    node: &'a Node,
    n: usize,
}

impl Plain<'_> {
    fn input(&self, index: usize) -> Place {
        self.model.place(self.node.inputs[index], self.n)
    }

    fn output(&self) -> Place {
        self.model.place(self.node.output, self.n)
    }

    /// Values of the output, of all images.
    fn values(&self) -> usize {
        self.n * self.model.lens[self.node.output.0]
    }

    fn act(&self) -> Act {
        Act::new(self.node.epilogue.activation, self.model.precision)
    }

    fn launches(&self, constants: Option<[usize; 2]>) -> Vec<Launch> {
        let (n, y, x) = (self.n, self.output(), self.input(0));
        let count = self.values();
        let one = match &self.node.op {
            Op::Conv(_) | Op::Linear(_) => unreachable!("these are layers of their own"),
            Op::Pool { kind, window, channels } => self.pool(*kind, window, *channels),
            Op::GlobalAverage { positions, channels } => {
                let (kernel, vector) = by_eight("mean_8", "mean_1", *channels);
                let blocks = (channels / vector).div_ceil(32);
                let numbers = numbers![*positions, *channels];
                Launch {
                    grid: [blocks as u32, n as u32, 1],
                    ..Launch::over(kernel, 256, vec![y, x], numbers)
                }
            }
            Op::Binary { op, broadcast, swapped } => self.binary(*op, *broadcast, *swapped),
            Op::Affine { channels, .. } => self.affine(*channels, constants),
            Op::Activate => self.affine(self.model.lens[self.node.output.0], None),
            Op::Lrn { channels, size, alpha, beta, bias } => {
                let numbers = numbers![count, *channels, *size, alpha / *size as f32, *beta, *bias];
                Launch::over("lrn", count, vec![y, x], numbers)
            }
            Op::Pad { input, channels, before, after, value } => {
                let numbers = numbers![
                    count,
                    input[0],
                    input[1],
                    *channels,
                    before[0],
                    before[1],
                    input[0] + before[0] + after[0],
                    input[1] + before[1] + after[1],
                    *value,
                ];
                Launch::over("pad", count, vec![y, x], numbers)
            }
            Op::Softmax { rows, len } => self.rows("softmax", *rows, *len, 0.0, [Place::Null; 2]),
            Op::LayerNorm { rows, len, epsilon, .. } => {
                let constants = constants.expect("packed with its constants").map(Place::Weights);
                self.rows("layer_norm", *rows, *len, *epsilon, constants)
            }
            Op::Transpose { dims, perm } => self.transpose(dims, perm),
            Op::Concat { outer, lens } => return self.concat(*outer, lens),
            Op::Slice { outer, len, start, count } => {
                copy(n * outer, *count, (x, *len, *start), (y, *count, 0))
            }
        };
        vec![one]
    }

    fn pool(&self, kind: PoolKind, window: &Window, channels: usize) -> Launch {
        let (kernel, vector) = by_eight("pool_8", "pool_1", channels);
        let count = self.values() / vector;
        let mode = match kind {
            PoolKind::Max => 0_usize,
            PoolKind::Average { count_padding: false } => 1,
            PoolKind::Average { count_padding: true } => 2,
        };
        let numbers = numbers![
            count,
            window.input[0],
            window.input[1],
            channels,
            window.output[0],
            window.output[1],
            window.kernel[0],
            window.kernel[1],
            window.stride[0],
            window.stride[1],
            window.dilation[0],
            window.dilation[1],
            window.pad[0],
            window.pad[1],
            window.pad_end[0],
            window.pad_end[1],
            mode,
        ];
        Launch::over(kernel, count, vec![self.output(), self.input(0)], numbers)
    }

    fn binary(&self, op: BinaryOp, broadcast: Broadcast, swapped: bool) -> Launch {
        let image = self.model.lens[self.node.output.0];
        let channels = match broadcast {
            Broadcast::Same => 0,
            Broadcast::Channels => self.model.lens[self.node.inputs[1].0],
        };
        let inner = if channels == 0 { image } else { channels };
        let (kernel, vector) = by_eight("binary_8", "binary_1", inner);
        let count = self.values() / vector;
        let op = match op {
            BinaryOp::Add => 0_usize,
            BinaryOp::Sub => 1,
            BinaryOp::Mul => 2,
            BinaryOp::Div => 3,
        };
        let Act { kind, a, b } = self.act();
        let numbers = numbers![count, image, channels, op, usize::from(swapped), kind, a, b];
        let places = vec![self.output(), self.input(0), self.input(1)];
        Launch::over(kernel, count, places, numbers)
    }

    fn affine(&self, channels: usize, constants: Option<[usize; 2]>) -> Launch {
        let (kernel, vector) = by_eight("affine_8", "affine_1", channels);
        let count = self.values() / vector;
        let Act { kind, a, b } = self.act();
        let [scale, shift] = constants.map_or([Place::Null; 2], |at| at.map(Place::Weights));
        let places = vec![self.output(), self.input(0), scale, shift];
        Launch::over(kernel, count, places, numbers![count, channels, kind, a, b])
    }

    fn rows(
        &self,
        kernel: &'static str,
        rows: usize,
        len: usize,
        epsilon: f32,
        [scale, shift]: [Place; 2],
    ) -> Launch {
        let rows = self.n * rows;
        let places = vec![self.output(), self.input(0), scale, shift];
        Launch::over(kernel, rows * 32, places, numbers![rows, len, epsilon])
    }

    fn transpose(&self, dims: &[usize], perm: &[usize]) -> Launch {
        assert!(dims.len() <= AXES, "{} axes, where the kernel takes {AXES}", dims.len());
        let stride = |axis: usize| dims[axis + 1..].iter().product::<usize>();
        let front = AXES - perm.len();
        let mut numbers = numbers![self.values(), self.model.lens[self.node.output.0]];
        numbers.extend((0..front).map(|_| Number::from(1_usize)));
        numbers.extend(perm.iter().map(|&axis| Number::from(dims[axis])));
        numbers.extend((0..front).map(|_| Number::from(0_usize)));
        numbers.extend(perm.iter().map(|&axis| Number::from(stride(axis))));
        let places = vec![self.output(), self.input(0)];
        Launch::over("transpose", self.values(), places, numbers)
    }

    fn concat(&self, outer: usize, lens: &[usize]) -> Vec<Launch> {
        let row: usize = lens.iter().sum();
        let mut start = 0;
        let mut launches = Vec::with_capacity(lens.len());
        for (index, &len) in lens.iter().enumerate() {
            let from = (self.input(index), len, 0);
            launches.push(copy(self.n * outer, len, from, (self.output(), row, start)));
            start += len;
        }
        launches
    }
}

/// Copies `len` values of each of `rows` rows; an end is a place, the length of its rows, and the first value of each.
fn copy(
    rows: usize,
    len: usize,
    (x, ldx, x0): (Place, usize, usize),
    (y, ldy, y0): (Place, usize, usize),
) -> Launch {
    let whole = [len, ldx, x0, ldy, y0].iter().all(|value| value.is_multiple_of(8));
    let (kernel, vector) = if whole { ("copy_8", 8) } else { ("copy_1", 1) };
    let chunks = len / vector;
    let count = rows * chunks;
    Launch::over(kernel, count, vec![y, x], numbers![count, chunks, ldx, x0, ldy, y0])
}

/// The kernel of eight values at once where the innermost axis allows it.
const fn by_eight(eight: &'static str, one: &'static str, inner: usize) -> (&'static str, usize) {
    if inner.is_multiple_of(8) { (eight, 8) } else { (one, 1) }
}

/// Whether a convolution runs on tensor cores.
pub(super) fn on_tensor_cores(model: &Model, conv: &Conv) -> bool {
    model.precision == Precision::Halves && !conv.depthwise && conv.vector() > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::infer::builtin;
    use crate::pipeline::infer::cuda::launch::Addresses;
    use crate::pipeline::infer::cuda::tiles::tests::h200;
    use crate::pipeline::infer::cuda::{kernels, pack};
    use crate::pipeline::infer::graph::{Graph, load_bytes, load_file};
    use std::collections::{BTreeMap, BTreeSet};

    fn graphs() -> Vec<Graph> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/ops");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut graphs: Vec<_> = files.filter_map(|file| load_file(&file, None).ok()).collect();
        assert!(graphs.len() >= 30);
        graphs.push(load_bytes(builtin::MODEL, None).unwrap());
        graphs
    }

    /// Bytes of each kernel's parameter, from the PTX.
    fn parameters(texts: &[&str]) -> BTreeMap<String, usize> {
        let of = |line: &str| {
            let (name, rest) = line.split_once("_param_0[")?;
            let name = name.rsplit([' ', '\t']).next()?;
            Some((name.to_owned(), rest.split(']').next()?.parse().ok()?))
        };
        texts.iter().flat_map(|text| text.lines().filter_map(of)).collect()
    }

    #[test]
    fn launches_fill_the_structures_that_the_kernels_take() {
        let mut seen = BTreeSet::new();
        for precision in [Precision::Halves, Precision::Floats] {
            let sizes = match precision {
                Precision::Halves => parameters(&[kernels::HALVES, kernels::IGEMM]),
                Precision::Floats => parameters(&[kernels::FLOATS]),
            };
            for graph in graphs() {
                let (model, blob) = pack::build(&graph, &builtin::INPUT, precision);
                let cuts = |layer: &Layer| match layer {
                    Layer::Conv(conv) if on_tensor_cores(&model, conv) => {
                        conv.product(3).cuts(&h200()).first().copied()
                    }
                    _ => None,
                };
                let of = |one: &Layer| layer(&model, one, 3, cuts(one));
                let launches = model.layers.iter().flat_map(of);
                for launch in launches.chain([normalise(&model, 3)]).chain(logits(&model, 3)) {
                    let bytes = launch.arguments(&Addresses::default()).len() * 8;
                    assert_eq!(bytes, sizes[launch.kernel], "{}", launch.kernel);
                    assert!(launch.grid.iter().all(|&blocks| blocks > 0), "{}", launch.kernel);
                    for place in &launch.places {
                        match *place {
                            Place::Weights(at) => {
                                assert!(at < blob.len() && at.is_multiple_of(256));
                            }
                            Place::Arena(at) => {
                                assert!(at < 3 * model.arena * precision.bytes());
                                assert!(at.is_multiple_of(16), "kernels read 16 bytes at once");
                            }
                            _ => {}
                        }
                    }
                    seen.insert(launch.kernel);
                }
            }
        }
        for kernel in
            ["sgemm", "depthwise_3_1", "depthwise_1", "pool_1", "mean_8", "lrn", "transpose"]
        {
            assert!(seen.contains(kernel), "{kernel} was not tried");
        }
    }

    #[test]
    fn a_stem_of_even_steps_reads_pairs_of_pixels() {
        let graph = load_bytes(builtin::MODEL, None).unwrap();
        let (model, _) = pack::build(&graph, &builtin::INPUT, Precision::Halves);
        let Layer::Conv(stem) = &model.layers[0] else { panic!("it begins with a convolution") };
        assert_eq!((stem.source, stem.channels, stem.vector()), (Source::Pictures, 8, 8));
        assert_eq!((stem.input, stem.kernel, stem.stride), ([224, 112], [3, 2], [2, 1]));
        let (model, _) = pack::build(&graph, &builtin::INPUT, Precision::Floats);
        let Layer::Conv(stem) = &model.layers[0] else { panic!("it begins with a convolution") };
        assert_eq!((stem.channels, stem.input, stem.kernel), (4, [224, 224], [3, 3]));
    }
}
