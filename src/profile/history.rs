//! The recent past of a run, bounded: snapshots for windows, and points for charts.
//!
//! All snapshots of the last seconds are kept, then one every half second, so that a window of any
//! offered length can be cut; a chart's points are small and kept for longer. Nothing grows.

use std::collections::VecDeque;
use std::sync::Arc;

use super::snapshot::{KnobChange, Snapshot};
use super::window::Window;
use crate::pipeline::knobs::{KnobId, KnobValue};
use crate::probe::clock::Nanos;

const SECOND: Nanos = 1_000_000_000;
/// Within this time of the newest, every snapshot is kept.
const DENSE: Nanos = 3 * SECOND / 2;
/// Distance of the older snapshots that are kept.
const SPARSE: Nanos = SECOND / 2;
/// How far back the older snapshots reach: the longest chart that is made from them, and a little
/// more.
const REACH: Nanos = 61 * SECOND;
/// The most snapshots kept of either kind, whatever the sampling rate.
const MOST_SNAPSHOTS: usize = 128;
/// A stretch this long without a snapshot is a gap in a chart that is made from snapshots.
const GAP: Nanos = 3 * SPARSE;
/// The most points kept: two minutes at the default rate.
const MOST_POINTS: usize = 1200;
/// The longest that the default window gets, in seconds.
const WIDEST: Nanos = 10;
/// Batches of each infer worker (of so many at most) whose answers the default window holds, or else so
/// many images in so many goes.
const BATCHES: u64 = 2;
const MOST_AT_ONCE: u64 = 4;
const IMAGES: u64 = 8;
const GOES: usize = 4;
/// How long after a knob change the pipeline still shows what was before.
const SETTLED: Nanos = 3 * SECOND / 10;
/// The queues whose fill is followed, source to sink.
pub const QUEUES: [&str; 4] = ["loaded", "batches", "results", "answers"];

/// How much of the past the numbers on screen speak of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Length {
    /// The last second, longer (up to ten) where it holds less than two batches' answers.
    #[default]
    Second,
    /// The last five seconds.
    FiveSeconds,
    /// The last thirty seconds.
    HalfMinute,
    /// Since the latest knob change, or the start.
    SinceChange,
}

impl Length {
    /// The next in the circle.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::Second => Self::FiveSeconds,
            Self::FiveSeconds => Self::HalfMinute,
            Self::HalfMinute => Self::SinceChange,
            Self::SinceChange => Self::Second,
        }
    }

    /// What to call it: `1 s`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Second => "1 s",
            Self::FiveSeconds => "5 s",
            Self::HalfMinute => "30 s",
            Self::SinceChange => "since change",
        }
    }
}

/// A series of which a chart can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// Images predicted a second.
    Throughput,
    /// Median latency in milliseconds.
    LatencyP50,
    /// 99th percentile of the latency in milliseconds.
    LatencyP99,
    /// How full a queue of [`QUEUES`] is, 0 to 1.
    QueueFill(usize),
    /// CPU of the machine, 0 to 1.
    HostCpu,
}

/// What charts need of one moment.
#[derive(Clone, Copy, Debug)]
struct Point {
    at: Nanos,
    throughput: Option<f64>,
    p50: Option<f64>,
    p99: Option<f64>,
    queues: [Option<f64>; QUEUES.len()],
    host_cpu: Option<f64>,
}

impl Point {
    fn of(window: Option<Window<'_>>, now: &Snapshot) -> Self {
        let latency = window.map(|window| window.latency());
        let quantile = |q| latency.as_ref().and_then(|l| l.quantile(q)).map(|ns| ns / 1e6);
        Self {
            at: now.at,
            throughput: window.and_then(|window| window.throughput()),
            p50: quantile(0.5),
            p99: quantile(0.99),
            queues: QUEUES.map(|name| {
                let queue = now.queue(name).filter(|queue| queue.capacity > 0)?;
                Some((queue.depth as f64 / queue.capacity as f64).min(1.0))
            }),
            host_cpu: window.and_then(|window| window.host_cpu()),
        }
    }

    const fn value(&self, series: Series) -> Option<f64> {
        match series {
            Series::Throughput => self.throughput,
            Series::LatencyP50 => self.p50,
            Series::LatencyP99 => self.p99,
            Series::QueueFill(queue) => self.queues[queue],
            Series::HostCpu => self.host_cpu,
        }
    }
}

/// The recent past of one run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// One every [`SPARSE`], oldest first.
    older: VecDeque<Arc<Snapshot>>,
    /// Every one, oldest first; never empty once something came.
    recent: VecDeque<Arc<Snapshot>>,
    /// The first of all.
    first: Option<Arc<Snapshot>>,
    /// The first of the present epoch.
    epoch: Option<Arc<Snapshot>>,
    points: VecDeque<Point>,
}

