//! A lock that behaves as CPython's GIL does, and keeps the account that CPython does not.
//!
//! The algorithm is that of CPython 3.12's `Python/ceval_gil.c` (3.11's is the same), in two pairs of mutex and
//! condition:
//!
//! | pair | who sleeps on it |
//! |---|---|
//! | `state`, `freed` | waiters, one switch interval at a time |
//! | `handover`, `taken` | a holder that was asked to drop it, until another thread holds it |
//!
//! **Take.** While it is held, sleep on `freed` for one interval. Who slept it out, finds it held and has seen no
//! switch in between sets the drop request; a new interval begins in any case. So with any number of waiters
//! there is about one forced switch an interval.
//!
//! **Drop.** Free it and wake one waiter. Where a drop was asked for, sleep on `taken` until another thread is the
//! last holder (CPython's `FORCE_SWITCHING`): a plain drop may be followed by the same thread's take at once, one
//! that was asked for goes to another.
//!
//! **Look** ([`Seat::checkpoint`]): where the interpreter looks at its eval breaker. One relaxed load; drop and take
//! where a drop is asked for.
//!
//! A request is only ever set by a thread within Take, which nothing makes it leave but having taken the lock: so
//! the sleep on `taken`, which has no limit, ends.
//!
//! Here and not in CPython: a new interval wakes the sleepers, so that it is in force at once; a sleep on `taken`
//! that ends without cause goes on; and what is asked for is read before the lock is freed, not after.

mod seat;
#[cfg(test)]
pub(in crate::probe) mod tests;

pub use seat::{Seat, checkpoint};

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Account, Kind, LockReading};
use crate::probe::clock::Nanos;
use crate::probe::registry::Registry;
use crate::probe::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard};

/// The name on the table of locks.
pub const NAME: &str = "gil";

/// No seat has this number.
const NOBODY: u64 = 0;

/// The emulated GIL. Threads take it through a [`Seat`] each.
#[derive(Debug)]
pub struct Gil<T = RealTime> {
    state: Mutex<State>,
    freed: Condvar,
    handover: Mutex<Handover>,
    taken: Condvar,
    /// The seat that held it last; changed under `handover`.
    last_holder: AtomicU64,
    /// What the holder looks at.
    drop_request: AtomicBool,
    interval: AtomicU64,
    seats: AtomicU64,
    account: Account,
    time: T,
}

/// What `state` guards.
#[derive(Debug, Default)]
pub(in crate::probe) struct State {
    held: bool,
    /// How often it went to another thread than its last holder.
    switches: u64,
    /// How many sleep until it is free: with none, nobody need be woken.
    asleep: u32,
}

/// What `handover` guards.
#[derive(Debug, Default)]
struct Handover {
    /// How many sleep until another thread holds it.
    asleep: u32,
}

/// How a waiter sleeps: by the machine's clock in runs, by a hand-turned one in tests.
pub(in crate::probe) trait Time {
    /// Sleeps on `freed` for at most `interval`; tells whether it slept it out. `state` is the guard's mutex.
    fn sleep<'a>(
        &self,
        state: &'a Mutex<State>,
        freed: &Condvar,
        guard: MutexGuard<'a, State>,
        interval: Duration,
    ) -> (MutexGuard<'a, State>, bool);
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealTime;

impl Time for RealTime {
    fn sleep<'a>(
        &self,
        _: &'a Mutex<State>,
        freed: &Condvar,
        guard: MutexGuard<'a, State>,
        interval: Duration,
    ) -> (MutexGuard<'a, State>, bool) {
        let woken = freed.wait_timeout(guard, interval);
        let (guard, slept) = woken.unwrap_or_else(PoisonError::into_inner);
        (guard, slept.timed_out())
    }
}

/// A thread that panicked while it held one of the two inner mutexes left nothing half done.
fn enter<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gil {
    /// A free lock with a switch interval, on the registry's table of locks as [`NAME`].
    pub fn new(registry: &Registry, interval: Duration) -> Self {
        Self::with(registry, interval, RealTime)
    }
}

