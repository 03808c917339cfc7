//! Finds boilerplate in a comparison. A key is boilerplate if it is in more contents than the limit
//! allows. The counts are exact, and the memory is bounded.
//!
//! A key is a chunk or a fingerprint. In the source tree of a kernel, each content has 90 keys, and
//! a few hundred keys are common. Subjects are the contents that are looked up. Their keys are
//! counted one by one ([`super::wanted::WantedKeys`]). All other keys are counted in buckets during
//! the first scan. In the second scan, the keys of buckets above the limit are counted exactly. The
//! memory does not grow with the trees.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};

use resemble_core::Fingerprint;
use resemble_core::similarity::Boilerplate;
use resemble_relate::nominate::evidence::CHUNK;

use super::wanted::spread;

/// The maximum number of bits of a bucket's number. With all bits, the buckets take 16 MiB.
const BUCKETS: u32 = 22;

/// The number of buckets for each content. A content of a source tree has 90 keys.
const BUCKETS_FOR_EACH: usize = 64;

/// The logarithm, to the base 2, of the number of bits in the filter. The filter is checked before
/// the set.
const FILTER: u32 = 16;

/// Counters of keys. Several keys share a counter.
#[derive(Debug)]
pub(super) struct Buckets {
    counts: Vec<AtomicU32>,
    bits: u32,
    limit: u32,
}

impl Buckets {
    /// Returns counters for this number of contents. If there are at most `limit` contents, no key
    /// can be common, so nothing is counted.
    pub(super) fn new(contents: usize, limit: u32) -> Self {
        let all = contents.saturating_mul(BUCKETS_FOR_EACH);
        let bits = all.max(BUCKETS_FOR_EACH).ilog2().min(BUCKETS);
        let buckets = if contents > limit as usize {
            1 << bits
        } else {
            0
        };
        let counts = (0..buckets).map(|_| AtomicU32::new(0)).collect();
        Self {
            counts,
            bits,
            limit,
        }
    }

    fn of(&self, key: u64) -> Option<&AtomicU32> {
        self.counts.get((spread(key) >> (64 - self.bits)) as usize)
    }

    /// Counts one more content that has this key.
    pub(super) fn count(&self, key: u64) {
        if let Some(bucket) = self.of(key) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the buckets whose keys may be boilerplate, or `None` if no bucket exceeds the limit.
    pub(super) fn suspects(&self) -> Option<Suspects> {
        let mut buckets = vec![0u64; self.counts.len() / 64];
        let mut any = false;
        for (at, count) in self.counts.iter().enumerate() {
            if count.load(Ordering::Relaxed) > self.limit {
                buckets[at / 64] |= 1 << (at % 64);
                any = true;
            }
        }
        let bits = self.bits;
        any.then_some(Suspects { buckets, bits })
    }
}

/// The buckets above the limit, one bit for each bucket. The bits take at most half a megabyte,
/// which fits into the processor's cache.
#[derive(Debug)]
pub(super) struct Suspects {
    buckets: Vec<u64>,
    bits: u32,
}

impl Suspects {
    /// Returns whether the bucket of a key is above the limit.
    pub(super) fn has(&self, key: u64) -> bool {
        let at = (spread(key) >> (64 - self.bits)) as usize;
        self.buckets[at / 64] >> (at % 64) & 1 == 1
    }
}

/// The keys that are in more contents than the limit allows.
#[derive(Debug, Default)]
pub(super) struct CommonKeys {
    keys: HashSet<u64>,
    filter: Vec<u64>,
}

impl CommonKeys {
    /// Returns the keys whose total counts in all parts exceed the limit.
    pub(super) fn of(parts: impl IntoIterator<Item = HashMap<u64, u32>>, limit: u32) -> Self {
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for part in parts {
            for (key, count) in part {
                *counts.entry(key).or_default() += count;
            }
        }
        let mut common = Self::default();
        for (key, count) in counts {
            if count > limit {
                common.add(key);
            }
        }
        common
    }

    /// Adds a common key.
    pub(super) fn add(&mut self, key: u64) {
        self.filter.resize(1 << (FILTER - 6), 0);
        let bit = spread(key) >> (64 - FILTER);
        self.filter[(bit >> 6) as usize] |= 1 << (bit & 63);
        self.keys.insert(key);
    }

    /// Returns whether a key is boilerplate. The key must have the form that
    /// [`super::wanted::evidence_keys`] returns.
    pub(super) fn has(&self, key: u64) -> bool {
        let bit = spread(key) >> (64 - FILTER);
        let word = self.filter.get((bit >> 6) as usize).copied().unwrap_or(0);
        word >> (bit & 63) & 1 == 1 && self.keys.contains(&key)
    }
}

impl Boilerplate for CommonKeys {
    fn chunk(&self, key: u64) -> bool {
        self.has(key | CHUNK)
    }

    fn fingerprint(&self, fingerprint: Fingerprint) -> bool {
        self.has(fingerprint.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_common_from_one_more_than_the_limit_on() {
        // Content n has the keys from 0 to n. So key k is in every content from content k on.
        let keys = |content: u64| (0..=content).map(|key| key | CHUNK);
        let buckets = Buckets::new(50, 10);
        (0..50).flat_map(keys).for_each(|key| buckets.count(key));
        let suspects = buckets.suspects().expect("some");
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for key in (0..50).flat_map(keys).filter(|&key| suspects.has(key)) {
            *counts.entry(key).or_default() += 1;
        }
        let common = CommonKeys::of([counts], 10);
        for key in 0..50u64 {
            assert_eq!(common.chunk(key), 50 - key > 10, "{key}");
            assert!(!common.fingerprint(Fingerprint(key)));
        }
    }

    #[test]
    fn as_many_contents_as_the_limit_have_nothing_in_common() {
        let buckets = Buckets::new(10, 10);
        (0..1000).for_each(|_| buckets.count(7));
        assert!(buckets.suspects().is_none());
    }
}
