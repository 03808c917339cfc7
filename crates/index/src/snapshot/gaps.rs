//! Queries of gaps. A gap is a directory that could not be listed, a name that was left out, or a
//! name whose type is not known.
//!
//! A caller who can list a directory is allowed to know that an answer lacks a name in that
//! directory. Other callers must not even know that the name exists. So a restricted snapshot shows
//! only the gaps in directories that the caller can list now. If a directory could not be listed,
//! the snapshot shows this only if the caller can list its parent.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use resemble_callers::{Listable, Seen};
use resemble_core::DirId;

use super::paths::{ROOT, names};
use super::{Inner, Snapshot};
use crate::codec::rows::decode_gaps;
use crate::error::ReadError;
use crate::fault::Fault;
use crate::rows::{Entry, Gap, GapCounts};
use crate::store::ReadableTableMetadata;

/// A directory that could not be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnlistedDir {
    /// The path.
    pub path: PathBuf,
    /// The `errno` with which the listing failed.
    pub errno: i32,
}

/// The number of gaps among the names in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirGaps {
    /// The path of the directory.
    pub dir: PathBuf,
    /// The number of gaps for each reason.
    pub counts: GapCounts,
}

/// The number of paths that are checked together for access.
const BATCH: usize = 1024;

impl Snapshot {
    /// Returns the `errno` of the last attempt to list a directory. Returns `None` if that attempt
    /// succeeded.
    pub fn unlisted(&self, dir: DirId) -> Result<Option<i32>, ReadError> {
        self.note_outside();
        self.ask(|inner| inner.unlisted(dir))
    }

    /// Returns whether any directory could not be listed.
    pub fn has_unlisted(&self) -> Result<bool, ReadError> {
        self.note_outside();
        self.ask(|inner| Ok(!inner.unlisted.is_empty()?))
    }

    /// Returns the directories at and below these paths that could not be listed, in the order of
    /// their paths.
    pub fn unlisted_within(&self, bases: &[PathBuf]) -> Result<Vec<UnlistedDir>, ReadError> {
        self.note_outside();
        let mut found = self.ask(|inner| {
            let mut below = Below::new(inner, bases)?;
            let mut found = Vec::new();
            for row in inner.unlisted.range::<u32>(..)? {
                let (dir, errno) = row?;
                let dir = DirId(dir.value());
                if below.is_below(dir)? {
                    let errno = errno.value();
                    let path = inner.dir_path(dir)?;
                    found.push(UnlistedDir { path, errno });
                }
            }
            Ok(found)
        })?;
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let above = |dir: &UnlistedDir| dir.path.parent().unwrap_or(&dir.path).to_owned();
        self.of_listable(found, above)
    }

    /// Returns the directories at and below these paths that have gaps among their names, in the
    /// order of their paths.
    pub fn gaps_within(&self, bases: &[PathBuf]) -> Result<Vec<DirGaps>, ReadError> {
        self.note_outside();
        let mut found = self.ask(|inner| {
            let mut below = Below::new(inner, bases)?;
            let mut found = Vec::new();
            for row in inner.gaps.range::<u32>(..)? {
                let (dir, counts) = row?;
                let dir = DirId(dir.value());
                if below.is_below(dir)? {
                    let counts = decode_gaps(counts.value())?;
                    let dir = inner.dir_path(dir)?;
                    found.push(DirGaps { dir, counts });
                }
            }
            Ok(found)
        })?;
        found.sort_unstable_by(|a, b| a.dir.cmp(&b.dir));
        self.of_listable(found, |gaps: &DirGaps| gaps.dir.clone())
    }

    /// Returns the gaps among the names of a directory, sorted by the bytes of the names. The
    /// directory must be one that [`Self::gaps_within`] returned.
    pub fn gaps_of(&self, dir: &Path) -> Result<Vec<(PathBuf, Gap)>, ReadError> {
        self.note_outside();
        let listed = self.ask(|inner| match inner.entry(dir)? {
            Some(Entry::Dir(id)) => inner.list(id),
            _ => Ok(Vec::new()),
        })?;
        let gaps = listed.into_iter().filter_map(|(name, entry)| match entry {
            Entry::Gap(gap) => Some((dir.join(name), gap)),
            _ => None,
        });
        Ok(gaps.collect())
    }

