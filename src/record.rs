//! What is kept of a run beside its report: asciicasts of the screen, and pictures and films made from
//! them.
//!
//! ```text
//! cast file ─► cast::read ─► render::film ─► frames ─► PNG · SVG · animated SVG · GIF
//! a screen's buffer ───────► render::grid ──────────► PNG · SVG · text (a screenshot)
//! ```

pub mod cast;
pub mod player;
pub mod render;
pub mod stream;
pub mod tape;
