//! A graph made ready for this machine, and one batch going through it.
//!
//! A batch is done by a team of one thread or more, in one of two ways:
//!
//! - **Apart**, where there are as many images as threads: each thread takes a few images at a time through all steps, so that
//!   what lies between the steps stays in its caches and no thread waits for another before the end.
//! - **Together**, where there are fewer: all threads go through the steps in the same order, each step's tasks are taken from a
//!   counter, and no one begins a step before the last task of the one before is done. They wait for each other for
//!   microseconds, so they spin there; between batches they sleep. A thread that gets no CPU holds up only the task that it has.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::buffer::Buffer;
use super::intake::Intake;
use super::product::part;
use super::simd::Isa;
use super::steps::{self, Memory, Place, Step};
use crate::pipeline::infer::Pixels;
use crate::pipeline::infer::graph::Graph;

/// Steps with packed weights.
pub(super) struct Network {
    steps: Vec<Box<dyn Step>>,
    input: Place,
    output: Place,
    /// Values of the arena an image.
    arena: usize,
    side: usize,
    intake: Intake,
    pub(super) classes: usize,
}

/// Memory for a batch, used again for the next.
pub(super) struct Workspace {
    lanes: Vec<Lane>,
}

/// Memory of one thread of a team.
struct Lane {
    arena: Buffer,
    scratch: Buffer,
}

impl Network {
    /// Packs the weights of a graph.
    pub(super) fn new(isa: &'static Isa, graph: &Graph, intake: Intake) -> Self {
        Self {
            steps: graph.nodes.iter().map(|node| steps::step(isa, graph, node)).collect(),
            input: Place::of(graph, graph.input),
            output: Place::of(graph, graph.output),
            arena: graph.plan.size,
            side: graph.side,
            intake,
            classes: graph.classes,
        }
    }

    /// Memory for a batch; `old` is used again where it is large enough.
    fn workspace(&self, way: Way, threads: usize, old: Option<Workspace>) -> Workspace {
        let (images, sharing) = match way {
            Way::Apart { images } => (images, 1),
            Way::Together { images } => (images, threads),
        };
        let scratch =
            self.steps.iter().map(|step| step.scratch(images, sharing)).max().unwrap_or(0);
        let mut workspace = old.unwrap_or_else(|| Workspace { lanes: Vec::new() });
        for lane in 0..threads {
            // Together, all work in the arena of the first.
            let arena = if lane == 0 || sharing == 1 { self.arena * images } else { 0 };
            if workspace.lanes.len() == lane {
                workspace.lanes.push(Lane { arena: Buffer::new(0), scratch: Buffer::new(0) });
            }
            let lane = &mut workspace.lanes[lane];
            if lane.arena.len() < arena {
                lane.arena = Buffer::new(arena);
            }
            if lane.scratch.len() < scratch {
                lane.scratch = Buffer::new(scratch);
            }
        }
        workspace
    }
}

/// How a team shares a batch; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// So many images at a time each.
    Apart { images: usize },
    /// All of them at once.
    Together { images: usize },
}

/// Images that a thread takes through all steps at a time: more would drive each other's values out of its caches.
const AT_A_TIME: usize = 1;

/// One batch on its way.
pub(super) struct Batch {
    network: Arc<Network>,
    pixels: Pixels,
    images: usize,
    threads: usize,
    way: Way,
    workspace: Workspace,
    /// Apart, the next images; together, the next task of each step, of which the first is the input's.
    next: Vec<AtomicUsize>,
    /// Together: how many tasks of each step are done.
    done: Vec<AtomicUsize>,
    /// Whether a thread broke off, so that others do not wait for it.
    broken: AtomicBool,
    logits: Mutex<Logits>,
    finished: Condvar,
    /// Where the memory goes in the end.
    home: Arc<Idle>,
}

/// Memory that no batch uses at the moment: as much as there were batches at once.
pub(super) type Idle = Mutex<Vec<Workspace>>;

/// What came out so far.
struct Logits {
    values: Vec<f32>,
    /// Images that are done.
    images: usize,
}

