//! The keys, as data. The footer and the help are made from this table, so they cannot lie.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::screens::Screen;

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
    /// Close what is open on top.
    Close,
    /// Take the typed value.
    Apply,
    /// Remove the last typed character.
    Erase,
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
    /// Where the knobs are on screen.
    Knobs,
    /// On the threads' screen.
    Threads,
    /// On the locks' screen.
    Locks,
    /// On any screen with a table.
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

macro_rules! bind {
    ($place:ident, $action:expr, [$($key:expr),+]) => {
        Binding { place: Place::$place, keys: &[$($key),+], action: $action }
    };
}

/// All keys, in the order of the help; the footer shows as many as fit, in this order.
pub const KEYMAP: &[Hint] = &[
    Hint {
        place: Place::Typing,
        keys: ("⏎", "Enter"),
        also: "",
        short: "apply",
        long: "take the typed value",
        bindings: &[bind!(Typing, Action::Apply, [Key::code(KeyCode::Enter)])],
    },
    Hint {
        place: Place::Typing,
        keys: ("Esc", "Esc"),
        also: "",
        short: "cancel",
        long: "leave the knob as it is",
        bindings: &[bind!(Typing, Action::Close, [Key::code(KeyCode::Esc)])],
    },
    Hint {
        place: Place::Typing,
        keys: ("⌫", "Backspace"),
        also: "",
        short: "erase",
        long: "remove the last character",
        bindings: &[bind!(Typing, Action::Erase, [Key::code(KeyCode::Backspace), Key::ctrl('h')])],
    },
    Hint {
        place: Place::Help,
        keys: ("Esc", "Esc"),
        also: "?",
        short: "close",
        long: "close the help",
        bindings: &[bind!(
            Help,
            Action::Close,
            [Key::code(KeyCode::Esc), Key::code(KeyCode::Enter)]
        )],
    },
    Hint {
        place: Place::Knobs,
        keys: ("←→", "Left/Right"),
        also: "h l  - +  click drag wheel",
        short: "adjust",
        long: "turn the selected knob by a step",
        bindings: &[
            bind!(
                Knobs,
                Action::Less,
                [Key::code(KeyCode::Left), Key::char('h'), Key::char('-'), Key::char('_')]
            ),
            bind!(
                Knobs,
                Action::More,
                [Key::code(KeyCode::Right), Key::char('l'), Key::char('+'), Key::char('=')]
            ),
        ],
    },
    Hint {
        place: Place::Knobs,
        keys: ("↑↓", "Up/Down"),
        also: "k j  Tab",
        short: "select",
        long: "select a knob",
        bindings: &[
            bind!(
                Knobs,
                Action::SelectBefore,
                [Key::code(KeyCode::Up), Key::char('k'), Key::code(KeyCode::BackTab)]
            ),
            bind!(
                Knobs,
                Action::SelectAfter,
                [Key::code(KeyCode::Down), Key::char('j'), Key::code(KeyCode::Tab)]
            ),
        ],
    },
    Hint {
        place: Place::Knobs,
        keys: ("⏎", "Enter"),
        also: "",
        short: "type",
        long: "type the selected knob's value",
        bindings: &[bind!(Knobs, Action::Type, [Key::code(KeyCode::Enter)])],
    },
    Hint {
        place: Place::Knobs,
        keys: ("[ ]", "[ ]"),
        also: "Shift+←→  PgDn PgUp",
        short: "",
        long: "turn it by a big step",
        bindings: &[
            bind!(
                Knobs,
                Action::MuchLess,
                [
                    Key::char('['),
                    Key::code(KeyCode::PageDown),
                    Key::shift(KeyCode::Left),
                    Key::char('H')
                ]
            ),
            bind!(
                Knobs,
                Action::MuchMore,
                [
                    Key::char(']'),
                    Key::code(KeyCode::PageUp),
                    Key::shift(KeyCode::Right),
                    Key::char('L')
                ]
            ),
        ],
    },
    Hint {
        place: Place::Knobs,
        keys: ("d", "d"),
        also: "Backspace",
        short: "",
        long: "set it to its default",
        bindings: &[bind!(Knobs, Action::Reset, [Key::char('d'), Key::code(KeyCode::Backspace)])],
    },
    Hint {
        place: Place::Filter,
        keys: ("⏎", "Enter"),
        also: "",
        short: "keep",
        long: "keep the filter",
        bindings: &[bind!(Filter, Action::Apply, [Key::code(KeyCode::Enter)])],
    },
    Hint {
        place: Place::Filter,
        keys: ("Esc", "Esc"),
        also: "",
        short: "clear",
        long: "show all rows again",
        bindings: &[bind!(Filter, Action::Close, [Key::code(KeyCode::Esc)])],
    },
    Hint {
        place: Place::Filter,
        keys: ("⌫", "Backspace"),
        also: "",
        short: "erase",
        long: "remove the last character",
        bindings: &[bind!(Filter, Action::Erase, [Key::code(KeyCode::Backspace), Key::ctrl('h')])],
    },
    Hint {
        place: Place::Past,
        keys: ("Esc", "Esc"),
        also: "Enter",
        short: "close",
        long: "back to all threads",
        bindings: &[bind!(
            Past,
            Action::Close,
            [Key::code(KeyCode::Esc), Key::code(KeyCode::Enter)]
        )],
    },
    Hint {
        place: Place::Past,
        keys: ("↑↓", "Up/Down"),
        also: "k j  wheel",
        short: "thread",
        long: "the thread before or after",
        bindings: &[
            bind!(Past, Action::Row(-1), [Key::code(KeyCode::Up), Key::char('k')]),
            bind!(Past, Action::Row(1), [Key::code(KeyCode::Down), Key::char('j')]),
        ],
    },
    Hint {
        place: Place::Tables,
        keys: ("↑↓", "Up/Down"),
        also: "k j  wheel click",
        short: "select",
        long: "select a row",
        bindings: &[
            bind!(Tables, Action::Row(-1), [Key::code(KeyCode::Up), Key::char('k')]),
            bind!(Tables, Action::Row(1), [Key::code(KeyCode::Down), Key::char('j')]),
        ],
    },
    Hint {
        place: Place::Threads,
        keys: ("⏎", "Enter"),
        also: "click again",
        short: "history",
        long: "a thread's past minute; on a stage, fold it",
        bindings: &[bind!(Threads, Action::Open, [Key::code(KeyCode::Enter)])],
    },
    Hint {
        place: Place::Tables,
        keys: ("s", "s"),
        also: "S reverses  click",
        short: "sort",
        long: "sort by the next column",
        bindings: &[
            bind!(Tables, Action::Sort, [Key::char('s')]),
            bind!(Tables, Action::Reverse, [Key::char('S')]),
        ],
    },
    Hint {
        place: Place::Threads,
        keys: ("/", "/"),
        also: "Esc clears",
        short: "filter",
        long: "show what has a text in its name or stage",
        bindings: &[
            bind!(Threads, Action::Filter, [Key::char('/')]),
            bind!(Threads, Action::Unfilter, [Key::code(KeyCode::Esc)]),
        ],
    },
    Hint {
        place: Place::Threads,
        keys: ("f", "f"),
        also: "F all",
        short: "fold",
        long: "a stage in one row: least/median/most",
        bindings: &[
            bind!(Threads, Action::Fold, [Key::char('f')]),
            bind!(Threads, Action::FoldAll, [Key::char('F')]),
        ],
    },
    Hint {
        place: Place::Locks,
        keys: ("r", "r"),
        also: "",
        short: "whole run",
        long: "histogram of the window or of the whole run",
        bindings: &[bind!(Locks, Action::WholeRun, [Key::char('r')])],
    },
    Hint {
        place: Place::Tables,
        keys: ("PgUp PgDn", "PgUp PgDn"),
        also: "Home End  g G",
        short: "",
        long: "a page up or down, first, last",
        bindings: &[
            bind!(Tables, Action::Page(-1), [Key::code(KeyCode::PageUp)]),
            bind!(Tables, Action::Page(1), [Key::code(KeyCode::PageDown)]),
            bind!(Tables, Action::Top, [Key::code(KeyCode::Home), Key::char('g')]),
            bind!(Tables, Action::Bottom, [Key::code(KeyCode::End), Key::char('G')]),
        ],
    },
    Hint {
        place: Place::Everywhere,
        keys: ("1 2 3", "1 2 3"),
        also: "click",
        short: "",
        long: "overview, threads, locks",
        bindings: &[
            bind!(Everywhere, Action::Go(Screen::Overview), [Key::char('1')]),
            bind!(Everywhere, Action::Go(Screen::Threads), [Key::char('2')]),
            bind!(Everywhere, Action::Go(Screen::Locks), [Key::char('3')]),
        ],
    },
    Hint {
        place: Place::Everywhere,
        keys: ("w", "w"),
        also: "",
        short: "window",
        long: "figures of the last 1 s, 5 s, 30 s, or since the last change",
        bindings: &[bind!(Everywhere, Action::Window, [Key::char('w')])],
    },
    Hint {
        place: Place::Everywhere,
        keys: ("p", "p"),
        also: "Space",
        short: "pause",
        long: "freeze the view; measuring and the pipeline go on",
        bindings: &[bind!(Everywhere, Action::Pause, [Key::char('p'), Key::char(' ')])],
    },
    Hint {
        place: Place::Everywhere,
        keys: ("?", "?"),
        also: "",
        short: "help",
        long: "show or hide this help",
        bindings: &[bind!(Everywhere, Action::Help, [Key::char('?'), Key::code(KeyCode::F(1))])],
    },
    Hint {
        place: Place::Everywhere,
        keys: ("q", "q"),
        also: "Ctrl-C",
        short: "quit",
        long: "stop the run and print the report",
        bindings: &[
            bind!(Everywhere, Action::Quit, [Key::char('q')]),
            bind!(Always, Action::Quit, [Key::ctrl('c')]),
        ],
    },
    Hint {
        place: Place::Always,
        keys: ("Ctrl-Z", "Ctrl-Z"),
        also: "",
        short: "",
        long: "suspend; `fg` brings it back",
        bindings: &[bind!(Always, Action::Suspend, [Key::ctrl('z')])],
    },
];

