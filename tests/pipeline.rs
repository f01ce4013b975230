//! The pipeline as a whole: every image comes out exactly once, whatever is turned meanwhile.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pipetop::pipeline::Stage;
use pipetop::pipeline::control::{Parts, Pipeline};
use pipetop::pipeline::infer::choice::parse_engine;
use pipetop::pipeline::infer::model::{ModelOptions, build_engine};
use pipetop::pipeline::infer::{
    Engine, EngineError, EngineInfo, Geometry, InputSpec, Output, Pixels, Ticket,
};
use pipetop::pipeline::knobs::{Command, KNOBS, KnobId, KnobSpec, KnobValue, KnobValues};
use pipetop::pipeline::pixels::{PixelFormat, PixelsView};
use pipetop::pipeline::source::Source;
use pipetop::probe::registry::Registry;
use pipetop::profile::limit::{Limit, limit};
use pipetop::profile::sampler::{Assembler, run_info};
use pipetop::profile::snapshot::Snapshot;
use pipetop::profile::window::Window;

/// An engine whose answer tells which picture it saw: logit `c` of an image is high where the mean of
/// its pixels is `c`. So a picture in a wrong slot, or one that comes twice, is noticed.
struct Telltale {
    info: EngineInfo,
    input: InputSpec,
    /// Fails on each n-th batch, where set.
    fails: Option<u64>,
    batches: AtomicU64,
}

const CLASSES: usize = 64;

impl Telltale {
    fn engine(fails: Option<u64>) -> Arc<dyn Engine> {
        Self::with(fails, PixelFormat::F32Nchw)
    }

    fn with(fails: Option<u64>, format: PixelFormat) -> Arc<dyn Engine> {
        Arc::new(Self {
            info: EngineInfo {
                kind: "test".into(),
                model: "telltale".into(),
                name: "telltale".into(),
                side: 8,
                classes: CLASSES,
                device: false,
            },
            input: InputSpec {
                side: 8,
                geometry: Geometry::Squash,
                mean: [0.0; 3],
                std: [4.0; 3],
                format,
            },
            fails,
            batches: AtomicU64::default(),
        })
    }
}

struct Told(Result<Output, EngineError>);

impl Ticket for Told {
    fn wait(self: Box<Self>) -> Result<Output, EngineError> {
        self.0
    }
}

impl Engine for Telltale {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn input(&self) -> &InputSpec {
        &self.input
    }

    fn class_names(&self) -> Arc<[String]> {
        (0..CLASSES).map(|class| class.to_string()).collect()
    }

    fn submit(&self, pixels: Pixels, images: usize) -> Result<Box<dyn Ticket>, EngineError> {
        let batch = self.batches.fetch_add(1, Ordering::Relaxed);
        if self.fails.is_some_and(|n| batch % n == n - 1) {
            return Ok(Box::new(Told(Err(EngineError("told to fail".into())))));
        }
        let values = self.input.values();
        let mut logits = vec![0.0; images * CLASSES];
        for image in 0..images {
            let sum = match pixels.view() {
                PixelsView::F32(all) => all[image * values..][..values].iter().sum::<f32>(),
                // Not normalised: the engine divides by 4 itself.
                PixelsView::U8(all) => {
                    let sum: u32 =
                        all[image * values..][..values].iter().map(|&v| u32::from(v)).sum();
                    sum as f32 / 4.0
                }
            };
            let mean = sum / values as f32;
            logits[image * CLASSES + (mean.round() as usize).min(CLASSES - 1)] = 50.0;
        }
        Ok(Box::new(Told(Ok(Output::Logits(logits)))))
    }
}

/// Writes `count` grey PNGs, the i-th of grey level 4·i (class i), with a broken file after every
/// `broken`-th; returns the paths.
fn inputs(folder: &Path, count: usize, broken: usize) -> Vec<PathBuf> {
    (0..count)
        .map(|i| {
            let path = folder.join(format!("{i:03}.png"));
            if broken > 0 && i % broken == broken - 1 {
                let bytes: &[u8] = match i % 3 {
                    0 => b"",
                    1 => b"no image at all",
                    _ => b"\x89PNG\r\n\x1a\nbut no more",
                };
                std::fs::write(&path, bytes).unwrap();
            } else {
                let grey = image::Luma([(i % CLASSES * 4) as u8]);
                image::GrayImage::from_pixel(12, 9, grey).save(&path).unwrap();
            }
            path
        })
        .collect()
}

