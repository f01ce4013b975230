//! The tune screen: a chart that fills while a sweep runs.

use std::sync::Arc;

use pipetop::tui::ColorChoice;
use pipetop::tui::app::Effect;
use pipetop::tui::event::{Event, Pointer};
use pipetop::tui::layout::layout;
use pipetop::tui::screens::Screen;
use pipetop::tui::theme::Theme;
use pipetop::tune::sweep::Sweep;
use ratatui::crossterm::event::KeyCode;

use crate::frame::{draw, text};
use crate::looks::{SIZES, look};
use crate::{Driver, scenario, sweeps};

pub(crate) fn driver(size: (u16, u16), sweep: Sweep) -> Driver {
    let mut driver = Driver::new(size, &scenario::lock_limited().snapshots());
    driver.send(Event::Sweep(Arc::new(sweep)));
    driver
}

fn shown(driver: &Driver) -> String {
    text(&draw(&driver.app, &Theme::new(ColorChoice::Indexed, false), driver.size))
}

#[test]
fn a_sweep_under_way_shows_its_points_and_the_one_being_measured() {
    for size in SIZES {
        let driver = driver(size, sweeps::under_way());
        look("tune_under_way", &driver);
        let shown = shown(&driver);
        assert!(shown.contains("throughput by preprocess.threads"), "{shown}");
        assert!(shown.contains("8 of 12, ") && shown.contains(" left"), "{shown}");
        assert!(shown.contains("±9.0% of 3%"), "{shown}");
        assert!(size.0 < 80 || shown.contains("4 cores"), "{shown}");
    }
}

#[test]
fn all_works_have_their_curve_and_their_sentence() {
    for size in SIZES {
        look("tune_gil", &driver(size, sweeps::gil()));
    }
    let shown = shown(&driver((120, 36), sweeps::gil()));
    for told in [
        "emulated: gil-release, gil-hold, loop-hold",
        "does not scale: waits for `gil` 94 % of its time",
        "64 of 64, done",
    ] {
        assert!(shown.contains(told), "{told}:\n{shown}");
    }
}

#[test]
fn two_knobs_make_a_map() {
    for size in SIZES {
        look("tune_map", &driver(size, sweeps::map()));
    }
}

#[test]
fn an_ended_sweep_says_so_and_keeps_its_points() {
    let driver = driver((80, 24), sweeps::interrupted());
    look("tune_interrupted", &driver);
    assert!(shown(&driver).contains("3 of 4, ended"), "{}", shown(&driver));
}

#[test]
fn words_stand_side_by_side() {
    look("tune_words", &driver((120, 36), sweeps::words()));
}

#[test]
fn without_a_sweep_the_screen_says_how_to_start_one() {
    let mut driver = Driver::new((80, 24), &scenario::preprocess_limited().snapshots());
    driver.key(KeyCode::Char('5'));
    look("tune_none", &driver);
    assert!(shown(&driver).contains("pipetop sweep --over preprocess.threads=1..16"));
    driver.key(KeyCode::Esc);
    assert_eq!(driver.effects(), [], "Esc ends a sweep, not a run");
}

#[test]
fn ascii_alone_draws_it_too() {
    let theme = Theme::new(ColorChoice::Never, true);
    for sweep in [sweeps::under_way(), sweeps::gil(), sweeps::map()] {
        let driver = driver((80, 24), sweep);
        let shown = text(&draw(&driver.app, &theme, driver.size));
        assert!(shown.is_ascii(), "{shown}");
    }
    let driver = driver((80, 24), sweeps::under_way());
    insta::assert_snapshot!("tune_ascii", text(&draw(&driver.app, &theme, driver.size)));
}

#[test]
fn a_sweep_opens_its_screen_once_and_others_can_be_looked_at_meanwhile() {
    let mut driver = driver((120, 36), sweeps::under_way());
    assert_eq!(driver.app.screen(), Screen::Tune);
    driver.key(KeyCode::Char('3'));
    driver.send(Event::Sweep(Arc::new(sweeps::under_way())));
    assert_eq!(driver.app.screen(), Screen::Locks, "news of the sweep do not take it away");
    driver.key(KeyCode::Char('5'));
    driver.key(KeyCode::Esc);
    assert_eq!(driver.effects(), [Effect::Quit]);
}

#[test]
fn a_point_can_be_selected_and_until_then_the_one_being_measured_is() {
    let mut driver = driver((120, 36), sweeps::under_way());
    let now = sweeps::under_way().now.expect("one is being measured").point;
    assert_eq!(driver.app.selected_point(), now);
    driver.key(KeyCode::Up);
    assert_eq!(driver.app.selected_point(), now - 1);
    let rows = layout(driver.area(), &driver.app).rows;
    driver.mouse(Pointer::Press, rows.x + 2, rows.y + 2);
    assert_eq!(driver.app.selected_point(), 2);
    driver.mouse(Pointer::WheelDown, rows.x + 2, rows.y + 2);
    assert_eq!(driver.app.selected_point(), 5);
}

#[test]
fn a_paused_view_keeps_the_sweep_that_was_seen() {
    let mut driver = driver((120, 36), sweeps::under_way());
    driver.key(KeyCode::Char('p'));
    driver.send(Event::Sweep(Arc::new(sweeps::gil())));
    assert!(shown(&driver).contains("8 of 12"), "{}", shown(&driver));
    driver.key(KeyCode::Char('p'));
    assert!(shown(&driver).contains("64 of 64"), "{}", shown(&driver));
}
