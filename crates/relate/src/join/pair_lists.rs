//! Stores the pairs of contents that are to be checked, by their places.

use std::path::Path;

use crate::AskError;
use crate::sort::{MemoryBudget, Merge, Record, RunWriter, SortedRun, put_words, take_words};

/// A pair, the lesser place first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CandidatePair {
    pub a: u32,
    pub b: u32,
}

impl Record for CandidatePair {
    const BYTES: usize = 8;

    fn put(&self, out: &mut [u8]) {
        put_words(&[self.a, self.b], out);
    }

    fn take(bytes: &[u8]) -> Self {
        let [a, b] = take_words(bytes);
        Self { a, b }
    }

    fn absorb(&mut self, other: &Self) -> bool {
        self == other
    }
}

/// For each place, the greater places with which it is paired.
#[derive(Debug)]
pub struct PairLists {
    /// The list of a place is from `starts[place]` to `starts[place + 1]`.
    starts: Vec<u64>,
    greater: SortedRun<u32>,
}

impl PairLists {
    /// Builds the lists from sorted runs of pairs. `contents` is the number of all contents.
    pub fn of(
        runs: Vec<SortedRun<CandidatePair>>,
        contents: u32,
        room: MemoryBudget,
        dir: &Path,
    ) -> Result<Self, AskError> {
        let mut merge = Merge::new(runs, room.part(6), dir)?;
        let mut starts = vec![0; contents as usize + 1];
        let mut greater = RunWriter::new(room.part(1), dir)?;
        while let Some(pair) = merge.next()? {
            starts[pair.a as usize + 1] += 1;
            greater.push(pair.b)?;
        }
        let greater = greater.finish()?;
        for place in 0..contents as usize {
            starts[place + 1] += starts[place];
        }
        Ok(Self { starts, greater })
    }

    /// Fills `greater` with the greater places with which `place` is paired, in ascending order.
    pub fn read(&self, place: u32, greater: &mut Vec<u32>) -> Result<(), AskError> {
        greater.clear();
        let (from, to) = (self.starts[place as usize], self.starts[place as usize + 1]);
        self.greater.read(from..to, greater)
    }

    /// Returns the pairs among the contents at these places. A content is given by its index in
    /// `places`. Element `i` has the larger indexes with which `i` is paired, in ascending order.
    pub fn among(&self, places: &[u32]) -> Result<Vec<Vec<u32>>, AskError> {
        let mut numbers: Vec<(u32, u32)> = places.iter().copied().zip(0..).collect();
        numbers.sort_unstable();
        let mut among = vec![Vec::new(); places.len()];
        let mut greater = Vec::new();
        for (place, number) in (0u32..).zip(places).map(|(number, &place)| (place, number)) {
            self.read(place, &mut greater)?;
            for other in &greater {
                let found = numbers.binary_search_by_key(other, |numbered| numbered.0);
                if let Ok(at) = found {
                    let other = numbers[at].1;
                    among[number.min(other) as usize].push(number.max(other));
                }
            }
        }
        for later in &mut among {
            later.sort_unstable();
        }
        Ok(among)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sort::Sorter;

    fn lists(pairs: &[(u32, u32)], room: Option<u64>) -> PairLists {
        let dir = tempfile::tempdir().expect("a folder");
        let mut sorter = Sorter::new(room, dir.path()).expect("a sorter");
        for &(a, b) in pairs {
            sorter.push(CandidatePair { a, b }).expect("pushed");
        }
        let runs = sorter.finish().expect("runs");
        PairLists::of(runs, 60, MemoryBudget(room), dir.path()).expect("lists")
    }

    proptest! {
        /// The lists have each pair once, both in memory and on disk. `among` finds a pair in
        /// either order of its places.
        #[test]
        fn pairs_come_back(
            pairs in prop::collection::vec((0u32..30, 30u32..60), 0..300),
            places in prop::collection::vec(0u32..60, 0..40),
        ) {
            let mut expected = pairs.clone();
            expected.sort_unstable();
            expected.dedup();
            let mut places = places;
            places.sort_unstable_by_key(|place| place % 7);
            places.dedup();
            let mut seen = std::collections::HashSet::new();
            places.retain(|&place| seen.insert(place));
            for room in [None, Some(1 << 20)] {
                let lists = lists(&pairs, room);
                let mut found = Vec::new();
                let mut greater = Vec::new();
                for place in 0..60 {
                    lists.read(place, &mut greater).expect("read");
                    found.extend(greater.iter().map(|&other| (place, other)));
                }
                prop_assert_eq!(&found, &expected);
                let mut among = Vec::new();
                for (number, later) in lists.among(&places).expect("read").iter().enumerate() {
                    for &other in later {
                        prop_assert!(other as usize > number);
                        let (a, b) = (places[number], places[other as usize]);
                        among.push((a.min(b), a.max(b)));
                    }
                }
                among.sort_unstable();
                let is_among = |&&(a, b): &&(u32, u32)| places.contains(&a) && places.contains(&b);
                let all: Vec<(u32, u32)> = expected.iter().filter(is_among).copied().collect();
                prop_assert_eq!(among, all);
            }
        }
    }
}
