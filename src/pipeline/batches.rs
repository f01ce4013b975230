//! The queue of batches: pictures are written straight into the slots of the batch being filled.
//!
//! A slot is reserved once an image's header is read; slots finish in any order; a failed image gives
//! its slot back to the same batch. A batch leaves when all its slots are filled, or when it is sealed
//! (by age, by a change of the batch size, at the end) and no reservation is open; the last filled
//! slots then move into the holes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::infer::{Engine, InputSpec};
use super::item::Item;
use super::pixels::PixelsMut;
use super::slab::{Filling, Full, Slot};
use crate::probe::clock::{self, Nanos};
use crate::probe::lock::{Condvar, Guard, Mutex};
use crate::probe::queue::Popped;
use crate::probe::registry::Registry;
use crate::probe::state::Wait;
use crate::probe::track::Track;

/// Ready batches kept for `source.cache = batches`: more than one, so that the engine does not see
/// the very same memory each time.
const REPLAYED: usize = 2;

/// A batch ready for the engine.
#[derive(Debug)]
pub struct Batch {
    /// Pixels; the first `items.len()` pictures count.
    pub pixels: Arc<Full>,
    /// Its images, by slot.
    pub items: Vec<Item>,
    /// Whether it is a ready batch taken again: its images were not read for it.
    pub replayed: bool,
    /// How many images it was made for.
    pub size: usize,
}

/// The queue of batches, those being filled included.
#[derive(Debug)]
pub struct Batches {
    inner: Mutex<Inner>,
    /// Signalled when a batch is ready or a first image lies in one.
    ready: Condvar,
    /// Signalled when a slot may be free.
    room: Condvar,
    /// What a picture looks like.
    input: InputSpec,
    /// Whose memory pictures are put in, where it has some to give.
    giver: Giver,
    /// Whether ready batches are being taken again: loading may rest.
    replaying: AtomicBool,
    /// Size of the batch that was taken last.
    last_size: AtomicU64,
}

#[derive(Default)]
struct Giver(Option<Arc<dyn Engine>>);

impl std::fmt::Debug for Giver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.0.as_ref().map(|engine| engine.info().name.as_str());
        f.debug_tuple("Giver").field(&name).finish()
    }
}

#[derive(Debug)]
struct Inner {
    building: VecDeque<Building>,
    ready: VecDeque<Batch>,
    /// Batches whose memory is being fetched.
    making: usize,
    /// Buffers to be filled again, all of the current size.
    spare: Vec<Filling>,
    size: usize,
    max_delay: Nanos,
    closed: bool,
    next_id: u64,
    track: Track,
    /// Whether ready batches shall be taken again, and those kept for it.
    replay: bool,
    kept: Vec<(Arc<Full>, Vec<Item>)>,
    next_kept: usize,
}

/// A batch being filled.
#[derive(Debug)]
struct Building {
    id: u64,
    filling: Filling,
    /// By slot; `None` where nothing (valid) lies yet.
    items: Vec<Option<Item>>,
    filled: usize,
    /// When the first image lay in it.
    first: Option<Nanos>,
    sealed: bool,
}

/// Why no slot was reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSlot {
    /// The queue is closed: the image is given up.
    Closed,
    /// There is no memory for a batch of so many images.
    NoMemory {
        /// Images of the batch.
        images: usize,
    },
}

/// A reserved slot; dropping it without [`Reservation::fill`] gives it back to its batch.
#[derive(Debug)]
pub struct Reservation<'a> {
    batches: &'a Batches,
    batch: u64,
    slot: Option<Slot>,
}

impl Batches {
    /// An empty queue for pictures as `input` has them, holding up to `capacity` batches of `size`.
    pub fn new(
        registry: &Registry,
        input: &InputSpec,
        capacity: usize,
        size: usize,
        max_delay: Duration,
    ) -> Self {
        let inner = Inner {
            building: VecDeque::new(),
            ready: VecDeque::new(),
            making: 0,
            spare: Vec::new(),
            size,
            max_delay: max_delay.as_nanos() as Nanos,
            closed: false,
            next_id: 0,
            track: registry.track(capacity),
            replay: false,
            kept: Vec::new(),
            next_kept: 0,
        };
        Self {
            inner: Mutex::new(registry, "queue.batches", inner),
            ready: Condvar::default(),
            room: Condvar::default(),
            input: *input,
            giver: Giver::default(),
            replaying: AtomicBool::new(false),
            last_size: AtomicU64::new(size as u64),
        }
    }

