//! Measures of pairs, kept by their contents.
//!
//! What two contents have in common never changes, so what was once measured is kept as long as
//! there is room, and whoever asks again reads no file. The measures are worth nothing but time:
//!
//! 1. **Who asks never waits for a writer.** What is found out waits in memory
//!    ([`NewMeasures`]), where every snapshot of this index finds it, until
//!    [`crate::Index::write_measures`] is called. What was not written yet goes with the process.
//! 2. **Two generations bound them.** New ones go into the table `measures`. When that is full, it
//!    becomes `older_measures`, and what that was is gone. A measure that is found in the older
//!    table waits to be written again, so what nobody asks for goes first.
//! 3. **Nothing here fails a question.** A row that does not decode, and a table that cannot be
//!    read, are as none.
//! 4. **Templates** change what is left of a content, and with it every measure: a snapshot with
//!    templates neither finds nor keeps any.

use std::collections::HashMap;

use parking_lot::Mutex;
use resemble_core::similarity::proof::Proven;
use resemble_core::similarity::{PairKey, Unit};

use crate::fault::{Fault, guarded};
use crate::schema::{self, MeasuresValue};
use crate::store::{ReadOnlyTable, ReadableTableMetadata, WriteTransaction};

/// Pairs in a generation at most: 2 · 131,072 pairs, at some 72 bytes each, are 19 MB.
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
        // Nobody writes them: whoever goes on without a file begins anew.
        if new.len() as u64 >= GENERATION {
            new.clear();
        }
        new.insert(key, found);
    }

    /// All of them, in the order of the table.
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

    /// Takes out what is written by now.
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

/// A table of them.
pub(crate) type MeasuresTable = ReadOnlyTable<u128, MeasuresValue>;

/// What a table has under this key, in this unit. A row or a page that is damaged is as none.
pub(crate) fn written(table: &MeasuresTable, key: PairKey, unit: Unit) -> Option<Proven> {
    let row = guarded(|| Ok(table.get(key.0)?.map(|row| row.value())));
    row.ok().flatten().and_then(|row| decode(row, unit))
}

/// Writes measures; a generation has at most so many.
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

/// `None`: no writer has written that.
fn decode(
    (flags, a_in_b, b_in_a, resemblance, shared): MeasuresValue,
    unit: Unit,
) -> Option<Proven> {
    Proven::of_words([flags.into(), a_in_b, b_in_a, resemblance, shared], unit)
}

#[cfg(test)]
mod tests;
