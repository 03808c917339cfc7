//! The state that the writer and every snapshot have in memory: the counters and the [`Sets`]. The
//! whole state is also in tables, and is loaded from these tables when the index is opened.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use resemble_core::bits::BitSet;
use resemble_core::similarity::too_small;

use crate::codec::Malformed;
use crate::codec::rows::{FsNumber, StoredFile};
use crate::codec::varint::Reader;
use crate::fault::Fault;
use crate::heirs::{Heirs, Live};
use crate::rows::{FileState, FsId};
use crate::schema::{self, PostingKind};
use crate::segments::order::Order;
use crate::store::{ReadTransaction, ReadableTable};

/// The row `counters` of the table `meta`. The row has all fields in this order, in fixed width,
/// little endian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// The number of the commit, which increases by one with every commit. This number shows which
    /// [`Sets`] belong to a read transaction.
    pub(crate) generation: u64,
    /// The smallest content id that was never assigned.
    pub(crate) next_content: u32,
    /// The smallest file id that was never assigned.
    pub(crate) next_file: u32,
    /// The smallest directory id that was never assigned. The id of "/" is 0.
    pub(crate) next_dir: u32,
    /// The smallest segment id that was never assigned.
    pub(crate) next_segment: u32,
    /// Number of chunks of all live contents. A repeated chunk is counted each time.
    pub(crate) chunks: u64,
    /// Number of fingerprints that have postings, in all live contents.
    pub(crate) fingerprints: u64,
    /// True if large batches were written since boilerplate was last counted.
    pub(crate) uncounted: bool,
    /// An upper bound for the number of contents that were added since all keys were counted: see
    /// [`near`].
    pub(crate) uncounted_births: u32,
}

impl Counters {
    /// The counters of an empty index.
    pub(crate) const NEW: Self = Self {
        generation: 0,
        next_content: 0,
        next_file: 0,
        next_dir: 1,
        next_segment: 0,
        chunks: 0,
        fingerprints: 0,
        uncounted: false,
        uncounted_births: 0,
    };

    pub(crate) fn encode(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(45);
        out.extend_from_slice(&self.generation.to_le_bytes());
        for id in [
            self.next_content,
            self.next_file,
            self.next_dir,
            self.next_segment,
        ] {
            out.extend_from_slice(&id.to_le_bytes());
        }
        out.extend_from_slice(&self.chunks.to_le_bytes());
        out.extend_from_slice(&self.fingerprints.to_le_bytes());
        out.push(u8::from(self.uncounted));
        out.extend_from_slice(&self.uncounted_births.to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(bytes);
        let mut row = || {
            let row = Self {
                generation: u64::from_le_bytes(reader.array()?),
                next_content: u32::from_le_bytes(reader.array()?),
                next_file: u32::from_le_bytes(reader.array()?),
                next_dir: u32::from_le_bytes(reader.array()?),
                next_segment: u32::from_le_bytes(reader.array()?),
                chunks: u64::from_le_bytes(reader.array()?),
                fingerprints: u64::from_le_bytes(reader.array()?),
                uncounted: reader.byte()? != 0,
                uncounted_births: u32::from_le_bytes(reader.array()?),
            };
            reader.end(row)
        };
        row().ok_or(Malformed("meta"))
    }
}

/// Sums over all files in one commit. An older version of the program does not update them. If such
/// a version wrote the last commit, the sums are computed anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileSums {
    /// Sum of the sizes of all files in bytes.
    pub(crate) bytes: u64,
    /// Number of files that could not be read.
    pub(crate) unreadable: u64,
    /// Number of files that were left out on purpose.
    pub(crate) skipped: u64,
    /// Number of files that are too small to be compared.
    pub(crate) small: u64,
}

impl FileSums {
    /// Adds a file to the sums.
    pub(crate) fn add(&mut self, row: &StoredFile) {
        let of = Self::of(row);
        self.bytes = self.bytes.wrapping_add(of.bytes);
        self.unreadable = self.unreadable.wrapping_add(of.unreadable);
        self.skipped = self.skipped.wrapping_add(of.skipped);
        self.small = self.small.wrapping_add(of.small);
    }

    /// Subtracts a file from the sums.
    pub(crate) fn take(&mut self, row: &StoredFile) {
        let of = Self::of(row);
        self.bytes = self.bytes.wrapping_sub(of.bytes);
        self.unreadable = self.unreadable.wrapping_sub(of.unreadable);
        self.skipped = self.skipped.wrapping_sub(of.skipped);
        self.small = self.small.wrapping_sub(of.small);
    }

    fn of(row: &StoredFile) -> Self {
        Self {
            bytes: row.size.get(),
            unreadable: u64::from(matches!(row.state, FileState::Unreadable(_))),
            skipped: u64::from(matches!(row.state, FileState::Skipped(_))),
            small: u64::from(too_small(row.size)),
        }
    }

