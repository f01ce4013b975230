//! The GPU screen and its panel on the overview.

use pipetop::tui::ColorChoice;
use pipetop::tui::event::Pointer;
use pipetop::tui::layout::layout;
use pipetop::tui::theme::Theme;
use ratatui::crossterm::event::KeyCode;

use crate::frame::{draw, text};
use crate::looks::{SIZES, look};
use crate::scenario::gpus::{Kind, on_gpu};
use crate::{Driver, scenario};

fn driver(size: (u16, u16), kind: Kind) -> Driver {
    let mut driver = Driver::new(size, &on_gpu(kind));
    driver.key(KeyCode::Char('4'));
    driver
}

fn shown(driver: &Driver) -> String {
    text(&draw(&driver.app, &Theme::new(ColorChoice::Indexed, false), driver.size))
}

/// The line of the screen that begins with a figure's name.
fn line<'a>(shown: &'a str, name: &str) -> &'a str {
    let begins = |line: &&str| line.trim_start_matches(['│', ' ']).starts_with(name);
    shown.lines().find(begins).unwrap_or_else(|| panic!("no {name} in\n{shown}"))
}

#[test]
fn busy_and_occupancy_stand_side_by_side_with_what_they_mean() {
    for size in SIZES {
        let driver = driver(size, Kind::Hopper);
        look("gpu_hopper", &driver);
        let shown = shown(&driver);
        assert!(line(&shown, "busy").contains("100%"), "{shown}");
        assert!(line(&shown, "SM occupancy").contains("17%"), "{shown}");
        assert!(line(&shown, "our events").contains("100%"), "{shown}");
        assert!(shown.contains("GPU 0 · NVIDIA H200"), "{shown}");
    }
    let shown = shown(&driver((120, 36), Kind::Hopper));
    for told in [
        "some kernel was resident",
        "SM 1 755/1 980; memory 3 201/3 201 MHz",
        "J an image",
        "7.10 ms",
    ] {
        assert!(shown.contains(told), "{told}:\n{shown}");
    }
}

#[test]
fn small_kernels_are_read_as_such_and_a_larger_batch_is_the_way_out() {
    let snapshots = on_gpu(Kind::Hopper);
    let mut driver = Driver::new((120, 36), &snapshots[..200]);
    driver.key(KeyCode::Char('4'));
    look("gpu_small_kernels", &driver);
    let shown = shown(&driver);
    let says = "busy 100%, SM active 36%, SM occupancy 4%: kernels are resident but small; \
                try a larger batch";
    assert!(shown.contains(says), "{shown}");
}

#[test]
fn without_gpm_the_reason_stands_where_the_figures_would() {
    for size in SIZES {
        let driver = driver(size, Kind::Older);
        look("gpu_without_gpm", &driver);
        let shown = shown(&driver);
        assert!(line(&shown, "SM occupancy").contains("—"), "{shown}");
        assert!(line(&shown, "SM occupancy").contains("needs GPM: Hopper or later"), "{shown}");
    }
}

#[test]
fn without_a_gpu_the_screen_says_what_is_missing_and_the_way_out() {
    for size in SIZES {
        let driver = driver(size, Kind::None);
        look("gpu_none", &driver);
        let shown = shown(&driver);
        assert!(shown.contains("no NVIDIA driver is seen here"), "{shown}");
        assert!(shown.contains("install NVIDIA's driver"), "{shown}");
        assert!(line(&shown, "SM occupancy").contains("—"), "{shown}");
    }
    for (name, snapshots) in
        [("gpu_off", scenario::preprocess_limited().snapshots()), ("gpu_bare", scenario::bare())]
    {
        let mut driver = Driver::new((80, 24), &snapshots);
        driver.key(KeyCode::Char('4'));
        look(name, &driver);
    }
    let mut early = Driver::new((80, 24), &[]);
    early.key(KeyCode::Char('4'));
    assert!(shown(&early).contains("the driver is being asked"), "{}", shown(&early));
}

#[test]
fn a_lost_gpu_says_so_and_shows_no_figures_of_the_time_since() {
    for size in SIZES {
        let driver = driver(size, Kind::Lost);
        look("gpu_lost", &driver);
        let shown = shown(&driver);
        assert!(shown.contains("lost"), "{shown}");
        assert!(line(&shown, "busy").contains("—"), "{shown}");
        assert!(!line(&shown, "busy").contains("100%"), "{shown}");
    }
    assert!(shown(&driver((120, 36), Kind::Lost)).contains("Xid 79: fell off the bus"));
}

#[test]
fn of_two_gpus_the_engines_is_selected_and_the_other_can_be() {
    for size in SIZES {
        let driver = driver(size, Kind::Two);
        look("gpu_two", &driver);
        let shown = shown(&driver);
        assert!(shown.contains("GPU 1 · NVIDIA H200"), "{shown}");
        assert!(line(&shown, "busy").contains("100%"), "{shown}");
    }
    let mut driver = driver((120, 36), Kind::Two);
    driver.key(KeyCode::Up);
    let idle = shown(&driver);
    assert!(idle.contains("GPU 0 · NVIDIA H200") && idle.contains("not for this run"), "{idle}");
    assert!(idle.contains("idle: nothing runs on it"), "{idle}");
    assert!(line(&idle, "our events").contains("the engine does not work on this GPU"), "{idle}");
    driver.key(KeyCode::Up);
    assert!(shown(&driver).contains("GPU 0 · NVIDIA H200"), "there is none above the first");
    let rows = layout(driver.area(), &driver.app).rows;
    driver.mouse(Pointer::Press, rows.x + 3, rows.y + 1);
    assert!(shown(&driver).contains("GPU 1 · NVIDIA H200"));
    driver.mouse(Pointer::WheelUp, rows.x + 3, rows.y + 1);
    assert!(shown(&driver).contains("GPU 0 · NVIDIA H200"));
}

#[test]
fn the_overview_has_the_four_figures_of_the_engines_gpu_and_nothing_without_one() {
    for size in [(80, 24), (120, 36), (200, 60)] {
        let driver = Driver::new(size, &on_gpu(Kind::Two));
        look("gpu_overview", &driver);
        let shown = shown(&driver);
        for figure in ["busy", "SM occ", "17%", "of 139.8 GiB", "of 700 W"] {
            assert!(shown.contains(figure), "{figure}:\n{shown}");
        }
        let without = Driver::new(size, &on_gpu(Kind::None));
        assert!(layout(without.area(), &without.app).gpu_panel.is_none());
    }
}

#[test]
fn in_ascii_and_without_colour_nothing_is_lost() {
    let theme = Theme::new(ColorChoice::Never, true);
    for kind in [Kind::Hopper, Kind::Older, Kind::Lost, Kind::Two, Kind::None] {
        for size in SIZES {
            let driver = driver(size, kind);
            let shown = text(&draw(&driver.app, &theme, size));
            assert!(shown.is_ascii() && shown.contains("SM occupancy"), "{shown}");
        }
    }
}
