//! The state of the screen: plain data and named methods. No drawing, no input or output.

use ratatui::layout::{Position, Rect};
use std::sync::Arc;

use super::event::{Event, Pointer};
use super::keymap::{self, Action, Place};
use super::layout::{self, Layout};
use super::screens::Screen;
use super::screens::threads::rows;
use super::widgets::threads;
use crate::pipeline::knobs::{Command, KNOBS, KnobError, KnobId, KnobValue, KnobValues};
use crate::profile::history::{History, Length};
use crate::profile::snapshot::Snapshot;
use crate::profile::window::Window;

/// After so many snapshots the pipeline's word counts, even if it is not what we asked for.
const PATIENCE: u8 = 5;
/// The longest text that may be typed as a value.
const LONGEST_ENTRY: usize = 24;

/// What the caller must do after an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Nothing.
    None,
    /// Pass on a command.
    Send(Command),
    /// Suspend the program.
    Suspend,
    /// Leave.
    Quit,
}

/// The field in which a value is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// What was typed so far.
    pub text: String,
    /// Why it was not taken.
    pub error: Option<String>,
}

/// A value that was asked for and has not come back in a snapshot yet.
#[derive(Clone, Copy, Debug)]
struct Asked {
    value: KnobValue,
    snapshots: u8,
}

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    live: History,
    frozen: Option<Box<History>>,
    /// The screen that is open.
    screen: Screen,
    help: bool,
    selected: usize,
    asked: [Option<Asked>; KNOBS.len()],
    entry: Option<Entry>,
    refusal: Option<String>,
    length: Length,
    /// Rows scrolled off the top of the threads' screen.
    scroll: usize,
    /// The knob whose gauge is held with the mouse.
    held: Option<KnobId>,
}

impl Default for App {
    fn default() -> Self {
        Self {
            live: History::default(),
            frozen: None,
            screen: Screen::default(),
            help: false,
            // The knob that most runs turn first.
            selected: KnobId::PreprocessThreads as usize,
            asked: [None; KNOBS.len()],
            entry: None,
            refusal: None,
            length: Length::default(),
            scroll: 0,
            held: None,
        }
    }
}

impl App {
    /// Takes in what happened on a screen of `area`.
    pub fn handle(&mut self, event: Event, area: Rect) -> Effect {
        match event {
            Event::Snapshot(snapshot) => self.take(snapshot),
            Event::Key(key) => {
                self.refusal = None;
                if let Some(action) = keymap::action(self.place(), &key) {
                    return self.act(action, area);
                }
                if let (Some(entry), Some(c)) = (&mut self.entry, key.code.as_char()) {
                    entry.add(c);
                }
            }
            Event::Paste(text) => {
                if let Some(entry) = &mut self.entry {
                    text.chars().for_each(|c| entry.add(c));
                }
            }
            Event::Mouse(pointer, at) => return self.point(pointer, at, area),
            Event::Resize(..) => {}
        }
        Effect::None
    }

    /// Takes in a refusal of what [`Effect::Send`] asked for.
    pub fn refused(&mut self, command: &Command, error: &KnobError) {
        if let Command::Set(id, _) = command {
            self.asked[*id as usize] = None;
        }
        self.refusal = Some(error.to_string());
    }

    fn take(&mut self, snapshot: Arc<Snapshot>) {
        for (id, value) in snapshot.knobs.iter() {
            let asked = &mut self.asked[id as usize];
            if let Some(waiting) = asked {
                waiting.snapshots += 1;
                if waiting.value == value || waiting.snapshots >= PATIENCE {
                    *asked = None;
                }
            }
        }
        self.live.push(snapshot);
    }

