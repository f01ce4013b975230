//! The loop over a surface that only counts: when it draws, and what ends it.

use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};

use pipetop::pipeline::knobs::{Command, KnobError, KnobId, KnobValue};
use pipetop::profile::snapshot::{Phase, Snapshot};
use pipetop::tui::Feed;
use pipetop::tui::app::App;
use pipetop::tui::event::Event;
use pipetop::tui::pace::{Input, Pace};
use pipetop::tui::reel::{Reel, ReelOptions};
use pipetop::tui::run::{Exit, Show, Signals, Surface, TuiError, drive};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use crate::scenario;

/// Counts what is asked of it.
#[derive(Default)]
struct Counter {
    drawn: u32,
    suspended: u32,
    /// The refusal that was shown last.
    refusal: Option<String>,
    /// The notice that was shown last.
    notice: Option<String>,
    /// Pictures that were asked for; each second one fails.
    captured: u32,
    broken: bool,
    /// Keys that are pressed once the frame of that number is drawn.
    script: Vec<(u32, KeyCode)>,
    keys: Option<Sender<Input>>,
}

impl Surface for Counter {
    fn draw(&mut self, app: &App, seen: &mut dyn FnMut(&Buffer)) -> io::Result<()> {
        if self.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.drawn += 1;
        seen(&Buffer::empty(Rect::new(0, 0, 80, 24)));
        self.refusal = app.refusal().map(str::to_owned);
        self.notice = app.notice().map(str::to_owned);
        for &(_, code) in self.script.iter().filter(|(frame, _)| *frame == self.drawn) {
            let keys = self.keys.as_ref().expect("a script needs keys");
            let event = Event::Key(KeyEvent::from(code));
            keys.send(Input::Event(event)).expect("the loop is there");
        }
        Ok(())
    }

    fn area(&self) -> io::Result<Rect> {
        Ok(Rect::new(0, 0, 80, 24))
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.suspended += 1;
        Ok(())
    }

    fn renew(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn capture(&mut self, _app: &App) -> io::Result<PathBuf> {
        self.captured += 1;
        if self.captured == 2 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(PathBuf::from("a.svg"))
    }
}

/// A loop with everything that it needs.
struct Loop {
    surface: Counter,
    keys: Option<Sender<Input>>,
    inputs: Receiver<Input>,
    feed: Option<Sender<Arc<Snapshot>>>,
    snapshots: Option<Receiver<Arc<Snapshot>>>,
    commands: RefCell<Vec<Command>>,
    refuse: bool,
    stop: AtomicBool,
}

impl Loop {
    fn new() -> Self {
        let (keys, inputs) = mpsc::channel();
        let (feed, snapshots) = mpsc::channel();
        let looped = Self {
            surface: Counter::default(),
            keys: Some(keys),
            inputs,
            feed: Some(feed),
            snapshots: Some(snapshots),
            commands: RefCell::default(),
            refuse: false,
            stop: AtomicBool::new(false),
        };
        for snapshot in scenario::preprocess_limited().snapshots() {
            looped.snapshot(snapshot);
        }
        looped
    }

    fn snapshot(&self, snapshot: Arc<Snapshot>) {
        let feed = self.feed.as_ref().expect("not closed yet");
        feed.send(snapshot).expect("the loop is there");
    }

    fn key(&self, code: KeyCode, modifiers: KeyModifiers) {
        let keys = self.keys.as_ref().expect("not closed yet");
        let event = Event::Key(KeyEvent::new(code, modifiers));
        keys.send(Input::Event(event)).expect("the loop is there");
    }

