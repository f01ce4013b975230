//! What a person should know that happened while a run went on.

use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};

use crate::probe::clock::{self, Nanos};

/// The most notices that are kept of a run.
pub const MOST_NOTICES: usize = 64;

/// Something that happened: a GPU was lost, a batch did not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// When, on the line of [`clock::now`]; in a snapshot since the start of the run.
    pub at: Nanos,
    /// A sentence.
    pub text: String,
}

/// Notices of one engine or pipeline, the first [`MOST_NOTICES`].
#[derive(Debug, Default)]
pub struct Notices(Mutex<Vec<Notice>>);

impl Notices {
    /// Adds one, to the log too.
    pub fn push(&self, text: String) {
        tracing::warn!("{text}");
        let mut notices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() < MOST_NOTICES {
            notices.push(Notice { at: clock::now(), text });
        }
    }

    /// All of them, oldest first.
    pub fn all(&self) -> Vec<Notice> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_kept_in_order_and_bounded() {
        let notices = Notices::default();
        for at in 0..100 {
            notices.push(at.to_string());
        }
        let all = notices.all();
        assert_eq!((all.len(), all[0].text.as_str(), all[63].text.as_str()), (64, "0", "63"));
        assert!(all.is_sorted_by_key(|notice| notice.at));
    }
}
