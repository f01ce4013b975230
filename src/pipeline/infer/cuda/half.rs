//! Halves: IEEE 754 binary16, as the device computes with.

/// The nearest half, ties to even; what is too large becomes infinite.
pub(super) const fn from_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude >= 0x4780_0000 {
        // 65536 and above, infinite, or no number.
        return sign | if magnitude > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
    }
    if magnitude < 0x3880_0000 {
        // Below 2⁻¹⁴: a multiple of 2⁻²⁴. Adding 2⁻¹ lets the addition round.
        let rounded = f32::from_bits(magnitude) + 0.5;
        return sign | (rounded.to_bits() - 0x3f00_0000) as u16;
    }
    // Rebias the exponent and round half to even; a carry goes into the exponent, as it should.
    let rebiased = magnitude - 0x3800_0000;
    sign | ((rebiased + 0x0fff + (rebiased >> 13 & 1)) >> 13) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_f32(half: u16) -> f32 {
        let (exponent, fraction) = (i32::from(half >> 10 & 31), f32::from(half & 1023));
        let value = match exponent {
            0 => fraction * 2_f32.powi(-24),
            31 => f32::INFINITY,
            _ => (1.0 + fraction / 1024.0) * 2_f32.powi(exponent - 15),
        };
        if half & 0x8000 == 0 { value } else { -value }
    }

    #[test]
    fn every_half_comes_back() {
        for half in (0..0x7c01).chain(0x8000..0xfc01) {
            assert_eq!(from_f32(to_f32(half)), half, "{half:04x}");
        }
    }

    #[test]
    fn what_lies_between_goes_to_the_nearest_even() {
        for half in 0..0x7bff_u16 {
            let (low, high) = (to_f32(half), to_f32(half + 1));
            let middle = f32::midpoint(low, high);
            let even = half + (half & 1);
            assert_eq!(from_f32(middle), even, "{half:04x}");
            assert_eq!(from_f32(middle.next_down()), half, "{half:04x}");
            assert_eq!(from_f32(-middle.next_up()), 0x8000 | (half + 1), "{half:04x}");
        }
        assert_eq!(from_f32(1e9), 0x7c00);
        assert_eq!(from_f32(f32::NAN), 0x7e00);
    }
}
