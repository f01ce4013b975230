//! The binary as a person or a script meets it: help, refusals, exit codes, doctor.

use std::process::{Command, Output, Stdio};

/// Runs pipetop in an environment without settings of the person who runs the tests.
fn pipetop(args: &[&str]) -> Output {
    command(args).output().expect("the binary was built for this test")
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pipetop"));
    command.args(args).stdin(Stdio::null());
    command.env("XDG_CONFIG_HOME", "/nowhere").env("COLUMNS", "100").env_remove("NO_COLOR");
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("pipetop writes UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("pipetop writes UTF-8")
}

/// That it was refused as wrong usage, with nothing on stdout, and all `says` in the message.
#[track_caller]
fn refused(args: &[&str], says: &[&str]) {
    let output = pipetop(args);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert_eq!(stdout(&output), "", "{args:?}");
    for part in says {
        assert!(message.contains(part), "{args:?}: {part:?} is not in:\n{message}");
    }
}

#[test]
fn the_long_help() {
    let output = pipetop(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!(stdout(&output));
}

#[test]
fn the_help_of_each_command() {
    let mut all = String::new();
    let commands: [&[&str]; 8] = [
        &["classify"],
        &["sweep"],
        &["bench"],
        &["bench", "preprocess"],
        &["bench", "infer"],
        &["render"],
        &["replay"],
        &["doctor"],
    ];
    for command in commands {
        let output = pipetop(&[command, &["-h"]].concat());
        assert_eq!(output.status.code(), Some(0));
        all += &stdout(&output);
    }
    insta::assert_snapshot!(all);
}

#[test]
fn bench_infer_writes_logits_and_says_what_is_no_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let model = "tests/data/ops/softmax.onnx";
    let (input, logits) = (path("in"), path("out"));
    std::fs::write(&input, [0_u8; 2 * 3 * 6 * 6 * 4]).unwrap();
    let args = ["bench", "infer", "--model", model, "--input", &input, "--logits", &logits];
    let output = pipetop(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("2 × 6 logits by CPU"), "{}", stderr(&output));
    let bytes = std::fs::read(&logits).unwrap();
    let values: Vec<f32> =
        bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    assert_eq!(values.len(), 12);
    assert!((values.iter().sum::<f32>() - 2.0).abs() < 1e-5, "{values:?}");

    std::fs::write(&input, [0_u8; 100]).unwrap();
    let output = pipetop(&args);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("100 bytes are no pictures for softmax"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn bench_infer_reports_runs_and_layers() {
    let args = ["bench", "infer", "--model", "tests/data/ops/squeeze_excite.onnx", "--json"];
    let output = pipetop(
        &[&args[..], &["--layers", "--batch", "1,3", "--threads", "1,2", "--seconds", "0.05"]]
            .concat(),
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["schema"], "pipetop.bench.infer/1");
    assert_eq!(report["engine"]["kind"], "cpu");
    let runs = report["runs"].as_array().unwrap();
    let cases: Vec<_> =
        runs.iter().map(|run| (run["threads"].as_u64(), run["batch"].as_u64())).collect();
    assert_eq!(cases, [(1, 1), (1, 3), (2, 1), (2, 3)].map(|(t, b)| (Some(t), Some(b))));
    assert!(runs.iter().all(|run| run["img_s"].as_f64() > Some(0.0)), "{report}");
    let layers = report["layers"].as_array().unwrap();
    let ops: Vec<_> = layers.iter().map(|layer| layer["op"].as_str().unwrap()).take(7).collect();
    assert_eq!(ops, ["input", "conv", "global average", "conv", "conv", "mul", "transpose"]);

    let output = pipetop(&["bench", "infer", "--engine", "null"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("null runs no model"), "{}", stderr(&output));
}

#[test]
fn help_has_every_knob_once_with_its_range() {
    use pipetop::pipeline::knobs::KNOBS;
    for args in [&["--help"][..], &["run", "--help"]] {
        let help = stdout(&pipetop(args));
        let table = &help[help.find("All knobs (--set").unwrap()..];
        let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
        for spec in KNOBS {
            assert_eq!(table.matches(&format!("  {} ", spec.name)).count(), 1, "{}", spec.name);
            assert!(words.contains(&spec.expects()), "{}", spec.name);
        }
    }
}

#[test]
fn the_version() {
    let output = pipetop(&["--version"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stdout(&output), format!("pipetop {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_flags_name_the_nearest() {
    refused(&["--durationn", "3s"], &["--duration"]);
    refused(&["--colour", "never"], &["--color"]);
    refused(&["--color", "nevr"], &["never"]);
    refused(&["--duration", "0"], &["longer than 0"]);
    refused(&["--duration", "soon"], &["30s"]);
    refused(&["--engine", "emulated:fast"], &["no rate", "emulated:2000:5"]);
    refused(&["--engine", "nul"], &["did you mean `null`?"]);
    refused(&["--max-pixels", "lots"], &["100M"]);
    refused(&["--fps", "100"], &["1..=60"]);
    refused(&["--sample-hz", "99"], &["1 to 50"]);
    refused(&["doctr"], &["`pipetop doctor`"]);
    refused(&["classify"], &["<IMG>"]);
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    refused(&["--headless", "--fps", "5"], &["--headless", "--fps"]);
    refused(&["--headless", "--no-mouse"], &["--no-mouse"]);
    refused(&["a/", "--synthetic", "5"], &["--synthetic"]);
    refused(&["a/", "--list", "b"], &["--list"]);
    refused(&["--config", "a", "--no-config"], &["--no-config"]);
    refused(&["--labels", "a"], &["--model"]);
    refused(&["--log-level", "info"], &["--log"]);
    refused(&["--engine", "null", "--model", "a.onnx"], &["--engine cpu"]);
    refused(&["--once", "--set", "source.cache=batches"], &["--once", "bytes"]);
}

#[test]
fn wrong_knobs_name_the_nearest() {
    refused(&["--set", "preprocess.thread=4"], &["did you mean `preprocess.threads`?"]);
    refused(&["--set", "infer.batch=9999"], &["1 to 512 images", "did you mean `512`?"]);
    refused(&["--set", "preprocess.filter=cubc"], &["did you mean `cubic`?"]);
    refused(&["--set", "infer.batch"], &["NAME=VALUE"]);
    refused(&["-t", "0"], &["1 to 64 threads"]);
    refused(&["-t", "2", "--set", "preprocess.threads=3"], &["given twice"]);
}

#[test]
fn a_wrong_config_file_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.toml");
    let path = path.to_str().unwrap();
    std::fs::write(path, "[preprocess]\nthread = 4\n").unwrap();
    refused(&["--config", path], &["p.toml:2:", "did you mean `preprocess.threads`?"]);
    std::fs::write(path, "[infer]\nbatch = 9999\n").unwrap();
    refused(&["--config", path], &["p.toml:2:", "1 to 512 images"]);
    std::fs::write(path, "[infer\n").unwrap();
    refused(&["--config", path], &["p.toml:1:", "no TOML"]);
    refused(&["--config", "/nowhere/p.toml"], &["cannot read the config file /nowhere/p.toml"]);
}

#[test]
fn the_config_file_of_the_usual_place_is_read() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("pipetop")).unwrap();
    std::fs::write(home.path().join("pipetop/config.toml"), "threads = 4\n").unwrap();
    let output = command(&["--headless"]).env("XDG_CONFIG_HOME", home.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("config.toml:1: no setting is named `threads`"));
    assert!(stderr(&output).contains("--no-config"), "the way out is named");
}

#[test]
fn doctor_finds_something_under_every_heading() {
    let output = pipetop(&["doctor"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let text = stdout(&output);
    for heading in ["CPU\n", "\ncores and memory\n", "\nmeasuring\n", "\nterminal\n", "\nGPU\n"] {
        assert!(text.contains(heading), "{heading:?} is not in:\n{text}");
    }
}

#[test]
fn doctor_speaks_json() {
    let output = pipetop(&["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "pipetop.doctor/1");
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.len() >= 10);
    for finding in findings {
        let status = finding["status"].as_str().unwrap();
        assert!(["ok", "note", "missing"].contains(&status), "{finding}");
        assert!(finding["found"].is_string() && finding["name"].is_string(), "{finding}");
    }
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let mut child =
        command(&["doctor"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The reader goes before anything is written or while it is: neither is an error.
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

/// The README's knob table is a copy of the program's: this keeps it one.
#[test]
fn the_readme_has_the_knobs_as_they_are() {
    use pipetop::pipeline::knobs::{KNOBS, KnobId, KnobValues};
    let readme = std::fs::read_to_string("README.md").unwrap();
    let defaults = KnobValues::defaults(1);
    for spec in KNOBS {
        let default = match spec.id {
            KnobId::PreprocessThreads | KnobId::InferThreads => "one a core".to_owned(),
            id => defaults.get(id).to_string(),
        };
        let row = format!("| `{}` | {} | {} | {default} |", spec.name, spec.help, spec.expects());
        assert!(readme.contains(&row), "this row is not in README.md:\n{row}");
    }
}

#[test]
fn classify_names_what_is_on_a_photo_and_what_failed() {
    let output = pipetop(&["classify", "--json", "tests/data/", "README.md"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let images = json["images"].as_array().unwrap();
    let photos = images.iter().filter(|image| image["top"].is_array()).count();
    assert!(photos >= 6, "{json}");
    let readme = images.iter().find(|image| image["name"] == "README.md").unwrap();
    assert_eq!(readme["error"]["reason"], "not-an-image");
}

#[test]
fn classify_refuses_what_is_not_there() {
    let output = pipetop(&["classify", "/nowhere/cat.jpg"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()));
    assert!(stderr(&output).starts_with("pipetop: /nowhere/cat.jpg: no such file"));
    let output = pipetop(&["classify", "--model", "/nowhere/m.onnx", "tests/data/"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("pipetop: /nowhere/m.onnx"), "{}", stderr(&output));
}
