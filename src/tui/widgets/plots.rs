//! The charts of the overview: throughput, and latency where there is room.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::{chart, panel};
use crate::profile::history::Series;
use crate::tui::app::App;
use crate::tui::format::{millis, rate, short_rate};
use crate::tui::layout::Layout;
use crate::tui::theme::Theme;

/// How far back the charts reach.
const SPAN: u64 = 60_000_000_000;

/// Draws the throughput over time.
pub fn throughput(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout, area: Rect) {
    let now = app.window().and_then(|w| w.throughput());
    let right = vec![Span::styled(rate(now), theme.value), Span::styled(" img/s", theme.label)];
    let inner = panel::panel(frame, theme, layout.size, area, "throughput · 60 s", right);
    let plot = chart::plot(inner);
    if plot.is_empty() {
        return;
    }
    let columns = usize::from(plot.width);
    let values = app.history().columns(Series::Throughput, columns, SPAN);
    // The headline's figure has room on it too: a column is a mean of several.
    let top = chart::ceiling(highest(&values).max(now.unwrap_or(0.0)));
    chart::axis(frame, inner, top, short_rate, theme);
    chart::area(frame, plot, &values, top, theme.area, theme);
    chart::marks(frame, plot, &app.history().marks(columns, SPAN), theme);
}

/// Draws the median and the 99th percentile of the latency over time.
pub fn latency(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout, area: Rect) {
    let right = vec![
        Span::styled(theme.pick("━ ", "o "), theme.lower),
        Span::styled("p50  ", theme.label),
        Span::styled(theme.pick("━ ", "* "), theme.upper),
        Span::styled("p99", theme.label),
    ];
    let inner = panel::panel(frame, theme, layout.size, area, "latency · ms · 60 s", right);
    let plot = chart::plot(inner);
    if plot.is_empty() {
        return;
    }
    let columns = usize::from(plot.width);
    let p50 = app.history().columns(Series::LatencyP50, columns * 2, SPAN);
    let p99 = app.history().columns(Series::LatencyP99, columns * 2, SPAN);
    let top = chart::ceiling(highest(&p99).max(highest(&p50)));
    chart::axis(
        frame,
        inner,
        top,
        |v| if v > 0.0 { millis(Some(v)) } else { "0".to_owned() },
        theme,
    );
    let series = [(p50.as_slice(), theme.lower, "o"), (p99.as_slice(), theme.upper, "*")];
    chart::lines(frame, plot, &series, top, theme);
    chart::marks(frame, plot, &app.history().marks(columns, SPAN), theme);
}

fn highest(values: &[Option<f64>]) -> f64 {
    values.iter().flatten().copied().fold(0.0, f64::max)
}
