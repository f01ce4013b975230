use super::super::zigzag::ZIGZAG;
use super::*;
use crate::pipeline::preprocess::tests::{jpeg_of, picture, raw_jpeg};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

/// The low n × n coefficients as samples, in double precision.
fn exact(block: &[i16; 64], n: usize, (x, y): (usize, usize)) -> f64 {
    let factor = |k: usize, at: usize| {
        let scale = if k == 0 { 0.5_f64.sqrt() } else { 1.0 };
        0.5 * scale * (((2 * at + 1) * k) as f64 * std::f64::consts::PI / (2 * n) as f64).cos()
    };
    let mut sum = 128.0;
    for v in 0..n {
        for u in 0..n {
            sum += f64::from(block[8 * v + u]) * factor(v, y) * factor(u, x);
        }
    }
    sum.clamp(0.0, 255.0)
}

/// Columns of two blocks' samples, 16 words apart.
fn transformed<W: Words>(n: usize, blocks: &[Block], steps: &[u16; 64]) -> Vec<i16> {
    let mut out = vec![0; 2 * 8 * 16];
    transform_all::<W>(n, blocks, &Steps::new(steps), &mut out, 16);
    out
}

#[test]
fn every_scale_is_the_cosine_transform_of_the_low_coefficients() {
    let mut seed = 7_u64;
    let mut random = |range: i64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) % (2 * range as u64 + 1)).cast_signed() - range
    };
    let steps: [u16; 64] = std::array::from_fn(|k| 2 + k as u16 / 3);
    let mut worst = 0.0_f64;
    for round in 0..300 {
        let last = [0, 0, 5, 9, 10, 40, 63][round % 7];
        let mut blocks = [Block([0; 64]); 3];
        for block in &mut blocks[..2] {
            for (divisor, &at) in (1..).step_by(3).zip(&ZIGZAG[..=last]) {
                block.0[usize::from(at)] = (random(300) / divisor) as i16;
            }
        }
        for n in 1..=8 {
            for count in [2, 1] {
                let held = &blocks[..=count];
                let out = transformed::<Plain>(n, held, &steps);
                #[cfg(target_arch = "x86_64")]
                if fast_here() {
                    let wide = transformed::<words::Wide>(n, held, &steps);
                    assert_eq!(wide, out, "n = {n}, last {last}");
                }
                for (block, which) in held.iter().zip(0..count) {
                    let mut dequantised = [0; 64];
                    for (&at, step) in ZIGZAG.iter().zip(&steps) {
                        let at = usize::from(at);
                        dequantised[at] = block.0[at] * step.cast_signed();
                    }
                    for (x, y) in (0..n * n).map(|at| (at / n, at % n)) {
                        let stored = out[(which * n + x) * 16 + y];
                        let found =
                            f64::from(stored) / f64::from(1 << transform::STORED_BITS) + 128.0;
                        let exact = exact(&dequantised, n, (x, y));
                        worst = worst.max((found - exact).abs());
                        assert!((found - exact).abs() < 0.25, "n = {n}: {found} for {exact}");
                    }
                }
            }
        }
    }
    assert!(worst > 0.01, "something was compared");
}

fn filter_spans() -> impl Iterator<Item = Span> {
    let filters = [Filter::Bilinear, Filter::Cubic, Filter::Lanczos3];
    filters.into_iter().flat_map(|filter| {
        [(1, 0.0, 1.0), (2, 0.3, 1.1), (9, 0.0, 9.0), (235, 0.0, 234.375), (500, 86.0, 328.0)]
            .into_iter()
            .chain([(8192, 0.0, 8191.9), (3, 2.0, 0.9), (40, 39.5, 0.5)])
            .flat_map(move |(samples, start, length)| {
                [(1, false), (8, true), (32, false), (224, true), (224, false)]
                    .map(|(target, halved)| Span { samples, start, length, target, filter, halved })
            })
    })
}

#[test]
fn weights_add_up_to_one_and_lie_within_the_samples() {
    for span in filter_spans() {
        let axis = Axis::new(&span, Kernel::of(span.filter).unwrap());
        assert_eq!(axis.starts.len(), span.target);
        let plane = if span.halved { span.samples.div_ceil(2) } else { span.samples };
        assert!(axis.needed().end <= plane, "{span:?}");
        for weights in axis.weights.chunks(axis.taps) {
            let sum: i32 = weights.iter().map(|&twice| twice >> 16).sum();
            assert_eq!(sum, 1 << weights::WEIGHT_BITS, "{span:?}");
            assert!(weights.iter().all(|&twice| twice as i16 == (twice >> 16) as i16));
        }
    }
}

#[test]
fn a_scale_has_a_sample_for_each_that_is_wanted() {
    for (length, wanted, expected) in [
        (448.0, 224.0, 4),
        (447.9, 224.0, 5),
        (1792.0, 224.0, 1),
        (65_535.0, 224.0, 1),
        (224.0, 224.0, 8),
        (10.0, 224.0, 8),
        (375.0, 224.0, 5),
        (375.0, 252.0, 6),
    ] {
        assert_eq!(numerator(length, wanted), expected, "{wanted} of {length}");
    }
}

