//! One device with a model on it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::busy::Account;
use super::driver::{Context, Facts, Fault, Function, Memory, Module, Stream};
use super::kernels;
use super::lane::{Lane, Pictures};
use super::launch::{Addresses, Launch};
use super::layers::{self, Layer, Model, Precision};
use super::lower;
use super::tiles::{Cut, TILES};
use crate::pipeline::infer::InputSpec;
use crate::pipeline::infer::graph::Graph;

/// Batches under way at once on a device, each on a stream of its own; more wait for one of them.
const LANES: usize = 4;

/// How a convolution is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// By a kernel of ours without tensor cores.
    Plain,
    /// On tensor cores by a kernel of ours.
    Cut(Cut),
}

/// Something to put on a stream.
#[derive(Clone, Debug)]
pub enum Step {
    /// A kernel of ours.
    Launch(Launch),
}

/// See the module.
#[derive(Debug)]
pub struct Gpu {
    context: Arc<Context>,
    facts: Facts,
    model: Model,
    weights: Memory,
    functions: HashMap<&'static str, Function>,
    /// Keeps the functions.
    _modules: Vec<Module>,
    /// By batch size: how each layer is computed.
    choices: Mutex<HashMap<usize, Arc<[Choice]>>>,
    lanes: Mutex<Lanes>,
    back: Condvar,
    /// The largest batch that fits.
    limit: AtomicUsize,
    lost: AtomicBool,
    account: Mutex<Account>,
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
    pub fn new(
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
            choices: Mutex::default(),
            lanes: Mutex::default(),
            back: Condvar::new(),
            lost: AtomicBool::new(false),
            account: Mutex::default(),
        })
    }

    /// What the device is.
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The model.
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Where its weights are.
    pub const fn weights(&self) -> u64 {
        self.weights.address()
    }

    /// Its context.
    pub const fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Makes the device the calling thread's.
    pub fn bind(&self) -> Result<(), Fault> {
        self.context.bind()
    }

    /// Whether it gave up.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// It gave up; says whether that is new.
    pub fn lose(&self) -> bool {
        !self.lost.swap(true, Ordering::Relaxed)
    }

    /// Batches under way.
    pub fn under_way(&self) -> usize {
        let lanes = lock(&self.lanes);
        lanes.made - lanes.idle.len()
    }

    /// The account of what is done.
    pub fn account(&self) -> MutexGuard<'_, Account> {
        lock(&self.account)
    }

    /// A lane that is free, or can be made; `None` where all are under way.
    pub fn free_lane(&self) -> Result<Option<Lane>, Fault> {
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
    pub fn next_lane(&self) -> Result<Lane, Fault> {
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
    pub fn return_lane(&self, lane: Lane) {
        lock(&self.lanes).idle.push(lane);
        self.back.notify_one();
    }

    /// Throws a lane away on which something failed.
    pub fn drop_lane(&self, lane: Lane) {
        drop(lane);
        lock(&self.lanes).made -= 1;
        self.back.notify_one();
    }

    /// The largest batch that fits.
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Puts pictures on a lane; where there is no memory for so many at once, fewer are taken.
    ///
    /// # Errors
    /// Where the device fails, or has not even memory for one picture.
    pub fn enqueue(
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

    /// How each layer is computed for batches of that size.
    pub fn choices(&self, size: usize) -> Arc<[Choice]> {
        let mut choices = lock(&self.choices);
        let guess = || self.model.layers.iter().map(|layer| self.guess(layer, size)).collect();
        Arc::clone(choices.entry(size).or_insert_with(guess))
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

    /// What a batch of that size is, step by step.
    pub fn steps(&self, size: usize) -> Vec<Step> {
        let choices = self.choices(size);
        let mut steps = vec![Step::Launch(lower::normalise(&self.model, size))];
        for (layer, choice) in self.model.layers.iter().zip(choices.iter()) {
            let cut = match choice {
                Choice::Plain => None,
                Choice::Cut(cut) => Some(*cut),
            };
            steps.extend(lower::layer(&self.model, layer, size, cut).into_iter().map(Step::Launch));
        }
        steps.extend(lower::logits(&self.model, size).map(Step::Launch));
        steps
    }

    /// What must be done once before `steps` can be recorded.
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "kernels of ours need nothing"
    )]
    pub fn before_capture(
        &self,
        _steps: &[Step],
        _stream: &Stream,
        _addresses: &Addresses,
    ) -> Result<(), Fault> {
        Ok(())
    }

    /// Puts a step on a stream.
    pub fn start(&self, step: &Step, stream: &Stream, addresses: &Addresses) -> Result<(), Fault> {
        match step {
            Step::Launch(launch) => {
                let function = self.functions.get(launch.kernel).ok_or(Fault::Failed {
                    what: "a kernel is missing",
                    why: launch.kernel.to_owned(),
                })?;
                launch.start(stream, *function, addresses)
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