impl History {
    /// Takes in the next snapshot. One of another run, or from before the latest, starts anew.
    pub fn push(&mut self, snapshot: Arc<Snapshot>) {
        let restarted = self
            .latest()
            .is_some_and(|latest| latest.at > snapshot.at || latest.run.id != snapshot.run.id);
        if restarted {
            *self = Self::default();
        }
        if self.latest().is_none_or(|latest| latest.epoch != snapshot.epoch) {
            self.epoch = Some(Arc::clone(&snapshot));
        }
        self.first.get_or_insert_with(|| Arc::clone(&snapshot));
        let at = snapshot.at;
        self.recent.push_back(snapshot);
        self.thin_out(at);
        let window = self.window(Length::Second);
        let point = self.latest().map(|latest| Point::of(window, latest));
        if self.points.len() == MOST_POINTS {
            self.points.pop_front();
        }
        self.points.extend(point);
    }

    fn thin_out(&mut self, now: Nanos) {
        while self.recent.len() > MOST_SNAPSHOTS
            || self.recent.front().is_some_and(|front| front.at + DENSE < now)
        {
            let Some(front) = self.recent.pop_front() else { break };
            if self.older.back().is_none_or(|back| back.at + SPARSE <= front.at) {
                self.older.push_back(front);
            }
        }
        while self.older.len() > MOST_SNAPSHOTS
            || self.older.front().is_some_and(|front| front.at + REACH < now)
        {
            self.older.pop_front();
        }
    }

    /// The newest snapshot.
    pub fn latest(&self) -> Option<&Arc<Snapshot>> {
        self.recent.back()
    }

