//! `pipetop sweep`: what it says and writes of made-up sweeps, and real ones with tiny limits.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "sweep/files.rs"]
mod files;
#[path = "sweep/real.rs"]
mod real;
#[path = "sweep/said.rs"]
mod said;
#[path = "support/sweeps.rs"]
mod sweeps;
