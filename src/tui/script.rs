//! A demo as data: what to press, to turn and to say, and when.
//!
//! ```toml
//! [[step]]
//! at = 2.5                         # seconds since the start; or:
//! when = "limit preprocess"        # as soon as it is so, within `timeout` seconds (10)
//! caption = "{limit} limits {engine}" # with figures as they are then; "" takes a caption away
//! key = "2"                        # or a list of keys
//! screen = "threads"
//! set = "preprocess.threads=4"     # in a live run
//! seek = 12                        # in a replay
//! wait = 3                         # before the next step
//! end = true
//! ```
//!
//! Steps are taken in their order. One whose time has passed is taken at once; one whose condition does
//! not come to be in time ends the script with an error, so that no caption says what is not so, unless
//! `optional = true`: then it is passed over.

mod captions;
mod conditions;
mod keys;
mod parse;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ratatui::crossterm::event::KeyEvent;

pub use self::captions::Caption;
use self::conditions::Condition;
use super::app::App;
use super::screens::Screen;
use crate::pipeline::knobs::{KnobId, KnobValue};
use crate::probe::clock::Nanos;

/// Why a script cannot be played, with its file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", .path.display())]
pub struct ScriptError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what to write.
    pub message: String,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Go to a screen.
    Screen(Screen),
    /// Press a key.
    Key(KeyEvent),
    /// Turn a knob.
    Set(KnobId, KnobValue),
    /// Go to a moment of the replay.
    Seek(Nanos),
    /// Say something; `None` says nothing any more.
    Caption(Option<Caption>),
    /// Leave.
    End,
}

/// When a step is taken.
#[derive(Clone, Debug, PartialEq)]
enum When {
    /// After the one before.
    Next,
    /// So long after the start.
    At(Nanos),
    /// As soon as something is so.
    Is { condition: Condition, words: String, timeout: Nanos, optional: bool },
}

#[derive(Clone, Debug, PartialEq)]
struct Step {
    /// Where it stands in the text.
    at: usize,
    when: When,
    acts: Vec<Act>,
    wait: Nanos,
}

/// A script, and how far it has come.
#[derive(Clone, Debug)]
pub struct Script {
    path: PathBuf,
    steps: VecDeque<Step>,
    /// The lines of all steps, those that were taken too.
    lines: Vec<usize>,
    /// When it was begun.
    began: Option<Nanos>,
    /// Before then the next step is not looked at.
    ready: Nanos,
}

