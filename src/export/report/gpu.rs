//! What a report tells of GPUs and of the engine's own account of its device.

use serde::Serialize;
use std::collections::BTreeMap;

use super::rounded;
use crate::profile::snapshot::{GpuWatch, Metric, Throttle};
use crate::profile::window::Window;
use crate::profile::window::gpu::GpuUse;

/// One GPU, or a part of one: means over the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuReport {
    /// The product's name.
    pub name: String,
    /// Its number in the driver's order; `0.1` for a part.
    pub number: String,
    /// `GPU-…` or `MIG-…`.
    pub uuid: String,
    /// Whether the run may use it; `None` where that cannot be told.
    pub usable: Option<bool>,
    /// Whether the engine works on it.
    pub engine: bool,
    /// Share of the driver's window in which any kernel was resident.
    pub busy: Option<f64>,
    /// Share of that window in which memory was read or written.
    pub memory_busy: Option<f64>,
    /// GPM: share of the time in which the graphics and compute engine worked.
    pub graphics: Option<f64>,
    /// GPM: share of time and SMs with at least one warp.
    pub sm_active: Option<f64>,
    /// GPM: warps on the SMs as a share of those that fit.
    pub sm_occupancy: Option<f64>,
    /// GPM: share of the time in which the tensor cores worked.
    pub tensor: Option<f64>,
    /// GPM: the same of the FP16 pipe.
    pub fp16: Option<f64>,
    /// GPM: of the FP32 pipe.
    pub fp32: Option<f64>,
    /// GPM: of the integer pipe.
    pub int: Option<f64>,
    /// GPM: memory bandwidth used, as a share of what there is.
    pub dram: Option<f64>,
    /// Share of the time in which the engine's own work was on it, by its events.
    pub event_busy: Option<f64>,
    /// Memory in use, MiB.
    pub memory_used_mib: Option<f64>,
    /// Memory there is, MiB.
    pub memory_total_mib: Option<f64>,
    /// Memory in use by pipetop's process, MiB.
    pub own_memory_mib: Option<f64>,
    /// Watts.
    pub power_w: Option<f64>,
    /// The power limit in force.
    pub power_limit_w: Option<f64>,
    /// Joules used in the window.
    pub energy_j: Option<f64>,
    /// The same by image predicted in it; of the engine's GPU alone.
    pub energy_j_image: Option<f64>,
    /// SM clock.
    pub sm_mhz: Option<f64>,
    /// Memory clock.
    pub memory_mhz: Option<f64>,
    /// °C.
    pub temperature_c: Option<f64>,
    /// Fan speed as a share of the highest intended.
    pub fan: Option<f64>,
    /// Generation of the PCIe link.
    pub pcie_generation: Option<f64>,
    /// Its lanes.
    pub pcie_width: Option<f64>,
    /// Megabytes (10⁶) a second over PCIe to the GPU.
    pub pcie_rx_mb_s: Option<f64>,
    /// The same from the GPU.
    pub pcie_tx_mb_s: Option<f64>,
    /// Megabytes a second over NVLink to the GPU.
    pub nvlink_rx_mb_s: Option<f64>,
    /// The same from the GPU.
    pub nvlink_tx_mb_s: Option<f64>,
    /// Share of the time in which a reason held the clocks down, for those that did.
    pub throttled: BTreeMap<Throttle, f64>,
    /// Memory errors that were put right, since the device's last reset.
    pub ecc_corrected: Option<u64>,
    /// Those that were not.
    pub ecc_uncorrected: Option<u64>,
    /// The driver's error numbers since the start, the latest ones.
    pub xids: Vec<u64>,
    /// When it ceased to answer, in seconds since the start.
    pub lost_s: Option<f64>,
    /// Who had memory on it at the stop.
    pub processes: Vec<ProcessReport>,
    /// Why a figure is absent, by its name.
    pub absent: BTreeMap<Metric, String>,
}

/// A process with memory on a GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessReport {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: Option<String>,
    /// Its memory there, MiB.
    pub memory_mib: Option<f64>,
    /// It is pipetop itself.
    pub own: bool,
}

/// The engine's own account of its device over the window, by its events.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceReport {
    /// `GPU-…`, where it is one that the driver shows.
    pub uuid: Option<String>,
    /// Batches booked.
    pub batches: u64,
    /// Share of the time with anything of ours on it.
    pub busy: f64,
    /// Copies to it, of a batch.
    pub h2d_ms: Option<f64>,
    /// Kernels, of a batch.
    pub compute_ms: Option<f64>,
    /// Copies from it, of a batch.
    pub d2h_ms: Option<f64>,
    /// Gaps between two batches.
    pub gaps: u64,
    /// Their mean length.
    pub gap_ms: Option<f64>,
    /// The longest of the whole run.
    pub gap_max_ms: f64,
    /// Mean theoretical occupancy of the running kernels.
    pub theoretical_occupancy: Option<f64>,
}

