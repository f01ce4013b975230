//! What a curve or a map shows, in a sentence: how it scales, and what the threads waited for.

// Writing to a String cannot fail, so that its results are dropped in here.
use std::fmt::Write as _;

use super::curve::{Curve, Row};
use super::meter::LEAST_SLICES;
use super::sweep::{Measured, State, Sweep};
use crate::pipeline::Stage;
use crate::profile::limit::Limit;
use crate::profile::snapshot::Wait;

/// From this efficiency on a work scales, and from that on in part.
const SCALES: f64 = 0.8;
const IN_PART: f64 = 0.5;
/// Below this multiple of the first point more threads bring nothing.
const NOTHING: f64 = 1.3;
/// An interval wider than this share of the throughput tells no course.
const VAGUE: f64 = 0.2;
/// From this share on a state explains something.
const TELLING: f64 = 0.1;
/// A rise of the CPU time of an image that is worth a word.
const DEARER: f64 = 1.08;

/// What a curve shows.
pub fn curve(curve: &Curve<'_>, sweep: &Sweep) -> String {
    let measured = curve.rows.iter().filter(|row| row.measured.is_some()).count();
    match (measured, curve.threads) {
        (0, _) => "nothing was measured".to_owned(),
        (1, _) => "one point alone shows no course".to_owned(),
        (_, true) => scaling(curve, sweep),
        (_, false) => best(curve, sweep),
    }
}

/// How a curve over threads goes.
fn scaling(curve: &Curve<'_>, sweep: &Sweep) -> String {
    let (Some(first), Some(last), Some(best)) = (curve.first(), curve.last(), curve.best()) else {
        return "nothing was measured".to_owned();
    };
    let (Some(speedup), Some(efficiency)) = (last.speedup, last.efficiency) else {
        let row = &curve.rows[0];
        if row.point.is_waiting() && sweep.state == State::Running {
            return format!("the point at {} is still to come", row.value);
        }
        return format!("the point at {} is missing: there is no speed-up to tell", row.value);
    };
    let (from, n) = (first.number().unwrap_or(1.0), last.number().unwrap_or(1.0));
    if (from - n).abs() < 0.5 {
        return "one point with at most one thread a core shows no course".to_owned();
    }
    if let Some(vague) = vague([first.measured, last.measured]) {
        return format!("too uncertain to tell: {vague} at one of its ends");
    }
    let growth = speedup / from;
    let why = why(last, sweep).filter(|_| efficiency < 0.95);
    let course = format!("{speedup:.1} × at {n} threads ({:.0} %)", efficiency * 100.0);
    let flat = growth < NOTHING && efficiency < SCALES;
    let mut text = match efficiency {
        _ if flat => "does not scale".to_owned(),
        e if e >= SCALES => format!("scales {course}"),
        e if e >= IN_PART => format!("scales in part: {course}"),
        _ => format!("scales poorly: {course}"),
    };
    let peak = best.number().filter(|_| !best.beyond).unwrap_or(n);
    let fell = best.rate().zip(last.rate()).is_some_and(|(best, last)| last < 0.95 * best);
    if growth >= NOTHING && fell && peak < n {
        let most = best.speedup.unwrap_or(0.0);
        let _ = write!(text, "; most is {most:.1} × at {peak}, beyond which it falls");
    }
    if let Some(why) = why {
        text += if flat { ": " } else { "; " };
        text += &why;
    }
    if flat {
        let _ = write!(text, "; {n} threads make {growth:.2} × of what {from} makes");
    }
    if let Some(dearer) = dearer(first, last).filter(|_| !flat) {
        text += "; ";
        text += &dearer;
    }
    text
}

/// Why two points cannot be compared, where they are too uncertain.
fn vague(two: [Option<&Measured>; 2]) -> Option<String> {
    let mut widest = 0.0_f64;
    for measured in two {
        let Some(width) = measured.and_then(|measured| measured.rate.relative()) else {
            return Some("no interval".to_owned());
        };
        widest = widest.max(width);
    }
    (widest > VAGUE).then(|| format!("±{:.0} %", widest * 100.0))
}

/// What the threads did where they did not run.
fn why(row: &Row<'_>, sweep: &Sweep) -> Option<String> {
    let measured = row.measured?;
    let shares = measured.shares.as_ref()?;
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let waits = [Wait::Lock, Wait::Gpu, Wait::Io, Wait::Delay, Wait::Starved, Wait::Backpressured];
    let (wait, share) = waits
        .map(|wait| (wait, shares.wait(wait)))
        .into_iter()
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let rest = [
        (shares.runnable, "wants a CPU and has none"),
        (shares.other, "is blocked for an unknown reason"),
    ];
    let (other, what) = if rest[0].0 >= rest[1].0 { rest[0] } else { rest[1] };
    if share.max(other) < TELLING {
        return None;
    }
    if other > share {
        return Some(format!("each thread {what} {} of its time", percent(other)));
    }
    let limits = match measured.limit {
        Limit::Stage(stage) if stage != sweep.stage => format!(": {stage} limits"),
        _ => String::new(),
    };
    Some(match (wait, &measured.lock) {
        (Wait::Lock, Some(lock)) => {
            format!("each thread waits for `{}` {} of its time", lock.name, percent(share))
        }
        (Wait::Lock, None) => {
            format!("each thread waits for a lock {} of its time", percent(share))
        }
        (Wait::Starved, _) => {
            format!("each thread waits for input {} of its time{limits}", percent(share))
        }
        (Wait::Backpressured, _) => {
            format!("each thread waits to hand over {} of its time{limits}", percent(share))
        }
        (wait, _) => {
            format!("each thread waits for {} {} of its time", wait.name(), percent(share))
        }
    })
}

