//! The engine on the CPU: threads, batches, and models that are none.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[path = "engine/onnx.rs"]
mod onnx;

use onnx::Dim::{Any, Is};
use pipetop::pipeline::infer::{
    Engine, EngineChoice, Geometry, InputSpec, ModelOptions, Output, Pixels, build_engine,
    build_engine_noting, build_for_threads,
};
use pipetop::pipeline::pixels::PixelFormat;
use std::sync::{Arc, OnceLock, mpsc};

fn builtin() -> Arc<dyn Engine> {
    static ENGINE: OnceLock<Arc<dyn Engine>> = OnceLock::new();
    let load = || build_engine(&EngineChoice::Cpu, &ModelOptions::default()).unwrap();
    Arc::clone(ENGINE.get_or_init(load))
}

/// Pictures that differ, bytes of noise from a small generator.
fn noise(images: usize, values: usize) -> Vec<u8> {
    let mut state = 1_u32;
    (0..images * values)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect()
}

/// Pictures of bytes in the form that the engine wants.
fn in_form(engine: &dyn Engine, bytes: Vec<u8>) -> Pixels {
    let InputSpec { mean, std, format, .. } = *engine.input();
    let plane = engine.input().values() / 3;
    let value = |at: usize| (f32::from(bytes[at]) - mean[at % 3]) * (1.0 / std[at % 3]);
    let planar = |at: usize| value(at / (3 * plane) * 3 * plane + at % plane * 3 + at / plane % 3);
    match format {
        PixelFormat::U8Nhwc => Arc::new(bytes),
        PixelFormat::F32Nhwc => Arc::new((0..bytes.len()).map(value).collect::<Vec<_>>()),
        PixelFormat::F32Nchw => Arc::new((0..bytes.len()).map(planar).collect::<Vec<_>>()),
    }
}

fn logits(engine: &dyn Engine, bytes: Vec<u8>, images: usize) -> Vec<f32> {
    let pixels = in_form(engine, bytes);
    match engine.submit(pixels, images).unwrap().wait().unwrap() {
        Output::Logits(logits) => logits,
        Output::Nothing => panic!("this engine predicts"),
    }
}

#[test]
fn the_built_in_model_says_what_it_is() {
    let engine = builtin();
    let info = engine.info();
    assert_eq!((info.kind.as_str(), info.model.as_str()), ("cpu", "efficientnet_lite0"));
    assert_eq!((info.side, info.classes, info.device), (224, 1000, false));
    let names = engine.class_names();
    assert_eq!(names.len(), 1000);
    assert_eq!((names[0].as_str(), names[999].as_str()), ("tench", "toilet tissue"));
    assert!(!engine.outputs_probabilities());
    assert_eq!(engine.device_busy(), None);
}

#[test]
fn a_batch_of_eight_equals_eight_single_runs() {
    let engine = builtin();
    let values = engine.input().values();
    let pixels = noise(8, values);
    let together = logits(&*engine, pixels.clone(), 8);
    assert_eq!(together.len(), 8000);
    for (one, expected) in pixels.chunks_exact(values).zip(together.chunks_exact(1000)) {
        let alone = logits(&*engine, one.to_vec(), 1);
        for (a, b) in alone.iter().zip(expected) {
            assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "{a} alone, {b} in the batch");
        }
    }
}

#[test]
fn only_the_first_images_of_a_batch_are_run() {
    let engine = builtin();
    let values = engine.input().values();
    let pixels = noise(3, values);
    assert_eq!(logits(&*engine, pixels.clone(), 2).len(), 2000);
    let error = engine.submit(Arc::new(pixels), 4).err().unwrap().to_string();
    assert!(error.contains("a batch of 4 images holds"), "{error}");
}

