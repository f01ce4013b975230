//! The keys that work here, from the keymap: as many as fit.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::record::player::Steer;
use crate::tui::app::App;
use crate::tui::format::{clauses, clock};
use crate::tui::keymap::{self, Action, Hint};
use crate::tui::theme::Theme;

/// Draws the footer.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, row: Rect) {
    if let Some(notice) = app.notice() {
        let text = format!(" {}", clauses(&theme.write(notice), usize::from(row.width) - 2));
        frame.render_widget(Line::styled(text, theme.notice), row);
        return;
    }
    let mut room = usize::from(row.width);
    let note = note(app, theme, row.width);
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
    let hints: Vec<_> = keymap::hints(app.place(), app.playback().is_some())
        .filter(|hint| !hint.short.is_empty())
        .collect();
    let playing = app.playback().is_some_and(|playback| playback.playing);
    let text = |hint: &Hint| {
        let pauses = hint.bindings.iter().any(|b| b.action == Action::Pause);
        let plays = hint.bindings.iter().any(|b| b.action == Action::Play(Steer::Toggle));
        let records = hint.bindings.iter().any(|b| b.action == Action::Record);
        let short = match hint.short {
            _ if pauses && app.paused() => "resume",
            _ if plays && playing => "pause",
            _ if records && app.recording().is_some() => "stop rec",
            short => short,
        };
        (theme.pick(hint.keys.0, hint.keys.1), short)
    };
    // A view that stands still can be released wherever there is room for a key.
    let needed = |hint: &Hint| {
        let needs = |action: Action| match action {
            Action::Help | Action::Quit => true,
            Action::Pause => app.paused(),
            Action::Play(Steer::Toggle) => !playing,
            _ => false,
        };
        hint.bindings.iter().any(|b| needs(b.action))
    };
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
fn note(app: &App, theme: &Theme, width: u16) -> Line<'static> {
    let mut spans = vec![
        Span::styled("window ", theme.label),
        Span::styled(format!("{} ", app.length_name()), theme.value),
    ];
    match app.snapshot() {
        Some(snapshot) if app.paused() => {
            let words = if width < 100 { "frozen" } else { "view frozen at" };
            let text = format!(" {words} {} ", clock(snapshot.at));
            // The window may be changed while the view is frozen, so its name stays.
            spans.extend([Span::styled(text, theme.sign)]);
            Line::from(spans)
        }
        _ => Line::from(spans),
    }
}
