//! What failed, by reason, with the latest names: only there when something did.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::profile::snapshot::Items;
use crate::tui::app::App;
use crate::tui::format::{fit, fit_end, thousands};
use crate::tui::theme::Theme;

/// One line: how many failed, by reason, and a name.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, row: Rect) {
    let Some(snapshot) = app.snapshot() else { return };
    let items = &snapshot.items;
    let mut text = format!("  {}", by_reason(items));
    if let Some(last) = items.failed_items.last() {
        text = format!("{text}  latest: {} ({})", fit_end(&last.name, 40), last.reason);
    }
    let head = headline(items, theme);
    let room = usize::from(row.width).saturating_sub(head.len() + 1);
    let line = vec![
        Span::styled(format!(" {head}"), theme.alarm),
        Span::styled(fit(&text, room), theme.text),
    ];
    frame.render_widget(Line::from(line), row);
}

/// Several lines: how many, by reason, then as many names as there are rows.
pub fn lines<'a>(items: &Items, theme: &Theme, width: usize, rows: usize) -> Vec<Line<'a>> {
    if items.failed == 0 || rows == 0 {
        return Vec::new();
    }
    let head = headline(items, theme);
    let reasons = format!("  {}", by_reason(items));
    let room = width.saturating_sub(head.len() + 1);
    let mut lines = vec![Line::from(vec![
        Span::styled(format!(" {head}"), theme.alarm),
        Span::styled(fit(&reasons, room), theme.text),
    ])];
    for item in items.failed_items.iter().rev().take(rows - 1) {
        let reason = format!("  {}", item.reason);
        let name = fit_end(&item.name, width.saturating_sub(reason.len() + 3));
        lines.push(Line::from(vec![
            Span::styled(format!("   {name}"), theme.text),
            Span::styled(reason, theme.label),
        ]));
    }
    lines
}

fn headline(items: &Items, theme: &Theme) -> String {
    format!("{} {} failed", theme.pick("✗", "!"), thousands(items.failed))
}

fn by_reason(items: &Items) -> String {
    let reasons = items.failures.iter();
    let reasons: Vec<_> = reasons.map(|(why, &n)| format!("{why} {}", thousands(n))).collect();
    reasons.join(", ")
}
