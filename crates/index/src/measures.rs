//! Stores the measures of pairs of contents, because they are expensive to compute.
//!
//! The measures of two contents never change, because a content never changes. So the measures of a
//! pair are stored while there is room. Then the next question about the pair reads no file. If a
//! measure is lost, it is computed again:
//!
//! 1. **A question never waits for a writer.** New measures stay in memory ([`NewMeasures`]) until
//!    [`crate::Index::write_measures`] is called. Every snapshot of this index finds them there.
//!    Measures that were not written are lost when the process ends.
//! 2. **Two tables bound the number of measures.** New measures go into the table `measures`. When
//!    this table is full, it becomes the table `older_measures`, and the former `older_measures` is
//!    dropped. A measure that is found in the older table is written again. So measures that no
//!    question uses are dropped first.
//! 3. **No question fails because of an error here.** A row that cannot be decoded, or a table that
//!    cannot be read, is treated as missing.
//! 4. **Templates** are boilerplate that a person marked. They are left out of every measure, so a
//!    snapshot with templates neither uses nor stores measures.

use std::collections::HashMap;

use parking_lot::Mutex;
use resemble_core::similarity::proof::Proven;
use resemble_core::similarity::{PairKey, Unit};

use crate::fault::{Fault, guarded};
use crate::schema::{self, MeasuresValue};
use crate::store::{ReadOnlyTable, ReadableTableMetadata, WriteTransaction};

/// The maximum number of pairs in one of the two tables. Both tables together have up to 262,144
/// pairs. These take 19 MB at some 72 bytes each.
pub(crate) const GENERATION: u64 = 1 << 17;

/// Measures that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct NewMeasures(Mutex<HashMap<PairKey, Proven>>);

impl NewMeasures {
    pub(crate) fn get(&self, key: PairKey) -> Option<Proven> {
        self.0.lock().get(&key).copied()
    }

    pub(crate) fn put(&self, key: PairKey, found: Proven) {
        let mut new = self.0.lock();
        // Usually, the measures are written before the limit is reached. But nobody writes them if
        // the index has no file. Then all are dropped here.
        if new.len() as u64 >= GENERATION {
            new.clear();
        }
        new.insert(key, found);
    }

    /// Returns all new measures, in the order of the table's keys.
    pub(crate) fn sorted(&self) -> Vec<(PairKey, Proven)> {
        let mut all: Vec<_> = self
            .0
            .lock()
            .iter()
            .map(|(&key, &found)| (key, found))
            .collect();
        all.sort_unstable_by_key(|&(key, _)| key);
        all
    }

    /// Removes from memory the measures that were written.
    pub(crate) fn remove(&self, written: &[(PairKey, Proven)]) {
        let mut new = self.0.lock();
        for (key, _) in written {
            new.remove(key);
        }
        if new.is_empty() {
            *new = HashMap::new();
        }
    }
}

/// A table of measures, open for reading.
pub(crate) type MeasuresTable = ReadOnlyTable<u128, MeasuresValue>;

/// Returns the measure with this key and unit. A row that is damaged or cannot be read is treated
/// as missing.
pub(crate) fn written(table: &MeasuresTable, key: PairKey, unit: Unit) -> Option<Proven> {
    let row = guarded(|| Ok(table.get(key.0)?.map(|row| row.value())));
    row.ok().flatten().and_then(|row| decode(row, unit))
}

/// Writes measures into a table of at most `generation` pairs.
pub(crate) fn write(
    txn: &WriteTransaction,
    new: &[(PairKey, Proven)],
    generation: u64,
) -> Result<(), Fault> {
    let mut table = txn.open_table(schema::MEASURES)?;
    for (key, found) in new {
        if table.len()? >= generation {
            drop(table);
            txn.delete_table(schema::OLDER_MEASURES)?;
            txn.rename_table(schema::MEASURES, schema::OLDER_MEASURES)?;
            table = txn.open_table(schema::MEASURES)?;
        }
        table.insert(key.0, encode(found))?;
    }
    Ok(())
}

fn encode(found: &Proven) -> MeasuresValue {
    let [flags, a_in_b, b_in_a, resemblance, shared] = found.to_words();
    (flags as u8, a_in_b, b_in_a, resemblance, shared)
}

/// Decodes a row. Returns `None` if the program never writes such a row.
fn decode(
    (flags, a_in_b, b_in_a, resemblance, shared): MeasuresValue,
    unit: Unit,
) -> Option<Proven> {
    Proven::of_words([flags.into(), a_in_b, b_in_a, resemblance, shared], unit)
}

#[cfg(test)]
mod tests;
