//! The CUDA driver behind safe types: contexts, memory, streams, events, modules, graphs.
//!
//! Calls go to `cudarc`'s raw bindings. Those panic where a function is missing, so that `device.rs` looks for all of
//! [`FUNCTIONS`] before anything here is called. All types keep their context alive; [`Context::bind`] must have been
//! called on a thread before it uses any of them.

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUresult};
use std::ffi::c_int;
use std::sync::Arc;

mod memory;
mod module;
mod occupancy;
mod stream;

pub(super) use memory::{Memory, Pinned};
pub(super) use module::{Function, Module};
pub(super) use stream::{Event, Graph, Stream};

/// What this module calls.
pub(super) const FUNCTIONS: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetUuid_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemsetD8Async",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphUpload",
    "cuGraphExecDestroy",
    "cuGraphDestroy",
];

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// No memory of so many bytes, on the device or pinned.
    #[error("no memory for {} MiB {}", bytes >> 20, if *pinned { "of pinned memory" } else { "on the GPU" })]
    Memory {
        /// How many were asked for.
        bytes: usize,
        /// Whether on the host.
        pinned: bool,
    },
    /// Anything else; the device may be lost.
    #[error("{what}: {why}")]
    Failed {
        /// What was done.
        what: &'static str,
        /// The driver's name and text.
        why: String,
    },
}

fn failed(what: &'static str) -> impl Fn(DriverError) -> Fault {
    move |error| {
        let text = |text: Result<&std::ffi::CStr, DriverError>| {
            text.map_or_else(|_| "unknown".into(), |text| text.to_string_lossy().into_owned())
        };
        Fault::Failed {
            what,
            why: format!("{} ({})", text(error.error_string()), text(error.error_name())),
        }
    }
}

fn no_memory(what: &'static str, bytes: usize, pinned: bool) -> impl Fn(DriverError) -> Fault {
    move |error| match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Fault::Memory { bytes, pinned },
        _ => failed(what)(error),
    }
}

/// Starts the driver and says how many devices it shows; `CUDA_VISIBLE_DEVICES` counts.
pub(super) fn start() -> Result<usize, Fault> {
    result::init().map_err(failed("the driver does not start"))?;
    let count = result::device::get_count().map_err(failed("the driver counts no devices"))?;
    Ok(count.max(0) as usize)
}

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its number, in the driver's order.
    pub index: usize,
    /// `NVIDIA H200`.
    pub name: String,
    /// Compute capability.
    pub capability: (i32, i32),
    /// Streaming multiprocessors.
    pub multiprocessors: usize,
    /// Shared memory that a block may have, bytes.
    pub shared_per_block: usize,
    /// Shared memory of a multiprocessor, bytes.
    pub shared_per_multiprocessor: usize,
    /// Threads that may be resident on a multiprocessor.
    pub threads_per_multiprocessor: usize,
    /// Bytes of memory.
    pub memory: usize,
    /// As NVML writes it: `GPU-…`.
    pub uuid: String,
}

/// Facts about device `index`.
pub(super) fn facts(index: usize) -> Result<Facts, Fault> {
    use sys::CUdevice_attribute_enum as A;
    let failed = failed("the driver tells nothing of the GPU");
    let device = result::device::get(number(index)).map_err(&failed)?;
    #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
    // SAFETY: `device` comes from the driver.
    let attribute =
        |which| unsafe { result::device::get_attribute(device, which) }.map_err(&failed);
    #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
    // SAFETY: `device` comes from the driver.
    let memory = unsafe { result::device::total_mem(device) }.map_err(&failed)?;
    let id = result::device::get_uuid(device).map_err(&failed)?;
    Ok(Facts {
        index,
        name: result::device::get_name(device).map_err(&failed)?,
        capability: (
            attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.max(1) as usize,
        shared_per_block: attribute(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?
            .max(0) as usize,
        shared_per_multiprocessor: attribute(
            A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        )?
        .max(0) as usize,
        threads_per_multiprocessor: attribute(
            A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
        )?
        .max(0) as usize,
        memory,
        uuid: uuid(id.bytes.map(i8::cast_unsigned)),
    })
}

/// A device's number as the driver takes it; one that does not fit is no device's.
fn number(index: usize) -> c_int {
    c_int::try_from(index).unwrap_or(c_int::MAX)
}

fn uuid(bytes: [u8; 16]) -> String {
    use std::fmt::Write;
    bytes.iter().enumerate().fold(String::from("GPU-"), |mut text, (at, byte)| {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A device's primary context.
#[derive(Debug)]
pub(super) struct Context {
    device: sys::CUdevice,
    raw: sys::CUcontext,
}

#[expect(unsafe_code, reason = "contexts may be used by any thread")]
// SAFETY: the driver's functions on contexts are thread-safe; the handle is only passed to it.
unsafe impl Send for Context {}
#[expect(unsafe_code, reason = "contexts may be used by any thread")]
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    pub(super) fn new(index: usize) -> Result<Arc<Self>, Fault> {
        let failed = failed("the GPU cannot be opened");
        let device = result::device::get(number(index)).map_err(&failed)?;
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: `device` comes from the driver.
        let raw = unsafe { result::primary_ctx::retain(device) }.map_err(&failed)?;
        let context = Self { device, raw };
        context.bind()?;
        Ok(Arc::new(context))
    }

    /// Makes it the calling thread's.
    pub(super) fn bind(&self) -> Result<(), Fault> {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { result::ctx::set_current(self.raw) }.map_err(failed("the GPU is lost"))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: retained once in `new`; everything made in it holds an `Arc` of it.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_written_as_nvml_does() {
        let bytes: [u8; 16] = std::array::from_fn(|at| at as u8 * 17);
        assert_eq!(uuid(bytes), "GPU-00112233-4455-6677-8899-aabbccddeeff");
    }

    #[test]
    fn faults_say_what_is_short() {
        let fault = Fault::Memory { bytes: 3 << 30, pinned: false };
        assert_eq!(fault.to_string(), "no memory for 3072 MiB on the GPU");
    }
}
