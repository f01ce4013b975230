//! The help: all keys, from the keymap, and what the words and signs mean.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear};
use unicode_width::UnicodeWidthStr;

use crate::profile::snapshot::Wait;
use crate::tui::app::App;
use crate::tui::format::{clauses, fit};
use crate::tui::keymap::{self, Hint};
use crate::tui::theme::{ColorChoice, State, Theme};

/// What a state means, for the legend.
const fn meaning(state: State) -> &'static str {
    match state {
        State::Running => "on a CPU",
        State::Runnable => "wants a CPU, has none",
        State::Wait(Wait::Lock) => "waits for a lock",
        State::Wait(Wait::Starved) => "waits for input",
        State::Wait(Wait::Backpressured) => "waits to hand over",
        State::Wait(Wait::Gpu) => "waits for the device",
        State::Wait(Wait::Io) => "waits for file or net",
        State::Wait(Wait::Parked) => "switched off by a knob",
        State::Wait(Wait::Delay) => "an emulated delay",
        State::Other => "blocked, unexplained",
    }
}

/// Draws the help over the screen.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, area: Rect) {
    let lines = lines(app, theme, area.width);
    let hidden = (lines.len() as u16).saturating_sub(area.height.saturating_sub(3));
    let above = app.scrolled().min(hidden);
    let width = 84.min(area.width.saturating_sub(2));
    let height = (lines.len() as u16 + 2).min(area.height.saturating_sub(1));
    let area = area.centered(Constraint::Length(width), Constraint::Length(height));
    frame.render_widget(Clear, area);
    let mut block = Block::bordered()
        .border_set(theme.cover())
        .border_style(theme.accent)
        .title_top(Line::styled(" help ", theme.accent))
        .title_top(Line::styled(" Esc closes ", theme.label).right_aligned());
    if hidden > 0 {
        let (up, down) = (theme.pick("↑", "up"), theme.pick("↓", "down"));
        let more = match (above, hidden - above) {
            (0, below) => format!(" {below} more {down} "),
            (above, 0) => format!(" {above} more {up} "),
            (above, below) => format!(" {above} more {up}  {below} more {down} "),
        };
        block = block.title_bottom(Line::styled(more, theme.notice).right_aligned());
    }
    let inner = block.inner(area);
    frame.render_widget(block, area);
    for (line, row) in lines.into_iter().skip(usize::from(above)).zip(inner.rows()) {
        frame.render_widget(line, row);
    }
}

/// Width of the keys.
const KEYS: usize = 11;
/// From this width on two states have room in a row.
const TWO_STATES: usize = 82;

/// The cells of a row on a screen of `width`.
fn inner(width: u16) -> usize {
    usize::from(84.min(width.saturating_sub(2)).saturating_sub(2))
}

fn lines(app: &App, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let width = inner(width);
    let hints = keymap::hints(app.beneath(), app.playback().is_some());
    let mut lines: Vec<_> = hints.flat_map(|hint| key_lines(hint, theme, width)).collect();
    lines.push(Line::default());
    let states = if width >= TWO_STATES { 2 } else { 1 };
    lines.extend(State::ALL.chunks(states).map(|states| state_line(states, theme)));
    lines
}

/// How many rows have no room on a screen of `area`.
pub fn hidden(app: &App, area: Rect) -> u16 {
    // The names of the keys are longer in ASCII.
    let rows = [false, true]
        .map(|ascii| lines(app, &Theme::new(ColorChoice::Never, ascii), area.width).len() as u16);
    rows[0].max(rows[1]).saturating_sub(area.height.saturating_sub(3))
}

/// A key and what it does; other keys for the same below it where they have no room beside it.
fn key_lines(hint: &Hint, theme: &Theme, width: usize) -> Vec<Line<'static>> {
    let keys = theme.pick(hint.keys.0, hint.keys.1);
    let pad = KEYS.saturating_sub(keys.width());
    let long = clauses(hint.long, width.saturating_sub(KEYS + 1));
    let also = hint.also.replace("←→", theme.pick("←→", "Left/Right"));
    let also = if also.is_empty() { also } else { format!("   also {also}") };
    let also = Span::styled(also, theme.label);
    let beside = KEYS + 1 + long.width() + also.width() <= width;
    let mut lines = vec![Line::from(vec![
        Span::raw(" "),
        Span::styled(keys, theme.accent),
        Span::raw(" ".repeat(pad)),
        Span::styled(long, theme.text),
    ])];
    if !beside {
        lines.push(Line::from(Span::raw(" ".repeat(KEYS - 2))));
    }
    if let Some(last) = lines.last_mut() {
        last.push_span(also);
    }
    lines
}

fn state_line(states: &[State], theme: &Theme) -> Line<'static> {
    let mut spans = Vec::new();
    for &state in states {
        let text = format!(" {:<15} {:<22}", state.name(), fit(meaning(state), 22));
        spans.push(Span::raw(" "));
        spans.push(Span::styled(theme.glyph(state), theme.state(state)));
        spans.push(Span::styled(text, theme.text));
    }
    Line::from(spans)
}
