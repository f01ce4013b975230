//! Saving while a run goes on, on a thread of its own: whoever measures only hands over a pointer.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::JoinHandle;

use super::Figures;
use super::write::Encoder;
use crate::probe::registry::{OWN, Registry};
use crate::profile::snapshot::Snapshot;

/// Snapshots that wait to be written at most: six seconds at the default rate.
const WAITING: usize = 64;
/// The most bytes of a saved run where nothing else is set: about half a day.
pub const DEFAULT_LIMIT: u64 = 1 << 30;

/// Why a run is not saved, or no further.
#[derive(Debug, thiserror::Error)]
#[error("{}: the run cannot be saved: {error}", .path.display())]
pub struct SaveError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub error: io::Error,
}

/// What was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The file.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// Snapshots in it.
    pub snapshots: u64,
    /// Snapshots that are not.
    pub lost: u64,
    /// Whether they are not for want of room.
    pub full: bool,
}

/// Saves the snapshots of a run.
#[derive(Debug)]
pub struct Saver {
    path: PathBuf,
    sender: SyncSender<Message>,
    missed: Arc<AtomicU64>,
    thread: JoinHandle<io::Result<Saved>>,
}

#[derive(Debug)]
enum Message {
    Snapshot(Arc<Snapshot>),
    End(Box<Figures>),
}

/// Hands snapshots over without ever waiting.
#[derive(Clone, Debug)]
pub struct Sink {
    sender: SyncSender<Message>,
    missed: Arc<AtomicU64>,
}

impl Sink {
    /// Hands over a snapshot; where the disk does not keep up it is counted as lost.
    pub fn push(&self, snapshot: &Arc<Snapshot>) {
        // A saver that has failed says so at the end.
        if let Err(TrySendError::Full(_)) =
            self.sender.try_send(Message::Snapshot(Arc::clone(snapshot)))
        {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Saver {
    /// Begins a file, what was in it before gone.
    ///
    /// # Errors
    /// Where it cannot be written, or there is no thread to write with.
    pub fn start(path: &Path, limit: u64, registry: &Arc<Registry>) -> Result<Self, SaveError> {
        let failed = |error| SaveError { path: path.to_owned(), error };
        let encoder = File::create(path).and_then(|file| Encoder::begin(file, limit));
        let encoder = encoder.map_err(failed)?;
        let (sender, messages) = mpsc::sync_channel(WAITING);
        let missed = Arc::new(AtomicU64::new(0));
        let (registry, counted, to) = (Arc::clone(registry), Arc::clone(&missed), path.to_owned());
        let thread = std::thread::Builder::new().name("saver".to_owned()).spawn(move || {
            let _registered = registry.register("saver", OWN);
            write(encoder, to, &messages, &counted)
        });
        Ok(Self { path: path.to_owned(), sender, missed, thread: thread.map_err(failed)? })
    }

    /// Where snapshots are handed over.
    pub fn sink(&self) -> Sink {
        Sink { sender: self.sender.clone(), missed: Arc::clone(&self.missed) }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Where it could not be written to the end; what is in it can be read.
    pub fn finish(self, figures: Figures) -> Result<Saved, SaveError> {
        let Self { path, sender, thread, .. } = self;
        // A thread that has failed takes nothing more, and tells why below.
        let _ = sender.send(Message::End(Box::new(figures)));
        drop(sender);
        let ended = thread.join().unwrap_or_else(|_| Err(io::Error::other("a fault of pipetop")));
        ended.map_err(|error| SaveError { path, error })
    }
}

fn write(
    mut encoder: Encoder<File>,
    path: PathBuf,
    messages: &Receiver<Message>,
    missed: &AtomicU64,
) -> io::Result<Saved> {
    while let Ok(message) = messages.recv() {
        encoder.lose(missed.swap(0, Ordering::Relaxed));
        match message {
            Message::Snapshot(snapshot) => encoder.push(&snapshot)?,
            Message::End(figures) => {
                encoder.end(&figures)?;
                break;
            }
        }
    }
    encoder.flush()?;
    Ok(Saved {
        path,
        bytes: encoder.written(),
        snapshots: encoder.count(),
        lost: encoder.lost(),
        full: encoder.is_full(),
    })
}
