//! How full each queue was over time, a strip each.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{bar, chart, note, panel};
use crate::profile::history::{QUEUES, Series};
use crate::tui::app::App;
use crate::tui::layout::Layout;
use crate::tui::theme::Theme;

const SPAN: u64 = 60_000_000_000;

/// Draws the strips.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout, area: Rect) {
    let inner = panel::panel(frame, theme, layout.size, area, "queues · fill · 60 s", Vec::new());
    if note::bare(app) {
        note::render(frame, theme, inner, note::BARE);
        return;
    }
    let rows_each = (inner.height / QUEUES.len() as u16).max(1);
    for (index, name) in QUEUES.iter().enumerate() {
        let y = inner.y + index as u16 * rows_each;
        if y + rows_each > inner.bottom() {
            break;
        }
        let strip = Rect { y, height: rows_each, ..inner };
        let plot = chart::plot(strip);
        let values = app.history().columns(Series::QueueFill(index), usize::from(plot.width), SPAN);
        let label = Span::styled(format!("{name:>7}"), theme.label);
        frame.render_widget(Line::from(label), Rect { y: strip.bottom() - 1, height: 1, ..strip });
        if rows_each == 1 {
            frame.render_widget(Line::from(bar::sparkline(&values, theme.queue, theme)), plot);
        } else {
            chart::area(frame, plot, &values, 1.0, theme.queue, theme);
        }
    }
}
