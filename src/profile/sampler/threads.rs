//! Samples of threads: the registered ones with their states, then the foreign ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::OWN;
use super::foreign::Foreign;
use crate::pipeline::Stage;
use crate::probe::clock::{self, Nanos};
use crate::probe::lock::LockStats;
use crate::probe::os::{self, Switches};
use crate::probe::registry::{Gone, Registry, Thread, Usage};
use crate::probe::state::StateReading;
use crate::profile::snapshot::{Group, ThreadSample};

/// Context switches and cores cost 30 µs a thread to read: they are refreshed this often.
const REFRESH: Nanos = 1_000_000_000;

/// What is remembered of the threads between two samples.
#[derive(Debug)]
pub(super) struct Threads {
    start: Nanos,
    /// By the threads' serial numbers.
    known: BTreeMap<u64, Known>,
    foreign: Foreign,
    refreshed: Option<Nanos>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    switches: Switches,
    /// When they were looked at.
    switches_at: Option<Nanos>,
    account: RunQueue,
}

impl Known {
    /// Adds what is read now and then only.
    fn finish(&self, sample: ThreadSample) -> ThreadSample {
        let Switches { voluntary, involuntary, core } = self.switches;
        let switches_at = self.switches_at;
        ThreadSample { voluntary, involuntary, core, switches_at, ..sample }
    }
}

/// Turns the kernel's run-queue time into one that fits its samples.
///
/// The kernel adds a wait in the run queue when it ends, so that one sample's difference may exceed
/// the time that was left beside the CPU: the excess is carried over to the next samples. And a wait
/// that is not over yet is missing: it is booked ahead, and the kernel's figure catches up later.
#[derive(Clone, Copy, Debug, Default)]
struct RunQueue {
    at: Nanos,
    cpu: Nanos,
    raw: Nanos,
    waits: Nanos,
    booked: Nanos,
}

/// What was read of a thread for one sample, as time since its birth.
#[derive(Clone, Copy, Debug)]
struct Booking {
    at: Nanos,
    cpu: Nanos,
    raw: Nanos,
    /// All declared waits.
    waits: Nanos,
}

/// Less unexplained time than this is no reason to ask the system what the thread does.
const UNEXPLAINED: Nanos = 500_000;

impl RunQueue {
    /// Books a sample and returns the run-queue time so far. `queued` tells whether the thread is on
    /// the run queue now; it is asked where time is missing.
    fn book(&mut self, new: Booking, queued: impl FnOnce() -> bool) -> Nanos {
        let passed = new.at.saturating_sub(self.at);
        let room = passed.saturating_sub(new.cpu.saturating_sub(self.cpu));
        let raw = new.raw.max(self.raw);
        let ended = raw.saturating_sub(self.booked).min(room);
        self.booked += ended;
        let missing = (room - ended).saturating_sub(new.waits.saturating_sub(self.waits));
        if missing > UNEXPLAINED && queued() {
            self.booked += missing;
        }
        (self.at, self.cpu, self.raw, self.waits) = (new.at, new.cpu, raw, new.waits);
        self.booked
    }
}

/// Whether all that is missing of a thread's time was spent on the run queue: it is there now (runnable,
/// with a CPU clock that stands still) and has not blocked, which is a voluntary switch, since `last`
/// was read.
fn is_queued(thread: &Thread, cpu: Nanos, last: &mut Switches) -> bool {
    if !os::is_runnable(thread.tid) || thread.usage().cpu != Some(cpu) {
        return false;
    }
    let before = last.voluntary;
    *last = os::switches(thread.tid);
    before.is_some() && last.voluntary == before
}

/// Reads all threads at one moment, which it returns; tries again where the sampler itself was put
/// off its CPU in between, so that some threads would be read later than is said.
fn gather(threads: &[Arc<Thread>]) -> (Nanos, Vec<(Usage, StateReading)>) {
    let quick = 500_000 + threads.len() as Nanos * 20_000;
    let mut tries = 0;
    loop {
        tries += 1;
        let now = clock::now();
        let readings = threads.iter().map(|thread| (thread.usage(), thread.read(now))).collect();
        if tries == 3 || clock::now().saturating_sub(now) <= quick {
            return (now, readings);
        }
    }
}

impl Threads {
    /// Threads of a run that started at `start`.
    pub(super) fn new(start: Nanos) -> Self {
        Self { start, known: BTreeMap::new(), foreign: Foreign::new(start), refreshed: None }
    }

