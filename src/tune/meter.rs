//! One point: warm-up after the knobs were turned, then slices until the interval is narrow enough.
//!
//! What came out is timed by the moments at which batches came out, not by those at which somebody
//! looked: a slice that ends between two batches would count one too many or too few.

use std::sync::Arc;

use super::statistics::{Estimate, Slice};
use super::sweep::{LockWait, Measured, Target};
use crate::pipeline::Stage;
use crate::pipeline::knobs::{KnobId, KnobValue};
use crate::probe::clock::Nanos;
use crate::profile::limit::limit;
use crate::profile::snapshot::{Group, Snapshot, Wait};
use crate::profile::window::{Shares, Window};

const SECOND: f64 = 1e9;
/// The shortest warm-up.
const WARM: Nanos = 400_000_000;
/// How long throughput may take to become steady, once enough has come out.
const UNSTEADY: Nanos = 2_000_000_000;
/// Two stretches of the warm-up that differ by less are steady.
const STEADY: f64 = 0.1;
/// Images of each worker that must come out before anything counts.
const EACH: u64 = 2;
/// The least number of slices: fewer may agree by chance.
pub const LEAST_SLICES: usize = 10;
/// The least time for which the rest of the machine can be told: it is looked at once a second.
const OTHERS: f64 = 2.0;

/// What came of a look.
#[derive(Debug)]
pub enum Look {
    /// The old setting still shows.
    Warming,
    /// It is being measured; what the slices say so far.
    Measuring(Estimate),
    /// It is measured.
    Done(Box<Measured>),
    /// It cannot be measured, and why.
    Gap(String),
}

/// Measures one point from the snapshots that come by.
#[derive(Debug)]
pub struct Meter {
    target: Target,
    stage: Stage,
    epoch: u32,
    /// When the knobs' new values were in force.
    force: Option<Arc<Snapshot>>,
    /// Images and times at the ends of stretches of the warm-up.
    stretches: Vec<(u64, Nanos)>,
    /// The end of the warm-up.
    begin: Option<Arc<Snapshot>>,
    slices: Vec<Slice>,
    /// The end of the last slice.
    end: Option<Arc<Snapshot>>,
}

/// Images predicted so far, and when the last one came out. Both are told under one lock, and no
/// epoch is dropped while the knobs stand still, so that differences are exact.
fn out(snapshot: &Snapshot) -> (u64, Nanos) {
    let segments = snapshot.segments.iter();
    segments.fold((0, 0), |(images, last), segment| {
        (images + segment.predicted, last.max(segment.last_out))
    })
}

impl Meter {
    /// A meter of a point that holds since `epoch`; shares are of the threads of `stage`.
    pub const fn new(target: Target, stage: Stage, epoch: u32) -> Self {
        Self {
            target,
            stage,
            epoch,
            force: None,
            stretches: Vec::new(),
            begin: None,
            slices: Vec::new(),
            end: None,
        }
    }

    /// How long the present part, warm-up or measuring, has taken.
    pub fn elapsed(&self, now: &Snapshot) -> Nanos {
        let since = self.begin.as_ref().or(self.force.as_ref());
        since.map_or(0, |since| now.at.saturating_sub(since.at))
    }

    /// Takes the next snapshot into account.
    pub fn look(&mut self, now: &Arc<Snapshot>) -> Look {
        if now.epoch < self.epoch || !now.applying.is_empty() {
            return Look::Warming;
        }
        let Some(force) = self.force.clone() else {
            self.force = Some(Arc::clone(now));
            return Look::Warming;
        };
        match self.begin.clone() {
            None => self.warm(&force, now),
            Some(begin) => self.measure(&force, &begin, now),
        }
    }

    fn warm(&mut self, force: &Snapshot, now: &Arc<Snapshot>) -> Look {
        let elapsed = now.at.saturating_sub(force.at);
        let (images, last) = out(now);
        let since = images.saturating_sub(out(force).0);
        let late = elapsed >= self.target.limit.max(WARM);
        if late && since == 0 {
            let seconds = elapsed as f64 / SECOND;
            let failed = now.items.failed.saturating_sub(force.items.failed);
            let why = if failed > 0 { format!(", {failed} failed") } else { String::new() };
            return Look::Gap(format!("no image came out in {seconds:.1} s{why}"));
        }
        let stretch = self
            .stretches
            .last()
            .is_none_or(|&(before, at)| images > before && last >= at + self.target.slice);
        if since > 0 && stretch {
            self.stretches.push((images, last));
        }
        let enough = elapsed >= WARM && since >= self.settling(now);
        let steady = self.is_steady() || elapsed >= WARM + UNSTEADY;
        if (enough && steady) || late {
            self.begin = Some(Arc::clone(now));
            self.end = Some(Arc::clone(now));
            return Look::Measuring(Estimate::default());
        }
        Look::Warming
    }

    /// So many images came in under the old setting, or are a new worker's first.
    fn settling(&self, now: &Snapshot) -> u64 {
        let int = |id| match now.knob(id) {
            KnobValue::Int(n) => n,
            _ => 1,
        };
        let workers = now.stage(self.stage).map_or(1, |stage| u64::from(stage.workers));
        (EACH * workers).max(2 * int(KnobId::InferBatch))
    }

    /// Whether the last two stretches of the warm-up were as fast as each other.
    fn is_steady(&self) -> bool {
        let [.., a, b, c] = self.stretches[..] else { return false };
        let rate = |from: (u64, Nanos), to: (u64, Nanos)| {
            (to.0 - from.0) as f64 / to.1.saturating_sub(from.1).max(1) as f64
        };
        let (before, after) = (rate(a, b), rate(b, c));
        (before - after).abs() <= STEADY * before.max(after)
    }

