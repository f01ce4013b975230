//! Screens as pictures: stills as PNG, SVG or text, films as GIF or animated SVG.
//!
//! ```text
//! cast ─► film (frames, each a grid) ─┬─► canvas (pixels) ─► gif, png
//! a screen's buffer ─► grid ──────────┴─► svg (text and outlines)
//! ```
//!
//! Letters come from fonts that are part of the program, boxes, blocks and braille are drawn to the
//! pixel. The same input gives the same bytes on every machine.

pub mod canvas;
pub mod film;
pub mod font;
pub mod geometry;
pub mod gif;
pub mod grid;
pub mod path;
pub mod png;
pub mod raster;
pub mod scheme;
mod screen;
pub mod screenshot;
mod sfnt;
pub mod svg;

pub use film::{Cutting, Film, FilmError, Frame, Place, film, still};
pub use font::Fonts;
pub use grid::Grid;
pub use scheme::Scheme;
