//! Of replays, recordings and scripts: what is shown of them.

use ratatui::layout::Position;

use super::{App, Effect};
use crate::profile::history::History;
use crate::record::player::{Playback, Steer};
use crate::tui::layout::Layout;
use crate::tui::widgets::time_bar;

impl App {
    /// Shows a moment of a replay, with its past.
    pub fn show(&mut self, history: History, playback: Playback) {
        self.live = history;
        self.playback = Some(playback);
        self.close_what_is_gone();
    }

    /// Tells the person something, until the next key.
    pub fn tell(&mut self, notice: String) {
        self.notice = Some(notice);
    }

    /// Takes back what was told.
    pub fn hush(&mut self) {
        self.notice = None;
    }

    /// Shows a caption, or none.
    pub fn set_caption(&mut self, caption: Option<String>) {
        self.caption = caption;
    }

    /// Takes in for how many whole seconds the screen has been recorded; whether that is news.
    pub fn set_recording(&mut self, seconds: Option<u64>) -> bool {
        std::mem::replace(&mut self.recording, seconds) != seconds
    }

    /// Goes to the moment at which the time bar was clicked.
    pub(super) fn seek_at(&self, at: Position, layout: &Layout) -> Effect {
        let (Some(bar), Some(playback)) = (layout.time_bar, &self.playback) else {
            return Effect::None;
        };
        let share = time_bar::share(time_bar::line(bar), at.x);
        Effect::Play(Steer::To(playback.moment(share)))
    }

    /// What the person must know, until the next key.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// What a script has to say.
    pub fn caption(&self) -> Option<&str> {
        self.caption.as_deref()
    }

    /// For how many whole seconds the screen has been recorded; `None` where it is not.
    pub const fn recording(&self) -> Option<u64> {
        self.recording
    }

    /// Where a replay stands; `None` in a live run.
    pub const fn playback(&self) -> Option<&Playback> {
        self.playback.as_ref()
    }
}
