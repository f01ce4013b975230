//! Frames of both screens, the help, the value field, the pause and the rest, with their styles.

use std::sync::Arc;

use insta::assert_snapshot;
use pipetop::tui::ColorChoice;
use pipetop::tui::theme::Theme;
use ratatui::crossterm::event::KeyCode;

use crate::frame::{draw, styled, text};
use crate::{Driver, scenario};

pub(crate) const SIZES: [(u16, u16); 4] = [(60, 16), (80, 24), (120, 36), (200, 60)];

fn rich() -> Theme {
    Theme::new(ColorChoice::Indexed, false)
}

pub(crate) fn look(name: &str, driver: &Driver) {
    let (columns, rows) = driver.size;
    let name = format!("{name}_{columns}x{rows}");
    assert_snapshot!(name, styled(&draw(&driver.app, &rich(), driver.size)));
}

#[test]
fn the_overview_says_how_fast_what_limits_and_what_to_turn() {
    let snapshots = scenario::preprocess_limited().snapshots();
    for size in SIZES {
        look("overview", &Driver::new(size, &snapshots));
    }
}

#[test]
fn the_cpu_engine_is_named_as_the_limit_and_the_cpu_behind_it() {
    let driver = Driver::new((80, 24), &scenario::infer_limited().snapshots());
    look("infer_limited", &driver);
    let shown = text(&draw(&driver.app, &rich(), driver.size));
    assert!(shown.contains("infer limits"), "{shown}");
    assert!(shown.contains("the CPU is the limit"), "{shown}");
}

#[test]
fn the_threads_screen_shows_where_the_time_goes() {
    let snapshots = scenario::infer_limited().snapshots();
    for size in SIZES {
        let mut driver = Driver::new(size, &snapshots);
        driver.key(KeyCode::Char('2'));
        look("threads", &driver);
    }
}

#[test]
fn many_threads_are_told_by_stage_and_can_be_scrolled() {
    let mut driver = Driver::new((120, 36), &scenario::many_threads(64).snapshots());
    look("many_threads_overview", &driver);
    driver.key(KeyCode::Char('2'));
    driver.key(KeyCode::PageDown);
    look("many_threads", &driver);
}

#[test]
fn failures_are_counted_by_reason_and_named() {
    let snapshots = scenario::with_failures().snapshots();
    for size in [(80, 24), (120, 36), (200, 60)] {
        look("failures", &Driver::new(size, &snapshots));
    }
}

#[test]
fn what_is_missing_is_a_dash() {
    let snapshots = scenario::missing_values();
    let mut driver = Driver::new((120, 36), &snapshots);
    look("missing", &driver);
    driver.key(KeyCode::Char('2'));
    look("missing_threads", &driver);
}

#[test]
fn the_help_lists_the_keys_and_the_states() {
    let snapshots = scenario::preprocess_limited().snapshots();
    for size in [(60, 16), (80, 24), (120, 36)] {
        let mut driver = Driver::new(size, &snapshots);
        driver.key(KeyCode::Char('?'));
        look("help", &driver);
    }
}

#[test]
fn a_wrong_value_is_told_in_the_field() {
    let snapshots = scenario::preprocess_limited().snapshots();
    for size in [(60, 16), (80, 24)] {
        let mut driver = Driver::new(size, &snapshots);
        driver.key(KeyCode::Enter);
        look("entry", &driver);
        driver.typed("900");
        driver.key(KeyCode::Enter);
        look("entry_error", &driver);
    }
}

#[test]
fn a_paused_view_says_so() {
    let snapshots = scenario::preprocess_limited().snapshots();
    for size in [(60, 16), (120, 36)] {
        let mut driver = Driver::new(size, &snapshots);
        driver.key(KeyCode::Char('p'));
        look("paused", &driver);
    }
}

#[test]
fn a_run_with_an_end_says_when() {
    let mut snapshots = scenario::preprocess_limited().snapshots();
    for snapshot in &mut snapshots {
        let snapshot = Arc::make_mut(snapshot);
        let run = Arc::make_mut(&mut snapshot.run);
        (run.once, run.duration_s) = (true, Some(90.0));
    }
    let driver = Driver::new((120, 36), &snapshots);
    let shown = text(&draw(&driver.app, &rich(), driver.size));
    assert!(shown.contains("the run ends at 00:01:30"), "{shown}");
    assert!(shown.contains(" of 512"), "{shown}");
}

#[test]
fn the_first_moments_are_calm() {
    let none = Driver::new((80, 24), &[]);
    look("nothing_yet", &none);
    look("starting", &Driver::new((80, 24), &scenario::starting().snapshots()));
}

#[test]
fn without_colour_nothing_is_coloured_and_in_ascii_all_is_ascii() {
    for (name, size) in [("plain", (80, 24)), ("plain", (120, 36))] {
        let mut driver = Driver::new(size, &scenario::with_failures().snapshots());
        let theme = Theme::new(ColorChoice::Never, true);
        for (screen, key) in [("overview", '1'), ("threads", '2'), ("help", '?')] {
            driver.key(KeyCode::Char(key));
            let buffer = draw(&driver.app, &theme, size);
            let shown = styled(&buffer);
            assert!(shown.is_ascii(), "{shown}");
            let coloured = |cell: &&ratatui::buffer::Cell| cell.fg != ratatui::style::Color::Reset;
            assert_eq!(buffer.content.iter().find(coloured), None);
            assert_snapshot!(format!("{name}_{screen}_{}x{}", size.0, size.1), shown);
        }
    }
}

#[test]
fn sixteen_colours_are_the_terminals_own() {
    let driver = Driver::new((80, 24), &scenario::preprocess_limited().snapshots());
    let buffer = draw(&driver.app, &Theme::new(ColorChoice::Ansi, false), driver.size);
    let foreign =
        |cell: &&ratatui::buffer::Cell| matches!(cell.fg, ratatui::style::Color::Indexed(_));
    assert_eq!(buffer.content.iter().find(foreign), None);
    assert_snapshot!("sixteen_colours_80x24", styled(&buffer));
}
