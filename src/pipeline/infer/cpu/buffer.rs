//! Memory that several threads write different parts of.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// f32 values on a boundary of 64 bytes, zero at first. What may be read and written through its pointer is for the
/// users of the pointer to keep apart.
pub(super) struct Buffer {
    start: NonNull<f32>,
    len: usize,
}

// SAFETY: the buffer owns its memory, and all access goes through raw pointers whose users keep apart.
unsafe impl Send for Buffer {}
// SAFETY: as above; `&Buffer` gives nothing but the pointer and the length.
unsafe impl Sync for Buffer {}

impl Buffer {
    pub(super) fn new(len: usize) -> Self {
        // One value at least, since an allocation has a size.
        let layout = Self::layout(len);
        // SAFETY: the layout's size is not 0.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start.cast()) else { handle_alloc_error(layout) };
        Self { start, len }
    }

    pub(super) fn from_values(values: &[f32]) -> Self {
        let buffer = Self::new(values.len());
        // SAFETY: both hold so many values, and the new buffer is no one else's yet.
        unsafe { buffer.start.as_ptr().copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        buffer
    }

    fn layout(len: usize) -> Layout {
        Layout::array::<f32>(len.max(1))
            .and_then(|layout| layout.align_to(64))
            .expect("a buffer fits in the address space")
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn start(&self) -> *mut f32 {
        self.start.as_ptr()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.start.as_ptr().cast(), Self::layout(self.len)) };
    }
}