    /// Puts pictures in memory that the engine gives, where it has some to give.
    #[must_use]
    pub fn in_memory_of(mut self, engine: Arc<dyn Engine>) -> Self {
        self.giver = Giver(Some(engine));
        self
    }

    fn new_filling(&self, size: usize) -> Option<Filling> {
        let Giver(engine) = &self.giver;
        let give = |bytes| engine.as_ref().and_then(|engine| engine.host_memory(bytes));
        Filling::new_in(size, &self.input, give)
    }

    /// Reserves a slot, waiting for one.
    ///
    /// # Errors
    /// Once the queue is closed, or where there is no memory for another batch.
    pub fn reserve(&self) -> Result<Reservation<'_>, NoSlot> {
        loop {
            if let Some(reservation) = self.find_slot(true)? {
                return Ok(reservation);
            }
        }
    }

    /// Reserves a slot, if there is one now or room for another batch.
    ///
    /// # Errors
    /// As [`Self::reserve`].
    pub fn try_reserve(&self) -> Result<Option<Reservation<'_>>, NoSlot> {
        self.find_slot(false)
    }

    fn find_slot(&self, wait: bool) -> Result<Option<Reservation<'_>>, NoSlot> {
        let mut inner = self.inner.lock();
        loop {
            if inner.closed {
                return Err(NoSlot::Closed);
            }
            if let Some((batch, slot)) = inner.take_slot() {
                inner.note();
                return Ok(Some(Reservation { batches: self, batch, slot: Some(slot) }));
            }
            if inner.has_room_for_a_batch() {
                // Counted before it is there: nobody else takes its place meanwhile.
                inner.making += 1;
                let size = inner.size;
                let spare = inner.spare.pop();
                drop(inner);
                // Fresh memory can take a while: not under the lock.
                let filling = spare.or_else(|| self.new_filling(size));
                inner = self.inner.lock();
                inner.making -= 1;
                let filling = filling.ok_or(NoSlot::NoMemory { images: size })?;
                if inner.closed || filling.slots() != inner.size {
                    continue;
                }
                inner.begin(filling);
                // Others who waited for a slot find one in it; one is the caller's.
                self.room.notify(size - 1);
                continue;
            }
            if !wait {
                return Ok(None);
            }
            inner = self.room.wait(inner, Wait::Backpressured);
        }
    }

    /// Takes the oldest ready batch, waiting for one while `stay` holds. A batch that has waited for
    /// its `max_delay` is sealed by whoever waits here.
    pub fn pop(&self, stay: impl Fn() -> bool) -> Popped<Batch> {
        let mut inner = self.inner.lock();
        loop {
            if !stay() {
                if !inner.ready.is_empty() || !inner.building.is_empty() {
                    self.ready.notify_one();
                }
                return Popped::Dismissed;
            }
            if let Some(batch) = inner.replayed() {
                return Popped::Item(batch);
            }
            if let Some(batch) = inner.ready.pop_front() {
                inner.track.popped += 1;
                inner.keep(&batch);
                self.replaying.store(inner.replays(), Ordering::Relaxed);
                self.last_size.store(batch.size as u64, Ordering::Relaxed);
                inner.note();
                let room = inner.room();
                drop(inner);
                self.room.notify(room);
                return Popped::Item(batch);
            }
            if inner.closed && inner.building.is_empty() {
                return Popped::Closed;
            }
            let Some(due) = inner.next_due() else {
                inner = self.ready.wait(inner, Wait::Starved);
                continue;
            };
            if due > clock::now() {
                inner = self.ready.wait_until(inner, Wait::Starved, due);
            } else {
                let oldest = due - inner.max_delay;
                inner.seal(|building| building.first.is_some_and(|first| first <= oldest));
                self.settle(inner);
                inner = self.inner.lock();
            }
        }
    }

    /// Lets complete batches become ready, tells who waits, and unlocks.
    fn settle(&self, mut inner: Guard<'_, Inner>) {
        inner.complete();
        inner.note();
        // One to take each batch, or to wait for the age of one that is being filled.
        let work = inner.ready.len().max(usize::from(inner.next_due().is_some()));
        let room = inner.room();
        drop(inner);
        self.ready.notify(work);
        self.room.notify(room);
    }

    /// Sets the batch size; batches of another size that are being filled are sealed.
    pub fn set_size(&self, size: usize) {
        let mut inner = self.inner.lock();
        if inner.size != size {
            inner.size = size;
            inner.spare.clear();
            inner.kept.clear();
            self.replaying.store(false, Ordering::Relaxed);
            inner.seal(|_| true);
        }
        self.settle(inner);
    }

    /// Sets the capacity in batches. Below the depth nothing is dropped: reservations wait.
    pub fn set_capacity(&self, capacity: usize) {
        let mut inner = self.inner.lock();
        inner.track.advance(clock::now());
        inner.track.capacity = capacity as u64;
        self.settle(inner);
    }

    /// Sets how long a free infer worker lets a batch wait to be filled.
    pub fn set_max_delay(&self, delay: Duration) {
        self.inner.lock().max_delay = delay.as_nanos() as Nanos;
        self.ready.notify_all();
    }

    /// Sets whether ready batches are taken again and again (after the first few).
    pub fn set_replay(&self, on: bool) {
        let mut inner = self.inner.lock();
        inner.replay = on;
        inner.kept.clear();
        self.replaying.store(false, Ordering::Relaxed);
        drop(inner);
        self.ready.notify_all();
    }

    /// Whether ready batches are being taken again, so that loading may rest.
    pub fn is_replaying(&self) -> bool {
        self.replaying.load(Ordering::Relaxed)
    }

    /// Size of the batch that was taken last: the batch size in force.
    pub fn size_in_force(&self) -> u64 {
        self.last_size.load(Ordering::Relaxed)
    }

    /// The end of the input: what is being filled goes out as it is.
    pub fn close(&self) {
        let mut inner = self.inner.lock();
        inner.closed = true;
        inner.replay = false;
        inner.seal(|_| true);
        self.settle(inner);
        self.ready.notify_all();
    }

    /// Closes and drops what is in.
    pub fn abort(&self) {
        let mut inner = self.inner.lock();
        inner.closed = true;
        inner.replay = false;
        inner.ready.clear();
        inner.building.clear();
        self.settle(inner);
        self.ready.notify_all();
    }

    /// Wakes all who wait, to look at their conditions again.
    pub fn wake_all(&self) {
        drop(self.inner.lock());
        self.ready.notify_all();
        self.room.notify_all();
    }

    /// Gives a buffer back to be filled again.
    pub fn recycle(&self, pixels: Arc<Full>) {
        let Some(filling) = Full::reuse(pixels) else { return };
        let mut inner = self.inner.lock();
        let wanted = inner.track.capacity as usize;
        if filling.slots() == inner.size && inner.spare.len() < wanted {
            inner.spare.push(filling);
        }
    }

    /// Its account up to now.
    pub fn track(&self) -> Track {
        let mut inner = self.inner.lock();
        inner.track.advance(clock::now());
        inner.track
    }

    /// Ends a reservation: with an item the slot is filled, without one it is given back.
    fn end(&self, batch: u64, slot: Slot, item: Option<Item>) {
        let mut inner = self.inner.lock();
        // After an abort its batch is gone.
        if let Some(building) = inner.building.iter_mut().find(|b| b.id == batch) {
            match item {
                Some(item) => {
                    let index = building.filling.filled(slot);
                    building.items[index] = Some(item);
                    building.filled += 1;
                    building.first.get_or_insert_with(clock::now);
                }
                None => building.filling.unfilled(slot),
            }
        }
        self.settle(inner);
    }
}

