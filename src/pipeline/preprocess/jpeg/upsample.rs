//! Chroma at half size to full size, as libjpeg's "fancy" upsampling does it, to the bit: a triangle filter,
//! in which the nearer sample counts three times the farther. Rounding goes up and down by turns, so that the
//! mean stays; at the picture's edges the last sample stands for the missing one.

/// Which axes are at half size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Halved {
    pub(super) across: bool,
    pub(super) down: bool,
}

/// A plane of samples.
#[derive(Default)]
pub(super) struct Plane {
    /// Rows `stride` apart; whole blocks, hence more than the picture's samples.
    pub(super) samples: Vec<u8>,
    pub(super) stride: usize,
    /// Size without what fills the last blocks up.
    pub(super) width: usize,
    pub(super) height: usize,
}

impl Plane {
    pub(super) fn row(&self, row: usize) -> &[u8] {
        &self.samples[row * self.stride..][..self.width]
    }
}

/// Makes rows of full size; its buffers are kept.
#[derive(Default)]
pub(super) struct Upsampler {
    /// Sums of two rows, with one more at either end.
    sums: Vec<u16>,
    row: Vec<u8>,
}

impl Upsampler {
    /// Row `row` of the full-size plane: its samples, and perhaps one more.
    #[target_feature(enable = "avx2")]
    pub(super) fn row<'a>(&'a mut self, plane: &'a Plane, row: usize, halved: Halved) -> &'a [u8] {
        let near = if halved.down { row / 2 } else { row };
        // Rows above the first and below the last are as those.
        let far = match row % 2 {
            0 => near.saturating_sub(1),
            _ => (near + 1).min(plane.height - 1),
        };
        let (near, far) = (plane.row(near), plane.row(far));
        let width = plane.width;
        self.row.resize(2 * width, 0);
        match halved {
            Halved { across: false, down: false } => near,
            Halved { across: false, down: true } => {
                let bias = if row.is_multiple_of(2) { 1 } else { 2 };
                for ((out, &near), &far) in self.row.iter_mut().zip(near).zip(far) {
                    *out = ((3 * u16::from(near) + u16::from(far) + bias) >> 2) as u8;
                }
                &self.row[..width]
            }
            // libjpeg does not blend planes as narrow as this.
            Halved { across: true, .. } if width <= 2 => {
                for (pair, &near) in self.row.as_chunks_mut::<2>().0.iter_mut().zip(near) {
                    *pair = [near; 2];
                }
                &self.row
            }
            Halved { across: true, down: false } => {
                self.sum(near, |near, _| near, near);
                // The first and the last come out as they are.
                self.blend::<2>([1, 2]);
                &self.row
            }
            Halved { across: true, down: true } => {
                self.sum(near, |near, far| 3 * near + far, far);
                self.blend::<4>([8, 7]);
                &self.row
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sum(&mut self, near: &[u8], weigh: impl Fn(u16, u16) -> u16, far: &[u8]) {
        let width = near.len();
        self.sums.resize(width + 2, 0);
        for ((sum, &near), &far) in self.sums[1..].iter_mut().zip(near).zip(far) {
            *sum = weigh(near.into(), far.into());
        }
        (self.sums[0], self.sums[width + 1]) = (self.sums[1], self.sums[width]);
    }

    /// From the sums to the row: each gives two samples.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn blend<const SHIFT: u32>(&mut self, [left, right]: [u16; 2]) {
        let (pairs, _) = self.row.as_chunks_mut::<2>();
        let sums = self.sums.iter().zip(&self.sums[1..]).zip(&self.sums[2..]);
        for (pair, ((&before, &this), &after)) in pairs.iter_mut().zip(sums) {
            let this = 3 * this;
            *pair = [(this + before + left) >> SHIFT, (this + after + right) >> SHIFT]
                .map(|sample| sample as u8);
        }
    }

    /// Bytes of memory that are held.
    pub(super) fn held(&self) -> usize {
        self.sums.capacity() * size_of::<u16>() + self.row.capacity()
    }
}
