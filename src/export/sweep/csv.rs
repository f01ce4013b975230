//! A sweep as CSV (RFC 4180): a row a point, empty where nothing was measured.

use super::{STATES, limit, rounded, shares};
use crate::tune::axis::Axis;
use crate::tune::curve::{Curve, Row};
use crate::tune::sweep::{Measured, Outcome, Point, State, Sweep};

/// Columns after the swept knobs and before the shares.
const FIGURES: [&str; 14] = [
    "status",
    "throughput_img_s",
    "ci95_low_img_s",
    "ci95_high_img_s",
    "target_met",
    "slices",
    "batches",
    "images",
    "seconds",
    "warmup_s",
    "ideal_img_s",
    "speedup",
    "efficiency",
    "beyond_cores",
];
/// Columns after the shares.
const REST: [&str; 15] = [
    "workers",
    "overlap",
    "cpu_cores",
    "others_cpu_cores",
    "cpu_ms_image",
    "lock",
    "lock_wait",
    "limit",
    "latency_p50_ms",
    "latency_p99_ms",
    "epoch",
    "order",
    "seed",
    "labels",
    "interrupted",
];

/// The sweep as CSV.
pub fn to_string(sweep: &Sweep) -> String {
    let knobs = sweep.axes.iter().map(Axis::name);
    let head = std::iter::once("work").chain(knobs).chain(FIGURES).chain(STATES).chain(REST);
    let mut out = line(head.map(str::to_owned));
    let curves = Curve::all(sweep);
    for work in 0..sweep.works.len() {
        match curves.get(work) {
            Some(curve) => {
                for row in &curve.rows {
                    out += &point(sweep, row.point, Some(row));
                }
            }
            None => {
                for of in sweep.of_work(work) {
                    out += &point(sweep, of, None);
                }
            }
        }
    }
    out
}

fn point(sweep: &Sweep, of: &Point, row: Option<&Row<'_>>) -> String {
    let measured = of.measured();
    let number = |value: Option<f64>| value.map_or_else(String::new, |v| rounded(v).to_string());
    let get = |get: fn(&Measured) -> Option<f64>| number(measured.and_then(get));
    let text = |get: fn(&Measured) -> String| measured.map_or_else(String::new, get);
    let mut cells = vec![sweep.works[of.work].name.clone()];
    cells.extend(sweep.values(of).into_iter().map(|(_, value)| value.to_string()));
    let status = match &of.outcome {
        Outcome::Waiting => "not-reached".to_owned(),
        Outcome::Measured(_) => "measured".to_owned(),
        Outcome::Gap(why) => format!("gap: {why}"),
    };
    cells.extend([
        status,
        get(|m| Some(m.rate.mean)),
        get(|m| m.rate.ends().map(|ends| ends.0)),
        get(|m| m.rate.ends().map(|ends| ends.1)),
        text(|m| m.met.to_string()),
        text(|m| m.rate.slices.to_string()),
        text(|m| m.rate.batches.to_string()),
        text(|m| m.images.to_string()),
        get(|m| Some(m.seconds)),
        get(|m| Some(m.warmup)),
        number(row.and_then(|row| row.ideal)),
        number(row.and_then(|row| row.speedup)),
        number(row.and_then(|row| row.efficiency)),
        sweep.beyond_cores(of).to_string(),
    ]);
    let of_states = measured.and_then(|m| m.shares.as_ref()).map(shares);
    cells.extend((0..STATES.len()).map(|at| number(of_states.map(|shares| shares[at]))));
    let labels = measured.map_or_else(String::new, |measured| {
        let labels = measured.labels.iter();
        let labels = labels.map(|label| format!("{} {}", label.word.word(), label.what));
        labels.collect::<Vec<_>>().join("; ")
    });
    cells.extend([
        text(|m| m.workers.to_string()),
        get(|m| m.shares.map(|shares| shares.overlap)),
        get(|m| m.cores),
        get(|m| m.others),
        get(|m| m.cpu_ms),
        text(|m| m.lock.as_ref().map_or_else(String::new, |lock| lock.name.clone())),
        get(|m| m.lock.as_ref().map(|lock| lock.share)),
        text(|m| limit(m.limit).to_owned()),
        get(|m| m.p50),
        get(|m| m.p99),
        text(|m| m.epoch.to_string()),
        of.turn.to_string(),
        sweep.seed.to_string(),
        labels,
        (sweep.state != State::Done).to_string(),
    ]);
    line(cells.into_iter())
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let quoted = cells.map(|cell| {
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell
        }
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}
