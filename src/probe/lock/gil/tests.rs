//! The algorithm, step by step, with a clock that is turned by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Gil, Seat, State, Time, enter};
use crate::probe::registry::Registry;
use crate::probe::state::Wait;
use crate::probe::sync::{Condvar, Mutex, MutexGuard};
use crate::probe::{clock, os};

/// A clock that is turned by hand.
#[derive(Debug, Default)]
struct ByHand {
    now: AtomicU64,
    turns: AtomicU64,
    sleeps: AtomicU64,
    /// How many sleepers have seen the last turn.
    seen: AtomicU64,
}

impl Time for ByHand {
    fn sleep<'a>(
        &self,
        _: &'a Mutex<State>,
        freed: &Condvar,
        mut guard: MutexGuard<'a, State>,
        interval: Duration,
    ) -> (MutexGuard<'a, State>, bool) {
        // All is read and written under the guard's mutex.
        self.sleeps.fetch_add(1, Ordering::Relaxed);
        let until = self.now.load(Ordering::Relaxed) + interval.as_nanos() as u64;
        loop {
            let turn = self.turns.load(Ordering::Relaxed);
            guard = freed.wait(guard).unwrap();
            let turned = self.turns.load(Ordering::Relaxed) != turn;
            self.seen.fetch_add(u64::from(turned), Ordering::Relaxed);
            let slept_out = self.now.load(Ordering::Relaxed) >= until;
            if slept_out || !turned {
                return (guard, slept_out);
            }
        }
    }
}

type Locked = Gil<ByHand>;

const INTERVAL: Duration = Duration::from_millis(5);
const STEP: Duration = Duration::from_micros(10);
/// An interval but for a step.
const NEARLY: Duration = Duration::from_micros(4990);

fn gil(registry: &Registry) -> Arc<Locked> {
    Arc::new(Gil::with(registry, INTERVAL, ByHand::default()))
}

impl Locked {
    /// Turns the clock and waits until all who sleep have seen it.
    fn turn(&self, by: Duration) {
        let sleepers = {
            let state = enter(&self.state);
            self.time.seen.store(0, Ordering::Relaxed);
            self.time.turns.fetch_add(1, Ordering::Relaxed);
            self.time.now.fetch_add(by.as_nanos() as u64, Ordering::Relaxed);
            self.freed.notify_all();
            state.asleep
        };
        until(|| self.time.seen.load(Ordering::Relaxed) >= u64::from(sleepers));
        // Who slept it out sleeps again, or holds it by now.
        until(|| {
            let state = enter(&self.state);
            !state.held || state.asleep == sleepers
        });
    }

    fn asleep(&self) -> u32 {
        enter(&self.state).asleep
    }

    fn asked(&self) -> bool {
        self.drop_request.load(Ordering::Relaxed)
    }

    fn last_holder(&self) -> u64 {
        self.last_holder.load(Ordering::Relaxed)
    }

    /// Switches, forced ones and requests.
    fn counts(&self) -> (u64, u64, u64) {
        let switching = self.stats().unwrap().switching.unwrap();
        (switching.switches, switching.forced, switching.requests)
    }
}

fn until(ready: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !ready() {
        assert!(start.elapsed() < Duration::from_mins(1), "it never came");
        std::thread::yield_now();
    }
}

/// Says when the threads of a test may go on.
#[derive(Default)]
struct Signal(AtomicU64);

