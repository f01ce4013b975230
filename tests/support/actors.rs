//! Threads of known behaviour, measured as a pipeline's threads are: registered, sampled by an
//! assembler, read through a window. What the kernel accounted is read from outside beside it.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pipetop::pipeline::control::{Parts, Pipeline};
use pipetop::pipeline::infer::choice::parse_engine;
use pipetop::pipeline::infer::model::{ModelOptions, build_engine};
use pipetop::pipeline::knobs::KnobValues;
use pipetop::pipeline::source::Source;
use pipetop::probe::clock::{self, Nanos};
use pipetop::probe::os;
use pipetop::probe::registry::Registry;
use pipetop::profile::sampler::{Assembler, run_info};
use pipetop::profile::snapshot::{Snapshot, Wait};
use pipetop::profile::window::{Shares, Window};

/// A finished pipeline whose registry and assembler measure the test's own threads.
pub(crate) struct Bench {
    pub(crate) registry: Arc<Registry>,
    pipeline: Arc<Pipeline>,
    assembler: Assembler,
}

/// An actor's side of a measurement.
pub(crate) struct Stage<'a> {
    stop: &'a AtomicBool,
    last_seen: Cell<Nanos>,
    gap: Cell<Nanos>,
}

impl Stage<'_> {
    /// Whether to end. Asked all the time by an actor that works: the longest time between two
    /// questions is the longest that it was off the CPU.
    pub(crate) fn goes_on(&self) -> bool {
        let now = clock::now();
        let last = self.last_seen.replace(now);
        if last > 0 {
            self.gap.set(self.gap.get().max(now - last));
        }
        !self.stop.load(Ordering::Relaxed)
    }

    /// Says that the time since the last question was a wait.
    pub(crate) fn waited(&self) {
        self.last_seen.set(0);
    }

    /// Works until that much CPU time has been used.
    pub(crate) fn work(&self, cpu: Duration) {
        let until = os::own_cpu().unwrap() + cpu.as_nanos() as Nanos;
        while os::own_cpu().unwrap() < until && self.goes_on() {
            black_box((0..200u64).sum::<u64>());
        }
    }

    /// Sleeps until the end.
    pub(crate) fn sleep_out(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_secs(5));
        }
    }
}

type Body<'a> = Box<dyn FnOnce(&Stage<'_>) + Send + 'a>;

/// A thread of known behaviour.
pub(crate) struct Actor<'a> {
    name: &'static str,
    body: Body<'a>,
}

/// An actor of that name.
pub(crate) fn actor<'a>(
    name: &'static str,
    body: impl FnOnce(&Stage<'_>) + Send + 'a,
) -> Actor<'a> {
    Actor { name, body: Box::new(body) }
}

/// What was measured of an actor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) shares: Shares,
    /// Length of the window.
    pub(crate) window: Nanos,
    /// Its bounds on the line of [`clock::now`].
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
    /// CPU and run-queue time that the kernel booked in the window, as shares: at least and at most.
    pub(crate) cpu: (f64, f64),
    pub(crate) run_queue: (f64, f64),
    /// The longest time off the CPU outside of waits, as a share: so much may be booked late.
    pub(crate) gap: f64,
}

impl Measured {
    pub(crate) fn wait(&self, wait: Wait) -> f64 {
        self.shares.wait(wait)
    }

    /// What holds of every thread in any state: the shares are the kernel's own figures, and they add up.
    pub(crate) fn check(&self, name: &str) {
        let Shares { running, runnable, overlap, .. } = self.shares;
        assert!((self.shares.sum() - 1.0).abs() < 1e-9, "{name}: {self:?}");
        assert!(running >= self.cpu.0 - 0.005 && running <= self.cpu.1 + 0.005, "{name}: {self:?}");
        // The kernel books a wait in the run queue when it ends: the window may get one from before.
        let late = 0.01 + self.gap;
        assert!(runnable >= self.run_queue.0 - late, "{name}: {self:?}");
        assert!(runnable <= self.run_queue.1 + late, "{name}: {self:?}");
        // What declared waits are too long by is the time from the wake-up to the CPU.
        assert!(overlap <= self.run_queue.1 + 0.01, "{name}: {self:?}");
    }
}

struct Kernel {
    cpu: Nanos,
    run_queue: Nanos,
}

fn kernel(tid: i32) -> Kernel {
    // The clock first: it brings the account up to date.
    let cpu = os::thread_cpu(tid).unwrap();
    Kernel { cpu, run_queue: os::SchedStat::open(tid).unwrap().run_queue().unwrap() }
}

