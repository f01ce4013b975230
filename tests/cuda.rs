//! The engine on GPUs where there is none: against a driver that the tests build, whose kernels are plain loops.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/fake_cuda.c");

/// A folder with a driver in it, built with these definitions.
fn driver(name: &str, defines: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fake-cuda").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let built = Command::new("cc")
        .args(["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"])
        .args(["-Wl,-soname,libcuda.so.1", "-o"])
        .arg(folder.join("libcuda.so.1"))
        .args(defines)
        .args([SOURCE, "-lm"])
        .output()
        .expect("a C compiler is there: Rust links with it");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    folder
}

/// The driver with everything.
fn whole() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| driver("whole", &[]))
}

/// A run of the program with that driver in place of any other.
fn pipetop(driver: &Path, environment: &[(&str, &str)], args: &[&str]) -> Output {
    let caches = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_pipetop"))
        .args(args)
        .env("LD_LIBRARY_PATH", driver)
        .env("XDG_CACHE_HOME", caches.path())
        .env_remove("CUDA_VISIBLE_DEVICES")
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Normalised planes of `images` pictures of bytes, as `bench infer --input` reads them.
fn planes(images: usize, side: usize) -> Vec<u8> {
    const MEAN: [f32; 3] = [0.485 * 255.0, 0.456 * 255.0, 0.406 * 255.0];
    const STD: [f32; 3] = [0.229 * 255.0, 0.224 * 255.0, 0.225 * 255.0];
    let mut state = 7_u32;
    let mut bytes = Vec::new();
    for _ in 0..images {
        for channel in 0..3 {
            for _ in 0..side * side {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let value = (f32::from((state >> 24) as u8) - MEAN[channel]) / STD[channel];
                bytes.extend(value.to_le_bytes());
            }
        }
    }
    bytes
}

/// Logits of pictures by an engine.
fn logits(
    engine: &str,
    environment: &[(&str, &str)],
    model: &Path,
    images: usize,
) -> (Vec<f32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("in"), folder.path().join("out"));
    let side = pipetop::pipeline::infer::graph::load_file(model, None).unwrap().side;
    std::fs::write(&input, planes(images, side)).unwrap();
    let args = ["bench", "infer", "--engine", engine, "--batch", "2", "--model"];
    let args = args.iter().copied().chain([
        model.to_str().unwrap(),
        "--input",
        input.to_str().unwrap(),
        "--logits",
        out.to_str().unwrap(),
    ]);
    let output = pipetop(whole(), environment, &args.collect::<Vec<_>>());
    let said = stderr(&output);
    assert!(output.status.success(), "{}: {said}", model.display());
    let bytes = std::fs::read(&out).unwrap();
    let values = bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes));
    (values.collect(), said)
}

/// The greatest difference, as a share of the greatest value.
fn off(found: &[f32], wanted: &[f32]) -> f32 {
    assert_eq!(found.len(), wanted.len());
    let greatest = wanted.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    let difference = |(a, b): (&f32, &f32)| if a.is_finite() { (a - b).abs() } else { f32::MAX };
    found.iter().zip(wanted).map(difference).fold(0.0, f32::max) / greatest
}

fn models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ops");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let taken = |file: &PathBuf| {
        let name = file.file_name().unwrap().to_str().unwrap();
        file.extension().is_some_and(|end| end == "onnx") && !name.starts_with("refused")
    };
    let mut models: Vec<_> = files.filter(taken).collect();
    models.sort();
    assert!(models.len() >= 30, "{} models", models.len());
    models
}

const FLOATS: (&str, &str) = ("FAKE_CUDA_CAPABILITY", "7");

#[test]
fn every_operator_gives_what_the_cpu_gives() {
    for model in models() {
        let (wanted, _) = logits("cpu", &[], &model, 3);
        let (halves, said) = logits("cuda", &[], &model, 3);
        let (floats, _) = logits("cuda", &[FLOATS], &model, 3);
        let name = model.file_stem().unwrap().to_str().unwrap();
        // One divides by means near 0, which fp16 does not keep apart: it runs in fp32 and says so.
        let divides = name == "arithmetic_of_tensors";
        let fine = if divides { 1e-3 } else { 2e-5 };
        assert!(off(&floats, &wanted) < fine, "{name}, floats: {}", off(&floats, &wanted));
        let coarse = off(&halves, &wanted);
        assert!(coarse < 1e-2, "{name}, halves: {coarse}");
        assert_eq!(said.contains("runs in fp32 on the GPU"), divides, "{name}: {said}");
    }
}

#[test]
fn a_batch_that_does_not_fit_runs_in_passes() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ops/residual.onnx");
    let (wanted, _) = logits("cuda", &[], &model, 64);
    // A lane takes 64 MiB for itself; what is left is too little for 64 pictures and enough for some.
    let (found, _) = logits("cuda", &[("FAKE_CUDA_KIB", "66000")], &model, 64);
    assert_eq!(found, wanted);
}

