//! The state of the screen: plain data and named methods. No drawing, no input or output.

mod gpus;
mod kept;
mod tables;
mod tune;

pub use gpus::GpusView;
pub use tables::{LocksView, ThreadsView};
pub use tune::TuneView;

use ratatui::layout::{Position, Rect};
use std::sync::Arc;

use super::event::{Event, Pointer};
use super::keymap::{self, Action, Place};
use super::layout::{self, Layout};
use super::screens::{Screen, help};
use super::widgets::threads;
use crate::pipeline::knobs::{Command, KNOBS, KnobError, KnobId, KnobKind, KnobValue, KnobValues};
use crate::probe::clock::Nanos;
use crate::profile::history::{History, Length};
use crate::profile::snapshot::Snapshot;
use crate::profile::window::Window;
use crate::record::player::{Playback, Steer};

/// After so many snapshots the pipeline's word counts, even if it is not what we asked for.
const PATIENCE: u8 = 5;
/// How long a notice is shown.
const NOTICE_TIME: Nanos = 20_000_000_000;
/// The longest text that may be typed as a value.
const LONGEST_ENTRY: usize = 24;

/// What the caller must do after an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Nothing.
    None,
    /// Pass on a command.
    Send(Command),
    /// Keep a picture of the screen.
    Capture,
    /// Begin or end a recording of the screen.
    Record,
    /// Steer the replay.
    Play(Steer),
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
    /// Rows of the help scrolled off.
    scrolled: u16,
    selected: usize,
    asked: [Option<Asked>; KNOBS.len()],
    entry: Option<Entry>,
    refusal: Option<String>,
    /// What the person must know, until the next key.
    notice: Option<String>,
    /// What a script has to say.
    caption: Option<String>,
    /// How long the screen has been recorded, in whole seconds.
    recording: Option<u64>,
    /// Of a replay, where it stands.
    playback: Option<Playback>,
    length: Length,
    threads: ThreadsView,
    locks: LocksView,
    gpus: GpusView,
    tune: TuneView,
    /// What is held with the mouse.
    held: Option<Held>,
}

/// What is held with the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// A knob's gauge.
    Knob(KnobId),
    /// The time bar of a replay.
    TimeBar,
}

impl Default for App {
    fn default() -> Self {
        Self {
            live: History::default(),
            frozen: None,
            screen: Screen::default(),
            help: false,
            scrolled: 0,
            // The knob that most runs turn first.
            selected: KnobId::PreprocessThreads as usize,
            asked: [None; KNOBS.len()],
            entry: None,
            refusal: None,
            notice: None,
            caption: None,
            recording: None,
            playback: None,
            length: Length::default(),
            threads: ThreadsView::default(),
            locks: LocksView::default(),
            gpus: GpusView::default(),
            tune: TuneView::default(),
            held: None,
        }
    }
}

