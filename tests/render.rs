//! `pipetop render` as a person meets it, and that its pictures are the same on every machine.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use pipetop::record::cast::{Reader, Timed};
use pipetop::record::render::geometry::shapes;
use pipetop::record::render::{Fonts, Scheme, png, still};

const CHART: &str = "tests/data/casts/chart.cast";
const FILM: &str = "tests/data/casts/film.cast";

fn render(args: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pipetop"));
    command.arg("render").args(args).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built for this test");
    // A command that refuses its arguments reads nothing.
    let _ = child.stdin.take().expect("it is a pipe").write_all(input);
    child.wait_with_output().expect("it ends")
}

#[track_caller]
fn refused(args: &[&str], input: &[u8], code: i32, says: &str) {
    let output = render(args, input);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {message}");
    assert!(output.stdout.is_empty());
    assert!(message.contains(says), "{args:?}: {says:?} is not in:\n{message}");
}

/// Renders into a folder; the file's bytes, and what was said of it.
fn made(folder: &Path, name: &str, args: &[&str]) -> (Vec<u8>, String) {
    let path = folder.join(name);
    let path = path.to_str().expect("the folder's name is UTF-8");
    let output = render(&[&[args[0], path], &args[1..]].concat(), b"");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    (std::fs::read(path).expect("it was written"), said)
}

#[test]
fn a_cast_becomes_what_the_files_name_says() {
    let folder = tempfile::tempdir().unwrap();
    let (gif, said) = made(folder.path(), "a.gif", &[FILM, "--last-frame", "0"]);
    assert!(gif.starts_with(b"GIF89a"));
    assert!(said.contains("a.gif: a film of 40×6 cells, 11 frames, 5.0 s, "), "{said}");
    let (png, said) = made(folder.path(), "a.png", &[FILM, "--at", "second half"]);
    assert!(png.starts_with(b"\x89PNG") && said.contains("a still of 40×6 cells"), "{said}");
    let (film, _) = made(folder.path(), "a.svg", &[FILM, "--from", "1", "--to", "second half"]);
    let film = String::from_utf8(film).unwrap();
    assert!(film.contains("@keyframes") && film.contains("<title>A film of a bar</title>"));
    let (svg, _) = made(folder.path(), "b.svg", &[FILM, "--still", "--theme", "light"]);
    let svg = String::from_utf8(svg).unwrap();
    assert!(!svg.contains("@keyframes") && svg.contains("fill=\"#ffffff\""));
    let (text, _) = made(folder.path(), "a.TXT", &[FILM, "--at", "1.2"]);
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.lines().nth(2), Some("│ ██                                   │"));
    for name in ["a.gif", "a.svg"] {
        let args = if name == "a.gif" { vec![FILM, "--last-frame", "0"] } else { vec![FILM] };
        let first = made(folder.path(), name, &args).0;
        assert!(first == made(folder.path(), name, &args).0, "{name} is not the same twice");
    }
}

#[test]
fn what_cannot_be_done_is_said_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (gif, png, svg) = (out("a.gif"), out("a.png"), out("a.svg"));
    refused(&[CHART, "film.mp4"], b"", 2, "must end in .gif, .svg, .png or .txt");
    refused(&["missing.cast", &gif], b"", 1, "cannot read missing.cast: ");
    refused(&[CHART, &gif, "--at", "1"], b"", 2, "--at makes a still, and a .gif is a film");
    refused(&[CHART, &png, "--fps", "10"], b"", 2, "--fps is for films");
    refused(&[CHART, &svg, "--fps", "0"], b"", 2, "1 to 50 frames");
    refused(&[FILM, &gif, "--from", "half"], b"", 2, "it has \"second half\"");
    refused(&[FILM, &gif, "--from", "4", "--to", "2"], b"", 2, "nothing is left between 4s and 2s");
    let head = b"{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n".as_slice();
    let cast = |lines: &[u8]| [head, lines].concat();
    refused(&["-", &gif], b"GIF89a", 1, "stdin: line 1: no asciicast");
    refused(&["-", &gif], &cast(b"[0,\"o\",\"a\"]\n[1,\"o\"]\n"), 1, "stdin: line 3: no event");
    refused(&["-", &gif], &cast(b"[0,\"i\",\"a\"]\n"), 1, "stdin: nothing is shown in it");
    let large = b"{\"version\":2,\"width\":1001,\"height\":24}\n[0,\"o\",\"a\"]\n";
    refused(&["-", &gif], large, 1, "1001×24 is too large");
    let large = b"{\"version\":2,\"width\":1000,\"height\":1000}\n[0,\"o\",\"a\"]\n";
    refused(&["-", &png], large, 1, "a smaller --font-size");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is half written");
    // What a kill left of a recording is rendered all the same.
    let output = render(&["-", &png], &cast(b"[0,\"o\",\"a\"]\n[1,\"o\",\"b"));
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("stdin: line 3, the last one, is cut off: left out"), "{said}");
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn every_pixel_is_the_same_on_every_machine() {
    let file = std::fs::read(CHART).unwrap();
    let reader = Reader::new(file.as_slice()).unwrap();
    let header = reader.header().clone();
    let events: Vec<Timed> = reader.map(Result::unwrap).collect();
    let grid = still(&header, &events, None).unwrap();
    // A change here is a change of what people see: look at the chart before taking it over.
    for (size, scheme, expected) in [
        (15.0, Scheme::dark(), 0x88d0_2b88_9ec0_9d87),
        (30.0, Scheme::light(), 0x87cf_6195_5e47_117e),
        (13.0, Scheme::xterm(), 0x8ba5_f787_f491_b654),
    ] {
        let canvas = png::draw(&grid, &scheme, &Fonts::new(size));
        let found = hash(canvas.pixels.as_flattened());
        assert_eq!(found, expected, "{size}: {found:#x}");
    }
}

#[test]
fn the_dashboard_has_no_character_that_the_fonts_lack() {
    let mut chars = BTreeSet::new();
    for entry in std::fs::read_dir("tests/frames/snapshots").unwrap() {
        chars.extend(std::fs::read_to_string(entry.unwrap().path()).unwrap().chars());
    }
    // Names of images in other scripts are boxes in a picture, as in a terminal without their fonts.
    chars.retain(|&c| !matches!(c, '\n' | '\u{fffd}' | '\u{3040}'..='\u{9fff}'));
    assert!(chars.len() > 150, "{}", chars.len());
    let fonts = Fonts::new(15.0);
    for c in chars {
        let drawn = shapes(c, fonts.cell).is_some() || fonts.face(c, false).is_some();
        assert!(drawn, "{c} ({:x})", c as u32);
    }
}
