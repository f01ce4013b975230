//! Two knobs: a map of the selected point's work, the first knob downwards, the second to the right.

// Writing to a String cannot fail, so that its results are dropped in here.
use std::fmt::Write as _;

use ratatui::Frame;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use super::{mark, style};
use crate::tui::app::App;
use crate::tui::format::{compact, fit};
use crate::tui::theme::Theme;
use crate::tui::widgets::bar::BELOW;
use crate::tune::sweep::{Outcome, Sweep};

/// Draws the map: each cell has its figure, and a bar for how it stands to the highest.
pub(super) fn render(frame: &mut Frame<'_>, app: &App, sweep: &Sweep, theme: &Theme, area: Rect) {
    let [down, across] = &sweep.axes[..] else { return };
    let selected = app.selected_point();
    let Some(of) = sweep.points.get(selected) else { return };
    let work = of.work;
    let names: Vec<_> = down.values.iter().map(ToString::to_string).collect();
    let left = names.iter().map(|name| name.width() as u16).max().unwrap_or(0) + 3;
    if area.height < 3 || area.width < left + 8 {
        return;
    }
    let mut title = format!(" {} {}", theme.pick("↓", "down"), down.name());
    let _ = write!(title, "   {} {}", theme.pick("→", "right"), across.name());
    let buffer = frame.buffer_mut();
    let (x, _) = buffer.set_stringn(area.x, area.y, &title, usize::from(area.width), theme.label);
    if sweep.works.len() > 1 {
        let name = format!("   {} {}", mark(work, false, theme), sweep.works[work].name);
        buffer.set_stringn(x, area.y, name, usize::from(area.right() - x), style(work, theme));
    }
    let cells = (area.width - left) / (across.values.len() as u16).max(1);
    let wide = cells.clamp(6, 12);
    let shown = ((area.width - left) / wide) as usize;
    let rows = usize::from(area.height - 2);
    // The selected point is among those that have room.
    let first = |at: usize, room: usize| (at + 1).saturating_sub(room);
    let (top, side) = (first(of.at[0], rows), first(of.at[1], shown));
    for (index, value) in across.values.iter().enumerate().skip(side).take(shown) {
        let x = area.x + left + (index - side) as u16 * wide;
        let name = fit(&value.to_string(), usize::from(wide) - 1);
        let pad = usize::from(wide - 1) - name.width();
        buffer.set_string(x + pad as u16, area.y + 1, name, theme.label);
    }
    for (index, name) in names.iter().enumerate().skip(top).take(rows) {
        let y = area.y + 2 + (index - top) as u16;
        let pad = left - 2 - name.width() as u16;
        buffer.set_string(area.x + pad, y, name, theme.label);
    }
    let rates = sweep.points.iter().filter_map(|point| point.measured()).map(|m| m.rate.mean);
    let most = rates.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let now = sweep.now.as_ref().map(|now| now.point);
    for (index, point) in sweep.points.iter().enumerate().filter(|(_, point)| point.work == work) {
        let [row, column] = point.at;
        if row < top || row >= top + rows || column < side || column >= side + shown {
            continue;
        }
        let (x, y) =
            (area.x + left + (column - side) as u16 * wide, area.y + 2 + (row - top) as u16);
        let (text, look, level) = match &point.outcome {
            _ if now == Some(index) => (theme.pick("▸", ">").to_owned(), theme.notice, None),
            Outcome::Measured(measured) => {
                let share = measured.rate.mean / most;
                (compact(measured.rate.mean), theme.value, Some(share))
            }
            Outcome::Gap(_) => ("gap".to_owned(), theme.alarm, None),
            Outcome::Waiting => (theme.pick("·", ".").to_owned(), theme.line, None),
        };
        let look = if index == selected { theme.accent } else { look };
        let text = fit(&text, usize::from(wide) - 2);
        let pad = usize::from(wide - 1) - text.width();
        buffer.set_string(x + pad as u16, y, &text, look);
        if let Some(share) = level.filter(|_| pad > 0) {
            let eighth = (share * 8.0).round().clamp(1.0, 8.0) as usize;
            let glyph =
                if theme.ascii { ["_", ".", ":", "#"][(eighth - 1) / 2] } else { BELOW[eighth] };
            buffer.set_string(x + pad as u16 - 1, y, glyph, style(work, theme));
        }
    }
}
