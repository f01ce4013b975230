//! Huffman decoding of one block of a sequential scan (T.81, annex F.2.2).

#![expect(clippy::inline_always, reason = "compiled for the instructions of whoever calls")]

use super::bits::Bits;
use super::huffman::{
    AcTable, DC_BITS, DcTable, PAIR_BITS, PAIR_END, PAIR_NONE, SKIP_BITS, SKIP_END, extend,
};
use super::zigzag::ZIGZAG;

/// Coefficients of a block, not yet dequantised: 8 × vertical + horizontal frequency.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Block(pub(super) [i16; 64]);

/// What the slow path found: one symbol, whatever its length.
struct Single {
    /// Bits taken.
    length: u64,
    /// Next index; 64 at the end of the block, more where the data are bad.
    next: usize,
    /// Index and value of the coefficient; a zero where there is none.
    at: usize,
    value: i16,
    end: bool,
}

/// Decodes the symbol at the top of `bits`; by value throughout, so that the reservoir stays in registers.
#[inline]
fn single(bits: u64, table: &AcTable, k: usize) -> Single {
    const BAD: Single = Single { length: 0, next: 255, at: 0, value: 0, end: true };
    let (length, symbol) = table.symbol(bits);
    let (run, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
    let at = k + run;
    if length == 0 {
        return BAD;
    }
    if size == 0 {
        let length = u64::from(length);
        return match run {
            0 => Single { length, next: k, at: k, value: 0, end: true },
            15 => Single { length, next: (k + 16).min(64), at: k, value: 0, end: false },
            _ => BAD,
        };
    }
    if at > 63 {
        return BAD;
    }
    let value = extend(bits << length, size) as i16;
    Single { length: u64::from(length + size), next: at + 1, at, value, end: false }
}

/// Highest zigzag index whose frequencies are both below `n`.
pub(super) fn last_needed(n: usize) -> u8 {
    let within = |&at: &u8| usize::from(at / 8) < n && usize::from(at % 8) < n;
    ZIGZAG.iter().rposition(within).unwrap_or(0) as u8
}

/// A block of an MCU.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    /// Its place among the blocks in the first MCU, and from MCU to MCU.
    pub(super) at: usize,
    pub(super) step: usize,
    pub(super) component: usize,
    pub(super) tables: (&'a DcTable, &'a AcTable),
    /// Coefficients beyond this zigzag index may be left out, where there is a table for passing over them.
    pub(super) wanted: u8,
    pub(super) skips: bool,
}

/// As [`mcus`], compiled for CPUs with AVX2 and BMI.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline(never)]
pub(super) fn mcus_fast(
    source: &mut Bits,
    jobs: &[Option<Job>],
    count: usize,
    before: &mut [i32; 4],
    held: (&mut [Block], &mut [u8]),
) -> Option<()> {
    decode_mcus(source, jobs, count, before, held)
}

/// Decodes the blocks of `count` MCUs behind the DC values `before`, and for each the highest zigzag index that
/// may not be zero; `None` where the data are bad.
#[inline(never)]
pub(super) fn mcus(
    source: &mut Bits,
    jobs: &[Option<Job>],
    count: usize,
    before: &mut [i32; 4],
    held: (&mut [Block], &mut [u8]),
) -> Option<()> {
    decode_mcus(source, jobs, count, before, held)
}

#[inline(always)]
fn decode_mcus(
    source: &mut Bits,
    jobs: &[Option<Job>],
    count: usize,
    before: &mut [i32; 4],
    (blocks, lasts): (&mut [Block], &mut [u8]),
) -> Option<()> {
    let mut bits = *source;
    for mcu in 0..count {
        for job in jobs.iter().map_while(Option::as_ref) {
            let at = job.at + mcu * job.step;
            let (block, before) = (&mut blocks[at], &mut before[job.component & 3]);
            lasts[at] = if job.skips {
                decode::<true>(&mut bits, job.tables, before, job.wanted, block)?
            } else {
                decode::<false>(&mut bits, job.tables, before, job.wanted, block)?
            };
        }
    }
    *source = bits;
    Some(())
}

#[inline(always)]
fn decode<const SKIP: bool>(
    source: &mut Bits,
    (dc, ac): (&DcTable, &AcTable),
    before: &mut i32,
    wanted: u8,
    block: &mut Block,
) -> Option<u8> {
    let mut bits = *source;
    let block = &mut block.0;
    *block = [0; 64];
    bits.refill();
    let entry = dc.direct[(bits.peek() >> (64 - DC_BITS)) as usize];
    let difference = if entry & 63 != 0 {
        let beyond = (bits.peek() << DC_BITS >> 1) >> (entry >> 8 & 63);
        bits.consume(u64::from(entry));
        i32::from((entry >> 16).wrapping_add(beyond as u32) as i16)
    } else {
        let (length, size) = dc.symbol(bits.peek());
        if length == 0 {
            return None;
        }
        bits.consume(u64::from(length));
        let difference = extend(bits.peek(), u32::from(size));
        bits.consume(u64::from(size));
        difference
    };
    *before = before.wrapping_add(difference);
    block[0] = *before as i16;
    let mut k = 1;
    let last;
    'block: {
        'wanted: while !SKIP || k <= usize::from(wanted) {
            bits.refill();
            // No entry takes more than 25 bits, and the slow path no more than 31: one refill serves two.
            for _ in 0..2 {
                let entry = ac.pairs[(bits.peek() >> (64 - PAIR_BITS)) as usize];
                let next = k + (entry >> 8 & 0xff) as usize;
                if next >= 64 {
                    let found = single(bits.peek(), ac, k);
                    block[usize::from(ac.zigzag[found.at & 127] & 63)] = found.value;
                    bits.consume(found.length);
                    k = found.next;
                    if found.end || k >= 64 {
                        last = k - 1;
                        break 'block;
                    }
                    continue 'wanted;
                }
                // Bits of the last value beyond the index, if any.
                let beyond = (bits.peek() << PAIR_BITS >> 1) >> (entry >> 24 & 63);
                let value = (entry >> 48).wrapping_add(beyond) as i16;
                let first = k + (entry >> 16 & 15) as usize;
                block[usize::from(ac.zigzag[first & 127] & 63)] = (entry >> 32) as i16;
                block[usize::from(ac.zigzag_before[next] & 63)] = value;
                bits.consume(entry);
                k = next;
                if entry & PAIR_END != 0 {
                    last = k - 1 - usize::from(entry & PAIR_NONE != 0);
                    break 'block;
                }
            }
        }
        last = k - 1;
        k = pass_over(&mut bits, ac, k)?;
    }
    if k > 64 {
        return None;
    }
    *source = bits;
    Some(last as u8)
}

/// Passes over the rest of a block from index `k` on; returns the index behind it, over 64 where the data are
/// bad.
#[inline(always)]
fn pass_over(bits: &mut Bits, ac: &AcTable, mut k: usize) -> Option<usize> {
    let skip = ac.skip()?;
    'rest: while k < 64 {
        bits.refill();
        for _ in 0..2 {
            let entry = skip[(bits.peek() >> (64 - SKIP_BITS)) as usize];
            let next = k + usize::from(entry >> 8 & 0x7f);
            if next >= 64 {
                let found = single(bits.peek(), ac, k);
                bits.consume(found.length);
                k = found.next;
                if found.end {
                    return Some(k);
                }
                continue 'rest;
            }
            bits.consume(u64::from(entry));
            k = next;
            if entry & SKIP_END != 0 {
                return Some(k);
            }
        }
    }
    Some(k)
}