impl Bench {
    pub(crate) fn new() -> Self {
        let choice = parse_engine("null").unwrap();
        let parts = Parts {
            source: Source::synthetic(3, 1).unwrap(),
            engine: build_engine(&choice, &ModelOptions::default()).unwrap(),
            knobs: KnobValues::defaults(1),
            once: true,
            max_pixels: 1 << 24,
            output: None,
            cache_bytes: 1 << 20,
            batch_bytes: 4 << 30,
        };
        let registry = Arc::new(Registry::default());
        let pipeline = Arc::new(Pipeline::start(parts, &registry).unwrap());
        assert!(pipeline.wait(Duration::from_secs(30)), "one image takes no half minute");
        let info = run_info(&pipeline, true, None, 10.0);
        let assembler = Assembler::new(Arc::clone(&pipeline), info);
        Self { registry, pipeline, assembler }
    }

    /// Lets the actors play beside so many rivals that spin, and measures them for `length`. `end` runs
    /// when the window is over, to let go of what actors wait for.
    pub(crate) fn measure(
        &mut self,
        rivals: usize,
        length: Duration,
        actors: Vec<Actor<'_>>,
        end: impl FnOnce(),
    ) -> Vec<Measured> {
        let (stop, ready) = (AtomicBool::new(false), AtomicUsize::new(0));
        let count = actors.len();
        let names: Vec<_> = actors.iter().map(|actor| actor.name).collect();
        let told = Mutex::new(vec![(0, 0); count]);
        let registry = Arc::clone(&self.registry);
        let (from, to, outer) = std::thread::scope(|scope| {
            let handles: Vec<_> = actors
                .into_iter()
                .enumerate()
                .map(|(index, actor)| {
                    let (registry, stop, ready, told) = (&registry, &stop, &ready, &told);
                    scope.spawn(move || {
                        let registered = registry.register(actor.name, "truth");
                        told.lock().unwrap()[index].0 = registered.tid;
                        let stage = Stage { stop, last_seen: Cell::new(0), gap: Cell::new(0) };
                        ready.fetch_add(1, Ordering::Release);
                        (actor.body)(&stage);
                        told.lock().unwrap()[index].1 = stage.gap.get();
                    })
                })
                .collect();
            for _ in 0..rivals {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            while ready.load(Ordering::Acquire) < count {
                std::thread::sleep(Duration::from_millis(1));
            }
            // What comes before an actor's first wait is not in the window.
            std::thread::sleep(Duration::from_millis(40));
            let tids: Vec<i32> = told.lock().unwrap().iter().map(|told| told.0).collect();
            let outside = || tids.iter().map(|&tid| kernel(tid)).collect::<Vec<_>>();
            let before_from = outside();
            let from = self.assembler.snapshot();
            let after_from = outside();
            std::thread::sleep(length);
            let before_to = outside();
            let to = self.assembler.snapshot();
            let after_to = outside();
            stop.store(true, Ordering::Relaxed);
            end();
            handles.iter().for_each(|handle| handle.thread().unpark());
            (from, to, [before_from, after_from, before_to, after_to])
        });
        let start = self.pipeline.started();
        let gaps: Vec<Nanos> = told.lock().unwrap().iter().map(|told| told.1).collect();
        let measured = names.iter().enumerate().map(|(index, name)| {
            let (window, shares) = shares_of(&from, &to, name);
            let share =
                |later: Nanos, earlier: Nanos| later.saturating_sub(earlier) as f64 / window as f64;
            let [before_from, after_from, before_to, after_to] = &outer;
            let bounds = |figure: fn(&Kernel) -> Nanos| {
                let at = |readings: &Vec<Kernel>| figure(&readings[index]);
                (share(at(before_to), at(after_from)), share(at(after_to), at(before_from)))
            };
            let measured = Measured {
                shares,
                window,
                from: start + from.at,
                to: start + to.at,
                cpu: bounds(|kernel| kernel.cpu),
                run_queue: bounds(|kernel| kernel.run_queue),
                gap: gaps[index] as f64 / window as f64,
            };
            measured.check(name);
            measured
        });
        measured.collect()
    }
}

fn shares_of(from: &Snapshot, to: &Snapshot, name: &str) -> (Nanos, Shares) {
    // A name may have been used before: the newest thread is the one that plays.
    let thread = to.threads.iter().filter(|thread| thread.name == name).max_by_key(|t| t.since);
    Window::between(from, to).thread(thread.unwrap()).unwrap()
}
