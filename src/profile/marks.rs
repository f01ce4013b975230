//! Between which snapshots of a run its figures are taken: warm-up comes before, the drain after.

use std::sync::Arc;

use super::snapshot::{Phase, Snapshot};
use crate::probe::clock::Nanos;

/// Warm-up after the first answer, at most.
const WARM_UP: Nanos = 1_000_000_000;
/// The share of a planned run that warm-up may take.
const WARM_UP_SHARE: f64 = 0.2;

/// Looks at each snapshot, and remembers where the figures begin and end.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    first: Option<Arc<Snapshot>>,
    /// When the first answer was seen.
    began: Option<Nanos>,
    /// The end of warm-up.
    warm: Option<Arc<Snapshot>>,
    /// The newest snapshot before the stop.
    end: Option<Arc<Snapshot>>,
    stopped: bool,
}

impl Marks {
    /// Takes a snapshot into account.
    pub fn look(&mut self, snapshot: &Arc<Snapshot>) {
        self.first.get_or_insert_with(|| Arc::clone(snapshot));
        match snapshot.phase {
            Phase::Starting | Phase::Running => self.end = Some(Arc::clone(snapshot)),
            Phase::Draining => self.stopped = true,
            Phase::Done => {}
        }
        if snapshot.phase == Phase::Running {
            let began = *self.began.get_or_insert(snapshot.at);
            if snapshot.at >= began + warm_up(snapshot) {
                self.warm.get_or_insert_with(|| Arc::clone(snapshot));
            }
        }
    }

    /// Whether the run's time is up with a snapshot.
    pub fn time_is_up(snapshot: &Snapshot) -> bool {
        snapshot.run.duration_s.is_some_and(|seconds| snapshot.at as f64 >= seconds * 1e9)
    }

    /// Takes into account that loading was told to stop with the newest snapshot.
    pub const fn stop(&mut self) {
        self.stopped = true;
    }

    /// Between which snapshots the figures are taken: from the end of warm-up to the stop, or to
    /// `done` where the input ended by itself. A run with `--once`, or too short for a warm-up, counts
    /// whole.
    pub fn window(&self, done: &Arc<Snapshot>) -> (Arc<Snapshot>, Arc<Snapshot>) {
        let first = self.first.as_ref().unwrap_or(done);
        let end = if self.stopped { self.end.as_ref().unwrap_or(done) } else { done };
        let warm = self.warm.as_ref().unwrap_or(first);
        let long = !done.run.once && end.at.saturating_sub(warm.at) >= 2 * warm_up(done);
        (Arc::clone(if long { warm } else { first }), Arc::clone(end))
    }
}

/// How long warm-up takes.
fn warm_up(snapshot: &Snapshot) -> Nanos {
    let planned = snapshot.run.duration_s.map_or(f64::MAX, |seconds| seconds * 1e9);
    WARM_UP.min((planned * WARM_UP_SHARE) as Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::snapshot::RunInfo;

    const SECOND: Nanos = 1_000_000_000;

    fn run(duration_s: Option<f64>, once: bool, last: &[(u64, Phase)]) -> (Marks, Arc<Snapshot>) {
        let info = Arc::new(RunInfo { once, duration_s, ..RunInfo::default() });
        let snapshot = |tenth: u64, phase| {
            let run = Arc::clone(&info);
            Arc::new(Snapshot { run, at: tenth * SECOND / 10, phase, ..Snapshot::empty() })
        };
        let mut marks = Marks::default();
        marks.look(&snapshot(0, Phase::Starting));
        (3..100).for_each(|tenth| marks.look(&snapshot(tenth, Phase::Running)));
        let mut done = None;
        for &(tenth, phase) in last {
            let snapshot = snapshot(tenth, phase);
            marks.look(&snapshot);
            done = Some(snapshot);
        }
        (marks, done.unwrap())
    }

    fn times((marks, done): (Marks, Arc<Snapshot>)) -> (u64, u64) {
        let (warm, end) = marks.window(&done);
        (warm.at / (SECOND / 10), end.at / (SECOND / 10))
    }

    #[test]
    fn figures_begin_after_warm_up_and_end_at_the_stop() {
        let drained = [(100, Phase::Draining), (101, Phase::Done)];
        assert_eq!(times(run(None, false, &drained)), (13, 99));
        assert_eq!(times(run(Some(2.0), false, &drained)), (7, 99), "a fifth of what was planned");
        assert_eq!(times(run(None, true, &drained)), (0, 99), "each image once: all counts");
        assert_eq!(times(run(None, false, &[(101, Phase::Done)])), (13, 101), "it ended by itself");
    }

    #[test]
    fn a_stop_that_is_told_counts_where_no_drain_is_seen() {
        let (mut marks, done) = run(None, false, &[(101, Phase::Done)]);
        marks.stop();
        assert_eq!(times((marks, done)), (13, 99));
    }
}
