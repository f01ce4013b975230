//! Threads whose truth is known, alone and beside rivals: what is shown of them is what they did.
//!
//! The machine may be busy with other things: a thread is held to what the kernel accounted for it
//! and to its own stamps, never to how fast it ought to have been.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/actors.rs"]
mod actors;

use std::io::Read;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actors::{Bench, actor};
use pipetop::probe::clock::{self, Nanos};
use pipetop::probe::gate::Gate;
use pipetop::probe::lock;
use pipetop::probe::queue::Queue;
use pipetop::probe::state::{self, Wait};

/// Spinners beside the measured threads: none, as many as a small machine has cores, twice that.
const RIVALS: [usize; 3] = [0, 2, 4];

/// One at a time: each test's spinners are rivals of the others.
fn alone() -> MutexGuard<'static, ()> {
    static SERIAL: Mutex<()> = Mutex::new(());
    SERIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn a_spinner_reads_running_or_runnable() {
    let _serial = alone();
    let mut bench = Bench::new();
    for rivals in RIVALS {
        let spin = actor("spinner", |stage| while stage.goes_on() {});
        let measured = bench.measure(rivals, ms(500), vec![spin], || {})[0];
        let shares = measured.shares;
        let wants_cpu = shares.running + shares.runnable;
        assert!(wants_cpu >= 0.99 - measured.gap, "{rivals} rivals: {measured:?}");
        assert!(shares.waits.iter().all(|&wait| wait == 0.0), "{rivals} rivals: {measured:?}");
    }
}

#[test]
fn who_waits_all_the_time_reads_that_wait() {
    let _serial = alone();
    let mut bench = Bench::new();
    for rivals in RIVALS {
        let registry = std::sync::Arc::clone(&bench.registry);
        let mutex = lock::Mutex::new(&registry, "truth.mutex", ());
        let readers = lock::RwLock::new(&registry, "truth.rwlock", ());
        let permits = lock::Semaphore::new(&registry, "truth.semaphore", 1);
        let gate = Gate::new(&registry, "truth.gate", 0);
        let empty = Queue::<u8>::new(&registry, "truth.empty", 1);
        let full = Queue::new(&registry, "truth.full", 1);
        full.push(0).unwrap();
        let unknown = Mutex::new(());
        let (mut pipe, write_end) = std::io::pipe().unwrap();
        let held = (mutex.lock(), readers.write(), permits.acquire(), unknown.lock().unwrap());
        let plain =
            |wait| move |stage: &actors::Stage<'_>| state::waiting(wait, || stage.sleep_out());
        let actors = vec![
            actor("mutex", |_| drop(mutex.lock())),
            actor("rwlock", |_| drop(readers.read())),
            actor("semaphore", |_| drop(permits.acquire())),
            actor("lock", plain(Wait::Lock)),
            actor("starved", |_| drop(empty.pop(|| true))),
            actor("backpressured", |_| assert_eq!(full.push(1), Err(1))),
            actor("gpu", plain(Wait::Gpu)),
            actor("io", |_| {
                state::waiting(Wait::Io, || pipe.read(&mut [0]).unwrap());
            }),
            actor("parked", |_| gate.pass(0)),
            actor("delay", plain(Wait::Delay)),
            actor("sleeps-untold", |stage| stage.sleep_out()),
            actor("foreign-lock", |_| drop(unknown.lock())),
        ];
        let expected = [
            Some(Wait::Lock),
            Some(Wait::Lock),
            Some(Wait::Lock),
            Some(Wait::Lock),
            Some(Wait::Starved),
            Some(Wait::Backpressured),
            Some(Wait::Gpu),
            Some(Wait::Io),
            Some(Wait::Parked),
            Some(Wait::Delay),
            None,
            None,
        ];
        let end = || {
            drop((held, write_end));
            empty.close();
            full.close();
            gate.open();
        };
        let measured = bench.measure(rivals, ms(400), actors, end);
        for (measured, expected) in measured.iter().zip(expected) {
            let share = expected.map_or(measured.shares.other, |wait| measured.wait(wait));
            assert!(share >= 0.98, "{rivals} rivals, {expected:?}: {measured:?}");
            assert!(measured.shares.overlap <= 0.02, "{rivals} rivals, {expected:?}: {measured:?}");
        }
    }
}

