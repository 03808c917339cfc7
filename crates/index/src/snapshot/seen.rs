//! Restricts snapshots to a caller. In such a snapshot, a file that the caller could not open does
//! not exist.
//!
//! 1. **A name exists if the caller can open its file.** The file must still be the one that was
//!    indexed: its inode, size and times must be equal. No program can set the time of the last
//!    status change. So a caller cannot see the content of a file by putting another file in its
//!    place. A caller also does not see the former content of a file that was rewritten before the
//!    caller got access.
//! 2. **A file exists if one of its names exists. A content exists if one of its files exists**, or
//!    if it is a part of a file that exists. Postings, counts and boilerplate are computed from the
//!    contents that exist. Data about all contents together are not shown ([`Snapshot::totals`],
//!    measures, records).
//! 3. **A folder exists if the caller can enter it.** Symbolic links and special files do not
//!    exist, because access checks know only regular files and folders.
//! 4. The result of a check is kept for one question, because a [`Snapshot`] is used for one
//!    question only. If access cannot be checked, the query fails.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_callers::{AccessCheck, Seen, SeenPlace};
use resemble_core::{ContentId, FileId};

use super::{PostingKind, Snapshot};
use crate::codec::rows::StoredFile;
use crate::error::ReadError;
use crate::rows::Entry;
use crate::segments::read::Lists;

/// The number of files or contents that are checked together for access.
const BATCH: usize = 1024;

/// The maximum number of check results that are kept for files. The same maximum applies to
/// contents. If either kind has more results, all results of that kind are dropped.
const MOST: usize = 4 << 20;

/// The files that a caller can open, according to the access checks so far.
#[derive(Debug)]
pub(super) struct AccessFilter {
    sight: Arc<dyn AccessCheck>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The visible names of each file.
    files: HashMap<FileId, Arc<[PathBuf]>>,
    contents: HashMap<ContentId, bool>,
    /// For each key, the number of visible contents that have the key. The flag is true for chunks.
    counts: HashMap<(bool, u64), u32>,
}

impl Snapshot {
    /// Restricts the snapshot to the files that a caller can open.
    #[must_use]
    pub fn seen_by(self, sight: Arc<dyn AccessCheck>) -> Self {
        let known = Mutex::default();
        Self {
            eyes: Some(Arc::new(AccessFilter { sight, known })),
            ..self
        }
    }

    /// Returns whether the snapshot is restricted to a caller.
    pub fn is_partial(&self) -> bool {
        self.eyes.is_some()
    }

    pub(super) fn glance(
        &self,
        eyes: &AccessFilter,
        paths: &[PathBuf],
    ) -> Result<Vec<Seen>, ReadError> {
        self.stop.go_on()?;
        let seen = eyes.sight.look(paths);
        let seen = seen.map_err(|source| ReadError::Unchecked { source })?;
        if seen.len() == paths.len() {
            Ok(seen)
        } else {
            let source = std::io::ErrorKind::InvalidData.into();
            Err(ReadError::Unchecked { source })
        }
    }

    // ---- files ----

    pub(super) fn sees_file(&self, file: FileId) -> Result<bool, ReadError> {
        Ok(!self.is_partial() || !self.seen_paths(file)?.is_empty())
    }

    /// Returns the visible names of a file. For restricted snapshots only.
    pub(super) fn seen_paths(&self, file: FileId) -> Result<Arc<[PathBuf]>, ReadError> {
        let Some(eyes) = &self.eyes else {
            return Ok(Arc::default());
        };
        let known = |eyes: &AccessFilter| eyes.known.lock().files.get(&file).cloned();
        if let Some(known) = known(eyes) {
            return Ok(known);
        }
        self.look_at_files(eyes, &[file])?;
        Ok(known(eyes).unwrap_or_default())
    }

