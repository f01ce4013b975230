#![cfg(target_arch = "x86_64")]

use super::baseline::Baseline;
use super::general;
use super::idct::{Steps, transform};
use super::reader::{Reader, fast_here};
use super::*;
use crate::pipeline::preprocess::tests::{crc, jpeg_of, picture, raw_jpeg};
use image::RgbImage;
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

#[derive(Default)]
struct Decoder {
    reader: Reader,
    baseline: Baseline,
}

/// The pixels, where the file is one for the fast decoder.
fn ours(decoder: &mut Decoder, bytes: &[u8]) -> Option<Vec<u8>> {
    let (width, height) = size(bytes);
    let mut pixels = vec![0; width * height * 3];
    decoder.baseline.decode(&mut decoder.reader, bytes, (width, height), &mut pixels)?;
    Some(pixels)
}

fn theirs(bytes: &[u8]) -> Vec<u8> {
    let (width, height) = size(bytes);
    let mut pixels = vec![0; width * height * 3];
    general::decode(bytes, &header(bytes).unwrap(), &mut pixels).unwrap();
    pixels
}

fn size(bytes: &[u8]) -> (usize, usize) {
    let header = header(bytes).unwrap();
    (header.width as usize, header.height as usize)
}

/// Mean difference, mean distance and largest distance, in levels.
fn compare(a: &[u8], b: &[u8]) -> (f64, f64, u8) {
    assert_eq!(a.len(), b.len());
    let (mut sum, mut distance, mut max) = (0, 0, 0);
    for (&a, &b) in a.iter().zip(b) {
        sum += i64::from(a) - i64::from(b);
        distance += u64::from(a.abs_diff(b));
        max = a.abs_diff(b).max(max);
    }
    (sum as f64 / a.len() as f64, distance as f64 / a.len() as f64, max)
}

/// Edges and colours all over.
fn busy(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let hash = (x * 7 + y * 13 + x * y).wrapping_mul(0x9e37_79b1).to_be_bytes();
        image::Rgb([hash[0], hash[1] / 2 + (x % 128) as u8, hash[2] / 4 * 3])
    })
}

#[test]
fn pixels_are_libjpegs() {
    if !fast_here() {
        return;
    }
    // CRC-32 of the RGB bytes that Pillow 13 with libjpeg-turbo 3.2 decodes.
    let mut decoder = Decoder::default();
    for (name, expected) in [
        ("abstract-spiral_3", 0xc126_b2fb),
        ("canyon-wren_1", 0xcfee_7402),
        ("lake-sherburne_3", 0x7a4d_779f),
        ("oakland-zoo-otters_0", 0xd691_89b6),
        ("roman-colosseum_2", 0xb97e_bcf9),
        ("tea-gardens_3", 0x57c3_0c40),
        ("kinds/444", 0xd42a_f489),
        ("kinds/422", 0x3a94_095c),
        ("kinds/440", 0x4717_3e33),
        ("kinds/420", 0xb253_5059),
        ("kinds/grey", 0xba85_f27d),
        ("kinds/narrow", 0x0d3b_0200),
        ("kinds/progressive-444", 0x811b_94ee),
        ("kinds/progressive-422", 0xc562_e646),
        ("kinds/progressive-420", 0x61a5_9cb9),
        ("kinds/progressive-grey", 0x6172_cff0),
    ] {
        let path = format!("{}/tests/data/{name}.jpg", env!("CARGO_MANIFEST_DIR"));
        let pixels = ours(&mut decoder, &std::fs::read(path).unwrap()).unwrap();
        assert_eq!(crc(&pixels), expected, "{name}: {:#010x}", crc(&pixels));
    }
}

