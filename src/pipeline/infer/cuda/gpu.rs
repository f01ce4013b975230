//! One device with a model on it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::busy::Account;
use super::cudnn::{self, Cudnn, Operands};
use super::driver::{Context, Event, Facts, Fault, Function, Memory, Module, Stream};
use super::kernels;
use super::lane::{Lane, Pictures};
use super::launch::{Addresses, Launch, Place};
use super::layers::{self, Layer, Model, Precision};
use super::tiles::{Cut, PARTIAL_BYTES, TILES};
use super::{lower, tuning};
use crate::pipeline::infer::InputSpec;
use crate::pipeline::infer::graph::Graph;

/// Batches under way at once on a device, each on a stream of its own; more wait for one of them.
const LANES: usize = 4;

/// How a convolution is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// By a kernel of ours without tensor cores.
    Plain,
    /// On tensor cores by a kernel of ours.
    Cut(Cut),
    /// By cuDNN.
    Cudnn,
}

/// Something to put on a stream.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A kernel of ours.
    Launch(Launch),
    /// A layer by cuDNN, for so many images.
    Cudnn {
        /// Which layer.
        layer: usize,
        /// How many.
        images: usize,
    },
}

/// See the module.
#[derive(Debug)]
pub(super) struct Gpu {
    context: Arc<Context>,
    facts: Facts,
    model: Model,
    weights: Memory,
    functions: HashMap<&'static str, Function>,
    /// Keeps the functions.
    _modules: Vec<Module>,
    cudnn: Option<Cudnn>,
    /// By batch size: how each layer is computed, as measured.
    measured: Mutex<HashMap<usize, Arc<[Choice]>>>,
    lanes: Mutex<Lanes>,
    back: Condvar,
    /// The largest batch that fits.
    limit: AtomicUsize,
    lost: AtomicBool,
    account: Mutex<Account>,
    /// When the batch is computed after which the next large one is to come.
    turn: Mutex<Option<Arc<Event>>>,
}

#[derive(Debug, Default)]
struct Lanes {
    idle: Vec<Lane>,
    made: usize,
}

