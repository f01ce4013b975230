//! The knobs as the pipeline's threads read them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{KNOBS, KnobId, KnobKind, KnobValue, KnobValues};

/// The knobs as the pipeline's threads read them: one relaxed load each.
#[derive(Debug)]
pub struct LiveKnobs {
    cells: [AtomicU64; KNOBS.len()],
    epoch: AtomicU32,
}

/// Stands for "no limit" in the cell of a rate.
const UNLIMITED: u64 = u64::MAX;

fn encode(value: KnobValue) -> u64 {
    match value {
        KnobValue::Int(n) => n,
        KnobValue::Millis(v) | KnobValue::Number(v) | KnobValue::Rate(Some(v)) => v.to_bits(),
        KnobValue::Rate(None) => UNLIMITED,
        KnobValue::Choice(index, _) => index as u64,
    }
}

impl LiveKnobs {
    /// Knobs at the given values, in epoch 0.
    pub fn new(values: &KnobValues) -> Self {
        Self {
            cells: std::array::from_fn(|i| AtomicU64::new(encode(values.0[i]))),
            epoch: AtomicU32::new(0),
        }
    }

    /// Sets a knob and starts a new epoch; returns its number.
    pub fn set(&self, id: KnobId, value: KnobValue) -> u32 {
        self.cells[id as usize].store(encode(value), Ordering::Relaxed);
        self.epoch.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The epoch: how many changes there were.
    pub fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    /// One knob's value.
    pub fn get(&self, id: KnobId) -> KnobValue {
        let raw = self.cells[id as usize].load(Ordering::Relaxed);
        match id.spec().kind {
            KnobKind::Int { .. } => KnobValue::Int(raw),
            KnobKind::Millis { .. } => KnobValue::Millis(f64::from_bits(raw)),
            KnobKind::Number { .. } => KnobValue::Number(f64::from_bits(raw)),
            KnobKind::Rate { .. } if raw == UNLIMITED => KnobValue::Rate(None),
            KnobKind::Rate { .. } => KnobValue::Rate(Some(f64::from_bits(raw))),
            KnobKind::Choice(words) => KnobValue::Choice(raw as usize, words[raw as usize]),
        }
    }

    /// All values at once.
    pub fn values(&self) -> KnobValues {
        KnobValues(std::array::from_fn(|i| self.get(KNOBS[i].id)))
    }

    /// A whole-number knob's value.
    pub fn int(&self, id: KnobId) -> u64 {
        self.cells[id as usize].load(Ordering::Relaxed)
    }

    /// A duration knob's value.
    pub fn millis(&self, id: KnobId) -> std::time::Duration {
        std::time::Duration::from_secs_f64(self.number(id) / 1e3)
    }

    /// A number knob's value, in its unit.
    pub fn number(&self, id: KnobId) -> f64 {
        f64::from_bits(self.cells[id as usize].load(Ordering::Relaxed))
    }

    /// A choice knob's index.
    pub fn choice(&self, id: KnobId) -> usize {
        self.cells[id as usize].load(Ordering::Relaxed) as usize
    }

    /// The arrival rate a second, or `None` for no limit.
    pub fn arrival_rate(&self) -> Option<f64> {
        match self.get(KnobId::ArrivalRate) {
            KnobValue::Rate(rate) => rate,
            _ => None,
        }
    }
}
