//! Which GPU is shown.

use super::App;
use crate::tui::table::List;

/// The state of the GPU screen.
#[derive(Clone, Debug, Default)]
pub struct GpusView {
    list: List<String>,
    /// Whether the person chose one; until then the engine's is shown.
    chosen: bool,
}

impl App {
    /// The state of the GPU screen.
    pub const fn gpus(&self) -> &GpusView {
        &self.gpus
    }

    /// The engine's GPU, or the first that the run may use; `None` where there is none.
    pub fn engine_gpu(&self) -> Option<usize> {
        let snapshot = self.snapshot()?;
        let usable = || snapshot.gpus.iter().position(|gpu| gpu.usable != Some(false));
        snapshot.engine_gpu().or_else(usable)
    }

    /// The GPU that its screen shows; `None` where there is none.
    pub fn gpu(&self) -> Option<usize> {
        let keys = self.gpu_keys();
        if keys.is_empty() {
            return None;
        }
        let at_first = self.engine_gpu().filter(|_| !self.gpus.chosen);
        Some(at_first.unwrap_or_else(|| self.gpus.list.index(&keys)))
    }

    /// The selected row of the GPUs' table and the first one shown, where `page` have room.
    pub fn gpu_place(&self, page: usize) -> (usize, usize) {
        let (selected, keys) = (self.gpu().unwrap_or(0), self.gpu_keys());
        let mut list = self.gpus.list.clone();
        list.select(&keys, selected, page);
        (selected, list.first(&keys, page))
    }

    pub(super) fn gpu_keys(&self) -> Vec<String> {
        let gpus = self.snapshot().map(|snapshot| snapshot.gpus.as_slice()).unwrap_or_default();
        gpus.iter().map(|gpu| format!("{} {}", gpu.facts.number(), gpu.facts.uuid)).collect()
    }

    pub(super) fn select_gpu(&mut self, index: usize, page: usize) {
        let keys = self.gpu_keys();
        self.gpus.list.select(&keys, index, page);
        self.gpus.chosen = !keys.is_empty();
    }
}
