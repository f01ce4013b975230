//! The final report: the figures of a run, by the same windows that the screen uses.
//!
//! Rates, shares and quantiles are those of the window from the end of warm-up to the stop;
//! counts of items are those of the whole run, drain included.

mod build;
mod gpu;

pub use gpu::{DeviceReport, GpuReport, ProcessReport};

use serde::Serialize;
use std::collections::BTreeMap;

use crate::pipeline::Stage;
use crate::pipeline::infer::EngineInfo;
use crate::pipeline::knobs::KnobValues;
use crate::pipeline::source::InputInfo;
use crate::probe::histogram::Histogram;
use crate::profile::limit::Limit;
use crate::profile::snapshot::{FailedItem, Group, Label};

/// Name and version of the format. Keys may be added under this name; none changes or goes.
pub const SCHEMA: &str = "pipetop.report/1";

/// The report of a run. Shares are fractions of 1; a value that was not measured is `None`, `null`
/// in JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Start time and process id.
    pub run_id: String,
    /// The version of pipetop.
    pub version: String,
    /// The words synthetic, emulated and recorded, where something in this run is so.
    pub labels: Vec<&'static str>,
    /// What is so.
    pub labelled: Vec<Label>,
    /// The input.
    pub input: InputInfo,
    /// The engine.
    pub engine: EngineInfo,
    /// The knobs at the end.
    pub knobs: KnobValues,
    /// From the start of the run to the stop, in seconds; the drain is not in it.
    pub duration_s: f64,
    /// Of these, seconds of warm-up.
    pub warmup_s: f64,
    /// Of these, seconds that the rates and shares below are taken over.
    pub window_s: f64,
    /// Images predicted a second.
    pub throughput_img_s: Option<f64>,
    /// Encoded megabytes (10⁶) read a second.
    pub read_mb_s: Option<f64>,
    /// What limits the throughput.
    pub limit: Limit,
    /// The lock that holds the limiting stage's threads up, where one does.
    pub limit_lock: Option<String>,
    /// Images in and out, over the whole run.
    pub items: ItemsReport,
    /// Latency of predicted images.
    pub latency_ms: Quantiles,
    /// The stages, source to sink.
    pub stages: Vec<StageReport>,
    /// The queues, source to sink.
    pub queues: Vec<QueueReport>,
    /// The threads.
    pub threads: Vec<ThreadReport>,
    /// The load lanes.
    pub lanes: Vec<LaneReport>,
    /// The instrumented locks.
    pub locks: Vec<LockReport>,
    /// The GPUs.
    pub gpus: Vec<GpuReport>,
    /// Why there are none to watch, in words.
    pub gpus_missing: Option<String>,
    /// The engine's own account of its device.
    pub device: Option<DeviceReport>,
    /// Figures by knob epoch.
    pub segments: Vec<SegmentReport>,
    /// Older segments that were dropped to keep the list bounded.
    pub segments_dropped: u64,
    /// The latest knob changes, oldest first.
    pub knob_changes: Vec<ChangeReport>,
    /// The machine.
    pub host: HostReport,
    /// What pipetop itself costs.
    #[serde(rename = "self")]
    pub own: OwnReport,
}

/// Quantiles of durations in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// The median.
    pub p50: Option<f64>,
    /// 95 % are below.
    pub p95: Option<f64>,
    /// 99 % are below.
    pub p99: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
}

impl Quantiles {
    /// The quantiles of a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        let ms = |nanos: Option<f64>| nanos.map(|nanos| rounded(nanos / 1e6));
        Self {
            p50: ms(histogram.quantile(0.5)),
            p95: ms(histogram.quantile(0.95)),
            p99: ms(histogram.quantile(0.99)),
            mean: ms(histogram.mean()),
        }
    }
}

/// Six decimals: finer than anything that is measured here.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Images in and out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ItemsReport {
    /// Reads begun; an image that loops counts each time.
    pub read: u64,
    /// Images predicted.
    pub predicted: u64,
    /// Images that failed.
    pub failed: u64,
    /// Images given up at the stop.
    pub abandoned: u64,
    /// Encoded bytes read.
    pub bytes: u64,
    /// Failures by reason.
    pub failures: BTreeMap<String, u64>,
    /// The first failures, with their names.
    pub failed_items: Vec<FailedItem>,
    /// Failures that are counted and not among `failed_items`.
    pub failed_unlisted: u64,
    /// Seconds that loading was behind a set arrival rate at the stop.
    pub behind_s: Option<f64>,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageReport {
    /// Its name.
    pub name: Stage,
    /// Workers that may run; reads in flight for load.
    pub threads: u32,
    /// Images a second that left it, failed ones included.
    pub img_s: Option<f64>,
    /// (running + runnable) / (time − parked) over its threads; for load, the share of its lanes'
    /// time in a read.
    pub busy: Option<f64>,
    /// Share of the time in which its device had work.
    pub device_busy: Option<f64>,
    /// Service time of each image; that of its batch in infer.
    pub service_ms: Quantiles,
}

