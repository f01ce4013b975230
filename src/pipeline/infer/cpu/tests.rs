//! Steps and kernels of every instruction set against the reference.

mod operators;

use super::intake::Intake;
use super::network::{Batch, Network};
use super::simd::Isa;
use crate::pipeline::infer::graph::{
    self, Activation, BinaryOp, Broadcast, Conv, Epilogue, Graph, Linear, Node, Op, PoolKind,
    Tensor, TensorId, Weight, WeightId, Window, plan, reference,
};
use std::sync::Arc;

/// Numbers from −1 to 1 by a small generator.
struct Noise(u32);

impl Noise {
    fn next(&mut self) -> f32 {
        (self.bits() >> 8) as f32 / (1 << 23) as f32 - 1.0
    }

    fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0
    }

    fn values(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next()).collect()
    }

    /// A number from `from` to `to`, both included.
    fn between(&mut self, from: usize, to: usize) -> usize {
        from + (self.bits() >> 16) as usize % (to - from + 1)
    }
}

/// A graph in the making: a picture, a first layer that makes `channels` of its 3, and what a test adds.
struct Sketch {
    tensors: Vec<Tensor>,
    weights: Vec<Weight>,
    nodes: Vec<Node>,
    side: usize,
    noise: Noise,
}

impl Sketch {
    fn new(side: usize, channels: usize, seed: u32) -> (Self, TensorId) {
        let picture = Tensor { name: "x".into(), dims: vec![side, side, 3] };
        let mut sketch = Self {
            tensors: vec![picture],
            weights: Vec::new(),
            nodes: Vec::new(),
            side,
            noise: Noise(seed),
        };
        let first = sketch.pointwise(TensorId(0), side, 3, channels);
        (sketch, first)
    }

    fn pointwise(&mut self, x: TensorId, side: usize, inputs: usize, outputs: usize) -> TensorId {
        let weight = self.weight(vec![outputs, 1, 1, inputs]);
        let one = [side, side];
        let window = Window {
            input: one,
            output: one,
            kernel: [1; 2],
            stride: [1; 2],
            dilation: [1; 2],
            pad: [0; 2],
            pad_end: [0; 2],
        };
        let conv = Op::Conv(Conv { window, inputs, outputs, groups: 1, weight });
        self.add(conv, vec![x], vec![side, side, outputs], Epilogue::default())
    }

    fn weight(&mut self, dims: Vec<usize>) -> WeightId {
        let data = self.noise.values(dims.iter().product());
        self.weights.push(Weight { dims, data });
        WeightId(self.weights.len() - 1)
    }

    fn add(
        &mut self,
        op: Op,
        inputs: Vec<TensorId>,
        dims: Vec<usize>,
        epilogue: Epilogue,
    ) -> TensorId {
        self.tensors.push(Tensor { name: String::new(), dims });
        let output = TensorId(self.tensors.len() - 1);
        self.nodes.push(Node { name: "node".into(), op, inputs, output, epilogue });
        output
    }

    fn graph(self, output: TensorId) -> Graph {
        let plan = plan::plan(&self.tensors, &self.nodes, TensorId(0), output);
        let classes = self.tensors[output.0].len();
        Graph {
            tensors: self.tensors,
            weights: self.weights,
            nodes: self.nodes,
            input: TensorId(0),
            output,
            side: self.side,
            classes,
            probabilities: false,
            plan,
        }
    }
}

/// Runs a graph for `images` images on every instruction set and compares with the reference.
fn check(graph: &Graph, images: usize, what: &str) {
    let plane = graph.side * graph.side;
    let pictures = Noise(9).values(images * 3 * plane);
    let expected: Vec<f32> = pictures
        .chunks_exact(3 * plane)
        .flat_map(|planes| {
            let interleaved: Vec<f32> =
                (0..3 * plane).map(|at| planes[at % 3 * plane + at / 3]).collect();
            reference::run(graph, &interleaved)
        })
        .collect();
    run_everywhere(graph, &pictures, &expected, what);
}

