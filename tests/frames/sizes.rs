//! No size of the terminal makes the screen fall over.

use pipetop::tui::ColorChoice;
use pipetop::tui::event::Pointer;
use pipetop::tui::layout::LEAST;
use pipetop::tui::theme::Theme;
use ratatui::crossterm::event::KeyCode;

use crate::frame::{draw, text};
use crate::{Driver, scenario, sweeps};

/// All widths at some heights, all heights at some widths.
fn sizes() -> Vec<(u16, u16)> {
    let heights = [1, 16, 24, 29, 44, 70];
    let widths = [1, 60, 79, 100, 160, 220];
    let wide = (1..=220).flat_map(|width| heights.map(|height| (width, height)));
    let high = (1..=70).flat_map(|height| widths.map(|width| (width, height)));
    wide.chain(high).collect()
}

#[test]
fn every_size_can_be_drawn_and_clicked() {
    let theme = Theme::new(ColorChoice::Indexed, false);
    let scenarios = [
        scenario::with_failures().snapshots(),
        scenario::many_threads(64).snapshots(),
        scenario::lock_limited().snapshots(),
        scenario::gil_limited(true).snapshots(),
        scenario::missing_values(),
        scenario::bare(),
        scenario::gpus::on_gpu(scenario::gpus::Kind::Two),
        scenario::gpus::on_gpu(scenario::gpus::Kind::Lost),
        Vec::new(),
    ];
    for (index, snapshots) in scenarios.iter().enumerate() {
        let mut driver = Driver::new((80, 24), snapshots);
        for (step, size) in sizes().into_iter().enumerate() {
            driver.size = size;
            // Screens, help and field take turns, so that each meets all kinds of sizes.
            match (step + index) % 12 {
                11 => driver.key(KeyCode::Char('4')),
                5 => driver.key(KeyCode::Char('3')),
                6 => driver.key(KeyCode::Char('F')),
                7 => driver.key(KeyCode::Down),
                8 => {
                    driver.key(KeyCode::Char('2'));
                    driver.key(KeyCode::Char('/'));
                    driver.key(KeyCode::Char('-'));
                }
                9 => driver.key(KeyCode::Char('f')),
                0 => driver.key(KeyCode::Char('2')),
                1 => driver.key(KeyCode::End),
                2 => driver.key(KeyCode::Char('1')),
                3 => driver.key(KeyCode::Char('?')),
                _ => {
                    driver.key(KeyCode::Esc);
                    driver.key(KeyCode::Enter);
                }
            }
            draw(&driver.app, &theme, size);
            driver.key(KeyCode::Esc);
            let (x, y) = (size.0 * (step % 7) as u16 / 7, size.1 * (step % 5) as u16 / 5);
            for pointer in [Pointer::Press, Pointer::Drag, Pointer::WheelUp, Pointer::Release] {
                driver.mouse(pointer, x, y);
            }
        }
    }
}

#[test]
fn every_size_of_a_sweep_can_be_drawn_and_clicked() {
    use pipetop::tui::event::Event;
    let theme = Theme::new(ColorChoice::Indexed, false);
    let empty = sweeps::planned(&["preprocess.threads=3"], &[], 1);
    let two = sweeps::planned(
        &["preprocess.threads=1..64", "infer.batch=1..512"],
        &["native", "lock-pool"],
        8,
    );
    let sweeps = [sweeps::under_way(), sweeps::gil(), sweeps::map(), sweeps::words(), empty, two];
    for sweep in sweeps {
        let mut driver = Driver::new((80, 24), &scenario::lock_limited().snapshots());
        driver.send(Event::Sweep(std::sync::Arc::new(sweep)));
        for (step, size) in sizes().into_iter().enumerate() {
            driver.size = size;
            match step % 6 {
                1 => driver.key(KeyCode::PageDown),
                4 => driver.key(KeyCode::PageUp),
                _ => driver.key(KeyCode::Down),
            }
            draw(&driver.app, &theme, size);
            let (x, y) = (size.0 * (step % 7) as u16 / 7, size.1 * (step % 5) as u16 / 5);
            driver.mouse(Pointer::Press, x, y);
            driver.key(KeyCode::Char('5'));
        }
    }
}

#[test]
fn a_small_terminal_is_told_what_is_needed() {
    let driver = Driver::new((80, 24), &scenario::preprocess_limited().snapshots());
    let theme = Theme::new(ColorChoice::Indexed, false);
    for size in [(LEAST.0 - 1, 24), (80, LEAST.1 - 1), (30, 1)] {
        let shown = text(&draw(&driver.app, &theme, size));
        let lines: Vec<_> = shown.lines().filter(|line| !line.trim().is_empty()).collect();
        assert_eq!(lines.len(), 1, "{shown}");
        assert!(lines[0].contains("60×16"), "{shown}");
    }
}
