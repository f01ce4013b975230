//! Which GPUs there are, whole or in parts, and what does not change of them.

use std::sync::{Mutex, OnceLock};

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;

use super::{Handle, LIBRARY};
use crate::probe::gpu::source::{Facts, Gpm, Missing, Part};

pub(super) fn no_gpu() -> Missing {
    Missing {
        what: "NVIDIA's driver is here and shows no GPU".to_owned(),
        way_out: "see what `nvidia-smi -L` says; in a container pass the GPUs to it (--gpus all)"
            .to_owned(),
    }
}

/// Why the driver cannot be opened, and what to do.
pub(super) fn missing(error: &NvmlError) -> Missing {
    let (what, way_out) = match error {
        NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => (
            format!("no NVIDIA driver is seen here: {LIBRARY} was not found"),
            "install NVIDIA's driver; in a container start it with --gpus all and \
             NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        ),
        NvmlError::DriverNotLoaded => (
            "NVIDIA's driver is installed and not loaded".to_owned(),
            "load it (modprobe nvidia); in a container pass the GPUs to it (--gpus all)",
        ),
        NvmlError::NoPermission => (
            "this user may not ask NVIDIA's driver".to_owned(),
            "see who may open /dev/nvidiactl and /dev/nvidia0",
        ),
        NvmlError::LibRmVersionMismatch => (
            "NVIDIA's driver and its library are of different versions".to_owned(),
            "restart the machine: the driver was updated beneath its library",
        ),
        error => {
            return Missing {
                what: format!("NVIDIA's driver does not open: {error}"),
                way_out: "see what `nvidia-smi` says".to_owned(),
            };
        }
    };
    Missing { what, way_out: way_out.to_owned() }
}

/// Adds a GPU, and its parts where it is cut up.
pub(super) fn add(
    index: u32,
    device: Device<'static>,
    handles: &mut Vec<Handle>,
    all: &mut Vec<Facts>,
) {
    let mut facts = describe(index, &device);
    facts.mig = device.mig_mode().is_ok_and(|mode| mode.current == 1);
    let handle = |device: Device<'static>, facts: &Facts, whole| Handle {
        device,
        uuid: facts.uuid.clone(),
        whole,
        gpm: Mutex::default(),
        events: OnceLock::new(),
    };
    let mut parts = Vec::new();
    let most = if facts.mig { device.mig_device_count().unwrap_or(0) } else { 0 };
    for number in 0..most {
        let (Ok(part), Ok(whole)) = (device.mig_device_by_index(number), again(&device)) else {
            continue;
        };
        let instance = instance(&part);
        let of_part = Facts {
            part: Some(Part { number, instance }),
            mig: false,
            memory_total: part.memory_info().ok().map(|memory| memory.total),
            uuid: part.uuid().unwrap_or_default(),
            name: part.name().unwrap_or_else(|_| facts.name.clone()),
            gpm: if instance.is_some() { facts.gpm } else { Gpm::Unknown },
            ..facts.clone()
        };
        parts.push((handle(part, &of_part, Some((whole, instance))), of_part));
    }
    handles.push(handle(device, &facts, None));
    all.push(facts);
    for (handle, facts) in parts {
        handles.push(handle);
        all.push(facts);
    }
}

/// Another handle of the same GPU.
fn again(device: &Device<'static>) -> Result<Device<'static>, NvmlError> {
    device.nvml().device_by_index(device.index()?)
}

/// The GPU instance that a part belongs to: the wrapper lacks this call.
fn instance(part: &Device<'static>) -> Option<u32> {
    let call = part.nvml().lib().nvmlDeviceGetGpuInstanceId.as_ref().ok()?;
    let mut instance = 0;
    #[expect(unsafe_code, reason = "the wrapper has no safe function for this")]
    // SAFETY: the handle is one that the driver gave for a device that lives as long as its library,
    // which is never closed; the call writes one integer to a place that lives through it.
    let status = unsafe { call(part.handle(), &raw mut instance) };
    (status == 0).then_some(instance)
}

fn describe(index: u32, device: &Device<'_>) -> Facts {
    Facts {
        index,
        name: device.name().unwrap_or_else(|_| "GPU of unknown name".to_owned()),
        uuid: device.uuid().unwrap_or_default(),
        bus: device.pci_info().ok().map(|pci| pci.bus_id),
        architecture: device.architecture().ok().map(|architecture| architecture.to_string()),
        memory_total: device.memory_info().ok().map(|memory| memory.total),
        sm_mhz_max: device.max_clock_info(Clock::SM).ok(),
        memory_mhz_max: device.max_clock_info(Clock::Memory).ok(),
        pcie_generation_max: device.max_pcie_link_gen().ok(),
        pcie_width_max: device.max_pcie_link_width().ok(),
        gpm: match device.gpm_support() {
            Ok(true) => Gpm::Yes,
            Ok(false) | Err(NvmlError::NotSupported) => Gpm::No,
            Err(_) => Gpm::Unknown,
        },
        mig: false,
        part: None,
    }
}
