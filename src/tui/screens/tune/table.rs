//! The points as a table: figures, and where the threads' time went.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::{mark, style};
use crate::profile::snapshot::Wait;
use crate::tui::app::App;
use crate::tui::format::{MISSING, fit, millis, percent, rate};
use crate::tui::layout::Layout;
use crate::tui::theme::{State, Theme};
use crate::tune::curve::{Curve, Row};
use crate::tune::sweep::{Measured, Outcome, Sweep};

/// A column of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Rate,
    Width,
    Speedup,
    Efficiency,
    Share(State),
    Cores,
    Cpu,
}

/// The columns of figures in the order in which they find room, with their widths.
const COLUMNS: [(Column, u16); 11] = [
    (Column::Rate, 9),
    (Column::Width, 7),
    (Column::Efficiency, 6),
    (Column::Share(State::Wait(Wait::Lock)), 6),
    (Column::Share(State::Running), 6),
    (Column::Share(State::Runnable), 6),
    (Column::Speedup, 9),
    (Column::Cores, 7),
    (Column::Share(State::Wait(Wait::Starved)), 6),
    (Column::Share(State::Wait(Wait::Backpressured)), 6),
    (Column::Cpu, 9),
];

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Rate => "img/s",
            Self::Width => "±",
            Self::Speedup => "speed-up",
            Self::Efficiency => "eff.",
            Self::Share(state) => state.short(),
            Self::Cores => "cores",
            Self::Cpu => "CPU ms",
        }
    }

    /// Whether it is of use in a sweep.
    fn fits(self, threads: bool) -> bool {
        threads || !matches!(self, Self::Speedup | Self::Efficiency)
    }

    fn write(self, measured: &Measured, row: Option<&Row<'_>>) -> String {
        let two =
            |value: Option<f64>| value.map_or_else(|| MISSING.to_owned(), |v| format!("{v:.2}"));
        match self {
            Self::Rate => rate(Some(measured.rate.mean)),
            Self::Width => {
                let width = measured.rate.relative();
                width.map_or_else(|| MISSING.to_owned(), |width| format!("{:.1}%", width * 100.0))
            }
            Self::Speedup => two(row.and_then(|row| row.speedup)),
            Self::Efficiency => percent(row.and_then(|row| row.efficiency)),
            Self::Cores => two(measured.cores),
            Self::Cpu => millis(measured.cpu_ms),
            Self::Share(state) => {
                let share = measured.shares.as_ref().map(|shares| match state {
                    State::Running => shares.running,
                    State::Runnable => shares.runnable,
                    State::Wait(wait) => shares.wait(wait),
                    State::Other => shares.other,
                });
                percent(share)
            }
        }
    }

    fn style(self, measured: &Measured, theme: &Theme) -> Style {
        match self {
            Self::Rate => theme.value,
            Self::Width if !measured.met => theme.notice,
            Self::Share(state) => {
                let share = measured.shares.as_ref().map_or(0.0, |shares| match state {
                    State::Running => shares.running,
                    State::Runnable => shares.runnable,
                    State::Wait(wait) => shares.wait(wait),
                    State::Other => shares.other,
                });
                if share >= 0.05 { theme.state(state) } else { theme.label }
            }
            _ => theme.text,
        }
    }
}

/// Width of the names: mark, work, values.
fn names(sweep: &Sweep) -> (u16, Vec<u16>) {
    let longest = sweep.works.iter().map(|work| work.name.width()).max().unwrap_or(0) as u16;
    let work = if sweep.works.len() > 1 { longest + 3 } else { 0 };
    let axes = sweep.axes.iter().map(|axis| {
        let values = axis.values.iter().map(|value| value.to_string().width());
        values.chain([axis.knob.spec().label.width()]).max().unwrap_or(0) as u16 + 2
    });
    (work, axes.collect())
}

