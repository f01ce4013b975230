//! Hand-made snapshots for tests: a run whose figures can be worked out by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::pipeline::Stage;
use crate::pipeline::infer::EngineInfo;
use crate::pipeline::knobs::{KnobId, KnobValue, KnobValues};
use crate::pipeline::source::InputInfo;
use crate::probe::clock::Nanos;
use crate::probe::gpu::sample::Energy;
use crate::probe::gpu::source::{Facts, Gpm};
use crate::probe::histogram::Histogram;
use crate::profile::snapshot::{
    DeviceSample, DeviceTimes, FailedItem, Gauge, GpuSample, GpuWatch, Group, HostSample, Items,
    KnobChange, Label, LabelWord, LaneSample, LockSample, Metric, OwnSample, Phase, QueueSample,
    RunInfo, Segment, Snapshot, StageSample, Switching, ThreadSample, Wait,
};

const MS: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MS;

/// A run in which preprocess limits: 100 images a second of steady state, two threads of preprocess,
/// a knob turned at 6 s.
pub(crate) struct SampleRun {
    /// At the end of warm-up, 1 s.
    pub(crate) warm: Snapshot,
    /// At the stop, 11 s.
    pub(crate) end: Snapshot,
    /// After the drain, 11.5 s.
    pub(crate) done: Snapshot,
}

impl SampleRun {
    pub(crate) fn new() -> Self {
        let mut done = snapshot(11 * SECOND + SECOND / 2);
        done.phase = Phase::Done;
        done.items.read = 1110;
        done.items.predicted = 1100;
        done.items.failed = 4;
        done.items.abandoned = 6;
        done.items.failures = BTreeMap::from([("truncated".into(), 3), ("not-an-image".into(), 1)]);
        done.items.failed_items = Arc::new(vec![
            failed("photos/broken.jpg", "truncated", "the file ends early", 2),
            failed("notes.txt", "not-an-image", "no image format begins so", 1),
        ]);
        Self { warm: snapshot(SECOND), end: snapshot(11 * SECOND), done }
    }
}

fn failed(name: &str, reason: &str, detail: &str, times: u64) -> FailedItem {
    FailedItem { name: name.into(), reason: reason.into(), detail: detail.into(), times }
}

fn run_info() -> RunInfo {
    RunInfo {
        id: "20260102T030405-42".into(),
        version: "0.1.0".into(),
        input: InputInfo { kind: "synthetic".into(), name: "synthetic".into(), images: 512 },
        engine: EngineInfo {
            kind: "emulated".into(),
            model: String::new(),
            name: "emulated 2000 img/s".into(),
            side: 224,
            classes: 0,
            device: true,
        },
        cores: 2,
        cpu: Some("Example CPU 3000".into()),
        once: false,
        duration_s: Some(11.0),
        sample_hz: 10.0,
        bare: false,
    }
}

/// The run at `at`, as if everything went on evenly at 100 images a second.
fn snapshot(at: Nanos) -> Snapshot {
    let images = at * 100 / SECOND;
    let mut knobs = KnobValues::defaults(2);
    let turned = at >= 6 * SECOND;
    let before = knobs.clone();
    if turned {
        knobs.set(KnobId::InferBatch, KnobValue::Int(16));
    }
    let latency = |n: u64| Histogram::of((0..n).map(|_| 20 * MS));
    let mut segments = vec![Segment {
        epoch: 0,
        from: 0,
        last_out: at.min(6 * SECOND),
        predicted_before: 0,
        predicted: images.min(600),
        failed: 0,
        latency: latency(images.min(600)),
        knobs: before,
    }];
    if turned {
        segments.push(Segment {
            epoch: 1,
            from: 6 * SECOND,
            last_out: at,
            predicted_before: 600,
            predicted: images - 600,
            failed: 0,
            latency: latency(images - 600),
            knobs: knobs.clone(),
        });
    }
    Snapshot {
        run: Arc::new(run_info()),
        at,
        phase: Phase::Running,
        epoch: u32::from(turned),
        knobs,
        applying: Vec::new(),
        changes: Arc::new(if turned { vec![change()] } else { Vec::new() }),
        labels: vec![
            Label { word: LabelWord::Synthetic, what: "input".into() },
            Label { word: LabelWord::Emulated, what: "engine".into() },
        ],
        items: Items {
            read: images + 10,
            predicted: images,
            bytes: images * 50_000,
            behind: None,
            ..Items::default()
        },
        latency: latency(images),
        segments,
        segments_dropped: 0,
        stages: Stage::ALL.map(|stage| stage_sample(stage, images)).into(),
        queues: queues(at),
        threads: threads(at, images),
        lanes: vec![lane(at, images)],
        locks: vec![lock(at), gil(at)],
        gpu_watch: GpuWatch::On { driver: None, cuda: None, recorded: false },
        gpus: vec![gpu(at), older_gpu(at)],
        device: Some(device(at)),
        host: Some(HostSample {
            at,
            cpus: 4,
            cpu_busy: at * 3,
            memory_used: 3 << 30,
            memory_total: 16 << 30,
        }),
        own: OwnSample {
            cpu: Some(at / 100),
            process_cpu: Some(at * 2),
            rss: Some(120 << 20),
            samples_missed: 1,
        },
    }
}

