//! The table of all keys.

use ratatui::crossterm::event::KeyCode;

use super::{Action, Binding, Hint, Key, Place};
use crate::record::player::Steer;
use crate::tui::screens::Screen;

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
        place: Place::Help,
        keys: ("↑↓", "Up/Down"),
        also: "k j  PgUp PgDn",
        short: "scroll",
        long: "scroll the help",
        bindings: &[
            bind!(Help, Action::Scroll(-1), [Key::code(KeyCode::Up), Key::char('k')]),
            bind!(Help, Action::Scroll(1), [Key::code(KeyCode::Down), Key::char('j')]),
            bind!(Help, Action::Scroll(-8), [Key::code(KeyCode::PageUp)]),
            bind!(Help, Action::Scroll(8), [Key::code(KeyCode::PageDown)]),
        ],
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
        keys: ("a", "a"),
        also: "",
        short: "whole run",
        long: "histogram of the window or of the whole run",
        bindings: &[bind!(Locks, Action::WholeRun, [Key::char('a')])],
    },
    Hint {
        place: Place::Gpu,
        keys: ("↑↓", "Up/Down"),
        also: "k j  wheel click",
        short: "select",
        long: "select a GPU, where there are several",
        bindings: &[
            bind!(Gpu, Action::Row(-1), [Key::code(KeyCode::Up), Key::char('k')]),
            bind!(Gpu, Action::Row(1), [Key::code(KeyCode::Down), Key::char('j')]),
        ],
    },
    Hint {
        place: Place::Sweep,
        keys: ("Esc", "Esc"),
        also: "",
        short: "end",
        long: "end the sweep; what was measured is kept",
        bindings: &[bind!(Sweep, Action::Quit, [Key::code(KeyCode::Esc)])],
    },
    Hint {
        place: Place::Sweep,
        keys: ("↑↓", "Up/Down"),
        also: "k j  PgUp PgDn  wheel click",
        short: "select",
        long: "select a point",
        bindings: &[
            bind!(Sweep, Action::Row(-1), [Key::code(KeyCode::Up), Key::char('k')]),
            bind!(Sweep, Action::Row(1), [Key::code(KeyCode::Down), Key::char('j')]),
            bind!(Sweep, Action::Page(-1), [Key::code(KeyCode::PageUp)]),
            bind!(Sweep, Action::Page(1), [Key::code(KeyCode::PageDown)]),
        ],
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
        keys: ("1 2 3 4 5", "1 2 3 4 5"),
        also: "click",
        short: "",
        long: "overview, threads, locks, GPU, tune",
        bindings: &[
            bind!(Everywhere, Action::Go(Screen::Overview), [Key::char('1')]),
            bind!(Everywhere, Action::Go(Screen::Threads), [Key::char('2')]),
            bind!(Everywhere, Action::Go(Screen::Locks), [Key::char('3')]),
            bind!(Everywhere, Action::Go(Screen::Gpu), [Key::char('4')]),
            bind!(Everywhere, Action::Go(Screen::Tune), [Key::char('5')]),
        ],
    },
    Hint {
        place: Place::Everywhere,
        keys: ("w", "w"),
        also: "",
        short: "window",
        long: "figures of 1 s+, 5 s, 30 s, or since change",
        bindings: &[bind!(Everywhere, Action::Window, [Key::char('w')])],
    },
    Hint {
        place: Place::Live,
        keys: ("p", "p"),
        also: "Space",
        short: "pause",
        long: "freeze the view; measuring and the pipeline go on",
        bindings: &[bind!(Live, Action::Pause, [Key::char('p'), Key::char(' ')])],
    },
    Hint {
        place: Place::Replay,
        keys: ("p", "p"),
        also: "Space",
        short: "play",
        long: "play or pause the replay",
        bindings: &[bind!(Replay, Action::Play(Steer::Toggle), [Key::char('p'), Key::char(' ')])],
    },
    Hint {
        place: Place::Replay,
        keys: ("< >", "< >"),
        also: "click on the time bar",
        short: "seek",
        long: "5 s back or on",
        bindings: &[
            bind!(Replay, Action::Play(Steer::Jump(-5)), [Key::char('<')]),
            bind!(Replay, Action::Play(Steer::Jump(5)), [Key::char('>')]),
        ],
    },
    Hint {
        place: Place::Replay,
        keys: (", .", ", ."),
        also: "",
        short: "step",
        long: "a sample back or on",
        bindings: &[
            bind!(Replay, Action::Play(Steer::Step(-1)), [Key::char(',')]),
            bind!(Replay, Action::Play(Steer::Step(1)), [Key::char('.')]),
        ],
    },
    Hint {
        place: Place::Replay,
        keys: ("{ }", "{ }"),
        also: "0 start",
        short: "speed",
        long: "slower or faster, from 1/4 to 16 times",
        bindings: &[
            bind!(Replay, Action::Play(Steer::Slower), [Key::char('{')]),
            bind!(Replay, Action::Play(Steer::Faster), [Key::char('}')]),
            bind!(Replay, Action::Play(Steer::Start), [Key::char('0')]),
        ],
    },
    Hint {
        place: Place::Everywhere,
        keys: ("r", "r"),
        also: "",
        short: "record",
        long: "record the screen into a .cast file, or end that",
        bindings: &[bind!(Everywhere, Action::Record, [Key::char('r')])],
    },
    Hint {
        place: Place::Everywhere,
        keys: ("c", "c"),
        also: "",
        short: "",
        long: "capture the screen into a picture file",
        bindings: &[bind!(Everywhere, Action::Capture, [Key::char('c')])],
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
