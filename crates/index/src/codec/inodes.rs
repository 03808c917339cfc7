//! The rows of the table `inodes`. A row maps neighbouring inode numbers to their files.
//!
//! ```text
//! ( │ number & 31 u8 │ file id - previous file id (at first 0), zigzag │ )*   ascending
//! ```
//! File systems assign consecutive inode numbers. So files that were written together are mostly in
//! one row, because a row covers 32 numbers. These files also have neighbouring ids, so each file
//! takes only three or four bytes. A row for each file would take 14 bytes, in pages that are two
//! thirds full.

use resemble_core::FileId;

use super::Malformed;
use super::rows::FsNumber;
use super::varint::{Reader, put_signed};

/// The number of inode numbers that a row covers.
const SPAN: u64 = 32;

/// Returns the key of the row of an inode number.
pub(crate) const fn row_of(fs: FsNumber, ino: u64) -> (u16, u64) {
    (fs.0, ino / SPAN)
}

/// Returns the first inode number after the range of a row.
pub(crate) const fn behind((_, row): (u16, u64)) -> u64 {
    row.saturating_add(1).saturating_mul(SPAN)
}

/// Calls `found` with each inode number in a row and its file. The number is relative to the first
/// number that the row covers.
fn each(row: &[u8], mut found: impl FnMut(u64, FileId)) -> Result<(), Malformed> {
    let mut reader = Reader(row);
    let mut before = 0;
    while !reader.0.is_empty() {
        let mut next = || {
            let low = u64::from(reader.byte()?);
            let file = i64::from(before) + reader.i64().filter(|of| of.unsigned_abs() < 1 << 33)?;
            Some((low, u32::try_from(file).ok()?))
        };
        let (low, file) = next().ok_or(Malformed("inodes"))?;
        found(low, FileId(file));
        before = file;
    }
    Ok(())
}

/// Returns the file that has this inode number. `row` must be the row that covers the number.
pub(crate) fn file(row: &[u8], ino: u64) -> Result<Option<FileId>, Malformed> {
    let mut file = None;
    each(row, |low, of| {
        if low == ino % SPAN {
            file = Some(of);
        }
    })?;
    Ok(file)
}

/// Returns all files of a row.
#[cfg(any(debug_assertions, feature = "testing"))]
pub(crate) fn files(row: &[u8]) -> Result<Vec<FileId>, Malformed> {
    let mut files = Vec::new();
    each(row, |_, file| files.push(file))?;
    Ok(files)
}

/// Returns the row with one change: maps the inode number to `file`, or removes the number if
/// `file` is `None`. The result is empty if no number is left.
pub(crate) fn with(row: &[u8], ino: u64, file: Option<FileId>) -> Result<Vec<u8>, Malformed> {
    let mut files = Vec::with_capacity(SPAN as usize + 1);
    each(row, |low, of| {
        if low != ino % SPAN {
            files.push((low, of));
        }
    })?;
    if let Some(file) = file {
        let at = files.partition_point(|&(low, _)| low < ino % SPAN);
        files.insert(at, (ino % SPAN, file));
    }
    let mut out = Vec::with_capacity(row.len() + 6);
    let mut before = 0;
    for (low, file) in files {
        out.push(low as u8);
        put_signed(&mut out, i64::from(file.0) - before);
        before = i64::from(file.0);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_row_is_a_map(steps in prop::collection::vec((0u64..40, any::<Option<u32>>()), 0..60)) {
            let mut row = Vec::new();
            let mut model = BTreeMap::new();
            for (ino, of) in steps {
                let ino = ino % SPAN + 7 * SPAN;
                row = with(&row, ino, of.map(FileId)).unwrap();
                match of {
                    Some(file) => drop(model.insert(ino, FileId(file))),
                    None => drop(model.remove(&ino)),
                }
                for ino in 7 * SPAN..8 * SPAN {
                    prop_assert_eq!(file(&row, ino).unwrap(), model.get(&ino).copied());
                }
                prop_assert_eq!(files(&row).unwrap(), model.values().copied().collect::<Vec<_>>());
                prop_assert_eq!(row.is_empty(), model.is_empty());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(row: Vec<u8>, ino: u64) {
            let _file = file(&row, ino);
            let _with = with(&row, ino, Some(FileId(3)));
        }
    }
}
