//! `pipetop sweep`: throughput at each value of a knob, and why.

mod progress;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use self::progress::Progress;
use super::run::setup;
use super::{Exit, Failure, outputs, print};
use crate::cli::{Sink, SweepArgs};
use crate::config::{Defaults, RunConfig, usable_cores};
use crate::export::sweep as export;
use crate::pipeline::Stage;
use crate::pipeline::control::{Parts, Pipeline};
use crate::pipeline::infer::EngineChoice;
use crate::pipeline::knobs::{KnobError, KnobId, KnobKind, KnobValue, KnobValues};
use crate::pipeline::pixels::PixelFormat;
use crate::probe::registry::Registry;
use crate::profile::sampler::{Assembler, OWN, Sampler, run_info};
use crate::profile::snapshot::Snapshot;
use crate::tui;
use crate::tui::event::Event;
use crate::tui::feed::Feed;
use crate::tui::pace::Input;
use crate::tune::axis::{Axis, number};
use crate::tune::conduct::conduct;
use crate::tune::sweep::{Outcome, State, Sweep, Target};
use crate::tune::work::Work;

/// Snapshots that wait at most, for the screen and for the sweep: 6 s of them.
const WAITING: usize = 64;
/// The most points: beyond, nobody waits for the end.
const MOST_POINTS: usize = 1024;

/// Measures all points and writes what was measured.
///
/// # Errors
/// Where nothing could be measured, or a result not be written.
pub fn run(args: &SweepArgs) -> Result<Exit, Failure> {
    let mut config = RunConfig::load_onto(args.run(), defaults())?;
    let works = args.works();
    check(args, &works)?;
    outputs::keep_apart(&files(args), &config.input.places())?;
    setup::start_log(&config)?;
    try_files(args)?;
    let source = setup::source(&config)?;
    let engine = setup::engine(config.engine, &config.model)?;
    config.follow(engine.info());
    make_room(&mut config, &args.over);
    let terminal = std::io::stdout().is_terminal()
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    let dashboard = terminal && !config.headless;
    let registry = Arc::new(Registry::default());
    let _own = registry.register(if dashboard { "ui" } else { "main" }, OWN);
    let parts = Parts {
        source,
        engine,
        knobs: config.knobs.clone(),
        once: false,
        max_pixels: config.max_pixels,
        output: None,
        cache_bytes: setup::cache_bytes(),
        batch_bytes: setup::batch_bytes(),
    };
    let pipeline = Arc::new(Pipeline::prepare(parts, &registry).map_err(setup::not_started)?);
    let (sweep, screen) = watch(args, &config, &works, dashboard, &pipeline)?;
    let written = write_files(args, &sweep);
    match args.json {
        Some(Sink::Stdout) => print(&export::json::to_string(&sweep))?,
        _ => print(&export::text::render(&sweep, setup::text_style(config.ascii)))?,
    }
    written?;
    verdict(&sweep, screen)
}

/// The stages before the engine, fed from memory.
fn defaults() -> Defaults {
    let mut knobs = KnobValues::defaults(usable_cores());
    if let KnobKind::Choice(words) = KnobId::SourceCache.spec().kind
        && let Some(index) = words.iter().position(|word| *word == "bytes")
    {
        knobs.set(KnobId::SourceCache, KnobValue::Choice(index, words[index]));
    }
    Defaults { engine: EngineChoice::Null(PixelFormat::default()), knobs }
}

