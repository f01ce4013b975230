//! The two passes on vectors of 256 bits.

#![expect(unsafe_code, reason = "vectors are loaded from and stored to memory by address")]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_storel_epi64, _mm256_add_epi32,
    _mm256_castsi128_si256, _mm256_castsi256_si128, _mm256_extracti128_si256,
    _mm256_inserti128_si256, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_max_epi16,
    _mm256_min_epi16, _mm256_packs_epi32, _mm256_packus_epi16, _mm256_permute4x64_epi64,
    _mm256_set1_epi16, _mm256_set1_epi32, _mm256_setr_epi8, _mm256_shuffle_epi8, _mm256_sra_epi32,
    _mm256_storeu_si256, _mm256_unpackhi_epi16, _mm256_unpacklo_epi16,
};

use super::passes::{LANES, Ring, Rounding, TOGETHER};
use super::weights::Weights;

/// See [`passes::along`](super::passes::along).
///
/// # Panics
/// Where a row ends before the last load of a window, or a row of `out` before its last pixel's store.
#[target_feature(enable = "avx2")]
pub(super) fn along(
    rows: [&[u8]; TOGETHER],
    weights: &Weights,
    rounding: Rounding,
    out: [&mut [i16]; TOGETHER],
) {
    let reach = weights.reach();
    assert!(rows.iter().all(|row| row.len() >= reach), "rows hold what windows reach");
    let [a, b, c, d] = out;
    let room = (3 * weights.starts.len() + 1).min(a.len()).min(b.len()).min(c.len()).min(d.len());
    assert!(room == 3 * weights.starts.len() + 1, "rows have room for a pixel of four values");
    // Of two neighbours' bytes [r0 g0 b0 r1 g1 b1] pairs of 16-bit values: r0 r1, g0 g1, b0 b1, nothing.
    let first = pairs_from(0);
    let second = pairs_from(6);
    let half = _mm256_set1_epi32(1 << (rounding.shift - 1));
    let shift = _mm_cvtsi32_si128(rounding.shift.cast_signed());
    let low = _mm256_set1_epi16(rounding.range.0);
    let high = _mm256_set1_epi16(rounding.range.1);
    let [r0, r1, r2, r3] = rows.map(<[u8]>::as_ptr);
    let windows = weights.pairs.chunks_exact(weights.per_window);
    for (index, (&start, window)) in weights.starts.iter().zip(windows).enumerate() {
        let (mut upper, mut lower) = (half, half);
        let mut at = 3 * start as usize;
        let (fours, rest) = window.as_chunks::<2>();
        for &[pair0, pair1] in fours {
            // SAFETY: `at` + 16 bytes are at most `reach`, which all rows hold.
            let (ab, cd) = unsafe { (two(r0.add(at), r1.add(at)), two(r2.add(at), r3.add(at))) };
            let (w0, w1) = (_mm256_set1_epi32(pair0), _mm256_set1_epi32(pair1));
            upper = multiply_add(upper, _mm256_shuffle_epi8(ab, first), w0);
            lower = multiply_add(lower, _mm256_shuffle_epi8(cd, first), w0);
            upper = multiply_add(upper, _mm256_shuffle_epi8(ab, second), w1);
            lower = multiply_add(lower, _mm256_shuffle_epi8(cd, second), w1);
            at += 12;
        }
        if let [pair] = *rest {
            // SAFETY: as above; a single pair is the last group.
            let (ab, cd) = unsafe { (two(r0.add(at), r1.add(at)), two(r2.add(at), r3.add(at))) };
            let w0 = _mm256_set1_epi32(pair);
            upper = multiply_add(upper, _mm256_shuffle_epi8(ab, first), w0);
            lower = multiply_add(lower, _mm256_shuffle_epi8(cd, first), w0);
        }
        // Rows a and c in the lower half, b and d in the upper one, each r g b and nothing.
        let packed =
            _mm256_packs_epi32(_mm256_sra_epi32(upper, shift), _mm256_sra_epi32(lower, shift));
        let packed = _mm256_min_epi16(_mm256_max_epi16(packed, low), high);
        let (ac, bd) = (_mm256_castsi256_si128(packed), _mm256_extracti128_si256::<1>(packed));
        let to = 3 * index;
        // SAFETY: `to` + 4 values are at most 3 × windows + 1, for which all rows have room. The fourth is
        // overwritten by the next pixel.
        unsafe {
            _mm_storel_epi64(a.as_mut_ptr().add(to).cast(), ac);
            _mm_storel_epi64(b.as_mut_ptr().add(to).cast(), bd);
            _mm_storel_epi64(c.as_mut_ptr().add(to).cast(), upper_half(ac));
            _mm_storel_epi64(d.as_mut_ptr().add(to).cast(), upper_half(bd));
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn upper_half(vector: __m128i) -> __m128i {
    std::arch::x86_64::_mm_unpackhi_epi64(vector, vector)
}

/// In each half: the pixel at byte `at` and the next one, channel by channel, as 16-bit values.
#[inline]
#[target_feature(enable = "avx2")]
fn pairs_from(at: i8) -> __m256i {
    let (r, g, b) = (at, at + 1, at + 2);
    _mm256_setr_epi8(
        r,
        -1,
        r + 3,
        -1,
        g,
        -1,
        g + 3,
        -1,
        b,
        -1,
        b + 3,
        -1,
        -1,
        -1,
        -1,
        -1, //
        r,
        -1,
        r + 3,
        -1,
        g,
        -1,
        g + 3,
        -1,
        b,
        -1,
        b + 3,
        -1,
        -1,
        -1,
        -1,
        -1,
    )
}

#[inline]
#[target_feature(enable = "avx2")]
fn multiply_add(sum: __m256i, pairs: __m256i, weights: __m256i) -> __m256i {
    _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, weights))
}

/// Sixteen bytes of two rows.
///
/// # Safety
/// Both may be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn two(a: *const u8, b: *const u8) -> __m256i {
    // SAFETY: the caller's.
    let (a, b) = unsafe { (_mm_loadu_si128(a.cast()), _mm_loadu_si128(b.cast())) };
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b)
}

