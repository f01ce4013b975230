//! The emulated GIL in the pipeline: what its threads then do, and that nobody is left waiting.
//!
//! The machine may be busy with other things: threads are held to what cannot be otherwise, not to how fast they are.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pipetop::pipeline::Stage;
use pipetop::pipeline::control::{Parts, Pipeline};
use pipetop::pipeline::infer::choice::parse_engine;
use pipetop::pipeline::infer::model::{ModelOptions, build_engine};
use pipetop::pipeline::knobs::{Command, KnobId, KnobValues};
use pipetop::pipeline::source::Source;
use pipetop::probe::registry::Registry;
use pipetop::profile::limit::{Limit, limit, locked};
use pipetop::profile::sampler::{Assembler, run_info};
use pipetop::profile::snapshot::{Group, LabelWord, LockSample, Snapshot, Wait};
use pipetop::profile::window::{Shares, Window};

/// One at a time: each test's threads are rivals of the others.
fn alone() -> MutexGuard<'static, ()> {
    static SERIAL: Mutex<()> = Mutex::new(());
    SERIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn parts(once: bool, knobs: &[&str]) -> Parts {
    let mut parts = Parts {
        source: Source::synthetic(3, 24).unwrap(),
        engine: build_engine(&parse_engine("null").unwrap(), &ModelOptions::default()).unwrap(),
        knobs: KnobValues::defaults(2),
        once,
        max_pixels: 1 << 24,
        output: None,
        cache_bytes: 1 << 28,
        batch_bytes: 4 << 30,
    };
    for knob in knobs {
        parts.knobs.set_from(knob).unwrap();
    }
    parts
}

fn start(parts: Parts) -> Arc<Pipeline> {
    Arc::new(Pipeline::start(parts, &Arc::new(Registry::default())).unwrap())
}

fn set(pipeline: &Pipeline, knob: &str) {
    let mut values = pipeline.knobs().0;
    let id = values.set_from(knob).unwrap();
    pipeline.command(Command::Set(id, values.get(id))).unwrap();
}

/// Two snapshots of a running pipeline that lie so far apart.
fn window(pipeline: &Arc<Pipeline>, apart: Duration) -> (Snapshot, Snapshot) {
    let info = run_info(pipeline, false, None, 10.0);
    let mut assembler = Assembler::new(Arc::clone(pipeline), info);
    std::thread::sleep(Duration::from_millis(300));
    let from = assembler.snapshot();
    std::thread::sleep(apart);
    (from, assembler.snapshot())
}

fn gil(snapshot: &Snapshot) -> &LockSample {
    snapshot.locks.iter().find(|lock| lock.name == "gil").unwrap()
}

/// The preprocess threads' shares.
fn shares(window: &Window<'_>) -> Vec<Shares> {
    let ours = |group| group == Group::Stage(Stage::Preprocess);
    let threads = window.to().threads.iter().filter(|thread| ours(thread.group));
    threads.map(|thread| window.thread(thread).unwrap().1).collect()
}

#[test]
fn of_threads_that_hold_it_all_but_one_wait_for_it() {
    let _serial = alone();
    let work = "preprocess.loop_rate=1000";
    for threads in [2, 4, 8] {
        let count = format!("preprocess.threads={threads}");
        let pipeline = start(parts(
            false,
            &["source.cache=bytes", "preprocess.gil=hold", "preprocess.work=loop", work, &count],
        ));
        let (from, to) = window(&pipeline, Duration::from_millis(1500));
        let window = Window::between(&from, &to);
        let used = window.lock(gil(&to)).unwrap();
        // A thread holds it or waits for it, but for the moments between: so all but one wait.
        let (held, others) = (used.hold.unwrap(), f64::from(threads - 1));
        assert!(held > 0.7 && held < 1.02, "{threads} threads: held {held} of the time");
        let waited = used.wait / others;
        assert!(waited > 0.8 && waited < 1.1, "{threads} threads: {waited} of what it must be");
        let shares = shares(&window);
        assert_eq!(shares.len(), threads as usize);
        let running: f64 = shares.iter().map(|shares| shares.running).sum();
        assert!(running < 1.1, "{threads} threads use {running} cores");
        // What is not lock wait by the kernel's account is time on the run queue: the wait's end, or a rival.
        for shares in &shares {
            let waits = shares.wait(Wait::Lock) + shares.runnable;
            assert!(waits > 0.5 * others / f64::from(threads), "{threads} threads: {shares:?}");
        }
        let switching = used.switching.unwrap();
        assert!(switching.switches > 0.0 && switching.forced <= switching.requests + 1.0);
        // An interval of 5 ms: whoever is asked for it has had it for about as long.
        assert!(switching.forced < 250.0, "{switching:?}");
        assert_eq!(limit(&window), Limit::Stage(Stage::Preprocess));
        let labels: Vec<_> = to.labels.iter().map(|l| (l.word, l.what.as_str())).collect();
        assert!(labels.contains(&(LabelWord::Emulated, "preprocess.gil")), "{labels:?}");
        assert!(labels.contains(&(LabelWord::Synthetic, "preprocess.work")), "{labels:?}");
        pipeline.stop();
        assert!(pipeline.wait(Duration::from_secs(30)), "it never ended");
    }
}

