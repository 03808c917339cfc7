//! Queries of names and paths.
//!
//! The root of the tree is "/", directory 0. Names are bytes. The index has nothing at a relative
//! path or at a path with `..`.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use resemble_core::{DirId, FileId};

use super::{Inner, Snapshot};
use crate::codec::rows::{StoredFile, decode_entry};
use crate::error::ReadError;
use crate::fault::Fault;
use crate::rows::{Entry, FileRow};
use crate::schema::DirValue;
use crate::store::ReadableTable;

/// The directory "/".
pub(crate) const ROOT: DirId = DirId(0);

/// The maximum number of nested directories. If there are more, a damaged file has a cycle.
const DEPTH: usize = 1 << 16;

impl Snapshot {
    /// Returns the entry at an absolute path. "/" is always a directory.
    pub fn entry(&self, path: &Path) -> Result<Option<Entry>, ReadError> {
        self.note_outside();
        self.there(path)
    }

    fn there(&self, path: &Path) -> Result<Option<Entry>, ReadError> {
        match &self.eyes {
            None => self.ask(|inner| inner.entry(path)),
            Some(eyes) => self.seen_entry(eyes, path),
        }
    }

    /// Returns the entry with this name in a directory. A restricted snapshot returns `None`,
    /// because access checks need the whole path.
    pub fn entry_in(&self, dir: DirId, name: &OsStr) -> Result<Option<Entry>, ReadError> {
        self.note_outside();
        if self.is_partial() {
            return Ok(None);
        }
        self.ask(|inner| inner.entry_in(dir, name.as_bytes()))
    }

    /// Returns the entries of the directory at `path`, sorted by the bytes of their names. The list
    /// is empty if there is no directory.
    pub fn list(&self, path: &Path) -> Result<Vec<(OsString, Entry)>, ReadError> {
        match self.entry(path)? {
            Some(Entry::Dir(dir)) => self.listed(path, dir),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the file at `path`, if there is one.
    pub fn file_at(&self, path: &Path) -> Result<Option<FileRow>, ReadError> {
        let row = match self.there(path)? {
            Some(Entry::File(file)) => self.ask(|inner| inner.file(file))?,
            _ => None,
        };
        self.note_file(row.as_ref().map(|row| &row.state));
        Ok(row)
    }

    /// Returns all names of a file (its hard links), sorted by their bytes. The list is empty if
    /// the index does not have the file.
    pub fn paths(&self, file: FileId) -> Result<Vec<PathBuf>, ReadError> {
        if self.is_partial() {
            return Ok(self.seen_paths(file)?.to_vec());
        }
        self.ask(|inner| {
            let row = inner.stored_file(file)?;
            self.note_file(row.as_ref().map(|row| &row.state));
            row.map_or_else(|| Ok(Vec::new()), |row| inner.paths(file, &row))
        })
    }

    /// Returns up to `most` files that have more than one name. A restricted snapshot returns an
    /// empty list.
    pub fn files_of_several_names(&self, most: usize) -> Result<Vec<FileId>, ReadError> {
        self.note_outside();
        if self.is_partial() {
            return Ok(Vec::new());
        }
        self.ask(|inner| {
            let mut files = Vec::new();
            for name in inner.further_names.range((0, 0, &[][..])..)? {
                if files.len() >= most {
                    break;
                }
                let file = FileId(name?.0.value().0);
                if files.last() != Some(&file) {
                    files.push(file);
                }
            }
            Ok(files)
        })
    }

    /// Visits the entry at `path`, and then everything below it, in the order of the bytes of whole
    /// paths. (`/a`, `/a-b`, `/a/c`: the slash sorts like any other byte.) Symbolic links are
    /// visited, but not followed. Visits nothing if there is no entry at `path`.
    ///
    /// The walk keeps the entries of one directory in memory for each level of the tree.
    pub fn walk(
        &self,
        path: &Path,
        visit: &mut dyn FnMut(&Path, &Entry) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        let Some(entry) = self.entry(path)? else {
            return Ok(());
        };
        if visit(path, &entry).is_break() {
            return Ok(());
        }
        let Entry::Dir(dir) = entry else {
            return Ok(());
        };
        let mut levels = vec![Level::new(self.listed(path, dir)?)];
        let mut at = path.to_path_buf();
        loop {
            let depth = levels.len();
            let Some(level) = levels.last_mut() else {
                return Ok(());
            };
            match level.step() {
                Step::Entry(name, entry) => {
                    at.push(&name);
                    let flow = visit(&at, &entry);
                    at.pop();
                    if flow.is_break() {
                        return Ok(());
                    }
                    if let Entry::Dir(dir) = entry {
                        level.below.push((name, dir));
                    }
                }
                Step::Below(name, dir) => {
                    if depth == DEPTH {
                        return Err(self.blame(Fault::damaged("directories form a cycle")));
                    }
                    at.push(&name);
                    levels.push(Level::new(self.listed(&at, dir)?));
                }
                Step::End => {
                    levels.pop();
                    if !levels.is_empty() {
                        at.pop();
                    }
                }
            }
        }
    }

    /// Returns the visible entries of a directory. `at` is its path.
    fn listed(&self, at: &Path, dir: DirId) -> Result<Vec<(OsString, Entry)>, ReadError> {
        let entries = self.look(|| self.inner.list(dir))?;
        self.seen_entries(at, entries)
    }
}

/// A directory on the path to the entry that a walk visits now.
struct Level {
    entries: std::iter::Peekable<std::vec::IntoIter<(OsString, Entry)>>,
    /// Directories that the walk has visited, but not entered yet, because other names sort before
    /// the entries in them. For example, `a` is followed by `a-b`, and then by `a/c`. The last
    /// directory in this list is entered first. Its name begins with the name of the previous
    /// directory in the list, followed by a byte below the slash.
    below: Vec<(OsString, DirId)>,
}

enum Step {
    Entry(OsString, Entry),
    Below(OsString, DirId),
    End,
}

impl Level {
    fn new(entries: Vec<(OsString, Entry)>) -> Self {
        Self {
            entries: entries.into_iter().peekable(),
            below: Vec::new(),
        }
    }

    fn step(&mut self) -> Step {
        if let Some((waiting, _)) = self.below.last() {
            let next = self.entries.peek();
            let first = next.is_none_or(|(name, _)| slash_first(waiting, name));
            if first && let Some((name, dir)) = self.below.pop() {
                return Step::Below(name, dir);
            }
        }
        match self.entries.next() {
            Some((name, entry)) => Step::Entry(name, entry),
            None => Step::End,
        }
    }
}

/// Returns whether `dir` followed by a slash sorts before `name`.
fn slash_first(dir: &OsStr, name: &OsStr) -> bool {
    let below = dir.as_bytes().iter().chain(b"/");
    below.cmp(name.as_bytes()).is_lt()
}

fn raw(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// Returns the names in an absolute path. Returns `None` if the path is not absolute or contains
/// `..`.
pub(crate) fn names(path: &Path) -> Option<impl Iterator<Item = &[u8]>> {
    let plain = path
        .components()
        .all(|part| !matches!(part, Component::ParentDir));
    (path.is_absolute() && plain).then(|| {
        path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.as_bytes()),
            _ => None,
        })
    })
}

