//! When images arrive under a set rate: image k of an anchor is due at anchor + k / rate.

use crate::probe::clock::Nanos;

/// The schedule of intended arrivals. A new rate re-anchors it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arrivals {
    /// Images a second; `None`: no schedule.
    rate: Option<f64>,
    anchor: Nanos,
    /// Arrivals claimed since the anchor.
    claimed: u64,
    /// Which anchor: a claim made under an older one no longer holds.
    generation: u64,
}

/// The right to load one image at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The intended arrival.
    pub due: Nanos,
    generation: u64,
}

impl Arrivals {
    /// Starts a schedule at `now` (`None`: no schedule), dropping the old one.
    pub fn set_rate(&mut self, rate: Option<f64>, now: Nanos) {
        if self.rate != rate {
            let generation = self.generation + 1;
            *self = Self { rate, anchor: now, claimed: 0, generation };
        }
    }

    /// Claims the next arrival; `None` where there is no schedule.
    pub fn claim(&mut self) -> Option<Claim> {
        let due = self.due(self.claimed)?;
        self.claimed += 1;
        Some(Claim { due, generation: self.generation })
    }

    /// Whether a claim still stands.
    pub const fn stands(&self, claim: Claim) -> bool {
        claim.generation == self.generation
    }

    /// How far the next unclaimed arrival lies in the past; `None` where there is no schedule.
    pub fn behind(&self, now: Nanos) -> Option<Nanos> {
        self.due(self.claimed).map(|due| now.saturating_sub(due))
    }

    fn due(&self, index: u64) -> Option<Nanos> {
        self.rate.map(|rate| self.anchor + (index as f64 / rate * 1e9) as Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_scheduled_by_index_so_that_errors_do_not_add_up() {
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.claim(), None);
        arrivals.set_rate(Some(3.0), 1_000);
        let dues: Vec<_> = (0..4).map(|_| arrivals.claim().unwrap().due).collect();
        assert_eq!(dues, [1_000, 333_334_333, 666_667_666, 1_000_001_000]);
        // Four were claimed: the fifth is due at 4/3 s.
        assert_eq!(arrivals.behind(2_000_001_000), Some(666_666_667));
        assert_eq!(arrivals.behind(1_000), Some(0));
    }

    #[test]
    fn a_new_rate_re_anchors_and_drops_old_claims() {
        let mut arrivals = Arrivals::default();
        arrivals.set_rate(Some(0.1), 0);
        let _first = arrivals.claim().unwrap();
        let slow = arrivals.claim().unwrap();
        assert_eq!(slow.due, 10_000_000_000);
        arrivals.set_rate(Some(0.1), 5);
        assert!(arrivals.stands(slow), "the same rate changes nothing");
        arrivals.set_rate(Some(100.0), 2_000);
        assert!(!arrivals.stands(slow));
        assert_eq!(arrivals.claim().unwrap().due, 2_000);
        assert_eq!(arrivals.claim().unwrap().due, 10_002_000);
        arrivals.set_rate(None, 3_000);
        assert_eq!((arrivals.claim(), arrivals.behind(9)), (None, None));
    }
}
