//! Bytes to normalised floats, pixels to planes, stored to upright: one pass.

use super::orientation::Orientation;

/// (value − mean) / std for each byte and channel.
pub(super) struct Normaliser {
    tables: Box<[[f32; 256]; 3]>,
}

impl Normaliser {
    pub(super) fn new(mean: [f32; 3], std: [f32; 3]) -> Self {
        let table = |channel: usize| {
            std::array::from_fn(|byte| (byte as f32 - mean[channel]) / std[channel])
        };
        Self { tables: Box::new(std::array::from_fn(table)) }
    }

    /// From RGB `square`, side × side × 3, as stored, to `out`, 3 × side × side, upright.
    pub(super) fn run(
        &self,
        square: &[u8],
        side: usize,
        orientation: Orientation,
        out: &mut [f32],
    ) {
        let [red, green, blue] = &*self.tables;
        let (plane, rest) = out.split_at_mut(side * side);
        let (second, third) = rest.split_at_mut(side * side);
        let planes = plane.iter_mut().zip(second).zip(third);
        if orientation == Orientation::default() {
            let (pixels, _) = square.as_chunks::<3>();
            for (((r, g), b), pixel) in planes.zip(pixels) {
                *r = red[usize::from(pixel[0])];
                *g = green[usize::from(pixel[1])];
                *b = blue[usize::from(pixel[2])];
            }
            return;
        }
        let (start, step, row_step) = orientation.walk(side);
        for (index, ((r, g), b)) in planes.enumerate() {
            let (column, row) = ((index % side).cast_signed(), (index / side).cast_signed());
            let at = 3 * start.wrapping_add_signed(column * step + row * row_step);
            *r = red[usize::from(square[at])];
            *g = green[usize::from(square[at + 1])];
            *b = blue[usize::from(square[at + 2])];
        }
    }
}
