//! Every knob as data: one table serves the pipeline, the screen, the command line, the config file
//! and the reports.

mod live;
mod scale;
mod table;
#[cfg(test)]
mod tests;
mod values;

use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

use super::Stage;
use crate::probe::clock::Nanos;

pub use live::LiveKnobs;
pub use table::{CACHES, FILTERS, GILS, KNOBS, LOCKS, MAX_THREADS, SCALED_DECODES, WORKS};
pub use values::KnobValues;

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
    /// Whether JPEGs are decoded no larger than needed.
    PreprocessScaledDecode,
    /// Whether the workers share scratch buffers behind one lock.
    PreprocessLock,
    /// Whether the workers take the emulated GIL, and when they let it go.
    PreprocessGil,
    /// How long a worker waits for the emulated GIL before it asks for it.
    PreprocessGilInterval,
    /// Binding work of each image, done while the emulated GIL is held.
    PreprocessGilHold,
    /// What the workers do with an image: its pixels, or a counted loop in their place.
    PreprocessWork,
    /// How many such loops a thread does a second.
    PreprocessLoopRate,
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
    /// A number, in the knob's own unit.
    Number {
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
        /// The values that the arrow keys visit, ascending.
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
    /// A number, in the knob's own unit.
    Number(f64),
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

/// Formats a number as people write it: no trailing zeros.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl fmt::Display for KnobValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Int(n) => write!(f, "{n}"),
            Self::Millis(number) | Self::Number(number) => f.write_str(&plain(number)),
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
            Self::Millis(number) | Self::Number(number) => s.serialize_f64(number),
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

    /// The knob that must have one of some words for this one to matter at all, with these.
    pub const fn needs(self) -> Option<(Self, &'static [&'static str])> {
        match self {
            Self::PreprocessGilInterval => Some((Self::PreprocessGil, &["release", "hold"])),
            Self::PreprocessGilHold => Some((Self::PreprocessGil, &["release"])),
            Self::PreprocessLoopRate => Some((Self::PreprocessWork, &["loop"])),
            _ => None,
        }
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
