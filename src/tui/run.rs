//! The loop: inputs and snapshots in, commands out, at most one frame a frame's time.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::{App, Effect};
use super::event::Event;
use super::feed::{Fed, Feed};
use super::input::{Keys, drop_typed};
use super::pace::{Input, Pace};
use super::reel::{Reel, ReelOptions};
use super::script::{Act, Script, ScriptError};
use super::terminal::Live;
use super::theme::ColorChoice;
use super::unseen::Unseen;
use crate::pipeline::knobs::{Command, KnobError};
use crate::probe::clock::{Nanos, VirtualClock};
use crate::record::player::Steer;
use crate::record::render::screenshot::Kind;

/// The most frames a second.
pub const MOST_FPS: f64 = 20.0;
/// The same where nobody looks.
const MOST_UNSEEN_FPS: f64 = 60.0;
/// The longest wait for an input: signals and snapshots are looked for as often.
const LOOK: Duration = Duration::from_millis(50);

/// How the screen runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Frames a second at most; over 20 is 20.
    pub fps: f64,
    /// Whether the mouse works (the terminal's own selection then needs Shift).
    pub mouse: bool,
    /// Only ASCII glyphs; [`ascii_wanted`](super::theme::ascii_wanted) asks the environment.
    pub ascii: bool,
    /// Colours.
    pub color: ColorChoice,
    /// What a picture of the screen is kept as.
    pub screenshot: Kind,
    /// What is recorded.
    pub reel: ReelOptions,
    /// Who else presses keys.
    pub script: Option<Script>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fps: MOST_FPS,
            mouse: true,
            ascii: false,
            color: ColorChoice::Auto,
            screenshot: Kind::Svg,
            reel: ReelOptions::default(),
            script: None,
        }
    }
}

/// Why the screen was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The person quit.
    Quit,
    /// The run is done, or no more snapshots come.
    Done,
    /// A signal asked for it.
    Stopped,
}

