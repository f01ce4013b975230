//! The filters' kernels, and how the libraries that they come from treat scale and edges.

use std::f64::consts::PI;

use super::Filter;

/// What lies beyond the edges of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// Nothing: the weights of the pixels within make up for it (Pillow).
    Nothing,
    /// The outermost pixels again and again (OpenCV).
    Repeated,
}

/// How a filter weighs its neighbours.
#[derive(Clone, Copy, Debug)]
pub(in crate::pipeline::preprocess) struct Kernel {
    at: fn(f64) -> f64,
    /// How far it reaches from a pixel's centre at scale 1.
    pub(in crate::pipeline::preprocess) support: f64,
    /// Whether it widens with the scale where pictures become smaller.
    pub(in crate::pipeline::preprocess) antialias: bool,
    pub(super) edge: Edge,
    /// Fraction bits of the weights; as many as fit where nothing is said.
    pub(super) bits: Option<u32>,
    /// Fraction bits that rows keep between the two passes; 0 rounds and clips them to bytes.
    pub(super) between: u32,
}

impl Kernel {
    /// The kernel of a filter; none for nearest, which weighs nothing.
    pub(in crate::pipeline::preprocess) const fn of(filter: Filter) -> Option<Self> {
        let (at, support): (fn(f64) -> f64, f64) = match filter {
            Filter::Nearest => return None,
            Filter::Bilinear => (triangle, 1.0),
            Filter::Cubic => (catmull_rom, 2.0),
            Filter::CubicCv => {
                return Some(Self {
                    at: steep_cubic,
                    support: 2.0,
                    antialias: false,
                    edge: Edge::Repeated,
                    bits: Some(11),
                    between: 6,
                });
            }
            Filter::Lanczos3 => (lanczos3, 3.0),
        };
        Some(Self { at, support, antialias: true, edge: Edge::Nothing, bits: None, between: 0 })
    }

    /// Its value at a distance from its centre.
    pub(in crate::pipeline::preprocess) fn at(&self, distance: f64) -> f64 {
        (self.at)(distance)
    }
}

fn triangle(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

/// Keys' cubic convolution (IEEE ASSP 29(6), 1981, equation 4 with its a left open).
fn cubic(x: f64, a: f64) -> f64 {
    let x = x.abs();
    if x < 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        (((x - 5.0) * x + 8.0) * x - 4.0) * a
    } else {
        0.0
    }
}

fn catmull_rom(x: f64) -> f64 {
    cubic(x, -0.5)
}

fn steep_cubic(x: f64) -> f64 {
    cubic(x, -0.75)
}

fn lanczos3(x: f64) -> f64 {
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) };
    if x.abs() < 3.0 { sinc(x) * sinc(x / 3.0) } else { 0.0 }
}
