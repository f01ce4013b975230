//! What a run is made of, from its settings: log, signals, source, engine.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::cli::{ColorChoice, LogLevel, Sink};
use crate::commands::{Failure, without_controls};
use crate::config::{InputChoice, RunConfig};
use crate::export::text::Style;
use crate::pipeline::control::StartError;
use crate::pipeline::infer::{Engine, EngineChoice, ModelOptions, build_engine_noting};
use crate::pipeline::source::Source;
use crate::tui;

/// Sends the log to a file, where one was asked for; never to the screen.
pub(crate) fn start_log(config: &RunConfig) -> Result<(), Failure> {
    let Some(path) = &config.log else { return Ok(()) };
    let file = std::fs::File::options().append(true).create(true).open(path);
    let file = file.map_err(|error| {
        Failure::new(format!("{}: cannot be written: {error}", path.display()))
            .hint("name another file with --log")
    })?;
    let level = match config.log_level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
        LogLevel::Trace => tracing::Level::TRACE,
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .with_writer(Mutex::new(file))
        .finish();
    // A second run in one process (a test) keeps the first log.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

/// What the signals that end a run have set.
pub(crate) struct Signals {
    /// One of SIGINT, SIGTERM and SIGHUP came.
    pub(crate) seen: Arc<AtomicBool>,
    armed: Arc<AtomicBool>,
}

impl Signals {
    /// Watches them from now on; before, they end the program as ever.
    pub(crate) fn watch() -> Result<Self, Failure> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let signals = Self { seen: Arc::default(), armed: Arc::default() };
        let failed =
            |error: std::io::Error| Failure::new(format!("signals cannot be watched: {error}"));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_conditional_shutdown(
                signal,
                130,
                Arc::clone(&signals.armed),
            )
            .map_err(failed)?;
            signal_hook::flag::register(signal, Arc::clone(&signals.seen)).map_err(failed)?;
        }
        Ok(signals)
    }

    /// From now on a further signal ends the program at once. Not while the screen is up: the terminal
    /// would be left as it is then.
    pub(crate) fn let_a_second_one_kill(&self) {
        self.armed.store(true, Ordering::Release);
    }
}

/// Fails early where the JSON report could not be written in the end.
pub(crate) fn try_json(to: Option<&Sink>) -> Result<(), Failure> {
    let Some(Sink::File(path)) = to else { return Ok(()) };
    try_file(path, "--json")
}

/// Fails early where a file could not be written; what is in it stays for now.
pub(crate) fn try_file(path: &Path, flag: &str) -> Result<(), Failure> {
    let opened = std::fs::File::options().append(true).create(true).open(path);
    opened.map(drop).map_err(|error| {
        Failure::output(&path.display().to_string(), &error)
            .hint(format!("name another file with {flag}"))
    })
}

/// The input of a run, what was odd about it told.
pub(crate) fn source(config: &RunConfig) -> Result<Source, Failure> {
    if let InputChoice::Synthetic { images, .. } = config.input {
        tell(&[format!("making {images} built-in images …")]);
    }
    let source = config.input.open()?;
    tell(source.notices());
    Ok(source)
}

/// An engine with its model, notes on it told.
pub(crate) fn engine(
    choice: EngineChoice,
    model: &ModelOptions,
) -> Result<Arc<dyn Engine>, Failure> {
    let (engine, notes) = build_engine_noting(&choice, model)?;
    tell(&notes);
    Ok(engine)
}

/// Tells notices on stderr; where nobody reads it, nothing is lost.
pub(crate) fn tell(notes: &[String]) {
    use std::io::Write;
    for note in notes {
        let _ = writeln!(std::io::stderr(), "pipetop: {}", without_controls(note));
    }
}

/// Why the pipeline did not start.
pub(crate) fn not_started(error: StartError) -> Failure {
    match error {
        StartError::Knob(error) => Failure::usage(error.to_string()),
        error => Failure::new(error.to_string()),
    }
}

/// The most memory that `source.cache = bytes` takes: a quarter of what there is, 4 GiB at most.
pub(crate) fn cache_bytes() -> u64 {
    (memory() / 4).min(4 << 30)
}

/// The most memory that batches take: half of what there is.
pub(crate) fn batch_bytes() -> u64 {
    memory() / 2
}

/// Memory that this process may use: the machine's, or the container's limit.
fn memory() -> u64 {
    const UNKNOWN: u64 = 4 << 30;
    let what = sysinfo::RefreshKind::nothing()
        .with_memory(sysinfo::MemoryRefreshKind::nothing().with_ram());
    sysinfo::System::new_with_specifics(what).map_or(UNKNOWN, |system| {
        let limit = system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
        system.total_memory().min(limit)
    })
}

/// The screen's colours.
pub(crate) fn color(choice: ColorChoice) -> tui::ColorChoice {
    match choice {
        ColorChoice::Auto => tui::ColorChoice::Auto,
        ColorChoice::Always => tui::ColorChoice::Indexed,
        ColorChoice::Never => tui::ColorChoice::Never,
    }
}

/// How the text report is written.
pub(crate) const fn text_style(ascii: bool) -> Style {
    Style { ascii }
}