impl Place {
    /// Whether a key bound to this place works at `at`, the place where the person is.
    pub const fn covers(self, at: Self) -> bool {
        match self {
            Self::Always => true,
            Self::Everywhere => !matches!(at, Self::Typing | Self::Filter),
            Self::Tables => matches!(at, Self::Threads | Self::Locks),
            place => place as u8 == at as u8,
        }
    }
}

/// What a key does at a place.
pub fn action(at: Place, event: &KeyEvent) -> Option<Action> {
    let bindings = KEYMAP.iter().flat_map(|hint| hint.bindings);
    let mut found = bindings.filter(|b| b.place.covers(at) && b.keys.iter().any(|k| k.is(event)));
    found.next().map(|binding| binding.action)
}

/// The hints that apply at a place, in order.
pub fn hints(at: Place) -> impl Iterator<Item = &'static Hint> {
    KEYMAP.iter().filter(move |hint| hint.place.covers(at))
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
            Place::Past,
            Place::Filter,
            Place::Help,
            Place::Typing,
        ] {
            let bindings = KEYMAP.iter().flat_map(|hint| hint.bindings);
            let keys: Vec<_> =
                bindings.filter(|b| b.place.covers(at)).flat_map(|b| b.keys).collect();
            for (index, key) in keys.iter().enumerate() {
                assert!(!keys[..index].contains(key), "{key:?} twice at {at:?}");
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
        assert_eq!(action(Place::Knobs, &plus), Some(Action::More));
        let big = KeyEvent::new(KeyCode::Right, KeyModifiers::SHIFT);
        assert_eq!(action(Place::Knobs, &big), Some(Action::MuchMore));
        assert_eq!(action(Place::Typing, &KeyEvent::from(KeyCode::Char('q'))), None);
    }
}
