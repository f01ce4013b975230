//! A sweep as text, 80 columns wide: what ran, a table a work, what it shows.

// Writing to a String cannot fail, so that its results are dropped in here.
use std::fmt::Write as _;

use super::{STATES, bound, shares, unbound};
use crate::export::text::format::{clipped, count, ms, rate, shown, wrapped};
use crate::export::text::{Style, WIDTH};
use crate::tune::axis::Axis;
use crate::tune::curve::{Curve, Row};
use crate::tune::fit::{Fit, Law};
use crate::tune::say;
use crate::tune::sweep::{Outcome, Point, State, Sweep};

/// What stands for a value that was not measured.
const NONE: &str = "—";

/// The sweep as text.
pub fn render(sweep: &Sweep, style: Style) -> String {
    let mut lines = head(sweep);
    let curves = Curve::all(sweep);
    for (index, work) in sweep.works.iter().enumerate() {
        lines.push(String::new());
        let emulated = if sweep.emulated(index) { " [emulated]" } else { "" };
        if sweep.works.len() > 1 || work.name != "as-set" {
            lines.push(format!("{}: {}{emulated}", work.name, work.title));
        }
        match curves.get(index) {
            Some(curve) => table(&mut lines, sweep, curve),
            None => map(&mut lines, sweep, index),
        }
    }
    if let Some(signs) = signs(sweep) {
        lines.push(String::new());
        lines.push(signs);
    }
    let cautions = say::cautions(sweep);
    if !cautions.is_empty() {
        lines.push(String::new());
        lines.extend(cautions.iter().flat_map(|text| wrapped(&format!("note: {text}"), WIDTH)));
    }
    let text: String = lines.iter().map(|line| unbound(line.trim_end()) + "\n").collect();
    if style.ascii { ascii(&text) } else { text }
}

fn ascii(text: &str) -> String {
    [
        ("—", "-"),
        ("→", "->"),
        ("×", "x"),
        ("±", "+-"),
        ("·", "|"),
        ("λ", "lambda"),
        ("σ", "sigma"),
        ("κ", "kappa"),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn head(sweep: &Sweep) -> Vec<String> {
    let mut lines = Vec::new();
    let labels = sweep.labels();
    let mut words: Vec<_> = labels.iter().map(|label| label.word).collect();
    words.dedup();
    for word in words {
        let of = labels.iter().filter(|label| label.word == word);
        let of: Vec<_> = of.map(|label| label.what.as_str()).collect();
        lines.push(format!("{}: {}", word.word().to_uppercase(), of.join(", ")));
    }
    let names: Vec<_> = sweep.axes.iter().map(Axis::name).collect();
    let run = &sweep.run;
    let images = if run.input.images == 1 { "image" } else { "images" };
    let title = format!(
        "throughput by {}: {} ({} {images}) → {}",
        names.join(" and "),
        shown(&run.input.name),
        count(run.input.images),
        run.engine.name,
    );
    lines.push(clipped(&title, WIDTH));
    let cores = if run.cores == 1 { "core" } else { "cores" };
    let cpu = run.cpu.as_deref().map_or_else(String::new, |cpu| format!("{}, ", shown(cpu)));
    lines.push(clipped(&format!("{cpu}{} {cores}", run.cores), WIDTH));
    lines.push(format!(
        "±: 95 % confidence; order shuffled by seed {}; it took {:.0} s",
        sweep.seed,
        sweep.elapsed as f64 / 1e9
    ));
    if sweep.state != State::Done {
        let (done, all) = (sweep.done(), sweep.points.len());
        lines.push(format!("INTERRUPTED: {done} of {all} points were tried"));
    }
    lines
}

fn table(lines: &mut Vec<String>, sweep: &Sweep, curve: &Curve<'_>) {
    let label = sweep.axes[0].knob.spec().label;
    let values = curve.rows.iter().map(|row| row.value.to_string().chars().count());
    let first = values.max().unwrap_or(0).max(label.chars().count());
    let scaling = if curve.threads { "  speed-up  eff." } else { "" };
    lines.push(format!(
        "{label:>first$}     img/s      ±{scaling}  cores  ms/img  rdy  longest wait"
    ));
    for row in &curve.rows {
        lines.push(line(curve, row, first));
    }
    if curve.threads {
        for (law, fit) in [(Law::Amdahl, &curve.amdahl), (Law::Usl, &curve.usl)] {
            lines.extend(wrapped(&bound(&fitted(law, fit)), WIDTH));
        }
    }
    lines.extend(wrapped(&bound(&format!("→ {}", curve.sentence(sweep))), WIDTH));
}

/// What the signs in the tables mean.
fn signs(sweep: &Sweep) -> Option<String> {
    let beyond = sweep.points.iter().any(|point| sweep.beyond_cores(point));
    let wide = sweep.points.iter().filter_map(Point::measured).any(|measured| !measured.met);
    let target = say::plain(sweep.target.relative * 100.0);
    let signs = [
        beyond.then(|| "> more threads than cores".to_owned()),
        wide.then(|| format!("~ wider than ±{target} %")),
    ];
    let signs: Vec<_> = signs.into_iter().flatten().collect();
    (!signs.is_empty()).then(|| signs.join("   "))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| NONE.to_owned(), |share| format!("{:.0}%", share * 100.0))
}

fn line(curve: &Curve<'_>, row: &Row<'_>, first: usize) -> String {
    let beyond = if row.beyond { ">" } else { " " };
    let value = format!("{:>first$}{beyond}", row.value.to_string());
    let measured = match (&row.point.outcome, row.measured) {
        (_, Some(measured)) => measured,
        (Outcome::Gap(why), None) => return clipped(&format!("{value} gap: {why}"), WIDTH),
        (_, None) => return format!("{value} not reached"),
    };
    let width = measured.rate.relative().map(|r| format!("{:.1}%", r * 100.0));
    let wide = if measured.met { ' ' } else { '~' };
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.digits$}"))
    };
    let mut text = format!(
        "{value} {:>8} {:>6}{wide}",
        rate(Some(measured.rate.mean)),
        width.unwrap_or_else(|| NONE.to_owned())
    );
    if curve.threads {
        let _ = write!(text, "{:>9}{:>6}", number(row.speedup, 2), percent(row.efficiency));
    }
    let shares = measured.shares.as_ref().map(shares);
    let _ = write!(
        text,
        "{:>7}{:>8}{:>5}  ",
        number(measured.cores, 2),
        ms(measured.cpu_ms),
        percent(shares.map(|shares| shares[1])),
    );
    let wait = shares.and_then(|shares| {
        let waits = STATES.into_iter().zip(shares).skip(2);
        waits.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|&(_, share)| share >= 0.005)
    });
    if let Some((name, share)) = wait {
        let lock = measured.lock.as_ref().filter(|_| name == "lock");
        let name = lock.map_or(name, |lock| lock.name.as_str());
        let _ = write!(text, "{name} {:.0}%", share * 100.0);
    }
    clipped(&text, WIDTH)
}

