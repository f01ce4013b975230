//! The knobs: name, slider, value; the selected one with its sentence of help.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::{bar, panel};
use crate::pipeline::knobs::KnobSpec;
use crate::tui::app::App;
use crate::tui::format::{MISSING, clauses, fit, unit_of};
use crate::tui::layout::{KNOB_NAME, KNOB_VALUE, KnobRow, Layout};
use crate::tui::theme::Theme;

/// Draws the knobs' panel.
pub fn render(frame: &mut Frame<'_>, app: &App, theme: &Theme, layout: &Layout) {
    let area = layout.knob_panel;
    let hidden = app.shown_knobs().len().saturating_sub(layout.knobs.len());
    let title = if hidden > 0 { format!("knobs ({hidden} more)") } else { "knobs".to_owned() };
    let help = app.selected().spec().help;
    if layout.size.bordered() {
        panel::panel(frame, theme, layout.size, area, &title, Vec::new());
        if area.height >= 3 && area.width > 8 {
            let row =
                Rect { x: area.x + 2, y: area.bottom() - 1, width: area.width - 4, height: 1 };
            let help = format!(" {} ", clauses(help, usize::from(row.width).saturating_sub(2)));
            let width = (help.width() as u16).min(row.width);
            frame.render_widget(Line::styled(help, theme.label), Rect { width, ..row });
        }
    } else {
        let room = usize::from(area.width).saturating_sub(title.len() + 9);
        let right = vec![Span::styled(clauses(help, room), theme.text)];
        panel::panel(frame, theme, layout.size, area, &title, right);
    }
    for knob in &layout.knobs {
        row(frame, app, theme, knob);
    }
}

fn row(frame: &mut Frame<'_>, app: &App, theme: &Theme, knob: &KnobRow) {
    let spec = knob.id.spec();
    let selected = app.selected() == knob.id;
    let (mark, style) =
        if selected { (theme.pick("▸ ", "> "), theme.accent) } else { ("  ", theme.text) };
    let width = usize::from(KNOB_NAME) - 2;
    let name = format!("{mark}{:<width$}", fit(spec.name, width - 1));
    let mut spans = vec![Span::styled(name, style)];
    if knob.row.width < KNOB_NAME + KNOB_VALUE {
        spans.clear();
    }
    let slider = if selected { theme.accent } else { theme.knob };
    match app.knob(knob.id) {
        Some(value) => {
            spans.extend(bar::slider(spec.position(value), knob.gauge.width, slider, theme));
        }
        None => spans.extend(bar::unknown(knob.gauge.width, theme)),
    }
    spans.extend(value(app, spec, theme));
    frame.render_widget(Line::from(spans), knob.row);
}

/// The value with its unit; "applying…" until it is in force.
fn value(app: &App, spec: &'static KnobSpec, theme: &Theme) -> Vec<Span<'static>> {
    let room = usize::from(KNOB_VALUE) - 1;
    let Some(value) = app.knob(spec.id) else {
        return vec![Span::styled(format!(" {MISSING}"), theme.label)];
    };
    let value = value.to_string();
    if app.applying(spec.id) {
        let long = format!(" {value} applying…");
        let text = if long.width() <= room + 1 { long } else { format!(" {value} …") };
        return vec![Span::styled(text, theme.notice)];
    }
    let unit =
        if spec.unit.is_empty() || value == "unlimited" { "" } else { unit_of(&value, spec.unit) };
    let unit = if value.width() + 1 + unit.width() > room { "" } else { unit };
    vec![
        Span::styled(format!(" {value}"), theme.value),
        Span::styled(format!(" {unit}"), theme.label),
    ]
}
