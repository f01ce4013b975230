//! Several GPUs, a row each.

use ratatui::Frame;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::profile::snapshot::{GpuSample, Metric};
use crate::profile::window::Window;
use crate::tui::app::App;
use crate::tui::format::{MISSING, fit, memory, percent};
use crate::tui::layout::Layout;
use crate::tui::theme::Theme;
use crate::tui::widgets::panel;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Number and product.
    Name,
    /// A figure.
    Figure(Metric),
    /// Whose it is.
    Use,
}

const NAME: u16 = 22;
/// Beside the name, as far as they fit.
const FIGURES: [(Column, u16); 9] = [
    (Column::Figure(Metric::Busy), 7),
    (Column::Figure(Metric::SmActive), 11),
    (Column::Figure(Metric::SmOccupancy), 9),
    (Column::Figure(Metric::MemoryUsed), 11),
    (Column::Figure(Metric::Power), 8),
    (Column::Use, 18),
    (Column::Figure(Metric::Tensor), 9),
    (Column::Figure(Metric::Dram), 8),
    (Column::Figure(Metric::Temperature), 8),
];

/// The columns that have room in `width`, with their widths.
pub fn columns(width: u16) -> Vec<(Column, u16)> {
    let mut left = width.saturating_sub(NAME + 1);
    let mut columns = vec![(Column::Name, NAME)];
    for (column, width) in FIGURES {
        let Some(rest) = left.checked_sub(width) else { break };
        columns.push((column, width));
        left = rest;
    }
    columns
}

impl Column {
    const fn name(self) -> &'static str {
        match self {
            Self::Name => "GPU",
            Self::Use => "used by",
            Self::Figure(Metric::SmOccupancy) => "SM occ.",
            Self::Figure(Metric::Tensor) => "tensor",
            Self::Figure(Metric::Dram) => "DRAM",
            Self::Figure(Metric::Temperature) => "heat",
            Self::Figure(metric) => metric.name(),
        }
    }

    fn write(self, window: &Window<'_>, index: usize, gpu: &GpuSample) -> String {
        match self {
            Self::Name => format!("{} {}", gpu.facts.number(), gpu.facts.name),
            Self::Use => match gpu.usable {
                _ if gpu.lost.is_some() => "lost".to_owned(),
                _ if window.to().engine_gpu() == Some(index) => "the engine".to_owned(),
                Some(true) => "nobody here".to_owned(),
                Some(false) => "not for this run".to_owned(),
                None => "not known".to_owned(),
            },
            Self::Figure(metric) => {
                let value = window.gpu(index).and_then(|gpu| gpu.mean(metric));
                let Some(value) = value else { return MISSING.to_owned() };
                match metric {
                    Metric::MemoryUsed => memory(value as u64),
                    Metric::Power => format!("{value:.0} W"),
                    Metric::Temperature => format!("{value:.0} °C"),
                    _ => percent(Some(value)).trim().to_owned(),
                }
            }
        }
    }
}

/// Draws the table.
pub(super) fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout) {
    let Some((snapshot, window)) = app.snapshot().zip(app.window()) else { return };
    let page = usize::from(layout.rows.height);
    let (selected, first) = app.gpu_place(page);
    let title = format!("{} GPUs", snapshot.gpus.len());
    panel::panel(frame, theme, layout.size, layout.table, &title, Vec::new());
    for placed in &layout.gpu_columns {
        let width = usize::from(placed.head.width);
        let name = placed.column.name();
        let text = if placed.column == Column::Name {
            format!(" {name}")
        } else {
            format!("{name:>width$}")
        };
        frame.render_widget(Line::styled(text, theme.label), placed.head);
    }
    let rows = snapshot.gpus.iter().enumerate().skip(first);
    for ((index, gpu), row) in rows.zip(layout.rows.rows()) {
        let chosen = index == selected;
        let mark = if chosen { theme.pick("▌", ">") } else { " " };
        let mut spans = vec![Span::styled(mark, theme.accent)];
        for placed in &layout.gpu_columns {
            let cells = usize::from(placed.head.width);
            let text = placed.column.write(&window, index, gpu);
            let style = match placed.column {
                _ if gpu.lost.is_some() => theme.alarm,
                Column::Name if chosen => theme.accent,
                _ if gpu.usable == Some(false) || text == MISSING => theme.label,
                Column::Name | Column::Use => theme.text,
                Column::Figure(_) => theme.value,
            };
            let text = fit(&text, cells.saturating_sub(1));
            let pad = " ".repeat(
                cells.saturating_sub(text.width() + usize::from(placed.column == Column::Name)),
            );
            let text = if placed.column == Column::Name {
                format!("{text}{pad}")
            } else {
                format!("{pad}{text}")
            };
            spans.push(Span::styled(text, style));
        }
        frame.render_widget(Line::from(spans), row);
    }
}
