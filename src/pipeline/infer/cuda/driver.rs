//! The CUDA driver behind safe types: contexts, memory, streams, events, modules, graphs.
//!
//! Calls go to `cudarc`'s raw bindings. Those panic where a function is missing, so that `device.rs` looks for all of
//! [`FUNCTIONS`] before anything here is called. All types keep their context alive; [`Context::bind`] must have been
//! called on a thread before it uses any of them.

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUresult};
use std::ffi::{CString, c_int, c_void};
use std::sync::Arc;
use std::sync::OnceLock;

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

/// Memory on the device.
#[derive(Debug)]
pub(super) struct Memory {
    context: Arc<Context>,
    address: u64,
    bytes: usize,
}

impl Memory {
    /// So many bytes, at least one; what is in them is unknown.
    pub(super) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, Fault> {
        let bytes = bytes.max(1);
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: nobody reads what was not written but kernels, on which nothing depends then.
        let address = unsafe { result::malloc_sync(bytes) }.map_err(no_memory(
            "memory on the GPU",
            bytes,
            false,
        ))?;
        Ok(Self { context: Arc::clone(context), address, bytes })
    }

    /// Its address on the device.
    pub(super) const fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = self.context.bind();
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: allocated in `new`, freed once; the driver waits for what uses it.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// Page-locked memory of the host, from and to which a device copies at full speed and by itself.
#[derive(Debug)]
pub(super) struct Pinned {
    context: Arc<Context>,
    start: *mut u8,
    bytes: usize,
}

#[expect(unsafe_code, reason = "the memory belongs to it alone")]
// SAFETY: as with `Box<[u8]>`.
unsafe impl Send for Pinned {}
#[expect(unsafe_code, reason = "the memory belongs to it alone")]
// SAFETY: as with `Box<[u8]>`: it is written through `&mut` alone, or by whom `start` was given to.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// So many bytes, zeroed. Not write-combined: that gains nothing on copies of this size.
    pub(super) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, Fault> {
        let bytes = bytes.max(1);
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: `bytes` bytes are there when it succeeds, and all are written before anybody reads them.
        let start = unsafe {
            let start = result::malloc_host(bytes, sys::CU_MEMHOSTALLOC_PORTABLE)
                .map_err(no_memory("pinned memory", bytes, true))?
                .cast::<u8>();
            start.write_bytes(0, bytes);
            start
        };
        Ok(Self { context: Arc::clone(context), start, bytes })
    }

    /// How large it is.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The first byte; aligned to a page.
    pub(super) const fn start(&self) -> *mut u8 {
        self.start
    }

    /// To read. The caller has seen to it that no copy into it is under way.
    pub(super) fn read(&self) -> &[u8] {
        #[expect(unsafe_code, reason = "memory from outside")]
        // SAFETY: allocated and zeroed in `new`, freed with `self`.
        unsafe {
            std::slice::from_raw_parts(self.start, self.bytes)
        }
    }

    /// To write. The caller has seen to it that no copy out of it is under way.
    pub(super) fn write(&mut self) -> &mut [u8] {
        #[expect(unsafe_code, reason = "memory from outside")]
        // SAFETY: as in `read`, and borrowed mutably.
        unsafe {
            std::slice::from_raw_parts_mut(self.start, self.bytes)
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = self.context.bind();
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: allocated in `new`, freed once; lanes wait for their copies before they end.
        let _ = unsafe { result::free_host(self.start.cast::<c_void>()) };
    }
}

/// A queue of work on the device.
#[derive(Debug)]
pub(super) struct Stream {
    context: Arc<Context>,
    raw: sys::CUstream,
}

#[expect(unsafe_code, reason = "streams may be used by any thread")]
// SAFETY: as for `Context`.
unsafe impl Send for Stream {}
#[expect(unsafe_code, reason = "streams may be used by any thread")]
// SAFETY: as for `Context`.
unsafe impl Sync for Stream {}

impl Stream {
    /// One that does not wait for others.
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, Fault> {
        let raw = result::stream::create(result::stream::StreamKind::NonBlocking)
            .map_err(failed("a stream"))?;
        Ok(Self { context: Arc::clone(context), raw })
    }

    pub(super) const fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// Waits for all of its work.
    pub(super) fn synchronize(&self) -> Result<(), Fault> {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the stream lives as long as `self`.
        unsafe { result::stream::synchronize(self.raw) }.map_err(failed("work on the GPU"))
    }

