//! Which shingles several texts may have, in a bit or two for each.

use std::sync::atomic::{AtomicU64, Ordering};

/// Shingles that were noted once, and those that were noted again. A shingle may be taken for
/// another one that was noted; one that was noted twice is never missed. Threads may note at the
/// same time.
#[derive(Debug)]
pub struct SeenShingles {
    once: Vec<AtomicU64>,
    again: Vec<AtomicU64>,
}

impl SeenShingles {
    /// For so many bytes of text: some eight bits for each shingle.
    pub fn for_bytes(bytes: u64) -> Self {
        let words = (bytes / 64).clamp(16, 1 << 26).next_power_of_two();
        let empty = || (0..words).map(|_| AtomicU64::new(0)).collect();
        Self {
            once: empty(),
            again: empty(),
        }
    }

    fn bit(&self, shingle: u64) -> (usize, u64) {
        let word = (shingle >> 6) as usize & (self.once.len() - 1);
        (word, 1 << (shingle & 63))
    }

    /// Notes shingles.
    pub fn note(&self, shingles: &[u64]) {
        for &shingle in shingles {
            let (word, bit) = self.bit(shingle);
            if self.once[word].fetch_or(bit, Ordering::Relaxed) & bit != 0 {
                self.again[word].fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// Whether a shingle was noted repeatedly, perhaps.
    pub fn repeatedly(&self, shingle: u64) -> bool {
        let (word, bit) = self.bit(shingle);
        self.again[word].load(Ordering::Relaxed) & bit != 0
    }
}
