//! Which stage limits the throughput: the one where the queues fall from nearly full to nearly empty.

use serde::Serialize;

use super::snapshot::{Phase, Wait};
use super::window::Window;
use crate::pipeline::Stage;

/// What limits the throughput in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Too little was measured to say.
    Measuring,
    /// This stage: what waits before it waits for it, and what comes after it waits too.
    Stage(Stage),
    /// None: the pipeline keeps up with a set arrival rate.
    Input,
}

/// The least time from which a limit is named: five samples at the default rate.
const LEAST_SECONDS: f64 = 0.45;
/// A queue from which something can be taken for this share of the time is "nearly full" to its
/// consumer: the consumer, not the producer, sets the pace.
const MOSTLY: f64 = 0.5;

/// Names the stage that limits, by walking the queues from the sink to the source: the consumer of
/// the last queue that nearly always has something ready is the one that everything waits for.
pub fn limit(window: &Window<'_>) -> Limit {
    // Without probes nothing is known of the queues.
    let quiet = window.to().phase == Phase::Starting || window.to().queues.is_empty();
    let moved = window.to().stages.iter().any(|stage| {
        window.from().stage(stage.stage).is_some_and(|before| stage.done > before.done)
    });
    if quiet || !moved || window.seconds() < LEAST_SECONDS {
        return Limit::Measuring;
    }
    let consumers = [
        ("answers", Stage::Respond),
        ("results", Stage::Decode),
        ("batches", Stage::Infer),
        ("loaded", Stage::Preprocess),
    ];
    for (queue, consumer) in consumers {
        if window.queue_ready(queue).is_some_and(|share| share >= MOSTLY) {
            return Limit::Stage(consumer);
        }
    }
    if window.to().items.behind.is_some() && lanes_wait_for_arrivals(window) {
        return Limit::Input;
    }
    Limit::Stage(Stage::Load)
}

/// Whether some read slot was free for most of the time, waiting for the next image to arrive.
fn lanes_wait_for_arrivals(window: &Window<'_>) -> bool {
    let starved = |lane| window.lane(lane)[Wait::Starved as usize];
    window.to().lanes.iter().map(starved).fold(0.0, f64::max) >= MOSTLY
}