/// Runs a graph on every instruction set, alone and in a team that shares images, or steps, and compares.
fn run_everywhere(graph: &Graph, pictures: &[f32], expected: &[f32], what: &str) {
    let images = pictures.len() / (3 * graph.side * graph.side);
    let scale = expected.iter().fold(1e-3_f32, |max, x| max.max(x.abs()));
    for isa in Isa::all() {
        let network = Arc::new(Network::new(isa, graph, Intake::Planes));
        for threads in [1, 2, images + 1] {
            let idle = Arc::default();
            let batch = Batch::new(&network, Arc::new(pictures.to_vec()), images, threads, &idle);
            std::thread::scope(|scope| {
                for member in 0..threads {
                    let batch = &batch;
                    scope.spawn(move || batch.take_part(member));
                }
            });
            let logits = batch.finish().unwrap();
            assert_eq!(logits.len(), expected.len(), "{what}");
            for (at, (a, b)) in logits.iter().zip(expected).enumerate() {
                assert!(
                    (a - b).abs() <= 2e-5 * scale,
                    "{what}, {}, {threads} threads: value {at} is {a} instead of {b}",
                    isa.name
                );
            }
        }
    }
}

fn window(noise: &mut Noise, side: usize) -> Window {
    let mut pick = |from, to| [noise.between(from, to), noise.between(from, to)];
    let (kernel, stride, dilation) = (pick(1, 5), pick(1, 3), pick(1, 2));
    let (pad, pad_end) = (pick(0, 2), pick(0, 2));
    let output = [0, 1].map(|axis| {
        let reach = (kernel[axis] - 1) * dilation[axis] + 1;
        (side + pad[axis] + pad_end[axis]).saturating_sub(reach) / stride[axis] + 1
    });
    Window { input: [side; 2], output, kernel, stride, dilation, pad, pad_end }
}

#[test]
fn convolutions_of_every_shape() {
    for seed in 0..40 {
        let mut noise = Noise(seed);
        let side = noise.between(10, 17);
        let groups = [1, 1, 2, 4][noise.between(0, 3)];
        let (inputs, outputs) = (groups * noise.between(1, 20), groups * noise.between(1, 40));
        let window = window(&mut noise, side);
        let (mut sketch, x) = Sketch::new(side, inputs, seed);
        let weight =
            sketch.weight(vec![outputs, window.kernel[0], window.kernel[1], inputs / groups]);
        let bias = (seed % 2 == 0).then(|| sketch.weight(vec![outputs]));
        let conv = Conv { window, inputs, outputs, groups, weight };
        let activation = [
            Activation::None,
            Activation::Relu,
            Activation::Clip { min: -0.5, max: 0.75 },
            Activation::Silu,
        ][seed as usize % 4];
        let dims = vec![window.output[0], window.output[1], outputs];
        let epilogue = Epilogue { bias, residual: None, activation };
        let y = sketch.add(Op::Conv(conv), vec![x], dims.clone(), epilogue);
        // The same again on top of itself.
        let epilogue = Epilogue { residual: Some(y), ..epilogue };
        let z = sketch.add(Op::Conv(conv), vec![x], dims, epilogue);
        check(&sketch.graph(z), 2, &format!("{conv:?}"));
    }
}

#[test]
fn convolutions_of_three_by_three_with_many_channels() {
    for seed in 0..12 {
        let mut noise = Noise(seed);
        let side = noise.between(13, 18);
        let (inputs, outputs) = (noise.between(32, 70), noise.between(32, 70));
        let pads: [usize; 4] = std::array::from_fn(|_| noise.between(0, 2));
        let (pad, pad_end) = ([pads[0], pads[1]], [pads[2], pads[3]]);
        let output = [side + pad[0] + pad_end[0] - 2, side + pad[1] + pad_end[1] - 2];
        let (kernel, ones) = ([3; 2], [1; 2]);
        let window =
            Window { input: [side; 2], output, kernel, stride: ones, dilation: ones, pad, pad_end };
        let (mut sketch, x) = Sketch::new(side, inputs, seed);
        let weight = sketch.weight(vec![outputs, 3, 3, inputs]);
        let bias = (seed % 2 == 0).then(|| sketch.weight(vec![outputs]));
        let conv = Conv { window, inputs, outputs, groups: 1, weight };
        let activation = [Activation::Relu, Activation::Silu, Activation::None][seed as usize % 3];
        let dims = vec![output[0], output[1], outputs];
        let epilogue = Epilogue { bias, residual: None, activation };
        let y = sketch.add(Op::Conv(conv), vec![x], dims.clone(), epilogue);
        let epilogue = Epilogue { residual: Some(y), ..epilogue };
        let z = sketch.add(Op::Conv(conv), vec![x], dims, epilogue);
        check(&sketch.graph(z), 2, &format!("{conv:?}"));
    }
}

