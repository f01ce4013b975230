//! The memory of a batch: one allocation whose slots are filled by several threads at once, without
//! a lock and without a copy.
//!
//! [`Filling`] hands out each [`Slot`] once; when all are back it becomes [`Full`], which can only be
//! read. An engine may give the memory ([`HostMemory`]): a device copies from pinned memory by itself.

use std::cell::UnsafeCell;
use std::sync::Arc;

use super::infer::InputSpec;
use super::pixels::{Pictures, PixelFormat, PixelsMut, PixelsView};

/// A cache line: two slots of a batch share none where a picture fills whole lines (as one of 224 × 224 does),
/// and vectors are loaded and stored aligned.
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "it is read through pointers")] [u8; LINE]);

const LINE: usize = 64;

/// Memory for a batch that an engine gives.
///
/// # Safety
/// `start` is the same each time, aligned to 64 bytes, and `bytes` bytes from there on are zeroed or written, belong to this
/// value alone and live as long as it does.
#[expect(unsafe_code, reason = "what `start` promises cannot be checked")]
pub unsafe trait HostMemory: Send + Sync {
    /// The first byte.
    fn start(&self) -> *mut u8;

    /// How many there are.
    fn bytes(&self) -> usize;
}

/// Where a batch lies.
enum Memory {
    Own(Box<[UnsafeCell<Line>]>),
    Given(Box<dyn HostMemory>),
}

impl Memory {
    fn start(&self) -> *mut u8 {
        match self {
            Self::Own(lines) => UnsafeCell::raw_get(lines.as_ptr()).cast::<u8>(),
            Self::Given(memory) => memory.start(),
        }
    }
}

/// The allocation: `slots` pictures of `picture` bytes each, one after another.
struct Buffer {
    memory: Memory,
    slots: usize,
    picture: usize,
    format: PixelFormat,
    /// A number that the maker chose, to tell buffers apart that are no longer wanted.
    edition: u64,
}

#[expect(unsafe_code, reason = "slots of one buffer are written by several threads")]
// SAFETY: a byte is written only through the one `Slot` that covers it, or through `&mut Filling`
// while no slot is out, and read only through `Full`, which exists only while neither does.
unsafe impl Sync for Buffer {}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} × {} bytes of {})", self.slots, self.picture, self.format)
    }
}

impl Buffer {
    /// The first byte of a picture, and of the allocation for picture 0.
    fn start(&self, index: usize) -> *mut u8 {
        assert!(index < self.slots, "slot {index} of {}", self.slots);
        self.memory.start().wrapping_add(index * self.picture)
    }
}

/// A buffer whose slots are being filled.
#[derive(Debug)]
pub struct Filling {
    buffer: Arc<Buffer>,
    /// Slots that nobody holds and nobody has filled, last one first.
    free: Vec<usize>,
    /// Slots that somebody holds.
    out: usize,
}

/// One picture's place in a buffer: its holder alone may touch it.
#[derive(Debug)]
pub struct Slot {
    buffer: Arc<Buffer>,
    index: usize,
}

/// A buffer that can only be read.
#[derive(Debug)]
pub struct Full {
    buffer: Arc<Buffer>,
}

impl Filling {
    /// A zeroed buffer of `slots` pictures (at least one) as `input` has them; `None` where there is no
    /// memory for it.
    pub fn new(slots: usize, input: &InputSpec) -> Option<Self> {
        Self::new_in(slots, input, 0, |_| None)
    }

    /// As [`Filling::new`], in memory that `give` gives for so many bytes, if it does; of an edition that the caller numbers.
    pub fn new_in(
        slots: usize,
        input: &InputSpec,
        edition: u64,
        give: impl FnOnce(usize) -> Option<Box<dyn HostMemory>>,
    ) -> Option<Self> {
        let slots = slots.max(1);
        let picture = input.bytes();
        // One line at least: an empty allocation has no address.
        let lines = slots.checked_mul(picture)?.div_ceil(LINE).max(1);
        let format = input.format;
        let given = give(lines * LINE).filter(|memory| memory.bytes() >= lines * LINE);
        if let Some(memory) = given {
            let memory = Memory::Given(memory);
            return Some(Self::of(Arc::new(Buffer { memory, slots, picture, format, edition })));
        }
        let mut cells = Vec::new();
        cells.try_reserve_exact(lines).ok()?;
        cells.resize_with(lines, || UnsafeCell::new(Line([0; LINE])));
        let memory = Memory::Own(cells.into());
        Some(Self::of(Arc::new(Buffer { memory, slots, picture, format, edition })))
    }

