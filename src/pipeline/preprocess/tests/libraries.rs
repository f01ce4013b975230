//! Against pictures that the libraries themselves resized: `scripts/make_resize_references.py` made them.

use super::*;
use crate::pipeline::knobs::FILTERS;
use std::path::Path;

#[derive(serde::Deserialize)]
struct Case {
    source: String,
    side: u32,
    short_side: Option<u32>,
    library: String,
    filter: String,
    result: String,
}

#[test]
fn every_filter_gives_its_library_s_pixels_within_one_level() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/resize");
    let cases = std::fs::read_to_string(folder.join("cases.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&cases).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for case in &cases {
        let filter = FILTERS.iter().position(|word| *word == case.filter).unwrap();
        let spec = InputSpec {
            side: case.side,
            geometry: case
                .short_side
                .map_or(Geometry::Squash, |short_side| Geometry::Crop { short_side }),
            format: PixelFormat::U8Nhwc,
            ..SMALL
        };
        let bytes = std::fs::read(folder.join(&case.source)).unwrap();
        let mut preprocessor = Preprocessor::new(&spec, MAX_PIXELS);
        let header = preprocessor.header(&bytes).unwrap();
        let mut ours = vec![0; spec.values()];
        let options = Options { filter: Filter::from_index(filter), scaled: true };
        preprocessor.run(&bytes, &header, options, PixelsMut::U8(&mut ours)).unwrap();
        let theirs = image::open(folder.join(&case.result)).unwrap().into_rgb8();
        assert_eq!(theirs.dimensions(), (case.side, case.side));
        let off = ours.iter().zip(theirs.as_raw()).map(|(a, b)| a.abs_diff(*b));
        let (most, sum) =
            off.fold((0, 0), |(most, sum), off| (most.max(off), sum + u32::from(off)));
        let mean = f64::from(sum) / ours.len() as f64;
        let allowed = u8::from(case.filter != "nearest");
        assert!(most <= allowed, "{} by {}: {most} levels off", case.result, case.library);
        assert!(mean < 0.05, "{} by {}: {mean} levels off on average", case.result, case.library);
        seen.insert(case.filter.as_str());
    }
    assert!(FILTERS.iter().all(|word| seen.contains(word)), "{seen:?}");
}