fn parts(source: Source, engine: Arc<dyn Engine>, once: bool, output: Option<PathBuf>) -> Parts {
    Parts {
        source,
        engine,
        knobs: KnobValues::defaults(2),
        once,
        max_pixels: 1_000_000,
        output,
        cache_bytes: 1 << 30,
        batch_bytes: 4 << 30,
    }
}

/// What the output file says of each input: the best class (none where its work was the counted loop), or
/// the reason of the failure.
fn answers(output: &Path) -> Vec<(String, Result<Option<u64>, String>)> {
    let text = std::fs::read_to_string(output).unwrap();
    text.lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let name = line["name"].as_str().unwrap().to_owned();
            let answer = match line["error"]["reason"].as_str() {
                // Of a loop's image nothing was looked at; its batch may fail all the same.
                Some(reason) if line["label"] == "synthetic" => Err(format!("loop: {reason}")),
                Some(reason) => Err(reason.to_owned()),
                None if line["label"] == "synthetic" => {
                    assert_eq!(line["top"], serde_json::json!([]), "a loop predicts nothing");
                    Ok(None)
                }
                None => Ok(Some(line["top"][0]["class"].as_u64().unwrap())),
            };
            (name, answer)
        })
        .collect()
}

#[derive(Clone, Debug)]
struct Turn {
    knob: usize,
    place: f64,
    pause_us: u64,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = (0..KNOBS.len(), 0.0..1.0f64, 0..4000u64);
    prop::collection::vec(
        turn.prop_map(|(knob, place, pause_us)| Turn { knob, place, pause_us }),
        0..25,
    )
}

