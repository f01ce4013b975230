//! The screen where there is no GPU to show: what is missing, the way out, and what will be absent.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Split};
use ratatui::text::{Line, Span};

use super::figures::FIGURES;
use super::{batches, figures::Figure};
use crate::pipeline::Stage;
use crate::profile::snapshot::GpuWatch;
use crate::tui::app::App;
use crate::tui::format::{MISSING, clauses};
use crate::tui::layout::Layout;
use crate::tui::theme::Theme;
use crate::tui::widgets::{note, panel};

/// Draws the screen.
pub(super) fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout) {
    let account = app.window().is_some_and(|window| window.device_busy(Stage::Infer).is_some());
    let below = if account { if layout.size.bordered() { 6 } else { 3 } } else { 0 };
    let [area, account] =
        Split::vertical([Constraint::Fill(1), Constraint::Length(below)]).areas(layout.table);
    let inner = panel::panel(frame, theme, layout.size, area, "GPU", Vec::new());
    let width = usize::from(inner.width).saturating_sub(4);
    let (what, way_out, reason) = words(app);
    let mut lines = vec![Line::from(vec![
        Span::styled(theme.pick(" ▌ ", " | "), theme.notice),
        Span::styled(clauses(&what, width), theme.notice),
    ])];
    let ways = way_out.split("; ").filter(|way| !way.is_empty());
    lines.extend(ways.map(|way| {
        Line::from(vec![
            Span::styled(theme.pick(" ▌ → ", " | > "), theme.notice),
            Span::styled(clauses(way, width.saturating_sub(2)), theme.text),
        ])
    }));
    lines.push(Line::default());
    for (figure, meaning) in FIGURES {
        if figure == Figure::Events {
            continue;
        }
        lines.push(Line::from(vec![
            Span::styled(format!(" {:<14}", figure.name()), theme.text),
            Span::styled(format!("{MISSING}  "), theme.label),
            Span::styled(
                clauses(&format!("{meaning}: {reason}"), width.saturating_sub(16)),
                theme.label,
            ),
        ]));
    }
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        frame.render_widget(line, row);
    }
    batches::render(frame, app, theme, layout, account);
}

/// What is missing, the way out, and the reason beside each figure.
fn words(app: &App) -> (String, String, &'static str) {
    if note::bare(app) {
        let way_out = "run without --no-probes to see them".to_owned();
        return (note::BARE.to_owned(), way_out, "not measured");
    }
    let watch = app.snapshot().map(|snapshot| &snapshot.gpu_watch);
    match watch {
        None | Some(GpuWatch::Starting) => {
            ("the driver is being asked which GPUs there are".to_owned(), String::new(), "not yet")
        }
        Some(GpuWatch::Off) => {
            ("GPUs are not watched in this run".to_owned(), String::new(), "not watched")
        }
        Some(GpuWatch::On { .. }) => {
            ("the first figures are on their way".to_owned(), String::new(), "not yet")
        }
        Some(GpuWatch::Missing(missing)) => {
            (missing.what.clone(), missing.way_out.clone(), "no GPU is seen")
        }
    }
}
