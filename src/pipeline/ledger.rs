//! What came of the images: counted once each, by epoch, by reason and by name.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::failure::ImageError;
use super::item::Item;
use super::knobs::KnobValues;
use crate::probe::clock::Nanos;
use crate::probe::histogram::{Histogram, Recorder};
use crate::probe::lock::Mutex;
use crate::probe::registry::Registry;

/// Epochs kept; older ones are dropped and counted.
const MOST_SEGMENTS: usize = 32;
/// Failed images kept with their names; more are only counted.
pub const MOST_NAMES: usize = 10_000;

/// An image that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedItem {
    /// Its name: the path.
    pub name: String,
    /// The reason, one of a fixed set of words: `truncated`, `not-an-image` …
    pub reason: String,
    /// What exactly went wrong.
    pub detail: String,
    /// How often, as the input loops.
    pub times: u64,
}

/// What came of the images that entered in one epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// The epoch.
    pub epoch: u32,
    /// When it began, since the start of the run.
    pub from: Nanos,
    /// When the last image that entered in it came out.
    pub last_out: Nanos,
    /// Images predicted in the whole run when it began: the difference to the next epoch's is what came
    /// out while it held, whenever that had entered.
    pub predicted_before: u64,
    /// Images predicted of those that entered in it.
    pub predicted: u64,
    /// Images failed of those that entered in it.
    pub failed: u64,
    /// Their latency.
    pub latency: Histogram,
    /// The knobs' values in it.
    pub knobs: KnobValues,
}

/// The account of all images of a run.
#[derive(Debug)]
pub struct Ledger {
    predicted: AtomicU64,
    failed: AtomicU64,
    latency: Recorder,
    closed: AtomicBool,
    start: Nanos,
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    open: VecDeque<OpenSegment>,
    dropped: u64,
    failures: BTreeMap<&'static str, u64>,
    /// By input, so that a looping input fails under one entry.
    names: BTreeMap<usize, FailedItem>,
    /// Changes whenever a name is added or counted.
    version: u64,
}

#[derive(Debug)]
struct OpenSegment {
    epoch: u32,
    from: Nanos,
    last_out: Nanos,
    predicted_before: u64,
    predicted: u64,
    failed: u64,
    latency: Recorder,
    knobs: KnobValues,
}

/// Failures so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failures {
    /// Counts by reason.
    pub by_reason: BTreeMap<String, u64>,
    /// The failed images by input (bounded).
    pub items: Vec<FailedItem>,
    /// Changes whenever there is another failure.
    pub version: u64,
}

impl Ledger {
    /// An empty account of a run that starts at `start` with `knobs` in epoch 0.
    pub fn new(registry: &Registry, start: Nanos, knobs: &KnobValues) -> Self {
        let ledger = Self {
            predicted: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            latency: Recorder::default(),
            closed: AtomicBool::new(false),
            start,
            book: Mutex::new(registry, "ledger", Book::default()),
        };
        ledger.begin_segment(0, start, knobs);
        ledger
    }

    /// Begins an epoch.
    pub fn begin_segment(&self, epoch: u32, now: Nanos, knobs: &KnobValues) {
        let mut book = self.book.lock();
        // A gauge that is dragged makes dozens of epochs: those without an image go first.
        if book.open.len() >= MOST_SEGMENTS {
            let last = book.open.len() - 1;
            let idle = book.open.iter().take(last).position(|s| s.predicted + s.failed == 0);
            book.open.remove(idle.unwrap_or(0));
            book.dropped += u64::from(idle.is_none());
        }
        let from = now.saturating_sub(self.start);
        book.open.push_back(OpenSegment {
            epoch,
            from,
            last_out: from,
            predicted_before: self.predicted.load(Ordering::Acquire),
            predicted: 0,
            failed: 0,
            latency: Recorder::default(),
            knobs: knobs.clone(),
        });
    }

