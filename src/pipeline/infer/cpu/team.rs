//! Threads that help with one batch.

use std::io;
use std::sync::{Arc, mpsc};

use super::network::Batch;

/// Helpers by the name `infer-N`. They sleep until a batch comes and end with the team.
pub(super) struct Team {
    helpers: Vec<mpsc::Sender<Arc<Batch>>>,
}

impl Team {
    /// A team of so many threads, the caller's own among them.
    ///
    /// # Errors
    /// Where the system has no thread to give.
    pub(super) fn new(threads: usize) -> io::Result<Self> {
        let helper = |member: usize| {
            let (sender, batches) = mpsc::channel::<Arc<Batch>>();
            let body = move || {
                for batch in batches {
                    batch.take_part(member);
                }
            };
            std::thread::Builder::new().name(format!("infer-{member}")).spawn(body)?;
            Ok(sender)
        };
        (1..threads).map(helper).collect::<io::Result<_>>().map(|helpers| Self { helpers })
    }

    /// Threads, the caller's own among them.
    pub(super) fn threads(&self) -> usize {
        self.helpers.len() + 1
    }

    /// Calls the helpers to a batch, which the caller then takes part in as member 0.
    pub(super) fn call(&self, batch: &Arc<Batch>) {
        for helper in &self.helpers {
            // A helper that broke off is missed by the batch, which says so.
            let _ = helper.send(Arc::clone(batch));
        }
    }
}
