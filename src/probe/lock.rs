//! Locks that know who waits: `try` first, and only the contended path is timed.
//!
//! Each lock keeps its own account ([`LockStats`]) on the registry's table; the waiting thread's state
//! says for which lock it waits. In a run without probes a lock is the bare one of the standard library.

mod condvar;
pub mod gil;
mod mutex;
mod open;
mod rwlock;
mod semaphore;
#[cfg(test)]
mod tests;

pub use condvar::Condvar;
pub use gil::Gil;
pub use mutex::{Guard, Mutex};
pub use rwlock::{ReadGuard, RwLock, WriteGuard};
pub use semaphore::{Permit, Semaphore};

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use super::clock::{self, Nanos};
use super::histogram::{Histogram, Recorder};
use super::os;
use super::registry::Registry;
use super::state::{self, Wait};

/// One acquisition in this many has its hold time measured: two clock reads each time would cost
/// more than the lock itself.
const HOLD_SAMPLE: u64 = 32;

/// The counters of one lock.
#[derive(Debug)]
pub struct LockStats {
    name: String,
    /// Its place on the registry's table.
    id: u32,
    /// Whether each hold is timed, not one in 32.
    exact: bool,
    /// Kept by an emulated GIL alone.
    switching: Option<SwitchCounters>,
    /// Written by the holder alone, but for shared holders.
    acquisitions: AtomicU64,
    contended: AtomicU64,
    waits: open::Waits,
    lengths: Recorder,
    hold_sampled: AtomicU64,
    hold_samples: AtomicU64,
    /// Where each hold is timed: since when it is held, or 0; and the most time held that a reader was told.
    held_since: AtomicU64,
    hold_told: AtomicU64,
    /// The kernel id of the holder, or 0.
    holder: AtomicI32,
}

/// What kind of account a lock keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One hold in 32 is timed.
    Sampled,
    /// Each hold is timed.
    Timed,
    /// Each hold is timed, and switches from thread to thread are counted.
    Gil,
}

/// How an emulated GIL went from thread to thread so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switching {
    /// It passed to another thread than its last holder.
    pub switches: u64,
    /// A holder dropped it because it was asked to, and waited until another thread held it.
    pub forced: u64,
    /// A waiter saw no switch for an interval and asked the holder to drop it; further ones that ask before
    /// it is dropped count no more.
    pub requests: u64,
}

#[derive(Debug, Default)]
struct SwitchCounters {
    switches: AtomicU64,
    forced: AtomicU64,
    requests: AtomicU64,
}

/// What a lock has seen so far.
#[derive(Clone, Debug, PartialEq)]
pub struct LockReading {
    /// Its name.
    pub name: String,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Of these, and of those that still wait, how many had to wait.
    pub contended: u64,
    /// Time waited by all threads together, waits that are not over included.
    pub wait: Nanos,
    /// The longest wait, likewise.
    pub wait_max: Nanos,
    /// Waits that are over by length.
    pub waits: Histogram,
    /// Time held, a hold that is not over included where each is timed; `None` before the first that was timed.
    pub hold: Option<Nanos>,
    /// Whether each hold was timed; otherwise one in 32 was, and `hold` is an estimate.
    pub hold_exact: bool,
    /// The kernel id of the thread that holds it now.
    pub holder: Option<i32>,
    /// How many wait now.
    pub waiters: u32,
    /// How it went from thread to thread; `None` but for an emulated GIL.
    pub switching: Option<Switching>,
}

