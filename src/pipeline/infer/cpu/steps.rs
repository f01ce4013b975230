//! A graph's nodes as steps that a team of threads does together.

mod pointwise;
mod rearrange;
mod windows;

use super::product::{Job, Product};
use super::simd::Isa;
use super::winograd::Winograd;
use crate::pipeline::infer::graph::{Graph, Node, Op, PoolKind, TensorId};

/// Where a tensor lies: both in values an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    offset: usize,
    len: usize,
}

impl Place {
    /// The place of a tensor of a graph.
    pub(super) fn of(graph: &Graph, id: TensorId) -> Self {
        let offset =
            graph.plan.offset(id).expect("every tensor that is read or written has a place");
        Self { offset, len: graph.tensor(id).len() }
    }
}

/// The arena during a batch.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pub(super) arena: *mut f32,
    pub(super) images: usize,
    /// Threads that work on the batch.
    pub(super) threads: usize,
}

impl Memory {
    /// Where a tensor of the batch begins.
    pub(super) fn start(&self, place: Place) -> *mut f32 {
        // Offsets are within the arena by the plan, which nobody but the plan's own tests need to trust: a wrong one is a
        // pointer that no block below may use.
        self.arena.wrapping_add(place.offset * self.images)
    }

    /// What a convolution or a product works on.
    fn job(&self, input: Place, output: Place, residual: Option<Place>) -> Job {
        Job {
            input: self.start(input),
            output: self.start(output),
            residual: residual.map_or(std::ptr::null(), |place| self.start(place).cast_const()),
            images: self.images,
        }
    }

    /// All values of a tensor of the batch.
    ///
    /// # Safety
    /// The arena is that of the plan, and nobody writes the tensor meanwhile.
    pub(super) unsafe fn read<'a>(&self, place: Place) -> &'a [f32] {
        // SAFETY: by the plan so many values lie there; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts(self.start(place), place.len * self.images) }
    }

    /// Part of the values of a tensor of the batch, to write.
    ///
    /// # Safety
    /// The arena is that of the plan, and nobody reads or writes that part meanwhile.
    pub(super) unsafe fn write<'a>(
        &self,
        place: Place,
        part: std::ops::Range<usize>,
    ) -> &'a mut [f32] {
        debug_assert!(part.end <= place.len * self.images, "a part of the tensor");
        // SAFETY: by the plan so many values lie there; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts_mut(self.start(place).add(part.start), part.len()) }
    }
}

/// One node, ready to run. Its work comes in tasks that may be done in any order and at the same time.
pub(super) trait Step: Send + Sync {
    /// Into how many tasks a batch is cut.
    fn tasks(&self, images: usize, threads: usize) -> usize;

    /// Values of scratch memory that each thread needs.
    fn scratch(&self, _images: usize, _threads: usize) -> usize {
        0
    }

    /// Does one task.
    ///
    /// # Safety
    /// The memory is an arena of the plan; all steps before are done, none after has begun; no one else does this task;
    /// `scratch` has the room that [`Self::scratch`] says.
    unsafe fn run(&self, memory: &Memory, task: usize, scratch: *mut f32);
}

struct ProductStep {
    product: Product,
    input: Place,
    output: Place,
    residual: Option<Place>,
}

impl Step for ProductStep {
    fn tasks(&self, images: usize, threads: usize) -> usize {
        self.product.cut(images, threads).tasks()
    }

    fn scratch(&self, images: usize, threads: usize) -> usize {
        self.product.scratch(images, threads)
    }

    unsafe fn run(&self, memory: &Memory, task: usize, scratch: *mut f32) {
        let job = Job {
            input: memory.start(self.input),
            output: memory.start(self.output),
            residual: self
                .residual
                .map_or(std::ptr::null(), |place| memory.start(place).cast_const()),
            images: memory.images,
        };
        let cut = self.product.cut(memory.images, memory.threads);
        // SAFETY: the job's tensors are those of the plan; the caller vouches for the rest.
        unsafe { self.product.run(&job, cut, task, scratch) };
    }
}

struct WinogradStep {
    winograd: Winograd,
    input: Place,
    output: Place,
    residual: Option<Place>,
}

