//! The keys, as data. The footer and the help are made from this table, so they cannot lie.

mod table;

pub use table::KEYMAP;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::screens::Screen;
use crate::record::player::Steer;

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Turn the selected knob down a step.
    Less,
    /// Turn the selected knob up a step.
    More,
    /// Turn the selected knob down a big step.
    MuchLess,
    /// Turn the selected knob up a big step.
    MuchMore,
    /// Select the knob before.
    SelectBefore,
    /// Select the knob after.
    SelectAfter,
    /// Set the selected knob to its default.
    Reset,
    /// Open the field in which a value is typed.
    Type,
    /// Freeze or release the view.
    Pause,
    /// The next length of the window that the numbers speak of.
    Window,
    /// Go to a screen.
    Go(Screen),
    /// Select the row so many below.
    Row(i8),
    /// Select the row a page above or below.
    Page(i8),
    /// Select the first row.
    Top,
    /// Select the last row.
    Bottom,
    /// Show the selected thread's past, or fold or unfold the selected group.
    Open,
    /// Sort by the next column.
    Sort,
    /// Reverse the order.
    Reverse,
    /// Open the field in which the filter is typed.
    Filter,
    /// Show all rows again.
    Unfilter,
    /// Fold or unfold the selected row's group.
    Fold,
    /// Fold or unfold all groups.
    FoldAll,
    /// The histogram of the window or of the whole run.
    WholeRun,
    /// Show or hide the help.
    Help,
    /// Scroll the help by so many rows.
    Scroll(i8),
    /// Close what is open on top.
    Close,
    /// Take the typed value.
    Apply,
    /// Remove the last typed character.
    Erase,
    /// Keep a picture of the screen.
    Capture,
    /// Begin or end a recording of the screen.
    Record,
    /// Steer the replay.
    Play(Steer),
    /// Suspend the program, as the shell does with Ctrl-Z.
    Suspend,
    /// Leave.
    Quit,
}

/// Where a key works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Wherever nothing is typed.
    Everywhere,
    /// The same in a live run alone.
    Live,
    /// The same in a replay alone.
    Replay,
    /// Where the knobs are on screen.
    Knobs,
    /// On the threads' screen.
    Threads,
    /// On the locks' screen.
    Locks,
    /// On the GPU screen.
    Gpu,
    /// On the tune screen, where no sweep runs.
    Tune,
    /// On the tune screen while a sweep runs.
    Sweep,
    /// On any screen with a table that is sorted.
    Tables,
    /// Where a thread's past is open.
    Past,
    /// While a filter is typed.
    Filter,
    /// In the help.
    Help,
    /// While a value is typed.
    Typing,
    /// Always, typing or not.
    Always,
}

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Which key.
    pub code: KeyCode,
    /// What is held with it; Shift is part of a character and not counted there.
    pub modifiers: KeyModifiers,
}

impl Key {
    const fn code(code: KeyCode) -> Self {
        Self { code, modifiers: KeyModifiers::NONE }
    }

    const fn char(c: char) -> Self {
        Self::code(KeyCode::Char(c))
    }

    const fn ctrl(c: char) -> Self {
        Self { code: KeyCode::Char(c), modifiers: KeyModifiers::CONTROL }
    }

    const fn shift(code: KeyCode) -> Self {
        Self { code, modifiers: KeyModifiers::SHIFT }
    }

    /// Whether an event is this key.
    pub fn is(&self, event: &KeyEvent) -> bool {
        let mut modifiers = event.modifiers
            & (KeyModifiers::CONTROL
                | KeyModifiers::ALT
                | KeyModifiers::SHIFT
                | KeyModifiers::SUPER);
        if matches!(event.code, KeyCode::Char(_) | KeyCode::BackTab) {
            modifiers.remove(KeyModifiers::SHIFT);
        }
        self.code == event.code && self.modifiers == modifiers
    }
}

/// Keys that do one thing in one place.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Where.
    pub place: Place,
    /// Which keys.
    pub keys: &'static [Key],
    /// What they do.
    pub action: Action,
}

/// A line of help, which may stand for several bindings: `←→ adjust`.
#[derive(Clone, Copy, Debug)]
pub struct Hint {
    /// Where it applies.
    pub place: Place,
    /// The keys as shown, and in ASCII.
    pub keys: (&'static str, &'static str),
    /// Other keys for the same, shown in the help only.
    pub also: &'static str,
    /// One word for the footer; `""` where it is shown in the help only.
    pub short: &'static str,
    /// What it does, for the help.
    pub long: &'static str,
    /// The bindings.
    pub bindings: &'static [Binding],
}

impl Place {
    /// Whether a key bound to this place works at `at`, the place where the person is, in a replay or in
    /// a live run.
    pub const fn covers(self, at: Self, replay: bool) -> bool {
        let typing = matches!(at, Self::Typing | Self::Filter);
        match self {
            Self::Always => true,
            Self::Everywhere => !typing,
            Self::Live => !typing && !replay,
            Self::Replay => !typing && replay,
            Self::Tables => matches!(at, Self::Threads | Self::Locks),
            place => place as u8 == at as u8,
        }
    }
}

/// What a key does at a place, in a replay or in a live run.
pub fn action(at: Place, replay: bool, event: &KeyEvent) -> Option<Action> {
    let bindings = KEYMAP.iter().flat_map(|hint| hint.bindings);
    let mut found =
        bindings.filter(|b| b.place.covers(at, replay) && b.keys.iter().any(|k| k.is(event)));
    found.next().map(|binding| binding.action)
}

/// The hints that apply at a place, in order, in a replay or in a live run.
pub fn hints(at: Place, replay: bool) -> impl Iterator<Item = &'static Hint> {
    KEYMAP.iter().filter(move |hint| hint.place.covers(at, replay))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_at_one_place() {
        for at in [
            Place::Knobs,
            Place::Threads,
            Place::Locks,
            Place::Gpu,
            Place::Tune,
            Place::Sweep,
            Place::Past,
            Place::Filter,
            Place::Help,
            Place::Typing,
        ] {
            for replay in [false, true] {
                let bindings = KEYMAP.iter().flat_map(|hint| hint.bindings);
                let here = bindings.filter(|b| b.place.covers(at, replay));
                let keys: Vec<_> = here.flat_map(|b| b.keys).collect();
                for (index, key) in keys.iter().enumerate() {
                    assert!(!keys[..index].contains(key), "{key:?} twice at {at:?}");
                }
            }
        }
    }

    #[test]
    fn a_hint_speaks_of_the_place_of_its_keys() {
        for hint in KEYMAP {
            let same = |b: &Binding| b.place == hint.place || b.place == Place::Always;
            assert!(hint.bindings.iter().all(same), "{}", hint.long);
            assert!(hint.keys.1.is_ascii());
        }
    }

    #[test]
    fn shift_is_part_of_a_character_but_counts_with_arrows() {
        let plus = KeyEvent::new(KeyCode::Char('+'), KeyModifiers::SHIFT);
        assert_eq!(action(Place::Knobs, false, &plus), Some(Action::More));
        let big = KeyEvent::new(KeyCode::Right, KeyModifiers::SHIFT);
        assert_eq!(action(Place::Knobs, false, &big), Some(Action::MuchMore));
        assert_eq!(action(Place::Typing, false, &KeyEvent::from(KeyCode::Char('q'))), None);
    }
}
