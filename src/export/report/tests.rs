use serde_json::Value;

use super::*;
use crate::export::json;
use crate::export::sample::SampleRun;

fn report(run: &SampleRun) -> Report {
    Report::new(&run.warm, &run.end, &run.done)
}

fn json_of(run: &SampleRun) -> Value {
    serde_json::from_str(&json::to_string(&report(run))).unwrap()
}

/// Every key of `fixed` is in `ours`, with a value of the same type or null; the words that are
/// values' names (reasons, knobs) are any.
fn holds(fixed: &Value, ours: &Value, path: &str) {
    match (fixed, ours) {
        (Value::Object(fixed), Value::Object(ours)) => {
            for (key, value) in fixed {
                let path = format!("{path}.{key}");
                holds(value, ours.get(key).unwrap_or_else(|| panic!("{path} is missing")), &path);
            }
        }
        (Value::Array(fixed), Value::Array(ours)) => {
            assert!(!ours.is_empty(), "{path} is empty: nothing is compared");
            for ours in ours {
                holds(&fixed[0], ours, path);
            }
        }
        (Value::Number(_), Value::Number(_) | Value::Null)
        | (Value::String(_), Value::String(_))
        | (Value::Object(_) | Value::String(_), Value::Null) => {}
        _ => panic!("{path}: {ours} in place of {fixed}"),
    }
}

#[test]
fn every_fixed_key_is_there() {
    let fixed: Value =
        serde_json::from_str(include_str!("../../../tests/data/report_keys.json")).unwrap();
    let ours = json_of(&SampleRun::new());
    holds(&fixed, &ours, "report");
    assert_eq!(ours["schema"], fixed["schema"]);
}

fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!((value - expected).abs() < 1e-6 + expected.abs() * 0.001, "{value}, not {expected}");
}

#[test]
fn rates_and_shares_are_of_the_window_and_counts_of_the_whole_run() {
    let ours = json_of(&SampleRun::new());
    close(&ours["duration_s"], 11.0);
    close(&ours["warmup_s"], 1.0);
    close(&ours["window_s"], 10.0);
    close(&ours["throughput_img_s"], 100.0);
    close(&ours["read_mb_s"], 5.0);
    assert_eq!(ours["items"]["read"], 1110);
    assert_eq!(ours["items"]["predicted"], 1100);
    assert_eq!(ours["items"]["abandoned"], 6);
    assert_eq!(ours["items"]["failures"]["truncated"], 3);
    assert_eq!(ours["items"]["failed_items"][0]["name"], "photos/broken.jpg");
    // Four failed, three of them are listed.
    assert_eq!(ours["items"]["failed_unlisted"], 1);
    assert_eq!(ours["limit"]["stage"], "preprocess");
    assert_eq!(ours["knobs"]["infer.batch"], 16);
    assert_eq!(ours["engine"]["kind"], "emulated");
    assert_eq!(ours["labels"], serde_json::json!(["synthetic", "emulated"]));
    let p50 = ours["latency_ms"]["p50"].as_f64().unwrap();
    assert!((p50 - 20.0).abs() < 0.4, "{p50}");
    close(&ours["latency_ms"]["mean"], 20.0);
}

#[test]
fn stages_queues_threads_lanes_and_locks_say_what_was_put_in() {
    let ours = json_of(&SampleRun::new());
    close(&ours["stages"][1]["busy"], 0.97);
    close(&ours["stages"][0]["busy"], 0.25);
    close(&ours["stages"][2]["device_busy"], 0.1);
    assert_eq!(ours["stages"][1]["device_busy"], Value::Null);
    close(&ours["queues"][0]["ready"], 0.98);
    close(&ours["queues"][0]["full"], 0.49);
    close(&ours["queues"][0]["depth_mean"], 62.72);
    close(&ours["lanes"][0]["share"]["io"], 0.25);
    close(&ours["lanes"][0]["share"]["other"], 0.25);
    close(&ours["locks"][0]["contended"], 0.1);
    close(&ours["locks"][0]["wait_s"], 0.1);
    assert_eq!(ours["locks"][0]["acquisitions"], 10_000);
    assert_eq!(ours["locks"][0]["hold_s"], Value::Null);
    for key in ["label", "switches", "forced_switches", "drop_requests"] {
        assert_eq!(ours["locks"][0][key], Value::Null, "{key}");
    }
    // In the window of 10 s, not since the start.
    assert_eq!(ours["locks"][1]["label"], "emulated");
    assert_eq!(ours["locks"][1]["switches"], 2000);
    close(&ours["locks"][1]["forced_switches"], 1667.0);
    close(&ours["locks"][1]["drop_requests"], 1667.0);
    assert_eq!(ours["limit_lock"], Value::Null, "the threads of the stage that limits hardly wait");
    close(&ours["self"]["cpu"], 0.01);
    close(&ours["self"]["process_cpu"], 2.0);
    close(&ours["self"]["rss_mib"], 120.0);
    close(&ours["host"]["cpu"], 0.75);
}

