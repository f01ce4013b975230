//! Scaled decoding against the conventional path.

use super::*;

const SQUASHED: InputSpec = InputSpec {
    side: 224,
    geometry: Geometry::Squash,
    mean: [0.0; 3],
    std: [1.0; 3],
    format: PixelFormat::F32Nchw,
};
const CROPPED: InputSpec = InputSpec { geometry: Geometry::Crop { short_side: 256 }, ..SQUASHED };

const PHOTOS: [&str; 6] = [
    "abstract-spiral_3",
    "canyon-wren_1",
    "lake-sherburne_3",
    "oakland-zoo-otters_0",
    "roman-colosseum_2",
    "tea-gardens_3",
];

fn photo(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/{name}.jpg", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Peak signal-to-noise ratio of values on a scale of 0 to 255, in dB.
fn psnr(a: &[f32], b: &[f32]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
    10.0 * (255.0 * 255.0 * a.len() as f64 / squares).log10()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn photos_come_out_close_to_the_conventional_path() {
    for (spec, least) in [(&SQUASHED, 42.0), (&CROPPED, 42.0)] {
        let each = PHOTOS.map(|name| {
            let photo = photo(name);
            let scaled = run(spec, &photo, Options::default()).unwrap();
            psnr(&scaled, &run(spec, &photo, in_full(Filter::Cubic)).unwrap())
        });
        let median = median(each.to_vec());
        assert!(median >= least && median < 60.0, "{:?}: {each:?}", spec.geometry);
        assert!(each.iter().all(|&each| each > 37.0), "{:?}: {each:?}", spec.geometry);
    }
}

#[test]
fn every_filter_is_its_conventional_self() {
    let otter = photo("oakland-zoo-otters_0");
    let full = Filter::ALL.map(|filter| run(&CROPPED, &otter, in_full(filter)).unwrap());
    for (index, filter) in Filter::ALL.into_iter().enumerate() {
        let scaled = run(&CROPPED, &otter, Options { filter, scaled: true }).unwrap();
        let near = full.iter().map(|full| psnr(&scaled, full));
        let nearest = near.clone().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(nearest.0, index, "{filter:?}: {:?}", near.collect::<Vec<_>>());
        // What does not widen with the scale is taken from the whole picture in any case.
        let in_full = matches!(filter, Filter::Nearest | Filter::CubicCv);
        assert_eq!(nearest.1 == f64::INFINITY, in_full);
    }
}

#[test]
fn all_eight_orientations_are_the_conventional_ones() {
    let plain = jpeg_of(&picture(161, 147), |_| {});
    for value in 1..=8 {
        let block = [b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", &[value; 1][..]];
        let block = [block.concat(), vec![0; 7]].concat();
        let bytes = with_segment(&plain, 0xe1, &block);
        let full = run(&SMALL, &bytes, in_full(Filter::Cubic)).unwrap();
        let (mean, max) = distance(&small(&bytes).unwrap(), &full);
        assert!(mean < 0.6 && max < 4.0, "orientation {value}: {mean}, {max}");
    }
}

#[test]
fn sizes_and_shapes_of_all_kinds_come_out_close() {
    for (width, height) in
        [(1, 1), (7, 300), (300, 7), (36, 36), (61, 47), (64, 64), (517, 203), (1200, 900)]
    {
        let picture = picture(width, height);
        for factor in [SamplingFactor::F_1_1, SamplingFactor::F_2_2, SamplingFactor::F_2_1] {
            for progressive in [false, true] {
                let bytes = jpeg_of(&picture, |e| {
                    e.set_sampling_factor(factor);
                    e.set_progressive(progressive);
                });
                let full = run(&SMALL, &bytes, in_full(Filter::Cubic)).unwrap();
                let (mean, max) = distance(&small(&bytes).unwrap(), &full);
                assert!(mean < 2.0 && max < 14.0, "{width}×{height} {factor:?}: {mean}, {max}");
            }
        }
    }
}
