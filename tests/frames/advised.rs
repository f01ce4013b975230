//! What the verdict says, and that it holds no more than was measured.

use std::sync::Arc;

use pipetop::pipeline::knobs::{KnobId, KnobValue};
use pipetop::pipeline::{Stage, knobs::KnobValues};
use pipetop::profile::history::{History, Length};
use pipetop::profile::snapshot::{Label, LabelWord, Phase, Snapshot};
use pipetop::tui::advice::{Advice, advice};

use crate::scenario;

fn advise(snapshots: &[Arc<Snapshot>]) -> Advice {
    let mut history = History::default();
    for snapshot in snapshots {
        history.push(Arc::clone(snapshot));
    }
    advice(history.window(Length::Second).as_ref())
}

/// The same snapshots with something changed in each.
fn with(snapshots: &[Arc<Snapshot>], change: impl Fn(&mut Snapshot)) -> Vec<Arc<Snapshot>> {
    let changed = |snapshot: &Arc<Snapshot>| {
        let mut snapshot = Snapshot::clone(snapshot);
        change(&mut snapshot);
        Arc::new(snapshot)
    };
    snapshots.iter().map(changed).collect()
}

#[test]
fn a_starving_accelerator_calls_for_preprocess_threads() {
    let all = scenario::preprocess_limited().snapshots();
    let early = advise(&all[..200]);
    assert_eq!(early.stage, Some(Stage::Preprocess));
    assert_eq!(early.headline, "preprocess limits");
    assert_eq!(early.why, "work waits for it 99% of the time, the device idles 79%");
    assert_eq!(early.turn, "raise preprocess.threads 1 → 2");
}

#[test]
fn no_thread_is_promised_where_there_is_no_cpu_for_it() {
    let all = scenario::preprocess_limited().snapshots();
    let eight = KnobValue::Int(8);
    let full = advise(&with(&all, |s| s.knobs.set(KnobId::PreprocessThreads, eight)));
    assert!(full.turn.starts_with("the CPU is the limit: 8 threads on 8 cores"), "{}", full.turn);
    assert!(
        !full.turn.contains("preprocess."),
        "all is decoded as cheaply as can be: {}",
        full.turn
    );
    for (knob, value, way) in [
        (
            KnobId::PreprocessScaledDecode,
            "off",
            "preprocess.scaled_decode=on decodes JPEGs no larger",
        ),
        (KnobId::PreprocessFilter, "cubic-cv", "with preprocess.filter=cubic JPEGs need not"),
        (KnobId::PreprocessFilter, "nearest", "with preprocess.filter=cubic JPEGs need not"),
    ] {
        let dear = advise(&with(&all, |s| {
            s.knobs.set(KnobId::PreprocessThreads, eight);
            s.knobs.set(knob, knob.spec().parse(value).expect("a word of the knob's"));
        }));
        assert!(dear.turn.contains(way), "{}", dear.turn);
    }
    let infer = advise(&scenario::infer_limited().snapshots());
    assert_eq!(infer.stage, Some(Stage::Infer));
    assert_eq!(infer.why, "its threads wait 24% for a CPU: more threads than cores");
    let turn = "the CPU is the limit: lower preprocess.threads 2 → 1";
    assert_eq!(infer.turn, turn);
}

#[test]
fn an_emulated_delay_is_called_that() {
    let all = scenario::preprocess_limited().snapshots();
    let slow = with(&all, |s| {
        s.queues.iter_mut().for_each(|queue| queue.ready_time = 0);
        let what = "load.delay".to_owned();
        s.labels.push(Label { word: LabelWord::Emulated, what });
    });
    let advice = advise(&slow);
    assert_eq!(advice.stage, Some(Stage::Load));
    assert_eq!(advice.turn, "lower load.delay (emulated), or raise load.concurrency 8 → 16");
}

#[test]
fn before_anything_is_known_nothing_is_said() {
    let nothing = advise(&[]);
    assert_eq!((nothing.stage, nothing.headline.as_str()), (None, "measuring…"));
    let starting = advise(&scenario::starting().snapshots());
    assert_eq!(starting.stage, None);
    assert!(starting.turn.is_empty());
    let all = scenario::infer_limited().snapshots();
    let draining = advise(&with(&all, |s| s.phase = Phase::Draining));
    assert_eq!(draining.why, "loading has stopped, the rest comes out");
}

#[test]
fn a_full_device_is_not_asked_for_more_than_it_has() {
    let all = scenario::preprocess_limited().snapshots();
    let busy = |share: f64| {
        with(&all, move |s| {
            s.knobs = KnobValues::defaults(8);
            let at = s.at;
            s.queues[1].ready_time = at;
            s.stages[2].device_busy = Some((at as f64 * share) as u64);
        })
    };
    let full = advise(&busy(0.99));
    assert_eq!(full.stage, Some(Stage::Infer));
    assert_eq!(full.turn, "the emulated device is at its limit");
    let mut real = busy(0.99);
    for snapshot in &mut real {
        let snapshot = Arc::make_mut(snapshot);
        snapshot.labels.clear();
        Arc::make_mut(&mut snapshot.run).engine.kind = "rten".to_owned();
    }
    let real = advise(&real);
    assert_eq!(real.turn, "the device is at its limit; try infer.batch 8 → 16");
    let idle = advise(&busy(0.5));
    assert!(idle.turn.starts_with("raise infer.threads 8 → 9"), "{}", idle.turn);
}

