//! A condition to wait for; its waits are classes of their own.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::Guard;
use super::mutex::HELD;
use crate::probe::clock::{self, Nanos};
use crate::probe::state::{self, Wait};
use crate::probe::sync::{self, AtomicU32};

/// A condition to wait for with a [`Guard`]; the wait is booked as the class that the caller names.
#[derive(Debug, Default)]
pub struct Condvar {
    inner: sync::Condvar,
    /// How many wait: changed under the mutex, so that who changed the state under it and finds
    /// nobody here can spare the system call.
    waiting: AtomicU32,
}

impl Condvar {
    /// Waits until notified (or woken without cause).
    ///
    /// # Panics
    /// Never: a guard in the caller's hands holds its lock.
    pub fn wait<'a, T>(&self, guard: Guard<'a, T>, as_what: Wait) -> Guard<'a, T> {
        self.released(guard, |inner| {
            state::waiting(as_what, || {
                self.inner.wait(inner).unwrap_or_else(PoisonError::into_inner)
            })
        })
    }

    /// Waits until notified or `until` has come, on the line of [`clock::now`].
    ///
    /// # Panics
    /// Never: a guard in the caller's hands holds its lock.
    pub fn wait_until<'a, T>(
        &self,
        guard: Guard<'a, T>,
        as_what: Wait,
        until: Nanos,
    ) -> Guard<'a, T> {
        let left = std::time::Duration::from_nanos(until.saturating_sub(clock::now()));
        self.released(guard, |inner| {
            state::waiting(as_what, || {
                self.inner.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0
            })
        })
    }

    /// Waits until `ready` holds, and books the wait in the lock's own account too: the lock stands
    /// for something that is waited for, as a semaphore does.
    pub(super) fn wait_booked<'a, T>(
        &self,
        guard: Guard<'a, T>,
        as_what: Wait,
        ready: impl Fn(&T) -> bool,
    ) -> Guard<'a, T> {
        let account = guard.account;
        self.released(guard, |inner| {
            account.wait_as(as_what, || {
                let mut inner = inner;
                while !ready(&inner) {
                    inner = self.inner.wait(inner).unwrap_or_else(PoisonError::into_inner);
                }
                inner
            })
        })
    }

    /// Gives the lock up for the time of `wait`, in the account too.
    fn released<'a, T>(
        &self,
        mut guard: Guard<'a, T>,
        wait: impl FnOnce(sync::MutexGuard<'a, T>) -> sync::MutexGuard<'a, T>,
    ) -> Guard<'a, T> {
        guard.account.released(guard.held_since.take());
        let inner = guard.inner.take().expect(HELD);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let inner = wait(inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard.inner = Some(inner);
        guard.held_since = guard.account.acquired();
        guard
    }

    /// Wakes one. The state that it waits for was changed under the mutex, which may be free by now.
    pub fn notify_one(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.inner.notify_one();
        }
    }

    /// Wakes at most `n`, likewise: as many as there is something for.
    pub fn notify(&self, n: usize) {
        let waiting = self.waiting.load(Ordering::Relaxed) as usize;
        if n >= waiting {
            self.notify_all();
        } else {
            (0..n).for_each(|_| self.inner.notify_one());
        }
    }

    /// Wakes all, likewise.
    pub fn notify_all(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.inner.notify_all();
        }
    }
}
