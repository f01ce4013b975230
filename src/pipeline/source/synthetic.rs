//! Synthetic photos: made from a seed, the same bytes on every machine.
//!
//! The statistics that matter to a decoder are those of photos: occluding shapes whose sizes follow a
//! power law (the dead-leaves model, which gives natural images' edges and scale invariance), shaded
//! and textured with equal variance in each octave (a 1/f² power spectrum), a horizon or a blurred
//! ground behind, and sensor noise that grows with light. Quality 90; about as many bytes a pixel as
//! photos have.
//!
//! Reproducible since only whole numbers and IEEE additions, products, quotients and square roots are used.

mod paint;
mod random;
mod scene;
mod texture;

use jpeg_encoder::{ChromaSubsamplingMethod, ColorType, Encoder, SamplingFactor};
use rayon::prelude::*;
use std::sync::Arc;

use super::SourceError;
use random::Random;
use texture::Textures;

/// Images of the built-in input.
pub const DEFAULT_COUNT: usize = 64;

/// The seed of the built-in input.
pub const DEFAULT_SEED: u64 = 1;

/// Quality of the JPEGs, on libjpeg's scale.
const QUALITY: u8 = 90;

/// Sizes, as often as they stand here: mostly small ones, both ways up, and one large.
const SIZES: [(u16, u16); 16] = [
    (500, 375),
    (640, 480),
    (500, 375),
    (375, 500),
    (1024, 768),
    (500, 375),
    (640, 480),
    (600, 800),
    (500, 375),
    (1280, 720),
    (375, 500),
    (640, 480),
    (1920, 1080),
    (500, 375),
    (480, 640),
    (800, 600),
];

/// How colour is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colours {
    /// Chroma at half the resolution both ways (4:2:0).
    Halved,
    /// Chroma at full resolution (4:4:4).
    Full,
    /// Luma only.
    Grey,
}

/// An image's name and its JPEG.
type Made = (String, Arc<[u8]>);

/// Names and JPEGs of `count` images.
pub(super) fn generate(seed: u64, count: usize) -> Result<Vec<Made>, SourceError> {
    let textures = Textures::new(seed);
    let one = |index| image(seed, index, &textures);
    // A pool of its own, gone when they are made; where no thread is to be had they take longer.
    match rayon::ThreadPoolBuilder::new().build() {
        Ok(pool) => pool.install(|| (0..count).into_par_iter().map(one).collect()),
        Err(_) => (0..count).map(one).collect(),
    }
}

fn image(seed: u64, index: usize, textures: &Textures) -> Result<Made, SourceError> {
    let mut random = Random::new(seed, index as u64 + 1);
    let (width, height) = SIZES[index % SIZES.len()];
    let colours = match index % 32 {
        11 => Colours::Grey,
        6 | 17 | 30 => Colours::Full,
        _ => Colours::Halved,
    };
    let rgb = scene::render(&mut random, textures, width.into(), height.into());
    let jpeg = encode(&rgb, width, height, colours)
        .map_err(|error| SourceError::Synthetic { index, error })?;
    Ok((format!("synthetic-{index:03}-{width}x{height}"), jpeg.into()))
}

fn encode(
    rgb: &[u8],
    width: u16,
    height: u16,
    colours: Colours,
) -> Result<Vec<u8>, jpeg_encoder::EncodingError> {
    let mut jpeg = Vec::with_capacity(rgb.len() / 8);
    let mut encoder = Encoder::new(&mut jpeg, QUALITY);
    encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
    encoder.set_sampling_factor(match colours {
        Colours::Halved => SamplingFactor::F_2_2,
        Colours::Full | Colours::Grey => SamplingFactor::F_1_1,
    });
    if colours == Colours::Grey {
        let grey: Vec<u8> = rgb.as_chunks::<3>().0.iter().copied().map(luma).collect();
        encoder.encode(&grey, width, height, ColorType::Luma)?;
    } else {
        encoder.encode(rgb, width, height, ColorType::Rgb)?;
    }
    Ok(jpeg)
}

/// Rec. 601 luma in 16-bit fixed point.
fn luma([r, g, b]: [u8; 3]) -> u8 {
    ((u32::from(r) * 19595 + u32::from(g) * 38470 + u32::from(b) * 7471 + 32768) >> 16) as u8
}
