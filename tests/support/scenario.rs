//! Sequences of snapshots as a run would give them, made from a few numbers: no clock, no chance.

#[path = "fights.rs"]
mod fights;
#[path = "gpus.rs"]
pub(crate) mod gpus;

use std::sync::Arc;

use pipetop::pipeline::Stage;
use pipetop::pipeline::knobs::{KnobId, KnobValue, KnobValues};
use pipetop::probe::histogram::{Histogram, Recorder};
use pipetop::profile::snapshot::{
    EngineInfo, FailedItem, GpuWatch, Group, HostSample, InputInfo, Items, KnobChange, Label,
    LabelWord, LaneSample, OwnSample, Phase, QueueSample, RunInfo, Snapshot, StageSample,
    ThreadSample, Wait,
};

/// A sample every 100 ms.
const TICK: u64 = 100_000_000;

/// How a thread spends its time: shares by state; the rest is "other".
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Life {
    running: f64,
    runnable: f64,
    starved: f64,
    backpressured: f64,
    gpu: f64,
    lock: f64,
}

/// A queue: capacity, mean fill, share of the time with something ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue(u64, f64, f64);

/// What a run is like from some moment on.
#[derive(Clone, Debug)]
pub(crate) struct Act {
    ticks: u64,
    rate: f64,
    latency_ms: f64,
    service_ms: [f64; 5],
    queues: [Queue; 4],
    preprocess: (u32, Life),
    infer: (u32, Life),
    lanes: (u32, f64),
    device_busy: Option<f64>,
    host_cpu: f64,
    change: Option<(KnobId, KnobValue)>,
}

/// A run in several acts.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    run: RunInfo,
    labels: Vec<Label>,
    knobs: KnobValues,
    acts: Vec<Act>,
    failures: &'static [(&'static str, &'static str)],
    locks: &'static [fights::Fight],
}

fn label(word: LabelWord, what: &str) -> Label {
    Label { word, what: what.to_owned() }
}

fn base(cores: usize, emulated: bool) -> Scenario {
    let engine = if emulated {
        EngineInfo {
            kind: "emulated".into(),
            model: "efficientnet_lite0".into(),
            name: "emulated 2000 img/s".into(),
            side: 224,
            classes: 1000,
            device: true,
        }
    } else {
        EngineInfo {
            kind: "rten".into(),
            model: "efficientnet_lite0".into(),
            name: "rten on CPU".into(),
            side: 224,
            classes: 1000,
            device: false,
        }
    };
    let mut labels = vec![label(LabelWord::Synthetic, "input")];
    if emulated {
        labels.push(label(LabelWord::Emulated, "engine"));
    }
    Scenario {
        run: RunInfo {
            id: "fixture".into(),
            version: "0.1.0".into(),
            input: InputInfo { kind: "synthetic".into(), name: "synthetic".into(), images: 512 },
            engine,
            cores,
            cpu: None,
            once: false,
            duration_s: None,
            sample_hz: 10.0,
            bare: false,
        },
        labels,
        knobs: KnobValues::defaults(cores),
        acts: Vec::new(),
        failures: &[],
        locks: &fights::CALM,
    }
}

/// All preprocess workers fight for one pool.
pub(crate) fn lock_limited() -> Scenario {
    let mut scenario = preprocess_limited();
    scenario.locks = &fights::FOUGHT;
    for act in &mut scenario.acts {
        act.preprocess = (4, Life { running: 0.48, lock: 0.48, runnable: 0.02, ..Life::default() });
        act.change = None;
    }
    scenario.knobs.set(KnobId::PreprocessThreads, KnobValue::Int(4));
    scenario.knobs.set(KnobId::PreprocessLock, KnobValue::Choice(1, "pool"));
    scenario
}

/// All preprocess workers hold the emulated GIL for all they do, which is a counted loop where `looped`.
pub(crate) fn gil_limited(looped: bool) -> Scenario {
    let mut scenario = lock_limited();
    scenario.locks = &fights::GIL;
    for act in &mut scenario.acts {
        act.preprocess.1 = Life { running: 0.24, lock: 0.74, ..Life::default() };
    }
    scenario.knobs.set(KnobId::PreprocessLock, KnobValue::Choice(0, "none"));
    scenario.knobs.set(KnobId::PreprocessGil, KnobValue::Choice(2, "hold"));
    scenario.labels.push(label(LabelWord::Emulated, "preprocess.gil"));
    if looped {
        scenario.knobs.set(KnobId::PreprocessWork, KnobValue::Choice(1, "loop"));
        scenario.labels.push(label(LabelWord::Synthetic, "preprocess.work"));
    }
    scenario
}

