//! The binary itself, with limits so small that figures mean little: what is asserted is their form.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pipetop"));
    command.arg("sweep").args(args).stdin(Stdio::null());
    command.env("XDG_CONFIG_HOME", "/nowhere").env_remove("NO_COLOR");
    command
}

fn sweep(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Little work, and little time for it.
const SMALL: [&str; 6] = ["--synthetic", "8", "--limit", "0.4s", "--ci", "50"];

#[test]
fn every_point_is_measured_and_every_file_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (csv, svg, png) = (path("a.csv"), path("a.svg"), path("a.png"));
    let args = ["--over", "preprocess.threads=1,2", "--work", "native,lock-pool", "--json", "-"];
    let output =
        sweep(&[&args[..], &SMALL, &["--csv", &csv, "--svg", &svg, "--png", &png]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let root: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&root["schema"], &root["state"]), (&"pipetop.sweep/1".into(), &"done".into()));
    assert_eq!(root["engine"]["kind"], "null");
    assert_eq!(root["knobs"]["source.cache"], "bytes");
    assert_eq!(root["labels"], serde_json::json!(["synthetic"]));
    let works = root["works"].as_array().unwrap();
    assert_eq!(works.len(), 2);
    let mut orders = Vec::new();
    for point in works.iter().flat_map(|work| work["points"].as_array().unwrap()) {
        assert_eq!(point["status"], "measured", "{point}");
        assert!(point["throughput_img_s"].as_f64() > Some(0.0), "{point}");
        let shares = point["share"].as_object().unwrap();
        let sum: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-3, "{point}");
        assert_eq!(point["workers"], point["values"]["preprocess.threads"]);
        assert!(point["cpu_ms_image"].as_f64() > Some(0.0), "{point}");
        orders.push(point["order"].as_u64().unwrap());
    }
    orders.sort_unstable();
    assert_eq!(orders, [0, 1, 2, 3]);
    assert_eq!(std::fs::read_to_string(csv).unwrap().lines().count(), 5);
    assert!(std::fs::read_to_string(svg).unwrap().ends_with("</svg>\n"));
    assert!(image::open(Path::new(&png)).is_ok());
    let progress = said(&output);
    assert!(progress.contains("[4/4] ") && progress.contains(" img/s"), "{progress}");
}

#[test]
fn a_table_and_a_sentence_are_printed() {
    let output = sweep(&[&["--over", "preprocess.filter=nearest,cubic"][..], &SMALL].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("SYNTHETIC: input\nthroughput by preprocess.filter: "), "{text}");
    assert!(text.contains("nearest") && text.contains("\n→ "), "{text}");
}

