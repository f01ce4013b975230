//! Which stage limits the throughput: the one where the queues fall from nearly full to nearly empty.

use serde::Serialize;

use super::snapshot::{Group, Phase, Wait};
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

/// From this share of their time on, waits for locks are what holds a stage's threads up.
const MUCH: f64 = 0.2;
/// From this share of all waiting on, a lock is the one that is waited for.
const NEARLY_ALL: f64 = 0.8;

/// What a stage's threads wait for at locks.
#[derive(Clone, Debug, PartialEq)]
pub struct LockWait {
    /// Mean share of their time that they wait for locks.
    pub share: f64,
    /// Which lock that is for, where it can be told.
    pub lock: Option<String>,
}

/// The lock that a stage is held up by, where its threads spend much of their time at one.
pub fn locked(window: &Window<'_>, stage: Stage) -> Option<LockWait> {
    let share = window.mean_share(stage, |shares| shares.wait(Wait::Lock))?;
    (share >= MUCH).then(|| LockWait { share, lock: lock_of(window, stage) })
}

/// The lock that a stage's threads wait for: the one that most of them wait for now, or else the one
/// that nearly all waiting in the window was for.
fn lock_of(window: &Window<'_>, stage: Stage) -> Option<String> {
    let locks = &window.to().locks;
    let waiting = |name: &str| {
        let ours = window.to().threads.iter().filter(|t| t.group == Group::Stage(stage));
        ours.filter(|thread| thread.lock.as_deref() == Some(name)).count()
    };
    let most = locks.iter().map(|lock| (waiting(&lock.name), lock)).max_by_key(|&(n, _)| n);
    if let Some((_, lock)) = most.filter(|&(n, _)| n > 0) {
        return Some(lock.name.clone());
    }
    let waits = locks.iter().filter_map(|lock| Some((window.lock(lock)?.wait, lock)));
    let all: f64 = waits.clone().map(|(wait, _)| wait).sum();
    let (wait, lock) = waits.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (wait >= NEARLY_ALL * all && all > 0.0).then(|| lock.name.clone())
}
