//! Where images come from.

use serde::{Deserialize, Serialize};

/// The input of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputInfo {
    /// `synthetic`, `folder`, `list` or `files`.
    pub kind: String,
    /// What to call it on screen: the path, or `synthetic`.
    pub name: String,
    /// Distinct images.
    pub images: u64,
}