    /// Returns whether the index has nothing at a path because of a gap. That is, the path or a
    /// directory above it is a gap, or could not be listed. A restricted snapshot returns false if
    /// the caller sees nothing at the path.
    pub fn is_in_gap(&self, path: &Path) -> Result<bool, ReadError> {
        self.note_outside();
        if let Some(eyes) = &self.eyes
            && matches!(self.glance(eyes, &[path.to_owned()])?[..], [Seen::Nothing])
        {
            return Ok(false);
        }
        self.ask(|inner| {
            let Some(names) = names(path) else {
                return Ok(false);
            };
            let mut at = ROOT;
            for name in names {
                match inner.entry_in(at, name)? {
                    Some(Entry::Dir(dir)) => at = dir,
                    Some(Entry::Gap(_)) => return Ok(true),
                    Some(_) => return Ok(false),
                    None => return Ok(inner.unlisted(at)?.is_some()),
                }
            }
            Ok(false)
        })
    }

    /// Returns the items whose directory the caller can list. An unrestricted snapshot returns all
    /// items.
    fn of_listable<T>(
        &self,
        found: Vec<T>,
        directory: impl Fn(&T) -> PathBuf,
    ) -> Result<Vec<T>, ReadError> {
        let Some(eyes) = &self.eyes else {
            return Ok(found);
        };
        let paths: Vec<PathBuf> = found.iter().map(&directory).collect();
        let mut seen = Vec::with_capacity(paths.len());
        for batch in paths.chunks(BATCH) {
            seen.extend(self.glance(eyes, batch)?);
        }
        let may = |seen: &Seen| matches!(seen, Seen::Folder(_, Listable(true)));
        let found = found.into_iter().zip(seen);
        Ok(found
            .filter_map(|(one, seen)| may(&seen).then_some(one))
            .collect())
    }
}

impl Inner {
    fn unlisted(&self, dir: DirId) -> Result<Option<i32>, Fault> {
        Ok(self.unlisted.get(dir.0)?.map(|errno| errno.value()))
    }

    fn dir_path(&self, dir: DirId) -> Result<PathBuf, Fault> {
        if dir == ROOT {
            return Ok(PathBuf::from("/"));
        }
        let row = self.directories.get(dir.0)?;
        let row = row.ok_or_else(|| Fault::damaged("a gap is in an unknown directory"))?;
        let (parent, name) = row.value();
        self.path(DirId(parent), name)
    }
}

/// Decides which directories are at or below some paths. Keeps the answer for each directory.
struct Below<'a> {
    inner: &'a Inner,
    known: HashMap<DirId, bool>,
}

impl<'a> Below<'a> {
    fn new(inner: &'a Inner, bases: &[PathBuf]) -> Result<Self, Fault> {
        let mut known = HashMap::from([(ROOT, false)]);
        for base in bases {
            if let Some(Entry::Dir(dir)) = inner.entry(base)? {
                known.insert(dir, true);
            }
        }
        Ok(Self { inner, known })
    }

    fn is_below(&mut self, dir: DirId) -> Result<bool, Fault> {
        let (mut at, mut way) = (dir, Vec::new());
        let is_below = loop {
            if let Some(known) = self.known.get(&at) {
                break *known;
            }
            way.push(at);
            // This ends the loop if the directories of a damaged file form a cycle.
            self.known.insert(at, false);
            let row = self.inner.directories.get(at.0)?;
            let row = row.ok_or_else(|| Fault::damaged("a gap is in an unknown directory"))?;
            at = DirId(row.value().0);
        };
        self.known
            .extend(way.into_iter().map(|dir| (dir, is_below)));
        Ok(is_below)
    }
}
