//! Memory that is used again: read buffers, and encoded images kept for `source.cache = bytes`.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::item::Bytes;
use crate::probe::lock::Mutex;
use crate::probe::registry::Registry;

/// Read buffers that go round between load and preprocess.
#[derive(Debug)]
pub struct Buffers {
    spare: Mutex<Vec<Vec<u8>>>,
}

/// Spare buffers kept at most.
const MOST_SPARE: usize = 512;
/// A buffer that once held a much larger image is not kept.
const LARGEST_SPARE: usize = 16 << 20;

impl Buffers {
    /// An empty pool.
    pub fn new(registry: &Registry) -> Self {
        Self { spare: Mutex::new(registry, "load.buffers", Vec::new()) }
    }

    /// A buffer, empty but with the capacity of its last use.
    pub fn take(&self) -> Vec<u8> {
        self.spare.lock().pop().unwrap_or_default()
    }

    /// Gives an image's bytes back.
    pub fn give(&self, bytes: Bytes) {
        if let Bytes::Owned(mut buffer) = bytes
            && buffer.capacity() <= LARGEST_SPARE
        {
            buffer.clear();
            let mut spare = self.spare.lock();
            if spare.len() < MOST_SPARE {
                spare.push(buffer);
            }
        }
    }
}

/// Encoded images kept in memory, each once, up to a limit in bytes.
#[derive(Debug)]
pub struct ByteCache {
    entries: Box<[OnceLock<Arc<[u8]>>]>,
    used: AtomicU64,
    limit: u64,
}

impl ByteCache {
    /// An empty cache for `inputs` images of `limit` bytes together.
    pub fn new(inputs: usize, limit: u64) -> Self {
        let entries = (0..inputs).map(|_| OnceLock::new()).collect();
        Self { entries, used: AtomicU64::new(0), limit }
    }

    /// An image's bytes, if they are kept.
    pub fn get(&self, input: usize) -> Option<Arc<[u8]>> {
        self.entries.get(input)?.get().cloned()
    }

    /// Keeps an image's bytes if there is room; what does not fit is read from its file each time.
    pub fn keep(&self, input: usize, bytes: &[u8]) {
        let size = bytes.len() as u64;
        let Some(entry) = self.entries.get(input) else { return };
        if self.used.load(Ordering::Relaxed) + size <= self.limit && entry.get().is_none() {
            self.used.fetch_add(size, Ordering::Relaxed);
            if entry.set(Arc::from(bytes)).is_err() {
                self.used.fetch_sub(size, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_empty_with_its_capacity() {
        let buffers = Buffers::new(&Registry::default());
        let mut buffer = buffers.take();
        buffer.extend([1; 1000]);
        buffers.give(Bytes::Owned(buffer));
        let again = buffers.take();
        assert!(again.is_empty() && again.capacity() >= 1000);
        buffers.give(Bytes::Owned(Vec::with_capacity(LARGEST_SPARE + 1)));
        assert_eq!(buffers.take().capacity(), 0);
    }

    #[test]
    fn the_cache_keeps_each_image_once_and_stays_within_its_limit() {
        let cache = ByteCache::new(3, 10);
        cache.keep(0, &[1; 6]);
        cache.keep(0, &[2; 6]);
        assert_eq!(cache.get(0).as_deref(), Some(&[1u8; 6][..]));
        cache.keep(1, &[3; 6]);
        assert_eq!(cache.get(1), None, "12 bytes would not fit");
        cache.keep(2, &[4; 4]);
        assert_eq!(cache.get(2).as_deref(), Some(&[4u8; 4][..]));
        cache.keep(9, &[]);
        assert_eq!(cache.get(9), None);
    }
}