#[test]
fn a_slow_input_is_no_stage() {
    let all = scenario::preprocess_limited().snapshots();
    let slow = with(&all, |s| {
        s.items.behind = Some(0);
        s.queues.iter_mut().for_each(|queue| queue.ready_time = 0);
        let (at, starved) = (s.at, pipetop::profile::snapshot::Wait::Starved as usize);
        s.lanes.iter_mut().for_each(|lane| lane.waits[starved] = at);
    });
    let advice = advise(&slow);
    assert_eq!((advice.stage, advice.headline.as_str()), (None, "none: input is slower"));
    assert!(advice.turn.contains("arrival.rate"), "{}", advice.turn);
}

#[test]
fn a_lock_that_holds_the_stage_up_is_named_with_the_knob_behind_it() {
    let all = scenario::lock_limited().snapshots();
    let pool = advise(&all);
    assert_eq!(pool.stage, Some(Stage::Preprocess));
    assert_eq!(pool.why, "its threads wait 48% for lock preprocess.pool");
    assert_eq!(pool.turn, "turn preprocess.lock pool → none");
    // Of a lock that no thread was seen at, nothing is said by name unless nearly all waits are its.
    let unseen = with(&all, |s| s.threads.iter_mut().for_each(|thread| thread.lock = None));
    assert_eq!(advise(&unseen).why, "its threads wait 48% for lock preprocess.pool");
    let nameless = with(&unseen, |s| s.locks.clear());
    assert_eq!(advise(&nameless).why, "its threads wait 48% for locks");
    assert_eq!(advise(&nameless).turn, "the Locks screen (3) shows who holds it");
}

#[test]
fn the_emulated_gil_is_named_and_more_threads_are_not_advised() {
    let held = advise(&scenario::gil_limited(false).snapshots());
    assert_eq!(held.stage, Some(Stage::Preprocess));
    assert_eq!(held.why, "its threads wait 74% for lock gil (emulated)");
    let nothing = "more threads bring nothing";
    assert_eq!(held.turn, format!("turn preprocess.gil hold → release or off; {nothing}"));
    let all = scenario::gil_limited(false).snapshots();
    let released = with(&all, |s| {
        s.knobs.set(KnobId::PreprocessGil, KnobValue::Choice(1, "release"));
    });
    let turn = "turn preprocess.gil release → off, or lower preprocess.gil_hold";
    assert_eq!(advise(&released).turn, format!("{turn}; {nothing}"));
    // Turned off, its waits are what is left of the window.
    let off = with(&all, |s| s.knobs.set(KnobId::PreprocessGil, KnobValue::Choice(0, "off")));
    assert_eq!(advise(&off).turn, "the Locks screen (3) shows who holds it");
}

#[test]
fn a_synthetic_loop_is_called_that_and_no_pixels_are_spoken_of() {
    let all = scenario::gil_limited(true).snapshots();
    let alone = with(&all, |s| {
        let lock = pipetop::profile::snapshot::Wait::Lock as usize;
        for thread in &mut s.threads {
            if let Some(waits) = &mut thread.waits {
                waits[lock] = 0;
            }
        }
        s.knobs.set(KnobId::PreprocessScaledDecode, KnobValue::Choice(1, "off"));
        s.knobs.set(KnobId::PreprocessThreads, KnobValue::Int(8));
    });
    let advice = advise(&alone);
    assert!(advice.why.starts_with("its work is a synthetic loop; work waits"), "{}", advice.why);
    assert_eq!(advice.turn, "the CPU is the limit: 8 threads on 8 cores");
}

#[test]
fn more_threads_than_cores_are_called_that_and_only_where_it_is_so() {
    let all = scenario::preprocess_limited().snapshots();
    let waits = |cores: usize, threads: u64| {
        with(&all, move |s| {
            Arc::make_mut(&mut s.run).cores = cores;
            s.knobs.set(KnobId::PreprocessThreads, KnobValue::Int(threads));
            let at = s.at;
            for thread in s.threads.iter_mut().filter(|t| t.name.starts_with("prep-")) {
                (thread.cpu, thread.runnable) = (Some(at * 7 / 10), Some(at * 3 / 10));
            }
        })
    };
    let many = advise(&waits(1, 8));
    assert!(many.why.starts_with("its threads wait 30% for a CPU"), "{}", many.why);
    let lower = "the CPU is the limit: lower preprocess.threads 8 → 1";
    assert_eq!(many.turn, lower);
    let others = advise(&waits(16, 2));
    assert_eq!(others.turn, "other programs have the CPU");
}

#[test]
fn without_probes_nothing_is_named() {
    let bare = advise(&scenario::bare());
    assert_eq!((bare.stage, bare.headline.as_str()), (None, "not measured"));
}
