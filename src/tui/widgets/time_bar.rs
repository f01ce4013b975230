//! The time bar of a replay: ` ▶ 2×  00:00:12 ━━━━━━●───┊───── 00:00:40 `; `┊` is where a knob was turned.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::record::player::Playback;
use crate::tui::format::{clauses, clock};
use crate::tui::theme::Theme;

/// Cells before the line, and after it.
const BEFORE: u16 = 18;
const AFTER: u16 = 10;

/// The line in the time bar: a click on it goes there.
pub const fn line(bar: Rect) -> Rect {
    let width = bar.width.saturating_sub(BEFORE + AFTER);
    Rect { x: bar.x + BEFORE, width, ..bar }
}

/// The share of the run that lies before a column of the line.
pub fn share(line: Rect, column: u16) -> f64 {
    let last = f64::from(line.width.max(2) - 1);
    (f64::from(column.saturating_sub(line.x)) / last).min(1.0)
}

/// Draws the time bar.
pub fn render(frame: &mut Frame<'_>, playback: &Playback, theme: &Theme, bar: Rect) {
    if let Some(error) = &playback.error {
        let text = format!(" {}", clauses(error, usize::from(bar.width.saturating_sub(2))));
        frame.render_widget(Line::styled(text, theme.alarm), bar);
        return;
    }
    let sign = match (playback.playing, playback.at >= playback.to) {
        (true, _) => theme.pick("▶", ">"),
        (false, false) => theme.pick("‖", "="),
        (false, true) => theme.pick("■", "#"),
    };
    let times = theme.pick("×", "x");
    let speed = match playback.speed {
        speed if speed < 0.375 => format!("1/4{times}"),
        speed if speed < 0.75 => format!("1/2{times}"),
        speed => format!("{speed:.0}{times}"),
    };
    let line = line(bar);
    let cells = usize::from(line.width);
    let last = cells.saturating_sub(1) as f64;
    let place = |at| (playback.share(at) * last).round() as usize;
    let mut glyphs = vec![(theme.pick("─", "-"), theme.line); cells];
    let handle = place(playback.at);
    for glyph in glyphs.iter_mut().take(handle) {
        *glyph = (theme.pick("━", "="), theme.accent);
    }
    for &change in playback.changes.iter() {
        if let Some(glyph) = glyphs.get_mut(place(change)) {
            *glyph = (theme.pick("┊", "|"), theme.notice);
        }
    }
    if let Some(glyph) = glyphs.get_mut(handle) {
        *glyph = (theme.pick("●", "O"), theme.accent);
    }
    let looping = if playback.looping { theme.pick("↻", "@") } else { " " };
    let mut spans = vec![
        Span::styled(format!(" {sign}{looping}{speed:<5}"), theme.accent),
        Span::styled(format!("{:>9} ", clock(playback.at)), theme.value),
    ];
    spans.extend(glyphs.into_iter().map(|(glyph, style)| Span::styled(glyph, style)));
    spans.push(Span::styled(format!(" {} ", clock(playback.to)), theme.label));
    frame.render_widget(Line::from(spans), bar);
}
