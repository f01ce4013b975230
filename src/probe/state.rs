//! What a thread does: one cell a thread, written by that thread alone, read by the sampler.

pub mod named_waits;

use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::clock::{self, Nanos};
use super::sync::{AtomicU32, AtomicU64};

/// The states of a thread or lane, apart from working.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Wait {
    /// On a contended lock.
    Lock,
    /// For input.
    Starved,
    /// To hand over.
    Backpressured,
    /// For the device.
    Gpu,
    /// On a file or the network.
    Io,
    /// Switched off by a knob.
    Parked,
    /// An emulated delay (lanes only).
    Delay,
}

impl Wait {
    /// All waits, in the order of [`Waits`].
    pub const ALL: [Self; 7] = [
        Self::Lock,
        Self::Starved,
        Self::Backpressured,
        Self::Gpu,
        Self::Io,
        Self::Parked,
        Self::Delay,
    ];

    /// The name on screen and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Starved => "starved",
            Self::Backpressured => "backpressured",
            Self::Gpu => "gpu",
            Self::Io => "io",
            Self::Parked => "parked",
            Self::Delay => "delay",
        }
    }
}

/// Declared waiting time by [`Wait`], as timed by the wall clock, open waits included.
pub type Waits = [Nanos; Wait::ALL.len()];

/// The code of "working" beside those of [`Wait`].
const WORK: u64 = Wait::ALL.len() as u64;
const STATES: usize = Wait::ALL.len() + 1;
const STAMP_BITS: u32 = 61;
const STAMP: u64 = (1 << STAMP_BITS) - 1;

/// The state of one thread (or lane): what it does since when, and its closed intervals by state.
///
/// One thread at a time writes. The sum of the closed intervals always equals the stamp of the open
/// state less the birth: a reader that finds it so has seen one consistent moment, however many
/// changes ran beside it; 128-byte alignment keeps neighbours out of each other's cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub struct StateCell {
    /// State (3 bits) and the time since which it holds (61 bits).
    open: AtomicU64,
    closed: [AtomicU64; STATES],
    items: AtomicU64,
    /// Which lock is waited for: its place on the table + 1; 0 for none.
    lock: AtomicU32,
    birth: Nanos,
}

/// What a reader found in a [`StateCell`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateReading {
    /// What is waited for now; `None` while working.
    pub state: Option<Wait>,
    /// Waits so far, the open one included up to the time of reading.
    pub waits: Waits,
    /// Time between waits so far, likewise.
    pub work: Nanos,
    /// Images finished.
    pub items: u64,
    /// Which lock is waited for, by its place on the registry's table.
    pub lock: Option<u32>,
}

impl StateCell {
    /// A cell in the state "working" from `now` on.
    pub fn new(now: Nanos) -> Self {
        Self {
            open: AtomicU64::new(pack(WORK, now)),
            closed: Default::default(),
            items: AtomicU64::new(0),
            lock: AtomicU32::new(0),
            birth: now,
        }
    }

    /// Since when this cell is kept.
    pub const fn birth(&self) -> Nanos {
        self.birth
    }

    /// Ends the open state and begins another (`None`: working). Only the cell's writer may call it.
    pub fn enter(&self, state: Option<Wait>, now: Nanos) {
        self.switch(state.map_or(WORK, |wait| wait as u64), now);
    }

    /// Switches to a state by code and returns the former code.
    fn switch(&self, code: u64, now: Nanos) -> u64 {
        let (former, since) = unpack(self.open.load(Ordering::Relaxed));
        let now = now.max(since);
        let closed = &self.closed[former as usize];
        closed.store(closed.load(Ordering::Relaxed) + (now - since), Ordering::Relaxed);
        // Whoever sees the new state sees the interval that it closed.
        self.open.store(pack(code, now), Ordering::Release);
        former
    }

