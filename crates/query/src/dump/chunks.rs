//! `dump --chunks` and `dump --files`: the metadata that Forman, Eshghi and Chiocchetti sort (2005,
//! section 2.5, step 1).
//!
//! One chunk a line: its length in bytes, its MD5, and the number of the file it is in, separated
//! by blanks, repeats and all ("we record multiple forward edges"). `sort -k2,2` puts the files
//! that share a chunk next to each other, in as little memory as `sort` takes. Paths would make the
//! lines long, so they are in a table of their own: the number, a tab, and the path as the
//! canonical dump writes it.
//!
//! Files are numbered from 1 in the order of their paths' raw bytes, by the first of them: hard
//! links are one file and have a line each in the table. Both forms number the same tree alike, and
//! nothing but regular files.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use resemble_core::FileId;
use resemble_index::{Entry, ReadError, Snapshot};

use super::{LONGEST_RUN, each, name_of};

/// The numbers of the files met so far.
#[derive(Default)]
struct Numbers(HashMap<FileId, usize>);

impl Numbers {
    /// The number of a file, and whether it is met for the first time.
    fn of(&mut self, file: FileId) -> (usize, bool) {
        let next = self.0.len() + 1;
        let number = *self.0.entry(file).or_insert(next);
        (number, number == next)
    }
}

/// A line for each chunk of each file: `LENGTH MD5 FILE`. More than [`LONGEST_RUN`] equal chunks in
/// a row, which is a hole, are one line with `*COUNT` behind.
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

/// A line for each path of a regular file: its number, a tab, the path.
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
