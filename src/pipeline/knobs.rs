//! Every knob as data: one table serves the pipeline, the screen, the command line, the config file
//! and the reports.

use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::Stage;
use crate::probe::clock::Nanos;

/// Which knob; the order is that of the screen and of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum KnobId {
    /// Reads in flight.
    LoadConcurrency,
    /// Emulated delay of each read.
    LoadDelay,
    /// Images a second that arrive, or no limit.
    ArrivalRate,
    /// Where the images come from: files, memory, ready batches.
    SourceCache,
    /// Capacity of the queue of loaded images.
    QueueLoaded,
    /// Preprocess workers that run.
    PreprocessThreads,
    /// Resampling filter.
    PreprocessFilter,
    /// Capacity of the queue of batches.
    QueueBatches,
    /// Images a batch.
    InferBatch,
    /// Infer workers that run: batches in flight.
    InferThreads,
    /// How long a batch waits to be filled.
    InferMaxDelay,
}

/// When a change is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobClass {
    /// Within 100 ms.
    Instant,
    /// When the new setting is ready; the old one serves until then.
    WarmUp,
}

/// What values a knob takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KnobKind {
    /// A whole number.
    Int {
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
        /// How the arrow keys move it.
        step: Step,
    },
    /// A length of time in milliseconds.
    Millis {
        /// Least value in ms.
        min: f64,
        /// Greatest value in ms.
        max: f64,
        /// The values that the arrow keys visit, ascending, in ms.
        ladder: &'static [f64],
    },
    /// A rate a second, or no limit.
    Rate {
        /// Least rate a second.
        min: f64,
        /// Greatest rate a second.
        max: f64,
        /// The rates that the arrow keys visit, ascending; past the last comes "unlimited".
        ladder: &'static [f64],
    },
    /// One of some words.
    Choice(&'static [&'static str]),
}

/// How the arrow keys move a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// By one; with a big step by a tenth of the range.
    One,
    /// To the next power of two.
    Double,
}

/// A knob's fixed properties.
#[derive(Debug)]
pub struct KnobSpec {
    /// Which knob.
    pub id: KnobId,
    /// Its name everywhere: `preprocess.threads`.
    pub name: &'static str,
    /// Its label in a stage's row or a gauge: `threads`.
    pub label: &'static str,
    /// The stage to which it belongs.
    pub stage: Stage,
    /// The unit as written after a value, or `""`.
    pub unit: &'static str,
    /// Its values.
    pub kind: KnobKind,
    /// When a change is in force.
    pub class: KnobClass,
    /// One sentence for help.
    pub help: &'static str,
}

/// A knob's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KnobValue {
    /// A whole number.
    Int(u64),
    /// Milliseconds.
    Millis(f64),
    /// A rate a second; `None` is no limit.
    Rate(Option<f64>),
    /// The index of a word in [`KnobKind::Choice`], with the word.
    Choice(usize, &'static str),
}

/// Why a knob was not set; the text is for the person who tried.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum KnobError {
    /// No knob of that name.
    #[error("no knob is named `{name}`{}; all knobs: {}", nearest_hint(nearest.as_deref()), names())]
    UnknownName {
        /// The name given.
        name: String,
        /// The nearest name there is.
        nearest: Option<String>,
    },
    /// A value that cannot be read or is out of range.
    #[error("`{value}` is no value for {knob}: it takes {expected}{}", nearest_hint(nearest.as_deref()))]
    BadValue {
        /// The knob's name.
        knob: &'static str,
        /// The value given.
        value: String,
        /// What it takes: `1 to 64 threads`.
        expected: String,
        /// The nearest value there is.
        nearest: Option<String>,
    },
    /// A `--set` argument without `=`.
    #[error("`{0}` is no setting: write NAME=VALUE, as in preprocess.threads=8")]
    NoEquals(String),
    /// A value that this run cannot take.
    #[error("{knob} = {value} is refused: {reason}")]
    Refused {
        /// The knob's name.
        knob: &'static str,
        /// The value given.
        value: String,
        /// Why, and what to do.
        reason: &'static str,
    },
}

fn nearest_hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |n| format!(" (did you mean `{n}`?)"))
}

fn names() -> String {
    let names: Vec<_> = KNOBS.iter().map(|spec| spec.name).collect();
    names.join(", ")
}

