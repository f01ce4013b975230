//! Time an image on one thread: six photos of 500×375, one after another, to 224×224.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pipetop::pipeline::infer::InputSpec;
use pipetop::pipeline::pixels::PixelsMut;
use pipetop::pipeline::preprocess::{Filter, Header, MAX_PIXELS, Options, Preprocessor};
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

#[divan::bench(args = [true, false])]
fn decode(bencher: Bencher, scaled: bool) {
    let (mut preprocessor, headers, _) = ready();
    let options = Options { scaled, ..Options::default() };
    each(bencher, |i| preprocessor.decode(PHOTOS[i], &headers[i], options).expect("a photo"));
}

/// Photos of one size: the one that was decoded stands for all.
#[divan::bench(args = [0, 1, 2, 3], consts = [true, false])]
fn resize<const SCALED: bool>(bencher: Bencher, filter: usize) {
    let (mut preprocessor, headers, _) = ready();
    let options = Options { filter: Filter::from_index(filter), scaled: SCALED };
    preprocessor.decode(PHOTOS[0], &headers[0], options).expect("a photo");
    each(bencher, |i| preprocessor.resize(&headers[i], options).expect("a picture"));
}

#[divan::bench]
fn normalise(bencher: Bencher) {
    let (mut preprocessor, headers, mut out) = ready();
    let mut normalise =
        |i: usize| preprocessor.normalise(&headers[i], PixelsMut::F32(black_box(&mut out)));
    each(bencher, &mut normalise);
}

#[divan::bench(args = [true, false])]
fn total_cubic(bencher: Bencher, scaled: bool) {
    let options = Options { scaled, ..Options::default() };
    let (mut preprocessor, _, mut out) = ready();
    each(bencher, |i| {
        let header = preprocessor.header(PHOTOS[i]).expect("a photo");
        preprocessor.run(PHOTOS[i], &header, options, PixelsMut::F32(&mut out)).expect("a photo");
    });
}

/// All of the built-in input, on all cores.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn synthetic(bencher: Bencher) {
    bencher
        .counter(ItemsCount::new(DEFAULT_COUNT))
        .bench(|| Source::synthetic(DEFAULT_SEED, DEFAULT_COUNT).expect("images"));
}
