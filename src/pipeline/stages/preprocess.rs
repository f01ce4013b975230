//! Preprocess: so many workers of a rayon pool, each in one long loop.

mod python;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::pipeline::Stage;
use crate::pipeline::batches::{NoSlot, Reservation};
use crate::pipeline::failure::{ImageError, Reason};
use crate::pipeline::item::{Answer, Item, Loaded};
use crate::pipeline::knobs::{KnobId, LiveKnobs, MAX_THREADS, SCALED_DECODES, WORKS};
use crate::pipeline::pixels::PixelsMut;
use crate::pipeline::preprocess::{Filter, Header, Options, Preprocessor};
use crate::pipeline::shared::Shared;
use crate::probe::clock::{self, Nanos};
use crate::probe::queue::Popped;
use crate::probe::state;
use python::Thread;

/// Starts the pool: every worker that the knob allows, those above its value parked.
pub(in crate::pipeline) fn start(
    shared: &Arc<Shared>,
) -> Result<rayon::ThreadPool, rayon::ThreadPoolBuildError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(MAX_THREADS as usize)
        .thread_name(|index| format!("prep-{index}"))
        // Without a handler rayon would abort the process. Panics in an image are caught closer by.
        .panic_handler(|_| tracing::error!("a preprocess worker panicked"))
        .build()?;
    let shared = Arc::clone(shared);
    pool.spawn_broadcast(move |context| work(&shared, context.index()));
    Ok(pool)
}

/// One worker's life.
fn work(shared: &Shared, index: usize) {
    let gate = &shared.preprocess_gate;
    gate.pass(index);
    // One that was never needed does not appear in the list of threads.
    if !gate.is_open() {
        let _registered =
            shared.registry.register(&format!("prep-{index}"), Stage::Preprocess.name());
        let mut worker = Worker {
            preprocessor: Preprocessor::new(shared.engine.input(), shared.max_pixels),
            thread: Thread::new(&shared.gil),
        };
        loop {
            if !gate.admits(index) {
                worker.thread.pause();
                gate.pass(index);
            }
            match worker.next(shared, || gate.admits(index)) {
                Popped::Item(loaded) => worker.one(shared, loaded),
                Popped::Dismissed => {}
                Popped::Closed => break,
            }
        }
        // All images are taken: those who are parked may end too.
        gate.open();
    }
    if shared.preprocessing.fetch_sub(1, Ordering::AcqRel) == 1 {
        shared.batches.close();
    }
}

/// What a worker keeps from image to image.
struct Worker {
    preprocessor: Preprocessor,
    thread: Thread,
}

/// What is done with an image.
enum Task {
    /// Its pixels are brought into the slot.
    Image(Header, Options),
    /// The counted loop is run for so long, and the slot is left as it is: zeros or an earlier picture.
    Loop(Duration),
}

impl Worker {
    /// The next image, waiting for one while `stay` holds.
    fn next(&self, shared: &Shared, stay: impl Fn() -> bool) -> Popped<Loaded> {
        if self.thread.holds()
            && let Some(loaded) = shared.loaded.try_pop()
        {
            return Popped::Item(loaded);
        }
        self.thread.pause();
        shared.loaded.pop(stay)
    }

    /// One image: header, slot, pixels.
    fn one(&mut self, shared: &Shared, loaded: Loaded) {
        let Loaded { mut item, bytes } = loaded;
        item.times.taken = clock::now();
        self.thread.begin(&shared.knobs);
        match self.fill(shared, &mut item, &bytes) {
            Some(Ok(service)) => shared.counters.stage(Stage::Preprocess).add(1, service),
            Some(Err(error)) => {
                let service = clock::now().saturating_sub(item.times.taken);
                shared.counters.stage(Stage::Preprocess).add(1, service);
                self.thread.pause();
                // A closed queue means that the run was given up.
                let _ = shared.answers.push(Answer::Failed(item, error));
            }
            // Given up while it waited for a slot.
            None => return,
        }
        state::add_items(1);
        shared.buffers.give(bytes);
    }

