//! The instrumented counting semaphore.

use super::{Condvar, LockReading, Mutex};
use crate::probe::registry::Registry;
use crate::probe::state::Wait;

/// So many permits that threads take and give back; who finds none waits, and that is lock wait.
#[derive(Debug)]
pub struct Semaphore {
    permits: Mutex<usize>,
    free: Condvar,
}

impl Semaphore {
    /// A semaphore of `permits` permits; the lock on the table counts its takers and givers.
    pub fn new(registry: &Registry, name: &str, permits: usize) -> Self {
        Self { permits: Mutex::new(registry, name, permits), free: Condvar::default() }
    }

    /// Takes a permit, waiting for one. The wait is booked for this semaphore.
    pub fn acquire(&self) -> Permit<'_> {
        let mut permits = self.permits.lock();
        if *permits == 0 {
            permits = self.free.wait_booked(permits, Wait::Lock, |permits| *permits > 0);
        }
        *permits -= 1;
        Permit { semaphore: self }
    }

    /// Takes a permit, if there is one now.
    pub fn try_acquire(&self) -> Option<Permit<'_>> {
        let mut permits = self.permits.lock();
        *permits = permits.checked_sub(1)?;
        Some(Permit { semaphore: self })
    }

    /// Permits that nobody holds.
    pub fn free(&self) -> usize {
        *self.permits.lock()
    }

    /// A copy of the counters; `None` without probes.
    pub fn stats(&self) -> Option<LockReading> {
        self.permits.stats()
    }
}

/// A permit; dropping it gives it back.
#[derive(Debug)]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.semaphore.permits.lock() += 1;
        self.semaphore.free.notify_one();
    }
}
