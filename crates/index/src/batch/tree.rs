//! Applies changes of names: adds, removes and renames directories and their entries.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_core::{ContentDigest, ContentId, DirId, FileId};

use super::gaps::GapStep;
use super::{Batch, Refusal};
use crate::codec::rows::{StoredFile, decode_entry, encode_entry};
use crate::departures::{Departed, Renamed};
use crate::fault::Fault;
use crate::rows::Entry;
use crate::snapshot::paths::{ROOT, names, path_of};
use crate::store::ReadableTable;

/// The departures of at most this many files below a renamed directory are recorded. A large
/// directory must not displace all other departures from the log.
const RENAMED_BELOW: usize = 4096;

/// A directory and the name of an entry in it.
type Spot = (DirId, Vec<u8>);

impl Batch<'_, '_> {
    pub(super) fn set_dir(&mut self, path: &Path) -> Result<(), Refusal> {
        checked(path)?;
        self.make_dirs(path).map(drop)
    }

    /// Puts an entry at `path`, for example a symbolic link. The entry is neither a file nor a
    /// directory.
    pub(super) fn set_other(&mut self, path: &Path, entry: &Entry) -> Result<(), Refusal> {
        let (dir, name) = self.make_spot(path)?;
        if let Some(old) = self.entry(dir, &name)? {
            // A file may have been moved away and replaced by a symbolic link. So its departure is
            // recorded.
            if matches!(entry, Entry::Symlink(_)) {
                self.note_vanished(path)?;
            }
            self.release(dir, &name, &old)?;
        }
        self.put_entry(dir, &name, entry)?;
        Ok(())
    }

    /// Records departures for the files at and below a path that is about to be removed.
    pub(super) fn note_vanished(&mut self, path: &Path) -> Result<(), Refusal> {
        let Some((dir, name)) = self.spot(path)? else {
            return Ok(());
        };
        let entry = self.entry(dir, &name)?;
        let mut waiting = Vec::from_iter(entry.map(|entry| (path.to_owned(), entry)));
        while let Some((path, entry)) = waiting.pop() {
            match entry {
                Entry::File(file) => {
                    if let Some(departed) = self.departed(file, &path)? {
                        self.departures.note(path, departed);
                    }
                }
                Entry::Dir(dir) if !self.departures.is_full() => {
                    // Without a row for this directory, a search would find an earlier departure
                    // from the same name.
                    self.departures.note(path.clone(), Departed::default());
                    for (name, entry) in self.entries_of(dir)? {
                        waiting.push((path.join(OsStr::from_bytes(&name)), entry));
                    }
                }
                Entry::Dir(_) | Entry::Symlink(_) | Entry::Special(_) | Entry::Gap(_) => {}
            }
        }
        Ok(())
    }

    /// Records the rename of a file or a directory as a departure. Also records the files below a
    /// directory, up to [`RENAMED_BELOW`].
    fn note_renamed(&mut self, from: &Path, to: &Path, entry: &Entry) -> Result<(), Fault> {
        let (file, content) = match entry {
            Entry::Dir(_) => (FileId(self.writing.counters.next_file), None),
            Entry::File(file) => {
                let content = self.content_before(*file)?;
                (*file, content.map(|(_, digest)| digest))
            }
            Entry::Symlink(_) | Entry::Special(_) | Entry::Gap(_) => return Ok(()),
        };
        let departed = Departed {
            content,
            to: Some(Renamed {
                path: to.to_owned(),
                file,
            }),
        };
        self.departures.note(from.to_owned(), departed);
        match entry {
            Entry::Dir(dir) => self.note_renamed_below(*dir, from, to),
            _ => Ok(()),
        }
    }

