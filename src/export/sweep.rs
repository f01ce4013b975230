//! What is left of a sweep: a table for people, CSV and JSON for scripts, a picture for both.

pub mod csv;
pub mod json;
pub mod picture;
pub mod png;
pub mod svg;
pub mod text;

use crate::profile::limit::Limit;
use crate::profile::snapshot::Wait;
use crate::profile::window::Shares;
use crate::tune::sweep::State;

/// Name and version of the formats. Keys and columns may be added under this name; none changes or goes.
pub const SCHEMA: &str = "pipetop.sweep/1";

/// Where the time of a stage's threads went, in the order in which it is told everywhere.
pub const STATES: [&str; 9] =
    ["running", "runnable", "lock", "gpu", "io", "delay", "backpressured", "starved", "other"];

/// The shares in the order of [`STATES`].
pub fn shares(of: &Shares) -> [f64; STATES.len()] {
    [
        of.running,
        of.runnable,
        of.wait(Wait::Lock),
        of.wait(Wait::Gpu),
        of.wait(Wait::Io),
        of.wait(Wait::Delay),
        of.wait(Wait::Backpressured),
        of.wait(Wait::Starved),
        of.other,
    ]
}

/// A sentence in which numbers and their units are not parted by a line's end.
fn bound(text: &str) -> String {
    let fixed = [
        (" ×", "\u{a0}×"),
        ("× ", "×\u{a0}"),
        (" %", "\u{a0}%"),
        (" ± ", "\u{a0}±\u{a0}"),
        (" ms ", "\u{a0}ms "),
    ];
    fixed.into_iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The same once its lines are made.
fn unbound(text: &str) -> String {
    text.replace('\u{a0}', " ")
}

/// What limits, in a word.
fn limit(of: Limit) -> &'static str {
    match of {
        Limit::Measuring => "measuring",
        Limit::Stage(stage) => stage.name(),
        Limit::Input => "input",
    }
}

/// How far a sweep came, in a word.
const fn state(of: State) -> &'static str {
    match of {
        State::Running => "running",
        State::Done => "done",
        State::Interrupted => "interrupted",
    }
}

/// Six significant digits: finer than anything that is measured here.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(5 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}
