//! Sixteen 16-bit words at a time: what the kernels are written in, for CPUs with AVX2 and for all others. Both
//! give the same words.

#![expect(clippy::inline_always, reason = "compiled for the instructions of whoever calls")]
#![expect(unsafe_code, reason = "loads that are checked once for many, and vector instructions")]

/// Sixteen words, in two halves of eight.
pub(super) trait Words: Copy {
    /// Whether it is for CPUs with AVX2 and BMI only.
    const FAST: bool;

    fn splat(value: i16) -> Self;
    /// The two halves of `pair` by turns.
    fn splat_twice(pair: i32) -> Self;
    fn load(words: &[i16; 16]) -> Self;
    /// Sixteen words from `at` on.
    ///
    /// # Safety
    /// They must be there.
    unsafe fn load_from(words: &[i16], at: usize) -> Self;
    /// Two halves.
    fn pair(low: &[i16; 8], high: &[i16; 8]) -> Self;
    fn store(self, words: &mut [i16; 16]);
    /// Stores a half from `at` on.
    ///
    /// # Safety
    /// There must be eight words.
    unsafe fn store_low_at(self, words: &mut [i16], at: usize);
    /// As [`store_low_at`](Self::store_low_at).
    unsafe fn store_high_at(self, words: &mut [i16], at: usize);
    /// Products modulo 2¹⁶.
    fn wrapping_mul(self, other: Self) -> Self;
    /// Products ÷ 2¹⁵, rounded to the nearest.
    fn mul(self, other: Self) -> Self;
    /// Sums and differences that stop at the ends of 16 bits.
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn clamp(self, least: Self, most: Self) -> Self;
    fn shl<const N: i32>(self) -> Self;
    fn shr<const N: i32>(self) -> Self;
    /// Words of `self` and `other` by turns: the first four of each half, or the last four.
    fn interleave_low(self, other: Self) -> Self;
    fn interleave_high(self, other: Self) -> Self;
    /// Three rows by turns, as bytes; what does not fit stops at 0 and 255.
    fn store_bytes(rows: [Self; 3], bytes: &mut [u8; 48]);
}

/// Rows of eight words to columns, in either half.
#[inline(always)]
pub(super) fn transpose<W: Words>(rows: [W; 8]) -> [W; 8] {
    let mut rows = rows;
    // Each step rotates the six bits of a word's place (three for the row, three for the column) by one.
    for _ in 0..3 {
        let (first, last) = rows.split_at(4);
        rows = [
            first[0].interleave_low(last[0]),
            first[0].interleave_high(last[0]),
            first[1].interleave_low(last[1]),
            first[1].interleave_high(last[1]),
            first[2].interleave_low(last[2]),
            first[2].interleave_high(last[2]),
            first[3].interleave_low(last[3]),
            first[3].interleave_high(last[3]),
        ];
    }
    rows
}

/// Words for any CPU.
#[derive(Clone, Copy)]
pub(super) struct Plain([i16; 16]);

impl Plain {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(i16, i16) -> i16) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }

    #[inline(always)]
    fn interleave(self, other: Self, from: usize) -> Self {
        Self(std::array::from_fn(|i| {
            let at = i / 8 * 8 + from + i % 8 / 2;
            if i % 2 == 0 { self.0[at] } else { other.0[at] }
        }))
    }
}

impl Words for Plain {
    const FAST: bool = false;

    #[inline(always)]
    fn splat(value: i16) -> Self {
        Self([value; 16])
    }

    #[inline(always)]
    fn splat_twice(pair: i32) -> Self {
        Self([pair as i16; 16])
    }

    #[inline(always)]
    fn load(words: &[i16; 16]) -> Self {
        Self(*words)
    }

    #[inline(always)]
    unsafe fn load_from(words: &[i16], at: usize) -> Self {
        let mut loaded = [0; 16];
        loaded.copy_from_slice(&words[at..at + 16]);
        Self(loaded)
    }

    #[inline(always)]
    fn pair(low: &[i16; 8], high: &[i16; 8]) -> Self {
        Self(std::array::from_fn(|i| if i < 8 { low[i] } else { high[i - 8] }))
    }

