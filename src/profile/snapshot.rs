//! The contract between measuring and looking: everything that a screen, a report or a saved run knows.
//!
//! A [`Snapshot`] holds cumulative counters, open states and a time: never a rate. Rates are the
//! difference of two snapshots, a [`Window`](super::window::Window), so that dropped frames, pause,
//! seek and the final report all agree. What could not be measured is `None`.
//!
//! Snapshots are saved and come back in later versions: a field that is added is `#[serde(default)]`, and
//! none changes its meaning.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::pipeline::Stage;
use crate::pipeline::knobs::{KnobValue, KnobValues};
use crate::probe::clock::Nanos;
use crate::probe::histogram::Histogram;

pub use crate::pipeline::infer::Notice;
pub use crate::pipeline::infer::{DeviceTimes, EngineInfo};
pub use crate::pipeline::knobs::KnobChange;
pub use crate::pipeline::ledger::{FailedItem, Segment};
pub use crate::pipeline::source::InputInfo;
pub use crate::probe::gpu::{Gauge, GpuSample, GpuWatch, Metric, Throttle};
pub use crate::probe::lock::Switching;
pub use crate::probe::state::{Wait, Waits, named_waits};

/// Everything that was measured up to one moment of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// What does not change during the run.
    pub run: Arc<RunInfo>,
    /// When it was taken, since the start of the run.
    pub at: Nanos,
    /// Where the run stands.
    pub phase: Phase,
    /// How many knob changes there were.
    pub epoch: u32,
    /// The knobs' values.
    pub knobs: KnobValues,
    /// Names of knobs whose new value is not in force yet ("applying…").
    pub applying: Vec<String>,
    /// The latest knob changes, oldest first (bounded).
    pub changes: Arc<Vec<KnobChange>>,
    /// What in this run is synthetic, emulated or recorded.
    pub labels: Vec<Label>,
    /// What a person should know that happened, oldest first (bounded).
    #[serde(default)]
    pub notices: Vec<Notice>,
    /// Images in and out.
    pub items: Items,
    /// Latency of predicted images: from the start of the read, or the intended arrival.
    pub latency: Histogram,
    /// Predictions and latency by the epoch in which the image entered, oldest first (bounded).
    pub segments: Vec<Segment>,
    /// Older epochs with images that were dropped to keep `segments` bounded.
    pub segments_dropped: u64,
    /// The five stages, source to sink.
    pub stages: Vec<StageSample>,
    /// The queues between them, source to sink.
    pub queues: Vec<QueueSample>,
    /// Threads in a fixed order: by group, then by number.
    pub threads: Vec<ThreadSample>,
    /// Load lanes, one a read slot.
    pub lanes: Vec<LaneSample>,
    /// Instrumented locks, in order of creation.
    pub locks: Vec<LockSample>,
    /// Whether GPUs are watched, and why not.
    #[serde(default)]
    pub gpu_watch: GpuWatch,
    /// GPUs that the driver shows, in its order; parts of a GPU follow it.
    pub gpus: Vec<GpuSample>,
    /// The engine's own account of its device, where it keeps one.
    #[serde(default)]
    pub device: Option<DeviceSample>,
    /// The machine's CPU and memory.
    pub host: Option<HostSample>,
    /// What pipetop itself costs.
    pub own: OwnSample,
}

/// What does not change during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunInfo {
    /// A name for this run: start time and process id.
    pub id: String,
    /// The version of pipetop.
    pub version: String,
    /// The input.
    pub input: InputInfo,
    /// The inference engine.
    pub engine: EngineInfo,
    /// Cores that this process may use.
    pub cores: usize,
    /// The CPU's own name, where the system tells it.
    pub cpu: Option<String>,
    /// Each input is taken exactly once.
    pub once: bool,
    /// The planned length of the run in seconds, if one was set.
    pub duration_s: Option<f64>,
    /// Samples a second.
    pub sample_hz: f64,
    /// The run has no probes: threads, queues and locks are not measured.
    pub bare: bool,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Nothing has come out yet.
    #[default]
    Starting,
    /// Images come out.
    Running,
    /// Loading has stopped; what is under way comes out.
    Draining,
    /// Nothing more will come out.
    Done,
}

/// What is not plainly measured carries one of these words wherever it is shown or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelWord {
    /// Made-up input.
    Synthetic,
    /// Something that behaves like the real thing: an engine, a delay, a lock.
    Emulated,
    /// A replayed run.
    Recorded,
}

impl LabelWord {
    /// The word itself.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Synthetic => "synthetic",
            Self::Emulated => "emulated",
            Self::Recorded => "recorded",
        }
    }
}

