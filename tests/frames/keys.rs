//! Every key does what the keymap says, and the help names no other.

use std::collections::BTreeSet;

use pipetop::tui::keymap::{Action, KEYMAP, Key, Place};
use ratatui::crossterm::event::{KeyCode, KeyModifiers};

use crate::{Driver, scenario};

/// Everything that a key can change.
fn state(driver: &mut Driver) -> String {
    let effects = driver.effects();
    let app = &driver.app;
    format!(
        "{effects:?} {:?} {} {} {} {:?} {:?} {:?} {:?} {:?} {:?} {}",
        app.screen(),
        app.help(),
        app.scrolled(),
        app.paused(),
        app.length(),
        app.selected(),
        app.entry(),
        app.threads(),
        app.locks(),
        app.gpus(),
        app.selected_point()
    )
}

#[test]
fn every_key_in_the_keymap_does_something() {
    let snapshots = scenario::many_threads(64).snapshots();
    let gpus = scenario::gpus::on_gpu(scenario::gpus::Kind::Two);
    for hint in KEYMAP {
        for binding in hint.bindings {
            for key in binding.keys {
                let mut driver = Driver::new((80, 24), &snapshots);
                driver.key(KeyCode::Right);
                match binding.place {
                    Place::Threads | Place::Tables => {
                        driver.key(KeyCode::Char('2'));
                        driver.key(KeyCode::Char('/'));
                        driver.typed("-");
                        driver.key(KeyCode::Enter);
                        driver.key(KeyCode::PageDown);
                    }
                    Place::Locks => driver.key(KeyCode::Char('3')),
                    Place::Gpu => {
                        driver = Driver::new((80, 24), &gpus);
                        driver.key(KeyCode::Char('4'));
                    }
                    Place::Sweep => {
                        driver = crate::tune::driver((80, 24), crate::sweeps::gil());
                        driver.key(KeyCode::PageDown);
                    }
                    Place::Past => {
                        driver.key(KeyCode::Char('2'));
                        driver.key(KeyCode::PageDown);
                        driver.key(KeyCode::Enter);
                    }
                    Place::Filter => {
                        driver.key(KeyCode::Char('2'));
                        driver.key(KeyCode::Char('/'));
                        driver.typed("p");
                    }
                    Place::Help => {
                        driver.key(KeyCode::Char('?'));
                        driver.size = (60, 16);
                        driver.key(KeyCode::Down);
                    }
                    Place::Typing => {
                        driver.key(KeyCode::Enter);
                        driver.typed("7");
                    }
                    Place::Replay => driver = Driver::replay((80, 24), &snapshots),
                    Place::Knobs
                    | Place::Tune
                    | Place::Everywhere
                    | Place::Live
                    | Place::Always => {}
                }
                if binding.action == Action::Go(pipetop::tui::screens::Screen::Overview) {
                    driver.key(KeyCode::Char('2'));
                }
                driver.effects();
                let before = state(&mut driver);
                driver.chord(key.code, key.modifiers);
                assert_ne!(state(&mut driver), before, "{key:?} of `{}`", hint.long);
            }
        }
    }
}

fn name(key: &Key) -> String {
    let plain = match key.code {
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            return format!("Ctrl-{}", c.to_ascii_uppercase());
        }
        KeyCode::Char(c) => c.to_string(),
        KeyCode::PageUp => "PgUp".to_owned(),
        KeyCode::PageDown => "PgDn".to_owned(),
        code => format!("{code:?}"),
    };
    if key.modifiers.contains(KeyModifiers::SHIFT) { format!("Shift+{plain}") } else { plain }
}

#[test]
fn the_help_names_no_key_that_is_not_bound() {
    let plain = [
        "click", "drag", "wheel", "again", "reverses", "clears", "all", "start", "on", "the",
        "time", "bar",
    ];
    for hint in KEYMAP {
        let everywhere = KEYMAP.iter().flat_map(|hint| hint.bindings);
        let bound: BTreeSet<_> = everywhere
            .filter(|b| hint.bindings.iter().any(|mine| mine.action == b.action))
            .flat_map(|b| b.keys.iter().map(name))
            .chain(["Shift+←→".to_owned()])
            .collect();
        let words = hint.also.split_whitespace().filter(|word| !plain.contains(word));
        let own = hint.keys.1.split(['/', ' ']);
        for word in words.chain(own).filter(|word| !word.is_empty() && *word != "?") {
            assert!(bound.contains(word), "`{word}` of `{}` is not among {bound:?}", hint.long);
        }
    }
}