/// Refuses what each argument allows and all together do not.
fn check(args: &SweepArgs, works: &[Work]) -> Result<(), Failure> {
    let name = |axis: &Axis| axis.name();
    if args.over.len() > 2 {
        return Err(Failure::usage(format!(
            "--over {}: a sweep goes over one knob or two",
            args.over.iter().map(name).collect::<Vec<_>>().join(", --over ")
        )));
    }
    if let [a, b] = &args.over[..]
        && a.knob == b.knob
    {
        return Err(Failure::usage(format!("--over {} is given twice", a.name()))
            .hint(format!("list all values in one: --over {a}")));
    }
    for (index, work) in works.iter().enumerate() {
        if works[..index].iter().any(|other| other.name == work.name) {
            return Err(Failure::usage(format!("--work {} is given twice", work.name)));
        }
    }
    for axis in &args.over {
        let sets = |work: &&Work| work.settings.iter().any(|&(id, _)| id == axis.knob);
        if let Some(work) = works.iter().find(sets) {
            return Err(Failure::usage(format!(
                "--work {} sets {}, which --over sweeps",
                work.name,
                axis.name()
            ))
            .hint("leave out --work, or sweep another knob"));
        }
        let short = args.knobs.short().map(|(_, setting)| setting.id);
        if args.knobs.set.iter().map(|setting| setting.id).chain(short).any(|id| id == axis.knob) {
            return Err(Failure::usage(format!(
                "{} is set and swept: leave out one of the two",
                axis.name()
            )));
        }
    }
    let points = works.len() * args.over.iter().map(|axis| axis.values.len()).product::<usize>();
    if points > MOST_POINTS {
        return Err(Failure::usage(format!("{points} points are more than {MOST_POINTS}"))
            .hint("take larger steps, as in 1..64:8 or 1..64:x2"));
    }
    Ok(())
}

/// The files that are to be written.
fn files(args: &SweepArgs) -> Vec<(&'static str, &Path)> {
    let json = match &args.json {
        Some(Sink::File(path)) => Some(path.as_path()),
        Some(Sink::Stdout) | None => None,
    };
    [
        ("--csv", args.csv.as_deref()),
        ("--json", json),
        ("--svg", args.svg.as_deref()),
        ("--png", args.png.as_deref()),
    ]
    .into_iter()
    .filter_map(|(flag, path)| Some((flag, path?)))
    .collect()
}

/// Fails before anything is measured where a result could not be written in the end.
fn try_files(args: &SweepArgs) -> Result<(), Failure> {
    for (flag, path) in files(args) {
        let opened = std::fs::File::options().append(true).create(true).open(path);
        opened.map_err(|error| {
            Failure::output(&path.display().to_string(), &error)
                .hint(format!("name another file with {flag}"))
        })?;
    }
    Ok(())
}

/// Makes queues large enough for the most threads of the sweep, and the null engine's threads few, where
/// nobody set them: otherwise the queues would limit, and not the threads.
fn make_room(config: &mut RunConfig, axes: &[Axis]) {
    let swept = |id| axes.iter().find(|axis| axis.knob == id);
    let ends = |id| {
        let values =
            swept(id).map_or_else(|| vec![config.knobs.get(id)], |axis| axis.values.clone());
        let numbers = values.into_iter().filter_map(number);
        numbers.fold((f64::MAX, 0.0), |(low, high), n| (n.min(low), n.max(high)))
    };
    let free = |id: KnobId| swept(id).is_none() && !config.set.contains(&id);
    let int = |n: f64| KnobValue::Int(n as u64);
    let (threads, batch) = (ends(KnobId::PreprocessThreads).1, ends(KnobId::InferBatch).0);
    let mut more = Vec::new();
    if free(KnobId::InferThreads) && matches!(config.engine, EngineChoice::Null(_)) {
        more.push((KnobId::InferThreads, int(1.0)));
    }
    let raise = |id: KnobId, least: f64| {
        let present = number(config.knobs.get(id)).unwrap_or(0.0);
        let KnobKind::Int { max, .. } = id.spec().kind else { return None };
        (free(id) && present < least).then(|| (id, int(least.min(max as f64))))
    };
    // Each worker holds one slot; two batches more are on their way.
    more.extend(raise(KnobId::QueueBatches, (2.0 * threads / batch).ceil() + 2.0));
    more.extend(raise(KnobId::QueueLoaded, 4.0 * threads));
    for (id, value) in more {
        config.knobs.set(id, value);
    }
}

