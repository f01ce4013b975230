//! One screen, kept as a file.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ratatui::buffer::Buffer;

use super::font::Fonts;
use super::grid::Grid;
use super::scheme::Scheme;
use super::{png, svg};

/// Text's height in pixels: of an SVG, and of a PNG, which is for screens of any density.
const SVG_FONT_SIZE: f32 = 15.0;
const PNG_FONT_SIZE: f32 = 30.0;
/// Screenshots of one second that are told apart by a number.
const MOST: u32 = 1000;

/// What a screenshot is kept as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Sharp at any size, and its text can be copied.
    #[default]
    Svg,
    /// What every program shows.
    Png,
    /// The text alone.
    Text,
}

impl Kind {
    /// What its files' names end in.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Text => "txt",
        }
    }
}

/// A drawn screen as the bytes of a file.
///
/// # Errors
/// Where a PNG of it would be too large.
pub fn screenshot(buffer: &Buffer, scheme: &Scheme, kind: Kind) -> io::Result<Vec<u8>> {
    let grid = Grid::from(buffer);
    match kind {
        Kind::Text => Ok(grid.text().into_bytes()),
        Kind::Svg => {
            let fonts = Fonts::new(SVG_FONT_SIZE);
            Ok(svg::still(&grid, scheme, &fonts, "pipetop").into_bytes())
        }
        Kind::Png => {
            let mut bytes = Vec::new();
            png::write(&mut bytes, &grid, scheme, &Fonts::new(PNG_FONT_SIZE))?;
            Ok(bytes)
        }
    }
}

/// Writes a screenshot into a folder under a name that nothing had; gives the name.
///
/// # Errors
/// Where it cannot be written.
pub fn save(folder: &Path, stem: &str, kind: Kind, bytes: &[u8]) -> io::Result<PathBuf> {
    for number in 1..=MOST {
        let extension = kind.extension();
        let name = if number == 1 {
            format!("{stem}.{extension}")
        } else {
            format!("{stem}-{number}.{extension}")
        };
        let path = folder.join(&name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                if let Err(error) = file.write_all(bytes) {
                    // Half a picture is of no use.
                    let _ = std::fs::remove_file(&path);
                    return Err(error);
                }
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_kept_in_each_kind() {
        let buffer = Buffer::with_lines(["┌ 12 img/s ┐", "└──────────┘"]);
        let taken = |kind| screenshot(&buffer, &Scheme::dark(), kind).unwrap();
        assert_eq!(taken(Kind::Text), "┌ 12 img/s ┐\n└──────────┘\n".as_bytes());
        assert!(taken(Kind::Png).starts_with(b"\x89PNG\r\n\x1a\n"));
        let svg = String::from_utf8(taken(Kind::Svg)).unwrap();
        assert!(svg.starts_with("<svg ") && svg.contains(">12 img/s</text>"));
        assert_eq!(taken(Kind::Svg), svg.as_bytes());
    }

    #[test]
    fn no_file_is_ever_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let save = |bytes: &[u8]| save(folder.path(), "a", Kind::Text, bytes).unwrap();
        let paths = [save(b"one"), save(b"two"), save(b"three")];
        let names = paths.each_ref().map(|path| path.file_name().unwrap().to_str().unwrap());
        assert_eq!(names, ["a.txt", "a-2.txt", "a-3.txt"]);
        assert_eq!(std::fs::read(&paths[0]).unwrap(), b"one");
        let gone = folder.path().join("gone");
        assert!(super::save(&gone, "a", Kind::Text, b"").is_err());
    }
}
