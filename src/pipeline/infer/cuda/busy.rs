//! How long the device computed: the union of the batches' times, exact to the resolution of its events (0.5 µs).

use std::sync::Arc;

use super::driver::{Event, Fault};
use crate::probe::clock::Nanos;

/// What was spent on what, all batches together; batches overlap, so that the sum may exceed the time that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Batches.
    pub batches: u64,
    /// Images.
    pub images: u64,
    /// Milliseconds of copying to the device, waiting for its link included.
    pub upload_ms: f64,
    /// Milliseconds of computing.
    pub compute_ms: f64,
    /// Milliseconds of copying from the device.
    pub download_ms: f64,
    /// ∫ theoretical occupancy (0 to 1) of the running kernels, in milliseconds.
    pub occupancy_ms: f64,
    /// Milliseconds of computing for which it is known.
    pub occupancy_over_ms: f64,
    /// How often the device computed nothing between two batches.
    pub gaps: u64,
    /// Milliseconds of these gaps together.
    pub gap_ms: f64,
    /// Milliseconds of the longest.
    pub gap_max_ms: f64,
}

/// The four moments of a batch on the device.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    /// Before its first copy.
    pub started: Arc<Event>,
    /// Its pictures are there.
    pub uploaded: Arc<Event>,
    /// It is computed.
    pub computed: Arc<Event>,
    /// Its logits are on the host.
    pub done: Arc<Event>,
}

/// Adds up batches whose moments have all come.
#[derive(Debug, Default)]
pub(super) struct Account {
    spent: Spent,
    union: Union,
    /// The moment at which the union ends so far.
    end: Option<Arc<Event>>,
}

impl Account {
    /// Adds a batch, whose kernels have that theoretical occupancy. Its `computed` event must not be recorded again: it is kept.
    ///
    /// # Errors
    /// Where the driver cannot tell the time between events.
    pub(super) fn add(
        &mut self,
        images: usize,
        moments: &Moments,
        occupancy: Option<f64>,
    ) -> Result<(), Fault> {
        let compute = f64::from(moments.uploaded.until(&moments.computed)?);
        self.spent.batches += 1;
        self.spent.images += images as u64;
        self.spent.upload_ms += f64::from(moments.started.until(&moments.uploaded)?);
        self.spent.compute_ms += compute;
        if let Some(occupancy) = occupancy {
            self.spent.occupancy_ms += occupancy * compute;
            self.spent.occupancy_over_ms += compute;
        }
        self.spent.download_ms += f64::from(moments.computed.until(&moments.done)?);
        let later = match &self.end {
            Some(end) => f64::from(end.until(&moments.computed)?),
            None => compute,
        };
        if let Some(gap) = self.union.add(later, compute) {
            self.end = Some(Arc::clone(&moments.computed));
            if gap > 0.0 {
                self.spent.gaps += 1;
                self.spent.gap_ms += gap;
                self.spent.gap_max_ms = self.spent.gap_max_ms.max(gap);
            }
        }
        Ok(())
    }

    /// What was spent so far.
    pub(super) const fn spent(&self) -> Spent {
        self.spent
    }

    /// Time during which at least one batch computed.
    pub(super) fn busy(&self) -> Nanos {
        (self.union.total * 1e6) as Nanos
    }
}

/// A union of intervals that come roughly in order of their ends, all in milliseconds.
#[derive(Debug, Default)]
struct Union {
    total: f64,
    /// Length of the last piece of the union, up to its end.
    run: f64,
}

impl Union {
    /// Adds an interval of that length that ends `later` after (or, below 0, before) the union's end; where that moves
    /// the end, says how long a gap lies before the interval.
    ///
    /// What reaches before the last piece is cut off there: it came so late that it overlaps older pieces, or lay
    /// in a gap; a gap that it filled is not counted rather than counted twice.
    fn add(&mut self, later: f64, length: f64) -> Option<f64> {
        if later <= 0.0 {
            // It ends within the last piece: it may begin before it.
            if -later <= self.run {
                let before = (length - later - self.run).max(0.0).min(length);
                self.total += before;
                self.run += before;
            }
            return None;
        }
        let new = later.min(length);
        self.total += new;
        if length >= later {
            // It touches the last piece, and may begin before it.
            let before = (length - later - self.run).max(0.0);
            self.total += before;
            self.run += before + new;
        } else {
            self.run = length;
        }
        Some((later - length).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The union of intervals given as (start, end), in that order.
    fn union(intervals: &[(f64, f64)]) -> f64 {
        let mut union = Union::default();
        let mut end = intervals[0].0;
        for &(start, finish) in intervals {
            if union.add(finish - end, finish - start).is_some() {
                end = finish;
            }
        }
        union.total
    }

    fn same(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} and {b}");
    }

    #[test]
    fn overlaps_count_once_and_gaps_not() {
        same(union(&[(0.0, 2.0), (3.0, 5.0)]), 4.0);
        same(union(&[(0.0, 2.0), (1.0, 5.0)]), 5.0);
        same(union(&[(0.0, 5.0), (1.0, 3.0)]), 5.0);
        same(union(&[(1.0, 2.0), (0.0, 3.0)]), 3.0);
        same(union(&[(0.0, 2.0), (2.0, 4.0), (4.0, 6.0)]), 6.0);
    }

    #[test]
    fn a_gap_lies_between_the_end_and_the_next_interval() {
        let mut union = Union::default();
        assert_eq!(union.add(2.0, 2.0), Some(0.0), "the first");
        assert_eq!(union.add(5.0, 2.0), Some(3.0), "three later");
        assert_eq!(union.add(1.0, 2.0), Some(0.0), "overlapping");
        assert_eq!(union.add(-0.5, 0.2), None, "within");
    }

    #[test]
    fn an_interval_that_comes_late_is_counted_where_it_is_not_covered() {
        same(union(&[(2.0, 5.0), (1.0, 4.0)]), 4.0);
        same(union(&[(2.0, 5.0), (1.0, 4.0), (0.0, 3.0)]), 5.0);
    }

    #[test]
    fn the_union_is_never_more_than_the_truth() {
        // Two lanes, out of order now and then: total length of the union is 0 to 10.
        let batches = [(0.0, 2.0), (1.5, 4.0), (3.5, 6.0), (2.0, 5.5), (5.0, 8.0), (6.0, 10.0)];
        same(union(&batches), 10.0);
    }
}
