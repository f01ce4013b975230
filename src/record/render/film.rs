//! A cast as frames: which screens are shown from when to when.

use std::sync::Arc;
use std::time::Duration;

use super::grid::{Grid, Row};
use super::screen::Screen;
use crate::record::cast::{Event, Header, Timed};

/// What comes so soon after a frame's first change is part of it: a program's one write often
/// arrives in several pieces.
const TOGETHER: Duration = Duration::from_millis(8);
/// A program that has begun a frame and not ended it for so long never will.
const PATIENCE: Duration = Duration::from_secs(1);
/// The largest screen that is drawn, in columns and in rows.
pub const LARGEST: u16 = 1000;

/// The most cells that a film's frames may hold together, a row that goes on in the next frame counted
/// once: 1.2 GB.
const MOST_CELLS: usize = 50_000_000;

/// A place in a cast, as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// So long after the start.
    At(Duration),
    /// At the first marker with this label.
    Marker(String),
}

impl std::str::FromStr for Place {
    type Err = std::convert::Infallible;

    /// Seconds, as in `12.5` or `12.5s`, or else a marker's label.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.strip_suffix('s').unwrap_or(text).parse();
        let time = number.ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Ok(time.map_or_else(|| Self::Marker(text.to_owned()), Self::At))
    }
}

/// How a cast becomes a film.
#[derive(Clone, Debug, PartialEq)]
pub struct Cutting {
    /// Frames a second at most.
    pub fps: f64,
    /// By how much faster than recorded.
    pub speed: f64,
    /// The longest time in which nothing changes.
    pub idle_limit: Option<Duration>,
    /// From where; otherwise from when there is anything to see.
    pub from: Option<Place>,
    /// Up to where; the end of the cast otherwise.
    pub to: Option<Place>,
}

impl Default for Cutting {
    fn default() -> Self {
        Self { fps: 20.0, speed: 1.0, idle_limit: None, from: None, to: None }
    }
}

/// A screen and from when it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Since the film's start.
    pub at: Duration,
    /// What is shown.
    pub grid: Grid,
}

/// Frames, in order, no two neighbours the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Film {
    /// The first is shown from the start.
    pub frames: Vec<Frame>,
    /// How long all of it lasts.
    pub length: Duration,
}

impl Film {
    /// Columns and rows of its largest screen.
    pub fn size(&self) -> (u16, u16) {
        let rows = |grid: &Grid| u16::try_from(grid.rows.len()).unwrap_or(u16::MAX);
        let sizes = self.frames.iter().map(|frame| (frame.grid.cols, rows(&frame.grid)));
        sizes.fold((1, 1), |most, size| (most.0.max(size.0), most.1.max(size.1)))
    }

    /// Each frame with how long it is shown.
    pub fn shown(&self) -> impl Iterator<Item = (&Frame, Duration)> {
        let ends = self.frames.iter().skip(1).map(|frame| frame.at).chain([self.length]);
        self.frames.iter().zip(ends).map(|(frame, end)| (frame, end.saturating_sub(frame.at)))
    }
}

/// Why a cast cannot become a film.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilmError {
    /// There is no such marker.
    #[error("there is no marker {label:?} in the cast; {}", known(.labels))]
    NoMarker {
        /// What was asked for.
        label: String,
        /// What there is.
        labels: Vec<String>,
    },
    /// The end lies before the start.
    #[error("nothing is left between {from:?} and {to:?}")]
    Nothing {
        /// The start.
        from: Duration,
        /// The end.
        to: Duration,
    },
    /// A screen is too large.
    #[error("a screen of {cols}×{rows} is too large: {LARGEST}×{LARGEST} at most")]
    TooLarge {
        /// Its columns.
        cols: u16,
        /// Its rows.
        rows: u16,
    },
    /// It has too many frames.
    #[error("the film is too long: its first {frames} frames fill the memory that it may take")]
    TooLong {
        /// How many are not too many.
        frames: usize,
    },
}

fn known(labels: &[String]) -> String {
    if labels.is_empty() {
        return "it has none".to_owned();
    }
    let labels: Vec<_> = labels.iter().map(|label| format!("{label:?}")).collect();
    format!("it has {}", labels.join(", "))
}

/// Cuts a cast's events into a film.
///
/// # Errors
/// Where a marker is not there, nothing is left, or a screen is too large.
pub fn film(header: &Header, events: &[Timed], cutting: &Cutting) -> Result<Film, FilmError> {
    check(header, events)?;
    let end = events.last().map_or(Duration::ZERO, |event| event.at);
    // All up to `first` is what the film begins with.
    let (from, first) = if let Some(place) = &cutting.from {
        let from = find(place, events)?;
        (from, from)
    } else {
        let from = opening(header, events);
        (from, from + TOGETHER)
    };
    let to = cutting.to.as_ref().map_or(Ok(end), |place| find(place, events))?.min(end);
    if from > to {
        return Err(FilmError::Nothing { from, to });
    }
    let mut clock = Clock { recorded: from, shown: Duration::ZERO, cutting };
    let mut cutter = Cutter::new(header, cutting.fps);
    for event in events.iter().take_while(|event| event.at <= to) {
        if event.at > first && is_seen(&event.event) {
            cutter.until(clock.at(event.at));
        }
        cutter.take(&event.event);
        if event.at <= first {
            cutter.settle();
        } else if is_seen(&event.event) {
            cutter.change(clock.step(event.at));
        }
        if cutter.cells > MOST_CELLS {
            return Err(FilmError::TooLong { frames: cutter.frames.len() });
        }
    }
    let length = clock.at(to);
    cutter.until(length);
    cutter.finish(length);
    Ok(Film { frames: cutter.frames, length })
}

