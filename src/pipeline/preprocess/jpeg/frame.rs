//! What the segments before a scan say, where they describe a plain sequential picture.

use super::huffman::Codes;

/// One colour component.
#[derive(Clone, Copy, Default)]
pub(super) struct Component {
    id: u8,
    /// Horizontal and vertical sampling factors.
    pub(super) across: usize,
    pub(super) down: usize,
    /// Index of its quantisation table.
    quantisation: usize,
    /// Index of its tables for DC and AC codes.
    dc: usize,
    ac: usize,
}

/// A sequential picture of 8 bits, grey or YCbCr with chroma at full or half size, in one scan.
pub(super) struct Frame {
    pub(super) width: usize,
    pub(super) height: usize,
    components: [Component; 3],
    count: usize,
    /// MCUs of a restart interval; 0 where there are none.
    pub(super) restart: usize,
    /// In zigzag order.
    quantisation: [Option<[u16; 64]>; 4],
    dc: [Option<Codes>; 4],
    ac: [Option<Codes>; 4],
}

impl Frame {
    /// Reads all segments up to the first scan; also returns where its entropy-coded bytes begin.
    ///
    /// `None` for any other kind of JPEG, and for one that breaks the rules.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut frame = Self {
            width: 0,
            height: 0,
            components: [Component::default(); 3],
            count: 0,
            restart: 0,
            quantisation: [None; 4],
            dc: [None; 4],
            ac: [None; 4],
        };
        let mut at = 2;
        loop {
            // Fill bytes may precede a marker, and careless writers leave padding between segments.
            at += bytes.get(at..)?.iter().position(|&byte| byte == 0xff)?;
            at += bytes[at..].iter().position(|&byte| byte != 0xff)?;
            let code = bytes[at];
            at += 1;
            if matches!(code, 0x00 | 0x01 | 0xd0..=0xd8) {
                continue;
            }
            let length = word(bytes, at)?;
            let body = bytes.get(at + 2..at + length)?;
            at += length;
            match code {
                0xc0 | 0xc1 => frame.size(body)?,
                0xc2..=0xcf if code != 0xc4 => return None,
                0xc4 => frame.huffman(body)?,
                0xdb => frame.quantisation(body)?,
                0xdd => frame.restart = word(body, 0)?,
                // Adobe's transform 1 is YCbCr.
                0xee if body.starts_with(b"Adobe") && body.get(11).is_some_and(|&t| t != 1) => {
                    return None;
                }
                0xda => {
                    frame.scan(body)?;
                    return Some((frame, at));
                }
                0xd9 | 0xdc => return None,
                _ => {}
            }
        }
    }

    /// The components: one, or Y, Cb, Cr.
    pub(super) fn components(&self) -> &[Component] {
        &self.components[..self.count]
    }

    /// The luma's sampling factors, which are the highest.
    pub(super) fn sampling(&self) -> (usize, usize) {
        (self.components[0].across, self.components[0].down)
    }

    /// Number of MCUs in a row, and of their rows.
    pub(super) fn mcus(&self) -> (usize, usize) {
        let (across, down) = self.sampling();
        (self.width.div_ceil(8 * across), self.height.div_ceil(8 * down))
    }

    /// A component's quantisation table, in zigzag order.
    pub(super) fn quantisation_of(&self, component: &Component) -> Option<&[u16; 64]> {
        self.quantisation[component.quantisation].as_ref()
    }

    /// A component's codes for DC and AC coefficients.
    pub(super) fn codes_of(&self, component: &Component) -> Option<(&Codes, &Codes)> {
        self.dc[component.dc].as_ref().zip(self.ac[component.ac].as_ref())
    }

    fn size(&mut self, body: &[u8]) -> Option<()> {
        let (&[precision, h1, h0, w1, w0, count], components) = body.split_first_chunk()?;
        let count = usize::from(count);
        if self.count != 0 || precision != 8 || !matches!(count, 1 | 3) {
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
            *component = Component {
                id,
                across: usize::from(sampling >> 4),
                down: usize::from(sampling & 15),
                quantisation: usize::from(quantisation),
                dc: 0,
                ac: 0,
            };
            if quantisation > 3 {
                return None;
            }
        }
        self.count = count;
        if count == 1 {
            // The only component of a scan is not interleaved: its sampling factors mean nothing.
            (self.components[0].across, self.components[0].down) = (1, 1);
            return Some(());
        }
        let [luma, blue, red] = &self.components;
        let halved = matches!((luma.across, luma.down), (1 | 2, 1 | 2));
        let chroma = [blue, red].iter().all(|c| (c.across, c.down) == (1, 1));
        // Components of these names are no YCbCr, where nothing else says so.
        let rgb = self.components.iter().map(|c| c.id).eq(*b"RGB");
        (halved && chroma && !rgb).then_some(())
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

    fn scan(&mut self, body: &[u8]) -> Option<()> {
        let (&count, rest) = body.split_first()?;
        if self.count == 0 || usize::from(count) != self.count {
            return None;
        }
        for (index, component) in self.components[..self.count].iter_mut().enumerate() {
            let &[id, tables] = rest.get(2 * index..)?.first_chunk()?;
            component.dc = usize::from(tables >> 4);
            component.ac = usize::from(tables & 15);
            if id != component.id || component.dc > 3 || component.ac > 3 {
                return None;
            }
        }
        // All coefficients, all bits.
        (rest.get(2 * self.count..)? == [0, 63, 0]).then_some(())
    }
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let &pair = bytes.get(at..)?.first_chunk()?;
    Some(usize::from(u16::from_be_bytes(pair)))
}
