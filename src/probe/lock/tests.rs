use super::*;
use std::time::Duration;

#[test]
fn counts_what_happens_and_times_only_what_waits() {
    let registry = Registry::default();
    let mutex = Mutex::new(&registry, "m", 0);
    for _ in 0..100 {
        *mutex.lock() += 1;
    }
    let stats = mutex.stats().unwrap();
    assert_eq!((stats.acquisitions, stats.contended, stats.wait), (100, 0, 0));
    assert!(stats.hold.is_some(), "one in {HOLD_SAMPLE} is sampled");
    assert_eq!(stats.holder, None);

    let guard = mutex.lock();
    assert_eq!(mutex.stats().unwrap().holder, Some(os::thread_id()));
    std::thread::scope(|scope| {
        scope.spawn(|| drop(mutex.lock()));
        while mutex.stats().unwrap().waiters == 0 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(30));
        drop(guard);
    });
    let stats = mutex.stats().unwrap();
    assert_eq!((stats.contended, stats.waiters), (1, 0));
    assert!(stats.wait >= 29_000_000, "{}", stats.wait);
    assert_eq!(stats.wait, stats.wait_max);
    assert_eq!(registry.locks().len(), 1);
}

#[test]
fn a_wait_for_a_condition_is_not_a_lock_wait() {
    let registry = Registry::default();
    let mutex = Mutex::new(&registry, "m", false);
    let condition = Condvar::default();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let thread = registry.register("waiter", "test");
            let mut guard = mutex.lock();
            while !*guard {
                guard = condition.wait(guard, Wait::Starved);
            }
            drop(guard);
            thread.read(clock::now())
        });
        std::thread::sleep(Duration::from_millis(40));
        *mutex.lock() = true;
        condition.notify_all();
        let reading = waiter.join().unwrap();
        assert!(reading.waits[Wait::Starved as usize] >= 30_000_000);
        assert!(reading.waits[Wait::Lock as usize] < 10_000_000);
    });
    let start = clock::now();
    let guard = condition.wait_until(mutex.lock(), Wait::Starved, start + 20_000_000);
    assert!(*guard && clock::now() - start >= 19_000_000);
}

#[test]
fn a_reader_waits_for_a_writer_and_readers_share() {
    let registry = Registry::default();
    let lock = RwLock::new(&registry, "rw", 1);
    {
        let (first, second) = (lock.read(), lock.read());
        assert_eq!(*first + *second, 2);
    }
    let writer = lock.write();
    assert_eq!(lock.stats().unwrap().holder, Some(os::thread_id()));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let thread = registry.register("reader", "test");
            let value = *lock.read();
            (value, thread.read(clock::now()).waits[Wait::Lock as usize])
        });
        while lock.stats().unwrap().waiters == 0 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(30));
        let mut writer = writer;
        *writer = 5;
        drop(writer);
        let (value, waited) = reader.join().unwrap();
        assert_eq!(value, 5);
        assert!(waited >= 29_000_000, "{waited}");
    });
    let stats = lock.stats().unwrap();
    assert_eq!((stats.acquisitions, stats.contended), (4, 1));
}

#[test]
fn who_finds_no_permit_waits_and_the_wait_is_the_semaphores() {
    let registry = Registry::default();
    let semaphore = Semaphore::new(&registry, "slots", 2);
    let (one, two) = (semaphore.acquire(), semaphore.acquire());
    assert!(semaphore.try_acquire().is_none());
    std::thread::scope(|scope| {
        let taker = scope.spawn(|| {
            let thread = registry.register("taker", "test");
            drop(semaphore.acquire());
            thread.read(clock::now()).waits[Wait::Lock as usize]
        });
        while semaphore.stats().unwrap().waiters == 0 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(30));
        drop(one);
        assert!(taker.join().unwrap() >= 29_000_000);
    });
    drop(two);
    let stats = semaphore.stats().unwrap();
    assert!(stats.contended >= 1 && stats.wait >= 29_000_000, "{stats:?}");
    assert_eq!(semaphore.free(), 2);
}

#[test]
fn the_waiting_thread_says_for_which_lock_it_waits() {
    let registry = Registry::default();
    let _other = Mutex::new(&registry, "other", ());
    let mutex = Mutex::timed(&registry, "the one", ());
    let guard = mutex.lock();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _thread = registry.register("waiter", "test");
            drop(mutex.lock());
        });
        let waits_for = loop {
            let threads = registry.threads();
            if let Some(lock) = threads.first().and_then(|t| t.read(clock::now()).lock) {
                break lock;
            }
            std::thread::yield_now();
        };
        assert_eq!(registry.locks()[waits_for as usize].name(), "the one");
        drop(guard);
    });
    assert_eq!(registry.threads()[0].read(clock::now()).lock, None);
    let stats = mutex.stats().unwrap();
    let over = stats.hold.unwrap();
    assert!(stats.hold_exact && over > 0, "each hold is timed");
    let held = mutex.lock();
    std::thread::sleep(Duration::from_millis(30));
    let open = mutex.stats().unwrap().hold.unwrap();
    assert!(open >= over + 29_000_000, "a hold that is not over counts: {over} {open}");
    drop(held);
    let over = mutex.stats().unwrap().hold.unwrap();
    assert!(over >= open && over == mutex.stats().unwrap().hold.unwrap());
}

#[test]
fn without_probes_nothing_is_kept() {
    let registry = Registry::bare();
    let mutex = Mutex::new(&registry, "m", 0);
    let _thread = registry.register("unseen", "test");
    *mutex.lock() += 1;
    assert!(
        mutex.stats().is_none() && registry.locks().is_empty() && registry.threads().is_empty()
    );
    let _own = registry.register("screen", crate::probe::registry::OWN);
    assert_eq!(registry.threads().len(), 1, "what pipetop itself costs is always known");
}

#[test]
fn a_wait_that_is_not_over_is_on_the_table() {
    let registry = Registry::default();
    let mutex = Mutex::new(&registry, "m", ());
    let guard = mutex.lock();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(mutex.lock()));
        while mutex.stats().unwrap().waiters == 0 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(30));
        let open = mutex.stats().unwrap();
        assert_eq!((open.contended, open.acquisitions, open.waiters), (1, 1, 1));
        assert!(open.wait >= 29_000_000 && open.wait_max == open.wait, "{open:?}");
        assert_eq!(open.waits.count(), 0);
        drop(guard);
        while mutex.stats().unwrap().waiters > 0 {
            std::thread::yield_now();
        }
        let over = mutex.stats().unwrap();
        assert!(over.wait >= open.wait && over.contended == 1 && over.waits.count() == 1);
    });
}
