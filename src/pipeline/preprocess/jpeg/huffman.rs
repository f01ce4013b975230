//! Look-up tables for Huffman-coded coefficients (T.81, annex F.2.2).
//!
//! An entry for AC coefficients holds up to two of them, values included, and an end of block behind
//! them: most blocks take fewer look-ups than they have symbols.

use super::zigzag::ZIGZAG;

/// Width of the index into [`AcTable`]'s entries.
pub(super) const PAIR_BITS: u32 = 10;
/// Width of the index into [`DcTable`]'s entries.
pub(super) const DC_BITS: u32 = 9;
/// Width of the index into [`AcTable`]'s table for passing over.
pub(super) const SKIP_BITS: u32 = 12;
/// Width of the index into [`Symbols`].
const SYMBOL_BITS: u32 = 11;

/// The block ends behind a pair entry's coefficients.
pub(super) const PAIR_END: u64 = 1 << 30;
/// A pair entry is nothing but the end of the block.
pub(super) const PAIR_NONE: u64 = 1 << 31;
/// A pair entry for codes that it cannot hold: its index advance, which always leaves the block.
const PAIR_SLOW: u64 = 64 << 8;

/// The block ends behind a skip entry's coefficients.
pub(super) const SKIP_END: u16 = 1 << 15;

/// A table as the file has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Codes {
    /// Number of codes of each length from 1 on.
    pub(super) counts: [u8; 16],
    /// Their symbols.
    pub(super) symbols: [u8; 256],
}

/// Code to symbol: a table for short codes, limits for long ones.
pub(super) struct Symbols {
    /// `length | symbol << 8`; zero where the code is longer than [`SYMBOL_BITS`].
    direct: [u16; 1 << SYMBOL_BITS],
    /// The first 16 bits that lie beyond the codes of each length.
    limits: [u32; 17],
    /// Symbol's index less code, for each length.
    offsets: [i32; 17],
    values: [u8; 256],
}

impl Symbols {
    /// `codes` must fit into 16 bits.
    pub(super) fn new(codes: &Codes) -> Self {
        let mut direct = [0; 1 << SYMBOL_BITS];
        let (mut limits, mut offsets) = ([0; 17], [0; 17]);
        let (mut code, mut index) = (0_u32, 0_u32);
        for (length, &count) in (1_u32..).zip(&codes.counts) {
            offsets[length as usize] = index.wrapping_sub(code).cast_signed();
            for _ in 0..count {
                if length <= SYMBOL_BITS {
                    let shift = SYMBOL_BITS - length;
                    let at = (code << shift) as usize;
                    let entry = length as u16 | u16::from(codes.symbols[index as usize]) << 8;
                    direct[at..at + (1 << shift)].fill(entry);
                }
                code += 1;
                index += 1;
            }
            limits[length as usize] = code << (16 - length);
            code <<= 1;
        }
        Self { direct, limits, offsets, values: codes.symbols }
    }

    /// Code length and symbol at the top of `bits`; length 0 where the table has no such code.
    #[inline]
    pub(super) fn decode(&self, bits: u64) -> (u32, u8) {
        let entry = self.direct[(bits >> (64 - SYMBOL_BITS)) as usize];
        if entry == 0 {
            self.decode_long(bits)
        } else {
            (u32::from(entry as u8), (entry >> 8) as u8)
        }
    }

    #[cold]
    #[inline(never)]
    fn decode_long(&self, bits: u64) -> (u32, u8) {
        let window = (bits >> 48) as u32;
        for length in SYMBOL_BITS + 1..=16 {
            if window < self.limits[length as usize] {
                let code = (window >> (16 - length)).cast_signed();
                let index = code + self.offsets[length as usize];
                return (length, self.values[(index & 255) as usize]);
            }
        }
        (0, 0)
    }
}

/// The value of `size` bits at the top of `bits`, at most 15 of them (T.81, figure F.12).
#[inline]
pub(super) fn extend(bits: u64, size: u32) -> i32 {
    let value = ((bits >> 1) >> (63 - size)) as i32;
    let positive = (bits.cast_signed() >> 63) as i32;
    value - (!positive & ((1 << size) - 1))
}

/// DC differences.
pub(super) struct DcTable {
    codes: Codes,
    symbols: Symbols,
    /// Bits 0 to 5: total length, 0 where the slow path must run; 8 to 13: 63 less the number of the
    /// value's bits beyond the index; 16 to 31: the value without those.
    pub(super) direct: [u32; 1 << DC_BITS],
}

impl DcTable {
    /// `None` where a symbol names more bits than a DC difference has.
    pub(super) fn new(codes: &Codes) -> Option<Self> {
        let used: usize = codes.counts.iter().map(|&count| usize::from(count)).sum();
        if codes.symbols[..used].iter().any(|&size| size > 15) {
            return None;
        }
        let symbols = Symbols::new(codes);
        let direct = std::array::from_fn(|index| {
            let top = (index as u64) << (64 - DC_BITS);
            let (length, size) = symbols.decode(top);
            // The value's sign, if it has one, must lie within the index.
            if length == 0 || length > DC_BITS || (size > 0 && length == DC_BITS) {
                return 0;
            }
            let total = length + u32::from(size);
            let value = extend(top << length, u32::from(size)) as u16;
            total | (63 - total.saturating_sub(DC_BITS)) << 8 | u32::from(value) << 16
        });
        Some(Self { codes: *codes, symbols, direct })
    }

