//! Time an image on one thread: six photos of 500×375, one after another, to 224×224.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pipetop::pipeline::infer::InputSpec;
use pipetop::pipeline::pixels::PixelsMut;
use pipetop::pipeline::preprocess::{Filter, Header, MAX_PIXELS, Preprocessor};
use pipetop::pipeline::source::{DEFAULT_COUNT, DEFAULT_SEED, Source};

const SPEC: InputSpec = pipetop::pipeline::infer::builtin::INPUT;

macro_rules! photo {
    ($name:literal) => {
        include_bytes!(concat!("../tests/data/", $name, ".jpg"))
    };
}

const PHOTOS: [&[u8]; 6] = [
    photo!("abstract-spiral_3"),
    photo!("canyon-wren_1"),
    photo!("lake-sherburne_3"),
    photo!("oakland-zoo-otters_0"),
    photo!("roman-colosseum_2"),
    photo!("tea-gardens_3"),
];

fn main() {
    divan::main();
}

fn ready() -> (Preprocessor, Vec<Header>, Vec<f32>) {
    let preprocessor = Preprocessor::new(&SPEC, MAX_PIXELS);
    let headers = PHOTOS.iter().map(|photo| preprocessor.header(photo).expect("a photo")).collect();
    (preprocessor, headers, vec![0.0; SPEC.values()])
}

/// Runs `step` once for each photo and counts photos.
fn each(bencher: Bencher, mut step: impl FnMut(usize)) {
    bencher
        .counter(ItemsCount::new(PHOTOS.len()))
        .bench_local(|| (0..PHOTOS.len()).for_each(&mut step));
}

#[divan::bench]
fn header(bencher: Bencher) {
    let (preprocessor, ..) = ready();
    each(bencher, |i| drop(black_box(preprocessor.header(black_box(PHOTOS[i])))));
}

#[divan::bench]
fn decode(bencher: Bencher) {
    let (mut preprocessor, headers, _) = ready();
    each(bencher, |i| preprocessor.decode(PHOTOS[i], &headers[i]).expect("a photo"));
}

#[divan::bench(args = [0, 1, 2, 3])]
fn resize(bencher: Bencher, filter: usize) {
    let (mut preprocessor, headers, _) = ready();
    preprocessor.decode(PHOTOS[0], &headers[0]).expect("a photo");
    let filter = Filter::from_index(filter);
    each(bencher, |i| preprocessor.resize(&headers[i], filter).expect("a picture"));
}

#[divan::bench]
fn normalise(bencher: Bencher) {
    let (mut preprocessor, headers, mut out) = ready();
    let mut normalise =
        |i: usize| preprocessor.normalise(&headers[i], PixelsMut::F32(black_box(&mut out)));
    each(bencher, &mut normalise);
}

#[divan::bench]
fn total_cubic(bencher: Bencher) {
    let (mut preprocessor, _, mut out) = ready();
    each(bencher, |i| {
        let header = preprocessor.header(PHOTOS[i]).expect("a photo");
        preprocessor
            .run(PHOTOS[i], &header, Filter::Cubic, PixelsMut::F32(&mut out))
            .expect("a photo");
    });
}

/// All of the built-in input, on all cores.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn synthetic(bencher: Bencher) {
    bencher
        .counter(ItemsCount::new(DEFAULT_COUNT))
        .bench(|| Source::synthetic(DEFAULT_SEED, DEFAULT_COUNT).expect("images"));
}
