//! What is left of a run: the report, as JSON for scripts and as text for people; and of a sweep.

pub mod json;
pub mod report;
#[cfg(test)]
mod sample;
pub mod sweep;
pub mod text;
