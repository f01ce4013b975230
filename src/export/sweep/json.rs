//! Everything of a sweep as JSON; `docs/sweep.md` describes each key.

use serde::Serialize;
use std::collections::BTreeMap;

use super::{SCHEMA, STATES, limit, rounded, shares, state};
use crate::pipeline::infer::EngineInfo;
use crate::pipeline::knobs::{KnobValue, KnobValues};
use crate::pipeline::source::InputInfo;
use crate::profile::snapshot::{Label, LabelWord};
use crate::tune::curve::{Curve, Row};
use crate::tune::fit::{Coefficient, Fit, Law};
use crate::tune::say;
use crate::tune::sweep::{Measured, Outcome, Point, State, Sweep};

#[derive(Serialize)]
struct Root<'a> {
    schema: &'static str,
    version: &'a str,
    run_id: &'a str,
    started_unix_s: u64,
    state: &'static str,
    interrupted: bool,
    seconds: f64,
    labels: Vec<&'static str>,
    labelled: Vec<Label>,
    input: &'a InputInfo,
    engine: &'a EngineInfo,
    host: Host<'a>,
    knobs: &'a KnobValues,
    axes: Vec<AxisOut<'a>>,
    stage: &'static str,
    measuring: Measuring,
    works: Vec<WorkOut<'a>>,
    cautions: Vec<String>,
}

#[derive(Serialize)]
struct Host<'a> {
    cpu_name: Option<&'a str>,
    cores: usize,
}

#[derive(Serialize)]
struct AxisOut<'a> {
    knob: &'static str,
    unit: &'static str,
    values: &'a [KnobValue],
}

#[derive(Serialize)]
struct Measuring {
    confidence: f64,
    target: f64,
    limit_s: f64,
    slice_s: f64,
    seed: u64,
}

#[derive(Serialize)]
struct WorkOut<'a> {
    name: &'a str,
    title: &'a str,
    settings: BTreeMap<&'static str, KnobValue>,
    sentence: String,
    points: Vec<PointOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fits: Option<Fits>,
}

#[derive(Serialize)]
struct Fits {
    amdahl: FitOut,
    usl: FitOut,
}

#[derive(Default, Serialize)]
struct FitOut {
    lambda: Option<CoefficientOut>,
    sigma: Option<CoefficientOut>,
    kappa: Option<CoefficientOut>,
    residual: Option<f64>,
    points: Option<usize>,
    note: Option<String>,
    absent: Option<String>,
}

#[derive(Serialize)]
struct CoefficientOut {
    value: f64,
    error: Option<f64>,
}

#[derive(Serialize)]
struct PointOut {
    values: BTreeMap<&'static str, KnobValue>,
    status: &'static str,
    note: Option<String>,
    order: usize,
    beyond_cores: bool,
    throughput_img_s: Option<f64>,
    ci95_img_s: Option<[f64; 2]>,
    ci95_relative: Option<f64>,
    target_met: Option<bool>,
    slices: Option<usize>,
    batches: Option<usize>,
    correlation: Option<f64>,
    images: Option<u64>,
    seconds: Option<f64>,
    warmup_s: Option<f64>,
    ideal_img_s: Option<f64>,
    speedup: Option<f64>,
    efficiency: Option<f64>,
    workers: Option<u32>,
    share: Option<BTreeMap<&'static str, f64>>,
    overlap: Option<f64>,
    cpu_cores: Option<f64>,
    others_cpu_cores: Option<f64>,
    cpu_ms_image: Option<f64>,
    lock: Option<LockOut>,
    limit: Option<&'static str>,
    latency_ms: Option<Latency>,
    epoch: Option<u32>,
}

#[derive(Serialize)]
struct LockOut {
    name: String,
    wait: f64,
}

#[derive(Serialize)]
struct Latency {
    p50: Option<f64>,
    p99: Option<f64>,
}

