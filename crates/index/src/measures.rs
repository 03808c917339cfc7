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
use resemble_core::similarity::{Measures, PairKey, Unit};
use resemble_core::{ByteLen, Score};

use crate::fault::{Fault, guarded};
use crate::schema::{self, MeasuresValue};
use crate::store::{ReadOnlyTable, ReadableTableMetadata, WriteTransaction};

/// Pairs in a generation at most: 2 · 131,072 pairs, at some 72 bytes each, are 19 MB.
pub(crate) const GENERATION: u64 = 1 << 17;

/// Bits of the first member of a [`MeasuresValue`]: which shares are known, and what the pair is.
mod flag {
    pub(super) const A_IN_B: u8 = 1;
    pub(super) const B_IN_A: u8 = 1 << 1;
    pub(super) const RESEMBLANCE: u8 = 1 << 2;
    pub(super) const SAME_TEXT: u8 = 1 << 3;
    pub(super) const PASSAGE: u8 = 1 << 4;
    pub(super) const ALL: u8 = A_IN_B | B_IN_A | RESEMBLANCE | SAME_TEXT | PASSAGE;
}

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
    let Measures {
        a_in_b,
        b_in_a,
        resemblance,
        shared_bytes,
    } = found.measures;
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = flag(a_in_b.is_some(), flag::A_IN_B)
        | flag(b_in_a.is_some(), flag::B_IN_A)
        | flag(resemblance.is_some(), flag::RESEMBLANCE)
        | flag(found.is_same_text, flag::SAME_TEXT)
        | flag(found.has_passage, flag::PASSAGE);
    let bits = |share: Option<Score>| share.map_or(0, |share| share.get().to_bits());
    let shares = (bits(a_in_b), bits(b_in_a), bits(resemblance));
    (flags, shares.0, shares.1, shares.2, shared_bytes.0)
}

/// `None`: no writer has written that.
fn decode(row: MeasuresValue, unit: Unit) -> Option<Proven> {
    let (flags, a_in_b, b_in_a, resemblance, shared_bytes) = row;
    let share = |bits: u64, flag: u8| {
        let value = f64::from_bits(bits);
        match flags & flag != 0 {
            true if (0.0..=1.0).contains(&value) => Some(Some(Score::new(value))),
            false if bits == 0 => Some(None),
            _ => None,
        }
    };
    let measures = Measures {
        a_in_b: share(a_in_b, flag::A_IN_B)?,
        b_in_a: share(b_in_a, flag::B_IN_A)?,
        resemblance: share(resemblance, flag::RESEMBLANCE)?,
        shared_bytes: ByteLen(shared_bytes),
    };
    (flags & !flag::ALL == 0).then_some(Proven {
        measures,
        unit,
        is_same_text: flags & flag::SAME_TEXT != 0,
        has_passage: flags & flag::PASSAGE != 0,
    })
}

#[cfg(test)]
mod tests;
