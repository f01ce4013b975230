//! The whole app, driven by keys, mouse and snapshots; what it asks for, and what it shows.

use std::sync::Arc;

use pipetop::pipeline::knobs::{Command, KnobId, KnobValue};
use pipetop::profile::snapshot::Snapshot;
use pipetop::tui::ColorChoice;
use pipetop::tui::app::Effect;
use pipetop::tui::event::Pointer;
use pipetop::tui::layout::{KnobRow, layout};
use pipetop::tui::theme::Theme;
use ratatui::crossterm::event::{KeyCode, KeyModifiers};
use ratatui::layout::Rect;

use crate::frame::{draw, text};
use crate::{Driver, scenario};

fn driver() -> Driver {
    Driver::new((120, 36), &scenario::preprocess_limited().snapshots())
}

fn shown(driver: &Driver) -> String {
    text(&draw(&driver.app, &Theme::new(ColorChoice::Indexed, false), driver.size))
}

fn set(id: KnobId, value: KnobValue) -> Effect {
    Effect::Send(Command::Set(id, value))
}

fn row(driver: &Driver, id: KnobId) -> KnobRow {
    let rows = layout(driver.area(), &driver.app).knobs;
    *rows.iter().find(|knob| knob.id == id).expect("all knobs that matter are shown at this size")
}

/// The last snapshot as it would be had the pipeline obeyed.
fn obeyed(id: KnobId, value: KnobValue) -> Arc<Snapshot> {
    let all = scenario::preprocess_limited().snapshots();
    let mut next = Snapshot::clone(&all[all.len() - 1]);
    next.at += 100_000_000;
    next.knobs.set(id, value);
    Arc::new(next)
}

#[test]
fn arrows_turn_the_selected_knob_and_it_shows_at_once() {
    let mut driver = driver();
    driver.key(KeyCode::Right);
    assert_eq!(driver.effects(), [set(KnobId::PreprocessThreads, KnobValue::Int(3))]);
    assert!(shown(&driver).contains("3 threads"), "{}", shown(&driver));
    // The next step starts from what was asked for, not from what was measured before.
    driver.key(KeyCode::Right);
    driver.chord(KeyCode::Char('+'), KeyModifiers::SHIFT);
    driver.key(KeyCode::Left);
    let asked = [4, 5, 4].map(|n| set(KnobId::PreprocessThreads, KnobValue::Int(n)));
    assert_eq!(driver.effects(), asked);
    driver.key(KeyCode::Char(']'));
    assert_eq!(driver.effects(), [set(KnobId::PreprocessThreads, KnobValue::Int(11))]);
}

#[test]
fn a_knob_at_its_end_asks_for_nothing() {
    let mut driver = driver();
    for _ in 0..3 {
        driver.key(KeyCode::Char('-'));
    }
    assert_eq!(driver.effects(), [set(KnobId::PreprocessThreads, KnobValue::Int(1))]);
}

#[test]
fn selection_goes_round_and_takes_the_keys_along() {
    let mut driver = driver();
    for _ in driver.app.shown_knobs() {
        driver.key(KeyCode::Tab);
    }
    assert_eq!(driver.app.selected(), KnobId::PreprocessThreads);
    driver.key(KeyCode::Up);
    driver.key(KeyCode::Char('l'));
    assert_eq!(driver.effects(), [set(KnobId::QueueLoaded, KnobValue::Int(128))]);
    driver.key(KeyCode::BackTab);
    driver.key(KeyCode::Right);
    assert_eq!(driver.effects(), [set(KnobId::SourceCache, KnobValue::Choice(1, "bytes"))]);
}

#[test]
fn a_knob_that_does_not_matter_is_not_shown_until_it_does() {
    let mut driver = driver();
    let interval = KnobId::PreprocessGilInterval;
    let hold = KnobId::PreprocessGilHold;
    let shows = |driver: &Driver, id| driver.app.shown_knobs().contains(&id);
    assert!(!shows(&driver, interval) && !shows(&driver, hold));
    assert!(!shows(&driver, KnobId::PreprocessLoopRate));
    while driver.app.selected() != KnobId::PreprocessGil {
        driver.key(KeyCode::Down);
    }
    driver.key(KeyCode::Right);
    assert_eq!(driver.effects(), [set(KnobId::PreprocessGil, KnobValue::Choice(1, "release"))]);
    assert!(shows(&driver, interval) && shows(&driver, hold));
    driver.key(KeyCode::Right);
    assert!(shows(&driver, interval) && !shows(&driver, hold));
    driver.key(KeyCode::Down);
    assert_eq!(driver.app.selected(), interval);
    driver.key(KeyCode::Right);
    let [_, turned] = driver.effects().try_into().unwrap();
    assert_eq!(turned, set(interval, KnobValue::Millis(10.0)));
    driver.key(KeyCode::Down);
    assert_eq!(driver.app.selected(), KnobId::PreprocessWork, "the hidden one is passed over");
    // The selected one stays, whoever turns what it hangs on.
    driver.key(KeyCode::Up);
    driver.feed(&[obeyed(KnobId::PreprocessGil, KnobValue::Choice(0, "off"))]);
    driver.feed(&scenario::preprocess_limited().snapshots()[..40]);
    assert!(shows(&driver, interval));
    driver.key(KeyCode::Down);
    assert!(!shows(&driver, interval));
}