/// Tells the others where a thread breaks off.
struct Alarm<'a>(&'a Batch);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
            self.0.finished.notify_all();
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let workspace = Workspace { lanes: std::mem::take(&mut self.workspace.lanes) };
        locked(&self.home).push(workspace);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Batch {
    /// A batch for `threads` threads, each of which has to call [`Self::take_part`] once.
    pub(super) fn new(
        network: &Arc<Network>,
        pixels: Pixels,
        images: usize,
        threads: usize,
        home: &Arc<Idle>,
    ) -> Self {
        let old = locked(home).pop();
        let way = if images >= threads {
            Way::Apart { images: AT_A_TIME.min(images) }
        } else {
            Way::Together { images }
        };
        Self {
            workspace: network.workspace(way, threads, old),
            next: (0..=network.steps.len()).map(|_| AtomicUsize::new(0)).collect(),
            done: (0..=network.steps.len()).map(|_| AtomicUsize::new(0)).collect(),
            network: Arc::clone(network),
            pixels,
            images,
            threads,
            way,
            broken: AtomicBool::new(false),
            logits: Mutex::new(Logits { values: vec![0.0; images * network.classes], images: 0 }),
            finished: Condvar::new(),
            home: Arc::clone(home),
        }
    }

    /// Works on the batch as thread `member` of its team until there is nothing left to begin.
    pub(super) fn take_part(&self, member: usize) {
        self.go(member, |_, _| {});
    }

    /// As [`Self::take_part`]; `after` learns how long each step took, the input's first.
    pub(super) fn go(&self, member: usize, mut after: impl FnMut(usize, Duration)) {
        let _alarm = Alarm(self);
        let lane = &self.workspace.lanes[member];
        match self.way {
            Way::Together { images } => {
                let arena = self.workspace.lanes[0].arena.start();
                let memory = Memory { arena, images, threads: self.threads };
                let whole = self.pass(&memory, 0, lane.scratch.start(), &mut after);
                if whole && member == 0 {
                    self.give(&memory, 0);
                }
            }
            Way::Apart { images: most } => loop {
                let first = self.next[0].fetch_add(most, Ordering::Relaxed);
                if first >= self.images {
                    break;
                }
                let images = most.min(self.images - first);
                let memory = Memory { arena: lane.arena.start(), images, threads: 1 };
                self.pass(&memory, first, lane.scratch.start(), &mut after);
                self.give(&memory, first);
            },
        }
    }

    /// All steps, for the images of `memory`, which begin with the batch's image `first`. False if another thread broke off.
    fn pass(
        &self,
        memory: &Memory,
        first: usize,
        scratch: *mut f32,
        after: &mut impl FnMut(usize, Duration),
    ) -> bool {
        let network = &*self.network;
        let shares = if memory.threads == 1 { 1 } else { 4 };
        let mut start = Instant::now();
        for at in 0..=network.steps.len() {
            let step = at.checked_sub(1).map(|at| &network.steps[at]);
            let tasks = step
                .map_or(memory.images * shares, |step| step.tasks(memory.images, memory.threads));
            let run = |task: usize| match step {
                // SAFETY: the arena is the plan's; steps are done in order, each task by one thread; every thread has a
                // scratch buffer of its own, large enough for all steps.
                Some(step) => unsafe { step.run(memory, task, scratch) },
                None => self.take_in(memory, first, task, shares),
            };
            if memory.threads == 1 {
                (0..tasks).for_each(run);
            } else {
                self.share(at, tasks, run);
                if !self.wait_for(at, tasks) {
                    return false;
                }
            }
            let now = Instant::now();
            after(at, now - start);
            start = now;
        }
        true
    }

    /// Part of the input: share `task % shares` of image `task / shares`.
    fn take_in(&self, memory: &Memory, first: usize, task: usize, shares: usize) {
        let side = self.network.side;
        let (image, rows) = (task / shares, part(side, shares, task % shares));
        let values = (image * side + rows.start) * side * 3..(image * side + rows.end) * side * 3;
        // SAFETY: each task writes rows of its own.
        let out = unsafe { memory.write(self.network.input, values) };
        self.network.intake.rows(self.pixels.view(), side, (first + image, rows), out);
    }

    /// Puts the logits of the images of `memory` in their place.
    fn give(&self, memory: &Memory, first: usize) {
        // SAFETY: all steps are done.
        let values = unsafe { memory.read(self.network.output) };
        let mut logits = locked(&self.logits);
        logits.values[first * self.network.classes..][..values.len()].copy_from_slice(values);
        logits.images += memory.images;
        if logits.images == self.images {
            self.finished.notify_all();
        }
    }

    /// Does tasks of a step until none is left to take.
    fn share(&self, at: usize, tasks: usize, run: impl Fn(usize)) {
        loop {
            let task = self.next[at].fetch_add(1, Ordering::Relaxed);
            if task >= tasks {
                return;
            }
            run(task);
            self.done[at].fetch_add(1, Ordering::Release);
        }
    }

    /// Waits until all tasks of a step are done; false if a thread broke off.
    fn wait_for(&self, at: usize, tasks: usize) -> bool {
        let mut spins = 0_u32;
        while self.done[at].load(Ordering::Acquire) < tasks {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            spins += 1;
            if spins < 4000 {
                std::hint::spin_loop();
            } else {
                // The other may want this very CPU.
                std::thread::yield_now();
            }
        }
        true
    }

    /// Waits until all images are done. Their logits come back, one image after another; `None` if a thread broke off.
    pub(super) fn finish(&self) -> Option<Vec<f32>> {
        let mut logits = locked(&self.logits);
        while logits.images < self.images {
            if self.broken.load(Ordering::Acquire) {
                return None;
            }
            // Not for ever: a thread may break off between the look and the wait.
            let waited = self.finished.wait_timeout(logits, Duration::from_millis(100));
            logits = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(std::mem::take(&mut logits.values))
    }
}
