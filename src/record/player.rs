//! Plays a saved run: which of its past is there to be seen now.

use std::collections::VecDeque;
use std::sync::Arc;

use super::stream::{OpenError, Stream};
use crate::probe::clock::Nanos;
use crate::profile::history::History;
use crate::profile::snapshot::Snapshot;

const SECOND: Nanos = 1_000_000_000;
/// The speeds that the keys visit.
pub const SPEEDS: [f64; 7] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
/// How much of the past a screen can show, and a little more.
const PAST: Nanos = 125 * SECOND;
/// From one kept past to the next.
const APART: Nanos = 5 * SECOND;
/// The most pasts kept.
const MOST_KEPT: usize = 48;

/// What a person does to a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steer {
    /// Play or pause.
    Toggle,
    /// A snapshot on or back.
    Step(i8),
    /// So many seconds on or back.
    Jump(i8),
    /// To a moment of the run.
    To(Nanos),
    /// Back to the start.
    Start,
    /// The next higher speed.
    Faster,
    /// The next lower speed.
    Slower,
}

/// What a screen shows of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Playback {
    /// The moment of the run that is shown.
    pub at: Nanos,
    /// The first moment that there is.
    pub from: Nanos,
    /// The last.
    pub to: Nanos,
    /// Whether it plays.
    pub playing: bool,
    /// How many times as fast as the run was.
    pub speed: f64,
    /// Whether it begins again at its end.
    pub looping: bool,
    /// When knobs were turned, as far as it is known.
    pub changes: Arc<Vec<Nanos>>,
    /// Why it can go no further, if that is so.
    pub error: Option<String>,
}

impl Playback {
    /// The share of the run that lies before a moment, 0 to 1.
    pub fn share(&self, at: Nanos) -> f64 {
        let whole = self.to.saturating_sub(self.from).max(1) as f64;
        (at.saturating_sub(self.from) as f64 / whole).min(1.0)
    }

    /// The moment with such a share of the run before it.
    pub fn moment(&self, share: f64) -> Nanos {
        let whole = self.to.saturating_sub(self.from) as f64;
        self.from + (share.clamp(0.0, 1.0) * whole) as Nanos
    }
}

/// Plays a stream on a clock that is told to it.
///
/// What is seen at a moment is the same whether the run was played up to it or sought there, but for
/// what lies so far back that no screen shows it.
#[derive(Debug)]
pub struct Player {
    stream: Stream,
    history: History,
    /// Unpacked and still to come.
    ahead: VecDeque<Arc<Snapshot>>,
    /// Pasts at moments that were passed, ascending, to go back to.
    kept: Vec<(Nanos, History)>,
    /// The moment of the run that is played now; the newest snapshot is no later.
    position: Nanos,
    /// When, on the clock, it was there.
    clock: Option<Nanos>,
    playing: bool,
    speed: f64,
    looping: bool,
    changes: Arc<Vec<Nanos>>,
    error: Option<String>,
}

impl Player {
    /// A replay at the start of the run, playing.
    ///
    /// # Errors
    /// Where the first snapshots cannot be read.
    pub fn new(mut stream: Stream, speed: f64, looping: bool) -> Result<Self, OpenError> {
        let done = stream.figures().map(|figures| &figures.done);
        let changes = done.map(|done| done.changes.iter().map(|change| change.at).collect());
        let (position, _) = stream.span();
        // Somebody may have read in it.
        stream.seek(position);
        let mut player = Self {
            history: History::default(),
            ahead: VecDeque::new(),
            kept: Vec::new(),
            position,
            clock: None,
            playing: true,
            speed,
            looping,
            changes: Arc::new(changes.unwrap_or_default()),
            error: None,
            stream,
        };
        player.play_to(position)?;
        Ok(player)
    }

    /// The past as it is to be seen now.
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// What a screen shows of the replay itself.
    pub fn playback(&self) -> Playback {
        let (from, to) = self.stream.span();
        Playback {
            at: self.history.latest().map_or(from, |latest| latest.at),
            from,
            to,
            playing: self.playing,
            speed: self.speed,
            looping: self.looping,
            changes: Arc::clone(&self.changes),
            error: self.error.clone(),
        }
    }

    /// Whether it has come to the end of the run, and stays there.
    pub fn is_over(&self) -> bool {
        !self.looping && !self.playing && self.position >= self.stream.span().1
    }

    /// Whether it plays.
    pub const fn is_playing(&self) -> bool {
        self.playing
    }

    /// Plays up to `now` on the clock; whether there is something new to see.
    pub fn advance(&mut self, now: Nanos) -> bool {
        let since = self.clock.replace(now).map_or(0, |then| now.saturating_sub(then));
        if !self.playing {
            return false;
        }
        self.position += (since as f64 * self.speed) as Nanos;
        let before = self.latest();
        let played = self.play_to(self.position);
        self.heed(played);
        let (from, to) = self.stream.span();
        if self.position >= to {
            self.position = to;
            self.playing = self.looping && from < to;
            if self.looping {
                self.go(from);
            }
        }
        self.latest() != before || !self.playing
    }

