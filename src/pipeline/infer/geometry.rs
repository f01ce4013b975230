//! How a picture comes into the square that a model sees, and how that is written.

use std::fmt;
use std::str::FromStr;

use super::onnx::MAX_SIDE;

/// How a picture comes into the square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Geometry {
    /// The shorter side is resized to this many pixels (at least the square's side), and the middle is cut out.
    Crop {
        /// Length of the shorter side in pixels.
        short_side: u32,
    },
    /// All of the picture is resized to the square, whatever its shape.
    Squash,
}

/// A geometry with the side of its square, as comparisons with other programs name it: `squash224`,
/// `short256-crop224`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Side of the square in pixels.
    pub side: u32,
    /// What comes into it.
    pub geometry: Geometry,
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.geometry {
            Geometry::Crop { short_side } => write!(f, "short{short_side}-crop{}", self.side),
            Geometry::Squash => write!(f, "squash{}", self.side),
        }
    }
}

impl FromStr for Framing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u32>().ok();
        let text = text.trim().to_ascii_lowercase();
        let framing = if let Some(side) = text.strip_prefix("squash") {
            number(side).map(|side| Self { side, geometry: Geometry::Squash })
        } else {
            text.strip_prefix("short").and_then(|rest| rest.split_once("-crop")).and_then(
                |(short, side)| {
                    let geometry = Geometry::Crop { short_side: number(short)? };
                    Some(Self { side: number(side)?, geometry })
                },
            )
        };
        let Some(framing) = framing else {
            return Err("it takes squashSIDE or shortSIDE-cropSIDE, as in squash224 or \
                        short256-crop224"
                .into());
        };
        if !(1..=MAX_SIDE).contains(&framing.side) {
            return Err(format!("the square's side must be 1 to {MAX_SIDE} pixels"));
        }
        match framing.geometry {
            Geometry::Crop { short_side } if short_side < framing.side => Err(format!(
                "a square of {} cannot be cut out of a shorter side of {short_side}",
                framing.side
            )),
            Geometry::Crop { short_side } if short_side > 2 * MAX_SIDE => {
                Err(format!("the shorter side must be at most {} pixels", 2 * MAX_SIDE))
            }
            _ => Ok(framing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_texts_are_read_and_written_back() {
        for (text, side, geometry) in [
            ("squash224", 224, Geometry::Squash),
            ("short256-crop224", 224, Geometry::Crop { short_side: 256 }),
            ("short32-crop32", 32, Geometry::Crop { short_side: 32 }),
        ] {
            let framing = Framing { side, geometry };
            assert_eq!((text.parse(), framing.to_string()), (Ok(framing), text.to_owned()));
        }
    }

    #[test]
    fn bad_texts_say_what_to_write() {
        for (text, part) in [
            ("", "as in squash224"),
            ("squash", "as in squash224"),
            ("crop224", "as in squash224"),
            ("short256", "as in squash224"),
            ("squash0", "1 to 4096"),
            ("squash9999", "1 to 4096"),
            ("short200-crop224", "cannot be cut out of"),
            ("short9000-crop224", "at most 8192"),
        ] {
            let error = text.parse::<Framing>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
