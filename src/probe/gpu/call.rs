//! The questions put to a driver, how often each, and the answers: what a trace is made of.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::metric::Metric;
use crate::probe::clock::Nanos;

/// One question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// [`Metric::Busy`] and [`Metric::MemoryBusy`].
    Busy,
    /// [`Metric::MemoryUsed`].
    Memory,
    /// [`Metric::Power`].
    Power,
    /// [`Metric::SmClock`] and [`Metric::MemoryClock`].
    Clocks,
    /// [`Metric::Temperature`].
    Temperature,
    /// What holds the clocks down.
    Throttle,
    /// The counters of GPM from the kept sample to a new one.
    Gpm,
    /// The new sample of the last [`Self::Gpm`] becomes the kept one.
    GpmKeep,
    /// [`Metric::PowerLimit`].
    PowerLimit,
    /// [`Metric::Fan`].
    Fan,
    /// [`Metric::PcieGeneration`] and [`Metric::PcieWidth`].
    PcieLink,
    /// [`Metric::PcieRx`]; blocks for 20 ms.
    PcieRx,
    /// [`Metric::PcieTx`]; blocks for 20 ms.
    PcieTx,
    /// Joules since the driver was loaded.
    Energy,
    /// Who has memory on it.
    Processes,
    /// Memory errors since the last reset.
    Ecc,
    /// Errors that the driver reported since the last time this was asked.
    Xids,
}

/// Which of the two threads asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Answers come at once.
    Fast,
    /// Answers may take milliseconds.
    Slow,
}

const MS: Nanos = 1_000_000;

impl Call {
    /// All calls that are asked by themselves, in the order in which they are asked.
    pub const ALL: [Self; 16] = [
        Self::Busy,
        Self::Power,
        Self::Clocks,
        Self::Temperature,
        Self::Throttle,
        Self::Memory,
        Self::Gpm,
        Self::PowerLimit,
        Self::PcieLink,
        Self::Fan,
        Self::Processes,
        Self::Energy,
        Self::Ecc,
        Self::Xids,
        Self::PcieRx,
        Self::PcieTx,
    ];

    /// How often it is asked. What costs little is asked ten times a second (`Busy` is new five times a
    /// second); on an H200 `Power` takes 1.2 ms, `Gpm` 1.8 ms and `Energy` 13 ms, and asking for all is to take
    /// less than 0.8 % of a core.
    pub const fn period(self) -> Nanos {
        match self {
            Self::Busy | Self::Clocks | Self::Temperature => 100 * MS,
            Self::Memory | Self::Power => 200 * MS,
            Self::Gpm | Self::GpmKeep | Self::Throttle => 500 * MS,
            Self::Processes | Self::Fan | Self::PcieRx | Self::PcieTx => 1000 * MS,
            Self::Energy | Self::PcieLink | Self::Xids => 2000 * MS,
            Self::PowerLimit | Self::Ecc => 5000 * MS,
        }
    }

    /// Which thread asks.
    pub const fn lane(self) -> Lane {
        match self {
            Self::Busy
            | Self::Memory
            | Self::Power
            | Self::Clocks
            | Self::Temperature
            | Self::Throttle
            | Self::Gpm
            | Self::GpmKeep => Lane::Fast,
            _ => Lane::Slow,
        }
    }

    /// Whether it costs enough that several GPUs must share its rate.
    pub const fn is_dear(self) -> bool {
        matches!(self, Self::Gpm | Self::Energy | Self::Processes | Self::PcieRx | Self::PcieTx)
    }

    /// The metrics that it answers.
    pub const fn metrics(self) -> &'static [Metric] {
        match self {
            Self::Busy => &[Metric::Busy, Metric::MemoryBusy],
            Self::Memory => &[Metric::MemoryUsed],
            Self::Power => &[Metric::Power],
            Self::Clocks => &[Metric::SmClock, Metric::MemoryClock],
            Self::Temperature => &[Metric::Temperature],
            Self::Gpm => &GPM,
            Self::PowerLimit => &[Metric::PowerLimit],
            Self::Fan => &[Metric::Fan],
            Self::PcieLink => &[Metric::PcieGeneration, Metric::PcieWidth],
            Self::PcieRx => &[Metric::PcieRx],
            Self::PcieTx => &[Metric::PcieTx],
            Self::Processes => &[Metric::OwnMemory],
            Self::Throttle | Self::GpmKeep | Self::Energy | Self::Ecc | Self::Xids => &[],
        }
    }
}

