//! A film as an SVG that moves by itself: no script, so that it plays in an `<img>` too.
//!
//! Each row has a window, and behind it a strip of all that the row ever shows, which steps from one
//! to the next by an animation of its own. Rows that never change have neither.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use super::super::film::Film;
use super::super::font::Fonts;
use super::super::grid::{Cell, Row};
use super::super::scheme::Scheme;
use super::{Sheet, push_row};

/// What one row shows, and when.
struct Strip {
    /// Each different row once.
    rows: Vec<Row>,
    /// From when on which of them is shown.
    steps: Vec<(Duration, usize)>,
}

/// A film as an SVG that loops; its last frame is held for `hold` longer. Who asks for reduced motion
/// sees the last frame.
pub fn film(film: &Film, scheme: &Scheme, fonts: &Fonts, title: &str, hold: Duration) -> String {
    let mut sheet = Sheet::new(scheme, fonts);
    let (cols, rows) = film.size();
    // A film without time would not loop but flicker.
    let total = (film.length + hold).max(Duration::from_millis(100));
    let height = fonts.cell.height as usize;
    let width = usize::from(cols) * fonts.cell.width as usize;
    let (mut body, mut style) = (String::new(), String::new());
    for y in 0..usize::from(rows) {
        let strip = strip(film, y);
        if let [row] = strip.rows.as_slice() {
            let markup = sheet.row(row);
            push_row(&mut body, y * height, &markup);
            continue;
        }
        let last = strip.steps.last().map_or(0, |step| step.1);
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            body,
            "<svg y=\"{}\" width=\"{width}\" height=\"{height}\"><g class=\"r r{y}\" transform=\"translate(0,-{})\">",
            y * height,
            last * height
        );
        for (index, row) in strip.rows.iter().enumerate() {
            let markup = sheet.row(row);
            push_row(&mut body, index * height, &markup);
        }
        body.push_str("</g></svg>\n");
        let _ = write!(style, "@keyframes r{y}{{");
        for (at, index) in &strip.steps {
            let share = at.as_secs_f64() / total.as_secs_f64() * 100.0;
            let share = format!("{share:.3}");
            let share = share.trim_end_matches('0').trim_end_matches('.');
            let _ = write!(style, "{share}%{{transform:translateY(-{}px)}}", index * height);
        }
        let _ = writeln!(style, "}}.r.r{y}{{animation-name:r{y}}}");
    }
    let _ = writeln!(
        style,
        "@media(prefers-reduced-motion:no-preference){{.r{{animation:{:.3}s step-end infinite}}}}",
        total.as_secs_f64()
    );
    sheet.document((usize::from(cols), usize::from(rows)), title, &style, &body)
}

/// What a film's row shows.
fn strip(film: &Film, y: usize) -> Strip {
    let mut strip = Strip { rows: Vec::new(), steps: Vec::new() };
    let mut known: HashMap<Row, usize> = HashMap::new();
    let none: Row = Vec::<Cell>::new().into();
    for frame in &film.frames {
        let row = frame.grid.rows.get(y).unwrap_or(&none);
        let index = *known.entry(Arc::clone(row)).or_insert_with(|| {
            strip.rows.push(Arc::clone(row));
            strip.rows.len() - 1
        });
        if strip.steps.last().is_none_or(|step| step.1 != index) {
            strip.steps.push((frame.at, index));
        }
    }
    strip
}