#[test]
fn a_point_without_an_image_is_a_gap_and_the_others_are_measured() {
    let args = ["--over", "load.delay=0,9000", "--set", "source.cache=none", "--json", "-"];
    let output = sweep(&[&args[..], &SMALL].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let root: Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = root["works"][0]["points"].as_array().unwrap();
    let (quick, slow) = (&points[0], &points[1]);
    assert_eq!((&quick["status"], &slow["status"]), (&"measured".into(), &"gap".into()), "{root}");
    assert!(slow["throughput_img_s"].is_null());
    assert!(slow["note"].as_str().unwrap().starts_with("no image came out in"), "{slow}");
    assert!(said(&output).contains("gap: no image came out in"), "{}", said(&output));
}

#[test]
fn a_value_that_this_run_refuses_is_a_gap_with_the_reason() {
    let args =
        ["--over", "infer.batch=8,512", "--engine", "null:f32", "--size", "4096", "--json", "-"];
    let output = sweep(&[&args[..], &["--set", "queue.batches=64"], &SMALL].concat());
    // On a machine with little memory even the first is too much.
    let (code, told) = (output.status.code(), said(&output));
    if code == Some(0) {
        let root: Value = serde_json::from_slice(&output.stdout).unwrap();
        let last = &root["works"][0]["points"][1];
        assert!(last["note"].as_str().unwrap().contains("is refused"), "{last}");
    } else {
        assert!(told.contains("memory"), "{told}");
    }
}

#[test]
fn where_nothing_can_be_measured_it_fails_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jpg"), "no image").unwrap();
    let path = folder.path().to_str().unwrap();
    let output = sweep(&[path, "--over", "preprocess.threads=1", "--limit", "0.3s"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let told = said(&output);
    assert!(told.contains("not one point could be measured: no image came out"), "{told}");
    assert!(told.contains("failed"), "{told}");
}

#[test]
fn an_interrupted_sweep_leaves_valid_files_with_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (csv, json, svg) = (path("a.csv"), path("a.json"), path("a.svg"));
    let over =
        ["--over", "preprocess.threads=1..64", "--synthetic", "8", "--ci", "50", "--limit", "0.3s"];
    let files = ["--csv", &csv, "--json", &json, "--svg", &svg];
    let mut child = command(&[&over[..], &files].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Its first point is told on stderr; then there is something to keep.
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    assert!(lines.any(|line| line.unwrap().starts_with("[1/64] ")));
    let rest = std::thread::spawn(move || lines.for_each(drop));
    let kill = format!("kill -TERM {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let mut code = None;
    for _ in 0..600 {
        code = child.try_wait().unwrap();
        if code.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    rest.join().unwrap();
    assert!(code.is_some_and(|code| code.success()), "{code:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("INTERRUPTED: ") && text.contains("not reached"), "{text}");
    let root: Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!((&root["state"], &root["interrupted"]), (&"interrupted".into(), &true.into()));
    let points = root["works"][0]["points"].as_array().unwrap();
    let of = |status: &str| points.iter().filter(|point| point["status"] == status).count();
    assert!(of("measured") >= 1 && of("not-reached") >= 1, "{root}");
    assert_eq!(points.len(), 64);
    let csv = std::fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 65);
    assert!(csv.lines().skip(1).all(|line| line.ends_with(",true")), "{csv}");
    assert!(std::fs::read_to_string(svg).unwrap().contains("INTERRUPTED after"));
}

/// That it was refused as wrong usage, with nothing on stdout, and all `says` in the message.
#[track_caller]
fn refused(args: &[&str], says: &[&str]) {
    let output = sweep(args);
    let message = said(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert!(output.stdout.is_empty(), "{args:?}");
    for part in says {
        assert!(message.contains(part), "{args:?}: {part:?} is not in:\n{message}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_runs() {
    let over = ["--over", "preprocess.threads=1..4"];
    let with = |more: &[&'static str]| [&over[..], more].concat();
    refused(&[], &["--over"]);
    refused(&["--over", "preprocess.thread=1..4"], &["did you mean `preprocess.threads`?"]);
    refused(&["--over", "preprocess.threads=4..1"], &["runs backwards"]);
    refused(&["--over", "preprocess.threads="], &["empty value"]);
    refused(&["--over", "preprocess.threads=1..65"], &["1 to 64 threads"]);
    refused(&with(&over), &["--over preprocess.threads is given twice"]);
    refused(
        &with(&["--over", "infer.batch=1,2", "--over", "load.delay=0,1"]),
        &["over one knob or two"],
    );
    refused(&with(&["-t", "3"]), &["preprocess.threads is set and swept"]);
    refused(&with(&["--set", "preprocess.threads=3"]), &["is set and swept"]);
    refused(&with(&["--work", "nativ"]), &["did you mean `native`?"]);
    refused(&with(&["--work", "native,native"]), &["--work native is given twice"]);
    refused(
        &["--over", "preprocess.lock=none,pool", "--work", "lock-pool"],
        &["--work lock-pool sets preprocess.lock"],
    );
    refused(&with(&["--csv", "/tmp/x", "--svg", "/tmp/x"]), &["--csv and --svg name one file"]);
    refused(&with(&["--ci", "0"]), &["0.1 to 50"]);
    refused(&with(&["--limit", "0"]), &["longer than 0"]);
    refused(&with(&["--headless", "--fps", "3"]), &["--headless"]);
    let many = ["--over", "preprocess.threads=1..64", "--over", "infer.threads=1..64"];
    refused(&many, &["4096 points are more than 1024"]);
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_the_sweep() {
    for flag in ["--csv", "--json", "--svg", "--png"] {
        let output = sweep(&["--over", "preprocess.threads=1..4", flag, "/nowhere/file"]);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        let told = said(&output);
        assert!(told.contains("cannot write to /nowhere/file") && told.contains(flag), "{told}");
        assert!(!told.contains("making"), "nothing was begun: {told}");
    }
}
