//! A thread's place at the lock: whether it holds it, since when, and where it looks whether it shall drop it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Gil, RealTime, Time};
use crate::probe::clock::Nanos;

/// A thread's place at a [`Gil`]; what it holds it drops at its end.
#[derive(Debug)]
#[expect(private_bounds, reason = "nobody outside brings a time of their own")]
pub struct Seat<T: Time = RealTime> {
    gil: Arc<Gil<T>>,
    pub(super) me: u64,
    held: Cell<bool>,
    since: Cell<Option<Nanos>>,
}

#[expect(private_bounds, reason = "nobody outside brings a time of their own")]
impl<T: Time> Seat<T> {
    /// A new place at the lock, which it does not hold yet.
    pub fn at(gil: &Arc<Gil<T>>) -> Self {
        let me = gil.seats.fetch_add(1, Ordering::Relaxed) + 1;
        Self { gil: Arc::clone(gil), me, held: Cell::new(false), since: Cell::new(None) }
    }

    /// Whether it holds the lock.
    pub fn holds(&self) -> bool {
        self.held.get()
    }

    /// Takes the lock, waiting for it, unless it holds it.
    pub fn take(&self) {
        if !self.held.get() {
            self.since.set(self.gil.take(self.me));
            self.held.set(true);
        }
    }

    /// Drops the lock, if it holds it; where a drop was asked for, returns once another thread has it.
    pub fn give(&self) {
        if self.held.replace(false) {
            self.gil.give(self.me, self.since.take());
        }
    }

    /// Drops the lock and takes it again, if it holds it and a drop is asked for: one relaxed load otherwise.
    #[inline]
    pub fn checkpoint(&self) {
        if self.gil.drop_request.load(Ordering::Relaxed) && self.held.get() {
            self.since.set(self.gil.switch(self.me, self.since.take()));
        }
    }
}

impl<T: Time> Drop for Seat<T> {
    fn drop(&mut self) {
        self.give();
    }
}

thread_local! {
    /// Whether the calling thread is at work that [`checkpoint`] may interrupt.
    static AT_WORK: Cell<bool> = const { Cell::new(false) };
    static SEAT: RefCell<Option<Rc<Seat>>> = const { RefCell::new(None) };
}

impl Seat {
    /// Does work within which [`checkpoint`] is a place to look at this seat's drop requests.
    pub fn at_work<R>(self: &Rc<Self>, work: impl FnOnce() -> R) -> R {
        /// Ends it, also where the work panics.
        struct End;
        impl Drop for End {
            fn drop(&mut self) {
                AT_WORK.set(false);
                SEAT.take();
            }
        }
        SEAT.set(Some(Rc::clone(self)));
        AT_WORK.set(true);
        let _end = End;
        work()
    }
}

/// A place where the work of a thread that holds an emulated GIL may be interrupted, as between two bytecodes. On
/// all other threads it is one look at a flag of the thread's own.
#[inline]
pub fn checkpoint() {
    if AT_WORK.get() {
        look();
    }
}

#[inline(never)]
fn look() {
    SEAT.with_borrow(|seat| {
        if let Some(seat) = seat {
            seat.checkpoint();
        }
    });
}
