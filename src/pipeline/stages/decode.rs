//! Decode: one thread turns logits into the best classes.

use crate::pipeline::Stage;
use crate::pipeline::decode::top_k_into;
use crate::pipeline::failure::{ImageError, Reason};
use crate::pipeline::infer::Output;
use crate::pipeline::item::{Answer, Inferred, Predicted};
use crate::pipeline::shared::Shared;
use crate::probe::clock;
use crate::probe::queue::Popped;
use crate::probe::state;

/// Classes kept of each image.
const TOP: usize = 5;

/// The thread's life.
pub(in crate::pipeline) fn work(shared: &Shared) {
    {
        let _registered = shared.registry.register("decode-0", Stage::Decode.name());
        while let Popped::Item(batch) = shared.results.pop(|| true) {
            one(shared, batch);
        }
    }
    // Preprocess and load have ended before: nobody else hands answers over any more.
    shared.answers.close();
}

/// One batch.
fn one(shared: &Shared, batch: Inferred) {
    let classes = shared.engine.info().classes;
    let probabilities = shared.engine.outputs_probabilities();
    let images = batch.items.len();
    let mut predicted = Vec::with_capacity(images);
    for (index, item) in batch.items.into_iter().enumerate() {
        let start = clock::now();
        let mut top = Vec::new();
        let predicts = matches!(batch.output, Output::Logits(_)) && !item.looped;
        if let (Output::Logits(logits), true) = (&batch.output, predicts) {
            let logits = logits.chunks_exact(classes.max(1)).nth(index).unwrap_or_default();
            top.reserve_exact(TOP);
            top_k_into(logits, TOP, probabilities, &mut top);
        }
        let decode = clock::now().saturating_sub(start);
        shared.counters.stage(Stage::Decode).add(1, decode);
        // A closed queue means that the run was given up.
        if top.is_empty() && predicts {
            let error = ImageError::new(Reason::Engine, "the model gave no class a score");
            let _ = shared.answers.push(Answer::Failed(item, error));
        } else {
            predicted.push(Predicted { item, top, decode });
        }
    }
    state::add_items(images as u64);
    if !predicted.is_empty() {
        let _ = shared.answers.push(Answer::Predicted(predicted));
    }
}
