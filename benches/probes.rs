//! What measuring costs: the same operation with and without probes.
//!
//! `cargo bench --bench probes`

use divan::Bencher;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use pipetop::probe::clock;
use pipetop::probe::lock::Mutex;
use pipetop::probe::queue::{Popped, Queue};
use pipetop::probe::registry::Registry;
use pipetop::probe::state::{self, Wait};

fn main() {
    let _ = clock::now();
    println!("clock: {:?}", clock::source());
    divan::main();
}

#[divan::bench_group]
mod clocks {
    use super::{Instant, clock};

    #[divan::bench]
    fn ours() -> u64 {
        clock::now()
    }

    #[divan::bench]
    fn instant() -> Instant {
        Instant::now()
    }
}

/// Into a wait and out of it: two state changes.
#[divan::bench(args = [false, true])]
fn two_state_changes(bencher: Bencher<'_, '_>, probes: bool) {
    let registry = registry(probes);
    let _registered = registry.register("bench", "bench");
    bencher.bench_local(|| drop(black_box(state::enter(Wait::Starved))));
}

fn registry(probes: bool) -> Registry {
    if probes { Registry::default() } else { Registry::bare() }
}

#[divan::bench_group]
mod uncontended_lock {
    use super::{Bencher, Mutex, black_box, registry};

    #[divan::bench]
    fn of_std(bencher: Bencher<'_, '_>) {
        let mutex = std::sync::Mutex::new(0u64);
        bencher.bench_local(|| *black_box(&mutex).lock().expect("nobody panics") += 1);
    }

    #[divan::bench(args = [false, true])]
    fn ours(bencher: Bencher<'_, '_>, probes: bool) {
        let registry = registry(probes);
        let _registered = registry.register("bench", "bench");
        let mutex = Mutex::new(&registry, "m", 0u64);
        bencher.bench_local(|| *black_box(&mutex).lock() += 1);
    }
}

/// Runs `work` while another thread does the same.
fn beside(work: impl Fn() + Sync, bencher: Bencher<'_, '_>) {
    let (started, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            started.store(true, Ordering::Relaxed);
            while !stop.load(Ordering::Relaxed) {
                work();
            }
        });
        while !started.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        bencher.bench_local(&work);
        stop.store(true, Ordering::Relaxed);
    });
}

/// Two threads, each about 110 ns inside and 30 ns outside of the lock: they can't take turns without waiting.
#[divan::bench_group]
mod contended_lock {
    use super::{Bencher, Mutex, beside, black_box, registry};

    fn spin(turns: u32) {
        for turn in 0..turns {
            black_box(turn);
        }
    }

    #[divan::bench(min_time = 0.5)]
    fn of_std(bencher: Bencher<'_, '_>) {
        let mutex = std::sync::Mutex::new(0u64);
        let work = || {
            let mut value = mutex.lock().expect("nobody panics");
            *value += 1;
            spin(400);
            drop(value);
            spin(100);
        };
        beside(work, bencher);
    }

    #[divan::bench(args = [false, true], min_time = 0.5)]
    fn ours(bencher: Bencher<'_, '_>, probes: bool) {
        let registry = registry(probes);
        let _registered = registry.register("bench", "bench");
        let mutex = Mutex::new(&registry, "m", 0u64);
        let work = || {
            let mut value = mutex.lock();
            *value += 1;
            spin(400);
            drop(value);
            spin(100);
        };
        beside(work, bencher);
    }
}

#[divan::bench_group]
mod queue {
    use super::{AtomicBool, Bencher, Ordering, Popped, Queue, registry};

    /// A push and a pop by one thread.
    #[divan::bench(args = [false, true])]
    fn push_and_pop(bencher: Bencher<'_, '_>, probes: bool) {
        let registry = registry(probes);
        let _registered = registry.register("bench", "bench");
        let queue = Queue::new(&registry, "q", 16);
        bencher.bench_local(|| {
            let _ = queue.push(1u64);
            queue.pop(|| true)
        });
    }

    /// A push to a thread that takes each item: the producer's side.
    #[divan::bench(args = [false, true])]
    fn hand_over(bencher: Bencher<'_, '_>, probes: bool) {
        let registry = registry(probes);
        let queue = Queue::new(&registry, "q", 16);
        let taken = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _registered = registry.register("taker", "bench");
                while let Popped::Item(1u64) = queue.pop(|| true) {
                    taken.store(true, Ordering::Relaxed);
                }
            });
            let _registered = registry.register("bench", "bench");
            bencher.bench_local(|| queue.push(1));
            queue.close();
        });
    }
}
