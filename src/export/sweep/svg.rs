//! A sweep as a picture: throughput against the knob with the ideal line, beside it what each work shows,
//! below it where the time of the threads went; or, of two knobs, a map.
//!
//! ```text
//! Throughput by preprocess.threads
//! ┌──────────────────────────────┐  ● native
//! │           ideal ╱    │ cores │    scales 14.1 × at 16 threads …
//! │             ╱ ●      │       │  ▲ loop-hold
//! │         ● ▲     ▲    ▲       │    does not scale …
//! └──────────────────────────────┘
//! ┌ native ──────┐ ┌ loop-hold ──┐   shares: █ running  ▨ lock …
//! ```

mod chart;
mod heat;
mod shares;

use super::picture::{Picture, Type, cut, folded, width};
use super::{bound, unbound};
use crate::tune::axis::Axis;
use crate::tune::curve::Curve;
use crate::tune::fit::{Fit, Law};
use crate::tune::say;
use crate::tune::sweep::{State, Sweep};

/// Width of the picture.
const WIDTH: f64 = 1080.0;
/// Its edges.
const EDGE: f64 = 28.0;
/// Where the words beside the chart begin.
const WORDS: f64 = 712.0;
/// Colours of text: what the eye looks for, what it skips, what warns.
const INK: &str = "#1d2733";
const QUIET: &str = "#5b6875";
const WARN: &str = "#a34a00";
/// Lines of the grid and of the axes.
const GRID: &str = "#e3e8ed";
const AXIS: &str = "#8a96a3";

/// Colours that people with any colour vision tell apart (M. Okabe and K. Ito, *Color Universal Design*,
/// 2008); each work has a mark of its own besides.
const COLORS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a5c00", "#56b4e9"];

/// A work's colour.
const fn color(work: usize) -> &'static str {
    COLORS[work % COLORS.len()]
}

/// The sweep as SVG.
pub fn to_string(sweep: &Sweep) -> String {
    let mut picture = Picture::default();
    let names: Vec<_> = sweep.axes.iter().map(Axis::name).collect();
    let title = format!("Throughput by {}", names.join(" and "));
    let top = head(&mut picture, sweep, &title);
    let curves = Curve::all(sweep);
    let (bottom, sentences) = if curves.is_empty() {
        let sentences: Vec<_> = (0..sweep.works.len()).map(|work| say::map(sweep, work)).collect();
        let maps = heat::draw(&mut picture, sweep, top);
        let words = beside(&mut picture, sweep, top, &sentences, &[]);
        (maps.max(words), sentences)
    } else {
        let sentences: Vec<_> = curves.iter().map(|curve| curve.sentence(sweep)).collect();
        let words = beside(&mut picture, sweep, top, &sentences, &curves);
        let height = (words - top - 8.0).max(380.0);
        let bottom = chart::draw(&mut picture, sweep, &curves, top, height);
        (shares::draw(&mut picture, sweep, &curves, bottom + 26.0), sentences)
    };
    let bottom = foot(&mut picture, sweep, bottom + 10.0);
    let works = sweep.works.iter().zip(&sentences);
    let told: Vec<_> = works.map(|(work, text)| format!("{}: {text}.", work.name)).collect();
    picture.finish((WIDTH, bottom + 16.0), &title, &told.join(" "))
}

/// What was measured on what; returns where the rest begins.
fn head(picture: &mut Picture, sweep: &Sweep, title: &str) -> f64 {
    picture.text(EDGE, 40.0, Type::new(21.0, INK).bold(), title);
    let run = &sweep.run;
    let cores = if run.cores == 1 { "core" } else { "cores" };
    let cpu = run.cpu.as_deref().map_or_else(String::new, |cpu| format!("{cpu}, "));
    let images = if run.input.images == 1 { "image" } else { "images" };
    let about = format!(
        "{} ({} {images}) → {} · {cpu}{} {cores}",
        run.input.name, run.input.images, run.engine.name, run.cores
    );
    let small = Type::new(12.0, QUIET);
    let room = ((WIDTH - 2.0 * EDGE) / width("x", 12.0)) as usize;
    picture.text(EDGE, 62.0, small, &cut(&about, room));
    let mut y = 62.0;
    let labels = sweep.labels();
    let mut warnings = Vec::new();
    if sweep.state != State::Done {
        let (done, all) = (sweep.done(), sweep.points.len());
        warnings.push(format!("INTERRUPTED after {done} of {all} points"));
    }
    let mut words: Vec<_> = labels.iter().map(|label| label.word).collect();
    words.dedup();
    warnings.extend(words.into_iter().map(|word| {
        let of = labels.iter().filter(|label| label.word == word);
        let of: Vec<_> = of.map(|label| label.what.as_str()).collect();
        format!("{}: {}", word.word(), of.join(", "))
    }));
    if !warnings.is_empty() {
        y += 19.0;
        let text = cut(&warnings.join(" · "), room);
        picture.text(EDGE, y, Type::new(12.0, WARN).bold(), &text);
    }
    y + 36.0
}