impl Inner {
    fn depth(&self) -> usize {
        self.building.len() + self.ready.len()
    }

    /// How many who wait for a slot would get one; all of them get an answer at the end.
    fn room(&self) -> usize {
        if self.closed {
            return usize::MAX;
        }
        let open = self.building.iter().filter(|building| !building.sealed);
        let free: usize = open.map(|building| building.filling.free()).sum();
        let batches = self.track.capacity as usize;
        free + batches.saturating_sub(self.depth() + self.making) * self.size
    }

    fn note(&mut self) {
        let (depth, ready) = (self.depth() as u64, self.ready.len() as u64);
        self.track.note(depth, ready);
    }

    /// Whether another batch may be begun.
    fn has_room_for_a_batch(&self) -> bool {
        ((self.depth() + self.making) as u64) < self.track.capacity
    }

    /// A free slot of the oldest batch that has one.
    fn take_slot(&mut self) -> Option<(u64, Slot)> {
        let mut open = self.building.iter_mut().filter(|building| !building.sealed);
        open.find_map(|building| Some((building.id, building.filling.take()?)))
    }

    /// Begins a batch.
    fn begin(&mut self, filling: Filling) {
        let id = self.next_id;
        self.next_id += 1;
        self.building.push_back(Building {
            id,
            items: vec![None; filling.slots()],
            filling,
            filled: 0,
            first: None,
            sealed: false,
        });
    }

