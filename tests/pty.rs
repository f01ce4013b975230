//! The binary in a real pseudo-terminal, seen as a terminal shows it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "pty/terminal.rs"]
mod terminal;

use std::process::Command;

use terminal::{Terminal, knob_row};
use vt100::{MouseProtocolMode, Screen};

/// Work that leaves the machine to the other tests.
const LIGHT: &[&str] =
    &["--engine", "null", "-t", "1", "-r", "40", "--synthetic", "8", "--no-config"];
const LARGE: (u16, u16) = (120, 36);

fn dashboard(screen: &Screen) -> bool {
    let text = screen.contents();
    screen.alternate_screen() && text.contains("╭ pipeline") && text.contains("q quit")
}

/// That the terminal is as it was, and the report stands where the person can read it.
#[track_caller]
fn left_whole(terminal: &mut Terminal, labels: &[&str]) {
    let status = terminal.exit();
    terminal.look(|screen| {
        assert!(!screen.alternate_screen(), "the alternate screen is still there");
        assert!(!screen.hide_cursor(), "the cursor is still hidden");
        assert!(!screen.bracketed_paste(), "pastes are still bracketed");
        assert_eq!(screen.mouse_protocol_mode(), MouseProtocolMode::None);
    });
    assert!(terminal.cooked(), "the terminal's mode is not what it was");
    let report = terminal.after_screen();
    assert!(status.success(), "{status:?}\n{report}");
    for part in ["img/s", "limit"].iter().chain(labels) {
        assert!(report.contains(part), "{part:?} is not in the report:\n{report}");
    }
}

#[test]
fn a_person_sees_the_limit_turns_the_knob_and_quits() {
    let args = &["--engine", "emulated:2000", "-t", "1", "--synthetic", "8", "--no-config"];
    let mut terminal = Terminal::pipetop(LARGE, args);
    terminal.wait("the limit and a throughput", |screen| {
        let text = screen.contents();
        dashboard(screen) && text.contains("preprocess limits") && text.contains(" img/s")
    });
    assert!(!terminal.cooked(), "keys would wait for Enter");
    terminal.look(|screen| {
        assert!(screen.hide_cursor() && screen.bracketed_paste());
        assert_ne!(screen.mouse_protocol_mode(), MouseProtocolMode::None);
        let row = knob_row(screen, "preprocess.threads").unwrap().1;
        assert!(row.contains("1 thread"), "{row}");
    });
    terminal.send("\x1b[C");
    terminal.wait("2 threads after →", |screen| knob_says(screen, "preprocess.threads", "2 thr"));
    terminal.send("+");
    terminal.wait("3 threads after +", |screen| knob_says(screen, "preprocess.threads", "3 thr"));
    terminal.send("-");
    terminal.wait("2 threads after -", |screen| knob_says(screen, "preprocess.threads", "2 thr"));
    terminal.send("q");
    left_whole(&mut terminal, &["synthetic", "emulated"]);
}

fn knob_says(screen: &Screen, name: &str, value: &str) -> bool {
    knob_row(screen, name).is_some_and(|(_, row)| row.contains(value))
}

#[test]
fn ctrl_c_leaves_as_q_does() {
    let mut terminal = Terminal::pipetop(LARGE, LIGHT);
    terminal.wait("the dashboard", dashboard);
    terminal.send("\x03");
    left_whole(&mut terminal, &["synthetic"]);
}

#[test]
fn sigterm_leaves_as_q_does() {
    let mut terminal = Terminal::pipetop(LARGE, LIGHT);
    terminal.wait("the dashboard", dashboard);
    let kill = format!("kill -TERM {}", terminal.pid());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    left_whole(&mut terminal, &["synthetic"]);
}

#[test]
fn a_recording_is_told_follows_the_size_and_ends_with_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let cast = folder.path().join("a.cast");
    let record = ["--record", cast.to_str().unwrap()];
    let mut terminal = Terminal::pipetop(LARGE, &[LIGHT, &record].concat());
    terminal.wait("the dashboard", |screen| {
        dashboard(screen) && screen.contents().contains("● REC 00:0")
    });
    terminal.send("\x1b[C");
    terminal.wait("2 threads", |screen| knob_says(screen, "preprocess.threads", "2 thr"));
    terminal.resize((104, 30));
    terminal.wait("a smaller one", |screen| line(screen, 29).contains("q quit"));
    // A key that comes together with the signal of a new size may be read late.
    std::thread::sleep(std::time::Duration::from_millis(300));
    terminal.send("r");
    terminal.wait("the end of the recording", |screen| {
        let text = screen.contents();
        text.contains("recorded ") && !text.contains("● REC")
    });
    terminal.send("q");
    left_whole(&mut terminal, &["synthetic"]);
    let cast = std::fs::read_to_string(cast).unwrap();
    for part in [
        "\"cols\":120,\"rows\":36",
        "\"r\", \"104x30\"",
        "preprocess.threads 1 → 2",
        "\"x\", \"0\"",
    ] {
        assert!(cast.contains(part), "{part}");
    }
}

