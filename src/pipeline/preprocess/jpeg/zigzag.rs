//! The order in which a block's coefficients are stored.

/// Zigzag index to position, 8 × vertical + horizontal frequency (T.81, figure A.6).
pub(super) const ZIGZAG: [u8; 64] = zigzag();

const fn zigzag() -> [u8; 64] {
    let mut order = [0; 64];
    let (mut down, mut across, mut index) = (0_u8, 0_u8, 0);
    while index < 64 {
        order[index] = down * 8 + across;
        // Even diagonals run up and to the right, odd ones down and to the left.
        if (down + across).is_multiple_of(2) {
            if across == 7 {
                down += 1;
            } else {
                across += 1;
                down = down.saturating_sub(1);
            }
        } else if down == 7 {
            across += 1;
        } else {
            down += 1;
            across = across.saturating_sub(1);
        }
        index += 1;
    }
    order
}