/// A value that does not make the test itself slow.
fn tame(spec: &KnobSpec, place: f64) -> KnobValue {
    match (spec.id, spec.at(place)) {
        (KnobId::LoadDelay | KnobId::InferMaxDelay, KnobValue::Millis(ms)) => {
            KnobValue::Millis(ms.min(5.0))
        }
        (KnobId::PreprocessGilInterval, KnobValue::Millis(ms)) => KnobValue::Millis(ms.min(5.0)),
        (KnobId::PreprocessGilHold, KnobValue::Number(us)) => KnobValue::Number(us.min(500.0)),
        (KnobId::PreprocessLoopRate, KnobValue::Number(rate)) => {
            KnobValue::Number(rate.max(1000.0))
        }
        (KnobId::ArrivalRate, KnobValue::Rate(Some(rate))) => {
            KnobValue::Rate(Some(rate.max(500.0)))
        }
        (_, value) => value,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_input_comes_out_exactly_once_whatever_is_turned(
        count in 1..90usize, broken in 0..6usize, fails in prop::option::of(2..5u64), turns in turns(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let paths = inputs(folder.path(), count, broken);
        let output = folder.path().join("answers.jsonl");
        let source = Source::from_paths(&paths, &[]).unwrap();
        let parts = parts(source, Telltale::engine(fails), true, Some(output.clone()));
        let pipeline = Pipeline::start(parts, &Arc::new(Registry::default())).unwrap();
        for turn in &turns {
            let spec = &KNOBS[turn.knob];
            // `source.cache = batches` is refused with once; everything else is obeyed.
            let _ = pipeline.command(Command::Set(spec.id, tame(spec, turn.place)));
            std::thread::sleep(Duration::from_micros(turn.pause_us));
        }
        prop_assert!(pipeline.wait(Duration::from_secs(30)), "it never ended");
        let (predicted, failed) = pipeline.counts();
        prop_assert_eq!(predicted + failed, count as u64);
        prop_assert_eq!(pipeline.intake().read, count as u64);
        let mut seen = BTreeMap::new();
        for (name, answer) in answers(&output) {
            prop_assert!(seen.insert(name.clone(), answer).is_none(), "{} came twice", name);
        }
        prop_assert_eq!(seen.len(), count);
        for (i, path) in paths.iter().enumerate() {
            let answer = &seen[path.to_str().unwrap()];
            let is_broken = broken > 0 && i % broken == broken - 1;
            match answer {
                Ok(None) => {}
                Ok(Some(class)) => prop_assert_eq!((*class as usize, is_broken), (i % CLASSES, false)),
                Err(reason) if is_broken => prop_assert!(reason != "engine" && reason != "internal", "{}", reason),
                Err(reason) => {
                    prop_assert!(fails.is_some() && reason.ends_with("engine"), "{}", reason);
                }
            }
        }
        // Every image belongs to one epoch.
        let (segments, dropped) = pipeline.segments();
        prop_assert_eq!(dropped, 0);
        prop_assert_eq!(segments.iter().map(|s| s.predicted + s.failed).sum::<u64>(), count as u64);
    }
}

fn engine(text: &str) -> Arc<dyn Engine> {
    build_engine(&parse_engine(text).unwrap(), &ModelOptions::default()).unwrap()
}

fn assembler(pipeline: &Arc<Pipeline>) -> Assembler {
    let info = run_info(pipeline, false, None, 10.0);
    Assembler::new(Arc::clone(pipeline), info)
}

fn snapshots(pipeline: &Arc<Pipeline>, apart: Duration) -> (Snapshot, Snapshot) {
    let mut assembler = assembler(pipeline);
    let from = assembler.snapshot();
    std::thread::sleep(apart);
    (from, assembler.snapshot())
}

#[test]
fn the_limit_is_the_stage_that_everything_waits_for() {
    let synthetic = || Source::synthetic(7, 8).unwrap();
    let set = |parts: &mut Parts, text: &str| parts.knobs.set_from(text).map(drop).unwrap();
    // An accelerator far faster than one preprocess thread, one far slower, and a slow disk.
    for (engine_text, knobs, expected) in [
        ("emulated:100000", "preprocess.threads=1", Stage::Preprocess),
        ("emulated:40", "preprocess.threads=2", Stage::Infer),
        ("null", "load.delay=100", Stage::Load),
    ] {
        let mut parts = parts(synthetic(), engine(engine_text), false, None);
        set(&mut parts, knobs);
        let pipeline = Arc::new(Pipeline::start(parts, &Arc::new(Registry::default())).unwrap());
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let (from, to) = snapshots(&pipeline, Duration::from_secs(1));
            let found = limit(&Window::between(&from, &to));
            if found == Limit::Stage(expected) {
                break;
            }
            assert!(Instant::now() < deadline, "{engine_text} {knobs}: {found:?}");
        }
    }
    let mut parts = parts(synthetic(), engine("null"), false, None);
    set(&mut parts, "arrival.rate=20");
    let pipeline = Arc::new(Pipeline::start(parts, &Arc::new(Registry::default())).unwrap());
    std::thread::sleep(Duration::from_millis(300));
    let (from, to) = snapshots(&pipeline, Duration::from_secs(1));
    let window = Window::between(&from, &to);
    assert_eq!(limit(&window), Limit::Input);
    let rate = window.throughput().unwrap();
    assert!((10.0..=30.0).contains(&rate), "20 a second arrive, {rate} come out");
}

#[test]
fn ready_batches_feed_the_engine_at_its_own_pace_and_files_come_back_after() {
    let mut parts = parts(Source::synthetic(7, 8).unwrap(), engine("emulated:4000"), false, None);
    parts.knobs.set_from("source.cache=batches").unwrap();
    let pipeline = Arc::new(Pipeline::start(parts, &Arc::new(Registry::default())).unwrap());
    let deadline = Instant::now() + Duration::from_secs(20);
    while !pipeline.applying().is_empty() {
        assert!(Instant::now() < deadline, "batches never came");
        std::thread::sleep(Duration::from_millis(10));
    }
    let (from, to) = snapshots(&pipeline, Duration::from_secs(1));
    let window = Window::between(&from, &to);
    // Two threads here preprocess a few hundred a second at most: it is the device that is busy.
    let busy = window.device_busy(Stage::Infer).unwrap();
    assert!(busy > 0.8, "the device was busy for {busy} of the time");
    assert!(to.items.read >= to.items.predicted);
    pipeline.command(Command::Set(KnobId::SourceCache, KnobValue::Choice(1, "bytes"))).unwrap();
    let before = pipeline.intake().bytes;
    std::thread::sleep(Duration::from_millis(300));
    assert!(pipeline.intake().bytes > before, "loading goes on");
}

#[test]
fn stopping_drains_and_what_is_left_is_abandoned() {
    // A device that needs 5 s a batch: nothing can drain in time.
    let parts = parts(Source::synthetic(7, 4).unwrap(), engine("emulated:2:1"), false, None);
    let pipeline = Arc::new(Pipeline::start(parts, &Arc::new(Registry::default())).unwrap());
    std::thread::sleep(Duration::from_millis(500));
    pipeline.stop();
    assert!(!pipeline.wait(Duration::from_millis(200)));
    let abandoned = pipeline.abandon();
    let (predicted, failed) = pipeline.counts();
    assert!(abandoned > 0);
    assert_eq!(pipeline.intake().read, predicted + failed + abandoned);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(pipeline.counts(), (predicted, failed), "the account is closed");
}

#[test]
fn knobs_are_in_force_within_a_tenth_of_a_second() {
    let mut parts = parts(Source::synthetic(7, 8).unwrap(), engine("null"), false, None);
    parts.knobs.set_from("load.delay=10000").unwrap();
    parts.knobs.set_from("load.concurrency=2").unwrap();
    let pipeline = Arc::new(Pipeline::start(parts, &Arc::new(Registry::default())).unwrap());
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(pipeline.counts().0, 0, "the reads are held up");
    let turned = Instant::now();
    pipeline.command(Command::Set(KnobId::LoadDelay, KnobValue::Millis(0.0))).unwrap();
    while pipeline.stages()[0].done == 0 {
        assert!(turned.elapsed() < Duration::from_secs(5), "the old delay still holds");
        std::thread::sleep(Duration::from_millis(1));
    }
    // A tenth of a second is what is promised; the machine may be busy with other tests.
    assert!(turned.elapsed() < Duration::from_secs(1), "{:?}", turned.elapsed());
    let refused = pipeline.command(Command::Set(KnobId::InferBatch, KnobValue::Int(100_000)));
    assert!(refused.unwrap_err().to_string().contains("1 to 512"));
}

#[test]
fn pictures_of_every_format_reach_the_engine_as_they_are() {
    for format in PixelFormat::ALL {
        let folder = tempfile::tempdir().unwrap();
        let paths = inputs(folder.path(), 50, 7);
        let output = folder.path().join("answers.jsonl");
        let source = Source::from_paths(&paths, &[]).unwrap();
        let engine = Telltale::with(None, format);
        let parts = parts(source, engine, true, Some(output.clone()));
        let pipeline = Pipeline::start(parts, &Arc::new(Registry::default())).unwrap();
        pipeline.command(Command::Set(KnobId::InferBatch, KnobValue::Int(3))).unwrap();
        assert!(pipeline.wait(Duration::from_secs(30)), "it never ended");
        let mut answers = answers(&output);
        answers.sort();
        assert_eq!(answers.len(), 50, "{format}");
        for (index, (name, answer)) in answers.into_iter().enumerate() {
            match answer {
                Ok(class) => assert_eq!(class, Some(index as u64), "{name} of {format}"),
                Err(_) => assert_eq!(index % 7, 6, "{name} of {format}"),
            }
        }
    }
}

#[test]
fn ready_batches_of_bytes_are_taken_again() {
    let folder = tempfile::tempdir().unwrap();
    let source = Source::from_paths(&inputs(folder.path(), 20, 0), &[]).unwrap();
    let mut parts = parts(source, Telltale::with(None, PixelFormat::U8Nhwc), false, None);
    parts.knobs.set_from("source.cache=batches").unwrap();
    parts.knobs.set_from("infer.batch=4").unwrap();
    let pipeline = Pipeline::start(parts, &Arc::new(Registry::default())).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    // Far more than were ever read from files.
    while pipeline.counts().0 < 5_000 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (predicted, failed) = pipeline.counts();
    assert!(predicted >= 5_000 && failed == 0, "{predicted} predicted, {failed} failed");
}

#[test]
fn batches_of_bytes_fit_where_batches_of_floats_are_refused() {
    let start = |format| {
        let engine = Telltale::with(None, format);
        let mut parts = parts(Source::synthetic(1, 2).unwrap(), engine, true, None);
        // 8 × 8 pixels: 768 bytes as floats, 192 as they are; 16 images in up to 4 + 2 + 1 batches.
        parts.knobs.set_from("infer.batch=16").unwrap();
        parts.knobs.set_from("queue.batches=4").unwrap();
        parts.batch_bytes = 7 * 16 * 192;
        Pipeline::start(parts, &Arc::new(Registry::default()))
    };
    assert!(start(PixelFormat::U8Nhwc).is_ok());
    let error = start(PixelFormat::F32Nhwc).err().unwrap().to_string();
    assert!(error.contains("more memory than there is"), "{error}");
}
