//! The sampler: one thread that reads all cells at a fixed rate and hands out snapshots.
//!
//! It only reads: the pipeline goes on whether or not anybody samples it.

mod foreign;
mod host;
mod threads;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use self::host::Host;
use self::threads::Threads;
use super::snapshot::{
    DeviceSample, EngineInfo, GpuWatch, InputInfo, Items, Label, LabelWord, LaneSample, LockSample,
    OwnSample, Phase, QueueSample, RunInfo, Snapshot, StageSample, ThreadSample,
};
use crate::pipeline::control::Pipeline;
use crate::pipeline::knobs::{KnobId, KnobValue, KnobValues};
use crate::pipeline::ledger::Failures;
use crate::probe::clock::{self, Nanos};
use crate::probe::gpu::Gpus;
use crate::probe::os;

pub use crate::probe::registry::OWN;

/// Takes snapshots of one pipeline.
pub struct Assembler {
    pipeline: Arc<Pipeline>,
    run: Arc<RunInfo>,
    threads: Threads,
    host: Host,
    gpus: Option<Gpus>,
    failures: Failures,
    failed_items: Arc<Vec<super::snapshot::FailedItem>>,
    missed: Arc<AtomicU64>,
}

impl Assembler {
    /// An assembler for a pipeline; `run` is what does not change.
    pub fn new(pipeline: Arc<Pipeline>, run: RunInfo) -> Self {
        Self {
            threads: Threads::new(pipeline.started()),
            host: Host::new(pipeline.started()),
            gpus: None,
            run: Arc::new(run),
            pipeline,
            failures: Failures::default(),
            failed_items: Arc::default(),
            missed: Arc::default(),
        }
    }

    /// Takes in what is known of GPUs too.
    #[must_use]
    pub fn with_gpus(self, gpus: Gpus) -> Self {
        Self { gpus: Some(gpus), ..self }
    }

    /// A snapshot as of now.
    pub fn snapshot(&mut self) -> Snapshot {
        let pipeline = Arc::clone(&self.pipeline);
        // What has come out is read before what went in: never more out than in.
        let (predicted, failed) = pipeline.counts();
        self.refresh_failures();
        let latency = pipeline.latency();
        let (segments, segments_dropped) = pipeline.segments();
        let intake = pipeline.intake();
        let (knobs, epoch) = pipeline.knobs();
        let (now, threads) = self.threads.read(pipeline.registry());
        let (gpu_watch, gpus) = self.gpus.as_ref().map(Gpus::read).unwrap_or_default();
        let left = intake.read.saturating_sub(predicted + failed);
        Snapshot {
            run: Arc::clone(&self.run),
            at: now.saturating_sub(pipeline.started()),
            phase: phase(&pipeline, predicted + failed),
            epoch,
            labels: labels(&self.run, &knobs, &gpu_watch),
            knobs,
            applying: pipeline.applying().into_iter().map(str::to_owned).collect(),
            changes: Arc::new(pipeline.changes()),
            items: Items {
                read: intake.read,
                predicted,
                failed,
                abandoned: if pipeline.is_given_up() { left } else { 0 },
                bytes: intake.bytes,
                failures: self.failures.by_reason.clone(),
                failed_items: Arc::clone(&self.failed_items),
                behind: intake.behind,
            },
            latency,
            segments,
            segments_dropped,
            stages: stages(&pipeline),
            queues: queues(&pipeline),
            locks: locks(&pipeline, &threads),
            lanes: lanes(&pipeline, now),
            own: self.own(&threads),
            threads,
            gpu_watch,
            gpus,
            device: device(&pipeline),
            host: self.host.read(now),
        }
    }

    fn refresh_failures(&mut self) {
        if let Some(failures) = self.pipeline.failures_since(self.failures.version) {
            self.failed_items = Arc::new(failures.items.clone());
            self.failures = failures;
        }
    }

    fn own(&self, threads: &[ThreadSample]) -> OwnSample {
        let own = threads.iter().filter(|thread| thread.group == super::snapshot::Group::Own);
        OwnSample {
            cpu: own.map(|thread| thread.cpu).sum(),
            process_cpu: os::process_cpu(),
            rss: os::resident_bytes(),
            samples_missed: self.missed.load(Ordering::Relaxed),
        }
    }
}

fn phase(pipeline: &Pipeline, out: u64) -> Phase {
    if pipeline.is_done() || pipeline.is_given_up() {
        Phase::Done
    } else if pipeline.is_stopping() {
        Phase::Draining
    } else if out == 0 {
        Phase::Starting
    } else {
        Phase::Running
    }
}

fn labels(run: &RunInfo, knobs: &KnobValues, gpus: &GpuWatch) -> Vec<Label> {
    let label = |word, what: &str| Label { word, what: what.to_owned() };
    let mut labels = Vec::new();
    if run.input.kind == "synthetic" {
        labels.push(label(LabelWord::Synthetic, "input"));
    }
    if run.engine.kind == "emulated" {
        labels.push(label(LabelWord::Emulated, "engine"));
    }
    if knobs.get(KnobId::LoadDelay) != KnobValue::Millis(0.0) {
        labels.push(label(LabelWord::Emulated, KnobId::LoadDelay.spec().name));
    }
    // Of both, the first word is the plain thing itself.
    let is_not_plain = |id| !matches!(knobs.get(id), KnobValue::Choice(0, _));
    for (id, word) in [
        (KnobId::PreprocessGil, LabelWord::Emulated),
        (KnobId::PreprocessWork, LabelWord::Synthetic),
    ] {
        if is_not_plain(id) {
            labels.push(label(word, id.spec().name));
        }
    }
    if matches!(gpus, GpuWatch::On { recorded: true, .. }) {
        labels.push(label(LabelWord::Recorded, "gpus"));
    }
    labels
}

