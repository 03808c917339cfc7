//! Compares the tree of an older catalogue in the index with the new catalogue, entry by entry.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use resemble_core::FileId;
use resemble_index::{Change, Entry, FileRow, FileStat, FileState, FsId, Snapshot};

use super::super::CatalogueError;

/// A folder of the old tree.
struct Folder {
    /// The names, sorted by their bytes, with their entries. An entry is taken out when the new
    /// catalogue has an entry of the same name.
    names: Vec<(OsString, Option<Entry>)>,
    /// The index after the name that was taken out last. The next name is usually there.
    next: usize,
    /// The number of names that were not taken out yet.
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
    /// `None` if there is no old tree.
    snapshot: Option<Snapshot>,
    root: PathBuf,
    free: u64,
    /// The folders that both trees have, each with the names that are left in it.
    folders: HashMap<PathBuf, Folder>,
    /// The old row of each file that was read from the new catalogue, by the file's number in the
    /// new catalogue. `None` if no old file equals the new file. In that case, all names of the new
    /// file are written.
    files: HashMap<u32, Option<FileRow>>,
    /// The ids of the old files in `files`.
    taken: HashSet<FileId>,
}

impl Before {
    /// Opens the indexed tree at `root`. The inode numbers of its files belong to the file system
    /// `fs`.
    pub(super) fn of(snapshot: &Snapshot, root: &Path, fs: &FsId) -> Result<Self, CatalogueError> {
        let mut before = Self::nothing(snapshot.free_inode(fs)?);
        if snapshot.entry(root)?.is_some() {
            // A catalogue of several trees may have no entry for its root. So the folder of the
            // root is opened here.
            (before.folders).insert(root.to_owned(), Folder::of(snapshot, root)?);
            before.snapshot = Some(snapshot.clone());
            root.clone_into(&mut before.root);
        }
        Ok(before)
    }

    /// Makes the state of a load without an older tree. New files get inode numbers from `free` on.
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

    /// Takes out and returns the old entry at a path of the new catalogue. `is_folder` is true if
    /// the new entry is a folder.
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

    /// Returns whether an old entry can stay as the file with this number in the new catalogue. The
    /// old and the new file must have the same size, time and state. The old entry must not be a
    /// name of an old file that already stays as another new file. If an earlier name of the new
    /// file was compared, that name must have stayed as a name of the same old file. If no name
    /// stays, the new file counts as new.
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

    /// Returns the old row that stays as the file with this number in the new catalogue.
    pub(super) fn file(&self, number: u32) -> Option<&FileRow> {
        self.files.get(&number)?.as_ref()
    }

    /// Returns the least inode number that the loader may give to a new file. It is greater than
    /// the numbers of all old files.
    pub(super) const fn free(&self) -> u64 {
        self.free
    }

    /// Returns the changes that remove every name of the old tree that the new catalogue lacks.
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