/// What is lost inside of the running time: an image's CPU time that grows with the threads.
fn dearer(first: &Row<'_>, last: &Row<'_>) -> Option<String> {
    let (before, after) = (first.measured?.cpu_ms?, last.measured?.cpu_ms?);
    (before > 0.0 && after / before >= DEARER).then(|| {
        format!("an image takes {} ms of CPU against {} before", three(after), three(before))
    })
}

/// Three digits.
fn three(value: f64) -> String {
    match value {
        v if v < 1.0 => format!("{v:.3}"),
        v if v < 10.0 => format!("{v:.2}"),
        v => format!("{v:.1}"),
    }
}

/// The best value of a knob that is no number of threads.
fn best(curve: &Curve<'_>, sweep: &Sweep) -> String {
    let Some(best) = curve.best() else { return "nothing was measured".to_owned() };
    let rated = curve.rows.iter().filter_map(|row| Some((row, row.rate()?)));
    let Some((worst, least)) = rated.min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return "nothing was measured".to_owned();
    };
    if let Some(vague) = vague([best.measured, worst.measured]) {
        return format!("too uncertain to tell: {vague} at {} or {}", best.value, worst.value);
    }
    let name = sweep.axes[0].name();
    let overlap = |a: Option<&Measured>, b: Option<&Measured>| {
        let (a, b) = (a.and_then(|m| m.rate.ends()), b.and_then(|m| m.rate.ends()));
        a.zip(b).is_none_or(|(a, b)| a.0 <= b.1 && b.0 <= a.1)
    };
    if overlap(best.measured, worst.measured) {
        return format!("{name} makes no difference that can be told from chance");
    }
    let factor = best.rate().unwrap_or(0.0) / least.max(f64::MIN_POSITIVE);
    let mut text = format!("fastest at {}: {factor:.2} × of {}", best.value, worst.value);
    let limits = best.measured.map(|measured| measured.limit);
    if let Some(Limit::Stage(stage)) = limits.filter(|&limit| limit != Limit::Stage(sweep.stage)) {
        let _ = write!(text, "; {stage} limits there");
    } else if limits == Some(Limit::Input) {
        text += "; the arrival rate is kept there";
    }
    text
}

/// What a work's map over two knobs shows.
pub fn map(sweep: &Sweep, work: usize) -> String {
    let measured = || sweep.of_work(work).filter_map(|point| Some((point, point.measured()?)));
    let by_rate = |a: &(_, &Measured), b: &(_, &Measured)| a.1.rate.mean.total_cmp(&b.1.rate.mean);
    let Some((best, most)) = measured().max_by(by_rate) else {
        return "nothing was measured".to_owned();
    };
    let Some((worst, least)) = measured().min_by(by_rate) else {
        return "nothing was measured".to_owned();
    };
    let place = |point| {
        let values = sweep.values(point).into_iter();
        let texts = values.map(|(id, value)| format!("{} {value}", id.spec().name));
        texts.collect::<Vec<_>>().join(", ")
    };
    if let Some(vague) = vague([Some(most), Some(least)]) {
        return format!("too uncertain to tell: {vague} at {} or {}", place(best), place(worst));
    }
    let factor = most.rate.mean / least.rate.mean.max(f64::MIN_POSITIVE);
    format!("fastest at {}: {factor:.2} × of {}", place(best), place(worst))
}

/// What of the whole sweep a person must know before believing it.
pub fn cautions(sweep: &Sweep) -> Vec<String> {
    let mut said = Vec::new();
    let measured = || sweep.points.iter().filter_map(|point| Some((point, point.measured()?)));
    let wide = measured().filter(|(_, measured)| !measured.met).count();
    if wide > 0 {
        said.push(format!(
            "{wide} of {} points did not reach ±{} % in their time",
            measured().count(),
            plain(sweep.target.relative * 100.0),
        ));
    }
    let least = sweep.target.slice.saturating_mul(LEAST_SLICES as u64);
    if wide > 0 && sweep.target.limit < least {
        said.push(format!(
            "no point can reach it in less than {:.1} s: give it more with --limit",
            least as f64 / 1e9
        ));
    }
    if sweep.failed > 0 {
        said.push(format!(
            "{} images failed, round and round: they are in no throughput",
            sweep.failed
        ));
    }
    let busy = measured().filter_map(|(_, measured)| measured.others).fold(0.0, f64::max);
    if busy > 0.25 {
        said.push(format!("others used up to {busy:.1} cores of this machine meanwhile"));
    }
    let beyond = sweep.points.iter().filter(|point| sweep.beyond_cores(point)).count();
    if beyond > 0 {
        said.push(format!(
            "{beyond} points have more threads than the {} cores that pipetop may use",
            sweep.run.cores
        ));
    }
    let other = measured().filter(
        |(_, measured)| matches!(measured.limit, Limit::Stage(stage) if stage != sweep.stage),
    );
    let stages: std::collections::BTreeSet<Stage> = other
        .filter_map(|(_, measured)| match measured.limit {
            Limit::Stage(stage) => Some(stage),
            Limit::Measuring | Limit::Input => None,
        })
        .collect();
    if !stages.is_empty() && sweep.stage != Stage::Load {
        let names: Vec<_> = stages.iter().map(|stage| stage.name()).collect();
        said.push(format!("at some points another stage limited: {}", names.join(", ")));
    }
    said
}

/// A number without zeros at its end.
pub fn plain(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