/// One queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueReport {
    /// Its name.
    pub name: String,
    /// What it counts.
    pub unit: String,
    /// Its capacity at the stop.
    pub capacity: u64,
    /// Its mean depth.
    pub depth_mean: Option<f64>,
    /// Share of the time with something ready to be taken.
    pub ready: Option<f64>,
    /// Share of the time without room for another.
    pub full: Option<f64>,
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadReport {
    /// Its name.
    pub name: String,
    /// The kernel's id.
    pub tid: i32,
    /// `stage`, `runtime`, `own` or `foreign`.
    pub group: &'static str,
    /// Its stage, if it belongs to one.
    pub stage: Option<Stage>,
    /// CPU time, in cores.
    pub cpu: Option<f64>,
    /// Images finished, over the whole run.
    pub items: u64,
    /// By how much declared waits exceeded the time blocked, as a share of the time; scaled away in
    /// `share`.
    pub overlap: Option<f64>,
    /// Where its time went; the parts sum to 1. `None` where only its CPU time is known.
    pub share: Option<ShareReport>,
}

/// Where a thread's time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ShareReport {
    /// On a CPU.
    pub running: f64,
    /// Wanted a CPU and had none.
    pub runnable: f64,
    /// On a contended lock.
    pub lock: f64,
    /// Waited for input.
    pub starved: f64,
    /// Waited to hand over.
    pub backpressured: f64,
    /// Waited for the device.
    pub gpu: f64,
    /// On a file or the network.
    pub io: f64,
    /// Switched off by a knob.
    pub parked: f64,
    /// Blocked, unexplained.
    pub other: f64,
}

/// One load lane: a read slot, whichever thread serves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneReport {
    /// Its name.
    pub name: String,
    /// Images read, over the whole run.
    pub items: u64,
    /// Where its time went.
    pub share: LaneShareReport,
}

/// Where a lane's time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LaneShareReport {
    /// Reading.
    pub io: f64,
    /// An emulated delay.
    pub delay: f64,
    /// Waited to hand over.
    pub backpressured: f64,
    /// Waited for the next image to arrive.
    pub starved: f64,
    /// Switched off by a knob.
    pub parked: f64,
    /// Between two of these.
    pub other: f64,
}

/// One instrumented lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LockReport {
    /// Its name.
    pub name: String,
    /// Acquisitions.
    pub acquisitions: u64,
    /// The share of them that had to wait.
    pub contended: Option<f64>,
    /// Time waited by all threads together, in seconds.
    pub wait_s: f64,
    /// Time held, in seconds, where it is measured.
    pub hold_s: Option<f64>,
    /// The waits.
    pub wait_ms: Quantiles,
    /// The longest wait of the whole run.
    pub wait_max_ms: f64,
    /// `emulated`, where it is a lock that only behaves like the real one.
    pub label: Option<&'static str>,
    /// How often it passed to another thread than its last holder; an emulated GIL's only, as the next two.
    pub switches: Option<u64>,
    /// How often a holder dropped it because it was asked to, and another thread took it.
    pub forced_switches: Option<u64>,
    /// How often a waiter asked for it after a switch interval without a switch.
    pub drop_requests: Option<u64>,
}

/// What came of the images that entered in one knob epoch, between warm-up and stop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentReport {
    /// The epoch.
    pub epoch: u32,
    /// Its start (or the end of warm-up) in seconds since the start of the run.
    pub from_s: f64,
    /// When the last image that entered in it came out.
    pub to_s: f64,
    /// Images predicted.
    pub predicted: u64,
    /// Images failed.
    pub failed: u64,
    /// Images predicted a second, from `from_s` to `to_s`.
    pub throughput_img_s: Option<f64>,
    /// Their latency.
    pub latency_ms: Quantiles,
    /// The knobs in it.
    pub knobs: KnobValues,
}

/// One turn of a knob.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeReport {
    /// Seconds since the start of the run.
    pub at_s: f64,
    /// The epoch that it began.
    pub epoch: u32,
    /// The knob.
    pub knob: String,
    /// The value before.
    pub from: String,
    /// The value after.
    pub to: String,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostReport {
    /// The CPU's own name.
    pub cpu_name: Option<String>,
    /// Cores that pipetop may use.
    pub cores: usize,
    /// Logical CPUs of the machine.
    pub cpus: Option<u32>,
    /// Busy share of all of them.
    pub cpu: Option<f64>,
    /// Memory in use at the stop, MiB.
    pub memory_used_mib: Option<f64>,
    /// Memory there is, MiB.
    pub memory_total_mib: Option<f64>,
}

/// What pipetop itself costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OwnReport {
    /// CPU of its own threads (screen, sampler, the watch over GPUs), in cores.
    pub cpu: Option<f64>,
    /// CPU of the whole process, pipeline and all, in cores.
    pub process_cpu: Option<f64>,
    /// Resident memory of the process at the stop, MiB.
    pub rss_mib: Option<f64>,
    /// Samples a second.
    pub sample_hz: f64,
    /// The run had no probes: threads, queues and locks were not measured.
    pub bare: bool,
    /// Samples taken late or not at all.
    pub samples_missed: u64,
}

/// The name of a thread's group in a report.
const fn group_name(group: Group) -> &'static str {
    match group {
        Group::Stage(_) => "stage",
        Group::Runtime => "runtime",
        Group::Own => "own",
        Group::Foreign => "foreign",
    }
}

#[cfg(test)]
mod tests;