/// See [`passes::down`](super::passes::down).
#[target_feature(enable = "avx2")]
pub(super) fn down(ring: &Ring<'_>, start: usize, window: &[i32], shift: u32, out: &mut [u8]) {
    let half = _mm256_set1_epi32(1 << (shift - 1));
    let shift = _mm_cvtsi32_si128(shift.cast_signed());
    for (part, out) in out.chunks_mut(LANES).enumerate() {
        let mut sums = [half; 4];
        for (index, &pair) in window.iter().enumerate() {
            let weights = _mm256_set1_epi32(pair);
            let first = &ring.row(start + 2 * index)[part * LANES..][..LANES];
            let second = &ring.row(start + 2 * index + 1)[part * LANES..][..LANES];
            for block in 0..2 {
                let (a, b) = (load(&first[16 * block..]), load(&second[16 * block..]));
                let (low, high) = (_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b));
                sums[2 * block] = multiply_add(sums[2 * block], low, weights);
                sums[2 * block + 1] = multiply_add(sums[2 * block + 1], high, weights);
            }
        }
        let sums = sums.map(|sum| _mm256_sra_epi32(sum, shift));
        let words = [_mm256_packs_epi32(sums[0], sums[1]), _mm256_packs_epi32(sums[2], sums[3])];
        // Packing works on halves: 0, 2, 1, 3 puts them in order.
        let bytes =
            _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi16(words[0], words[1]));
        if let Some(out) = out.first_chunk_mut::<LANES>() {
            store(bytes, out);
        } else {
            let mut last = [0; LANES];
            store(bytes, &mut last);
            out.copy_from_slice(&last[..out.len()]);
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(values: &[i16]) -> __m256i {
    let values: &[i16; 16] = &values.as_chunks().0[0];
    // SAFETY: sixteen values of two bytes are read.
    unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(bytes: __m256i, out: &mut [u8; LANES]) {
    // SAFETY: thirty-two bytes are written.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), bytes) }
}