/// A GPU whose figures stand still: the means are easy to tell.
fn gpu(at: Nanos) -> GpuSample {
    let facts = Facts {
        name: "Example GPU 2".into(),
        uuid: "GPU-1".into(),
        memory_total: Some(140 << 30),
        gpm: Gpm::Yes,
        ..Facts::default()
    };
    let mut gpu = GpuSample::new(facts, Some(true));
    for (metric, value) in [
        (Metric::Busy, 0.98),
        (Metric::Graphics, 0.97),
        (Metric::SmActive, 0.9),
        (Metric::SmOccupancy, 0.17),
        (Metric::Tensor, 0.35),
        (Metric::Dram, 0.4),
        (Metric::MemoryUsed, f64::from(1 << 30) * 4.0),
        (Metric::Power, 650.0),
        (Metric::SmClock, 1755.0),
        (Metric::Temperature, 55.0),
    ] {
        let integral = value * at as f64 / 1e9;
        gpu.gauges.insert(metric, Gauge { value, at, integral, covered: at });
    }
    gpu.energy = Some(Energy { joules: 650.0 * at as f64 / 1e9, at });
    gpu
}

/// A GPU that cannot tell how full it is.
fn older_gpu(at: Nanos) -> GpuSample {
    let facts = Facts { index: 1, name: "Example GPU 1".into(), ..Facts::default() };
    let mut gpu = GpuSample::new(facts, Some(true));
    gpu.gauges.insert(Metric::Busy, Gauge { value: 0.0, at, integral: 0.0, covered: at });
    let reason = "needs GPM: Hopper or later".to_owned();
    gpu.absent = Arc::new(BTreeMap::from([(Metric::SmOccupancy, reason)]));
    gpu
}

fn device(at: Nanos) -> DeviceSample {
    let batches = at / (80 * MS);
    let times = DeviceTimes {
        batches,
        busy: batches * 76 * MS,
        h2d: batches * 4 * MS,
        compute: batches * 72 * MS,
        d2h: batches * MS,
        gaps: batches,
        gap: batches * 4 * MS,
        gap_max: 9 * MS,
        occupancy: Some(batches * 18 * MS),
    };
    DeviceSample { uuid: Some("GPU-1".into()), times }
}

fn change() -> KnobChange {
    KnobChange {
        at: 6 * SECOND,
        epoch: 1,
        knob: "infer.batch".into(),
        from: "8".into(),
        to: "16".into(),
    }
}

fn stage_sample(stage: Stage, images: u64) -> StageSample {
    StageSample {
        stage,
        workers: if stage == Stage::Load { 8 } else { 2 },
        done: images,
        service: Histogram::of((0..images).map(|_| 10 * MS)),
        device_busy: (stage == Stage::Infer).then_some(images * MS),
    }
}

fn queues(at: Nanos) -> Vec<QueueSample> {
    let queue = |name: &str, unit: &str, capacity: u64, full: u64| QueueSample {
        name: name.into(),
        unit: unit.into(),
        capacity,
        depth: capacity * full / 100,
        ready: capacity * full / 100,
        depth_time: u128::from(capacity * full) * u128::from(at) / 100,
        ready_time: at * full / 100,
        full_time: at * full / 200,
        popped: 0,
    };
    vec![
        queue("loaded", "images", 64, 98),
        queue("batches", "batches", 4, 10),
        queue("results", "batches", 4, 0),
        queue("answers", "batches", 4, 0),
    ]
}

fn threads(at: Nanos, images: u64) -> Vec<ThreadSample> {
    let thread = |name: &str, tid, group, cpu: u64, starved: Option<u64>| {
        let waits = starved.map(|starved| {
            let mut waits = [0; Wait::ALL.len()];
            waits[Wait::Starved as usize] = at * starved / 100;
            waits
        });
        ThreadSample {
            until: None,
            name: name.into(),
            tid,
            group,
            state: None,
            since: 0,
            cpu: Some(at * cpu / 100),
            runnable: Some(at / 50),
            waits,
            lock: None,
            items: images / 2,
            voluntary: None,
            involuntary: None,
            core: None,
            switches_at: None,
        }
    };
    vec![
        thread("prep-0", 11, Group::Stage(Stage::Preprocess), 95, Some(2)),
        thread("prep-1", 12, Group::Stage(Stage::Preprocess), 95, Some(2)),
        thread("infer-0", 13, Group::Stage(Stage::Infer), 10, Some(88)),
        thread("sampler", 14, Group::Own, 1, None),
        thread("helper", 15, Group::Foreign, 3, None),
    ]
}

fn lane(at: Nanos, images: u64) -> LaneSample {
    let mut waits = [0; Wait::ALL.len()];
    waits[Wait::Io as usize] = at / 4;
    waits[Wait::Backpressured as usize] = at / 2;
    LaneSample { name: "lane-0".into(), state: None, since: 0, waits, items: images }
}

fn lock(at: Nanos) -> LockSample {
    LockSample {
        name: "queue.loaded".into(),
        acquisitions: at / MS,
        contended: at / MS / 10,
        wait: at / 100,
        wait_max: 3 * MS,
        waits: Histogram::of((0..at / MS / 10).map(|_| MS / 10)),
        hold: None,
        hold_exact: false,
        holder: None,
        waiters: 0,
        switching: None,
    }
}

fn gil(at: Nanos) -> LockSample {
    let switching =
        Switching { switches: at / MS / 5, forced: at / MS / 6, requests: at / MS / 6 + 3 };
    LockSample {
        name: "gil".into(),
        hold: Some(at / 2),
        hold_exact: true,
        switching: Some(switching),
        ..lock(at)
    }
}
