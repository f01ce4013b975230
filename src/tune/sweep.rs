//! All points of a sweep with what was measured: what the screen, the report and the files look at.

use std::sync::Arc;

use super::axis::Axis;
use super::statistics::Estimate;
use super::work::Work;
use crate::pipeline::Stage;
use crate::pipeline::knobs::{KnobId, KnobValue, KnobValues};
use crate::probe::clock::Nanos;
use crate::profile::limit::Limit;
use crate::profile::snapshot::{Label, RunInfo};
use crate::profile::window::Shares;

/// How points are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Half the 95 % confidence interval, as a share of the mean, at which a point is done.
    pub relative: f64,
    /// The longest that a point is measured.
    pub limit: Nanos,
    /// The least length of a slice.
    pub slice: Nanos,
}

/// A sweep, finished or not.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The run that it is measured on.
    pub run: Arc<RunInfo>,
    /// When it began, in seconds since 1970.
    pub started_at: u64,
    /// The knobs that are swept: one or two.
    pub axes: Vec<Axis>,
    /// A curve each (a map each with two axes).
    pub works: Vec<Work>,
    /// All other knobs.
    pub base: KnobValues,
    /// The stage whose threads the shares are of.
    pub stage: Stage,
    /// How points are measured.
    pub target: Target,
    /// From which number their order is shuffled.
    pub seed: u64,
    /// The points by work, then by the first axis, then by the second.
    pub points: Vec<Point>,
    /// What is measured now.
    pub now: Option<Now>,
    /// How far it is.
    pub state: State,
    /// Since its start.
    pub elapsed: Nanos,
    /// Images that failed since its start.
    pub failed: u64,
}

/// How far a sweep is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It goes on.
    #[default]
    Running,
    /// Each point was tried.
    Done,
    /// It was ended before that.
    Interrupted,
}

/// One point: a work at one value of each axis.
#[derive(Clone, Debug)]
pub struct Point {
    /// Which work.
    pub work: usize,
    /// Which value of each axis; the second is 0 where there is one axis.
    pub at: [usize; 2],
    /// Its place in the order of measuring, from 0.
    pub turn: usize,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a point.
#[derive(Clone, Debug, Default)]
pub enum Outcome {
    /// It was not measured yet.
    #[default]
    Waiting,
    /// It was measured.
    Measured(Box<Measured>),
    /// It could not be measured, and why.
    Gap(String),
}

/// A measured point. Shares, cores and latency are means over the time that was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Images predicted a second, with the interval.
    pub rate: Estimate,
    /// Whether the interval became as narrow as was asked for.
    pub met: bool,
    /// Images predicted while it was measured.
    pub images: u64,
    /// Seconds measured.
    pub seconds: f64,
    /// Seconds before, from the knobs' change.
    pub warmup: f64,
    /// Where the time of the stage's threads went, parked time left out; `None` without probes.
    pub shares: Option<Shares>,
    /// Workers of the stage that might run.
    pub workers: u32,
    /// CPU of the process in cores, pipetop's own threads left out.
    pub cores: Option<f64>,
    /// CPU that others on this machine used meanwhile, in cores.
    pub others: Option<f64>,
    /// CPU time of the stage's threads for each image, in milliseconds.
    pub cpu_ms: Option<f64>,
    /// The lock that was waited for most, if any was.
    pub lock: Option<LockWait>,
    /// What limited the throughput.
    pub limit: Limit,
    /// Median latency in milliseconds.
    pub p50: Option<f64>,
    /// 99th percentile of the latency in milliseconds.
    pub p99: Option<f64>,
    /// The knob epoch that it was measured in.
    pub epoch: u32,
    /// What in it was synthetic or emulated.
    pub labels: Vec<Label>,
}

/// The lock that was waited for most.
#[derive(Clone, Debug, PartialEq)]
pub struct LockWait {
    /// Its name.
    pub name: String,
    /// Time waited for it by all threads together, as a share of the time of the stage's workers.
    pub share: f64,
}

/// What is measured now.
#[derive(Clone, Debug, PartialEq)]
pub struct Now {
    /// Which point.
    pub point: usize,
    /// Whether it is still warming up.
    pub warming: bool,
    /// Since the warm-up ended, or else since the knobs were turned.
    pub elapsed: Nanos,
    /// What the slices say so far.
    pub rate: Option<Estimate>,
}

impl Point {
    /// What was measured, if it was.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Waiting | Outcome::Gap(_) => None,
        }
    }

    /// Whether it was not tried yet.
    pub const fn is_waiting(&self) -> bool {
        matches!(self.outcome, Outcome::Waiting)
    }
}

