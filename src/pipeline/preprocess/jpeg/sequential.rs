//! The scans of a sequential picture: blocks are decoded some MCUs at a time and handed on, and never all held.

#![expect(clippy::inline_always, reason = "compiled for the instructions of whoever calls")]

use std::ops::Range;

use super::bits::{Bits, ScanBytes};
use super::entropy::{self, Block, Job};
use super::frame::{Frame, MOST_BLOCKS, Scan};
use super::huffman::{AcTable, Codes, DcTable};
use crate::probe::lock::gil::checkpoint;

/// MCUs whose coefficients are held at a time. A transform right behind the single stores of its coefficients
/// would stall on them; a whole row of MCUs would leave the first-level cache.
const CHUNK: usize = 8;

/// Blocks from which on it pays to build the tables for passing over coefficients.
const WORTH_SKIPPING: usize = 8000;

/// What is wanted of a component.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// Columns and rows of blocks.
    pub(super) columns: Range<usize>,
    pub(super) rows: Range<usize>,
    /// The highest zigzag index.
    pub(super) last: u8,
}

/// What takes the blocks.
pub(super) trait Sink {
    /// The component's quantisation steps, in zigzag order; comes before its blocks.
    fn steps(&mut self, component: usize, steps: &[u16; 64]);

    /// Neighbours in a row, from a column on: as many as `lasts`, the highest indices that may not be zero;
    /// `blocks` holds one more, of anything. None lies outside of what is wanted.
    fn take(&mut self, component: usize, column: usize, row: usize, blocks: &[Block], lasts: &[u8]);
}

/// Decodes scans; tables and buffers serve one image after another.
#[derive(Default)]
pub(super) struct Sequential {
    bytes: ScanBytes,
    dc: [Option<Box<DcTable>>; 4],
    ac: [Option<Box<AcTable>>; 4],
    /// The chunk's coefficients, and the highest index of each block.
    blocks: Vec<Block>,
    lasts: Vec<u8>,
}

/// Blocks of a component that lie in one row of an MCU.
#[derive(Clone, Copy, Default)]
struct Strip {
    component: usize,
    across: usize,
    /// Rows of the component's blocks in an MCU, and which of them.
    rows: usize,
    row: usize,
    /// Its first place among the chunk's blocks.
    at: usize,
}

impl Sequential {
    /// Decodes the scan that begins `source`; returns how many bytes it has. `FAST` wants AVX2 and BMI.
    #[inline(always)]
    pub(super) fn decode<const FAST: bool>(
        &mut self,
        frame: &Frame,
        scan: &Scan,
        source: &[u8],
        wanted: &[Wanted; 4],
        sink: &mut impl Sink,
    ) -> Option<usize> {
        let length = self.bytes.take(source)?;
        self.build_tables(frame, scan, wanted)?;
        let Self { bytes, dc, ac, blocks, lasts } = self;
        let (strips, used) = strips(frame, scan);
        let strips = &strips[..used];
        let placed = strips.last().map_or(0, |strip| strip.at + CHUNK * strip.across);
        blocks.resize(placed.max(blocks.len()) + 1, Block([0; 64]));
        lasts.resize(blocks.len(), 0);
        let (mut jobs, mut strip_of, mut used) = ([None; MOST_BLOCKS], [0; MOST_BLOCKS], 0);
        let mut places = jobs.iter_mut();
        for (index, strip) in strips.iter().enumerate() {
            let part = scan.parts().iter().find(|part| part.component == strip.component)?;
            let tables = (dc[part.dc].as_deref()?, ac[part.ac].as_deref()?);
            for across in 0..strip.across {
                let (at, step) = (strip.at + across, strip.across);
                let (component, wanted, skips) = (strip.component, 0, false);
                strip_of[used] = index;
                used += 1;
                *places.next()? = Some(Job { at, step, component, tables, wanted, skips });
            }
        }
        let (mcus_across, mcus_down) = mcus(frame, scan);
        let (restart, mcus) = (frame.restart, mcus_across * mcus_down);
        if bytes.intervals() != if restart == 0 { 1 } else { mcus.div_ceil(restart) } {
            return None;
        }
        let mut interval = 0;
        let mut bits = bytes.bits(interval);
        let mut before = [0; 4];
        let mut left = if restart == 0 { usize::MAX } else { restart };
        for mcu_row in 0..mcus_down {
            checkpoint();
            let mut first = 0;
            while first < mcus_across {
                if left == 0 {
                    if bits.overrun() {
                        return None;
                    }
                    interval += 1;
                    bits = bytes.bits(interval);
                    before = [0; 4];
                    left = restart;
                }
                let count = CHUNK.min(mcus_across - first).min(left);
                left -= count;
                let mut lots = [const { (0, 0..0) }; MOST_BLOCKS];
                for (lot, strip) in lots.iter_mut().zip(strips) {
                    *lot = lot_of(strip, &wanted[strip.component], mcu_row, first, count);
                }
                for (job, &strip) in jobs.iter_mut().flatten().zip(&strip_of) {
                    job.wanted = lots[strip].0;
                    job.skips = job.wanted < SKIPS && job.tables.1.skip().is_some();
                }
                let held = (&mut blocks[..], &mut lasts[..]);
                decode_mcus::<FAST>(&mut bits, &jobs, count, &mut before, held)?;
                for (strip, (_, range)) in strips.iter().zip(&lots) {
                    if !range.is_empty() {
                        let column = first * strip.across + range.start;
                        let row = mcu_row * strip.rows + strip.row;
                        let places = strip.at + range.start..strip.at + range.end;
                        let blocks = &blocks[places.start..=places.end];
                        sink.take(strip.component, column, row, blocks, &lasts[places]);
                    }
                }
                first += count;
            }
            if bits.overrun() {
                return None;
            }
        }
        Some(length)
    }

