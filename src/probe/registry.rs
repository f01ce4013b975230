//! Who is measured: threads, lanes and locks, in order of registration.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::clock::{self, Nanos};
use super::lock::{Kind, LockStats};
use super::os;
use super::state::{self, StateCell, StateReading};
use super::track::Track;

/// The group of pipetop's own threads, which are measured in any case.
pub const OWN: &str = "own";

/// All that is measured in one run.
#[derive(Debug, Default)]
pub struct Registry {
    threads: Arc<Mutex<Vec<Arc<Thread>>>>,
    gone: Arc<Mutex<Gone>>,
    next_serial: AtomicU64,
    lanes: Mutex<Vec<Arc<Lane>>>,
    locks: Mutex<Vec<Arc<LockStats>>>,
    bare: bool,
}

/// Threads of the runtime that have ended: it starts and ends them as it likes, and a long run must
/// not list them all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    /// How many.
    pub threads: u64,
    /// Their CPU time.
    pub cpu: Nanos,
    /// Their run-queue time.
    pub run_queue: Nanos,
}

/// The group of the threads beneath the load lanes, which come and go.
pub const RUNTIME: &str = "runtime";

/// A registered thread, as the sampler sees it.
#[derive(Debug)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// Its group: a stage's name, `runtime` or `own`.
    pub group: &'static str,
    /// The kernel's id.
    pub tid: i32,
    /// Its number in the order of registration; never used again, as kernel ids are.
    pub serial: u64,
    cell: Arc<StateCell>,
    /// Closed when the thread ends.
    schedstat: Mutex<Option<os::SchedStat>>,
    /// CPU time at registration.
    cpu_before: Nanos,
    run_queue_before: Nanos,
    /// CPU time at its end, or `u64::MAX` while it lives.
    cpu_at_end: AtomicU64,
    run_queue_at_end: AtomicU64,
    ended: AtomicU64,
}

/// CPU and run-queue time since registration; each absent where it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// On a CPU.
    pub cpu: Option<Nanos>,
    /// On the run queue.
    pub run_queue: Option<Nanos>,
}

const ALIVE: u64 = u64::MAX;

impl Thread {
    /// Since when it is measured.
    pub fn birth(&self) -> Nanos {
        self.cell.birth()
    }

    /// When it ended, if it has.
    pub fn ended(&self) -> Option<Nanos> {
        let ended = self.ended.load(Ordering::Acquire);
        (ended != ALIVE).then_some(ended)
    }

    /// Its state and waits as of `now` (or of its end).
    pub fn read(&self, now: Nanos) -> StateReading {
        self.cell.read(self.ended().unwrap_or(now))
    }

    /// Its CPU and run-queue time since registration. The CPU clock is read first: that makes the
    /// kernel bring the run-queue account up to date.
    pub fn usage(&self) -> Usage {
        if self.ended().is_some() {
            let value = |cell: &AtomicU64| {
                let value = cell.load(Ordering::Acquire);
                (value != ALIVE).then_some(value)
            };
            return Usage {
                cpu: value(&self.cpu_at_end),
                run_queue: value(&self.run_queue_at_end),
            };
        }
        let cpu = os::thread_cpu(self.tid).map(|cpu| cpu.saturating_sub(self.cpu_before));
        let schedstat = self.schedstat.lock().unwrap_or_else(PoisonError::into_inner);
        let run_queue = schedstat.as_ref().and_then(os::SchedStat::run_queue);
        let run_queue = run_queue.map(|time| time.saturating_sub(self.run_queue_before));
        Usage { cpu, run_queue }
    }
}

/// A load lane: one read slot, whichever thread serves it.
#[derive(Debug)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// Its state; the task that serves the lane writes it.
    pub cell: StateCell,
}

fn all<T>(list: &Mutex<Vec<Arc<T>>>) -> Vec<Arc<T>> {
    list.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn add<T>(list: &Mutex<Vec<Arc<T>>>, value: T) -> Arc<T> {
    let value = Arc::new(value);
    list.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&value));
    value
}

impl Registry {
    /// A registry that measures nothing: threads have no states, locks and queues no accounts. To
    /// compare with, for the cost of measuring.
    pub fn bare() -> Self {
        Self { bare: true, ..Self::default() }
    }

    /// Whether nothing is measured.
    pub const fn is_bare(&self) -> bool {
        self.bare
    }

