//! Threads on which `rten` computes in place.
//!
//! A run on a pool from outside blocks the caller and burns the CPU of the pool's threads, so that a
//! profiler would see a worker wait and a stranger work. A worker therefore lives on the only thread
//! of its own pool, where a run is a plain call.

use rten::ThreadPool;
use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

thread_local! {
    /// The pool whose only thread this is.
    static OWN: RefCell<Option<Arc<ThreadPool>>> = const { RefCell::new(None) };
}

/// The pool whose only thread is the calling one, if it came from [`spawn`].
pub(super) fn own_pool() -> Option<Arc<ThreadPool>> {
    OWN.with_borrow(Clone::clone)
}

/// Runs `body` on a new thread that is a pool of one; see [`own_pool`].
pub(super) fn spawn(body: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    let pool = Arc::new(ThreadPool::with_num_threads(1));
    let caller = std::thread::current().id();
    let own = Arc::clone(&pool);
    pool.run(move || {
        // A pool that could not start its thread runs things on the caller's.
        if std::thread::current().id() == caller {
            return Err(io::Error::other(
                "no thread for an infer worker: the system's limit is reached",
            ));
        }
        rayon::spawn(move || {
            OWN.set(Some(own));
            // rayon would abort the process; on a plain thread a panic ends that thread alone.
            let _ = catch_unwind(AssertUnwindSafe(body));
            // Or the thread would keep its own pool alive, and the pool the thread.
            OWN.set(None);
        });
        Ok(())
    })
}