    /// Encodes the row `file_sums` of the table `meta`: the generation and the fields, little
    /// endian.
    pub(crate) fn encode(self, generation: u64) -> Vec<u8> {
        let sums = [self.bytes, self.unreadable, self.skipped, self.small];
        let values = std::iter::once(generation).chain(sums);
        values.flat_map(u64::to_le_bytes).collect()
    }

    /// Decodes the row. Returns `None` if the row was written in another commit.
    fn decode(bytes: &[u8], generation: u64) -> Option<Self> {
        let mut reader = Reader(bytes);
        let mut value = || reader.array().map(u64::from_le_bytes);
        let (of, sums) = (
            value()?,
            Self {
                bytes: value()?,
                unreadable: value()?,
                skipped: value()?,
                small: value()?,
            },
        );
        (of == generation).then_some(sums)
    }

    /// Returns the sums of a commit. If they are not stored, computes them from all rows.
    fn load(txn: &ReadTransaction, generation: u64) -> Result<Self, Fault> {
        let kept = txn
            .open_table(schema::META)?
            .get(schema::meta::FILE_SUMS)?
            .and_then(|row| Self::decode(row.value(), generation));
        match kept {
            Some(sums) => Ok(sums),
            None => Self::count(&txn.open_table(schema::FILES)?),
        }
    }

    /// Computes the sums from the rows of all files.
    pub(crate) fn count(files: &impl ReadableTable<u32, &'static [u8]>) -> Result<Self, Fault> {
        let mut sums = Self::default();
        for row in files.iter()? {
            sums.add(&StoredFile::decode(row?.1.value())?);
        }
        Ok(sums)
    }
}

/// Returns the number of contents above which the exact count of a key is kept, even if the key is
/// not boilerplate yet.
pub(crate) const fn near(limit: u32) -> u32 {
    limit / 2
}

/// A set of keys, each with the exact number of contents that have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Boilerplate {
    chunks: HashMap<u64, u32>,
    fingerprints: HashMap<u64, u32>,
}

impl Boilerplate {
    pub(crate) fn of(&self, kind: PostingKind) -> &HashMap<u64, u32> {
        match kind {
            PostingKind::Chunk => &self.chunks,
            PostingKind::Fingerprint => &self.fingerprints,
        }
    }

    pub(crate) fn of_mut(&mut self, kind: PostingKind) -> &mut HashMap<u64, u32> {
        match kind {
            PostingKind::Chunk => &mut self.chunks,
            PostingKind::Fingerprint => &mut self.fingerprints,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.chunks.len() + self.fingerprints.len()
    }
}

/// Maps the file systems of the index to their numbers, and the numbers to the file systems.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileSystems {
    numbers: HashMap<FsId, FsNumber>,
    ids: HashMap<u16, FsId>,
}

impl FileSystems {
    pub(crate) fn number(&self, id: &FsId) -> Option<FsNumber> {
        self.numbers.get(id).copied()
    }

    pub(crate) fn id(&self, number: FsNumber) -> Result<&FsId, Fault> {
        self.ids
            .get(&number.0)
            .ok_or_else(|| Fault::damaged("a file is on an unknown file system"))
    }

    pub(crate) fn add(&mut self, number: FsNumber, id: FsId) {
        self.ids.insert(number.0, id.clone());
        self.numbers.insert(id, number);
    }

    /// Returns the smallest number that no file system has. Returns `None` if all numbers are used.
    pub(crate) fn free(&self) -> Option<FsNumber> {
        u16::try_from(self.ids.len()).ok().map(FsNumber)
    }
}

/// The sets in memory. A batch copies only the sets that it changes. The others stay shared with
/// earlier and later snapshots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets {
    pub(crate) file_systems: Arc<FileSystems>,
    /// Dead contents. Their rows are deleted, but their postings are still in a segment.
    pub(crate) dead: Arc<BitSet>,
    /// The heirs of dead contents. An heir has taken over the postings of a dead content.
    pub(crate) heirs: Arc<Heirs>,
    pub(crate) boilerplate: Arc<Boilerplate>,
    /// The orders of the segments that have an order, by segment id.
    pub(crate) orders: Arc<BTreeMap<u32, Arc<Order>>>,
    /// Keys that are not boilerplate, but are in more contents than [`near`]. Their counts are
    /// exact.
    pub(crate) near: Arc<Boilerplate>,
    pub(crate) file_sums: FileSums,
}