    /// The table as the file had it.
    pub(super) fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Code length and size of the value at the top of `bits`; length 0 where there is no such code.
    #[inline]
    pub(super) fn symbol(&self, bits: u64) -> (u32, u8) {
        self.symbols.decode(bits)
    }
}

/// AC coefficients.
pub(super) struct AcTable {
    codes: Codes,
    symbols: Symbols,
    /// The last coefficient's bits may reach beyond the index as long as its sign lies within: the entry
    /// then holds the value with those bits zero, and how many to add. It always lies just before the
    /// next index.
    ///
    /// Bits 0 to 5: total length; 8 to 15: index advance, 64 where the slow path must run; 16 to 23:
    /// offset of the first value; 24 to 29: 63 less the number of bits to add; [`PAIR_END`];
    /// [`PAIR_NONE`]; 32 to 47: the first value; 48 to 63: the last. An entry of one value has it as the
    /// last, which overwrites the first; one of none stores a zero where a zero is.
    pub(super) pairs: [u64; 1 << PAIR_BITS],
    /// For coefficients that nobody wants: as many symbols as an index holds. Empty until
    /// [`need_skip`](Self::need_skip).
    ///
    /// Bits 0 to 5: total length; 8 to 14: index advance, 64 where the slow path must run; [`SKIP_END`].
    skip: Vec<u16>,
    /// Copies of the zigzag order, so that the decoding loop needs one base register for all tables:
    /// twice over, so that any index below 128 will do;
    pub(super) zigzag: [u8; 128],
    /// and shifted by one.
    pub(super) zigzag_before: [u8; 64],
}

impl AcTable {
    pub(super) fn new(codes: &Codes) -> Self {
        let symbols = Symbols::new(codes);
        let pairs = std::array::from_fn(|index| pair_entry(&symbols, index as u64));
        Self {
            codes: *codes,
            symbols,
            pairs,
            skip: Vec::new(),
            zigzag: std::array::from_fn(|k| ZIGZAG[k % 64]),
            zigzag_before: std::array::from_fn(|k| ZIGZAG[k.saturating_sub(1)]),
        }
    }

    /// The table as the file had it.
    pub(super) fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Builds the table for passing over, which only some scans want.
    pub(super) fn need_skip(&mut self) {
        if self.skip.is_empty() {
            self.skip = (0..1 << SKIP_BITS).map(|i| skip_entry(&self.symbols, i)).collect();
        }
    }

    /// The table for passing over, if it was built.
    pub(super) fn skip(&self) -> Option<&[u16; 1 << SKIP_BITS]> {
        self.skip.first_chunk()
    }

    /// Code length and symbol at the top of `bits`; length 0 where there is no such code.
    #[inline]
    pub(super) fn symbol(&self, bits: u64) -> (u32, u8) {
        self.symbols.decode(bits)
    }
}

fn skip_entry(symbols: &Symbols, index: u64) -> u16 {
    let top = index << (64 - SKIP_BITS);
    let (mut used, mut advance) = (0, 0);
    while used < SKIP_BITS {
        let (length, symbol) = symbols.decode(top << used);
        if length == 0 || length > SKIP_BITS - used {
            break;
        }
        if symbol == 0 {
            return (used + length) as u16 | advance << 8 | SKIP_END;
        }
        let (run, size) = (u16::from(symbol >> 4), u32::from(symbol & 15));
        // What leaves the block in any case, and symbols that do not occur in sequential files, are for the
        // slow path.
        if (size == 0 && run != 15) || advance + run + 1 > 63 {
            break;
        }
        advance += run + 1;
        used += length + size;
    }
    if used == 0 { 64 << 8 } else { used as u16 | advance << 8 }
}

fn pair_entry(symbols: &Symbols, index: u64) -> u64 {
    let top = index << (64 - PAIR_BITS);
    let (mut used, mut more, mut values) = (0, 0, 0);
    let (mut advance, mut flags) = (0, 0);
    let (mut first_at, mut first, mut last) = (0, 0, 0);
    while used < PAIR_BITS {
        let (length, symbol) = symbols.decode(top << used);
        // Only codes that lie wholly within the index are known.
        if length == 0 || length > PAIR_BITS - used {
            break;
        }
        let (run, size) = (u64::from(symbol >> 4), u32::from(symbol & 15));
        if symbol == 0 {
            used += length;
            flags = PAIR_END;
            if values == 0 {
                // Past a zero, so that there is a place to store it.
                flags |= PAIR_NONE;
                advance = 1;
            }
            break;
        }
        if symbol == 0xf0 && values == 0 {
            // A run of sixteen zeros fills an entry: rare, and offsets stay small.
            (advance, first_at) = (16, 15);
            used += length;
            break;
        }
        // Other symbols of size 0 do not occur in sequential files: the slow path refuses them.
        if size == 0 || values == 2 || used + length >= PAIR_BITS {
            break;
        }
        if values == 0 {
            first_at = run;
        }
        first = last;
        last = extend(top << (used + length), size);
        used += length + size;
        more = used.saturating_sub(PAIR_BITS);
        advance += run + 1;
        values += 1;
    }
    if used == 0 {
        return PAIR_SLOW;
    }
    let value = |value: i32| u64::from(value as u16);
    u64::from(used)
        | advance << 8
        | first_at << 16
        | u64::from(63 - more) << 24
        | flags
        | value(first) << 32
        | value(last) << 48
}