    /// Returns the files that are visible.
    pub(super) fn seen_files(&self, mut files: Vec<FileId>) -> Result<Vec<FileId>, ReadError> {
        if let Some(eyes) = &self.eyes {
            for batch in files.chunks(BATCH) {
                self.look_at_files(eyes, batch)?;
            }
            let mut seen = Vec::new();
            for file in files {
                if self.sees_file(file)? {
                    seen.push(file);
                }
            }
            files = seen;
        }
        Ok(files)
    }

    /// Checks the access to the files that were not checked yet.
    fn look_at_files(&self, eyes: &AccessFilter, files: &[FileId]) -> Result<(), ReadError> {
        let new: Vec<FileId> = {
            let known = &mut eyes.known.lock().files;
            if known.len() > MOST {
                known.clear();
            }
            let is_new = |file: &&FileId| !known.contains_key(file);
            files.iter().filter(is_new).copied().collect()
        };
        let (mut paths, mut of) = (Vec::new(), Vec::new());
        for file in new {
            let found = self.ask(|inner| {
                let row = inner.stored_file(file)?;
                let row = row.map(|row| Ok((inner.paths(file, &row)?, row)));
                row.transpose()
            })?;
            let names = found.map_or_else(Vec::new, |(names, row)| {
                of.push((file, row, names.len()));
                names
            });
            paths.extend(names);
        }
        if paths.is_empty() {
            return Ok(());
        }
        let seen = self.glance(eyes, &paths)?;
        let mut looks = paths.into_iter().zip(seen);
        let mut known = eyes.known.lock();
        for (file, row, names) in of {
            let looks = looks.by_ref().take(names);
            let is_it = |seen: &Seen| matches!(seen, Seen::File(seen) if is_same(seen, &row));
            let names = looks.filter_map(|(path, seen)| is_it(&seen).then_some(path));
            known.files.insert(file, names.collect());
        }
        Ok(())
    }

    // ---- names ----

    /// Returns the entry at a path, if it is visible. Access to the path is checked first, even if
    /// the index has no such path. Otherwise, the time before a refusal would reveal which names a
    /// folder has, although the caller cannot enter the folder.
    pub(super) fn seen_entry(
        &self,
        eyes: &AccessFilter,
        path: &Path,
    ) -> Result<Option<Entry>, ReadError> {
        let seen = match &self.glance(eyes, &[path.to_owned()])?[..] {
            [Seen::File(seen)] => Some(*seen),
            [Seen::Folder(..)] => None,
            _ => return Ok(None),
        };
        let known = self.ask(|inner| {
            let entry = inner.entry(path)?;
            let row = match &entry {
                Some(Entry::File(file)) => inner.stored_file(*file)?,
                _ => None,
            };
            Ok((entry, row))
        })?;
        Ok(match (known, seen) {
            ((Some(entry @ Entry::File(_)), Some(row)), Some(seen)) => {
                is_same(&seen, &row).then_some(entry)
            }
            ((Some(entry @ Entry::Dir(_)), _), None) => Some(entry),
            _ => None,
        })
    }

    /// Returns the visible ones of the given directory entries.
    pub(super) fn seen_entries(
        &self,
        dir: &Path,
        entries: Vec<(OsString, Entry)>,
    ) -> Result<Vec<(OsString, Entry)>, ReadError> {
        let Some(eyes) = &self.eyes else {
            return Ok(entries);
        };
        let mut all = Vec::with_capacity(entries.len());
        for batch in entries.chunks(BATCH) {
            let (mut files, mut dirs) = (Vec::new(), Vec::new());
            for (name, entry) in batch {
                match entry {
                    Entry::File(file) => files.push(*file),
                    Entry::Dir(_) => dirs.push(dir.join(name)),
                    Entry::Symlink(_) | Entry::Special(_) | Entry::Gap(_) => {}
                }
            }
            self.look_at_files(eyes, &files)?;
            let mut dirs = self.glance(eyes, &dirs)?.into_iter();
            for (name, entry) in batch {
                let is_seen = match entry {
                    Entry::File(file) => {
                        let path = dir.join(name);
                        self.seen_paths(*file)?.contains(&path)
                    }
                    Entry::Dir(_) => matches!(dirs.next(), Some(Seen::Folder(..))),
                    Entry::Symlink(_) | Entry::Special(_) | Entry::Gap(_) => false,
                };
                if is_seen {
                    all.push((name.clone(), entry.clone()));
                }
            }
        }
        Ok(all)
    }

