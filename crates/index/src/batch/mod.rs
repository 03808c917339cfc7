//! Applies a batch of changes in one transaction. So either all changes are applied, or none.
//!
//! 1. **Changes are applied in order** to the tables of names and files ([`tree`], [`files`]). Each
//!    change sees the effects of the changes before it.
//! 2. **Contents are written at the end** ([`contents`]). While the changes are applied, references
//!    to contents are only counted, and new contents are kept in memory with their ids. At the end,
//!    contents without references are deleted, and new contents with references are written. So a
//!    file that is removed and added elsewhere in one batch keeps its content, and equal new files
//!    share one content. A new content that is mostly equal to an old content takes over the data
//!    of the old content ([`inherit`]).
//! 3. **Postings come last** ([`postings`]): the postings of the new contents become a new segment.
//!    If that segment would cause a merge, these postings are merged at once instead.
//!
//! Committed segments are read through the snapshot of the previous commit.

pub(crate) mod boilerplate;
mod contents;
mod files;
mod gaps;
mod inherit;
mod new_postings;
mod parts;
pub(crate) mod postings;
mod tree;

use std::collections::HashMap;
use std::path::PathBuf;

use resemble_core::{DirId, FileId};

use self::contents::Contents;
use crate::change::{Applied, Change};
use crate::codec::rows::StoredFile;
use crate::departures::Departures;
use crate::error::ApplyError;
use crate::fault::Fault;
use crate::footprint::WriteSet;
use crate::heirs::HeirsWriting;
use crate::place::Place;
use crate::rows::{Entry, Gap};
use crate::schema::{self, DirValue, EntryKey, NameKey};
use crate::snapshot::Snapshot;
use crate::state::{Counters, Sets};
use crate::store::{Table, WriteTransaction};

/// The reason why a batch is not applied.
#[derive(Debug)]
pub(crate) enum Refusal {
    Fault(Fault),
    BadPath { path: PathBuf, reason: &'static str },
    Full(&'static str),
}

impl<E: Into<Fault>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

impl Refusal {
    pub(crate) fn into_apply(self, index: &Place) -> ApplyError {
        match self {
            Self::Fault(fault) => index.apply_error(fault),
            Self::BadPath { path, reason } => ApplyError::BadPath { path, reason },
            Self::Full(what) => ApplyError::Full {
                path: index.path().to_path_buf(),
                what,
            },
        }
    }
}

/// The open write transaction and the state that its commit will publish.
pub(crate) struct Writing<'a> {
    pub(crate) txn: &'a WriteTransaction,
    /// The snapshot of the previous commit.
    pub(crate) before: &'a Snapshot,
    pub(crate) counters: Counters,
    pub(crate) sets: Sets,
    pub(crate) boilerplate_limit: u32,
    /// True during a bulk load, that is, until [`crate::Index::finish_bulk`]. Then more batches
    /// follow soon.
    pub(crate) in_bulk: bool,
    /// The contents and keys that changed. Cached answers that depend on them are outdated.
    pub(crate) touched: WriteSet,
}

impl Writing<'_> {
    /// Returns the writer of heirs.
    fn heirs(&mut self) -> HeirsWriting<'_> {
        HeirsWriting {
            txn: self.txn,
            heirs: &mut self.sets.heirs,
        }
    }

    /// Applies the changes. The caller commits the transaction.
    pub(crate) fn apply(&mut self, changes: Vec<Change>) -> Result<Applied, Refusal> {
        let mut batch = Batch::new(self)?;
        batch.linked = (changes.iter())
            .filter_map(|change| match change {
                Change::Link { file, .. } => Some((*file, None)),
                _ => None,
            })
            .collect();
        for change in changes {
            batch.change(change)?;
        }
        let (applied, settled) = batch.finish()?;
        postings::add(self, settled)?;
        Ok(applied)
    }

    /// See [`crate::Index::forget_looks`].
    pub(crate) fn forget_looks(&mut self) -> Result<(), Refusal> {
        let mut batch = Batch::new(self)?;
        batch.contents.forget_looks()?;
        let (_, settled) = batch.finish()?;
        postings::add(self, settled)
    }
}