    /// When, on the clock, the next snapshot is to be seen; `None` where none is.
    pub fn due(&self) -> Option<Nanos> {
        let (clock, next) = (self.clock?, self.ahead.front()?);
        let wait = next.at.saturating_sub(self.position) as f64 / self.speed;
        self.playing.then_some(clock + wait.ceil() as Nanos)
    }

    /// Obeys.
    pub fn steer(&mut self, steer: Steer) {
        let (from, to) = self.stream.span();
        let latest = self.latest().unwrap_or(from);
        match steer {
            Steer::Toggle => {
                if !self.playing && self.position >= to {
                    self.go(from);
                }
                self.playing = !self.playing;
            }
            Steer::Step(by) => {
                self.playing = false;
                if by > 0 {
                    let next = self.next_at();
                    self.go(next.unwrap_or(to));
                } else {
                    let before = self.history.kept().rev().nth(1).map(|before| before.at);
                    self.go(before.unwrap_or(from));
                }
            }
            Steer::Jump(seconds) => {
                let by = Nanos::from(seconds.unsigned_abs()) * SECOND;
                let at = if seconds < 0 { latest.saturating_sub(by) } else { latest + by };
                self.go(at);
            }
            Steer::To(at) => self.go(at),
            Steer::Start => self.go(from),
            Steer::Faster => {
                let next = SPEEDS.into_iter().find(|&speed| speed > self.speed);
                self.speed = next.unwrap_or(self.speed);
            }
            Steer::Slower => {
                let next = SPEEDS.into_iter().rfind(|&speed| speed < self.speed);
                self.speed = next.unwrap_or(self.speed);
            }
        }
    }

    fn latest(&self) -> Option<Nanos> {
        self.history.latest().map(|latest| latest.at)
    }

    /// Goes to a moment of the run: on from here, from a past that was kept, or from a past that is
    /// played anew.
    fn go(&mut self, at: Nanos) {
        let (from, to) = self.stream.span();
        let at = at.clamp(from, to);
        let on = self.latest().is_some_and(|latest| latest <= at && at - latest <= PAST);
        if !on {
            let start = at.saturating_sub(PAST);
            let kept = self.kept.iter().rev().find(|(kept, _)| *kept <= at && *kept >= start);
            let (begin, history) = kept.cloned().unwrap_or((start, History::default()));
            self.ahead.clear();
            self.stream.seek(begin);
            self.history = history;
        }
        self.position = at;
        let played = self.play_to(at);
        self.heed(played);
    }

    fn heed(&mut self, played: Result<(), OpenError>) {
        if let Err(error) = played {
            self.error = Some(error.to_string());
            self.playing = false;
        }
    }

    fn next_at(&mut self) -> Option<Nanos> {
        let filled = self.fill();
        self.heed(filled);
        self.ahead.front().map(|next| next.at)
    }

    /// Takes in all snapshots up to a moment, and the first in any case.
    fn play_to(&mut self, at: Nanos) -> Result<(), OpenError> {
        loop {
            self.fill()?;
            let first = self.history.latest().is_none();
            match self.ahead.front() {
                Some(next) if next.at <= at || first => {}
                _ => return Ok(()),
            }
            let Some(next) = self.ahead.pop_front() else { return Ok(()) };
            let at = next.at;
            self.history.push(next);
            self.keep(at);
        }
    }

    /// Unpacks more where nothing is ahead; what the history has already is passed over.
    fn fill(&mut self) -> Result<(), OpenError> {
        while self.ahead.is_empty() {
            let Some(chunk) = self.stream.next_chunk()? else { break };
            let latest = self.latest();
            let new = chunk.into_iter().filter(|s| latest.is_none_or(|latest| s.at > latest));
            self.ahead.extend(new);
        }
        Ok(())
    }

    fn keep(&mut self, at: Nanos) {
        let place = self.kept.partition_point(|(kept, _)| *kept <= at);
        let near = |index: usize| self.kept.get(index).is_some_and(|(k, _)| k.abs_diff(at) < APART);
        if near(place) || place.checked_sub(1).is_some_and(near) {
            return;
        }
        self.kept.insert(place, (at, self.history.clone()));
        if self.kept.len() > MOST_KEPT {
            let first = self.kept.first().map_or(0, |(kept, _)| kept.abs_diff(at));
            let last = self.kept.last().map_or(0, |(kept, _)| kept.abs_diff(at));
            let farthest = if first > last { 0 } else { self.kept.len() - 1 };
            self.kept.remove(farthest);
        }
    }
}
