use super::*;
use image::{GrayAlphaImage, GrayImage, RgbaImage};
use jpeg_encoder::QuantizationTableType;

/// Four flat fields: few colours, so that a palette holds them.
fn fields(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        image::Rgb(match (x * 2 < width, y * 2 < height) {
            (true, true) => [250, 10, 20],
            (false, true) => [30, 200, 40],
            (true, false) => [15, 25, 220],
            (false, false) => [240, 240, 90],
        })
    })
}

#[test]
fn every_format_gives_the_same_picture() {
    let fields = fields(80, 60);
    let expected = small(&encoded(fields.clone(), Format::Png)).unwrap();
    let preprocessor = Preprocessor::new(&SMALL, MAX_PIXELS);
    for (format, tolerance) in [
        (Format::Png, 0.0),
        (Format::Bmp, 0.0),
        (Format::Tiff, 0.0),
        (Format::WebP, 0.0),
        (Format::Gif, 3.0),
        (Format::Jpeg, 8.0),
    ] {
        let bytes = encoded(fields.clone(), format);
        let header = preprocessor.header(&bytes).unwrap();
        assert_eq!((header.format, header.width, header.height), (format, 80, 60));
        let (mean, _) = distance(&small(&bytes).unwrap(), &expected);
        assert!(mean <= tolerance, "{}: mean {mean}", format.name());
    }
}

#[test]
fn alpha_is_dropped_and_grey_becomes_three_channels() {
    let rgb = picture(50, 40);
    let expected = small(&encoded(rgb.clone(), Format::Png)).unwrap();
    let rgba = RgbaImage::from_fn(50, 40, |x, y| {
        let image::Rgb([r, g, b]) = *rgb.get_pixel(x, y);
        image::Rgba([r, g, b, (x * 5) as u8])
    });
    for format in [Format::Png, Format::WebP, Format::Tiff] {
        assert_eq!(small(&encoded(rgba.clone(), format)).unwrap(), expected, "{}", format.name());
    }
    let grey = GrayImage::from_fn(50, 40, |x, _| image::Luma([(x * 5) as u8]));
    let with_alpha =
        GrayAlphaImage::from_fn(50, 40, |x, y| image::LumaA([(x * 5) as u8, (y * 6) as u8]));
    let grey = small(&encoded(grey, Format::Png)).unwrap();
    assert_eq!(small(&encoded(with_alpha, Format::Png)).unwrap(), grey);
    let (planes, _) = grey.as_chunks::<{ 32 * 32 }>();
    assert_eq!((planes[0], planes[0]), (planes[1], planes[2]));
}

#[test]
fn sixteen_bits_are_rounded_to_eight() {
    // 0x8080 = 128 × 257; 0x12ff / 257 = 18.92.
    for (value, expected) in [(0x8080_u16, 128.0), (0x12ff, 19.0), (0xffff, 255.0), (0, 0.0)] {
        type Grey16 = image::ImageBuffer<image::Luma<u16>, Vec<u16>>;
        type Rgb16 = image::ImageBuffer<image::Rgb<u16>, Vec<u16>>;
        let grey = Grey16::from_pixel(40, 40, image::Luma([value]));
        let rgb = Rgb16::from_pixel(40, 40, image::Rgb([value; 3]));
        for bytes in [
            encoded(grey.clone(), Format::Png),
            encoded(rgb.clone(), Format::Png),
            encoded(grey, Format::Tiff),
            encoded(rgb, Format::Tiff),
        ] {
            let out = small(&bytes).unwrap();
            assert!(out.iter().all(|&v| (v - expected).abs() < 0.01), "{value:#x} → {}", out[0]);
        }
    }
}

#[test]
fn all_kinds_of_jpeg_give_the_same_picture() {
    let picture = picture(90, 70);
    let expected = small(&encoded(picture.clone(), Format::Png)).unwrap();
    let near = |what: &str, bytes: &[u8]| {
        for options in [Options::default(), in_full(Filter::Cubic)] {
            let (mean, max) = distance(&run(&SMALL, bytes, options).unwrap(), &expected);
            assert!(mean < 1.5 && max < 16.0, "{what}, {options:?}: mean {mean}, max {max}");
        }
    };
    near("4:4:4", &jpeg_of(&picture, |_| {}));
    near("4:2:0", &jpeg_of(&picture, |e| e.set_sampling_factor(SamplingFactor::F_2_2)));
    near("4:2:2", &jpeg_of(&picture, |e| e.set_sampling_factor(SamplingFactor::F_2_1)));
    near("4:4:0", &jpeg_of(&picture, |e| e.set_sampling_factor(SamplingFactor::F_1_2)));
    near("progressive", &jpeg_of(&picture, |e| e.set_progressive(true)));
    near("restarts", &jpeg_of(&picture, |e| e.set_restart_interval(3)));
    near("optimised", &jpeg_of(&picture, |e| e.set_optimized_huffman_tables(true)));
    near(
        "flat tables",
        &jpeg_of(&picture, |e| {
            e.set_quantization_tables(QuantizationTableType::Flat, QuantizationTableType::Flat);
        }),
    );
    // Samples that are RGB already, as Adobe's transform 0 says.
    let adobe = |transform| [b"Adobe\0\x64\0\0\0\0".as_slice(), &[transform]].concat();
    let rgb = raw_jpeg(picture.as_raw(), (90, 70), ColorType::Ycbcr, |_| {});
    near("Adobe RGB", &with_segment(&rgb, 0xee, &adobe(0)));
    near("Adobe YCbCr", &with_segment(&jpeg_of(&picture, |_| {}), 0xee, &adobe(1)));
    // Ink is what light is not; without black.
    let ink: Vec<u8> =
        picture.pixels().flat_map(|p| [255 - p[0], 255 - p[1], 255 - p[2], 0]).collect();
    near("CMYK", &raw_jpeg(&ink, (90, 70), ColorType::Cmyk, |_| {}));
    near("YCCK", &raw_jpeg(&ink, (90, 70), ColorType::CmykAsYcck, |_| {}));
    // Padding between segments is skipped, as other decoders do.
    let plain = jpeg_of(&picture, |_| {});
    let second = plain.windows(2).position(|pair| pair == [0xff, 0xdb]).unwrap();
    let padded = [&plain[..second], &[0; 9], &plain[second..]].concat();
    near("padded", &padded);
}

