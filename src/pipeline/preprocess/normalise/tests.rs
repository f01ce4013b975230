//! Each format with each set of instructions and each orientation, against sums by hand.

use super::*;
use crate::pipeline::infer::Geometry;

const MEAN: [f32; 3] = [123.675, 116.28, 103.53];
const STD: [f32; 3] = [58.395, 57.12, 57.375];

fn spec(side: u32, format: PixelFormat) -> InputSpec {
    InputSpec { side, geometry: Geometry::Squash, mean: MEAN, std: STD, format }
}

/// All that this processor can run.
fn all_vectors() -> Vec<Vectors> {
    let mut all = vec![Vectors::Portable];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") {
            all.push(Vectors::Avx2);
        }
        if Vectors::best() == Vectors::Avx512 {
            all.push(Vectors::Avx512);
        }
    }
    all
}

/// Bytes without a pattern.
fn noise(values: usize) -> Vec<u8> {
    (0..values as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8).collect()
}

/// Where the pixel at (x, y) of the upright picture lies in the stored one, by EXIF's own words: which side of
/// the picture the stored row 0 and column 0 are.
fn stored(exif: u8, side: usize, (x, y): (usize, usize)) -> (usize, usize) {
    let last = side - 1;
    match exif {
        1 => (x, y),
        2 => (last - x, y),
        3 => (last - x, last - y),
        4 => (x, last - y),
        5 => (y, x),
        6 => (y, last - x),
        7 => (last - y, last - x),
        _ => (last - y, x),
    }
}

fn expected(square: &[u8], side: usize, exif: u8, format: PixelFormat) -> Vec<f64> {
    let mut out = vec![0.0; 3 * side * side];
    for y in 0..side {
        for x in 0..side {
            let (column, row) = stored(exif, side, (x, y));
            for channel in 0..3 {
                let value = f64::from(square[(row * side + column) * 3 + channel]);
                let normal = (value - f64::from(MEAN[channel])) / f64::from(STD[channel]);
                let pixel = y * side + x;
                match format {
                    PixelFormat::F32Nchw => out[channel * side * side + pixel] = normal,
                    PixelFormat::F32Nhwc => out[3 * pixel + channel] = normal,
                    PixelFormat::U8Nhwc => out[3 * pixel + channel] = value,
                }
            }
        }
    }
    out
}

#[test]
fn every_format_is_right_in_every_orientation_with_every_set_of_instructions() {
    // Sides below, at and beyond whole vectors.
    for side in [1, 2, 5, 7, 16, 17, 33, 64] {
        let square = noise(3 * side * side);
        for exif in 1..=8 {
            for format in PixelFormat::ALL {
                let expected = expected(&square, side, exif, format);
                for vectors in all_vectors() {
                    let mut normaliser = Normaliser::with(&spec(side as u32, format), vectors);
                    let orientation = Orientation::from_exif(exif);
                    let mut floats = vec![f32::NAN; expected.len()];
                    let mut bytes = vec![0; expected.len()];
                    let out = if format == PixelFormat::U8Nhwc {
                        PixelsMut::U8(&mut bytes)
                    } else {
                        PixelsMut::F32(&mut floats)
                    };
                    normaliser.run(&square, side, orientation, out);
                    for (i, &right) in expected.iter().enumerate() {
                        let got = match format {
                            PixelFormat::U8Nhwc => f64::from(bytes[i]),
                            _ => f64::from(floats[i]),
                        };
                        let what = || format!("{side} {exif} {format} {vectors:?} value {i}");
                        assert!((got - right).abs() < 1e-6, "{got} {right} {}", what());
                    }
                }
            }
        }
    }
}

#[test]
fn all_sets_of_instructions_agree_to_the_last_bit() {
    let square = noise(3 * 63 * 63);
    for format in [PixelFormat::F32Nchw, PixelFormat::F32Nhwc] {
        let run = |vectors| {
            let mut out = vec![0.0_f32; square.len()];
            let mut normaliser = Normaliser::with(&spec(63, format), vectors);
            normaliser.run(&square, 63, Orientation::default(), PixelsMut::F32(&mut out));
            out.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        for vectors in all_vectors() {
            assert_eq!(run(vectors), run(Vectors::Portable), "{vectors:?}");
        }
    }
}

#[test]
#[should_panic(expected = "the slot is of bytes")]
fn a_slot_of_another_type_is_refused() {
    let mut normaliser = Normaliser::new(&spec(2, PixelFormat::F32Nchw));
    normaliser.run(&[0; 12], 2, Orientation::default(), PixelsMut::U8(&mut [0; 12]));
}
