//! What each pixel along one axis of the result is made of: so many neighbours of the source, each with a weight.

use super::kernel::{Edge, Kernel};

/// Weights of one axis, kept from image to image.
///
/// Every window has the same even number of taps; unused ones weigh nothing and may lie behind the source's end.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// First tap of each window.
    pub(super) starts: Vec<u32>,
    /// Two neighbouring taps' weights each, `pairs` for each window: the first in the lower 16 bits.
    pub(super) pairs: Vec<i32>,
    /// Pairs of taps of each window.
    pub(super) per_window: usize,
    /// Fraction bits of the weights.
    pub(super) bits: u32,
    /// One window's exact weights, while they are computed.
    exact: Vec<f64>,
    all: Vec<f64>,
}

/// A stretch of one axis of the source, in pixels and parts of pixels, and its way to the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    /// Pixels of the whole source.
    pub(super) source: u32,
    pub(super) start: f64,
    pub(super) length: f64,
    /// Pixels of the result.
    pub(super) target: u32,
}

impl Weights {
    /// Computes the weights anew, in the memory that is there.
    pub(super) fn compute(&mut self, span: Span, kernel: &Kernel) {
        let scale = span.length / f64::from(span.target);
        let stretch = if kernel.antialias { scale.max(1.0) } else { 1.0 };
        let support = kernel.support * stretch;
        // Windows reach from the first to the last pixel whose centre lies within the support.
        let most = (support * 2.0).ceil() as usize + 1;
        let taps = most + most % 2;
        self.per_window = taps / 2;
        self.starts.clear();
        self.all.clear();
        self.all.resize(taps * span.target as usize, 0.0);
        let mut used = 1;
        for (out, window) in self.all.chunks_exact_mut(taps).enumerate() {
            let centre = span.start + (out as f64 + 0.5) * scale;
            let first = (centre - support + 0.5).floor();
            let end = (centre + support + 0.5).floor();
            let last = f64::from(span.source - 1);
            let start = first.clamp(0.0, last);
            self.exact.clear();
            self.exact.extend(
                (0..(end - first) as u32)
                    .map(|tap| kernel.at((first + f64::from(tap) + 0.5 - centre) / stretch)),
            );
            let (mut sum, mut inside) = (0.0, 0.0);
            for (tap, &weight) in self.exact.iter().enumerate() {
                let at = first + tap as f64;
                sum += weight;
                let within = (0.0..=last).contains(&at);
                if within || kernel.edge == Edge::Repeated {
                    inside += weight;
                    let slot = (at.clamp(0.0, last) - start) as usize;
                    window[slot] += weight;
                    used = used.max(slot + 1);
                }
            }
            // What lies outside of the picture is left out, and the rest makes up for it; repeated pixels leave
            // the sum as it is, which is 1 but for rounding.
            let total = if kernel.edge == Edge::Repeated { sum } else { inside };
            for weight in window {
                *weight /= total;
            }
            self.starts.push(start as u32);
        }
        self.narrow(taps, used + used % 2);
        self.round(kernel.bits);
    }

    /// Drops taps that no window uses.
    fn narrow(&mut self, taps: usize, used: usize) {
        for window in 1..self.starts.len() {
            self.all.copy_within(window * taps..window * taps + used, window * used);
        }
        self.all.truncate(used * self.starts.len());
        self.per_window = used / 2;
    }

    /// To whole numbers of 16 bits, with so many fraction bits as given or as many as fit.
    fn round(&mut self, bits: Option<u32>) {
        let largest = self.all.iter().fold(0.0_f64, |most, weight| most.max(weight.abs()));
        let fits = |bits: &u32| (largest * f64::from(1 << bits)).round() <= f64::from(i16::MAX);
        self.bits = bits.or_else(|| (1..=20).rev().find(fits)).unwrap_or(1);
        let unit = f64::from(1 << self.bits);
        let rounded = |weight: f64| (weight * unit).round() as i16;
        self.pairs.clear();
        self.pairs.extend(self.all.chunks_exact(2).map(|pair| {
            let (low, high) = (rounded(pair[0]), rounded(pair[1]));
            i32::from(high) << 16 | i32::from(low.cast_unsigned())
        }));
    }

    /// Only the nearest pixel of each window.
    pub(super) fn nearest(&mut self, span: Span) {
        let scale = span.length / f64::from(span.target);
        let last = f64::from(span.source - 1);
        let at = |out| (span.start + (f64::from(out) + 0.5) * scale).floor().clamp(0.0, last);
        self.starts.clear();
        self.starts.extend((0..span.target).map(|out| at(out) as u32));
    }

    /// Bytes of a row of RGB pixels from its start to the end of the last load of sixteen bytes, where a load takes
    /// the next four taps of a window.
    pub(super) fn reach(&self) -> usize {
        let last = self.starts.iter().max().map_or(0, |&start| start as usize);
        3 * (last + (self.per_window - 1) / 2 * 4) + 16
    }

    /// The pairs of one window.
    pub(super) fn window(&self, index: usize) -> &[i32] {
        &self.pairs[index * self.per_window..][..self.per_window]
    }
}

/// The two weights of a pair.
pub(super) const fn both(pair: i32) -> (i32, i32) {
    ((pair as i16) as i32, pair >> 16)
}
