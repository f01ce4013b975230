//! Preprocess: so many workers of a rayon pool, each in one long loop.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::pipeline::Stage;
use crate::pipeline::batches::NoSlot;
use crate::pipeline::failure::{ImageError, Reason};
use crate::pipeline::item::{Answer, Item, Loaded};
use crate::pipeline::knobs::{KnobId, MAX_THREADS, SCALED_DECODES};
use crate::pipeline::preprocess::{Filter, Options, Preprocessor};
use crate::pipeline::shared::Shared;
use crate::probe::clock::{self, Nanos};
use crate::probe::queue::Popped;
use crate::probe::state;

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
        let mut preprocessor = Preprocessor::new(shared.engine.input(), shared.max_pixels);
        loop {
            gate.pass(index);
            match shared.loaded.pop(|| gate.admits(index)) {
                Popped::Item(loaded) => one(shared, &mut preprocessor, loaded),
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

/// One image: header, slot, pixels.
fn one(shared: &Shared, preprocessor: &mut Preprocessor, loaded: Loaded) {
    let Loaded { mut item, bytes } = loaded;
    item.times.taken = clock::now();
    match fill(shared, preprocessor, &mut item, &bytes) {
        Some(Ok(service)) => shared.counters.stage(Stage::Preprocess).add(1, service),
        Some(Err(error)) => {
            let service = clock::now().saturating_sub(item.times.taken);
            shared.counters.stage(Stage::Preprocess).add(1, service);
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
    shared: &Shared,
    preprocessor: &mut Preprocessor,
    item: &mut Item,
    bytes: &[u8],
) -> Option<Result<Nanos, ImageError>> {
    let header = match preprocessor.header(bytes) {
        Ok(header) => header,
        Err(error) => return Some(Err(error)),
    };
    let looked = clock::now().saturating_sub(item.times.taken);
    let mut slot = match shared.batches.reserve() {
        Ok(slot) => slot,
        Err(NoSlot::Closed) => return None,
        Err(NoSlot::NoMemory { images }) => {
            let detail = format!("there is no memory for a batch of {images} images");
            return Some(Err(ImageError::new(Reason::Internal, detail)));
        }
    };
    let start = clock::now();
    let options = Options {
        filter: Filter::from_index(shared.knobs.choice(KnobId::PreprocessFilter)),
        scaled: SCALED_DECODES[shared.knobs.choice(KnobId::PreprocessScaledDecode)] == "on",
    };
    // An error drops the reservation, which gives the slot back to its batch.
    let done = if shared.pooled() {
        // Held for the whole image, so that what a shared lock does can be seen.
        shared.pool.lock().run(bytes, &header, options, slot.pixels())
    } else {
        preprocessor.run(bytes, &header, options, slot.pixels())
    };
    if let Err(error) = done {
        return Some(Err(error));
    }
    item.times.filled = clock::now();
    slot.fill(*item);
    Some(Ok(looked + item.times.filled.saturating_sub(start)))
}