#[test]
fn the_shares_of_a_thread_sum_to_one_and_are_absent_where_unknown() {
    let report = report(&SampleRun::new());
    for thread in &report.threads {
        let Some(s) = thread.share else {
            assert_eq!(thread.overlap, None);
            continue;
        };
        let waits = s.lock + s.starved + s.backpressured + s.gpu + s.io + s.parked;
        let sum = s.running + s.runnable + waits + s.other;
        assert!((sum - 1.0).abs() < 1e-5, "{}: {sum}", thread.name);
    }
    let groups: Vec<_> = report.threads.iter().map(|t| (t.group, t.share.is_some())).collect();
    assert_eq!(groups[2..], [("stage", true), ("own", false), ("foreign", false)]);
}

#[test]
fn segments_have_the_figures_of_each_knob_setting_after_warm_up() {
    let report = report(&SampleRun::new());
    let figures: Vec<_> = report
        .segments
        .iter()
        .map(|s| (s.epoch, s.from_s, s.to_s, s.predicted, s.throughput_img_s))
        .collect();
    assert_eq!(figures, [(0, 1.0, 6.0, 500, Some(100.0)), (1, 6.0, 11.0, 500, Some(100.0))]);
    assert_eq!(report.knob_changes[0].knob, "infer.batch");
}

#[test]
fn what_was_not_measured_is_null_and_never_zero() {
    let mut run = SampleRun::new();
    // A run that was stopped before anything came out: no window, no figures.
    run.warm = run.end.clone();
    let ours = json_of(&run);
    assert_eq!(ours["throughput_img_s"], Value::Null);
    assert_eq!(ours["latency_ms"]["p99"], Value::Null);
    assert_eq!(ours["stages"][0]["img_s"], Value::Null);
    assert_eq!(ours["queues"][0]["depth_mean"], Value::Null);
    assert_eq!(ours["self"]["cpu"], Value::Null);
    assert_eq!(ours["limit"], "measuring");
    assert_eq!(ours["gpus"][0]["sm_mhz"], 1755.0, "the latest value stands for a while");
    assert_eq!(ours["gpus"][0]["event_busy"], Value::Null);
    assert_eq!(ours["gpus"][0]["fan"], Value::Null);
    assert_eq!(ours["items"]["behind_s"], Value::Null);
}

#[test]
fn without_a_host_or_own_figures_they_are_null() {
    let mut run = SampleRun::new();
    for snapshot in [&mut run.warm, &mut run.end, &mut run.done] {
        snapshot.host = None;
        snapshot.own = crate::profile::snapshot::OwnSample::default();
    }
    let ours = json_of(&run);
    for key in ["cpus", "cpu", "memory_used_mib", "memory_total_mib"] {
        assert_eq!(ours["host"][key], Value::Null, "{key}");
    }
    assert_eq!(ours["self"]["rss_mib"], Value::Null);
}

#[test]
fn gpus_have_the_means_of_the_window_and_the_engines_own_its_events() {
    let ours = json_of(&SampleRun::new());
    let gpu = &ours["gpus"][0];
    let near = |key: &str, value: f64| {
        let got = gpu[key].as_f64().unwrap();
        assert!((got - value).abs() < 1e-6, "{key}: {got}");
    };
    near("busy", 0.98);
    near("sm_active", 0.9);
    near("sm_occupancy", 0.17);
    near("graphics", 0.97);
    near("event_busy", 0.95);
    near("memory_used_mib", 4096.0);
    near("energy_j", 6500.0);
    near("energy_j_image", 6.5);
    assert_eq!(gpu["engine"], true);
    assert_eq!(gpu["absent"]["fan"], "not read yet");
    let other = &ours["gpus"][1];
    assert_eq!((&other["sm_occupancy"], &other["event_busy"]), (&Value::Null, &Value::Null));
    assert_eq!(other["absent"]["sm_occupancy"], "needs GPM: Hopper or later");
    assert_eq!(other["energy_j_image"], Value::Null, "the images went through another");
    let device = &ours["device"];
    assert_eq!(
        (&device["batches"], &device["h2d_ms"], &device["gap_ms"]),
        (&125.into(), &4.0.into(), &4.0.into())
    );
    assert_eq!(device["theoretical_occupancy"], 0.25);
    assert_eq!(ours["gpus_missing"], Value::Null);
}

#[test]
fn without_a_gpu_the_report_says_why() {
    use crate::probe::gpu::source::Missing;
    use crate::profile::snapshot::GpuWatch;
    let mut run = SampleRun::new();
    let missing = Missing { what: "no driver".into(), way_out: "install one".into() };
    (run.end.gpus, run.end.device) = (Vec::new(), None);
    run.end.gpu_watch = GpuWatch::Missing(missing);
    let ours = json_of(&run);
    assert_eq!(
        (&ours["gpus"], &ours["gpus_missing"]),
        (&Value::Array(vec![]), &"no driver".into())
    );
    assert_eq!(ours["device"], Value::Null);
}
