//! The weights with which samples along one axis are resampled.

use crate::pipeline::preprocess::resize::{Filter, Kernel};

/// Fraction bits of the weights.
pub(super) const WEIGHT_BITS: i32 = 14;

/// Turns weights of upsampled samples from `from` on into weights of the `plane` samples that they are made of;
/// returns which these are.
fn fold(weights: &mut Vec<f64>, from: usize, plane: usize) -> (usize, usize) {
    let first = (from / 2).saturating_sub(usize::from(from.is_multiple_of(2)));
    let end = from + weights.len();
    let last = end / 2;
    let mut folded = vec![0.0; last.min(plane - 1) + 1 - first];
    for (at, weight) in (from..).zip(&*weights) {
        let near = at / 2;
        // Past the ends the last sample stands for the missing one.
        let far = if at.is_multiple_of(2) { near.saturating_sub(1) } else { near + 1 };
        folded[near - first] += 0.75 * weight;
        folded[far.min(plane - 1) - first] += 0.25 * weight;
    }
    *weights = folded;
    (first, first + weights.len())
}

/// What an axis is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    /// Samples that there are.
    pub(super) samples: usize,
    /// Where in them the target begins, and how far it reaches; a sample's width is 1.
    pub(super) start: f64,
    pub(super) length: f64,
    /// Samples of the target.
    pub(super) target: usize,
    pub(super) filter: Filter,
    /// The plane has half as many samples as are told above. They are what a triangle filter makes of the plane's,
    /// of which the nearer counts three times the farther (libjpeg's "fancy" upsampling): the weights are those of
    /// both filters.
    pub(super) halved: bool,
}

impl Span {
    /// Samples of the plane.
    fn plane(&self) -> usize {
        if self.halved { self.samples.div_ceil(2) } else { self.samples }
    }
}

/// The weights along one axis.
pub(super) struct Axis {
    pub(super) span: Span,
    /// First sample of each of the target's.
    pub(super) starts: Vec<u32>,
    /// Weights of each of the target's samples, `taps` each, with [`WEIGHT_BITS`]; twice in each element, as they
    /// are copied to the words of a vector.
    pub(super) weights: Vec<i32>,
    pub(super) taps: usize,
}

impl Axis {
    /// Weights that widen with the scale (antialiased); past the ends there are no samples, and the others count
    /// for more.
    pub(super) fn new(span: &Span, kernel: Kernel) -> Self {
        let scale = span.length / span.target as f64;
        let stretch = scale.max(1.0);
        let reach = kernel.support * stretch;
        let (mut exact, mut rounded) = (Vec::new(), Vec::new());
        let mut windows = Vec::with_capacity(span.target);
        for index in 0..span.target {
            let centre = span.start + (index as f64 + 0.5) * scale;
            // Of the samples whose centres lie within reach.
            let from = ((centre - reach - 0.5).ceil().max(0.0) as usize).min(span.samples - 1);
            let end = ((centre + reach + 0.5).floor().max(0.0) as usize).min(span.samples);
            let end = end.max(from + 1);
            exact.clear();
            let weight = |at: usize| kernel.at((at as f64 + 0.5 - centre) / stretch);
            exact.extend((from..end).map(weight));
            let (from, end) =
                if span.halved { fold(&mut exact, from, span.plane()) } else { (from, end) };
            let sum: f64 = exact.iter().sum();
            // One sample that the kernel just fails to reach.
            let sum = if sum == 0.0 {
                exact.fill(1.0);
                exact.len() as f64
            } else {
                sum
            };
            // Sums are rounded, so that all weights come to one exactly.
            let (mut total, mut before) = (0.0, 0);
            let first = rounded.len();
            for weight in &exact {
                total += weight / sum * f64::from(1 << WEIGHT_BITS);
                let upto = total.round() as i32;
                rounded.push(upto - before);
                before = upto;
            }
            windows.push((from, first, end - from));
        }
        let taps = windows.iter().map(|&(_, _, count)| count).max().unwrap_or(1);
        let mut axis = Self { span: *span, starts: Vec::new(), weights: Vec::new(), taps };
        for (from, first, count) in windows {
            // All windows have the same width, and lie within the samples.
            let start = from.min(span.plane() - taps);
            axis.starts.push(start as u32);
            let behind = axis.weights.len() + taps;
            axis.weights.resize(axis.weights.len() + from - start, 0);
            let twice = |&weight: &i32| weight << 16 | weight & 0xffff;
            axis.weights.extend(rounded[first..first + count].iter().map(twice));
            axis.weights.resize(behind, 0);
        }
        axis
    }

    /// The samples that are needed.
    pub(super) fn needed(&self) -> std::ops::Range<usize> {
        let first = self.starts.iter().min().map_or(0, |&start| start as usize);
        let last = self.starts.iter().max().map_or(0, |&start| start as usize);
        first..last + self.taps
    }

    /// Bytes of memory that are held.
    pub(super) fn held(&self) -> usize {
        4 * self.starts.capacity() + 4 * self.weights.capacity()
    }
}