/// A run without probes: no queue, no lock, no thread but pipetop's own.
pub(crate) fn bare() -> Vec<Arc<Snapshot>> {
    let all = preprocess_limited().snapshots();
    let bare = |snapshot: &Arc<Snapshot>| {
        let mut snapshot = Snapshot::clone(snapshot);
        Arc::make_mut(&mut snapshot.run).bare = true;
        snapshot.queues.clear();
        snapshot.locks.clear();
        snapshot.lanes.iter_mut().for_each(|lane| lane.waits = Default::default());
        snapshot.threads.retain(|thread| thread.group == Group::Own);
        for stage in &mut snapshot.stages {
            stage.device_busy = None;
            stage.service = Histogram::default();
        }
        Arc::new(snapshot)
    };
    all.iter().map(bare).collect()
}

/// An emulated accelerator starves while one preprocess worker runs; then there are two.
pub(crate) fn preprocess_limited() -> Scenario {
    let mut scenario = base(8, true);
    scenario.knobs.set(KnobId::PreprocessThreads, KnobValue::Int(1));
    scenario.knobs.set(KnobId::InferThreads, KnobValue::Int(4));
    let slow = Act {
        ticks: 240,
        rate: 412.0,
        latency_ms: 168.0,
        service_ms: [0.21, 2.41, 5.2, 0.05, 0.01],
        queues: [
            Queue(64, 0.97, 0.99),
            Queue(4, 0.25, 0.06),
            Queue(16, 0.0, 0.01),
            Queue(64, 0.0, 0.0),
        ],
        preprocess: (1, Life { running: 0.97, runnable: 0.02, ..Life::default() }),
        infer: (4, Life { running: 0.01, starved: 0.78, gpu: 0.2, ..Life::default() }),
        lanes: (8, 0.08),
        device_busy: Some(0.21),
        host_cpu: 0.15,
        change: None,
    };
    let fast = Act {
        ticks: 160,
        rate: 818.0,
        latency_ms: 88.0,
        preprocess: (2, slow.preprocess.1),
        infer: (4, Life { running: 0.02, starved: 0.57, gpu: 0.4, ..Life::default() }),
        device_busy: Some(0.41),
        host_cpu: 0.29,
        change: Some((KnobId::PreprocessThreads, KnobValue::Int(2))),
        ..slow.clone()
    };
    scenario.acts = vec![slow, fast];
    scenario
}

/// The CPU engine has all it can do on two cores.
pub(crate) fn infer_limited() -> Scenario {
    let mut scenario = base(2, false);
    scenario.acts = vec![Act {
        ticks: 300,
        rate: 52.4,
        latency_ms: 1640.0,
        service_ms: [0.2, 9.13, 298.0, 0.42, 0.02],
        queues: [
            Queue(64, 1.0, 1.0),
            Queue(4, 0.75, 0.98),
            Queue(16, 0.0, 0.01),
            Queue(64, 0.0, 0.0),
        ],
        preprocess: (
            2,
            Life { running: 0.22, runnable: 0.06, backpressured: 0.7, ..Life::default() },
        ),
        infer: (2, Life { running: 0.74, runnable: 0.24, lock: 0.01, ..Life::default() }),
        lanes: (8, 0.01),
        device_busy: None,
        host_cpu: 0.99,
        change: None,
    }];
    scenario
}

/// Nothing has come out yet.
pub(crate) fn starting() -> Scenario {
    let mut scenario = infer_limited();
    scenario.acts[0].ticks = 2;
    scenario.acts[0].rate = 0.0;
    scenario
}