#[test]
fn null_and_emulated_take_pictures_as_the_model_does_and_predict_nothing() {
    for choice in ["null", "emulated:1000000"] {
        let choice: EngineChoice = choice.parse().unwrap();
        let engine = build_engine(&choice, &ModelOptions::default()).unwrap();
        let format = PixelFormat::F32Nchw;
        assert_eq!(*engine.input(), InputSpec { format, ..*builtin().input() }, "{choice}");
        assert_eq!((engine.info().classes, engine.class_names().len()), (0, 0));
        let ticket = engine.submit(Arc::new(Vec::<f32>::new()), 8).unwrap();
        assert_eq!(ticket.wait().unwrap(), Output::Nothing, "{choice}");
        assert_eq!(engine.device_busy().is_some(), engine.info().device, "{choice}");
    }
}

#[test]
fn null_takes_pictures_in_the_form_that_is_asked_for() {
    for format in PixelFormat::ALL {
        let engine = build_engine(&EngineChoice::Null(format), &ModelOptions::default()).unwrap();
        assert_eq!(*engine.input(), InputSpec { format, ..*builtin().input() });
    }
    let floats = builtin().submit(Arc::new(vec![0_f32; 3 * 224 * 224]), 1).err().unwrap();
    assert!(floats.to_string().contains("takes pictures of u8, and no others"), "{floats}");
}

#[test]
fn a_worker_that_panics_ends_alone_and_its_thread_with_it() {
    struct Ends(mpsc::Sender<()>);
    impl Drop for Ends {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (sent, ended) = mpsc::channel();
    let ends = Ends(sent);
    let body = move || {
        let _ends = ends;
        panic!("expected by the test");
    };
    builtin().spawn_worker("infer-1".into(), Box::new(body)).unwrap();
    ended.recv().unwrap();
    // The process lives, and the next worker works.
    let (sent, received) = mpsc::channel();
    let body = move || sent.send(2).unwrap();
    builtin().spawn_worker("infer-2".into(), Box::new(body)).unwrap();
    assert_eq!(received.recv().unwrap(), 2);
}

fn options(model: &std::path::Path) -> ModelOptions {
    ModelOptions { model: Some(model.to_owned()), ..ModelOptions::default() }
}

#[test]
fn models_that_are_no_classifiers_are_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("empty.onnx"), "").unwrap();
    std::fs::write(path("text.onnx"), "I am a model, honestly\n").unwrap();
    std::fs::write(path("text"), "I am a model, honestly\n").unwrap();
    let whole = include_bytes!("../assets/models/efficientnet_lite0.onnx");
    std::fs::write(path("half.onnx"), &whole[..whole.len() / 2]).unwrap();
    let write = |name: &str, model: onnx::Net| std::fs::write(path(name), model.bytes()).unwrap();
    let float = |dims: &'static [onnx::Dim]| onnx::Net::classifier(dims);
    write("rank.onnx", float(&[Is(1), Is(3), Is(8)]));
    write("last.onnx", float(&[Any, Is(8), Is(8), Is(3)]));
    write("grey.onnx", float(&[Any, Is(1), Is(8), Is(8)]));
    write("alpha.onnx", float(&[Any, Is(4), Is(8), Is(8)]));
    write("oblong.onnx", float(&[Any, Is(3), Is(8), Is(16)]));
    write("open.onnx", float(&[Any, Is(3), Any, Any]));
    write("eight.onnx", float(&[Is(8), Is(3), Is(8), Is(8)]));
    write("vast.onnx", float(&[Any, Is(3), Is(100_000), Is(100_000)]));
    write("bytes.onnx", float(&[Any, Is(3), Is(8), Is(8)]).input_type(onnx::UINT8));
    write("ints.onnx", float(&[Any, Is(3), Is(8), Is(8)]).input_type(onnx::INT64));
    write("two.onnx", float(&[Any, Is(3), Is(8), Is(8)]).second_input());
    write("odd.onnx", float(&[Any, Is(3), Is(8), Is(8)]).op("Frobnicate"));
    write("map.onnx", onnx::Net::identity(&[Any, Is(3), Is(8), Is(8)]));
    for (name, parts) in [
        ("missing.onnx", &["cannot be read", "No such file"][..]),
        (".", &["it is a folder"]),
        ("empty.onnx", &["it is empty"]),
        ("text.onnx", &["no ONNX model", "give a whole .onnx file"]),
        ("text", &["no ONNX model", "give a whole .onnx file"]),
        ("half.onnx", &["no ONNX model", "give a whole .onnx file"]),
        ("rank.onnx", &["`x` is 1×3×8", "4 dimensions, not 3"]),
        ("last.onnx", &["channels last", "NCHW"]),
        ("grey.onnx", &["1 channel;", "with 3 channels"]),
        ("alpha.onnx", &["4 channels", "with 3 channels"]),
        ("oblong.onnx", &["not square"]),
        ("open.onnx", &["any size", "--size 224"]),
        ("eight.onnx", &["fixed batch of 8", "free batch"]),
        ("vast.onnx", &["100000", "1 to 4096 pixels"]),
        ("bytes.onnx", &["tensor(u8)", "float input"]),
        ("ints.onnx", &["tensor(i32)", "float input"]),
        ("two.onnx", &["2 inputs: x, y", "only input"]),
        ("odd.onnx", &["Frobnicate", "without that operator"]),
        ("map.onnx", &["[1, 3, 8, 8]", "N×classes"]),
    ] {
        let error = build_engine(&EngineChoice::Cpu, &options(&path(name))).err().unwrap();
        let error = error.to_string();
        assert!(error.contains(name), "{error}");
        for part in parts {
            assert!(error.contains(part), "{name}: {error}");
        }
    }
}