    /// Builds Huffman tables where the last image's do not serve.
    fn build_tables(&mut self, frame: &Frame, scan: &Scan, wanted: &[Wanted; 4]) -> Option<()> {
        for part in scan.parts() {
            let component = &frame.components()[part.component];
            let wanted = &wanted[part.component];
            let codes = frame.ac(part.ac)?;
            rebuild(&mut self.dc[part.dc], frame.dc(part.dc)?, DcTable::codes, DcTable::new)?;
            rebuild(&mut self.ac[part.ac], codes, AcTable::codes, |c| Some(AcTable::new(c)))?;
            let (across, down) = frame.blocks(component);
            let all = (0..across, 0..down);
            let partial =
                wanted.last < SKIPS || (&wanted.columns, &wanted.rows) != (&all.0, &all.1);
            if partial && across * down >= WORTH_SKIPPING {
                self.ac[part.ac].as_mut()?.need_skip();
            }
        }
        Some(())
    }

    /// Bytes of memory that are held.
    pub(super) fn held(&self) -> usize {
        self.bytes.held()
    }
}

/// Wanted indices below this are so few that passing over the rest in larger steps pays: those of scales up to
/// 3/8. Above, one more branch that nothing predicts costs as much.
const SKIPS: u8 = 16;

/// Decodes the blocks of `count` MCUs.
#[inline(always)]
fn decode_mcus<const FAST: bool>(
    bits: &mut Bits,
    jobs: &[Option<Job>],
    count: usize,
    before: &mut [i32; 4],
    held: (&mut [Block], &mut [u8]),
) -> Option<()> {
    #[cfg(target_arch = "x86_64")]
    if FAST {
        #[expect(unsafe_code, reason = "the instructions are there on some CPUs only")]
        // SAFETY: whoever asks for `FAST` has seen that the CPU has the instructions.
        return unsafe { entropy::mcus_fast(bits, jobs, count, before, held) };
    }
    entropy::mcus(bits, jobs, count, before, held)
}

/// Number of MCUs in a row, and of their rows.
pub(super) fn mcus(frame: &Frame, scan: &Scan) -> (usize, usize) {
    match scan.parts() {
        [part] => frame.blocks(&frame.components()[part.component]),
        _ => frame.mcus(),
    }
}

/// The strips of an MCU in the order in which its blocks are coded.
fn strips(frame: &Frame, scan: &Scan) -> ([Strip; MOST_BLOCKS], usize) {
    let mut strips = [Strip::default(); MOST_BLOCKS];
    let (mut used, mut at) = (0, 0);
    for part in scan.parts() {
        let component = &frame.components()[part.component];
        // A scan of one component has MCUs of one block.
        let alone = scan.parts().len() == 1;
        let (across, rows) = if alone { (1, 1) } else { (component.across, component.down) };
        for row in 0..rows {
            strips[used] = Strip { component: part.component, across, rows, row, at };
            used += 1;
            at += CHUNK * across;
        }
    }
    (strips, used)
}

/// The highest index that is wanted of a strip's blocks in `count` MCUs from `first` on, and which of the blocks
/// are wanted at all.
fn lot_of(
    strip: &Strip,
    wanted: &Wanted,
    mcu_row: usize,
    first: usize,
    count: usize,
) -> (u8, Range<usize>) {
    let start = first * strip.across;
    let within = |column: usize| column.clamp(start, start + count * strip.across) - start;
    let range = within(wanted.columns.start)..within(wanted.columns.end);
    if range.is_empty() || !wanted.rows.contains(&(mcu_row * strip.rows + strip.row)) {
        return (0, 0..0);
    }
    (wanted.last, range)
}

/// Puts the table of `codes` in `slot`, where it is not there already.
fn rebuild<T>(
    slot: &mut Option<Box<T>>,
    codes: &Codes,
    codes_of: impl Fn(&T) -> &Codes,
    build: impl Fn(&Codes) -> Option<T>,
) -> Option<()> {
    match slot {
        Some(table) if codes_of(table) == codes => {}
        Some(table) => **table = build(codes)?,
        None => *slot = Some(Box::new(build(codes)?)),
    }
    Some(())
}