    /// Samples all threads, sorted by group, in each by number; tells as of when.
    pub(super) fn read(&mut self, registry: &Registry) -> (Nanos, Vec<ThreadSample>) {
        let threads = registry.threads();
        let (now, readings) = gather(&threads);
        let refresh = self.refreshed.is_none_or(|last| now.saturating_sub(last) >= REFRESH);
        if refresh {
            self.refreshed = Some(now);
        }
        let locks = registry.locks();
        let mut known = std::mem::take(&mut self.known);
        let mut samples = Vec::with_capacity(threads.len());
        for (thread, read) in threads.iter().zip(readings) {
            let mut memory = known.remove(&thread.serial).unwrap_or_default();
            let sample = sample(thread, read, &mut memory, self.start, now, &locks);
            if refresh && thread.ended().is_none() {
                memory.switches = os::switches(thread.tid);
                memory.switches_at = Some(now.saturating_sub(self.start));
            }
            samples.push(memory.finish(sample));
            self.known.insert(thread.serial, memory);
        }
        samples.extend(gone(registry.gone()));
        if !registry.is_bare() {
            samples.extend(self.foreign.read(&threads, now));
        }
        samples.sort_by(|a, b| (a.group, number(&a.name)).cmp(&(b.group, number(&b.name))));
        (now, samples)
    }
}

/// A name with its number as a number: `prep-10` comes after `prep-9`.
fn number(name: &str) -> (&str, u64, &str) {
    let (stem, digits) = name.rsplit_once('-').unwrap_or((name, ""));
    (stem, digits.parse().unwrap_or(0), name)
}

fn sample(
    thread: &Arc<Thread>,
    (Usage { cpu, run_queue }, reading): (Usage, StateReading),
    known: &mut Known,
    start: Nanos,
    now: Nanos,
    locks: &[Arc<LockStats>],
) -> ThreadSample {
    let at = thread.ended().unwrap_or(now).saturating_sub(thread.birth());
    let runnable = run_queue.zip(cpu).map(|(raw, cpu)| {
        let booking = Booking { at, cpu, raw, waits: reading.waits.iter().sum() };
        let works = reading.state.is_none() && thread.ended().is_none();
        let Known { switches, switches_at, account } = known;
        account.book(booking, || {
            works && {
                *switches_at = Some(now.saturating_sub(start));
                is_queued(thread, cpu, switches)
            }
        })
    });
    ThreadSample {
        name: thread.name.clone(),
        tid: thread.tid,
        group: group(thread.group),
        state: reading.state,
        since: thread.birth().saturating_sub(start),
        until: thread.ended().map(|end| end.saturating_sub(start)),
        cpu,
        runnable,
        waits: Some(reading.waits),
        lock: reading.lock.and_then(|id| locks.get(id as usize)).map(|lock| lock.name().to_owned()),
        items: reading.items,
        voluntary: None,
        involuntary: None,
        core: None,
        switches_at: None,
    }
}

/// The runtime's ended threads as one row.
fn gone(gone: Gone) -> Option<ThreadSample> {
    (gone.threads > 0).then(|| ThreadSample {
        name: "load-io (ended)".to_owned(),
        tid: 0,
        group: Group::Runtime,
        state: None,
        since: 0,
        until: None,
        cpu: Some(gone.cpu),
        runnable: Some(gone.run_queue),
        waits: None,
        lock: None,
        items: 0,
        voluntary: None,
        involuntary: None,
        core: None,
        switches_at: None,
    })
}

fn group(name: &str) -> Group {
    let stage = Stage::ALL.into_iter().find(|stage| stage.name() == name);
    match stage {
        Some(stage) => Group::Stage(stage),
        None if name == OWN => Group::Own,
        None => Group::Runtime,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn booking(at: u64, cpu: u64, raw: u64, waits: u64) -> Booking {
        Booking { at: at * MS, cpu: cpu * MS, raw: raw * MS, waits: waits * MS }
    }

    #[test]
    fn a_run_queue_wait_that_ends_late_is_carried_over() {
        let mut account = RunQueue::default();
        let mut book = |at, cpu, raw| account.book(booking(at, cpu, raw, 0), || false) / MS;
        // 100 passed, 90 on the CPU: of the 50 reported only 10 fit.
        assert_eq!(book(100, 90, 50), 10);
        // 100 more, 70 on the CPU: 30 of the 40 owed fit.
        assert_eq!(book(200, 160, 50), 40);
        assert_eq!(book(300, 160, 50), 50);
        assert_eq!(book(400, 160, 50), 50);
        // A kernel that takes a figure back does not make time run backwards.
        assert_eq!(book(500, 160, 40), 50);
    }

    #[test]
    fn a_run_queue_wait_that_is_not_over_is_booked_ahead_and_once() {
        let mut account = RunQueue::default();
        // 30 of 100 on the CPU, 20 in a declared wait, 10 in the queue; for 40 it has been queued again.
        assert_eq!(account.book(booking(100, 30, 10, 20), || true), 50 * MS);
        // That wait ended after 25 more, and is in the kernel's figure now.
        assert_eq!(account.book(booking(200, 105, 75, 20), || true), 75 * MS);
        // What is missing now was spent blocked: the thread is not on the queue.
        assert_eq!(account.book(booking(300, 105, 75, 20), || false), 75 * MS);
    }

    #[test]
    fn names_sort_by_their_numbers() {
        let mut names = ["prep-10", "prep-9", "decode-0", "prep-1"];
        names.sort_by_key(|name| number(name));
        assert_eq!(names, ["decode-0", "prep-1", "prep-9", "prep-10"]);
    }
}
