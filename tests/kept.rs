//! The binary saves, replays and records.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Work that leaves the machine to the other tests.
const LIGHT: [&str; 9] =
    ["--engine", "emulated:400", "-t", "1", "-r", "60", "--synthetic", "8", "--no-config"];

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pipetop"));
    command.args(args).stdin(Stdio::null()).env("XDG_CONFIG_HOME", "/nowhere");
    command
}

fn pipetop(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn fine(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }
}

/// The report of a replay is the run's own, but for its label.
#[test]
fn a_replay_reports_what_the_run_reported() {
    let folder = Folder::new();
    let (saved, live) = (folder.path("run.pipetop"), folder.path("live.json"));
    let kept = ["--headless", "--duration", "3s", "--save", &saved, "--json", &live];
    let output = pipetop(&[&LIGHT[..], &kept].concat());
    let live_text = fine(&output);
    assert!(text(&output.stderr).contains("pipetop replay"), "it says how to replay");
    let again = folder.path("again.json");
    let replayed = fine(&pipetop(&["replay", &saved, "--headless", "--json", &again]));
    let unlabelled = |report: &str| {
        let mut report: Value = serde_json::from_str(report).unwrap();
        let labels = report["labels"].as_array_mut().unwrap();
        let recorded = labels.iter().any(|word| word == "recorded");
        labels.retain(|word| word != "recorded");
        report["labelled"].as_array_mut().unwrap().retain(|label| label["word"] != "recorded");
        (report, recorded)
    };
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let ((live, before), (again, after)) = (unlabelled(&read(&live)), unlabelled(&read(&again)));
    assert!(!before && after, "only the replay is recorded");
    assert_eq!(live, again);
    assert_eq!(replayed.replacen("RECORDED: run\n", "", 1), live_text);
    // On stdout, alone.
    let alone = fine(&pipetop(&["replay", &saved, "--json", "-"]));
    assert_eq!(unlabelled(&alone).0, live);
    let early = fine(&pipetop(&["replay", &saved, "--json", "-", "--at", "1.5s"]));
    let early: Value = serde_json::from_str(&early).unwrap();
    let seconds = early["duration_s"].as_f64().unwrap();
    assert!((1.3..=1.5).contains(&seconds), "{seconds}");
}

/// Waits until a file has that many bytes.
fn wait_for(path: &Path, bytes: u64) {
    let start = Instant::now();
    while std::fs::metadata(path).map_or(0, |file| file.len()) < bytes {
        assert!(start.elapsed() < Duration::from_secs(30), "{} stays short", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_run_can_be_replayed_and_its_cast_is_whole() {
    let folder = Folder::new();
    let (saved, cast) = (folder.path("run.pipetop"), folder.path("run.cast"));
    let kept = ["--duration", "60s", "--save", &saved, "--record", &cast, "--screen", "80x24"];
    let mut run = command(&[&LIGHT[..], &kept].concat());
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for(&PathBuf::from(&saved), 9000);
    // SIGKILL.
    run.kill().unwrap();
    run.wait().unwrap();
    let output = pipetop(&["replay", &saved, "--headless"]);
    assert!(fine(&output).contains("img/s"));
    let notices = text(&output.stderr);
    assert!(notices.contains("was killed"), "{notices}");
    let lines = std::fs::read_to_string(&cast).unwrap();
    assert!(lines.ends_with('\n'), "each event is out before the next");
    for line in lines.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    assert!(lines.lines().count() > 5);
}

#[test]
fn a_script_drives_a_run_without_a_terminal() {
    let folder = Folder::new();
    let (script, cast) = (folder.path("s.toml"), folder.path("s.cast"));
    let steps = "[[step]]\nwhen = 'running'\ntimeout = 30\ncaption = 'on {engine}'\nwait = 0.3\n\
                 [[step]]\nset = 'preprocess.threads=2'\nwait = 0.5\n[[step]]\nend = true\n";
    std::fs::write(&script, steps).unwrap();
    let args = ["--script", &script, "--record", &cast, "--screen", "100x30"];
    let output = pipetop(&[&LIGHT[..], &args].concat());
    assert!(fine(&output).contains("img/s"));
    let cast = std::fs::read_to_string(&cast).unwrap();
    let marker = |label: &str| cast.contains(&format!("\"m\", \"{label}\"]"));
    assert!(marker("on emulated 400 img/s") && marker("preprocess.threads 1 → 2"), "{cast:.300}");
    assert!(cast.contains("38;5;"), "in colour, whatever stdout is");

    std::fs::write(&script, "\n[[step]]\nkye = 'q'\n").unwrap();
    let output = pipetop(&[&LIGHT[..], &args].concat());
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("s.toml:3: a step has no `kye`"), "{message}");
}

#[test]
fn what_cannot_be_kept_is_refused_before_the_run() {
    let folder = Folder::new();
    let nowhere = folder.path("no/such/folder/x");
    for (args, code, part) in [
        (&["--headless", "--save", nowhere.as_str()][..], 1, "cannot be saved"),
        (&["--record", &nowhere, "--screen", "80x24"], 1, "name another file with --record"),
        (&["--record", "x.cast"], 2, "--screen 100x30"),
        (&["--headless", "--script", "x.toml"], 2, "--script is for the dashboard"),
        (&["--headless", "--duration", "1s", "--save", "/dev/full"], 1, "cannot be saved"),
        (&["replay", &nowhere], 1, "cannot be read"),
        (&["replay", env!("CARGO_MANIFEST_DIR")], 1, "not a saved run"),
        (
            &["replay", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), "--headless"],
            1,
            "not a saved run",
        ),
    ] {
        let output = pipetop(args);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {message}");
        assert!(message.contains(part), "{args:?}: {message}");
    }
}