/// Why the screen could not go on.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// There is no terminal, or it cannot be used.
    #[error("no terminal to draw on: {0} (--headless runs without one)")]
    NoTerminal(#[source] io::Error),
    /// The terminal went away.
    #[error("the terminal went away: {0}")]
    Lost(#[source] io::Error),
    /// A recording could not be begun.
    #[error("nothing can be recorded: {0}")]
    Cast(#[source] io::Error),
    /// A script could not go on.
    #[error(transparent)]
    Script(ScriptError),
}

/// Something that can be drawn on: the terminal, or in tests a buffer.
pub trait Surface {
    /// Draws one frame, and shows it to `seen` as it was drawn.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn draw(&mut self, app: &App, seen: &mut dyn FnMut(&Buffer)) -> io::Result<()>;

    /// The whole area.
    ///
    /// # Errors
    /// Where its size cannot be told.
    fn area(&self) -> io::Result<Rect>;

    /// Gives the terminal back, suspends the program, and takes the terminal again once continued.
    ///
    /// # Errors
    /// Where the terminal cannot be taken again.
    fn suspend(&mut self) -> io::Result<()>;

    /// Takes the terminal again after somebody else stopped and continued the program.
    ///
    /// # Errors
    /// Where the terminal cannot be taken again.
    fn renew(&mut self) -> io::Result<()>;

    /// Keeps a picture of the screen; gives the file's path.
    ///
    /// # Errors
    /// Where it cannot be written, or there is nothing to take a picture of.
    fn capture(&mut self, _app: &App) -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// How the screen ended, and what was recorded meanwhile.
#[derive(Debug)]
pub struct Left {
    /// Why it was left.
    pub exit: Result<Exit, TuiError>,
    /// What was recorded, in words.
    pub told: Vec<String>,
}

/// Runs the screen until the person quits, the run is done, or `stop` is set (by a signal); puts the
/// terminal back in all cases. Call it on a thread named `ui`, which with `ui-input` is counted as
/// pipetop's own.
///
/// # Errors
/// Where there is no terminal, or a recording cannot be begun.
pub fn run(
    options: Options,
    feed: Feed,
    control: &dyn Fn(Command) -> Result<(), KnobError>,
    stop: &AtomicBool,
) -> Result<Left, TuiError> {
    run_feeding(options, feed, control, stop, |_| Ok(()))
}

/// The same, with somebody else who sends events: `events` is called once the terminal is taken.
///
/// # Errors
/// As [`run`], and where `events` fails.
pub fn run_feeding(
    options: Options,
    feed: Feed,
    control: &dyn Fn(Command) -> Result<(), KnobError>,
    stop: &AtomicBool,
    events: impl FnOnce(Sender<Input>) -> io::Result<()>,
) -> Result<Left, TuiError> {
    let Options { fps, mouse, ascii, color, screenshot, reel, script } = options;
    if !io::stdout().is_terminal() {
        let error = io::Error::other("standard output is not a terminal");
        return Err(TuiError::NoTerminal(error));
    }
    let keys = Keys::open().map_err(TuiError::NoTerminal)?;
    let live = Live::take(color, ascii, mouse).map_err(TuiError::NoTerminal)?;
    let mut live = live.with_pictures(screenshot);
    let signals = Signals::watch();
    let (sender, inputs) = mpsc::channel();
    events(sender.clone()).map_err(TuiError::NoTerminal)?;
    let over = Arc::new(AtomicBool::new(false));
    let reader = {
        let over = Arc::clone(&over);
        thread::Builder::new().name("ui-input".to_owned()).spawn(move || keys.read(&sender, &over))
    };
    let reader = reader.map_err(TuiError::NoTerminal)?;
    let pace = Pace::Real(&inputs);
    let mut show =
        Show { surface: &mut live, fps, pace, feed, reel: Reel::new(reel), script, unseen: false };
    let exit = drive(&mut show, control, stop, &signals);
    let told = show.reel.into_told();
    over.store(true, Ordering::Relaxed);
    // It looks at `over` several times a second; a terminal that is gone must not hold us up.
    if exit.is_ok() {
        let _ = reader.join();
        drop_typed();
    }
    drop(live);
    Ok(Left { exit, told })
}

/// Runs the screen without any terminal, to be recorded: until its script, the replay or the run ends, or
/// `stop` is set. A replay is played on a clock of its own, as fast as it can be drawn.
pub fn run_unseen(
    options: Options,
    (columns, rows): (u16, u16),
    feed: Feed,
    control: &dyn Fn(Command) -> Result<(), KnobError>,
    stop: &AtomicBool,
) -> Left {
    let Options { fps, ascii, color, reel, script, .. } = options;
    let mut surface = Unseen::new(color, ascii, columns, rows);
    // Nobody types, and nobody hangs up.
    let (_sender, inputs) = mpsc::channel();
    let pace = match feed {
        Feed::Live(_) => Pace::Real(&inputs),
        Feed::Replay(_) => Pace::Virtual(VirtualClock::default()),
    };
    let reel = Reel::new(reel);
    let mut show = Show { surface: &mut surface, fps, pace, feed, reel, script, unseen: true };
    let exit = drive(&mut show, control, stop, &Signals::default());
    Left { exit, told: show.reel.into_told() }
}

/// All that the loop works with.
pub struct Show<'a> {
    /// What is drawn on.
    pub surface: &'a mut dyn Surface,
    /// Frames a second at most.
    pub fps: f64,
    /// The time, and the inputs.
    pub pace: Pace<'a>,
    /// Where snapshots come from.
    pub feed: Feed,
    /// The recorder.
    pub reel: Reel,
    /// Who else presses keys.
    pub script: Option<Script>,
    /// Nobody is there who could quit: the end of the replay or of the script is the end.
    pub unseen: bool,
}

/// The loop itself, over any surface.
///
/// # Errors
/// Where the surface or the inputs are lost, or the script cannot go on.
pub fn drive(
    show: &mut Show<'_>,
    control: &dyn Fn(Command) -> Result<(), KnobError>,
    stop: &AtomicBool,
    signals: &Signals,
) -> Result<Exit, TuiError> {
    let mut app = App::default();
    let exit = turn(show, &mut app, control, stop, signals);
    if exit.is_ok() && show.unseen {
        show.draw(&mut app)?;
    }
    show.reel.end(show.pace.now(), &mut app);
    exit
}

fn turn(
    show: &mut Show<'_>,
    app: &mut App,
    control: &dyn Fn(Command) -> Result<(), KnobError>,
    stop: &AtomicBool,
    signals: &Signals,
) -> Result<Exit, TuiError> {
    let most = if show.unseen { MOST_UNSEEN_FPS } else { MOST_FPS };
    let pause = (1e9 / show.fps.clamp(0.5, most)) as Nanos;
    let mut drawn: Option<Nanos> = None;
    let mut changed = true;
    show.feed.begin(show.pace.now(), app);
    let area = show.surface.area().map_err(TuiError::Lost)?;
    show.reel.open(show.pace.now(), area).map_err(TuiError::Cast)?;
    loop {
        let now = show.pace.now();
        if changed && drawn.is_none_or(|at| now >= at + pause) {
            show.draw(app)?;
            drawn = Some(now);
            changed = false;
        }
        let mut next = show.pace.wait(show.due(drawn.filter(|_| changed).map(|at| at + pause)));
        while let Some(input) = next.map_err(TuiError::Lost)? {
            let event = match input {
                Input::Event(event) => event,
                Input::Lost(error) => return Err(TuiError::Lost(error)),
            };
            changed = true;
            if let Some(exit) = show.happen(event, app, control, signals)? {
                return Ok(exit);
            }
            next = Ok(show.pace.another());
        }
        match show.feed.feed(show.pace.now(), app) {
            Fed::Nothing => {}
            Fed::Some => changed = true,
            Fed::Last => return Ok(Exit::Done),
        }
        for act in show.acts(app)? {
            changed = true;
            if let Some(exit) = show.act(act, app, control, signals)? {
                return Ok(exit);
            }
        }
        changed |= show.reel.look(show.pace.now(), app);
        if show.is_over() {
            return Ok(Exit::Done);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Exit::Stopped);
        }
        if signals.suspend.swap(false, Ordering::Relaxed) {
            suspend(show.surface, signals)?;
            changed = true;
        } else if signals.continued.swap(false, Ordering::Relaxed) {
            show.surface.renew().map_err(TuiError::Lost)?;
            changed = true;
        }
    }
}

/// What became of a picture of the screen.
fn captured(path: io::Result<PathBuf>) -> String {
    match path {
        Ok(path) => format!("this screen is kept in {}", path.display()),
        Err(error) => format!("this screen could not be kept: {error}"),
    }
}

impl Show<'_> {
    fn draw(&mut self, app: &mut App) -> Result<(), TuiError> {
        let now = self.pace.now();
        let reel = &mut self.reel;
        let drawn = self.surface.draw(app, &mut |frame| reel.frame(now, frame, app));
        drawn.map_err(TuiError::Lost)
    }

    /// When to wake up at the latest; signals and snapshots of a run are looked for every moment.
    fn due(&self, frame: Option<Nanos>) -> Nanos {
        let script = self.script.as_ref().and_then(Script::due);
        let due = [frame, self.feed.due(), script].into_iter().flatten().min();
        let now = self.pace.now();
        // What is past due has been looked at, and waits for something else.
        let look = now + LOOK.as_nanos() as Nanos;
        due.filter(|&due| due > now || frame == Some(due)).map_or(look, |due| due.min(look))
    }

    fn happen(
        &mut self,
        event: Event,
        app: &mut App,
        control: &dyn Fn(Command) -> Result<(), KnobError>,
        signals: &Signals,
    ) -> Result<Option<Exit>, TuiError> {
        let area = self.surface.area().map_err(TuiError::Lost)?;
        match app.handle(event, area) {
            Effect::None => {}
            Effect::Send(command) => send(command, app, control),
            Effect::Capture => app.tell(captured(self.surface.capture(app))),
            Effect::Record => self.reel.toggle(self.pace.now(), area, app),
            Effect::Play(steer) => self.feed.steer(steer, app),
            Effect::Suspend => suspend(self.surface, signals)?,
            Effect::Quit => return Ok(Some(Exit::Quit)),
        }
        Ok(None)
    }

    /// What the script has to do now.
    fn acts(&mut self, app: &App) -> Result<Vec<Act>, TuiError> {
        let now = self.pace.now();
        self.script
            .as_mut()
            .map_or(Ok(Vec::new()), |script| script.play(now, app))
            .map_err(TuiError::Script)
    }

    fn act(
        &mut self,
        act: Act,
        app: &mut App,
        control: &dyn Fn(Command) -> Result<(), KnobError>,
        signals: &Signals,
    ) -> Result<Option<Exit>, TuiError> {
        match act {
            Act::Screen(screen) => app.go(screen),
            Act::Key(key) => return self.happen(Event::Key(key), app, control, signals),
            Act::Set(id, value) => send(Command::Set(id, value), app, control),
            Act::Seek(at) => self.feed.steer(Steer::To(at), app),
            Act::Caption(caption) => {
                let said = caption.map(|caption| caption.say(app));
                app.set_caption(said);
            }
            Act::End => return Ok(Some(Exit::Quit)),
        }
        Ok(None)
    }

    /// Whether nothing more will come, and nobody is there to see what there is.
    fn is_over(&self) -> bool {
        let now = self.pace.now();
        let over = self.script.as_ref().map(|script| script.is_over(now));
        self.unseen && over.unwrap_or_else(|| self.feed.is_over())
    }
}

fn send(command: Command, app: &mut App, control: &dyn Fn(Command) -> Result<(), KnobError>) {
    if let Err(error) = control(command) {
        app.refused(&command, &error);
    }
}

fn suspend(surface: &mut dyn Surface, signals: &Signals) -> Result<(), TuiError> {
    surface.suspend().map_err(TuiError::Lost)?;
    // The terminal is ours again: being continued asks for nothing more.
    signals.continued.store(false, Ordering::Relaxed);
    Ok(())
}

/// Signals that stop and continue the program, as flags.
#[derive(Debug, Default)]
pub struct Signals {
    suspend: Arc<AtomicBool>,
    continued: Arc<AtomicBool>,
}

impl Signals {
    /// Watches SIGTSTP and SIGCONT. Where that fails, they do what they do by default.
    fn watch() -> Self {
        use signal_hook::consts::{SIGCONT, SIGTSTP};
        let signals = Self::default();
        let _ = signal_hook::flag::register(SIGTSTP, Arc::clone(&signals.suspend));
        let _ = signal_hook::flag::register(SIGCONT, Arc::clone(&signals.continued));
        signals
    }
}
