//! Waits for one lock, those that are not over included, without a lock of their own.
//!
//! Time waited so far, as of `now`, is the length of the closed waits + n × `now` − the sum of the n open waits'
//! starts. The n and the rest of that sum share one atomic word, so that a reader never sees a wait on both
//! sides or on neither.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::probe::clock::Nanos;

/// Bits of the word that hold the sum, modulo 2⁵⁴ ns; the other ten count up to 1,023 open waits.
const SUM_BITS: u32 = 54;
const SUM: u64 = (1 << SUM_BITS) - 1;

/// Open waits whose starts are kept one by one, for the longest of them.
const SLOTS: usize = 64;

/// Waits for one lock, open and closed.
#[derive(Debug)]
pub(super) struct Waits {
    /// The number of open waits above Σ length of closed waits − Σ start of open ones.
    word: AtomicU64,
    /// Length of the closed waits: tells how often the sum has run over.
    closed: AtomicU64,
    longest_closed: AtomicU64,
    /// The most time that a reader was told: a wait may have ended by the time at which it is read as open.
    told: AtomicU64,
    /// Starts of open waits; 0 where a slot is free.
    starts: [AtomicU64; SLOTS],
}

/// What a reader found in [`Waits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// Waits that are not over.
    pub(super) open: u32,
    /// Time waited in all; never less than before.
    pub(super) time: Nanos,
    /// The longest wait. Of more than 64 open ones, some may be left out.
    pub(super) longest: Nanos,
}

/// A wait that is under way.
#[derive(Debug)]
pub(super) struct Open {
    start: Nanos,
    slot: Option<usize>,
}

impl Waits {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            closed: AtomicU64::new(0),
            longest_closed: AtomicU64::new(0),
            told: AtomicU64::new(0),
            starts: [const { AtomicU64::new(0) }; SLOTS],
        }
    }

    /// Begins a wait; `hint` spreads threads over the slots.
    pub(super) fn begin(&self, start: Nanos, hint: usize) -> Open {
        self.change(|open, sum| (open + 1, sum.wrapping_sub(start)));
        let slot = (0..SLOTS).map(|step| (hint + step) % SLOTS).find(|&slot| {
            let (free, taken) = (Ordering::Relaxed, Ordering::Relaxed);
            self.starts[slot].compare_exchange(0, start.max(1), taken, free).is_ok()
        });
        Open { start, slot }
    }

    /// Ends a wait; tells how long it was.
    pub(super) fn end(&self, open: &Open, now: Nanos) -> Nanos {
        let now = now.max(open.start);
        let length = now - open.start;
        self.longest_closed.fetch_max(length, Ordering::Relaxed);
        if let Some(slot) = open.slot {
            self.starts[slot].store(0, Ordering::Relaxed);
        }
        self.closed.fetch_add(length, Ordering::Relaxed);
        self.change(|open, sum| (open - 1, sum.wrapping_add(now)));
        length
    }

    fn change(&self, next: impl Fn(u64, u64) -> (u64, u64)) {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let (open, sum) = next(word >> SUM_BITS, word & SUM);
            let new = open << SUM_BITS | sum & SUM;
            let (done, not) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.word.compare_exchange_weak(word, new, done, not) {
                Ok(_) => return,
                Err(other) => word = other,
            }
        }
    }

    /// Reads as of a time that `clock` gives once the word is read: no open wait began after it.
    pub(super) fn read(&self, clock: impl FnOnce() -> Nanos) -> Reading {
        let word = self.word.load(Ordering::Acquire);
        let closed = self.closed.load(Ordering::Relaxed);
        let now = clock();
        let open = word >> SUM_BITS;
        let time = open.wrapping_mul(now).wrapping_add(word) & SUM;
        // The rest of `time` over `closed`, as a signed number: a wait that ends now may be in one of the two only.
        let more = (time.wrapping_sub(closed) << (64 - SUM_BITS)).cast_signed() >> (64 - SUM_BITS);
        let time = closed.saturating_add_signed(more);
        let starts = self.starts.iter().map(|start| start.load(Ordering::Relaxed));
        let lengths = starts.filter(|&start| start != 0).map(|start| now.saturating_sub(start));
        Reading {
            open: open as u32,
            time: self.told.fetch_max(time, Ordering::Relaxed).max(time),
            longest: lengths.fold(self.longest_closed.load(Ordering::Relaxed), Nanos::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(open: u32, time: Nanos, longest: Nanos) -> Reading {
        Reading { open, time, longest }
    }

    #[test]
    fn open_waits_grow_until_they_end() {
        let waits = Waits::new();
        let first = waits.begin(1_000, 0);
        let second = waits.begin(1_500, 0);
        assert_eq!(waits.read(|| 1_600), reading(2, 700, 600));
        assert_eq!(waits.end(&first, 2_000), 1_000);
        assert_eq!(waits.read(|| 2_100), reading(1, 1_600, 1_000));
        assert_eq!(waits.end(&second, 5_500), 4_000);
        assert_eq!(waits.read(|| 9_999), reading(0, 5_000, 4_000));
    }

    #[test]
    fn a_clock_that_stands_or_lags_adds_nothing() {
        let waits = Waits::new();
        let open = waits.begin(1_000, 3);
        assert_eq!(waits.end(&open, 900), 0);
        assert_eq!(waits.read(|| 900), reading(0, 0, 0));
    }

    #[test]
    fn the_sum_may_run_over() {
        let waits = Waits::new();
        let year = 365 * 24 * 3_600 * 1_000_000_000;
        for turn in 0..3 {
            let open = waits.begin(turn * year, 0);
            assert_eq!(waits.end(&open, (turn + 1) * year), year);
            let open = waits.begin((turn + 1) * year, 0);
            assert_eq!(waits.read(|| (turn + 1) * year + 7).time, (turn + 1) * year + 7);
            waits.end(&open, (turn + 1) * year);
        }
    }

    #[test]
    fn more_waits_than_slots_are_all_counted() {
        let waits = Waits::new();
        let open: Vec<_> = (1..=100).map(|start| waits.begin(start, 63)).collect();
        assert_eq!(waits.read(|| 101), reading(100, (1..=100).sum(), 100));
        for wait in &open {
            waits.end(wait, 101);
        }
        assert_eq!(waits.read(|| 200), reading(0, (1..=100).sum(), 100));
    }

    #[test]
    fn beside_writers_a_reading_never_goes_back() {
        let waits = Waits::new();
        let time = AtomicU64::new(1);
        let clock = || time.fetch_add(1, Ordering::SeqCst);
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for hint in 0..3 {
                let (waits, clock, done) = (&waits, &clock, &done);
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        let open = waits.begin(clock(), hint);
                        waits.end(&open, clock());
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                });
            }
            let mut last = 0;
            while done.load(Ordering::SeqCst) < 3 {
                let now = waits.read(clock);
                assert!(now.open <= 3 && now.time >= last, "{now:?} after {last}");
                last = now.time;
            }
        });
        let (end, closed) = (waits.read(clock), waits.closed.load(Ordering::SeqCst));
        assert!(end.open == 0 && end.time >= closed, "{end:?}, closed {closed}");
        // What was told too early is caught up with.
        let long = waits.begin(0, 0);
        waits.end(&long, 1 << 40);
        assert_eq!(waits.read(clock).time, closed + (1 << 40));
    }
}
