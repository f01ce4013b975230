//! The screens as people see them, and the whole app driven by injected events.

#[path = "support/frame.rs"]
mod frame;
#[path = "support/scenario.rs"]
mod scenario;
#[path = "support/sweeps.rs"]
mod sweeps;

#[path = "frames/advised.rs"]
mod advised;
#[path = "frames/driven.rs"]
mod driven;
#[path = "frames/gpu.rs"]
mod gpu;
#[path = "frames/keys.rs"]
mod keys;
#[path = "frames/locks.rs"]
mod locks;
#[path = "frames/looks.rs"]
mod looks;
#[path = "frames/running.rs"]
mod running;
#[path = "frames/sizes.rs"]
mod sizes;
#[path = "frames/threads.rs"]
mod threads;
#[path = "frames/tune.rs"]
mod tune;

use std::sync::Arc;

use pipetop::profile::history::History;
use pipetop::profile::snapshot::Snapshot;
use pipetop::record::player::Playback;
use pipetop::tui::app::{App, Effect};
use pipetop::tui::event::{Event, Pointer};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Position, Rect};

/// An app, its size, and what it asked for.
struct Driver {
    app: App,
    size: (u16, u16),
    effects: Vec<Effect>,
}

impl Driver {
    fn new(size: (u16, u16), snapshots: &[Arc<Snapshot>]) -> Self {
        let mut driver = Self { app: App::default(), size, effects: Vec::new() };
        driver.feed(snapshots);
        driver
    }

    /// A replay of which all was seen, stopped at its end.
    fn replay(size: (u16, u16), snapshots: &[Arc<Snapshot>]) -> Self {
        let mut driver = Self::new(size, &[]);
        let mut history = History::default();
        for snapshot in snapshots {
            history.push(Arc::clone(snapshot));
        }
        let last = snapshots.last().expect("a replay has snapshots");
        let playback = Playback {
            at: last.at,
            from: snapshots[0].at,
            to: last.at,
            playing: false,
            speed: 1.0,
            looping: false,
            changes: Arc::new(last.changes.iter().map(|change| change.at).collect()),
            error: None,
        };
        driver.app.show(history, playback);
        driver
    }

    fn area(&self) -> Rect {
        Rect::new(0, 0, self.size.0, self.size.1)
    }

    fn send(&mut self, event: Event) {
        let effect = self.app.handle(event, self.area());
        if effect != Effect::None {
            self.effects.push(effect);
        }
    }

    fn feed(&mut self, snapshots: &[Arc<Snapshot>]) {
        for snapshot in snapshots {
            self.send(Event::Snapshot(Arc::clone(snapshot)));
        }
    }

    fn key(&mut self, code: KeyCode) {
        self.send(Event::Key(KeyEvent::from(code)));
    }

    fn chord(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.send(Event::Key(KeyEvent::new(code, modifiers)));
    }

    fn typed(&mut self, text: &str) {
        text.chars().for_each(|c| self.key(KeyCode::Char(c)));
    }

    fn mouse(&mut self, pointer: Pointer, x: u16, y: u16) {
        self.send(Event::Mouse(pointer, Position::new(x, y)));
    }

    /// What was asked for since the last call.
    fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }
}