/// One turn of a knob.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnobChange {
    /// When, since the start of the run.
    pub at: Nanos,
    /// The epoch that it began.
    pub epoch: u32,
    /// The knob's name.
    pub knob: String,
    /// The value before, as written for people.
    pub from: String,
    /// The value after.
    pub to: String,
}

/// What changes a running pipeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// Turn a knob.
    Set(KnobId, KnobValue),
    /// Stop loading, drain for up to a second, end.
    Stop,
}

const DELAYS: &[f64] = &[0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
const MAX_DELAYS: &[f64] = &[0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
const RATES: &[f64] =
    &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];

/// The words of `source.cache`.
pub const CACHES: &[&str] = &["none", "bytes", "batches"];
/// The words of `preprocess.filter`.
pub const FILTERS: &[&str] = &["nearest", "bilinear", "cubic", "lanczos3"];

/// The most workers that a thread knob allows.
pub const MAX_THREADS: u64 = 64;

/// The table, in the order of [`KnobId`].
pub const KNOBS: &[KnobSpec] = &[
    KnobSpec {
        id: KnobId::LoadConcurrency,
        name: "load.concurrency",
        label: "in flight",
        stage: Stage::Load,
        unit: "reads",
        kind: KnobKind::Int { min: 1, max: 256, step: Step::Double },
        class: KnobClass::Instant,
        help: "reads that may be in flight at a time",
    },
    KnobSpec {
        id: KnobId::LoadDelay,
        name: "load.delay",
        label: "delay",
        stage: Stage::Load,
        unit: "ms",
        kind: KnobKind::Millis { min: 0.0, max: 10_000.0, ladder: DELAYS },
        class: KnobClass::Instant,
        help: "emulated delay of each read, as a slow disk or network would add",
    },
    KnobSpec {
        id: KnobId::ArrivalRate,
        name: "arrival.rate",
        label: "arrival",
        stage: Stage::Load,
        unit: "img/s",
        kind: KnobKind::Rate { min: 0.1, max: 1e6, ladder: RATES },
        class: KnobClass::Instant,
        help: "images that arrive a second (latency then counts from the intended arrival), or `unlimited`",
    },
    KnobSpec {
        id: KnobId::SourceCache,
        name: "source.cache",
        label: "cache",
        stage: Stage::Load,
        unit: "",
        kind: KnobKind::Choice(CACHES),
        class: KnobClass::WarmUp,
        help: "feed from files (none), from memory (bytes) or as ready batches, to see each stage's ceiling",
    },
    KnobSpec {
        id: KnobId::QueueLoaded,
        name: "queue.loaded",
        label: "queue",
        stage: Stage::Load,
        unit: "images",
        kind: KnobKind::Int { min: 1, max: 4096, step: Step::Double },
        class: KnobClass::Instant,
        help: "capacity of the queue of loaded images",
    },
    KnobSpec {
        id: KnobId::PreprocessThreads,
        name: "preprocess.threads",
        label: "threads",
        stage: Stage::Preprocess,
        unit: "threads",
        kind: KnobKind::Int { min: 1, max: MAX_THREADS, step: Step::One },
        class: KnobClass::Instant,
        help: "preprocess workers that run: decode, resize, normalise",
    },
    KnobSpec {
        id: KnobId::PreprocessFilter,
        name: "preprocess.filter",
        label: "filter",
        stage: Stage::Preprocess,
        unit: "",
        kind: KnobKind::Choice(FILTERS),
        class: KnobClass::Instant,
        help: "resampling filter (cubic is Catmull-Rom); all but nearest are antialiased",
    },
    KnobSpec {
        id: KnobId::QueueBatches,
        name: "queue.batches",
        label: "queue",
        stage: Stage::Preprocess,
        unit: "batches",
        kind: KnobKind::Int { min: 1, max: 64, step: Step::Double },
        class: KnobClass::Instant,
        help: "capacity of the queue of batches, those being filled included",
    },
    KnobSpec {
        id: KnobId::InferBatch,
        name: "infer.batch",
        label: "batch",
        stage: Stage::Infer,
        unit: "images",
        kind: KnobKind::Int { min: 1, max: 512, step: Step::Double },
        class: KnobClass::WarmUp,
        help: "images a batch",
    },
    KnobSpec {
        id: KnobId::InferThreads,
        name: "infer.threads",
        label: "threads",
        stage: Stage::Infer,
        unit: "threads",
        kind: KnobKind::Int { min: 1, max: MAX_THREADS, step: Step::One },
        class: KnobClass::Instant,
        help: "infer workers that run; each has one batch in flight",
    },
    KnobSpec {
        id: KnobId::InferMaxDelay,
        name: "infer.max_delay",
        label: "max delay",
        stage: Stage::Infer,
        unit: "ms",
        kind: KnobKind::Millis { min: 0.0, max: 10_000.0, ladder: MAX_DELAYS },
        class: KnobClass::Instant,
        help: "how long a free infer worker lets a batch wait to be filled",
    },
];

/// Formats a number as people write it: no trailing zeros.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl fmt::Display for KnobValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Int(n) => write!(f, "{n}"),
            Self::Millis(ms) => f.write_str(&plain(ms)),
            Self::Rate(None) => f.write_str("unlimited"),
            Self::Rate(Some(rate)) => f.write_str(&plain(rate)),
            Self::Choice(_, word) => f.write_str(word),
        }
    }
}

