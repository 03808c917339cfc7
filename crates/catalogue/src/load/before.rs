//! The indexed tree of an older catalogue, and which of its entries stay.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use resemble_core::FileId;
use resemble_index::{Change, Entry, FileRow, FileStat, FileState, FsId, Snapshot};

use super::super::CatalogueError;

/// A folder of the old tree.
struct Folder {
    /// The names in the order of their bytes. When the new catalogue names one, its entry is taken
    /// out.
    names: Vec<(OsString, Option<Entry>)>,
    /// The index after the last name that was taken out: usually that of the next one.
    next: usize,
    /// Counts the names that the new catalogue has not named yet.
    left: usize,
}

impl Folder {
    fn of(snapshot: &Snapshot, path: &Path) -> Result<Self, CatalogueError> {
        let names = snapshot.list(path)?;
        Ok(Self {
            left: names.len(),
            names: (names.into_iter())
                .map(|(name, entry)| (name, Some(entry)))
                .collect(),
            next: 0,
        })
    }

    fn take(&mut self, name: &OsStr) -> Option<Entry> {
        let is_next = self.names.get(self.next).is_some_and(|it| it.0 == name);
        let at = if is_next {
            self.next
        } else {
            let found = self.names.binary_search_by(|it| it.0.as_os_str().cmp(name));
            found.ok()?
        };
        self.next = at + 1;
        let entry = self.names[at].1.take()?;
        self.left -= 1;
        if self.left == 0 {
            self.names = Vec::new();
        }
        Some(entry)
    }
}

/// The tree of an older catalogue.
pub(super) struct Before {
    /// `None`: there is no old tree.
    snapshot: Option<Snapshot>,
    root: PathBuf,
    free: u64,
    /// The folders that both trees have. Each has the names that the new catalogue has not named
    /// yet.
    folders: HashMap<PathBuf, Folder>,
    /// The old row of each file that the new catalogue has named, by its number there. `None`: no
    /// old file matches, so the file is new under every name.
    files: HashMap<u32, Option<FileRow>>,
    /// The old files in `files`.
    taken: HashSet<FileId>,
}

impl Before {
    /// Opens the indexed tree at `root`. Its files have inodes of the file system `fs`.
    pub(super) fn of(snapshot: &Snapshot, root: &Path, fs: &FsId) -> Result<Self, CatalogueError> {
        let mut before = Self::nothing(snapshot.free_inode(fs)?);
        if snapshot.entry(root)?.is_some() {
            // The root may have no entry of its own in a catalogue of several trees, so its folder
            // is opened here.
            (before.folders).insert(root.to_owned(), Folder::of(snapshot, root)?);
            before.snapshot = Some(snapshot.clone());
            root.clone_into(&mut before.root);
        }
        Ok(before)
    }

    /// Makes a state without an old tree. Inode numbers from `free` on are unused in its file
    /// system.
    pub(super) fn nothing(free: u64) -> Self {
        Self {
            snapshot: None,
            root: PathBuf::new(),
            free,
            folders: HashMap::new(),
            files: HashMap::new(),
            taken: HashSet::new(),
        }
    }

    /// Returns whether there is an old tree.
    pub(super) const fn is_there(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Returns the old entry at a path that the new catalogue has. `is_folder`: it is a folder
    /// there.
    pub(super) fn entry(
        &mut self,
        path: &Path,
        is_folder: bool,
    ) -> Result<Option<Entry>, CatalogueError> {
        let Some(snapshot) = &self.snapshot else {
            return Ok(None);
        };
        if path == self.root {
            return Ok(snapshot.entry(path)?);
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(None);
        };
        let folder = self.folders.get_mut(parent);
        let entry = folder.and_then(|folder| folder.take(name));
        if is_folder && matches!(entry, Some(Entry::Dir(_))) {
            (self.folders).insert(path.to_owned(), Folder::of(snapshot, path)?);
        }
        Ok(entry)
    }

    /// Returns whether an old entry is the file with this number: its size, time and state must
    /// match. If it does not match, the file counts as new, unless an earlier name of it matched.
    pub(super) fn is_file(
        &mut self,
        entry: Option<&Entry>,
        number: u32,
        stat: &FileStat,
        is_state: impl FnOnce(&Snapshot, &FileState) -> Result<bool, CatalogueError>,
    ) -> Result<bool, CatalogueError> {
        let Some(snapshot) = &self.snapshot else {
            return Ok(false);
        };
        let row = match entry {
            Some(Entry::File(file)) => snapshot.file(*file)?,
            _ => None,
        };
        let fits = |row: &FileRow| {
            let is_same = (row.stat.size, row.stat.mtime) == (stat.size, stat.mtime);
            is_same
                && match self.files.get(&number) {
                    Some(known) => known.as_ref().is_some_and(|known| known.id == row.id),
                    None => !self.taken.contains(&row.id),
                }
        };
        let row = match row.filter(fits) {
            Some(row) if is_state(snapshot, &row.state)? => Some(row),
            _ => None,
        };
        let is_same = row.is_some();
        self.taken.extend(row.as_ref().map(|row| row.id));
        self.files.entry(number).or_insert(row);
        Ok(is_same)
    }

    /// Returns the old row of the new catalogue's file with this number, if one matched.
    pub(super) fn file(&self, number: u32) -> Option<&FileRow> {
        self.files.get(&number)?.as_ref()
    }

    /// Returns the first inode number above those of the old tree's files. The loader assigns these
    /// numbers itself.
    pub(super) const fn free(&self) -> u64 {
        self.free
    }

    /// Returns changes that remove all names that the new catalogue does not have.
    pub(super) fn gone(&self) -> Vec<Change> {
        let mut gone = Vec::new();
        for (path, folder) in &self.folders {
            let left = folder.names.iter().filter(|(_, entry)| entry.is_some());
            gone.extend(left.map(|(name, _)| path.join(name)));
        }
        gone.sort_unstable();
        gone.into_iter().map(Change::Remove).collect()
    }
}
