//! Infer: so many workers, each with one batch in flight.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::pipeline::Stage;
use crate::pipeline::batches::Batch;
use crate::pipeline::failure::{ImageError, Reason};
use crate::pipeline::infer::{EngineError, Output, Pixels};
use crate::pipeline::item::{Answer, Inferred};
use crate::pipeline::shared::Shared;
use crate::probe::clock;
use crate::probe::queue::Popped;
use crate::probe::state::{self, Wait};

/// Starts worker `index`, on a thread of the engine's choice.
pub(in crate::pipeline) fn start(shared: &Arc<Shared>, index: usize) -> std::io::Result<()> {
    shared.inferring.fetch_add(1, Ordering::AcqRel);
    let worker = Arc::clone(shared);
    let started = shared
        .engine
        .spawn_worker(format!("infer-{index}"), Box::new(move || work(&worker, index)));
    if started.is_err() {
        shared.inferring.fetch_sub(1, Ordering::AcqRel);
    }
    started
}

/// One worker's life.
fn work(shared: &Shared, index: usize) {
    let gate = &shared.infer_gate;
    {
        let _registered = shared.registry.register(&format!("infer-{index}"), Stage::Infer.name());
        loop {
            gate.pass(index);
            match shared.batches.pop(|| gate.admits(index)) {
                Popped::Item(batch) => one(shared, batch),
                Popped::Dismissed => {}
                Popped::Closed => break,
            }
        }
        gate.open();
    }
    if shared.inferring.fetch_sub(1, Ordering::AcqRel) == 1 {
        shared.results.close();
    }
}

/// One batch: submit, wait, hand over.
fn one(shared: &Shared, batch: Batch) {
    let Batch { pixels, mut items, replayed, .. } = batch;
    let start = clock::now();
    if replayed {
        shared.renumber(&mut items, start);
    }
    let outcome = through_engine(shared, Arc::clone(&pixels) as Pixels, items.len());
    let end = clock::now();
    shared.batches.recycle(pixels);
    for item in &mut items {
        item.times.submitted = start;
        item.times.inferred = end;
    }
    shared.counters.stage(Stage::Infer).add(items.len() as u64, end.saturating_sub(start));
    state::add_items(items.len() as u64);
    // A closed queue means that the run was given up.
    match outcome {
        Ok(output) => {
            let _ = shared.results.push(Inferred { items, output });
        }
        Err(error) => {
            for item in items {
                let error = ImageError::new(Reason::Engine, error.0.clone());
                let _ = shared.answers.push(Answer::Failed(item, error));
            }
        }
    }
}

fn through_engine(shared: &Shared, pixels: Pixels, images: usize) -> Result<Output, EngineError> {
    let run = || {
        let device = shared.engine.info().device;
        let ticket = shared.engine.submit(pixels, images)?;
        if device { state::waiting(Wait::Gpu, || ticket.wait()) } else { ticket.wait() }
    };
    std::panic::catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(EngineError("the engine panicked on this batch".to_owned())))
}