    /// The latest window of a length, shorter where the past is; `None` before there are two
    /// snapshots.
    pub fn window(&self, length: Length) -> Option<Window<'_>> {
        let latest = self.latest()?;
        let back = |seconds: Nanos| self.back_to(latest.at.saturating_sub(seconds * SECOND));
        match length {
            Length::Second => self.back_to(self.start()),
            Length::FiveSeconds => back(5),
            Length::HalfMinute => back(30),
            Length::SinceChange => {
                let from = self.epoch.as_ref().filter(|from| from.at < latest.at);
                from.map(|from| Window::between(from, latest))
            }
        }
    }

    /// What a window of a length is called: by the time that it truly spans.
    pub fn length_name(&self, length: Length) -> String {
        let whole = match length {
            Length::Second => 0.0,
            Length::FiveSeconds => 5.0,
            Length::HalfMinute => 30.0,
            Length::SinceChange => return length.name().to_owned(),
        };
        match self.window(length).map(|window| window.seconds()) {
            Some(seconds) if seconds < 0.95 => format!("{seconds:.1} s"),
            Some(seconds) if (seconds - whole).abs() > 0.5 => format!("{seconds:.0} s"),
            _ => length.name().to_owned(),
        }
    }

    /// The window that the verdict speaks of: the default one, without what was before the latest
    /// knob change unless nothing has come out since.
    pub fn verdict(&self) -> Option<Window<'_>> {
        let start = self.widened();
        self.back_to(self.settled().map_or(start, |settled| start.max(settled)))
    }

    /// Where the default window starts.
    fn start(&self) -> Nanos {
        let start = self.widened();
        let second = self.latest().map_or(0, |latest| latest.at.saturating_sub(SECOND));
        self.settled().map_or(start, |settled| start.max(settled).min(second))
    }

    /// The start of the least number of seconds with enough answers to tell a rate from: two batches of
    /// each worker, so that no window falls between them.
    fn widened(&self) -> Nanos {
        let Some(latest) = self.latest() else { return 0 };
        let knob = |id| match latest.knob(id) {
            KnobValue::Int(n) => n,
            _ => 1,
        };
        // Workers that began together end together: what then comes out is one go.
        let go = knob(KnobId::InferBatch) * knob(KnobId::InferThreads).min(MOST_AT_ONCE);
        let enough = |start: Nanos| {
            let nearest = self.nearest(start)?;
            let images = latest.items.predicted.saturating_sub(nearest.items.predicted);
            let kept = self.kept().filter(|snapshot| snapshot.at >= nearest.at);
            let mut goes = 0;
            let mut before = nearest.items.predicted;
            for snapshot in kept {
                goes += usize::from(snapshot.items.predicted > before);
                before = snapshot.items.predicted;
            }
            let some = images >= IMAGES && goes >= GOES;
            (some || images >= BATCHES * go).then_some(start)
        };
        let start = |seconds: Nanos| latest.at.saturating_sub(seconds * SECOND);
        let found = (1..WIDEST).map(start).find_map(enough);
        found.unwrap_or_else(|| start(WIDEST))
    }

    /// Since when the latest knob change shows, if anything came out since then.
    fn settled(&self) -> Option<Nanos> {
        let latest = self.latest()?;
        let settled = latest.changes.last()?.at + SETTLED;
        let before = self.kept().find(|snapshot| snapshot.at >= settled)?;
        (before.items.predicted < latest.items.predicted).then_some(settled)
    }

    /// The window from the first snapshot to the latest.
    pub fn whole(&self) -> Option<Window<'_>> {
        let (first, latest) = (self.first.as_ref()?, self.latest()?);
        (first.at < latest.at).then(|| Window::between(first, latest))
    }

    /// The window from the snapshot nearest to `start` to the latest.
    fn back_to(&self, start: Nanos) -> Option<Window<'_>> {
        Some(Window::between(self.nearest(start)?, self.latest()?))
    }

    /// The snapshot nearest to `start`, the latest apart.
    fn nearest(&self, start: Nanos) -> Option<&Snapshot> {
        let latest = self.latest()?;
        let kept = self.kept().filter(|from| from.at < latest.at);
        kept.min_by_key(|from| from.at.abs_diff(start))
    }

    /// The last `span` of a series in `columns` equal columns, oldest first; `None` is a gap.
    ///
    /// Columns lie on a fixed grid of time, so that a chart moves by whole columns and does not
    /// shimmer. A point holds until the next is due, but not beyond: what was missed stays a gap.
    pub fn columns(&self, series: Series, columns: usize, span: Nanos) -> Vec<Option<f64>> {
        let Some(grid) = self.grid(columns, span) else { return vec![None; columns] };
        let hold = self.hold();
        let mut sums = vec![(0.0, 0u32); columns];
        let mut points = self.points.iter().peekable();
        while let Some(point) = points.next() {
            let Some(value) = point.value(series) else { continue };
            let due = point.at + hold;
            let until =
                points.peek().map_or(point.at, |next| (next.at.max(point.at + 1) - 1).min(due));
            // What ended before the first column has no column.
            let (Some(first), Some(last)) = (grid.reach(point.at), grid.column(until)) else {
                continue;
            };
            for (sum, count) in &mut sums[first..=last] {
                *sum += value;
                *count += 1;
            }
        }
        sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect()
    }

    /// The kept snapshots, oldest first: every one of the last moments, before that one every half
    /// second, for a minute.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = &Snapshot> {
        self.older.iter().chain(&self.recent).map(AsRef::as_ref)
    }

    /// The last `span` in `columns` equal columns, oldest first, each as the window between the kept
    /// snapshots around it; `None` is a gap. From these the past of any thread or lock can be told
    /// that the snapshots hold.
    pub fn column_windows(&self, columns: usize, span: Nanos) -> Vec<Option<Window<'_>>> {
        let Some(grid) = self.grid(columns, span) else { return vec![None; columns] };
        let kept: Vec<&Snapshot> = self.kept().collect();
        let window = |column: usize| {
            let start = grid.start(column)?;
            let before = kept.partition_point(|snapshot| snapshot.at <= start).checked_sub(1)?;
            // The newest snapshot begins no window.
            let from = before.min(kept.len().checked_sub(2)?);
            let end = start + grid.width;
            let after = kept.partition_point(|snapshot| snapshot.at < end);
            let after = after.clamp(from + 1, kept.len() - 1);
            // What comes after a gap tells nothing of this side of it.
            let torn = kept[after].at > end + GAP;
            let (from, to) = (kept[from], kept[if torn { after - 1 } else { after }]);
            let length = to.at.saturating_sub(from.at);
            (length > 0 && length <= grid.width + GAP).then(|| Window::between(from, to))
        };
        (0..columns).map(window).collect()
    }

    /// Knob changes within the last `span`, with the column of `columns` in which each falls.
    pub fn marks(&self, columns: usize, span: Nanos) -> Vec<(usize, &KnobChange)> {
        let (Some(grid), Some(latest)) = (self.grid(columns, span), self.latest()) else {
            return Vec::new();
        };
        latest.changes.iter().filter_map(|c| Some((grid.column(c.at)?, c))).collect()
    }

    /// How long a point holds when the next is missing.
    fn hold(&self) -> Nanos {
        let hz = self.latest().map_or(0.0, |latest| latest.run.sample_hz);
        if hz > 0.0 { (1.5e9 / hz) as Nanos } else { SECOND }
    }

    fn grid(&self, columns: usize, span: Nanos) -> Option<Grid> {
        let newest = self.points.back()?.at;
        let width = (span / columns.max(1) as Nanos).max(1);
        (columns > 0).then_some(Grid { width, last: newest / width, columns })
    }
}

/// Columns of time on a fixed grid, of which the last holds the newest point.
struct Grid {
    width: Nanos,
    last: Nanos,
    columns: usize,
}

impl Grid {
    /// When a column begins; `None` before the start of the run.
    const fn start(&self, column: usize) -> Option<Nanos> {
        let back = (self.columns - 1 - column) as Nanos;
        match self.last.checked_sub(back) {
            Some(index) => Some(index * self.width),
            None => None,
        }
    }

    /// The column of a moment, if it lies in the grid.
    fn column(&self, at: Nanos) -> Option<usize> {
        let back = self.last.checked_sub(at / self.width)?;
        (self.columns as Nanos).checked_sub(back + 1).map(|column| column as usize)
    }

    /// The column of a moment, the first one for what lies before; `None` for the future.
    fn reach(&self, at: Nanos) -> Option<usize> {
        let back = self.last.checked_sub(at / self.width)?;
        Some((self.columns as Nanos).saturating_sub(back + 1) as usize)
    }
}

#[cfg(test)]
mod tests;