impl Serialize for KnobValue {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Int(n) => s.serialize_u64(n),
            Self::Millis(ms) => s.serialize_f64(ms),
            Self::Rate(Some(rate)) => s.serialize_f64(rate),
            Self::Rate(None) => s.serialize_str("unlimited"),
            Self::Choice(_, word) => s.serialize_str(word),
        }
    }
}

impl KnobId {
    /// The knob's fixed properties.
    pub fn spec(self) -> &'static KnobSpec {
        &KNOBS[self as usize]
    }

    /// The knob of a name; an error names the nearest.
    ///
    /// # Errors
    /// [`KnobError::UnknownName`] where no knob has that name.
    pub fn by_name(name: &str) -> Result<Self, KnobError> {
        let found = KNOBS.iter().find(|spec| spec.name == name);
        found.map(|spec| spec.id).ok_or_else(|| KnobError::UnknownName {
            name: name.to_owned(),
            nearest: nearest(name, KNOBS.iter().map(|spec| spec.name)),
        })
    }

    /// All knobs in their order.
    pub fn all() -> impl Iterator<Item = Self> {
        KNOBS.iter().map(|spec| spec.id)
    }
}

/// The candidate most like `word`, if any is like it at all.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    candidates
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|&(score, _)| score >= 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.to_owned())
}

impl KnobSpec {
    /// What the knob takes, in words: `1 to 64 threads`.
    pub fn expects(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match self.kind {
            KnobKind::Int { min, max, .. } => format!("{min} to {max}{unit}"),
            KnobKind::Millis { min, max, .. } => format!("{} to {}{unit}", plain(min), plain(max)),
            KnobKind::Rate { min, max, .. } => {
                format!("{} to {}{unit}, or `unlimited`", plain(min), plain(max))
            }
            KnobKind::Choice(words) => words.join(", "),
        }
    }

    fn bad(&self, text: &str) -> KnobError {
        let nearest = match self.kind {
            KnobKind::Choice(words) => nearest(text, words.iter().copied()),
            _ => text.parse::<f64>().ok().filter(|n| n.is_finite()).map(|n| {
                let value = match self.kind {
                    KnobKind::Int { min, max, .. } => {
                        KnobValue::Int((n.round().max(0.0) as u64).clamp(min, max))
                    }
                    KnobKind::Millis { min, max, .. } => KnobValue::Millis(n.clamp(min, max)),
                    KnobKind::Rate { min, max, .. } => KnobValue::Rate(Some(n.clamp(min, max))),
                    KnobKind::Choice(_) => unreachable!("handled above"),
                };
                value.to_string()
            }),
        };
        KnobError::BadValue {
            knob: self.name,
            value: text.to_owned(),
            expected: self.expects(),
            nearest,
        }
    }

