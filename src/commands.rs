//! What each command does; one file a command.

pub mod bench;
pub mod classify;
pub mod doctor;
mod outputs;
mod recording;
pub mod render;
pub mod replay;
pub mod run;
pub mod sweep;

use std::io;

use crate::config::ConfigError;
use crate::pipeline::infer::ModelError;
use crate::pipeline::source::SourceError;
use crate::record::stream::{OpenError, SaveError};

/// How a command ends: the exit code tells scripts what to think of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Fine.
    #[default]
    Fine = 0,
    /// Nothing could be done.
    Nothing = 1,
    /// A bad option, knob or config file.
    Usage = 2,
    /// Some inputs failed (with `--once`, in `classify` and in `bench`).
    SomeFailed = 3,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did nothing, for the person who gave it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What a person needs first: which input, and what is wrong.
    pub message: String,
    /// Ways out, a line each.
    pub hints: Vec<String>,
}

impl Failure {
    /// Nothing could be done.
    pub fn new(message: impl Into<String>) -> Self {
        Self { exit: Exit::Nothing, message: message.into(), hints: Vec::new() }
    }

    /// The command line or a setting makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, ..Self::new(message) }
    }

    /// Adds a way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// A result could not be written to `what`; where its reader has gone (`| head`), the command
    /// ends quietly.
    pub fn output(what: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self { exit: Exit::Fine, message: String::new(), hints: Vec::new() };
        }
        Self::new(format!("cannot write to {what}: {error}"))
    }

    /// Whether there is nothing to say.
    pub const fn is_quiet(&self) -> bool {
        self.message.is_empty()
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let hint = match &error {
            ConfigError::File { .. } | ConfigError::Unreadable { .. } => {
                "to run without it: --no-config"
            }
            ConfigError::Knob(_) | ConfigError::Usage(_) => "all options and knobs: pipetop --help",
        };
        Self::usage(error.to_string()).hint(hint)
    }
}

impl From<SaveError> for Failure {
    fn from(error: SaveError) -> Self {
        Self::new(error.to_string()).hint("name another file with --save")
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Option { .. } => Self::usage(error.to_string()),
            _ => Self::new(error.to_string()),
        }
    }
}

/// A text with its control characters written out: a file's name must not move the cursor.
pub fn without_controls(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Writes a command's result to stdout, all of it.
///
/// # Errors
/// Where stdout cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    use io::Write;
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::output("stdout", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_has_gone_is_no_failure() {
        let gone = Failure::output("stdout", &io::ErrorKind::BrokenPipe.into());
        assert!(gone.is_quiet() && gone.exit == Exit::Fine);
        let full = Failure::output("a.json", &io::ErrorKind::StorageFull.into());
        assert!(full.to_string().starts_with("cannot write to a.json: "));
        assert_eq!(full.exit, Exit::Nothing);
    }

    #[test]
    fn a_name_cannot_move_the_cursor() {
        let named = without_controls("a\u{1b}[2J.jpg: broken\nmore");
        assert_eq!(named, "a\\u{1b}[2J.jpg: broken\nmore");
    }

    #[test]
    fn wrong_settings_are_usage_with_a_way_out() {
        let failure = Failure::from(ConfigError::Usage("no".into()));
        assert_eq!((failure.exit, failure.hints.len()), (Exit::Usage, 1));
    }
}
