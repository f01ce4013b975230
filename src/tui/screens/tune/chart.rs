//! Throughput against the knob: marks with error bars, lines between them, the ideal, the cores.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::{mark, style};
use crate::tui::format::{fit, short_rate};
use crate::tui::theme::Theme;
use crate::tui::widgets::chart;
use crate::tune::axis::number;
use crate::tune::curve::{Curve, Row};
use crate::tune::sweep::{Outcome, Sweep};

/// Columns at the left for the numbers.
pub(super) const LEFT: u16 = chart::AXIS;
/// Columns between the axis and the first mark.
const INSET: u16 = 2;

/// Where values lie.
struct Plot {
    area: Rect,
    most: f64,
}

impl Plot {
    /// A place from 0 to 1 in half columns.
    fn half(&self, place: f64) -> usize {
        let inset = f64::from(INSET.min(self.area.width / 4)) * 2.0;
        let whole = f64::from(self.area.width) * 2.0 - 2.0 - 2.0 * inset;
        (inset + place * whole.max(0.0)).round() as usize
    }

    fn column(&self, place: f64) -> u16 {
        (self.area.x + self.half(place) as u16 / 2).min(self.area.right().saturating_sub(1))
    }

    /// The row of a value.
    fn row(&self, value: f64) -> u16 {
        let last = f64::from(self.area.height * 4 - 1);
        let dot = ((1.0 - (value / self.most).clamp(0.0, 1.0)) * last).round() as u16;
        self.area.y + dot / 4
    }
}