impl Sets {
    /// Returns the mapping from the contents in postings to live contents.
    pub(crate) fn live(&self, kind: PostingKind) -> Live<'_> {
        Live::of_kind(kind, &self.dead, &self.heirs)
    }

    /// Returns the number of contents that have a key, if it is known.
    pub(crate) fn count_of(&self, kind: PostingKind, key: u64) -> Option<u32> {
        let boilerplate = self.boilerplate.of(kind).get(&key);
        boilerplate
            .or_else(|| self.near.of(kind).get(&key))
            .copied()
    }

    /// Returns the keys for which the number of contents is known.
    pub(crate) fn known_keys(&self, kind: PostingKind) -> impl Iterator<Item = u64> {
        let boilerplate = self.boilerplate.of(kind).keys();
        boilerplate.chain(self.near.of(kind).keys()).copied()
    }

    /// Returns the number of keys for which the number of contents is known.
    pub(crate) fn known(&self) -> usize {
        self.boilerplate.len() + self.near.len()
    }

    /// Sets the number of contents that have a key. After `None`, the number is no longer known.
    pub(crate) fn set_count(
        &mut self,
        kind: PostingKind,
        key: u64,
        count: Option<u32>,
        limit: u32,
    ) {
        for (set, count) in [
            (&mut self.boilerplate, count.filter(|&count| count > limit)),
            (&mut self.near, count.filter(|&count| count <= limit)),
        ] {
            if let Some(count) = count {
                Arc::make_mut(set).of_mut(kind).insert(key, count);
            } else if set.of(kind).contains_key(&key) {
                Arc::make_mut(set).of_mut(kind).remove(&key);
            }
        }
    }

    /// Loads the sets from the tables. Keys that are in more contents than `limit` are boilerplate.
    pub(crate) fn load(txn: &ReadTransaction, limit: u32) -> Result<Self, Fault> {
        let mut file_systems = FileSystems::default();
        for row in txn.open_table(schema::FILE_SYSTEMS)?.iter()? {
            let (number, id) = row?;
            file_systems.add(FsNumber(number.value()), FsId(id.value().into()));
        }
        let mut dead = BitSet::default();
        let counters = counters(txn)?;
        let next = counters.next_content;
        for row in txn.open_table(schema::DEAD_CONTENTS)?.iter()? {
            let content = row?.0.value();
            // This is checked before memory is allocated, because a wrong id in a damaged row could
            // make the bitmap huge.
            if content >= next {
                return Err(Fault::damaged("a deleted content has an unused id"));
            }
            dead.insert(content);
        }
        let (mut boilerplate, mut near) = (Boilerplate::default(), Boilerplate::default());
        for row in txn.open_table(schema::BOILERPLATE)?.iter()? {
            let (key, count) = row?;
            let (kind, key) = key.value();
            let kind = PostingKind::from_repr(kind).ok_or(Malformed("boilerplate"))?;
            let set = if count.value() > limit {
                &mut boilerplate
            } else {
                &mut near
            };
            set.of_mut(kind).insert(key, count.value());
        }
        let mut orders = BTreeMap::new();
        for row in txn.open_table(schema::SEGMENTS)?.iter()? {
            let (id, row) = row?;
            let (first, last, ..) = row.value();
            if let Some(order) = Order::load(txn, id.value(), (first, last))? {
                orders.insert(id.value(), Arc::new(order));
            }
        }
        Ok(Self {
            file_systems: Arc::new(file_systems),
            dead: Arc::new(dead),
            heirs: Arc::new(Heirs::load(txn)?),
            boilerplate: Arc::new(boilerplate),
            orders: Arc::new(orders),
            near: Arc::new(near),
            file_sums: FileSums::load(txn, counters.generation)?,
        })
    }
}

pub(crate) fn counters(txn: &ReadTransaction) -> Result<Counters, Fault> {
    let meta = txn.open_table(schema::META)?;
    let row = meta
        .get(schema::meta::COUNTERS)?
        .ok_or_else(|| Fault::damaged("the counters are missing"))?;
    Ok(Counters::decode(row.value())?)
}

/// Returns the number of bytes that the file had when it was last compact. Returns 0 if it is
/// compact now.
pub(crate) fn compact_bytes(txn: &ReadTransaction) -> Result<u64, Fault> {
    let meta = txn.open_table(schema::META)?;
    let row = meta.get(schema::meta::COMPACT)?;
    let bytes = row.and_then(|row| Some(u64::from_le_bytes(row.value().try_into().ok()?)));
    Ok(bytes.unwrap_or(0))
}

/// Returns the keys that are in only one of the two sets, or have different counts in the sets.
pub(crate) fn changed_keys(old: &HashMap<u64, u32>, new: &HashMap<u64, u32>) -> HashSet<u64> {
    let differs = |a: &HashMap<u64, u32>, b: &HashMap<u64, u32>| {
        a.iter()
            .filter(|(key, count)| b.get(key) != Some(count))
            .map(|(&key, _)| key)
            .collect::<Vec<_>>()
    };
    differs(old, new)
        .into_iter()
        .chain(differs(new, old))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_come_back() {
        let counters = Counters {
            generation: 1,
            next_content: 2,
            next_file: 3,
            next_dir: 4,
            next_segment: 5,
            chunks: 6,
            fingerprints: 7,
            uncounted: true,
            uncounted_births: 8,
        };
        assert_eq!(Counters::decode(&counters.encode()), Ok(counters));
        assert!(Counters::decode(&counters.encode()[1..]).is_err());
    }
}