    /// Copies bytes of pinned memory to the device, when its turn comes. Until then they must not be written nor freed.
    pub(super) fn upload(&self, bytes: &[u8], to: &Memory) -> Result<(), Fault> {
        assert!(bytes.len() <= to.bytes, "the copy fits");
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: both ends are as large, and live until the lane that owns them has waited.
        unsafe { result::memcpy_htod_async(to.address, bytes, self.raw) }
            .map_err(failed("a copy to the GPU"))
    }

    /// Copies `bytes` to the device at once, for weights.
    pub(super) fn upload_now(&self, bytes: &[u8], to: &Memory) -> Result<(), Fault> {
        assert!(bytes.len() <= to.bytes, "the copy fits");
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: both ends are as large and live through the wait.
        unsafe { result::memcpy_htod_async(to.address, bytes, self.raw) }
            .map_err(failed("a copy to the GPU"))?;
        self.synchronize()
    }

    /// Copies from the device into a part of pinned memory, when its turn comes.
    pub(super) fn download(
        &self,
        from: &Memory,
        to: &mut Pinned,
        range: std::ops::Range<usize>,
    ) -> Result<(), Fault> {
        assert!(range.len() <= from.bytes, "the copy fits");
        let bytes = &mut to.write()[range];
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: both ends are as large, and live until the lane that owns them has waited.
        unsafe { result::memcpy_dtoh_async(bytes, from.address, self.raw) }
            .map_err(failed("a copy from the GPU"))
    }

    /// Zeroes all of it, when its turn comes.
    pub(super) fn zero(&self, memory: &Memory) -> Result<(), Fault> {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the memory is as large.
        unsafe { result::memset_d8_async(memory.address, 0, memory.bytes, self.raw) }
            .map_err(failed("zeroing memory on the GPU"))
    }

    /// Starts a kernel, when its turn comes. `arguments` are the bytes of its one parameter.
    pub(super) fn launch(
        &self,
        function: Function,
        grid: [u32; 3],
        threads: u32,
        shared: u32,
        arguments: &mut [u64],
    ) -> Result<(), Fault> {
        let mut parameters = [arguments.as_mut_ptr().cast::<c_void>()];
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: `arguments` holds the structure that the kernel takes (a test compares sizes), with addresses of
        // memory that the lane owns; the driver copies it before it returns.
        unsafe {
            result::launch_kernel(
                function.0,
                (grid[0], grid[1], grid[2]),
                (threads, 1, 1),
                shared,
                self.raw,
                &mut parameters,
            )
        }
        .map_err(failed("a kernel"))
    }

    /// Records what `body` puts on the stream, which does not run, as a graph.
    pub(super) fn capture(&self, body: impl FnOnce() -> Result<(), Fault>) -> Result<Graph, Fault> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        let failed = failed("recording a graph");
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the stream lives as long as `self`.
        unsafe { result::stream::begin_capture(self.raw, mode) }.map_err(&failed)?;
        let done = body();
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: capturing began above; it must end after an error in `body` too.
        let graph = unsafe { result::stream::end_capture(self.raw) };
        done?;
        let graph = graph.map_err(&failed)?;
        let flags = sys::CUgraphInstantiate_flags(0);
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the graph was just made and is destroyed once.
        let exec = unsafe {
            let exec = result::graph::instantiate(graph, flags);
            let _ = result::graph::destroy(graph);
            exec
        };
        Ok(Graph { context: Arc::clone(&self.context), exec: exec.map_err(&failed)? })
    }

    /// Runs a graph, when its turn comes.
    pub(super) fn run(&self, graph: &Graph) -> Result<(), Fault> {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: graph and stream live; one thread at a time uses a lane's graphs.
        unsafe { result::graph::launch(graph.exec, self.raw) }.map_err(failed("a graph"))
    }

    /// Brings a graph to the device, so that its first run is as fast as the others.
    pub(super) fn prepare(&self, graph: &Graph) -> Result<(), Fault> {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: as in `run`.
        unsafe { result::graph::upload(graph.exec, self.raw) }.map_err(failed("a graph"))
    }

    /// Lets what is put on the stream from now on wait until an event of another stream has come.
    pub(super) fn after(&self, event: &Event) -> Result<(), Fault> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: both live; the driver keeps what it needs of the event.
        unsafe { result::stream::wait_event(self.raw, event.raw, flags) }
            .map_err(failed("an event"))
    }

    /// Notes in `event` when all that was put on the stream so far is done.
    pub(super) fn record(&self, event: &Event) -> Result<(), Fault> {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: both live.
        unsafe { result::event::record(event.raw, self.raw) }.map_err(failed("an event"))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.context.bind();
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: created in `new`, destroyed once.
        let _ = unsafe { result::stream::destroy(self.raw) };
    }
}

/// A point in a stream's work.
#[derive(Debug)]
pub(super) struct Event {
    context: Arc<Context>,
    raw: sys::CUevent,
}

