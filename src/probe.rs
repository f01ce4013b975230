//! The measuring room: clocks, histograms, thread states, instrumented locks and queues, GPUs.
//!
//! Nothing in here knows the pipeline or the screen. Writers are the measured threads themselves,
//! each into its own cells; the sampler only reads.

pub mod clock;
pub mod gate;
pub mod gpu;
pub mod histogram;
pub mod lock;
#[cfg(all(test, pipetop_loom))]
mod loom;
pub mod os;
pub mod queue;
pub mod registry;
pub mod state;
mod sync;
pub mod track;
