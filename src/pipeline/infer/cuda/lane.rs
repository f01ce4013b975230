//! A lane: a stream with memory of its own, on which one batch at a time is under way.

use std::collections::HashMap;
use std::sync::Arc;

use super::busy::Moments;
use super::driver::{Context, Event, Fault, Graph, Memory, Pinned, Stream};
use super::gpu::Gpu;
use super::launch::Addresses;
use super::tiles::{MOST_SPLIT_TILES, PARTIAL_BYTES};

/// Batches of so many images and more fill a device, and are computed one after another: side by side they would all take
/// longer, end at the same time, and leave the device without work while new ones are handed over.
const IN_TURN: usize = 16;

/// Pictures to be taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pictures<'a> {
    /// One after another.
    pub bytes: &'a [u8],
    /// Whether they lie in pinned memory.
    pub pinned: bool,
}

/// Memory for batches of up to so many images.
#[derive(Debug)]
struct Room {
    images: usize,
    pictures: Memory,
    input: Memory,
    arena: Memory,
    logits: Memory,
    /// One graph a batch size, recorded when first needed.
    graphs: HashMap<usize, Graph>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Lane {
    context: Arc<Context>,
    stream: Stream,
    moments: Moments,
    partial: Memory,
    counters: Memory,
    room: Option<Room>,
    from: Pinned,
    to: Pinned,
}

impl Lane {
    /// A lane without room for images yet.
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, Fault> {
        let event = || Event::new(context).map(Arc::new);
        let stream = Stream::new(context)?;
        let counters = Memory::new(context, MOST_SPLIT_TILES * 4)?;
        stream.zero(&counters)?;
        Ok(Self {
            moments: Moments {
                started: event()?,
                uploaded: event()?,
                computed: event()?,
                done: event()?,
            },
            stream,
            partial: Memory::new(context, PARTIAL_BYTES)?,
            counters,
            room: None,
            from: Pinned::new(context, 1)?,
            to: Pinned::new(context, 1)?,
            context: Arc::clone(context),
        })
    }

    /// Its stream.
    pub(super) const fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Makes room for batches of that many images; what is under way is waited for.
    ///
    /// # Errors
    /// Where there is no memory; there is room for none then.
    pub(super) fn reserve(&mut self, gpu: &Gpu, images: usize) -> Result<(), Fault> {
        if self.room.as_ref().is_some_and(|room| room.images >= images) {
            return Ok(());
        }
        self.stream.synchronize()?;
        // First away with the old, or both would have to fit.
        self.room = None;
        let model = gpu.model();
        let value = model.precision.bytes();
        let input = &model.input;
        let row = input.side * input.width * input.channels * value;
        let memory = |bytes: usize| Memory::new(&self.context, bytes * images);
        let room = Room {
            images,
            pictures: memory(3 * input.side * input.side)?,
            input: memory(row)?,
            arena: memory(model.arena * value)?,
            logits: memory(model.classes * 4)?,
            graphs: HashMap::new(),
        };
        // Images that pad a batch are computed too, and must not be what nobody wrote.
        self.stream.zero(&room.pictures)?;
        self.room = Some(room);
        Ok(())
    }

    /// Where everything of this lane is.
    ///
    /// # Panics
    /// Before room was made.
    pub(super) fn addresses(&self, gpu: &Gpu) -> Addresses {
        let room = self.room.as_ref().expect("room was made");
        Addresses {
            arena: room.arena.address(),
            weights: gpu.weights(),
            pictures: room.pictures.address(),
            input: room.input.address(),
            logits: room.logits.address(),
            partial: self.partial.address(),
            counters: self.counters.address(),
        }
    }

    /// Records the graph for batches of `size` images, if that was not done.
    pub(super) fn record(&mut self, gpu: &Gpu, size: usize) -> Result<(), Fault> {
        self.reserve(gpu, size)?;
        let known = |room: &Room| room.graphs.contains_key(&size);
        if self.room.as_ref().is_some_and(known) {
            return Ok(());
        }
        let addresses = self.addresses(gpu);
        let steps = gpu.steps(size);
        gpu.before_capture(&steps, &self.stream, &addresses)?;
        let graph = self.stream.capture(|| {
            steps.iter().try_for_each(|step| gpu.start(step, &self.stream, &addresses))
        })?;
        self.stream.prepare(&graph)?;
        gpu.find_occupancy(self, size, &steps)?;
        if let Some(room) = &mut self.room {
            room.graphs.insert(size, graph);
        }
        Ok(())
    }