#[test]
fn depthwise_convolutions_of_every_shape() {
    for seed in 0..40 {
        let mut noise = Noise(seed);
        let side = noise.between(7, 23);
        let channels = noise.between(2, 40);
        let mut window = window(&mut noise, side);
        if seed % 4 != 0 {
            let size = [3, 5, 7][noise.between(0, 2)];
            let stride = noise.between(1, 2);
            let pad = noise.between(0, size / 2);
            let output = (side + 2 * pad - size) / stride + 1;
            (window.kernel, window.stride, window.dilation) = ([size; 2], [stride; 2], [1; 2]);
            (window.pad, window.pad_end, window.output) = ([pad; 2], [pad; 2], [output; 2]);
        }
        let (mut sketch, x) = Sketch::new(side, channels, seed);
        let weight = sketch.weight(vec![channels, window.kernel[0], window.kernel[1], 1]);
        let bias = (seed % 3 != 0).then(|| sketch.weight(vec![channels]));
        let conv = Conv { window, inputs: channels, outputs: channels, groups: channels, weight };
        let activation = [Activation::Relu, Activation::HardSwish][seed as usize % 2];
        let dims = vec![window.output[0], window.output[1], channels];
        let epilogue = Epilogue { bias, residual: None, activation };
        let y = sketch.add(Op::Conv(conv), vec![x], dims.clone(), epilogue);
        let epilogue = Epilogue { residual: Some(y), ..epilogue };
        let z = sketch.add(Op::Conv(conv), vec![x], dims, epilogue);
        check(&sketch.graph(z), 2, &format!("depthwise {conv:?}"));
    }
}

#[test]
fn long_inner_axes_are_done_in_runs() {
    for (inputs, outputs) in [(1024, 40), (2500, 33), (4096, 16)] {
        let (mut sketch, x) = Sketch::new(2, inputs, 5);
        let residual = sketch.pointwise(TensorId(0), 2, 3, outputs);
        let weight = sketch.weight(vec![outputs, inputs]);
        let bias = Some(sketch.weight(vec![outputs]));
        let linear = Op::Linear(Linear { rows: 4, inputs, outputs, weight });
        let epilogue = Epilogue { bias, residual: Some(residual), activation: Activation::Relu };
        let y = sketch.add(linear, vec![x], vec![4, outputs], epilogue);
        check(&sketch.graph(y), 3, &format!("{inputs} to {outputs}"));
    }
}

#[test]
fn pools_of_every_shape() {
    let kinds = [
        PoolKind::Max,
        PoolKind::Average { count_padding: true },
        PoolKind::Average { count_padding: false },
    ];
    for seed in 0..24 {
        let mut noise = Noise(seed);
        let side = noise.between(10, 17);
        let channels = noise.between(1, 40);
        let mut window = window(&mut noise, side);
        window.kernel = window.kernel.map(|size| size.max(3));
        window.dilation = [1; 2];
        for axis in 0..2 {
            let room = side + window.pad[axis] + window.pad_end[axis] - window.kernel[axis];
            // Rounded up, as `ceil_mode` does.
            window.output[axis] = room.div_ceil(window.stride[axis]) + 1;
            if (window.output[axis] - 1) * window.stride[axis] >= side + window.pad[axis] {
                window.output[axis] -= 1;
            }
        }
        let (mut sketch, x) = Sketch::new(side, channels, seed);
        let kind = kinds[seed as usize % 3];
        let dims = vec![window.output[0], window.output[1], channels];
        let y = sketch.add(Op::Pool { kind, window, channels }, vec![x], dims, Epilogue::default());
        check(&sketch.graph(y), 2, &format!("{kind:?} {window:?}"));
    }
}

