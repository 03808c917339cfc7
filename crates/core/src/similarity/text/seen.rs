//! Records which shingles several texts may have, in a few bits for each shingle.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of shingles whose bits are loaded before the first bit is written.
const AT_ONCE: usize = 16;

/// The shingles that were noted once, and those that were noted again. A shingle that was noted
/// twice is always reported as repeated. Another shingle may be reported wrongly, because of a
/// collision. Several threads can note shingles at the same time.
#[derive(Debug)]
pub struct SeenShingles {
    /// Bits of the shingles noted once, and next to them bits of the shingles noted again. So the
    /// bits of both kinds are loaded from memory together.
    seen: Vec<[AtomicU64; 2]>,
}

impl SeenShingles {
    /// Makes a set for texts of this many bytes: a bit for each byte, so about eight bits for each
    /// shingle.
    pub fn for_bytes(bytes: u64) -> Self {
        let words = (bytes / 64).clamp(16, 1 << 26);
        let seen = (0..words).map(|_| [const { AtomicU64::new(0) }; 2]);
        Self {
            seen: seen.collect(),
        }
    }

    fn bit(&self, shingle: u64) -> (&[AtomicU64; 2], u64) {
        // The high bits choose the word, so the set may have any size and not only a power of two.
        let word = (u128::from(shingle) * self.seen.len() as u128) >> 64;
        (&self.seen[word as usize], 1 << (shingle & 63))
    }

    /// Notes shingles.
    pub fn note(&self, shingles: &[u64]) {
        // The bits of several shingles are loaded together, so the writes after the loads do not
        // wait for memory.
        for some in shingles.chunks(AT_ONCE) {
            let mut looked = [0; AT_ONCE];
            for (looked, &shingle) in looked.iter_mut().zip(some) {
                let ([once, _], _) = self.bit(shingle);
                *looked = once.load(Ordering::Relaxed);
            }
            for (looked, &shingle) in looked.iter().zip(some) {
                let ([once, again], bit) = self.bit(shingle);
                if looked & bit != 0 || once.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
                    again.fetch_or(bit, Ordering::Relaxed);
                }
            }
        }
    }

    /// Returns whether a shingle may have been noted repeatedly.
    pub fn repeatedly(&self, shingle: u64) -> bool {
        let ([_, again], bit) = self.bit(shingle);
        again.load(Ordering::Relaxed) & bit != 0
    }
}
