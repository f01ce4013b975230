//! Frames onto an asciicast: each drawn buffer becomes the bytes that turn the frame before into it.
//!
//! What the terminal itself gets is not looked at: a recording may begin and end at any frame, begins with
//! a whole one, and has its colours whatever `NO_COLOR` says.

mod paint;

use std::io::{self, Write};
use std::time::Duration;

use ratatui::buffer::Buffer;

use super::cast::write::Writer;
use super::cast::{Event, Header};
use crate::probe::clock::Nanos;

/// A cast that is being recorded.
pub struct Tape {
    writer: Writer<Box<dyn Write + Send>>,
    began: Nanos,
    /// What is on the cast's screen.
    screen: Option<Buffer>,
}

impl std::fmt::Debug for Tape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tape").field("began", &self.began).finish_non_exhaustive()
    }
}

impl Tape {
    /// Begins a cast at `now` on some clock.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin(out: Box<dyn Write + Send>, header: &Header, now: Nanos) -> io::Result<Self> {
        Ok(Self { writer: Writer::begin(out, header)?, began: now, screen: None })
    }

    /// Records a frame, as one event; none where nothing has changed.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn frame(&mut self, now: Nanos, frame: &Buffer) -> io::Result<()> {
        let at = self.length(now);
        let resized = self.screen.as_ref().is_some_and(|screen| screen.area != frame.area);
        if resized {
            let event = Event::Resize { cols: frame.area.width, rows: frame.area.height };
            self.writer.event(at, &event)?;
            self.screen = None;
        }
        let output = match &self.screen {
            Some(before) => paint::changes(before, frame),
            None => paint::whole(frame),
        };
        if !output.is_empty() {
            self.writer.event(at, &Event::Output(output))?;
        }
        match &mut self.screen {
            Some(screen) => screen.content.clone_from(&frame.content),
            None => self.screen = Some(frame.clone()),
        }
        Ok(())
    }

    /// Marks a moment: a knob was turned, a caption appears.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn mark(&mut self, now: Nanos, label: &str) -> io::Result<()> {
        self.writer.event(self.length(now), &Event::Marker(label.to_owned()))
    }

    /// Ends the cast.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn end(mut self, now: Nanos) -> io::Result<()> {
        let at = self.length(now);
        // Players leave the terminal as the cast does.
        self.writer.event(at, &Event::Output("\u{1b}[0m\u{1b}[?25h".to_owned()))?;
        self.writer.event(at, &Event::Exit(0))
    }

    /// How long it is by now.
    pub const fn length(&self, now: Nanos) -> Duration {
        Duration::from_nanos(now.saturating_sub(self.began))
    }
}
