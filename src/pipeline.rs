//! The measured pipeline: load → preprocess → infer → decode → respond, its knobs and its queues.
//!
//! The pipeline never knows who watches: it writes its own cells (see [`crate::probe`]) and obeys
//! [`Command`](knobs::Command)s, whoever sends them.

pub mod arrivals;
pub mod batches;
pub mod buffers;
pub mod control;
pub mod decode;
pub mod failure;
pub mod infer;
pub mod item;
pub mod knobs;
pub mod ledger;
pub mod observe;
pub mod pixels;
pub mod preprocess;
mod shared;
pub mod slab;
pub mod source;
mod stages;

use serde::{Deserialize, Serialize};

/// The five stages, in the order in which an image meets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Bytes are read.
    Load,
    /// Bytes become a normalised picture in a batch slot.
    Preprocess,
    /// A batch becomes logits.
    Infer,
    /// Logits become names and probabilities.
    Decode,
    /// Answers are counted and written.
    Respond,
}

impl Stage {
    /// All stages, from source to sink.
    pub const ALL: [Self; 5] =
        [Self::Load, Self::Preprocess, Self::Infer, Self::Decode, Self::Respond];

    /// The stage's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Preprocess => "preprocess",
            Self::Infer => "infer",
            Self::Decode => "decode",
            Self::Respond => "respond",
        }
    }
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
