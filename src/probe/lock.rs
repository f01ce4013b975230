//! A mutex and a condition that know who waits: `try_lock` first, and only the contended path is timed.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, TryLockError};

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
    /// Written by the holder alone.
    acquisitions: AtomicU64,
    contended: AtomicU64,
    wait: AtomicU64,
    wait_max: AtomicU64,
    waits: Recorder,
    hold_sampled: AtomicU64,
    hold_samples: AtomicU64,
    /// The kernel id of the holder, or 0.
    holder: AtomicI32,
    waiters: AtomicU32,
}

/// What a lock has seen so far.
#[derive(Clone, Debug, PartialEq)]
pub struct LockReading {
    /// Its name.
    pub name: String,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Of these, those that had to wait.
    pub contended: u64,
    /// Time waited by all threads together.
    pub wait: Nanos,
    /// The longest wait.
    pub wait_max: Nanos,
    /// Waits by length.
    pub waits: Histogram,
    /// Time held, estimated from one acquisition in 32; `None` before the first of these.
    pub hold: Option<Nanos>,
    /// The kernel id of the thread that holds it now.
    pub holder: Option<i32>,
    /// How many wait now.
    pub waiters: u32,
}

impl LockStats {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            acquisitions: AtomicU64::new(0),
            contended: AtomicU64::new(0),
            wait: AtomicU64::new(0),
            wait_max: AtomicU64::new(0),
            waits: Recorder::default(),
            hold_sampled: AtomicU64::new(0),
            hold_samples: AtomicU64::new(0),
            holder: AtomicI32::new(0),
            waiters: AtomicU32::new(0),
        }
    }

    /// A copy of the counters.
    pub fn read(&self) -> LockReading {
        let acquisitions = self.acquisitions.load(Ordering::Relaxed);
        let samples = self.hold_samples.load(Ordering::Relaxed);
        let sampled = self.hold_sampled.load(Ordering::Relaxed);
        let hold = (samples > 0).then(|| {
            (u128::from(sampled) * u128::from(acquisitions) / u128::from(samples)) as Nanos
        });
        let holder = self.holder.load(Ordering::Relaxed);
        LockReading {
            name: self.name.clone(),
            acquisitions,
            contended: self.contended.load(Ordering::Relaxed),
            wait: self.wait.load(Ordering::Relaxed),
            wait_max: self.wait_max.load(Ordering::Relaxed),
            waits: self.waits.read(),
            hold,
            holder: (holder != 0).then_some(holder),
            waiters: self.waiters.load(Ordering::Relaxed),
        }
    }

    /// Books an acquisition by the calling thread; tells when the hold began, if it is to be timed.
    fn acquired(&self) -> Option<Nanos> {
        let count = self.acquisitions.load(Ordering::Relaxed) + 1;
        self.acquisitions.store(count, Ordering::Relaxed);
        self.holder.store(kernel_id(), Ordering::Relaxed);
        count.is_multiple_of(HOLD_SAMPLE).then(clock::now)
    }

    fn released(&self, held_since: Option<Nanos>) {
        if let Some(since) = held_since {
            let held = clock::now().saturating_sub(since);
            self.hold_sampled.fetch_add(held, Ordering::Relaxed);
            self.hold_samples.fetch_add(1, Ordering::Relaxed);
        }
        self.holder.store(0, Ordering::Relaxed);
    }

    fn waited(&self, time: Nanos) {
        self.contended.fetch_add(1, Ordering::Relaxed);
        self.wait.fetch_add(time, Ordering::Relaxed);
        self.wait_max.fetch_max(time, Ordering::Relaxed);
        self.waits.record(time);
    }
}

thread_local! {
    static KERNEL_ID: i32 = os::thread_id();
}

fn kernel_id() -> i32 {
    KERNEL_ID.with(|id| *id)
}

/// A mutex that counts acquisitions, and for the contended ones times the wait and books it as
/// [`Wait::Lock`] of the waiting thread.
#[derive(Debug)]
pub struct Mutex<T> {
    inner: std::sync::Mutex<T>,
    stats: Arc<LockStats>,
}

impl<T> Mutex<T> {
    /// A mutex on the registry's table of locks.
    pub fn new(registry: &Registry, name: &str, value: T) -> Self {
        Self { inner: std::sync::Mutex::new(value), stats: registry.add_lock(name) }
    }

    /// Locks. A holder that panicked leaves the value as it was: callers keep it valid at each step.
    pub fn lock(&self) -> Guard<'_, T> {
        let inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => self.lock_contended(),
        };
        let held_since = self.stats.acquired();
        Guard { inner: Some(inner), held_since, stats: &self.stats }
    }

    #[cold]
    fn lock_contended(&self) -> std::sync::MutexGuard<'_, T> {
        self.stats.waiters.fetch_add(1, Ordering::Relaxed);
        let start = clock::now();
        let inner = state::waiting(Wait::Lock, || {
            self.inner.lock().unwrap_or_else(PoisonError::into_inner)
        });
        self.stats.waiters.fetch_sub(1, Ordering::Relaxed);
        self.stats.waited(clock::now().saturating_sub(start));
        inner
    }

    /// A copy of the counters.
    pub fn stats(&self) -> LockReading {
        self.stats.read()
    }
}

