//! Queues of work on the device, points in them, and work that is recorded.

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUresult};
use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use super::{Context, Fault, Function, Memory, Pinned, failed, occupancy};

/// A queue of work on the device.
#[derive(Debug)]
pub(crate) struct Stream {
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
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, Fault> {
        let raw = result::stream::create(result::stream::StreamKind::NonBlocking)
            .map_err(failed("a stream"))?;
        Ok(Self { context: Arc::clone(context), raw })
    }

    pub(crate) const fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// Waits for all of its work.
    pub(crate) fn synchronize(&self) -> Result<(), Fault> {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the stream lives as long as `self`.
        unsafe { result::stream::synchronize(self.raw) }.map_err(failed("work on the GPU"))
    }

    /// Copies bytes of pinned memory to the device, when its turn comes. Until then they must not be written nor freed.
    pub(crate) fn upload(&self, bytes: &[u8], to: &Memory) -> Result<(), Fault> {
        assert!(bytes.len() <= to.bytes, "the copy fits");
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: both ends are as large, and live until the lane that owns them has waited.
        unsafe { result::memcpy_htod_async(to.address, bytes, self.raw) }
            .map_err(failed("a copy to the GPU"))
    }

    /// Copies `bytes` to the device at once, for weights.
    pub(crate) fn upload_now(&self, bytes: &[u8], to: &Memory) -> Result<(), Fault> {
        assert!(bytes.len() <= to.bytes, "the copy fits");
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: both ends are as large and live through the wait.
        unsafe { result::memcpy_htod_async(to.address, bytes, self.raw) }
            .map_err(failed("a copy to the GPU"))?;
        self.synchronize()
    }

    /// Copies from the device into a part of pinned memory, when its turn comes.
    pub(crate) fn download(
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
    pub(crate) fn zero(&self, memory: &Memory) -> Result<(), Fault> {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the memory is as large.
        unsafe { result::memset_d8_async(memory.address, 0, memory.bytes, self.raw) }
            .map_err(failed("zeroing memory on the GPU"))
    }

    /// Starts a kernel, when its turn comes. `arguments` are the bytes of its one parameter.
    pub(crate) fn launch(
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
    pub(crate) fn capture(&self, body: impl FnOnce() -> Result<(), Fault>) -> Result<Graph, Fault> {
        let graph = self.captured(body)?;
        let flags = sys::CUgraphInstantiate_flags(0);
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the graph was just made and is destroyed once.
        let exec = unsafe {
            let exec = result::graph::instantiate(graph, flags);
            let _ = result::graph::destroy(graph);
            exec
        };
        let exec = exec.map_err(failed("recording a graph"))?;
        Ok(Graph { context: Arc::clone(&self.context), exec })
    }

    /// The mean theoretical occupancy (0 to 1) of the kernels that `body` puts on the stream, which do not run, on a
    /// device that takes `threads` threads a multiprocessor; `None` where the driver does not tell.
    pub(crate) fn occupancy(
        &self,
        threads: usize,
        body: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<Option<f64>, Fault> {
        let graph = self.captured(body)?;
        let occupancy = occupancy::of(graph, threads);
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the graph was just made and is destroyed once.
        let _ = unsafe { result::graph::destroy(graph) };
        Ok(occupancy)
    }

    /// What `body` puts on the stream, which does not run; the caller destroys it.
    fn captured(&self, body: impl FnOnce() -> Result<(), Fault>) -> Result<sys::CUgraph, Fault> {
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
        graph.map_err(&failed)
    }

    /// Runs a graph, when its turn comes.
    pub(crate) fn run(&self, graph: &Graph) -> Result<(), Fault> {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: graph and stream live; one thread at a time uses a lane's graphs.
        unsafe { result::graph::launch(graph.exec, self.raw) }.map_err(failed("a graph"))
    }

    /// Brings a graph to the device, so that its first run is as fast as the others.
    pub(crate) fn prepare(&self, graph: &Graph) -> Result<(), Fault> {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: as in `run`.
        unsafe { result::graph::upload(graph.exec, self.raw) }.map_err(failed("a graph"))
    }

    /// Lets what is put on the stream from now on wait until an event of another stream has come.
    pub(crate) fn after(&self, event: &Event) -> Result<(), Fault> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: both live; the driver keeps what it needs of the event.
        unsafe { result::stream::wait_event(self.raw, event.raw, flags) }
            .map_err(failed("an event"))
    }

    /// Notes in `event` when all that was put on the stream so far is done.
    pub(crate) fn record(&self, event: &Event) -> Result<(), Fault> {
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
pub(crate) struct Event {
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
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, Fault> {
        let flags = sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC;
        let raw = result::event::create(flags).map_err(failed("an event"))?;
        Ok(Self { context: Arc::clone(context), raw })
    }

    /// Sleeps until it has come.
    pub(crate) fn wait(&self) -> Result<(), Fault> {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the event lives.
        unsafe { result::event::synchronize(self.raw) }.map_err(failed("work on the GPU"))
    }

    /// Milliseconds from this one to a later one (below 0 to an earlier one); both have come.
    pub(crate) fn until(&self, later: &Self) -> Result<f32, Fault> {
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
pub(crate) struct Graph {
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
