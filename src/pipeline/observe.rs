//! What a running pipeline shows of itself: cumulative counters for the sampler.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Stage;
use super::control::Pipeline;
use super::infer::{Engine, Notice};
use super::knobs::{KnobChange, KnobId, KnobValues};
use super::ledger::{Failures, Segment};
use super::shared::device_of;
use super::source::Source;
use crate::probe::clock::{self, Nanos};
use crate::probe::histogram::Histogram;
use crate::probe::registry::Registry;
use crate::probe::track::Track;

/// A stage's counters so far.
#[derive(Clone, Debug)]
pub struct StageReading {
    /// Which stage.
    pub stage: Stage,
    /// Workers that may run (reads in flight for load).
    pub workers: u32,
    /// Images that left it.
    pub done: u64,
    /// Service times of images.
    pub service: Histogram,
    /// Time during which its device had work, where it has one.
    pub device_busy: Option<Nanos>,
}

/// A queue's account so far.
#[derive(Clone, Copy, Debug)]
pub struct QueueReading {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub unit: &'static str,
    /// The account.
    pub track: Track,
}

/// Images in so far; those out are in [`Pipeline::counts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intake {
    /// Reads begun.
    pub read: u64,
    /// Encoded bytes read.
    pub bytes: u64,
    /// How far loading is behind a set arrival rate; `None` where none is set.
    pub behind: Option<Nanos>,
}

impl Pipeline {
    /// What kept answers from being written to the output file, if anything did.
    pub fn write_error(&self) -> Option<String> {
        self.write_error.lock().clone()
    }

    /// When it started, on the line of [`clock::now`].
    pub const fn started(&self) -> Nanos {
        self.start
    }

    /// The input.
    pub fn source(&self) -> &Source {
        &self.shared.source
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.shared.engine
    }

    /// The knobs' values and epoch.
    pub fn knobs(&self) -> (KnobValues, u32) {
        (self.shared.knobs.values(), self.shared.knobs.epoch())
    }

    /// The latest knob changes, oldest first.
    pub fn changes(&self) -> Vec<KnobChange> {
        self.changes.lock().clone()
    }

    /// Knobs whose new value is not in force yet.
    pub fn applying(&self) -> Vec<&'static str> {
        let shared = &*self.shared;
        let mut names = Vec::new();
        if shared.cache_mode() == "batches" && !shared.batches.is_replaying() {
            names.push(KnobId::SourceCache.spec().name);
        }
        if shared.batches.size_in_force() != shared.knobs.int(KnobId::InferBatch) {
            names.push(KnobId::InferBatch.spec().name);
        }
        if device_of(&*shared.engine) != shared.knobs.get(KnobId::InferDevice) {
            names.push(KnobId::InferDevice.spec().name);
        }
        names
    }

    /// What a person should know that happened, oldest first; times since the start.
    pub fn notices(&self) -> Vec<Notice> {
        let mut all = self.shared.engine.notices();
        all.extend(self.shared.notices.all());
        all.sort_by_key(|notice| notice.at);
        for notice in &mut all {
            notice.at = notice.at.saturating_sub(self.start);
        }
        all
    }

    /// Images in.
    pub fn intake(&self) -> Intake {
        Intake {
            read: self.shared.counters.read(),
            bytes: self.shared.counters.bytes.load(Ordering::Relaxed),
            behind: self.shared.arrivals.lock().behind(clock::now()),
        }
    }

    /// Images out: predicted and failed.
    pub fn counts(&self) -> (u64, u64) {
        self.shared.ledger.counts()
    }

    /// Latency of the predicted images.
    pub fn latency(&self) -> Histogram {
        self.shared.ledger.latency()
    }

    /// What came of the images by epoch, oldest first, and how many epochs were dropped.
    pub fn segments(&self) -> (Vec<Segment>, u64) {
        self.shared.ledger.segments()
    }

    /// Failures, unless there is none since `version`.
    pub fn failures_since(&self, version: u64) -> Option<Failures> {
        self.shared.ledger.failures_since(version)
    }

    /// The five stages, source to sink.
    pub fn stages(&self) -> Vec<StageReading> {
        let shared = &*self.shared;
        let workers = |stage| match stage {
            Stage::Load => shared.knobs.int(KnobId::LoadConcurrency) as u32,
            Stage::Preprocess => shared.knobs.int(KnobId::PreprocessThreads) as u32,
            Stage::Infer => shared.knobs.int(KnobId::InferThreads) as u32,
            Stage::Decode | Stage::Respond => 1,
        };
        let reading = |stage| {
            let counters = shared.counters.stage(stage);
            let device_busy =
                (stage == Stage::Infer).then(|| shared.engine.device_busy()).flatten();
            StageReading {
                stage,
                workers: workers(stage),
                done: counters.done(),
                service: counters.service(),
                device_busy,
            }
        };
        Stage::ALL.into_iter().map(reading).collect()
    }

    /// The queues, source to sink.
    pub fn queues(&self) -> Vec<QueueReading> {
        let shared = &*self.shared;
        let (loaded, batches) = (&shared.loaded, &shared.batches);
        let reading = |name, unit, track| QueueReading { name, unit, track };
        vec![
            reading(loaded.name(), "images", loaded.track()),
            reading("batches", "batches", batches.track()),
            reading(shared.results.name(), "batches", shared.results.track()),
            reading(shared.answers.name(), "batches", shared.answers.track()),
        ]
    }

    /// All that is measured.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.shared.registry
    }
}
