//! Sentences, speed-up and fits of made-up sweeps.

use pipetop::pipeline::Stage;
use pipetop::pipeline::knobs::{KnobId, KnobValue};
use pipetop::profile::limit::Limit;
use pipetop::profile::snapshot::Wait;
use pipetop::tune::axis::number;
use pipetop::tune::curve::Curve;
use pipetop::tune::say;
use pipetop::tune::sweep::{Measured, Outcome, Sweep};

use crate::sweeps::{self, Fare, fill, measured, planned};

fn sentences(sweep: &Sweep) -> Vec<String> {
    Curve::all(sweep).iter().map(|curve| curve.sentence(sweep)).collect()
}

/// A sweep over threads on 16 cores with these rates and fares.
fn scaled(points: &[(u32, f64, Fare)]) -> Sweep {
    let list: Vec<_> = points.iter().map(|(n, ..)| n.to_string()).collect();
    let mut sweep = planned(&[&format!("preprocess.threads={}", list.join(","))], &[], 16);
    fill(&mut sweep, usize::MAX, |sweep, point| {
        let n = number(sweep.axes[0].values[point.at[0]]).unwrap() as u32;
        let &(_, rate, fare) = points.iter().find(|(of, ..)| *of == n).unwrap();
        Outcome::Measured(Box::new(measured(rate, 0.01, n, fare)))
    });
    sweep
}

const BUSY: Fare = Fare { running: 0.98, runnable: 0.01, lock: 0.0 };

fn change(sweep: &mut Sweep, index: usize, how: impl Fn(&mut Measured)) {
    match &mut sweep.points[index].outcome {
        Outcome::Measured(of) => how(of),
        other => panic!("{other:?}"),
    }
}

/// Both works of the experiment that this program is meant to show, with its measured rates.
#[test]
fn what_scales_and_what_does_not_is_said_with_the_reason() {
    let rates = [(1, 84.6), (2, 162.5), (4, 318.2), (8, 579.7), (12, 855.8), (16, 1186.7)];
    let resize = scaled(&rates.map(|(n, rate)| (n, rate, BUSY)));
    let said = &sentences(&resize)[0];
    assert!(said.starts_with("scales 14.0 × at 16 threads (88 %)"), "{said}");
    assert!(said.contains("an image takes 13.2 ms of CPU against 11.6 before"), "{said}");
    let rates = [(1, 100.7), (2, 88.8), (4, 102.4), (8, 98.8), (12, 83.7), (16, 88.4)];
    let lock = |n: u32| 1.0 - 1.0 / f64::from(n);
    let fare = |n| Fare { running: 1.0 - lock(n), runnable: 0.0, lock: lock(n) };
    let held = scaled(&rates.map(|(n, rate)| (n, rate, fare(n))));
    let said = &sentences(&held)[0];
    let expected = "does not scale: each thread waits for `gil` 94 % of its time; \
                    16 threads make 0.88 × of what 1 makes";
    assert_eq!(said, expected);
    let curve = Curve::of(&held, 0).unwrap();
    let sigma = curve.amdahl.as_ref().map(|fit| fit.sigma.value);
    assert!(sigma.as_ref().is_ok_and(|sigma| (0.9..1.25).contains(sigma)), "{sigma:?}");
}

#[test]
fn a_peak_and_another_stage_are_named() {
    let rates = [(1, 395.0), (2, 769.0), (4, 1368.0), (8, 2039.0), (12, 1933.0), (16, 1928.0)];
    let waits = Fare { running: 0.3, runnable: 0.0, lock: 0.0 };
    let mut sweep = scaled(&rates.map(|(n, rate)| (n, rate, waits)));
    change(&mut sweep, 5, |of| of.limit = Limit::Stage(Stage::Load));
    let said = &sentences(&sweep)[0];
    assert!(said.starts_with("scales poorly: 4.9 × at 16 threads (31 %)"), "{said}");
    assert!(said.contains("most is 5.2 × at 8, beyond which it falls"), "{said}");
    assert!(said.contains("each thread waits for input 70 % of its time: load limits"), "{said}");
    let cautions = say::cautions(&sweep);
    assert!(
        cautions.iter().any(|text| text.contains("another stage limited: load")),
        "{cautions:?}"
    );
}

