//! The keys that work here, from the keymap: as many as fit.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::tui::app::App;
use crate::tui::format::clock;
use crate::tui::keymap::{self, Action, Hint};
use crate::tui::theme::Theme;

/// Draws the footer.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, row: Rect) {
    let mut room = usize::from(row.width);
    let note = note(app, theme);
    let note_width = note.width();
    room = room.saturating_sub(note_width);
    let mut spans = vec![Span::raw(" ")];
    for (keys, short) in shown(app, theme, room.saturating_sub(1)) {
        spans.push(Span::styled(keys, theme.accent));
        spans.push(Span::styled(format!(" {short}{GAP}"), theme.label));
    }
    frame.render_widget(Line::from(spans), row);
    let x = row.right().saturating_sub(note_width as u16);
    frame.render_widget(note, Rect { x, width: row.right() - x, ..row });
}

/// Between two keys.
const GAP: &str = "   ";

/// The keys that have room, in the keymap's order. The way to the help and the way out come first
/// where not all have.
fn shown(app: &App, theme: &Theme, room: usize) -> Vec<(&'static str, &'static str)> {
    let hints: Vec<_> = keymap::hints(app.place()).filter(|hint| !hint.short.is_empty()).collect();
    let text = |hint: &Hint| {
        let pauses = hint.bindings.iter().any(|b| b.action == Action::Pause);
        let short = if pauses && app.paused() { "resume" } else { hint.short };
        (theme.pick(hint.keys.0, hint.keys.1), short)
    };
    let needed =
        |hint: &Hint| hint.bindings.iter().any(|b| matches!(b.action, Action::Help | Action::Quit));
    let mut left = room;
    let mut fits = |hint: &Hint| {
        let (keys, short) = text(hint);
        let rest = left.checked_sub(keys.width() + 1 + short.width() + GAP.len());
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let mut keep = vec![false; hints.len()];
    for first in [true, false] {
        for (hint, keep) in hints.iter().zip(&mut keep) {
            if needed(hint) == first {
                *keep = fits(hint);
            }
        }
    }
    hints.iter().zip(keep).filter(|&(_, keep)| keep).map(|(hint, _)| text(hint)).collect()
}

/// At the right: what the numbers speak of, or that the view is frozen.
fn note(app: &App, theme: &Theme) -> Line<'static> {
    match app.snapshot() {
        Some(snapshot) if app.paused() => {
            let text = format!(" view frozen at {} ", clock(snapshot.at));
            Line::styled(text, theme.sign)
        }
        _ => Line::from(vec![
            Span::styled("window ", theme.label),
            Span::styled(format!("{} ", app.length().name()), theme.value),
        ]),
    }
}