#[test]
fn pointwise_operations() {
    let (side, channels) = (6, 21);
    let dims = vec![side, side, channels];
    for op in [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div] {
        for (broadcast, swapped) in [
            (Broadcast::Same, false),
            (Broadcast::Same, true),
            (Broadcast::Channels, false),
            (Broadcast::Channels, true),
        ] {
            let (mut sketch, x) = Sketch::new(side, channels, 3);
            let mut other = sketch.pointwise(TensorId(0), side, 3, channels);
            let positive = Epilogue { activation: Activation::Sigmoid, ..Epilogue::default() };
            if broadcast == Broadcast::Channels {
                let mean = Op::GlobalAverage { positions: side * side, channels };
                other = sketch.add(mean, vec![other], vec![channels], Epilogue::default());
            }
            let other_dims = sketch.tensors[other.0].dims.clone();
            let other = sketch.add(Op::Activate, vec![other], other_dims, positive);
            let x = sketch.add(Op::Activate, vec![x], dims.clone(), positive);
            let epilogue = Epilogue { activation: Activation::Tanh, ..Epilogue::default() };
            let binary = Op::Binary { op, broadcast, swapped };
            let y = sketch.add(binary, vec![x, other], dims.clone(), epilogue);
            check(&sketch.graph(y), 2, &format!("{op:?} {broadcast:?} {swapped}"));
        }
    }
}

#[test]
fn activations_are_those_of_their_definitions() {
    for activation in [
        Activation::Relu,
        Activation::Clip { min: -1.0, max: 2.0 },
        Activation::LeakyRelu { slope: 0.1 },
        Activation::Sigmoid,
        Activation::HardSigmoid { slope: 0.2, shift: 0.5 },
        Activation::Silu,
        Activation::HardSwish,
        Activation::Gelu,
        Activation::Tanh,
    ] {
        for isa in Isa::all() {
            let inputs: Vec<f32> = (-2000..=2000).map(|x| x as f32 / 20.0).collect();
            let mut values = inputs.clone();
            isa.activate(activation, &mut values);
            for (&x, &y) in inputs.iter().zip(&values) {
                let expected = reference::activate(activation, x);
                let error = (y - expected).abs();
                assert!(
                    error <= 1e-6 * expected.abs().max(1.0),
                    "{activation:?}({x}) is {y}, not {expected}"
                );
            }
        }
    }
}

type Make = fn(&mut Sketch) -> Op;

#[test]
fn normalisations_and_moves() {
    let (side, channels) = (5, 35);
    let dims = vec![side, side, channels];
    let rows = side * side;
    let none = Epilogue::default();
    let ops: [(Make, Vec<usize>); 9] = [
        (|_| Op::Softmax { rows: 25, len: 35 }, dims.clone()),
        (|_| Op::Lrn { channels: 35, size: 4, alpha: 0.3, beta: 0.75, bias: 1.5 }, dims.clone()),
        (
            |sketch| {
                let (scale, shift) = (sketch.weight(vec![35]), sketch.weight(vec![35]));
                Op::LayerNorm { rows: 25, len: 35, epsilon: 1e-5, scale, shift }
            },
            dims.clone(),
        ),
        (
            |sketch| {
                let (scale, shift) = (sketch.weight(vec![35]), sketch.weight(vec![35]));
                Op::Affine { channels: 35, scale, shift }
            },
            dims.clone(),
        ),
        (
            |_| Op::Pad { input: [5, 5], channels: 35, before: [1, 0], after: [2, 3], value: 0.5 },
            vec![8, 8, channels],
        ),
        (|_| Op::Transpose { dims: vec![25, 5, 7], perm: vec![0, 2, 1] }, dims.clone()),
        (
            |_| Op::Transpose { dims: vec![5, 5, 35], perm: vec![2, 0, 1] },
            vec![channels, side, side],
        ),
        (|_| Op::Slice { outer: 25, len: 35, start: 4, count: 13 }, vec![rows, 13]),
        (|_| Op::GlobalAverage { positions: 25, channels: 35 }, vec![channels]),
    ];
    for (make, out) in ops {
        let (mut sketch, x) = Sketch::new(side, channels, 4);
        let op = make(&mut sketch);
        let what = format!("{op:?}");
        let y = sketch.add(op, vec![x], out, none);
        check(&sketch.graph(y), 2, &what);
    }
    let (mut sketch, x) = Sketch::new(side, channels, 4);
    let other = sketch.pointwise(TensorId(0), side, 3, 6);
    let concat = Op::Concat { outer: rows, lens: vec![channels, 6, channels] };
    let y = sketch.add(concat, vec![x, other, x], vec![side, side, 2 * channels + 6], none);
    check(&sketch.graph(y), 2, "concat");
}

#[test]
fn the_built_in_model_on_every_instruction_set() {
    let graph = graph::load_bytes(crate::pipeline::infer::builtin::MODEL, None).unwrap();
    check(&graph, 1, "the built-in model");
}
