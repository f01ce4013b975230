//! The loop: inputs and snapshots in, commands out, at most one frame a frame's time.

use std::io::{self, IsTerminal as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::event as crossterm;
use ratatui::layout::Rect;

use super::app::{App, Effect};
use super::event::Event;
use super::terminal::Live;
use super::theme::{ColorChoice, Theme};
use crate::pipeline::knobs::{Command, KnobError};
use crate::profile::snapshot::{Phase, Snapshot};
use crate::record::render::screenshot::Kind;

/// The most frames a second.
pub const MOST_FPS: f64 = 20.0;
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
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fps: MOST_FPS,
            mouse: true,
            ascii: false,
            color: ColorChoice::Auto,
            screenshot: Kind::Svg,
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
}

/// Something that can be drawn on: the terminal, or in tests a buffer.
pub trait Surface {
    /// Draws one frame.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn draw(&mut self, app: &App) -> io::Result<()>;

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

/// What wakes the loop.
#[derive(Debug)]
pub enum Input {
    /// Something happened.
    Event(Event),
    /// There will be no more inputs.
    Lost(io::Error),
}

/// Runs the screen until the person quits, the run is done, or `stop` is set (by a signal); puts the
/// terminal back in all cases. Call it on a thread named `ui`, which with `ui-input` is counted as
/// pipetop's own.
///
/// # Errors
/// Where there is no terminal, or it goes away meanwhile.
pub fn run(
    options: Options,
    snapshots: Receiver<Arc<Snapshot>>,
    control: &dyn Fn(Command) -> Result<(), KnobError>,
    stop: Arc<AtomicBool>,
) -> Result<Exit, TuiError> {
    run_feeding(options, snapshots, control, stop, |_| Ok(()))
}

/// The same, with somebody else who sends events: `feed` is called once the terminal is taken.
///
/// # Errors
/// As [`run`], and where `feed` fails.
#[expect(clippy::needless_pass_by_value, reason = "they serve nothing but this run of the screen")]
pub fn run_feeding(
    options: Options,
    snapshots: Receiver<Arc<Snapshot>>,
    control: &dyn Fn(Command) -> Result<(), KnobError>,
    stop: Arc<AtomicBool>,
    feed: impl FnOnce(Sender<Input>) -> io::Result<()>,
) -> Result<Exit, TuiError> {
    let Options { fps, mouse, ascii, color, screenshot } = options;
    if !io::stdout().is_terminal() {
        let error = io::Error::other("standard output is not a terminal");
        return Err(TuiError::NoTerminal(error));
    }
    let keys = Keys::open().map_err(TuiError::NoTerminal)?;
    let live = Live::take(Theme::new(color, ascii), mouse).map_err(TuiError::NoTerminal)?;
    let mut live = live.with_pictures(screenshot);
    let signals = Signals::watch();
    let (sender, inputs) = mpsc::channel();
    feed(sender.clone()).map_err(TuiError::NoTerminal)?;
    let over = Arc::new(AtomicBool::new(false));
    let reader = {
        let over = Arc::clone(&over);
        thread::Builder::new().name("ui-input".to_owned()).spawn(move || keys.read(&sender, &over))
    };
    let reader = reader.map_err(TuiError::NoTerminal)?;
    let result = drive(&mut live, fps, &inputs, &snapshots, control, &stop, &signals);
    over.store(true, Ordering::Relaxed);
    // It looks at `over` several times a second; a terminal that is gone must not hold us up.
    if result.is_ok() {
        let _ = reader.join();
        drop_typed();
    }
    drop(live);
    result
}

/// Throws away what was typed and not read, which the shell would take for its own.
fn drop_typed() {
    #[expect(unsafe_code, reason = "std cannot empty a terminal's input")]
    // SAFETY: tcflush takes no pointer, and fails on what is no terminal.
    unsafe {
        libc::tcflush(libc::STDOUT_FILENO, libc::TCIFLUSH);
    }
}

/// The loop itself, over any surface.
///
/// # Errors
/// Where the surface or the inputs are lost.
pub fn drive(
    surface: &mut dyn Surface,
    fps: f64,
    inputs: &Receiver<Input>,
    snapshots: &Receiver<Arc<Snapshot>>,
    control: &dyn Fn(Command) -> Result<(), KnobError>,
    stop: &AtomicBool,
    signals: &Signals,
) -> Result<Exit, TuiError> {
    let pause = Duration::from_secs_f64(1.0 / fps.clamp(0.5, MOST_FPS));
    let mut app = App::default();
    let mut drawn: Option<Instant> = None;
    let mut changed = true;
    loop {
        if changed && drawn.is_none_or(|at| at.elapsed() >= pause) {
            surface.draw(&app).map_err(TuiError::Lost)?;
            drawn = Some(Instant::now());
            changed = false;
        }
        let due = drawn.map_or(Duration::ZERO, |at| pause.saturating_sub(at.elapsed()));
        let wait = if changed { due.min(LOOK) } else { LOOK };
        let mut next = match inputs.recv_timeout(wait) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(TuiError::Lost(io::ErrorKind::UnexpectedEof.into()));
            }
        };
        while let Some(input) = next {
            let event = match input {
                Input::Event(event) => event,
                Input::Lost(error) => return Err(TuiError::Lost(error)),
            };
            changed = true;
            let area = surface.area().map_err(TuiError::Lost)?;
            match app.handle(event, area) {
                Effect::None => {}
                Effect::Send(command) => {
                    if let Err(error) = control(command) {
                        app.refused(&command, &error);
                    }
                }
                Effect::Capture => app.tell(captured(surface.capture(&app))),
                Effect::Suspend => suspend(surface, signals)?,
                Effect::Quit => return Ok(Exit::Quit),
            }
            next = inputs.try_recv().ok();
        }
        match take(&mut app, snapshots) {
            Taken::Nothing => {}
            Taken::Some => changed = true,
            Taken::Last => return Ok(Exit::Done),
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Exit::Stopped);
        }
        if signals.suspend.swap(false, Ordering::Relaxed) {
            suspend(surface, signals)?;
            changed = true;
        } else if signals.continued.swap(false, Ordering::Relaxed) {
            surface.renew().map_err(TuiError::Lost)?;
            changed = true;
        }
    }
}

