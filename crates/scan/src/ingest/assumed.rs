//! Files whose beginning was taken for what it was: see [`crate::read`], number 8.

use std::collections::BTreeSet;

use resemble_index::{FileStat, FileState, FsId, ReadError, Snapshot};

use super::target::{Cause, Scope, Target};

/// The files of which something is assumed, wherever they lie by now.
#[derive(Debug, Default)]
pub(super) struct Assumed(BTreeSet<(FsId, u64)>);

impl Assumed {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes note of what a reading of a file was: whether it assumed anything.
    pub(super) fn note(&mut self, stat: &FileStat, is_assumed: bool) {
        let file = (stat.fs.clone(), stat.ino);
        if is_assumed {
            self.0.insert(file);
        } else if !self.0.is_empty() {
            self.0.remove(&file);
        }
    }

    /// What is to be reconciled so that nothing is assumed any more. Files that are gone are
    /// forgotten.
    pub(super) fn targets(&mut self, snapshot: &Snapshot) -> Result<Vec<Target>, ReadError> {
        let mut targets = Vec::new();
        let mut gone = Vec::new();
        for file in &self.0 {
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
