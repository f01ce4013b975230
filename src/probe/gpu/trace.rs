//! Traces: every answer of a driver with its time, in JSON lines, to be played again elsewhere.
//!
//! The first line names the format. Then each line is one answer:
//!
//! ```text
//! {"schema":"pipetop.gpu-trace/1","origin":"recorded by pipetop 0.1.0"}
//! {"at_us":0,"took_us":91000,"inventory":{"driver":"580.159.04", …}}
//! {"at_us":91210,"took_us":3,"gpu":0,"call":"busy","answer":{"values":{"busy":0.97}}}
//! {"at_us":91230,"took_us":2,"gpu":0,"call":"fan","refusal":"unsupported"}
//! ```

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use super::call::{Answer, Call, Refusal};
use super::source::{Inventory, Missing, Source};
use crate::probe::clock::{Clock, Nanos};

/// Name and version of the format.
pub const SCHEMA: &str = "pipetop.gpu-trace/1";

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    /// [`SCHEMA`].
    pub schema: String,
    /// Where it comes from: recorded or made up.
    pub origin: String,
}

/// One answer: the inventory (or what is missing), or what one GPU said to one question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Line {
    at_us: u64,
    took_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    inventory: Option<Inventory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<Missing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<Call>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<Refusal>,
}

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct TraceError {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong there, and the way out.
    pub what: String,
}

/// How often a call was asked, refused, and how long it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// How long each took, in microseconds.
    pub took_us: Vec<u64>,
    /// How many came to nothing.
    pub refused: u64,
}

/// Passes questions on and writes down the answers.
pub struct Recorder<W> {
    source: Arc<dyn Source>,
    clock: Arc<dyn Clock>,
    start: Nanos,
    out: Mutex<Out<W>>,
}

struct Out<W> {
    writer: W,
    /// The first error; nothing is written after it.
    error: Option<std::io::Error>,
    costs: BTreeMap<Call, Cost>,
}

impl<W: Write + Send> Recorder<W> {
    /// Records what `source` answers.
    ///
    /// # Errors
    /// Where the first line cannot be written.
    pub fn new(
        source: Arc<dyn Source>,
        clock: Arc<dyn Clock>,
        mut writer: W,
    ) -> std::io::Result<Self> {
        let origin = format!("recorded by pipetop {}", env!("CARGO_PKG_VERSION"));
        let head = Head { schema: SCHEMA.to_owned(), origin };
        serde_json::to_writer(&mut writer, &head)?;
        writer.write_all(b"\n")?;
        let start = clock.now();
        let out = Mutex::new(Out { writer, error: None, costs: BTreeMap::new() });
        Ok(Self { source, clock, start, out })
    }

    /// Writes out what is left and tells what the calls cost.
    ///
    /// # Errors
    /// The first error in writing.
    pub fn finish(&self) -> std::io::Result<BTreeMap<Call, Cost>> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        match out.error.take() {
            Some(error) => Err(error),
            None => out.writer.flush().map(|()| out.costs.clone()),
        }
    }

    fn write(&self, began: Nanos, line: Line) {
        let took = self.clock.now().saturating_sub(began);
        let line =
            Line { at_us: began.saturating_sub(self.start) / 1000, took_us: took / 1000, ..line };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = line.call {
            let cost = out.costs.entry(call).or_default();
            cost.took_us.push(line.took_us);
            cost.refused += u64::from(line.refusal.is_some());
        }
        if out.error.is_none() {
            let written = serde_json::to_string(&line)
                .map_err(std::io::Error::from)
                .and_then(|text| writeln!(out.writer, "{text}"));
            out.error = written.err();
        }
    }
}

impl<W: Write + Send> Source for Recorder<W> {
    fn inventory(&self) -> Result<Inventory, Missing> {
        let began = self.clock.now();
        let found = self.source.inventory();
        let (inventory, missing) = (found.clone().ok(), found.clone().err());
        self.write(began, Line { inventory, missing, ..Line::default() });
        found
    }

