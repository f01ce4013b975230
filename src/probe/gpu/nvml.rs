//! The driver itself, through NVML. Without a driver this is a clean "missing".

mod inventory;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::{Mutex, OnceLock, PoisonError};

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enum_wrappers::device::{
    Clock, EccCounter, MemoryError, PcieUtilCounter, TemperatureSensor,
};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::event::EventSet;
use nvml_wrapper::gpm::gpm_metrics_get;
use nvml_wrapper::{Device, GpmSample, Nvml};

use super::call::{Answer, Call, GpmWindow, Owner, Refusal, Throttle};
use super::metric::Metric;
use super::source::{Inventory, Missing, Source};
use crate::probe::clock::{self, Nanos};
use inventory::{add, missing, no_gpu};

const LIBRARY: &str = "libnvidia-ml.so.1";
/// The driver's megabytes over PCIe and NVLink.
const MIB: f64 = 1024.0 * 1024.0;

/// What is asked of GPM, and by how much its figure is multiplied to be in the metric's unit.
const ASKED: [(GpmMetricId, Metric, f64); 12] = [
    (GpmMetricId::GraphicsUtil, Metric::Graphics, 0.01),
    (GpmMetricId::SmUtil, Metric::SmActive, 0.01),
    (GpmMetricId::SmOccupancy, Metric::SmOccupancy, 0.01),
    (GpmMetricId::AnyTensorUtil, Metric::Tensor, 0.01),
    (GpmMetricId::Fp16Util, Metric::Fp16, 0.01),
    (GpmMetricId::Fp32Util, Metric::Fp32, 0.01),
    (GpmMetricId::IntegerUtil, Metric::Int, 0.01),
    (GpmMetricId::DramBwUtil, Metric::Dram, 0.01),
    (GpmMetricId::PcieRxPerSec, Metric::PcieRx, MIB),
    (GpmMetricId::PcieTxPerSec, Metric::PcieTx, MIB),
    (GpmMetricId::NvlinkTotalRxPerSec, Metric::NvlinkRx, MIB),
    (GpmMetricId::NvlinkTotalTxPerSec, Metric::NvlinkTx, MIB),
];

/// NVIDIA's driver.
#[derive(Default)]
pub struct Driver {
    opened: OnceLock<Opened>,
}

struct Opened {
    /// Never closed: threads may still be in a call when the program ends.
    nvml: &'static Nvml,
    gpus: Vec<Handle>,
}

