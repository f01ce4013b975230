//! The figures over the last minute, on one time axis: what each is now, what it means, how it was.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::probe::clock::Nanos;
use crate::profile::snapshot::{GpuSample, Metric, Wait};
use crate::profile::window::Window;
use crate::tui::app::App;
use crate::tui::format::{MISSING, clauses, percent, thousands};
use crate::tui::layout::Layout;
use crate::tui::theme::{State, Theme};
use crate::tui::widgets::{chart, panel};

/// How far back the charts reach.
const SPAN: Nanos = 60_000_000_000;
/// Width of a name, and of a value.
const NAME: u16 = 14;
const VALUE: u16 = 7;
/// Width of what a figure means, in the second row beneath its name.
const MEANING: u16 = 26;
/// From this width on there is room for it.
const WIDE: u16 = 98;
/// The most rows of a chart.
const TALLEST: u16 = 6;

/// A figure that is drawn over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// One of the driver's.
    Metric(Metric),
    /// Our own work, by the engine's events.
    Events,
}

/// All of them with what they mean, the first ones first where there is no room for all.
pub const FIGURES: [(Figure, &str); 7] = [
    (Figure::Metric(Metric::Busy), "some kernel was resident"),
    (Figure::Events, "our batches were on it"),
    (Figure::Metric(Metric::SmActive), "SMs with a warp at all"),
    (Figure::Metric(Metric::SmOccupancy), "warps, of those that fit"),
    (Figure::Metric(Metric::Tensor), "tensor cores at work"),
    (Figure::Metric(Metric::Dram), "of what memory can carry"),
    (Figure::Metric(Metric::Power), "watts, up to the limit"),
];

impl Figure {
    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metric(Metric::Dram) => "DRAM",
            Self::Metric(Metric::Tensor) => "tensor",
            Self::Metric(metric) => metric.name(),
            Self::Events => "our events",
        }
    }

    /// Its value in a window.
    fn value(self, window: &Window<'_>, gpu: usize) -> Option<f64> {
        match self {
            Self::Metric(metric) => window.gpu(gpu)?.mean(metric),
            Self::Events => window.event_busy(gpu),
        }
    }

    /// The value at the top of its chart.
    fn top(self, gpu: &GpuSample) -> f64 {
        match self {
            Self::Metric(Metric::Power) => {
                gpu.value(Metric::PowerLimit).filter(|&limit| limit > 0.0).unwrap_or(1000.0)
            }
            _ => 1.0,
        }
    }

    fn write(self, value: Option<f64>) -> String {
        match (self, value) {
            (_, None) => MISSING.to_owned(),
            (Self::Metric(Metric::Power), Some(watts)) => {
                format!("{} W", thousands(watts.max(0.0).round() as u64))
            }
            (_, share) => percent(share).trim().to_owned(),
        }
    }

    fn style(self, theme: &Theme) -> Style {
        match self {
            Self::Metric(Metric::Busy) => theme.area,
            Self::Metric(Metric::Power) => theme.queue,
            Self::Metric(_) => theme.busy,
            Self::Events => theme.state(State::Wait(Wait::Gpu)),
        }
    }

    /// Why there is no value.
    fn reason(self, app: &App, gpu: usize) -> String {
        let Some(snapshot) = app.snapshot() else { return String::new() };
        match self {
            Self::Metric(metric) => {
                snapshot.gpus.get(gpu).map_or("", |gpu| gpu.reason(metric)).to_owned()
            }
            Self::Events if snapshot.engine_gpu() == Some(gpu) => {
                "the engine keeps no account of its device".to_owned()
            }
            Self::Events => "the engine does not work on this GPU".to_owned(),
        }
    }
}

/// Draws the panel.
pub(super) fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout, gpu: usize) {
    let area = layout.gpu.charts;
    if area.is_empty() {
        return;
    }
    let right = vec![Span::styled(format!("means of {}", app.length_name()), theme.label)];
    let inner = panel::panel(frame, theme, layout.size, area, "busy, and how full · 60 s", right);
    let shown = FIGURES.len().min(usize::from(inner.height));
    if shown == 0 {
        return;
    }
    let each = (inner.height / shown as u16).clamp(1, TALLEST);
    // What is left over goes to the first ones.
    let mut over = if each == TALLEST { 0 } else { inner.height - each * shown as u16 };
    // All charts share one time axis.
    let left = if inner.width >= WIDE { MEANING + 1 } else { NAME + VALUE };
    let columns = usize::from(inner.width.saturating_sub(left + 1));
    let past = app.history().column_windows(columns, SPAN);
    let mut y = inner.y;
    for (figure, meaning) in FIGURES.into_iter().take(shown) {
        let more = u16::from(over > 0 && layout.size.bordered());
        over = over.saturating_sub(more);
        let row = Rect { y, height: (each + more).min(inner.bottom() - y), ..inner };
        let plot = Rect { x: row.x + left.min(row.width), width: columns as u16, ..row };
        one(frame, app, theme, row, gpu, figure, meaning);
        let values: Vec<_> =
            past.iter().map(|window| figure.value(window.as_ref()?, gpu)).collect();
        history(frame, app, theme, plot, gpu, figure, &values);
        y += row.height;
    }
}

fn one(
    frame: &mut Frame<'_>,
    app: &App,
    theme: &Theme,
    area: Rect,
    gpu: usize,
    figure: Figure,
    meaning: &str,
) {
    let value = app.window().and_then(|window| figure.value(&window, gpu));
    let text = figure.write(value);
    let number = if value.is_some() { theme.value } else { theme.label };
    let name = format!(" {:<width$}", figure.name(), width = usize::from(NAME) - 1);
    let line = Line::from(vec![
        Span::styled(name, theme.text),
        Span::styled(format!("{text:>width$} ", width = usize::from(VALUE) - 1), number),
    ]);
    frame.render_widget(line, Rect { height: 1, ..area });
    if area.width >= WIDE && area.height >= 2 {
        let row = Rect { y: area.y + 1, height: 1, ..area };
        let meaning = clauses(meaning, usize::from(MEANING));
        frame.render_widget(Line::styled(format!(" {meaning}"), theme.label), row);
    }
}

/// How a figure was; where it never was, the reason.
fn history(
    frame: &mut Frame<'_>,
    app: &App,
    theme: &Theme,
    plot: Rect,
    gpu: usize,
    figure: Figure,
    past: &[Option<f64>],
) {
    let Some(sample) = app.snapshot().and_then(|snapshot| snapshot.gpus.get(gpu)) else { return };
    if plot.is_empty() {
        return;
    }
    if past.iter().all(Option::is_none) {
        let reason = clauses(&theme.write(&figure.reason(app, gpu)), past.len());
        frame.render_widget(Line::styled(reason, theme.label), Rect { height: 1, ..plot });
        return;
    }
    chart::area(frame, plot, past, figure.top(sample), figure.style(theme), theme);
    if plot.height >= 2 {
        chart::marks(frame, plot, &app.history().marks(past.len(), SPAN), theme);
    }
}
