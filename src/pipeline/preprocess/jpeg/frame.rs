//! What the segments before a scan say.
//!
//! Whatever breaks the rules ends in `None`: the general decoder then says what is wrong.

use super::huffman::Codes;

/// Most blocks of an MCU (T.81, B.2.3).
pub(super) const MOST_BLOCKS: usize = 10;

/// One colour component.
#[derive(Clone, Copy, Default)]
pub(super) struct Component {
    pub(super) id: u8,
    /// Horizontal and vertical sampling factors, 1 to 4.
    pub(super) across: usize,
    pub(super) down: usize,
    /// Index of its quantisation table.
    quantisation: usize,
}

/// What the components' samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colours {
    Grey,
    YCbCr,
    Rgb,
    /// Inverted, as Adobe writes it.
    Cmyk,
    /// The same with its first three components turned as RGB is turned to YCbCr.
    Ycck,
}

/// One component's part in a scan.
#[derive(Clone, Copy, Default)]
pub(super) struct Part {
    /// Index of the component.
    pub(super) component: usize,
    /// Indices of its tables for DC and AC codes.
    pub(super) dc: usize,
    pub(super) ac: usize,
}

/// A scan's header.
#[derive(Clone, Copy, Default)]
pub(super) struct Scan {
    parts: [Part; 4],
    count: usize,
    /// First and last zigzag index.
    pub(super) first: usize,
    pub(super) last: usize,
    /// Bits that earlier scans have left out, 0 where there was none, and that this one leaves out.
    pub(super) high: u8,
    pub(super) low: u8,
}

impl Scan {
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts[..self.count]
    }
}

/// What follows in a file.
pub(super) enum Next {
    /// A scan, and where its entropy-coded bytes begin.
    Scan(Scan, usize),
    /// The end of the image.
    End,
    /// The end of the bytes.
    Cut,
}

/// A picture of 8-bit samples with Huffman codes, sequential or progressive.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) progressive: bool,
    components: [Component; 4],
    count: usize,
    /// The highest sampling factors.
    most_across: usize,
    most_down: usize,
    /// MCUs of a restart interval; 0 where there are none.
    pub(super) restart: usize,
    /// In zigzag order.
    quantisation: [Option<[u16; 64]>; 4],
    dc: [Option<Codes>; 4],
    ac: [Option<Codes>; 4],
    /// Adobe's colour transform.
    adobe: Option<u8>,
}

impl Frame {
    /// Reads segments from `at` up to the next scan or the end.
    ///
    /// `None` for any other kind of JPEG, and for one that breaks the rules.
    pub(super) fn next(&mut self, bytes: &[u8], mut at: usize) -> Option<Next> {
        loop {
            // Fill bytes may precede a marker, and careless writers leave padding between segments.
            let mut rest = bytes.get(at..)?.iter();
            let code = rest.position(|&byte| byte == 0xff).and_then(|_| rest.find(|&&b| b != 0xff));
            let Some(&code) = code else { return Some(Next::Cut) };
            at = bytes.len() - rest.len();
            match code {
                0x00 | 0x01 | 0xd0..=0xd8 => continue,
                0xd9 => return Some(Next::End),
                _ => {}
            }
            let Some(length) = word(bytes, at) else { return Some(Next::Cut) };
            if length < 2 {
                return None;
            }
            let Some(body) = bytes.get(at + 2..at + length) else { return Some(Next::Cut) };
            at += length;
            match code {
                0xc0..=0xc2 => {
                    self.size(body)?;
                    self.progressive = code == 0xc2;
                }
                0xc4 => self.huffman(body)?,
                0xc3..=0xcf | 0xdc => return None,
                0xdb => self.quantisation(body)?,
                0xdd => self.restart = word(body, 0)?,
                0xee if body.starts_with(b"Adobe") => self.adobe = body.get(11).copied(),
                0xda => return Some(Next::Scan(self.scan(body)?, at)),
                _ => {}
            }
        }
    }

    /// The components: at least one once there was a scan.
    pub(super) fn components(&self) -> &[Component] {
        &self.components[..self.count]
    }

    /// The highest sampling factors.
    pub(super) fn sampling(&self) -> (usize, usize) {
        (self.most_across, self.most_down)
    }

    /// Number of MCUs of several components in a row, and of their rows.
    pub(super) fn mcus(&self) -> (usize, usize) {
        let (across, down) = self.sampling();
        (self.width.div_ceil(8 * across), self.height.div_ceil(8 * down))
    }

    /// Number of a component's blocks in a row, and of their rows, without what fills up MCUs.
    pub(super) fn blocks(&self, component: &Component) -> (usize, usize) {
        let (across, down) = self.sampling();
        (
            (self.width * component.across).div_ceil(8 * across),
            (self.height * component.down).div_ceil(8 * down),
        )
    }

    /// A component's quantisation table as it is now, in zigzag order.
    pub(super) fn quantisation_of(&self, component: &Component) -> Option<&[u16; 64]> {
        self.quantisation[component.quantisation].as_ref()
    }

    /// The codes for DC coefficients that are now at an index below 4.
    pub(super) fn dc(&self, index: usize) -> Option<&Codes> {
        self.dc[index].as_ref()
    }

    /// The codes for AC coefficients that are now at an index below 4.
    pub(super) fn ac(&self, index: usize) -> Option<&Codes> {
        self.ac[index].as_ref()
    }

