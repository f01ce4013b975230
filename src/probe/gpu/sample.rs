//! What is known of each GPU so far: the account that snapshots hold. It has latest values and
//! cumulative integrals, never rates.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::call::{Owner, Throttle};
use super::metric::Metric;
use super::source::{Facts, Missing};
use crate::probe::clock::Nanos;

/// Whether GPUs are watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuWatch {
    /// Nobody asked for it.
    #[default]
    Off,
    /// The driver has not answered yet.
    Starting,
    /// They are.
    On {
        /// The driver's version.
        driver: Option<String>,
        /// The CUDA version that it serves.
        cuda: Option<String>,
        /// A trace is played.
        recorded: bool,
    },
    /// There is nothing to watch.
    Missing(Missing),
}

/// A figure that is read now and then: its latest value, and its integral over time, so that the mean
/// over any stretch is the difference of two gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gauge {
    /// The latest value, in the metric's unit.
    pub value: f64,
    /// When it was read, since the start of the run.
    pub at: Nanos,
    /// ∫ value dt so far, in the metric's unit times seconds.
    pub integral: f64,
    /// Over how much time that was: stretches without a reading are left out.
    pub covered: Nanos,
}

impl Gauge {
    /// The first reading: from here on there is something to integrate.
    pub const fn first(value: f64, at: Nanos) -> Self {
        Self { value, at, integral: 0.0, covered: 0 }
    }

    /// Takes in the value at a moment: between two readings it is taken to run straight, unless more
    /// than `hold` lies between them.
    pub fn reading(&mut self, value: f64, at: Nanos, hold: Nanos) {
        let span = at.saturating_sub(self.at);
        if span <= hold {
            self.add(f64::midpoint(self.value, value), span);
        }
        (self.value, self.at) = (value, at);
    }

    /// Takes in the mean over the `span` that ends at a moment.
    pub fn mean(&mut self, value: f64, at: Nanos, span: Nanos) {
        self.add(value, span);
        (self.value, self.at) = (value, at);
    }

    fn add(&mut self, value: f64, span: Nanos) {
        self.integral += value * span as f64 / 1e9;
        self.covered += span;
    }
}

/// What is known of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuSample {
    /// What does not change.
    pub facts: Arc<Facts>,
    /// Whether the run may use it; `None` where that cannot be told.
    pub usable: Option<bool>,
    /// Set once it does not answer any more.
    pub lost: Option<Lost>,
    /// The figures, each with its own time.
    pub gauges: BTreeMap<Metric, Gauge>,
    /// Why a figure is not there, in words.
    pub absent: Arc<BTreeMap<Metric, String>>,
    /// Energy used.
    pub energy: Option<Energy>,
    /// What holds the clocks down.
    pub throttle: Option<Throttled>,
    /// Memory errors.
    pub ecc: Option<Ecc>,
    /// Errors that the driver reported since the start, the latest ones (bounded).
    pub xids: Arc<Vec<Xid>>,
    /// How many there were.
    pub xids_seen: u64,
    /// Who has memory on it.
    pub processes: Option<Arc<Processes>>,
}

/// That a GPU does not answer any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Since when.
    pub at: Nanos,
    /// In the driver's words.
    pub why: String,
}

/// Energy used, by the device's own counter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Joules since the driver was loaded.
    pub joules: f64,
    /// When that was read.
    pub at: Nanos,
}

/// What holds the clocks down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttled {
    /// All reasons in force when last asked.
    pub now: Vec<Throttle>,
    /// When that was.
    pub at: Nanos,
    /// How long each reason was in force.
    pub time: BTreeMap<Throttle, Nanos>,
    /// Over how much time it was looked at.
    pub covered: Nanos,
}

/// Memory errors since the device's last reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ecc {
    /// Errors that were put right.
    pub corrected: Option<u64>,
    /// Errors that were not.
    pub uncorrected: Option<u64>,
    /// When that was read.
    pub at: Nanos,
}

/// An error that the driver reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Xid {
    /// NVIDIA's number for it.
    pub code: u64,
    /// When it was seen.
    pub at: Nanos,
}

impl Xid {
    /// What the number stands for, by NVIDIA's list, for those that are met most.
    pub const fn meaning(self) -> &'static str {
        match self.code {
            13 => "a kernel failed",
            31 => "a kernel touched memory that it must not",
            43 => "the driver ended a program's work",
            45 => "a program's work was cleaned up",
            48 | 94 | 95 => "memory error that could not be put right",
            61 | 62 => "the GPU's controller failed",
            63 | 64 => "memory rows are being replaced",
            74 => "NVLink failed",
            79 => "fell off the bus",
            119 | 120 => "the GPU's system processor does not answer",
            _ => "see NVIDIA's list of Xids",
        }
    }
}

/// Who has memory on a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processes {
    /// When that was read.
    pub at: Nanos,
    /// The processes, this one first, then by memory (bounded).
    pub list: Vec<Process>,
    /// How many there are beyond those listed.
    pub more: usize,
}

/// A process with memory on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// What the driver lists.
    #[serde(flatten)]
    pub owner: Owner,
    /// This very process.
    pub own: bool,
}

impl GpuSample {
    /// A GPU of which nothing was read yet.
    pub fn new(facts: Facts, usable: Option<bool>) -> Self {
        Self { facts: Arc::new(facts), usable, ..Self::default() }
    }

    /// A figure's latest value.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        Some(self.gauges.get(&metric)?.value)
    }

    /// Why a figure is not there.
    pub fn reason(&self, metric: Metric) -> &str {
        match (self.absent.get(&metric), &self.lost) {
            (_, Some(_)) => "the GPU was lost",
            (Some(reason), None) => reason,
            (None, None) => "not read yet",
        }
    }
}