/// What became of a picture of the screen.
fn captured(path: io::Result<PathBuf>) -> String {
    match path {
        Ok(path) => {
            format!("this screen is kept in {}", path.display())
        }
        Err(error) => format!("this screen could not be kept: {error}"),
    }
}

fn suspend(surface: &mut dyn Surface, signals: &Signals) -> Result<(), TuiError> {
    surface.suspend().map_err(TuiError::Lost)?;
    // The terminal is ours again: being continued asks for nothing more.
    signals.continued.store(false, Ordering::Relaxed);
    Ok(())
}

enum Taken {
    Nothing,
    Some,
    Last,
}

/// Takes in all snapshots that wait.
fn take(app: &mut App, snapshots: &Receiver<Arc<Snapshot>>) -> Taken {
    let mut taken = Taken::Nothing;
    loop {
        match snapshots.try_recv() {
            Ok(snapshot) => {
                let last = snapshot.phase == Phase::Done;
                app.handle(Event::Snapshot(snapshot), Rect::ZERO);
                if last {
                    return Taken::Last;
                }
                taken = Taken::Some;
            }
            Err(TryRecvError::Empty) => return taken,
            Err(TryRecvError::Disconnected) => return Taken::Last,
        }
    }
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

/// Where keys come from: standard input if it is a terminal, or else the controlling terminal.
enum Keys {
    Stdin(io::Stdin),
    Terminal(std::fs::File),
}

impl Keys {
    fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return Ok(Self::Stdin(stdin));
        }
        std::fs::File::open("/dev/tty").map(Self::Terminal)
    }

    fn fd(&self) -> RawFd {
        match self {
            Self::Stdin(stdin) => stdin.as_raw_fd(),
            Self::Terminal(file) => file.as_raw_fd(),
        }
    }

    /// Passes on inputs until `over` is set or the terminal is gone.
    fn read(&self, sender: &Sender<Input>, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            let read = self.wait().and_then(|()| pass_on(sender));
            if let Err(error) = read {
                let _ = sender.send(Input::Lost(error));
                return;
            }
        }
    }

    /// Waits a little for an input. crossterm 0.29 reads in an endless loop once the terminal is
    /// gone, so a hang-up must be seen before it is asked.
    fn wait(&self) -> io::Result<()> {
        let mut poll = libc::pollfd { fd: self.fd(), events: libc::POLLIN, revents: 0 };
        let millis = LOOK.as_millis() as libc::c_int;
        #[expect(unsafe_code, reason = "std has no poll")]
        // SAFETY: `poll` points to one valid pollfd that lives through the call.
        let ready = unsafe { libc::poll(&raw mut poll, 1, millis) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        if poll.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up"));
        }
        Ok(())
    }
}

/// Passes on what crossterm has, without waiting.
fn pass_on(sender: &Sender<Input>) -> io::Result<()> {
    while crossterm::poll(Duration::ZERO)? {
        let Some(event) = Event::of(crossterm::read()?) else { continue };
        if sender.send(Input::Event(event)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}