    /// Fills a batch slot with the image; returns the time it took, without the wait for the slot.
    fn fill(
        &mut self,
        shared: &Shared,
        item: &mut Item,
        bytes: &[u8],
    ) -> Option<Result<Nanos, ImageError>> {
        let task = match self.task(&shared.knobs, bytes) {
            Ok(task) => task,
            Err(error) => return Some(Err(error)),
        };
        // Buffers that are shared are kept to the end, so that their slot comes first.
        let pooled = shared.pooled() && matches!(task, Task::Image(..));
        let slot_last = self.thread.holds() && !pooled;
        if slot_last && let Err(error) = self.prepare(&task, bytes) {
            return Some(Err(error));
        }
        let asked = clock::now();
        let mut slot = match self.reserve(shared) {
            Ok(slot) => slot,
            Err(NoSlot::Closed) => return None,
            Err(NoSlot::NoMemory { images }) => {
                let detail = format!("there is no memory for a batch of {images} images");
                return Some(Err(ImageError::new(Reason::Internal, detail)));
            }
        };
        let waited = clock::now().saturating_sub(asked);
        // An error drops the reservation, which gives the slot back to its batch.
        let done = match &task {
            Task::Image(header, _) if slot_last => {
                self.preprocessor.normalise(header, slot.pixels());
                Ok(())
            }
            Task::Loop(_) if slot_last => Ok(()),
            Task::Loop(_) => self.prepare(&task, bytes),
            Task::Image(header, options) => {
                self.work(shared, pooled, (bytes, header, *options), slot.pixels())
            }
        };
        if let Err(error) = done {
            return Some(Err(error));
        }
        item.looped = matches!(task, Task::Loop(_));
        item.times.filled = clock::now();
        slot.fill(*item);
        Some(Ok(item.times.filled.saturating_sub(item.times.taken + waited)))
    }

    /// What is to be done. In a loop's place nothing of the image is looked at.
    fn task(&self, knobs: &LiveKnobs, bytes: &[u8]) -> Result<Task, ImageError> {
        if WORKS[knobs.choice(KnobId::PreprocessWork)] == "loop" {
            let rate = knobs.number(KnobId::PreprocessLoopRate);
            return Ok(Task::Loop(Duration::from_secs_f64(1.0 / rate)));
        }
        let header = self.preprocessor.header(bytes)?;
        let options = Options {
            filter: Filter::from_index(knobs.choice(KnobId::PreprocessFilter)),
            scaled: SCALED_DECODES[knobs.choice(KnobId::PreprocessScaledDecode)] == "on",
        };
        Ok(Task::Image(header, options))
    }

    fn reserve<'a>(&self, shared: &'a Shared) -> Result<Reservation<'a>, NoSlot> {
        if !self.thread.holds() {
            return shared.batches.reserve();
        }
        if let Some(slot) = shared.batches.try_reserve()? {
            return Ok(slot);
        }
        self.thread.pause();
        let slot = shared.batches.reserve();
        self.thread.resume();
        slot
    }

    /// All work that needs no slot.
    fn prepare(&mut self, task: &Task, bytes: &[u8]) -> Result<(), ImageError> {
        let Self { preprocessor, thread } = self;
        thread.call(|| match task {
            Task::Loop(time) => {
                thread.count(*time);
                Ok(())
            }
            Task::Image(header, options) => {
                preprocessor.decode(bytes, header, *options)?;
                preprocessor.resize(header, *options)
            }
        })
    }

    /// All work on an image, right into its slot.
    fn work(
        &mut self,
        shared: &Shared,
        pooled: bool,
        (bytes, header, options): (&[u8], &Header, Options),
        out: PixelsMut<'_>,
    ) -> Result<(), ImageError> {
        let Self { preprocessor, thread } = self;
        if pooled {
            // Who holds the buffers may have dropped the GIL half way: not to wait for them with it.
            thread.pause();
            // Held for the whole image, so that what a shared lock does can be seen.
            let mut pool = shared.pool.lock();
            thread.resume();
            return thread.call(|| pool.run(bytes, header, options, out));
        }
        thread.call(|| preprocessor.run(bytes, header, options, out))
    }
}