struct Handle {
    device: Device<'static>,
    uuid: String,
    /// Of a part: the whole GPU and the part's instance there.
    whole: Option<(Device<'static>, Option<u32>)>,
    gpm: Mutex<Window>,
    events: OnceLock<Option<Mutex<EventSet<'static>>>>,
}

/// A window of GPM.
#[derive(Default)]
struct Window {
    kept: Option<(GpmSample<'static>, Nanos)>,
    newest: Option<(GpmSample<'static>, Nanos)>,
}

impl Source for Driver {
    fn inventory(&self) -> Result<Inventory, Missing> {
        let nvml = Nvml::builder().lib_path(OsStr::new(LIBRARY)).init().map_err(|e| missing(&e))?;
        let nvml: &'static Nvml = Box::leak(Box::new(nvml));
        let count = nvml.device_count().map_err(|error| missing(&error))?;
        let mut handles = Vec::new();
        let mut facts = Vec::new();
        let mut unreadable = None;
        for index in 0..count {
            match nvml.device_by_index(index) {
                Ok(device) => add(index, device, &mut handles, &mut facts),
                Err(error) => unreadable = Some((index, error)),
            }
        }
        if handles.is_empty() {
            return Err(unreadable.map_or_else(no_gpu, |(index, error)| Missing {
                what: format!("GPU {index} cannot be opened: {error}"),
                way_out: "see what `nvidia-smi` says of it".to_owned(),
            }));
        }
        let cuda = nvml.sys_cuda_driver_version().ok();
        let inventory = Inventory {
            driver: nvml.sys_driver_version().ok(),
            cuda: cuda.map(|version| format!("{}.{}", version / 1000, version % 1000 / 10)),
            gpus: facts,
            recorded: false,
        };
        // A second inventory finds the first one's handles.
        let _ = self.opened.set(Opened { nvml, gpus: handles });
        Ok(inventory)
    }

    fn ask(&self, gpu: usize, call: Call) -> Result<Answer, Refusal> {
        let opened = self.opened.get().ok_or(Refusal::Nothing)?;
        let handle = opened.gpus.get(gpu).ok_or(Refusal::Unsupported)?;
        handle.ask(opened.nvml, call).map_err(|error| refusal(&error))
    }
}

fn refusal(error: &NvmlError) -> Refusal {
    match error {
        NvmlError::NotSupported | NvmlError::InvalidArg => Refusal::Unsupported,
        NvmlError::NoPermission => Refusal::Forbidden,
        NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound => Refusal::TooOld,
        NvmlError::NotFound | NvmlError::NoData | NvmlError::Timeout => Refusal::Nothing,
        NvmlError::GpuLost | NvmlError::ResetRequired => Refusal::Lost(error.to_string()),
        NvmlError::Unknown => Refusal::Unknown,
        error => Refusal::Other(error.to_string()),
    }
}

fn one(metric: Metric, value: f64) -> Answer {
    Answer::Values(BTreeMap::from([(metric, value)]))
}

impl Handle {
    fn ask(&self, nvml: &'static Nvml, call: Call) -> Result<Answer, NvmlError> {
        let device = &self.device;
        Ok(match call {
            Call::Busy => {
                let busy = device.utilization_rates()?;
                Answer::Values(BTreeMap::from([
                    (Metric::Busy, f64::from(busy.gpu) / 100.0),
                    (Metric::MemoryBusy, f64::from(busy.memory) / 100.0),
                ]))
            }
            Call::Memory => one(Metric::MemoryUsed, device.memory_info()?.used as f64),
            Call::Power => one(Metric::Power, f64::from(device.power_usage()?) / 1e3),
            Call::Clocks => {
                let (sm, memory) =
                    (device.clock_info(Clock::SM)?, device.clock_info(Clock::Memory));
                let mut values = BTreeMap::from([(Metric::SmClock, f64::from(sm))]);
                values.extend(memory.ok().map(|mhz| (Metric::MemoryClock, f64::from(mhz))));
                Answer::Values(values)
            }
            Call::Temperature => {
                one(Metric::Temperature, f64::from(device.temperature(TemperatureSensor::Gpu)?))
            }
            Call::Throttle => Answer::Throttle(reasons(device.current_throttle_reasons()?)),
            Call::Gpm => Answer::Gpm(self.gpm(nvml)?),
            Call::GpmKeep => {
                let mut window = self.gpm.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(newest) = window.newest.take() {
                    window.kept = Some(newest);
                }
                Answer::Kept
            }
            Call::PowerLimit => {
                one(Metric::PowerLimit, f64::from(device.enforced_power_limit()?) / 1e3)
            }
            Call::Fan => one(Metric::Fan, f64::from(device.fan_speed(0)?) / 100.0),
            Call::PcieLink => Answer::Values(BTreeMap::from([
                (Metric::PcieGeneration, f64::from(device.current_pcie_link_gen()?)),
                (Metric::PcieWidth, f64::from(device.current_pcie_link_width()?)),
            ])),
            // KB/s, by the driver's word.
            Call::PcieRx => {
                let kb = device.pcie_throughput(PcieUtilCounter::Receive)?;
                one(Metric::PcieRx, f64::from(kb) * 1e3)
            }
            Call::PcieTx => {
                let kb = device.pcie_throughput(PcieUtilCounter::Send)?;
                one(Metric::PcieTx, f64::from(kb) * 1e3)
            }
            Call::Energy => Answer::Energy(device.total_energy_consumption()? as f64 / 1e3),
            Call::Processes => Answer::Processes(owners(device)?),
            Call::Ecc => {
                let count = |kind| device.total_ecc_errors(kind, EccCounter::Volatile);
                Answer::Ecc {
                    corrected: count(MemoryError::Corrected).ok(),
                    uncorrected: Some(count(MemoryError::Uncorrected)?),
                }
            }
            Call::Xids => Answer::Xids(self.xids(nvml)?),
        })
    }

    /// The counters between the kept sample and a new one. The first sample is kept as it comes.
    fn gpm(&self, nvml: &'static Nvml) -> Result<GpmWindow, NvmlError> {
        let sample = match &self.whole {
            Some((whole, instance)) => {
                whole.gpm_mig_sample(instance.ok_or(NvmlError::NotSupported)?)?
            }
            None => self.device.gpm_sample()?,
        };
        let taken = clock::now();
        let mut window = self.gpm.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((kept, since)) = &window.kept else {
            window.kept = Some((sample, taken));
            return Err(NvmlError::NoData);
        };
        let ids = ASKED.map(|(id, ..)| id);
        let answers = gpm_metrics_get(nvml, kept, &sample, &ids)?;
        let mut counters = GpmWindow { span: taken.saturating_sub(*since), ..GpmWindow::default() };
        for ((_, metric, scale), answer) in ASKED.into_iter().zip(answers) {
            match answer {
                Ok(answer) => {
                    let value = Some(answer.value * scale).filter(|value| value.is_finite());
                    counters.values.insert(metric, value);
                }
                Err(error) => {
                    counters.refused.insert(metric, refusal(&error));
                }
            }
        }
        window.newest = Some((sample, taken));
        Ok(counters)
    }

    /// Errors that the driver reported since the last time. Watching for them begins here.
    fn xids(&self, nvml: &'static Nvml) -> Result<Vec<u64>, NvmlError> {
        let watch = || {
            let events = self.device.supported_event_types().ok()?;
            let xid = EventTypes::CRITICAL_XID_ERROR;
            let set = events.contains(xid).then(|| nvml.create_event_set().ok())??;
            self.device.register_events(xid, set).ok().map(Mutex::new)
        };
        let Some(events) = self.events.get_or_init(watch) else {
            return Err(NvmlError::NotSupported);
        };
        let events = events.lock().unwrap_or_else(PoisonError::into_inner);
        let mut codes = Vec::new();
        // More than a handful at once is a storm: the rest is read the next time.
        while codes.len() < 16 {
            match events.wait(0) {
                Ok(event) => {
                    let here = event.device.uuid().is_ok_and(|uuid| uuid == self.uuid);
                    match event.event_data {
                        Some(XidError::Value(code)) if here => codes.push(code),
                        Some(XidError::Unknown) if here => codes.push(999),
                        _ => {}
                    }
                }
                Err(NvmlError::Timeout) => break,
                Err(error) if codes.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(codes)
    }
}

fn owners(device: &Device<'_>) -> Result<Vec<Owner>, NvmlError> {
    let mut owners = Vec::new();
    let compute = device.running_compute_processes()?;
    // A desktop draws with it.
    let graphics = device.running_graphics_processes().unwrap_or_default();
    for process in compute.into_iter().chain(graphics) {
        if owners.iter().any(|owner: &Owner| owner.pid == process.pid) {
            continue;
        }
        let memory = match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(bytes),
            UsedGpuMemory::Unavailable => None,
        };
        owners.push(Owner { pid: process.pid, name: name_of(process.pid), memory });
    }
    Ok(owners)
}

/// A process's name, as the kernel knows it.
fn name_of(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let name: String = name.trim().chars().filter(|c| !c.is_control()).collect();
    (!name.is_empty()).then_some(name)
}

fn reasons(bits: ThrottleReasons) -> Vec<Throttle> {
    let all = [
        (ThrottleReasons::GPU_IDLE, Throttle::Idle),
        (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, Throttle::ApplicationClocks),
        (ThrottleReasons::SW_POWER_CAP, Throttle::PowerCap),
        (ThrottleReasons::HW_SLOWDOWN, Throttle::HardwareSlowdown),
        (ThrottleReasons::SYNC_BOOST, Throttle::SyncBoost),
        (ThrottleReasons::SW_THERMAL_SLOWDOWN, Throttle::SoftwareHeat),
        (ThrottleReasons::HW_THERMAL_SLOWDOWN, Throttle::HardwareHeat),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, Throttle::PowerBrake),
        (ThrottleReasons::DISPLAY_CLOCK_SETTING, Throttle::DisplayClock),
    ];
    all.into_iter().filter(|(bit, _)| bits.contains(*bit)).map(|(_, reason)| reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_driver_the_way_out_is_told() {
        let driver = Driver::default();
        match driver.inventory() {
            Ok(inventory) => assert!(!inventory.gpus.is_empty()),
            Err(missing) => assert!(!missing.what.is_empty() && !missing.way_out.is_empty()),
        }
        if driver.opened.get().is_none() {
            assert_eq!(driver.ask(0, Call::Busy), Err(Refusal::Nothing));
        }
    }

    #[test]
    fn errors_are_told_apart() {
        assert_eq!(refusal(&NvmlError::NotSupported), Refusal::Unsupported);
        assert_eq!(refusal(&NvmlError::FailedToLoadSymbol("x".into())), Refusal::TooOld);
        assert!(matches!(refusal(&NvmlError::GpuLost), Refusal::Lost(_)));
        assert!(missing(&NvmlError::DriverNotLoaded).way_out.contains("modprobe"));
    }

    #[test]
    fn every_reason_has_its_bit() {
        assert_eq!(reasons(ThrottleReasons::all()), Throttle::ALL);
        assert_eq!(reasons(ThrottleReasons::empty()), []);
    }
}
