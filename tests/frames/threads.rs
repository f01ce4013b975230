//! The threads' screen: sorted, filtered, folded, and a thread's past.

use insta::assert_snapshot;
use pipetop::pipeline::Stage;
use pipetop::profile::snapshot::Group;
use pipetop::tui::ColorChoice;
use pipetop::tui::event::Pointer;
use pipetop::tui::keymap::Place;
use pipetop::tui::layout::layout;
use pipetop::tui::screens::threads::columns::Column;
use pipetop::tui::theme::{State, Theme};
use ratatui::crossterm::event::KeyCode;

use crate::frame::{draw, styled, text};
use crate::looks::{SIZES, look};
use crate::{Driver, scenario};

/// The threads' screen of a run that fights for a lock.
fn driver(size: (u16, u16)) -> Driver {
    let mut driver = Driver::new(size, &scenario::lock_limited().snapshots());
    driver.key(KeyCode::Char('2'));
    driver
}

fn shown(driver: &Driver) -> String {
    text(&draw(&driver.app, &Theme::new(ColorChoice::Indexed, false), driver.size))
}

/// The names in the table, from top to bottom.
fn names(driver: &Driver) -> Vec<String> {
    let rows = layout(driver.area(), &driver.app).rows;
    let shown = shown(driver);
    let cut =
        |line: &str| -> String { line.chars().skip(usize::from(rows.x) + 1).take(18).collect() };
    let lines = shown.lines().skip(usize::from(rows.y)).take(usize::from(rows.height));
    let name = |line: &str| {
        cut(line).split(['█', '─', '~', '▒', '░', '≈', '╌']).next().unwrap_or("").trim().to_owned()
    };
    lines.map(name).filter(|name| !name.is_empty()).collect()
}

/// The row of the table in which a text stands.
fn row_of(driver: &Driver, what: &str) -> u16 {
    let shown = shown(driver);
    let place = shown.lines().position(|line| line.contains(what));
    place.unwrap_or_else(|| panic!("no {what} in\n{shown}")) as u16
}

/// Goes to a thread by its name.
fn select(driver: &mut Driver, name: &str) {
    let y = row_of(driver, &format!("  {name} "));
    driver.mouse(Pointer::Press, 4, y);
}

#[test]
fn the_states_of_a_fight_are_seen() {
    for size in SIZES {
        look("threads_lock", &driver(size));
    }
    let wide = shown(&driver((120, 36)));
    assert!(wide.contains("preprocess.pool"), "the lock waited for is named: {wide}");
}

#[test]
fn each_group_is_sorted_by_the_column_of_choice() {
    let mut driver = driver((120, 36));
    assert_eq!(driver.app.threads().sort().by, Column::Name);
    driver.key(KeyCode::Char('s'));
    assert_eq!(driver.app.threads().sort().by, Column::Cpu);
    driver.key(KeyCode::Char('s'));
    assert_eq!(
        driver.app.threads().sort().by,
        Column::Share(State::Wait(pipetop::profile::snapshot::Wait::Lock))
    );
    for _ in 0..3 {
        driver.key(KeyCode::Char('s'));
    }
    assert_eq!(driver.app.threads().sort().by, Column::Voluntary);
    assert!(shown(&driver).contains("vol/s▼"));
    let down: Vec<_> =
        names(&driver).into_iter().filter(|name| name.starts_with("prep-")).collect();
    driver.key(KeyCode::Char('S'));
    assert!(shown(&driver).contains("vol/s▲"));
    let mut up: Vec<_> =
        names(&driver).into_iter().filter(|name| name.starts_with("prep-")).collect();
    assert_ne!(down, ["prep-0", "prep-1", "prep-2", "prep-3"]);
    up.reverse();
    assert_eq!(up, down);
    look("threads_sorted", &driver);
}

#[test]
fn a_click_on_a_columns_name_sorts_by_it_and_another_reverses() {
    let mut driver = driver((200, 60));
    let place = |driver: &Driver, column| {
        let columns = layout(driver.area(), &driver.app).thread_columns;
        columns.into_iter().find(|placed| placed.column == column).unwrap().head
    };
    let head = place(&driver, Column::Involuntary);
    driver.mouse(Pointer::Press, head.x + 3, head.y);
    let sort = driver.app.threads().sort();
    assert_eq!((sort.by, sort.reversed), (Column::Involuntary, false));
    driver.mouse(Pointer::Press, head.x + 3, head.y);
    assert!(driver.app.threads().sort().reversed);
    let bar = place(&driver, Column::States);
    driver.mouse(Pointer::Press, bar.x + 1, bar.y);
    assert_eq!(driver.app.threads().sort().by, Column::Involuntary, "a bar has no order");
}

#[test]
fn a_filter_narrows_as_it_is_typed_and_is_cleared() {
    let mut driver = driver((80, 24));
    let all = shown(&driver);
    driver.key(KeyCode::Char('/'));
    driver.typed("PREP-");
    assert_eq!(driver.app.place(), Place::Filter);
    assert_eq!(names(&driver), ["▾ preprocess ×4", "prep-0", "prep-1", "prep-2", "prep-3"]);
    look("threads_filter_typed", &driver);
    driver.typed("2q");
    assert!(shown(&driver).contains("(0 of"), "q is typed, not obeyed");
    driver.key(KeyCode::Backspace);
    assert_eq!(names(&driver), ["▾ preprocess ×1", "prep-2"]);
    driver.key(KeyCode::Enter);
    assert_eq!(driver.app.place(), Place::Threads);
    assert!(shown(&driver).contains("threads · /PREP-2 (1 of 22)"), "{}", shown(&driver));
    for size in SIZES {
        driver.size = size;
        look("threads_filtered", &driver);
    }
    driver.size = (80, 24);
    driver.key(KeyCode::Esc);
    assert_eq!(shown(&driver), all);
    // A stage's name brings all of its threads.
    driver.key(KeyCode::Char('/'));
    driver.typed("infer");
    driver.key(KeyCode::Esc);
    assert_eq!(shown(&driver), all);
}