/// All GPUs of a window.
pub(super) fn gpus(window: &Window<'_>) -> Vec<GpuReport> {
    let gpus = (0..window.to().gpus.len()).filter_map(|index| Some((index, window.gpu(index)?)));
    gpus.map(|(index, gpu)| report(window, index, &gpu)).collect()
}

fn mib(bytes: f64) -> f64 {
    rounded(bytes / f64::from(1 << 20))
}

fn report(window: &Window<'_>, index: usize, gpu: &GpuUse<'_>) -> GpuReport {
    let sample = gpu.sample();
    let facts = &sample.facts;
    let engine = window.to().engine_gpu() == Some(index);
    let mean = |metric| gpu.mean(metric).map(rounded);
    let memory = |metric| gpu.mean(metric).map(mib);
    let rate = |metric| gpu.mean(metric).map(|bytes| rounded(bytes / 1e6));
    let shares = Throttle::ALL.into_iter().filter_map(|r| Some((r, rounded(gpu.throttled(r)?))));
    let processes = sample.processes.iter().flat_map(|processes| &processes.list);
    GpuReport {
        name: facts.name.clone(),
        number: facts.number(),
        uuid: facts.uuid.clone(),
        usable: sample.usable,
        engine,
        busy: mean(Metric::Busy),
        memory_busy: mean(Metric::MemoryBusy),
        graphics: mean(Metric::Graphics),
        sm_active: mean(Metric::SmActive),
        sm_occupancy: mean(Metric::SmOccupancy),
        tensor: mean(Metric::Tensor),
        fp16: mean(Metric::Fp16),
        fp32: mean(Metric::Fp32),
        int: mean(Metric::Int),
        dram: mean(Metric::Dram),
        event_busy: window.event_busy(index).map(rounded),
        memory_used_mib: memory(Metric::MemoryUsed),
        memory_total_mib: facts.memory_total.map(|bytes| mib(bytes as f64)),
        own_memory_mib: memory(Metric::OwnMemory),
        power_w: mean(Metric::Power),
        power_limit_w: mean(Metric::PowerLimit),
        energy_j: gpu.joules().map(rounded),
        energy_j_image: gpu.joules_per_image().filter(|_| engine).map(rounded),
        sm_mhz: mean(Metric::SmClock),
        memory_mhz: mean(Metric::MemoryClock),
        temperature_c: mean(Metric::Temperature),
        fan: mean(Metric::Fan),
        pcie_generation: mean(Metric::PcieGeneration),
        pcie_width: mean(Metric::PcieWidth),
        pcie_rx_mb_s: rate(Metric::PcieRx),
        pcie_tx_mb_s: rate(Metric::PcieTx),
        nvlink_rx_mb_s: rate(Metric::NvlinkRx),
        nvlink_tx_mb_s: rate(Metric::NvlinkTx),
        throttled: shares.filter(|&(_, share)| share > 0.0).collect(),
        ecc_corrected: sample.ecc.and_then(|ecc| ecc.corrected),
        ecc_uncorrected: sample.ecc.and_then(|ecc| ecc.uncorrected),
        xids: sample.xids.iter().map(|xid| xid.code).collect(),
        lost_s: sample.lost.as_ref().map(|lost| rounded(lost.at as f64 / 1e9)),
        processes: processes
            .map(|process| ProcessReport {
                pid: process.owner.pid,
                name: process.owner.name.clone(),
                memory_mib: process.owner.memory.map(|bytes| mib(bytes as f64)),
                own: process.own,
            })
            .collect(),
        absent: Metric::ALL
            .into_iter()
            .filter(|&metric| gpu.mean(metric).is_none())
            .map(|metric| (metric, sample.reason(metric).to_owned()))
            .collect(),
    }
}

/// Why no GPU is watched; `None` where some are, or nobody asked.
pub(super) fn missing(watch: &GpuWatch) -> Option<String> {
    match watch {
        GpuWatch::Missing(missing) => Some(missing.what.clone()),
        GpuWatch::Starting => Some("the driver did not answer in time".to_owned()),
        GpuWatch::Off | GpuWatch::On { .. } => None,
    }
}

/// The engine's account.
pub(super) fn device(window: &Window<'_>) -> Option<DeviceReport> {
    let used = window.device()?;
    let ms = |nanos: Option<f64>| nanos.map(|nanos| rounded(nanos / 1e6));
    let uuid = window.to().device.as_ref().and_then(|device| device.uuid.as_deref());
    Some(DeviceReport {
        uuid: uuid.map(str::to_owned),
        batches: used.batches,
        busy: rounded(used.busy),
        h2d_ms: ms(used.h2d),
        compute_ms: ms(used.compute),
        d2h_ms: ms(used.d2h),
        gaps: used.gaps,
        gap_ms: ms(used.gap),
        gap_max_ms: rounded(used.gap_max / 1e6),
        theoretical_occupancy: used.occupancy.map(rounded),
    })
}
