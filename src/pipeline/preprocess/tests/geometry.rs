use super::*;
use fast_image_resize::images::Image;
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};

/// Decode, turn, resize all of it, then cut: the long way round.
fn the_long_way(spec: &InputSpec, bytes: &[u8], exif: u8, algorithm: ResizeAlg) -> Vec<f32> {
    let mut decoder = Preprocessor::new(spec, MAX_PIXELS);
    let Header { width, height, .. } = decoder.header(bytes).unwrap();
    decoder.decode(bytes, &decoder.header(bytes).unwrap()).unwrap();
    let mut picture =
        DynamicImage::from(RgbImage::from_raw(width, height, decoder.pixels).unwrap());
    picture.apply_orientation(image::metadata::Orientation::from_exif(exif).unwrap());
    let (width, height) = (picture.width(), picture.height());
    let Geometry::Crop { short_side } = spec.geometry else { panic!("it cuts") };
    let short = f64::from(short_side) / f64::from(width.min(height));
    let long = |side: u32| (f64::from(side) * short + 1e-9).floor() as u32;
    let (w, h) = (long(width), long(height));
    let source =
        Image::from_vec_u8(width, height, picture.into_rgb8().into_raw(), PixelType::U8x3).unwrap();
    // Along the rows, then along the columns, as Pillow does.
    let mut rows = Image::new(w, height, PixelType::U8x3);
    let mut resized = Image::new(w, h, PixelType::U8x3);
    let options = ResizeOptions::new().resize_alg(algorithm);
    Resizer::new().resize(&source, &mut rows, &options).unwrap();
    Resizer::new().resize(&rows, &mut resized, &options).unwrap();
    let resized = RgbImage::from_raw(w, h, resized.into_vec()).unwrap();
    let side = spec.side;
    let (left, top) = ((w - side) / 2, (h - side) / 2);
    let mut out = Vec::new();
    for channel in 0..3 {
        for y in 0..side {
            for x in 0..side {
                let value = f32::from(resized.get_pixel(left + x, top + y)[channel]);
                out.push((value - spec.mean[channel]) / spec.std[channel]);
            }
        }
    }
    out
}