/// Whatever happened to a thread that held it, what is in it is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gpu {
    /// Loads the kernels and the model. `precision` overrides what suits the device.
    ///
    /// # Errors
    /// Where the device does not take them.
    pub(super) fn new(
        facts: &Facts,
        graph: &Graph,
        spec: &InputSpec,
        precision: Option<Precision>,
    ) -> Result<Self, Fault> {
        let context = Context::new(facts.index)?;
        let suits = if facts.capability >= (8, 0) { Precision::Halves } else { Precision::Floats };
        let precision = precision.unwrap_or(suits);
        let (model, blob) = layers::build(graph, spec, precision);
        let texts: &[&str] = match precision {
            Precision::Halves => &[kernels::HALVES, kernels::IGEMM],
            Precision::Floats => &[kernels::FLOATS],
        };
        let modules: Vec<_> =
            texts.iter().map(|ptx| Module::new(&context, ptx)).collect::<Result<_, _>>()?;
        let functions = functions(&modules, &model, facts)?;
        let weights = Memory::new(&context, blob.len())?;
        Stream::new(&context)?.upload_now(&blob, &weights)?;
        Ok(Self {
            context,
            facts: facts.clone(),
            limit: AtomicUsize::new(model.most_images()),
            model,
            weights,
            functions,
            _modules: modules,
            cudnn: None,
            measured: Mutex::default(),
            lanes: Mutex::default(),
            back: Condvar::new(),
            lost: AtomicBool::new(false),
            account: Mutex::default(),
            turn: Mutex::default(),
        })
    }

    /// What the device is.
    pub(super) const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The model.
    pub(super) const fn model(&self) -> &Model {
        &self.model
    }

    /// Where its weights are.
    pub(super) const fn weights(&self) -> u64 {
        self.weights.address()
    }

    /// Its context.
    pub(super) const fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Makes the device the calling thread's.
    pub(super) fn bind(&self) -> Result<(), Fault> {
        self.context.bind()
    }

    /// Whether it gave up.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// It gave up; says whether that is new.
    pub(super) fn lose(&self) -> bool {
        !self.lost.swap(true, Ordering::Relaxed)
    }

    /// Batches under way.
    pub(super) fn under_way(&self) -> usize {
        let lanes = lock(&self.lanes);
        lanes.made - lanes.idle.len()
    }

    /// The last large batch's end, to be replaced by the next one's; nobody else takes a turn meanwhile.
    pub(super) fn turn(&self) -> MutexGuard<'_, Option<Arc<Event>>> {
        lock(&self.turn)
    }

    /// The account of what is done.
    pub(super) fn account(&self) -> MutexGuard<'_, Account> {
        lock(&self.account)
    }

    /// A lane that is free, or can be made; `None` where all are under way.
    pub(super) fn free_lane(&self) -> Result<Option<Lane>, Fault> {
        let mut lanes = lock(&self.lanes);
        if let Some(lane) = lanes.idle.pop() {
            return Ok(Some(lane));
        }
        if lanes.made == LANES {
            return Ok(None);
        }
        lanes.made += 1;
        drop(lanes);
        match Lane::new(&self.context) {
            Ok(lane) => Ok(Some(lane)),
            Err(fault) => {
                let mut lanes = lock(&self.lanes);
                lanes.made -= 1;
                // With one lane at least, there is one to wait for.
                if lanes.made == 0 { Err(fault) } else { Ok(None) }
            }
        }
    }

    /// Sleeps until a lane is free.
    pub(super) fn next_lane(&self) -> Result<Lane, Fault> {
        loop {
            if let Some(lane) = self.free_lane()? {
                return Ok(lane);
            }
            let lanes = lock(&self.lanes);
            if lanes.idle.is_empty() && lanes.made > 0 {
                drop(self.back.wait(lanes).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Gives a lane back.
    pub(super) fn return_lane(&self, lane: Lane) {
        lock(&self.lanes).idle.push(lane);
        self.back.notify_one();
    }

    /// Throws a lane away on which something failed.
    pub(super) fn drop_lane(&self, lane: Lane) {
        drop(lane);
        lock(&self.lanes).made -= 1;
        self.back.notify_one();
    }

    /// The largest batch that fits.
    pub(super) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Puts pictures on a lane; where there is no memory for so many at once, fewer are taken.
    ///
    /// # Errors
    /// Where the device fails, or has not even memory for one picture.
    pub(super) fn enqueue(
        &self,
        lane: &mut Lane,
        pictures: Pictures<'_>,
        images: usize,
    ) -> Result<(), Fault> {
        loop {
            let limit = self.limit();
            match lane.enqueue(self, pictures, images, limit) {
                Err(Fault::Memory { pinned: false, bytes }) if limit.min(images) > 1 => {
                    let half = images.next_power_of_two().min(limit).div_ceil(2);
                    self.limit.fetch_min(half, Ordering::Relaxed);
                    tracing::warn!(
                        "{}: no memory for {} MiB: batches of {images} run in passes of {half}",
                        self.facts.name,
                        bytes >> 20
                    );
                }
                result => return result,
            }
        }
    }

    /// Uses cuDNN, if it is found; else says why not.
    pub(super) fn add_cudnn(&mut self) -> Result<(), String> {
        if self.model.precision == Precision::Halves {
            self.cudnn = Some(Cudnn::open(&self.context)?);
        }
        Ok(())
    }

    /// cuDNN, where it is used.
    pub(super) const fn cudnn(&self) -> Option<&Cudnn> {
        self.cudnn.as_ref()
    }

    /// Finds out how each layer is computed fastest for batches of that size: from what was measured before by a driver of
    /// that version, or by measuring. `tell` is told where that takes a while.
    ///
    /// # Errors
    /// Where the device fails or has no memory for such a batch.
    pub(super) fn tune(&self, driver: i32, size: usize, tell: &dyn Fn(&str)) -> Result<(), Fault> {
        let file = tuning::place(self, driver, size);
        let before = file.as_ref().and_then(|file| tuning::read(self, file, size));
        let choices = if let Some(choices) = before {
            choices
        } else {
            tell(&format!("measuring kernels for batches of {size} on {} …", self.facts.name));
            let mut lane = self.next_lane()?;
            let measured =
                lane.reserve(self, size).and_then(|()| tuning::measure(self, &lane, size));
            match measured {
                Ok(_) => self.return_lane(lane),
                Err(_) => self.drop_lane(lane),
            }
            let choices = measured?;
            if let Some(file) = file {
                tuning::write(&file, &choices);
            }
            choices
        };
        lock(&self.measured).insert(size, choices.into());
        Ok(())
    }

    /// How each layer is computed for batches of that size.
    fn choices(&self, size: usize) -> Vec<Choice> {
        let measured = lock(&self.measured);
        match measured.get(&size) {
            Some(choices) => choices.to_vec(),
            None => tuning::transfer(&measured, self.guesses(size), size),
        }
    }

    /// What promises to be fastest without having been measured, layer by layer.
    pub(super) fn guesses(&self, size: usize) -> Vec<Choice> {
        self.model.layers.iter().map(|layer| self.guess(layer, size)).collect()
    }

    fn guess(&self, layer: &Layer, size: usize) -> Choice {
        match layer {
            Layer::Conv(conv) if lower::on_tensor_cores(&self.model, conv) => {
                let cuts = conv.product(size).cuts(&self.facts);
                cuts.first().map_or(Choice::Plain, |&cut| Choice::Cut(cut))
            }
            _ => Choice::Plain,
        }
    }

    /// Whether a layer can be computed so.
    pub(super) fn may(&self, index: usize, choice: Choice, size: usize) -> bool {
        let Layer::Conv(conv) = &self.model.layers[index] else { return choice == Choice::Plain };
        match choice {
            Choice::Plain => self.guess(&self.model.layers[index], size) == Choice::Plain,
            Choice::Cut(cut) => {
                lower::on_tensor_cores(&self.model, conv)
                    && conv.product(size).cuts(&self.facts).contains(&cut)
            }
            Choice::Cudnn => self.cudnn.is_some() && cudnn::can(conv),
        }
    }

    /// What a batch of that size is, step by step.
    pub(super) fn steps(&self, size: usize) -> Vec<Step> {
        let mut steps = vec![Step::Launch(lower::normalise(&self.model, size))];
        for (index, choice) in self.choices(size).into_iter().enumerate() {
            steps.extend(self.layer_steps(index, choice, size));
        }
        steps.extend(lower::logits(&self.model, size).map(Step::Launch));
        steps
    }

    /// One layer, step by step.
    pub(super) fn layer_steps(&self, index: usize, choice: Choice, size: usize) -> Vec<Step> {
        let layer = &self.model.layers[index];
        let cut = match choice {
            Choice::Cudnn => return vec![Step::Cudnn { layer: index, images: size }],
            Choice::Plain => None,
            Choice::Cut(cut) => Some(cut),
        };
        lower::layer(&self.model, layer, size, cut).into_iter().map(Step::Launch).collect()
    }

    /// What must be done once before `steps` can be recorded: cuDNN loads its kernels when first called.
    pub(super) fn before_capture(
        &self,
        steps: &[Step],
        stream: &Stream,
        addresses: &Addresses,
    ) -> Result<(), Fault> {
        let others = steps.iter().filter(|step| matches!(step, Step::Cudnn { .. }));
        others.into_iter().try_for_each(|step| self.start(step, stream, addresses))
    }

    /// Puts a step on a stream.
    pub(super) fn start(
        &self,
        step: &Step,
        stream: &Stream,
        addresses: &Addresses,
    ) -> Result<(), Fault> {
        match step {
            Step::Launch(launch) => {
                let function = self.functions.get(launch.kernel).ok_or(Fault::Failed {
                    what: "a kernel is missing",
                    why: launch.kernel.to_owned(),
                })?;
                launch.start(stream, *function, addresses)
            }
            Step::Cudnn { layer, images } => {
                let (Layer::Conv(conv), Some(cudnn)) = (&self.model.layers[*layer], &self.cudnn)
                else {
                    unreachable!("chosen for convolutions, where cuDNN is used");
                };
                let places = lower::operands(&self.model, conv, *images, false);
                let [y, x, w, _, z] = places.map(|place| addresses.of(place));
                let operands = Operands {
                    y,
                    x,
                    w,
                    bias: addresses.of(Place::Weights(conv.half_bias)),
                    z,
                    workspace: addresses.partial,
                    workspace_bytes: PARTIAL_BYTES,
                };
                cudnn.start(stream, conv, *images, &operands)
            }
        }
    }
}

/// All kernels that the model can need.
fn functions(
    modules: &[Module],
    model: &Model,
    facts: &Facts,
) -> Result<HashMap<&'static str, Function>, Fault> {
    let mut functions = HashMap::new();
    let layers = model.layers.iter().flat_map(|layer| lower::layer(model, layer, 1, None));
    let launches = layers.chain([lower::normalise(model, 1)]).chain(lower::logits(model, 1));
    for Launch { kernel, .. } in launches {
        functions.insert(kernel, modules[0].function(kernel, 0)?);
    }
    if let [_, igemm] = modules {
        for tile in TILES.iter().filter(|tile| tile.shared() + 1024 <= facts.shared_per_block) {
            functions.insert(tile.kernel, igemm.function(tile.kernel, tile.shared() as u32)?);
        }
    }
    Ok(functions)
}
