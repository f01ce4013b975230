//! What the threads of one pipeline share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use tokio::sync::Notify;

use super::Stage;
use super::arrivals::Arrivals;
use super::batches::Batches;
use super::buffers::{Buffers, ByteCache};
use super::infer::Engine;
use super::item::{Answer, Inferred, Item, Loaded, Times};
use super::knobs::{CACHES, KnobId, KnobValues, LOCKS, LiveKnobs, MAX_THREADS};
use super::ledger::Ledger;
use super::preprocess::Preprocessor;
use super::source::Source;
use crate::probe::clock::{self, Nanos};
use crate::probe::gate::Gate;
use crate::probe::histogram::{Histogram, Recorder};
use crate::probe::lock::{Gil, Mutex};
use crate::probe::queue::Queue;
use crate::probe::registry::Registry;

/// Batches between infer and decode.
const RESULTS_CAPACITY: usize = 16;
/// Batches and failures between decode and respond.
const ANSWERS_CAPACITY: usize = 64;

/// What bounds a run.
pub(super) struct Limits {
    pub(super) once: bool,
    pub(super) max_pixels: u64,
    pub(super) cache_bytes: u64,
}

/// What the threads of one pipeline share.
pub(super) struct Shared {
    pub(super) registry: Arc<Registry>,
    pub(super) knobs: LiveKnobs,
    pub(super) source: Source,
    pub(super) engine: Arc<dyn Engine>,
    pub(super) loaded: Queue<Loaded>,
    pub(super) batches: Batches,
    pub(super) results: Queue<Inferred>,
    pub(super) answers: Queue<Answer>,
    pub(super) preprocess_gate: Gate,
    pub(super) infer_gate: Gate,
    /// Scratch buffers that all preprocess workers share where `preprocess.lock` is `pool`.
    pub(super) pool: Mutex<Preprocessor>,
    /// What the preprocess workers take where they stand for Python threads.
    pub(super) gil: Arc<Gil>,
    pub(super) buffers: Buffers,
    pub(super) cache: ByteCache,
    pub(super) arrivals: Mutex<Arrivals>,
    /// Tells the load lanes to look at the knobs again.
    pub(super) load_changed: Notify,
    pub(super) ledger: Ledger,
    pub(super) counters: Counters,
    pub(super) once: bool,
    pub(super) max_pixels: u64,
    /// No more reads are begun.
    pub(super) stopping: AtomicBool,
    /// Reads under way, from before the ticket to after the hand-over.
    reading: AtomicUsize,
    /// Preprocess workers that have not ended.
    pub(super) preprocessing: AtomicUsize,
    /// Infer workers that have not ended.
    pub(super) inferring: AtomicUsize,
}

/// The stages' counters.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Tickets given out: the number of the next image.
    tickets: AtomicU64,
    /// Encoded bytes read.
    pub(super) bytes: AtomicU64,
    stages: [StageCounters; Stage::ALL.len()],
}

/// One stage's counters.
#[derive(Debug, Default)]
pub(super) struct StageCounters {
    /// Images that left the stage.
    done: AtomicU64,
    /// Service times of images; `None` without probes.
    service: Option<Recorder>,
}

impl StageCounters {
    /// Books `images` that left the stage after `service` each.
    pub(super) fn add(&self, images: u64, service: Nanos) {
        if let Some(recorder) = &self.service {
            recorder.record_n(service, images);
        }
        self.done.fetch_add(images, Ordering::Relaxed);
    }

    /// Service times so far.
    pub(super) fn service(&self) -> Histogram {
        self.service.as_ref().map(Recorder::read).unwrap_or_default()
    }

    /// Images that left the stage.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

impl Counters {
    fn new(bare: bool) -> Self {
        let stage = || StageCounters {
            service: (!bare).then(Recorder::default),
            ..StageCounters::default()
        };
        Self { stages: std::array::from_fn(|_| stage()), ..Self::default() }
    }

    pub(super) fn stage(&self, stage: Stage) -> &StageCounters {
        &self.stages[stage as usize]
    }

