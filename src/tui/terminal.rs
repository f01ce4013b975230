//! The terminal: raw mode, alternate screen, mouse; put back in all cases, panics included.

use std::io::{self, BufWriter, Stdout, Write as _};
use std::mem::ManuallyDrop;
use std::panic::{self, PanicHookInfo};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::style::force_color_output;
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, queue};
use ratatui::layout::Rect;

use super::app::App;
use super::capture::capture;
use super::run::Surface;
use super::screens;
use super::theme::{ColorChoice, Theme};
use crate::record::render::screenshot::Kind;

/// Whether the terminal is ours now: a panic then puts it back before its message appears.
static OURS: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();
/// Bytes held back until a frame is whole: the largest first frame fits.
const BUFFER: usize = 1 << 16;

/// The real terminal, ours until this is dropped.
pub struct Live {
    /// Never dropped: its own drop prints to stderr where the cursor cannot be shown, and panics where
    /// stderr is gone too. `leave` shows the cursor.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
    theme: Theme,
    /// The looks of a recording where the screen itself has no colour because `NO_COLOR` is set: that speaks of
    /// this terminal, not of those on which the recording is played.
    vivid: Option<Theme>,
    mouse: bool,
    pictures: Kind,
}

impl Live {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Where standard output is no terminal or it cannot be set up; it is as before then.
    pub fn take(color: ColorChoice, ascii: bool, mouse: bool) -> io::Result<Self> {
        let shown = color.resolve(|name| std::env::var(name).ok());
        let bleached = color == ColorChoice::Auto && shown == ColorChoice::Never;
        let vivid = bleached.then(|| Theme::new(ColorChoice::Indexed, ascii));
        let theme = Theme::new(shown, ascii);
        // The theme has decided on colours; crossterm would write broken ones where `NO_COLOR` is set.
        force_color_output(true);
        put_back_on_panic(thread::current().id());
        let entered = enter(mouse).and_then(|()| blank());
        let terminal = entered.inspect_err(|_| leave())?;
        let terminal = ManuallyDrop::new(terminal);
        Ok(Self { terminal, theme, vivid, mouse, pictures: Kind::default() })
    }

    /// Keeps pictures of the screen as files of that kind.
    #[must_use]
    pub fn with_pictures(mut self, kind: Kind) -> Self {
        self.pictures = kind;
        self
    }

    fn resume(&mut self) -> io::Result<()> {
        // Whoever had the terminal meanwhile may have changed its mode: crossterm would believe that
        // it is still raw.
        disable_raw_mode()?;
        enter(self.mouse)?;
        // A terminal that knows of no frame draws all of the next one. (Its own `clear` asks for the
        // cursor's place, and would wait for an answer that the input thread may read.)
        self.terminal = ManuallyDrop::new(blank()?);
        execute!(self.terminal.backend_mut(), Clear(ClearType::All))
    }
}

impl Surface for Live {
    fn draw(&mut self, app: &App, seen: &mut dyn FnMut(&Buffer)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let Self { terminal, theme, vivid, .. } = self;
        let vivid = vivid.as_ref().filter(|_| app.recording().is_some());
        let drawn = terminal.draw(|frame| {
            screens::render(frame, app, vivid.unwrap_or(theme));
            seen(frame.buffer_mut());
            if vivid.is_some() {
                frame.buffer_mut().reset();
                screens::render(frame, app, theme);
            }
        });
        let drawn = drawn.map(drop);
        // Sent even if drawing failed: a terminal left in an update shows nothing more.
        let ended = execute!(self.terminal.backend_mut(), EndSynchronizedUpdate);
        drawn.and(ended)
    }

    fn area(&self) -> io::Result<Rect> {
        self.terminal.size().map(|size| Rect::new(0, 0, size.width, size.height))
    }

    fn suspend(&mut self) -> io::Result<()> {
        leave();
        // Stops the whole process, as the shell expects; returns when it is continued.
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.resume()
    }

    fn renew(&mut self) -> io::Result<()> {
        self.resume()
    }

    fn capture(&mut self, app: &App) -> io::Result<PathBuf> {
        // The folder of the run's start, wherever that is: the name alone says it.
        capture(app, &self.theme, self.area()?, self.pictures, Path::new(""))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        leave();
    }
}

/// A terminal that knows of no frame yet.
fn blank() -> io::Result<Terminal<CrosstermBackend<BufWriter<Stdout>>>> {
    Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(BUFFER, io::stdout())))
}

fn enter(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    OURS.store(true, Ordering::SeqCst);
    let mut out = io::stdout();
    execute!(out, EnterAlternateScreen, EnableBracketedPaste, Hide)?;
    if mouse {
        execute!(out, EnableMouseCapture)?;
    }
    Ok(())
}

/// Puts the terminal back, once; errors are of no use here, since there may be no terminal any more.
fn leave() {
    if !OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _ = execute!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show
    );
    let _ = out.flush();
    let _ = disable_raw_mode();
}

/// While the terminal is ours, a panic of the screen's own thread puts it back, and its message
/// appears after that. A panic elsewhere (one image's, caught and counted) must not write over the
/// screen: it is only logged. Either way the place is logged.
fn put_back_on_panic(screen: ThreadId) {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            let place = info.location().map_or_else(|| "unknown".to_owned(), ToString::to_string);
            let message = info.payload_as_str().unwrap_or("no message");
            let thread = thread::current();
            let name = thread.name().unwrap_or("unnamed");
            tracing::error!(place, thread = name, "panicked: {message}");
            let ours = OURS.load(Ordering::SeqCst);
            if ours && thread.id() != screen {
                return;
            }
            leave();
            before(info);
        }));
    });
}
