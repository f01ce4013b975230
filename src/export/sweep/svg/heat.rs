//! Two knobs: a map a work, the first knob downwards, the second to the right.

use super::super::picture::{Picture, Type, number, width};
use super::chart::written;
use super::{EDGE, INK, QUIET, WORDS};
use crate::export::text::format::rate;
use crate::tune::sweep::{Outcome, Point, Sweep};

/// Right end of the maps.
const RIGHT: f64 = WORDS - 28.0;
/// The least and the most height of a cell, and the most of all rows together.
const LOW: f64 = 17.0;
const HIGH: f64 = 40.0;
const ROWS: f64 = 420.0;

const PATTERN: &str = "<defs><pattern id=\"gap\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#ffffff\"/>\
<rect width=\"1.5\" height=\"6\" fill=\"#c4ccd4\"/></pattern></defs>";

/// From light to dark blue: the order is that of lightness, which everybody sees.
fn shade(share: f64) -> (String, &'static str) {
    let steps: [(f64, f64, f64); 4] =
        [(239.0, 245.0, 251.0), (158.0, 202.0, 225.0), (49.0, 130.0, 189.0), (8.0, 48.0, 107.0)];
    let at = share.clamp(0.0, 1.0) * 3.0;
    let (low, part) = ((at.floor() as usize).min(2), at - at.floor().min(2.0));
    let mix = |a: f64, b: f64| (a + (b - a) * part).round() as u8;
    let (a, b) = (steps[low], steps[low + 1]);
    let color = format!("#{:02x}{:02x}{:02x}", mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2));
    (color, if share > 0.55 { "#ffffff" } else { INK })
}

/// Draws the maps one below the other; returns where they end.
pub(super) fn draw(picture: &mut Picture, sweep: &Sweep, top: f64) -> f64 {
    let [down, across] = &sweep.axes[..] else { return top };
    picture.raw(PATTERN);
    let measured = || sweep.points.iter().filter_map(Point::measured);
    let most = measured().map(|measured| measured.rate.mean).fold(0.0, f64::max);
    let names = down.values.iter().map(|value| width(&value.to_string(), 11.0));
    let left = EDGE + 22.0 + names.fold(0.0, f64::max) + 10.0;
    let wide = ((RIGHT - left) / across.values.len() as f64).min(110.0);
    let high = (ROWS / sweep.works.len() as f64 / down.values.len() as f64).clamp(LOW, HIGH);
    let mut y = top;
    for (work, of) in sweep.works.iter().enumerate() {
        if sweep.works.len() > 1 || of.name != "as-set" {
            picture.text(left, y + 10.0, Type::new(13.0, INK).bold(), &of.name);
            y += 18.0;
        }
        picture.text(left, y + 10.0, Type::new(11.0, QUIET), &format!("{} →", across.name()));
        y += 18.0;
        let mut free = f64::MIN;
        for (index, value) in across.values.iter().enumerate() {
            let (x, name) = (left + (index as f64 + 0.5) * wide, value.to_string());
            let half = width(&name, 11.0) / 2.0;
            if x - half >= free {
                picture.text(x, y + 10.0, Type::new(11.0, INK).middle(), &name);
                free = x + half + 5.0;
            }
        }
        y += 16.0;
        let middle = y + high * down.values.len() as f64 / 2.0;
        picture.text_upwards(
            EDGE + 8.0,
            middle,
            Type::new(11.0, QUIET).middle(),
            &format!("← {}", down.name()),
        );
        for (index, value) in down.values.iter().enumerate() {
            let at = y + (index as f64 + 0.5) * high + 4.0;
            picture.text(left - 8.0, at, Type::new(11.0, INK).end(), &value.to_string());
        }
        let best =
            sweep.of_work(work).filter_map(|point| Some((point.at, point.measured()?.rate.mean)));
        let best = best.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at);
        for point in sweep.of_work(work) {
            let at = (left + point.at[1] as f64 * wide, y + point.at[0] as f64 * high);
            cell(picture, sweep, point, at, (wide - 1.0, high - 1.0), most);
        }
        if let Some([row, column]) = best {
            picture.raw(format!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#d55e00\" \
                 stroke-width=\"2.4\"/>",
                number(left + column as f64 * wide - 0.5),
                number(y + row as f64 * high - 0.5),
                number(wide),
                number(high)
            ));
        }
        y += high * down.values.len() as f64 + 18.0;
    }
    scale(picture, left, y, most)
}

fn cell(
    picture: &mut Picture,
    sweep: &Sweep,
    point: &Point,
    (x, y): (f64, f64),
    (wide, high): (f64, f64),
    most: f64,
) {
    let middle = (x + wide / 2.0, y + high / 2.0 + 4.0);
    match &point.outcome {
        Outcome::Measured(measured) => {
            let (fill, ink) = shade(measured.rate.mean / most.max(f64::MIN_POSITIVE));
            picture.rect((x, y), (wide, high), &fill);
            let mark = if sweep.beyond_cores(point) { ">" } else { "" };
            let text = format!("{mark}{}", rate(Some(measured.rate.mean)));
            let size = if width(&text, 11.0) < wide - 4.0 { 11.0 } else { 8.5 };
            if width(&text, size) < wide {
                picture.text(middle.0, middle.1, Type::new(size, ink).middle(), &text);
            }
        }
        Outcome::Gap(_) => {
            picture.rect((x, y), (wide, high), "url(#gap)");
            picture.text(middle.0, middle.1, Type::new(11.0, INK).middle(), "gap");
        }
        Outcome::Waiting => picture.rect((x, y), (wide, high), "#f3f5f7"),
    }
}

/// What the shades mean; returns where that ends.
fn scale(picture: &mut Picture, left: f64, y: f64, most: f64) -> f64 {
    let (steps, wide) = (40, 4.0);
    for step in 0..steps {
        let (fill, _) = shade((f64::from(step) + 0.5) / f64::from(steps));
        picture.rect((left + f64::from(step) * wide, y), (wide + 0.3, 10.0), &fill);
    }
    let look = Type::new(10.0, QUIET);
    let end = left + f64::from(steps) * wide;
    picture.text(left, y + 23.0, look, "0");
    picture.text(end, y + 23.0, look.end(), &written(most.round()));
    picture.text(
        end + 14.0,
        y + 9.0,
        look,
        "images a second; framed: the fastest; >: more threads than cores",
    );
    y + 28.0
}