/// Holds a [`Mutex`]; dropping it unlocks.
#[derive(Debug)]
pub struct Guard<'a, T> {
    /// `None` only within [`Condvar`]'s wait.
    inner: Option<std::sync::MutexGuard<'a, T>>,
    held_since: Option<Nanos>,
    stats: &'a LockStats,
}

const HELD: &str = "a guard holds its lock outside of a condition's wait";

impl<T> std::ops::Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_deref().expect(HELD)
    }
}

impl<T> std::ops::DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_deref_mut().expect(HELD)
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if self.inner.is_some() {
            self.stats.released(self.held_since);
        }
    }
}

/// A condition to wait for with a [`Guard`]; the wait is booked as the class that the caller names,
/// never as lock wait.
#[derive(Debug, Default)]
pub struct Condvar {
    inner: std::sync::Condvar,
    /// How many wait: changed under the mutex, so that who changed the state under it and finds
    /// nobody here can spare the system call.
    waiting: AtomicU32,
}

impl Condvar {
    /// Waits until notified (or woken without cause).
    ///
    /// # Panics
    /// Never: a guard in the caller's hands holds its lock.
    pub fn wait<'a, T>(&self, mut guard: Guard<'a, T>, as_what: Wait) -> Guard<'a, T> {
        guard.stats.released(guard.held_since.take());
        let inner = guard.inner.take().expect(HELD);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let inner = state::waiting(as_what, || {
            self.inner.wait(inner).unwrap_or_else(PoisonError::into_inner)
        });
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard.inner = Some(inner);
        guard.held_since = guard.stats.acquired();
        guard
    }

    /// Waits until notified or `until` has come, on the line of [`clock::now`].
    ///
    /// # Panics
    /// Never: a guard in the caller's hands holds its lock.
    pub fn wait_until<'a, T>(
        &self,
        mut guard: Guard<'a, T>,
        as_what: Wait,
        until: Nanos,
    ) -> Guard<'a, T> {
        let left = std::time::Duration::from_nanos(until.saturating_sub(clock::now()));
        guard.stats.released(guard.held_since.take());
        let inner = guard.inner.take().expect(HELD);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let inner = state::waiting(as_what, || {
            self.inner.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0
        });
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard.inner = Some(inner);
        guard.held_since = guard.stats.acquired();
        guard
    }

    /// Wakes one. The state that it waits for was changed under the mutex, which may be free by now.
    pub fn notify_one(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.inner.notify_one();
        }
    }

    /// Wakes all, likewise.
    pub fn notify_all(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.inner.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn counts_what_happens_and_times_only_what_waits() {
        let registry = Registry::default();
        let mutex = Mutex::new(&registry, "m", 0);
        for _ in 0..100 {
            *mutex.lock() += 1;
        }
        let stats = mutex.stats();
        assert_eq!((stats.acquisitions, stats.contended, stats.wait), (100, 0, 0));
        assert!(stats.hold.is_some(), "one in {HOLD_SAMPLE} is sampled");
        assert_eq!(stats.holder, None);

        let guard = mutex.lock();
        assert_eq!(mutex.stats().holder, Some(os::thread_id()));
        std::thread::scope(|scope| {
            scope.spawn(|| drop(mutex.lock()));
            while mutex.stats().waiters == 0 {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(30));
            drop(guard);
        });
        let stats = mutex.stats();
        assert_eq!((stats.contended, stats.waiters), (1, 0));
        assert!(stats.wait >= 29_000_000, "{}", stats.wait);
        assert_eq!(stats.wait, stats.wait_max);
        assert_eq!(registry.locks().len(), 1);
    }

    #[test]
    fn a_wait_for_a_condition_is_not_a_lock_wait() {
        let registry = Registry::default();
        let mutex = Mutex::new(&registry, "m", false);
        let condition = Condvar::default();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let thread = registry.register("waiter", "test");
                let mut guard = mutex.lock();
                while !*guard {
                    guard = condition.wait(guard, Wait::Starved);
                }
                drop(guard);
                thread.read(clock::now())
            });
            std::thread::sleep(Duration::from_millis(40));
            *mutex.lock() = true;
            condition.notify_all();
            let reading = waiter.join().unwrap();
            assert!(reading.waits[Wait::Starved as usize] >= 30_000_000);
            assert!(reading.waits[Wait::Lock as usize] < 10_000_000);
        });
        let start = clock::now();
        let guard = condition.wait_until(mutex.lock(), Wait::Starved, start + 20_000_000);
        assert!(*guard && clock::now() - start >= 19_000_000);
    }
}
