//! Σ CPU of registered, foreign and own threads is the CPU of the process. Alone in its file: the test
//! looks at all threads of the process.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use pipetop::pipeline::control::{Parts, Pipeline};
use pipetop::pipeline::infer::choice::parse_engine;
use pipetop::pipeline::infer::model::{ModelOptions, build_engine};
use pipetop::pipeline::knobs::KnobValues;
use pipetop::pipeline::source::Source;
use pipetop::probe::registry::Registry;
use pipetop::profile::sampler::{Assembler, OWN, Sampler, run_info};
use pipetop::profile::snapshot::{Group, Snapshot};
use pipetop::profile::window::Window;

/// CPU of all threads in a window, in cores.
fn of_threads(window: &Window<'_>) -> f64 {
    let cpu = |snapshot: &Snapshot| -> u64 {
        snapshot.threads.iter().map(|thread| thread.cpu.unwrap()).sum()
    };
    (cpu(window.to()) - cpu(window.from())) as f64 / window.nanos() as f64
}

#[test]
fn the_threads_together_use_what_the_process_uses() {
    // The sampler's last figures are its threads' at their end: all of them are run to the end here.
    for (text, knobs) in [
        ("emulated:300:5", "preprocess.threads=2"),
        ("cpu", "preprocess.threads=1"),
        ("rten", "preprocess.threads=1"),
        ("null", "preprocess.lock=pool"),
    ] {
        let registry = Arc::new(Registry::default());
        let _own = registry.register("main", OWN);
        let engine = build_engine(&parse_engine(text).unwrap(), &ModelOptions::default()).unwrap();
        let mut parts = Parts {
            source: Source::synthetic(11, 24).unwrap(),
            engine,
            knobs: KnobValues::defaults(2),
            once: false,
            max_pixels: 1 << 24,
            output: None,
            cache_bytes: 1 << 28,
            batch_bytes: 4 << 30,
        };
        parts.knobs.set_from(knobs).unwrap();
        let pipeline = Arc::new(Pipeline::start(parts, &registry).unwrap());
        let info = run_info(&pipeline, false, None, 10.0);
        let assembler = Assembler::new(Arc::clone(&pipeline), info);
        let sampler = Sampler::start(assembler, 10.0, |_| {}).unwrap();
        std::thread::sleep(Duration::from_secs(1));
        let from = sampler.latest();
        std::thread::sleep(Duration::from_secs(3));
        let to = sampler.latest();
        let window = Window::between(&from, &to);
        let (threads, process) = (of_threads(&window), window.process_cpu().unwrap());
        // A thread's clock and the process's are read some 0.1 ms apart.
        let off = (threads - process).abs();
        assert!(off <= 0.01 * process + 0.001, "{text}: threads {threads}, process {process}");
        assert!(process > 0.02, "{text}: {process}");
        // And what was measured is the pipeline: nearly all of it is on registered threads.
        let foreign: f64 = (to.threads.iter())
            .filter(|thread| thread.group == Group::Foreign)
            .filter_map(|thread| window.thread_cpu(thread))
            .sum();
        assert!(foreign <= 0.05 * process + 0.01, "{text}: foreign {foreign} of {process}");
        for thread in &to.threads {
            if let Some((_, shares)) = window.thread(thread) {
                assert!((shares.sum() - 1.0).abs() < 1e-9, "{text} {}: {shares:?}", thread.name);
            }
        }
        drop(sampler);
        pipeline.stop();
        pipeline.wait(Duration::from_secs(1));
    }
}
