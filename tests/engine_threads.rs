//! Whose CPU time an inference is. Alone in its file: the test looks at all threads of the process.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use pipetop::pipeline::infer::{EngineChoice, ModelOptions, Output, Pixels, build_engine};
use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};

/// CPU time of every thread in nanoseconds, by thread id.
fn cpu_times() -> BTreeMap<u64, u64> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let ids = tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap());
    ids.filter_map(|id: u64| {
        // A thread may have ended in between.
        let text = std::fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).ok()?;
        Some((id, text.split_whitespace().next()?.parse().ok()?))
    })
    .collect()
}

fn own_id() -> u64 {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

#[test]
fn all_cpu_time_of_a_worker_s_inference_is_the_worker_s() {
    let engine = build_engine(&EngineChoice::Cpu, &ModelOptions::default()).unwrap();
    let (send, receive) = mpsc::channel();
    let model = Arc::clone(&engine);
    let body = move || {
        let pixels: Pixels = Arc::new(vec![160_u8; 2 * model.input().values()]);
        let run = || match model.submit(Arc::clone(&pixels), 2).unwrap().wait().unwrap() {
            Output::Logits(logits) => assert_eq!(logits.len(), 2000),
            Output::Nothing => panic!("this engine predicts"),
        };
        run();
        let before = cpu_times();
        for _ in 0..5 {
            run();
        }
        send.send((own_id(), before, cpu_times())).unwrap();
    };
    engine.spawn_worker("infer-0".into(), Box::new(body)).unwrap();
    let (worker, before, after) = receive.recv().unwrap();
    assert!(before.keys().eq(after.keys()), "threads came or went: {before:?} {after:?}");
    let cost = |id: &u64| after[id] - before[id];
    let others: u64 = after.keys().filter(|&&id| id != worker).map(cost).sum();
    let own = cost(&worker);
    assert!(own > 1_000_000, "ten pictures in {own} ns of CPU");
    assert!(others * 20 < own, "the worker {own} ns of CPU, the others {others} ns");
}