    fn act(&mut self, action: Action, area: Rect) -> Effect {
        let page = isize::try_from(layout::thread_page(area)).unwrap_or(isize::MAX);
        match action {
            Action::Less => return self.step(self.selected(), false, false),
            Action::More => return self.step(self.selected(), true, false),
            Action::MuchLess => return self.step(self.selected(), false, true),
            Action::MuchMore => return self.step(self.selected(), true, true),
            Action::SelectBefore => self.selected = (self.selected + KNOBS.len() - 1) % KNOBS.len(),
            Action::SelectAfter => self.selected = (self.selected + 1) % KNOBS.len(),
            Action::Reset => return self.reset(),
            Action::Type => self.entry = self.snapshot().map(|_| Entry::default()),
            Action::Pause => self.toggle_pause(),
            Action::Window => self.length = self.length.next(),
            Action::Go(screen) => self.go(screen),
            Action::Scroll(by) => self.scroll_by(isize::from(by), area),
            Action::Page(by) => self.scroll_by(isize::from(by).saturating_mul(page), area),
            Action::Top => self.scroll = 0,
            Action::Bottom => self.scroll_by(isize::MAX, area),
            Action::Help => self.help = !self.help,
            Action::Close => {
                self.help = false;
                self.entry = None;
            }
            Action::Apply => return self.apply(),
            Action::Erase => {
                if let Some(entry) = &mut self.entry {
                    entry.text.pop();
                    entry.error = None;
                }
            }
            Action::Suspend => return Effect::Suspend,
            Action::Quit => return Effect::Quit,
        }
        Effect::None
    }

    fn point(&mut self, pointer: Pointer, at: Position, area: Rect) -> Effect {
        let layout = layout::layout(area, self);
        match pointer {
            Pointer::Press => self.press(at, &layout),
            Pointer::Release => {
                self.held = None;
                Effect::None
            }
            Pointer::Drag => self.held.map_or(Effect::None, |id| self.set_at(id, at, &layout)),
            Pointer::WheelUp | Pointer::WheelDown => {
                let up = pointer == Pointer::WheelUp;
                if self.help || self.entry.is_some() {
                    return Effect::None;
                }
                if let Some(knob) = layout.knob_at(at) {
                    self.select(knob.id);
                    return self.step(knob.id, up, false);
                }
                if self.screen == Screen::Threads {
                    self.scroll_by(if up { -3 } else { 3 }, area);
                }
                Effect::None
            }
        }
    }

    fn press(&mut self, at: Position, layout: &Layout) -> Effect {
        self.refusal = None;
        if self.help {
            self.help = false;
            return Effect::None;
        }
        self.entry = None;
        if let Some(screen) = layout.tab_at(at) {
            self.go(screen);
        } else if let Some(knob) = layout.knob_at(at) {
            self.select(knob.id);
            if knob.gauge.contains(at) {
                self.held = Some(knob.id);
                return self.set_at(knob.id, at, layout);
            }
        }
        Effect::None
    }

    fn set_at(&mut self, id: KnobId, at: Position, layout: &Layout) -> Effect {
        let Some(knob) = layout.knobs.iter().find(|knob| knob.id == id) else {
            return Effect::None;
        };
        let value = id.spec().at(knob.position(at.x));
        self.ask(id, value)
    }

    fn step(&mut self, id: KnobId, up: bool, big: bool) -> Effect {
        let Some(value) = self.knob(id) else { return Effect::None };
        self.ask(id, id.spec().step(value, up, big))
    }

    fn reset(&mut self) -> Effect {
        let Some(cores) = self.live.latest().map(|latest| latest.run.cores) else {
            return Effect::None;
        };
        self.ask(self.selected(), KnobValues::defaults(cores).get(self.selected()))
    }

    fn apply(&mut self) -> Effect {
        let id = self.selected();
        let Some(entry) = &mut self.entry else { return Effect::None };
        if entry.text.trim().is_empty() {
            self.entry = None;
            return Effect::None;
        }
        match id.spec().parse(&entry.text) {
            Ok(value) => {
                self.entry = None;
                self.ask(id, value)
            }
            Err(error) => {
                entry.error = Some(error.to_string());
                Effect::None
            }
        }
    }

