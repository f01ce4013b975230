//! The table of all knobs.

use super::{KnobClass, KnobId, KnobKind, KnobSpec, Step};
use crate::pipeline::Stage;

const DELAYS: &[f64] = &[0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
const MAX_DELAYS: &[f64] = &[0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
const RATES: &[f64] =
    &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];

const INTERVALS: &[f64] =
    &[0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
/// The default is 10 µs: on CPython 3.11 with OpenCV 5.0 the calls `imdecode`, `resize` and `blobFromImage` and a
/// `queue.Queue` take 6 µs of CPU together on the smallest pictures there are, where nearly all is binding.
const HOLDS: &[f64] =
    &[0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];
const LOOP_RATES: &[f64] =
    &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4];

/// The words of `source.cache`.
pub const CACHES: &[&str] = &["none", "bytes", "batches"];
/// The words of `preprocess.filter`.
pub const FILTERS: &[&str] = &["nearest", "bilinear", "cubic", "lanczos3", "cubic-cv"];

/// The words of `preprocess.scaled_decode`.
pub const SCALED_DECODES: &[&str] = &["on", "off"];

/// The words of `preprocess.lock`.
pub const LOCKS: &[&str] = &["none", "pool"];

/// The words of `preprocess.gil`.
pub const GILS: &[&str] = &["off", "release", "hold"];

/// The words of `preprocess.work`.
pub const WORKS: &[&str] = &["image", "loop"];

/// The most workers that a thread knob allows.
pub const MAX_THREADS: u64 = 64;

/// The table, in the order of [`KnobId`].
pub const KNOBS: &[KnobSpec] = &[
    KnobSpec {
        id: KnobId::LoadConcurrency,
        name: "load.concurrency",
        label: "in flight",
        stage: Stage::Load,
        unit: "reads",
        kind: KnobKind::Int { min: 1, max: 256, step: Step::Double },
        class: KnobClass::Instant,
        help: "reads that may be in flight at a time",
    },
    KnobSpec {
        id: KnobId::LoadDelay,
        name: "load.delay",
        label: "delay",
        stage: Stage::Load,
        unit: "ms",
        kind: KnobKind::Millis { min: 0.0, max: 10_000.0, ladder: DELAYS },
        class: KnobClass::Instant,
        help: "emulated delay of each read, as a slow disk or network would add",
    },
    KnobSpec {
        id: KnobId::ArrivalRate,
        name: "arrival.rate",
        label: "arrival",
        stage: Stage::Load,
        unit: "img/s",
        kind: KnobKind::Rate { min: 0.1, max: 1e6, ladder: RATES },
        class: KnobClass::Instant,
        help: "images that arrive a second (latency then counts from the intended arrival), or `unlimited`",
    },
    KnobSpec {
        id: KnobId::SourceCache,
        name: "source.cache",
        label: "cache",
        stage: Stage::Load,
        unit: "",
        kind: KnobKind::Choice(CACHES),
        class: KnobClass::WarmUp,
        help: "feed from files (none), from memory (bytes) or as ready batches, to see each stage's ceiling",
    },
    KnobSpec {
        id: KnobId::QueueLoaded,
        name: "queue.loaded",
        label: "queue",
        stage: Stage::Load,
        unit: "images",
        kind: KnobKind::Int { min: 1, max: 4096, step: Step::Double },
        class: KnobClass::Instant,
        help: "capacity of the queue of loaded images",
    },
    KnobSpec {
        id: KnobId::PreprocessThreads,
        name: "preprocess.threads",
        label: "threads",
        stage: Stage::Preprocess,
        unit: "threads",
        kind: KnobKind::Int { min: 1, max: MAX_THREADS, step: Step::One },
        class: KnobClass::Instant,
        help: "preprocess workers that run: decode, resize, normalise",
    },
    KnobSpec {
        id: KnobId::PreprocessFilter,
        name: "preprocess.filter",
        label: "filter",
        stage: Stage::Preprocess,
        unit: "",
        kind: KnobKind::Choice(FILTERS),
        class: KnobClass::Instant,
        help: "resampling filter: Pillow's (cubic is its bicubic), antialiased but for nearest, or OpenCV's bicubic (cubic-cv)",
    },
    KnobSpec {
        id: KnobId::PreprocessScaledDecode,
        name: "preprocess.scaled_decode",
        label: "scaled",
        stage: Stage::Preprocess,
        unit: "",
        kind: KnobKind::Choice(SCALED_DECODES),
        class: KnobClass::Instant,
        help: "decode a JPEG no larger than the model's input needs (on), or in full and then resize it (off; the filters nearest and cubic-cv always do)",
    },
    KnobSpec {
        id: KnobId::PreprocessLock,
        name: "preprocess.lock",
        label: "lock",
        stage: Stage::Preprocess,
        unit: "",
        kind: KnobKind::Choice(LOCKS),
        class: KnobClass::Instant,
        help: "with `pool` the workers share scratch buffers behind one mutex, held for each image: to see what a shared lock does",
    },
    KnobSpec {
        id: KnobId::PreprocessGil,
        name: "preprocess.gil",
        label: "gil",
        stage: Stage::Preprocess,
        unit: "",
        kind: KnobKind::Choice(GILS),
        class: KnobClass::Instant,
        help: "emulated CPython GIL: let go during the native work (release), kept but for drop requests (hold), or none (off)",
    },
    KnobSpec {
        id: KnobId::PreprocessGilInterval,
        name: "preprocess.gil_interval",
        label: "interval",
        stage: Stage::Preprocess,
        unit: "ms",
        kind: KnobKind::Millis { min: 0.1, max: 1000.0, ladder: INTERVALS },
        class: KnobClass::Instant,
        help: "how long a worker waits for the emulated GIL before it asks its holder to drop it, as sys.setswitchinterval",
    },
    KnobSpec {
        id: KnobId::PreprocessGilHold,
        name: "preprocess.gil_hold",
        label: "gil hold",
        stage: Stage::Preprocess,
        unit: "µs",
        kind: KnobKind::Number { min: 0.0, max: 1e5, ladder: HOLDS },
        class: KnobClass::Instant,
        help: "binding work of each image with gil=release, done holding the emulated GIL: half before the native work, half after",
    },
    KnobSpec {
        id: KnobId::PreprocessWork,
        name: "preprocess.work",
        label: "work",
        stage: Stage::Preprocess,
        unit: "",
        kind: KnobKind::Choice(WORKS),
        class: KnobClass::Instant,
        help: "what a worker does with an image: its pixels, or a synthetic counted loop in their place (loop), of which nothing is predicted",
    },
    KnobSpec {
        id: KnobId::PreprocessLoopRate,
        name: "preprocess.loop_rate",
        label: "loops",
        stage: Stage::Preprocess,
        unit: "loops/s",
        kind: KnobKind::Number { min: 1.0, max: 1e4, ladder: LOOP_RATES },
        class: KnobClass::Instant,
        help: "how many such loops one thread does a second when nothing is in its way",
    },
    KnobSpec {
        id: KnobId::QueueBatches,
        name: "queue.batches",
        label: "queue",
        stage: Stage::Preprocess,
        unit: "batches",
        kind: KnobKind::Int { min: 1, max: 64, step: Step::Double },
        class: KnobClass::Instant,
        help: "capacity of the queue of batches, those being filled included",
    },
    KnobSpec {
        id: KnobId::InferBatch,
        name: "infer.batch",
        label: "batch",
        stage: Stage::Infer,
        unit: "images",
        kind: KnobKind::Int { min: 1, max: 512, step: Step::Double },
        class: KnobClass::WarmUp,
        help: "images a batch",
    },
    KnobSpec {
        id: KnobId::InferThreads,
        name: "infer.threads",
        label: "threads",
        stage: Stage::Infer,
        unit: "threads",
        kind: KnobKind::Int { min: 1, max: MAX_THREADS, step: Step::One },
        class: KnobClass::Instant,
        help: "infer workers that run; each has one batch in flight",
    },
    KnobSpec {
        id: KnobId::InferMaxDelay,
        name: "infer.max_delay",
        label: "max delay",
        stage: Stage::Infer,
        unit: "ms",
        kind: KnobKind::Millis { min: 0.0, max: 10_000.0, ladder: MAX_DELAYS },
        class: KnobClass::Instant,
        help: "how long a free infer worker lets a batch wait to be filled",
    },
];