/// The sweep as JSON, with a line's end.
pub fn to_string(sweep: &Sweep) -> String {
    let curves = Curve::all(sweep);
    let works = sweep.works.iter().enumerate().map(|(index, work)| {
        let curve = curves.get(index);
        let points: Vec<_> = match curve {
            Some(curve) => {
                curve.rows.iter().map(|row| point(sweep, row.point, Some(row))).collect()
            }
            None => sweep.of_work(index).map(|of| point(sweep, of, None)).collect(),
        };
        WorkOut {
            name: &work.name,
            title: &work.title,
            settings: work.settings.iter().map(|&(id, value)| (id.spec().name, value)).collect(),
            sentence: curve.map_or_else(|| say::map(sweep, index), |curve| curve.sentence(sweep)),
            points,
            fits: curve.filter(|curve| curve.threads).map(fits),
        }
    });
    let labelled = sweep.labels();
    let mut labels: Vec<_> = labelled.iter().map(|label| label.word).collect();
    labels.dedup();
    let root = Root {
        schema: SCHEMA,
        version: &sweep.run.version,
        run_id: &sweep.run.id,
        started_unix_s: sweep.started_at,
        state: state(sweep.state),
        interrupted: sweep.state != State::Done,
        seconds: rounded(sweep.elapsed as f64 / 1e9),
        labels: labels.into_iter().map(LabelWord::word).collect(),
        labelled,
        input: &sweep.run.input,
        engine: &sweep.run.engine,
        host: Host { cpu_name: sweep.run.cpu.as_deref(), cores: sweep.run.cores },
        knobs: &sweep.base,
        axes: sweep
            .axes
            .iter()
            .map(|axis| AxisOut {
                knob: axis.name(),
                unit: axis.knob.spec().unit,
                values: &axis.values,
            })
            .collect(),
        stage: sweep.stage.name(),
        measuring: Measuring {
            confidence: 0.95,
            target: sweep.target.relative,
            limit_s: sweep.target.limit as f64 / 1e9,
            slice_s: sweep.target.slice as f64 / 1e9,
            seed: sweep.seed,
        },
        works: works.collect(),
        cautions: say::cautions(sweep),
    };
    // Maps with names as keys and finite numbers: nothing that JSON could not hold.
    serde_json::to_string_pretty(&root).map_or_else(|_| String::new(), |json| json + "\n")
}

fn point(sweep: &Sweep, of: &Point, row: Option<&Row<'_>>) -> PointOut {
    let measured = of.measured();
    let number = |get: fn(&Measured) -> Option<f64>| measured.and_then(get).map(rounded);
    let (status, note) = match &of.outcome {
        Outcome::Waiting => ("not-reached", None),
        Outcome::Measured(_) => ("measured", None),
        Outcome::Gap(why) => ("gap", Some(why.clone())),
    };
    let named = |shares: &crate::profile::window::Shares| {
        STATES.into_iter().zip(self::shares(shares).map(rounded)).collect()
    };
    PointOut {
        values: sweep.values(of).into_iter().map(|(id, value)| (id.spec().name, value)).collect(),
        status,
        note,
        order: of.turn,
        beyond_cores: sweep.beyond_cores(of),
        throughput_img_s: number(|m| Some(m.rate.mean)),
        ci95_img_s: measured
            .and_then(|m| m.rate.ends())
            .map(|(low, high)| [rounded(low), rounded(high)]),
        ci95_relative: number(|m| m.rate.relative()),
        target_met: measured.map(|m| m.met),
        slices: measured.map(|m| m.rate.slices),
        batches: measured.map(|m| m.rate.batches),
        correlation: number(|m| Some(m.rate.correlation)),
        images: measured.map(|m| m.images),
        seconds: number(|m| Some(m.seconds)),
        warmup_s: number(|m| Some(m.warmup)),
        ideal_img_s: row.and_then(|row| row.ideal).map(rounded),
        speedup: row.and_then(|row| row.speedup).map(rounded),
        efficiency: row.and_then(|row| row.efficiency).map(rounded),
        workers: measured.map(|m| m.workers),
        share: measured.and_then(|m| m.shares.as_ref()).map(named),
        overlap: number(|m| m.shares.map(|shares| shares.overlap)),
        cpu_cores: number(|m| m.cores),
        others_cpu_cores: number(|m| m.others),
        cpu_ms_image: number(|m| m.cpu_ms),
        lock: measured
            .and_then(|m| m.lock.as_ref())
            .map(|lock| LockOut { name: lock.name.clone(), wait: rounded(lock.share) }),
        limit: measured.map(|m| limit(m.limit)),
        latency_ms: measured.map(|m| Latency { p50: m.p50.map(rounded), p99: m.p99.map(rounded) }),
        epoch: measured.map(|m| m.epoch),
    }
}

fn fits(curve: &Curve<'_>) -> Fits {
    Fits { amdahl: fit(Law::Amdahl, &curve.amdahl), usl: fit(Law::Usl, &curve.usl) }
}

fn fit(law: Law, of: &Result<Fit, String>) -> FitOut {
    let fit = match of {
        Ok(fit) => fit,
        Err(why) => return FitOut { absent: Some(why.clone()), ..FitOut::default() },
    };
    let coefficient = |of: Coefficient| {
        Some(CoefficientOut { value: rounded(of.value), error: of.error.map(rounded) })
    };
    FitOut {
        lambda: coefficient(fit.lambda),
        sigma: coefficient(fit.sigma),
        kappa: if law == Law::Usl { coefficient(fit.kappa) } else { None },
        residual: Some(rounded(fit.residual)),
        points: Some(fit.points),
        note: fit.note.clone(),
        absent: None,
    }
}