/// What GPM answers.
pub const GPM: [Metric; 12] = [
    Metric::Graphics,
    Metric::SmActive,
    Metric::SmOccupancy,
    Metric::Tensor,
    Metric::Fp16,
    Metric::Fp32,
    Metric::Int,
    Metric::Dram,
    Metric::PcieRx,
    Metric::PcieTx,
    Metric::NvlinkRx,
    Metric::NvlinkTx,
];

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Values of metrics, in their units; a metric that the device does not have is left out.
    Values(BTreeMap<Metric, f64>),
    /// To [`Call::Gpm`].
    Gpm(GpmWindow),
    /// To [`Call::Throttle`]: all reasons in force, in the order of [`Throttle::ALL`].
    Throttle(Vec<Throttle>),
    /// To [`Call::Energy`]: joules.
    Energy(f64),
    /// To [`Call::Processes`].
    Processes(Vec<Owner>),
    /// To [`Call::Ecc`].
    Ecc {
        /// Errors that were put right; `None` where they are not counted.
        corrected: Option<u64>,
        /// Errors that were not.
        uncorrected: Option<u64>,
    },
    /// To [`Call::Xids`]: the driver's error numbers, oldest first.
    Xids(Vec<u64>),
    /// To [`Call::GpmKeep`].
    Kept,
}

/// The counters of GPM between two samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GpmWindow {
    /// Time between the two samples.
    pub span: Nanos,
    /// Values in their units; `None` is the driver's NaN.
    pub values: BTreeMap<Metric, Option<f64>>,
    /// Metrics that this device does not have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<Metric, Refusal>,
}

/// Shorter windows may hold no new counters.
pub const LEAST_GPM_WINDOW: Nanos = 100 * MS;

impl GpmWindow {
    /// Whether there were new counters between the samples. Without any, every value reads 0 and DRAM
    /// NaN, which must not be taken for an idle GPU.
    pub fn is_fresh(&self) -> bool {
        let mut values = self.values.values().flatten();
        let nothing_is_missing = self.values.values().all(Option::is_some);
        let fresh = !self.values.is_empty() && nothing_is_missing || values.any(|&v| v > 0.0);
        self.span >= LEAST_GPM_WINDOW && fresh
    }
}

/// A process with memory on a GPU, as the driver lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its number.
    pub pid: u32,
    /// Its name, where it can be told.
    pub name: Option<String>,
    /// Bytes, where they can be told.
    pub memory: Option<u64>,
}

/// What holds the clocks down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Throttle {
    /// Nothing runs.
    Idle,
    /// Somebody set application clocks.
    ApplicationClocks,
    /// The power limit.
    PowerCap,
    /// The hardware slows down: power or heat.
    HardwareSlowdown,
    /// Kept in step with other GPUs.
    SyncBoost,
    /// Heat, by the driver.
    SoftwareHeat,
    /// Heat, by the hardware.
    HardwareHeat,
    /// The machine's power supply asks for less.
    PowerBrake,
    /// The display's clock.
    DisplayClock,
}

impl Throttle {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::Idle,
        Self::ApplicationClocks,
        Self::PowerCap,
        Self::HardwareSlowdown,
        Self::SyncBoost,
        Self::SoftwareHeat,
        Self::HardwareHeat,
        Self::PowerBrake,
        Self::DisplayClock,
    ];

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::ApplicationClocks => "application clocks set",
            Self::PowerCap => "power limit",
            Self::HardwareSlowdown => "hardware slowdown",
            Self::SyncBoost => "in step with other GPUs",
            Self::SoftwareHeat => "heat",
            Self::HardwareHeat => "heat (hardware)",
            Self::PowerBrake => "power brake",
            Self::DisplayClock => "display clock",
        }
    }

    /// Whether it is heat.
    pub const fn is_heat(self) -> bool {
        matches!(self, Self::SoftwareHeat | Self::HardwareHeat)
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// This device does not have it.
    Unsupported,
    /// This user may not ask.
    Forbidden,
    /// This driver does not know the question.
    TooOld,
    /// Nothing new since the last time.
    Nothing,
    /// The device is gone.
    Lost(String),
    /// The driver itself does not know what went wrong.
    Unknown,
    /// Anything else.
    Other(String),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unsupported => "this GPU does not tell",
            Self::Forbidden => "this user may not ask",
            Self::TooOld => "this driver is too old to tell",
            Self::Nothing => "nothing new yet",
            Self::Unknown => "the driver failed without a reason",
            Self::Lost(why) | Self::Other(why) => why,
        })
    }
}