impl Inner {
    pub(super) fn entry(&self, path: &Path) -> Result<Option<Entry>, Fault> {
        let Some(names) = names(path) else {
            return Ok(None);
        };
        let mut at = Entry::Dir(ROOT);
        for name in names {
            let Entry::Dir(dir) = at else { return Ok(None) };
            let Some(entry) = self.entry_in(dir, name)? else {
                return Ok(None);
            };
            at = entry;
        }
        Ok(Some(at))
    }

    pub(super) fn entry_in(&self, dir: DirId, name: &[u8]) -> Result<Option<Entry>, Fault> {
        let row = self.entries.get((dir.0, name))?;
        Ok(row.map(|row| decode_entry(row.value())).transpose()?)
    }

    pub(super) fn list(&self, dir: DirId) -> Result<Vec<(OsString, Entry)>, Fault> {
        let mut list = Vec::new();
        for row in self.entries.range((dir.0, &[][..])..)? {
            let (key, entry) = row?;
            let (of, name) = key.value();
            if of != dir.0 {
                break;
            }
            list.push((
                OsString::from_vec(name.to_vec()),
                decode_entry(entry.value())?,
            ));
        }
        Ok(list)
    }

    /// Returns all names of a file.
    pub(super) fn paths(&self, file: FileId, row: &StoredFile) -> Result<Vec<PathBuf>, Fault> {
        let mut paths = vec![self.path(row.dir, &row.name)?];
        let further = (file.0, 0, &[][..])..;
        for name in self.further_names.range(further)? {
            let (key, ()) = name.map(|(key, value)| (key, value.value()))?;
            let (of, dir, name) = key.value();
            if of != file.0 {
                break;
            }
            paths.push(self.path(DirId(dir), name)?);
        }
        paths.sort_unstable_by(|a, b| raw(a).cmp(raw(b)));
        Ok(paths)
    }

    /// Returns the path of a name in a directory.
    pub(super) fn path(&self, dir: DirId, name: &[u8]) -> Result<PathBuf, Fault> {
        path_of(&self.directories, dir, name)
    }
}

/// Returns the path of a name in a directory. Looks up the parent directories in the table
/// `directories`.
pub(crate) fn path_of(
    directories: &impl ReadableTable<u32, DirValue>,
    dir: DirId,
    name: &[u8],
) -> Result<PathBuf, Fault> {
    let mut names = vec![name.to_vec()];
    let mut at = dir;
    while at != ROOT {
        if names.len() > DEPTH {
            return Err(Fault::damaged("directories form a cycle"));
        }
        let row = directories
            .get(at.0)?
            .ok_or_else(|| Fault::damaged("a name is in an unknown directory"))?;
        let (parent, name) = row.value();
        names.push(name.to_vec());
        at = DirId(parent);
    }
    let mut path = Vec::with_capacity(names.iter().map(|name| name.len() + 1).sum());
    for name in names.iter().rev() {
        path.push(b'/');
        path.extend_from_slice(name);
    }
    Ok(PathBuf::from(OsString::from_vec(path)))
}
