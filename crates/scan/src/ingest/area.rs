//! The roots of a reconcile, and the paths that are left out.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_mounts::MountTable;
use rustix::io::Errno;

use crate::fsid::{FsIds, is_under_any};
use crate::ingest::rules::Excluded;
use crate::ingest::target::{IndexUse, IngestOptions, RootOptions};
use crate::walk::{Anchor, Kind};

/// The number of folders that are kept open for roots that are files. A list of files can have more
/// folders than this process can have descriptors. Usually, files of the same folder follow each
/// other in the list.
const FOLDERS: usize = 32;
/// The maximum number of folders that may be open for files that are being read.
const MOST_IN_USE: usize = 64;

/// The state of a root in this reconcile.
#[derive(Debug)]
enum Opened {
    Folder(Arc<Anchor>),
    /// The root is a file, which is opened through its folder.
    File,
    Unavailable,
}

/// The roots of one reconcile, and the state of the opened roots.
#[derive(Debug)]
pub(super) struct Area {
    /// The roots by path. If a list of files was given, there can be many thousands of roots.
    roots: HashMap<PathBuf, RootOptions>,
    /// True if a root may be a file. A daemon watches only folders.
    may_be_files: bool,
    exclude: Vec<PathBuf>,
    mounts: Arc<MountTable>,
    /// The state of each root for which [`Self::anchor`] was called.
    opened: HashMap<PathBuf, Opened>,
    /// Open folders of roots that are files. The last is the most recently used folder.
    folders: VecDeque<Arc<Anchor>>,
    /// The number of folders that were opened since the last call of [`Self::drained`].
    in_use: usize,
    /// For each root, the exclusions by its patterns.
    excluded: HashMap<PathBuf, Arc<Excluded>>,
    pub(super) fs: FsIds,
}

impl Area {
    pub(super) fn new(options: &IngestOptions, mounts: Arc<MountTable>) -> Self {
        let roots = options.roots.iter().cloned();
        Self {
            roots: roots.map(|it| (it.path.clone(), it)).collect(),
            may_be_files: options.index_use != IndexUse::Stays,
            exclude: options.exclude.clone(),
            mounts,
            opened: HashMap::new(),
            folders: VecDeque::new(),
            in_use: 0,
            excluded: HashMap::new(),
            fs: FsIds::default(),
        }
    }

    /// Returns the root that a path belongs to. If several roots contain the path, returns the root
    /// with the longest path.
    pub(super) fn root_of(&self, path: &Path) -> Option<RootOptions> {
        let mut above = path.ancestors();
        above.find_map(|above| self.roots.get(above)).cloned()
    }

    /// Returns the open root. If the root is a file, returns its open folder. If the root cannot be
    /// opened, the first call returns the error, and further calls return `Ok(None)`.
    pub(super) fn anchor(&mut self, root: &Path) -> Result<Option<Arc<Anchor>>, Errno> {
        let found = match self.opened.get(root) {
            Some(Opened::Folder(anchor)) => return Ok(Some(Arc::clone(anchor))),
            Some(Opened::Unavailable) => return Ok(None),
            Some(Opened::File) => self.folder_of(root),
            None => match self.opened_anew(root) {
                Err(errno) if errno == Errno::NOTDIR && self.may_be_files => {
                    self.file(root).map_err(|_| errno)
                }
                opened => {
                    let opened = opened.map(Arc::new);
                    if let Ok(anchor) = &opened {
                        let folder = Opened::Folder(Arc::clone(anchor));
                        self.opened.insert(root.to_owned(), folder);
                    }
                    opened
                }
            },
        };
        if found.is_err() {
            self.lose(root);
        }
        found.map(Some)
    }

    /// Opens a folder. If this process has no descriptors left, closes the folders in `folders` and
    /// tries again.
    fn opened_anew(&mut self, folder: &Path) -> Result<Anchor, Errno> {
        Anchor::open(folder).or_else(|errno| {
            if matches!(errno, Errno::MFILE | Errno::NFILE) && !self.folders.is_empty() {
                self.folders.clear();
                return Anchor::open(folder);
            }
            Err(errno)
        })
    }

    /// Opens the folder of a root that is a file.
    fn file(&mut self, root: &Path) -> Result<Arc<Anchor>, Errno> {
        let anchor = self.folder_of(root)?;
        match anchor.stat_at(root)?.kind {
            Kind::File => {
                self.opened.insert(root.to_owned(), Opened::File);
                Ok(anchor)
            }
            Kind::Dir | Kind::Symlink | Kind::Special(_) => Err(Errno::NOTDIR),
        }
    }