/// A fitted law, or why there is none.
fn fitted(law: Law, fit: &Result<Fit, String>) -> String {
    let name = law.name();
    let fit = match fit {
        Ok(fit) => fit,
        Err(why) => return format!("{name}: no fit: {why}"),
    };
    let (lambda, sigma) = (fit.lambda.written(), fit.sigma.written());
    let mut text = format!("{name}: λ = {lambda} img/s, σ = {sigma}");
    if law == Law::Usl {
        let _ = write!(text, ", κ = {}", fit.kappa.written());
    }
    let _ = write!(text, "; off by {:.1} %", fit.residual * 100.0);
    match (law, fit.most(), fit.peak()) {
        (Law::Amdahl, Some(most), _) => {
            let _ = write!(text, "; at most {most:.1} ×");
        }
        (Law::Usl, _, Some(peak)) => {
            let _ = write!(text, "; peak at {peak:.0} threads");
        }
        _ => {}
    }
    if let Some(note) = &fit.note {
        let _ = write!(text, "; {note}");
    }
    text
}

/// A work's map: the first knob goes down, the second to the right.
fn map(lines: &mut Vec<String>, sweep: &Sweep, work: usize) {
    let [down, across] = &sweep.axes[..] else { return };
    let cells: Vec<Vec<String>> = (0..down.values.len())
        .map(|first| {
            let row = sweep.of_work(work).filter(|point| point.at[0] == first);
            let cell = |point: &Point| match &point.outcome {
                Outcome::Measured(measured) => {
                    let mark = if sweep.beyond_cores(point) { ">" } else { "" };
                    let wide = if measured.met { "" } else { "~" };
                    format!("{mark}{wide}{}", rate(Some(measured.rate.mean)))
                }
                Outcome::Gap(_) => "gap".to_owned(),
                Outcome::Waiting => NONE.to_owned(),
            };
            row.map(cell).collect()
        })
        .collect();
    let heads: Vec<_> = across.values.iter().map(ToString::to_string).collect();
    let widest = cells.iter().flatten().chain(&heads).map(|text| text.chars().count()).max();
    let width = widest.unwrap_or(0).max(6) + 2;
    let names = down.values.iter().map(ToString::to_string).chain([down.name().to_owned()]);
    let first = names.map(|name| name.chars().count()).max().unwrap_or(0);
    lines.push(format!("img/s   down: {}, to the right: {}", down.name(), across.name()));
    let written = |cells: &[String]| {
        cells.iter().fold(String::new(), |mut line, cell| {
            let _ = write!(line, "{cell:>width$}");
            line
        })
    };
    lines.push(format!("{:>first$}{}", down.name(), written(&heads)));
    for (value, cells) in down.values.iter().zip(&cells) {
        lines.push(format!("{:>first$}{}", value.to_string(), written(cells)));
    }
    let gap = sweep.of_work(work).find_map(|point| match &point.outcome {
        Outcome::Gap(why) => Some(why),
        _ => None,
    });
    if let Some(why) = gap {
        lines.extend(wrapped(&format!("gap: {why}"), WIDTH));
    }
    lines.extend(wrapped(&bound(&format!("→ {}", say::map(sweep, work))), WIDTH));
}
