//! Stores measures that an external program made. They are looked up by the two contents of a pair.
//!
//! Pairs are sorted by their contents, in memory or in a scratch file. The first pair of each block
//! of the scratch file stays in memory, so a look-up reads only one block.

use std::path::Path;

use resemble_core::ContentId;
use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::Proven;

use crate::AskError;
use crate::prove::many::KnownMeasures;
use crate::sort::{
    MemoryBudget, Merge, Record, RunWriter, SortedRun, Sorter, put_words, take_words,
};

/// The number of pairs in a block of the scratch file.
const BLOCK: u64 = 256;

/// The contents of a pair, the lesser first.
type MeasuredIds = (u32, u32);

/// The measures of two contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MeasuredRow {
    key: MeasuredIds,
    /// The output of [`Proven::to_words`]. `is_in_words` is 1 if the unit is words.
    words: [u64; 5],
    is_in_words: u32,
}

impl MeasuredRow {
    fn of((a, b): (ContentId, ContentId), found: Proven) -> Self {
        let found = if a > b { found.swapped() } else { found };
        Self {
            key: (a.min(b).0, a.max(b).0),
            words: found.to_words(),
            is_in_words: (found.unit == Unit::Words).into(),
        }
    }

    /// Returns the measures if they are in this unit.
    fn in_unit(&self, unit: Unit) -> Option<Proven> {
        let is_asked = (unit == Unit::Words) == (self.is_in_words == 1);
        is_asked.then(|| Proven::of_words(self.words, unit))?
    }
}

impl Record for MeasuredRow {
    const BYTES: usize = 52;

    fn put(&self, out: &mut [u8]) {
        let (pair, words) = out.split_at_mut(12);
        put_words(&[self.key.0, self.key.1, self.is_in_words], pair);
        for (word, out) in self.words.iter().zip(words.as_chunks_mut().0) {
            *out = word.to_le_bytes();
        }
    }

    fn take(bytes: &[u8]) -> Self {
        let [a, b, is_in_words] = take_words(bytes);
        let words = bytes[12..].as_chunks().0;
        Self {
            key: (a, b),
            words: std::array::from_fn(|at| words.get(at).copied().map_or(0, u64::from_le_bytes)),
            is_in_words,
        }
    }
}

/// Sorts pairs as they are added.
#[derive(Debug)]
pub(super) struct MeasuredSorter<'a> {
    rows: Sorter<MeasuredRow>,
    room: MemoryBudget,
    dir: &'a Path,
}

/// The measures of pairs.
#[derive(Debug)]
pub struct MeasuredPairs {
    /// The first pair of each block.
    first: Vec<MeasuredIds>,
    rows: SortedRun<MeasuredRow>,
}

impl<'a> MeasuredSorter<'a> {
    pub(super) fn new(room: MemoryBudget, dir: &'a Path) -> Result<Self, AskError> {
        let rows = Sorter::new(room.part(6), dir)?;
        Ok(Self { rows, room, dir })
    }

    pub(super) fn push(
        &mut self,
        contents: (ContentId, ContentId),
        found: Proven,
    ) -> Result<(), AskError> {
        self.rows.push(MeasuredRow::of(contents, found))
    }

    pub(super) fn finish(self) -> Result<MeasuredPairs, AskError> {
        let Self { rows, room, dir } = self;
        let mut merge = Merge::new(rows.finish()?, room.part(6), dir)?;
        let mut written = RunWriter::new(room.part(1), dir)?;
        let (mut first, mut count) = (Vec::new(), 0);
        while let Some(row) = merge.next()? {
            if count % BLOCK == 0 {
                first.push(row.key);
            }
            count += 1;
            written.push(row)?;
        }
        let rows = written.finish()?;
        Ok(MeasuredPairs { first, rows })
    }
}

impl MeasuredPairs {
    fn row(&self, key: MeasuredIds) -> Result<Option<MeasuredRow>, AskError> {
        let Some(block) = self
            .first
            .partition_point(|&first| first <= key)
            .checked_sub(1)
        else {
            return Ok(None);
        };
        let from = block as u64 * BLOCK;
        let mut rows = Vec::new();
        let to = self.rows.len().min(from + BLOCK);
        self.rows.read(from..to, &mut rows)?;
        let at = rows.binary_search_by_key(&key, |row| row.key);
        Ok(at.ok().map(|at| rows[at]))
    }
}

impl KnownMeasures for MeasuredPairs {
    fn known(&self, a: ContentId, b: ContentId, unit: Unit) -> Result<Option<Proven>, AskError> {
        let row = self.row((a.min(b).0, a.max(b).0))?;
        let found = row.and_then(|row| row.in_unit(unit));
        Ok(found.map(|found| if a > b { found.swapped() } else { found }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use resemble_core::similarity::Measures;
    use resemble_core::{ByteLen, Score};

    use super::*;

    fn proven(number: u32) -> Proven {
        Proven {
            measures: Measures {
                a_in_b: Some(Score::new(1.0 / f64::from(number + 1))),
                b_in_a: None,
                resemblance: Some(Score::new(0.25)),
                shared_bytes: ByteLen(u64::from(number) << 33),
            },
            unit: if number.is_multiple_of(3) {
                Unit::Bytes
            } else {
                Unit::Words
            },
            is_same_text: number.is_multiple_of(2),
            has_passage: number.is_multiple_of(5),
            is_pattern: number.is_multiple_of(7),
        }
    }

    proptest! {
        /// A pair is found in either order of its contents, but only in its own unit. It makes no
        /// difference whether the measures are in memory or on disk.
        #[test]
        fn pairs_are_found(
            pairs in prop::collection::btree_map((0u32..60, 60u32..90), any::<bool>(), 0..900),
        ) {
            let dir = tempfile::tempdir().expect("a folder");
            for room in [None, Some(1 << 20)] {
                let budget = MemoryBudget(room);
                let mut sorter = MeasuredSorter::new(budget, dir.path()).expect("a sorter");
                for (&(a, b), &is_swapped) in &pairs {
                    let (of, found) = ((ContentId(a), ContentId(b)), proven(a * b));
                    let pushed = if is_swapped {
                        sorter.push((of.1, of.0), found.swapped())
                    } else {
                        sorter.push(of, found)
                    };
                    pushed.expect("pushed");
                }
                let measured = sorter.finish().expect("measures");
                for a in 0..60 {
                    for b in 60..90 {
                        let found = proven(a * b);
                        let (one, other) = (ContentId(a), ContentId(b));
                        for unit in [Unit::Words, Unit::Bytes] {
                            let expected = pairs.contains_key(&(a, b)) && unit == found.unit;
                            let expected = expected.then_some(found);
                            let known = measured.known(one, other, unit).expect("read");
                            prop_assert_eq!(known, expected);
                            let known = measured.known(other, one, unit).expect("read");
                            prop_assert_eq!(known, expected.map(Proven::swapped));
                        }
                    }
                }
            }
        }
    }
}
