//! `pipetop bench`: one part of the pipeline, measured on its own.

pub mod infer;

use super::{Exit, Failure};
use crate::cli::BenchCommand;

/// Measures what was asked for.
///
/// # Errors
/// Where it cannot be measured, or stdout cannot be written.
pub fn run(command: &BenchCommand) -> Result<Exit, Failure> {
    match command {
        BenchCommand::Infer(args) => infer::run(args),
    }
}
