//! The scans of a progressive picture (T.81, annex G): all coefficients are held until the last scan is read.

#![expect(clippy::inline_always, reason = "compiled for the instructions of whoever calls")]

use super::bits::{Bits, ScanBytes};
use super::entropy::Block;
use super::frame::{Frame, Next, Part, Scan};
use super::huffman::{Codes, Symbols, extend};
use super::sequential::{Sink, Wanted, mcus};
use super::zigzag::ZIGZAG;
use crate::probe::lock::gil::checkpoint;

/// No scan has brought a coefficient yet.
const UNSEEN: u8 = u8::MAX;

/// Blocks that are handed on at a time.
const RUN: usize = 64;

/// One component's coefficients.
struct Component {
    /// Whole MCUs in rows, and one block more.
    blocks: Vec<Block>,
    stride: usize,
    /// Quantisation steps as they were at the component's first scan.
    steps: [u16; 64],
    /// The bits that are still missing of each coefficient, by zigzag index.
    missing: [u8; 64],
}

impl Component {
    /// Notes what a scan brings, if it is this one's turn.
    fn advance(&mut self, scan: &Scan) -> Option<()> {
        let before = if scan.high == 0 { UNSEEN } else { scan.high };
        // AC coefficients follow the DC coefficient's first bits.
        if scan.first > 0 && self.missing[0] == UNSEEN {
            return None;
        }
        for missing in &mut self.missing[scan.first..=scan.last] {
            if *missing != before {
                return None;
            }
            *missing = scan.low;
        }
        Some(())
    }
}

/// Decodes progressive pictures; the buffers are kept.
#[derive(Default)]
pub(super) struct Progressive {
    bytes: ScanBytes,
    components: Vec<Component>,
}

impl Progressive {
    /// Decodes all scans, of which the first begins `bytes[at..]`, and hands on what is wanted.
    ///
    /// A file may end without its end-of-image marker if no bit of any coefficient is missing.
    #[inline(always)]
    pub(super) fn decode(
        &mut self,
        frame: &mut Frame,
        (mut scan, mut at): (Scan, usize),
        bytes: &[u8],
        wanted: &[Wanted; 4],
        sink: &mut impl Sink,
    ) -> Option<()> {
        self.lay_out(frame);
        loop {
            for part in scan.parts() {
                let component = &mut self.components[part.component];
                if component.missing[0] == UNSEEN {
                    component.steps =
                        *frame.quantisation_of(&frame.components()[part.component])?;
                }
                component.advance(&scan)?;
            }
            at += self.bytes.take(&bytes[at..])?;
            self.read(frame, &scan)?;
            match frame.next(bytes, at)? {
                Next::Scan(next, begins) => (scan, at) = (next, begins),
                Next::End if self.components.iter().all(|c| c.missing[0] != UNSEEN) => break,
                Next::Cut if self.components.iter().all(|c| c.missing == [0; 64]) => break,
                _ => return None,
            }
        }
        for (index, (component, wanted)) in self.components.iter().zip(wanted).enumerate() {
            sink.steps(index, &component.steps);
            for row in wanted.rows.clone() {
                checkpoint();
                for first in wanted.columns.clone().step_by(RUN) {
                    let start = row * component.stride + first;
                    let count = RUN.min(wanted.columns.end - first);
                    let blocks = &component.blocks[start..=start + count];
                    sink.take(index, first, row, blocks, &[63; RUN][..count]);
                }
            }
        }
        Some(())
    }

    fn lay_out(&mut self, frame: &Frame) {
        let (across, down) = frame.mcus();
        self.components.truncate(frame.components().len());
        self.components.resize_with(frame.components().len(), || Component {
            blocks: Vec::new(),
            stride: 0,
            steps: [0; 64],
            missing: [UNSEEN; 64],
        });
        for (held, component) in self.components.iter_mut().zip(frame.components()) {
            held.stride = across * component.across;
            held.missing = [UNSEEN; 64];
            held.blocks.clear();
            held.blocks.resize(held.stride * down * component.down + 1, Block([0; 64]));
        }
    }

    fn read(&mut self, frame: &Frame, scan: &Scan) -> Option<()> {
        let (across, down) = mcus(frame, scan);
        let (restart, count) = (frame.restart, across * down);
        if self.bytes.intervals() != if restart == 0 { 1 } else { count.div_ceil(restart) } {
            return None;
        }
        let mut coder = Coder::new(frame, scan)?;
        let step = if restart == 0 { count } else { restart };
        for interval in 0..self.bytes.intervals() {
            let mut bits = self.bytes.bits(interval);
            coder.restart();
            for mcu in interval * step..count.min((interval + 1) * step) {
                let (row, column) = (mcu / across, mcu % across);
                match scan.parts() {
                    [part] => {
                        let held = &mut self.components[part.component];
                        coder.block(
                            &mut bits,
                            0,
                            &mut held.blocks[row * held.stride + column].0,
                        )?;
                    }
                    parts => {
                        for (index, part) in parts.iter().enumerate() {
                            let sampling = &frame.components()[part.component];
                            let held = &mut self.components[part.component];
                            for y in row * sampling.down..(row + 1) * sampling.down {
                                for x in column * sampling.across..(column + 1) * sampling.across {
                                    let block = &mut held.blocks[y * held.stride + x].0;
                                    coder.block(&mut bits, index, block)?;
                                }
                            }
                        }
                    }
                }
                // Zeros follow the end without end: not to decode them all.
                if column == 0 {
                    checkpoint();
                    if bits.overrun() {
                        return None;
                    }
                }
            }
            if bits.overrun() {
                return None;
            }
        }
        Some(())
    }