#[test]
fn a_typed_value_is_taken_or_its_error_shown() {
    let mut driver = driver();
    driver.key(KeyCode::Enter);
    driver.typed("q");
    assert!(shown(&driver).contains("`q` is no digit"), "{}", shown(&driver));
    driver.typed("999");
    driver.key(KeyCode::Enter);
    assert!(shown(&driver).contains("`999` is no value for preprocess.threads"));
    assert_eq!(driver.effects(), []);
    (0..3).for_each(|_| driver.key(KeyCode::Backspace));
    driver.typed("12");
    driver.key(KeyCode::Enter);
    assert_eq!(driver.effects(), [set(KnobId::PreprocessThreads, KnobValue::Int(12))]);
    driver.key(KeyCode::Enter);
    driver.typed("5");
    driver.key(KeyCode::Esc);
    assert!(driver.app.entry().is_none());
    assert_eq!(driver.effects(), []);
}

#[test]
fn a_click_sets_the_value_at_that_place_and_a_drag_goes_on_beside_the_gauge() {
    let mut driver = driver();
    let KnobRow { gauge, .. } = row(&driver, KnobId::InferThreads);
    let last = gauge.right() - 1;
    driver.mouse(Pointer::Press, last, gauge.y);
    assert_eq!(driver.effects(), [set(KnobId::InferThreads, KnobValue::Int(64))]);
    assert_eq!(driver.app.selected(), KnobId::InferThreads);
    driver.mouse(Pointer::Drag, last, gauge.y + 5);
    assert_eq!(driver.effects(), [], "the same place again");
    driver.mouse(Pointer::Drag, 0, 0);
    assert_eq!(driver.effects(), [set(KnobId::InferThreads, KnobValue::Int(1))]);
    driver.mouse(Pointer::Release, 0, 0);
    driver.mouse(Pointer::Drag, last, gauge.y);
    assert_eq!(driver.effects(), [], "nothing is held");
}

#[test]
fn where_a_click_puts_the_handle_there_it_is_drawn() {
    for size in [(80, 24), (120, 36), (200, 60)] {
        let mut driver = Driver::new(size, &scenario::preprocess_limited().snapshots());
        for id in KnobId::all() {
            // A click on the right end of `preprocess.gil` or `preprocess.work` brings others in.
            if !driver.app.shown_knobs().contains(&id) {
                assert_eq!(id, KnobId::PreprocessGilHold);
                continue;
            }
            for end in [false, true] {
                let x = |gauge: Rect| if end { gauge.right() - 1 } else { gauge.x };
                let KnobRow { gauge, .. } = row(&driver, id);
                driver.mouse(Pointer::Press, x(gauge), gauge.y);
                driver.mouse(Pointer::Release, x(gauge), gauge.y);
                // It may lie elsewhere once others are shown.
                let KnobRow { gauge, .. } = row(&driver, id);
                let x = x(gauge);
                let buffer = draw(&driver.app, &Theme::new(ColorChoice::Never, false), size);
                assert_eq!(buffer[(x, gauge.y)].symbol(), "●", "{id:?} at {x}, {size:?}");
            }
        }
    }
}

#[test]
fn the_wheel_over_a_knob_steps_it() {
    let mut driver = driver();
    let KnobRow { row, .. } = row(&driver, KnobId::InferBatch);
    driver.mouse(Pointer::WheelUp, row.x + 2, row.y);
    driver.mouse(Pointer::WheelDown, row.x + 2, row.y);
    let asked = [16, 8].map(|n| set(KnobId::InferBatch, KnobValue::Int(n)));
    assert_eq!(driver.effects(), asked);
}

#[test]
fn clicks_on_tabs_change_the_screen() {
    let mut driver = driver();
    let tabs = layout(driver.area(), &driver.app).tabs;
    let (screen, tab) = tabs[1];
    driver.mouse(Pointer::Press, tab.x + 1, tab.y);
    assert_eq!(driver.app.screen(), screen);
    assert!(shown(&driver).contains("time spent"));
    let (screen, tab) = tabs[2];
    driver.mouse(Pointer::Press, tab.x + 1, tab.y);
    assert_eq!(driver.app.screen(), screen);
    assert!(shown(&driver).contains("contended"));
}

#[test]
fn what_is_asked_for_gives_way_to_what_is() {
    let mut driver = driver();
    let (id, three, two) = (KnobId::PreprocessThreads, KnobValue::Int(3), KnobValue::Int(2));
    driver.key(KeyCode::Right);
    driver.feed(&[obeyed(id, two)]);
    assert_eq!(driver.app.knob(id), Some(three), "the pipeline gets a moment");
    driver.feed(&[obeyed(id, three)]);
    driver.feed(&[obeyed(id, two)]);
    assert_eq!(driver.app.knob(id), Some(two), "somebody else turned it back");
    driver.key(KeyCode::Right);
    driver.feed(&(0..10).map(|_| obeyed(id, two)).collect::<Vec<_>>());
    assert_eq!(driver.app.knob(id), Some(two), "it was never obeyed");
}