    fn seal(&mut self, which: impl Fn(&Building) -> bool) {
        for building in self.building.iter_mut().filter(|building| which(building)) {
            building.sealed = true;
        }
    }

    /// When the next unsealed batch with an image in it has waited long enough.
    fn next_due(&self) -> Option<Nanos> {
        let waiting = self.building.iter().filter(|building| !building.sealed);
        waiting.filter_map(|building| building.first).min().map(|first| first + self.max_delay)
    }

    /// Moves what is complete to the ready batches.
    fn complete(&mut self) {
        let mut index = 0;
        while index < self.building.len() {
            let building = &self.building[index];
            let full = building.filled == building.filling.slots();
            if full || (building.sealed && building.filling.out() == 0) {
                let building = self.building.remove(index).expect("the index is in range");
                if building.filled > 0 {
                    self.ready.push_back(building.into_batch());
                } else if building.filling.slots() == self.size {
                    // All its images failed.
                    self.spare
                        .push(Full::reuse(Arc::new(building.filling.freeze())).expect("unshared"));
                }
            } else {
                index += 1;
            }
        }
    }

    /// Whether enough batches are kept to be taken again.
    fn replays(&self) -> bool {
        self.replay && self.kept.len() >= REPLAYED
    }

    /// Keeps a full batch of the current size to be taken again.
    fn keep(&mut self, batch: &Batch) {
        if self.replay && self.kept.len() < REPLAYED && batch.items.len() == self.size {
            self.kept.push((Arc::clone(&batch.pixels), batch.items.clone()));
        }
    }

    fn replayed(&mut self) -> Option<Batch> {
        if !self.replays() {
            return None;
        }
        self.next_kept = (self.next_kept + 1) % self.kept.len();
        let (pixels, items) = &self.kept[self.next_kept];
        let batch = Batch {
            pixels: Arc::clone(pixels),
            items: items.clone(),
            replayed: true,
            size: self.size,
        };
        Some(batch)
    }
}

impl Building {
    /// Moves the last filled slots into the holes.
    fn into_batch(mut self) -> Batch {
        let size = self.items.len();
        let mut hole = 0;
        for last in (self.filled..size).rev() {
            if let Some(item) = self.items[last].take() {
                while self.items[hole].is_some() {
                    hole += 1;
                }
                self.filling.copy(last, hole);
                self.items[hole] = Some(item);
            }
        }
        let items = self.items.into_iter().flatten().collect();
        Batch { pixels: Arc::new(self.filling.freeze()), items, replayed: false, size }
    }
}

impl Reservation<'_> {
    /// The picture's values in the batch.
    ///
    /// # Panics
    /// Never: a reservation holds its slot until it ends.
    pub fn pixels(&mut self) -> PixelsMut<'_> {
        self.slot.as_mut().expect("a reservation holds its slot until it ends").pixels()
    }

    /// The slot is filled.
    pub fn fill(mut self, item: Item) {
        if let Some(slot) = self.slot.take() {
            self.batches.end(self.batch, slot, Some(item));
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.batches.end(self.batch, slot, None);
        }
    }
}

#[cfg(test)]
mod tests;
