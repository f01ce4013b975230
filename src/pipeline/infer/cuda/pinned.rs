//! Pinned memory for batches, so that a device takes pictures from where they were written.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::driver::Pinned;
use crate::pipeline::slab::HostMemory;

/// All pinned memory that was given out and lives.
#[derive(Debug, Default)]
pub(super) struct Given(Mutex<BTreeMap<usize, usize>>);

struct Piece {
    memory: Pinned,
    given: Arc<Given>,
}

impl Given {
    /// Gives out pinned memory.
    pub(super) fn give(self: &Arc<Self>, memory: Pinned) -> Box<dyn HostMemory> {
        self.add(memory.start() as usize, memory.bytes());
        Box::new(Piece { memory, given: Arc::clone(self) })
    }

    fn add(&self, start: usize, bytes: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(start, bytes);
    }

    fn remove(&self, start: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&start);
    }

    /// Whether all of these bytes lie in a piece of it.
    pub(super) fn holds(&self, bytes: &[u8]) -> bool {
        let first = bytes.as_ptr() as usize;
        let pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = pieces.range(..=first).next_back();
        before.is_some_and(|(start, len)| first + bytes.len() <= start + len)
    }
}

#[expect(unsafe_code, reason = "the memory is the driver's")]
// SAFETY: the driver's page-locked memory is aligned to pages, zeroed when made, lives as long as `memory`, and nobody
// else uses it.
unsafe impl HostMemory for Piece {
    fn start(&self) -> *mut u8 {
        self.memory.start()
    }

    fn bytes(&self) -> usize {
        self.memory.bytes()
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.given.remove(self.memory.start() as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_known_as_long_as_it_lives_and_not_beyond_its_end() {
        let (given, memory) = (Given::default(), [0_u8; 64]);
        assert!(!given.holds(&memory));
        given.add(memory.as_ptr() as usize, 32);
        assert!(given.holds(&memory[..32]) && given.holds(&memory[8..16]));
        assert!(!given.holds(&memory[8..33]) && !given.holds(&memory[32..]));
        given.remove(memory.as_ptr() as usize);
        assert!(!given.holds(&memory[..1]));
    }
}
