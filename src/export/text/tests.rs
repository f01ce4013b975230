use unicode_width::UnicodeWidthStr;

use super::*;
use crate::export::report::Report;
use crate::export::sample::SampleRun;

fn report() -> Report {
    let run = SampleRun::new();
    Report::new(&run.warm, &run.end, &run.done)
}

#[test]
fn the_text_of_a_run() {
    insta::assert_snapshot!(render(&report(), Style::default()));
}

#[test]
fn the_text_of_a_run_in_ascii() {
    let text = render(&report(), Style { ascii: true });
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut report = report();
    report.input.name = "a-very-long-folder-name/".repeat(9);
    report.items.failed_items[0].name = "写真".repeat(60);
    report.threads[0].name = "a-thread-with-a-long-name".into();
    report.host.cpu_name = Some("A CPU whose maker had a lot to say about it in its name".into());
    for line in render(&report, Style::default()).lines() {
        assert!(line.width() <= WIDTH, "{} columns: {line}", line.width());
    }
}

#[test]
fn the_first_words_say_what_is_not_real() {
    let text = render(&report(), Style::default());
    assert!(text.starts_with("SYNTHETIC: input\nEMULATED: engine\n"), "{text}");
}

#[test]
fn a_lock_that_holds_the_limiting_stage_up_is_named() {
    let mut report = report();
    assert!(!render(&report, Style::default()).contains("wait for the lock"));
    report.limit_lock = Some("gil".into());
    let text = render(&report, Style::default());
    // However the line is broken.
    let words: Vec<_> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("its threads wait for the lock `gil` (emulated)"), "{text}");
}

#[test]
fn missing_figures_are_dashes() {
    let run = SampleRun::new();
    let report = Report::new(&run.end, &run.end, &run.done);
    let text = render(&report, Style::default());
    assert!(text.contains("— img/s   latency p50 —"), "{text}");
    assert!(text.contains("too little was measured"), "{text}");
}

#[test]
fn a_bar_has_all_its_cells_whatever_the_shares() {
    for part in 0..=20 {
        let running = f64::from(part) / 20.0;
        let share = ShareReport { running, starved: 1.0 - running, ..ShareReport::default() };
        assert_eq!(bar(&share, false).chars().count(), BAR);
    }
    let thirds = ShareReport {
        running: 1.0 / 3.0,
        lock: 1.0 / 3.0,
        other: 1.0 / 3.0,
        ..ShareReport::default()
    };
    assert_eq!(
        bar(&thirds, true),
        format!("{}{}{}", "#".repeat(10), "x".repeat(10), "?".repeat(10))
    );
}

/// Who looks up from the report to the last frame above it must not have to learn other signs.
#[test]
fn a_bar_is_drawn_with_the_signs_of_the_screen() {
    use crate::probe::state::Wait;
    use crate::tui::ColorChoice;
    use crate::tui::theme::{State, Theme};
    for ascii in [false, true] {
        let theme = Theme::new(ColorChoice::Never, ascii);
        let screen = [
            State::Running,
            State::Runnable,
            State::Wait(Wait::Lock),
            State::Wait(Wait::Gpu),
            State::Wait(Wait::Io),
            State::Wait(Wait::Backpressured),
            State::Wait(Wait::Starved),
            State::Wait(Wait::Parked),
            State::Other,
        ];
        for ((glyph, name, _), state) in glyphs(ascii).into_iter().zip(screen) {
            assert_eq!(glyph.to_string(), theme.glyph(state), "{name}");
        }
    }
}