impl LockStats {
    pub(super) fn new(name: String, id: u32, kind: Kind) -> Self {
        Self {
            name,
            id,
            exact: kind != Kind::Sampled,
            switching: (kind == Kind::Gil).then(SwitchCounters::default),
            acquisitions: AtomicU64::new(0),
            contended: AtomicU64::new(0),
            waits: open::Waits::new(),
            lengths: Recorder::default(),
            hold_sampled: AtomicU64::new(0),
            hold_samples: AtomicU64::new(0),
            held_since: AtomicU64::new(0),
            hold_told: AtomicU64::new(0),
            holder: AtomicI32::new(0),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A copy of the counters.
    pub fn read(&self) -> LockReading {
        let acquisitions = self.acquisitions.load(Ordering::Relaxed);
        let hold = self.hold(acquisitions);
        let holder = self.holder.load(Ordering::Relaxed);
        let waits = self.waits.read(clock::now);
        LockReading {
            name: self.name.clone(),
            acquisitions,
            contended: self.contended.load(Ordering::Relaxed),
            wait: waits.time,
            wait_max: waits.longest,
            waits: self.lengths.read(),
            hold,
            hold_exact: self.exact,
            holder: (holder != 0).then_some(holder),
            waiters: waits.open,
            switching: self.switching.as_ref().map(|counters| Switching {
                switches: counters.switches.load(Ordering::Relaxed),
                forced: counters.forced.load(Ordering::Relaxed),
                requests: counters.requests.load(Ordering::Relaxed),
            }),
        }
    }

    fn hold(&self, acquisitions: u64) -> Option<Nanos> {
        let samples = self.hold_samples.load(Ordering::Relaxed);
        let sampled = self.hold_sampled.load(Ordering::Acquire);
        if self.exact {
            // Whoever keeps a lock for long is not to look as if it were free. A hold that ends right now is
            // in neither part: it is told next time.
            let since = self.held_since.load(Ordering::Relaxed);
            let open = if since > 0 { clock::now().saturating_sub(since) } else { 0 };
            let told = sampled + open;
            return (acquisitions > 0)
                .then(|| self.hold_told.fetch_max(told, Ordering::Relaxed).max(told));
        }
        (samples > 0).then(|| {
            (u128::from(sampled) * u128::from(acquisitions) / u128::from(samples)) as Nanos
        })
    }

    #[inline]
    fn released(&self, held_since: Option<Nanos>) {
        if let Some(since) = held_since {
            let held = clock::now().saturating_sub(since);
            if self.exact {
                self.held_since.store(0, Ordering::Relaxed);
            }
            // Whoever sees it added sees that the hold is over.
            self.hold_sampled.fetch_add(held, Ordering::Release);
            self.hold_samples.fetch_add(1, Ordering::Relaxed);
        }
        self.holder.store(0, Ordering::Relaxed);
    }
}

/// A lock's side of its account: nothing where the run has no probes.
#[derive(Clone, Debug)]
struct Account(Option<Arc<LockStats>>);

impl Account {
    fn new(registry: &Registry, name: &str, kind: Kind) -> Self {
        Self(registry.add_lock(name, kind))
    }

    fn read(&self) -> Option<LockReading> {
        self.0.as_ref().map(|stats| stats.read())
    }

    /// Books an acquisition by the calling thread, which holds the lock alone; tells when the hold
    /// began, if it is to be timed.
    #[inline]
    fn acquired(&self) -> Option<Nanos> {
        let stats = self.0.as_ref()?;
        // The holder alone writes: no read-modify-write needed.
        let count = stats.acquisitions.load(Ordering::Relaxed) + 1;
        stats.acquisitions.store(count, Ordering::Relaxed);
        stats.holder.store(kernel_id(), Ordering::Relaxed);
        if stats.exact {
            let now = clock::now().max(1);
            stats.held_since.store(now, Ordering::Relaxed);
            return Some(now);
        }
        count.is_multiple_of(HOLD_SAMPLE).then(clock::now)
    }

    /// Books an acquisition by one of several holders.
    #[inline]
    fn shared(&self) {
        if let Some(stats) = &self.0 {
            stats.acquisitions.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[inline]
    fn released(&self, held_since: Option<Nanos>) {
        if let Some(stats) = &self.0 {
            stats.released(held_since);
        }
    }

    /// Runs `wait`, which blocks for this lock, and books it.
    fn wait<R>(&self, wait: impl FnOnce() -> R) -> R {
        self.wait_as(Wait::Lock, wait)
    }

    fn wait_as<R>(&self, as_what: Wait, wait: impl FnOnce() -> R) -> R {
        let Some(stats) = &self.0 else { return wait() };
        stats.contended.fetch_add(1, Ordering::Relaxed);
        let open = stats.waits.begin(clock::now(), kernel_id() as usize);
        let result = state::waiting_for(as_what, stats.id, wait);
        stats.lengths.record(stats.waits.end(&open, clock::now()));
        result
    }

    /// Runs `wait`, in which the calling thread waits for this lock to be taken by another: time waited, but
    /// no acquisition that had to wait.
    fn hand_over(&self, wait: impl FnOnce()) {
        let Some(stats) = &self.0 else { return wait() };
        let open = stats.waits.begin(clock::now(), kernel_id() as usize);
        state::waiting_for(Wait::Lock, stats.id, wait);
        stats.waits.end(&open, clock::now());
    }

    /// Counts one more in an emulated GIL's account.
    fn count(&self, which: impl Fn(&SwitchCounters) -> &AtomicU64) {
        if let Some(counters) = self.0.as_ref().and_then(|stats| stats.switching.as_ref()) {
            which(counters).fetch_add(1, Ordering::Relaxed);
        }
    }
}

thread_local! {
    static KERNEL_ID: i32 = os::thread_id();
}

#[inline]
fn kernel_id() -> i32 {
    KERNEL_ID.with(|id| *id)
}
