//! A terminal that a test looks at and types into.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use tempfile::TempDir;
use vt100::{Parser, Screen};

/// Far more than a busy machine needs: only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(30);
const LEAVE_ALTERNATE: &[u8] = b"\x1b[?1049l";

/// A program in a pseudo-terminal; it is killed when this is dropped.
pub(crate) struct Terminal {
    shown: Arc<Shown>,
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Option<Box<dyn Write + Send>>,
    child: Box<dyn Child + Send + Sync>,
    reader: Option<JoinHandle<()>>,
    /// The terminal's mode before the program ran, as text.
    mode: String,
    _home: TempDir,
}

/// What the program wrote, and how a terminal shows it.
struct Shown {
    state: Mutex<(Parser, Vec<u8>)>,
    changed: Condvar,
    hang_up: AtomicBool,
}

impl Terminal {
    /// pipetop in a terminal of columns and rows.
    pub(crate) fn pipetop(size: (u16, u16), args: &[&str]) -> Self {
        Self::start(size, env!("CARGO_BIN_EXE_pipetop"), args)
    }

    pub(crate) fn start(size: (u16, u16), program: &str, args: &[&str]) -> Self {
        let home = TempDir::new().unwrap();
        let pair = native_pty_system().openpty(pty_size(size)).unwrap();
        let mode = mode(&*pair.master);
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        command.env("PS1", "ready> ");
        command.env("HOME", home.path());
        command.env("XDG_CONFIG_HOME", home.path());
        for name in ["NO_COLOR", "COLORTERM", "COLUMNS", "LINES", "PROMPT_COMMAND"] {
            command.env_remove(name);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        // Or else the end of the program would not be the end of the output.
        drop(pair.slave);
        let shown = Arc::new(Shown {
            state: Mutex::new((Parser::new(cells(size.1), cells(size.0), 0), Vec::new())),
            changed: Condvar::new(),
            hang_up: AtomicBool::new(false),
        });
        let output = pair.master.try_clone_reader().unwrap();
        let reader = {
            let shown = Arc::clone(&shown);
            thread::spawn(move || shown.follow(output))
        };
        let writer = pair.master.take_writer().unwrap();
        Self {
            shown,
            master: Some(pair.master),
            writer: Some(writer),
            child,
            reader: Some(reader),
            mode,
            _home: home,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Types.
    pub(crate) fn send(&mut self, keys: &str) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    pub(crate) fn resize(&self, size: (u16, u16)) {
        // Frames for the old size may still come; what is drawn for the new one covers them.
        self.shown.lock().0.set_size(cells(size.1), cells(size.0));
        self.master.as_ref().unwrap().resize(pty_size(size)).unwrap();
    }

    /// Looks at the screen as it is now.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Screen) -> T) -> T {
        let state = self.shown.lock();
        look(state.0.screen())
    }

    /// Waits until the screen is as told.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn(&Screen) -> bool) {
        let state = self.shown.lock();
        let (state, timeout) = self
            .shown
            .changed
            .wait_timeout_while(state, PATIENCE, |state| !is_so(state.0.screen()))
            .unwrap();
        if timeout.timed_out() {
            let contents = state.0.screen().contents();
            drop(state);
            panic!("no {what} within {PATIENCE:?}; the screen is:\n{contents}");
        }
    }

    /// Waits until the program has ended and all of its output is shown.
    #[track_caller]
    pub(crate) fn exit(&mut self) -> ExitStatus {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                let contents = self.look(Screen::contents);
                panic!("it runs on after {PATIENCE:?}; the screen is:\n{contents}");
            }
            thread::sleep(Duration::from_millis(5));
        };
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        status
    }

    /// What was printed after the alternate screen was left, as lines.
    pub(crate) fn after_screen(&self) -> String {
        let state = self.shown.lock();
        let bytes = &state.1;
        let length = LEAVE_ALTERNATE.len();
        let left = bytes.windows(length).rposition(|part| part == LEAVE_ALTERNATE);
        let mut tall = Parser::new(cells(500), state.0.screen().size().1, 0);
        tall.process(&bytes[left.expect("the alternate screen was left")..]);
        tall.screen().contents()
    }

    /// Whether the terminal's mode is the one before the program ran.
    pub(crate) fn cooked(&self) -> bool {
        mode(&**self.master.as_ref().unwrap()) == self.mode
    }

    /// Takes the terminal away, as closing its window does.
    pub(crate) fn hang_up(&mut self) {
        // The reader holds the terminal too: the next frame wakes it, and it lets go.
        self.shown.hang_up.store(true, Ordering::SeqCst);
        self.reader.take().unwrap().join().unwrap();
        self.writer = None;
        self.master = None;
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Shown {
    fn lock(&self) -> MutexGuard<'_, (Parser, Vec<u8>)> {
        self.state.lock().unwrap()
    }

    /// Shows what comes until its end or a hang-up.
    fn follow(&self, mut output: Box<dyn Read + Send>) {
        let mut buffer = [0; 1 << 14];
        while !self.hang_up.load(Ordering::SeqCst) {
            let Ok(length @ 1..) = output.read(&mut buffer) else { return };
            let mut state = self.lock();
            state.0.process(&buffer[..length]);
            state.1.extend_from_slice(&buffer[..length]);
            drop(state);
            self.changed.notify_all();
        }
    }
}

/// The row of a knob in the panel of knobs: its number and text.
pub(crate) fn knob_row(screen: &Screen, name: &str) -> Option<(u16, String)> {
    let columns = screen.size().1.get();
    // A chart at its right may name a knob as well.
    (0..)
        .zip(screen.rows(0, columns / 2 - 12))
        .find(|(_, row)| row.contains(name) && row.contains('●'))
}

fn mode(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().expect("a pseudo-terminal has a mode"))
}

fn pty_size((cols, rows): (u16, u16)) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a terminal has cells")
}
