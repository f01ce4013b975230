//! What the driver tells of its GPUs, each figure under its right name.
//!
//! *Busy* is the share of the driver's own window (about 0.2 s) in which any kernel was resident: one
//! block of 128 threads reads 100 %. How much of the GPU was filled tell the counters of GPM, on Hopper
//! and later: *SM active*, *SM occupancy*, the pipes, DRAM.
//!
//! | module | what |
//! |---|---|
//! | [`metric`] | the figures that are followed |
//! | [`call`] | the questions put to a driver, how often each, and the answers |
//! | [`source`] | who answers: [`nvml`], a [`trace`], in tests a made-up GPU |
//! | [`sample`] | what is known so far: the account that snapshots hold |
//! | [`watch`] | asks what is due and books the answers |
//! | [`threads`] | the two threads that do so |
//! | [`visible`] | which GPUs the run may use |
//!
//! Calls that block have a thread of their own, so that they never delay the others; the sampler asks
//! nobody and copies the account.

pub mod call;
pub mod metric;
pub mod nvml;
pub mod sample;
pub mod source;
pub mod threads;
pub mod trace;
pub mod visible;
pub mod watch;

#[cfg(test)]
mod tests;

pub use call::Throttle;
pub use metric::{Metric, Unit};
pub use sample::{Gauge, GpuSample, GpuWatch, Lost, Process, Processes};
pub use source::Facts;
pub use threads::Gpus;
