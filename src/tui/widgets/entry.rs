//! The field in which a knob's value is typed, over the screen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use crate::tui::app::App;
use crate::tui::format::fit;
use crate::tui::theme::Theme;

/// Draws the field.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, area: Rect) {
    let Some(entry) = app.entry() else { return };
    let spec = app.selected().spec();
    let area = area.centered(
        ratatui::layout::Constraint::Length(58.min(area.width)),
        ratatui::layout::Constraint::Length(7.min(area.height)),
    );
    frame.render_widget(Clear, area);
    let block = Block::bordered()
        .border_set(theme.cover())
        .border_style(theme.accent)
        .title_top(Line::styled(format!(" {} ", spec.name), theme.accent));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let now = app.knob(spec.id).map_or_else(String::new, |value| format!("now {value}"));
    let room = usize::from(inner.width).saturating_sub(6);
    let field = Line::from(vec![
        Span::styled(theme.pick(" ▸ ", " > "), theme.accent),
        Span::styled(fit(&entry.text, room), theme.value),
        Span::styled(theme.pick("▏", "_"), theme.accent),
        Span::styled(if entry.text.is_empty() { now } else { String::new() }, theme.label),
    ]);
    let takes = format!(" {}", spec.expects());
    let takes = Line::styled(fit(&takes, usize::from(inner.width)), theme.label);
    for (line, row) in [field, takes].into_iter().zip(inner.rows()) {
        frame.render_widget(line, row);
    }
    let below = Rect {
        x: inner.x + inner.width.min(1),
        y: inner.y + inner.height.min(2),
        width: inner.width.saturating_sub(2),
        height: inner.height.saturating_sub(2),
    };
    let (text, style) = match &entry.error {
        Some(error) => (error.as_str(), theme.alarm),
        None => (spec.help, theme.text),
    };
    let text = Paragraph::new(text).style(style).wrap(Wrap { trim: true });
    frame.render_widget(text, below);
}
