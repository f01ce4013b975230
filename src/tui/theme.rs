//! What each thing looks like: semantic styles and glyphs, resolved once at the start.
//!
//! Colour means state and is the same everywhere; it is never the only sign, since each state also
//! has its own glyph. `NO_COLOR`, terminals of 16 colours and plain ASCII are served from here.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;

use crate::profile::snapshot::Wait;

/// Whether and how much to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// As the environment says: `NO_COLOR`, `COLORTERM`, `TERM`.
    #[default]
    Auto,
    /// None at all.
    Never,
    /// The terminal's own 16 colours.
    Ansi,
    /// The palette of 256.
    Indexed,
}

impl ColorChoice {
    /// What is meant, where the environment is to say: `var` reads an environment variable.
    #[must_use]
    pub fn resolve(self, var: impl Fn(&str) -> Option<String>) -> Self {
        if self != Self::Auto {
            return self;
        }
        let is_set = |name: &str| var(name).is_some_and(|value| !value.is_empty());
        let term = var("TERM").unwrap_or_default();
        if is_set("NO_COLOR") || term == "dumb" {
            return Self::Never;
        }
        let rich = is_set("COLORTERM") || term.contains("256") || term.contains("direct");
        if rich { Self::Indexed } else { Self::Ansi }
    }
}

/// Whether the environment asks for ASCII: a terminal that has few glyphs, or a locale that is set
/// and is not UTF-8. `var` reads an environment variable.
#[must_use]
pub fn ascii_wanted(var: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| var(name).filter(|value| !value.is_empty());
    let term = set(&"TERM").unwrap_or_default();
    let poor = matches!(term.as_str(), "linux" | "dumb" | "vt100" | "vt220" | "ansi");
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    poor || locale.is_some_and(|locale| {
        let locale = locale.to_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

/// The states of a thread as drawn, in the order of a stacked bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// On a CPU.
    Running,
    /// Wants a CPU and has none.
    Runnable,
    /// In a declared wait.
    Wait(Wait),
    /// Blocked, unexplained.
    Other,
}

impl State {
    /// All states, in the order of a stacked bar.
    pub const ALL: [Self; 10] = [
        Self::Running,
        Self::Runnable,
        Self::Wait(Wait::Lock),
        Self::Wait(Wait::Gpu),
        Self::Wait(Wait::Io),
        Self::Wait(Wait::Delay),
        Self::Wait(Wait::Backpressured),
        Self::Wait(Wait::Starved),
        Self::Other,
        Self::Wait(Wait::Parked),
    ];

    /// What it is called on screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Runnable => "runnable",
            Self::Wait(Wait::Backpressured) => "back-pressured",
            Self::Wait(wait) => wait.name(),
            Self::Other => "other",
        }
    }

    /// The same in little room.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Running => "run",
            Self::Runnable => "rdy",
            Self::Wait(Wait::Lock) => "lock",
            Self::Wait(Wait::Gpu) => "gpu",
            Self::Wait(Wait::Io) => "io",
            Self::Wait(Wait::Delay) => "dly",
            Self::Wait(Wait::Backpressured) => "bp",
            Self::Wait(Wait::Starved) => "stv",
            Self::Wait(Wait::Parked) => "off",
            Self::Other => "oth",
        }
    }

    /// Its glyph in a bar, and in ASCII.
    const fn glyphs(self) -> (&'static str, &'static str) {
        match self {
            Self::Running => ("█", "#"),
            Self::Runnable => ("▓", "+"),
            Self::Wait(Wait::Lock) => ("╳", "x"),
            Self::Wait(Wait::Gpu) => ("▞", "g"),
            Self::Wait(Wait::Io) => ("≈", "i"),
            Self::Wait(Wait::Delay) => ("~", "~"),
            Self::Wait(Wait::Backpressured) => ("▒", "%"),
            Self::Wait(Wait::Starved) => ("░", "."),
            Self::Wait(Wait::Parked) => ("·", "_"),
            Self::Other => ("╌", "?"),
        }
    }
}