/// Of intervals, the part within a window.
fn within(intervals: &[(Nanos, Nanos)], from: Nanos, to: Nanos) -> Nanos {
    intervals.iter().map(|&(start, end)| end.min(to).saturating_sub(start.max(from))).sum()
}

#[test]
fn work_and_waits_in_turn_read_as_their_own_stamps_say() {
    let _serial = alone();
    let mut bench = Bench::new();
    for rivals in RIVALS {
        for (wait, declared) in [(Wait::Gpu, true), (Wait::Io, true), (Wait::Starved, false)] {
            let stamps = Mutex::new(Vec::new());
            let turn = |stage: &actors::Stage<'_>| {
                while stage.goes_on() {
                    stage.work(ms(10));
                    let start = clock::now();
                    if declared {
                        state::waiting(wait, || std::thread::sleep(ms(15)));
                    } else {
                        std::thread::sleep(ms(15));
                    }
                    stage.waited();
                    stamps.lock().unwrap().push((start, clock::now()));
                }
            };
            let measured = bench.measure(rivals, ms(500), vec![actor("turns", turn)], || {})[0];
            let shares = measured.shares;
            let stamped = within(&stamps.into_inner().unwrap(), measured.from, measured.to);
            let stamped = stamped as f64 / measured.window as f64;
            let share = if declared { shares.wait(wait) } else { shares.other };
            // A wait by the wall clock ends when the CPU is had again: that tail is run queue. What
            // was booked late or early is known to the longest such time.
            let least = stamped - measured.run_queue.1 - 0.02 - measured.gap;
            let most = stamped + 0.02 + if declared { 0.0 } else { measured.gap };
            assert!((least..=most).contains(&share), "{rivals} rivals: {stamped} {measured:?}");
            if declared {
                let other = shares.other;
                assert!(other <= 0.02 + measured.gap, "{rivals} rivals: {stamped} {measured:?}");
            } else {
                assert!(shares.overlap.abs() < 1e-12, "{measured:?}");
            }
        }
    }
}

#[test]
fn two_spinners_on_one_core_share_it() {
    let _serial = alone();
    let mut bench = Bench::new();
    for rivals in RIVALS {
        let core = AtomicI32::new(-1);
        let spin = |stage: &actors::Stage<'_>| {
            pin(&core);
            while stage.goes_on() {}
        };
        let start = clock::now();
        let actors = vec![actor("pinned-0", spin), actor("pinned-1", spin)];
        let busy_before = core_busy();
        let measured = bench.measure(rivals, ms(800), actors, || {});
        let span = (clock::now() - start) as f64;
        let (a, b) = (measured[0].shares, measured[1].shares);
        let core = core.load(Ordering::Relaxed) as usize;
        let busy = (core_busy()[core] - busy_before[core]) / span;
        for (shares, measured) in [(a, measured[0]), (b, measured[1])] {
            let wants_cpu = shares.running + shares.runnable;
            assert!(wants_cpu >= 0.99 - measured.gap, "{rivals} rivals: {measured:?}");
        }
        // The scheduler is fair to within a few of its slices.
        let slack = 0.04 + measured[0].gap + measured[1].gap;
        assert!((a.running - b.running).abs() <= slack, "{rivals} rivals: {measured:?}");
        assert!((a.runnable - b.runnable).abs() <= 2.0 * slack, "{rivals} rivals: {measured:?}");
        assert!(a.running + b.running <= 1.005, "{rivals} rivals: {measured:?}");
        // Nobody else on the core: a half each.
        let others = busy - (a.running + b.running);
        if rivals == 0 && others < 0.05 {
            for shares in [a, b] {
                assert!((shares.running - 0.5).abs() <= slack, "{others} {measured:?}");
                assert!((shares.runnable - 0.5).abs() <= slack + 0.05, "{others} {measured:?}");
            }
        }
    }
}

/// Pins the calling thread to a core: the first caller to its own, the others to that one.
fn pin(core: &AtomicI32) {
    #![expect(unsafe_code, reason = "the system calls have no safe interface in std")]
    // SAFETY: `sched_getcpu` takes nothing and touches no memory.
    let here = unsafe { libc::sched_getcpu() };
    let _ = core.compare_exchange(-1, here, Ordering::Relaxed, Ordering::Relaxed);
    // SAFETY: a CPU set is plain bits, for which zero is "none"; the core's number came from the
    // kernel and is below the set's size; the call reads as many bytes as it is told.
    let pinned = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core.load(Ordering::Relaxed) as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    assert_eq!(pinned, 0, "a thread may always be pinned to the core it is on");
}

