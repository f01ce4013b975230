//! A bounded queue that keeps its own account, changes its capacity live and serves threads and
//! async tasks alike.
//!
//! Waits are booked as what they are: a pop that waits is [`Wait::Starved`], a push that waits
//! [`Wait::Backpressured`]; only a contended inner lock is lock wait.

use std::collections::VecDeque;

use super::clock;
use super::lock::{Condvar, Guard, Mutex};
use super::registry::Registry;
use super::state::Wait;
use super::track::Track;

/// A bounded queue, first in, first out.
#[derive(Debug)]
pub struct Queue<T> {
    name: &'static str,
    inner: Mutex<Inner<T>>,
    ready: Condvar,
    room: Condvar,
    room_async: tokio::sync::Notify,
}

#[derive(Debug)]
struct Inner<T> {
    items: VecDeque<T>,
    closed: bool,
    track: Track,
}

/// What a pop came back with.
#[derive(Debug, PartialEq, Eq)]
pub enum Popped<T> {
    /// The oldest item.
    Item(T),
    /// The caller's own condition to go on no longer holds.
    Dismissed,
    /// The queue is closed and empty.
    Closed,
}

impl<T> Queue<T> {
    /// An empty queue; its inner lock is on the table as `queue.NAME`.
    pub fn new(registry: &Registry, name: &'static str, capacity: usize) -> Self {
        let inner =
            Inner { items: VecDeque::new(), closed: false, track: registry.track(capacity) };
        Self {
            name,
            inner: Mutex::new(registry, &format!("queue.{name}"), inner),
            ready: Condvar::default(),
            room: Condvar::default(),
            room_async: tokio::sync::Notify::new(),
        }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Takes the oldest item, waiting for one while `stay` holds. A caller who is dismissed passes
    /// on the wake-up that it may have taken.
    pub fn pop(&self, stay: impl Fn() -> bool) -> Popped<T> {
        let mut inner = self.inner.lock();
        loop {
            if !stay() {
                if !inner.items.is_empty() {
                    self.ready.notify_one();
                }
                return Popped::Dismissed;
            }
            inner = match self.take_first(inner) {
                Ok(item) => return Popped::Item(item),
                Err(inner) => inner,
            };
            if inner.closed {
                return Popped::Closed;
            }
            inner = self.ready.wait(inner, Wait::Starved);
        }
    }

    /// Takes the oldest item, if there is one now.
    pub fn try_pop(&self) -> Option<T> {
        self.take_first(self.inner.lock()).ok()
    }

    fn take_first<'a>(&self, mut inner: Guard<'a, Inner<T>>) -> Result<T, Guard<'a, Inner<T>>> {
        let Some(item) = inner.items.pop_front() else { return Err(inner) };
        inner.track.popped += 1;
        inner.note();
        let room = inner.has_room();
        drop(inner);
        if room {
            self.room.notify_one();
            self.room_async.notify_one();
        }
        Ok(item)
    }

    /// Hands an item over, waiting for room.
    ///
    /// # Errors
    /// Gives the item back where the queue is closed.
    pub fn push(&self, item: T) -> Result<(), T> {
        let mut inner = self.inner.lock();
        while !inner.closed && !inner.has_room() {
            inner = self.room.wait(inner, Wait::Backpressured);
        }
        self.put(inner, item)
    }

    /// Hands an item over, if there is room now.
    ///
    /// # Errors
    /// Gives the item back where there is none, or the queue is closed.
    pub fn try_push(&self, item: T) -> Result<(), T> {
        let inner = self.inner.lock();
        if inner.has_room() { self.put(inner, item) } else { Err(item) }
    }

    /// Hands an item over from an async task; `on_wait` is called once, before it first has to wait.
    ///
    /// # Errors
    /// Gives the item back where the queue is closed.
    pub async fn push_async(&self, mut item: T, on_wait: impl FnOnce()) -> Result<(), T> {
        let mut on_wait = Some(on_wait);
        loop {
            let room = self.room_async.notified();
            tokio::pin!(room);
            // Listed before the look: room made in between is not missed.
            room.as_mut().enable();
            match self.try_push(item) {
                Ok(()) => return Ok(()),
                Err(back) if self.is_closed() => return Err(back),
                Err(back) => item = back,
            }
            if let Some(on_wait) = on_wait.take() {
                on_wait();
            }
            room.await;
        }
    }

    fn put(&self, mut inner: Guard<'_, Inner<T>>, item: T) -> Result<(), T> {
        if inner.closed {
            return Err(item);
        }
        inner.items.push_back(item);
        inner.note();
        drop(inner);
        self.ready.notify_one();
        Ok(())
    }

    /// Sets the capacity. Below the depth nothing is dropped: pushes wait.
    pub fn set_capacity(&self, capacity: usize) {
        let mut inner = self.inner.lock();
        inner.track.advance(clock::now());
        inner.track.capacity = capacity as u64;
        drop(inner);
        self.room.notify_all();
        self.room_async.notify_waiters();
    }

    /// Takes no more items; what is in can still be taken.
    pub fn close(&self) {
        self.inner.lock().closed = true;
        self.wake_all();
    }

    /// Closes and drops what is in; returns it.
    pub fn abort(&self) -> Vec<T> {
        let mut inner = self.inner.lock();
        inner.closed = true;
        let dropped = inner.items.drain(..).collect();
        inner.note();
        drop(inner);
        self.wake_all();
        dropped
    }

    /// Whether it takes no more items.
    pub fn is_closed(&self) -> bool {
        self.inner.lock().closed
    }

    /// Wakes all who wait, to look at their conditions again.
    pub fn wake_all(&self) {
        // Under the lock nobody is between a look and a sleep.
        drop(self.inner.lock());
        self.ready.notify_all();
        self.room.notify_all();
        self.room_async.notify_waiters();
    }

    /// Its account up to now.
    pub fn track(&self) -> Track {
        let mut inner = self.inner.lock();
        inner.track.advance(clock::now());
        inner.track
    }
}