impl Signal {
    fn give(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn wait(&self) {
        self.reach(1);
    }

    fn reach(&self, n: u64) {
        until(|| self.0.load(Ordering::SeqCst) >= n);
    }
}

#[test]
fn a_waiter_asks_after_an_interval_and_not_before() {
    let registry = Registry::default();
    let gil = gil(&registry);
    std::thread::scope(|scope| {
        let holder = Seat::at(&gil);
        holder.take();
        scope.spawn(|| Seat::at(&gil).take());
        until(|| gil.asleep() == 1);
        gil.turn(NEARLY);
        assert!(!gil.asked(), "the interval is not over");
        holder.checkpoint();
        assert_eq!((gil.asleep(), gil.counts()), (1, (1, 0, 0)), "nobody asked: nothing happens");
        gil.turn(STEP);
        assert!(gil.asked());
        assert_eq!(gil.counts(), (1, 0, 1));
        // A waiter that goes on waiting asks again; it is still one request.
        gil.turn(INTERVAL);
        assert_eq!(gil.counts(), (1, 0, 1));
        holder.checkpoint();
        // The waiter had it and dropped it at its end, unasked.
        assert_eq!(gil.counts(), (3, 1, 1));
        assert!(holder.holds() && !gil.asked());
    });
}

#[test]
fn a_drop_that_was_asked_for_goes_to_another_thread() {
    let registry = Registry::default();
    let gil = gil(&registry);
    let (took, go) = (Signal::default(), Signal::default());
    std::thread::scope(|scope| {
        let holder = Seat::at(&gil);
        holder.take();
        scope.spawn(|| {
            let seat = Seat::at(&gil);
            seat.take();
            took.give();
            go.wait();
            assert_eq!(gil.last_holder(), seat.me);
            seat.give();
        });
        until(|| gil.asleep() == 1);
        gil.turn(INTERVAL);
        // A plain drop, not a look: it does not take again, and still the other has it when it returns.
        holder.give();
        assert_ne!(gil.last_holder(), holder.me);
        took.wait();
        assert_eq!(gil.counts(), (2, 1, 1));
        assert!(!gil.asked(), "the taker clears the request");
        go.give();
        holder.take();
        assert_eq!(gil.counts(), (3, 1, 1));
    });
}

#[test]
fn a_drop_that_nobody_asked_for_does_not_wait_and_the_same_thread_may_take_again() {
    let registry = Registry::default();
    let gil = gil(&registry);
    let holder = Seat::at(&gil);
    for _ in 0..3 {
        holder.take();
        holder.take();
        holder.give();
        holder.give();
    }
    let stats = gil.stats().unwrap();
    assert_eq!((stats.acquisitions, stats.contended, stats.wait), (3, 0, 0));
    assert_eq!(gil.counts(), (1, 0, 0), "it is passed on by nobody");
    assert!(stats.hold_exact && stats.hold.is_some());
}

#[test]
fn a_switch_within_the_interval_begins_a_new_one() {
    let registry = Registry::default();
    let gil = gil(&registry);
    let (took, go) = (Signal::default(), Signal::default());
    std::thread::scope(|scope| {
        let holder = Seat::at(&gil);
        holder.take();
        for _ in 0..2 {
            scope.spawn(|| {
                let seat = Seat::at(&gil);
                seat.take();
                took.give();
                go.wait();
            });
        }
        until(|| gil.asleep() == 2);
        gil.turn(NEARLY);
        // Unasked: one of the two gets it.
        holder.give();
        took.wait();
        until(|| gil.asleep() == 1);
        // The other's interval is over, but it has seen a switch in it.
        gil.turn(STEP);
        assert_eq!((gil.asked(), gil.counts()), (false, (2, 0, 0)));
        gil.turn(NEARLY);
        assert!(!gil.asked());
        gil.turn(STEP);
        assert!(gil.asked());
        go.give();
    });
    assert_eq!(gil.counts(), (3, 1, 1));
}

#[test]
fn a_new_interval_is_in_force_for_who_waits_already() {
    let registry = Registry::default();
    let gil = gil(&registry);
    std::thread::scope(|scope| {
        let holder = Seat::at(&gil);
        holder.take();
        scope.spawn(|| Seat::at(&gil).take());
        until(|| gil.asleep() == 1);
        gil.turn(NEARLY);
        let sleeps = gil.time.sleeps.load(Ordering::Relaxed);
        gil.set_interval(Duration::from_millis(1));
        until(|| gil.time.sleeps.load(Ordering::Relaxed) > sleeps && gil.asleep() == 1);
        gil.turn(STEP);
        assert!(!gil.asked(), "a new interval has begun");
        gil.turn(Duration::from_millis(1));
        assert!(gil.asked());
        holder.give();
    });
}

#[test]
fn a_seat_that_is_left_drops_what_it_holds() {
    let registry = Registry::default();
    let gil = gil(&registry);
    let seat = Seat::at(&gil);
    seat.take();
    let panicked = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let seat = Seat::at(&gil);
            seat.take();
            panic!("while it holds the lock");
        });
        until(|| gil.asleep() == 1);
        drop(seat);
        other.join().is_err()
    });
    assert!(panicked);
    Seat::at(&gil).take();
    assert_eq!(gil.stats().unwrap().acquisitions, 3);
}

