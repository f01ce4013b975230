//! The machine, what pipetop itself costs, and what failed.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{bar, failures, panel};
use crate::profile::history::Series;
use crate::tui::app::App;
use crate::tui::format::{MISSING, memory, percent};
use crate::tui::layout::Layout;
use crate::tui::theme::Theme;

const SPAN: u64 = 60_000_000_000;

/// Draws the panel.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout, area: Rect) {
    let Some(snapshot) = app.snapshot() else {
        if area.height < 3 {
            return;
        }
        panel::panel(frame, theme, layout.size, area, "machine", Vec::new());
        return;
    };
    let cores = snapshot.run.cores;
    let s = if cores == 1 { "" } else { "s" };
    let sampled = match snapshot.run.sample_hz {
        hz if hz > 0.0 => format!(" · sampled at {hz} Hz"),
        _ => String::new(),
    };
    let right = vec![Span::styled(format!("{cores} core{s}{sampled}"), theme.label)];
    // Two rows have no room for a border, and are enough for what matters most.
    let inner = if area.height < 3 {
        Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area }
    } else {
        panel::panel(frame, theme, layout.size, area, "machine", right)
    };
    let mut lines = vec![cpu(app, theme, inner.width), used_memory(app, theme, inner.width)];
    lines.push(own(app, theme, inner.width));
    let rest = usize::from(inner.height).saturating_sub(lines.len());
    let failed = failures::lines(&snapshot.items, theme, usize::from(inner.width), rest);
    lines.extend(failed);
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        frame.render_widget(line, row);
    }
}

fn gauge_width(width: u16) -> u16 {
    (width / 4).clamp(6, 16)
}

fn label(text: &str, theme: &Theme) -> Span<'static> {
    Span::styled(format!(" {text:<8}"), theme.label)
}

fn cpu(app: &App, theme: &Theme, width: u16) -> Line<'static> {
    let share = app.window().and_then(|w| w.host_cpu());
    let gauge = gauge_width(width);
    let mut spans = vec![label("CPU", theme)];
    match share {
        Some(share) => spans.extend(bar::gauge(share, gauge, theme.busy, theme)),
        None => spans.extend(bar::unknown(gauge, theme)),
    }
    spans.push(Span::styled(format!(" {} ", percent(share)), theme.value));
    let cells = usize::from(width.saturating_sub(gauge + 9 + 7));
    let past = app.history().columns(Series::HostCpu, cells, SPAN);
    spans.extend(bar::sparkline(&past, theme.area, theme));
    Line::from(spans)
}

fn used_memory(app: &App, theme: &Theme, width: u16) -> Line<'static> {
    let host = app.snapshot().and_then(|s| s.host).filter(|host| host.memory_total > 0);
    let gauge = gauge_width(width);
    let mut spans = vec![label("memory", theme)];
    let Some(host) = host else {
        spans.extend(bar::unknown(gauge, theme));
        return Line::from(spans);
    };
    let share = host.memory_used as f64 / host.memory_total as f64;
    spans.extend(bar::gauge(share, gauge, theme.busy, theme));
    spans.push(Span::styled(format!(" {} ", percent(Some(share))), theme.value));
    let of = format!("{} of {}", memory(host.memory_used), memory(host.memory_total));
    spans.push(Span::styled(of, theme.label));
    Line::from(spans)
}

fn own(app: &App, theme: &Theme, width: u16) -> Line<'static> {
    let own = app.window().and_then(|w| w.own_cpu());
    let own = own.map_or_else(|| MISSING.to_owned(), |own| format!("{:.1}%", own * 100.0));
    let sample = app.snapshot().map(|snapshot| snapshot.own);
    let rss = sample.and_then(|own| own.rss).map_or_else(|| MISSING.to_owned(), memory);
    let unit = if width < 50 { " core" } else { " of a core" };
    let mut spans = vec![
        label("process", theme),
        Span::styled(rss, theme.value),
        Span::styled("  own threads ", theme.label),
        Span::styled(own, theme.value),
        Span::styled(unit, theme.label),
    ];
    if let Some(missed) = sample.map(|own| own.samples_missed).filter(|&missed| missed > 0) {
        spans.push(Span::styled(format!("  {missed} samples missed"), theme.notice));
    }
    Line::from(spans)
}