fn squares(bytes: &[u8], side: usize, filter: Filter) -> Vec<Option<Vec<u8>>> {
    let start = Start::read(bytes).unwrap();
    let (width, height) = (start.frame.width as f64, start.frame.height as f64);
    let rects = [
        Rect { left: 0.0, top: 0.0, width, height },
        Rect { left: 0.4 * width, top: 0.3 * height, width: 0.35 * width, height: 0.6 * height },
    ];
    let both = rects.into_iter().flat_map(|rect| [(rect, true), (rect, false)]);
    both.map(|(rect, plain)| {
        let mut scaled = Scaled { plain, ..Scaled::default() };
        let done = scaled.decode(&mut Reader::default(), bytes, (rect, side), filter);
        let mut square = vec![0; side * side * 3];
        scaled.resize(&mut square, side);
        done.map(|()| square)
    })
    .collect()
}

#[test]
fn cpus_with_and_without_vector_instructions_give_the_same() {
    let folder = format!("{}/tests/data", env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in [folder.clone(), format!("{folder}/kinds")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "jpg") {
                files.push((path.display().to_string(), std::fs::read(path).unwrap()));
            }
        }
    }
    assert!(files.len() >= 16);
    let ink: Vec<u8> = (0..90 * 70 * 4).map(|i| (i * 7 % 251) as u8).collect();
    for colours in [ColorType::Cmyk, ColorType::CmykAsYcck] {
        files.push((format!("{colours:?}"), raw_jpeg(&ink, (90, 70), colours, |_| {})));
    }
    for (name, bytes) in files {
        for (side, filter) in [(224, Filter::Cubic), (33, Filter::Lanczos3), (8, Filter::Bilinear)]
        {
            for pair in squares(&bytes, side, filter).chunks(2) {
                assert!(pair[0].is_some(), "{name}");
                assert_eq!(pair[0], pair[1], "{name} at {side}");
            }
        }
    }
}

#[test]
fn any_sampling_will_do() {
    let picture = picture(150, 130);
    let plain = squares(&jpeg_of(&picture, |_| {}), 40, Filter::Cubic);
    let sampled = |factor| move |e: &mut Encoder<&mut Vec<u8>>| e.set_sampling_factor(factor);
    for factor in [
        SamplingFactor::R_4_2_2,
        SamplingFactor::R_4_4_0,
        SamplingFactor::R_4_2_0,
        SamplingFactor::R_4_1_1,
        SamplingFactor::R_4_1_0,
        SamplingFactor::F_1_4,
        SamplingFactor::F_2_4,
    ] {
        for progressive in [false, true] {
            let bytes = jpeg_of(&picture, |e| {
                sampled(factor)(e);
                e.set_progressive(progressive);
            });
            for (ours, plain) in squares(&bytes, 40, Filter::Cubic).iter().zip(&plain) {
                let (ours, plain) = (ours.as_ref().unwrap(), plain.as_ref().unwrap());
                let worst = ours.iter().zip(plain).map(|(a, b)| a.abs_diff(*b)).max();
                assert!(worst <= Some(12), "{factor:?}: {worst:?}");
            }
        }
    }
}

#[test]
fn thirds_are_laid_out_too() {
    let flat = image::RgbImage::from_pixel(96, 96, image::Rgb([90, 160, 40]));
    let mut bytes = jpeg_of(&flat, |_| {});
    let frame = bytes.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    // Luma 3 × 1, chroma 1 × 1. The scan no longer fits: only the layout is looked at.
    bytes[frame + 11] = 0x31;
    let start = Start::read(&bytes).unwrap();
    assert_eq!(start.frame.sampling(), (3, 1));
    assert_eq!(start.frame.mcus(), (4, 12));
    let mut scaled = Scaled::default();
    let rect = Rect { left: 0.0, top: 0.0, width: 96.0, height: 96.0 };
    let colours = start.frame.colours().unwrap();
    let wanted =
        scaled.lay_out(&start.frame, colours, (rect, 32), Filter::Cubic).expect("a layout");
    // Luma at 3/8 has 36 samples; chroma has 32 of full size across, and 36 of 96 would be enough down.
    assert_eq!((scaled.planes[0].n, scaled.planes[1].n), (3, 8));
    assert_eq!((wanted[0].columns.clone(), wanted[1].columns.clone()), (0..12, 0..4));
}

#[test]
fn damage_is_found_beyond_the_crop() {
    let bytes = jpeg_of(&picture(400, 100), |_| {});
    let rect = Rect { left: 0.0, top: 0.0, width: 50.0, height: 50.0 };
    let decode = |bytes: &[u8]| {
        let mut scaled = Scaled::default();
        scaled.decode(&mut Reader::default(), bytes, (rect, 32), Filter::Cubic)
    };
    assert!(decode(&bytes).is_some());
    assert!(decode(&bytes[..bytes.len() - 20]).is_none());
    assert!(decode(&bytes[..bytes.len() / 2]).is_none());
}