/// A label: which word, and of what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The word.
    pub word: LabelWord,
    /// What it speaks of: `input`, `engine`, `load.delay`.
    pub what: String,
}

/// Images in and out, since the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Items {
    /// Reads begun, loops counted again.
    pub read: u64,
    /// Images predicted.
    pub predicted: u64,
    /// Images that failed.
    pub failed: u64,
    /// Images given up at the stop; known when the run is done.
    pub abandoned: u64,
    /// Encoded bytes read.
    pub bytes: u64,
    /// Failures by reason.
    pub failures: BTreeMap<String, u64>,
    /// The first failures with their names (bounded).
    pub failed_items: Arc<Vec<FailedItem>>,
    /// How far loading is behind a set arrival rate; `None` where none is set.
    pub behind: Option<Nanos>,
}

/// A stage's counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageSample {
    /// Which stage.
    pub stage: Stage,
    /// Workers that may run (reads in flight for load).
    pub workers: u32,
    /// Images that left the stage, failed ones included.
    pub done: u64,
    /// Service time of each image; that of its batch in infer.
    pub service: Histogram,
    /// Time during which the stage's device had work, where it has a device.
    pub device_busy: Option<Nanos>,
}

/// A queue's counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueSample {
    /// `loaded`, `batches`, `results` or `answers`.
    pub name: String,
    /// What it counts: `images` or `batches`.
    pub unit: String,
    /// Capacity now.
    pub capacity: u64,
    /// Depth now (batches being filled included).
    pub depth: u64,
    /// Of these, ready to be taken.
    pub ready: u64,
    /// Depth × time.
    pub depth_time: u128,
    /// Time with something ready to be taken.
    pub ready_time: Nanos,
    /// Time without room for another.
    pub full_time: Nanos,
    /// Handed over so far.
    pub popped: u64,
}

/// To whom a thread belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// A stage's own, registered.
    Stage(Stage),
    /// The runtime beneath the load lanes.
    Runtime,
    /// pipetop's own: screen, sampler, the watch over GPUs; out of the totals.
    Own,
    /// A library's: CPU time only.
    Foreign,
}

/// A thread's counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadSample {
    /// `prep-0`, `infer-1`, …
    pub name: String,
    /// The kernel's id.
    pub tid: i32,
    /// Its group.
    pub group: Group,
    /// What it waits for now; `None` while it works, or where it is not registered.
    pub state: Option<Wait>,
    /// Since when it has been measured, since the start of the run.
    pub since: Nanos,
    /// When it ended, since the start of the run, if it has.
    pub until: Option<Nanos>,
    /// CPU time since `since`.
    pub cpu: Option<Nanos>,
    /// Time on the run queue since then: wants a CPU and has none.
    pub runnable: Option<Nanos>,
    /// Declared waits since then; `None` where the thread is not registered.
    #[serde(with = "named_waits::optional")]
    pub waits: Option<Waits>,
    /// The lock that it waits for now.
    pub lock: Option<String>,
    /// Images it has finished.
    pub items: u64,
    /// Voluntary context switches (refreshed about once a second).
    pub voluntary: Option<u64>,
    /// Involuntary context switches (refreshed about once a second).
    pub involuntary: Option<u64>,
    /// The core it ran on last.
    pub core: Option<u32>,
    /// When switches and core were looked at, since the start of the run: less often than samples
    /// are taken. `None` before the first look.
    #[serde(default)]
    pub switches_at: Option<Nanos>,
}

/// A load lane's counters: one read slot, whichever thread serves it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneSample {
    /// `lane-0` …
    pub name: String,
    /// What it does now; `None` between two waits.
    pub state: Option<Wait>,
    /// Since when it has been measured, since the start of the run.
    pub since: Nanos,
    /// Its waits: io, delay, backpressured, starved, parked.
    #[serde(with = "named_waits")]
    pub waits: Waits,
    /// Images it has read.
    pub items: u64,
}

/// An instrumented lock's counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockSample {
    /// Its name.
    pub name: String,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Of these, and of those that still wait, how many had to wait.
    pub contended: u64,
    /// Time waited by all threads together, waits that are not over included.
    pub wait: Nanos,
    /// The longest wait, likewise.
    pub wait_max: Nanos,
    /// Waits by length.
    pub waits: Histogram,
    /// Time held, where it is measured.
    pub hold: Option<Nanos>,
    /// Whether each hold was timed; otherwise one in 32 was, and `hold` is an estimate.
    pub hold_exact: bool,
    /// Who holds it now.
    pub holder: Option<String>,
    /// How many wait now.
    pub waiters: u32,
    /// How it went from thread to thread; `None` but for an emulated GIL.
    #[serde(default)]
    pub switching: Option<Switching>,
}

