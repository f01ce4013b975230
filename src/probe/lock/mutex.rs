//! The instrumented mutex.

use std::sync::{PoisonError, TryLockError};

use super::{Account, Kind, LockReading};
use crate::probe::clock::Nanos;
use crate::probe::registry::Registry;
use crate::probe::sync;

/// A mutex that counts acquisitions, and for the contended ones times the wait and books it as
/// [`Wait::Lock`](crate::probe::state::Wait::Lock) of the waiting thread.
#[derive(Debug)]
pub struct Mutex<T> {
    inner: sync::Mutex<T>,
    account: Account,
}

impl<T> Mutex<T> {
    /// A mutex on the registry's table of locks.
    pub fn new(registry: &Registry, name: &str, value: T) -> Self {
        Self {
            inner: sync::Mutex::new(value),
            account: Account::new(registry, name, Kind::Sampled),
        }
    }

    /// A mutex each of whose holds is timed: for one that is held for long, where two clock reads
    /// (some 25 ns) are nothing.
    pub fn timed(registry: &Registry, name: &str, value: T) -> Self {
        Self { inner: sync::Mutex::new(value), account: Account::new(registry, name, Kind::Timed) }
    }

    /// Locks. A holder that panicked leaves the value as it was: callers keep it valid at each step.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        let inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => self.lock_contended(),
        };
        let held_since = self.account.acquired();
        Guard { inner: Some(inner), held_since, account: &self.account }
    }

    #[cold]
    fn lock_contended(&self) -> sync::MutexGuard<'_, T> {
        self.account.wait(|| self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A copy of the counters; `None` without probes.
    pub fn stats(&self) -> Option<LockReading> {
        self.account.read()
    }
}

/// Holds a [`Mutex`]; dropping it unlocks.
#[derive(Debug)]
pub struct Guard<'a, T> {
    /// `None` only within a condition's wait.
    pub(super) inner: Option<sync::MutexGuard<'a, T>>,
    pub(super) held_since: Option<Nanos>,
    pub(super) account: &'a Account,
}

pub(super) const HELD: &str = "a guard holds its lock outside of a condition's wait";

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
    #[inline]
    fn drop(&mut self) {
        if self.inner.is_some() {
            self.account.released(self.held_since);
        }
    }
}
