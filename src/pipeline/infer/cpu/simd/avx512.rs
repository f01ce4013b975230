//! AVX-512: sixteen values a vector, tiles of 12 × 32.

use super::kernels::kernels;
use std::arch::x86_64::{
    __m512, __mmask16, _mm512_add_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_ps, _mm512_max_ps, _mm512_min_ps, _mm512_mul_ps, _mm512_set1_ps,
    _mm512_storeu_ps, _mm512_sub_ps,
};

type Vector = __m512;
const LANES: usize = 16;

kernels! {
    name: "AVX-512",
    features: [#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,fma")]],
    rows: 12,
    tiles: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    long: 8,
    splat: |x| _mm512_set1_ps(x),
    load: |p| _mm512_loadu_ps(p),
    store: |p, v| _mm512_storeu_ps(p, v),
    load_part: |p, n| _mm512_maskz_loadu_ps(mask(n), p),
    store_part: |p, v, n| _mm512_mask_storeu_ps(p, mask(n), v),
    fma: |a, b, c| _mm512_fmadd_ps(a, b, c),
    add: |a, b| _mm512_add_ps(a, b),
    sub: |a, b| _mm512_sub_ps(a, b),
    mul: |a, b| _mm512_mul_ps(a, b),
    max: |a, b| _mm512_max_ps(a, b),
    min: |a, b| _mm512_min_ps(a, b),
}

/// The first `n` lanes; `n` is 1 to 16.
#[inline]
fn mask(n: usize) -> __mmask16 {
    u16::MAX >> (LANES - n)
}
