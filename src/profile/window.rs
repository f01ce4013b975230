//! The difference of two snapshots: rates, shares and quantiles of the time between them.

pub mod gpu;

use super::snapshot::{
    LaneSample, LockSample, QueueSample, Snapshot, StageSample, ThreadSample, Wait, Waits,
};
use crate::pipeline::Stage;
use crate::probe::clock::Nanos;
use crate::probe::histogram::Histogram;

/// The time between two snapshots of one run.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    from: &'a Snapshot,
    to: &'a Snapshot,
}

/// Where a thread's time went, in shares of the window that sum to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// On a CPU.
    pub running: f64,
    /// Wanted a CPU and had none.
    pub runnable: f64,
    /// Declared waits, scaled where they overlap with the run queue.
    pub waits: [f64; Wait::ALL.len()],
    /// Blocked, unexplained.
    pub other: f64,
    /// By how much the declared waits exceeded the blocked time: scaled away above.
    pub overlap: f64,
}

impl Shares {
    /// The share of one wait.
    pub const fn wait(&self, wait: Wait) -> f64 {
        self.waits[wait as usize]
    }

    /// All shares together: 1, but for rounding.
    pub fn sum(&self) -> f64 {
        self.running + self.runnable + self.waits.iter().sum::<f64>() + self.other
    }
}

/// Where `window` nanoseconds of a thread went, given its CPU time, run-queue time and declared
/// waits in it.
///
/// A wait timed by the wall clock contains the wake-up's time in the run queue, so plain sums exceed
/// the window: running = c, runnable = min(r, W − c), the blocked rest B = W − running − runnable;
/// where the waits exceed B they are scaled to it, and the excess is published as `overlap`.
pub fn join(window: Nanos, cpu: Nanos, run_queue: Nanos, waits: &Waits) -> Shares {
    if window == 0 {
        return Shares::default();
    }
    let whole = window as f64;
    let running = (cpu as f64).min(whole);
    let runnable = (run_queue as f64).min(whole - running);
    let blocked = whole - running - runnable;
    let declared: f64 = waits.iter().map(|&w| w as f64).sum();
    let scale = if declared > blocked { blocked / declared } else { 1.0 };
    Shares {
        running: running / whole,
        runnable: runnable / whole,
        waits: waits.map(|w| w as f64 * scale / whole),
        other: (blocked - declared).max(0.0) / whole,
        overlap: (declared - blocked).max(0.0) / whole,
    }
}

/// How a lock was used in a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockUse {
    /// Acquisitions a second.
    pub acquisitions: f64,
    /// Share of the acquisitions that had to wait; `None` where there was no acquisition.
    pub contended: Option<f64>,
    /// Time waited by all threads together, as a share of the window: 1 is one thread that always
    /// waits. A wait counts when it is over.
    pub wait: f64,
    /// Time held, as a share of the window; `None` where it is not measured.
    pub hold: Option<f64>,
    /// Mean time held a go in nanoseconds; `None` where it is not measured or there was no go.
    pub hold_mean: Option<f64>,
    /// The waits by length.
    pub waits: Histogram,
    /// How it went from thread to thread; `None` but for an emulated GIL.
    pub switching: Option<SwitchingRates>,
}

/// How an emulated GIL went from thread to thread, times a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SwitchingRates {
    /// It passed to another thread than its last holder.
    pub switches: f64,
    /// A holder dropped it because it was asked to.
    pub forced: f64,
    /// A waiter asked for it.
    pub requests: f64,
}

/// Context switches of a thread a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchRates {
    /// It gave up its core: to wait.
    pub voluntary: f64,
    /// Its core was taken away.
    pub involuntary: f64,
}

impl<'a> Window<'a> {
    /// The time from `from` to `to`, two snapshots of one run in this order.
    pub const fn between(from: &'a Snapshot, to: &'a Snapshot) -> Self {
        Self { from, to }
    }