/// The stage whose threads tell why: the one of the first knob that belongs to one with threads.
fn stage(axes: &[Axis]) -> Stage {
    let mut stages = axes.iter().map(|axis| axis.knob.spec().stage);
    let threaded = axes.iter().find(|axis| axis.counts_threads());
    threaded
        .map(|axis| axis.knob.spec().stage)
        .or_else(|| stages.next())
        .unwrap_or(Stage::Preprocess)
}

/// Measures, with a screen or without.
fn watch(
    args: &SweepArgs,
    config: &RunConfig,
    works: &[Work],
    dashboard: bool,
    pipeline: &Arc<Pipeline>,
) -> Result<(Sweep, Option<tui::TuiError>), Failure> {
    let signals = setup::Signals::watch()?;
    let run = run_info(pipeline, false, None, config.sample_hz);
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let sweep = Sweep {
        run: Arc::new(run.clone()),
        started_at: since_1970.map_or(0, |time| time.as_secs()),
        axes: args.over.clone(),
        works: works.to_vec(),
        base: config.knobs.clone(),
        stage: stage(&args.over),
        target: Target {
            relative: args.ci,
            limit: args.limit.as_nanos() as u64,
            // Two samples at the least, so that a slice is not a sample's chance.
            slice: (2e9 / config.sample_hz).min(2e8) as u64,
        },
        seed: args.seed,
        points: Sweep::plan(&args.over, works, args.seed),
        now: None,
        state: State::Running,
        elapsed: 0,
        failed: 0,
    };
    let (sender, snapshots) = mpsc::sync_channel(WAITING);
    let (to_screen, for_screen) = mpsc::sync_channel(WAITING);
    let sink = move |snapshot: &Arc<Snapshot>| {
        // Who does not keep up misses snapshots; the next one says all the same.
        let _ = sender.try_send(Arc::clone(snapshot));
        let _ = to_screen.try_send(Arc::clone(snapshot));
    };
    let assembler = Assembler::new(Arc::clone(pipeline), run);
    let sampler = Sampler::start(assembler, config.sample_hz, sink).map_err(|error| {
        Failure::new(format!("no thread could be started: {error}"))
            .hint("lower the thread counts or the limits in force")
    })?;
    pipeline.begin();
    let outcome = if dashboard {
        with_screen(sweep, config, pipeline, snapshots, for_screen, &signals.seen)
    } else {
        drop(for_screen);
        let mut progress = Progress::new();
        let tell = &mut |sweep: &Sweep| progress.show(sweep);
        Ok((conduct(sweep, pipeline, &snapshots, &signals.seen, tell), None))
    };
    // The terminal is as it was: from here on a second signal may end the program at once.
    signals.let_a_second_one_kill();
    pipeline.stop();
    // Everything that counts is measured: what is under way need not come out.
    pipeline.abandon();
    drop(sampler.finish());
    outcome
}

/// Ends a pipeline when it is dropped.
struct End<'a>(&'a Pipeline);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.stop();
        self.0.abandon();
    }
}

