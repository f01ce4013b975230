//! What limits and what to turn, in two lines.

use ratatui::Frame;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::panel;
use crate::tui::advice::Advice;
use crate::tui::app::App;
use crate::tui::format::clauses;
use crate::tui::layout::Layout;
use crate::tui::theme::Theme;

/// Draws the verdict; where a command was refused, or something happened that a person should know, that takes its second
/// line.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout, advice: &Advice) {
    let area = layout.verdict;
    let inner = if layout.size.bordered() {
        panel::panel(frame, theme, layout.size, area, "verdict", Vec::new())
    } else {
        area
    };
    let width = usize::from(inner.width);
    let style = if advice.stage.is_some() { theme.notice } else { theme.accent };
    // In ASCII the border does for an edge.
    let plain = if layout.size.bordered() { "  " } else { "| " };
    let edge = || Span::styled(theme.pick("▌ ", plain), style);
    let headline = advice.headline.as_str();
    let room = width.saturating_sub(headline.width() + 4);
    let why = format!("  {}", clauses(&theme.write(&advice.why), room));
    let first =
        Line::from(vec![edge(), Span::styled(headline, style), Span::styled(why, theme.text)]);
    let second = match app.refusal().or_else(|| app.happened()) {
        Some(refusal) => {
            vec![edge(), Span::styled(clauses(refusal, width.saturating_sub(2)), theme.alarm)]
        }
        None if advice.turn.is_empty() => vec![edge()],
        None => vec![
            edge(),
            Span::styled(theme.pick("→ ", "-> "), style),
            Span::styled(clauses(&theme.write(&advice.turn), width.saturating_sub(5)), theme.value),
        ],
    };
    for (line, row) in [first, Line::from(second)].into_iter().zip(inner.rows()) {
        frame.render_widget(line, row);
    }
}