impl Script {
    /// Reads a script for a live run, or for a replay.
    ///
    /// # Errors
    /// Where it cannot be read or makes no sense.
    pub fn read(path: &Path, replay: bool) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path).map_err(|error| ScriptError {
            path: path.to_owned(),
            line: 1,
            message: format!("cannot be read: {error}"),
        })?;
        Self::parse(&text, path, replay)
    }

    /// Reads the text of a script at `path`.
    ///
    /// # Errors
    /// Where it makes no sense.
    pub fn parse(text: &str, path: &Path, replay: bool) -> Result<Self, ScriptError> {
        let steps = parse::steps(text, replay).map_err(|fault| {
            let line = line(text, fault.at.start);
            ScriptError { path: path.to_owned(), line, message: fault.message }
        })?;
        let lines = steps.iter().map(|step| line(text, step.at)).collect();
        Ok(Self { path: path.to_owned(), steps: steps.into(), lines, began: None, ready: 0 })
    }

    /// What is to be done at `now`, given what is on the screen.
    ///
    /// # Errors
    /// Where a condition did not come to be in time.
    pub fn play(&mut self, now: Nanos, app: &App) -> Result<Vec<Act>, ScriptError> {
        let began = *self.began.get_or_insert(now);
        self.ready = self.ready.max(began);
        let mut acts = Vec::new();
        while acts.last() != Some(&Act::End) {
            let Some(step) = self.steps.front().filter(|_| self.ready <= now) else { break };
            let pass = match &step.when {
                When::At(at) if began + at > now => break,
                When::Next | When::At(_) => false,
                When::Is { condition, .. } if acts.is_empty() && condition.holds(app) => false,
                // What was done just now has yet to be seen.
                When::Is { .. } if !acts.is_empty() => break,
                When::Is { words, timeout, optional, .. } => {
                    if now < self.ready.saturating_add(*timeout) {
                        break;
                    }
                    if !optional {
                        return Err(self.too_late(words, *timeout));
                    }
                    true
                }
            };
            let Some(step) = self.steps.pop_front() else { break };
            self.ready = now + if pass { 0 } else { step.wait };
            if !pass {
                acts.extend(step.acts);
            }
        }
        Ok(acts)
    }

    fn too_late(&self, words: &str, timeout: Nanos) -> ScriptError {
        let line = self.lines.get(self.lines.len() - self.steps.len()).copied().unwrap_or(1);
        let seconds = Duration::from_nanos(timeout).as_secs_f64();
        let message = format!(
            "`{words}` did not come to be within {seconds} s: set `timeout` higher, or `optional = true` to \
             pass the step over"
        );
        ScriptError { path: self.path.clone(), line, message }
    }

    /// When to look again, at the latest; `None` before the start.
    pub fn due(&self) -> Option<Nanos> {
        let began = self.began?;
        let Some(step) = self.steps.front() else { return Some(self.ready) };
        Some(match &step.when {
            When::At(at) => self.ready.max(began + at),
            When::Is { timeout, .. } => self.ready.saturating_add(*timeout),
            When::Next => self.ready,
        })
    }

    /// Whether all steps were taken by `now`, and the last one's wait is over.
    pub fn is_over(&self, now: Nanos) -> bool {
        self.steps.is_empty() && self.ready <= now
    }
}

/// The line, from 1, of a place in a text.
fn line(text: &str, at: usize) -> usize {
    text.char_indices().filter(|&(place, c)| place < at && c == '\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn script(text: &str) -> Script {
        Script::parse(text, Path::new("demo.toml"), false).unwrap()
    }

    fn caption(text: &str) -> Act {
        Act::Caption(Caption::read(text).ok())
    }

    #[test]
    fn steps_are_taken_at_their_times_and_in_their_order() {
        let mut script = script(
            "[[step]]\nat = 1\ncaption = 'a'\nwait = 2\n[[step]]\ncaption = 'b'\n\
             [[step]]\nat = 2.5\nend = true\n[[step]]\ncaption = 'never'\n",
        );
        let app = App::default();
        let start = 7 * SECOND;
        assert_eq!(script.play(start, &app), Ok(vec![]));
        assert_eq!(script.due(), Some(start + SECOND));
        assert_eq!(script.play(start + SECOND, &app), Ok(vec![caption("a")]));
        assert_eq!(script.play(start + 2 * SECOND, &app), Ok(vec![]));
        assert_eq!(script.due(), Some(start + 3 * SECOND));
        // What is late is taken at once, and nothing after the end.
        assert_eq!(script.play(start + 3 * SECOND, &app), Ok(vec![caption("b"), Act::End]));
    }

    #[test]
    fn a_condition_that_does_not_come_to_be_names_its_line() {
        let text = "[[step]]\ncaption = 'a'\n\n[[step]]\nwhen = 'limit infer'\ntimeout = 2\ncaption = 'no'\n";
        let app = App::default();
        let mut late = script(text);
        assert_eq!(late.play(0, &app), Ok(vec![caption("a")]));
        assert_eq!(late.play(SECOND, &app), Ok(vec![]));
        let error = late.play(2 * SECOND, &app).unwrap_err().to_string();
        assert!(
            error.starts_with("demo.toml:5: `limit infer` did not come to be within 2 s"),
            "{error}"
        );

        let mut passed = script(&format!("{text}optional = true\n[[step]]\ncaption = 'b'\n"));
        assert_eq!(passed.play(0, &app), Ok(vec![caption("a")]));
        assert_eq!(passed.play(2 * SECOND, &app), Ok(vec![caption("b")]));
        assert!(passed.is_over(2 * SECOND));
    }
}
