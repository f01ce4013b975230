//! `pipetop bench preprocess` as a script meets it: its figures add up, whatever the speed, and bad input is named.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn bench(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pipetop"));
    command.args(["bench", "preprocess"]).args(args).stdin(Stdio::null());
    command.env("XDG_CONFIG_HOME", "/nowhere").output().expect("the binary was built for this test")
}

fn photo(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("pipetop writes UTF-8")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

const STEPS: [&str; 3] = ["decode_us", "resize_us", "normalise_us"];
const FIGURES: [&str; 5] = ["img_s", "decode_us", "resize_us", "normalise_us", "total_us"];

#[test]
fn the_figures_add_up() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["canyon-wren_1.jpg", "tea-gardens_3.jpg"] {
        std::fs::copy(photo(name), folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("broken.jpg"), "no image at all").unwrap();
    let path = folder.path().to_str().unwrap();
    let args =
        ["--seconds", "0.05", "--threads", "2", "--geometry", "squash64", "--json", "-", path];
    let output = bench(&args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("broken.jpg: ") && !said.contains("canyon-wren"), "{said}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "pipetop.bench.preprocess/1");
    assert_eq!((&json["geometry"], &json["filter"]), (&"squash64".into(), &"cubic".into()));
    assert_eq!(
        (&json["files"], &json["failed"], &json["threads"]),
        (&2.into(), &1.into(), &2.into())
    );
    let sizes =
        ["canyon-wren_1.jpg", "tea-gardens_3.jpg"].map(|n| photo(n).metadata().unwrap().len());
    assert_eq!(json["bytes"], sizes.iter().sum::<u64>());
    let variants = json["variants"].as_array().unwrap();
    let names: Vec<_> = variants.iter().map(|variant| variant["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["conventional", "conventional-u8", "scaled", "scaled-u8", "zune"]);
    for variant in variants {
        let rounds = variant["rounds"].as_array().unwrap();
        assert!(!rounds.is_empty());
        assert_eq!(
            rounds.len(),
            variants[0]["rounds"].as_array().unwrap().len(),
            "they take turns"
        );
        let figure = |of: &serde_json::Value, key: &str| of[key].as_f64().unwrap();
        for round in rounds {
            // Each step ends where the next begins.
            let sum: f64 = STEPS.iter().map(|key| figure(round, key)).sum();
            assert!((sum - figure(round, "total_us")).abs() < 0.01, "{round}");
            assert!(STEPS.iter().all(|key| figure(round, key) >= 0.0), "{round}");
            assert!(figure(round, "img_s") > 0.0 && figure(round, "total_us") > 0.0, "{round}");
        }
        for key in FIGURES {
            let all: Vec<f64> = rounds.iter().map(|round| figure(round, key)).collect();
            let [low, high] = [0, 1].map(|side| variant["spread"][key][side].as_f64().unwrap());
            let middle = figure(variant, key);
            assert!((middle - median(all.clone())).abs() < 1e-6, "{key} of {variant}");
            assert!(low <= middle && middle <= high, "{key} of {variant}");
            let beyond = |past: &dyn Fn(f64) -> bool| all.iter().filter(|&&v| past(v)).count();
            let (below, above) = (beyond(&|v| v < low), beyond(&|v| v > high));
            // A quarter on each side, or a part of a value more where few rounds are cut into quarters.
            assert!(4 * below <= all.len() + 3 && 4 * above <= all.len() + 3, "{key} of {variant}");
        }
        for key in STEPS {
            assert!(figure(&variant["wall"], key) >= 0.0);
        }
    }
}

#[test]
fn a_table_for_people_and_one_variant_alone() {
    let wren = photo("canyon-wren_1.jpg");
    let args = ["--seconds", "0.01", "--variant", "scaled-u8", "--filter", "cubic-cv"];
    let output = bench(&[&args[..], &[wren.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    assert!(
        lines[0].contains("1 images of ") && lines[0].contains("short256-crop224, cubic-cv filter")
    );
    assert!(lines[2].starts_with("scaled-u8 "), "{table}");
    let json = tempfile::tempdir().unwrap().path().join("no such folder/a.json");
    let output =
        bench(&["--seconds", "0.01", "--json", json.to_str().unwrap(), wren.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot write to "), "{}", text(&output.stderr));
}

#[test]
fn bad_input_is_named_and_the_exit_code_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes.txt");
    std::fs::write(folder.path().join("a.jpg"), "no image").unwrap();
    std::fs::write(folder.path().join("b.png"), "neither").unwrap();
    std::fs::write(&notes, "").unwrap();
    let empty = tempfile::tempdir().unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    for (args, code, says) in [
        (vec!["/nowhere/at/all".to_owned()], 1, "/nowhere/at/all: no such file"),
        (vec![path(empty.path())], 1, ""),
        (vec![path(folder.path())], 1, "none of 3 files can be decoded"),
        (vec![], 2, "PATH"),
        (vec!["--threads".into(), "0".into(), ".".into()], 2, "1 to 1024 threads"),
        (vec!["--seconds".into(), "0".into(), ".".into()], 2, "above 0"),
        (vec!["--geometry".into(), "round7".into(), ".".into()], 2, "as in squash224"),
        (vec!["--filter".into(), "sharp".into(), ".".into()], 2, "cubic-cv"),
        (vec!["--variant".into(), "fast".into(), ".".into()], 2, "conventional"),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = bench(&args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(says) && !said.is_empty(), "{args:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
    }
}
