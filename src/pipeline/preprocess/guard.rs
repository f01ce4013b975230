//! A decoder's panic costs one image, not the worker.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::pipeline::failure::{ImageError, Reason};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is decoding an image, so that a panic will be caught and counted as
/// `internal`: a panic hook need not take the screen down for it.
pub fn guarded() -> bool {
    GUARDED.get()
}

/// Runs `work`, a panic in it becoming `internal`.
///
/// The caller sees to it that what `work` leaves half-written is overwritten before it is read.
pub(super) fn guard<T>(work: impl FnOnce() -> Result<T, ImageError>) -> Result<T, ImageError> {
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    result.unwrap_or_else(|panic| {
        let detail = format!("the decoder panicked: {}", message(&*panic));
        Err(ImageError::new(Reason::Internal, detail))
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