#[expect(unsafe_code, reason = "events may be used by any thread")]
// SAFETY: as for `Context`.
unsafe impl Send for Event {}
#[expect(unsafe_code, reason = "events may be used by any thread")]
// SAFETY: as for `Context`.
unsafe impl Sync for Event {}

impl Event {
    /// One that tells the time, and on which threads sleep rather than spin.
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, Fault> {
        let flags = sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC;
        let raw = result::event::create(flags).map_err(failed("an event"))?;
        Ok(Self { context: Arc::clone(context), raw })
    }

    /// Sleeps until it has come.
    pub(super) fn wait(&self) -> Result<(), Fault> {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the event lives.
        unsafe { result::event::synchronize(self.raw) }.map_err(failed("work on the GPU"))
    }

    /// Milliseconds from this one to a later one (below 0 to an earlier one); both have come.
    pub(super) fn until(&self, later: &Self) -> Result<f32, Fault> {
        let mut ms = 0.0;
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: both live, and one float is written.
        unsafe { elapsed()(&raw mut ms, self.raw, later.raw) }
            .result()
            .map_err(failed("the time between events"))?;
        Ok(ms)
    }
}

type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> CUresult;

/// `cuEventElapsedTime`, whose second version, which the bindings call, only new drivers have.
fn elapsed() -> Elapsed {
    static CALL: OnceLock<Elapsed> = OnceLock::new();
    *CALL.get_or_init(|| {
        #[expect(unsafe_code, reason = "a C function is looked up")]
        // SAFETY: the signature is that of every driver, and the library is never closed.
        unsafe {
            *sys::culib().get::<Elapsed>(b"cuEventElapsedTime\0").expect("looked for at the start")
        }
    })
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.context.bind();
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: created in `new`, destroyed once.
        let _ = unsafe { result::event::destroy(self.raw) };
    }
}

/// Work that was recorded once and is run many times.
#[derive(Debug)]
pub(super) struct Graph {
    context: Arc<Context>,
    exec: sys::CUgraphExec,
}

#[expect(unsafe_code, reason = "graphs may be used by any thread, one at a time")]
// SAFETY: it is not `Sync`, and the driver asks for no more.
unsafe impl Send for Graph {}

impl Drop for Graph {
    fn drop(&mut self) {
        let _ = self.context.bind();
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: instantiated once, destroyed once.
        let _ = unsafe { result::graph::exec_destroy(self.exec) };
    }
}

/// Kernels, made from PTX by the driver.
#[derive(Debug)]
pub(super) struct Module {
    context: Arc<Context>,
    raw: sys::CUmodule,
}

#[expect(unsafe_code, reason = "modules may be used by any thread")]
// SAFETY: as for `Context`.
unsafe impl Send for Module {}
#[expect(unsafe_code, reason = "modules may be used by any thread")]
// SAFETY: as for `Context`.
unsafe impl Sync for Module {}

/// A kernel; it is valid as long as its module, which outlives everything that starts it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function(sys::CUfunction);

#[expect(unsafe_code, reason = "functions may be used by any thread")]
// SAFETY: as for `Context`.
unsafe impl Send for Function {}
#[expect(unsafe_code, reason = "functions may be used by any thread")]
// SAFETY: as for `Context`.
unsafe impl Sync for Function {}

impl Module {
    /// The driver compiles the text for its device, and remembers it for the next process.
    pub(super) fn new(context: &Arc<Context>, ptx: &str) -> Result<Self, Fault> {
        let text = CString::new(ptx).expect("PTX has no zero byte in it");
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: a zero-terminated text.
        let raw = unsafe { result::module::load_data(text.as_ptr().cast()) }
            .map_err(failed("the driver does not take the kernels"))?;
        Ok(Self { context: Arc::clone(context), raw })
    }

    /// The kernel of that name, allowed so many bytes of shared memory a block besides its own few.
    pub(super) fn function(&self, name: &str, shared: u32) -> Result<Function, Fault> {
        let name = CString::new(name).expect("names of kernels have no zero byte");
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the module is loaded.
        let function = unsafe { result::module::get_function(self.raw, name) }
            .map_err(failed("a kernel is missing"))?;
        if shared > 47 << 10 {
            let attribute =
                sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
            // SAFETY: the function was just found.
            unsafe {
                result::function::set_function_attribute(function, attribute, shared.cast_signed())
            }
            .map_err(failed("shared memory for a kernel"))?;
        }
        Ok(Function(function))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = self.context.bind();
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: loaded once, unloaded once.
        let _ = unsafe { result::module::unload(self.raw) };
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
