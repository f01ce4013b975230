//! JPEGs decoded no larger than the model's input needs, and resampled before they become RGB.
//!
//! Each component has its own grid: chroma usually half of luma's. Each is decoded at the smallest n/8 of that
//! grid, n from 1 to 8, that still has a sample for each of the target's ([`transform`]), and from there resampled
//! to the target ([`resample`]); only there are colours converted ([`colours`]). So nothing is upsampled, any
//! sampling factors will do, and no pixel outside of the target's reach is computed: blocks that the crop does not
//! touch are only decoded as far as it takes to find the next one.
//!
//! All blocks are decoded, to the end of the last scan, so that damage is found wherever it is.

#![expect(clippy::inline_always, reason = "compiled for the instructions of whoever calls")]

mod colours;
mod resample;
#[cfg(test)]
mod tests;
mod transform;
mod weights;
mod words;

use super::super::resize::{Filter, Kernel, Rect};
use super::entropy::{Block, last_needed};
use super::frame::{Colours, Frame};
#[cfg(target_arch = "x86_64")]
use super::reader::fast_here;
use super::reader::{Reader, Start};
use super::sequential::{Sink, Wanted};
use resample::{Rows, STEP};
use transform::{Steps, transform_all};
use weights::{Axis, Span};
use words::{Plain, Words};

use crate::probe::lock::gil::checkpoint;

/// How many more samples luma has than the target at least. A transform at n/8 cuts frequencies off where the
/// resampler lets them fade; of what lies between, the target shows the less, the more samples it is made from.
const MARGIN: f64 = 1.125;

/// Bytes of weights that are kept.
const KEPT_AXES: usize = 1 << 20;

/// One component's samples, column by column, less 128.
#[derive(Default)]
struct Plane {
    samples: Vec<i16>,
    /// Distance of columns.
    stride: usize,
    /// First column and row that are there, in samples, and number of rows.
    left: usize,
    top: usize,
    height: usize,
    /// The scale's numerator over 8.
    n: usize,
    steps: Steps,
    /// Indices of its weights along the rows and along the columns.
    across: usize,
    down: usize,
}

/// What a decoder holds between the steps.
#[derive(Default)]
pub(super) struct Scaled {
    planes: Vec<Plane>,
    axes: Vec<Axis>,
    colours: Option<Colours>,
    rows: [Rows; 4],
    row: [Vec<i16>; 4],
    /// Do as on a CPU without vector instructions.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "nothing else is done"))]
    plain: bool,
}

/// Where blocks go.
struct Transformer<'a, W> {
    planes: &'a mut [Plane],
    words: std::marker::PhantomData<W>,
}

impl<W: Words> Sink for Transformer<'_, W> {
    fn steps(&mut self, component: usize, steps: &[u16; 64]) {
        self.planes[component].steps = Steps::new(steps);
    }

    #[inline(always)]
    fn take(&mut self, component: usize, column: usize, row: usize, blocks: &[Block], _: &[u8]) {
        let Plane { samples, stride, left, top, n, steps, .. } = &mut self.planes[component];
        let at = (column * *n - *left) * *stride + row * *n - *top;
        transform_all::<W>(*n, blocks, steps, &mut samples[at..], *stride);
    }
}