#[test]
fn a_classifier_of_ones_own_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.onnx");
    // Halved: bytes become whole numbers.
    let halved = ModelOptions { mean: Some([0.0; 3]), std: Some([2.0; 3]), ..options(&file) };
    let two = [[2_u8, 4, 6].repeat(64), [12, 10, 8].repeat(64)].concat();
    for dims in [&[Any, Is(3), Is(8), Is(8)][..], &[Is(1), Is(3), Is(8), Is(8)]] {
        std::fs::write(&file, onnx::Net::classifier(dims).bytes()).unwrap();
        let engine = build_engine(&EngineChoice::Cpu, &halved).unwrap();
        assert_eq!(engine.info().model, "mine");
        assert_eq!((engine.info().side, engine.info().classes), (8, 3));
        assert_eq!(engine.input().geometry, Geometry::Crop { short_side: 9 });
        assert_eq!(engine.class_names()[2], "class 2");
        assert_eq!(logits(&*engine, two.clone(), 2), [1.0, 2.0, 3.0, 6.0, 5.0, 4.0]);
        assert!(!engine.outputs_probabilities());
        let null = build_engine(&EngineChoice::Null(PixelFormat::U8Nhwc), &halved).unwrap();
        assert_eq!(null.input(), engine.input());
    }
    std::fs::write(&file, onnx::Net::classifier(&[Any, Is(3), Any, Any]).bytes()).unwrap();
    let sized = ModelOptions { size: Some(8), ..halved };
    let engine = build_engine(&EngineChoice::Cpu, &sized).unwrap();
    assert_eq!(logits(&*engine, two, 2), [1.0, 2.0, 3.0, 6.0, 5.0, 4.0]);
}

#[test]
fn a_model_that_the_engine_lacks_an_operator_for_runs_on_rten_and_says_why() {
    let file = std::path::Path::new("tests/data/ops/refused_erf_alone.onnx");
    let (engine, notes) = build_engine_noting(&EngineChoice::Cpu, &options(file)).unwrap();
    assert_eq!((engine.info().kind.as_str(), engine.info().name.as_str()), ("rten", "rten on CPU"));
    let [note] = notes.as_slice() else { panic!("{notes:?}") };
    for part in ["refused_erf_alone runs on rten", "Erf `erf_1`", "not among those"] {
        assert!(note.contains(part), "{note}");
    }
    assert_eq!(logits(&*engine, noise(2, 108), 2).len(), 216);
    let (engine, notes) = build_engine_noting(&EngineChoice::Rten, &options(file)).unwrap();
    assert_eq!((engine.info().kind.as_str(), notes.len()), ("rten", 0));
}

