//! Saved streams: a run's snapshots in a file, from which the run can be replayed.
//!
//! ```text
//! "PIPETOP\0"  version: u32  chunk  chunk  …
//! chunk:       length: u32   CRC-32 of the body: u32   body
//! body:        a CBOR map { kind, from, to, count, lost, data }
//! ```
//!
//! Numbers are little-endian; times are nanoseconds since the start of the run. The first chunk's kind is
//! `head` (who wrote this); then come `key` and `delta`, about one a second, whose data is a deflated CBOR
//! list of snapshots, each but a key's first one as its [difference](delta) to the one before; at last
//! `end`, with the snapshots that the run's own report was made of. Kinds and keys that are not known are
//! passed over, so that version 1 may gain some. A chunk goes out in one write: a kill loses the second
//! that was being gathered, and what is there can be read.

pub mod chunk;
pub mod delta;
pub mod read;
pub mod save;
pub mod write;

pub use read::{OpenError, Stream};
pub use save::{SaveError, Saved, Saver};

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::profile::snapshot::Snapshot;

/// How a file begins.
pub const MAGIC: &[u8; 8] = b"PIPETOP\0";
/// The version of the format that is written, and the only one so far.
pub const VERSION: u32 = 1;

/// The snapshots that a run's report is made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figures {
    /// At the end of warm-up.
    pub warm: Arc<Snapshot>,
    /// The last before the drain.
    pub end: Arc<Snapshot>,
    /// The last of all.
    pub done: Arc<Snapshot>,
}