    // ---- contents ----

    pub(super) fn sees_content(&self, content: ContentId) -> Result<bool, ReadError> {
        match &self.eyes {
            None => Ok(true),
            Some(eyes) => Ok(!self.look_at_contents(eyes, &[content])?.is_empty()),
        }
    }

    /// Returns the contents that are visible. If there are more than `most`, the check can stop
    /// early, but still returns more than `most`.
    pub(super) fn seen_of(
        &self,
        contents: &[ContentId],
        most: u32,
    ) -> Result<Vec<ContentId>, ReadError> {
        let Some(eyes) = &self.eyes else {
            return Ok(contents.to_vec());
        };
        let mut seen = Vec::new();
        for batch in contents.chunks(BATCH) {
            seen.extend(self.look_at_contents(eyes, batch)?);
            if seen.len() > most as usize {
                break;
            }
        }
        Ok(seen)
    }

    fn look_at_contents(
        &self,
        eyes: &AccessFilter,
        contents: &[ContentId],
    ) -> Result<Vec<ContentId>, ReadError> {
        let mut answers: Vec<Option<bool>> = {
            let known = &mut eyes.known.lock().contents;
            if known.len() > MOST {
                known.clear();
            }
            let known = contents.iter().map(|content| known.get(content).copied());
            known.collect()
        };
        let is_new = |answer: &Option<bool>| answer.is_none();
        if answers.iter().any(is_new) {
            let (mut files, mut of) = (Vec::new(), Vec::new());
            for (content, answer) in contents
                .iter()
                .zip(&mut answers)
                .filter(|one| is_new(one.1))
            {
                let own = self.ask(|inner| {
                    let mut files = inner.files_of(*content)?;
                    for (container, _) in inner.part_of(*content)? {
                        files.extend(inner.files_of(container)?);
                    }
                    Ok(files)
                })?;
                of.push((*content, answer, own.len()));
                files.extend(own);
            }
            for batch in files.chunks(BATCH) {
                self.look_at_files(eyes, batch)?;
            }
            let mut files = files.into_iter();
            for (content, answer, count) in of {
                let mut is_seen = false;
                for file in files.by_ref().take(count) {
                    is_seen |= self.sees_file(file)?;
                }
                *answer = Some(is_seen);
                eyes.known.lock().contents.insert(content, is_seen);
            }
        }
        let seen = contents.iter().zip(answers);
        Ok(seen
            .filter_map(|(content, seen)| (seen == Some(true)).then_some(*content))
            .collect())
    }

    /// Returns the number of visible contents that have a key.
    pub(super) fn seen_count(&self, kind: PostingKind, key: u64) -> Result<u32, ReadError> {
        let place = (kind == PostingKind::Chunk, key);
        let Some(eyes) = &self.eyes else {
            return Ok(0);
        };
        if let Some(&known) = eyes.known.lock().counts.get(&place) {
            return Ok(known);
        }
        let inner = &*self.inner;
        let segments = inner.segments.iter();
        let mut lists = Lists::new(segments.filter_map(|segment| segment.postings(kind)));
        let all = self.look(|| lists.get(key, usize::MAX, inner.sets.live(kind)))?;
        let count = self.seen_of(all.unwrap_or_default(), u32::MAX)?.len() as u32;
        eyes.known.lock().counts.insert(place, count);
        Ok(count)
    }
}

/// Returns whether a file is still the file of an indexed row, and is unchanged since it was read.
fn is_same(seen: &SeenPlace, row: &StoredFile) -> bool {
    let [mtime, ctime] = [row.mtime, row.ctime].map(|time| (time.secs, time.nanos));
    (seen.ino, seen.size) == (row.ino, row.size.0) && (seen.mtime, seen.ctime) == (mtime, ctime)
}
