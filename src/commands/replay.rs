//! `pipetop replay`: a saved run on the dashboard, or its report.

use std::sync::Arc;

use super::recording::{self, Screen};
use super::run::{setup, write_report};
use super::{Exit, Failure};
use crate::cli::{ReplayArgs, Sink};
use crate::config::RecordingConfig;
use crate::export::report::Report;
use crate::pipeline::knobs::{Command, KnobError};
use crate::probe::clock::Nanos;
use crate::profile::marks::Marks;
use crate::profile::snapshot::Snapshot;
use crate::record::player::{Player, Steer};
use crate::record::render::screenshot::Kind;
use crate::record::stream::{Figures, OpenError, Stream};
use crate::tui::{self, Feed, TuiError};

/// Replays a saved run until the person's end or a signal's, and reports it.
///
/// # Errors
/// Where the file cannot be replayed, or there is nothing to show it on.
pub fn run(args: &ReplayArgs) -> Result<Exit, Failure> {
    let headless = args.headless || args.json == Some(Sink::Stdout);
    let recording = RecordingConfig::settle(args.recording.clone(), headless)?;
    let screen = Screen::choose(&recording, headless)?;
    let json = ("--json", recording::file_of(args.json.as_ref()));
    recording::keep_apart(&recording, &[json], &[&args.file])?;
    if args.looping && recording.size.is_some() && recording.script.is_none() {
        return Err(Failure::usage("--loop with --screen would be recorded without an end")
            .hint("leave --loop out, or end it by a script: --script FILE.toml"));
    }
    let mut stream = Stream::open(&args.file)?;
    setup::tell(&stream.notices());
    setup::try_json(args.json.as_ref())?;
    let at = args.at.map(|at| at.as_nanos() as Nanos);
    let report_at = at.filter(|_| screen == Screen::None);
    let figures = figures(&mut stream, report_at)?;
    let error = if screen == Screen::None { None } else { show(args, &recording, screen, stream)? };
    let report = Report::new(&figures.warm, &figures.end, &figures.done);
    let style = setup::text_style(args.ascii);
    write_report(args.json.as_ref(), style, &report, screen != Screen::Terminal)?;
    error.map_or(Ok(Exit::Fine), |error| Err(recording::left(&error)))
}

/// Shows the run; what made the screen end before its time comes back.
fn show(
    args: &ReplayArgs,
    recording: &RecordingConfig,
    screen: Screen,
    stream: Stream,
) -> Result<Option<TuiError>, Failure> {
    let script = recording::script(recording, true)?;
    recording::try_record(recording)?;
    let mut player = Player::new(stream, args.speed, args.looping)?;
    if let Some(at) = args.at {
        player.steer(Steer::To(at.as_nanos() as Nanos));
    }
    let signals = setup::Signals::watch()?;
    let run = player.history().latest().map(|latest| Arc::clone(&latest.run)).unwrap_or_default();
    let options = tui::Options {
        fps: f64::from(args.fps),
        mouse: !args.no_mouse,
        ascii: args.ascii || tui::ascii_wanted(|name| std::env::var(name).ok()),
        color: setup::color(args.color),
        screenshot: Kind::default(),
        // Two recordings of one replay are the same, byte for byte.
        reel: recording::reel(recording, &run.input, &run.engine, false),
        script,
    };
    let (feed, stop) = (Feed::Replay(Box::new(player)), &signals.seen);
    let left = match screen {
        Screen::Unseen(size) => Ok(tui::run_unseen(options, size, feed, &refuse, stop)),
        _ => tui::run(options, feed, &refuse, stop),
    };
    signals.let_a_second_one_kill();
    Ok(match left {
        Ok(left) => {
            setup::tell(&left.told);
            left.exit.err()
        }
        Err(error) => Some(error),
    })
}

/// What was, cannot be turned.
fn refuse(command: Command) -> Result<(), KnobError> {
    match command {
        Command::Set(id, value) => Err(KnobError::Refused {
            knob: id.spec().name,
            value: value.to_string(),
            reason: "this is a replay, and its knobs stand as they were then; < and > go through it",
        }),
        Command::Stop => Ok(()),
    }
}

/// The snapshots of which the run's report is made: those that the run itself took, or, as of a moment
/// or where it was cut off, those that it would have taken.
fn figures(stream: &mut Stream, at: Option<Nanos>) -> Result<Figures, OpenError> {
    let (from, to) = stream.span();
    if let Some(figures) = stream.figures().filter(|_| at.is_none_or(|at| at >= to)) {
        return Ok(figures.clone());
    }
    let at = at.unwrap_or(to).max(from);
    let mut marks = Marks::default();
    let mut done: Option<Arc<Snapshot>> = None;
    stream.seek(from);
    while let Some(chunk) = stream.next_chunk()? {
        let last = chunk.last().is_some_and(|last| last.at > at);
        for snapshot in chunk.into_iter().take_while(|snapshot| snapshot.at <= at) {
            marks.look(&snapshot);
            if Marks::time_is_up(&snapshot) {
                marks.stop();
            }
            done = Some(snapshot);
        }
        if last {
            break;
        }
    }
    let done = done.ok_or_else(|| OpenError::Empty(stream.path().to_owned()))?;
    let (warm, end) = marks.window(&done);
    Ok(Figures { warm, end, done })
}
