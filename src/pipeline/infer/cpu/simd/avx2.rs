//! AVX2 with FMA: eight values a vector, tiles of 6 × 16.

use super::kernels::kernels;
use std::arch::x86_64::{
    __m256, __m256i, _mm256_add_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm256_maskload_ps, _mm256_maskstore_ps, _mm256_max_ps, _mm256_min_ps, _mm256_mul_ps,
    _mm256_set1_ps, _mm256_storeu_ps, _mm256_sub_ps,
};

type Vector = __m256;
const LANES: usize = 8;

kernels! {
    name: "AVX2",
    features: [#[target_feature(enable = "avx2,fma")]],
    rows: 6,
    tiles: [1, 2, 3, 4, 5, 6],
    long: 4,
    splat: |x| _mm256_set1_ps(x),
    load: |p| _mm256_loadu_ps(p),
    store: |p, v| _mm256_storeu_ps(p, v),
    load_part: |p, n| _mm256_maskload_ps(p, mask(n)),
    store_part: |p, v, n| _mm256_maskstore_ps(p, mask(n), v),
    fma: |a, b, c| _mm256_fmadd_ps(a, b, c),
    add: |a, b| _mm256_add_ps(a, b),
    sub: |a, b| _mm256_sub_ps(a, b),
    mul: |a, b| _mm256_mul_ps(a, b),
    max: |a, b| _mm256_max_ps(a, b),
    min: |a, b| _mm256_min_ps(a, b),
}

/// The first `n` lanes; `n` is 1 to 8.
#[target_feature(enable = "avx2")]
#[inline]
fn mask(n: usize) -> __m256i {
    const BITS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    let from = &BITS[LANES - n.min(LANES)..][..LANES];
    // SAFETY: `from` is eight numbers of 32 bits, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}
