//! A set of hashes small enough for the cache.

/// A Bloom filter of at most 4 MB. Each hash sets up to three bits, all in one word (Putze, Sanders
/// and Singler 2007, "Cache-, hash- and space-efficient Bloom filters").
pub(super) struct Filter(Vec<u64>);

impl Filter {
    /// Makes an empty filter for `count` hashes.
    pub(super) fn new(count: usize) -> Self {
        Self(vec![0; (count / 4).next_power_of_two().clamp(1, 1 << 19)])
    }

    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        let word = (hash >> 18) as usize & (self.0.len() - 1);
        let bit = |shift: u32| 1 << (hash >> shift & 63);
        (word, bit(0) | bit(6) | bit(12))
    }

    pub(super) fn add(&mut self, hash: u64) {
        let (word, bits) = self.place(hash);
        self.0[word] |= bits;
    }

    /// Returns false only if the hash was not added.
    #[inline]
    pub(super) fn may_have(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        self.0[word] & bits == bits
    }
}
