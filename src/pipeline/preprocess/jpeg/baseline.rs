//! The decoder for most of the world's JPEGs: sequential Huffman codes of 8 bits in one scan, grey or YCbCr.
//!
//! Pixels are libjpeg's to the bit (accurate integer transform, "fancy" upsampling): a classifier's close calls
//! turn on less. Whatever is not wholly in order is left to the general decoder, which then also says what is
//! wrong: here there is no error but "not this one".

#![expect(unsafe_code, reason = "vector instructions are there on some CPUs only")]

use super::bits::ScanBytes;
use super::colour::rgb_row;
use super::entropy::{self, Block};
use super::frame::Frame;
use super::huffman::{AcTable, Codes, DcTable};
use super::idct::{Steps, transform};
use super::upsample::{Halved, Plane, Upsampler};

/// MCUs whose coefficients are held at a time. A transform right behind the single stores of its coefficients
/// would stall on them; a whole row of MCUs would leave the first-level cache.
const CHUNK: usize = 8;

/// Most blocks of an MCU: 2 × 2 of luma, two of chroma.
const BLOCKS: usize = 6;

/// Whether this CPU has the instructions that [`Baseline`] is written in.
pub(super) fn runs_here() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
}

/// A decoder with its buffers and tables, which serve one image after another.
pub(super) struct Baseline {
    scan: ScanBytes,
    /// By component; chroma has one pair of tables in most files.
    dc: [Option<Box<DcTable>>; 3],
    ac: [Option<Box<AcTable>>; 3],
    /// The chunk's coefficients, by block of the MCU, and the highest index of each block.
    blocks: Box<[[Block; CHUNK]; BLOCKS]>,
    lasts: [[u8; CHUNK]; BLOCKS],
    planes: [Plane; 3],
    upsamplers: [Upsampler; 2],
}

/// A block's place in an MCU.
#[derive(Clone, Copy)]
struct Place {
    component: usize,
    /// In blocks, within the component's part of the MCU.
    across: usize,
    down: usize,
}

impl Baseline {
    pub(super) fn new() -> Self {
        Self {
            scan: ScanBytes::default(),
            dc: Default::default(),
            ac: Default::default(),
            blocks: Box::new([[Block([0; 64]); CHUNK]; BLOCKS]),
            lasts: [[0; CHUNK]; BLOCKS],
            planes: Default::default(),
            upsamplers: Default::default(),
        }
    }

