//! A gate that lets the first so many workers run and parks the others.

use std::sync::atomic::Ordering;

use super::lock::{Condvar, Mutex};
use super::registry::Registry;
use super::state::Wait;
use super::sync::{AtomicBool, AtomicUsize};

/// Worker `i` runs while `i` is below the limit; the others are [`Wait::Parked`].
#[derive(Debug)]
pub struct Gate {
    limit: AtomicUsize,
    open: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Gate {
    /// A gate with a limit, its lock named for the table of locks.
    pub fn new(registry: &Registry, name: &str, limit: usize) -> Self {
        Self {
            limit: AtomicUsize::new(limit),
            open: AtomicBool::new(false),
            lock: Mutex::new(registry, name, ()),
            changed: Condvar::default(),
        }
    }

    /// Whether a worker may run now: one relaxed load in the common case.
    pub fn admits(&self, worker: usize) -> bool {
        worker < self.limit.load(Ordering::Relaxed) || self.open.load(Ordering::Relaxed)
    }

    /// Waits until the worker may run, or the gate is opened for good.
    pub fn pass(&self, worker: usize) {
        if self.admits(worker) {
            return;
        }
        let mut guard = self.lock.lock();
        while !self.admits(worker) {
            guard = self.changed.wait(guard, Wait::Parked);
        }
    }

    /// Whether the gate was opened for good.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// How many may run.
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Sets how many may run.
    pub fn set_limit(&self, limit: usize) {
        self.change(|| self.limit.store(limit, Ordering::Relaxed));
    }

    /// Lets everybody through, for the end.
    pub fn open(&self) {
        self.change(|| self.open.store(true, Ordering::Relaxed));
    }

    /// The change is made under the lock: a worker between its look and its sleep can't miss it.
    fn change(&self, change: impl FnOnce()) {
        let guard = self.lock.lock();
        change();
        drop(guard);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn parks_above_the_limit_and_lets_through_when_raised_or_opened() {
        let registry = Registry::default();
        let gate = Gate::new(&registry, "gate", 1);
        let through = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (gate, through) = (&gate, &through);
                scope.spawn(move || {
                    gate.pass(worker);
                    through.fetch_add(1, Ordering::SeqCst);
                });
            }
            let reached = |n| {
                while through.load(Ordering::SeqCst) < n {
                    std::thread::yield_now();
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
                assert_eq!(through.load(Ordering::SeqCst), n);
            };
            reached(1);
            gate.set_limit(3);
            reached(3);
            gate.open();
        });
        assert_eq!(through.load(Ordering::SeqCst), 4);
    }
}
