//! Pictures as batch slots hold them become normalised pixels, the channels side by side.

use std::ops::Range;

use crate::pipeline::infer::InputSpec;
use crate::pipeline::pixels::{PixelFormat, PixelsView};
use crate::pipeline::preprocess::BytesToFloats;

/// What is to be done to them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Intake {
    /// Planes of one channel each, f32.
    Planes,
    /// Pixels of f32: nothing.
    Pixels,
    /// Bytes, which are normalised.
    Bytes(BytesToFloats),
}

impl Intake {
    /// What pictures of that form need.
    pub(super) fn of(input: &InputSpec) -> Self {
        match input.format {
            PixelFormat::F32Nchw => Self::Planes,
            PixelFormat::F32Nhwc => Self::Pixels,
            PixelFormat::U8Nhwc => Self::Bytes(BytesToFloats::new(input)),
        }
    }

    /// Some rows of an image of `side` × `side` pixels.
    ///
    /// # Panics
    /// Where the pictures are of another type, or too few.
    pub(super) fn rows(
        &self,
        pictures: PixelsView<'_>,
        side: usize,
        (image, rows): (usize, Range<usize>),
        out: &mut [f32],
    ) {
        let picture = image * 3 * side * side;
        let part = picture + rows.start * side * 3..picture + rows.end * side * 3;
        match (self, pictures) {
            (Self::Planes, PixelsView::F32(values)) => {
                let planes = &values[picture..][..3 * side * side];
                interleave(planes, rows.start * side..rows.end * side, out);
            }
            (Self::Pixels, PixelsView::F32(values)) => out.copy_from_slice(&values[part]),
            (Self::Bytes(normalise), PixelsView::U8(bytes)) => normalise.run(&bytes[part], out),
            (intake, _) => panic!("pictures of another type than {intake:?} takes"),
        }
    }
}

/// Puts the channels of some pixels side by side.
fn interleave(planes: &[f32], part: Range<usize>, out: &mut [f32]) {
    let (red, rest) = planes.split_at(planes.len() / 3);
    let (green, blue) = rest.split_at(red.len());
    let pixels = red[part.clone()].iter().zip(&green[part.clone()]).zip(&blue[part]);
    for (out, ((r, g), b)) in out.as_chunks_mut::<3>().0.iter_mut().zip(pixels) {
        *out = [*r, *g, *b];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::infer::builtin;

    /// Two pictures of 2 × 2 pixels in each form give the same rows.
    #[test]
    fn all_forms_give_the_same_rows() {
        let (side, picture) = (2, 12);
        let bytes: Vec<u8> = (0..24).map(|at| at * 10).collect();
        let spec = |format| InputSpec { side: 2, format, ..builtin::INPUT };
        let of = |at: usize| {
            let spec = spec(PixelFormat::U8Nhwc);
            (f32::from(bytes[at]) - spec.mean[at % 3]) * (1.0 / spec.std[at % 3])
        };
        let pixels: Vec<f32> = (0..24).map(of).collect();
        let planar = |at: usize| at / picture * picture + at % picture % 4 * 3 + at % picture / 4;
        let planes: Vec<f32> = (0..24).map(|at| pixels[planar(at)]).collect();
        let take = |format, pictures| {
            let mut out = vec![0.0; 6];
            Intake::of(&spec(format)).rows(pictures, side, (1, 1..2), &mut out);
            out
        };
        assert_eq!(take(PixelFormat::F32Nhwc, PixelsView::F32(&pixels)), pixels[18..]);
        assert_eq!(take(PixelFormat::U8Nhwc, PixelsView::U8(&bytes)), pixels[18..]);
        assert_eq!(take(PixelFormat::F32Nchw, PixelsView::F32(&planes)), pixels[18..]);
    }
}
