//! The inverse cosine transform of libjpeg's accurate integer method (`islow`), to the bit.
//!
//! It is the transform of Loeffler, Ligtenberg and Moschytz (ICASSP 1989) in fixed point: constants have 13
//! fraction bits, and the columns' pass leaves 2 in 16-bit words for the rows' pass. Written as products of
//! pairs of inputs, every sum is a sum of integers, so that the order of adding changes nothing.

#![expect(unsafe_code, reason = "vectors are loaded from and stored to memory by address")]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi8, _mm_castsi128_pd, _mm_load_si128, _mm_mullo_epi16,
    _mm_packs_epi16, _mm_packs_epi32, _mm_set1_epi8, _mm_storeh_pd, _mm_storel_epi64,
    _mm_unpackhi_epi8, _mm_unpackhi_epi16, _mm_unpacklo_epi8, _mm_unpacklo_epi16, _mm256_add_epi32,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_madd_epi16, _mm256_set_m128i,
    _mm256_set1_epi32, _mm256_srai_epi32, _mm256_sub_epi32,
};

use super::entropy::Block;
use super::zigzag::ZIGZAG;

/// Quantisation steps in the order of a [`Block`].
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Steps([i16; 64]);

impl Default for Steps {
    fn default() -> Self {
        Self([1; 64])
    }
}

impl Steps {
    /// From a table in zigzag order.
    pub(super) fn new(zigzag: &[u16; 64]) -> Self {
        let mut steps = [0; 64];
        for (&at, &step) in ZIGZAG.iter().zip(zigzag) {
            // Products are taken to 16 bits in any case: those of sound files fit.
            steps[usize::from(at)] = step.cast_signed();
        }
        Self(steps)
    }
}

/// Fraction bits that the columns' pass leaves: 13 of the constants less 11.
const COLUMNS_SHIFT: i32 = 11;
/// The constants' 13, the columns' 2, and 3 of the transform's factor 8.
const ROWS_SHIFT: i32 = 18;

/// Writes the 8 × 8 samples of a block to `out`, rows `stride` apart. `last` is the highest zigzag index whose
/// coefficient may not be zero.
#[target_feature(enable = "avx2")]
pub(super) fn transform(block: &Block, last: u8, steps: &Steps, out: &mut [u8], stride: usize) {
    if last == 0 {
        let value = (block.0[0].wrapping_mul(steps.0[0]).saturating_add(4) >> 3) + 128;
        for row in out.chunks_mut(stride).take(8) {
            row[..8].fill(value.clamp(0, 255) as u8);
        }
        return;
    }
    let rows = std::array::from_fn(|row| {
        // SAFETY: both arrays hold 64 words, of which these are the eight from 8 × row, row < 8, and both are
        // aligned to 32 bytes, hence each row of 16 bytes to 16.
        let (coefficients, steps) = unsafe {
            let at = 8 * row;
            (
                _mm_load_si128(block.0.as_ptr().add(at).cast()),
                _mm_load_si128(steps.0.as_ptr().add(at).cast()),
            )
        };
        _mm_mullo_epi16(coefficients, steps)
    });
    let columns = transpose(pass::<COLUMNS_SHIFT>(rows));
    store(pass::<ROWS_SHIFT>(columns), out, stride);
}

/// Eight transforms of eight points side by side: input and output `k` hold each one's `k`th value.
#[inline]
#[target_feature(enable = "avx2")]
fn pass<const SHIFT: i32>(x: [__m128i; 8]) -> [__m128i; 8] {
    let add = |a, b| _mm256_add_epi32(a, b);
    let sub = |a, b| _mm256_sub_epi32(a, b);
    // Even inputs: a rotation of 2 and 6 by 3π/8, and a butterfly of 0 and 4.
    let (p04, p26) = (pairs(x[0], x[4]), pairs(x[2], x[6]));
    let (s04, d04) = (dot(p04, 8192, 8192), dot(p04, 8192, -8192));
    let (s26, d26) = (dot(p26, 10703, 4433), dot(p26, 4433, -10704));
    let even = [add(s04, s26), add(d04, d26), sub(d04, d26), sub(s04, s26)];
    // Odd inputs: the figure's chain of rotations multiplied out. The constants are sums of its rounded ones.
    let (p13, p57) = (pairs(x[1], x[3]), pairs(x[5], x[7]));
    let odd = [
        add(dot(p13, 11363, 9633), dot(p57, 6437, 2260)),
        add(dot(p13, 9633, -2259), dot(p57, -11362, -6436)),
        add(dot(p13, 6437, -11362), dot(p57, 2261, 9633)),
        add(dot(p13, 2260, -6436), dot(p57, 9633, -11363)),
    ];
    let half = _mm256_set1_epi32(1 << (SHIFT - 1));
    std::array::from_fn(|k| {
        let sum = if k < 4 { add(even[k], odd[k]) } else { sub(even[7 - k], odd[7 - k]) };
        let sum = _mm256_srai_epi32::<SHIFT>(add(sum, half));
        _mm_packs_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum))
    })
}

/// The words of `a` and `b` by turns.
#[inline]
#[target_feature(enable = "avx2")]
fn pairs(a: __m128i, b: __m128i) -> __m256i {
    _mm256_set_m128i(_mm_unpackhi_epi16(a, b), _mm_unpacklo_epi16(a, b))
}

/// `a` × the first word of each pair + `b` × the second.
#[inline]
#[target_feature(enable = "avx2")]
fn dot(pairs: __m256i, a: i16, b: i16) -> __m256i {
    let factors = i32::from(b) << 16 | i32::from(a.cast_unsigned());
    _mm256_madd_epi16(pairs, _mm256_set1_epi32(factors))
}

/// Rows of words to columns. Each step rotates the six bits of a word's place (three for the row, three for the
/// column) by one.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(rows: [__m128i; 8]) -> [__m128i; 8] {
    (0..3).fold(rows, |rows, _| {
        std::array::from_fn(|k| {
            let (a, b) = (rows[k / 2], rows[k / 2 + 4]);
            if k % 2 == 0 { _mm_unpacklo_epi16(a, b) } else { _mm_unpackhi_epi16(a, b) }
        })
    })
}

/// Columns of words, from −128 on, to rows of bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn store(columns: [__m128i; 8], out: &mut [u8], stride: usize) {
    let bytes = std::array::from_fn(|k| {
        let clamped = _mm_packs_epi16(columns[2 * k], columns[2 * k + 1]);
        _mm_add_epi8(clamped, _mm_set1_epi8(i8::MIN))
    });
    // Steps as in `transpose`, on four rows of sixteen bytes.
    let rows = (0..3).fold(bytes, |rows: [__m128i; 4], _| {
        std::array::from_fn(|k| {
            let (a, b) = (rows[k / 2], rows[k / 2 + 2]);
            if k % 2 == 0 { _mm_unpacklo_epi8(a, b) } else { _mm_unpackhi_epi8(a, b) }
        })
    });
    assert!(out.len() >= 7 * stride + 8, "room for eight rows of eight samples");
    for (pair, row) in rows.into_iter().enumerate() {
        // SAFETY: 2 × pair + 1 is at most 7, and the assertion above covers eight bytes from 7 × stride.
        unsafe {
            let at = out.as_mut_ptr().add(2 * pair * stride);
            _mm_storel_epi64(at.cast(), row);
            _mm_storeh_pd(at.add(stride).cast(), _mm_castsi128_pd(row));
        }
    }
}