impl<T> Inner<T> {
    fn has_room(&self) -> bool {
        (self.items.len() as u64) < self.track.capacity
    }

    fn note(&mut self) {
        let depth = self.items.len() as u64;
        self.track.note(depth, depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    #[test]
    fn everything_pushed_by_many_comes_out_once_in_spite_of_capacity_changes() {
        let registry = Registry::default();
        let queue = Queue::new(&registry, "q", 3);
        let sum = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let producers: Vec<_> = (0..3)
                .map(|p| {
                    let queue = &queue;
                    scope.spawn(move || (0..500).for_each(|i| queue.push(p * 500 + i).unwrap()))
                })
                .collect();
            for _ in 0..3 {
                scope.spawn(|| {
                    while let Popped::Item(item) = queue.pop(|| true) {
                        sum.fetch_add(item + 1, Ordering::Relaxed);
                    }
                });
            }
            for capacity in [1, 7, 2, 64, 1, 5] {
                queue.set_capacity(capacity);
                std::thread::yield_now();
            }
            for producer in producers {
                producer.join().unwrap();
            }
            queue.close();
        });
        assert_eq!(sum.load(Ordering::Relaxed), 1500 * 1501 / 2);
        let track = queue.track();
        assert_eq!((track.depth, track.popped, track.capacity), (0, 1500, 5));
        assert_eq!(queue.push(1), Err(1));
    }

    #[test]
    fn async_producers_wait_for_room_and_none_is_forgotten() {
        let registry = Registry::default();
        let queue = Arc::new(Queue::new(&registry, "q", 2));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let waited = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..16)
            .map(|task| {
                let (queue, waited) = (Arc::clone(&queue), Arc::clone(&waited));
                runtime.spawn(async move {
                    for i in 0..200 {
                        let count = || {
                            waited.fetch_add(1, Ordering::Relaxed);
                        };
                        queue.push_async(task * 200 + i, count).await.unwrap();
                    }
                })
            })
            .collect();
        let mut seen = vec![false; 3200];
        for _ in 0..3200 {
            let Popped::Item(item) = queue.pop(|| true) else { panic!("closed early") };
            assert!(!std::mem::replace(&mut seen[item], true), "{item} came twice");
        }
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert!(waited.load(Ordering::Relaxed) > 0);
        assert_eq!(queue.track().depth, 0);
    }

    #[test]
    fn a_dismissed_worker_passes_its_wake_up_on() {
        let registry = Registry::default();
        let queue = Queue::new(&registry, "q", 8);
        let stay = AtomicBool::new(true);
        std::thread::scope(|scope| {
            let leaver = scope.spawn(|| queue.pop(|| stay.load(Ordering::SeqCst)));
            std::thread::sleep(std::time::Duration::from_millis(20));
            let stayer = scope.spawn(|| queue.pop(|| true));
            std::thread::sleep(std::time::Duration::from_millis(20));
            stay.store(false, Ordering::SeqCst);
            // The one wake-up of this push may go to the leaver, who waits longest.
            queue.push(7).unwrap();
            assert_eq!(stayer.join().unwrap(), Popped::Item(7));
            queue.wake_all();
            assert_eq!(leaver.join().unwrap(), Popped::Dismissed);
        });
    }

    #[test]
    fn depth_below_a_new_capacity_waits_and_drops_nothing() {
        let registry = Registry::default();
        let queue = Queue::new(&registry, "q", 4);
        (0..4).for_each(|i| queue.push(i).unwrap());
        queue.set_capacity(2);
        assert_eq!(queue.try_push(9), Err(9));
        for expected in 0..4 {
            assert_eq!(queue.pop(|| true), Popped::Item(expected));
        }
        assert_eq!(queue.try_push(9), Ok(()));
        assert_eq!(queue.abort(), vec![9]);
        assert_eq!(queue.pop(|| true), Popped::Closed);
    }
}
