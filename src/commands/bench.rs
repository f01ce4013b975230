//! `pipetop bench`: how fast one stage is by itself.
//!
//! | module | what |
//! |---|---|
//! | [`preprocess`] | the command `bench preprocess` |
//! | [`variants`] | the ways from file to slot that are compared |
//! | [`rounds`] | running them by turns, and timing |
//! | [`statistics`] | medians and quartiles |
//! | [`report`] | what is printed |
//! | [`infer`] | the command `bench infer` |

pub mod infer;
pub mod preprocess;
pub mod report;
pub mod rounds;
pub mod statistics;
pub mod variants;

use super::{Exit, Failure};
use crate::cli::BenchCommand;

/// Calls the bench that was chosen.
///
/// # Errors
/// Where nothing can be measured, or a result not be written.
pub fn run(command: &BenchCommand) -> Result<Exit, Failure> {
    match command {
        BenchCommand::Preprocess(args) => preprocess::run(args),
        BenchCommand::Infer(args) => infer::run(args),
    }
}
