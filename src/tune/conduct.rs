//! Turns the knobs, one point after another, and keeps what was measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::meter::{Look, Meter};
use super::sweep::{Now, Outcome, State, Sweep};
use crate::pipeline::control::Pipeline;
use crate::pipeline::knobs::{Command, KnobError, KnobId};
use crate::probe::clock::Nanos;
use crate::profile::snapshot::{Phase, Snapshot};

/// How often the end is looked for while no snapshot comes.
const LOOK: Duration = Duration::from_millis(100);

/// Measures all points of a sweep on a running pipeline, whose snapshots come by, until each was tried
/// or `stop` is set. Whoever watches is told after each snapshot.
///
/// Every knob can be turned while the pipeline runs, so it is never started anew; a value that this run
/// refuses leaves a gap.
pub fn conduct(
    mut sweep: Sweep,
    pipeline: &Pipeline,
    snapshots: &Receiver<Arc<Snapshot>>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&Sweep),
) -> Sweep {
    let mut begun: Option<Nanos> = None;
    let next = || loop {
        if stop.load(Ordering::Acquire) {
            return None;
        }
        match snapshots.recv_timeout(LOOK) {
            Ok(snapshot) if matches!(snapshot.phase, Phase::Draining | Phase::Done) => return None,
            Ok(snapshot) => return Some(snapshot),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    };
    // The first round through the input is read from files, whatever the cache: it goes before.
    loop {
        let Some(snapshot) = next() else {
            sweep.state = State::Interrupted;
            tell(&sweep);
            return sweep;
        };
        sweep.elapsed = snapshot.at.saturating_sub(*begun.get_or_insert(snapshot.at));
        tell(&sweep);
        if snapshot.items.read > snapshot.run.input.images || sweep.elapsed >= sweep.target.limit {
            break;
        }
    }
    let mut ended = State::Done;
    'points: while let Some(index) = sweep.next() {
        let now = Now { point: index, warming: true, elapsed: 0, rate: None };
        sweep.now = Some(now.clone());
        if let Err(error) = turn(pipeline, &sweep, index) {
            sweep.points[index].outcome = Outcome::Gap(error.to_string());
            continue;
        }
        let mut meter = Meter::new(sweep.target, sweep.stage, pipeline.knobs().1);
        loop {
            let Some(snapshot) = next() else {
                ended = State::Interrupted;
                break 'points;
            };
            sweep.elapsed = snapshot.at.saturating_sub(*begun.get_or_insert(snapshot.at));
            sweep.failed = snapshot.items.failed;
            let look = meter.look(&snapshot);
            let rate = match &look {
                Look::Measuring(rate) => Some(*rate),
                Look::Done(measured) => Some(measured.rate),
                Look::Warming | Look::Gap(_) => None,
            };
            let elapsed = meter.elapsed(&snapshot);
            sweep.now = Some(Now { warming: rate.is_none(), elapsed, rate, ..now.clone() });
            let outcome = match look {
                Look::Warming | Look::Measuring(_) => {
                    tell(&sweep);
                    continue;
                }
                Look::Done(measured) => Outcome::Measured(measured),
                Look::Gap(why) => Outcome::Gap(why),
            };
            sweep.points[index].outcome = outcome;
            tell(&sweep);
            break;
        }
    }
    sweep.now = None;
    sweep.state = ended;
    tell(&sweep);
    sweep
}

/// Turns the knobs to a point's values: those that differ. Some are refused while another still has its
/// old value (large batches in a long queue), so that they are tried again once others are turned.
fn turn(pipeline: &Pipeline, sweep: &Sweep, index: usize) -> Result<(), KnobError> {
    let wanted = sweep.knobs(&sweep.points[index]);
    let (present, _) = pipeline.knobs();
    let differs = |id: &KnobId| wanted.get(*id) != present.get(*id);
    let mut left: Vec<KnobId> = KnobId::all().filter(differs).collect();
    while !left.is_empty() {
        let before = left.len();
        let mut refusal = None;
        left.retain(|&id| {
            let refused = pipeline.command(Command::Set(id, wanted.get(id))).err();
            let keep = refused.is_some();
            refusal = refused.or(refusal.take());
            keep
        });
        if left.len() == before {
            return refusal.map_or(Ok(()), Err);
        }
    }
    Ok(())
}
