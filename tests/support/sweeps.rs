//! Made-up sweeps: no clock, no chance.

use std::sync::Arc;

use pipetop::pipeline::Stage;
use pipetop::pipeline::infer::EngineInfo;
use pipetop::pipeline::knobs::KnobValues;
use pipetop::pipeline::source::InputInfo;
use pipetop::profile::limit::Limit;
use pipetop::profile::snapshot::{Label, LabelWord, RunInfo, Wait};
use pipetop::profile::window::Shares;
use pipetop::tune::axis::number;
use pipetop::tune::statistics::Estimate;
use pipetop::tune::sweep::{LockWait, Measured, Now, Outcome, Point, State, Sweep, Target};
use pipetop::tune::work::Work;

/// A sweep of which nothing was measured yet.
pub(crate) fn planned(axes: &[&str], works: &[&str], cores: usize) -> Sweep {
    let axes: Vec<_> = axes.iter().map(|text| text.parse().expect("it is an axis")).collect();
    let works: Vec<_> = match works {
        [] => vec![Work::as_set()],
        names => names.iter().map(|name| Work::by_name(name).expect("it is a work")).collect(),
    };
    let run = RunInfo {
        id: "fixture".into(),
        version: "0.1.0".into(),
        input: InputInfo { kind: "synthetic".into(), name: "synthetic".into(), images: 64 },
        engine: EngineInfo {
            kind: "null".into(),
            model: "none".into(),
            name: "null (drops batches)".into(),
            side: 224,
            classes: 0,
            device: false,
        },
        cores,
        cpu: Some("Made-up 16-Core Processor".into()),
        once: false,
        duration_s: None,
        sample_hz: 10.0,
        bare: false,
    };
    Sweep {
        run: Arc::new(run),
        started_at: 1_800_000_000,
        points: Sweep::plan(&axes, &works, 1),
        axes,
        works,
        base: KnobValues::defaults(cores),
        stage: Stage::Preprocess,
        target: Target { relative: 0.03, limit: 10_000_000_000, slice: 200_000_000 },
        seed: 1,
        now: None,
        state: State::Running,
        elapsed: 0,
        failed: 0,
    }
}

/// How a point's threads fare: shares of running, runnable and lock; the rest starves.
#[derive(Clone, Copy)]
pub(crate) struct Fare {
    pub(crate) running: f64,
    pub(crate) runnable: f64,
    pub(crate) lock: f64,
}

/// A measured point.
pub(crate) fn measured(rate: f64, relative: f64, workers: u32, fare: Fare) -> Measured {
    let Fare { running, runnable, lock } = fare;
    let mut shares = Shares { running, runnable, ..Shares::default() };
    shares.waits[Wait::Lock as usize] = lock;
    shares.waits[Wait::Starved as usize] = 1.0 - running - runnable - lock;
    let cpu = running * f64::from(workers);
    Measured {
        rate: Estimate {
            mean: rate,
            half: Some(rate * relative),
            slices: 10,
            batches: 10,
            correlation: -0.1,
        },
        met: relative <= 0.03,
        images: (rate * 2.0) as u64,
        seconds: 2.0,
        warmup: 0.5,
        shares: Some(shares),
        workers,
        cores: Some(cpu + 0.02),
        others: Some(0.05),
        cpu_ms: Some(cpu / rate * 1e3),
        lock: (lock > 0.0).then(|| LockWait { name: "gil".into(), share: lock }),
        limit: Limit::Stage(Stage::Preprocess),
        p50: Some(21.5),
        p99: Some(44.25),
        epoch: 3,
        labels: vec![Label { word: LabelWord::Synthetic, what: "input".into() }],
    }
}

/// Fills in the points whose turn comes before `until`.
pub(crate) fn fill(sweep: &mut Sweep, until: usize, outcome: impl Fn(&Sweep, &Point) -> Outcome) {
    for index in 0..sweep.points.len() {
        if sweep.points[index].turn < until {
            sweep.points[index].outcome = outcome(sweep, &sweep.points[index]);
        }
    }
    sweep.elapsed = 2_600_000_000 * until.min(sweep.points.len()) as u64;
    if until >= sweep.points.len() {
        sweep.state = State::Done;
    }
}

