//! The forms that an engine may want its pictures in, and typed views of pictures in that form.

use std::fmt;
use std::str::FromStr;

/// What one picture of a batch looks like in memory: side × side pixels, red, green, blue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PixelFormat {
    /// Normalised f32, 3 × side × side: planes one after another.
    #[default]
    F32Nchw,
    /// Normalised f32, side × side × 3: pixels one after another.
    F32Nhwc,
    /// Bytes as decoded, side × side × 3, not normalised: for engines that do so themselves.
    U8Nhwc,
}

impl PixelFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::F32Nchw, Self::F32Nhwc, Self::U8Nhwc];

    /// Bytes of one value.
    pub const fn value_bytes(self) -> usize {
        match self {
            Self::F32Nchw | Self::F32Nhwc => size_of::<f32>(),
            Self::U8Nhwc => 1,
        }
    }

    /// Its name, as written after `null:`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32Nchw => "f32",
            Self::F32Nhwc => "f32-nhwc",
            Self::U8Nhwc => "u8",
        }
    }
}

impl fmt::Display for PixelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PixelFormat {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or(())
    }
}

/// Pictures to read, by the type of their values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PixelsView<'a> {
    /// Of [`PixelFormat::F32Nchw`] or [`PixelFormat::F32Nhwc`].
    F32(&'a [f32]),
    /// Of [`PixelFormat::U8Nhwc`].
    U8(&'a [u8]),
}

impl<'a> PixelsView<'a> {
    /// How many values there are.
    pub const fn len(self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::U8(values) => values.len(),
        }
    }

    /// Whether there is no value.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The values, where they are f32.
    pub const fn floats(self) -> Option<&'a [f32]> {
        match self {
            Self::F32(values) => Some(values),
            Self::U8(_) => None,
        }
    }

    /// The values, where they are bytes.
    pub const fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::F32(_) => None,
            Self::U8(values) => Some(values),
        }
    }
}

/// A picture to write, by the type of its values.
#[derive(Debug, PartialEq)]
pub enum PixelsMut<'a> {
    /// Of [`PixelFormat::F32Nchw`] or [`PixelFormat::F32Nhwc`].
    F32(&'a mut [f32]),
    /// Of [`PixelFormat::U8Nhwc`].
    U8(&'a mut [u8]),
}

impl PixelsMut<'_> {
    /// How many values there are.
    pub const fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::U8(values) => values.len(),
        }
    }

    /// Whether there is no value.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> From<&'a mut [f32]> for PixelsMut<'a> {
    fn from(values: &'a mut [f32]) -> Self {
        Self::F32(values)
    }
}

impl<'a> From<&'a mut [u8]> for PixelsMut<'a> {
    fn from(values: &'a mut [u8]) -> Self {
        Self::U8(values)
    }
}

/// Memory with pictures in it, to be read from any thread.
pub trait Pictures: Send + Sync {
    /// All of them, one after another.
    fn view(&self) -> PixelsView<'_>;
}

impl Pictures for Vec<f32> {
    fn view(&self) -> PixelsView<'_> {
        PixelsView::F32(self)
    }
}

impl Pictures for Vec<u8> {
    fn view(&self) -> PixelsView<'_> {
        PixelsView::U8(self)
    }
}
