//! The decoder for most of the world's JPEGs at full size: Huffman codes of 8 bits, grey or YCbCr.
//!
//! Pixels are libjpeg's to the bit (accurate integer transform, "fancy" upsampling): a classifier's close calls
//! turn on less. Whatever is not wholly in order is left to the general decoder, which then also says what is
//! wrong: here there is no error but "not this one".

#![expect(unsafe_code, reason = "vector instructions are there on some CPUs only")]

use super::colour::rgb_row;
use super::entropy::Block;
use super::frame::Frame;
use super::idct::{Steps, transform};
use super::reader::{Reader, Start, fast_here};
use super::sequential::{Sink, Wanted};
use super::upsample::{Halved, Plane, Upsampler};
use crate::probe::lock::gil::checkpoint;

/// A decoder's planes and rows, which serve one image after another.
#[derive(Default)]
pub(super) struct Baseline {
    planes: Planes,
    upsamplers: [Upsampler; 2],
}

#[derive(Default)]
struct Planes {
    planes: [Plane; 3],
    steps: [Steps; 3],
}

impl Sink for Planes {
    fn steps(&mut self, component: usize, steps: &[u16; 64]) {
        self.steps[component] = Steps::new(steps);
    }

    #[inline]
    fn take(
        &mut self,
        component: usize,
        column: usize,
        row: usize,
        blocks: &[Block],
        lasts: &[u8],
    ) {
        let plane = &mut self.planes[component];
        let start = 8 * (row * plane.stride + column);
        for (index, (block, &last)) in blocks.iter().zip(lasts).enumerate() {
            let out = &mut plane.samples[start + 8 * index..];
            // SAFETY: `Baseline::decode` has seen that the CPU has the instructions.
            unsafe { transform(block, last, &self.steps[component], out, plane.stride) };
        }
    }
}

impl Baseline {
    /// Decodes to RGB, 3 bytes a pixel, rows from the top. `rgb` holds exactly width × height × 3 bytes.
    ///
    /// `None` where the CPU or the file is another than this decoder is for, or the file is damaged; `rgb`
    /// then holds anything.
    pub(super) fn decode(
        &mut self,
        reader: &mut Reader,
        bytes: &[u8],
        (width, height): (usize, usize),
        rgb: &mut [u8],
    ) -> Option<()> {
        if !fast_here() {
            return None;
        }
        let start = Start::read(bytes)?;
        let frame = &start.frame;
        if (frame.width, frame.height) != (width, height) || !frame.is_ordinary() {
            return None;
        }
        // SAFETY: the CPU has the instructions.
        unsafe { self.decode_here(reader, start, bytes, rgb) }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn decode_here(
        &mut self,
        reader: &mut Reader,
        start: Start,
        bytes: &[u8],
        rgb: &mut [u8],
    ) -> Option<()> {
        let (grey, sampling) = (start.frame.components().len() == 1, start.frame.sampling());
        let wanted = self.lay_out(&start.frame);
        let size = (start.frame.width, start.frame.height);
        reader.read::<true>(start, bytes, &wanted, &mut self.planes)?;
        self.convert(grey, sampling, size, rgb);
        Some(())
    }

    /// Sizes the planes: whole blocks.
    fn lay_out(&mut self, frame: &Frame) -> [Wanted; 4] {
        let (most_across, most_down) = frame.sampling();
        let mut wanted: [Wanted; 4] = Default::default();
        let planes = self.planes.planes.iter_mut().zip(frame.components()).zip(&mut wanted);
        for ((plane, component), wanted) in planes {
            let (across, down) = frame.blocks(component);
            plane.width = (frame.width * component.across).div_ceil(most_across);
            plane.height = (frame.height * component.down).div_ceil(most_down);
            plane.stride = 8 * across;
            let size = plane.stride * 8 * down;
            if plane.samples.len() < size {
                plane.samples.resize(size, 0);
            }
            *wanted = Wanted { columns: 0..across, rows: 0..down, last: 63 };
        }
        wanted
    }

    /// From planes to RGB.
    #[target_feature(enable = "avx2")]
    fn convert(
        &mut self,
        grey: bool,
        (across, down): (usize, usize),
        (width, height): (usize, usize),
        rgb: &mut [u8],
    ) {
        let [luma, blue, red] = &self.planes.planes;
        let [for_blue, for_red] = &mut self.upsamplers;
        let halved = Halved { across: across == 2, down: down == 2 };
        for row in 0..height {
            if row % 16 == 0 {
                checkpoint();
            }
            let out = &mut rgb[3 * row * width..];
            let y = luma.row(row);
            if grey {
                for (pixel, &y) in out.as_chunks_mut::<3>().0.iter_mut().zip(y) {
                    *pixel = [y; 3];
                }
            } else {
                let cb = for_blue.row(blue, row, halved);
                let cr = for_red.row(red, row, halved);
                rgb_row([y, cb, cr], width, out);
            }
        }
    }

    /// Bytes of memory that are held for pictures.
    pub(super) fn held(&self) -> usize {
        let planes: usize = self.planes.planes.iter().map(|plane| plane.samples.capacity()).sum();
        let rows: usize = self.upsamplers.iter().map(Upsampler::held).sum();
        planes + rows
    }
}