    /// Reads a value that a person wrote; the knob's own unit may follow (`20ms`, `500 img/s`).
    ///
    /// # Errors
    /// [`KnobError::BadValue`] with what the knob takes, where it is none or out of range.
    pub fn parse(&self, text: &str) -> Result<KnobValue, KnobError> {
        let text = text.trim();
        let number = text.strip_suffix(self.unit).unwrap_or(text).trim();
        let bad = || self.bad(number);
        match self.kind {
            KnobKind::Int { min, max, .. } => number
                .parse()
                .ok()
                .filter(|n| (min..=max).contains(n))
                .map(KnobValue::Int)
                .ok_or_else(bad),
            KnobKind::Millis { min, max, .. } => number
                .parse()
                .ok()
                .filter(|n| (min..=max).contains(n))
                .map(KnobValue::Millis)
                .ok_or_else(bad),
            KnobKind::Rate { min, max, .. } => {
                if text.eq_ignore_ascii_case("unlimited") {
                    return Ok(KnobValue::Rate(None));
                }
                let rate = number.parse().ok().filter(|n| (min..=max).contains(n));
                rate.map(|n| KnobValue::Rate(Some(n))).ok_or_else(bad)
            }
            KnobKind::Choice(words) => {
                let index = words.iter().position(|word| word.eq_ignore_ascii_case(text));
                index.map(|i| KnobValue::Choice(i, words[i])).ok_or_else(bad)
            }
        }
    }

    /// The value one step up or down from `value`; `big` takes a larger stride where there is one.
    /// At the end of the range the value stays.
    pub fn step(&self, value: KnobValue, up: bool, big: bool) -> KnobValue {
        match (self.kind, value) {
            (KnobKind::Int { min, max, step: Step::One }, KnobValue::Int(n)) => {
                let by = if big { (max - min).div_ceil(10).max(1) } else { 1 };
                let moved = if up { n.saturating_add(by) } else { n.saturating_sub(by) };
                KnobValue::Int(moved.clamp(min, max))
            }
            (KnobKind::Int { min, max, step: Step::Double }, KnobValue::Int(n)) => {
                let once = |n: u64| {
                    if up {
                        (n + 1).next_power_of_two()
                    } else if n <= 1 {
                        n
                    } else {
                        1 << (n - 1).ilog2()
                    }
                };
                let moved = if big { once(once(n)) } else { once(n) };
                KnobValue::Int(moved.clamp(min, max))
            }
            (KnobKind::Millis { min, max, ladder }, KnobValue::Millis(ms)) => {
                KnobValue::Millis(rung(ladder, ms, up).unwrap_or(ms).clamp(min, max))
            }
            (KnobKind::Rate { ladder, .. }, KnobValue::Rate(rate)) => match rate {
                None if up => KnobValue::Rate(None),
                None => KnobValue::Rate(ladder.last().copied()),
                Some(rate) => match rung(ladder, rate, up) {
                    Some(next) => KnobValue::Rate(Some(next)),
                    None if up => KnobValue::Rate(None),
                    None => value,
                },
            },
            (KnobKind::Choice(words), KnobValue::Choice(index, _)) => {
                let last = words.len() - 1;
                let moved = if up { (index + 1).min(last) } else { index.saturating_sub(1) };
                KnobValue::Choice(moved, words[moved])
            }
            _ => value,
        }
    }

    /// Where a value lies on a gauge from 0 to 1: logarithmic where steps double.
    pub fn position(&self, value: KnobValue) -> f64 {
        match (self.kind, value) {
            (KnobKind::Int { min, max, step }, KnobValue::Int(n)) => match step {
                Step::One => (n - min.min(n)) as f64 / (max - min) as f64,
                Step::Double => log_position(min as f64, max as f64, n as f64),
            },
            (KnobKind::Millis { ladder, .. }, KnobValue::Millis(ms)) => ladder_position(ladder, ms),
            (KnobKind::Rate { ladder, .. }, KnobValue::Rate(rate)) => rate.map_or(1.0, |rate| {
                ladder_position(ladder, rate) * (ladder.len() - 1) as f64 / ladder.len() as f64
            }),
            (KnobKind::Choice(words), KnobValue::Choice(index, _)) => {
                index as f64 / (words.len() - 1).max(1) as f64
            }
            _ => 0.0,
        }
    }

