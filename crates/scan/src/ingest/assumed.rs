//! The files whose beginning is assumed to be unchanged: see rule 8 of [`crate::read`].

use std::collections::BTreeMap;

use resemble_index::{FileStat, FileState, FsId, ReadError, Snapshot};

use super::target::{Cause, Scope, Target};
use crate::read::LARGE;

/// The large files that are not settled, by inode. The value is true if a part of the file is
/// assumed to be unchanged.
#[derive(Debug, Default)]
pub(super) struct Assumed(BTreeMap<(FsId, u64), bool>);

impl Assumed {
    /// Returns the number of files of which a part is assumed to be unchanged.
    pub(super) fn len(&self) -> usize {
        self.0.values().filter(|&&is_assumed| is_assumed).count()
    }

    /// Records that a file was read. `is_assumed` is `None` if the file is settled or could not be
    /// read.
    pub(super) fn note(&mut self, stat: &FileStat, is_assumed: Option<bool>) {
        match is_assumed.filter(|_| stat.size >= LARGE) {
            Some(is_assumed) => drop(self.0.insert((stat.fs.clone(), stat.ino), is_assumed)),
            None if self.0.is_empty() => {}
            None => drop(self.0.remove(&(stat.fs.clone(), stat.ino))),
        }
    }

    /// Records a file that was found unchanged, but is not settled. If the file was read before a
    /// restart, it is not known whether a part was assumed to be unchanged. Then the file is
    /// recorded as one with an assumed part.
    pub(super) fn meet(&mut self, stat: &FileStat) {
        if stat.size >= LARGE {
            let file = (stat.fs.clone(), stat.ino);
            self.0.entry(file).or_insert(true);
        }
    }

    /// Returns the targets of a reconcile that reads all assumed parts. Drops files that no longer
    /// exist.
    pub(super) fn targets(&mut self, snapshot: &Snapshot) -> Result<Vec<Target>, ReadError> {
        let mut targets = Vec::new();
        let mut gone = Vec::new();
        let assumed = self.0.iter().filter(|(_, is_assumed)| **is_assumed);
        for (file, _) in assumed {
            let id = snapshot.file_by_inode(&file.0, file.1)?;
            let row = id.map(|id| snapshot.file(id)).transpose()?.flatten();
            let row = row.filter(|row| matches!(row.state, FileState::Unsettled(_)));
            let paths = row.map(|row| snapshot.paths(row.id)).transpose()?;
            match paths.unwrap_or_default().into_iter().next() {
                Some(path) => targets.push(Target::Path {
                    path,
                    scope: Scope::Entry,
                    cause: Cause::Unknown,
                    read_now: true,
                }),
                None => gone.push(file.clone()),
            }
        }
        for file in gone {
            self.0.remove(&file);
        }
        Ok(targets)
    }
}