/// The width at which all columns have room, with a border.
pub fn width(sweep: &Sweep) -> u16 {
    let (work, axes) = names(sweep);
    let threads = sweep.axes.len() == 1 && sweep.axes[0].counts_threads();
    let figures = COLUMNS.iter().filter(|(column, _)| column.fits(threads));
    work + axes.iter().sum::<u16>() + figures.map(|(_, width)| width).sum::<u16>() + 4
}

/// Draws the columns' names and the rows.
pub(super) fn render(
    frame: &mut Frame<'_>,
    app: &App,
    sweep: &Sweep,
    curves: &[Curve<'_>],
    theme: &Theme,
    layout: &Layout,
    inner: Rect,
) {
    let (work, axes) = names(sweep);
    let mut left = inner.width.saturating_sub(1 + work + axes.iter().sum::<u16>());
    let threads = curves.first().is_some_and(|curve| curve.threads);
    let mut columns = Vec::new();
    for (column, width) in COLUMNS.into_iter().filter(|(column, _)| column.fits(threads)) {
        let Some(rest) = left.checked_sub(width) else { break };
        columns.push((column, width));
        left = rest;
    }
    let mut head = format!(" {}", " ".repeat(usize::from(work)));
    if work > 0 {
        head = format!(" {:<width$}", " work", width = usize::from(work));
    }
    for (axis, width) in sweep.axes.iter().zip(&axes) {
        head += &right(axis.knob.spec().label, *width);
    }
    for (column, width) in &columns {
        let name = column.name().replace('±', theme.pick("±", "+-"));
        head += &right(&name, *width);
    }
    let top = Rect { height: inner.height.min(1), ..inner };
    frame.render_widget(Line::styled(head, theme.label), top);
    let (selected, first) = app.point_place(usize::from(layout.rows.height));
    let rows = sweep.points.iter().enumerate().skip(first).zip(layout.rows.rows());
    for ((index, point), at) in rows {
        let sign = if index == selected { theme.pick("▌", ">") } else { " " };
        let mut spans = vec![Span::styled(sign, theme.accent)];
        if work > 0 {
            let name = format!(
                "{} {}",
                mark(point.work, sweep.beyond_cores(point), theme),
                sweep.works[point.work].name
            );
            let pad = usize::from(work).saturating_sub(name.width());
            spans
                .push(Span::styled(format!("{name}{}", " ".repeat(pad)), style(point.work, theme)));
        }
        let value_style = if index == selected { theme.accent } else { theme.text };
        for ((_, value), width) in sweep.values(point).into_iter().zip(&axes) {
            spans.push(Span::styled(right(&value.to_string(), *width), value_style));
        }
        let row = curves.get(point.work).and_then(|curve| curve.rows.get(point.at[0]));
        let used: usize = spans.iter().map(Span::width).sum();
        let room = usize::from(at.width).saturating_sub(used + 2);
        let now = sweep.now.as_ref().filter(|now| now.point == index);
        match (&point.outcome, now) {
            (Outcome::Measured(measured), _) => {
                for (column, width) in &columns {
                    let text = column.write(measured, row);
                    spans.push(Span::styled(
                        right(text.trim(), *width),
                        column.style(measured, theme),
                    ));
                }
            }
            (Outcome::Gap(why), _) => {
                spans.push(Span::styled(
                    format!("  {}", fit(&format!("gap: {why}"), room)),
                    theme.alarm,
                ));
            }
            (Outcome::Waiting, Some(now)) => {
                let text = match now.rate.filter(|rate| rate.slices > 0) {
                    Some(of) => right(&rate(Some(of.mean)), 9),
                    None => right(theme.pick("…", "..."), 9),
                };
                spans.push(Span::styled(text, theme.notice));
            }
            (Outcome::Waiting, None) => {
                spans.push(Span::styled(right(theme.pick("·", "."), 9), theme.line));
            }
        }
        frame.render_widget(Line::from(spans), at);
    }
}

fn right(text: &str, width: u16) -> String {
    let pad = usize::from(width).saturating_sub(text.width());
    format!("{}{text}", " ".repeat(pad))
}
