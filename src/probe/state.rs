//! What a thread does when it does not work: the names of its waits.

use serde::{Deserialize, Serialize};

use super::clock::Nanos;

/// The states of a thread or lane, apart from working.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Wait {
    /// On a contended lock.
    Lock,
    /// For input.
    Starved,
    /// To hand over.
    Backpressured,
    /// For the device.
    Gpu,
    /// On a file or the network.
    Io,
    /// Switched off by a knob.
    Parked,
    /// An emulated delay (lanes only).
    Delay,
}

impl Wait {
    /// All waits, in the order of [`Waits`].
    pub const ALL: [Self; 7] = [
        Self::Lock,
        Self::Starved,
        Self::Backpressured,
        Self::Gpu,
        Self::Io,
        Self::Parked,
        Self::Delay,
    ];

    /// The name on screen and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Starved => "starved",
            Self::Backpressured => "backpressured",
            Self::Gpu => "gpu",
            Self::Io => "io",
            Self::Parked => "parked",
            Self::Delay => "delay",
        }
    }
}

/// Declared waiting time by [`Wait`], as timed by the wall clock, open waits included.
pub type Waits = [Nanos; Wait::ALL.len()];