    fn measure(&mut self, force: &Snapshot, begin: &Snapshot, now: &Arc<Snapshot>) -> Look {
        let (images, last) = out(now);
        let (before, at) = self.end.as_deref().map_or((0, 0), out);
        let length = last.saturating_sub(at);
        let closes = images > before
            && length > 0
            && now.at.saturating_sub(self.end_at()) >= self.target.slice;
        if closes {
            let seconds = length as f64 / SECOND;
            self.slices.push(Slice { images: images - before, seconds });
            self.end = Some(Arc::clone(now));
        }
        let late = now.at.saturating_sub(begin.at) >= self.target.limit;
        let rate = Estimate::of(&self.slices);
        let narrow = rate.relative().is_some_and(|width| width <= self.target.relative);
        let met = narrow && self.slices.len() >= LEAST_SLICES && rate.is_independent();
        if closes && met || late {
            if self.slices.is_empty() {
                let seconds = now.at.saturating_sub(begin.at) as f64 / SECOND;
                return Look::Gap(format!("no image came out in {seconds:.1} s"));
            }
            return Look::Done(Box::new(self.finish(force, begin, rate, met)));
        }
        Look::Measuring(rate)
    }

    fn end_at(&self) -> Nanos {
        self.end.as_ref().map_or(0, |end| end.at)
    }

    fn finish(&self, force: &Snapshot, begin: &Snapshot, rate: Estimate, met: bool) -> Measured {
        let end = self.end.as_deref().unwrap_or(begin);
        let window = Window::between(begin, end);
        let (work, cpu) = stage_time(&window, self.stage);
        let images = self.slices.iter().map(|slice| slice.images).sum::<u64>();
        let workers = end.stage(self.stage).map_or(0, |stage| stage.workers);
        let process = window.process_cpu();
        let cores = process.map(|all| (all - window.own_cpu().unwrap_or(0.0)).max(0.0));
        let host = end.host.map(|host| f64::from(host.cpus));
        let others = window
            .host_cpu()
            .zip(host)
            .zip(process)
            .map(|((share, cpus), process)| (share * cpus - process).max(0.0));
        let latency = window.latency();
        let ms = |q| latency.quantile(q).map(|nanos| nanos / 1e6);
        Measured {
            rate,
            met,
            images,
            seconds: self.slices.iter().map(|slice| slice.seconds).sum(),
            warmup: begin.at.saturating_sub(force.at) as f64 / SECOND,
            shares: work,
            workers,
            cores,
            others: others.filter(|_| window.seconds() >= OTHERS),
            cpu_ms: cpu.filter(|_| images > 0).map(|cpu| cpu / 1e6 / images as f64),
            lock: busiest_lock(&window, workers),
            limit: limit(&window),
            p50: ms(0.5),
            p99: ms(0.99),
            epoch: end.epoch,
            labels: end.labels.clone(),
        }
    }
}

/// Where the time of a stage's threads went, parked time left out, and their CPU time; for load, that of
/// its lanes, of which CPU time is not known.
fn stage_time(window: &Window<'_>, stage: Stage) -> (Option<Shares>, Option<f64>) {
    let to = window.to();
    if to.run.bare {
        return (None, None);
    }
    let mut sum = Shares::default();
    let (mut whole, mut cpu) = (0.0, None);
    let mut add = |shares: &Shares, length: f64| {
        sum.running += shares.running * length;
        sum.runnable += shares.runnable * length;
        sum.other += shares.other * length;
        sum.overlap += shares.overlap * length;
        for (sum, share) in sum.waits.iter_mut().zip(shares.waits) {
            *sum += share * length;
        }
        whole += length;
    };
    if stage == Stage::Load {
        for lane in &to.lanes {
            let waits = window.lane(lane);
            let other = (1.0 - waits.iter().sum::<f64>()).max(0.0);
            add(&Shares { waits, other, ..Shares::default() }, window.nanos() as f64);
        }
    } else {
        for thread in to.threads.iter().filter(|thread| thread.group == Group::Stage(stage)) {
            let Some((length, shares)) = window.thread(thread) else { continue };
            add(&shares, length as f64);
            *cpu.get_or_insert(0.0) += shares.running * length as f64;
        }
    }
    let awake = whole - sum.waits[Wait::Parked as usize];
    if awake <= 0.0 {
        return (None, None);
    }
    let shares = Shares {
        running: sum.running / awake,
        runnable: sum.runnable / awake,
        waits: sum.waits.map(|wait| wait / awake),
        other: sum.other / awake,
        overlap: sum.overlap / awake,
    };
    let mut waits = shares.waits;
    waits[Wait::Parked as usize] = 0.0;
    (Some(Shares { waits, ..shares }), cpu)
}

/// The lock that was waited for most; one of the pipeline's own that nobody waits for is none.
fn busiest_lock(window: &Window<'_>, workers: u32) -> Option<LockWait> {
    let locks = window.to().locks.iter();
    let waits = locks.filter_map(|lock| Some((lock, window.lock(lock)?.wait)));
    let (lock, wait) = waits.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|&(_, wait)| wait > 0.0)?;
    Some(LockWait { name: lock.name.clone(), share: wait / f64::from(workers.max(1)) })
}

#[cfg(test)]
mod tests;