    fn ask(&self, gpu: usize, call: Call) -> Result<Answer, Refusal> {
        let began = self.clock.now();
        let result = self.source.ask(gpu, call);
        let (answer, refusal) = (result.clone().ok(), result.clone().err());
        let line = Line { gpu: Some(gpu), call: Some(call), answer, refusal, ..Line::default() };
        self.write(began, line);
        result
    }
}

/// A trace that is played: it answers what was answered at that time.
pub struct Recorded {
    inventory: Result<Inventory, Missing>,
    answers: BTreeMap<(usize, Call), Answers>,
    clock: Arc<dyn Clock>,
    start: Nanos,
}

struct Answers {
    /// When each was asked for, and what it was, in order of time.
    list: Vec<(Nanos, Result<Answer, Refusal>)>,
    /// Up to which one counters and events have been told: these are told once.
    told: Mutex<usize>,
}

impl Recorded {
    /// Reads a trace, to be played from now on by `clock`.
    ///
    /// # Errors
    /// The first line that cannot be used.
    pub fn read(text: &str, clock: Arc<dyn Clock>) -> Result<Self, TraceError> {
        let wrong = |line: usize, what: String| TraceError { line: line + 1, what };
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let (at, first) = lines.next().ok_or_else(|| wrong(0, "the trace is empty".to_owned()))?;
        let head: Head = serde_json::from_str(first)
            .map_err(|error| wrong(at, format!("no head of a trace ({SCHEMA}): {error}")))?;
        if head.schema != SCHEMA {
            let what = format!("the format is `{}`, and this pipetop reads {SCHEMA}", head.schema);
            return Err(wrong(at, what));
        }
        let mut inventory = None;
        let mut answers: BTreeMap<(usize, Call), Answers> = BTreeMap::new();
        for (at, line) in lines {
            let line: Line =
                serde_json::from_str(line).map_err(|error| wrong(at, error.to_string()))?;
            let asked = line.at_us * 1000;
            let (gpu, call, result) = match line {
                Line { inventory: Some(found), .. } => {
                    inventory = Some(Ok(Inventory { recorded: true, ..found }));
                    continue;
                }
                Line { missing: Some(missing), .. } => {
                    inventory = Some(Err(missing));
                    continue;
                }
                Line { gpu: Some(gpu), call: Some(call), answer: Some(answer), .. } => {
                    (gpu, call, Ok(answer))
                }
                Line { gpu: Some(gpu), call: Some(call), refusal: Some(refusal), .. } => {
                    (gpu, call, Err(refusal))
                }
                _ => {
                    let what = "it needs `inventory`, `missing`, or `gpu` and `call` with \
                                `answer` or `refusal`";
                    return Err(wrong(at, what.to_owned()));
                }
            };
            let list = answers
                .entry((gpu, call))
                .or_insert_with(|| Answers { list: Vec::new(), told: Mutex::new(0) });
            if list.list.last().is_some_and(|&(before, _)| before > asked) {
                return Err(wrong(at, "it is from before the line above it".to_owned()));
            }
            list.list.push((asked, result));
        }
        let inventory =
            inventory.ok_or_else(|| wrong(at, "no line has the inventory of GPUs".to_owned()))?;
        let start = clock.now();
        Ok(Self { inventory, answers, clock, start })
    }
}

impl Source for Recorded {
    fn inventory(&self) -> Result<Inventory, Missing> {
        self.inventory.clone()
    }

    fn ask(&self, gpu: usize, call: Call) -> Result<Answer, Refusal> {
        if call == Call::GpmKeep {
            return Ok(Answer::Kept);
        }
        let answers = self.answers.get(&(gpu, call)).ok_or(Refusal::Unsupported)?;
        let now = self.clock.now().saturating_sub(self.start);
        let due = answers.list.partition_point(|&(at, _)| at <= now);
        if matches!(call, Call::Gpm | Call::Xids) {
            let mut told = answers.told.lock().unwrap_or_else(PoisonError::into_inner);
            if *told >= due {
                return Err(Refusal::Nothing);
            }
            *told += 1;
            return answers.list[*told - 1].1.clone();
        }
        due.checked_sub(1).map_or(Err(Refusal::Nothing), |last| answers.list[last].1.clone())
    }
}