    /// The earlier snapshot.
    pub const fn from(&self) -> &'a Snapshot {
        self.from
    }

    /// The later snapshot.
    pub const fn to(&self) -> &'a Snapshot {
        self.to
    }

    /// Its length.
    pub const fn nanos(&self) -> Nanos {
        self.to.at.saturating_sub(self.from.at)
    }

    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.nanos() as f64 / 1e9
    }

    /// A count a second, or `None` in an empty window.
    pub fn rate(&self, from: u64, to: u64) -> Option<f64> {
        let seconds = self.seconds();
        (seconds > 0.0).then(|| to.saturating_sub(from) as f64 / seconds)
    }

    /// Images predicted a second.
    pub fn throughput(&self) -> Option<f64> {
        self.rate(self.from.items.predicted, self.to.items.predicted)
    }

    /// Encoded bytes read a second.
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.rate(self.from.items.bytes, self.to.items.bytes)
    }

    /// Latency of the images predicted in the window.
    pub fn latency(&self) -> Histogram {
        self.to.latency.since(&self.from.latency)
    }

    /// A stage at both ends.
    fn stage(&self, stage: Stage) -> Option<(&'a StageSample, &'a StageSample)> {
        Some((self.from.stage(stage)?, self.to.stage(stage)?))
    }

    /// Images a second that left a stage.
    pub fn stage_rate(&self, stage: Stage) -> Option<f64> {
        let (from, to) = self.stage(stage)?;
        self.rate(from.done, to.done)
    }

    /// Service times of a stage in the window.
    pub fn service(&self, stage: Stage) -> Option<Histogram> {
        let (from, to) = self.stage(stage)?;
        Some(to.service.since(&from.service))
    }

    /// Share of the window in which the stage's device had work, where it has a device.
    pub fn device_busy(&self, stage: Stage) -> Option<f64> {
        let (from, to) = self.stage(stage)?;
        let busy = to.device_busy?.saturating_sub(from.device_busy?);
        (self.nanos() > 0).then(|| (busy as f64 / self.nanos() as f64).min(1.0))
    }

    /// (running + runnable) / (time − parked) over a stage's threads; `None` where no thread of it
    /// could be measured. Load has lanes in place of threads: the share of their time in a read.
    pub fn busy(&self, stage: Stage) -> Option<f64> {
        if self.to.run.bare {
            // Its lanes stand still: nobody stamps them.
            return None;
        }
        let (mut work, mut time) = (0.0, 0.0);
        if stage == Stage::Load {
            for lane in &self.to.lanes {
                let shares = self.lane(lane);
                work += shares[Wait::Io as usize] + shares[Wait::Delay as usize];
                time += 1.0 - shares[Wait::Parked as usize];
            }
        } else {
            let group = super::snapshot::Group::Stage(stage);
            for thread in self.to.threads.iter().filter(|thread| thread.group == group) {
                if let Some((length, shares)) = self.thread(thread) {
                    let length = length as f64;
                    work += (shares.running + shares.runnable) * length;
                    time += (1.0 - shares.wait(Wait::Parked)) * length;
                }
            }
        }
        (time > 0.0).then(|| work / time)
    }

    /// How long a thread lived and was measured in the window, and where that time went; `None` where
    /// the thread is not registered, was over before, or its CPU time could not be read.
    pub fn thread(&self, to: &ThreadSample) -> Option<(Nanos, Shares)> {
        let from = self.from.threads.iter().find(|from| from.tid == to.tid && from.name == to.name);
        let start = from.map_or(to.since, |_| self.from.at);
        let end = to.until.unwrap_or(self.to.at);
        let length = end.checked_sub(start).filter(|&length| length > 0)?;
        let zero = [0; Wait::ALL.len()];
        let waits_before = from.map_or(Some(zero), |from| from.waits)?;
        let mut waits = to.waits?;
        for (now, before) in waits.iter_mut().zip(waits_before) {
            *now = now.saturating_sub(before);
        }
        let cpu = to.cpu?.saturating_sub(from.map_or(Some(0), |from| from.cpu)?);
        // Without schedstat the run queue can't be told from being blocked: it stays in `other`.
        let before = from.map_or(Some(0), |from| from.runnable).unwrap_or_default();
        let run_queue = to.runnable.unwrap_or_default().saturating_sub(before);
        Some((length, join(length, cpu, run_queue, &waits)))
    }

    /// CPU time of a thread as a share of the window; `None` where it could not be read.
    pub fn thread_cpu(&self, to: &ThreadSample) -> Option<f64> {
        let from = self.from.threads.iter().find(|from| from.tid == to.tid && from.name == to.name);
        let start = from.map_or(to.since, |_| self.from.at);
        let end = to.until.unwrap_or(self.to.at);
        let length = end.checked_sub(start).filter(|&length| length > 0)?;
        let cpu = to.cpu?.saturating_sub(from.map_or(Some(0), |from| from.cpu)?);
        Some(cpu as f64 / length as f64)
    }

    /// A thread's context switches a second, between the looks that lie nearest before the window's
    /// ends; `None` where there were not two looks, or nothing could be read.
    pub fn thread_switches(&self, to: &ThreadSample) -> Option<SwitchRates> {
        let from = self.from.threads.iter().find(|from| from.tid == to.tid && from.name == to.name);
        let before =
            from.and_then(|from| Some((from.switches_at?, from.voluntary?, from.involuntary?)));
        let (start, voluntary, involuntary) = before.unwrap_or((to.since, 0, 0));
        let span = to.switches_at?.checked_sub(start).filter(|&span| span > 0)? as f64 / 1e9;
        Some(SwitchRates {
            voluntary: to.voluntary?.saturating_sub(voluntary) as f64 / span,
            involuntary: to.involuntary?.saturating_sub(involuntary) as f64 / span,
        })
    }

    /// How a lock was used; `None` in an empty window. A lock that is newer than the window counts
    /// from its first use.
    pub fn lock(&self, to: &LockSample) -> Option<LockUse> {
        let length = Some(self.nanos() as f64).filter(|&length| length > 0.0)?;
        let unused = LockSample::default();
        let from = self.from.locks.iter().find(|from| from.name == to.name).unwrap_or(&unused);
        let taken = to.acquisitions.saturating_sub(from.acquisitions);
        let contended = to.contended.saturating_sub(from.contended);
        // An estimate may take back a little of what it gave.
        let hold = to.hold.map(|hold| hold.saturating_sub(from.hold.unwrap_or(0)) as f64);
        Some(LockUse {
            acquisitions: taken as f64 / (length / 1e9),
            contended: (taken > 0).then(|| (contended as f64 / taken as f64).min(1.0)),
            wait: to.wait.saturating_sub(from.wait) as f64 / length,
            hold: hold.map(|hold| (hold / length).min(1.0)),
            hold_mean: hold.filter(|_| taken > 0).map(|hold| hold / taken as f64),
            waits: to.waits.since(&from.waits),
            switching: self.switching(from, to),
        })
    }

    fn switching(&self, from: &LockSample, to: &LockSample) -> Option<SwitchingRates> {
        let (before, now) = (from.switching.unwrap_or_default(), to.switching?);
        Some(SwitchingRates {
            switches: self.rate(before.switches, now.switches)?,
            forced: self.rate(before.forced, now.forced)?,
            requests: self.rate(before.requests, now.requests)?,
        })
    }

    /// Mean of a share over a stage's threads that are not switched off; `None` where there is none.
    pub fn mean_share(&self, stage: Stage, share: impl Fn(&Shares) -> f64) -> Option<f64> {
        let group = super::snapshot::Group::Stage(stage);
        let threads = self.to.threads.iter().filter(|thread| thread.group == group);
        let shares: Vec<f64> = threads
            .filter_map(|thread| self.thread(thread))
            .filter(|(_, shares)| shares.wait(Wait::Parked) < 0.5)
            .map(|(_, shares)| share(&shares))
            .collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    /// A thread's images a second.
    pub fn thread_rate(&self, to: &ThreadSample) -> Option<f64> {
        let from = self.from.threads.iter().find(|from| from.tid == to.tid && from.name == to.name);
        self.rate(from.map_or(0, |from| from.items), to.items)
    }

    /// Where a lane's time went, by [`Wait`]; the rest is between two waits.
    pub fn lane(&self, to: &LaneSample) -> [f64; Wait::ALL.len()] {
        let from = self.from.lanes.iter().find(|from| from.name == to.name);
        let start = from.map_or(to.since, |_| self.from.at);
        let length = self.to.at.saturating_sub(start).max(1) as f64;
        std::array::from_fn(|i| {
            let waited = to.waits[i].saturating_sub(from.map_or(0, |from| from.waits[i]));
            (waited as f64 / length).min(1.0)
        })
    }

    fn queue(&self, name: &str) -> Option<(&'a QueueSample, &'a QueueSample)> {
        Some((self.from.queue(name)?, self.to.queue(name)?))
    }

    /// Mean depth of a queue.
    pub fn queue_depth(&self, name: &str) -> Option<f64> {
        let (from, to) = self.queue(name)?;
        let area = to.depth_time.saturating_sub(from.depth_time);
        (self.nanos() > 0).then(|| area as f64 / self.nanos() as f64)
    }

    /// Share of the window in which a queue had something ready to be taken.
    pub fn queue_ready(&self, name: &str) -> Option<f64> {
        let (from, to) = self.queue(name)?;
        let ready = to.ready_time.saturating_sub(from.ready_time);
        (self.nanos() > 0).then(|| (ready as f64 / self.nanos() as f64).min(1.0))
    }

    /// Share of the window in which a queue had no room.
    pub fn queue_full(&self, name: &str) -> Option<f64> {
        let (from, to) = self.queue(name)?;
        let full = to.full_time.saturating_sub(from.full_time);
        (self.nanos() > 0).then(|| (full as f64 / self.nanos() as f64).min(1.0))
    }

    /// CPU of the machine, as a share of all its CPUs, between the looks that lie nearest before the
    /// window's ends.
    pub fn host_cpu(&self) -> Option<f64> {
        let (from, to) = (self.from.host?, self.to.host?);
        let span = to.at.saturating_sub(from.at);
        let busy = to.cpu_busy.saturating_sub(from.cpu_busy) as f64;
        (span > 0 && to.cpus > 0).then(|| (busy / span as f64 / f64::from(to.cpus)).min(1.0))
    }

    /// CPU of pipetop's own threads, in cores.
    pub fn own_cpu(&self) -> Option<f64> {
        let used = self.to.own.cpu?.saturating_sub(self.from.own.cpu?);
        (self.nanos() > 0).then(|| used as f64 / self.nanos() as f64)
    }

    /// CPU of the whole process, in cores.
    pub fn process_cpu(&self) -> Option<f64> {
        let used = self.to.own.process_cpu?.saturating_sub(self.from.own.process_cpu?);
        (self.nanos() > 0).then(|| used as f64 / self.nanos() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::snapshot::Switching;

    fn waits(of: &[(Wait, Nanos)]) -> Waits {
        let mut waits = [0; Wait::ALL.len()];
        for &(wait, time) in of {
            waits[wait as usize] = time;
        }
        waits
    }

    #[test]
    fn time_without_overlap_is_as_declared_and_the_rest_is_other() {
        let shares = join(1000, 500, 100, &waits(&[(Wait::Starved, 250), (Wait::Lock, 50)]));
        assert!((shares.running - 0.5).abs() < 1e-12);
        assert!((shares.runnable - 0.1).abs() < 1e-12);
        assert!((shares.wait(Wait::Starved) - 0.25).abs() < 1e-12);
        assert!((shares.wait(Wait::Lock) - 0.05).abs() < 1e-12);
        assert!((shares.other - 0.1).abs() < 1e-12);
        assert!(shares.overlap.abs() < 1e-12);
        assert!((shares.sum() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn overlapping_waits_are_scaled_and_the_excess_is_published() {
        let shares = join(1000, 500, 300, &waits(&[(Wait::Starved, 300), (Wait::Gpu, 100)]));
        assert!((shares.wait(Wait::Starved) - 0.15).abs() < 1e-12);
        assert!((shares.wait(Wait::Gpu) - 0.05).abs() < 1e-12);
        assert!((shares.overlap - 0.2).abs() < 1e-12);
        assert!((shares.sum() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn more_cpu_or_run_queue_time_than_the_window_has_never_goes_negative() {
        for (cpu, queue) in [(1500, 0), (900, 900), (0, 5000), (1000, 1000)] {
            let shares = join(1000, cpu, queue, &waits(&[(Wait::Io, 400)]));
            assert!((shares.sum() - 1.0).abs() < 1e-12);
            assert!(shares.other >= 0.0 && shares.wait(Wait::Io) >= 0.0 && shares.runnable >= 0.0);
        }
    }

    #[test]
    fn a_locks_use_is_the_difference_of_its_counters() {
        let lock = |acquisitions, contended, wait, hold, waits: &[Nanos]| LockSample {
            name: "pool".into(),
            acquisitions,
            contended,
            wait,
            hold,
            waits: Histogram::of(waits.iter().copied()),
            ..LockSample::default()
        };
        let (early, late) = (
            lock(100, 10, 5_000, Some(40_000), &[500; 10]),
            lock(300, 60, 505_000, Some(640_000), &[vec![500; 10], vec![10_000; 50]].concat()),
        );
        let snapshot = |at, locks| Snapshot { at, locks, ..Snapshot::empty() };
        let (from, to) = (snapshot(1_000_000, vec![early]), snapshot(2_000_000, vec![late]));
        let used = Window::between(&from, &to).lock(&to.locks[0]).unwrap();
        assert!((used.acquisitions - 200_000.0).abs() < 1e-6);
        assert!((used.contended.unwrap() - 0.25).abs() < 1e-12);
        assert!((used.wait - 0.5).abs() < 1e-12);
        assert!((used.hold.unwrap() - 0.6).abs() < 1e-12);
        assert!((used.hold_mean.unwrap() - 3000.0).abs() < 1e-9);
        assert_eq!(used.waits.count(), 50);
        // Nothing happened: there is no share of nothing.
        let still = snapshot(3_000_000, to.locks.clone());
        let idle = Window::between(&to, &still).lock(&still.locks[0]).unwrap();
        assert_eq!((idle.contended, idle.hold_mean), (None, None));
        assert_eq!(Window::between(&to, &to).lock(&to.locks[0]), None);
    }

    #[test]
    fn an_emulated_gils_switches_are_told_a_second() {
        let gil = |switching| LockSample { name: "gil".into(), switching, ..LockSample::default() };
        let of = |switches, forced, requests| Some(Switching { switches, forced, requests });
        let snapshot = |at, lock| Snapshot { at, locks: vec![lock], ..Snapshot::empty() };
        let from = snapshot(1_000_000_000, gil(of(100, 90, 95)));
        let to = snapshot(3_000_000_000, gil(of(500, 470, 475)));
        let used = Window::between(&from, &to).lock(&to.locks[0]).unwrap();
        let rates = SwitchingRates { switches: 200.0, forced: 190.0, requests: 190.0 };
        assert_eq!(used.switching, Some(rates));
        let plain = snapshot(3_000_000_000, gil(None));
        assert_eq!(Window::between(&from, &plain).lock(&plain.locks[0]).unwrap().switching, None);
    }

    #[test]
    fn switches_count_between_the_looks_and_not_between_the_samples() {
        let thread = |switches_at, voluntary: u64| ThreadSample {
            switches_at,
            voluntary: Some(voluntary),
            involuntary: Some(voluntary / 10),
            since: 500_000_000,
            ..ThreadSample::unmeasured("prep-0", 7)
        };
        let snapshot = |at, thread| Snapshot { at, threads: vec![thread], ..Snapshot::empty() };
        let second = 1_000_000_000;
        let from = snapshot(2 * second, thread(Some(1_500_000_000), 100));
        let to = snapshot(3 * second, thread(Some(2_500_000_000), 400));
        let rates = Window::between(&from, &to).thread_switches(&to.threads[0]).unwrap();
        assert!((rates.voluntary - 300.0).abs() < 1e-9 && (rates.involuntary - 30.0).abs() < 1e-9);
        // Born in the window: from its birth on.
        let young = Window::between(&snapshot(0, thread(None, 0)), &to)
            .thread_switches(&to.threads[0])
            .unwrap();
        assert!((young.voluntary - 200.0).abs() < 1e-9);
        // No look in the window: nothing to say.
        let unseen = snapshot(4 * second, thread(Some(2_500_000_000), 400));
        assert_eq!(Window::between(&to, &unseen).thread_switches(&unseen.threads[0]), None);
    }
}