/// Draws the chart.
pub(super) fn render(
    frame: &mut Frame<'_>,
    sweep: &Sweep,
    curves: &[Curve<'_>],
    theme: &Theme,
    area: Rect,
) {
    if area.height < 4 || area.width <= LEFT + 4 {
        return;
    }
    legend(frame, sweep, curves, theme, Rect { height: 1, ..area });
    let with_axis = Rect { y: area.y + 1, height: area.height - 2, ..area };
    let area = chart::plot(with_axis);
    let plot = Plot { area, most: chart::ceiling(most(sweep, curves)) };
    chart::axis(frame, with_axis, plot.most, short_rate, theme);
    let end = cores(frame, sweep, theme, &plot);
    let mut series: Vec<(Vec<Option<f64>>, Style, &'static str)> = Vec::new();
    if let Some(curve) = measure(curves) {
        let ideal = line(sweep, curve, &plot, |row| row.ideal);
        series.push((ideal, theme.line, "."));
    }
    for curve in curves.iter().filter(|_| sweep.axes[0].is_number()) {
        let course = line(sweep, curve, &plot, |row| Some(row.measured?.rate.mean));
        series.push((course, style(curve.work, theme), "-"));
    }
    let borrowed: Vec<_> =
        series.iter().map(|(values, style, letter)| (&values[..], *style, *letter)).collect();
    chart::lines(frame, plot.area, &borrowed, plot.most, theme);
    for curve in curves {
        marks(frame, sweep, curve, theme, &plot);
    }
    if let Some(column) = end {
        let text =
            format!("{} core{}", sweep.run.cores, if sweep.run.cores == 1 { "" } else { "s" });
        let wide = text.width() as u16;
        let right = column + 2;
        let x = if right + wide <= area.right() { right } else { column.saturating_sub(wide + 1) };
        if x > area.x {
            frame.buffer_mut().set_string(x, area.y, &text, Style::reset().patch(theme.label));
        }
    }
    names(frame, sweep, theme, &plot);
}

/// The highest end of an error bar; the ideal line may leave the plot.
fn most(sweep: &Sweep, curves: &[Curve<'_>]) -> f64 {
    let rows = curves.iter().flat_map(|curve| &curve.rows);
    let measured = rows.filter_map(|row| row.measured);
    let ends = measured.map(|m| m.rate.ends().map_or(m.rate.mean, |ends| ends.1));
    let now = sweep.now.as_ref().and_then(|now| now.rate).map_or(0.0, |rate| rate.mean);
    let highest_measured = ends.fold(now, f64::max);
    let ideal =
        measure(curves).and_then(|curve| curve.rows.iter().filter_map(|row| row.ideal).next_back());
    ideal.map_or(highest_measured, |ideal| highest_measured.max(ideal.min(highest_measured * 1.3)))
}

/// The first curve that has a speed-up: the ideal line is its.
fn measure<'a, 'b>(curves: &'b [Curve<'a>]) -> Option<&'b Curve<'a>> {
    curves.iter().find(|curve| curve.unit.is_some())
}

/// Values at each half column, on straight lines between neighbours; outside of the plot there is none.
fn line(
    sweep: &Sweep,
    curve: &Curve<'_>,
    plot: &Plot,
    get: impl Fn(&Row<'_>) -> Option<f64>,
) -> Vec<Option<f64>> {
    let axis = &sweep.axes[0];
    let mut values = vec![None; usize::from(plot.area.width) * 2];
    let at = |row: &Row<'_>| plot.half(axis.place(row.point.at[0]));
    for pair in curve.rows.windows(2) {
        let (Some(a), Some(b)) = (get(&pair[0]), get(&pair[1])) else { continue };
        let (from, to) = (at(&pair[0]), at(&pair[1]));
        for (half, place) in values.iter_mut().enumerate().take(to + 1).skip(from) {
            let share = (half - from) as f64 / (to - from).max(1) as f64;
            *place = Some(a + share * (b - a)).filter(|&value| value <= plot.most * 1.001);
        }
    }
    values
}

/// Marks with error bars, the one that is being measured among them.
fn marks(frame: &mut Frame<'_>, sweep: &Sweep, curve: &Curve<'_>, theme: &Theme, plot: &Plot) {
    let axis = &sweep.axes[0];
    let style = style(curve.work, theme);
    for row in &curve.rows {
        let column = plot.column(axis.place(row.point.at[0]));
        let now = sweep
            .now
            .as_ref()
            .filter(|now| std::ptr::eq(&raw const sweep.points[now.point], row.point));
        let under_way = now.and_then(|now| now.rate).filter(|rate| rate.slices > 0);
        let (rate, style) = match (under_way, row.measured) {
            (Some(rate), _) => (rate, theme.notice),
            (None, Some(measured)) => (measured.rate, style),
            (None, None) => {
                let floor = plot.area.bottom() - 1;
                let sign = match row.point.outcome {
                    Outcome::Gap(_) => (theme.pick("╳", "X"), style),
                    _ if now.is_some() => (theme.pick("▸", ">"), theme.notice),
                    _ => continue,
                };
                frame.buffer_mut()[(column, floor)].set_symbol(sign.0).set_style(sign.1);
                continue;
            }
        };
        let (low, high) = rate.ends().unwrap_or((rate.mean, rate.mean));
        let buffer = frame.buffer_mut();
        for y in plot.row(high)..=plot.row(low) {
            buffer[(column, y)].set_symbol(theme.pick("│", "|")).set_style(style);
        }
        let mark = mark(curve.work, row.beyond, theme);
        buffer[(column, plot.row(rate.mean))].set_symbol(mark).set_style(style);
    }
}

/// A line where the cores end; returns its column.
fn cores(frame: &mut Frame<'_>, sweep: &Sweep, theme: &Theme, plot: &Plot) -> Option<u16> {
    let axis = &sweep.axes[0];
    let ends = axis.values.first().zip(axis.values.last());
    let (first, last) = ends.and_then(|(a, b)| Some((number(*a)?, number(*b)?)))?;
    let cores = sweep.run.cores as f64;
    if !axis.counts_threads() || cores < first || cores >= last {
        return None;
    }
    let column = plot.column((cores - first) / (last - first));
    let buffer = frame.buffer_mut();
    for y in plot.area.y..plot.area.bottom() {
        buffer[(column, y)].set_symbol(theme.pick("┊", ":")).set_style(theme.line);
    }
    Some(column)
}

/// The values below the plot, as many as do not touch; the last one always.
fn names(frame: &mut Frame<'_>, sweep: &Sweep, theme: &Theme, plot: &Plot) {
    let axis = &sweep.axes[0];
    let Some(last) = axis.values.len().checked_sub(1) else { return };
    let y = plot.area.bottom();
    let spot = |index: usize| {
        let name = axis.values[index].to_string();
        let name = fit(&name, usize::from(plot.area.width));
        let wide = name.width() as u16;
        let x = plot.column(axis.place(index)).saturating_sub(wide / 2);
        let x = x.clamp(plot.area.x, plot.area.right().saturating_sub(wide).max(plot.area.x));
        (x, x + wide, name)
    };
    let (last_x, ..) = spot(last);
    let mut free = 0;
    for index in 0..=last {
        let (x, end, name) = spot(index);
        if x < free || (index < last && end >= last_x) {
            continue;
        }
        let now = sweep.now.as_ref().is_some_and(|now| sweep.points[now.point].at[0] == index);
        let style = if now { theme.notice } else { theme.label };
        frame.buffer_mut().set_string(x, y, name, style);
        free = end + 1;
    }
}

/// `● native  ▲ gil-hold  ┈ ideal`, as many as have room.
fn legend(frame: &mut Frame<'_>, sweep: &Sweep, curves: &[Curve<'_>], theme: &Theme, row: Rect) {
    let mut spans = Vec::new();
    let alone = sweep.works.len() == 1 && sweep.works[0].name == "as-set";
    for (index, work) in sweep.works.iter().enumerate().filter(|_| !alone) {
        spans.push(Span::styled(mark(index, false, theme), style(index, theme)));
        spans.push(Span::styled(format!(" {}  ", work.name), theme.text));
    }
    if curves.iter().any(|curve| curve.threads) {
        spans.push(Span::styled(theme.pick("⠒⠒", ".."), theme.line));
        spans.push(Span::styled(" ideal  ", theme.label));
    }
    let beyond = curves.iter().flat_map(|curve| &curve.rows).any(|row| row.beyond);
    if beyond && !theme.ascii {
        spans.push(Span::styled(mark(0, true, theme), theme.label));
        spans.push(Span::styled(" more threads than cores  ", theme.label));
    }
    let unit = "img/s";
    let mut room = usize::from(row.width).saturating_sub(unit.len() + 3);
    let mut fits = vec![Span::raw(" ")];
    // A sign and its name go together.
    for pair in spans.chunks(2) {
        let wide: usize = pair.iter().map(Span::width).sum();
        let Some(rest) = room.checked_sub(wide) else { break };
        room = rest;
        fits.extend_from_slice(pair);
    }
    frame.render_widget(Line::from(fits), row);
    let at = row.right().saturating_sub(unit.len() as u16 + 1);
    frame.buffer_mut().set_string(at, row.y, unit, theme.label);
}
