//! The resizer by itself: both sets of instructions, and windows at the edges.

use super::*;

fn noise(values: usize) -> Vec<u8> {
    (0..values as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// The square that a resizer makes of noise.
fn square(vectors: Vectors, side: u32, size: (u32, u32), rect: Rect, filter: Filter) -> Vec<u8> {
    let pixels = noise(3 * size.0 as usize * size.1 as usize);
    let mut resizer = SquareResizer::with(side, vectors);
    resizer.run(&pixels, size, rect, filter);
    resizer.square().to_vec()
}

fn whole((width, height): (u32, u32)) -> Rect {
    Rect { left: 0.0, top: 0.0, width: f64::from(width), height: f64::from(height) }
}

const SIZES: [(u32, u32); 10] =
    [(1, 1), (1, 9), (9, 1), (2, 2), (3, 50), (31, 33), (64, 64), (65, 63), (200, 7), (131, 97)];

#[test]
fn vectors_and_plain_code_give_the_same_bytes() {
    for size in SIZES {
        for side in [1, 2, 5, 11, 32, 43, 64] {
            for filter in Filter::ALL {
                let plain = square(Vectors::Portable, side, size, whole(size), filter);
                for vectors in Vectors::all() {
                    let other = square(vectors, side, size, whole(size), filter);
                    assert_eq!(plain, other, "{size:?} to {side} with {filter:?} by {vectors:?}");
                }
            }
        }
    }
}

/// One channel of one pixel, by the definition, in floating point and without rounding in between.
fn by_definition(
    pixels: &[u8],
    size: (u32, u32),
    kernel: &Kernel,
    side: u32,
    (x, y, channel): (u32, u32, usize),
) -> f64 {
    let taps = |out: u32, source: u32| {
        let scale = f64::from(source) / f64::from(side);
        let stretch = if kernel.antialias { scale.max(1.0) } else { 1.0 };
        let centre = (f64::from(out) + 0.5) * scale;
        let far = i64::from(source) + 20;
        let all = (-far..far).map(|at| (at, kernel.at((at as f64 + 0.5 - centre) / stretch)));
        let last = i64::from(source) - 1;
        let taps: Vec<(usize, f64)> = match kernel.edge {
            kernel::Edge::Repeated => all.map(|(at, w)| (at.clamp(0, last) as usize, w)).collect(),
            kernel::Edge::Nothing => all
                .filter(|(at, _)| (0..=last).contains(at))
                .map(|(at, w)| (at as usize, w))
                .collect(),
        };
        let sum: f64 = taps.iter().map(|(_, w)| w).sum();
        taps.into_iter()
            .filter(|(_, w)| *w != 0.0)
            .map(move |(at, w)| (at, w / sum))
            .collect::<Vec<_>>()
    };
    let (columns, rows) = (taps(x, size.0), taps(y, size.1));
    let mut sum = 0.0;
    for (row, down) in rows {
        // Rows in between are clipped where they are rounded.
        let along: f64 = columns
            .iter()
            .map(|&(column, w)| {
                w * f64::from(pixels[3 * (row * size.0 as usize + column) + channel])
            })
            .sum();
        sum += down * if kernel.between == 0 { along.clamp(0.0, 255.0) } else { along };
    }
    sum.clamp(0.0, 255.0)
}

#[test]
fn sums_are_those_of_the_definition() {
    for size in SIZES {
        let pixels = noise(3 * size.0 as usize * size.1 as usize);
        for side in [3, 16] {
            for filter in Filter::ALL {
                let Some(kernel) = Kernel::of(filter) else { continue };
                let got = square(Vectors::best(), side, size, whole(size), filter);
                for (at, &got) in got.iter().enumerate() {
                    let (pixel, channel) = (at as u32 / 3, at % 3);
                    let place = (pixel % side, pixel / side, channel);
                    let right = by_definition(&pixels, size, &kernel, side, place);
                    let off = (f64::from(got) - right).abs();
                    // Rows are rounded in between, and Lanczos then weighs up to 1.4 × a half.
                    assert!(off < 1.5, "{size:?} to {side} with {filter:?}: {got} for {right}");
                }
            }
        }
    }
}

#[test]
fn nothing_is_computed_anew_for_the_next_picture_of_the_same_size() {
    let mut resizer = SquareResizer::new(8);
    let (size, pixels) = ((20, 30), noise(3 * 20 * 30));
    resizer.run(&pixels, size, whole(size), Filter::Cubic);
    let (first, memory) = (resizer.square().to_vec(), resizer.across.pairs.as_ptr());
    // Weights that nobody computes anew stay as they were spoiled.
    resizer.down.pairs.fill(0);
    resizer.run(&pixels, size, whole(size), Filter::Cubic);
    assert!(resizer.square().iter().all(|&byte| byte == 0));
    resizer.run(&pixels, size, whole(size), Filter::Bilinear);
    resizer.run(&pixels, size, whole(size), Filter::Nearest);
    resizer.run(&pixels, size, whole(size), Filter::Cubic);
    assert_eq!(resizer.square(), first);
    assert_eq!(resizer.across.pairs.as_ptr(), memory);
}
