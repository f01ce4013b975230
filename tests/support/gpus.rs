//! GPUs for scenarios: an H200 under loads whose figures were measured, and machines that tell less.

use std::collections::BTreeMap;
use std::sync::Arc;

use pipetop::probe::gpu::call::Owner;
use pipetop::probe::gpu::sample::{Ecc, Energy, Throttled, Xid};
use pipetop::probe::gpu::source::{Gpm, Missing};
use pipetop::probe::gpu::{Facts, Lost, Process, Processes, Throttle};
use pipetop::profile::snapshot::{
    DeviceSample, DeviceTimes, EngineInfo, Gauge, GpuSample, GpuWatch, Metric, Snapshot,
};

use super::{KnobId, KnobValue, Scenario, TICK, preprocess_limited};

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// What there is to see of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One that tells everything.
    Hopper,
    /// One without GPM, energy counter and fan.
    Older,
    /// The first, lost after 30 s.
    Lost,
    /// Two, of which the run may use the second.
    Two,
    /// No driver.
    None,
}

/// Busy, graphics, SM active, SM occupancy, tensor, DRAM, watts: ResNet-50 through graphs, batch 1, then 256.
const LOADS: [[f64; 7]; 2] = [
    [1.0, 0.997, 0.359, 0.042, 0.038, 0.036, 154.0],
    [1.0, 0.999, 0.922, 0.172, 0.349, 0.402, 651.0],
];

/// A run on a GPU: batches of 1, after 24 s of 256.
pub(crate) fn on_gpu(kind: Kind) -> Vec<Arc<Snapshot>> {
    let mut scenario: Scenario = preprocess_limited();
    if kind != Kind::None {
        scenario.labels.truncate(1);
        scenario.run.engine = EngineInfo {
            kind: "cuda".into(),
            model: "resnet50".into(),
            name: "CUDA on NVIDIA H200".into(),
            side: 224,
            classes: 1000,
            device: true,
        };
        scenario.knobs.set(KnobId::InferBatch, KnobValue::Int(1));
        scenario.acts[1].change = Some((KnobId::InferBatch, KnobValue::Int(64)));
    }
    let mut card = Card::new(kind);
    let snapshots = scenario.snapshots();
    let watched = |(tick, snapshot): (usize, &Arc<Snapshot>)| {
        let mut snapshot = Snapshot::clone(snapshot);
        card.step(tick, &mut snapshot);
        Arc::new(snapshot)
    };
    snapshots.iter().enumerate().map(watched).collect()
}

struct Card {
    kind: Kind,
    gpu: GpuSample,
    other: GpuSample,
    times: DeviceTimes,
    joules: f64,
}

impl Card {
    fn new(kind: Kind) -> Self {
        let facts = Facts {
            index: u32::from(kind == Kind::Two),
            name: if kind == Kind::Older { "NVIDIA A100" } else { "NVIDIA H200" }.into(),
            uuid: "GPU-h".into(),
            architecture: Some(if kind == Kind::Older { "Ampere" } else { "Hopper" }.into()),
            memory_total: Some((139.8 * GIB) as u64),
            sm_mhz_max: Some(1980),
            memory_mhz_max: Some(3201),
            gpm: if kind == Kind::Older { Gpm::No } else { Gpm::Yes },
            ..Facts::default()
        };
        let idle = Facts { index: 0, uuid: "GPU-i".into(), ..facts.clone() };
        let mut gpu = GpuSample::new(facts, Some(true));
        let mut absent = BTreeMap::from([
            (Metric::Fan, "this card has no fan".to_owned()),
            (Metric::NvlinkRx, "no NVLink".to_owned()),
            (Metric::NvlinkTx, "no NVLink".to_owned()),
        ]);
        if kind == Kind::Older {
            let gpm = pipetop::probe::gpu::call::GPM.into_iter();
            for metric in gpm.filter(|m| !matches!(m, Metric::PcieRx | Metric::PcieTx)) {
                absent.insert(metric, "needs GPM: Hopper or later".to_owned());
            }
        }
        gpu.absent = Arc::new(absent);
        let other = GpuSample::new(idle, Some(false));
        Self { kind, gpu, other, times: DeviceTimes::default(), joules: 9000.0 }
    }

    fn step(&mut self, tick: usize, snapshot: &mut Snapshot) {
        if self.kind == Kind::None {
            snapshot.gpu_watch = GpuWatch::Missing(Missing {
                what: "no NVIDIA driver is seen here: libnvidia-ml.so.1 was not found".into(),
                way_out: "install NVIDIA's driver; in a container start it with --gpus all and \
                          NVIDIA_DRIVER_CAPABILITIES=compute,utility"
                    .into(),
            });
            return;
        }
        let lost_at = 30_000_000_000;
        let lost = self.kind == Kind::Lost && snapshot.at >= lost_at;
        let later = usize::from(snapshot.at > 24_000_000_000);
        if lost {
            let why = "device fell off the bus or has otherwise become inaccessible".into();
            self.gpu.lost = Some(Lost { at: lost_at, why });
            self.gpu.xids = Arc::new(vec![Xid { code: 79, at: lost_at }]);
            self.gpu.xids_seen = 1;
        } else {
            self.read(tick, snapshot.at, LOADS[later]);
        }
        idle(&mut self.other, snapshot.at);
        snapshot.gpu_watch = GpuWatch::On {
            driver: Some("580.159.04".into()),
            cuda: Some("13.0".into()),
            recorded: false,
        };
        snapshot.gpus = match self.kind {
            Kind::Two => vec![self.other.clone(), self.gpu.clone()],
            _ => vec![self.gpu.clone()],
        };
        self.book(later);
        let uuid = Some("GPU-h".into());
        snapshot.device = Some(DeviceSample { uuid, times: self.times });
        for stage in &mut snapshot.stages {
            stage.device_busy = stage.device_busy.map(|_| self.times.busy);
        }
    }

