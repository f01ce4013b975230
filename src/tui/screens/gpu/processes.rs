//! Who has memory on a GPU: others are shown too, since they take its time.

use ratatui::Frame;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::profile::snapshot::GpuSample;
use crate::tui::format::{MISSING, fit, memory};
use crate::tui::layout::Layout;
use crate::tui::theme::Theme;
use crate::tui::widgets::panel;

/// Draws the panel.
pub(super) fn render(frame: &mut Frame<'_>, gpu: &GpuSample, theme: &Theme, layout: &Layout) {
    let area = layout.gpu.processes;
    if area.is_empty() {
        return;
    }
    let inner = panel::panel(frame, theme, layout.size, area, "processes on it", Vec::new());
    let width = usize::from(inner.width);
    let Some(processes) = &gpu.processes else {
        frame.render_widget(Line::styled(format!(" {MISSING} not told"), theme.label), inner);
        return;
    };
    if processes.list.is_empty() {
        frame.render_widget(Line::styled(" none", theme.label), inner);
        return;
    }
    let rows = usize::from(inner.height);
    let all = processes.list.len() + processes.more;
    // The last row tells of those that have none.
    let shown = if all > rows { rows.saturating_sub(1) } else { all }.min(processes.list.len());
    for (process, row) in processes.list.iter().take(shown).zip(inner.rows()) {
        let size = process.owner.memory.map_or_else(|| MISSING.to_owned(), memory);
        let name = process.owner.name.clone().unwrap_or_else(|| "name unknown".to_owned());
        let name = if process.own { "this run".to_owned() } else { name };
        let name = fit(
            &format!("{:>7} {name}", process.owner.pid),
            width.saturating_sub(size.width() + 3),
        );
        let pad = " ".repeat(width.saturating_sub(name.width() + size.width() + 2));
        let style = if process.own { theme.accent } else { theme.text };
        let spans =
            vec![Span::styled(format!(" {name}{pad}"), style), Span::styled(size, theme.value)];
        frame.render_widget(Line::from(spans), row);
    }
    if all > shown && rows > shown {
        let more = format!(" … {} more", all - shown);
        let row = inner.rows().nth(shown).unwrap_or_default();
        frame.render_widget(Line::styled(more, theme.label), row);
    }
}
