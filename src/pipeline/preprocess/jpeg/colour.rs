//! YCbCr to RGB, as libjpeg computes it: tables of rounded products with 16 fraction bits (T.871, clause 7).

#![expect(unsafe_code, reason = "vectors are loaded from and stored to memory by address")]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm_setr_epi8, _mm_shuffle_epi8, _mm_storeu_si128,
    _mm_unpackhi_epi8, _mm_unpackhi_epi16, _mm_unpacklo_epi8, _mm_unpacklo_epi16, _mm256_add_epi16,
    _mm256_add_epi32, _mm256_castsi256_si128, _mm256_cvtepu8_epi16, _mm256_madd_epi16,
    _mm256_mulhi_epi16, _mm256_packs_epi32, _mm256_packus_epi16, _mm256_permute4x64_epi64,
    _mm256_set1_epi16, _mm256_set1_epi32, _mm256_srai_epi16, _mm256_srai_epi32, _mm256_sub_epi16,
    _mm256_unpackhi_epi16, _mm256_unpacklo_epi16,
};

/// Pixels at a time.
const STEP: usize = 16;

/// 65,536 × 0.402, × 0.228, × 0.34414 and × (1 − 0.71414), rounded: what the factors 1.402, 1.772, −0.34414
/// and −0.71414 differ from whole numbers by, so that they fit into 16 bits.
const RED: i16 = 26_345;
const BLUE: i16 = -14_942;
const GREEN_BLUE: i16 = -22_554;
const GREEN_RED: i16 = 18_734;

/// One row; `rgb` may reach beyond it, and what lies there may be overwritten.
///
/// # Panics
/// If one of the planes is shorter than the row of `width` pixels, or `rgb` is.
#[target_feature(enable = "avx2")]
pub(super) fn rgb_row(planes: [&[u8]; 3], width: usize, rgb: &mut [u8]) {
    let planes = planes.map(|plane| &plane[..width]);
    // Of the last pixels' sixteen bytes four lie beyond them.
    let room = rgb.len().saturating_sub(4) / 3;
    let vectors = width.min(room) / STEP;
    for at in (0..vectors * STEP).step_by(STEP) {
        let [y, cb, cr] = planes.map(|plane| load(&plane[at..]));
        store(rgb_of(y, cb, cr), &mut rgb[3 * at..]);
    }
    let [y, cb, cr] = planes;
    let (pixels, _) = rgb[..3 * width].as_chunks_mut::<3>();
    for at in vectors * STEP..width {
        pixels[at] = pixel(y[at], cb[at], cr[at]);
    }
}

/// One pixel, by the same sums.
fn pixel(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    let rounded = |sum: i32| (sum + 32_768) >> 16;
    [
        y + cr + rounded(i32::from(RED) * cr),
        y - cr + rounded(i32::from(GREEN_BLUE) * cb + i32::from(GREEN_RED) * cr),
        y + 2 * cb + rounded(i32::from(BLUE) * cb),
    ]
    .map(|value| value.clamp(0, 255) as u8)
}

/// Sixteen pixels.
#[inline]
#[target_feature(enable = "avx2")]
fn rgb_of(y: __m256i, cb: __m256i, cr: __m256i) -> [__m128i; 3] {
    let add = |a, b| _mm256_add_epi16(a, b);
    let centre = _mm256_set1_epi16(128);
    let (cb, cr) = (_mm256_sub_epi16(cb, centre), _mm256_sub_epi16(cr, centre));
    // ⌊(⌊2 × x × factor / 2¹⁶⌋ + 1) / 2⌋ = ⌊(x × factor + 2¹⁵) / 2¹⁶⌋.
    let rounded = |x, factor| {
        let product = _mm256_mulhi_epi16(add(x, x), _mm256_set1_epi16(factor));
        _mm256_srai_epi16::<1>(add(product, _mm256_set1_epi16(1)))
    };
    let red = add(add(y, cr), rounded(cr, RED));
    let blue = add(add(y, add(cb, cb)), rounded(cb, BLUE));
    let both = i32::from(GREEN_RED) << 16 | i32::from(GREEN_BLUE.cast_unsigned());
    let sum = |pairs| {
        let sum = _mm256_madd_epi16(pairs, _mm256_set1_epi32(both));
        _mm256_srai_epi32::<16>(_mm256_add_epi32(sum, _mm256_set1_epi32(32_768)))
    };
    let (low, high) = (_mm256_unpacklo_epi16(cb, cr), _mm256_unpackhi_epi16(cb, cr));
    let green = add(_mm256_sub_epi16(y, cr), _mm256_packs_epi32(sum(low), sum(high)));
    [red, green, blue].map(|words| {
        let bytes = _mm256_packus_epi16(words, words);
        _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b11_01_10_00>(bytes))
    })
}

/// The first sixteen bytes, as words.
#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8]) -> __m256i {
    let bytes = &bytes[..STEP];
    // SAFETY: sixteen bytes are there.
    _mm256_cvtepu8_epi16(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

/// Sixteen pixels of three bytes, and four bytes of anything.
#[inline]
#[target_feature(enable = "avx2")]
fn store([red, green, blue]: [__m128i; 3], rgb: &mut [u8]) {
    let rgb = &mut rgb[..3 * STEP + 4];
    let pack = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    let (low, high) = (_mm_unpacklo_epi8(red, green), _mm_unpackhi_epi8(red, green));
    let (blue_low, blue_high) = (_mm_unpacklo_epi8(blue, blue), _mm_unpackhi_epi8(blue, blue));
    let quads = [
        _mm_unpacklo_epi16(low, blue_low),
        _mm_unpackhi_epi16(low, blue_low),
        _mm_unpacklo_epi16(high, blue_high),
        _mm_unpackhi_epi16(high, blue_high),
    ];
    for (index, quad) in quads.into_iter().enumerate() {
        // SAFETY: sixteen bytes from 12 × 3 on are within the 52 that are there.
        unsafe {
            let at = rgb.as_mut_ptr().add(12 * index);
            _mm_storeu_si128(at.cast(), _mm_shuffle_epi8(quad, pack));
        }
    }
}