/// The looks of everything.
#[derive(Clone, Debug)]
pub struct Theme {
    /// Only ASCII glyphs.
    pub ascii: bool,
    /// The program's name, the open tab, the selected knob.
    pub accent: Style,
    /// Numbers: what the eye looks for.
    pub value: Style,
    /// Ordinary text.
    pub text: Style,
    /// Labels, units, borders' titles: what the eye skips.
    pub label: Style,
    /// Borders and the empty part of gauges.
    pub line: Style,
    /// The stage that limits, a knob change, "applying…".
    pub notice: Style,
    /// Failures and errors.
    pub alarm: Style,
    /// Gauges of what works.
    pub busy: Style,
    /// Gauges of what waits in queues.
    pub queue: Style,
    /// Gauges of settings.
    pub knob: Style,
    /// The body of a filled chart.
    pub area: Style,
    /// The upper line of a chart of two.
    pub upper: Style,
    /// The lower line of a chart of two.
    pub lower: Style,
    /// A word such as **synthetic**.
    pub tag: Style,
    /// A sign that covers something: paused.
    pub sign: Style,
    states: [Style; State::ALL.len()],
}

/// A colour of the palette of 256, and the nearest of the 16.
struct Hue(u8, Color);

const BLUE: Hue = Hue(75, Color::LightBlue);
const GREEN: Hue = Hue(108, Color::Green);
const YELLOW: Hue = Hue(179, Color::Yellow);
const AMBER: Hue = Hue(215, Color::LightYellow);
const RED: Hue = Hue(167, Color::LightRed);
const CYAN: Hue = Hue(73, Color::Cyan);
const VIOLET: Hue = Hue(140, Color::Magenta);
// Dark blue can hardly be seen on black.
const STEEL: Hue = Hue(67, Color::Cyan);
const SLATE: Hue = Hue(67, Color::DarkGray);
const BROWN: Hue = Hue(137, Color::LightCyan);
const GREY: Hue = Hue(245, Color::Gray);
const FAINT: Hue = Hue(240, Color::DarkGray);

impl Theme {
    /// The looks for a number of colours; [`ColorChoice::Auto`] asks the environment.
    pub fn new(color: ColorChoice, ascii: bool) -> Self {
        let color = color.resolve(|name| std::env::var(name).ok());
        // Whatever lies beneath (a border's title, say), text is in the terminal's own colour.
        let own = Style::new().fg(Color::Reset).remove_modifier(Modifier::DIM);
        let fg = |hue: Hue| match color {
            ColorChoice::Never => own,
            ColorChoice::Ansi => own.fg(hue.1),
            ColorChoice::Indexed | ColorChoice::Auto => own.fg(Color::Indexed(hue.0)),
        };
        let bold = Modifier::BOLD;
        let dim = |style: Style| match color {
            ColorChoice::Never => style.add_modifier(Modifier::DIM),
            _ => style,
        };
        Self {
            ascii,
            accent: fg(BLUE).add_modifier(bold),
            value: own.add_modifier(bold),
            text: own,
            label: dim(fg(GREY)),
            line: dim(fg(FAINT)),
            notice: fg(AMBER).add_modifier(bold),
            alarm: fg(RED).add_modifier(bold),
            busy: fg(GREEN),
            queue: fg(VIOLET),
            knob: fg(BLUE),
            area: fg(STEEL),
            upper: fg(AMBER),
            lower: fg(CYAN),
            tag: fg(AMBER).add_modifier(Modifier::REVERSED),
            sign: fg(AMBER).add_modifier(bold | Modifier::REVERSED),
            states: State::ALL.map(|state| match state {
                State::Running => fg(GREEN),
                State::Runnable => fg(YELLOW),
                State::Wait(Wait::Lock) => fg(RED),
                State::Wait(Wait::Gpu) => fg(CYAN),
                State::Wait(Wait::Io | Wait::Delay) => fg(BROWN),
                State::Wait(Wait::Backpressured) => fg(VIOLET),
                State::Wait(Wait::Starved) => fg(SLATE),
                State::Wait(Wait::Parked) => fg(FAINT),
                State::Other => fg(GREY),
            }),
        }
    }

