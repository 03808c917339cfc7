//! Counts features that are passed one by one. Memory grows only with the number of distinct
//! features.

/// Counts how often each key occurs.
///
/// Keys are appended to a list. When the list is twice as long as after the last compaction, it is
/// compacted. Then it is sorted, and the counts of equal keys are added. That takes O(n log n) in
/// total. The list never has more entries than twice the number of distinct keys (or than
/// [`Tally::ROOM`]).
#[derive(Clone, Debug)]
pub(crate) struct Tally<K> {
    entries: Vec<(K, u64)>,
    room: usize,
}

impl<K: Ord + Copy> Default for Tally<K> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            room: Self::ROOM,
        }
    }
}

impl<K: Ord + Copy> Tally<K> {
    /// The minimum number of entries at which the list is compacted.
    const ROOM: usize = 1 << 12;

    /// Adds `count` to the count of `key`.
    #[inline]
    pub(crate) fn add(&mut self, key: K, count: u64) {
        match self.entries.last_mut() {
            Some(last) if last.0 == key => last.1 = last.1.saturating_add(count),
            _ => self.entries.push((key, count)),
        }
        if self.entries.len() >= self.room {
            self.compact();
        }
    }

    fn compact(&mut self) {
        self.entries.sort_unstable_by_key(|&(key, _)| key);
        self.entries.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        self.room = Self::ROOM.max(2 * self.entries.len());
    }

    /// Returns every key with its count, in the order of the keys, and begins again without keys.
    pub(crate) fn take(&mut self) -> Vec<(K, u64)> {
        self.compact();
        self.room = Self::ROOM;
        std::mem::take(&mut self.entries)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn counts_are_those_of_a_map_and_memory_is_bounded() {
        let (mut tally, mut map) = (Tally::default(), BTreeMap::new());
        for i in 0..100_000u64 {
            let key = i * i % 5003;
            tally.add(key, 1 + i % 3);
            *map.entry(key).or_insert(0) += 1 + i % 3;
            assert!(tally.entries.len() <= 2 * 5003);
        }
        assert_eq!(tally.take(), map.into_iter().collect::<Vec<_>>());
        assert_eq!(tally.take(), []);
    }
}
