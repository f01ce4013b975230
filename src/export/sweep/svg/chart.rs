//! The chart: a curve a work with error bars, the ideal line, and where the cores end.

use super::super::picture::{Picture, Stroke, Type, number, ticks, width};
use super::{AXIS, EDGE, GRID, INK, QUIET, WORDS, color};
use crate::tune::curve::{Curve, Row};
use crate::tune::sweep::{Outcome, Sweep};

/// Room for the numbers of the vertical axis.
const LEFT: f64 = EDGE + 56.0;
/// Right end of the plot.
const RIGHT: f64 = WORDS - 28.0;
/// Room between the axis and the first point.
const INSET: f64 = 26.0;
/// Half the width of an error bar's ends.
const CAP: f64 = 4.5;

/// Where values lie in the plot.
#[derive(Clone, Copy)]
struct Plot {
    top: f64,
    bottom: f64,
    most: f64,
}

impl Plot {
    fn y(self, value: f64) -> f64 {
        self.bottom - value / self.most * (self.bottom - self.top)
    }
}

/// Where a place from 0 to 1 lies.
fn across(place: f64) -> f64 {
    LEFT + INSET + place * (RIGHT - LEFT - 2.0 * INSET)
}

/// A number on an axis: `1 250`, `0.5`.
pub(super) fn written(value: f64) -> String {
    if value >= 1000.0 && value.fract() == 0.0 {
        return crate::export::text::format::count(value as u64).replace('\u{a0}', " ");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Draws it; returns where it ends.
pub(super) fn draw(
    picture: &mut Picture,
    sweep: &Sweep,
    curves: &[Curve<'_>],
    top: f64,
    height: f64,
) -> f64 {
    let axis = &sweep.axes[0];
    let rows = || curves.iter().flat_map(|curve| &curve.rows);
    let ends = rows().filter_map(|row| row.measured);
    let highest =
        ends.map(|m| m.rate.ends().map_or(m.rate.mean, |ends| ends.1)).fold(0.0, f64::max);
    let ideal = measure(curves);
    let end = ideal.and_then(|curve| curve.rows.iter().filter_map(|row| row.ideal).next_back());
    // The ideal may leave the plot, so that what was measured fills it.
    let wanted = end.map_or(highest, |end| highest.max(end.min(highest * 1.3)));
    let ticks = ticks(wanted * 1.02);
    let most = ticks.last().copied().unwrap_or(1.0);
    let plot = Plot { top, bottom: top + height, most };
    beyond(picture, sweep, plot);
    for &tick in &ticks {
        let y = plot.y(tick);
        picture.line((LEFT, y), (RIGHT, y), Stroke::new(GRID, 1.0));
        picture.text(LEFT - 8.0, y + 4.0, Type::new(11.0, QUIET).end(), &written(tick));
    }
    picture.text_upwards(
        EDGE + 4.0,
        f64::midpoint(top, plot.bottom),
        Type::new(12.0, INK).middle(),
        "images a second",
    );
    names(picture, sweep, plot);
    picture.raw(format!(
        "<clipPath id=\"plot\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>",
        number(LEFT),
        number(top),
        number(RIGHT - LEFT),
        number(height)
    ));
    if let Some(curve) = ideal {
        line_of_ideal(picture, sweep, curve, plot);
    }
    for curve in curves {
        course(picture, sweep, curve, plot);
    }
    picture.line((LEFT, plot.bottom), (RIGHT, plot.bottom), Stroke::new(AXIS, 1.2));
    let unit = axis.knob.spec().unit;
    let name = if unit.is_empty() || axis.counts_threads() {
        axis.name().to_owned()
    } else {
        format!("{} ({unit})", axis.name())
    };
    picture.text(
        f64::midpoint(LEFT, RIGHT),
        plot.bottom + 40.0,
        Type::new(12.0, INK).middle(),
        &name,
    );
    plot.bottom + 46.0
}

/// The first curve that has a speed-up: the ideal line is its.
fn measure<'a, 'b>(curves: &'b [Curve<'a>]) -> Option<&'b Curve<'a>> {
    curves.iter().find(|curve| curve.unit.is_some())
}

/// The values below the axis, as many as do not touch.
fn names(picture: &mut Picture, sweep: &Sweep, plot: Plot) {
    let axis = &sweep.axes[0];
    let mut free = f64::MIN;
    let last = axis.values.len() - 1;
    let place = |index: usize| (across(axis.place(index)), axis.values[index].to_string());
    let (last_x, last_name) = place(last);
    for index in 0..=last {
        let (x, name) = place(index);
        picture.line((x, plot.bottom), (x, plot.bottom + 4.0), Stroke::new(AXIS, 1.0));
        let half = width(&name, 11.0) / 2.0;
        // The last one is always named.
        let touches = index < last && x + half + 6.0 > last_x - width(&last_name, 11.0) / 2.0;
        if x - half < free || touches {
            continue;
        }
        picture.text(x, plot.bottom + 18.0, Type::new(11.0, QUIET).middle(), &name);
        free = x + half + 6.0;
    }
}

/// Where there are more threads than cores.
fn beyond(picture: &mut Picture, sweep: &Sweep, plot: Plot) {
    let axis = &sweep.axes[0];
    if !axis.counts_threads() {
        return;
    }
    let cores = sweep.run.cores as f64;
    let numbers: Vec<f64> =
        axis.values.iter().filter_map(|&value| crate::tune::axis::number(value)).collect();
    let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else { return };
    if cores < first || last <= first {
        return;
    }
    let x = across((cores - first) / (last - first));
    let name = format!("{} core{}", sweep.run.cores, if sweep.run.cores == 1 { "" } else { "s" });
    let small = Type::new(11.0, QUIET);
    let y = plot.top - 7.0;
    if cores < last {
        picture.rect((x, plot.top), (RIGHT - x, plot.bottom - plot.top), "#f3f5f7");
        let more = "more threads than cores →";
        let more = if RIGHT - x > width(more, 11.0) + 7.0 { more } else { "more →" };
        picture.text(x + 7.0, y, small, more);
    }
    if cores <= last {
        picture.line((x, plot.top - 16.0), (x, plot.bottom), Stroke::new(AXIS, 1.2).dashed("5 4"));
        // Left of the first point there is no room.
        let room = x - 7.0 - width(&name, 11.0) > LEFT;
        if room {
            picture.text(x - 7.0, y, small.end(), &name);
        } else if cores >= last {
            picture.text(x + 7.0, y, small, &name);
        } else {
            let look = small.middle();
            picture.text(x, plot.top - 21.0, look, &name);
        }
    }
}

fn line_of_ideal(picture: &mut Picture, sweep: &Sweep, curve: &Curve<'_>, plot: Plot) {
    let axis = &sweep.axes[0];
    let points: Vec<(f64, f64)> = curve
        .rows
        .iter()
        .filter_map(|row| Some((across(axis.place(row.point.at[0])), plot.y(row.ideal?))))
        .collect();
    let stroke = Stroke::new(QUIET, 1.3).dashed("7 5");
    picture.raw("<g clip-path=\"url(#plot)\">");
    picture.polyline(&points, stroke);
    picture.raw("</g>");
    let of = &sweep.works[curve.work].name;
    let name = if sweep.works.len() > 1 { format!("ideal of {of}") } else { "ideal".to_owned() };
    // Its name stands beside the last place at which the line is inside.
    let inside = points.windows(2).rev().find(|pair| pair[0].1 > plot.top + 24.0);
    if let Some(&[from, to]) = inside.and_then(|pair| pair.first_chunk::<2>()) {
        let whole = to.1 >= plot.top + 16.0;
        let share = if whole { 1.0 } else { (from.1 - plot.top - 16.0) / (from.1 - to.1) };
        let (x, y) = (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
        picture.text(x - 10.0, y - 2.0, Type::new(11.0, QUIET).end(), &name);
    }
}

/// A work's points; words are not joined, and what is missing is a hole.
fn course(picture: &mut Picture, sweep: &Sweep, curve: &Curve<'_>, plot: Plot) {
    let axis = &sweep.axes[0];
    let stroke = Stroke::new(color(curve.work), 2.0);
    let at = |row: &Row<'_>| across(axis.place(row.point.at[0]));
    if axis.is_number() {
        for piece in curve.rows.split(|row| row.measured.is_none()) {
            let points: Vec<_> =
                piece.iter().filter_map(|row| Some((at(row), plot.y(row.rate()?)))).collect();
            if points.len() > 1 {
                picture.polyline(&points, stroke);
            }
        }
    }
    for row in &curve.rows {
        let x = at(row);
        if matches!(row.point.outcome, Outcome::Gap(_)) {
            let (low, high) = (plot.bottom - 4.0, plot.bottom - 12.0);
            picture.line((x - 4.0, low), (x + 4.0, high), stroke);
            picture.line((x - 4.0, high), (x + 4.0, low), stroke);
        }
        let Some(measured) = row.measured else { continue };
        if let Some((low, high)) = measured.rate.ends() {
            let (low, high) = (plot.y(low), plot.y(high));
            let thin = Stroke::new(color(curve.work), 1.4);
            picture.line((x, low), (x, high), thin);
            // Ends that the mark would hide are left out.
            if low - high > 14.0 {
                picture.line((x - CAP, low), (x + CAP, low), thin);
                picture.line((x - CAP, high), (x + CAP, high), thin);
            }
        }
        mark(picture, curve.work, (x, plot.y(measured.rate.mean)), row.beyond);
    }
}

/// A work's mark: hollow where there are more threads than cores.
pub(super) fn mark(picture: &mut Picture, work: usize, (x, y): (f64, f64), hollow: bool) {
    let color = color(work);
    let fill = if hollow { "#ffffff" } else { color };
    let rest = format!("fill=\"{fill}\" stroke=\"{color}\" stroke-width=\"1.8\"");
    let polygon = |points: &[(f64, f64)]| {
        let points: Vec<_> = points
            .iter()
            .map(|(dx, dy)| format!("{},{}", number(x + dx), number(y + dy)))
            .collect();
        format!("<polygon points=\"{}\" {rest}/>", points.join(" "))
    };
    picture.raw(match work % 6 {
        0 => format!("<circle cx=\"{}\" cy=\"{}\" r=\"4.6\" {rest}/>", number(x), number(y)),
        1 => polygon(&[(0.0, -5.6), (5.3, 4.0), (-5.3, 4.0)]),
        2 => polygon(&[(-4.3, -4.3), (4.3, -4.3), (4.3, 4.3), (-4.3, 4.3)]),
        3 => polygon(&[(0.0, -5.9), (5.9, 0.0), (0.0, 5.9), (-5.9, 0.0)]),
        4 => polygon(&[(0.0, 5.6), (5.3, -4.0), (-5.3, -4.0)]),
        _ => polygon(&[
            (-1.9, -5.6),
            (1.9, -5.6),
            (1.9, -1.9),
            (5.6, -1.9),
            (5.6, 1.9),
            (1.9, 1.9),
            (1.9, 5.6),
            (-1.9, 5.6),
            (-1.9, 1.9),
            (-5.6, 1.9),
            (-5.6, -1.9),
            (-1.9, -1.9),
        ]),
    });
}
