//! Our own batches on the device, by the engine's events: exact where the driver's figures are means.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::pipeline::Stage;
use crate::profile::snapshot::{LabelWord, Wait};
use crate::profile::window::gpu::DeviceUse;
use crate::tui::app::App;
use crate::tui::format::{clauses, compact, length, percent};
use crate::tui::layout::Layout;
use crate::tui::theme::{State, Theme};
use crate::tui::widgets::{bar, panel};

const LABEL: usize = 8;
/// From so many rows on each part of a batch has its own.
const ROWS: u16 = 8;

/// Draws the panel.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout, area: Rect) {
    if area.is_empty() {
        return;
    }
    let emulated =
        app.snapshot().is_some_and(|s| s.label_of("engine") == Some(LabelWord::Emulated));
    let right = emulated.then(|| Span::styled("emulated", theme.tag)).into_iter().collect();
    let inner = panel::panel(frame, theme, layout.size, area, "our batches, by events", right);
    let lines = lines(app, theme, inner.width, inner.height);
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        frame.render_widget(line, row);
    }
}

fn lines(app: &App, theme: &Theme, width: u16, height: u16) -> Vec<Line<'static>> {
    let Some(window) = app.window() else {
        return vec![Line::styled(" measuring", theme.label)];
    };
    let label = |text: &str| Span::styled(format!(" {text:<LABEL$}"), theme.label);
    let room = usize::from(width).saturating_sub(LABEL + 3);
    let text = |name: &str, text: String| {
        Line::from(vec![
            label(name),
            Span::raw(" "),
            Span::styled(clauses(&theme.write(&text), room), theme.text),
        ])
    };
    let device = window.device();
    let busy = device.as_ref().map(|device| device.busy);
    let Some(busy) = busy.or_else(|| window.device_busy(Stage::Infer)) else {
        let why = "the engine has no device, or keeps no account of it";
        return vec![Line::styled(
            format!(" {}", clauses(why, usize::from(width) - 2)),
            theme.label,
        )];
    };
    let gauge = (width / 3).clamp(6, 20);
    let mut first = vec![label("busy"), Span::raw(" ")];
    first.extend(bar::gauge(busy, gauge, theme.state(State::Wait(Wait::Gpu)), theme));
    first.push(Span::styled(format!(" {}", percent(Some(busy))), theme.value));
    let rate = device.map(|device| device.batches as f64 / window.seconds().max(1e-9));
    let wide = usize::from(gauge) + LABEL + 24 <= usize::from(width);
    if let Some(rate) = rate.filter(|_| wide) {
        first.push(Span::styled(format!("  {} batches/s", compact(rate)), theme.label));
    }
    let mut lines = vec![Line::from(first)];
    let Some(device) = device else {
        lines.push(text("batch", "the engine does not tell copies from kernels".to_owned()));
        return lines;
    };
    if height < ROWS || device.batches == 0 {
        lines.push(text("of each", split(&device)));
    } else {
        if let Some(rate) = rate.filter(|_| !wide) {
            lines.push(text("batches", format!("{} a second", compact(rate))));
        }
        let parts =
            [("copy in", device.h2d), ("kernels", device.compute), ("copy out", device.d2h)];
        let all: f64 = parts.iter().filter_map(|(_, part)| *part).sum();
        for (name, part) in parts {
            let mut spans = vec![label(name), Span::raw(" ")];
            let share = part.filter(|_| all > 0.0).map(|part| part / all);
            match share {
                Some(share) => spans.extend(bar::gauge(share, gauge, theme.area, theme)),
                None => spans.extend(bar::unknown(gauge, theme)),
            }
            spans.push(Span::styled(format!(" {}", length(part)), theme.value));
            lines.push(Line::from(spans));
        }
    }
    lines.push(text("gaps", gaps(&device)));
    if let Some(occupancy) = device.occupancy {
        let share = percent(Some(occupancy));
        lines.push(text("theory", format!("{} occupancy, of the kernels that run", share.trim())));
    }
    lines
}

fn split(device: &DeviceUse) -> String {
    if device.batches == 0 {
        return "no batch came back in this window".to_owned();
    }
    format!(
        "copy in {}, kernels {}, copy out {}",
        length(device.h2d),
        length(device.compute),
        length(device.d2h)
    )
}

fn gaps(device: &DeviceUse) -> String {
    match device.gap {
        None => "none: batches follow each other at once".to_owned(),
        gap => {
            format!("{} of {}; longest {}", device.gaps, length(gap), length(Some(device.gap_max)))
        }
    }
}
