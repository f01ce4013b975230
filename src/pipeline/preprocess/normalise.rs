//! Bytes to normalised floats, pixels to planes where the engine wants planes: one pass.
//!
//! The loops are plain Rust that the compiler makes vectors of, once for each set of instructions: 10 µs with
//! AVX2 and 6 with AVX-512 for 224 × 224 pixels into planes that lie in the cache (18 into a batch that does not),
//! where a table of 256 floats takes 32. Other
//! processors run the same loops as they are compiled for them (on 64-bit ARM that is with NEON).

use super::turn;
use super::vectors::Vectors;
use crate::pipeline::infer::InputSpec;
use crate::pipeline::pixels::{PixelFormat, PixelsMut};
use crate::pipeline::preprocess::Orientation;

/// (value − mean) / std for each byte and channel; keeps the picture that it turns.
pub(super) struct Normaliser {
    scale: Scale,
    format: PixelFormat,
    vectors: Vectors,
    upright: Vec<u8>,
}

/// The same for an engine that has bytes as decoded, pixels one after another.
#[derive(Clone, Copy, Debug)]
pub struct BytesToFloats {
    scale: Scale,
    vectors: Vectors,
}

impl BytesToFloats {
    /// With the mean and standard deviation of `spec`.
    pub fn new(spec: &InputSpec) -> Self {
        Self { scale: Scale::of(spec), vectors: Vectors::best() }
    }

    /// From `bytes`, whole pixels, to as many normalised floats in the same order.
    pub fn run(&self, bytes: &[u8], out: &mut [f32]) {
        interleaved(self.vectors, self.scale, bytes, out);
    }
}

/// What becomes of a value: (value − mean) × 1/std. The product is within one rounding of the quotient.
#[derive(Clone, Copy, Debug)]
struct Scale {
    mean: [f32; 3],
    factor: [f32; 3],
}

impl Scale {
    fn of(spec: &InputSpec) -> Self {
        Self { mean: spec.mean, factor: spec.std.map(|std| 1.0 / std) }
    }
}

impl Normaliser {
    pub(super) fn new(spec: &InputSpec) -> Self {
        Self::with(spec, Vectors::best())
    }

    pub(super) fn with(spec: &InputSpec, vectors: Vectors) -> Self {
        let scale = Scale::of(spec);
        Self { scale, format: spec.format, vectors, upright: Vec::new() }
    }

    /// From RGB `square`, side × side × 3, as stored, to `out`, upright and in the form that the engine wants.
    ///
    /// # Panics
    /// If the type of `out` is not the format's, or one of both is too short.
    pub(super) fn run(
        &mut self,
        square: &[u8],
        side: usize,
        orientation: Orientation,
        out: PixelsMut<'_>,
    ) {
        let values = 3 * side * side;
        assert_eq!(out.len(), values, "a slot holds 3 × side × side values");
        let out = match out {
            PixelsMut::U8(out) => {
                assert_eq!(self.format, PixelFormat::U8Nhwc, "the slot is of bytes");
                turn::upright(square, side, orientation, out);
                return;
            }
            PixelsMut::F32(out) => out,
        };
        let upright = if orientation == Orientation::default() {
            &square[..values]
        } else {
            self.upright.resize(values, 0);
            turn::upright(square, side, orientation, &mut self.upright);
            &self.upright[..]
        };
        match self.format {
            PixelFormat::F32Nchw => planar(self.vectors, self.scale, upright, out),
            PixelFormat::F32Nhwc => interleaved(self.vectors, self.scale, upright, out),
            PixelFormat::U8Nhwc => unreachable!("the slot is of floats"),
        }
    }
}

/// Defines a function that runs `$body` with the instructions that its first argument names.
macro_rules! vectorised {
    ($(#[$doc:meta])* $name:ident, $body:ident) => {
        $(#[$doc])*
        fn $name(vectors: Vectors, scale: Scale, pixels: &[u8], out: &mut [f32]) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2(scale: Scale, pixels: &[u8], out: &mut [f32]) {
                $body(scale, pixels, out);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
            fn avx512(scale: Scale, pixels: &[u8], out: &mut [f32]) {
                $body(scale, pixels, out);
            }
            match vectors {
                Vectors::Portable => $body(scale, pixels, out),
                #[cfg(target_arch = "x86_64")]
                #[expect(unsafe_code, reason = "the processor decides which function may run")]
                // SAFETY: `Vectors::Avx2` is made only where the processor has AVX2.
                Vectors::Avx2 => unsafe { avx2(scale, pixels, out) },
                #[cfg(target_arch = "x86_64")]
                #[expect(unsafe_code, reason = "the processor decides which function may run")]
                // SAFETY: `Vectors::Avx512` is made only where the processor has AVX-512 F, BW, VL and VBMI.
                Vectors::Avx512 => unsafe { avx512(scale, pixels, out) },
            }
        }
    };
}

/// Values at a time where pixels stay together: three vectors of 16, in which the channels come round.
const STEP: usize = 48;

vectorised! {
    /// RGB pixels to three planes.
    planar, planar_body
}
vectorised! {
    /// RGB pixels to RGB pixels.
    interleaved, interleaved_body
}

#[expect(clippy::inline_always, reason = "it takes on the instructions of the function it is in")]
#[inline(always)]
fn planar_body(scale: Scale, pixels: &[u8], out: &mut [f32]) {
    let (pixels, _) = pixels.as_chunks::<3>();
    let (red, rest) = out.split_at_mut(pixels.len());
    let (green, blue) = rest.split_at_mut(pixels.len());
    let Scale { mean, factor } = scale;
    let planes = red.iter_mut().zip(green).zip(blue);
    for (((r, g), b), pixel) in planes.zip(pixels) {
        *r = (f32::from(pixel[0]) - mean[0]) * factor[0];
        *g = (f32::from(pixel[1]) - mean[1]) * factor[1];
        *b = (f32::from(pixel[2]) - mean[2]) * factor[2];
    }
}

#[expect(clippy::inline_always, reason = "it takes on the instructions of the function it is in")]
#[inline(always)]
fn interleaved_body(scale: Scale, pixels: &[u8], out: &mut [f32]) {
    let mean: [f32; STEP] = std::array::from_fn(|i| scale.mean[i % 3]);
    let factor: [f32; STEP] = std::array::from_fn(|i| scale.factor[i % 3]);
    let (steps, rest) = pixels.as_chunks::<STEP>();
    let (out_steps, out_rest) = out.as_chunks_mut::<STEP>();
    for (values, step) in out_steps.iter_mut().zip(steps) {
        for i in 0..STEP {
            values[i] = (f32::from(step[i]) - mean[i]) * factor[i];
        }
    }
    for (i, (value, &byte)) in out_rest.iter_mut().zip(rest).enumerate() {
        *value = (f32::from(byte) - mean[i]) * factor[i];
    }
}

#[cfg(test)]
mod tests;