fn exif(value: u8, big_endian: bool) -> Vec<u8> {
    let mut block = b"Exif\0\0".to_vec();
    if big_endian {
        block.extend(b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0");
        block.extend([value, 0, 0, 0, 0, 0, 0]);
    } else {
        block.extend(b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0");
        block.extend([value, 0, 0, 0, 0, 0, 0, 0]);
    }
    block
}

#[test]
fn one_resampling_is_resizing_and_cutting() {
    let algorithms = [
        ResizeAlg::Nearest,
        ResizeAlg::Convolution(FilterType::Bilinear),
        ResizeAlg::Convolution(FilterType::CatmullRom),
        ResizeAlg::Convolution(FilterType::Lanczos3),
    ];
    let mut outcomes = Vec::new();
    for (filter, algorithm) in Filter::ALL.into_iter().zip(algorithms) {
        for photo in [OTTER, WREN] {
            let ours = run(&MODEL, photo, filter).unwrap();
            let (mean, max) = distance(&ours, &the_long_way(&MODEL, photo, 1, algorithm));
            // In levels of 0 to 255: only rounding differs.
            assert!(mean * 128.0 < 0.01 && max * 128.0 < 1.5, "{filter:?}: mean {mean}, max {max}");
            outcomes.push(ours);
        }
    }
    for pair in outcomes.chunks(2).collect::<Vec<_>>().windows(2) {
        assert!(distance(&pair[0][0], &pair[1][0]).0 > 0.002, "filters differ");
    }
    assert_eq!(Filter::from_index(2), Filter::Cubic);
    assert_eq!(Filter::ALL.len(), crate::pipeline::knobs::FILTERS.len());
}

#[test]
fn squashing_takes_all_of_the_picture_in_every_orientation() {
    let plain = jpeg_of(&picture(61, 47), |_| {});
    let spec = InputSpec { geometry: Geometry::Squash, ..SMALL };
    let upright = run(&spec, &plain, Filter::Bilinear).unwrap();
    // The red of `picture` grows from 10 at the left edge to 240 at the right one, which a crop would not reach.
    assert!(upright[..32].iter().is_sorted() && upright[0] < 16.0 && upright[31] > 232.0);
    for value in 1..=8 {
        let bytes = with_segment(&plain, 0xe1, &exif(value, true));
        let turned = run(&spec, &bytes, Filter::Bilinear).unwrap();
        let mut expected = DynamicImage::from(RgbImage::from_fn(32, 32, |x, y| {
            let at = (32 * y + x) as usize;
            image::Rgb([0, 1, 2].map(|channel| upright[32 * 32 * channel + at] as u8))
        }));
        expected.apply_orientation(image::metadata::Orientation::from_exif(value).unwrap());
        let expected = expected.into_rgb8();
        for (x, y, pixel) in expected.enumerate_pixels() {
            for channel in 0..3 {
                let got = turned[32 * 32 * channel + (32 * y + x) as usize] as u8;
                assert_eq!(got, pixel[channel], "orientation {value} at {x},{y}");
            }
        }
    }
}

#[test]
fn slots_of_bytes_hold_what_slots_of_floats_do() {
    let mut preprocessor =
        Preprocessor::new(&InputSpec { format: PixelFormat::U8Nhwc, ..SMALL }, MAX_PIXELS);
    for value in 1..=8 {
        let bytes = with_segment(&jpeg_of(&picture(61, 47), |_| {}), 0xe1, &exif(value, false));
        let header = preprocessor.header(&bytes).unwrap();
        let mut out = vec![0; SMALL.values()];
        preprocessor.run(&bytes, &header, Filter::Cubic, PixelsMut::U8(&mut out)).unwrap();
        // `SMALL` leaves values as they are.
        let planes = small(&bytes).unwrap();
        for (pixel, rgb) in out.chunks_exact(3).enumerate() {
            for (channel, &byte) in rgb.iter().enumerate() {
                let float = planes[32 * 32 * channel + pixel];
                assert_eq!(float.to_bits(), f32::from(byte).to_bits(), "orientation {value}");
            }
        }
    }
}

#[test]
fn all_eight_orientations_give_the_upright_crop() {
    // 61 and 47 leave odd remainders, so that a crop from the wrong side shows.
    let plain = jpeg_of(&picture(61, 47), |_| {});
    let cubic = ResizeAlg::Convolution(FilterType::CatmullRom);
    let mut seen = Vec::new();
    for value in 1..=8 {
        for big_endian in [true, false] {
            let bytes = with_segment(&plain, 0xe1, &exif(value, big_endian));
            let ours = small(&bytes).unwrap();
            let (mean, max) = distance(&ours, &the_long_way(&SMALL, &plain, value, cubic));
            assert!(mean < 0.1 && max <= 2.0, "orientation {value}: mean {mean}, max {max}");
            seen.push(ours);
        }
    }
    for (i, a) in seen.iter().step_by(2).enumerate() {
        for b in seen.iter().step_by(2).skip(i + 1) {
            assert!(distance(a, b).0 > 5.0, "orientations differ");
        }
    }
    let unknown = with_segment(&plain, 0xe1, &exif(9, true));
    assert_eq!(small(&unknown).unwrap(), seen[0]);
}

#[test]
fn orientation_is_read_from_other_formats_too() {
    use image::ImageEncoder;
    let picture = picture(61, 47);
    let mut png = Vec::new();
    let mut encoder = image::codecs::png::PngEncoder::new(&mut png);
    encoder.set_exif_metadata(exif(6, true)[6..].to_vec()).unwrap();
    encoder.write_image(picture.as_raw(), 61, 47, image::ExtendedColorType::Rgb8).unwrap();
    let turned = encoded(DynamicImage::from(picture).rotate90(), Format::Png);
    let (mean, max) = distance(&small(&png).unwrap(), &small(&turned).unwrap());
    assert!(mean < 0.1 && max <= 2.0, "mean {mean}, max {max}");
}

#[test]
fn the_longer_side_is_cut_down_as_torchvision_does() {
    assert_eq!(resize::resized_size(500, 375, 256), (341, 256));
    assert_eq!(resize::resized_size(375, 500, 256), (256, 341));
    assert_eq!(resize::resized_size(1920, 1080, 256), (455, 256));
    assert_eq!(resize::resized_size(300, 300, 256), (256, 256));
    // 256 × 511 / 384 = 340.67: cut, not rounded.
    assert_eq!(resize::resized_size(511, 384, 256), (340, 256));
}

#[test]
fn a_rectangle_lies_within_its_picture_whatever_the_size() {
    for exif in 1..=8 {
        let orientation = Orientation::from_exif(exif);
        for width in (1..700).step_by(13).chain([4000, 65_535]) {
            for height in (1..700).step_by(17).chain([3999, 65_535]) {
                for (short_side, side) in [(256, 224), (224, 224), (33, 32), (1, 1)] {
                    let geometry = Geometry::Crop { short_side };
                    let rect = resize::source_rect((width, height), orientation, geometry, side);
                    assert!(rect.left >= 0.0 && rect.left + rect.width <= f64::from(width));
                    assert!(rect.top >= 0.0 && rect.top + rect.height <= f64::from(height));
                    assert!(rect.width > 0.0 && rect.height > 0.0);
                }
            }
        }
    }
}

#[test]
fn tiny_and_narrow_pictures_are_enlarged() {
    for (width, height) in [(1, 1), (1, 400), (400, 1), (2, 3), (32, 36), (31, 5)] {
        let picture = RgbImage::from_pixel(width, height, image::Rgb([10, 20, 30]));
        for filter in Filter::ALL {
            let out = run(&SMALL, &encoded(picture.clone(), Format::Png), filter).unwrap();
            for (channel, plane) in out.as_chunks::<{ 32 * 32 }>().0.iter().enumerate() {
                let expected = 10.0 * (channel + 1) as f32;
                assert!(plane.iter().all(|&v| (v - expected).abs() < 0.5), "{width}×{height}");
            }
        }
    }
}

#[test]
fn values_are_normalised_by_channel() {
    let spec = InputSpec {
        side: 8,
        geometry: Geometry::Squash,
        mean: [1.0, 20.0, 0.0],
        std: [2.0, 0.5, 255.0],
        format: PixelFormat::F32Nchw,
    };
    let picture = RgbImage::from_pixel(9, 9, image::Rgb([101, 30, 51]));
    let out = run(&spec, &encoded(picture, Format::Png), Filter::Bilinear).unwrap();
    let (red, rest) = out.split_at(64);
    let (green, blue) = rest.split_at(64);
    assert!(red.iter().all(|&v| (v - 50.0).abs() < 1e-5), "{red:?}");
    assert!(green.iter().all(|&v| (v - 20.0).abs() < 1e-5), "{green:?}");
    assert!(blue.iter().all(|&v| (v - 0.2).abs() < 1e-6), "{blue:?}");
}
