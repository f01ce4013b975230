//! A picture of the screen as a file, in the folder from which pipetop was started.

use std::io;
use std::path::{Path, PathBuf};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;

use super::app::App;
use super::screens;
use super::theme::Theme;
use crate::record::render::Scheme;
use crate::record::render::screenshot::{Kind, save, screenshot};

/// Draws the screen once more, by itself, and keeps it in a folder; gives the file's path.
///
/// # Errors
/// Where it cannot be written.
pub fn capture(
    app: &App,
    theme: &Theme,
    area: Rect,
    kind: Kind,
    folder: &Path,
) -> io::Result<PathBuf> {
    let backend = TestBackend::new(area.width, area.height);
    let mut terminal = Terminal::new(backend).map_err(io::Error::other)?;
    let drawn = terminal.draw(|frame| screens::render(frame, app, theme));
    let buffer = drawn.map_err(io::Error::other)?.buffer;
    let bytes = screenshot(buffer, &Scheme::dark(), kind)?;
    save(folder, &stem(), kind, &bytes)
}

/// `pipetop-20261231-235959`, by the clock on the wall.
fn stem() -> String {
    // SAFETY: the time zone is read under a lock of libc's own, and nothing here changes the
    // environment that it is read from; both pointers are to values that live through the call.
    #[expect(unsafe_code, reason = "std knows of no time zones")]
    let now = unsafe {
        let seconds = libc::time(std::ptr::null_mut());
        let mut now: libc::tm = std::mem::zeroed();
        libc::localtime_r(&raw const seconds, &raw mut now);
        now
    };
    format!(
        "pipetop-{:04}{:02}{:02}-{:02}{:02}{:02}",
        now.tm_year + 1900,
        now.tm_mon + 1,
        now.tm_mday,
        now.tm_hour,
        now.tm_min,
        now.tm_sec
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::ColorChoice;

    #[test]
    fn the_screen_is_kept_under_the_time_of_day() {
        let folder = tempfile::tempdir().unwrap();
        let theme = Theme::new(ColorChoice::Indexed, false);
        let area = Rect::new(0, 0, 80, 24);
        let path = capture(&App::default(), &theme, area, Kind::Text, folder.path()).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let digits = name.strip_prefix("pipetop-").and_then(|name| name.strip_suffix(".txt"));
        let (date, time) = digits.and_then(|digits| digits.split_once('-')).unwrap();
        assert!(date.len() == 8 && date.starts_with("20") && date.parse::<u32>().is_ok(), "{name}");
        assert!(time.len() == 6 && time.parse::<u32>().is_ok_and(|time| time < 240_000), "{name}");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 24);
        assert!(text.contains("pipetop"), "{text}");
    }
}
