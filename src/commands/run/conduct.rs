//! When a run's figures begin and end: warm-up before, drain after.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::DRAIN;
use crate::pipeline::control::Pipeline;
use crate::pipeline::ledger::MOST_NAMES;
use crate::probe::clock::{self, Nanos};
use crate::profile::snapshot::{Phase, Snapshot};

/// Warm-up after the first answer, at most.
const WARM_UP: Nanos = 1_000_000_000;
/// The share of a planned run that warm-up may take.
const WARM_UP_SHARE: f64 = 0.2;

/// Looks at each snapshot: remembers where the figures begin and end, and stops the run when its time
/// is up or when nothing can come of it.
pub(super) struct Conductor {
    pipeline: Arc<Pipeline>,
    duration: Option<Nanos>,
    /// The whole run counts: there is no warm-up to leave out where each image is taken once.
    once: bool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    first: Option<Arc<Snapshot>>,
    /// When the first answer was seen.
    began: Option<Nanos>,
    /// The end of warm-up.
    warm: Option<Arc<Snapshot>>,
    /// The newest snapshot before the stop.
    end: Option<Arc<Snapshot>>,
    stopped: Option<Nanos>,
}

impl Conductor {
    pub(super) fn new(pipeline: Arc<Pipeline>, duration: Option<Duration>, once: bool) -> Self {
        let duration = duration.map(|duration| duration.as_nanos() as Nanos);
        Self { pipeline, duration, once, seen: Mutex::default() }
    }

    /// Takes a snapshot into account.
    pub(super) fn look(&self, snapshot: &Arc<Snapshot>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.first.get_or_insert_with(|| Arc::clone(snapshot));
        if matches!(snapshot.phase, Phase::Starting | Phase::Running) {
            seen.end = Some(Arc::clone(snapshot));
        } else if snapshot.phase == Phase::Draining {
            seen.stopped.get_or_insert_with(clock::now);
        }
        if snapshot.phase == Phase::Running {
            let began = *seen.began.get_or_insert(snapshot.at);
            if snapshot.at >= began + self.warm_up() {
                seen.warm.get_or_insert_with(|| Arc::clone(snapshot));
            }
        }
        if self.is_over(snapshot) {
            self.pipeline.stop();
            seen.stopped.get_or_insert_with(clock::now);
        }
        let drained_for = seen.stopped.map_or(0, |since| clock::now().saturating_sub(since));
        if drained_for > DRAIN.as_nanos() as Nanos && snapshot.phase != Phase::Done {
            self.pipeline.abandon();
        }
    }

    fn warm_up(&self) -> Nanos {
        let planned = self.duration.map_or(f64::MAX, |duration| duration as f64);
        WARM_UP.min((planned * WARM_UP_SHARE) as Nanos)
    }

    /// Whether the time is up, or the whole input went by and not one image could be used.
    fn is_over(&self, snapshot: &Snapshot) -> bool {
        let time_is_up = self.duration.is_some_and(|duration| snapshot.at >= duration);
        !self.pipeline.is_stopping() && (time_is_up || self.is_hopeless(snapshot))
    }

    /// Whether each input has failed, round and round. Failures that come again say nothing of the
    /// inputs that are still under way.
    fn is_hopeless(&self, snapshot: &Snapshot) -> bool {
        let (items, inputs) = (&snapshot.items, snapshot.run.input.images);
        let distinct = items.failed_items.len() as u64;
        let listed = inputs.min(MOST_NAMES as u64);
        !self.once && items.predicted == 0 && distinct >= listed && items.failed >= inputs
    }

    /// What is left of the time to drain.
    pub(super) fn drain_left(&self) -> Duration {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let drained = seen.stopped.map_or(0, |since| clock::now().saturating_sub(since));
        DRAIN.saturating_sub(Duration::from_nanos(drained))
    }

    /// Between which snapshots the figures are taken: from the end of warm-up to the stop, or to
    /// `done` where the input ended by itself. A run with `--once`, or too short for a warm-up, counts
    /// whole.
    pub(super) fn window(&self, done: &Arc<Snapshot>) -> (Arc<Snapshot>, Arc<Snapshot>) {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let first = seen.first.as_ref().unwrap_or(done);
        let end = if seen.stopped.is_none() { done } else { seen.end.as_ref().unwrap_or(done) };
        let warm = seen.warm.as_ref().unwrap_or(first);
        let long = !self.once && end.at.saturating_sub(warm.at) >= 2 * self.warm_up().min(WARM_UP);
        (Arc::clone(if long { warm } else { first }), Arc::clone(end))
    }
}