#[test]
fn the_account_names_the_holder_and_who_waits_and_adds_up_to_the_threads_waits() {
    let registry = Registry::default();
    let gil = gil(&registry);
    let holder = Seat::at(&gil);
    holder.take();
    let (go, here) = (Signal::default(), os::thread_id());
    let (waited, met) = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let thread = registry.register("waiter", "test");
            let seat = Seat::at(&gil);
            seat.take();
            go.reach(2);
            seat.give();
            (thread.read(clock::now()).waits[Wait::Lock as usize], thread.tid)
        });
        until(|| gil.asleep() == 1);
        let open = gil.stats().unwrap();
        assert_eq!((open.holder, open.waiters, open.contended), (Some(here), 1, 1));
        let waits_for = registry.threads()[0].read(clock::now()).lock;
        assert_eq!(registry.locks()[waits_for.unwrap() as usize].name(), "gil");
        gil.turn(INTERVAL);
        // From here on this thread waits, and the other one lets it.
        let back = scope.spawn(|| {
            go.give();
            let holder = || gil.stats().unwrap().holder.filter(|&tid| tid != here);
            until(|| holder().is_some() && gil.stats().unwrap().waiters == 1);
            let holder = holder();
            go.give();
            holder
        });
        let thread = registry.register("holder", "test");
        holder.checkpoint();
        let mine = thread.read(clock::now()).waits[Wait::Lock as usize];
        let (theirs, tid) = other.join().unwrap();
        assert_eq!(back.join().unwrap(), Some(tid));
        assert!(mine > 0 && theirs > 0);
        (mine + theirs, tid)
    });
    assert_ne!(met, here);
    let stats = gil.stats().unwrap();
    assert_eq!((stats.acquisitions, stats.contended, stats.waits.count()), (3, 2, 2));
    // The threads' own stamps are taken within the account's.
    assert!(stats.wait >= waited && stats.wait_max <= stats.wait, "{stats:?} {waited}");
}

#[test]
fn work_may_be_interrupted_only_where_it_says_so() {
    use super::checkpoint;
    use std::rc::Rc;

    let registry = Registry::default();
    // A whole day: only what is asked for by hand is asked for.
    let gil = Arc::new(Gil::new(&registry, Duration::from_hours(24)));
    let seat = Rc::new(Seat::at(&gil));
    seat.take();
    std::thread::scope(|scope| {
        scope.spawn(|| Seat::at(&gil).take());
        until(|| enter(&gil.state).asleep == 1);
        gil.drop_request.store(true, Ordering::Relaxed);
        checkpoint();
        assert_eq!(gil.stats().unwrap().acquisitions, 1, "not at work");
        seat.at_work(checkpoint);
        assert_eq!(gil.stats().unwrap().acquisitions, 3);
    });
    let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        seat.at_work(|| panic!("in the middle"));
    }));
    assert!(seen.is_err());
    gil.drop_request.store(true, Ordering::Relaxed);
    checkpoint();
    assert!(seat.holds(), "at no work any more");
    gil.drop_request.store(false, Ordering::Relaxed);
}

#[test]
fn many_threads_get_it_in_turn_and_alone() {
    let registry = Registry::default();
    let gil = Arc::new(Gil::new(&registry, Duration::from_micros(200)));
    let (inside, turns) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (gil, inside, turns) = (&gil, &inside, &turns);
            scope.spawn(move || {
                let seat = Seat::at(gil);
                for turn in 0..300 {
                    seat.take();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at a time");
                    turns.fetch_add(1, Ordering::SeqCst);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    seat.checkpoint();
                    if (turn + worker) % 3 == 0 {
                        seat.give();
                    }
                    if turn == 100 {
                        gil.set_interval(Duration::from_micros(50));
                    }
                }
            });
        }
    });
    let stats = gil.stats().unwrap();
    assert_eq!((turns.into_inner(), stats.waiters, stats.holder), (1200, 0, None));
    assert!(stats.contended <= stats.acquisitions, "{stats:?}");
    let switching = stats.switching.unwrap();
    assert!(switching.forced <= switching.requests, "{switching:?}");
    assert!(switching.switches >= 4, "each had it: {switching:?}");
}

/// For models: time is out so many times, whenever it suits the order of events; for the rest of time nobody
/// sleeps an interval out.
#[cfg(pipetop_loom)]
#[derive(Debug)]
pub(in crate::probe) struct Now(loom::sync::atomic::AtomicUsize);

#[cfg(pipetop_loom)]
impl Time for Now {
    fn sleep<'a>(
        &self,
        state: &'a Mutex<State>,
        freed: &Condvar,
        guard: MutexGuard<'a, State>,
        _: Duration,
    ) -> (MutexGuard<'a, State>, bool) {
        let left = self.0.load(Ordering::Relaxed);
        if left == 0 {
            return (freed.wait(guard).unwrap(), false);
        }
        self.0.store(left - 1, Ordering::Relaxed);
        drop(guard);
        loom::thread::yield_now();
        (enter(state), true)
    }
}

#[cfg(pipetop_loom)]
impl Gil<Now> {
    /// One in which intervals end `times` times.
    pub(in crate::probe) fn model(times: usize) -> Arc<Self> {
        let time = Now(loom::sync::atomic::AtomicUsize::new(times));
        Arc::new(Self::with(&Registry::bare(), INTERVAL, time))
    }
}
