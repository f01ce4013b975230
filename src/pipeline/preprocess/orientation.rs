//! EXIF orientation, as a change of axes.

/// How the stored picture lies in the upright one: the axes may be swapped, then the stored axes run
/// backwards or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orientation {
    /// The stored x axis is the upright y axis.
    pub swap: bool,
    /// The stored x axis runs against the upright axis to which it belongs.
    pub flip_x: bool,
    /// The stored y axis runs against the upright axis to which it belongs.
    pub flip_y: bool,
}

impl Orientation {
    /// From the EXIF value (tag 0x0112, EXIF 2.32 §4.6.4 A); values other than 1 to 8 count as upright.
    pub const fn from_exif(value: u8) -> Self {
        Self {
            swap: matches!(value, 5..=8),
            flip_x: matches!(value, 2 | 3 | 7 | 8),
            flip_y: matches!(value, 3 | 4 | 6 | 7),
        }
    }

    /// From a block of EXIF data, which begins with a TIFF header; upright where it says nothing.
    pub fn from_exif_block(block: &[u8]) -> Self {
        image::metadata::Orientation::from_exif_chunk(block)
            .map_or_else(Self::default, |found| Self::from_exif(found.to_exif()))
    }

    /// Width and height of the upright picture, from those of the stored one.
    pub const fn upright(self, width: u32, height: u32) -> (u32, u32) {
        if self.swap { (height, width) } else { (width, height) }
    }

    /// Offset of a window of `side` in the stored picture of `width` × `height`, from its offset in
    /// the upright one.
    pub fn stored_offset(
        self,
        (left, top): (u64, u64),
        side: u64,
        (width, height): (u64, u64),
    ) -> (u64, u64) {
        let (x, y) = if self.swap { (top, left) } else { (left, top) };
        (
            if self.flip_x { width - side - x } else { x },
            if self.flip_y { height - side - y } else { y },
        )
    }

    /// Where in a stored picture of `side` × `side` the upright one begins, and how far apart lie
    /// its neighbours in a row and its rows: (start, step, row step), in pixels.
    pub fn walk(self, side: usize) -> (usize, isize, isize) {
        let n = side.cast_signed();
        let x_step = if self.flip_x { -1 } else { 1 };
        let y_step = if self.flip_y { -n } else { n };
        let start =
            usize::from(self.flip_x) * (side - 1) + usize::from(self.flip_y) * (side - 1) * side;
        if self.swap { (start, y_step, x_step) } else { (start, x_step, y_step) }
    }
}
