//! Samples of threads: the registered ones with their states, then the foreign ones.

use std::sync::Arc;

use super::OWN;
use super::foreign::Foreign;
use crate::pipeline::Stage;
use crate::probe::clock::Nanos;
use crate::probe::lock::LockStats;
use crate::probe::os::{self, Switches};
use crate::probe::registry::{Registry, Thread, Usage};
use crate::profile::snapshot::{Group, ThreadSample};

/// Context switches and cores cost 30 µs a thread to read: they are refreshed this often.
const REFRESH: Nanos = 1_000_000_000;

/// What is remembered of the threads between two samples.
#[derive(Debug)]
pub(super) struct Threads {
    start: Nanos,
    /// By order of registration.
    known: Vec<Known>,
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

/// Turns the kernel's run-queue time into one that fits its samples.
///
/// The kernel adds a wait in the run queue when it ends, so that one sample's difference may exceed
/// the time that was left beside the CPU: the excess is carried over to the next samples.
#[derive(Clone, Copy, Debug, Default)]
struct RunQueue {
    at: Nanos,
    cpu: Nanos,
    raw: Nanos,
    booked: Nanos,
}

impl RunQueue {
    fn book(&mut self, at: Nanos, cpu: Nanos, raw: Nanos) -> Nanos {
        let room = at.saturating_sub(self.at).saturating_sub(cpu.saturating_sub(self.cpu));
        let owed = raw.max(self.raw).saturating_sub(self.booked);
        self.booked += owed.min(room);
        (self.at, self.cpu, self.raw) = (at, cpu, raw.max(self.raw));
        self.booked
    }
}

impl Threads {
    /// Threads of a run that started at `start`.
    pub(super) fn new(start: Nanos) -> Self {
        Self { start, known: Vec::new(), foreign: Foreign::new(start), refreshed: None }
    }

    /// Samples all threads as of `now`, sorted by group, in each by number.
    pub(super) fn read(&mut self, registry: &Registry, now: Nanos) -> Vec<ThreadSample> {
        let refresh = self.refreshed.is_none_or(|last| now.saturating_sub(last) >= REFRESH);
        if refresh {
            self.refreshed = Some(now);
        }
        let threads = registry.threads();
        let locks = registry.locks();
        self.known.resize(threads.len(), Known::default());
        let mut samples: Vec<_> = threads
            .iter()
            .zip(&mut self.known)
            .map(|(thread, known)| sample(thread, known, self.start, now, refresh, &locks))
            .collect();
        if !registry.is_bare() {
            samples.extend(self.foreign.read(&threads, now));
        }
        samples.sort_by(|a, b| (a.group, number(&a.name)).cmp(&(b.group, number(&b.name))));
        samples
    }
}

/// A name with its number as a number: `prep-10` comes after `prep-9`.
fn number(name: &str) -> (&str, u64, &str) {
    let (stem, digits) = name.rsplit_once('-').unwrap_or((name, ""));
    (stem, digits.parse().unwrap_or(0), name)
}

fn sample(
    thread: &Arc<Thread>,
    known: &mut Known,
    start: Nanos,
    now: Nanos,
    refresh: bool,
    locks: &[Arc<LockStats>],
) -> ThreadSample {
    let Usage { cpu, run_queue } = thread.usage();
    let reading = thread.read(now);
    if refresh && thread.ended().is_none() {
        known.switches = os::switches(thread.tid);
        known.switches_at = Some(now.saturating_sub(start));
    }
    let lived = thread.ended().unwrap_or(now).saturating_sub(thread.birth());
    let runnable = run_queue.zip(cpu).map(|(raw, cpu)| known.account.book(lived, cpu, raw));
    ThreadSample {
        name: thread.name.clone(),
        tid: thread.tid,
        group: group(thread.group),
        state: reading.state,
        since: thread.birth().saturating_sub(start),
        cpu,
        runnable,
        waits: Some(reading.waits),
        lock: reading.lock.and_then(|id| locks.get(id as usize)).map(|lock| lock.name().to_owned()),
        items: reading.items,
        voluntary: known.switches.voluntary,
        involuntary: known.switches.involuntary,
        core: known.switches.core,
        switches_at: known.switches_at,
    }
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

    #[test]
    fn a_run_queue_wait_that_ends_late_is_carried_over() {
        let mut account = RunQueue::default();
        // 100 passed, 90 on the CPU: of the 50 reported only 10 fit.
        assert_eq!(account.book(100, 90, 50), 10);
        // 100 more, 70 on the CPU: 30 of the 40 owed fit.
        assert_eq!(account.book(200, 160, 50), 40);
        assert_eq!(account.book(300, 160, 50), 50);
        assert_eq!(account.book(400, 160, 50), 50);
        // A kernel that takes a figure back does not make time run backwards.
        assert_eq!(account.book(500, 160, 40), 50);
    }

    #[test]
    fn names_sort_by_their_numbers() {
        let mut names = ["prep-10", "prep-9", "decode-0", "prep-1"];
        names.sort_by_key(|name| number(name));
        assert_eq!(names, ["decode-0", "prep-1", "prep-9", "prep-10"]);
    }
}