    fn run(&mut self) -> Result<Exit, TuiError> {
        let control = |command: Command| {
            self.commands.borrow_mut().push(command);
            let reason = "it is a test";
            let error =
                KnobError::Refused { knob: "preprocess.threads", value: "3".into(), reason };
            if self.refuse { Err(error) } else { Ok(()) }
        };
        let snapshots = self.snapshots.take().expect("a loop runs once");
        let mut show = Show {
            surface: &mut self.surface,
            fps: 20.0,
            pace: Pace::Real(&self.inputs),
            feed: Feed::Live(snapshots),
            reel: Reel::new(ReelOptions::default()),
            script: None,
            unseen: false,
        };
        drive(&mut show, &control, &self.stop, &Signals::default())
    }
}

#[test]
fn what_waits_is_taken_at_once_and_drawn_once() {
    let mut looped = Loop::new();
    looped.feed = None;
    assert!(matches!(looped.run(), Ok(Exit::Done)));
    assert_eq!(looped.surface.drawn, 1, "400 snapshots waited");
}

#[test]
fn a_finished_run_ends_the_loop() {
    let mut looped = Loop::new();
    let mut last = Snapshot::clone(&scenario::starting().snapshots()[0]);
    last.phase = Phase::Done;
    looped.snapshot(Arc::new(last));
    assert!(matches!(looped.run(), Ok(Exit::Done)));
}

#[test]
fn commands_go_out_before_the_person_leaves() {
    let mut looped = Loop::new();
    // The first frame knows of no snapshot yet.
    looped.surface.keys.clone_from(&looped.keys);
    looped.surface.script = vec![(2, KeyCode::Right), (2, KeyCode::Char('q'))];
    assert!(matches!(looped.run(), Ok(Exit::Quit)));
    let set = Command::Set(KnobId::PreprocessThreads, KnobValue::Int(3));
    assert_eq!(looped.commands.into_inner(), [set]);
}

#[test]
fn signals_and_suspension_are_heeded() {
    let mut looped = Loop::new();
    looped.key(KeyCode::Char('z'), KeyModifiers::CONTROL);
    looped.stop = AtomicBool::new(true);
    assert!(matches!(looped.run(), Ok(Exit::Stopped)));
    assert_eq!(looped.surface.suspended, 1);
}

#[test]
fn a_lost_terminal_is_an_error_and_no_endless_loop() {
    let mut looped = Loop::new();
    looped.surface.broken = true;
    assert!(matches!(looped.run(), Err(TuiError::Lost(_))));

    let mut looped = Loop::new();
    looped.keys = None;
    assert!(matches!(looped.run(), Err(TuiError::Lost(_))));

    let mut looped = Loop::new();
    let lost = Input::Lost(io::ErrorKind::UnexpectedEof.into());
    looped.keys.as_ref().expect("open").send(lost).expect("the loop is there");
    let error = looped.run().expect_err("there is no terminal any more");
    assert!(error.to_string().starts_with("the terminal went away"), "{error}");
}

#[test]
fn a_refusal_reaches_the_screen() {
    let mut looped = Loop::new();
    looped.refuse = true;
    looped.surface.keys.clone_from(&looped.keys);
    looped.surface.script = vec![(2, KeyCode::Right), (3, KeyCode::Char('q'))];
    assert!(matches!(looped.run(), Ok(Exit::Quit)));
    let refusal = looped.surface.refusal.expect("it was drawn");
    assert!(refusal.contains("is refused: it is a test"), "{refusal}");
}

#[test]
fn a_picture_is_taken_and_the_screen_says_where_it_is() {
    for (pictures, says) in [
        (1, "this screen is kept in a.svg"),
        (2, "this screen could not be kept: no storage space"),
    ] {
        let mut looped = Loop::new();
        looped.surface.keys.clone_from(&looped.keys);
        looped.surface.script = vec![(2, KeyCode::Char('c')); pictures];
        looped.surface.script.push((3, KeyCode::Char('q')));
        assert!(matches!(looped.run(), Ok(Exit::Quit)));
        assert_eq!(looped.surface.captured as usize, pictures);
        assert_eq!(looped.surface.notice.as_deref(), Some(says));
    }
}
