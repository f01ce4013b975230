//! The figures that are followed over time, as data: name, unit, who answers.

use serde::{Deserialize, Serialize};

/// A figure of a GPU that has a value at each moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Share of the driver's window in which any kernel was resident.
    Busy,
    /// Share of the driver's window in which memory was read or written.
    MemoryBusy,
    /// GPM: share of the time in which the graphics and compute engine worked.
    Graphics,
    /// GPM: share of time and SMs with at least one warp.
    SmActive,
    /// GPM: warps on the SMs as a share of those that fit.
    SmOccupancy,
    /// GPM: share of the time in which the tensor cores worked.
    Tensor,
    /// GPM: the same of the FP16 pipe.
    Fp16,
    /// GPM: of the FP32 pipe.
    Fp32,
    /// GPM: of the integer pipe.
    Int,
    /// GPM: memory bandwidth used, as a share of what there is.
    Dram,
    /// Memory in use by everybody, bytes.
    MemoryUsed,
    /// Memory in use by this process, bytes.
    OwnMemory,
    /// Watts.
    Power,
    /// The power limit in force, watts.
    PowerLimit,
    /// SM clock, MHz.
    SmClock,
    /// Memory clock, MHz.
    MemoryClock,
    /// °C.
    Temperature,
    /// Fan speed as a share of the highest intended.
    Fan,
    /// Generation of the PCIe link as it runs now.
    PcieGeneration,
    /// Lanes of the PCIe link in use.
    PcieWidth,
    /// Bytes a second over PCIe to the GPU.
    PcieRx,
    /// Bytes a second over PCIe from the GPU.
    PcieTx,
    /// Bytes a second over all links of NVLink to the GPU.
    NvlinkRx,
    /// Bytes a second over all links of NVLink from the GPU.
    NvlinkTx,
}

/// What a metric is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share, 0 to 1.
    Share,
    /// Bytes.
    Bytes,
    /// Watts.
    Watts,
    /// Megahertz.
    Megahertz,
    /// Degrees Celsius.
    Celsius,
    /// Bytes a second.
    BytesPerSecond,
    /// A plain number.
    Number,
}

impl Metric {
    /// All metrics, in the order of the screen and the report.
    pub const ALL: [Self; 24] = [
        Self::Busy,
        Self::MemoryBusy,
        Self::Graphics,
        Self::SmActive,
        Self::SmOccupancy,
        Self::Tensor,
        Self::Fp16,
        Self::Fp32,
        Self::Int,
        Self::Dram,
        Self::MemoryUsed,
        Self::OwnMemory,
        Self::Power,
        Self::PowerLimit,
        Self::SmClock,
        Self::MemoryClock,
        Self::Temperature,
        Self::Fan,
        Self::PcieGeneration,
        Self::PcieWidth,
        Self::PcieRx,
        Self::PcieTx,
        Self::NvlinkRx,
        Self::NvlinkTx,
    ];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::MemoryBusy => "memory busy",
            Self::Graphics => "graphics engine",
            Self::SmActive => "SM active",
            Self::SmOccupancy => "SM occupancy",
            Self::Tensor => "tensor active",
            Self::Fp16 => "FP16 pipe",
            Self::Fp32 => "FP32 pipe",
            Self::Int => "integer pipe",
            Self::Dram => "DRAM bandwidth",
            Self::MemoryUsed => "memory",
            Self::OwnMemory => "own memory",
            Self::Power => "power",
            Self::PowerLimit => "power limit",
            Self::SmClock => "SM clock",
            Self::MemoryClock => "memory clock",
            Self::Temperature => "temperature",
            Self::Fan => "fan",
            Self::PcieGeneration => "PCIe generation",
            Self::PcieWidth => "PCIe width",
            Self::PcieRx => "PCIe to GPU",
            Self::PcieTx => "PCIe from GPU",
            Self::NvlinkRx => "NVLink to GPU",
            Self::NvlinkTx => "NVLink from GPU",
        }
    }

    /// Its unit.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Busy
            | Self::MemoryBusy
            | Self::Graphics
            | Self::SmActive
            | Self::SmOccupancy
            | Self::Tensor
            | Self::Fp16
            | Self::Fp32
            | Self::Int
            | Self::Dram
            | Self::Fan => Unit::Share,
            Self::MemoryUsed | Self::OwnMemory => Unit::Bytes,
            Self::Power | Self::PowerLimit => Unit::Watts,
            Self::SmClock | Self::MemoryClock => Unit::Megahertz,
            Self::Temperature => Unit::Celsius,
            Self::PcieRx | Self::PcieTx | Self::NvlinkRx | Self::NvlinkTx => Unit::BytesPerSecond,
            Self::PcieGeneration | Self::PcieWidth => Unit::Number,
        }
    }
}
