//! The keys that work here, from the keymap: as many as fit.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::tui::app::App;
use crate::tui::format::clock;
use crate::tui::keymap::{self, Action};
use crate::tui::theme::Theme;

/// Draws the footer.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, row: Rect) {
    let mut room = usize::from(row.width);
    let note = note(app, theme);
    let note_width = note.width();
    room = room.saturating_sub(note_width);
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    for hint in keymap::hints(app.place()).filter(|hint| !hint.short.is_empty()) {
        let keys = theme.pick(hint.keys.0, hint.keys.1);
        let pauses = hint.bindings.iter().any(|b| b.action == Action::Pause);
        let short = if pauses && app.paused() { "resume" } else { hint.short };
        let width = keys.width() + 1 + short.width() + 3;
        if used + width > room {
            break;
        }
        used += width;
        spans.push(Span::styled(keys, theme.accent));
        spans.push(Span::styled(format!(" {short}   "), theme.label));
    }
    frame.render_widget(Line::from(spans), row);
    let x = row.right().saturating_sub(note_width as u16);
    frame.render_widget(note, Rect { x, width: row.right() - x, ..row });
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
