//! What the state cell, the gate, the lock and the queue synchronise with: the standard library, or
//! `loom` in its place, which runs a test under every order of events that the memory model allows.
//!
//! ```sh
//! RUSTFLAGS="--cfg pipetop_loom" cargo test --release --lib --target-dir target/loom loom
//! ```

#[cfg(pipetop_loom)]
pub(super) use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize},
};
#[cfg(not(pipetop_loom))]
pub(super) use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize},
};
