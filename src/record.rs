//! What is kept of a run beside its report: asciicasts of the screen, and saved streams of snapshots.

pub mod cast;
pub mod player;
pub mod stream;
pub mod tape;
