//! The pixels of a batch: one allocation whose slots are filled by several threads at once, without
//! a lock and without a copy.
//!
//! [`Filling`] hands out each [`Slot`] once; when all are back it becomes [`Full`], which can only be
//! read. A device's pinned memory will take the place of the allocation, and has no safe interface.

use std::cell::UnsafeCell;
use std::sync::Arc;

/// The allocation: `slots × values` f32.
struct Buffer {
    cells: Box<[UnsafeCell<f32>]>,
    values: usize,
}

#[expect(unsafe_code, reason = "slots of one buffer are written by several threads")]
// SAFETY: a cell is written only through the one `Slot` that covers it, or through `&mut Filling`
// while no slot is out, and read only through `Full`, which exists only while neither does.
unsafe impl Sync for Buffer {}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} × {})", self.cells.len() / self.values.max(1), self.values)
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
    /// A zeroed buffer of `slots` pictures of `values` f32 each; `None` where there is no memory for it.
    pub fn new(slots: usize, values: usize) -> Option<Self> {
        let mut cells = Vec::new();
        cells.try_reserve_exact(slots * values).ok()?;
        cells.resize_with(slots * values, || UnsafeCell::new(0.0));
        Some(Self::of(Arc::new(Buffer { cells: cells.into(), values })))
    }

    fn of(buffer: Arc<Buffer>) -> Self {
        let slots = buffer.cells.len() / buffer.values;
        Self { buffer, free: (0..slots).rev().collect(), out: 0 }
    }

    /// How many pictures fit.
    pub fn slots(&self) -> usize {
        self.buffer.cells.len() / self.buffer.values
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
        let values = self.buffer.values;
        for i in 0..values {
            let cell = &self.buffer.cells[from * values + i];
            #[expect(unsafe_code, reason = "see `Buffer`")]
            // SAFETY: no slot is out and `Full` does not exist yet, so nobody else touches the cells.
            unsafe {
                *self.buffer.cells[to * values + i].get() = *cell.get();
            }
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
    pub fn pixels(&mut self) -> &mut [f32] {
        let values = self.buffer.values;
        let cells = &self.buffer.cells[self.index * values..][..values];
        #[expect(unsafe_code, reason = "see `Buffer`")]
        // SAFETY: `UnsafeCell<f32>` has the layout of f32; these cells belong to this slot alone, of
        // which there is one and which is borrowed mutably for as long as the slice lives.
        unsafe {
            std::slice::from_raw_parts_mut(UnsafeCell::raw_get(cells.as_ptr()), values)
        }
    }
}

impl AsRef<[f32]> for Full {
    fn as_ref(&self) -> &[f32] {
        let cells = &self.buffer.cells;
        #[expect(unsafe_code, reason = "see `Buffer`")]
        // SAFETY: all slots were back when this was made, and no new one can be handed out before it
        // is consumed: nobody writes while it is borrowed.
        unsafe {
            std::slice::from_raw_parts(cells.as_ptr().cast::<f32>(), cells.len())
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

    #[test]
    fn threads_fill_their_own_slots_and_the_whole_is_read() {
        let mut filling = Filling::new(8, 100).unwrap();
        let slots: Vec<_> = (0..8).map(|_| filling.take().unwrap()).collect();
        assert!(filling.take().is_none());
        let slots: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> = slots
                .into_iter()
                .map(|mut slot| {
                    scope.spawn(move || {
                        let value = slot.index as f32;
                        slot.pixels().fill(value);
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
        let full = filling.freeze();
        let values = full.as_ref();
        assert_eq!(values.len(), 800);
        for (i, &value) in values.iter().enumerate() {
            let slot = i / 100;
            assert!((value - if slot == 2 { 7.0 } else { slot as f32 }).abs() < f32::EPSILON);
        }
        let again = Full::reuse(Arc::new(full)).unwrap();
        assert_eq!((again.free(), again.slots()), (8, 8));
    }

    #[test]
    fn memory_that_is_not_there_is_no_panic() {
        assert!(Filling::new(1 << 30, 1 << 30).is_none());
    }

    #[test]
    #[should_panic(expected = "no slot is out")]
    fn freezing_with_a_slot_out_is_refused() {
        let mut filling = Filling::new(2, 4).unwrap();
        let _slot = filling.take();
        let _ = filling.freeze();
    }
}
