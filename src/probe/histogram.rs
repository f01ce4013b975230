//! Bounded histograms of durations: log-linear buckets, at most 1.6 % from the true value.
//!
//! Each power of two is cut into 32 equal buckets, so a bucket is at most 1/32 = 3.1 % wide and its
//! middle at most 1.6 % from any value in it. Values of 2⁴⁰ ns (18 minutes) and more share the last one.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

use super::clock::Nanos;

const SUB_BITS: u32 = 5;
const SUB: u64 = 1 << SUB_BITS;
const TOP_BITS: u32 = 40;
/// Buckets of a histogram: exact below 32 ns, then 32 a power of two up to 2⁴⁰ ns.
pub const BUCKETS: usize = ((TOP_BITS - SUB_BITS + 1) as usize) * SUB as usize;

/// The bucket of a value.
const fn bucket(value: Nanos) -> usize {
    if value < SUB {
        return value as usize;
    }
    if value >> TOP_BITS != 0 {
        return BUCKETS - 1;
    }
    let shift = value.ilog2() - SUB_BITS;
    ((shift as u64 + 1) * SUB + ((value >> shift) - SUB)) as usize
}

/// The middle of a bucket, in nanoseconds.
fn middle(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    if bucket < SUB {
        return bucket as f64;
    }
    let shift = bucket / SUB - 1;
    let low = (bucket % SUB + SUB) << shift;
    low as f64 + ((1u64 << shift) - 1) as f64 / 2.0
}

/// A histogram that many threads may record into while others read it.
#[derive(Debug)]
pub struct Recorder {
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
    max: AtomicU64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            counts: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            max: AtomicU64::new(0),
        }
    }
}

impl Recorder {
    /// Records one duration.
    pub fn record(&self, value: Nanos) {
        self.record_n(value, 1);
    }

    /// Records the same duration `n` times: every image of a batch.
    pub fn record_n(&self, value: Nanos, n: u64) {
        self.counts[bucket(value)].fetch_add(n, Ordering::Relaxed);
        self.sum.fetch_add(value.saturating_mul(n), Ordering::Relaxed);
        if value > self.max.load(Ordering::Relaxed) {
            self.max.fetch_max(value, Ordering::Relaxed);
        }
    }

    /// A copy of what was recorded so far.
    pub fn read(&self) -> Histogram {
        let mut counts: Vec<u64> = self.counts.iter().map(|c| c.load(Ordering::Relaxed)).collect();
        let used = counts.iter().rposition(|&c| c != 0).map_or(0, |last| last + 1);
        counts.truncate(used);
        Histogram {
            counts,
            sum: self.sum.load(Ordering::Relaxed),
            max: self.max.load(Ordering::Relaxed),
        }
    }
}

/// Counts of durations so far; differences of two give the histogram of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Counts by bucket, without the empty ones at the end.
    #[serde(with = "sparse")]
    counts: Vec<u64>,
    /// Sum of all values in nanoseconds.
    sum: u64,
    /// The largest value since the start, in nanoseconds.
    max: Nanos,
}

impl Histogram {
    /// A histogram of given values (nanoseconds), for tests and fixed inputs.
    pub fn of(values: impl IntoIterator<Item = Nanos>) -> Self {
        let recorder = Recorder::default();
        for value in values {
            recorder.record(value);
        }
        recorder.read()
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The mean in nanoseconds, or `None` where nothing was recorded.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// The value below which the share `q` (0 to 1) of the values lies, in nanoseconds, within
    /// 1.6 %; `None` where nothing was recorded.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, &n) in self.counts.iter().enumerate() {
            seen += n;
            if seen >= rank {
                return Some(middle(index).min(self.max as f64));
            }
        }
        None
    }

    /// What was recorded after `earlier` was read. The maximum stays that of the whole time.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut counts = self.counts.clone();
        for (now, before) in counts.iter_mut().zip(&earlier.counts) {
            *now = now.saturating_sub(*before);
        }
        Self { counts, sum: self.sum.saturating_sub(earlier.sum), max: self.max }
    }

    /// The non-empty buckets from short to long: middle in nanoseconds, and count.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|&(_, &n)| n > 0);
        filled.map(|(index, &n)| (middle(index), n))
    }
}

/// Counts in files: a map from bucket to count without the empty ones, so that two of them differ in few
/// places.
mod sparse {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;
    use std::collections::BTreeMap;

    use super::BUCKETS;

    pub(super) fn serialize<S: Serializer>(counts: &[u64], s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(counts.iter().enumerate().filter(|&(_, &count)| count > 0))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u64>, D::Error> {
        let filled = BTreeMap::<usize, u64>::deserialize(d)?;
        let used = filled.last_key_value().map_or(0, |(&last, _)| last + 1);
        if used > BUCKETS {
            return Err(D::Error::custom(format!("a histogram has {BUCKETS} buckets")));
        }
        let mut counts = vec![0; used];
        for (bucket, count) in filled {
            counts[bucket] = count;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_comes_back_from_a_file_as_it_was() {
        for values in [vec![], vec![0], vec![3, 3, 900, 1_000_000, 1 << 50]] {
            let histogram = Histogram::of(values);
            let json = serde_json::to_string(&histogram).unwrap();
            assert_eq!(serde_json::from_str::<Histogram>(&json).unwrap(), histogram, "{json}");
        }
        let bad = r#"{"counts": {"99999": 1}, "sum": 1, "max": 1}"#;
        assert!(serde_json::from_str::<Histogram>(bad).is_err());
    }

    #[test]
    fn every_value_lies_within_three_percent_of_its_bucket() {
        let mut value = 1u64;
        while value < 1 << TOP_BITS {
            let error = (middle(bucket(value)) - value as f64).abs() / value as f64;
            assert!(error <= 0.016, "{value} reads {}", middle(bucket(value)));
            value += 1 + value / 97;
        }
    }

    #[test]
    fn buckets_follow_one_another_without_a_gap() {
        for value in 0..100_000u64 {
            let step = bucket(value + 1) - bucket(value);
            assert!(step <= 1, "a gap at {value}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket((1 << TOP_BITS) - 1), BUCKETS - 1);
    }

    #[test]
    fn quantiles_of_known_values() {
        let h = Histogram::of((1..=1000).map(|i| i * 1_000_000));
        assert_eq!(h.count(), 1000);
        for (q, truth) in [(0.5, 500e6), (0.95, 950e6), (0.99, 990e6), (1.0, 1000e6)] {
            let got = h.quantile(q).unwrap();
            assert!((got - truth).abs() / truth < 0.03, "p{q}: {got} for {truth}");
        }
        assert!((h.mean().unwrap() - 500.5e6).abs() < 1.0);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn a_window_is_a_difference() {
        let early = Histogram::of([1_000_000; 10]);
        let late = Histogram::of([vec![1_000_000; 10], vec![9_000_000; 5]].concat());
        let window = late.since(&early);
        assert_eq!(window.count(), 5);
        assert!((window.quantile(0.5).unwrap() - 9e6).abs() / 9e6 < 0.02);
        assert!((window.mean().unwrap() - 9e6).abs() < 1.0);
    }
}