#[test]
fn a_stage_folds_into_one_row_with_its_range() {
    let mut driver = driver((120, 36));
    select(&mut driver, "prep-1");
    driver.key(KeyCode::Char('f'));
    assert!(driver.app.threads().folded(Group::Stage(Stage::Preprocess)));
    let shown_now = shown(&driver);
    assert!(shown_now.contains("▸ preprocess ×4"), "{shown_now}");
    assert!(shown_now.contains("48/48/48%"), "{shown_now}");
    assert!(!shown_now.contains("prep-1 "), "{shown_now}");
    for size in SIZES {
        driver.size = size;
        look("threads_folded", &driver);
    }
    driver.size = (120, 36);
    // Its row stays selected: the same key unfolds it.
    driver.key(KeyCode::Char('f'));
    assert!(names(&driver).contains(&"prep-1".to_owned()));
    driver.key(KeyCode::Char('F'));
    assert!(names(&driver).iter().all(|name| name.starts_with('▸')), "{:?}", names(&driver));
    look("threads_all_folded", &driver);
    driver.key(KeyCode::Char('F'));
    assert!(names(&driver).contains(&"lane-0".to_owned()));
}

#[test]
fn lanes_are_folded_until_asked_for() {
    let mut driver = driver((120, 36));
    assert_eq!(names(&driver)[0], "▸ load ×8");
    driver.key(KeyCode::Home);
    driver.key(KeyCode::Enter);
    assert_eq!(names(&driver)[..3], ["▾ load ×8  a lane", "lane-0", "lane-1"]);
    driver.key(KeyCode::Enter);
    assert_eq!(names(&driver)[0], "▸ load ×8");
}

#[test]
fn a_thread_keeps_its_selection_wherever_it_moves() {
    let mut driver = driver((120, 36));
    select(&mut driver, "prep-2");
    let marked = |driver: &Driver| {
        let shown = shown(driver);
        shown.lines().find(|line| line.contains('▌')).unwrap_or("").to_owned()
    };
    assert!(marked(&driver).contains("prep-2"));
    for _ in 0..6 {
        driver.key(KeyCode::Char('s'));
        assert!(marked(&driver).contains("prep-2"));
        driver.key(KeyCode::Char('S'));
        assert!(marked(&driver).contains("prep-2"));
    }
}

#[test]
fn the_selection_scrolls_and_stops_at_the_ends() {
    let mut driver = Driver::new((80, 24), &scenario::many_threads(64).snapshots());
    driver.key(KeyCode::Char('2'));
    let top = shown(&driver);
    driver.key(KeyCode::Up);
    assert_eq!(shown(&driver), top);
    driver.key(KeyCode::End);
    let end = shown(&driver);
    assert!(end.contains("cuda-evt"), "{end}");
    driver.key(KeyCode::PageDown);
    driver.mouse(Pointer::WheelDown, 5, 10);
    assert_eq!(shown(&driver), end);
    driver.mouse(Pointer::WheelUp, 5, 10);
    assert_ne!(shown(&driver), end);
    driver.key(KeyCode::Char('g'));
    assert_eq!(shown(&driver), top);
}

#[test]
fn a_threads_past_opens_moves_on_and_closes() {
    let mut driver = driver((120, 36));
    select(&mut driver, "prep-1");
    let table = shown(&driver);
    driver.key(KeyCode::Enter);
    assert_eq!(driver.app.place(), Place::Past);
    let past = shown(&driver);
    assert!(past.contains("prep-1 · preprocess"), "{past}");
    assert!(past.contains("measured since 00:00:00"), "{past}");
    assert!(past.contains("preprocess.pool") && past.contains("looks"), "{past}");
    for size in SIZES {
        driver.size = size;
        look("thread_past", &driver);
    }
    driver.size = (120, 36);
    driver.key(KeyCode::Down);
    assert!(shown(&driver).contains("prep-2 · preprocess"));
    driver.key(KeyCode::Up);
    driver.key(KeyCode::Enter);
    assert_eq!(shown(&driver), table);
    // A second click on the selected row opens it too.
    let y = row_of(&driver, "  prep-1 ");
    driver.mouse(Pointer::Press, 4, y);
    assert_eq!(driver.app.place(), Place::Past);
    driver.key(KeyCode::Esc);
    assert_eq!(shown(&driver), table);
}

#[test]
fn a_foreign_threads_past_is_its_cpu_time() {
    let mut driver = driver((80, 24));
    driver.key(KeyCode::End);
    driver.key(KeyCode::Enter);
    let past = shown(&driver);
    assert!(past.contains("cuda-evt · foreign"), "{past}");
    assert!(past.contains("lock —"), "{past}");
}

#[test]
fn without_colour_the_past_and_the_locks_are_told_by_their_glyphs() {
    let theme = Theme::new(ColorChoice::Never, true);
    let mut driver = driver((80, 24));
    for (name, keys) in [("plain_past", "jjj\n"), ("plain_locks", "3")] {
        for key in keys.chars() {
            driver.key(if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) });
        }
        let shown = styled(&draw(&driver.app, &theme, driver.size));
        assert!(shown.is_ascii(), "{shown}");
        assert_snapshot!(name, shown);
    }
}