    /// Bytes of memory that are held.
    pub(super) fn held(&self) -> usize {
        let blocks: usize = self.components.iter().map(|c| c.blocks.capacity()).sum();
        self.bytes.held() + blocks * size_of::<Block>()
    }
}

/// One scan's state.
struct Coder {
    scan: Scan,
    /// By part of the scan; a DC coefficient's later bits have no codes.
    symbols: Vec<Symbols>,
    before: [i32; 4],
    /// Blocks, this one included, that have no more new coefficients.
    run: u32,
}

impl Coder {
    fn new(frame: &Frame, scan: &Scan) -> Option<Self> {
        let codes = |part: &Part| -> Option<&Codes> {
            if scan.first == 0 { frame.dc(part.dc) } else { frame.ac(part.ac) }
        };
        let coded = scan.first > 0 || scan.high == 0;
        let parts = if coded { scan.parts() } else { &[] };
        let symbols = parts.iter().map(|part| codes(part).map(Symbols::new));
        Some(Self { scan: *scan, symbols: symbols.collect::<Option<_>>()?, before: [0; 4], run: 0 })
    }

    fn restart(&mut self) {
        self.before = [0; 4];
        self.run = 0;
    }

    fn block(&mut self, bits: &mut Bits, part: usize, block: &mut [i16; 64]) -> Option<()> {
        match (self.scan.first, self.scan.high) {
            (0, 0) => self.dc_first(bits, part, block),
            (0, _) => {
                block[0] |= i16::from(bit(bits)) << self.scan.low;
                Some(())
            }
            (_, 0) => self.ac_first(bits, block),
            _ => self.ac_refine(bits, block),
        }
    }

    fn dc_first(&mut self, bits: &mut Bits, part: usize, block: &mut [i16; 64]) -> Option<()> {
        let (_, size) = self.symbol(bits, part)?;
        let size = u32::from(size);
        if size > 15 {
            return None;
        }
        let before = self.before.get_mut(part)?;
        *before = before.wrapping_add(extend(bits.peek(), size));
        bits.consume(u64::from(size));
        block[0] = (*before << self.scan.low) as i16;
        Some(())
    }

    fn ac_first(&mut self, bits: &mut Bits, block: &mut [i16; 64]) -> Option<()> {
        if self.run > 0 {
            self.run -= 1;
            return Some(());
        }
        let mut k = self.scan.first;
        while k <= self.scan.last {
            let (run, size) = self.symbol(bits, 0)?;
            match (run, size) {
                (15, 0) => k += 16,
                (_, 0) => {
                    self.run = end_run(bits, run) - 1;
                    break;
                }
                _ => {
                    k += usize::from(run);
                    if k > self.scan.last {
                        return None;
                    }
                    let value = extend(bits.peek(), u32::from(size)) << self.scan.low;
                    bits.consume(u64::from(size));
                    block[usize::from(ZIGZAG[k])] = value as i16;
                    k += 1;
                }
            }
        }
        (k <= 64).then_some(())
    }

    fn ac_refine(&mut self, bits: &mut Bits, block: &mut [i16; 64]) -> Option<()> {
        let one = 1_i16 << self.scan.low;
        let (mut k, last) = (self.scan.first, self.scan.last);
        // A coefficient that is there already gets its next bit, away from zero.
        let refine = |bits: &mut Bits, value: &mut i16| {
            if bit(bits) && *value & one == 0 {
                *value = value.wrapping_add(if *value >= 0 { one } else { -one });
            }
        };
        while self.run == 0 && k <= last {
            let (mut run, size) = self.symbol(bits, 0)?;
            let new = match (run, size) {
                (15, 0) => 0,
                (_, 0) => {
                    self.run = end_run(bits, run);
                    break;
                }
                (_, 1) if bit(bits) => one,
                (_, 1) => -one,
                _ => return None,
            };
            // Past as many zeros as the run says.
            while k <= last {
                let value = &mut block[usize::from(ZIGZAG[k])];
                if *value != 0 {
                    refine(bits, value);
                } else if run == 0 {
                    *value = new;
                    break;
                } else {
                    run -= 1;
                }
                k += 1;
            }
            if new != 0 && k > last {
                return None;
            }
            k += 1;
        }
        if self.run > 0 {
            self.run -= 1;
            for &at in &ZIGZAG[k.min(last + 1)..=last] {
                let value = &mut block[usize::from(at)];
                if *value != 0 {
                    refine(bits, value);
                }
            }
        }
        Some(())
    }

    /// Run and size. 32 bits or more are there behind the code.
    #[inline]
    fn symbol(&self, bits: &mut Bits, part: usize) -> Option<(u8, u8)> {
        bits.refill();
        let (length, symbol) = self.symbols.get(part)?.decode(bits.peek());
        bits.consume(u64::from(length));
        // A DC symbol is all size.
        let (run, size) =
            if self.scan.first == 0 { (0, symbol) } else { (symbol >> 4, symbol & 15) };
        (length > 0).then_some((run, size))
    }
}

#[inline]
fn bit(bits: &mut Bits) -> bool {
    bits.refill();
    let bit = bits.peek() >> 63 == 1;
    bits.consume(1);
    bit
}

/// The number of blocks that an end of band of `size` bits stands for, this one included.
fn end_run(bits: &mut Bits, size: u8) -> u32 {
    let more = (bits.peek() >> 1) >> (63 - size);
    bits.consume(u64::from(size));
    (1 << size) + more as u32
}
