//! One device with a model on it.

mod occupancy;
mod steps;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::busy::Account;
use super::cudnn::Cudnn;
use super::driver::{Context, Event, Facts, Fault, Function, Memory, Module, Stream};
use super::kernels;
use super::lane::{Lane, Pictures};
use super::launch::Launch;
use super::layers::{Model, Precision};
use super::tiles::{Cut, TILES};
use super::{lower, pack};
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
    occupancies: Mutex<occupancy::Occupancies>,
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
        let precision = precision.unwrap_or_else(|| suits(facts));
        let (model, blob) = pack::build(graph, spec, precision);
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
            occupancies: Mutex::default(),
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
                    tracing::debug!(
                        "{}: no memory for {} MiB: batches of {images} run in passes of {half}",
                        self.facts.name,
                        bytes >> 20
                    );
                }
                result => return result,
            }
        }
    }
}

/// What a device is fast in: halves where it has the tensor cores that our kernels use.
pub(super) fn suits(facts: &Facts) -> Precision {
    if facts.capability >= (8, 0) { Precision::Halves } else { Precision::Floats }
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
