//! What the measurements mean: snapshots, windows between two of them, history, the stage that limits.

pub mod history;
pub mod limit;
pub mod marks;
pub mod sampler;
pub mod snapshot;
pub mod window;