    /// Puts `images` pictures on the stream, in passes of at most `limit`; returns before they are done. Pictures in
    /// pinned memory must stay as they are until then; others are copied.
    pub(super) fn enqueue(
        &mut self,
        gpu: &Gpu,
        pictures: Pictures<'_>,
        images: usize,
        limit: usize,
    ) -> Result<(), Fault> {
        let Pictures { bytes: pictures, pinned } = pictures;
        let picture = pictures.len() / images;
        let logits = gpu.model().classes * 4;
        if !pinned && self.from.bytes() < pictures.len() {
            self.from = Pinned::new(&self.context, pictures.len())?;
        }
        if self.to.bytes() < images * logits {
            self.to = Pinned::new(&self.context, images * logits)?;
        }
        let sizes: Vec<_> = passes(images, limit).collect();
        // All graphs before any work: recording may wait for the stream.
        for &(_, size) in &sizes {
            self.record(gpu, size)?;
        }
        let Some(room) = &self.room else { return Ok(()) };
        let from = if pinned {
            pictures
        } else {
            let copy = &mut self.from.write()[..pictures.len()];
            copy.copy_from_slice(pictures);
            copy
        };
        self.stream.record(&self.moments.started)?;
        let whole_device = sizes.iter().any(|&(_, size)| size >= IN_TURN);
        let mut turn = None;
        let mut done = 0;
        for (count, size) in sizes {
            let part = &from[done * picture..(done + count) * picture];
            self.stream.upload(part, &room.pictures)?;
            if done == 0 {
                if whole_device {
                    let before = gpu.turn();
                    if let Some(computed) = before.as_deref() {
                        self.stream.after(computed)?;
                    }
                    turn = Some(before);
                }
                self.stream.record(&self.moments.uploaded)?;
            }
            self.stream.run(&room.graphs[&size])?;
            let range = done * logits..(done + count) * logits;
            done += count;
            if done == images {
                self.stream.record(&self.moments.computed)?;
                if let Some(mut turn) = turn.take() {
                    *turn = Some(Arc::clone(&self.moments.computed));
                }
            }
            self.stream.download(&room.logits, &mut self.to, range)?;
        }
        self.stream.record(&self.moments.done)
    }

    /// Sleeps until what was put on the stream is done.
    pub(super) fn wait(&self) -> Result<(), Fault> {
        self.moments.done.wait()
    }

    /// The logits of the last batch, which is done.
    pub(super) fn logits(&self, values: usize) -> Vec<f32> {
        let bytes = &self.to.read()[..values * 4];
        bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    /// The moments of the last batch; the lane takes a new event where the old one is kept.
    pub(super) fn take_moments(&mut self) -> Result<Moments, Fault> {
        let moments = self.moments.clone();
        self.moments.computed = Arc::new(Event::new(&self.context)?);
        Ok(moments)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // Nothing that the device still reads or writes may be freed.
        let _ = self.context.bind();
        let _ = self.stream.synchronize();
    }
}

/// A batch in passes of at most `limit` images: how many images, and in a graph of which size.
fn passes(images: usize, limit: usize) -> impl Iterator<Item = (usize, usize)> {
    let limit = limit.max(1);
    (0..images.div_ceil(limit)).map(move |pass| {
        let count = (images - pass * limit).min(limit);
        (count, rung(count).min(limit))
    })
}

/// The size of graph that takes so many images: the next power of two.
pub(super) const fn rung(images: usize) -> usize {
    images.next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_run_in_the_next_size_up() {
        let of = |images, limit| passes(images, limit).collect::<Vec<_>>();
        assert_eq!(of(1, 64), [(1, 1)]);
        assert_eq!(of(33, 64), [(33, 64)]);
        assert_eq!(of(64, usize::MAX), [(64, 64)]);
        assert_eq!(of(65, usize::MAX), [(65, 128)]);
    }

    #[test]
    fn batches_that_do_not_fit_run_in_passes() {
        let of = |images, limit| passes(images, limit).collect::<Vec<_>>();
        assert_eq!(of(100, 32), [(32, 32), (32, 32), (32, 32), (4, 4)]);
        assert_eq!(of(3, 1), [(1, 1); 3]);
        assert_eq!(of(5, 6), [(5, 6)]);
        for images in 1..70 {
            assert_eq!(passes(images, 24).map(|(count, _)| count).sum::<usize>(), images);
        }
    }
}