/// The works with what they show; returns where they end.
fn beside(
    picture: &mut Picture,
    sweep: &Sweep,
    top: f64,
    sentences: &[String],
    curves: &[Curve<'_>],
) -> f64 {
    let mut y = top + 14.0;
    let (small, room) = (11.0, ((WIDTH - EDGE - WORDS - 22.0) / width("x", 11.0)) as usize);
    for (index, (work, sentence)) in sweep.works.iter().zip(sentences).enumerate() {
        let alone = sweep.works.len() == 1 && work.name == "as-set";
        let name = if alone { "knobs as set" } else { work.name.as_str() };
        if !curves.is_empty() {
            chart::mark(picture, index, (WORDS + 7.0, y - 4.5), false);
        }
        picture.text(WORDS + 22.0, y, Type::new(14.0, INK).bold(), name);
        if sweep.emulated(index) {
            let x = WORDS + 22.0 + width(name, 14.0) + 10.0;
            picture.text(x, y, Type::new(small, WARN).bold(), "emulated");
        }
        y += 16.0;
        if !alone {
            picture.text(WORDS + 22.0, y, Type::new(small, QUIET), &cut(&work.title, room));
            y += 15.0;
        }
        for line in folded(&bound(sentence), room) {
            picture.text(WORDS + 22.0, y, Type::new(small, INK), &unbound(&line));
            y += 14.5;
        }
        if let Some(curve) = curves.get(index).filter(|curve| curve.threads) {
            for line in laws(curve).iter().flat_map(|text| folded(&bound(text), room)) {
                picture.text(WORDS + 22.0, y, Type::new(small, QUIET), &unbound(&line));
                y += 14.5;
            }
        }
        y += 14.0;
    }
    y
}

/// The fitted laws; where there are none, nothing: the other files say why.
fn laws(curve: &Curve<'_>) -> Vec<String> {
    let amdahl = curve.amdahl.as_ref().ok().map(|fit: &Fit| {
        let name = Law::Amdahl.name();
        format!("{name}: σ = {}", fit.sigma.written())
    });
    let usl = curve.usl.as_ref().ok().map(|fit: &Fit| {
        let name = Law::Usl.name();
        format!("{name}: σ = {}, κ = {}", fit.sigma.written(), fit.kappa.written())
    });
    amdahl.into_iter().chain(usl).collect()
}

/// How it was measured; returns where that ends.
fn foot(picture: &mut Picture, sweep: &Sweep, top: f64) -> f64 {
    let look = Type::new(11.0, QUIET);
    let mut said = vec![format!(
        "Bars: 95 % confidence (Student's t over batch means), ±{} % asked for, {} s a point at most; order \
         shuffled by seed {}; pipetop {}",
        say::plain(sweep.target.relative * 100.0),
        say::plain(sweep.target.limit as f64 / 1e9),
        sweep.seed,
        sweep.run.version,
    )];
    let cautions = say::cautions(sweep);
    if !cautions.is_empty() {
        said.push(format!("Note: {}", cautions.join("; ")));
    }
    let room = ((WIDTH - 2.0 * EDGE) / width("x", 11.0)) as usize;
    let mut y = top;
    for line in said.iter().flat_map(|text| folded(text, room)) {
        y += 15.0;
        picture.text(EDGE, y, look, &line);
    }
    y
}