    /// Counts finished images. Only the cell's writer may call it.
    pub fn add_items(&self, n: u64) {
        self.items.store(self.items.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    /// Reads the cell as of `now`.
    pub fn read(&self, now: Nanos) -> StateReading {
        let (items, lock) = (self.items.load(Ordering::Relaxed), self.lock.load(Ordering::Relaxed));
        let mut closed = [0; STATES];
        for _ in 0..16 {
            let (code, since) = unpack(self.open.load(Ordering::Acquire));
            for (copy, cell) in closed.iter_mut().zip(&self.closed) {
                *copy = cell.load(Ordering::Relaxed);
            }
            if closed.iter().sum::<u64>() + self.birth == since {
                closed[code as usize] += now.saturating_sub(since);
                let state = Wait::ALL.get(code as usize).copied();
                let lock = lock.checked_sub(1).filter(|_| state == Some(Wait::Lock));
                return Self::reading(state, closed, items, lock);
            }
        }
        // The writer was stopped between its two stores, or changes faster than we read: the closed
        // intervals are right up to their own sum, and only the moment since is not credited.
        Self::reading(None, closed, items, None)
    }

    fn reading(
        state: Option<Wait>,
        closed: [u64; STATES],
        items: u64,
        lock: Option<u32>,
    ) -> StateReading {
        let mut waits = [0; Wait::ALL.len()];
        waits.copy_from_slice(&closed[..Wait::ALL.len()]);
        StateReading { state, waits, work: closed[WORK as usize], items, lock }
    }
}

const fn pack(code: u64, stamp: Nanos) -> u64 {
    (code << STAMP_BITS) | (stamp & STAMP)
}

const fn unpack(word: u64) -> (u64, Nanos) {
    (word >> STAMP_BITS, word & STAMP)
}

thread_local! {
    /// The calling thread's cell, if it is registered.
    static CURRENT: RefCell<Option<Arc<StateCell>>> = const { RefCell::new(None) };
}

/// Makes `cell` the calling thread's own (or none); returns the former.
pub(super) fn set_current(cell: Option<Arc<StateCell>>) -> Option<Arc<StateCell>> {
    CURRENT.replace(cell)
}

/// Runs `body` as a wait of the calling thread; afterwards the former state holds again, also when
/// `body` panics. On a thread that nobody registered it just runs.
pub fn waiting<R>(wait: Wait, body: impl FnOnce() -> R) -> R {
    let _open = enter(wait);
    body()
}

/// Runs `body` as [`waiting`] does, with the lock that is waited for named by its place on the table.
pub(super) fn waiting_for<R>(wait: Wait, lock: u32, body: impl FnOnce() -> R) -> R {
    let name = |lock: u32| {
        CURRENT.with_borrow(|cell| {
            if let Some(cell) = cell {
                cell.lock.store(lock, Ordering::Relaxed);
            }
        });
    };
    name(lock + 1);
    let result = waiting(wait, body);
    name(0);
    result
}

/// Sets the calling thread's state for good (`None`: working), for hooks that have no scope.
pub fn set(state: Option<Wait>) {
    CURRENT.with_borrow(|cell| {
        if let Some(cell) = cell {
            cell.enter(state, clock::now());
        }
    });
}

/// Counts images finished by the calling thread.
pub fn add_items(n: u64) {
    CURRENT.with_borrow(|cell| {
        if let Some(cell) = cell {
            cell.add_items(n);
        }
    });
}

/// Begins a wait of the calling thread; dropping the answer ends it.
pub fn enter(wait: Wait) -> OpenWait {
    let former = CURRENT
        .with_borrow(|cell| cell.as_ref().map(|cell| cell.switch(wait as u64, clock::now())));
    OpenWait { former }
}

/// A wait that ends when this is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the wait"]
pub struct OpenWait {
    former: Option<u64>,
}

impl Drop for OpenWait {
    fn drop(&mut self) {
        if let Some(former) = self.former {
            CURRENT.with_borrow(|cell| {
                if let Some(cell) = cell {
                    cell.switch(former, clock::now());
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn intervals_are_credited_to_their_states_and_the_open_one_up_to_now() {
        let cell = StateCell::new(100);
        cell.enter(Some(Wait::Starved), 150);
        cell.enter(None, 350);
        cell.enter(Some(Wait::Lock), 400);
        let reading = cell.read(1000);
        assert_eq!(reading.state, Some(Wait::Lock));
        assert_eq!(reading.work, 50 + 50);
        assert_eq!(reading.waits[Wait::Starved as usize], 200);
        assert_eq!(reading.waits[Wait::Lock as usize], 600);
        assert_eq!(reading.work + reading.waits.iter().sum::<u64>(), 900);
    }

    #[test]
    fn a_wait_inside_a_wait_returns_to_the_outer_one() {
        let cell = Arc::new(StateCell::new(clock::now()));
        let former = set_current(Some(Arc::clone(&cell)));
        waiting(Wait::Starved, || {
            assert_eq!(cell.read(clock::now()).state, Some(Wait::Starved));
            waiting(Wait::Lock, || {
                assert_eq!(cell.read(clock::now()).state, Some(Wait::Lock));
            });
            assert_eq!(cell.read(clock::now()).state, Some(Wait::Starved));
        });
        assert_eq!(cell.read(clock::now()).state, None);
        let panicked = std::panic::catch_unwind(|| waiting(Wait::Io, || panic!("in a wait")));
        assert!(panicked.is_err());
        assert_eq!(cell.read(clock::now()).state, None);
        set_current(former);
    }

    #[test]
    fn a_reader_never_sees_time_that_does_not_add_up() {
        let cell = StateCell::new(0);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut now = 0;
                for i in 0..400_000u64 {
                    now += 1 + i % 7;
                    cell.enter(Wait::ALL.get((i % 8) as usize).copied(), now);
                }
                done.store(true, Ordering::Release);
            });
            let mut last = 0;
            while !done.load(Ordering::Acquire) {
                let (_, stamp) = unpack(cell.open.load(Ordering::Acquire));
                let reading = cell.read(stamp);
                let sum = reading.work + reading.waits.iter().sum::<u64>();
                // At least all that was closed when it was read, and never more than has passed.
                assert!(sum >= last, "{sum} after {last}");
                last = sum;
                let (_, newest) = unpack(cell.open.load(Ordering::Acquire));
                assert!(sum <= newest.max(stamp) + 8, "{sum} at {newest}");
            }
        });
    }
}
