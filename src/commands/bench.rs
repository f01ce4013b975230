//! `pipetop bench`: how fast one stage is by itself, variant against variant.
//!
//! | module | what |
//! |---|---|
//! | [`infer`] | the command `bench infer` |

pub mod infer;

use super::{Exit, Failure};
use crate::cli::BenchCommand;

/// Calls the bench that was chosen.
///
/// # Errors
/// Where nothing can be measured, or a result not be written.
pub fn run(command: &BenchCommand) -> Result<Exit, Failure> {
    match command {
        BenchCommand::Infer(args) => infer::run(args),
    }
}
