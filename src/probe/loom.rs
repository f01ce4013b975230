//! The state cell, gate and queue under every order of events, by `loom`: no reading is torn, no
//! wake-up lost (a lost one is a deadlock, which `loom` reports).
//!
//! The code is the pipeline's own over `loom`'s types. Not covered: async pushes (tokio's `Notify`
//! stays as it is), waits with a time limit (but the emulated GIL's, whose intervals end when it suits), and the
//! locks' accounts (the registries here are bare).

use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use super::gate::Gate;
use super::lock::gil::{Gil, Seat};
use super::lock::{Mutex, Semaphore};
use super::queue::{Popped, Queue};
use super::registry::Registry;
use super::state::{StateCell, Wait};

/// All orders with up to three preemptions, which finds nearly every fault there is in small models.
fn model(body: impl Fn() + Send + Sync + 'static) {
    bounded(3, body);
}

fn bounded(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

/// The reader tries again up to sixteen times, so that three preemptions would take hours: one is
/// enough to stop it, or the writer, between any two of their steps.
#[test]
fn loom_a_reading_is_of_one_moment() {
    bounded(1, || {
        let cell = Arc::new(StateCell::new(1000));
        let reader = thread::spawn({
            let cell = Arc::clone(&cell);
            move || cell.read(5000)
        });
        cell.enter(Some(Wait::Io), 1001);
        cell.enter(None, 1011);
        let reading = reader.join().unwrap();
        let seen = (reading.state, reading.work, reading.waits[Wait::Io as usize]);
        let moments = [(None, 4000, 0), (Some(Wait::Io), 1, 3999), (None, 3990, 10)];
        // A reader that never found a moment of rest tells the closed intervals alone.
        let closed = seen.0.is_none() && seen.1 <= 1 && seen.2 <= 10;
        assert!(moments.contains(&seen) || closed, "{seen:?}");
        assert_eq!(cell.read(5000).work, 3990);
    });
}

#[test]
fn loom_a_gate_that_is_raised_lets_its_worker_through() {
    model(|| {
        let gate = Arc::new(Gate::new(&Registry::bare(), "gate", 0));
        let worker = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.pass(0)
        });
        gate.set_limit(1);
        worker.join().unwrap();
    });
}

#[test]
fn loom_a_gate_that_is_opened_lets_all_through() {
    model(|| {
        let gate = Arc::new(Gate::new(&Registry::bare(), "gate", 1));
        let workers = [1, 2].map(|worker| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || gate.pass(worker))
        });
        gate.open();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn loom_items_pass_a_full_queue_in_order() {
    model(|| {
        let queue = Arc::new(Queue::new(&Registry::bare(), "q", 1));
        let producer = thread::spawn({
            let queue = Arc::clone(&queue);
            move || (0..2).for_each(|item| queue.push(item).unwrap())
        });
        for expected in 0..2 {
            assert_eq!(queue.pop(|| true), Popped::Item(expected));
        }
        producer.join().unwrap();
    });
}

#[test]
fn loom_a_close_wakes_who_pops_and_who_pushes() {
    model(|| {
        let queue = Arc::new(Queue::new(&Registry::bare(), "q", 1));
        let popper = thread::spawn({
            let queue = Arc::clone(&queue);
            move || while let Popped::Item(_) = queue.pop(|| true) {}
        });
        let pushed = queue.push(1);
        queue.close();
        assert_eq!((pushed, queue.push(2)), (Ok(()), Err(2)));
        popper.join().unwrap();
    });
    model(|| {
        let queue = Arc::new(Queue::new(&Registry::bare(), "q", 1));
        queue.push(0).unwrap();
        let pusher = thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.push(1)
        });
        queue.close();
        assert_eq!(pusher.join().unwrap(), Err(1));
    });
}

#[test]
fn loom_more_capacity_lets_a_push_through() {
    model(|| {
        let queue = Arc::new(Queue::new(&Registry::bare(), "q", 1));
        queue.push(0).unwrap();
        let pusher = thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.push(1).unwrap()
        });
        queue.set_capacity(2);
        pusher.join().unwrap();
        assert_eq!(queue.track().depth, 2);
    });
}

#[test]
fn loom_a_dismissed_worker_passes_its_wake_up_on() {
    model(|| {
        let queue = Arc::new(Queue::new(&Registry::bare(), "q", 2));
        let stay = Arc::new(AtomicBool::new(true));
        let leaver = thread::spawn({
            let (queue, stay) = (Arc::clone(&queue), Arc::clone(&stay));
            move || queue.pop(|| stay.load(Ordering::SeqCst))
        });
        let stayer = thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.pop(|| true)
        });
        stay.store(false, Ordering::SeqCst);
        // The one wake-up of this push may go to either.
        queue.push(7).unwrap();
        assert_eq!(stayer.join().unwrap(), Popped::Item(7));
        // Who is asleep when a limit falls is woken by whoever lowers it.
        queue.wake_all();
        assert_eq!(leaver.join().unwrap(), Popped::Dismissed);
    });
}

#[test]
fn loom_a_permit_that_is_given_back_is_taken() {
    model(|| {
        let permits = Arc::new(Semaphore::new(&Registry::bare(), "permits", 1));
        let permit = permits.acquire();
        let taker = thread::spawn({
            let permits = Arc::clone(&permits);
            move || drop(permits.acquire())
        });
        drop(permit);
        taker.join().unwrap();
        assert_eq!(permits.free(), 1);
    });
}

#[test]
fn loom_a_mutex_lets_one_in_at_a_time() {
    model(|| {
        let count = Arc::new(Mutex::new(&Registry::bare(), "count", 0));
        let other = thread::spawn({
            let count = Arc::clone(&count);
            move || *count.lock() += 1
        });
        *count.lock() += 1;
        other.join().unwrap();
        assert_eq!(*count.lock(), 2);
    });
}

/// Threads that take it, look, work alone, and drop it, twice; the intervals of waiters end so many times.
fn with_the_gil(threads: usize, intervals: usize, preemptions: usize) {
    bounded(preemptions, move || {
        let gil = Gil::model(intervals);
        let inside = Arc::new(AtomicBool::new(false));
        let work = move |gil: &std::sync::Arc<Gil<_>>, inside: &AtomicBool| {
            let seat = Seat::at(gil);
            for _ in 0..2 {
                seat.take();
                seat.checkpoint();
                assert!(!inside.swap(true, Ordering::SeqCst), "two at a time");
                inside.store(false, Ordering::SeqCst);
                seat.give();
            }
        };
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let (gil, inside) = (std::sync::Arc::clone(&gil), Arc::clone(&inside));
                thread::spawn(move || work(&gil, &inside))
            })
            .collect();
        work(&gil, &inside);
        for other in others {
            other.join().unwrap();
        }
    });
}

#[test]
fn loom_the_gil_goes_round_whether_or_not_it_is_asked_for() {
    with_the_gil(2, 0, 5);
    with_the_gil(2, 3, 5);
    with_the_gil(3, 1, 2);
    with_the_gil(3, 2, 2);
}