/// Some inputs are broken.
pub(crate) fn with_failures() -> Scenario {
    let mut scenario = preprocess_limited();
    scenario.run.input =
        InputInfo { kind: "folder".into(), name: "/data/photos/2026/holiday".into(), images: 214 };
    scenario.labels.remove(0);
    scenario.failures = &[
        ("/data/photos/2026/holiday/half.jpg", "truncated"),
        ("/data/photos/2026/holiday/notes.txt", "not-an-image"),
        ("/data/photos/2026/holiday/panorama.tif", "too-large"),
    ];
    scenario
}

/// Many threads.
pub(crate) fn many_threads(n: u32) -> Scenario {
    let mut scenario = preprocess_limited();
    scenario.run.cores = 128;
    for act in &mut scenario.acts {
        act.preprocess.0 = n;
        act.lanes.0 = 32;
        act.rate *= f64::from(n);
    }
    scenario
}

impl Scenario {
    /// All its snapshots.
    pub(crate) fn snapshots(&self) -> Vec<Arc<Snapshot>> {
        let mut sim = Sim::new(self);
        let mut all = Vec::new();
        for act in &self.acts {
            if let Some((id, value)) = act.change {
                sim.change(id, value);
            }
            for _ in 0..act.ticks {
                sim.step(act);
                all.push(Arc::new(sim.now.clone()));
            }
        }
        all
    }
}

/// The same with everything that may be missing missing.
pub(crate) fn missing_values() -> Vec<Arc<Snapshot>> {
    let all = preprocess_limited().snapshots();
    let bare = |snapshot: &Arc<Snapshot>| {
        let mut snapshot = Snapshot::clone(snapshot);
        snapshot.host = None;
        snapshot.own = OwnSample::default();
        snapshot.latency = Histogram::default();
        snapshot.items.behind = None;
        for stage in &mut snapshot.stages {
            stage.device_busy = None;
            stage.service = Histogram::default();
        }
        for thread in &mut snapshot.threads {
            (thread.cpu, thread.runnable, thread.waits, thread.core) = (None, None, None, None);
        }
        snapshot.lanes.clear();
        Arc::new(snapshot)
    };
    all.iter().map(bare).collect()
}

/// The running totals.
struct Sim {
    now: Snapshot,
    latency: Recorder,
    service: [Recorder; 5],
    images: f64,
    failures: &'static [(&'static str, &'static str)],
    locks: &'static [fights::Fight],
    waits: Vec<Recorder>,
    tick: u64,
}

impl Sim {
    fn new(scenario: &Scenario) -> Self {
        let queue = |name: &str, unit: &str| QueueSample {
            name: name.into(),
            unit: unit.into(),
            capacity: 0,
            depth: 0,
            ready: 0,
            depth_time: 0,
            ready_time: 0,
            full_time: 0,
            popped: 0,
        };
        let stage = |stage| StageSample {
            stage,
            workers: 1,
            done: 0,
            service: Histogram::default(),
            device_busy: None,
        };
        let now = Snapshot {
            run: Arc::new(scenario.run.clone()),
            at: 0,
            phase: Phase::Starting,
            epoch: 0,
            knobs: scenario.knobs.clone(),
            applying: Vec::new(),
            changes: Arc::default(),
            labels: scenario.labels.clone(),
            items: Items::default(),
            latency: Histogram::default(),
            segments: Vec::new(),
            segments_dropped: 0,
            stages: Stage::ALL.map(stage).to_vec(),
            queues: vec![
                queue("loaded", "images"),
                queue("batches", "batches"),
                queue("results", "batches"),
                queue("answers", "images"),
            ],
            threads: Vec::new(),
            lanes: Vec::new(),
            locks: Vec::new(),
            gpu_watch: GpuWatch::Off,
            gpus: Vec::new(),
            device: None,
            host: None,
            own: OwnSample::default(),
        };
        Self {
            now,
            latency: Recorder::default(),
            service: std::array::from_fn(|_| Recorder::default()),
            images: 0.0,
            failures: scenario.failures,
            locks: scenario.locks,
            waits: scenario.locks.iter().map(|_| Recorder::default()).collect(),
            tick: 0,
        }
    }

    fn change(&mut self, id: KnobId, value: KnobValue) {
        let (now, spec) = (&mut self.now, id.spec());
        now.epoch += 1;
        let change = KnobChange {
            at: now.at,
            epoch: now.epoch,
            knob: spec.name.into(),
            from: now.knobs.get(id).to_string(),
            to: value.to_string(),
        };
        Arc::make_mut(&mut now.changes).push(change);
        now.knobs.set(id, value);
    }