#[test]
fn waits_without_a_name_are_told_as_what_they_are() {
    let blocked = Fare { running: 0.3, runnable: 0.0, lock: 0.0 };
    let mut sweep = scaled(&[(1, 100.0, BUSY), (2, 110.0, blocked)]);
    change(&mut sweep, 1, |of| {
        let shares = of.shares.as_mut().unwrap();
        shares.waits[Wait::Starved as usize] = 0.0;
        shares.other = 0.7;
    });
    assert!(sentences(&sweep)[0].contains("each thread is blocked for an unknown reason 70 %"));
    let queued = Fare { running: 0.5, runnable: 0.5, lock: 0.0 };
    let sweep = scaled(&[(1, 100.0, BUSY), (2, 100.0, queued)]);
    assert!(sentences(&sweep)[0].contains("each thread wants a CPU and has none 50 %"));
}

#[test]
fn speed_up_counts_from_the_smallest_number_of_threads() {
    let sweep = scaled(&[(2, 200.0, BUSY), (4, 360.0, BUSY), (8, 640.0, BUSY)]);
    let curve = Curve::of(&sweep, 0).unwrap();
    let speedups: Vec<_> = curve.rows.iter().map(|row| row.speedup.unwrap()).collect();
    for (got, expected) in speedups.iter().zip([2.0, 3.6, 6.4]) {
        assert!((got - expected).abs() < 1e-9, "{speedups:?}");
    }
    assert!((curve.rows[2].ideal.unwrap() - 800.0).abs() < 1e-9);
    assert!((curve.rows[2].efficiency.unwrap() - 0.8).abs() < 1e-9);
}

#[test]
fn without_the_smallest_number_of_threads_there_is_no_speed_up() {
    let mut sweep = scaled(&[(1, 100.0, BUSY), (2, 200.0, BUSY), (4, 390.0, BUSY)]);
    sweep.points[0].outcome = Outcome::Gap("no image came out in 10.0 s".into());
    let curve = Curve::of(&sweep, 0).unwrap();
    assert!(curve.rows.iter().all(|row| row.speedup.is_none() && row.ideal.is_none()));
    assert_eq!(curve.sentence(&sweep), "the point at 1 is missing: there is no speed-up to tell");
}

#[test]
fn fits_take_no_point_with_more_threads_than_cores() {
    let sweep = sweeps::interrupted();
    let curve = Curve::of(&sweep, 0).unwrap();
    let why = curve.amdahl.unwrap_err();
    assert!(why.contains("with at most one thread a core: it takes 4"), "{why}");
    let sweep = sweeps::gil();
    let fit = Curve::of(&sweep, 0).unwrap().amdahl.unwrap();
    // Made from σ = 0.009 with half a per cent of wobble.
    assert!((fit.sigma.value - 0.009).abs() < 0.002 && fit.points == 16, "{fit:?}");
}

#[test]
fn words_and_maps_name_the_fastest() {
    assert_eq!(sentences(&sweeps::words()), ["fastest at nearest: 2.43 × of cubic-cv"]);
    let said = say::map(&sweeps::map(), 0);
    assert!(said.starts_with("fastest at preprocess.threads 4, infer.batch 32: "), "{said}");
    let mut same = sweeps::words();
    for index in 0..5 {
        change(&mut same, index, |of| {
            of.rate.mean = 1000.0 + index as f64;
            of.rate.half = Some(12.0);
        });
    }
    let said = sentences(&same).remove(0);
    assert_eq!(said, "preprocess.filter makes no difference that can be told from chance");
}

#[test]
fn ends_that_are_too_uncertain_tell_no_course() {
    let mut sweep = scaled(&[(1, 40.0, BUSY), (2, 170.0, BUSY)]);
    change(&mut sweep, 0, |of| of.rate.half = Some(41.0));
    assert_eq!(sentences(&sweep), ["too uncertain to tell: ±102 % at one of its ends"]);
}

#[test]
fn few_points_are_no_course() {
    let mut sweep = planned(&["preprocess.threads=1..3"], &[], 4);
    assert_eq!(sentences(&sweep), ["nothing was measured"]);
    fill(&mut sweep, 1, sweeps::likely);
    assert_eq!(sentences(&sweep), ["one point alone shows no course"]);
}

#[test]
fn each_point_sets_its_works_knobs_and_takes_back_anothers() {
    let sweep = planned(&["preprocess.threads=1,5"], &["native", "lock-pool", "loop-hold"], 4);
    let value = |index: usize, id| sweep.knobs(&sweep.points[index]).get(id).to_string();
    assert_eq!(value(3, KnobId::PreprocessLock), "pool");
    assert_eq!(value(1, KnobId::PreprocessLock), "none");
    assert_eq!(
        (value(5, KnobId::PreprocessWork), value(5, KnobId::PreprocessGil)),
        ("loop".into(), "hold".into())
    );
    assert_eq!(value(1, KnobId::PreprocessWork), "image");
    assert_eq!(sweep.knobs(&sweep.points[1]).get(KnobId::PreprocessThreads), KnobValue::Int(5));
}
