//! The instrumented reader-writer lock.

use std::sync::{PoisonError, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use super::{Account, Kind, LockReading};
use crate::probe::clock::Nanos;
use crate::probe::registry::Registry;

/// A lock that many readers or one writer hold. Reads and writes are counted together; the holder
/// that is named is the writer, since readers are many; hold time is the writers'.
#[derive(Debug)]
pub struct RwLock<T> {
    inner: std::sync::RwLock<T>,
    account: Account,
}

impl<T> RwLock<T> {
    /// A lock on the registry's table of locks.
    pub fn new(registry: &Registry, name: &str, value: T) -> Self {
        Self {
            inner: std::sync::RwLock::new(value),
            account: Account::new(registry, name, Kind::Sampled),
        }
    }

    /// Locks for reading, beside other readers.
    pub fn read(&self) -> ReadGuard<'_, T> {
        let inner = match self.inner.try_read() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.account.wait(|| self.inner.read().unwrap_or_else(PoisonError::into_inner))
            }
        };
        self.account.shared();
        ReadGuard { inner }
    }

    /// Locks for writing, alone.
    pub fn write(&self) -> WriteGuard<'_, T> {
        let inner = match self.inner.try_write() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.account.wait(|| self.inner.write().unwrap_or_else(PoisonError::into_inner))
            }
        };
        let held_since = self.account.acquired();
        WriteGuard { inner, held_since, account: &self.account }
    }

    /// A copy of the counters; `None` without probes.
    pub fn stats(&self) -> Option<LockReading> {
        self.account.read()
    }
}

/// Holds a [`RwLock`] for reading.
#[derive(Debug)]
pub struct ReadGuard<'a, T> {
    inner: RwLockReadGuard<'a, T>,
}

impl<T> std::ops::Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

/// Holds a [`RwLock`] for writing.
#[derive(Debug)]
pub struct WriteGuard<'a, T> {
    inner: RwLockWriteGuard<'a, T>,
    held_since: Option<Nanos>,
    account: &'a Account,
}

impl<T> std::ops::Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> std::ops::DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        self.account.released(self.held_since);
    }
}