    /// Decodes to RGB, 3 bytes a pixel, rows from the top. `rgb` holds exactly width × height × 3 bytes.
    ///
    /// `None` where the CPU or the file is another than this decoder is for, or the file is damaged; `rgb`
    /// then holds anything.
    pub(super) fn decode(
        &mut self,
        bytes: &[u8],
        (width, height): (usize, usize),
        rgb: &mut [u8],
    ) -> Option<()> {
        let (frame, at) = Frame::read(bytes)?;
        if (frame.width, frame.height) != (width, height) || !runs_here() {
            return None;
        }
        // SAFETY: the CPU has the instructions.
        unsafe { self.decode_here(&frame, &bytes[at..], rgb) }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn decode_here(&mut self, frame: &Frame, scan: &[u8], rgb: &mut [u8]) -> Option<()> {
        self.build_tables(frame)?;
        self.scan.take(scan)?;
        let (across, down) = frame.mcus();
        let intervals =
            if frame.restart == 0 { 1 } else { (across * down).div_ceil(frame.restart) };
        if self.scan.intervals() != intervals {
            return None;
        }
        self.lay_out(frame);
        self.decode_scan(frame)?;
        self.convert(frame, rgb);
        Some(())
    }

    /// Builds Huffman tables where the last image's do not serve.
    fn build_tables(&mut self, frame: &Frame) -> Option<()> {
        for (index, component) in frame.components().iter().enumerate() {
            let (dc, ac) = frame.codes_of(component)?;
            rebuild(&mut self.dc[index], dc, DcTable::codes, DcTable::new)?;
            rebuild(&mut self.ac[index], ac, AcTable::codes, |codes| Some(AcTable::new(codes)))?;
        }
        Some(())
    }

    /// Sizes the planes: whole MCUs.
    fn lay_out(&mut self, frame: &Frame) {
        let (mcus_across, mcus_down) = frame.mcus();
        let (most_across, most_down) = frame.sampling();
        for (plane, component) in self.planes.iter_mut().zip(frame.components()) {
            plane.width = (frame.width * component.across).div_ceil(most_across);
            plane.height = (frame.height * component.down).div_ceil(most_down);
            plane.stride = mcus_across * component.across * 8;
            let size = plane.stride * mcus_down * component.down * 8;
            if plane.samples.len() < size {
                plane.samples.resize(size, 0);
            }
        }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn decode_scan(&mut self, frame: &Frame) -> Option<()> {
        let Self { scan, dc, ac, blocks, lasts, planes, .. } = self;
        let mut places = [Place { component: 0, across: 0, down: 0 }; BLOCKS];
        let mut used = 0;
        let mut steps = [Steps::new(&[1; 64]); 3];
        for (component, described) in frame.components().iter().enumerate() {
            steps[component] = Steps::new(frame.quantisation_of(described)?);
            for down in 0..described.down {
                for across in 0..described.across {
                    places[used] = Place { component, across, down };
                    used += 1;
                }
            }
        }
        let places = &places[..used];
        // References of one place each, so that the innermost loop looks nothing up.
        let mut tables = [None; BLOCKS];
        for (table, place) in tables.iter_mut().zip(places) {
            *table = Some((dc[place.component].as_deref()?, ac[place.component].as_deref()?));
        }
        let (mcus_across, mcus_down) = frame.mcus();
        let mut interval = 0;
        let mut bits = scan.bits(interval);
        let mut before = [0; 3];
        let mut left = if frame.restart == 0 { usize::MAX } else { frame.restart };
        for mcu_row in 0..mcus_down {
            for first in (0..mcus_across).step_by(CHUNK) {
                let count = CHUNK.min(mcus_across - first);
                for mcu in 0..count {
                    if left == 0 {
                        if bits.overrun() {
                            return None;
                        }
                        interval += 1;
                        bits = scan.bits(interval);
                        before = [0; 3];
                        left = frame.restart;
                    }
                    left -= 1;
                    for (index, (place, table)) in places.iter().zip(&tables).enumerate() {
                        let (dc, ac) = (*table)?;
                        let before = &mut before[place.component];
                        let block = &mut blocks[index][mcu];
                        lasts[index][mcu] = entropy::block(&mut bits, dc, ac, before, block)?;
                    }
                }
                for (index, place) in places.iter().enumerate() {
                    let plane = &mut planes[place.component];
                    let component = &frame.components()[place.component];
                    let row = 8 * (mcu_row * component.down + place.down) * plane.stride;
                    for mcu in 0..count {
                        let column = 8 * ((first + mcu) * component.across + place.across);
                        let out = &mut plane.samples[row + column..];
                        let (block, last) = (&blocks[index][mcu], lasts[index][mcu]);
                        transform(block, last, &steps[place.component], out, plane.stride);
                    }
                }
            }
            if bits.overrun() {
                return None;
            }
        }
        Some(())
    }

    /// From planes to RGB.
    #[target_feature(enable = "avx2")]
    fn convert(&mut self, frame: &Frame, rgb: &mut [u8]) {
        let width = frame.width;
        let [luma, blue, red] = &self.planes;
        let [for_blue, for_red] = &mut self.upsamplers;
        let (across, down) = frame.sampling();
        let halved = Halved { across: across == 2, down: down == 2 };
        for row in 0..frame.height {
            let out = &mut rgb[3 * row * width..];
            let y = luma.row(row);
            if frame.components().len() == 1 {
                for (pixel, &y) in out.as_chunks_mut::<3>().0.iter_mut().zip(y) {
                    *pixel = [y; 3];
                }
            } else {
                let cb = for_blue.row(blue, row, halved);
                let cr = for_red.row(red, row, halved);
                rgb_row([y, cb, cr], width, out);
            }
        }
    }

    /// Bytes of memory that are held for pictures.
    pub(super) fn held(&self) -> usize {
        let planes: usize = self.planes.iter().map(|plane| plane.samples.capacity()).sum();
        let rows: usize = self.upsamplers.iter().map(Upsampler::held).sum();
        self.scan.held() + planes + rows
    }
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