    /// What the samples are: as Adobe's segment says, or else as the number and names of the components do.
    pub(super) fn colours(&self) -> Option<Colours> {
        let names = self.components.map(|component| component.id);
        Some(match (self.count, self.adobe) {
            (1, _) => Colours::Grey,
            (3, Some(0)) => Colours::Rgb,
            (3, None) if names[..3] == *b"RGB" => Colours::Rgb,
            (3, None | Some(1)) => Colours::YCbCr,
            (4, None | Some(0)) => Colours::Cmyk,
            (4, Some(2)) => Colours::Ycck,
            _ => return None,
        })
    }

    /// Whether it is grey, or YCbCr with chroma at full or half size.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn is_ordinary(&self) -> bool {
        let [luma, chroma @ ..] = self.components() else { return false };
        match self.colours() {
            Some(Colours::Grey) => true,
            Some(Colours::YCbCr) => {
                matches!((luma.across, luma.down), (1 | 2, 1 | 2))
                    && chroma.iter().all(|c| (c.across, c.down) == (1, 1))
            }
            _ => false,
        }
    }

    fn size(&mut self, body: &[u8]) -> Option<()> {
        let (&[precision, h1, h0, w1, w0, count], components) = body.split_first_chunk()?;
        let count = usize::from(count);
        if self.count != 0 || precision != 8 || !matches!(count, 1 | 3 | 4) {
            return None;
        }
        self.height = usize::from(u16::from_be_bytes([h1, h0]));
        self.width = usize::from(u16::from_be_bytes([w1, w0]));
        if self.height == 0 || self.width == 0 {
            return None;
        }
        let (components, _) = components.get(..3 * count)?.as_chunks::<3>();
        for (component, &[id, sampling, quantisation]) in self.components.iter_mut().zip(components)
        {
            let (across, down) = (usize::from(sampling >> 4), usize::from(sampling & 15));
            if !matches!((across, down), (1..=4, 1..=4)) || quantisation > 3 {
                return None;
            }
            *component = Component { id, across, down, quantisation: usize::from(quantisation) };
        }
        self.count = count;
        if count == 1 {
            // The only component of a scan is not interleaved: its sampling factors mean nothing.
            (self.components[0].across, self.components[0].down) = (1, 1);
        }
        self.most_across = self.components().iter().map(|c| c.across).max()?;
        self.most_down = self.components().iter().map(|c| c.down).max()?;
        Some(())
    }

    fn huffman(&mut self, mut body: &[u8]) -> Option<()> {
        while !body.is_empty() {
            let (&[kind], rest) = body.split_first_chunk()?;
            let (counts, rest) = rest.split_first_chunk::<16>()?;
            let used = counts.iter().map(|&count| usize::from(count)).sum();
            if used > 256 {
                return None;
            }
            let mut symbols = [0; 256];
            symbols[..used].copy_from_slice(rest.get(..used)?);
            body = &rest[used..];
            // Codes of all lengths must fit.
            counts.iter().try_fold(1_u32, |left, &count| (2 * left).checked_sub(count.into()))?;
            let tables = if kind >> 4 == 0 { &mut self.dc } else { &mut self.ac };
            if kind >> 4 > 1 {
                return None;
            }
            *tables.get_mut(usize::from(kind & 15))? = Some(Codes { counts: *counts, symbols });
        }
        Some(())
    }

    fn quantisation(&mut self, mut body: &[u8]) -> Option<()> {
        while !body.is_empty() {
            let (&[kind], rest) = body.split_first_chunk()?;
            let table = self.quantisation.get_mut(usize::from(kind & 15))?;
            let mut steps = [0; 64];
            if kind >> 4 == 0 {
                let (bytes, rest) = rest.split_first_chunk::<64>()?;
                steps = bytes.map(u16::from);
                body = rest;
            } else {
                let (bytes, rest) = rest.split_first_chunk::<128>()?;
                for (step, &bytes) in steps.iter_mut().zip(bytes.as_chunks().0) {
                    *step = u16::from_be_bytes(bytes);
                }
                body = rest;
            }
            *table = Some(steps);
        }
        Some(())
    }

    fn scan(&self, body: &[u8]) -> Option<Scan> {
        let (&count, rest) = body.split_first()?;
        let mut scan = Scan { count: usize::from(count), ..Scan::default() };
        if !(1..=self.count).contains(&scan.count) {
            return None;
        }
        let mut next = 0;
        for (index, part) in scan.parts[..scan.count].iter_mut().enumerate() {
            let &[id, tables] = rest.get(2 * index..)?.first_chunk()?;
            // A scan's components come in the frame's order (T.81, B.2.3), hence none comes twice.
            let found = self.components().get(next..)?.iter().position(|c| c.id == id)?;
            *part = Part {
                component: next + found,
                dc: usize::from(tables >> 4),
                ac: usize::from(tables & 15),
            };
            next += found + 1;
            if part.dc > 3 || part.ac > 3 {
                return None;
            }
        }
        let &[first, last, bits] = rest.get(2 * scan.count..)? else { return None };
        (scan.first, scan.last) = (usize::from(first), usize::from(last));
        (scan.high, scan.low) = (bits >> 4, bits & 15);
        let blocks = scan.parts().iter().map(|part| {
            let component = &self.components[part.component];
            component.across * component.down
        });
        if scan.count > 1 && blocks.sum::<usize>() > MOST_BLOCKS {
            return None;
        }
        let sound = if self.progressive {
            // DC alone, or AC of one component; refined by one bit at a time (T.81, G.1.1.1).
            let bands = if first == 0 { last == 0 } else { scan.count == 1 && first <= last };
            bands && last < 64 && scan.low < 14 && (scan.high == 0 || scan.high == scan.low + 1)
        } else {
            (first, last, bits) == (0, 63, 0)
        };
        sound.then_some(scan)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let &pair = bytes.get(at..)?.first_chunk()?;
    Some(usize::from(u16::from_be_bytes(pair)))
}
