//! What a run and a replay have in common: on what their dashboard is drawn, and how that is recorded.

use std::io::IsTerminal;
use std::path::Path;

use super::run::setup;
use super::{Failure, outputs, without_controls};
use crate::cli::Sink;
use crate::config::RecordingConfig;
use crate::profile::snapshot::{EngineInfo, InputInfo};
use crate::tui::TuiError;
use crate::tui::reel::ReelOptions;
use crate::tui::script::{Script, ScriptError};

/// On what a dashboard is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Screen {
    /// On the terminal.
    Terminal,
    /// On a screen of that size that nobody sees.
    Unseen((u16, u16)),
    /// There is none.
    None,
}

impl Screen {
    /// What there is for it.
    pub(super) fn choose(recording: &RecordingConfig, headless: bool) -> Result<Self, Failure> {
        if let Some(size) = recording.size {
            return Ok(Self::Unseen(size));
        }
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = std::io::stdout().is_terminal() && !dumb;
        if terminal && !headless {
            return Ok(Self::Terminal);
        }
        let asked = [("--record", &recording.record), ("--script", &recording.script)];
        if let Some((flag, _)) = asked.iter().find(|(_, path)| path.is_some()) {
            let message =
                format!("{flag} is for the dashboard, and standard output is no terminal");
            return Err(Failure::usage(message)
                .hint("to record it without one: --record FILE.cast --screen 100x30"));
        }
        Ok(Self::None)
    }
}

/// The script that was named, if one was.
pub(super) fn script(
    recording: &RecordingConfig,
    replay: bool,
) -> Result<Option<Script>, ScriptError> {
    recording.script.as_ref().map(|path| Script::read(path, replay)).transpose()
}

/// Refuses files that would overwrite one another or an input.
pub(super) fn keep_apart(
    recording: &RecordingConfig,
    others: &[(&str, Option<&Path>)],
    inputs: &[&Path],
) -> Result<(), Failure> {
    let record = ("--record", recording.record.as_deref());
    let files = others.iter().copied().chain([record]);
    let files: Vec<(&str, &Path)> =
        files.filter_map(|(flag, path)| path.map(|path| (flag, path))).collect();
    let script = recording.script.as_deref();
    outputs::keep_apart(&files, &inputs.iter().copied().chain(script).collect::<Vec<_>>())
}

/// The file of a sink, where it is one.
pub(super) fn file_of(sink: Option<&Sink>) -> Option<&Path> {
    match sink {
        Some(Sink::File(path)) => Some(path),
        Some(Sink::Stdout) | None => None,
    }
}

/// Fails early where a screencast could not be written.
pub(super) fn try_record(recording: &RecordingConfig) -> Result<(), Failure> {
    recording.record.as_ref().map_or(Ok(()), |path| setup::try_file(path, "--record"))
}

/// How the screen is recorded.
pub(super) fn reel(
    recording: &RecordingConfig,
    input: &InputInfo,
    engine: &EngineInfo,
    dated: bool,
) -> ReelOptions {
    let RecordingConfig { record, version, .. } = recording;
    let title = without_controls(&format!("pipetop: {} on {}", input.name, engine.name));
    ReelOptions { path: record.clone(), version: *version, title: Some(title), dated }
}

/// What a screen that could not go on comes to.
pub(super) fn left(error: &TuiError) -> Failure {
    Failure::new(error.to_string())
}

impl From<ScriptError> for Failure {
    fn from(error: ScriptError) -> Self {
        Self::usage(error.to_string())
    }
}
