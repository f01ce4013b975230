//! The account of a queue: depth × time, time with something ready, time without room.

use super::clock::{self, Nanos};

/// What a queue has seen so far. It is kept under the queue's own lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// Depth now.
    pub depth: u64,
    /// Of these, ready to be taken.
    pub ready: u64,
    /// Capacity now.
    pub capacity: u64,
    /// Depth × time in nanoseconds.
    pub depth_time: u128,
    /// Time with something ready.
    pub ready_time: Nanos,
    /// Time at or above capacity.
    pub full_time: Nanos,
    /// Handed over so far.
    pub popped: u64,
    last: Nanos,
    /// Without probes only depth, capacity and count are kept.
    bare: bool,
}

impl Track {
    /// An empty queue of a capacity at `now`.
    pub fn new(capacity: u64, now: Nanos) -> Self {
        Self { capacity, last: now, ..Self::default() }
    }

    /// An empty queue of a capacity, of which no times are kept.
    pub fn bare(capacity: u64) -> Self {
        Self { capacity, bare: true, ..Self::default() }
    }

    /// Sets depth and ready as of now.
    pub fn note(&mut self, depth: u64, ready: u64) {
        let now = if self.bare { 0 } else { clock::now() };
        self.set(now, depth, ready);
    }

    /// Credits the time since the last change to the state that held.
    pub fn advance(&mut self, now: Nanos) {
        if self.bare {
            return;
        }
        let span = now.saturating_sub(self.last);
        self.depth_time += u128::from(span) * u128::from(self.depth);
        if self.ready > 0 {
            self.ready_time += span;
        }
        if self.depth >= self.capacity {
            self.full_time += span;
        }
        self.last = self.last.max(now);
    }

    /// Credits the time up to `now`, then sets depth and ready.
    pub fn set(&mut self, now: Nanos, depth: u64, ready: u64) {
        self.advance(now);
        self.depth = depth;
        self.ready = ready;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_of_a_known_history() {
        let mut track = Track::new(3, 100);
        track.set(200, 1, 0); // empty for 100
        track.set(250, 3, 2); // depth 1, nothing ready, for 50
        track.set(300, 2, 2); // full for 50
        track.advance(400); // depth 2 for 100
        assert_eq!(track.depth_time, 50 + 3 * 50 + 2 * 100);
        assert_eq!(track.ready_time, 150);
        assert_eq!(track.full_time, 50);
    }
}
