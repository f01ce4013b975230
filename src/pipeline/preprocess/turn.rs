//! Stored to upright: a square of RGB bytes, turned and mirrored as EXIF says.

use super::orientation::Orientation;

/// Copies `square`, side × side × 3, as stored, to `out`, upright.
///
/// # Panics
/// If one of both is shorter than that.
pub(super) fn upright(square: &[u8], side: usize, orientation: Orientation, out: &mut [u8]) {
    let out = &mut out[..3 * side * side];
    let square = &square[..3 * side * side];
    if orientation == Orientation::default() {
        out.copy_from_slice(square);
        return;
    }
    let (pixels, _) = square.as_chunks::<3>();
    let (out, _) = out.as_chunks_mut::<3>();
    let (start, step, row_step) = orientation.walk(side);
    for (row, out) in out.chunks_exact_mut(side).enumerate() {
        let first = start.wrapping_add_signed(row_step * row.cast_signed());
        for (column, pixel) in out.iter_mut().enumerate() {
            *pixel = pixels[first.wrapping_add_signed(step * column.cast_signed())];
        }
    }
}
