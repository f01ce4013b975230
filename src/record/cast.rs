//! Asciicasts: what a terminal showed, as lines of JSON that asciinema and others play.
//!
//! Line 1 is the header. Each further line is `[time, code, data]`; in version 3 the time counts from
//! the line before, in version 2 from the start. Format: <https://docs.asciinema.org/manual/asciicast/v3/>.

pub mod read;
pub mod write;

use std::time::Duration;

pub use read::{CastError, Reader};

/// The version that is written where nothing else is asked for.
pub const DEFAULT_VERSION: u8 = 3;
/// The versions that are known here.
pub const VERSIONS: [u8; 2] = [2, 3];

/// What a cast says of itself in its first line.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The format's version: 2 or 3.
    pub version: u8,
    /// Columns of the terminal at the start.
    pub cols: u16,
    /// Rows of the terminal at the start.
    pub rows: u16,
    /// What to call it.
    pub title: Option<String>,
    /// When it was recorded, in seconds since 1970.
    pub timestamp: Option<u64>,
    /// Pauses longer than this many seconds are meant to be cut when it is played.
    pub idle_time_limit: Option<f64>,
    /// The recording terminal's colours.
    pub theme: Option<Theme>,
}

impl Header {
    /// A cast of that size and version, of which nothing else is said.
    pub const fn new(version: u8, cols: u16, rows: u16) -> Self {
        Self {
            version,
            cols,
            rows,
            title: None,
            timestamp: None,
            idle_time_limit: None,
            theme: None,
        }
    }
}

/// A colour: red, green, blue.
pub type Rgb = [u8; 3];

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

/// Something that happened, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// The time since the start of the cast.
    pub at: Duration,
    /// What happened.
    pub event: Event,
}

/// What can happen in a cast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The program wrote this.
    Output(String),
    /// The person typed this.
    Input(String),
    /// A chapter begins here.
    Marker(String),
    /// The terminal has another size now.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// The program ended, with this code (version 3 alone).
    Exit(i32),
    /// An event of a code that is not known here, with its data.
    Other(char, String),
}