impl LockSample {
    /// Its name, with the word that it carries where it is emulated.
    pub fn title(&self) -> String {
        match self.switching {
            Some(_) => format!("{} ({})", self.name, LabelWord::Emulated.word()),
            None => self.name.clone(),
        }
    }
}

/// The engine's own account of its device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceSample {
    /// Which device, where it is one of those that the driver shows.
    pub uuid: Option<Arc<str>>,
    /// Where its time went.
    pub times: DeviceTimes,
}

/// The machine's CPU and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSample {
    /// When the machine was looked at, since the start of the run: less often than samples are taken.
    pub at: Nanos,
    /// Logical CPUs of the machine.
    pub cpus: u32,
    /// Busy time of all its CPUs together, from the start of the run to `at`.
    pub cpu_busy: Nanos,
    /// Memory in use, bytes.
    pub memory_used: u64,
    /// Memory there is, bytes.
    pub memory_total: u64,
}

/// What pipetop itself costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnSample {
    /// CPU time of its own threads: screen, sampler, the watch over GPUs.
    pub cpu: Option<Nanos>,
    /// CPU time of the whole process.
    pub process_cpu: Option<Nanos>,
    /// Resident memory of the process, bytes.
    pub rss: Option<u64>,
    /// Samples taken late or not at all.
    pub samples_missed: u64,
}

impl Snapshot {
    /// The counters of a stage.
    pub fn stage(&self, stage: Stage) -> Option<&StageSample> {
        self.stages.iter().find(|sample| sample.stage == stage)
    }

    /// The counters of a queue.
    pub fn queue(&self, name: &str) -> Option<&QueueSample> {
        self.queues.iter().find(|queue| queue.name == name)
    }

    /// The label words of this run, each once, in a fixed order.
    pub fn label_words(&self) -> Vec<&'static str> {
        let mut words: Vec<_> = self.labels.iter().map(|label| label.word).collect();
        words.sort_unstable();
        words.dedup();
        words.into_iter().map(LabelWord::word).collect()
    }

    /// Whether something carries a label: `is_labelled("input")`.
    pub fn label_of(&self, what: &str) -> Option<LabelWord> {
        self.labels.iter().find(|label| label.what == what).map(|label| label.word)
    }

    /// The GPU that the engine works on: by its UUID, or the only one that the run may use.
    pub fn engine_gpu(&self) -> Option<usize> {
        if let Some(uuid) = self.device.as_ref().and_then(|device| device.uuid.as_deref()) {
            return self.gpus.iter().position(|gpu| gpu.facts.uuid == uuid);
        }
        let mut usable = self.gpus.iter().enumerate();
        let mut usable = usable.by_ref().filter(|(_, gpu)| gpu.usable != Some(false));
        let only = usable.next().filter(|_| usable.next().is_none());
        let works = self.run.engine.device && self.run.engine.kind != "emulated";
        only.filter(|_| works).map(|(index, _)| index)
    }

    /// One knob's value.
    pub fn knob(&self, id: crate::pipeline::knobs::KnobId) -> KnobValue {
        self.knobs.get(id)
    }
}

#[cfg(test)]
impl Snapshot {
    /// A snapshot at the start of a run in which nothing is known, for tests.
    pub(crate) fn empty() -> Self {
        Self {
            run: Arc::new(RunInfo { sample_hz: 10.0, ..RunInfo::default() }),
            at: 0,
            phase: Phase::Running,
            epoch: 0,
            knobs: KnobValues::defaults(1),
            applying: Vec::new(),
            notices: Vec::new(),
            changes: Arc::default(),
            labels: Vec::new(),
            items: Items::default(),
            latency: Histogram::default(),
            segments: Vec::new(),
            segments_dropped: 0,
            stages: Vec::new(),
            queues: Vec::new(),
            threads: Vec::new(),
            lanes: Vec::new(),
            locks: Vec::new(),
            gpu_watch: GpuWatch::Off,
            gpus: Vec::new(),
            device: None,
            host: None,
            own: OwnSample::default(),
        }
    }
}

#[cfg(test)]
impl ThreadSample {
    /// A thread of preprocess of which nothing was measured, for tests.
    pub(crate) fn unmeasured(name: &str, tid: i32) -> Self {
        Self {
            until: None,
            name: name.to_owned(),
            tid,
            group: Group::Stage(Stage::Preprocess),
            state: None,
            since: 0,
            cpu: None,
            runnable: None,
            waits: None,
            lock: None,
            items: 0,
            voluntary: None,
            involuntary: None,
            core: None,
            switches_at: None,
        }
    }
}
