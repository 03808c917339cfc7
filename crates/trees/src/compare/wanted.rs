//! Makes a table of the pieces of a batch of contents. The pieces of all other contents are looked
//! up in this table.

use std::sync::atomic::{AtomicU32, Ordering};

use resemble_core::bits::BitSet;
use resemble_core::similarity::Sketch;
use resemble_relate::nominate::evidence::{CHUNK, chunk_keys};
use resemble_relate::parallel::threads;

/// Fills `keys` with the distinct evidence keys of a content. Fingerprints are unchanged, and
/// chunks are marked with [`CHUNK`].
pub(super) fn evidence_keys(sketch: &Sketch<'_>, keys: &mut Vec<u64>) {
    keys.clear();
    keys.extend(chunk_keys(sketch).iter().map(|key| key | CHUNK));
    keys.extend(sketch.signature.fingerprints.iter().map(|f| f.0));
}

/// Spreads a key over all values of `u64`, so that its top bits can select a slot. A key is already
/// a hash, so one multiplication is enough.
pub(super) const fn spread(key: u64) -> u64 {
    (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// All keys of a batch of contents, and the contents that have each key.
pub(super) struct WantedKeys {
    /// The distinct keys.
    pub(super) keys: Vec<u64>,
    starts: Vec<u32>,
    /// The contents that have each key. The contents of `keys[0]` begin at `starts[0]`, then the
    /// contents of `keys[1]` follow, and so on. A content is given by its place in the batch, with
    /// the number of bytes of the piece. Places of one key ascend.
    places: Vec<(u32, u32)>,
    /// The number of contents that have each key. They are counted while all contents are visited.
    counts: Vec<AtomicU32>,
    /// The indexes of the boilerplate keys in `keys`. This set is filled after the contents are
    /// counted.
    common: BitSet,
    /// A hash table with open addressing, at most half full. A slot has an index into `keys` plus
    /// one. 0 means a free slot.
    slots: Vec<u32>,
    shift: u32,
    /// The filter in which a bit is set for each wanted key. It is checked first, because most keys
    /// are not wanted and the filter fits into the processor's cache.
    filter: Vec<u64>,
}

/// The logarithm, to the base 2, of the number of bits in the filter. The filter takes 2 MiB.
const FILTER: u32 = 24;

impl WantedKeys {
    /// Builds the table from triples in any order. A triple has a key, a place in the batch, and
    /// the size of the piece in bytes. A key occurs once per place.
    pub(super) fn new(pairs: Vec<(u64, u32, u32)>) -> Self {
        // The sort is half of the work. So the keys are divided by some bits of their hash, and
        // each thread sorts one part.
        let threads = threads().next_power_of_two();
        let mut parts: Vec<Vec<(u64, u32, u32)>> = vec![Vec::new(); threads];
        for part in &mut parts {
            part.reserve(pairs.len() / threads + 1);
        }
        for pair in pairs {
            parts[(spread(pair.0) as usize >> 8) & (threads - 1)].push(pair);
        }
        std::thread::scope(|scope| {
            for part in &mut parts {
                scope.spawn(|| part.sort_unstable());
            }
        });
        let mut keys = Vec::new();
        let mut starts = Vec::new();
        let mut places = Vec::with_capacity(parts.iter().map(Vec::len).sum());
        for (key, place, bytes) in parts.into_iter().flatten() {
            if keys.last() != Some(&key) {
                keys.push(key);
                starts.push(places.len() as u32);
            }
            places.push((place, bytes));
        }
        starts.push(places.len() as u32);
        let bits = (keys.len() * 2).next_power_of_two().trailing_zeros().max(1);
        let shift = 64 - bits;
        let mut slots = vec![0u32; 1 << bits];
        let mut filter = vec![0u64; 1 << (FILTER - 6)];
        for (at, &key) in keys.iter().enumerate() {
            let hash = spread(key);
            let bit = hash >> (64 - FILTER);
            filter[(bit >> 6) as usize] |= 1 << (bit & 63);
            let mut slot = (hash >> shift) as usize;
            while slots[slot] != 0 {
                slot = (slot + 1) & (slots.len() - 1);
            }
            slots[slot] = at as u32 + 1;
        }
        let counts = keys.iter().map(|_| AtomicU32::new(0)).collect();
        Self {
            keys,
            starts,
            places,
            counts,
            common: BitSet::default(),
            slots,
            shift,
            filter,
        }
    }

    /// Returns the index of a key in [`Self::keys`], if the key is there.
    pub(super) fn find(&self, key: u64) -> Option<usize> {
        let hash = spread(key);
        let bit = hash >> (64 - FILTER);
        if self.filter[(bit >> 6) as usize] >> (bit & 63) & 1 == 0 {
            return None;
        }
        let mut slot = (hash >> self.shift) as usize;
        loop {
            match self.slots[slot] {
                0 => return None,
                at if self.keys[at as usize - 1] == key => return Some(at as usize - 1),
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// Counts one more content that has the key with this index.
    pub(super) fn count(&self, at: usize) {
        self.counts[at].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of contents that were counted for the key with this index.
    pub(super) fn counted(&self, at: usize) -> u32 {
        self.counts[at].load(Ordering::Relaxed)
    }

    /// Marks the keys for which `is_common` returns true as boilerplate. `is_common` is called with
    /// the index of a key.
    pub(super) fn decide(&mut self, is_common: impl Fn(&Self, usize) -> bool) {
        let mut common = BitSet::default();
        for at in (0..self.keys.len()).filter(|&at| is_common(self, at)) {
            common.insert(at as u32);
        }
        self.common = common;
    }

    /// Returns whether the key with this index is boilerplate.
    pub(super) fn is_common(&self, at: usize) -> bool {
        self.common.has(at as u32)
    }

    /// Returns the places in the batch of the contents that have the key with this index. Each has
    /// the bytes of the piece.
    pub(super) fn places(&self, at: usize) -> &[(u32, u32)] {
        &self.places[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    proptest! {
        #[test]
        fn finds_what_a_map_finds(
            pairs in prop::collection::btree_set((0u64..500, 0u32..20), 0..300),
            others in prop::collection::vec(any::<u64>(), 0..50),
        ) {
            let mut naive: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
            for &(key, place) in &pairs {
                naive.entry(key | CHUNK).or_default().insert(place);
            }
            let pairs = pairs.into_iter().map(|(key, place)| (key | CHUNK, place, 7));
            let wanted = WantedKeys::new(pairs.rev().collect());
            for key in (0..500).map(|key| key | CHUNK).chain(others) {
                let found = wanted.find(key).map(|at| wanted.places(at).to_vec());
                let expected = naive
                    .get(&key)
                    .map(|places| places.iter().map(|&place| (place, 7)).collect());
                prop_assert_eq!(found, expected);
            }
        }
    }
}
