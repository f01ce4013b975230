//! Below the chart: where the time of the threads went, a panel a work, a bar a point.

use super::super::picture::{Picture, Stroke, Type, cut, width};
use super::super::{STATES, shares};
use super::{AXIS, EDGE, INK, QUIET, WIDTH};
use crate::tune::curve::Curve;
use crate::tune::sweep::Sweep;

/// Panels in a row at most.
const MOST: usize = 4;
/// Height of the bars.
const HEIGHT: f64 = 112.0;
/// Between two panels, and before the first for the scale.
const GAP: f64 = 22.0;
const SCALE: f64 = 40.0;
/// The widest bar.
const WIDEST: f64 = 26.0;

/// What each state is filled with; the two that tell most have a pattern, too.
const FILLS: [&str; STATES.len()] = [
    "#3f8f6b",
    "url(#runnable)",
    "url(#lock)",
    "#5aa9c4",
    "#8c6a4f",
    "#b39b86",
    "#8f7fb8",
    "#c3d0e0",
    "#dadada",
];

const PATTERNS: &str = "<defs>\
<pattern id=\"lock\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<rect width=\"6\" height=\"6\" fill=\"#d1654f\"/><rect width=\"2\" height=\"6\" fill=\"#a83f2d\"/></pattern>\
<pattern id=\"runnable\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">\
<rect width=\"5\" height=\"5\" fill=\"#efc75e\"/><circle cx=\"2.5\" cy=\"2.5\" r=\"1.1\" fill=\"#a37600\"/></pattern>\
</defs>";

/// Draws the panels; returns where they end.
pub(super) fn draw(picture: &mut Picture, sweep: &Sweep, curves: &[Curve<'_>], top: f64) -> f64 {
    let any = curves.iter().flat_map(|curve| &curve.rows);
    if !any.filter_map(|row| row.measured).any(|measured| measured.shares.is_some()) {
        return top;
    }
    picture.raw(PATTERNS);
    let heading = format!("Where the time of the {} threads went", sweep.stage);
    picture.text(EDGE, top, Type::new(13.0, INK).bold(), &heading);
    let columns = curves.len().clamp(1, MOST);
    let across = WIDTH - 2.0 * EDGE - SCALE;
    let each = (across - GAP * (columns - 1) as f64) / columns as f64;
    let mut y = top + 28.0;
    for row in curves.chunks(columns) {
        for (index, curve) in row.iter().enumerate() {
            let x = EDGE + SCALE + index as f64 * (each + GAP);
            panel(picture, sweep, curve, (x, y), each);
        }
        for (share, name) in [(0.0, "0"), (0.5, "50"), (1.0, "100 %")] {
            let at = y + HEIGHT * (1.0 - share);
            picture.text(EDGE + SCALE - 6.0, at + 4.0, Type::new(10.0, QUIET).end(), name);
        }
        y += HEIGHT + 44.0;
    }
    legend(picture, curves, y - 4.0)
}

fn panel(picture: &mut Picture, sweep: &Sweep, curve: &Curve<'_>, (x, y): (f64, f64), wide: f64) {
    let count = curve.rows.len() as f64;
    let step = wide / count;
    let bar = (step * 0.9).min(WIDEST);
    let axis = &sweep.axes[0];
    let name = &sweep.works[curve.work].name;
    if sweep.works.len() > 1 || name != "as-set" {
        let room = (wide / width("x", 11.0)) as usize;
        picture.text(x, y - 7.0, Type::new(11.0, INK), &cut(name, room));
    }
    let bottom = y + HEIGHT;
    let mut free = f64::MIN;
    for (index, row) in curve.rows.iter().enumerate() {
        let middle = x + (index as f64 + 0.5) * step;
        let name = axis.values[row.point.at[0]].to_string();
        let half = width(&name, 10.0) / 2.0;
        if middle - half >= free {
            picture.text(middle, bottom + 14.0, Type::new(10.0, QUIET).middle(), &name);
            free = middle + half + 5.0;
        }
        let Some(of) = row.measured.and_then(|measured| measured.shares.as_ref()) else { continue };
        let mut base = bottom;
        for (share, fill) in shares(of).into_iter().zip(FILLS) {
            let high = share * HEIGHT;
            if high < 0.05 {
                continue;
            }
            base -= high;
            picture.rect((middle - bar / 2.0, base), (bar, high), fill);
        }
    }
    picture.line((x, bottom), (x + wide, bottom), Stroke::new(AXIS, 1.0));
}

/// The states that are seen; returns where that ends.
fn legend(picture: &mut Picture, curves: &[Curve<'_>], y: f64) -> f64 {
    let rows = curves.iter().flat_map(|curve| &curve.rows);
    let all: Vec<_> = rows.filter_map(|row| row.measured?.shares.as_ref()).map(shares).collect();
    let mut x = EDGE + SCALE;
    for (at, (name, fill)) in STATES.into_iter().zip(FILLS).enumerate() {
        if !all.iter().any(|shares| shares[at] >= 0.005) {
            continue;
        }
        picture.rect((x, y - 10.0), (12.0, 12.0), fill);
        let name = match name {
            "lock" => "waits for a lock",
            "runnable" => "wants a CPU",
            "backpressured" => "back-pressured",
            name => name,
        };
        picture.text(x + 18.0, y, Type::new(11.0, INK), name);
        x += 18.0 + width(name, 11.0) + 22.0;
    }
    y
}
