//! The help: all keys, from the keymap, and what the words and signs mean.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear};
use unicode_width::UnicodeWidthStr;

use crate::profile::snapshot::Wait;
use crate::tui::app::App;
use crate::tui::format::fit;
use crate::tui::keymap::{self, Hint};
use crate::tui::theme::{State, Theme};

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
    let mut lines: Vec<Line<'_>> =
        keymap::hints(app.beneath()).map(|hint| key_line(hint, theme)).collect();
    lines.push(Line::default());
    lines.extend(State::ALL.chunks(2).map(|pair| state_line(pair, theme)));
    let width = 84.min(area.width.saturating_sub(2));
    let height = (lines.len() as u16 + 2).min(area.height.saturating_sub(1));
    let area = area.centered(Constraint::Length(width), Constraint::Length(height));
    frame.render_widget(Clear, area);
    let block = Block::bordered()
        .border_set(theme.border())
        .border_style(theme.accent)
        .title_top(Line::styled(" help ", theme.accent))
        .title_top(Line::styled(" Esc closes ", theme.label).right_aligned());
    let inner = block.inner(area);
    frame.render_widget(block, area);
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        frame.render_widget(line, row);
    }
}

fn key_line(hint: &Hint, theme: &Theme) -> Line<'static> {
    let keys = theme.pick(hint.keys.0, hint.keys.1);
    let pad = 11usize.saturating_sub(keys.width());
    let also = hint.also.replace("←→", theme.pick("←→", "Left/Right"));
    let also = if also.is_empty() { also } else { format!("   also {also}") };
    Line::from(vec![
        Span::raw(" "),
        Span::styled(keys, theme.accent),
        Span::raw(" ".repeat(pad)),
        Span::styled(hint.long, theme.text),
        Span::styled(also, theme.label),
    ])
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
