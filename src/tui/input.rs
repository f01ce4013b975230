//! What a person types and points at, from the terminal.

use std::io::{self, IsTerminal as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use ratatui::crossterm::event as crossterm;

use super::event::Event;
use super::pace::Input;

/// The longest wait for an input: whether it is over is looked at as often.
const LOOK: Duration = Duration::from_millis(50);

/// Where keys come from: standard input if it is a terminal, or else the controlling terminal.
pub(super) enum Keys {
    Stdin(io::Stdin),
    Terminal(std::fs::File),
}

impl Keys {
    /// Finds the terminal.
    pub(super) fn open() -> io::Result<Self> {
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
    pub(super) fn read(&self, sender: &Sender<Input>, over: &AtomicBool) {
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

/// Throws away what was typed and not read, which the shell would take for its own.
pub(super) fn drop_typed() {
    #[expect(unsafe_code, reason = "std cannot empty a terminal's input")]
    // SAFETY: tcflush takes no pointer, and fails on what is no terminal.
    unsafe {
        libc::tcflush(libc::STDOUT_FILENO, libc::TCIFLUSH);
    }
}