    fn of(buffer: Arc<Buffer>) -> Self {
        Self { free: (0..buffer.slots).rev().collect(), buffer, out: 0 }
    }

    /// How many pictures fit.
    pub fn slots(&self) -> usize {
        self.buffer.slots
    }

    /// The edition that its maker numbered.
    pub fn edition(&self) -> u64 {
        self.buffer.edition
    }

    /// How many slots nobody holds and nobody has filled.
    pub const fn free(&self) -> usize {
        self.free.len()
    }

    /// Hands out a free slot, lowest first.
    pub fn take(&mut self) -> Option<Slot> {
        let index = self.free.pop()?;
        self.out += 1;
        Some(Slot { buffer: Arc::clone(&self.buffer), index })
    }

    /// Takes back a slot that was filled; returns its index.
    ///
    /// # Panics
    /// Where the slot is another buffer's.
    pub fn filled(&mut self, slot: Slot) -> usize {
        let index = self.own(slot);
        self.out -= 1;
        index
    }

    /// Takes back a slot that was not filled: it can be handed out again.
    ///
    /// # Panics
    /// Where the slot is another buffer's.
    pub fn unfilled(&mut self, slot: Slot) {
        let index = self.own(slot);
        self.out -= 1;
        self.free.push(index);
    }

    fn own(&self, slot: Slot) -> usize {
        let Slot { buffer, index } = slot;
        assert!(Arc::ptr_eq(&self.buffer, &buffer), "a slot goes back where it came from");
        index
    }

    /// How many slots somebody holds.
    pub const fn out(&self) -> usize {
        self.out
    }

    /// Copies one picture over another.
    ///
    /// # Panics
    /// Where a slot is out, or an index is past the end.
    pub fn copy(&mut self, from: usize, to: usize) {
        assert_eq!(self.out, 0, "no slot is out");
        let (from, to) = (self.buffer.start(from), self.buffer.start(to));
        #[expect(unsafe_code, reason = "see `Buffer`")]
        // SAFETY: no slot is out and `Full` does not exist yet, so nobody else touches the bytes; `start` checks
        // that both pictures lie within the allocation; the same picture twice is allowed to `copy`.
        unsafe {
            std::ptr::copy(from, to, self.buffer.picture);
        }
    }

    /// Ends the filling.
    ///
    /// # Panics
    /// Where a slot is still out.
    pub fn freeze(self) -> Full {
        assert_eq!(self.out, 0, "no slot is out");
        Full { buffer: self.buffer }
    }
}

impl Slot {
    /// The picture's values.
    pub fn pixels(&mut self) -> PixelsMut<'_> {
        let (start, bytes) = (self.buffer.start(self.index), self.buffer.picture);
        #[expect(unsafe_code, clippy::cast_ptr_alignment, reason = "see `Buffer`")]
        // SAFETY: these bytes lie within the allocation and belong to this slot alone, of which there is one and
        // which is borrowed mutably for as long as the slice lives. All of the allocation is initialised, and
        // any bits are an f32; pictures of f32 are whole f32s, so that each begins at a multiple of 4 bytes.
        unsafe {
            match self.buffer.format {
                PixelFormat::F32Nchw | PixelFormat::F32Nhwc => PixelsMut::F32(
                    std::slice::from_raw_parts_mut(start.cast::<f32>(), bytes / size_of::<f32>()),
                ),
                PixelFormat::U8Nhwc => PixelsMut::U8(std::slice::from_raw_parts_mut(start, bytes)),
            }
        }
    }
}