fn stages(pipeline: &Pipeline) -> Vec<StageSample> {
    let sample = |reading: crate::pipeline::observe::StageReading| StageSample {
        stage: reading.stage,
        workers: reading.workers,
        done: reading.done,
        service: reading.service,
        device_busy: reading.device_busy,
    };
    pipeline.stages().into_iter().map(sample).collect()
}

fn device(pipeline: &Pipeline) -> Option<DeviceSample> {
    let engine = pipeline.engine();
    let times = engine.device_times()?;
    Some(DeviceSample { uuid: engine.device_uuid().map(Into::into), times })
}

fn queues(pipeline: &Pipeline) -> Vec<QueueSample> {
    if pipeline.registry().is_bare() {
        return Vec::new();
    }
    let sample = |reading: crate::pipeline::observe::QueueReading| QueueSample {
        name: reading.name.to_owned(),
        unit: reading.unit.to_owned(),
        capacity: reading.track.capacity,
        depth: reading.track.depth,
        ready: reading.track.ready,
        depth_time: reading.track.depth_time,
        ready_time: reading.track.ready_time,
        full_time: reading.track.full_time,
        popped: reading.track.popped,
    };
    pipeline.queues().into_iter().map(sample).collect()
}

fn lanes(pipeline: &Pipeline, now: Nanos) -> Vec<LaneSample> {
    let lanes = pipeline.registry().lanes();
    let sample = |lane: &Arc<crate::probe::registry::Lane>| {
        let reading = lane.cell.read(now);
        LaneSample {
            name: lane.name.clone(),
            state: reading.state,
            since: lane.cell.birth().saturating_sub(pipeline.started()),
            waits: reading.waits,
            items: reading.items,
        }
    };
    lanes.iter().map(sample).collect()
}

fn locks(pipeline: &Pipeline, threads: &[ThreadSample]) -> Vec<LockSample> {
    let names: BTreeMap<i32, &str> =
        threads.iter().map(|thread| (thread.tid, thread.name.as_str())).collect();
    let locks = pipeline.registry().locks();
    let sample = |lock: &Arc<crate::probe::lock::LockStats>| {
        let reading = lock.read();
        LockSample {
            name: reading.name,
            acquisitions: reading.acquisitions,
            contended: reading.contended,
            wait: reading.wait,
            wait_max: reading.wait_max,
            waits: reading.waits,
            hold: reading.hold,
            hold_exact: reading.hold_exact,
            holder: reading.holder.and_then(|tid| names.get(&tid)).map(|name| (*name).to_owned()),
            waiters: reading.waiters,
            switching: reading.switching,
        }
    };
    locks.iter().map(sample).collect()
}

/// What does not change during a run of `pipeline`.
pub fn run_info(
    pipeline: &Pipeline,
    once: bool,
    duration: Option<Duration>,
    sample_hz: f64,
) -> RunInfo {
    let input: InputInfo = pipeline.source().info().clone();
    let engine: EngineInfo = pipeline.engine().info().clone();
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let started = since_1970.map_or(0, |time| time.as_millis());
    RunInfo {
        id: format!("{started}-{}", std::process::id()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        input,
        engine,
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        cpu: host::cpu_name(),
        once,
        duration_s: duration.map(|duration| duration.as_secs_f64()),
        sample_hz,
        bare: pipeline.registry().is_bare(),
    }
}

/// A running sampler.
#[derive(Debug)]
pub struct Sampler {
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    latest: Mutex<Arc<Snapshot>>,
    stop: AtomicBool,
}

impl Sampler {
    /// Starts sampling at `hz`; each snapshot goes to `sink` too, which must not block.
    ///
    /// # Errors
    /// Where the system has no thread to give.
    pub fn start(
        mut assembler: Assembler,
        hz: f64,
        mut sink: impl FnMut(&Arc<Snapshot>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let first = Arc::new(assembler.snapshot());
        sink(&first);
        let shared = Arc::new(Shared { latest: Mutex::new(first), stop: AtomicBool::new(false) });
        let period = Duration::from_secs_f64(1.0 / hz).as_nanos() as Nanos;
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("sampler".to_owned()).spawn(move || {
            let registry = Arc::clone(assembler.pipeline.registry());
            let _registered = registry.register("sampler", OWN);
            // The end is seen when it comes: a short run's rate must not include waiting for a sample.
            assembler.pipeline.wake_when_done(std::thread::current());
            let mut end_seen = false;
            let mut due = clock::now() + period;
            let mut take = |assembler: &mut Assembler| {
                let snapshot = Arc::new(assembler.snapshot());
                sink(&snapshot);
                *for_thread.latest.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
            };
            while !for_thread.stop.load(Ordering::Acquire) {
                std::thread::park_timeout(Duration::from_nanos(due.saturating_sub(clock::now())));
                let ended = assembler.pipeline.is_done() && !end_seen;
                if clock::now() < due && !ended {
                    continue;
                }
                end_seen |= ended;
                take(&mut assembler);
                if clock::now() >= due {
                    let late = clock::now().saturating_sub(due) / period;
                    assembler.missed.fetch_add(late, Ordering::Relaxed);
                    due += (late + 1) * period;
                }
            }
            // Whatever came between the newest sample and the stop is in the last one.
            take(&mut assembler);
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The newest snapshot.
    pub fn latest(&self) -> Arc<Snapshot> {
        Arc::clone(&self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes one last snapshot and ends.
    pub fn finish(mut self) -> Arc<Snapshot> {
        self.end();
        self.latest()
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!(
                    "the sampler panicked; the newest snapshot before that is the last"
                );
            }
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}