    fn folder_of(&mut self, root: &Path) -> Result<Arc<Anchor>, Errno> {
        let folder = root.parent().ok_or(Errno::NOTDIR)?;
        let known = self.open_folder(folder);
        let anchor = if let Some(anchor) = known.and_then(|at| self.folders.remove(at)) {
            anchor
        } else {
            self.in_use += 1;
            Arc::new(self.opened_anew(folder)?)
        };
        if self.folders.len() == FOLDERS {
            self.folders.pop_front();
        }
        self.folders.push_back(Arc::clone(&anchor));
        Ok(anchor)
    }

    /// Returns whether the files that are being read keep the maximum number of folders open.
    pub(super) const fn is_crowded(&self) -> bool {
        self.in_use >= MOST_IN_USE
    }

    /// Resets the number of open folders. Must be called only when no file is being read.
    pub(super) const fn drained(&mut self) {
        self.in_use = 0;
    }

    /// Returns the exclusions by the patterns of a root.
    pub(super) fn excluded(&mut self, root: &RootOptions) -> Arc<Excluded> {
        if let Some(excluded) = self.excluded.get(&root.path) {
            return Arc::clone(excluded);
        }
        let excluded = Arc::new(Excluded::of(root));
        self.excluded
            .insert(root.path.clone(), Arc::clone(&excluded));
        excluded
    }

    /// Returns whether [`Self::anchor`] was called for this root before.
    pub(super) fn was_opened(&self, root: &Path) -> bool {
        self.opened.contains_key(root)
    }

    /// Marks a root as unavailable.
    pub(super) fn lose(&mut self, root: &Path) {
        self.opened.insert(root.to_owned(), Opened::Unavailable);
    }

    /// Returns the open roots, each with the directory through which it is read. A root that is a
    /// file is left out if its folder was closed meanwhile.
    pub(super) fn open_roots(&self) -> impl Iterator<Item = (&Path, &Anchor)> {
        self.opened.iter().filter_map(|(root, opened)| {
            let anchor = match opened {
                Opened::Folder(anchor) => anchor,
                Opened::File => &self.folders[self.open_folder(root.parent()?)?],
                Opened::Unavailable => return None,
            };
            Some((root.as_path(), anchor.as_ref()))
        })
    }

    /// Returns the index of a folder in `folders`, if it is open.
    fn open_folder(&self, folder: &Path) -> Option<usize> {
        self.folders.iter().rposition(|it| it.path() == folder)
    }

    /// Returns whether a path is left out, without accessing it. A path is left out if it is
    /// excluded, or is below a directory of snapshots. It is also left out if it is in a file
    /// system that is never entered.
    pub(super) fn left_out(&self, root: &Path, path: &Path) -> bool {
        if is_under_any(path, &self.exclude) {
            return true;
        }
        let below = path.ancestors().take_while(|above| *above != root);
        below.enumerate().any(|(up, above)| {
            let snapshots = [".snapshot", ".zfs"]
                .iter()
                .any(|n| above.file_name() == Some(n.as_ref()));
            self.mounts.is_left_out(above) || (snapshots && up > 0)
        })
    }

    /// Returns the names in a directory that are left out and must not be accessed.
    pub(super) fn names_to_skip(&self, dir: &Path) -> Vec<OsString> {
        let excluded = self
            .exclude
            .iter()
            .filter(|path| path.parent() == Some(dir));
        let mut names: Vec<OsString> = excluded
            .filter_map(|path| path.file_name().map(OsStr::to_owned))
            .collect();
        if let Some(mounted) = self.mounts.left_out_in(dir) {
            names.extend(mounted.iter().cloned());
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// If a folder is replaced by another folder, facts about the old folder must not be used for
    /// the new folder. The root is the folder itself or a file in it.
    #[test]
    fn a_folder_in_the_place_of_another_is_noticed() {
        let temp = tempfile::tempdir().expect("a folder");
        let folder = fs::canonicalize(temp.path()).expect("a path").join("a");
        let file = folder.join("file");
        for root in [&folder, &file] {
            fs::create_dir(&folder).expect("a folder");
            fs::write(&file, "text").expect("a file");
            let options = IngestOptions {
                roots: vec![RootOptions::new(root.clone())],
                ..IngestOptions::default()
            };
            let mut area = Area::new(&options, Arc::default());
            assert!(area.anchor(root).expect("it opens").is_some());
            let replaced = |area: &Area| {
                let mut open = area
                    .open_roots()
                    .filter(|(_, anchor)| anchor.was_replaced());
                open.next().map(|(root, _)| root.to_owned())
            };
            assert_eq!(replaced(&area), None);
            let away = temp.path().join("away");
            fs::rename(&folder, &away).expect("it moves");
            fs::create_dir(&folder).expect("another folder");
            assert_eq!(replaced(&area).as_ref(), Some(root));
            fs::remove_dir(&folder).expect("it goes");
            fs::remove_dir_all(&away).expect("it goes");
        }
    }
}
