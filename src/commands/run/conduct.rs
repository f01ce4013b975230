//! When a run's figures begin and end: warm-up before, drain after.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::DRAIN;
use crate::pipeline::control::Pipeline;
use crate::pipeline::ledger::MOST_NAMES;
use crate::probe::clock::{self, Nanos};
use crate::profile::marks::Marks;
use crate::profile::snapshot::{Phase, Snapshot};

/// Looks at each snapshot: remembers where the figures begin and end, and stops the run when its time
/// is up or when nothing can come of it.
pub(super) struct Conductor {
    pipeline: Arc<Pipeline>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    marks: Marks,
    stopped: Option<Nanos>,
}

impl Conductor {
    pub(super) fn new(pipeline: Arc<Pipeline>) -> Self {
        Self { pipeline, seen: Mutex::default() }
    }

    /// Takes a snapshot into account.
    pub(super) fn look(&self, snapshot: &Arc<Snapshot>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.marks.look(snapshot);
        if snapshot.phase == Phase::Draining {
            seen.stopped.get_or_insert_with(clock::now);
        }
        if self.is_over(snapshot) {
            self.pipeline.stop();
            seen.marks.stop();
            seen.stopped.get_or_insert_with(clock::now);
        }
        let drained_for = seen.stopped.map_or(0, |since| clock::now().saturating_sub(since));
        if drained_for > DRAIN.as_nanos() as Nanos && snapshot.phase != Phase::Done {
            self.pipeline.abandon();
        }
    }

    /// Whether the time is up, or the whole input went by and not one image could be used.
    fn is_over(&self, snapshot: &Snapshot) -> bool {
        let over = Marks::time_is_up(snapshot) || is_hopeless(snapshot);
        !self.pipeline.is_stopping() && over
    }

    /// What is left of the time to drain.
    pub(super) fn drain_left(&self) -> Duration {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let drained = seen.stopped.map_or(0, |since| clock::now().saturating_sub(since));
        DRAIN.saturating_sub(Duration::from_nanos(drained))
    }

    /// Between which snapshots the figures are taken.
    pub(super) fn window(&self, done: &Arc<Snapshot>) -> (Arc<Snapshot>, Arc<Snapshot>) {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.marks.window(done)
    }
}

/// Whether each input has failed, round and round. Failures that come again say nothing of the inputs
/// that are still under way.
fn is_hopeless(snapshot: &Snapshot) -> bool {
    let (items, inputs) = (&snapshot.items, snapshot.run.input.images);
    let distinct = items.failed_items.len() as u64;
    let listed = inputs.min(MOST_NAMES as u64);
    !snapshot.run.once && items.predicted == 0 && distinct >= listed && items.failed >= inputs
}
