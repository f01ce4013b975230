//! The time of the loop, and its inputs: real ones, or a time that is wound on with nobody there.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::event::Event;
use crate::probe::clock::{Clock, Nanos, RealClock, VirtualClock};

/// What wakes the loop.
#[derive(Debug)]
pub enum Input {
    /// Something happened.
    Event(Event),
    /// There will be no more inputs.
    Lost(io::Error),
}

/// The time of the loop, and its inputs.
#[derive(Debug)]
pub enum Pace<'a> {
    /// The machine's clock, and what a person does.
    Real(&'a Receiver<Input>),
    /// A clock that goes as far as it is told to at once; nobody is there.
    Virtual(VirtualClock),
}

impl Pace<'_> {
    /// What time it is.
    pub fn now(&self) -> Nanos {
        match self {
            Self::Real(_) => RealClock.now(),
            Self::Virtual(clock) => clock.now(),
        }
    }

    /// Waits for an input until `due`.
    ///
    /// # Errors
    /// Where there will be none any more.
    pub(super) fn wait(&self, due: Nanos) -> io::Result<Option<Input>> {
        let left = Duration::from_nanos(due.saturating_sub(self.now()));
        match self {
            Self::Real(inputs) => match inputs.recv_timeout(left) {
                Ok(input) => Ok(Some(input)),
                Err(RecvTimeoutError::Timeout) => Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::UnexpectedEof.into()),
            },
            Self::Virtual(clock) => {
                clock.advance(left);
                Ok(None)
            }
        }
    }

    /// An input that is there already.
    pub(super) fn another(&self) -> Option<Input> {
        match self {
            Self::Real(inputs) => inputs.try_recv().ok(),
            Self::Virtual(_) => None,
        }
    }
}