    /// Records the departures of files below a renamed directory. Each of these departures has the
    /// content of its file, unlike the departure of the directory.
    fn note_renamed_below(&mut self, dir: DirId, from: &Path, to: &Path) -> Result<(), Fault> {
        let mut waiting = vec![(dir, from.to_owned(), to.to_owned())];
        let mut left = RENAMED_BELOW;
        while let Some((dir, from, to)) = waiting.pop() {
            for (name, entry) in self.entries_of(dir)? {
                let name = OsStr::from_bytes(&name);
                let (from, path) = (from.join(name), to.join(name));
                match entry {
                    Entry::Dir(dir) => waiting.push((dir, from, path)),
                    Entry::File(_) if left == 0 => return Ok(()),
                    Entry::File(file) => {
                        if let Some((_, digest)) = self.content_before(file)? {
                            let departed = Departed {
                                content: Some(digest),
                                to: Some(Renamed { path, file }),
                            };
                            self.departures.note(from, departed);
                            left -= 1;
                        }
                    }
                    Entry::Symlink(_) | Entry::Special(_) | Entry::Gap(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the content that a file had before this batch.
    fn content_before(&self, file: FileId) -> Result<Option<(ContentId, ContentDigest)>, Fault> {
        let before = &self.writing.before.inner;
        let row = before.stored_file(file)?;
        let Some(content) = row.and_then(|row| row.state.content()) else {
            return Ok(None);
        };
        Ok(before.content(content)?.map(|row| (content, row.digest)))
    }

    /// Returns the departure for one of a file's names: the digest of its content, and another name
    /// of the file if it has one. `None` if the previous commit has no content for the file.
    fn departed(&self, file: FileId, path: &Path) -> Result<Option<Departed>, Fault> {
        let Some((content, digest)) = self.content_before(file)? else {
            return Ok(None);
        };
        let row = self.file(file)?;
        // If the content changed in this batch, the row may belong to another file that has taken
        // over the inode number. Then the names in the row are of no use.
        let other = if row.state.content() == Some(content) {
            self.other_name(file, &row, path)?
        } else {
            None
        };
        Ok(Some(Departed {
            content: Some(digest),
            to: other.map(|path| Renamed { path, file }),
        }))
    }

    /// Returns any name of the file other than `path`.
    fn other_name(
        &self,
        file: FileId,
        row: &StoredFile,
        path: &Path,
    ) -> Result<Option<PathBuf>, Fault> {
        let first = path_of(&self.directories, row.dir, &row.name)?;
        if first != path {
            return Ok(Some(first));
        }
        let mut further = self.further_names.range((file.0, 0, &[][..])..)?;
        let Some(further) = further.next().transpose()? else {
            return Ok(None);
        };
        let (of, dir, name) = further.0.value();
        let is_its = of == file.0;
        let other = is_its.then(|| path_of(&self.directories, DirId(dir), name));
        other.transpose()
    }

    /// Writes the departures of this batch. Leaves out names that belong to a file or a directory
    /// again at the end of the batch.
    pub(super) fn write_departures(&mut self) -> Result<(), Refusal> {
        let mut departures = std::mem::take(&mut self.departures);
        for (path, departed) in std::mem::take(&mut departures.gone) {
            let entry = match self.spot(&path)? {
                Some((dir, name)) => self.entry(dir, &name)?,
                None => None,
            };
            if !matches!(entry, Some(Entry::File(_) | Entry::Dir(_))) {
                departures.note(path, departed);
            }
        }
        Ok(departures.write(self.writing.txn)?)
    }

    pub(super) fn remove(&mut self, path: &Path) -> Result<(), Refusal> {
        if checked(path)?.is_empty() {
            self.remove_below(ROOT)?;
            return Ok(());
        }
        if let Some((dir, name)) = self.spot(path)?
            && let Some(entry) = self.entry(dir, &name)?
        {
            self.entries.remove((dir.0, &name[..]))?;
            self.release(dir, &name, &entry)?;
        }
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<(), Refusal> {
        let (from_names, to_names) = (checked(from)?, checked(to)?);
        if from_names.is_empty() || to_names.is_empty() {
            return Err(bad(from, "the root cannot be renamed or replaced"));
        }
        if from_names == to_names {
            return Ok(());
        }
        let Some((from_dir, from_name)) = self.spot(from)? else {
            return Ok(());
        };
        let Some(entry) = self.entry(from_dir, &from_name)? else {
            return Ok(());
        };
        // The entry is taken out first, because the steps for `to` can remove the entry at `from`.
        // This happens if `to` is a directory above `from`. It also happens if `to` is below a new
        // directory with the old name (`mv a t; mkdir a; mv t a/b` in one batch).
        self.entries.remove((from_dir.0, &from_name[..]))?;
        if let Entry::Gap(gap) = entry {
            self.count_gap(from_dir, gap, GapStep::Less)?;
        }
        if matches!(entry, Entry::Dir(_)) {
            self.known_dirs.clear();
        }
        let (to_dir, to_name) = self.make_spot(to)?;
        match self.entry(to_dir, &to_name)? {
            // Both names have equal entries. If both are names of one file, rename(2) does nothing,
            // but the event says that `from` is gone. For other entries, the removal above is
            // enough.
            Some(old) if old == entry => {
                if let Entry::File(file) = entry {
                    self.unlink(file, from_dir, &from_name)?;
                }
                return Ok(());
            }
            // If `to` existed, no departure is recorded, because programs save a file by renaming a
            // new file to the old name.
            Some(old) => self.release(to_dir, &to_name, &old)?,
            None => self.note_renamed(from, to, &entry)?,
        }
        self.put_entry(to_dir, &to_name, &entry)?;
        match entry {
            Entry::Dir(dir) => {
                self.directories.insert(dir.0, (to_dir.0, &to_name[..]))?;
                self.touch_below(dir)?;
            }
            Entry::File(file) => {
                self.rename_of(file, (from_dir, &from_name), (to_dir, &to_name))?;
            }
            Entry::Symlink(_) | Entry::Special(_) | Entry::Gap(_) => {}
        }
        Ok(())
    }

    /// Returns the entry with this name in a directory.
    pub(super) fn entry(&self, dir: DirId, name: &[u8]) -> Result<Option<Entry>, Fault> {
        let row = self.entries.get((dir.0, name))?;
        Ok(row.map(|row| decode_entry(row.value())).transpose()?)
    }

    /// Returns all names and entries in a directory.
    fn entries_of(&self, dir: DirId) -> Result<Vec<(Vec<u8>, Entry)>, Fault> {
        let mut list = Vec::new();
        for row in self.entries.range((dir.0, &[][..])..)? {
            let (key, entry) = row?;
            let (of, name) = key.value();
            if of != dir.0 {
                break;
            }
            list.push((name.to_vec(), decode_entry(entry.value())?));
        }
        Ok(list)
    }

    /// Writes the row of an entry, or replaces it.
    pub(super) fn put_entry(
        &mut self,
        dir: DirId,
        name: &[u8],
        entry: &Entry,
    ) -> Result<(), Fault> {
        if let Entry::Gap(gap) = entry {
            self.count_gap(dir, *gap, GapStep::More)?;
        }
        encode_entry(entry, &mut self.row);
        self.entries.insert((dir.0, name), &self.row[..])?;
        Ok(())
    }

    /// Returns the directory and the name of `path`. Returns `None` for the root, and if the index
    /// does not have that directory.
    pub(super) fn spot(&self, path: &Path) -> Result<Option<Spot>, Refusal> {
        let names = checked(path)?;
        let Some((name, above)) = names.split_last() else {
            return Ok(None);
        };
        let mut at = ROOT;
        for name in above {
            match self.entry(at, name)? {
                Some(Entry::Dir(dir)) => at = dir,
                _ => return Ok(None),
            }
        }
        Ok(Some((at, name.to_vec())))
    }

    /// Returns the directory and the name of `path`. Creates missing directories.
    pub(super) fn make_spot(&mut self, path: &Path) -> Result<Spot, Refusal> {
        let names = checked(path)?;
        let Some(name) = names.last() else {
            return Err(bad(path, "the root is a directory"));
        };
        let parent = path.parent().unwrap_or(Path::new("/"));
        Ok((self.make_dirs(parent)?, name.to_vec()))
    }

    /// Returns the directory at `path`. Creates it and its parents if they are missing. Other
    /// entries on the way are replaced, because the change states that these names are directories.
    pub(super) fn make_dirs(&mut self, path: &Path) -> Result<DirId, Refusal> {
        if let Some(dir) = self.known_dirs.get(path) {
            return Ok(*dir);
        }
        let mut at = ROOT;
        for name in checked(path)? {
            at = match self.entry(at, name)? {
                Some(Entry::Dir(dir)) => dir,
                other => {
                    if let Some(old) = other {
                        self.release(at, name, &old)?;
                    }
                    self.make_dir(at, name)?
                }
            };
        }
        self.known_dirs.insert(path.to_path_buf(), at);
        Ok(at)
    }

    fn make_dir(&mut self, parent: DirId, name: &[u8]) -> Result<DirId, Refusal> {
        let dir = DirId(self.writing.counters.next_dir);
        self.writing.counters.next_dir = dir.0.checked_add(1).ok_or(Refusal::Full("directory"))?;
        self.directories.insert(dir.0, (parent.0, name))?;
        self.put_entry(parent, name, &Entry::Dir(dir))?;
        Ok(dir)
    }

    /// Removes all data that belong to an entry, except its row. The caller removes or overwrites
    /// the row.
    pub(super) fn release(&mut self, dir: DirId, name: &[u8], entry: &Entry) -> Result<(), Fault> {
        match entry {
            Entry::Dir(gone) => {
                self.remove_below(*gone)?;
                self.directories.remove(gone.0)?;
                Ok(())
            }
            Entry::File(file) => self.unlink(*file, dir, name),
            Entry::Gap(gap) => self.count_gap(dir, *gap, GapStep::Less),
            Entry::Symlink(_) | Entry::Special(_) => Ok(()),
        }
    }

    /// Removes everything below a directory, without recursion.
    fn remove_below(&mut self, top: DirId) -> Result<(), Fault> {
        self.known_dirs.clear();
        let mut waiting = vec![top];
        while let Some(dir) = waiting.pop() {
            let list = self.entries_of(dir)?;
            let all = (dir.0, &[][..])..(dir.0.saturating_add(1), &[][..]);
            self.entries.retain_in(all, |_, _| false)?;
            for (name, entry) in &list {
                match entry {
                    Entry::Dir(below) => {
                        self.directories.remove(below.0)?;
                        waiting.push(*below);
                    }
                    Entry::File(file) => self.unlink_with(*file, dir, name)?,
                    // Gaps need nothing here, because their counts are removed with the directory,
                    // see below.
                    Entry::Symlink(_) | Entry::Special(_) | Entry::Gap(_) => {}
                }
            }
            self.forget_gaps(dir)?;
        }
        Ok(())
    }
}

/// Returns the names in the path of a change, or the error for a bad path.
fn checked(path: &Path) -> Result<Vec<&[u8]>, Refusal> {
    match names(path) {
        Some(names) => Ok(names.collect()),
        None => Err(bad(path, "it is not absolute or has `..` in it")),
    }
}

fn bad(path: &Path, reason: &'static str) -> Refusal {
    Refusal::BadPath {
        path: path.to_path_buf(),
        reason,
    }
}
