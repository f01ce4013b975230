//! Load: so many lanes, each an async task with one read in flight.

use std::cell::RefCell;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

use crate::pipeline::Stage;
use crate::pipeline::failure::{ImageError, Reason};
use crate::pipeline::item::{Answer, Bytes, Item, Loaded};
use crate::pipeline::knobs::KnobId;
use crate::pipeline::shared::Shared;
use crate::pipeline::source::{Entry, MAX_BYTES, read_file};
use crate::probe::clock::{self, Nanos};
use crate::probe::registry::{Lane, RUNTIME, Registered, Registry};
use crate::probe::state::{self, Wait};

thread_local! {
    static RUNTIME_THREAD: RefCell<Option<Registered>> = const { RefCell::new(None) };
}

/// The runtime beneath the lanes: `workers` threads that drive the tasks, and blocking threads for
/// the reads. All are registered as they start.
pub(in crate::pipeline) fn runtime(
    registry: &Arc<Registry>,
    workers: usize,
) -> std::io::Result<Runtime> {
    let registry = Arc::clone(registry);
    let started = AtomicUsize::new(0);
    Builder::new_multi_thread()
        .worker_threads(workers)
        .max_blocking_threads(256)
        .thread_name("load-io")
        .enable_time()
        .on_thread_start(move || {
            let name = format!("load-io-{}", started.fetch_add(1, Ordering::Relaxed));
            let registered = registry.register(&name, RUNTIME);
            // A blocking thread waits for reads unless it says otherwise; a worker is unparked at once.
            state::set(Some(Wait::Starved));
            RUNTIME_THREAD.set(Some(registered));
        })
        .on_thread_stop(|| drop(RUNTIME_THREAD.take()))
        .on_thread_park(|| state::set(Some(Wait::Starved)))
        .on_thread_unpark(|| state::set(None))
        .build()
}

/// One lane's life.
pub(in crate::pipeline) async fn lane(shared: Arc<Shared>, index: usize) {
    let lane = shared.registry.add_lane(format!("lane-{index}"));
    loop {
        wait_for_admission(&shared, &lane, index).await;
        let intended = match arrival(&shared, &lane, index).await {
            Arrival::Now(intended) => intended,
            // Nothing more arrives: the ticket below is refused.
            Arrival::Changed if shared.stopping.load(Ordering::SeqCst) => None,
            Arrival::Changed => continue,
        };
        let Some(mut item) = shared.begin_read(intended) else { break };
        let outcome = delay_and_read(&shared, &lane, item).await;
        lane.cell.enter(None, clock::now());
        item.times.loaded = clock::now();
        let counters = shared.counters.stage(Stage::Load);
        counters.add(1, item.times.loaded.saturating_sub(item.times.read));
        lane.cell.add_items(1);
        let on_wait = || lane.cell.enter(Some(Wait::Backpressured), clock::now());
        // A closed queue means that the run was given up: the image counts as abandoned.
        match outcome {
            Ok(bytes) => {
                shared.counters.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                let _ = shared.loaded.push_async(Loaded { item, bytes }, on_wait).await;
            }
            Err(error) => {
                let _ = shared.answers.push_async(Answer::Failed(item, error), on_wait).await;
            }
        }
        lane.cell.enter(None, clock::now());
        shared.end_read();
        // From memory nothing above ever waits: the other tasks of this thread want their turn.
        tokio::task::yield_now().await;
    }
    // The input is at its end: no more comes.
    lane.cell.enter(Some(Wait::Starved), clock::now());
}

/// Parks the lane while it is one too many, or ready batches are taken again.
async fn wait_for_admission(shared: &Shared, lane: &Lane, index: usize) {
    let over = || shared.stopping.load(Ordering::SeqCst);
    while !shared.lane_admitted(index) && !over() {
        lane.cell.enter(Some(Wait::Parked), clock::now());
        changed_or(shared, Duration::from_millis(50), || shared.lane_admitted(index) || over())
            .await;
    }
    lane.cell.enter(None, clock::now());
}

/// Waits for a change of the knobs, at most for `longest`; returns at once where `look` already holds.
async fn changed_or(shared: &Shared, longest: Duration, look: impl Fn() -> bool) {
    let changed = shared.load_changed.notified();
    tokio::pin!(changed);
    // Listed before the look: a change in between is not missed.
    changed.as_mut().enable();
    if !look() {
        let _ = tokio::time::timeout(longest, changed).await;
    }
}

/// Whether a lane may begin to read.
enum Arrival {
    /// Yes; with the intended arrival where a rate is set.
    Now(Option<Nanos>),
    /// The knobs changed: look again.
    Changed,
}

/// Waits for the next intended arrival, where a rate is set.
async fn arrival(shared: &Shared, lane: &Lane, index: usize) -> Arrival {
    let Some(claim) = shared.arrivals.lock().claim() else { return Arrival::Now(None) };
    loop {
        let left = claim.due.saturating_sub(clock::now());
        if left == 0 {
            return Arrival::Now(Some(claim.due));
        }
        lane.cell.enter(Some(Wait::Starved), clock::now());
        let gone = || {
            !shared.arrivals.lock().stands(claim)
                || !shared.lane_admitted(index)
                || shared.stopping.load(Ordering::SeqCst)
        };
        changed_or(shared, Duration::from_nanos(left), gone).await;
        lane.cell.enter(None, clock::now());
        if gone() {
            return Arrival::Changed;
        }
    }
}

/// The emulated delay, then the read.
async fn delay_and_read(
    shared: &Arc<Shared>,
    lane: &Lane,
    item: Item,
) -> Result<Bytes, ImageError> {
    emulated_delay(shared, lane, item.times.read).await;
    let input = item.input;
    let path = match shared.source.entry(input) {
        Entry::Memory(bytes) => return Ok(Bytes::Shared(Arc::clone(bytes))),
        Entry::File(path) => path,
    };
    let cached = shared.cache_mode() != "none";
    if cached && let Some(bytes) = shared.cache.get(input) {
        return Ok(Bytes::Shared(bytes));
    }
    lane.cell.enter(Some(Wait::Io), clock::now());
    let (path, mut buffer) = (path.to_owned(), shared.buffers.take());
    let buffer = blocking(move || {
        state::waiting(Wait::Io, || read_file(&path, &mut buffer, MAX_BYTES)).map(|()| buffer)
    })
    .await?;
    if cached {
        shared.cache.keep(input, &buffer);
    }
    Ok(Bytes::Owned(buffer))
}

/// Runs a read on a thread that may block.
fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, ImageError> + Send + 'static,
) -> impl Future<Output = Result<T, ImageError>> {
    let task = tokio::task::spawn_blocking(read);
    async {
        task.await.unwrap_or_else(|error| {
            Err(ImageError::new(Reason::Internal, format!("the read did not end: {error}")))
        })
    }
}

/// Holds the read up for `load.delay`, whatever its value becomes meanwhile.
async fn emulated_delay(shared: &Shared, lane: &Lane, start: Nanos) {
    loop {
        let delay = shared.knobs.millis(KnobId::LoadDelay);
        let passed = Duration::from_nanos(clock::now().saturating_sub(start));
        let left = delay.saturating_sub(passed);
        let stopping = || shared.stopping.load(Ordering::SeqCst);
        if left.is_zero() || stopping() {
            return;
        }
        lane.cell.enter(Some(Wait::Delay), clock::now());
        let look = || shared.knobs.millis(KnobId::LoadDelay) != delay || stopping();
        changed_or(shared, left, look).await;
    }
}