    #[inline(always)]
    fn store(self, words: &mut [i16; 16]) {
        *words = self.0;
    }

    #[inline(always)]
    unsafe fn store_low_at(self, words: &mut [i16], at: usize) {
        words[at..at + 8].copy_from_slice(&self.0[..8]);
    }

    #[inline(always)]
    unsafe fn store_high_at(self, words: &mut [i16], at: usize) {
        words[at..at + 8].copy_from_slice(&self.0[8..]);
    }

    #[inline(always)]
    fn wrapping_mul(self, other: Self) -> Self {
        self.zip(other, i16::wrapping_mul)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| ((i32::from(a) * i32::from(b) + (1 << 14)) >> 15) as i16)
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, i16::saturating_add)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, i16::saturating_sub)
    }

    #[inline(always)]
    fn clamp(self, least: Self, most: Self) -> Self {
        self.zip(least, i16::max).zip(most, i16::min)
    }

    #[inline(always)]
    fn shl<const N: i32>(self) -> Self {
        Self(self.0.map(|word| word << N))
    }

    #[inline(always)]
    fn shr<const N: i32>(self) -> Self {
        Self(self.0.map(|word| word >> N))
    }

    #[inline(always)]
    fn interleave_low(self, other: Self) -> Self {
        self.interleave(other, 0)
    }

    #[inline(always)]
    fn interleave_high(self, other: Self) -> Self {
        self.interleave(other, 4)
    }

    #[inline(always)]
    fn store_bytes([a, b, c]: [Self; 3], bytes: &mut [u8; 48]) {
        for (i, pixel) in bytes.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            *pixel = [a.0[i], b.0[i], c.0[i]].map(|word| word.clamp(0, 255) as u8);
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use wide::Wide;

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m256i, _mm_loadu_si128, _mm_storel_epi64, _mm_storeu_si128, _mm256_adds_epi16,
        _mm256_broadcastsi128_si256, _mm256_castsi256_si128, _mm256_extracti128_si256,
        _mm256_loadu_si256, _mm256_max_epi16, _mm256_min_epi16, _mm256_mulhrs_epi16,
        _mm256_mullo_epi16, _mm256_or_si256, _mm256_packus_epi16, _mm256_set_m128i,
        _mm256_set1_epi16, _mm256_set1_epi32, _mm256_shuffle_epi8, _mm256_slli_epi16,
        _mm256_srai_epi16, _mm256_storeu_si256, _mm256_subs_epi16, _mm256_unpackhi_epi16,
        _mm256_unpacklo_epi16,
    };

    use super::Words;

    /// Words in an AVX2 register.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Wide(__m256i);

    /// Instructions of AVX2 and no others.
    macro_rules! avx2 {
        ($instruction:expr) => {
            // SAFETY: `Words::FAST` says that the CPU has AVX2 wherever this type is used; what is loaded from
            // and stored to are references to as many words.
            unsafe { $instruction }
        };
    }

    impl Words for Wide {
        const FAST: bool = true;

        #[inline(always)]
        fn splat(value: i16) -> Self {
            Self(avx2!(_mm256_set1_epi16(value)))
        }

        #[inline(always)]
        fn splat_twice(pair: i32) -> Self {
            Self(avx2!(_mm256_set1_epi32(pair)))
        }

        #[inline(always)]
        unsafe fn load_from(words: &[i16], at: usize) -> Self {
            debug_assert!(at + 16 <= words.len(), "the words are there");
            Self(avx2!(_mm256_loadu_si256(words.as_ptr().add(at).cast())))
        }

        #[inline(always)]
        fn load(words: &[i16; 16]) -> Self {
            Self(avx2!(_mm256_loadu_si256(words.as_ptr().cast())))
        }

        #[inline(always)]
        fn pair(low: &[i16; 8], high: &[i16; 8]) -> Self {
            Self(avx2!(_mm256_set_m128i(
                _mm_loadu_si128(high.as_ptr().cast()),
                _mm_loadu_si128(low.as_ptr().cast()),
            )))
        }

        #[inline(always)]
        fn store(self, words: &mut [i16; 16]) {
            avx2!(_mm256_storeu_si256(words.as_mut_ptr().cast(), self.0));
        }

        #[inline(always)]
        unsafe fn store_low_at(self, words: &mut [i16], at: usize) {
            debug_assert!(at + 8 <= words.len(), "there is room");
            avx2!(_mm_storeu_si128(
                words.as_mut_ptr().add(at).cast(),
                _mm256_castsi256_si128(self.0)
            ));
        }

        #[inline(always)]
        unsafe fn store_high_at(self, words: &mut [i16], at: usize) {
            debug_assert!(at + 8 <= words.len(), "there is room");
            avx2!(_mm_storeu_si128(
                words.as_mut_ptr().add(at).cast(),
                _mm256_extracti128_si256::<1>(self.0)
            ));
        }

        #[inline(always)]
        fn wrapping_mul(self, other: Self) -> Self {
            Self(avx2!(_mm256_mullo_epi16(self.0, other.0)))
        }

        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            Self(avx2!(_mm256_mulhrs_epi16(self.0, other.0)))
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            Self(avx2!(_mm256_adds_epi16(self.0, other.0)))
        }

        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            Self(avx2!(_mm256_subs_epi16(self.0, other.0)))
        }

        #[inline(always)]
        fn clamp(self, least: Self, most: Self) -> Self {
            Self(avx2!(_mm256_min_epi16(_mm256_max_epi16(self.0, least.0), most.0)))
        }

        #[inline(always)]
        fn shl<const N: i32>(self) -> Self {
            Self(avx2!(_mm256_slli_epi16::<N>(self.0)))
        }

        #[inline(always)]
        fn shr<const N: i32>(self) -> Self {
            Self(avx2!(_mm256_srai_epi16::<N>(self.0)))
        }

        #[inline(always)]
        fn interleave_low(self, other: Self) -> Self {
            Self(avx2!(_mm256_unpacklo_epi16(self.0, other.0)))
        }

        #[inline(always)]
        fn interleave_high(self, other: Self) -> Self {
            Self(avx2!(_mm256_unpackhi_epi16(self.0, other.0)))
        }

        #[inline(always)]
        fn store_bytes([a, b, c]: [Self; 3], bytes: &mut [u8; 48]) {
            // In each half eight bytes of `a` and of `b`, and twice those of `c`, make 24 bytes.
            const PLACES: [[[i8; 16]; 2]; 2] = places();
            let (low, high) = bytes.split_at_mut(24);
            avx2!({
                let both = _mm256_packus_epi16(a.0, b.0);
                let third = _mm256_packus_epi16(c.0, c.0);
                let [first, rest] = &PLACES;
                let first = _mm256_or_si256(
                    _mm256_shuffle_epi8(both, twice(&first[0])),
                    _mm256_shuffle_epi8(third, twice(&first[1])),
                );
                let rest = _mm256_or_si256(
                    _mm256_shuffle_epi8(both, twice(&rest[0])),
                    _mm256_shuffle_epi8(third, twice(&rest[1])),
                );
                let (low, high) = (low.as_mut_ptr(), high.as_mut_ptr());
                _mm_storeu_si128(low.cast(), _mm256_castsi256_si128(first));
                _mm_storel_epi64(low.add(16).cast(), _mm256_castsi256_si128(rest));
                _mm_storeu_si128(high.cast(), _mm256_extracti128_si256::<1>(first));
                _mm_storel_epi64(high.add(16).cast(), _mm256_extracti128_si256::<1>(rest));
            });
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn twice(places: &[i8; 16]) -> __m256i {
        // SAFETY: sixteen bytes are there.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(places.as_ptr().cast()) })
    }

    /// Of the first sixteen bytes and of the eight behind them, which come from where in the first two rows and in
    /// the third; the others are zeroed.
    const fn places() -> [[[i8; 16]; 2]; 2] {
        let mut places = [[[-1; 16]; 2]; 2];
        let mut at = 0;
        while at < 24 {
            let (part, row) = (&mut places[at / 16], at % 3);
            part[row / 2][at % 16] = (at / 3 + if row == 1 { 8 } else { 0 }) as i8;
            at += 1;
        }
        places
    }
}