    /// The value at a place on a gauge from 0 to 1; the inverse of [`Self::position`] to the nearest
    /// step.
    pub fn at(&self, position: f64) -> KnobValue {
        let p = position.clamp(0.0, 1.0);
        match self.kind {
            KnobKind::Int { min, max, step: Step::One } => {
                KnobValue::Int(min + (p * (max - min) as f64).round() as u64)
            }
            KnobKind::Int { min, max, step: Step::Double } => {
                let steps = (max as f64 / min as f64).log2();
                let value = min as f64 * (p * steps).round().exp2();
                KnobValue::Int((value as u64).clamp(min, max))
            }
            KnobKind::Millis { ladder, .. } => {
                KnobValue::Millis(ladder[(p * (ladder.len() - 1) as f64).round() as usize])
            }
            KnobKind::Rate { ladder, .. } => {
                let rung = (p * ladder.len() as f64).round() as usize;
                KnobValue::Rate(ladder.get(rung).copied())
            }
            KnobKind::Choice(words) => {
                let index = (p * (words.len() - 1) as f64).round() as usize;
                KnobValue::Choice(index, words[index])
            }
        }
    }
}

fn log_position(min: f64, max: f64, value: f64) -> f64 {
    ((value / min).max(1.0).log2() / (max / min).log2()).clamp(0.0, 1.0)
}

/// The next value on a ladder from `from`, or `None` past its ends.
fn rung(ladder: &[f64], from: f64, up: bool) -> Option<f64> {
    if up {
        ladder.iter().copied().find(|&r| r > from)
    } else {
        ladder.iter().copied().rev().find(|&r| r < from)
    }
}

/// A value's place among the rungs, from 0 to 1, between rungs in proportion.
fn ladder_position(ladder: &[f64], value: f64) -> f64 {
    let last = (ladder.len() - 1) as f64;
    let above = ladder.iter().position(|&r| r >= value).unwrap_or(ladder.len() - 1);
    if above == 0 {
        return 0.0;
    }
    let (low, high) = (ladder[above - 1], ladder[above]);
    let part = ((value - low) / (high - low)).min(1.0);
    ((above - 1) as f64 + part) / last
}

/// The values of all knobs, in the order of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct KnobValues([KnobValue; KNOBS.len()]);

impl KnobValues {
    /// The defaults for a machine of `cores` cores.
    pub fn defaults(cores: usize) -> Self {
        let threads = KnobValue::Int((cores as u64).clamp(1, MAX_THREADS));
        Self([
            KnobValue::Int(8),
            KnobValue::Millis(0.0),
            KnobValue::Rate(None),
            KnobValue::Choice(0, CACHES[0]),
            KnobValue::Int(64),
            threads,
            KnobValue::Choice(2, FILTERS[2]),
            KnobValue::Int(4),
            KnobValue::Int(8),
            threads,
            KnobValue::Millis(50.0),
        ])
    }

    /// One knob's value.
    pub fn get(&self, id: KnobId) -> KnobValue {
        self.0[id as usize]
    }

    /// Sets one knob.
    pub fn set(&mut self, id: KnobId, value: KnobValue) {
        self.0[id as usize] = value;
    }

    /// Sets a knob from a `NAME=VALUE` argument.
    ///
    /// # Errors
    /// Where the name, the value or the `=` is wrong; nothing is set then.
    pub fn set_from(&mut self, assignment: &str) -> Result<KnobId, KnobError> {
        let (name, value) =
            assignment.split_once('=').ok_or_else(|| KnobError::NoEquals(assignment.to_owned()))?;
        let id = KnobId::by_name(name.trim())?;
        self.set(id, id.spec().parse(value)?);
        Ok(id)
    }

    /// All knobs with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (KnobId, KnobValue)> + '_ {
        KnobId::all().map(|id| (id, self.get(id)))
    }
}

impl Serialize for KnobValues {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self.iter().map(|(id, value)| (id.spec().name, value)))
    }
}