#[test]
fn rten_and_the_engine_agree_on_the_built_in_model() {
    let rten = build_engine(&EngineChoice::Rten, &ModelOptions::default()).unwrap();
    assert_eq!(rten.info().kind, "rten");
    let pixels = noise(2, rten.input().values());
    let (ours, theirs) = (logits(&*builtin(), pixels.clone(), 2), logits(&*rten, pixels, 2));
    for (a, b) in ours.iter().zip(&theirs) {
        assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "{a} by ours, {b} by rten");
    }
}

#[test]
fn a_team_gives_what_one_thread_gives() {
    let values = builtin().input().values();
    let (alone, _) = build_for_threads(&EngineChoice::Cpu, &ModelOptions::default(), None).unwrap();
    let (team, _) =
        build_for_threads(&EngineChoice::Cpu, &ModelOptions::default(), Some(3)).unwrap();
    for images in [1, 2, 4] {
        let pixels = noise(images, values);
        let expected = logits(&*alone, pixels.clone(), images);
        for _ in 0..3 {
            assert_eq!(logits(&*team, pixels.clone(), images), expected, "{images} images");
        }
    }
}

#[test]
fn a_model_that_ends_in_a_softmax_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("soft.onnx");
    let model = onnx::Net::classifier(&[Any, Is(3), Is(8), Is(8)]).softmax();
    std::fs::write(&file, model.bytes()).unwrap();
    let engine = build_engine(&EngineChoice::Cpu, &options(&file)).unwrap();
    assert!(engine.outputs_probabilities());
    let p = logits(&*engine, noise(1, 192), 1);
    assert!((p.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{p:?}");
}

#[test]
fn labels_and_preprocessing_come_from_files_and_flags_outrank_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("mine.onnx"), onnx::Net::classifier(&[Any, Is(3), Is(8), Is(8)]).bytes())
        .unwrap();
    std::fs::write(path("labels.txt"), "red\ngreen\nblue\n").unwrap();
    std::fs::write(path("short.txt"), "red\ngreen\n").unwrap();
    std::fs::write(
        path("preprocessor_config.json"),
        r#"{"image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.25, 0.25], "rescale_factor": 0.00390625,
            "size": {"shortest_edge": 10}, "do_center_crop": true, "crop_size": 8, "resample": 3}"#,
    )
    .unwrap();
    let mut given = ModelOptions {
        labels: Some(path("labels.txt")),
        preprocessor: Some(path("preprocessor_config.json")),
        ..options(&path("mine.onnx"))
    };
    let (engine, notes) = build_engine_noting(&EngineChoice::Cpu, &given).unwrap();
    assert_eq!(*engine.class_names(), ["red", "green", "blue"]);
    let input = *engine.input();
    assert_eq!(input.geometry, Geometry::Crop { short_side: 10 });
    assert_eq!((input.mean, input.std), ([128.0; 3], [64.0; 3]));
    assert!(notes.len() == 1 && notes[0].contains("preprocess.filter"), "{notes:?}");

    given.mean = Some([0.2, 0.4, 0.6]);
    given.resize = Some(8);
    let input = *build_engine(&EngineChoice::Cpu, &given).unwrap().input();
    assert_eq!(input.geometry, Geometry::Crop { short_side: 8 });
    assert_eq!((input.mean, input.std), ([51.0, 102.0, 153.0], [64.0; 3]));
    given.mean = Some([123.675, 116.28, 103.53]);
    given.std = Some([1.0; 3]);
    let input = *build_engine(&EngineChoice::Cpu, &given).unwrap().input();
    assert_eq!((input.mean, input.std), ([123.675, 116.28, 103.53], [1.0; 3]));

    let error =
        |given: &ModelOptions| build_engine(&EngineChoice::Cpu, given).err().unwrap().to_string();
    given.std = Some([0.2, 0.0, 0.2]);
    assert!(error(&given).starts_with("--std: "), "{}", error(&given));
    given.std = None;
    given.resize = Some(7);
    assert!(error(&given).starts_with("--resize: 7 is less"), "{}", error(&given));
    given.resize = None;
    given.size = Some(224);
    assert!(error(&given).contains("takes 8 × 8 pixels"), "{}", error(&given));
    given.size = None;
    given.labels = Some(path("short.txt"));
    assert!(error(&given).contains("it has 2 names, where the model has 3"), "{}", error(&given));
}