    /// A state's style.
    pub fn state(&self, state: State) -> Style {
        let index = State::ALL.iter().position(|&s| s == state);
        index.map_or(self.text, |index| self.states[index])
    }

    /// A state's glyph in a bar.
    pub const fn glyph(&self, state: State) -> &'static str {
        let (unicode, ascii) = state.glyphs();
        self.pick(unicode, ascii)
    }

    /// The first, or in ASCII the second.
    pub const fn pick(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.ascii { ascii } else { unicode }
    }

    /// A sentence with its arrows as this theme writes them.
    pub fn write(&self, text: &str) -> String {
        if self.ascii { text.replace('→', "->") } else { text.to_owned() }
    }

    /// The border of a panel.
    pub const fn border(&self) -> border::Set<'static> {
        if self.ascii {
            border::Set {
                top_left: "+",
                // Panels side by side share a line.
                top_right: "-",
                bottom_left: "+",
                bottom_right: "-",
                vertical_left: "|",
                vertical_right: " ",
                horizontal_top: "-",
                horizontal_bottom: "-",
            }
        } else {
            border::ROUNDED
        }
    }

    /// The border of what lies over the screen.
    pub const fn cover(&self) -> border::Set<'static> {
        let set = self.border();
        if self.ascii {
            border::Set { top_right: "+", bottom_right: "+", vertical_right: "|", ..set }
        } else {
            set
        }
    }

    /// Makes a drawn frame ASCII where that is asked for: whatever a name or a sentence brought in.
    pub fn purify(&self, buffer: &mut Buffer) {
        if !self.ascii {
            return;
        }
        for cell in &mut buffer.content {
            let ascii = match cell.symbol() {
                symbol if symbol.is_ascii() => continue,
                "—" | "–" | "·" | "─" => "-",
                "…" => "~",
                "→" => ">",
                "×" => "x",
                "µ" => "u",
                _ => "?",
            };
            cell.set_symbol(ascii);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_how_many_colours() {
        let resolve = |vars: &[(&str, &str)]| {
            ColorChoice::Auto.resolve(|name| {
                vars.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(resolve(&[("TERM", "xterm")]), ColorChoice::Ansi);
        assert_eq!(resolve(&[("TERM", "tmux-256color")]), ColorChoice::Indexed);
        assert_eq!(resolve(&[("TERM", "xterm"), ("COLORTERM", "truecolor")]), ColorChoice::Indexed);
        assert_eq!(resolve(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")]), ColorChoice::Never);
        assert_eq!(resolve(&[("TERM", "xterm"), ("NO_COLOR", "")]), ColorChoice::Ansi);
        assert_eq!(resolve(&[("TERM", "dumb")]), ColorChoice::Never);
    }

    #[test]
    fn ascii_is_for_poor_terminals_and_other_locales() {
        let wanted = |vars: &[(&str, &str)]| {
            ascii_wanted(|name| {
                vars.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(!wanted(&[("TERM", "xterm-256color"), ("LANG", "en_US.UTF-8")]));
        assert!(!wanted(&[("TERM", "xterm")]), "containers often set no locale");
        assert!(!wanted(&[("LC_ALL", ""), ("LANG", "C.utf8")]));
        assert!(wanted(&[("TERM", "linux"), ("LANG", "en_US.UTF-8")]));
        assert!(wanted(&[("TERM", "xterm"), ("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]));
    }

    #[test]
    fn states_are_told_apart_without_colour() {
        for ascii in [false, true] {
            let theme = Theme::new(ColorChoice::Never, ascii);
            let mut glyphs = State::ALL.map(|state| theme.glyph(state)).to_vec();
            glyphs.sort_unstable();
            glyphs.dedup();
            assert_eq!(glyphs.len(), State::ALL.len());
            assert!(State::ALL.iter().all(|&s| theme.state(s).fg == Some(Color::Reset)));
        }
    }
}