    /// Books predicted images that came out at `now`; returns false where the account is closed.
    pub fn predicted<'a>(&self, items: impl Iterator<Item = &'a Item>, now: Nanos) -> bool {
        let mut book = self.book.lock();
        if self.closed.load(Ordering::Acquire) {
            return false;
        }
        let mut count = 0;
        for item in items {
            count += 1;
            let latency = now.saturating_sub(item.origin);
            self.latency.record(latency);
            if let Some(segment) = book.segment(item.epoch) {
                segment.predicted += 1;
                segment.latency.record(latency);
                segment.last_out = now.saturating_sub(self.start);
            }
        }
        self.predicted.fetch_add(count, Ordering::Release);
        true
    }

    /// Books a failed image called `name`; returns false where the account is closed.
    pub fn failed(&self, item: &Item, name: &str, error: &ImageError, now: Nanos) -> bool {
        let mut book = self.book.lock();
        if self.closed.load(Ordering::Acquire) {
            return false;
        }
        *book.failures.entry(error.reason()).or_default() += 1;
        book.version += 1;
        let full = book.names.len() >= MOST_NAMES;
        if let Some(known) = book.names.get_mut(&item.input) {
            known.times += 1;
        } else if !full {
            let failed = FailedItem {
                name: name.to_owned(),
                reason: error.reason().to_owned(),
                detail: error.detail().to_owned(),
                times: 1,
            };
            book.names.insert(item.input, failed);
        }
        if let Some(segment) = book.segment(item.epoch) {
            segment.failed += 1;
            segment.last_out = now.saturating_sub(self.start);
        }
        self.failed.fetch_add(1, Ordering::Release);
        true
    }

    /// Books nothing more: what is still under way counts as abandoned.
    pub fn close(&self) {
        let _book = self.book.lock();
        self.closed.store(true, Ordering::Release);
    }

    /// Whether nothing more is booked.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Images predicted and failed so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.predicted.load(Ordering::Acquire), self.failed.load(Ordering::Acquire))
    }

    /// Latency of the predicted images.
    pub fn latency(&self) -> Histogram {
        self.latency.read()
    }

    /// The epochs, oldest first, and how many older ones were dropped.
    pub fn segments(&self) -> (Vec<Segment>, u64) {
        let book = self.book.lock();
        let segments = book.open.iter().map(|open| Segment {
            epoch: open.epoch,
            from: open.from,
            last_out: open.last_out,
            predicted_before: open.predicted_before,
            predicted: open.predicted,
            failed: open.failed,
            latency: open.latency.read(),
            knobs: open.knobs.clone(),
        });
        (segments.collect(), book.dropped)
    }

    /// The failures, unless there is none since `version`.
    pub fn failures_since(&self, version: u64) -> Option<Failures> {
        let book = self.book.lock();
        (book.version != version).then(|| Failures {
            by_reason: book.failures.iter().map(|(&reason, &n)| (reason.to_owned(), n)).collect(),
            items: book.names.values().cloned().collect(),
            version: book.version,
        })
    }
}

impl Book {
    fn segment(&mut self, epoch: u32) -> Option<&mut OpenSegment> {
        self.open.iter_mut().rev().find(|segment| segment.epoch == epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::failure::Reason;

    fn item(input: usize, epoch: u32, origin: Nanos) -> Item {
        Item { input, epoch, origin, ..Item::default() }
    }

    #[test]
    fn an_image_belongs_to_the_epoch_in_which_it_entered() {
        let knobs = KnobValues::defaults(2);
        let ledger = Ledger::new(&Registry::default(), 1_000, &knobs);
        ledger.begin_segment(1, 5_000, &knobs);
        // Entered before the change, came out after it.
        assert!(ledger.predicted([item(0, 0, 2_000)].iter(), 9_000));
        assert!(ledger.predicted([item(1, 1, 6_000), item(2, 1, 6_500)].iter(), 9_500));
        let (segments, dropped) = ledger.segments();
        let counts: Vec<_> = segments.iter().map(|s| (s.epoch, s.from, s.predicted)).collect();
        assert_eq!((counts, dropped), (vec![(0, 0, 1), (1, 4_000, 2)], 0));
        assert_eq!(segments[0].last_out, 8_000);
        // All three came out while epoch 1 held.
        assert_eq!((segments[0].predicted_before, segments[1].predicted_before), (0, 0));
        assert_eq!(ledger.latency().count(), 3);
    }

    #[test]
    fn a_looping_input_fails_under_one_name_and_a_closed_account_books_nothing() {
        let ledger = Ledger::new(&Registry::default(), 0, &KnobValues::defaults(2));
        let error = ImageError::new(Reason::Truncated, "half of it");
        for _ in 0..3 {
            assert!(ledger.failed(&item(7, 0, 0), "a.jpg", &error, 1));
        }
        let failures = ledger.failures_since(0).unwrap();
        assert_eq!(failures.by_reason["truncated"], 3);
        assert_eq!((failures.items.len(), failures.items[0].times), (1, 3));
        assert_eq!(ledger.failures_since(failures.version), None);
        ledger.close();
        assert!(!ledger.failed(&item(7, 0, 0), "a.jpg", &error, 1));
        assert!(!ledger.predicted([item(0, 0, 0)].iter(), 1));
        assert_eq!(ledger.counts(), (0, 3));
    }

    #[test]
    fn epochs_without_images_are_dropped_before_those_with_some() {
        let knobs = KnobValues::defaults(2);
        let ledger = Ledger::new(&Registry::default(), 0, &knobs);
        ledger.predicted([item(0, 0, 0)].iter(), 1);
        for epoch in 1..200 {
            ledger.begin_segment(epoch, u64::from(epoch), &knobs);
        }
        let (segments, dropped) = ledger.segments();
        assert_eq!((segments.len(), dropped), (MOST_SEGMENTS, 0));
        assert_eq!((segments[0].epoch, segments[0].predicted), (0, 1));
        assert_eq!(segments.last().unwrap().epoch, 199);
    }
}