    /// The engine's account: 100 batches of 0.33 ms a tick, then 14 of 7.1 ms.
    fn book(&mut self, later: usize) {
        let (batches, h2d, compute, d2h) =
            [(290, 8_000, 310_000, 4_000), (13, 680_000, 7_100_000, 9_000)][later];
        let times = &mut self.times;
        times.batches += batches;
        times.h2d += batches * h2d;
        times.compute += batches * compute;
        times.d2h += batches * d2h;
        times.gaps += batches;
        times.gap += batches * 12_000;
        times.gap_max = 2_400_000;
        times.busy += TICK - batches * 12_000;
        times.occupancy += batches * compute / [8, 4][later];
        times.occupancy_over += batches * compute;
    }

    fn read(&mut self, tick: usize, at: u64, load: [f64; 7]) {
        let wave = |salt: f64| 1.0 + 0.03 * (tick as f64 * 0.7 + salt).sin();
        let [busy, graphics, active, occupancy, tensor, dram, watts] = load;
        let watts = watts * wave(1.0);
        let older = self.kind == Kind::Older;
        let mut values = vec![
            (Metric::Busy, busy),
            (Metric::MemoryBusy, dram),
            (Metric::MemoryUsed, 4.1 * GIB),
            (Metric::OwnMemory, 3.2 * GIB),
            (Metric::Power, watts),
            (Metric::PowerLimit, 700.0),
            (Metric::SmClock, if watts > 600.0 { 1755.0 } else { 1980.0 }),
            (Metric::MemoryClock, 3201.0),
            (Metric::Temperature, 30.0 + watts / 25.0),
            (Metric::PcieGeneration, 5.0),
            (Metric::PcieWidth, 16.0),
        ];
        if older && tick.is_multiple_of(10) {
            values.extend([(Metric::PcieRx, 1.2e9), (Metric::PcieTx, 8.0e6)]);
        }
        if !older && tick.is_multiple_of(3) {
            values.extend([
                (Metric::Graphics, graphics),
                (Metric::SmActive, active * wave(2.0)),
                (Metric::SmOccupancy, occupancy * wave(3.0)),
                (Metric::Tensor, tensor * wave(4.0)),
                (Metric::Dram, dram * wave(5.0)),
                (Metric::Fp16, 0.01),
                (Metric::Fp32, 0.02),
                (Metric::Int, 0.16),
                (Metric::PcieRx, 1.2e9),
                (Metric::PcieTx, 8.0e6),
            ]);
        }
        for (metric, value) in values {
            let gauge = self.gpu.gauges.entry(metric).or_insert(Gauge::first(value, at - TICK));
            gauge.mean(value, at, at - gauge.at);
        }
        self.joules += watts * TICK as f64 / 1e9;
        if !older {
            self.gpu.energy = Some(Energy { joules: self.joules, at });
        }
        let throttled = self.gpu.throttle.get_or_insert_with(Throttled::default);
        let capped = watts > 640.0;
        throttled.now = if capped { vec![Throttle::PowerCap] } else { Vec::new() };
        *throttled.time.entry(Throttle::PowerCap).or_default() += if capped { TICK } else { 0 };
        (throttled.at, throttled.covered) = (at, throttled.covered + TICK);
        self.gpu.ecc = Some(Ecc { corrected: Some(0), uncorrected: Some(0), at });
        if tick.is_multiple_of(10) {
            let process = |pid, name: &str, gib: f64, own| Process {
                owner: Owner { pid, name: Some(name.into()), memory: Some((gib * GIB) as u64) },
                own,
            };
            let list =
                vec![process(4711, "pipetop", 3.2, true), process(812, "python3", 0.6, false)];
            self.gpu.processes = Some(Arc::new(Processes { at, list, more: 0 }));
        }
    }
}

/// A GPU that nobody uses.
fn idle(gpu: &mut GpuSample, at: u64) {
    for (metric, value) in [
        (Metric::Busy, 0.0),
        (Metric::SmActive, 0.0),
        (Metric::SmOccupancy, 0.0),
        (Metric::Tensor, 0.0),
        (Metric::Dram, 0.0),
        (Metric::MemoryUsed, 0.5 * GIB),
        (Metric::Power, 76.0),
        (Metric::Temperature, 27.0),
    ] {
        let gauge = gpu.gauges.entry(metric).or_insert(Gauge::first(value, at - TICK));
        gauge.mean(value, at, at - gauge.at);
    }
}