#[test]
fn each_size_is_drawn_anew() {
    let mut terminal = Terminal::pipetop(LARGE, LIGHT);
    terminal.wait("the dashboard", dashboard);
    let at_home = |screen: &Screen| dashboard(screen) && line(screen, 35).contains("q quit");
    let compact = |screen: &Screen| {
        line(screen, 0).starts_with(" pipetop ")
            && line(screen, 23).contains("q quit")
            && !screen.contents().contains('╭')
    };
    let message = |screen: &Screen| screen.contents().trim() == "pipetop needs 60×16, has 50×10";
    terminal.resize((80, 24));
    terminal.wait("a compact dashboard", compact);
    terminal.resize((50, 10));
    terminal.wait("one line, nothing else", message);
    terminal.resize((80, 24));
    terminal.wait("a compact dashboard again", compact);
    terminal.resize(LARGE);
    terminal.wait("the whole dashboard", at_home);
    terminal.send("q");
    left_whole(&mut terminal, &["synthetic"]);
}

#[test]
fn a_sweep_fills_its_chart_and_esc_keeps_what_was_measured() {
    let args = ["sweep", "--over", "preprocess.threads=1..64", "--synthetic", "8", "--no-config"];
    let limits = ["--limit", "0.3s", "--ci", "50"];
    let mut terminal = Terminal::pipetop(LARGE, &[&args[..], &limits].concat());
    terminal.wait("the chart with a point", |screen| {
        let text = screen.contents();
        let measured =
            ["1 of 64, ", "2 of 64, ", "3 of 64, "].iter().any(|done| text.contains(done));
        text.contains("throughput by preprocess.threads") && measured && text.contains("Esc end")
    });
    terminal.send("3");
    terminal.wait("the locks meanwhile", |screen| screen.contents().contains("contended"));
    terminal.send("1\x1b[C");
    terminal.wait("that its knobs are not for turning", |screen| {
        screen.contents().contains("the sweep turns the knobs")
    });
    terminal.send("5");
    terminal.wait("the chart again", |screen| screen.contents().contains("Esc end"));
    terminal.send("\x1b");
    let status = terminal.exit();
    terminal
        .look(|screen| assert!(!screen.alternate_screen(), "the alternate screen is still there"));
    let left = terminal.after_screen();
    assert!(status.success(), "{status:?}\n{left}");
    assert!(left.contains("INTERRUPTED: ") && left.contains("img/s"), "{left}");
}

fn line(screen: &Screen, row: u16) -> String {
    let columns = screen.size().1.get();
    screen.rows(0, columns).nth(usize::from(row)).unwrap_or_default()
}

#[test]
fn a_click_on_a_gauge_sets_its_knob() {
    let mut terminal = Terminal::pipetop(LARGE, LIGHT);
    terminal.wait("the dashboard", |screen| {
        dashboard(screen) && knob_says(screen, "queue.loaded", "64 images")
    });
    let (row, text) = terminal.look(|screen| knob_row(screen, "queue.loaded").unwrap());
    let first = text.chars().position(|c| "━●─".contains(c)).unwrap();
    // The protocol counts from one.
    let (x, y) = (first + 1, row + 1);
    terminal.send(&format!("\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m"));
    terminal.wait("the gauge's lower end", |screen| {
        knob_says(screen, "▸ queue.loaded", "1 image") && !knob_says(screen, "queue.loaded", "64")
    });
    terminal.send("q");
    left_whole(&mut terminal, &["synthetic"]);
}

#[test]
fn a_hang_up_ends_the_run() {
    let mut terminal = Terminal::pipetop(LARGE, LIGHT);
    terminal.wait("the dashboard", dashboard);
    terminal.hang_up();
    let status = terminal.exit();
    assert!(status.signal().is_none(), "it was killed: {status:?}");
}

#[test]
fn ctrl_z_in_a_shell_comes_back_whole() {
    if Command::new("bash").arg("--version").output().is_err() {
        eprintln!("skipped: no bash");
        return;
    }
    let mut terminal = Terminal::start(LARGE, "bash", &["--norc", "--noprofile", "-i"]);
    terminal.wait("a prompt", |screen| screen.contents().contains("ready>"));
    let command = format!("'{}' {}\n", env!("CARGO_BIN_EXE_pipetop"), LIGHT.join(" "));
    terminal.send(&command);
    terminal.wait("the dashboard", dashboard);
    terminal.send("\x1a");
    terminal.wait("the shell", |screen| {
        let text = screen.contents();
        !screen.alternate_screen()
            && text.contains("Stopped")
            && text.trim_end().ends_with("ready>")
    });
    terminal.look(|screen| {
        assert!(!screen.hide_cursor(), "the cursor is still hidden");
        assert_eq!(screen.mouse_protocol_mode(), MouseProtocolMode::None);
    });
    terminal.send("fg\n");
    terminal.wait("the dashboard again", |screen| {
        dashboard(screen)
            && screen.hide_cursor()
            && screen.bracketed_paste()
            && screen.mouse_protocol_mode() != MouseProtocolMode::None
    });
    terminal.send("\x1b[C");
    terminal.wait("a key's effect", |screen| knob_says(screen, "preprocess.threads", "2 thr"));
    terminal.send("q");
    terminal.wait("the report and the shell", |screen| {
        let text = screen.contents();
        !screen.alternate_screen()
            && !screen.hide_cursor()
            && text.contains("knobs at the stop")
            && text.trim_end().ends_with("ready>")
    });
    terminal.send("exit\n");
    assert!(terminal.exit().success());
    let report = terminal.after_screen();
    assert!(report.contains("limit") && report.contains("synthetic"), "{report}");
}
