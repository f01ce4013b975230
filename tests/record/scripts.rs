//! Scripted replays without a terminal: the same twice, and what the script asked for.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use pipetop::pipeline::knobs::{Command, KnobError};
use pipetop::tui::reel::ReelOptions;
use pipetop::tui::script::Script;
use pipetop::tui::{ColorChoice, Exit, Feed, Left, Options, TuiError, run_unseen};
use serde_json::Value;

use crate::saved::Saved;
use crate::scenario;

const SIZE: (u16, u16) = (100, 30);

fn script(text: &str) -> Script {
    Script::parse(text, Path::new("demo.toml"), true).unwrap()
}

fn refuse(_: Command) -> Result<(), KnobError> {
    panic!("nothing is asked of a replay")
}

/// Records a replay, and gives back the cast's text.
fn recorded(saved: &Saved, name: &str, version: u8, script: Option<Script>) -> (String, Left) {
    let path = saved.folder.path().join(name);
    let options = Options {
        fps: 10.0,
        color: ColorChoice::Auto,
        reel: ReelOptions { path: Some(path.clone()), version, title: None, dated: false },
        script,
        ..Options::default()
    };
    let feed = Feed::Replay(Box::new(saved.player(1.0, false)));
    let left = run_unseen(options, SIZE, feed, &refuse, &AtomicBool::new(false));
    (std::fs::read_to_string(path).unwrap(), left)
}

fn events(cast: &str) -> Vec<(f64, String, String)> {
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        let text = |index: usize| event[index].as_str().unwrap().to_owned();
        (event[0].as_f64().unwrap(), text(1), text(2))
    };
    cast.lines().skip(1).map(event).collect()
}

const TOUR: &str = "
[[step]]
when = 'limit preprocess'
caption = 'Preprocess limits'
wait = 2
[[step]]
screen = 'threads'
[[step]]
at = 26
screen = 'overview'
caption = 'Two threads now'
key = ['w', 'w']
[[step]]
when = 'throughput steady'
caption = ''
wait = 1
[[step]]
end = true
";

#[test]
fn a_scripted_replay_comes_out_twice_the_same_and_in_no_time() {
    let saved = Saved::new(&scenario::preprocess_limited().snapshots());
    for version in [2, 3] {
        let (first, left) = recorded(&saved, "a.cast", version, Some(script(TOUR)));
        assert!(matches!(left.exit, Ok(Exit::Quit)), "{left:?}");
        let (second, _) = recorded(&saved, "b.cast", version, Some(script(TOUR)));
        assert!(first == second, "version {version} differs");
        assert!(first.starts_with(&format!("{{\"version\":{version},")), "{first:.99}");
    }
}

#[test]
fn markers_stand_where_captions_appear_and_knobs_were_turned() {
    let saved = Saved::new(&scenario::preprocess_limited().snapshots());
    let (cast, _) = recorded(&saved, "a.cast", 3, Some(script(TOUR)));
    let mut at = 0.0;
    let mut markers = Vec::new();
    for (after, code, data) in events(&cast) {
        at += after;
        if code == "m" {
            markers.push((at, data));
        }
    }
    let labels: Vec<_> = markers.iter().map(|(_, label)| label.as_str()).collect();
    assert_eq!(labels, ["Preprocess limits", "preprocess.threads 1 → 2", "Two threads now"]);
    assert!((markers[1].0 - 24.0).abs() < 0.4, "{markers:?}");
    assert!((markers[2].0 - 26.0).abs() < 0.2, "{markers:?}");
}

#[test]
fn without_a_script_a_recording_ends_with_the_run() {
    let saved = Saved::new(&scenario::starting().snapshots());
    let (cast, left) = recorded(&saved, "a.cast", 3, None);
    assert!(matches!(left.exit, Ok(Exit::Done)), "{left:?}");
    assert!(left.told[0].contains("a.cast"), "{:?}", left.told);
    assert_eq!(events(&cast).last().unwrap().1, "x");
    assert!(cast.contains("recorded"));
}

#[test]
fn a_condition_that_never_comes_to_be_ends_the_recording_and_names_its_line() {
    let saved = Saved::new(&scenario::preprocess_limited().snapshots());
    let never = script("[[step]]\nwhen = 'limit infer'\ntimeout = 3\ncaption = 'infer limits'\n");
    let (cast, left) = recorded(&saved, "a.cast", 3, Some(never));
    assert!(matches!(left.exit, Err(TuiError::Script(_))), "{left:?}");
    assert!(left.exit.unwrap_err().to_string().starts_with("demo.toml:2: `limit infer`"));
    assert!(!cast.contains("infer limits"), "no caption says what is not so");
    assert_eq!(events(&cast).last().unwrap().1, "x", "what was recorded is whole");
}
