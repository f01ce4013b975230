//! Memory on the device, and page-locked memory of the host.

use cudarc::driver::{result, sys};
use std::ffi::c_void;
use std::sync::Arc;

use super::{Context, Fault, no_memory};

/// Memory on the device.
#[derive(Debug)]
pub(crate) struct Memory {
    context: Arc<Context>,
    pub(super) address: u64,
    pub(super) bytes: usize,
}

impl Memory {
    /// So many bytes, at least one; what is in them is unknown.
    pub(crate) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, Fault> {
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
    pub(crate) const fn address(&self) -> u64 {
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
pub(crate) struct Pinned {
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
    pub(crate) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, Fault> {
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
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The first byte; aligned to a page.
    pub(crate) const fn start(&self) -> *mut u8 {
        self.start
    }

    /// To read. The caller has seen to it that no copy into it is under way.
    pub(crate) fn read(&self) -> &[u8] {
        #[expect(unsafe_code, reason = "memory from outside")]
        // SAFETY: allocated and zeroed in `new`, freed with `self`.
        unsafe {
            std::slice::from_raw_parts(self.start, self.bytes)
        }
    }

    /// To write. The caller has seen to it that no copy out of it is under way.
    pub(crate) fn write(&mut self) -> &mut [u8] {
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
