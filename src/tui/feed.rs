//! Where snapshots come from: a run that goes on, or one that was saved.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use ratatui::layout::Rect;

use super::app::App;
use super::event::Event;
use crate::probe::clock::Nanos;
use crate::profile::snapshot::{Phase, Snapshot};
use crate::record::player::{Player, Steer};

/// Where snapshots come from.
#[derive(Debug)]
pub enum Feed {
    /// From the sampler of a run.
    Live(Receiver<Arc<Snapshot>>),
    /// From a saved run.
    Replay(Box<Player>),
}

/// What a feed gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fed {
    /// Nothing new.
    Nothing,
    /// Something to draw.
    Some,
    /// The last that there is of a live run.
    Last,
}

impl Feed {
    /// Shows a replay's first moment: it is there from the first frame on.
    pub(super) fn begin(&mut self, now: Nanos, app: &mut App) {
        if let Self::Replay(_) = self {
            self.feed(now, app);
        }
    }

    /// Takes in all that there is by `now`.
    pub(super) fn feed(&mut self, now: Nanos, app: &mut App) -> Fed {
        match self {
            Self::Live(snapshots) => take(app, snapshots),
            Self::Replay(player) => {
                let new = player.advance(now) || app.playback().is_none();
                if new {
                    app.show(player.history().clone(), player.playback());
                }
                if new { Fed::Some } else { Fed::Nothing }
            }
        }
    }

    /// Steers a replay.
    pub(super) fn steer(&mut self, steer: Steer, app: &mut App) {
        if let Self::Replay(player) = self {
            player.steer(steer);
            app.show(player.history().clone(), player.playback());
        }
    }

    /// When there is something new at the latest, where that is known.
    pub(super) fn due(&self) -> Option<Nanos> {
        match self {
            Self::Live(_) => None,
            Self::Replay(player) => player.due(),
        }
    }

    /// Whether a replay has come to its end.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Live(_) => false,
            Self::Replay(player) => player.is_over(),
        }
    }
}

/// Takes in all snapshots that wait.
fn take(app: &mut App, snapshots: &Receiver<Arc<Snapshot>>) -> Fed {
    let mut fed = Fed::Nothing;
    loop {
        match snapshots.try_recv() {
            Ok(snapshot) => {
                let last = snapshot.phase == Phase::Done;
                app.handle(Event::Snapshot(snapshot), Rect::ZERO);
                if last {
                    return Fed::Last;
                }
                fed = Fed::Some;
            }
            Err(TryRecvError::Empty) => return fed,
            Err(TryRecvError::Disconnected) => return Fed::Last,
        }
    }
}
