//! `pipetop [run]`: the pipeline with a dashboard, or with a report alone.

mod conduct;
mod headless;
pub(crate) mod setup;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use self::conduct::Conductor;
use super::recording::{self, Screen};
use super::{Exit, Failure, print};
use crate::cli::{RunArgs, Sink};
use crate::config::{RunConfig, UNATTENDED};
use crate::export::json;
use crate::export::report::Report;
use crate::export::text::{self, Style};
use crate::pipeline::control::{Parts, Pipeline};
use crate::probe::gpu::{Gpus, nvml::Driver};
use crate::probe::registry::Registry;
use crate::profile::sampler::{Assembler, OWN, Sampler, run_info};
use crate::profile::snapshot::Snapshot;
use crate::record::stream::{Figures, SaveError, Saved, Saver};
use crate::tui::script::Script;
use crate::tui::{self, Feed};

/// Snapshots that wait for the screen at most; it takes the newest.
const WAITING_SNAPSHOTS: usize = 64;

/// Runs the pipeline until its end, the person's or a signal's, and reports.
///
/// # Errors
/// Where nothing could be done, with the way out.
pub fn run(args: RunArgs) -> Result<Exit, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut config = RunConfig::load(args, cores)?;
    let files = [
        ("--save", config.save.as_deref()),
        ("--json", recording::file_of(config.json.as_ref())),
        ("--output", config.output.as_deref()),
    ];
    recording::keep_apart(&config.recording, &files, &config.input.places())?;
    setup::start_log(&config)?;
    setup::try_json(config.json.as_ref())?;
    let script = recording::script(&config.recording, false)?;
    let screen = choose_screen(&mut config)?;
    recording::try_record(&config.recording)?;
    let source = setup::source(&config)?;
    let engine = setup::engine(config.engine, &config.model)?;
    config.follow(engine.info());
    let registry = if config.probes { Registry::default() } else { Registry::bare() };
    let registry = Arc::new(registry);
    let _own = registry.register(if screen == Screen::None { "main" } else { "ui" }, OWN);
    let parts = Parts {
        source,
        engine,
        knobs: config.knobs.clone(),
        once: config.once,
        max_pixels: config.max_pixels,
        output: config.output.clone(),
        cache_bytes: setup::cache_bytes(),
        batch_bytes: setup::batch_bytes(),
    };
    let pipeline = Arc::new(Pipeline::prepare(parts, &registry).map_err(setup::not_started)?);
    let outcome = watch(&config, screen, script, &pipeline)?;
    let Figures { warm, end, done } = &outcome.figures;
    let report = Report::new(warm, end, done);
    let alone = screen != Screen::Terminal;
    write_report(config.json.as_ref(), setup::text_style(config.ascii), &report, alone)?;
    verdict(&config, &pipeline, &outcome, &report)
}

/// On what the dashboard is drawn. Without a terminal a run that nothing ends is given an end.
fn choose_screen(config: &mut RunConfig) -> Result<Screen, Failure> {
    let screen = Screen::choose(&config.recording, config.headless)?;
    if screen == Screen::None && !config.headless {
        setup::tell(&["standard output is no terminal: running without the dashboard".to_owned()]);
    }
    let ends = config.once || config.duration.is_some();
    let scripted = screen != Screen::None && config.recording.script.is_some();
    if screen != Screen::Terminal && !ends && !scripted {
        let seconds = UNATTENDED.as_secs();
        setup::tell(&[format!(
            "stopping after {seconds} s: set another end with --duration or --once"
        )]);
        config.duration = Some(UNATTENDED);
    }
    Ok(screen)
}

/// The snapshots that a report is made of, and how the screen ended.
struct Outcome {
    figures: Figures,
    screen: Option<tui::TuiError>,
    told: Vec<String>,
    saved: Result<Option<Saved>, SaveError>,
}