/// The screen at a place; at the end where none is given.
///
/// # Errors
/// Where a marker is not there, or a screen is too large.
pub fn still(header: &Header, events: &[Timed], at: Option<&Place>) -> Result<Grid, FilmError> {
    check(header, events)?;
    let at = at.map_or(Ok(Duration::MAX), |place| find(place, events))?;
    let mut screen = Screen::new(header.cols, header.rows);
    for event in events {
        // A frame half drawn is drawn to its end.
        if event.at > at && !screen.is_drawing() {
            break;
        }
        show(&mut screen, &event.event);
    }
    Ok(screen.grid())
}

/// When there is first anything to see.
fn opening(header: &Header, events: &[Timed]) -> Duration {
    let mut screen = Screen::new(header.cols, header.rows);
    let seen = events.iter().find(|timed| {
        let Event::Output(text) = &timed.event else { return false };
        screen.write(text);
        !screen.grid().text().trim_end().is_empty()
    });
    seen.map_or(Duration::ZERO, |timed| timed.at)
}

fn check(header: &Header, events: &[Timed]) -> Result<(), FilmError> {
    let resized = events.iter().filter_map(|timed| match timed.event {
        Event::Resize { cols, rows } => Some((cols, rows)),
        _ => None,
    });
    let mut sizes = std::iter::once((header.cols, header.rows)).chain(resized);
    match sizes.find(|&(cols, rows)| cols > LARGEST || rows > LARGEST) {
        Some((cols, rows)) => Err(FilmError::TooLarge { cols, rows }),
        None => Ok(()),
    }
}

fn find(place: &Place, events: &[Timed]) -> Result<Duration, FilmError> {
    let label = match place {
        Place::At(time) => return Ok(*time),
        Place::Marker(label) => label,
    };
    let markers = || {
        events.iter().filter_map(|timed| match &timed.event {
            Event::Marker(label) => Some((timed.at, label)),
            _ => None,
        })
    };
    let found = markers().find(|(_, known)| *known == label);
    found.map(|(at, _)| at).ok_or_else(|| FilmError::NoMarker {
        label: label.clone(),
        labels: markers().map(|(_, label)| label.clone()).collect(),
    })
}

const fn is_seen(event: &Event) -> bool {
    matches!(event, Event::Output(_) | Event::Resize { .. } | Event::Exit(_))
}

fn show(screen: &mut Screen, event: &Event) {
    match event {
        Event::Output(text) => screen.write(text),
        Event::Resize { cols, rows } => screen.resize(*cols, *rows),
        _ => {}
    }
}

/// From recorded time to the film's: idle time cut, then faster or slower.
struct Clock<'a> {
    /// The last thing that was seen, as recorded and in the film.
    recorded: Duration,
    shown: Duration,
    cutting: &'a Cutting,
}

impl Clock<'_> {
    fn at(&self, recorded: Duration) -> Duration {
        let idle = recorded.saturating_sub(self.recorded);
        let idle = self.cutting.idle_limit.map_or(idle, |limit| idle.min(limit));
        self.shown + idle.div_f64(self.cutting.speed)
    }

    fn step(&mut self, recorded: Duration) -> Duration {
        self.shown = self.at(recorded);
        self.recorded = recorded;
        self.shown
    }
}

/// Makes frames of changes, no more a second than wanted.
struct Cutter {
    screen: Screen,
    frames: Vec<Frame>,
    /// From when on a new frame may begin.
    free: Duration,
    period: Duration,
    /// When the frame that is being made begins.
    begun: Option<Duration>,
    /// Cells of all frames' rows that were new.
    cells: usize,
}

impl Cutter {
    fn new(header: &Header, fps: f64) -> Self {
        let mut screen = Screen::new(header.cols, header.rows);
        let first = Frame { at: Duration::ZERO, grid: screen.grid() };
        let period = Duration::from_secs_f64(1.0 / fps);
        Self { screen, frames: vec![first], free: period, period, begun: None, cells: 0 }
    }

    fn take(&mut self, event: &Event) {
        show(&mut self.screen, event);
    }

    /// What is on the screen is the first frame.
    fn settle(&mut self) {
        if !self.screen.is_drawing() {
            self.frames[0].grid = self.screen.grid();
        }
    }

    /// Time goes on to `now`: a frame that is complete by then is.
    fn until(&mut self, now: Duration) {
        let Some(begun) = self.begun else { return };
        let patience = if self.screen.is_drawing() { PATIENCE } else { TOGETHER };
        if now > begun + patience {
            self.shoot(begun);
        }
    }

    /// Something changed at `now`.
    fn change(&mut self, now: Duration) {
        if self.begun.is_none() {
            self.begun = Some(now.max(self.free));
        }
    }

    fn shoot(&mut self, at: Duration) {
        self.begun = None;
        let grid = self.screen.grid();
        if self.frames.last().is_some_and(|last| last.grid == grid) {
            return;
        }
        let before = self.frames.last().map_or(&[][..], |last| &last.grid.rows);
        let is_new =
            |(y, row): &(usize, &Row)| !before.get(*y).is_some_and(|old| Arc::ptr_eq(old, row));
        let new = grid.rows.iter().enumerate().filter(is_new);
        self.cells += new.map(|(_, row)| row.len()).sum::<usize>();
        self.frames.push(Frame { at, grid });
        self.free = at + self.period;
    }

    /// The film ends at `length`.
    fn finish(&mut self, length: Duration) {
        if let Some(begun) = self.begun {
            self.shoot(begun.min(length));
        }
    }
}

#[cfg(test)]
mod tests;