/// Measures on a thread of its own while the screen shows it; leaving the screen ends it.
fn with_screen(
    sweep: Sweep,
    config: &RunConfig,
    pipeline: &Arc<Pipeline>,
    snapshots: Receiver<Arc<Snapshot>>,
    for_screen: Receiver<Arc<Snapshot>>,
    signals: &Arc<AtomicBool>,
) -> Result<(Sweep, Option<tui::TuiError>), Failure> {
    let over = Arc::new(AtomicBool::new(false));
    let screen: Arc<Mutex<Option<Sender<Input>>>> = Arc::default();
    let measuring = {
        let (pipeline, over, screen) =
            (Arc::clone(pipeline), Arc::clone(&over), Arc::clone(&screen));
        move || {
            let registry = Arc::clone(pipeline.registry());
            let _own = registry.register("sweep", OWN);
            let mut tell = |sweep: &Sweep| {
                let screen = screen.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(screen) = &*screen {
                    // A screen that is gone needs no news.
                    let _ = screen.send(Input::Event(Event::Sweep(Arc::new(sweep.clone()))));
                }
            };
            tell(&sweep);
            // The screen ends with the pipeline, whatever ends the sweep.
            let _end = End(&pipeline);
            conduct(sweep, &pipeline, &snapshots, &over, &mut tell)
        }
    };
    let options = tui::Options {
        fps: f64::from(config.fps),
        mouse: config.mouse,
        ascii: config.ascii,
        color: setup::color(config.color),
        screenshot: config.screenshot.into(),
        ..tui::Options::default()
    };
    let control = |command| match command {
        crate::pipeline::knobs::Command::Set(id, value) => Err(KnobError::Refused {
            knob: id.spec().name,
            value: value.to_string(),
            reason: "the sweep turns the knobs",
        }),
        command @ crate::pipeline::knobs::Command::Stop => pipeline.command(command),
    };
    let mut thread = None;
    let feed = |inputs: Sender<Input>| -> std::io::Result<()> {
        *screen.lock().unwrap_or_else(PoisonError::into_inner) = Some(inputs);
        let builder = std::thread::Builder::new().name("sweep".to_owned());
        thread = Some(builder.spawn(measuring)?);
        Ok(())
    };
    let shown = tui::run::run_feeding(options, Feed::Live(for_screen), &control, signals, feed);
    over.store(true, Ordering::Release);
    let measured = thread.map(std::thread::JoinHandle::join);
    match (measured, shown) {
        (Some(Ok(sweep)), shown) => Ok((sweep, shown.and_then(|left| left.exit).err())),
        (Some(Err(_)), _) => {
            Err(Failure::new("the sweep's thread panicked")
                .hint("the place is in the log: --log FILE"))
        }
        (None, Err(error)) => {
            Err(Failure::new(error.to_string())
                .hint("without a dashboard: pipetop sweep --headless …"))
        }
        (None, Ok(_)) => Err(Failure::new("nothing was measured")),
    }
}

/// Writes all files; the first that fails is told, and costs none of the others.
fn write_files(args: &SweepArgs, sweep: &Sweep) -> Result<(), Failure> {
    let mut result = Ok(());
    for (flag, path) in files(args) {
        let bytes = match flag {
            "--csv" => Ok(export::csv::to_string(sweep).into_bytes()),
            "--json" => Ok(export::json::to_string(sweep).into_bytes()),
            "--svg" => Ok(export::svg::to_string(sweep).into_bytes()),
            _ => export::png::render(&export::svg::to_string(sweep)),
        };
        let written = bytes.map_err(Failure::new).and_then(|bytes| {
            std::fs::File::create(path)
                .and_then(|mut file| file.write_all(&bytes))
                .map_err(|error| Failure::output(&path.display().to_string(), &error))
        });
        result = result.and(written);
    }
    result
}

/// What the sweep comes to for scripts.
fn verdict(sweep: &Sweep, screen: Option<tui::TuiError>) -> Result<Exit, Failure> {
    if let Some(error) = screen {
        return Err(Failure::new(error.to_string())
            .hint("what was measured is above; without a dashboard: pipetop sweep --headless …"));
    }
    if sweep.points.iter().any(|point| point.measured().is_some()) {
        return Ok(Exit::Fine);
    }
    let gap = sweep.points.iter().find_map(|point| match &point.outcome {
        Outcome::Gap(why) => Some(why.as_str()),
        Outcome::Measured(_) | Outcome::Waiting => None,
    });
    match gap {
        Some(why) => Err(Failure::new(format!("not one point could be measured: {why}"))
            .hint("give each more time with --limit, or make an image cheaper")),
        None => Err(Failure::new("it was ended before the first point was measured")),
    }
}