impl Step for WinogradStep {
    fn tasks(&self, images: usize, threads: usize) -> usize {
        self.winograd.tasks(images, threads)
    }

    fn scratch(&self, images: usize, threads: usize) -> usize {
        self.winograd.scratch(images, threads)
    }

    unsafe fn run(&self, memory: &Memory, task: usize, scratch: *mut f32) {
        // SAFETY: the job's tensors are those of the plan; the caller vouches for the rest.
        unsafe {
            self.winograd.run(
                &memory.job(self.input, self.output, self.residual),
                memory.threads,
                task,
                scratch,
            );
        };
    }
}

/// Makes the step of a node.
pub(super) fn step(isa: &'static Isa, graph: &Graph, node: &Node) -> Box<dyn Step> {
    let place = |id: TensorId| Place::of(graph, id);
    let (input, output) = (place(node.inputs[0]), place(node.output));
    let activation = node.epilogue.activation;
    let weight = |id| graph.weight(id).data.clone();
    match &node.op {
        Op::Conv(conv) if conv.is_depthwise() => {
            Box::new(windows::depthwise(isa, graph, node, conv, input, output))
        }
        Op::Conv(conv) if Winograd::pays(conv) => Box::new(WinogradStep {
            winograd: Winograd::new(isa, graph, node, conv),
            input,
            output,
            residual: node.epilogue.residual.map(place),
        }),
        Op::Conv(conv) => Box::new(ProductStep {
            product: Product::conv(isa, graph, node, conv),
            input,
            output,
            residual: node.epilogue.residual.map(place),
        }),
        Op::Linear(linear) => Box::new(ProductStep {
            product: Product::linear(isa, graph, node, linear),
            input,
            output,
            residual: node.epilogue.residual.map(place),
        }),
        Op::Pool { kind, window, channels } => {
            let kind = match kind {
                PoolKind::Max => windows::Kind::Max,
                PoolKind::Average { count_padding } => {
                    windows::Kind::Average { count_padding: *count_padding }
                }
            };
            Box::new(windows::pool(isa, kind, *window, *channels, input, output))
        }
        Op::GlobalAverage { channels, .. } => {
            Box::new(pointwise::Mean { isa, channels: *channels, input, output })
        }
        Op::Binary { op, broadcast, swapped } => Box::new(pointwise::Binary {
            isa,
            op: *op,
            broadcast: *broadcast,
            swapped: *swapped,
            activation,
            inputs: [input, place(node.inputs[1])],
            output,
        }),
        Op::Affine { scale, shift, .. } => Box::new(pointwise::Affine {
            isa,
            scale: weight(*scale),
            shift: weight(*shift),
            activation,
            input,
            output,
        }),
        Op::Activate => Box::new(pointwise::Activate { isa, activation, input, output }),
        Op::Lrn { channels, size, alpha, beta, bias } => Box::new(pointwise::Lrn {
            channels: *channels,
            size: *size,
            alpha: *alpha,
            beta: *beta,
            bias: *bias,
            input,
            output,
        }),
        Op::Softmax { len, .. } => Box::new(pointwise::Softmax { len: *len, input, output }),
        Op::LayerNorm { epsilon, scale, shift, .. } => Box::new(pointwise::LayerNorm {
            isa,
            epsilon: *epsilon,
            scale: weight(*scale),
            shift: weight(*shift),
            input,
            output,
        }),
        Op::Pad { input: size, channels, before, after, value } => Box::new(rearrange::Pad {
            size: *size,
            channels: *channels,
            before: *before,
            after: *after,
            value: *value,
            input,
            output,
        }),
        Op::Transpose { dims, perm } => {
            Box::new(rearrange::Transpose::new(dims, perm, input, output))
        }
        Op::Concat { lens, .. } => {
            let inputs = node.inputs.iter().zip(lens).map(|(&id, &len)| (place(id), len)).collect();
            Box::new(rearrange::Concat { inputs, output })
        }
        Op::Slice { len, start, count, .. } => {
            Box::new(rearrange::Slice { len: *len, start: *start, count: *count, input, output })
        }
    }
}