    /// Registers the calling thread under a name (which the kernel learns too) until the answer is
    /// dropped.
    pub fn register(&self, name: &str, group: &'static str) -> Registered {
        os::name_thread(name);
        let tid = os::thread_id();
        let schedstat = os::SchedStat::open(tid);
        let cpu_before = os::own_cpu().unwrap_or(0);
        let run_queue_before = schedstat.as_ref().and_then(os::SchedStat::run_queue).unwrap_or(0);
        let cell = Arc::new(StateCell::new(clock::now()));
        let thread = Thread {
            name: name.to_owned(),
            group,
            tid,
            serial: self.next_serial.fetch_add(1, Ordering::Relaxed),
            cell: Arc::clone(&cell),
            schedstat: Mutex::new(schedstat),
            cpu_before,
            run_queue_before,
            cpu_at_end: AtomicU64::new(ALIVE),
            run_queue_at_end: AtomicU64::new(ALIVE),
            ended: AtomicU64::new(ALIVE),
        };
        let former = state::set_current((!self.bare || group == OWN).then_some(cell));
        let thread =
            if self.bare && group != OWN { Arc::new(thread) } else { add(&self.threads, thread) };
        let (threads, gone) = (Arc::clone(&self.threads), Arc::clone(&self.gone));
        Registered { thread, former, threads, gone }
    }

    /// The account of a queue of that capacity.
    pub fn track(&self, capacity: usize) -> Track {
        if self.bare {
            Track::bare(capacity as u64)
        } else {
            Track::new(capacity as u64, clock::now())
        }
    }

    /// Adds a lane, in the state "working".
    pub fn add_lane(&self, name: String) -> Arc<Lane> {
        add(&self.lanes, Lane { name, cell: StateCell::new(clock::now()) })
    }

    /// Puts a lock on the table; `None` without probes.
    pub(super) fn add_lock(&self, name: &str, kind: Kind) -> Option<Arc<LockStats>> {
        if self.bare {
            return None;
        }
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let stats = Arc::new(LockStats::new(name.to_owned(), locks.len() as u32, kind));
        locks.push(Arc::clone(&stats));
        Some(stats)
    }

    /// The runtime's threads that have ended, together.
    pub fn gone(&self) -> Gone {
        *self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All registered threads in that order, ended ones too, but for the runtime's ([`Self::gone`]).
    pub fn threads(&self) -> Vec<Arc<Thread>> {
        all(&self.threads)
    }

    /// All lanes, in order.
    pub fn lanes(&self) -> Vec<Arc<Lane>> {
        all(&self.lanes)
    }

    /// All locks, in order of creation.
    pub fn locks(&self) -> Vec<Arc<LockStats>> {
        all(&self.locks)
    }
}

/// Keeps the calling thread registered; on drop its last figures are kept.
#[derive(Debug)]
pub struct Registered {
    thread: Arc<Thread>,
    former: Option<Arc<StateCell>>,
    threads: Arc<Mutex<Vec<Arc<Thread>>>>,
    gone: Arc<Mutex<Gone>>,
}

impl std::ops::Deref for Registered {
    type Target = Thread;

    fn deref(&self) -> &Thread {
        &self.thread
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let usage = self.thread.usage();
        let thread = &self.thread;
        thread.cpu_at_end.store(usage.cpu.unwrap_or(ALIVE), Ordering::Release);
        thread.run_queue_at_end.store(usage.run_queue.unwrap_or(ALIVE), Ordering::Release);
        thread.ended.store(clock::now(), Ordering::Release);
        *thread.schedstat.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if thread.group == RUNTIME {
            // Both under the list's lock: a reader of the list finds the time in one place or the other.
            let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
            threads.retain(|other| other.serial != thread.serial);
            let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
            gone.threads += 1;
            gone.cpu += usage.cpu.unwrap_or(0);
            gone.run_queue += usage.run_queue.unwrap_or(0);
        }
        state::set_current(self.former.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::state::{Wait, waiting};
    use std::time::Duration;

    #[test]
    fn a_thread_that_spins_reads_running_and_one_that_sleeps_its_wait() {
        let registry = Registry::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let thread = registry.register("sleeper", "test");
                waiting(Wait::Io, || std::thread::sleep(Duration::from_millis(60)));
                state::add_items(3);
                let reading = thread.read(clock::now());
                assert!(reading.waits[Wait::Io as usize] >= 59_000_000);
                assert_eq!(reading.items, 3);
            });
            scope.spawn(|| {
                let thread = registry.register("spinner", "test");
                while thread.usage().cpu.unwrap() < 40_000_000 {
                    std::hint::spin_loop();
                }
                assert!(thread.read(clock::now()).work >= 40_000_000);
            });
        });
        let threads = registry.threads();
        assert_eq!(threads.len(), 2);
        for thread in threads {
            assert!(thread.ended().is_some());
            let usage = thread.usage();
            assert!(usage.cpu.is_some(), "the last figures are kept");
            if thread.name == "spinner" {
                assert!(usage.cpu.unwrap() >= 40_000_000);
            }
            // What was measured ends with the thread.
            assert_eq!(thread.read(u64::MAX >> 4), thread.read(clock::now()));
        }
    }
}