impl Pictures for Full {
    fn view(&self) -> PixelsView<'_> {
        let start = self.buffer.start(0).cast_const();
        let bytes = self.buffer.slots * self.buffer.picture;
        #[expect(unsafe_code, clippy::cast_ptr_alignment, reason = "see `Buffer`")]
        // SAFETY: all slots were back when this was made, and no new one can be handed out before it
        // is consumed: nobody writes while it is borrowed. For f32 see `Slot::pixels`.
        unsafe {
            match self.buffer.format {
                PixelFormat::F32Nchw | PixelFormat::F32Nhwc => PixelsView::F32(
                    std::slice::from_raw_parts(start.cast::<f32>(), bytes / size_of::<f32>()),
                ),
                PixelFormat::U8Nhwc => PixelsView::U8(std::slice::from_raw_parts(start, bytes)),
            }
        }
    }
}

impl Full {
    /// Makes the buffer ready to be filled again, if nobody else reads it.
    pub fn reuse(this: Arc<Self>) -> Option<Filling> {
        Arc::try_unwrap(this).ok().map(|full| Filling::of(full.buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::infer::Geometry;

    fn spec(side: u32, format: PixelFormat) -> InputSpec {
        InputSpec { side, geometry: Geometry::Squash, mean: [0.0; 3], std: [1.0; 3], format }
    }

    /// The picture's own number, as a value of its type.
    fn paint(pixels: PixelsMut<'_>, number: usize) {
        match pixels {
            PixelsMut::F32(values) => values.fill(number as f32),
            PixelsMut::U8(values) => values.fill(number as u8),
        }
    }

    #[test]
    fn threads_fill_their_own_slots_and_the_whole_is_read() {
        for format in PixelFormat::ALL {
            // 75 values a picture: slots do not begin at whole lines.
            let mut filling = Filling::new(8, &spec(5, format)).unwrap();
            let slots: Vec<_> = (0..8).map(|_| filling.take().unwrap()).collect();
            assert!(filling.take().is_none());
            let slots: Vec<_> = std::thread::scope(|scope| {
                let workers: Vec<_> = slots
                    .into_iter()
                    .map(|mut slot| {
                        scope.spawn(move || {
                            let index = slot.index;
                            paint(slot.pixels(), index);
                            slot
                        })
                    })
                    .collect();
                workers.into_iter().map(|w| w.join().unwrap()).collect()
            });
            for slot in slots {
                filling.filled(slot);
            }
            filling.copy(7, 2);
            filling.copy(3, 3);
            let full = filling.freeze();
            assert_eq!(full.view().len(), 8 * 75, "{format}");
            let numbers: Vec<usize> = match full.view() {
                PixelsView::F32(values) => values.iter().map(|&v| v as usize).collect(),
                PixelsView::U8(values) => values.iter().map(|&v| usize::from(v)).collect(),
            };
            for (i, &number) in numbers.iter().enumerate() {
                let slot = i / 75;
                assert_eq!(number, if slot == 2 { 7 } else { slot }, "value {i} of {format}");
            }
            let again = Full::reuse(Arc::new(full)).unwrap();
            assert_eq!((again.free(), again.slots()), (8, 8));
        }
    }

    #[test]
    fn bytes_take_a_quarter_of_the_memory() {
        let bytes = |format| {
            let filling = Filling::new(16, &spec(64, format)).unwrap();
            let Memory::Own(lines) = &filling.buffer.memory else { panic!("nobody gave any") };
            lines.len() * LINE
        };
        assert_eq!(bytes(PixelFormat::F32Nchw), 16 * 64 * 64 * 3 * 4);
        assert_eq!(bytes(PixelFormat::U8Nhwc), 16 * 64 * 64 * 3);
    }

    #[test]
    fn memory_that_is_not_there_is_no_panic() {
        assert!(Filling::new(1 << 40, &spec(4096, PixelFormat::F32Nchw)).is_none());
        assert!(Filling::new(usize::MAX, &spec(4096, PixelFormat::U8Nhwc)).is_none());
    }

    #[test]
    #[should_panic(expected = "no slot is out")]
    fn freezing_with_a_slot_out_is_refused() {
        let mut filling = Filling::new(2, &spec(2, PixelFormat::F32Nchw)).unwrap();
        let _slot = filling.take();
        let _ = filling.freeze();
    }
}
