//! A running pipeline: started from its parts, turned by commands, watched by the sampler, stopped.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;

use super::infer::Engine;
use super::knobs::{Command, KnobChange, KnobError, KnobId, KnobValue, KnobValues};
use super::preprocess::counted;
use super::shared::{Limits, Shared};
use super::source::Source;
use super::stages;
use crate::probe::clock::{self, Nanos};
use crate::probe::lock::Mutex;
use crate::probe::registry::Registry;

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
    /// The most bytes that batches may take together: knobs that would want more are refused.
    pub batch_bytes: u64,
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

/// A running pipeline.
pub struct Pipeline {
    pub(super) shared: Arc<Shared>,
    runtime: Option<Runtime>,
    _preprocess: rayon::ThreadPool,
    /// Whether loading has begun.
    begun: AtomicBool,
    lanes: AtomicUsize,
    infer_workers: AtomicUsize,
    /// Knob changes, oldest first (bounded); its lock makes changes one after another.
    pub(super) changes: Mutex<Vec<KnobChange>>,
    batch_bytes: u64,
    done: Arc<Done>,
    pub(super) write_error: Arc<Mutex<Option<String>>>,
    pub(super) start: Nanos,
}

/// Knob changes kept.
const MOST_CHANGES: usize = 256;

#[derive(Debug, Default)]
struct Done {
    flag: std::sync::Mutex<bool>,
    changed: std::sync::Condvar,
    seen: AtomicBool,
    watcher: std::sync::Mutex<Option<std::thread::Thread>>,
}

impl Done {
    fn set(&self) {
        *self.flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.seen.store(true, Ordering::Release);
        self.changed.notify_all();
        if let Some(watcher) = &*self.watcher.lock().unwrap_or_else(PoisonError::into_inner) {
            watcher.unpark();
        }
    }

    fn wait(&self, longest: Duration) -> bool {
        let flag = self.flag.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(flag, longest, |done| !*done);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Pipeline {
    /// Starts a pipeline: [`Self::prepare`], then [`Self::begin`].
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn start(parts: Parts, registry: &Arc<Registry>) -> Result<Self, StartError> {
        let pipeline = Self::prepare(parts, registry)?;
        pipeline.begin();
        Ok(pipeline)
    }

    /// Begins to load.
    pub fn begin(&self) {
        self.begun.store(true, Ordering::Release);
        self.grow_lanes();
    }

    /// Starts all stages, but loads nothing yet. Threads and locks are listed in `registry`.
    ///
    /// # Errors
    /// Where the output file, a thread, memory or a knob value is not to be had.
    pub fn prepare(parts: Parts, registry: &Arc<Registry>) -> Result<Self, StartError> {
        if parts.once {
            refuse_batches(parts.knobs.get(KnobId::SourceCache))?;
        }
        refuse_too_much(&parts.knobs, parts.engine.input().bytes(), parts.batch_bytes)?;
        let output = parts.output.map(|path| {
            let created = stages::respond::OutputFile::create(path.clone());
            created.map_err(|error| StartError::Output { path, error })
        });
        let output = output.transpose()?;
        calibrate_for(&parts.knobs);
        let start = clock::now();
        let shared = Arc::new(Shared::new(
            parts.source,
            parts.engine,
            &parts.knobs,
            registry,
            start,
            &Limits {
                once: parts.once,
                max_pixels: parts.max_pixels,
                cache_bytes: parts.cache_bytes,
            },
        ));
        let threads = |error: &dyn std::fmt::Display| StartError::Threads(error.to_string());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = stages::load::runtime(registry, if cores > 3 { 2 } else { 1 });
        let runtime = runtime.map_err(|error| threads(&error))?;
        let preprocess = stages::preprocess::start(&shared).map_err(|error| threads(&error))?;
        let done = Arc::new(Done::default());
        let write_error = Arc::new(Mutex::new(registry, "output.error", None));
        spawn("decode-0", &shared, stages::decode::work).map_err(|e| threads(&e))?;
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
            begun: AtomicBool::new(false),
            lanes: AtomicUsize::new(0),
            infer_workers: AtomicUsize::new(0),
            changes: Mutex::new(registry, "control", Vec::new()),
            batch_bytes: parts.batch_bytes,
            done,
            write_error,
            start,
        };
        pipeline.grow_infer().map_err(|error| threads(&error))?;
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
        let mut wanted = shared.knobs.values();
        wanted.set(id, value);
        refuse_too_much(&wanted, shared.engine.input().bytes(), self.batch_bytes)?;
        let before = shared.knobs.get(id);
        if before == value {
            return Ok(());
        }
        calibrate_for(&wanted);
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
                shared.arrivals.lock().set_rate(shared.knobs.arrival_rate(), now);
            }
            KnobId::SourceCache => shared.batches.set_replay(shared.cache_mode() == "batches"),
            KnobId::QueueLoaded => shared.loaded.set_capacity(count()),
            KnobId::QueueBatches => shared.batches.set_capacity(count()),
            KnobId::PreprocessThreads => {
                shared.preprocess_gate.set_limit(count());
                shared.loaded.wake_all();
            }
            KnobId::PreprocessGilInterval => shared.gil.set_interval(shared.knobs.millis(id)),
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
            KnobId::LoadDelay
            | KnobId::PreprocessFilter
            | KnobId::PreprocessScaledDecode
            | KnobId::PreprocessLock
            | KnobId::PreprocessGil
            | KnobId::PreprocessGilHold
            | KnobId::PreprocessWork
            | KnobId::PreprocessLoopRate => {}
        }
        shared.load_changed.notify_waiters();
        Ok(())
    }

    /// Starts the lanes that the knob wants and that do not exist yet.
    fn grow_lanes(&self) {
        let Some(runtime) = &self.runtime else { return };
        if !self.begun.load(Ordering::Acquire) {
            return;
        }
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

    /// Unparks `thread` when all that was read has come out.
    pub fn wake_when_done(&self, thread: std::thread::Thread) {
        *self.done.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    }

    /// Whether the account was closed before all that was read had come out.
    pub fn is_given_up(&self) -> bool {
        self.shared.ledger.is_closed()
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

/// Refuses knobs whose batches would not fit into memory: those in the queue, those in flight, and one
/// more that is being filled again.
fn refuse_too_much(knobs: &KnobValues, picture: usize, limit: u64) -> Result<(), KnobError> {
    let int = |id| match knobs.get(id) {
        KnobValue::Int(n) => n,
        _ => 0,
    };
    let (batch, queued) = (int(KnobId::InferBatch), int(KnobId::QueueBatches));
    let batches = queued + int(KnobId::InferThreads) + 1;
    let bytes = batches.saturating_mul(batch).saturating_mul(picture as u64);
    if bytes <= limit {
        return Ok(());
    }
    Err(KnobError::Refused {
        knob: KnobId::InferBatch.spec().name,
        value: format!("{batch} with {batches} batches"),
        reason: "the batches would want more memory than there is: set a smaller infer.batch, queue.batches \
                 or infer.threads",
    })
}

/// Measures how fast loops are counted before a worker needs to know.
fn calibrate_for(knobs: &KnobValues) {
    let is = |id, word: &str| knobs.get(id).to_string() == word;
    if is(KnobId::PreprocessGil, "release") || is(KnobId::PreprocessWork, "loop") {
        counted::calibrate();
    }
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
