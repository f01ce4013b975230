//! Who answers, and what a GPU is.

use serde::{Deserialize, Serialize};

use super::call::{Answer, Call, Refusal};

/// Somebody who answers questions about GPUs: the driver, or a recording of one.
pub trait Source: Send + Sync {
    /// The GPUs that there are, in the order in which [`Self::ask`] counts them; called once, first.
    ///
    /// # Errors
    /// Where there is no driver or no GPU.
    fn inventory(&self) -> Result<Inventory, Missing>;

    /// One question to one GPU. Two threads ask at once, each question by one thread alone.
    ///
    /// # Errors
    /// Where there is no answer.
    fn ask(&self, gpu: usize, call: Call) -> Result<Answer, Refusal>;
}

/// The driver and its GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// The driver's version.
    pub driver: Option<String>,
    /// The CUDA version that it serves, as `13.0`.
    pub cuda: Option<String>,
    /// The GPUs.
    pub gpus: Vec<Facts>,
    /// These are not this machine's: a trace is played.
    #[serde(default)]
    pub recorded: bool,
}

/// Why there is no GPU to watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What is missing.
    pub what: String,
    /// What can be done.
    pub way_out: String,
}

/// What does not change of a GPU, or of a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its number in the driver's order, that of the PCI bus; CUDA may count otherwise.
    pub index: u32,
    /// The product's name.
    pub name: String,
    /// `GPU-…`, or `MIG-…` for a part of one.
    pub uuid: String,
    /// Place on the PCI bus.
    pub bus: Option<String>,
    /// `Hopper`, say.
    pub architecture: Option<String>,
    /// Bytes of memory.
    pub memory_total: Option<u64>,
    /// The highest SM clock, MHz.
    pub sm_mhz_max: Option<u32>,
    /// The highest memory clock, MHz.
    pub memory_mhz_max: Option<u32>,
    /// The latest PCIe generation that GPU and machine have in common.
    pub pcie_generation_max: Option<u32>,
    /// PCIe lanes.
    pub pcie_width_max: Option<u32>,
    /// Whether GPM tells how full it is.
    pub gpm: Gpm,
    /// Whether it is cut into parts.
    #[serde(default)]
    pub mig: bool,
    /// The part that this is, where it is one.
    #[serde(default)]
    pub part: Option<Part>,
}

/// Whether GPM tells how full a GPU is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gpm {
    /// It does.
    Yes,
    /// The chip is older than Hopper.
    #[default]
    No,
    /// The driver is too old to be asked, or refuses.
    Unknown,
}

/// A part of a GPU that is cut up (MIG).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its number on its GPU.
    pub number: u32,
    /// The GPU instance that it belongs to, where the driver tells.
    pub instance: Option<u32>,
}

impl Facts {
    /// `0`, or `0.2` for a part.
    pub fn number(&self) -> String {
        self.part.map_or_else(
            || self.index.to_string(),
            |part| format!("{}.{}", self.index, part.number),
        )
    }
}