    /// A number from −1 to 1 that looks like chance and is none.
    fn wobble(&self, salt: u64) -> f64 {
        let mut x = (self.tick / 4 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ salt.wrapping_mul(0xD1B5_4A32_D192_ED03);
        x ^= x >> 29;
        x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x ^= x >> 32;
        (x % 2001) as f64 / 1000.0 - 1.0
    }

    fn step(&mut self, act: &Act) {
        self.tick += 1;
        self.now.at += TICK;
        self.images += act.rate * 0.1 * (1.0 + 0.06 * self.wobble(1));
        let done = self.images as u64;
        self.items(done, act);
        self.stages(done, act);
        self.queues(done, act);
        self.threads(done, act);
        fights::step(&mut self.now, self.locks, &self.waits, self.tick);
        let now = &mut self.now;
        let host = now.host.get_or_insert(HostSample {
            at: 0,
            cpus: now.run.cores as u32,
            cpu_busy: 0,
            memory_used: 3_300_000_000,
            memory_total: 8_000_000_000,
        });
        host.at = now.at;
        host.cpu_busy += (act.host_cpu * TICK as f64 * f64::from(host.cpus)) as u64;
        now.own = OwnSample {
            cpu: Some(now.at / 110),
            process_cpu: Some(now.at * 2),
            rss: Some(122_000_000),
            samples_missed: 0,
        };
    }

    fn items(&mut self, done: u64, act: &Act) {
        let new = done - self.now.items.predicted;
        for i in 0..new.min(40) {
            let spread = 1.0 + 0.5 * ((i * 7 + self.tick) % 40) as f64 / 40.0;
            let wobble = 1.0 + 0.05 * self.wobble(2);
            self.latency.record((act.latency_ms * spread * wobble * 1e6) as u64);
        }
        let now = &mut self.now;
        now.phase = if done == 0 { Phase::Starting } else { Phase::Running };
        now.latency = self.latency.read();
        let items = &mut now.items;
        items.predicted = done;
        items.read = done + 90;
        items.bytes = items.read * 61_000;
        items.failed = self.failures.len() as u64 * (self.tick / 50);
        if items.failed > 0 && items.failed_items.is_empty() {
            let failed = |&(name, reason): &(&str, &str)| FailedItem {
                name: name.into(),
                reason: reason.into(),
                detail: "made for a test".into(),
                times: 1,
            };
            items.failed_items = Arc::new(self.failures.iter().map(failed).collect());
        }
        for (_, reason) in self.failures {
            items.failures.insert((*reason).into(), self.tick / 50);
        }
    }

    fn stages(&mut self, done: u64, act: &Act) {
        for (index, stage) in self.now.stages.iter_mut().enumerate() {
            for i in 0..(done - stage.done.min(done)).min(20) {
                let spread = 1.0 + 0.6 * ((i * 3 + self.tick) % 20) as f64 / 20.0;
                self.service[index].record((act.service_ms[index] * spread * 1e6) as u64);
            }
            stage.done = done;
            stage.service = self.service[index].read();
            stage.workers = match stage.stage {
                Stage::Load => act.lanes.0,
                Stage::Preprocess => act.preprocess.0,
                Stage::Infer => act.infer.0,
                Stage::Decode | Stage::Respond => 1,
            };
            if stage.stage == Stage::Infer {
                stage.device_busy = act
                    .device_busy
                    .map(|share| stage.device_busy.unwrap_or(0) + (share * TICK as f64) as u64);
            }
        }
    }

    fn queues(&mut self, done: u64, act: &Act) {
        let wobble: [f64; 4] = std::array::from_fn(|i| self.wobble(10 + i as u64));
        for (index, queue) in self.now.queues.iter_mut().enumerate() {
            let Queue(capacity, fill, ready) = act.queues[index];
            let fill = if fill > 0.0 { (fill + 0.04 * wobble[index]).clamp(0.0, 1.0) } else { 0.0 };
            queue.capacity = capacity;
            queue.depth = (fill * capacity as f64).round() as u64;
            queue.ready = queue.depth;
            queue.depth_time += u128::from(queue.depth * TICK);
            queue.ready_time += (ready * TICK as f64) as u64;
            queue.full_time += if fill > 0.9 { TICK } else { 0 };
            queue.popped = done;
        }
    }

    fn threads(&mut self, done: u64, act: &Act) {
        let easy = |starved| Life { running: 1.0 - starved, starved, ..Life::default() };
        let mut lives = vec![("tokio-rt".to_owned(), Group::Runtime, easy(0.93))];
        for i in 0..act.preprocess.0 {
            lives.push((format!("prep-{i}"), Group::Stage(Stage::Preprocess), act.preprocess.1));
        }
        for i in 0..act.infer.0 {
            lives.push((format!("infer-{i}"), Group::Stage(Stage::Infer), act.infer.1));
        }
        lives.push(("decode".to_owned(), Group::Stage(Stage::Decode), easy(0.97)));
        lives.push(("respond".to_owned(), Group::Stage(Stage::Respond), easy(0.99)));
        lives.push(("ui".to_owned(), Group::Own, easy(0.99)));
        lives.push(("sampler".to_owned(), Group::Own, easy(0.99)));
        lives.push(("cuda-evt".to_owned(), Group::Foreign, easy(1.0)));
        let now = &mut self.now;
        for (index, (name, group, life)) in lives.into_iter().enumerate() {
            let place = now.threads.iter().position(|thread| thread.name == name);
            let place = place.unwrap_or_else(|| {
                let fresh = ThreadSample {
                    until: None,
                    name: name.clone(),
                    tid: 0,
                    group,
                    state: None,
                    since: now.at - TICK,
                    cpu: Some(0),
                    runnable: Some(0),
                    waits: (group != Group::Foreign).then(Default::default),
                    lock: None,
                    items: 0,
                    voluntary: None,
                    involuntary: None,
                    core: None,
                    switches_at: None,
                };
                now.threads.insert(index.min(now.threads.len()), fresh);
                index.min(now.threads.len() - 1)
            });
            let thread = &mut now.threads[place];
            let add = |share: f64| (share * TICK as f64) as u64;
            thread.cpu = thread.cpu.map(|cpu| cpu + add(life.running));
            thread.runnable = thread.runnable.map(|r| r + add(life.runnable));
            thread.core = Some((index % now.run.cores) as u32);
            if let Some(waits) = &mut thread.waits {
                waits[Wait::Starved as usize] += add(life.starved);
                waits[Wait::Backpressured as usize] += add(life.backpressured);
                waits[Wait::Gpu as usize] += add(life.gpu);
                waits[Wait::Lock as usize] += add(life.lock);
            }
            thread.items = match group {
                Group::Stage(Stage::Preprocess) => done / u64::from(act.preprocess.0),
                Group::Stage(Stage::Infer) => done / u64::from(act.infer.0),
                Group::Stage(_) => done,
                _ => 0,
            };
        }
        for (index, thread) in now.threads.iter_mut().enumerate() {
            // A kernel's id stays with its thread: here the name stands for it.
            thread.tid = thread.name.bytes().fold(7, |id, b| (id * 31 + i32::from(b)) % 30_011);
            thread.state = if index % 2 == 0 { None } else { Some(Wait::Starved) };
            thread.lock = None;
            if thread.group == Group::Foreign {
                (thread.runnable, thread.core) = (None, None);
            } else if self.tick % 10 == 1 {
                // Looked at once a second.
                let lived = (now.at - thread.since) / 1_000_000;
                thread.voluntary = Some(lived * (2 + index as u64 * 3 % 7) / 10);
                thread.involuntary = Some(lived * (index as u64 % 4) / 100);
                thread.switches_at = Some(now.at);
            }
        }
        for i in now.lanes.len()..act.lanes.0 as usize {
            now.lanes.push(LaneSample {
                name: format!("lane-{i}"),
                state: Some(Wait::Io),
                since: now.at - TICK,
                waits: Default::default(),
                items: 0,
            });
        }
        for lane in &mut now.lanes {
            lane.waits[Wait::Io as usize] += (act.lanes.1 * TICK as f64) as u64;
            lane.waits[Wait::Backpressured as usize] += ((0.99 - act.lanes.1) * TICK as f64) as u64;
            lane.items = done / u64::from(act.lanes.0);
        }
    }
}