#[test]
fn where_the_gpu_is_lost_the_cpu_goes_on_with_the_same_pictures() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ops/residual.onnx");
    let (wanted, _) = logits("cpu", &[], &model, 3);
    // Two batches are run before the pictures come: one in fp16 to compare with the CPU, and one to warm up.
    let (halves, _) = logits("cuda", &[], &model, 3);
    assert!(off(&halves, &wanted) > 1e-5, "fp16 is told from fp32");
    for late in [None, Some(("FAKE_CUDA_LATE", "1"))] {
        let environment: Vec<_> = late.into_iter().chain([("FAKE_CUDA_BATCHES", "2")]).collect();
        let (found, _) = logits("cuda", &environment, &model, 3);
        assert!(off(&found, &wanted) < 1e-5, "{environment:?}");
    }
}

#[test]
fn why_there_is_no_gpu_is_said_in_one_line_and_auto_infers_on_the_cpu() {
    let photo = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tea-gardens_3.jpg");
    for (name, define, reason) in [
        ("no-device", "-DNO_DEVICE", "CUDA_ERROR_NO_DEVICE"),
        ("old", "-DOLD", "it serves CUDA 11.4, and 12.0 is needed (driver 525 or later)"),
        ("lacking", "-DLACKING", "it lacks cuGraphInstantiateWithFlags"),
    ] {
        let driver = driver(name, &[define]);
        let output = pipetop(&driver, &[], &["classify", "--engine", "cuda", photo]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(reason) && said.contains("--engine auto"), "{said}");
        assert!(!said.contains("panicked"), "{said}");

        let output = pipetop(&driver, &[], &["classify", "--engine", "auto", photo]);
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        let line = said.lines().find(|line| line.contains("inferring on the CPU")).unwrap();
        assert!(line.contains(reason), "{line}");
    }
}

/// The run that `the_model_moves_between_the_cpu_and_a_gpu_while_it_runs` starts where there is a driver.
#[test]
#[ignore = "wants a driver, which another test gives it"]
fn moved_while_it_runs() {
    use pipetop::pipeline::control::{Parts, Pipeline};
    use pipetop::pipeline::infer::{EngineChoice, ModelOptions, build_engine};
    use pipetop::pipeline::knobs::{Command, DEVICES, KnobId, KnobValue, KnobValues};
    use pipetop::pipeline::source::Source;
    use pipetop::probe::registry::Registry;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ops/residual.onnx");
    let options = ModelOptions { model: Some(model), ..ModelOptions::default() };
    let engine = build_engine(&EngineChoice::Cpu, &options).unwrap();
    let parts = Parts {
        source: Source::synthetic(1, 8).unwrap(),
        engine,
        knobs: KnobValues::defaults(2),
        once: false,
        max_pixels: 1 << 24,
        output: None,
        cache_bytes: 1 << 24,
        batch_bytes: 1 << 28,
    };
    let pipeline = Pipeline::start(parts, &Arc::new(Registry::default())).unwrap();
    let device = |name: &str| {
        let index = DEVICES.iter().position(|&device| device == name).unwrap();
        KnobValue::Choice(index, DEVICES[index])
    };
    let shown = || pipeline.knobs().0.get(KnobId::InferDevice).to_string();
    let wait = |done: &dyn Fn() -> bool, what: &str| {
        let end = Instant::now() + Duration::from_mins(1);
        while !done() {
            assert!(Instant::now() < end, "{what}: {:?}", pipeline.notices());
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let goes_on = || {
        let before = pipeline.counts().0;
        wait(&|| pipeline.counts().0 > before + 50, "images come out");
    };
    assert_eq!(shown(), "cpu", "the knob says where it began");
    goes_on();
    for (name, kind) in [("cuda:0", "cuda"), ("cpu", "cpu"), ("cuda:0", "cuda")] {
        pipeline.command(Command::Set(KnobId::InferDevice, device(name))).unwrap();
        wait(&|| pipeline.engine().info().kind == kind, name);
        goes_on();
        assert_eq!(shown(), name);
        assert!(pipeline.applying().is_empty());
    }
    let batches = || pipeline.engine().device_times().unwrap().batches;
    let before = batches();
    goes_on();
    assert!(batches() > before, "the device computes them");

    pipeline.command(Command::Set(KnobId::InferDevice, device("cuda:3"))).unwrap();
    wait(&|| !pipeline.notices().is_empty(), "it is told");
    let notice = &pipeline.notices()[0].text;
    assert!(
        notice.starts_with("the model stays on cuda:0, since it cannot move to cuda:3"),
        "{notice}"
    );
    wait(&|| shown() == "cuda:0", "the knob goes back");
    goes_on();
    assert_eq!(pipeline.counts().1, 0, "no image was lost");
    let refused = pipeline.command(Command::Set(KnobId::InferDevice, device("fixed")));
    assert!(refused.unwrap_err().to_string().contains("this one can"));
}

#[test]
fn the_model_moves_between_the_cpu_and_a_gpu_while_it_runs() {
    let caches = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "moved_while_it_runs"])
        .env("LD_LIBRARY_PATH", whole())
        .env("XDG_CACHE_HOME", caches.path())
        .env_remove("CUDA_VISIBLE_DEVICES")
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