/// Samples the pipeline, shows it, and ends it.
fn watch(
    config: &RunConfig,
    screen: Screen,
    script: Option<Script>,
    pipeline: &Arc<Pipeline>,
) -> Result<Outcome, Failure> {
    let signals = setup::Signals::watch()?;
    let run = run_info(pipeline, config.once, config.duration, config.sample_hz);
    let mut assembler = Assembler::new(Arc::clone(pipeline), run);
    if config.probes {
        let driver = Arc::new(Driver::default());
        // A run without figures of GPUs is better than none.
        match Gpus::start(driver, pipeline.registry(), pipeline.started()) {
            Ok(gpus) => assembler = assembler.with_gpus(gpus),
            Err(error) => tracing::warn!("no thread to watch GPUs with: {error}"),
        }
    }
    let conductor = Arc::new(Conductor::new(Arc::clone(pipeline)));
    let saver = match &config.save {
        Some(path) => Some(Saver::start(path, config.save_limit, pipeline.registry())?),
        None => None,
    };
    let (sender, snapshots) = mpsc::sync_channel(WAITING_SNAPSHOTS);
    let sink = {
        let conductor = Arc::clone(&conductor);
        let saved = saver.as_ref().map(Saver::sink);
        move |snapshot: &Arc<Snapshot>| {
            conductor.look(snapshot);
            if let Some(saved) = &saved {
                saved.push(snapshot);
            }
            // A screen that does not keep up misses snapshots; the next one says all the same.
            let _ = sender.try_send(Arc::clone(snapshot));
        }
    };
    let sampler = Sampler::start(assembler, config.sample_hz, sink).map_err(|error| {
        Failure::new(format!("no thread could be started: {error}"))
            .hint("lower the thread counts or the limits in force")
    })?;
    // The first sample was of nothing: all that follows is in the figures.
    pipeline.begin();
    let control = |command| pipeline.command(command);
    let stop = &signals.seen;
    let options = tui::Options {
        fps: f64::from(config.fps),
        mouse: config.mouse,
        ascii: config.ascii,
        color: setup::color(config.color),
        screenshot: config.screenshot.into(),
        reel: recording::reel(
            &config.recording,
            pipeline.source().info(),
            pipeline.engine().info(),
            true,
        ),
        script,
    };
    let feed = Feed::Live(snapshots);
    let left = match screen {
        Screen::Terminal => Some(tui::run(options, feed, &control, stop)),
        Screen::Unseen(size) => Some(Ok(tui::run_unseen(options, size, feed, &control, stop))),
        Screen::None => {
            drop(feed);
            headless::wait(&sampler, pipeline, stop);
            None
        }
    };
    let (screen, told) = match left {
        None => (None, Vec::new()),
        Some(Ok(left)) => (left.exit.err(), left.told),
        Some(Err(error)) => (Some(error), Vec::new()),
    };
    // The terminal is as it was: from here on a second signal may end the program at once.
    signals.let_a_second_one_kill();
    pipeline.stop();
    if !pipeline.wait(conductor.drain_left()) {
        pipeline.abandon();
    }
    let done = sampler.finish();
    let (warm, end) = conductor.window(&done);
    let figures = Figures { warm, end, done };
    let saved = saver.map(|saver| saver.finish(figures.clone())).transpose();
    Ok(Outcome { figures, screen, told, saved })
}

/// Tells what was saved.
fn tell_saved(saved: &Saved) {
    let Saved { path, bytes, snapshots, lost, full } = saved;
    let (path, size) = (path.display(), bytes.div_ceil(1000));
    let of = if *full { " for want of room (--save-limit)" } else { "" };
    let lost =
        if *lost > 0 { format!("; {lost} snapshots are not in it{of}") } else { String::new() };
    setup::tell(&[format!(
        "saved {snapshots} snapshots in {path}, {size} kB{lost}: pipetop replay {path}"
    )]);
}

/// The report where it belongs: text on stdout, JSON where it was asked for, alone on stdout where there
/// was no dashboard. A file that cannot be written does not cost the text.
pub(super) fn write_report(
    to: Option<&Sink>,
    style: Style,
    report: &Report,
    alone: bool,
) -> Result<(), Failure> {
    let written = match to {
        Some(Sink::Stdout) => {
            print(&json::to_string(report))?;
            if alone {
                return Ok(());
            }
            Ok(())
        }
        Some(Sink::File(path)) => File::create(path)
            .and_then(|file| {
                let mut file = BufWriter::new(file);
                json::write(report, &mut file)?;
                file.flush()
            })
            .map_err(|error| Failure::output(&path.display().to_string(), &error)),
        None => Ok(()),
    };
    let printed = print(&text::render(report, style));
    written.and(printed)
}

/// What the run comes to for scripts.
fn verdict(
    config: &RunConfig,
    pipeline: &Pipeline,
    outcome: &Outcome,
    report: &Report,
) -> Result<Exit, Failure> {
    setup::tell(&outcome.told);
    if let Some(error) = &outcome.screen {
        return Err(recording::left(error)
            .hint("the run's report is above; without a dashboard: pipetop --headless"));
    }
    if let Some(error) = pipeline.write_error() {
        return Err(Failure::new(error).hint("all figures of the report are right"));
    }
    match &outcome.saved {
        Ok(saved) => saved.iter().for_each(tell_saved),
        Err(error) => {
            return Err(Failure::new(error.to_string()).hint("all figures of the report are right"));
        }
    }
    let items = &outcome.figures.done.items;
    if items.predicted == 0 && items.failed > 0 {
        let first = items.failed_items.first();
        let example = first.map_or_else(String::new, |f| format!(": {}: {}", f.name, f.detail));
        let failure =
            Failure::new(format!("not one of {} images could be used{example}", items.failed));
        return Err(failure.hint(
            "it reads JPEG, PNG, WebP, GIF, BMP and TIFF; the report above counts the reasons",
        ));
    }
    if items.predicted == 0 && report.duration_s > 1.0 {
        return Err(Failure::new(format!("nothing came out in {:.1} s", report.duration_s))
            .hint("give it more time with --duration, or a smaller batch with -b"));
    }
    if config.once && items.failed > 0 {
        return Ok(Exit::SomeFailed);
    }
    Ok(Exit::Fine)
}

/// How long a stopped pipeline may take to bring out what is under way.
const DRAIN: Duration = Duration::from_secs(1);