    /// Asks for a value, unless it is the one that there is.
    fn ask(&mut self, id: KnobId, value: KnobValue) -> Effect {
        if self.knob(id).is_none_or(|now| now == value) {
            return Effect::None;
        }
        self.asked[id as usize] = Some(Asked { value, snapshots: 0 });
        Effect::Send(Command::Set(id, value))
    }

    fn toggle_pause(&mut self) {
        self.frozen = match self.frozen {
            Some(_) => None,
            None => Some(Box::new(self.live.clone())),
        };
    }

    fn go(&mut self, screen: Screen) {
        self.screen = screen;
        self.held = None;
        self.entry = None;
    }

    fn select(&mut self, id: KnobId) {
        self.selected = id as usize;
    }

    fn scroll_by(&mut self, rows: isize, area: Rect) {
        let most = self.thread_rows().saturating_sub(layout::thread_page(area));
        self.scroll = self.scroll.min(most).saturating_add_signed(rows).min(most);
    }

    fn thread_rows(&self) -> usize {
        self.snapshot().map_or(0, |snapshot| rows(snapshot).len())
    }

    // What there is to see.

    /// Where the person is: which keys work.
    pub fn place(&self) -> Place {
        match (&self.entry, self.help, self.screen) {
            (Some(_), ..) => Place::Typing,
            (None, true, _) => Place::Help,
            (None, false, Screen::Overview) => Place::Knobs,
            (None, false, Screen::Threads) => Place::Threads,
        }
    }

    /// The open screen.
    pub const fn screen(&self) -> Screen {
        self.screen
    }

    /// Whether the help lies over it.
    pub const fn help(&self) -> bool {
        self.help
    }

    /// Whether the view is frozen.
    pub const fn paused(&self) -> bool {
        self.frozen.is_some()
    }

    /// The past that is shown.
    pub fn history(&self) -> &History {
        self.frozen.as_deref().unwrap_or(&self.live)
    }

    /// The snapshot that is shown.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.history().latest().map(AsRef::as_ref)
    }

    /// The latest snapshot, shown or not.
    pub fn live(&self) -> Option<&Snapshot> {
        self.live.latest().map(AsRef::as_ref)
    }

    /// The window that the numbers speak of.
    pub fn window(&self) -> Option<Window<'_>> {
        self.history().window(self.length)
    }

    /// Its chosen length.
    pub const fn length(&self) -> Length {
        self.length
    }

    /// The selected knob.
    pub fn selected(&self) -> KnobId {
        KNOBS[self.selected].id
    }

    /// A knob's value as asked for, or as it is; pausing the view does not hide it.
    pub fn knob(&self, id: KnobId) -> Option<KnobValue> {
        let asked = self.asked[id as usize].map(|asked| asked.value);
        asked.or_else(|| self.live().map(|live| live.knob(id)))
    }

    /// Whether a knob's new value is not in force yet.
    pub fn applying(&self, id: KnobId) -> bool {
        let name = id.spec().name;
        self.live().is_some_and(|live| live.applying.iter().any(|n| n == name))
    }

    /// Rows that the overview's threads would fill: the lanes' and one a thread.
    pub fn thread_count(&self) -> usize {
        self.snapshot().map_or(0, |snapshot| 1 + threads::ours(snapshot).count())
    }

    /// The field in which a value is typed, if it is open.
    pub const fn entry(&self) -> Option<&Entry> {
        self.entry.as_ref()
    }

    /// Why the last command was refused, until the next key.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Rows scrolled off the top of the threads' screen.
    pub const fn scroll(&self) -> usize {
        self.scroll
    }
}

impl Entry {
    fn add(&mut self, c: char) {
        if !c.is_control() && self.text.chars().count() < LONGEST_ENTRY {
            self.text.push(c);
            self.error = None;
        }
    }
}