    /// Images whose read began.
    pub(super) fn read(&self) -> u64 {
        self.tickets.load(Ordering::Acquire)
    }
}

impl Shared {
    /// The parts of a pipeline that starts at `start`.
    pub(super) fn new(
        source: Source,
        engine: Arc<dyn Engine>,
        knobs: &KnobValues,
        registry: &Arc<Registry>,
        start: Nanos,
        limits: &Limits,
    ) -> Self {
        let live = LiveKnobs::new(knobs);
        let count = |id| live.int(id) as usize;
        let mut arrivals = Arrivals::default();
        arrivals.set_rate(live.arrival_rate(), start);
        let batches = Batches::new(
            registry,
            engine.input(),
            count(KnobId::QueueBatches),
            count(KnobId::InferBatch),
            live.millis(KnobId::InferMaxDelay),
        )
        .in_memory_of(Arc::clone(&engine));
        let shared = Self {
            loaded: Queue::new(registry, "loaded", count(KnobId::QueueLoaded)),
            batches,
            results: Queue::new(registry, "results", RESULTS_CAPACITY),
            answers: Queue::new(registry, "answers", ANSWERS_CAPACITY),
            preprocess_gate: Gate::new(
                registry,
                "gate.preprocess",
                count(KnobId::PreprocessThreads),
            ),
            infer_gate: Gate::new(registry, "gate.infer", count(KnobId::InferThreads)),
            pool: Mutex::timed(
                registry,
                "preprocess.pool",
                Preprocessor::new(engine.input(), limits.max_pixels),
            ),
            gil: Arc::new(Gil::new(registry, live.millis(KnobId::PreprocessGilInterval))),
            buffers: Buffers::new(registry),
            cache: ByteCache::new(source.len(), limits.cache_bytes),
            arrivals: Mutex::new(registry, "arrivals", arrivals),
            load_changed: Notify::new(),
            ledger: Ledger::new(registry, start, knobs),
            counters: Counters::new(registry.is_bare()),
            once: limits.once,
            max_pixels: limits.max_pixels,
            stopping: AtomicBool::new(false),
            reading: AtomicUsize::new(0),
            preprocessing: AtomicUsize::new(MAX_THREADS as usize),
            inferring: AtomicUsize::new(0),
            registry: Arc::clone(registry),
            knobs: live,
            source,
            engine,
        };
        shared.batches.set_replay(shared.cache_mode() == "batches");
        shared
    }

    /// Begins a read, if there is another image to read; its number and input are fixed now.
    /// [`Self::end_read`] must follow.
    pub(super) fn begin_read(&self, intended: Option<Nanos>) -> Option<Item> {
        self.reading.fetch_add(1, Ordering::SeqCst);
        let item = self.take_ticket().map(|index| {
            let now = clock::now();
            Item {
                index,
                input: (index % self.source.len() as u64) as usize,
                epoch: self.knobs.epoch(),
                origin: intended.unwrap_or(now),
                looped: false,
                times: Times { read: now, ..Times::default() },
            }
        });
        if item.is_none() {
            self.end_read();
        }
        item
    }

    fn take_ticket(&self) -> Option<u64> {
        let tickets = &self.counters.tickets;
        if self.stopping.load(Ordering::SeqCst) {
            return None;
        }
        if !self.once {
            return Some(tickets.fetch_add(1, Ordering::AcqRel));
        }
        let inputs = self.source.len() as u64;
        let next = |n: u64| (n < inputs).then_some(n + 1);
        tickets.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok()
    }

    /// Numbers the images of a ready batch that is taken again.
    pub(super) fn renumber(&self, items: &mut [Item], now: Nanos) {
        let epoch = self.knobs.epoch();
        let first = self.counters.tickets.fetch_add(items.len() as u64, Ordering::AcqRel);
        for (index, item) in (first..).zip(items) {
            let times =
                Times { read: now, loaded: now, taken: now, filled: now, ..Times::default() };
            *item = Item { index, epoch, origin: now, times, ..*item };
        }
    }

    /// Ends a read that was begun; the last one after the end of the input closes the first queue.
    pub(super) fn end_read(&self) {
        self.reading.fetch_sub(1, Ordering::SeqCst);
        self.close_if_over();
    }

    /// Closes the first queue where nothing is being read and nothing more will be.
    pub(super) fn close_if_over(&self) {
        let over = self.stopping.load(Ordering::SeqCst)
            || (self.once && self.counters.read() >= self.source.len() as u64);
        if over && self.reading.load(Ordering::SeqCst) == 0 {
            self.loaded.close();
        }
    }

    /// Whether the preprocess workers share one set of scratch buffers.
    pub(super) fn pooled(&self) -> bool {
        LOCKS[self.knobs.choice(KnobId::PreprocessLock)] == "pool"
    }

    /// Which of [`CACHES`] is set.
    pub(super) fn cache_mode(&self) -> &'static str {
        CACHES[self.knobs.choice(KnobId::SourceCache)]
    }

    /// Whether a lane may read now.
    pub(super) fn lane_admitted(&self, lane: usize) -> bool {
        (lane as u64) < self.knobs.int(KnobId::LoadConcurrency) && !self.batches.is_replaying()
    }
}