/// The state of a batch while its changes are applied.
struct Batch<'a, 'b> {
    writing: &'b mut Writing<'a>,
    file_systems: Table<'a, u16, &'static str>,
    directories: Table<'a, u32, DirValue>,
    entries: Table<'a, EntryKey, &'static [u8]>,
    unlisted: Table<'a, u32, i32>,
    gaps: Table<'a, u32, &'static [u8]>,
    files: Table<'a, u32, &'static [u8]>,
    further_names: Table<'a, NameKey, ()>,
    inodes: Table<'a, (u16, u64), &'static [u8]>,
    contents: Contents<'a>,
    /// The files that a `Link` of the batch names. If such a file loses its last name, its row is
    /// kept here until the `Link` is applied. So files that exchange names can be linked in any
    /// order.
    linked: HashMap<FileId, Option<StoredFile>>,
    /// The ids of directories by their paths. It is emptied when any directory is removed or moved.
    known_dirs: HashMap<PathBuf, DirId>,
    departures: Departures,
    /// The time of the changes, if [`Change::Time`] set it.
    time: Option<i64>,
    row: Vec<u8>,
    applied: Applied,
}

impl<'a, 'b> Batch<'a, 'b> {
    fn new(writing: &'b mut Writing<'a>) -> Result<Self, Fault> {
        let txn = writing.txn;
        Ok(Self {
            file_systems: txn.open_table(schema::FILE_SYSTEMS)?,
            directories: txn.open_table(schema::DIRECTORIES)?,
            entries: txn.open_table(schema::ENTRIES)?,
            unlisted: txn.open_table(schema::UNLISTED)?,
            gaps: txn.open_table(schema::GAPS)?,
            files: txn.open_table(schema::FILES)?,
            further_names: txn.open_table(schema::FURTHER_NAMES)?,
            inodes: txn.open_table(schema::INODES)?,
            contents: Contents::new(txn, writing.counters.next_content)?,
            linked: HashMap::new(),
            known_dirs: HashMap::new(),
            departures: Departures::default(),
            time: None,
            row: Vec::new(),
            applied: Applied::default(),
            writing,
        })
    }

    fn change(&mut self, change: Change) -> Result<(), Refusal> {
        match change {
            Change::Time(time) => {
                self.time = Some(time);
                Ok(())
            }
            Change::Dir(path) => self.set_dir(&path),
            Change::File { path, stat, state } => self.set_file(path, &stat, state),
            Change::Look {
                path,
                content,
                look,
            } => self.look(path, &content, look),
            Change::Stat { file, stat } => self.set_stat(file, &stat),
            Change::Link { path, file } => self.link(path, file),
            Change::Symlink { path, target } => self.set_other(&path, &Entry::Symlink(target)),
            Change::Special { path, kind } => self.set_other(&path, &Entry::Special(kind)),
            Change::Gap { path, gap } => {
                if matches!(gap, Gap::LeftOut(_)) {
                    self.departures.forget(&path);
                }
                self.set_other(&path, &Entry::Gap(gap))
            }
            Change::Unlisted { path, errno } => self.set_unlisted(&path, errno),
            Change::Remove(path) => {
                self.departures.forget(&path);
                self.remove(&path)
            }
            Change::Vanished(path) => {
                self.note_vanished(&path)?;
                self.remove(&path)
            }
            Change::Rename { from, to } => self.rename(&from, &to),
        }
    }

    fn finish(mut self) -> Result<(Applied, contents::BatchOutcome), Refusal> {
        self.write_departures()?;
        let Self {
            writing,
            contents,
            applied,
            ..
        } = self;
        let settled = contents.settle(writing)?;
        Ok((applied, settled))
    }
}