impl<'de> Deserialize<'de> for KnobValues {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let map = std::collections::BTreeMap::<String, serde_json::Value>::deserialize(d)?;
        let mut values = Self::defaults(1);
        for (name, value) in map {
            let text = match value {
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            };
            let id = KnobId::by_name(&name).map_err(D::Error::custom)?;
            values.set(id, id.spec().parse(&text).map_err(D::Error::custom)?);
        }
        Ok(values)
    }
}

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
        KnobValue::Millis(v) | KnobValue::Rate(Some(v)) => v.to_bits(),
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
        let ms = f64::from_bits(self.cells[id as usize].load(Ordering::Relaxed));
        std::time::Duration::from_secs_f64(ms / 1e3)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stands_in_the_order_of_the_ids() {
        for (index, spec) in KNOBS.iter().enumerate() {
            assert_eq!(spec.id as usize, index, "{}", spec.name);
        }
    }

    #[test]
    fn every_default_is_written_and_read_back_and_lies_on_its_gauge() {
        for cores in [1, 2, 16, 500] {
            for (id, value) in KnobValues::defaults(cores).iter() {
                let spec = id.spec();
                assert_eq!(spec.parse(&value.to_string()), Ok(value), "{}", spec.name);
                let position = spec.position(value);
                assert!((0.0..=1.0).contains(&position), "{} at {position}", spec.name);
                assert_eq!(spec.at(position), value, "{} at {position}", spec.name);
            }
        }
    }

    #[test]
    fn steps_go_up_to_the_top_and_down_to_the_bottom() {
        for (id, start) in KnobValues::defaults(4).iter() {
            let spec = id.spec();
            for (up, end) in [(true, 1.0), (false, 0.0)] {
                let mut value = start;
                for _ in 0..500 {
                    value = spec.step(value, up, false);
                    assert_eq!(spec.parse(&value.to_string()), Ok(value), "{}", spec.name);
                }
                // A typed delay may lie above the ladder's last rung.
                assert!((spec.position(value) - end).abs() < 1e-9, "{}: {value}", spec.name);
            }
        }
    }

    #[test]
    fn doubling_meets_the_powers_of_two() {
        let spec = KnobId::InferBatch.spec();
        let up = |n| spec.step(KnobValue::Int(n), true, false);
        let down = |n| spec.step(KnobValue::Int(n), false, false);
        assert_eq!(
            (up(1), up(8), up(9)),
            (KnobValue::Int(2), KnobValue::Int(16), KnobValue::Int(16))
        );
        assert_eq!(
            (down(16), down(9), down(1)),
            (KnobValue::Int(8), KnobValue::Int(8), KnobValue::Int(1))
        );
    }

    #[test]
    fn errors_name_the_nearest() {
        let error = KnobId::by_name("preproces.thread").unwrap_err().to_string();
        assert!(error.contains("did you mean `preprocess.threads`?"), "{error}");
        let error = KnobId::PreprocessFilter.spec().parse("cubik").unwrap_err().to_string();
        assert!(error.contains("did you mean `cubic`?"), "{error}");
        let error = KnobId::PreprocessThreads.spec().parse("900").unwrap_err().to_string();
        assert!(error.contains("1 to 64 threads") && error.contains("`64`"), "{error}");
        for text in ["", "x", "-1", "nan", "inf", "1e99"] {
            for id in [KnobId::LoadDelay, KnobId::ArrivalRate, KnobId::InferBatch] {
                assert!(id.spec().parse(text).is_err(), "{} = {text}", id.spec().name);
            }
        }
    }

    #[test]
    fn units_may_be_written() {
        assert_eq!(KnobId::LoadDelay.spec().parse("20ms"), Ok(KnobValue::Millis(20.0)));
        assert_eq!(KnobId::ArrivalRate.spec().parse("500 img/s"), Ok(KnobValue::Rate(Some(500.0))));
        assert_eq!(KnobId::ArrivalRate.spec().parse("unlimited"), Ok(KnobValue::Rate(None)));
    }

    #[test]
    fn live_knobs_return_what_was_set_and_count_epochs() {
        let live = LiveKnobs::new(&KnobValues::defaults(2));
        assert_eq!(live.values(), KnobValues::defaults(2));
        assert_eq!(live.set(KnobId::ArrivalRate, KnobValue::Rate(Some(250.0))), 1);
        assert_eq!(live.arrival_rate(), Some(250.0));
        assert_eq!(live.set(KnobId::SourceCache, KnobValue::Choice(1, "bytes")), 2);
        assert_eq!(live.values().get(KnobId::SourceCache), KnobValue::Choice(1, "bytes"));
        assert_eq!(live.epoch(), 2);
    }

    #[test]
    fn values_survive_json() {
        let mut values = KnobValues::defaults(3);
        values.set_from("load.delay=2.5").unwrap();
        values.set_from("source.cache=batches").unwrap();
        let text = serde_json::to_string(&values).unwrap();
        assert!(text.contains(r#""arrival.rate":"unlimited""#), "{text}");
        assert_eq!(serde_json::from_str::<KnobValues>(&text).unwrap(), values);
    }
}