impl Scaled {
    /// Decodes what `rect` needs to fill a square of `side`.
    ///
    /// `None` where the file is another than this decoder is for, or damaged.
    pub(super) fn decode(
        &mut self,
        reader: &mut Reader,
        bytes: &[u8],
        (rect, side): (Rect, usize),
        filter: Filter,
    ) -> Option<()> {
        #[cfg(target_arch = "x86_64")]
        if fast_here() && !self.plain {
            #[expect(unsafe_code, reason = "the instructions are there on some CPUs only")]
            // SAFETY: the CPU has them.
            return unsafe { self.decode_fast(reader, bytes, (rect, side), filter) };
        }
        self.decode_with::<Plain>(reader, bytes, (rect, side), filter)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn decode_fast(
        &mut self,
        reader: &mut Reader,
        bytes: &[u8],
        target: (Rect, usize),
        filter: Filter,
    ) -> Option<()> {
        self.decode_with::<words::Wide>(reader, bytes, target, filter)
    }

    #[inline(always)]
    fn decode_with<W: Words>(
        &mut self,
        reader: &mut Reader,
        bytes: &[u8],
        (rect, side): (Rect, usize),
        filter: Filter,
    ) -> Option<()> {
        self.colours = None;
        let start = Start::read(bytes)?;
        let colours = start.frame.colours()?;
        let wanted = self.lay_out(&start.frame, colours, (rect, side), filter)?;
        let mut sink =
            Transformer::<W> { planes: &mut self.planes, words: std::marker::PhantomData };
        if W::FAST {
            reader.read::<true>(start, bytes, &wanted, &mut sink)?;
        } else {
            reader.read::<false>(start, bytes, &wanted, &mut sink)?;
        }
        self.colours = Some(colours);
        Some(())
    }

    /// Chooses scales, finds weights and sizes planes.
    fn lay_out(
        &mut self,
        frame: &Frame,
        colours: Colours,
        (rect, side): (Rect, usize),
        filter: Filter,
    ) -> Option<[Wanted; 4]> {
        let kernel = Kernel::of(filter).filter(|kernel| kernel.antialias)?;
        if self.axes.iter().map(Axis::held).sum::<usize>() > KEPT_AXES {
            self.axes.clear();
        }
        let (most_across, most_down) = frame.sampling();
        let mut wanted: [Wanted; 4] = Default::default();
        self.planes.resize_with(frame.components().len(), Plane::default);
        for (index, component) in frame.components().iter().enumerate() {
            let share = |factor: usize, most: usize| factor as f64 / most as f64;
            let (x, y) = (share(component.across, most_across), share(component.down, most_down));
            let chroma =
                matches!(index, 1 | 2) && matches!(colours, Colours::YCbCr | Colours::Ycck);
            let wanted_samples = side as f64 * if chroma { 1.0 } else { MARGIN };
            let n = numerator(rect.width * x, wanted_samples)
                .max(numerator(rect.height * y, wanted_samples));
            let scaled = |length: usize, factor: usize, most: usize| {
                (length * factor * n).div_ceil(8 * most)
            };
            let eighths = n as f64 / 8.0;
            let mut axis = |start: f64, length: f64, whole: usize, factor: usize, most: usize| {
                let halved = n == 8 && 2 * factor == most;
                let scale = if halved { 1.0 } else { share(factor, most) * eighths };
                let samples = if halved { whole } else { scaled(whole, factor, most) };
                let (start, length) = (start * scale, length * scale);
                let span = Span { samples, start, length, target: side, filter, halved };
                self.axis(&span, kernel)
            };
            let across = axis(rect.left, rect.width, frame.width, component.across, most_across);
            let down = axis(rect.top, rect.height, frame.height, component.down, most_down);
            let blocks = |axis: &Axis| {
                let needed = axis.needed();
                needed.start / n..needed.end.div_ceil(n)
            };
            let (columns, rows) = (blocks(&self.axes[across]), blocks(&self.axes[down]));
            let plane = &mut self.planes[index];
            plane.height = rows.len() * n;
            // Room for whole vectors, and for what a transform overwrites behind a column. An odd number of
            // cache lines, lest neighbours fall into the same set.
            plane.stride = STEP * ((plane.height + 8).div_ceil(STEP) | 1);
            (plane.left, plane.top, plane.n) = (columns.start * n, rows.start * n, n);
            (plane.across, plane.down) = (across, down);
            let size = columns.len() * n * plane.stride;
            if plane.samples.len() < size {
                plane.samples.resize(size, 0);
            }
            wanted[index] = Wanted { columns, rows, last: last_needed(n) };
        }
        Some(wanted)
    }

    /// The index of the weights for `span`.
    fn axis(&mut self, span: &Span, kernel: Kernel) -> usize {
        let found = self.axes.iter().position(|axis| axis.span == *span);
        found.unwrap_or_else(|| {
            self.axes.push(Axis::new(span, kernel));
            self.axes.len() - 1
        })
    }

    /// Resamples what was decoded last to `square`, side × side × 3, RGB, as stored.
    pub(super) fn resize(&mut self, square: &mut [u8], side: usize) {
        #[cfg(target_arch = "x86_64")]
        if fast_here() && !self.plain {
            #[expect(unsafe_code, reason = "the instructions are there on some CPUs only")]
            // SAFETY: the CPU has them.
            unsafe {
                self.resize_fast(square, side);
            };
            return;
        }
        self.resize_with::<Plain>(square, side);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn resize_fast(&mut self, square: &mut [u8], side: usize) {
        self.resize_with::<words::Wide>(square, side);
    }

    #[inline(always)]
    fn resize_with<W: Words>(&mut self, square: &mut [u8], side: usize) {
        let Self { planes, axes, colours, rows, row, .. } = self;
        let Some(colours) = *colours else { return };
        for (plane, rows) in planes.iter().zip(&mut *rows) {
            let Plane { samples, stride, left, height, across, .. } = plane;
            checkpoint();
            rows.fill::<W>((samples, *stride), *height, &axes[*across], *left);
        }
        for (index, out) in square.chunks_exact_mut(3 * side).enumerate() {
            if index % 16 == 0 {
                checkpoint();
            }
            for ((plane, rows), row) in planes.iter().zip(&*rows).zip(&mut *row) {
                rows.row::<W>(&axes[plane.down], index, plane.top, row);
            }
            let [a, b, c, d] = &*row;
            colours::row::<W>(colours, [a, b, c, d], out);
        }
    }

    /// Bytes of memory that are held.
    pub(super) fn held(&self) -> usize {
        let planes: usize = self.planes.iter().map(|plane| 2 * plane.samples.capacity()).sum();
        planes + self.rows.iter().map(Rows::held).sum::<usize>()
    }
}

/// The smallest n for which n/8 of `length` samples are as many as are wanted, or 8.
fn numerator(length: f64, wanted: f64) -> usize {
    // Rounding must not raise it.
    let exact = 8.0 * wanted / length - 1e-9;
    (exact.ceil().max(1.0) as usize).min(8)
}
