//! A running pipeline: started from its parts, turned by commands, watched by the sampler, stopped.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::Stage;
use super::arrivals::Arrivals;
use super::batches::Batches;
use super::buffers::{Buffers, ByteCache};
use super::infer::Engine;
use super::knobs::{
    Command, KnobChange, KnobError, KnobId, KnobValue, KnobValues, LiveKnobs, MAX_THREADS,
};
use super::ledger::{Failures, Ledger, Segment};
use super::shared::{ANSWERS_CAPACITY, Counters, RESULTS_CAPACITY, Shared};
use super::source::Source;
use super::stages;
use crate::probe::clock::{self, Nanos};
use crate::probe::gate::Gate;
use crate::probe::histogram::Histogram;
use crate::probe::lock::Mutex;
use crate::probe::queue::Queue;
use crate::probe::registry::Registry;
use crate::probe::track::Track;

/// What a pipeline is made of.
pub struct Parts {
    /// Where images come from.
    pub source: Source,
    /// What predicts.
    pub engine: Arc<dyn Engine>,
    /// The knobs' first values.
    pub knobs: KnobValues,
    /// Take each input exactly once.
    pub once: bool,
    /// The most pixels that an image may have.
    pub max_pixels: u64,
    /// Where to write one JSON line an image.
    pub output: Option<PathBuf>,
    /// The most bytes that `source.cache = bytes` keeps in memory.
    pub cache_bytes: u64,
}

/// Why a pipeline did not start; the text is for the person who started it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The output file cannot be made.
    #[error("{}: cannot be written: {error}: name another file with --output", .path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The system gives no thread.
    #[error("no thread could be started: {0}: lower the thread counts or the limits in force")]
    Threads(String),
    /// A knob value that this run cannot take.
    #[error(transparent)]
    Knob(#[from] KnobError),
}

/// A stage's counters so far.
#[derive(Clone, Debug)]
pub struct StageReading {
    /// Which stage.
    pub stage: Stage,
    /// Workers that may run (reads in flight for load).
    pub workers: u32,
    /// Images that left it.
    pub done: u64,
    /// Service times of images.
    pub service: Histogram,
    /// Time during which its device had work, where it has one.
    pub device_busy: Option<Nanos>,
}

/// A queue's account so far.
#[derive(Clone, Copy, Debug)]
pub struct QueueReading {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub unit: &'static str,
    /// The account.
    pub track: Track,
}

/// Images in so far; those out are in [`Pipeline::counts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intake {
    /// Reads begun.
    pub read: u64,
    /// Encoded bytes read.
    pub bytes: u64,
    /// How far loading is behind a set arrival rate; `None` where none is set.
    pub behind: Option<Nanos>,
}

/// A running pipeline.
pub struct Pipeline {
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
    _preprocess: rayon::ThreadPool,
    lanes: AtomicUsize,
    infer_workers: AtomicUsize,
    /// Knob changes, oldest first (bounded); its lock makes changes one after another.
    changes: Mutex<Vec<KnobChange>>,
    done: Arc<Done>,
    write_error: Arc<Mutex<Option<String>>>,
    start: Nanos,
}

/// Knob changes kept.
const MOST_CHANGES: usize = 256;

#[derive(Debug, Default)]
struct Done {
    flag: std::sync::Mutex<bool>,
    changed: std::sync::Condvar,
    seen: AtomicBool,
}