impl App {
    /// Takes in what happened on a screen of `area`.
    pub fn handle(&mut self, event: Event, area: Rect) -> Effect {
        match event {
            Event::Snapshot(snapshot) => self.take(snapshot),
            Event::Sweep(sweep) => self.take_sweep(sweep),
            Event::Key(key) => {
                (self.refusal, self.notice) = (None, None);
                let replay = self.playback.is_some();
                if let Some(action) = keymap::action(self.place(), replay, &key) {
                    return self.act(action, area);
                }
                if let Some(c) = key.code.as_char() {
                    self.typed(c);
                }
            }
            Event::Paste(text) => text.chars().for_each(|c| self.typed(c)),
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
        self.close_what_is_gone();
    }

    fn close_what_is_gone(&mut self) {
        if self.threads.open() && self.opened().is_none() {
            // What was selected in its place was not asked for.
            self.threads.close();
        }
    }

    /// Takes in a typed character, where a field is open.
    fn typed(&mut self, c: char) {
        if let Some(entry) = &mut self.entry {
            entry.add(c, KNOBS[self.selected].kind);
        } else if self.place() == Place::Filter {
            self.threads.type_filter(c);
        }
    }

    fn act(&mut self, action: Action, area: Rect) -> Effect {
        // A table's rows have this much room.
        let page = || usize::from(layout::layout(area, self).rows.height);
        match action {
            Action::Less => return self.step(self.selected(), false, false),
            Action::More => return self.step(self.selected(), true, false),
            Action::MuchLess => return self.step(self.selected(), false, true),
            Action::MuchMore => return self.step(self.selected(), true, true),
            Action::SelectBefore => self.select_beside(false),
            Action::SelectAfter => self.select_beside(true),
            Action::Reset => return self.reset(),
            Action::Type => self.entry = self.snapshot().map(|_| Entry::default()),
            Action::Pause => self.toggle_pause(),
            Action::Window => self.length = self.length.next(),
            Action::Go(screen) => self.go(screen),
            Action::Row(by) => self.move_by(isize::from(by), page()),
            Action::Page(by) => {
                let page = page();
                let rows = isize::try_from(page).unwrap_or(isize::MAX);
                self.move_by(rows.saturating_mul(isize::from(by)), page);
            }
            Action::Top => self.move_by(isize::MIN, page()),
            Action::Bottom => self.move_by(isize::MAX, page()),
            Action::Open => self.open(page()),
            Action::Sort => self.sort_next(area),
            Action::Reverse => self.sort_reverse(),
            Action::Filter => self.threads.start_filter(),
            Action::Unfilter => self.threads.clear_filter(),
            Action::Fold => self.fold(false, page()),
            Action::FoldAll => self.fold(true, page()),
            Action::WholeRun => self.locks.toggle_whole(),
            Action::Help => {
                self.help = !self.help;
                self.scrolled = 0;
            }
            Action::Scroll(by) => self.scroll(i16::from(by), area),
            Action::Close => self.close(),
            Action::Apply if self.place() == Place::Filter => self.threads.keep_filter(),
            Action::Apply => return self.apply(),
            Action::Erase => match &mut self.entry {
                Some(entry) => {
                    entry.text.pop();
                    entry.error = None;
                }
                None => self.threads.erase_filter(),
            },
            Action::Capture => return Effect::Capture,
            Action::Record => return Effect::Record,
            Action::Play(steer) => return Effect::Play(steer),
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
            Pointer::Drag => match self.held {
                Some(Held::Knob(id)) => self.set_at(id, at, &layout),
                Some(Held::TimeBar) => self.seek_at(at, &layout),
                None => Effect::None,
            },
            Pointer::WheelUp | Pointer::WheelDown => {
                let up = pointer == Pointer::WheelUp;
                if self.help {
                    self.scroll(if up { -3 } else { 3 }, area);
                    return Effect::None;
                }
                if self.entry.is_some() {
                    return Effect::None;
                }
                if let Some(knob) = layout.knob_at(at) {
                    self.select(knob.id);
                    return self.step(knob.id, up, false);
                }
                let by = if self.place() == Place::Past { 1 } else { 3 };
                self.move_by(if up { -by } else { by }, usize::from(layout.rows.height));
                Effect::None
            }
        }
    }

    fn press(&mut self, at: Position, layout: &Layout) -> Effect {
        (self.refusal, self.notice) = (None, None);
        if self.help {
            self.help = false;
            return Effect::None;
        }
        self.entry = None;
        self.threads.keep_filter();
        if let Some(screen) = layout.tab_at(at) {
            self.go(screen);
        } else if layout.time_bar.is_some_and(|bar| bar.contains(at)) {
            self.held = Some(Held::TimeBar);
            return self.seek_at(at, layout);
        } else if let Some(knob) = layout.knob_at(at) {
            self.select(knob.id);
            if knob.gauge.contains(at) {
                self.held = Some(Held::Knob(knob.id));
                return self.set_at(knob.id, at, layout);
            }
        } else {
            self.press_table(at, layout);
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

    /// Scrolls the help, no further than there is any.
    fn scroll(&mut self, by: i16, area: Rect) {
        let most = help::hidden(self, area);
        self.scrolled = self.scrolled.min(most).saturating_add_signed(by).min(most);
    }

    fn toggle_pause(&mut self) {
        self.frozen = match self.frozen {
            Some(_) => None,
            None => Some(Box::new(self.live.clone())),
        };
        self.tune.freeze(self.frozen.is_some());
    }

    /// Goes to a screen.
    pub(super) fn go(&mut self, screen: Screen) {
        self.screen = screen;
        self.held = None;
        self.entry = None;
        self.threads.keep_filter();
    }

    /// Selects the next of the knobs that are shown, or the one before, round the ends.
    fn select_beside(&mut self, after: bool) {
        let shown = self.shown_knobs();
        let at = shown.iter().position(|&id| id == self.selected()).unwrap_or(0);
        let by = if after { 1 } else { shown.len() - 1 };
        self.select(shown[(at + by) % shown.len()]);
    }

    fn select(&mut self, id: KnobId) {
        self.selected = id as usize;
    }

    /// Closes what lies on top.
    fn close(&mut self) {
        match self.place() {
            Place::Help => self.help = false,
            Place::Typing => self.entry = None,
            Place::Filter => self.threads.clear_filter(),
            _ => self.threads.close(),
        }
    }

    // What there is to see.

    /// Where the person is: which keys work.
    pub fn place(&self) -> Place {
        match self.beneath() {
            place @ (Place::Typing | Place::Filter) => place,
            _ if self.help => Place::Help,
            place => place,
        }
    }

    /// Where the person is beneath the help.
    pub fn beneath(&self) -> Place {
        match self.screen {
            _ if self.entry.is_some() => Place::Typing,
            Screen::Overview => Place::Knobs,
            Screen::Threads if self.threads.typing() => Place::Filter,
            Screen::Threads if self.opened().is_some() => Place::Past,
            Screen::Threads => Place::Threads,
            Screen::Locks => Place::Locks,
            Screen::Gpu => Place::Gpu,
            Screen::Tune if self.sweep().is_some() => Place::Sweep,
            Screen::Tune => Place::Tune,
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

    /// Rows of the help that are scrolled off its top.
    pub const fn scrolled(&self) -> u16 {
        self.scrolled
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

    /// What that window is called: by the time that it spans.
    pub fn length_name(&self) -> String {
        self.history().length_name(self.length)
    }

    /// Its chosen length.
    pub const fn length(&self) -> Length {
        self.length
    }

    /// The selected knob.
    pub fn selected(&self) -> KnobId {
        KNOBS[self.selected].id
    }

    /// The knobs that matter as the others are set, and the selected one.
    pub fn shown_knobs(&self) -> Vec<KnobId> {
        let matters = |id: &KnobId| {
            *id == self.selected()
                || id.needs().is_none_or(|(other, words)| match self.knob(other) {
                    Some(KnobValue::Choice(_, word)) => words.contains(&word),
                    _ => false,
                })
        };
        KnobId::all().filter(matters).collect()
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

    /// The latest thing that happened and a person should know, for a while.
    pub fn happened(&self) -> Option<&str> {
        let snapshot = self.snapshot()?;
        let latest = snapshot.notices.last()?;
        (snapshot.at.saturating_sub(latest.at) < NOTICE_TIME).then_some(latest.text.as_str())
    }

    /// Why the last command was refused, until the next key.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }
}

impl Entry {
    fn add(&mut self, c: char, kind: KnobKind) {
        let number = matches!(
            kind,
            KnobKind::Int { .. } | KnobKind::Millis { .. } | KnobKind::Number { .. }
        );
        if number && !c.is_control() && !(c.is_ascii_digit() || ".- ".contains(c)) {
            // `q` among them: here it is a letter, and leaves nothing.
            self.error =
                Some(format!("`{c}` is no digit: type a number, or Esc to leave it as it is"));
            return;
        }
        if !c.is_control() && self.text.chars().count() < LONGEST_ENTRY {
            self.text.push(c);
            self.error = None;
        }
    }
}
