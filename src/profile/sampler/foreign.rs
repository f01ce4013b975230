//! Threads that nobody registered: a library's. The kernel tells their CPU time, and nothing else is known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::probe::clock::Nanos;
use crate::probe::os;
use crate::probe::registry::Thread;
use crate::profile::snapshot::{Group, ThreadSample};

/// The list of the process's threads is read this often.
const RESCAN: Nanos = 500_000_000;
/// A thread that has used less than this is not worth a row.
const LEAST_CPU: Nanos = 1_000_000;

/// Unregistered threads by kernel id.
#[derive(Debug)]
pub(super) struct Foreign {
    start: Nanos,
    seen: BTreeMap<i32, Seen>,
    scanned: Option<Nanos>,
}

#[derive(Debug)]
struct Seen {
    name: String,
    since: Nanos,
    /// CPU time when it was first seen.
    before: Nanos,
    /// CPU time since then, as last read.
    cpu: Nanos,
}

impl Foreign {
    pub(super) const fn new(start: Nanos) -> Self {
        Self { start, seen: BTreeMap::new(), scanned: None }
    }

    /// Samples the threads that have done anything, as of `now`.
    pub(super) fn read(&mut self, registered: &[Arc<Thread>], now: Nanos) -> Vec<ThreadSample> {
        if self.scanned.is_none_or(|last| now.saturating_sub(last) >= RESCAN) {
            self.scanned = Some(now);
            self.scan(now);
        }
        let ours: BTreeSet<i32> =
            registered.iter().filter(|t| t.ended().is_none()).map(|t| t.tid).collect();
        self.seen.retain(|tid, _| !ours.contains(tid));
        let mut samples = Vec::new();
        for (&tid, seen) in &mut self.seen {
            if let Some(cpu) = os::thread_cpu(tid) {
                seen.cpu = cpu.saturating_sub(seen.before);
            }
            if seen.cpu >= LEAST_CPU {
                samples.push(seen.sample(tid, self.start));
            }
        }
        samples
    }

    fn scan(&mut self, now: Nanos) {
        for tid in os::thread_ids() {
            if self.seen.contains_key(&tid) {
                continue;
            }
            if let (Some(name), Some(before)) = (os::thread_name(tid), os::thread_cpu(tid)) {
                self.seen.insert(tid, Seen { name, since: now, before, cpu: 0 });
            }
        }
    }
}

impl Seen {
    fn sample(&self, tid: i32, start: Nanos) -> ThreadSample {
        // The screen's input thread is started inside the screen, which knows nothing of probes.
        let group = if self.name.starts_with("ui") { Group::Own } else { Group::Foreign };
        ThreadSample {
            name: self.name.clone(),
            tid,
            group,
            state: None,
            since: self.since.saturating_sub(start),
            until: None,
            cpu: Some(self.cpu),
            runnable: None,
            waits: None,
            lock: None,
            items: 0,
            voluntary: None,
            involuntary: None,
            core: None,
            switches_at: None,
        }
    }
}
