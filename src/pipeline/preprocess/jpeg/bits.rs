//! A scan's bytes without their stuffing, and the reservoir that bits are taken from.

#![expect(clippy::inline_always, reason = "compiled for the instructions of whoever calls")]

/// Zero bytes behind every restart interval, so that the reservoir loads whole words without looking.
const TAIL: usize = 8;

/// One scan's entropy-coded bytes; the buffers are kept from image to image.
#[derive(Default)]
pub(super) struct ScanBytes {
    bytes: Vec<u8>,
    /// Where each restart interval begins and ends in `bytes`.
    intervals: Vec<(usize, usize)>,
}

impl ScanBytes {
    /// Takes the scan that begins `source`: up to its end, or the first marker that ends no interval. Returns
    /// the number of bytes.
    ///
    /// `None` where restart markers are out of turn (T.81, E.1.4).
    #[inline(always)]
    pub(super) fn take(&mut self, source: &[u8]) -> Option<usize> {
        let Self { bytes, intervals } = self;
        bytes.clear();
        intervals.clear();
        bytes.reserve(source.len() + TAIL);
        let (mut at, mut start) = (0, 0);
        loop {
            let run = without_ff(&source[at..]);
            bytes.extend_from_slice(&source[at..at + run]);
            at += run;
            match source.get(at + 1) {
                Some(0) => {
                    bytes.push(0xff);
                    at += 2;
                }
                // A fill byte before a marker.
                Some(0xff) => at += 1,
                Some(&code @ 0xd0..=0xd7) => {
                    if usize::from(code - 0xd0) != intervals.len() % 8 {
                        return None;
                    }
                    intervals.push((start, bytes.len()));
                    bytes.extend([0; TAIL]);
                    start = bytes.len();
                    at += 2;
                }
                _ => break,
            }
        }
        intervals.push((start, bytes.len()));
        bytes.extend([0; TAIL]);
        Some(at)
    }

    /// Number of restart intervals.
    pub(super) fn intervals(&self) -> usize {
        self.intervals.len()
    }

    /// The bits of an interval that exists.
    pub(super) fn bits(&self, interval: usize) -> Bits<'_> {
        let (start, end) = self.intervals[interval];
        Bits { rest: &self.bytes[start..end + TAIL], buffer: 0, count: 0, beyond: 0 }
    }

    /// Bytes of memory that are held.
    pub(super) fn held(&self) -> usize {
        self.bytes.capacity() + self.intervals.capacity() * size_of::<(usize, usize)>()
    }
}

/// Number of bytes before the first 0xff.
#[inline(always)]
fn without_ff(bytes: &[u8]) -> usize {
    let (chunks, _) = bytes.as_chunks::<32>();
    // A maximum of bytes becomes vector instructions, which a search does not.
    let clean = chunks.iter().take_while(|chunk| chunk.iter().fold(0, |m, &b| b.max(m)) < 0xff);
    let skipped = 32 * clean.count();
    let rest = &bytes[skipped..];
    skipped + rest.iter().position(|&byte| byte == 0xff).unwrap_or(rest.len())
}

/// A 64-bit reservoir; the next bit is the top one.
#[derive(Clone, Copy)]
pub(super) struct Bits<'a> {
    rest: &'a [u8],
    buffer: u64,
    /// Valid bits in `buffer`, at most 63.
    count: u8,
    /// Bytes that were wanted beyond the end of `rest`.
    beyond: u64,
}

impl Bits<'_> {
    /// The next bits, at the top.
    #[inline]
    pub(super) fn peek(&self) -> u64 {
        self.buffer
    }

    /// Tops the reservoir up to at least 56 bits, with zeros after the end.
    #[inline]
    pub(super) fn refill(&mut self) {
        let count = self.count & 63;
        let take = usize::from((63 - count) >> 3);
        if let Some(next) = self.rest.first_chunk::<8>() {
            self.buffer |= u64::from_be_bytes(*next) >> count;
            self.rest = &self.rest[take..];
        } else {
            self.beyond += take as u64;
        }
        self.count |= 0x38;
    }

    /// Drops as many bits as the low byte of `length` says, at most 63.
    #[inline]
    pub(super) fn consume(&mut self, length: u64) {
        self.buffer <<= length & 63;
        self.count = self.count.wrapping_sub(length as u8);
    }

    /// Whether more bits were taken than the interval has.
    pub(super) fn overrun(&self) -> bool {
        let held = self.rest.len() as u64 * 8 + u64::from(self.count);
        held < (self.beyond + TAIL as u64) * 8
    }
}