#[test]
fn the_lock_is_named_as_what_holds_the_stage_up() {
    let _serial = alone();
    let pipeline =
        start(parts(false, &["source.cache=bytes", "preprocess.gil=hold", "preprocess.threads=8"]));
    let (from, to) = window(&pipeline, Duration::from_secs(1));
    let named = locked(&Window::between(&from, &to), Stage::Preprocess).unwrap();
    assert_eq!(named.lock.as_deref(), Some("gil"), "{named:?}");
    // Images are decoded in pieces: a switch comes within them, not only between two.
    let used = Window::between(&from, &to).lock(gil(&to)).unwrap();
    assert!(used.switching.unwrap().forced > 0.0, "{used:?}");
}

#[test]
fn nobody_takes_it_where_it_is_off_and_each_image_twice_where_it_is_let_go() {
    let _serial = alone();
    let pipeline = start(parts(false, &["source.cache=bytes", "preprocess.threads=2"]));
    let (_, off) = window(&pipeline, Duration::from_millis(200));
    assert_eq!((gil(&off).acquisitions, gil(&off).hold), (0, None));
    assert_eq!(off.label_of("preprocess.gil"), None);
    set(&pipeline, "preprocess.gil=release");
    let (from, to) = window(&pipeline, Duration::from_millis(500));
    let images =
        to.stage(Stage::Preprocess).unwrap().done - from.stage(Stage::Preprocess).unwrap().done;
    let taken = gil(&to).acquisitions - gil(&from).acquisitions;
    // Once before the work and once after it; a thread may be between the two at either end.
    assert!(taken.abs_diff(2 * images) <= 8 && images > 0, "{taken} for {images}");
    // Back to none: what is in the middle of an image ends it as it began.
    set(&pipeline, "preprocess.gil=off");
    let (from, to) = window(&pipeline, Duration::from_millis(300));
    assert_eq!(gil(&from).acquisitions, gil(&to).acquisitions);
    assert_eq!((gil(&to).waiters, gil(&to).holder.as_deref()), (0, None));
}

#[test]
fn whatever_is_turned_while_threads_wait_all_comes_out() {
    let _serial = alone();
    let pipeline =
        start(parts(false, &["source.cache=bytes", "preprocess.gil=hold", "preprocess.threads=8"]));
    for knob in [
        "preprocess.threads=1",
        "preprocess.gil_interval=0.1",
        "preprocess.threads=6",
        "preprocess.lock=pool",
        "preprocess.gil=release",
        "preprocess.gil_hold=300",
        "preprocess.work=loop",
        "preprocess.loop_rate=2000",
        "preprocess.gil=hold",
        "preprocess.threads=2",
        "preprocess.gil=off",
        "preprocess.work=image",
        "preprocess.gil=hold",
        "preprocess.threads=8",
        "preprocess.gil_interval=1000",
    ] {
        std::thread::sleep(Duration::from_millis(40));
        set(&pipeline, knob);
    }
    std::thread::sleep(Duration::from_millis(40));
    pipeline.stop();
    assert!(pipeline.wait(Duration::from_secs(30)), "it never ended");
    let (predicted, failed) = pipeline.counts();
    assert_eq!((predicted + failed, failed), (pipeline.intake().read, 0));
}

#[test]
fn work_in_shared_buffers_does_not_dead_lock_with_it() {
    let _serial = alone();
    let knobs = ["preprocess.lock=pool", "preprocess.gil_interval=0.1", "preprocess.threads=6"];
    for gil in ["preprocess.gil=hold", "preprocess.gil=release"] {
        let pipeline = start(parts(true, &[knobs[0], knobs[1], knobs[2], gil]));
        assert!(pipeline.wait(Duration::from_mins(1)), "{gil}: it never ended");
        assert_eq!(pipeline.counts(), (24, 0));
    }
}

#[test]
fn a_run_that_is_given_up_leaves_nobody_waiting() {
    let _serial = alone();
    let pipeline = start(parts(
        false,
        &[
            "preprocess.gil=hold",
            "preprocess.work=loop",
            "preprocess.loop_rate=50",
            "preprocess.threads=4",
        ],
    ));
    std::thread::sleep(Duration::from_millis(100));
    pipeline.stop();
    pipeline.abandon();
    assert!(pipeline.wait(Duration::from_secs(30)), "it never ended");
    let info = run_info(&pipeline, false, None, 10.0);
    let mut assembler = Assembler::new(Arc::clone(&pipeline), info);
    // The end is told once no answer comes any more; who is in a loop ends it.
    for _ in 0..300 {
        let last = assembler.snapshot();
        if (gil(&last).waiters, gil(&last).holder.as_deref()) == (0, None) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("somebody holds it or waits for it");
}

#[test]
fn of_a_loop_nothing_is_predicted() {
    let _serial = alone();
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("answers.jsonl");
    let mut parts = parts(true, &["preprocess.work=loop", "preprocess.loop_rate=1000"]);
    // A real engine: it would see something in whatever lies in a slot.
    parts.engine = build_engine(&parse_engine("cpu").unwrap(), &ModelOptions::default()).unwrap();
    parts.output = Some(output.clone());
    let pipeline = start(parts);
    assert!(pipeline.wait(Duration::from_mins(1)), "it never ended");
    assert_eq!(pipeline.counts(), (24, 0));
    assert_eq!(pipeline.knobs().0.get(KnobId::PreprocessWork).to_string(), "loop");
    let text = std::fs::read_to_string(output).unwrap();
    assert_eq!(text.lines().count(), 24);
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((&line["top"], &line["label"]), (&serde_json::json!([]), &"synthetic".into()));
    }
}
