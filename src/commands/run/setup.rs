//! What a run is made of, from its settings: log, signals, source, engine.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use crate::cli::{ColorChoice, LogLevel};
use crate::commands::Failure;
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

/// A flag that SIGINT, SIGTERM and SIGHUP set; a second SIGINT ends the program at once.
pub(crate) fn signals() -> Result<Arc<AtomicBool>, Failure> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let flag = Arc::new(AtomicBool::new(false));
    let failed =
        |error: std::io::Error| Failure::new(format!("signals cannot be watched: {error}"));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first one finds the flag unset, sets it, and does no more.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .map_err(failed)?;
    }
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(failed)?;
    }
    Ok(flag)
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
        let _ = writeln!(std::io::stderr(), "pipetop: {note}");
    }
}

/// Why the pipeline did not start.
pub(crate) fn not_started(error: StartError) -> Failure {
    match error {
        StartError::Knob(error) => Failure::usage(error.to_string()),
        error => Failure::new(error.to_string()),
    }
}

/// The most memory that `source.cache = bytes` takes: a quarter of the machine's, 4 GiB at most.
pub(crate) fn cache_bytes() -> u64 {
    const MOST: u64 = 4 << 30;
    let what = sysinfo::RefreshKind::nothing()
        .with_memory(sysinfo::MemoryRefreshKind::nothing().with_ram());
    sysinfo::System::new_with_specifics(what).map_or(MOST / 4, |system| {
        let limit = system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
        (system.total_memory().min(limit) / 4).min(MOST)
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
pub(crate) fn text_style(config: &RunConfig) -> Style {
    Style { ascii: config.ascii }
}