impl Sweep {
    /// Its points, each waiting, in a shuffled order of measuring.
    pub fn plan(axes: &[Axis], works: &[Work], seed: u64) -> Vec<Point> {
        let mut points = Vec::new();
        let second = axes.get(1).map_or(1, |axis| axis.values.len());
        for work in 0..works.len() {
            for first in 0..axes.first().map_or(0, |axis| axis.values.len()) {
                for second in 0..second {
                    let (at, outcome) = ([first, second], Outcome::Waiting);
                    points.push(Point { work, at, turn: 0, outcome });
                }
            }
        }
        for (turn, index) in shuffled(points.len(), seed).into_iter().enumerate() {
            points[index].turn = turn;
        }
        points
    }

    /// The point whose turn it is, of those that wait.
    pub fn next(&self) -> Option<usize> {
        let waiting = self.points.iter().enumerate().filter(|(_, point)| point.is_waiting());
        waiting.min_by_key(|(_, point)| point.turn).map(|(index, _)| index)
    }

    /// A point's values of the axes.
    pub fn values(&self, point: &Point) -> Vec<(KnobId, KnobValue)> {
        let axes = self.axes.iter().zip(point.at);
        axes.map(|(axis, at)| (axis.knob, axis.values[at])).collect()
    }

    /// A point's knobs.
    pub fn knobs(&self, point: &Point) -> KnobValues {
        self.works[point.work].knobs(&self.base, &self.values(point))
    }

    /// The points of a work.
    pub fn of_work(&self, work: usize) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |point| point.work == work)
    }

    /// Points that were tried.
    pub fn done(&self) -> usize {
        self.points.iter().filter(|point| !point.is_waiting()).count()
    }

    /// About how long it will still take; `None` before a point was tried.
    pub fn left(&self) -> Option<Nanos> {
        let (done, all) = (self.done() as u64, self.points.len() as u64);
        let each = self.elapsed.checked_div(done)?;
        let under_way = self.now.as_ref().map_or(0, |now| now.elapsed.min(each));
        Some(((all - done) * each).saturating_sub(under_way))
    }

    /// Whether a point has more threads of a kind than the machine has cores.
    pub fn beyond_cores(&self, point: &Point) -> bool {
        let more = |(axis, at): (&Axis, usize)| {
            axis.counts_threads()
                && matches!(axis.values[at], KnobValue::Int(n) if n > self.run.cores as u64)
        };
        self.axes.iter().zip(point.at).any(more)
    }

    /// The words that apply to anything in it, each once, in a fixed order.
    pub fn labels(&self) -> Vec<Label> {
        let measured = self.points.iter().filter_map(Point::measured);
        let mut labels: Vec<Label> = measured.flat_map(|m| m.labels.iter().cloned()).collect();
        labels.sort_by(|a, b| (a.word, &a.what).cmp(&(b.word, &b.what)));
        labels.dedup();
        labels
    }

    /// What is emulated in a work alone, and not in all of them.
    pub fn emulated(&self, work: usize) -> bool {
        use crate::profile::snapshot::LabelWord;
        let knobs = &self.works[work].settings;
        let of_work = |label: &Label| {
            label.word == LabelWord::Emulated
                && knobs.iter().any(|(id, _)| id.spec().name == label.what)
        };
        let mut measured = self.of_work(work).filter_map(Point::measured);
        measured.any(|measured| measured.labels.iter().any(of_work))
    }
}

/// 0 to `count` − 1, shuffled (Fisher and Yates) by a `SplitMix64` sequence, whose constants are those of
/// Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        // With so few points the remainder's bias is nothing.
        order.swap(last, (random() % (last as u64 + 1)) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_shuffled_complete_and_repeatable() {
        let axes =
            ["preprocess.threads=1..6", "infer.batch=1..4"].map(|text| text.parse().unwrap());
        let works = [Work::as_set(), Work::by_name("lock-pool").unwrap()];
        let turns = |seed| {
            let points = Sweep::plan(&axes, &works, seed);
            points.iter().map(|point| point.turn).collect::<Vec<_>>()
        };
        let (first, again, other) = (turns(1), turns(1), turns(2));
        assert_eq!(first, again);
        assert_ne!(first, other);
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..2 * 6 * 3).collect::<Vec<_>>());
        assert_ne!(first, sorted);
        assert!(shuffled(0, 1).is_empty());
    }
}
