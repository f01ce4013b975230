mod damage;
mod formats;
mod geometry;

use super::*;
use crate::pipeline::pixels::PixelFormat;
use image::{DynamicImage, RgbImage};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

/// A square of 32 from a shorter side of 36; values stay on a scale of 0 to 255.
const SMALL: InputSpec = InputSpec {
    side: 32,
    geometry: Geometry::Crop { short_side: 36 },
    mean: [0.0; 3],
    std: [1.0; 3],
    format: PixelFormat::F32Nchw,
};

/// What the built-in model wants.
const MODEL: InputSpec = crate::pipeline::infer::builtin::INPUT;

const OTTER: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/oakland-zoo-otters_0.jpg"));
const WREN: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/canyon-wren_1.jpg"));

fn run(spec: &InputSpec, bytes: &[u8], filter: Filter) -> Result<Vec<f32>, ImageError> {
    let mut preprocessor = Preprocessor::new(spec, MAX_PIXELS);
    let header = preprocessor.header(bytes)?;
    let mut out = vec![f32::NAN; spec.values()];
    preprocessor.run(bytes, &header, filter, PixelsMut::F32(&mut out))?;
    Ok(out)
}

fn small(bytes: &[u8]) -> Result<Vec<f32>, ImageError> {
    run(&SMALL, bytes, Filter::Cubic)
}

/// Smooth and colourful, without symmetry.
pub(super) fn picture(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let (u, v) = (x as f32 / width as f32, y as f32 / height as f32);
        image::Rgb([(230.0 * u) as u8 + 10, (200.0 * v * v) as u8, (250.0 * (1.0 - u) * v) as u8])
    })
}

/// With quality 95, and what `set` sets.
pub(super) fn jpeg_of(picture: &RgbImage, set: impl FnOnce(&mut Encoder<&mut Vec<u8>>)) -> Vec<u8> {
    raw_jpeg(picture.as_raw(), picture.dimensions(), ColorType::Rgb, set)
}

pub(super) fn raw_jpeg(
    samples: &[u8],
    (width, height): (u32, u32),
    colours: ColorType,
    set: impl FnOnce(&mut Encoder<&mut Vec<u8>>),
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, 95);
    encoder.set_sampling_factor(SamplingFactor::F_1_1);
    set(&mut encoder);
    encoder.encode(samples, width as u16, height as u16, colours).unwrap();
    bytes
}

/// A segment put right behind the start of a JPEG.
fn with_segment(jpeg: &[u8], code: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16 + 2).to_be_bytes();
    [&jpeg[..2], &[0xff, code], &length, body, &jpeg[2..]].concat()
}

fn encoded(picture: impl Into<DynamicImage>, format: Format) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.into().write_to(&mut bytes, format.in_image_crate()).unwrap();
    bytes.into_inner()
}

/// Mean and largest distance.
fn distance(a: &[f32], b: &[f32]) -> (f32, f32) {
    assert_eq!(a.len(), b.len());
    let differences = a.iter().zip(b).map(|(x, y)| (x - y).abs());
    let (sum, max) = differences.fold((0.0, 0.0_f32), |(sum, max), d| (sum + d, max.max(d)));
    (sum / a.len() as f32, max)
}

/// CRC-32 as PNG has it.
pub(super) fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| (c >> 1) ^ (0xedb8_8320 & (c & 1).wrapping_neg()))
    })
}
