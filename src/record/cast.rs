//! Asciicasts: a terminal session as lines of JSON, a header first, then one event a line.
//!
//! Format: <https://docs.asciinema.org/manual/asciicast/v3/> (and `v2`).

pub mod read;

use std::time::Duration;

pub use read::{CastError, Reader};

/// A colour: red, green, blue.
pub type Rgb = [u8; 3];

/// What the first line says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The format's version: 2 or 3.
    pub version: u8,
    /// Columns of the terminal at the start.
    pub cols: u16,
    /// Rows of the terminal at the start.
    pub rows: u16,
    /// When it was recorded, in seconds since 1970.
    pub timestamp: Option<u64>,
    /// What it shows.
    pub title: Option<String>,
    /// What was run.
    pub command: Option<String>,
    /// The longest pause that a player should keep, in seconds.
    pub idle_time_limit: Option<f64>,
    /// The recording terminal's colours.
    pub theme: Option<Theme>,
}

/// A terminal's colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Of text.
    pub fg: Rgb,
    /// Of the ground.
    pub bg: Rgb,
    /// The palette: 8 or 16 colours.
    pub palette: Vec<Rgb>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The program wrote this.
    Output(String),
    /// The person typed this.
    Input(String),
    /// A place of interest, with its label.
    Marker(String),
    /// The terminal has another size now.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// The program ended with this status.
    Exit(i32),
    /// An event of a kind that we do not know: its code and data.
    Other(String, String),
}

/// An event and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// Since the start, in both versions of the format.
    pub at: Duration,
    /// What happened.
    pub event: Event,
}
