//! The two threads that watch: one for what is answered at once, one for what blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::call::Lane;
use super::sample::{GpuSample, GpuWatch};
use super::source::Source;
use super::visible::Visible;
use super::watch::{Account, Watch};
use crate::probe::clock::{self, Nanos, RealClock};
use crate::probe::registry::{OWN, Registry};

/// At the end a thread that hangs in the driver is left behind after this time.
const LONGEST_END: Duration = Duration::from_millis(500);

/// GPUs that are being watched.
#[derive(Debug)]
pub struct Gpus {
    account: Arc<Account>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Gpus {
    /// Starts to watch what `source` has; times count from `start`. The driver is first asked on the
    /// thread itself: opening it may take a second.
    ///
    /// # Errors
    /// Where the system has no thread to give.
    pub fn start(
        source: Arc<dyn Source>,
        registry: &Arc<Registry>,
        start: Nanos,
    ) -> std::io::Result<Self> {
        let account = Arc::new(Account::default());
        account.starting();
        let stop = Arc::new(AtomicBool::new(false));
        let work = Work {
            source,
            account: Arc::clone(&account),
            registry: Arc::clone(registry),
            stop: Arc::clone(&stop),
            start,
        };
        let thread = thread::Builder::new().name("gpu".to_owned()).spawn(move || work.run())?;
        Ok(Self { account, stop, thread: Some(thread) })
    }

    /// What is known as of now.
    pub fn read(&self) -> (GpuWatch, Vec<GpuSample>) {
        self.account.read()
    }
}

impl Drop for Gpus {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else { return };
        thread.thread().unpark();
        let asked = Instant::now();
        while !thread.is_finished() && asked.elapsed() < LONGEST_END {
            thread::sleep(Duration::from_millis(2));
        }
        if !thread.is_finished() {
            tracing::warn!(
                "the GPU driver does not come back from a call: its thread is left behind"
            );
        } else if thread.join().is_err() {
            tracing::error!("the thread that watches the GPUs panicked: their figures ended then");
        }
    }
}

/// What a thread that watches needs.
#[derive(Clone)]
struct Work {
    source: Arc<dyn Source>,
    account: Arc<Account>,
    registry: Arc<Registry>,
    stop: Arc<AtomicBool>,
    start: Nanos,
}

impl Work {
    fn run(self) {
        let gpus = self.account.open(&*self.source, &Visible::from_env());
        if gpus.is_empty() {
            return;
        }
        // Where there is nothing to watch, no thread is listed.
        let _registered = self.registry.register("gpu", OWN);
        let slow = {
            let (work, gpus) = (self.clone(), gpus.clone());
            thread::Builder::new().name("gpu-slow".to_owned()).spawn(move || {
                let _registered = work.registry.register("gpu-slow", OWN);
                work.watch(Lane::Slow, &gpus);
            })
        };
        if let Err(error) = &slow {
            tracing::warn!("no thread for the GPU's slow figures, which will be missing: {error}");
        }
        self.watch(Lane::Fast, &gpus);
        if let Ok(slow) = slow {
            slow.thread().unpark();
            let _ = slow.join();
        }
    }

    fn watch(&self, lane: Lane, gpus: &[GpuSample]) {
        let (source, account) = (Arc::clone(&self.source), Arc::clone(&self.account));
        let mut watch = Watch::new(lane, gpus, source, account, Arc::new(RealClock), self.start);
        while !self.stop.load(Ordering::Acquire) {
            let Some(next) = watch.turn() else { return };
            let wait = next.saturating_sub(clock::now());
            if wait > 0 && !self.stop.load(Ordering::Acquire) {
                thread::park_timeout(Duration::from_nanos(wait));
            }
        }
    }
}
