//! The tree of an older catalogue, and which of its entries stay.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_core::hash::content::digest;
use resemble_core::{ContentDigest, DirId, FileId};
use resemble_index::{Change, Entry, FileRow, FileStat, FileState, FsId, Snapshot};

use super::super::CatalogueError;

/// The tree of an older catalogue.
pub(super) struct Before {
    /// `None`: there is none.
    snapshot: Option<Snapshot>,
    free: u64,
    /// The folder of the last path, and what it is there: the next path is often in it, too.
    folder: Option<(PathBuf, Option<DirId>)>,
    /// The files that have come of the new catalogue, by their numbers; `None` of a new one, so
    /// that another name of it is not taken for a file of the old tree.
    files: HashMap<u32, Option<FileRow>>,
    /// The files of the old tree among them.
    taken: HashSet<FileId>,
    /// The paths that the new catalogue names, each by the beginning of its digest.
    named: HashSet<u128>,
}

impl Before {
    /// The tree at a place, whose files are on this file system.
    pub(super) fn of(snapshot: &Snapshot, root: &Path, fs: &FsId) -> Result<Self, CatalogueError> {
        let is_there = snapshot.entry(root)?.is_some();
        Ok(Self {
            snapshot: is_there.then(|| snapshot.clone()),
            ..Self::nothing(snapshot.free_inode(fs)?)
        })
    }

    /// No tree, in a file system whose inode numbers from `free` on are free.
    pub(super) fn nothing(free: u64) -> Self {
        Self {
            snapshot: None,
            free,
            folder: None,
            files: HashMap::new(),
            taken: HashSet::new(),
            named: HashSet::new(),
        }
    }

    /// Whether there is one.
    pub(super) const fn is_there(&self) -> bool {
        self.snapshot.is_some()
    }

    /// What is at a path that the new catalogue names.
    pub(super) fn entry(&mut self, path: &Path) -> Result<Option<Entry>, CatalogueError> {
        let Some(snapshot) = &self.snapshot else {
            return Ok(None);
        };
        self.named.insert(name_of(path));
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(snapshot.entry(path)?);
        };
        let dir = match &self.folder {
            Some((at, dir)) if at == parent => *dir,
            _ => {
                let dir = match snapshot.entry(parent)? {
                    Some(Entry::Dir(dir)) => Some(dir),
                    _ => None,
                };
                self.folder = Some((parent.to_owned(), dir));
                dir
            }
        };
        match dir {
            Some(dir) => Ok(snapshot.entry_in(dir, name)?),
            None => Ok(None),
        }
    }

    /// Whether an entry is a file with this number, stat (but for its inode) and state. If it is
    /// not, the file is new, unless another name of it is.
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

    /// The file of the old tree that a file of the new catalogue is, by its number.
    pub(super) fn file(&self, number: u32) -> Option<&FileRow> {
        self.files.get(&number)?.as_ref()
    }

    /// No file of the old tree has this inode number or a greater one: they are numbers of ours.
    pub(super) const fn free(&self) -> u64 {
        self.free
    }

    /// What the new catalogue does not name any more.
    pub(super) fn gone(&self, root: &Path) -> Result<Vec<Change>, CatalogueError> {
        let Some(snapshot) = &self.snapshot else {
            return Ok(Vec::new());
        };
        let mut gone: Vec<PathBuf> = Vec::new();
        snapshot.walk(root, &mut |path, _| {
            let is_below = gone.last().is_some_and(|gone| path.starts_with(gone));
            if !is_below && !self.named.contains(&name_of(path)) {
                gone.push(path.to_owned());
            }
            ControlFlow::Continue(())
        })?;
        Ok(gone.into_iter().map(Change::Remove).collect())
    }
}

fn name_of(path: &Path) -> u128 {
    let ContentDigest(digest) = digest(path.as_os_str().as_bytes());
    let (first, _) = digest.split_first_chunk().unwrap_or((&[0; 16], &[]));
    u128::from_le_bytes(*first)
}
