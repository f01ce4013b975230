//! A run in a file of its own.

use std::path::PathBuf;
use std::sync::Arc;

use pipetop::profile::snapshot::Snapshot;
use pipetop::record::player::Player;
use pipetop::record::stream::write::Encoder;
use pipetop::record::stream::{Figures, Stream};
use tempfile::TempDir;

/// A saved run; the file goes with this.
pub(crate) struct Saved {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Saved {
    pub(crate) fn new(run: &[Arc<Snapshot>]) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("run.pipetop");
        let file = std::fs::File::create(&path).unwrap();
        let mut encoder = Encoder::begin(file, 1 << 26).unwrap();
        for snapshot in run {
            encoder.push(snapshot).unwrap();
        }
        let at = |index: usize| Arc::clone(&run[index]);
        let figures = Figures { warm: at(0), end: at(run.len() - 2), done: at(run.len() - 1) };
        encoder.end(&figures).unwrap();
        Self { folder, path }
    }

    pub(crate) fn player(&self, speed: f64, looping: bool) -> Player {
        Player::new(Stream::open(&self.path).unwrap(), speed, looping).unwrap()
    }
}