// `Time` is no more than the tests' way in.
#[expect(private_bounds, reason = "nobody outside brings a time of their own")]
impl<T: Time> Gil<T> {
    fn with(registry: &Registry, interval: Duration, time: T) -> Self {
        Self {
            state: Mutex::new(State::default()),
            freed: Condvar::new(),
            handover: Mutex::new(Handover::default()),
            taken: Condvar::new(),
            last_holder: AtomicU64::new(NOBODY),
            drop_request: AtomicBool::new(false),
            interval: AtomicU64::new(interval.as_nanos() as Nanos),
            seats: AtomicU64::new(NOBODY),
            account: Account::new(registry, NAME, Kind::Gil),
            time,
        }
    }

    /// Sets the switch interval; who waits begins a new one.
    pub fn set_interval(&self, interval: Duration) {
        let _state = enter(&self.state);
        self.interval.store(interval.as_nanos() as Nanos, Ordering::Relaxed);
        self.freed.notify_all();
    }

    /// A copy of the counters; `None` without probes.
    pub fn stats(&self) -> Option<LockReading> {
        self.account.read()
    }

    /// Take; tells when the hold began, if it is timed.
    fn take(&self, me: u64) -> Option<Nanos> {
        let mut state = enter(&self.state);
        if state.held {
            state = self.account.wait(|| self.until_free(state));
        }
        self.become_holder(me, state)
    }

    /// Sleeps until it is free, and asks for it after each interval without a switch.
    fn until_free<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while state.held {
            let seen = state.switches;
            let interval = Duration::from_nanos(self.interval.load(Ordering::Relaxed));
            state.asleep += 1;
            let (woken, slept_out) = self.time.sleep(&self.state, &self.freed, state, interval);
            state = woken;
            state.asleep -= 1;
            let asks = slept_out && state.held && state.switches == seen;
            if asks && !self.drop_request.load(Ordering::Relaxed) {
                self.account.count(|counters| &counters.requests);
                self.drop_request.store(true, Ordering::Relaxed);
            }
        }
        state
    }

    fn become_holder(&self, me: u64, mut state: MutexGuard<'_, State>) -> Option<Nanos> {
        state.held = true;
        {
            let handover = enter(&self.handover);
            if self.last_holder.load(Ordering::Relaxed) != me {
                self.last_holder.store(me, Ordering::Relaxed);
                state.switches += 1;
                self.account.count(|counters| &counters.switches);
            }
            if handover.asleep > 0 {
                self.taken.notify_one();
            }
        }
        self.drop_request.store(false, Ordering::Relaxed);
        self.account.acquired()
    }

    /// Drop.
    fn give(&self, me: u64, held_since: Option<Nanos>) {
        self.account.released(held_since);
        if self.free() {
            let handover = enter(&self.handover);
            if self.last_holder.load(Ordering::Relaxed) == me {
                self.account.hand_over(|| self.until_taken(me, handover));
            }
        }
    }

    /// Frees it; tells whether it was asked for.
    fn free(&self) -> bool {
        let mut state = enter(&self.state);
        let asked = self.drop_request.load(Ordering::Relaxed);
        if asked {
            self.account.count(|counters| &counters.forced);
        }
        state.held = false;
        if state.asleep > 0 {
            self.freed.notify_one();
        }
        asked
    }

    /// Sleeps until another thread than `me` holds it, or has held it.
    fn until_taken(&self, me: u64, mut handover: MutexGuard<'_, Handover>) {
        if self.last_holder.load(Ordering::Relaxed) == me {
            self.drop_request.store(false, Ordering::Relaxed);
        }
        handover.asleep += 1;
        while self.last_holder.load(Ordering::Relaxed) == me {
            handover = self.taken.wait(handover).unwrap_or_else(PoisonError::into_inner);
        }
        handover.asleep -= 1;
    }

    /// Drop and take, as one wait.
    #[cold]
    fn switch(&self, me: u64, held_since: Option<Nanos>) -> Option<Nanos> {
        self.account.released(held_since);
        let state = self.account.wait(|| {
            if self.free() {
                self.until_taken(me, enter(&self.handover));
            }
            self.until_free(enter(&self.state))
        });
        self.become_holder(me, state)
    }
}