/// Busy nanoseconds of each core since boot, to a hundredth of a second.
fn core_busy() -> Vec<f64> {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let cores = text
        .lines()
        .filter(|line| line.strip_prefix("cpu").is_some_and(|rest| !rest.starts_with(' ')));
    let busy = |line: &str| {
        let mut fields = line.split_whitespace().skip(1).map(|field| field.parse::<f64>().unwrap());
        // user, nice, system; then idle and iowait; then irq and softirq.
        let work: f64 = fields.by_ref().take(3).sum();
        (work + fields.skip(2).take(2).sum::<f64>()) * 1e7
    };
    cores.take_while(|line| line.starts_with("cpu")).map(busy).collect()
}

#[test]
fn a_lock_held_half_of_the_time_is_waited_for_as_long_as_its_holder_says() {
    let _serial = alone();
    let mut bench = Bench::new();
    for rivals in RIVALS {
        let registry = std::sync::Arc::clone(&bench.registry);
        let contested = lock::Mutex::new(&registry, "truth.contested", ());
        let (holds, calls) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let holder_calls = Mutex::new(Vec::new());
        let hold = |stage: &actors::Stage<'_>| {
            while stage.goes_on() {
                let asked = clock::now();
                let guard = contested.lock();
                let start = clock::now();
                holder_calls.lock().unwrap().push((asked, start));
                state::waiting(Wait::Io, || std::thread::sleep(ms(5)));
                let end = clock::now();
                drop(guard);
                holds.lock().unwrap().push((start, end));
                state::waiting(Wait::Starved, || std::thread::sleep(ms(5)));
                stage.waited();
            }
        };
        // Works a little between two tries, so that the holder gets its turn.
        let want = |stage: &actors::Stage<'_>| {
            while stage.goes_on() {
                let start = clock::now();
                drop(contested.lock());
                let end = clock::now();
                calls.lock().unwrap().push((start, end));
                stage.waited();
                stage.work(Duration::from_micros(30));
            }
        };
        let before = contested.stats().unwrap();
        let actors = vec![actor("holder", hold), actor("waiter", want)];
        let length = ms(1000);
        let waiter = bench.measure(rivals, length, actors, || {})[1];
        let (holds, calls) = (holds.into_inner().unwrap(), calls.into_inner().unwrap());
        // The wait is the time of a call in which the other one held the lock.
        let truth: Vec<_> = calls
            .iter()
            .flat_map(|&(start, end)| {
                holds.iter().map(move |hold| (start.max(hold.0), end.min(hold.1)))
            })
            .filter(|(start, end)| start < end)
            .collect();
        let truth = within(&truth, waiter.from, waiter.to) as f64 / waiter.window as f64;
        let called = within(&calls, waiter.from, waiter.to) as f64 / waiter.window as f64;
        let shown = waiter.wait(Wait::Lock);
        // Calls last until the CPU is had again, and that tail is run queue, which the kernel books
        // late: what the share may be off by, beyond 2 %, is one such tail.
        let tail = called - truth;
        let longest = calls.iter().map(|&(start, end)| {
            let held = holds.iter().map(|hold| end.min(hold.1)).filter(|&held| held > start);
            end - held.max().unwrap_or(start)
        });
        let longest = longest.max().unwrap_or(0) as f64 / waiter.window as f64;
        let slack = 0.02 * truth + 0.005 + waiter.gap.max(longest);
        assert!(
            shown <= truth + slack + (tail - waiter.run_queue.0).max(0.0) && shown >= truth - slack,
            "{rivals} rivals: by the holder {truth}, by the caller {called}, shown {waiter:?}"
        );
        // The lock's own account is its callers' wall-clock time.
        let booked = contested.stats().unwrap().wait - before.wait;
        let stamped: Nanos = calls
            .iter()
            .chain(&holder_calls.into_inner().unwrap())
            .map(|(start, end)| end - start)
            .sum();
        let off = booked.abs_diff(stamped) as f64 / stamped as f64;
        assert!(off <= 0.02, "{rivals} rivals: {booked} booked, {stamped} stamped");
        assert!(truth > 0.1, "{rivals} rivals: {truth} {waiter:?}");
    }
}