impl Done {
    fn set(&self) {
        *self.flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.seen.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    fn wait(&self, longest: Duration) -> bool {
        let flag = self.flag.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(flag, longest, |done| !*done);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Pipeline {
    /// Starts all stages. Threads and locks are listed in `registry`.
    ///
    /// # Errors
    /// Where the output file, a thread or a knob value is not to be had.
    pub fn start(parts: Parts, registry: Arc<Registry>) -> Result<Self, StartError> {
        if parts.once {
            refuse_batches(parts.knobs.get(KnobId::SourceCache))?;
        }
        let output = parts.output.map(|path| {
            let created = stages::respond::OutputFile::create(path.clone());
            created.map_err(|error| StartError::Output { path, error })
        });
        let output = output.transpose()?;
        let start = clock::now();
        let shared = Arc::new(share(
            parts.source,
            parts.engine,
            &parts.knobs,
            &registry,
            start,
            Limits {
                once: parts.once,
                max_pixels: parts.max_pixels,
                cache_bytes: parts.cache_bytes,
            },
        ));
        let threads = |error: &dyn std::fmt::Display| StartError::Threads(error.to_string());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = stages::load::runtime(&registry, if cores > 3 { 2 } else { 1 });
        let runtime = runtime.map_err(|error| threads(&error))?;
        let preprocess = stages::preprocess::start(&shared).map_err(|error| threads(&error))?;
        let done = Arc::new(Done::default());
        let write_error = Arc::new(Mutex::new(&registry, "output.error", None));
        spawn("decode-0", &shared, |shared| stages::decode::work(shared))
            .map_err(|e| threads(&e))?;
        let (finished, failed_writes) = (Arc::clone(&done), Arc::clone(&write_error));
        spawn("respond-0", &shared, move |shared| {
            stages::respond::work(shared, output, &failed_writes);
            finished.set();
        })
        .map_err(|error| threads(&error))?;
        let pipeline = Self {
            shared,
            runtime: Some(runtime),
            _preprocess: preprocess,
            lanes: AtomicUsize::new(0),
            infer_workers: AtomicUsize::new(0),
            changes: Mutex::new(&registry, "control", Vec::new()),
            done,
            write_error,
            start,
        };
        pipeline.grow_infer().map_err(|error| threads(&error))?;
        pipeline.grow_lanes();
        Ok(pipeline)
    }

    /// Obeys a command.
    ///
    /// # Errors
    /// Where a knob value is refused in this run; nothing changes then.
    pub fn command(&self, command: Command) -> Result<(), KnobError> {
        match command {
            Command::Set(id, value) => self.set(id, value),
            Command::Stop => {
                self.stop();
                Ok(())
            }
        }
    }

    fn set(&self, id: KnobId, value: KnobValue) -> Result<(), KnobError> {
        let shared = &*self.shared;
        // Read back as a person would write it: nobody sets what the table does not allow.
        id.spec().parse(&value.to_string())?;
        if shared.once && id == KnobId::SourceCache {
            refuse_batches(value)?;
        }
        let mut changes = self.changes.lock();
        let before = shared.knobs.get(id);
        if before == value {
            return Ok(());
        }
        let now = clock::now();
        let epoch = shared.knobs.set(id, value);
        shared.ledger.begin_segment(epoch, now, &shared.knobs.values());
        if changes.len() == MOST_CHANGES {
            changes.remove(0);
        }
        changes.push(KnobChange {
            at: now.saturating_sub(self.start),
            epoch,
            knob: id.spec().name.to_owned(),
            from: before.to_string(),
            to: value.to_string(),
        });
        self.put_in_force(id, now)
    }

    /// Tells whoever has to know of a knob's new value.
    fn put_in_force(&self, id: KnobId, now: Nanos) -> Result<(), KnobError> {
        let shared = &*self.shared;
        let count = || shared.knobs.int(id) as usize;
        match id {
            KnobId::LoadConcurrency => self.grow_lanes(),
            KnobId::ArrivalRate => {
                shared.arrivals.lock().set_rate(shared.knobs.arrival_rate(), now)
            }
            KnobId::SourceCache => shared.batches.set_replay(shared.cache_mode() == "batches"),
            KnobId::QueueLoaded => shared.loaded.set_capacity(count()),
            KnobId::QueueBatches => shared.batches.set_capacity(count()),
            KnobId::PreprocessThreads => {
                shared.preprocess_gate.set_limit(count());
                shared.loaded.wake_all();
            }
            KnobId::InferBatch => shared.batches.set_size(count()),
            KnobId::InferThreads => {
                shared.infer_gate.set_limit(count());
                shared.batches.wake_all();
                self.grow_infer().map_err(|_| KnobError::Refused {
                    knob: id.spec().name,
                    value: shared.knobs.get(id).to_string(),
                    reason: "the system gives no more threads: set fewer",
                })?;
            }
            KnobId::InferMaxDelay => shared.batches.set_max_delay(shared.knobs.millis(id)),
            KnobId::LoadDelay | KnobId::PreprocessFilter => {}
        }
        shared.load_changed.notify_waiters();
        Ok(())
    }

    /// Starts the lanes that the knob wants and that do not exist yet.
    fn grow_lanes(&self) {
        let Some(runtime) = &self.runtime else { return };
        let wanted = self.shared.knobs.int(KnobId::LoadConcurrency) as usize;
        for index in self.lanes.fetch_max(wanted, Ordering::AcqRel)..wanted {
            runtime.spawn(stages::load::lane(Arc::clone(&self.shared), index));
        }
    }

    /// Starts the infer workers that the knob wants and that do not exist yet.
    fn grow_infer(&self) -> std::io::Result<()> {
        let wanted = self.shared.knobs.int(KnobId::InferThreads) as usize;
        while self.infer_workers.load(Ordering::Acquire) < wanted {
            let index = self.infer_workers.load(Ordering::Acquire);
            stages::infer::start(&self.shared, index)?;
            self.infer_workers.store(index + 1, Ordering::Release);
        }
        Ok(())
    }

    /// Begins no more reads; what is under way comes out.
    pub fn stop(&self) {
        let shared = &*self.shared;
        shared.stopping.store(true, Ordering::SeqCst);
        shared.batches.set_replay(false);
        shared.load_changed.notify_waiters();
        shared.close_if_over();
    }

    /// Waits until all that was read has come out, at most for `longest`; tells whether it has.
    pub fn wait(&self, longest: Duration) -> bool {
        self.done.wait(longest)
    }

    /// Whether all that was read has come out and nothing more will.
    pub fn is_done(&self) -> bool {
        self.done.seen.load(Ordering::Acquire)
    }

    /// Whether no more reads are begun.
    pub fn is_stopping(&self) -> bool {
        self.shared.stopping.load(Ordering::SeqCst)
    }

    /// Closes the account: what has not come out by now is abandoned. Returns how many that are.
    pub fn abandon(&self) -> u64 {
        let shared = &*self.shared;
        shared.ledger.close();
        shared.loaded.abort();
        shared.batches.abort();
        shared.results.abort();
        shared.answers.abort();
        shared.preprocess_gate.open();
        shared.infer_gate.open();
        shared.load_changed.notify_waiters();
        let (predicted, failed) = shared.ledger.counts();
        shared.counters.read().saturating_sub(predicted + failed)
    }

    /// What kept answers from being written to the output file, if anything did.
    pub fn write_error(&self) -> Option<String> {
        self.write_error.lock().clone()
    }

    /// When it started, on the line of [`clock::now`].
    pub const fn started(&self) -> Nanos {
        self.start
    }

    /// The input.
    pub fn source(&self) -> &Source {
        &self.shared.source
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.shared.engine
    }

    /// The knobs' values and epoch.
    pub fn knobs(&self) -> (KnobValues, u32) {
        (self.shared.knobs.values(), self.shared.knobs.epoch())
    }

    /// The latest knob changes, oldest first.
    pub fn changes(&self) -> Vec<KnobChange> {
        self.changes.lock().clone()
    }

    /// Knobs whose new value is not in force yet.
    pub fn applying(&self) -> Vec<&'static str> {
        let shared = &*self.shared;
        let mut names = Vec::new();
        if shared.cache_mode() == "batches" && !shared.batches.is_replaying() {
            names.push(KnobId::SourceCache.spec().name);
        }
        if shared.batches.size_in_force() != shared.knobs.int(KnobId::InferBatch) {
            names.push(KnobId::InferBatch.spec().name);
        }
        names
    }

    /// Images in.
    pub fn intake(&self) -> Intake {
        Intake {
            read: self.shared.counters.read(),
            bytes: self.shared.counters.bytes.load(Ordering::Relaxed),
            behind: self.shared.arrivals.lock().behind(clock::now()),
        }
    }

    /// Images out: predicted and failed.
    pub fn counts(&self) -> (u64, u64) {
        self.shared.ledger.counts()
    }

    /// Latency of the predicted images.
    pub fn latency(&self) -> Histogram {
        self.shared.ledger.latency()
    }

    /// What came of the images by epoch, oldest first, and how many epochs were dropped.
    pub fn segments(&self) -> (Vec<Segment>, u64) {
        self.shared.ledger.segments()
    }

    /// Failures, unless there is none since `version`.
    pub fn failures_since(&self, version: u64) -> Option<Failures> {
        self.shared.ledger.failures_since(version)
    }

    /// The five stages, source to sink.
    pub fn stages(&self) -> Vec<StageReading> {
        let shared = &*self.shared;
        let workers = |stage| match stage {
            Stage::Load => shared.knobs.int(KnobId::LoadConcurrency) as u32,
            Stage::Preprocess => shared.knobs.int(KnobId::PreprocessThreads) as u32,
            Stage::Infer => shared.knobs.int(KnobId::InferThreads) as u32,
            Stage::Decode | Stage::Respond => 1,
        };
        let reading = |stage| {
            let counters = shared.counters.stage(stage);
            let device_busy =
                (stage == Stage::Infer).then(|| shared.engine.device_busy()).flatten();
            StageReading {
                stage,
                workers: workers(stage),
                done: counters.done(),
                service: counters.service.read(),
                device_busy,
            }
        };
        Stage::ALL.into_iter().map(reading).collect()
    }

    /// The queues, source to sink.
    pub fn queues(&self) -> Vec<QueueReading> {
        let shared = &*self.shared;
        let (loaded, batches) = (&shared.loaded, &shared.batches);
        let reading = |name, unit, track| QueueReading { name, unit, track };
        vec![
            reading(loaded.name(), "images", loaded.track()),
            reading("batches", "batches", batches.track()),
            reading(shared.results.name(), "batches", shared.results.track()),
            reading(shared.answers.name(), "batches", shared.answers.track()),
        ]
    }

    /// All that is measured.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.shared.registry
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.stop();
        self.abandon();
        if let Some(runtime) = self.runtime.take() {
            // A read that hangs (a dead network share) must not hold up the end.
            runtime.shutdown_background();
        }
    }
}

struct Limits {
    once: bool,
    max_pixels: u64,
    cache_bytes: u64,
}

fn share(
    source: Source,
    engine: Arc<dyn Engine>,
    knobs: &KnobValues,
    registry: &Arc<Registry>,
    start: Nanos,
    limits: Limits,
) -> Shared {
    let live = LiveKnobs::new(knobs);
    let count = |id| live.int(id) as usize;
    let mut arrivals = Arrivals::default();
    arrivals.set_rate(live.arrival_rate(), start);
    let batches = Batches::new(
        registry,
        engine.input().values(),
        count(KnobId::QueueBatches),
        count(KnobId::InferBatch),
        live.millis(KnobId::InferMaxDelay),
    );
    let shared = Shared {
        loaded: Queue::new(registry, "loaded", count(KnobId::QueueLoaded)),
        batches,
        results: Queue::new(registry, "results", RESULTS_CAPACITY),
        answers: Queue::new(registry, "answers", ANSWERS_CAPACITY),
        preprocess_gate: Gate::new(registry, "gate.preprocess", count(KnobId::PreprocessThreads)),
        infer_gate: Gate::new(registry, "gate.infer", count(KnobId::InferThreads)),
        buffers: Buffers::new(registry),
        cache: ByteCache::new(source.len(), limits.cache_bytes),
        arrivals: Mutex::new(registry, "arrivals", arrivals),
        load_changed: Notify::new(),
        ledger: Ledger::new(registry, start, knobs),
        counters: Counters::default(),
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

fn refuse_batches(value: KnobValue) -> Result<(), KnobError> {
    if value.to_string() == "batches" {
        return Err(KnobError::Refused {
            knob: KnobId::SourceCache.spec().name,
            value: value.to_string(),
            reason: "ready batches are taken again and again, and --once takes each image once: use `bytes`",
        });
    }
    Ok(())
}

fn spawn(
    name: &str,
    shared: &Arc<Shared>,
    work: impl FnOnce(&Shared) + Send + 'static,
) -> std::io::Result<()> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared)).map(drop)
}
