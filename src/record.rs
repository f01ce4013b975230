//! Recordings of the screen: casts, and the pictures and films made from them.
//!
//! ```text
//! cast file ─► cast::read ─► render::film ─► frames ─► PNG · SVG · animated SVG · GIF
//! a screen's buffer ───────► render::grid ──────────► PNG · SVG · text (a screenshot)
//! ```

pub mod cast;
pub mod render;