#[test]
fn a_refused_change_is_taken_back_and_its_reason_shown_until_a_key() {
    use pipetop::pipeline::knobs::KnobError;
    let mut driver = driver();
    driver.key(KeyCode::Right);
    let command = Command::Set(KnobId::PreprocessThreads, KnobValue::Int(3));
    let reason = "this run replays ready batches";
    let error = KnobError::Refused { knob: "preprocess.threads", value: "3".into(), reason };
    driver.app.refused(&command, &error);
    assert_eq!(driver.app.knob(KnobId::PreprocessThreads), Some(KnobValue::Int(2)));
    assert!(shown(&driver).contains("is refused: this run replays ready batches"));
    driver.key(KeyCode::Up);
    assert!(!shown(&driver).contains("refused"));
}

#[test]
fn what_is_not_in_force_yet_says_so() {
    let mut driver = driver();
    let mut next = Snapshot::clone(&obeyed(KnobId::InferBatch, KnobValue::Int(16)));
    next.applying.push("infer.batch".to_owned());
    driver.feed(&[Arc::new(next)]);
    assert!(shown(&driver).contains("16 applying…"), "{}", shown(&driver));
}

#[test]
fn a_paused_view_stands_still_while_the_past_goes_on() {
    let all = scenario::preprocess_limited().snapshots();
    let (before, after) = all.split_at(200);
    let mut driver = Driver::new((120, 36), before);
    driver.key(KeyCode::Char(' '));
    let frozen = shown(&driver);
    assert!(frozen.contains("PAUSED") && frozen.contains("view frozen at 00:00:20"), "{frozen}");
    driver.feed(after);
    let chart = |shown: &str| {
        shown.lines().skip(16).map(|l| l.chars().skip(48).collect::<String>()).collect::<Vec<_>>()
    };
    assert_eq!(chart(&shown(&driver)), chart(&frozen), "the charts stand still");
    driver.key(KeyCode::Char('p'));
    let live = Driver::new((120, 36), &all);
    assert_eq!(shown(&driver), shown(&live), "nothing was missed");
}

#[test]
fn the_window_can_be_chosen() {
    let mut driver = driver();
    for name in ["5 s", "30 s", "since change", "1 s"] {
        driver.key(KeyCode::Char('w'));
        assert!(shown(&driver).contains(&format!("window {name}")), "{name}");
    }
}

#[test]
fn leaving_and_suspending_work_even_while_typing() {
    let mut driver = driver();
    driver.key(KeyCode::Enter);
    driver.chord(KeyCode::Char('z'), KeyModifiers::CONTROL);
    driver.chord(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(driver.effects(), [Effect::Suspend, Effect::Quit]);
    driver.key(KeyCode::Esc);
    driver.key(KeyCode::Char('q'));
    assert_eq!(driver.effects(), [Effect::Quit]);
}

#[test]
fn a_queue_that_holds_more_than_it_may_is_draining() {
    for size in [(80, 24), (120, 36)] {
        let mut driver = Driver::new(size, &scenario::preprocess_limited().snapshots());
        let mut next = Snapshot::clone(&obeyed(KnobId::QueueLoaded, KnobValue::Int(1)));
        (next.queues[0].depth, next.queues[0].capacity) = (1325, 1);
        driver.feed(&[Arc::new(next)]);
        assert!(shown(&driver).contains("1325/1▼ draining"), "{}", shown(&driver));
    }
}

#[test]
fn a_frozen_view_names_the_way_out_and_its_window_at_any_size() {
    for size in [(60, 16), (80, 24), (120, 36)] {
        let mut driver = Driver::new(size, &scenario::preprocess_limited().snapshots());
        driver.key(KeyCode::Char('p'));
        driver.key(KeyCode::Char('w'));
        let shown = shown(&driver);
        let footer = shown.lines().last().unwrap_or_default();
        assert!(footer.contains("p resume") && footer.contains("window 5 s"), "{footer}");
        assert!(footer.contains("00:00:40"), "{footer}");
    }
}

#[test]
fn a_help_that_is_cut_says_so_and_scrolls_to_its_end() {
    let mut driver = Driver::new((60, 16), &scenario::preprocess_limited().snapshots());
    driver.key(KeyCode::Char('?'));
    assert!(shown(&driver).contains("more ↓"), "{}", shown(&driver));
    assert!(!shown(&driver).contains("parked"));
    (0..9).for_each(|_| driver.key(KeyCode::PageDown));
    assert!(shown(&driver).contains("parked") && !shown(&driver).contains("more ↓"));
    driver.key(KeyCode::Up);
    assert!(shown(&driver).contains("1 more ↓"), "{}", shown(&driver));
    driver.key(KeyCode::Char('?'));
    driver.key(KeyCode::Char('?'));
    assert_eq!(driver.app.scrolled(), 0);
}