/// What a machine of 16 cores might make of images that take 11.8 ms each, by work and threads.
pub(crate) fn likely(sweep: &Sweep, point: &Point) -> Outcome {
    let n = sweep.axes.iter().zip(point.at).find(|(axis, _)| axis.counts_threads());
    let n = n.and_then(|(axis, at)| number(axis.values[at])).unwrap_or(1.0);
    let cores = sweep.run.cores as f64;
    let ran = n.min(cores);
    let wobble = 1.0 + 0.01 * ((n * 7.0 + point.work as f64 * 3.0) % 5.0 - 2.0) / 2.0;
    let gil = |held: f64| {
        // So much of an image under the lock: no more than 1/held at once.
        let at_once = (1.0 / held).min(ran);
        (at_once, (1.0 - at_once / n).max(0.0))
    };
    let (at_once, lock) = match sweep.works[point.work].name.as_str() {
        "gil-release" => {
            (ran / (1.0 + 0.02 * (ran - 1.0)), 0.015 * (ran - 1.0) / (1.0 + 0.015 * ran))
        }
        "gil-hold" | "loop-hold" | "lock-pool" => gil(1.0),
        _ => (ran / (1.0 + 0.009 * (ran - 1.0)), 0.0),
    };
    let rate = 84.6 * at_once * wobble;
    let runnable = (1.0 - ran / n) * (1.0 - lock);
    let running = (1.0 - lock - runnable) * 0.985;
    let relative = 0.004 + 0.002 * ((n * 5.0) % 7.0);
    let mut of = measured(rate, relative, n as u32, Fare { running, runnable, lock });
    if matches!(sweep.works[point.work].name.as_str(), "gil-release" | "gil-hold" | "loop-hold") {
        of.labels.insert(0, Label { word: LabelWord::Emulated, what: "preprocess.gil".into() });
    }
    Outcome::Measured(Box::new(of))
}

/// The seed's chart: four works over 1 to 16 threads on 16 cores, all measured.
pub(crate) fn gil() -> Sweep {
    let works = ["native", "gil-release", "gil-hold", "loop-hold"];
    let mut sweep = planned(&["preprocess.threads=1..16"], &works, 16);
    fill(&mut sweep, usize::MAX, likely);
    sweep
}

/// Two works over 1 to 6 threads on 4 cores, under way: one gap, one point being measured.
pub(crate) fn under_way() -> Sweep {
    let mut sweep = planned(&["preprocess.threads=1..6"], &["native", "lock-pool"], 4);
    fill(&mut sweep, 8, likely);
    let gap = sweep.points.iter().position(|point| point.turn == 3).expect("there are more");
    sweep.points[gap].outcome = Outcome::Gap("no image came out in 10.0 s".into());
    let point = sweep.next().expect("some wait");
    let rate = Estimate { mean: 212.0, half: Some(19.0), slices: 5, batches: 5, correlation: 0.0 };
    sweep.now = Some(Now { point, warming: false, elapsed: 1_100_000_000, rate: Some(rate) });
    sweep
}

/// More threads than the two cores, ended before all were measured.
pub(crate) fn interrupted() -> Sweep {
    let mut sweep = planned(&["preprocess.threads=1..4"], &[], 2);
    fill(&mut sweep, 3, likely);
    let first = sweep.points.iter().position(|point| point.turn == 0).expect("there is one");
    if let Outcome::Measured(measured) = &mut sweep.points[first].outcome {
        measured.met = false;
        measured.rate.half = Some(9.0);
    }
    sweep.state = State::Interrupted;
    sweep
}

/// Two knobs.
pub(crate) fn map() -> Sweep {
    let axes = ["preprocess.threads=1..6", "infer.batch=1..32"];
    let mut sweep = planned(&axes, &[], 4);
    fill(&mut sweep, usize::MAX, |sweep, point| {
        if point.at == [4, 5] {
            return Outcome::Gap("infer.batch = 32 with 9 batches is refused".into());
        }
        let Outcome::Measured(mut of) = likely(sweep, point) else { return Outcome::Waiting };
        let batch = 1.0 - 0.4 / (1.0 + point.at[1] as f64);
        of.rate.mean *= batch;
        of.rate.half = of.rate.half.map(|half| half * batch);
        Outcome::Measured(of)
    });
    sweep
}

/// A knob that is one of some words.
pub(crate) fn words() -> Sweep {
    let mut sweep =
        planned(&["preprocess.filter=nearest,bilinear,cubic,lanczos3,cubic-cv"], &[], 4);
    let rates = [2890.0, 2410.0, 2260.0, 1950.0, 1190.0];
    fill(&mut sweep, usize::MAX, |_, point| {
        let fare = Fare { running: 0.97, runnable: 0.02, lock: 0.0 };
        Outcome::Measured(Box::new(measured(rates[point.at[0]], 0.012, 4, fare)))
    });
    sweep
}