#[test]
fn black_ink_darkens() {
    let ink = [0, 0, 0, 155].repeat(40 * 40);
    for colours in [ColorType::Cmyk, ColorType::CmykAsYcck] {
        let jpeg = raw_jpeg(&ink, (40, 40), colours, |_| {});
        for options in [Options::default(), in_full(Filter::Cubic)] {
            let out = run(&SMALL, &jpeg, options).unwrap();
            assert!(out.iter().all(|&v| (v - 100.0).abs() < 3.0), "{colours:?}: {}", out[0]);
        }
    }
}

#[test]
fn grey_jpegs_have_three_equal_channels() {
    let grey: Vec<u8> = (0..50 * 40).map(|i| (i % 50 * 5) as u8).collect();
    let out = small(&raw_jpeg(&grey, (50, 40), ColorType::Luma, |_| {})).unwrap();
    let (planes, _) = out.as_chunks::<{ 32 * 32 }>();
    assert_eq!((planes[0], planes[0]), (planes[1], planes[2]));
    assert!(planes[0][0] < 60.0 && planes[0][31] > 180.0);
}

#[test]
fn of_an_animation_the_first_frame_counts() {
    use image::codecs::gif::GifEncoder;
    let frame = |rgb: [u8; 3]| {
        let [r, g, b] = rgb;
        image::Frame::new(RgbaImage::from_pixel(40, 40, image::Rgba([r, g, b, 255])))
    };
    let mut gif = Vec::new();
    GifEncoder::new(&mut gif).encode_frames([frame([200, 0, 0]), frame([0, 0, 200])]).unwrap();
    let out = small(&gif).unwrap();
    assert!(out[0] > 180.0 && out[2 * 32 * 32] < 20.0);
}

#[test]
fn buffers_are_reused_without_a_trace_of_the_last_picture() {
    let mut preprocessor = Preprocessor::new(&SMALL, MAX_PIXELS);
    let pictures = [
        jpeg_of(&picture(300, 200), |_| {}),
        jpeg_of(&picture(40, 90), |e| e.set_sampling_factor(SamplingFactor::F_2_2)),
        encoded(picture(64, 48), Format::Png),
        jpeg_of(&picture(99, 77), |e| e.set_progressive(true)),
        encoded(fields(33, 44), Format::Gif),
    ];
    let mut out = vec![0.0; SMALL.values()];
    for index in [0, 1, 2, 3, 4, 0, 3, 1, 4, 2, 0] {
        let header = preprocessor.header(&pictures[index]).unwrap();
        let pixels = PixelsMut::F32(&mut out);
        preprocessor.run(&pictures[index], &header, Options::default(), pixels).unwrap();
        assert_eq!(out, small(&pictures[index]).unwrap(), "picture {index}");
    }
}

#[test]
fn rgb_jpegs_decode_both_ways_to_what_they_hold() {
    let data = |name| format!("{}/tests/data/kinds/{name}.jpg", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(data("rgb")).unwrap();
    let like = std::fs::read(data("444")).unwrap();
    for scaled in [true, false] {
        let options = Options { scaled, ..Options::default() };
        let rgb = run(&SMALL, &bytes, options).unwrap();
        let (mean, _) = distance(&rgb, &run(&SMALL, &like, options).unwrap());
        assert!(mean < 3.0, "scaled {scaled}: {mean}");
    }
}

#[test]
fn a_picture_of_thousands_of_scans_is_refused_at_once() {
    let file = format!("{}/tests/data/kinds/progressive-grey.jpg", env!("CARGO_MANIFEST_DIR"));
    let mut bytes = std::fs::read(file).unwrap();
    assert!(small(&bytes).is_ok());
    bytes.extend([0xff, 0xda].repeat(600));
    let error = small(&bytes).unwrap_err();
    assert_eq!(error.reason(), "unsupported");
    assert!(error.detail().contains("scans, where 500 are the limit"), "{}", error.detail());
}
