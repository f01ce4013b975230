//! The engine's GPU on the overview, in the four figures that matter: busy, SM occupancy, memory, power.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{bar, panel};
use crate::profile::snapshot::Metric;
use crate::profile::window::gpu::GpuUse;
use crate::tui::app::App;
use crate::tui::format::{MISSING, fit, memory, memory_of, percent};
use crate::tui::layout::Layout;
use crate::tui::theme::Theme;

/// A figure: its name, its share, its value in words.
type Figure = (&'static str, Option<f64>, String);

/// Draws the panel, or one row where there is no more.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout, area: Rect) {
    let Some((index, window)) = app.engine_gpu().zip(app.window()) else { return };
    let Some(used) = window.gpu(index) else { return };
    let figures = figures(&used);
    if area.height < 3 {
        let mut spans = vec![Span::styled(" GPU", theme.label)];
        for (name, _, value) in &figures {
            spans.push(Span::styled(format!("  {name} "), theme.label));
            spans.push(Span::styled(value.clone(), theme.value));
        }
        frame.render_widget(Line::from(spans), Rect { height: 1, ..area });
        return;
    }
    let facts = &used.sample().facts;
    let title = format!("GPU {} {}", facts.number(), facts.name);
    let title = fit(&title, usize::from(area.width).saturating_sub(6));
    let lost = used.sample().lost.is_some();
    let right = if lost {
        vec![Span::styled("lost", theme.alarm)]
    } else {
        vec![Span::styled("more: 4", theme.label)]
    };
    let inner = panel::panel(frame, theme, layout.size, area, &title, right);
    let half = inner.width / 2;
    for (pair, row) in figures.chunks(2).zip(inner.rows()) {
        for (place, (name, share, value)) in pair.iter().enumerate() {
            let x = inner.x + half * place as u16;
            let gauge = half.saturating_sub(9 + value.chars().count() as u16 + 2).min(12);
            let mut spans = vec![Span::styled(format!(" {name:<8}"), theme.label)];
            if gauge >= 4 {
                match share {
                    Some(share) => spans.extend(bar::gauge(*share, gauge, theme.busy, theme)),
                    None => spans.push(Span::raw(" ".repeat(usize::from(gauge)))),
                }
                spans.push(Span::raw(" "));
            }
            let style = if value == MISSING { theme.label } else { theme.value };
            spans.push(Span::styled(value.clone(), style));
            frame.render_widget(Line::from(spans), Rect { x, width: half, ..row });
        }
    }
}

fn figures(used: &GpuUse<'_>) -> [Figure; 4] {
    let share = |name, metric| {
        let share = used.mean(metric);
        (name, share, percent(share).trim().to_owned())
    };
    let part = |name, value: Option<f64>, total: Option<f64>, text: Option<String>| {
        let share = value.zip(total).filter(|&(_, total)| total > 0.0);
        let text = text.unwrap_or_else(|| MISSING.to_owned());
        (name, share.map(|(value, total)| value / total), text)
    };
    let (bytes, total) = (used.mean(Metric::MemoryUsed), used.sample().facts.memory_total);
    let memory = bytes.map(|bytes| match total {
        Some(total) => memory_of(bytes as u64, total),
        None => memory(bytes as u64),
    });
    let (watts, limit) = (used.mean(Metric::Power), used.mean(Metric::PowerLimit));
    let power = watts.map(|watts| match limit {
        Some(limit) => format!("{watts:.0} of {limit:.0} W"),
        None => format!("{watts:.0} W"),
    });
    [
        share("busy", Metric::Busy),
        share("SM occ.", Metric::SmOccupancy),
        part("memory", bytes, total.map(|total| total as f64), memory),
        part("power", watts, limit, power),
    ]
}