#[test]
fn both_decoders_agree_within_what_rounding_explains() {
    if !fast_here() {
        return;
    }
    let mut decoder = Decoder::default();
    let sampled = |factor| move |e: &mut Encoder<&mut Vec<u8>>| e.set_sampling_factor(factor);
    for (width, height) in [
        (1, 1),
        (3, 2),
        (8, 8),
        (16, 16),
        (17, 33),
        (61, 47),
        (64, 48),
        (130, 99),
        (200, 5),
        (5, 200),
    ] {
        for picture in [picture(width, height), busy(width, height)] {
            // Where nothing is upsampled, only the transforms' rounding differs.
            let full = jpeg_of(&picture, |_| {});
            let restarts = jpeg_of(&picture, |e| e.set_restart_interval(1));
            let luma: Vec<u8> = picture.pixels().map(|p| p[1]).collect();
            let grey = raw_jpeg(&luma, (width, height), ColorType::Luma, |_| {});
            let progressive = jpeg_of(&picture, |e| e.set_progressive(true));
            // The encoder writes a scan for each component then.
            let scans = jpeg_of(&picture, |e| e.set_optimized_huffman_tables(true));
            for (what, bytes) in [
                ("4:4:4", full),
                ("restarts", restarts),
                ("grey", grey),
                ("progressive", progressive),
                ("separate scans", scans),
            ] {
                let pixels = ours(&mut decoder, &bytes).expect(what);
                let (_, mean, max) = compare(&pixels, &theirs(&bytes));
                assert!(mean < 0.3 && max <= 3, "{what} {width}×{height}: {mean}, {max}");
            }
        }
        // Where colours change slowly, ways of upsampling differ little.
        if width.min(height) < 33 {
            continue;
        }
        let picture = picture(width, height);
        for (what, factor) in [
            ("4:2:2", SamplingFactor::F_2_1),
            ("4:4:0", SamplingFactor::F_1_2),
            ("4:2:0", SamplingFactor::F_2_2),
        ] {
            for restart in [0, 2] {
                let bytes = jpeg_of(&picture, |e| {
                    sampled(factor)(e);
                    e.set_restart_interval(restart);
                });
                let pixels = ours(&mut decoder, &bytes).expect(what);
                let (bias, mean, max) = compare(&pixels, &theirs(&bytes));
                assert!(
                    bias.abs() < 1.0 && mean < 1.5 && max <= 8,
                    "{what} {width}×{height}: {bias}, {mean}, {max}"
                );
            }
        }
    }
}

#[test]
fn other_kinds_are_left_to_the_general_decoder() {
    let mut decoder = Decoder::default();
    let plain = jpeg_of(&picture(61, 47), |_| {});
    assert_eq!(ours(&mut decoder, &plain).is_some(), fast_here());
    let ink = [7; 40 * 30 * 4];
    let cases = [
        ("4:1:1", jpeg_of(&picture(61, 47), |e| e.set_sampling_factor(SamplingFactor::F_4_1))),
        ("CMYK", raw_jpeg(&ink, (40, 30), ColorType::Cmyk, |_| {})),
        ("cut", plain[..plain.len() - 20].to_vec()),
        ("Adobe RGB", [&plain[..2], b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0\0", &plain[2..]].concat()),
    ];
    for (what, bytes) in cases {
        assert!(ours(&mut decoder, &bytes).is_none(), "{what}");
    }
    // Restart markers out of turn.
    let mut restarts = jpeg_of(&picture(61, 47), |e| e.set_restart_interval(2));
    let second = restarts.windows(2).position(|pair| pair == [0xff, 0xd1]).unwrap();
    restarts[second + 1] = 0xd2;
    assert!(ours(&mut decoder, &restarts).is_none());
}

/// The transform in double precision.
fn exact(block: &[i16; 64], at: (usize, usize)) -> f64 {
    let cosine = |k: usize, x: usize| {
        let scale = if k == 0 { 0.5_f64.sqrt() } else { 1.0 };
        0.5 * scale * (((2 * x + 1) * k) as f64 * std::f64::consts::PI / 16.0).cos()
    };
    let terms = block.iter().enumerate().map(|(k, &coefficient)| {
        f64::from(coefficient) * cosine(k / 8, at.0) * cosine(k % 8, at.1)
    });
    terms.sum::<f64>() + 128.0
}

#[test]
fn the_transform_is_the_cosine_transform() {
    if !fast_here() {
        return;
    }
    let mut seed = 7_u32;
    for last in [0_u8, 1, 9, 10, 40, 63] {
        for step in [1_i16, 3] {
            let mut block = entropy::Block([0; 64]);
            for &at in &zigzag::ZIGZAG[..=usize::from(last)] {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                block.0[usize::from(at)] = ((seed >> 24) as i16 - 128) / (1 + i16::from(at));
            }
            let mut out = [0; 8 * 10];
            #[expect(unsafe_code, reason = "vector instructions are there on some CPUs only")]
            // SAFETY: the CPU has the instructions.
            unsafe {
                transform(&block, last, &Steps::new(&[step.cast_unsigned(); 64]), &mut out, 10);
            }
            let dequantised = block.0.map(|coefficient| coefficient * step);
            for at in 0..64 {
                let (row, column) = (at / 8, at % 8);
                let (found, exact) =
                    (f64::from(out[10 * row + column]), exact(&dequantised, (row, column)));
                assert!(
                    (found - exact.clamp(0.0, 255.0)).abs() <= 0.6,
                    "{last}, {step}: {found} for {exact}"
                );
            }
        }
    }
}
