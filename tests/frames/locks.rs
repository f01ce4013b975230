//! The locks' screen, and runs without probes.

use pipetop::tui::ColorChoice;
use pipetop::tui::event::Pointer;
use pipetop::tui::layout::layout;
use pipetop::tui::screens::locks::rows::Column;
use pipetop::tui::theme::Theme;
use ratatui::crossterm::event::KeyCode;

use crate::frame::{draw, text};
use crate::looks::{SIZES, look};
use crate::{Driver, scenario};

fn driver(size: (u16, u16)) -> Driver {
    let mut driver = Driver::new(size, &scenario::lock_limited().snapshots());
    driver.key(KeyCode::Char('3'));
    driver
}

fn shown(driver: &Driver) -> String {
    text(&draw(&driver.app, &Theme::new(ColorChoice::Indexed, false), driver.size))
}

/// The first lock of the table.
fn first(driver: &Driver) -> String {
    let row = layout(driver.area(), &driver.app).rows.y;
    let shown = shown(driver);
    let line = shown.lines().nth(usize::from(row)).unwrap_or("").to_owned();
    line.split_whitespace()
        .find(|word| word.len() > 3)
        .unwrap_or("")
        .trim_matches(['│', '▌'])
        .to_owned()
}

#[test]
fn the_lock_that_is_fought_for_comes_first_with_its_holder() {
    for size in SIZES {
        let driver = driver(size);
        look("locks", &driver);
        assert!(first(&driver).contains("preprocess.pool"), "{}", shown(&driver));
        let shown = shown(&driver);
        assert!(shown.contains("84%") && shown.contains("1.92 s"), "{shown}");
        assert!(shown.contains("held by  prep-"), "{shown}");
        assert!(shown.contains("µs") || shown.contains("ms"), "{shown}");
    }
}

#[test]
fn the_gil_is_called_emulated_and_its_switches_are_told() {
    for size in SIZES {
        let mut driver = Driver::new(size, &scenario::gil_limited(size.0 > 120).snapshots());
        look("gil_overview", &driver);
        driver.key(KeyCode::Char('3'));
        look("gil", &driver);
        assert!(first(&driver).contains("gil"), "{}", shown(&driver));
        let shown = shown(&driver);
        assert!(shown.contains("gil (emulated)") && shown.contains("held by  prep-"), "{shown}");
        assert!(shown.contains("196/s  forced 191/s  asked for 193/s"), "{shown}");
    }
}

#[test]
fn the_locks_can_be_sorted_by_key_and_by_click() {
    let mut driver = driver((120, 36));
    assert_eq!(driver.app.locks().sort().by, Column::Wait);
    let columns = layout(driver.area(), &driver.app).lock_columns;
    let acquired = columns.iter().find(|placed| placed.column == Column::Acquired).unwrap().head;
    driver.mouse(Pointer::Press, acquired.right() - 1, acquired.y);
    assert!(first(&driver).contains("queue.loaded"), "{}", shown(&driver));
    driver.key(KeyCode::Char('S'));
    assert!(first(&driver).contains("preprocess.gate"), "{}", shown(&driver));
    driver.key(KeyCode::Char('s'));
    assert_eq!(driver.app.locks().sort().by, Column::Contended);
    assert!(shown(&driver).contains("contended▼"));
}

#[test]
fn another_lock_can_be_selected_and_its_whole_run_shown() {
    let mut driver = driver((120, 36));
    assert!(shown(&driver).contains("waits of the window: 1 s"));
    driver.key(KeyCode::Char('a'));
    assert!(shown(&driver).contains("waits of the whole run"));
    look("locks_whole_run", &driver);
    driver.key(KeyCode::End);
    assert!(shown(&driver).contains("nobody waited"), "{}", shown(&driver));
    look("locks_quiet", &driver);
    let rows = layout(driver.area(), &driver.app).rows;
    driver.mouse(Pointer::Press, rows.x + 3, rows.y + 1);
    assert!(shown(&driver).contains(" queue.loaded ─"), "{}", shown(&driver));
    driver.key(KeyCode::Up);
    assert!(shown(&driver).contains(" preprocess.pool ─"), "{}", shown(&driver));
}

#[test]
fn a_hold_time_that_is_estimated_says_so() {
    let shown = shown(&driver((200, 60)));
    let line = |name: &str| {
        let lines: Vec<_> = shown.lines().filter(|line| line.contains(name)).collect();
        lines[0].to_owned()
    };
    assert!(line("queue.loaded").contains('~'), "{shown}");
    assert!(!line("preprocess.pool").contains('~'), "{shown}");
}

#[test]
fn a_run_without_probes_says_that_nothing_was_measured() {
    let snapshots = scenario::bare();
    for size in SIZES {
        let mut driver = Driver::new(size, &snapshots);
        look("bare", &driver);
        assert!(shown(&driver).contains("no probes"), "{}", shown(&driver));
        assert!(shown(&driver).contains("not measured"), "{}", shown(&driver));
        for (name, key) in [("bare_threads", '2'), ("bare_locks", '3')] {
            driver.key(KeyCode::Char(key));
            let shown = shown(&driver);
            assert!(shown.contains("not measured: the run has no probes"), "{shown}");
            look(name, &driver);
        }
    }
}
