//! `dump --chunks` and `dump --files` write the metadata that Forman, Eshghi and Chiocchetti sort
//! (2005, section 2.5, step 1).
//!
//! Each chunk has a line: its length in bytes, its MD5, and the number of its file, separated by
//! blanks. Repeated chunks are included ("we record multiple forward edges"). `sort -k2,2` brings
//! the files that share a chunk together, in little memory. Paths would make the lines long, so
//! they have their own table. Each of its lines has the number, a tab, and the path in the form of
//! the canonical dump.
//!
//! Files are numbered from 1 in the order of their first raw paths. Hard links are one file, with a
//! line for each path in the table. `--chunks` and `--files` use the same numbers, and include only
//! regular files.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use resemble_core::FileId;
use resemble_index::{Entry, ReadError, Snapshot};

use super::{LONGEST_RUN, each, name_of};

/// The numbers of the files visited so far.
#[derive(Default)]
struct Numbers(HashMap<FileId, usize>);

impl Numbers {
    /// Returns the number of a file, and whether it is new.
    fn of(&mut self, file: FileId) -> (usize, bool) {
        let next = self.0.len() + 1;
        let number = *self.0.entry(file).or_insert(next);
        (number, number == next)
    }
}

/// Writes a line for each chunk of each file: `LENGTH MD5 FILE`. A run of more than [`LONGEST_RUN`]
/// equal chunks, which is a hole, is one line with `*COUNT` appended.
pub(crate) fn chunks(
    snapshot: &Snapshot,
    roots: &[PathBuf],
    line: &mut dyn FnMut(String) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    let mut numbers = Numbers::default();
    each(snapshot, roots, &mut |_, entry| {
        let Entry::File(file) = entry else {
            return Ok(ControlFlow::Continue(()));
        };
        let (number, is_new) = numbers.of(*file);
        let content = snapshot.file(*file)?.and_then(|row| row.state.content());
        let Some(content) = content.filter(|_| is_new) else {
            return Ok(ControlFlow::Continue(()));
        };
        for run in snapshot.chunks(content)?.0 {
            let mut text = format!("{} {} {number}", run.len, run.hash);
            let times = if run.count > LONGEST_RUN {
                let _ = write!(text, " *{}", run.count);
                1
            } else {
                run.count
            };
            for _ in 0..times {
                if line(text.clone()).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Writes a line for each path of a regular file: its number, a tab, the path.
pub(crate) fn files(
    snapshot: &Snapshot,
    roots: &[PathBuf],
    line: &mut dyn FnMut(String) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    let mut numbers = Numbers::default();
    each(snapshot, roots, &mut |path, entry| {
        let Entry::File(file) = entry else {
            return Ok(ControlFlow::Continue(()));
        };
        let (number, _) = numbers.of(*file);
        Ok(line(format!("{number}\t{}", name_of(path))))
    })
}
