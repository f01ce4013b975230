//! What is left of a run: the report, as JSON for scripts and as text for people.

pub mod json;
pub mod report;
#[cfg(test)]
mod sample;
pub mod text;
