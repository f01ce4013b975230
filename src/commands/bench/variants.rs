//! The ways from file to slot that are compared.

use clap::ValueEnum;

use crate::pipeline::infer::{Framing, InputSpec, builtin};
use crate::pipeline::pixels::PixelFormat;
use crate::pipeline::preprocess::{Filter, Options, Preprocessor};

/// A way from file to slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Variant {
    /// JPEGs decoded in full, then resized; normalised floats in planes.
    Conventional,
    /// The same without normalising: bytes.
    ConventionalU8,
    /// JPEGs decoded no larger than needed; normalised floats in planes.
    Scaled,
    /// The same without normalising: bytes.
    ScaledU8,
    /// As conventional, but every JPEG with the general decoder, which other processors and odd files take.
    Zune,
}

impl Variant {
    /// All variants, in the order in which they take turns.
    pub const ALL: [Self; 5] =
        [Self::Conventional, Self::ConventionalU8, Self::Scaled, Self::ScaledU8, Self::Zune];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conventional => "conventional",
            Self::ConventionalU8 => "conventional-u8",
            Self::Scaled => "scaled",
            Self::ScaledU8 => "scaled-u8",
            Self::Zune => "zune",
        }
    }

    /// What the slot looks like; the numbers are those of the built-in model.
    pub fn input(self, framing: Framing) -> InputSpec {
        let format = match self {
            Self::ConventionalU8 | Self::ScaledU8 => PixelFormat::U8Nhwc,
            Self::Conventional | Self::Scaled | Self::Zune => PixelFormat::F32Nchw,
        };
        let Framing { side, geometry } = framing;
        InputSpec { side, geometry, format, ..builtin::INPUT }
    }

    /// How images are brought to size.
    pub const fn options(self, filter: Filter) -> Options {
        Options { filter, scaled: matches!(self, Self::Scaled | Self::ScaledU8) }
    }

    /// A worker of this kind.
    pub fn preprocessor(self, framing: Framing, max_pixels: u64) -> Preprocessor {
        let preprocessor = Preprocessor::new(&self.input(framing), max_pixels);
        if self == Self::Zune { preprocessor.with_general_jpeg_decoder() } else { preprocessor }
    }
}
