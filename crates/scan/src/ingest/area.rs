//! What belongs to the roots and what is left out.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_mounts::MountTable;
use rustix::io::Errno;

use crate::fsid::{FsIds, is_under_any};
use crate::ingest::rules::Excluded;
use crate::ingest::target::RootOptions;
use crate::walk::{Anchor, Kind};

/// The roots as they are open for one reconcile.
#[derive(Debug)]
pub(super) struct Area {
    /// By their paths: a list of names may be many thousands.
    roots: HashMap<PathBuf, RootOptions>,
    exclude: Vec<PathBuf>,
    mounts: Arc<MountTable>,
    /// The anchor of each root; `None` if it is unavailable.
    anchors: HashMap<PathBuf, Option<Arc<Anchor>>>,
    /// What the patterns of each root leave out.
    excluded: HashMap<PathBuf, Arc<Excluded>>,
    pub(super) fs: FsIds,
}

impl Area {
    pub(super) fn new(
        roots: Vec<RootOptions>,
        exclude: Vec<PathBuf>,
        mounts: Arc<MountTable>,
    ) -> Self {
        Self {
            roots: roots.into_iter().map(|it| (it.path.clone(), it)).collect(),
            exclude,
            mounts,
            anchors: HashMap::new(),
            excluded: HashMap::new(),
            fs: FsIds::default(),
        }
    }

    /// The root that holds the path: the longest.
    pub(super) fn root_of(&self, path: &Path) -> Option<RootOptions> {
        let mut above = path.ancestors();
        above.find_map(|above| self.roots.get(above)).cloned()
    }

    /// The open root. A root that is a file is reached from its directory. `Err` once per root,
    /// with the reason; later `Ok(None)`.
    pub(super) fn anchor(&mut self, root: &Path) -> Result<Option<Arc<Anchor>>, Errno> {
        if let Some(anchor) = self.anchors.get(root) {
            return Ok(anchor.clone());
        }
        let opened = Anchor::open(root).or_else(|errno| {
            let parent = root
                .parent()
                .filter(|_| errno == Errno::NOTDIR)
                .ok_or(errno)?;
            let anchor = Anchor::open(parent)?;
            match anchor.stat_at(root)?.kind {
                Kind::File => Ok(anchor),
                Kind::Dir | Kind::Symlink | Kind::Special(_) => Err(errno),
            }
        });
        let (anchor, result) = match opened {
            Ok(anchor) => {
                let anchor = Arc::new(anchor);
                (Some(Arc::clone(&anchor)), Ok(Some(anchor)))
            }
            Err(errno) => (None, Err(errno)),
        };
        self.anchors.insert(root.to_owned(), anchor);
        result
    }

    /// What the patterns of a root leave out.
    pub(super) fn excluded(&mut self, root: &RootOptions) -> Arc<Excluded> {
        if let Some(excluded) = self.excluded.get(&root.path) {
            return Arc::clone(excluded);
        }
        let excluded = Arc::new(Excluded::of(root));
        self.excluded
            .insert(root.path.clone(), Arc::clone(&excluded));
        excluded
    }

    /// Whether the root was asked for before.
    pub(super) fn was_opened(&self, root: &Path) -> bool {
        self.anchors.contains_key(root)
    }

    /// From now on the root is unavailable.
    pub(super) fn lose(&mut self, root: &Path) {
        self.anchors.insert(root.to_owned(), None);
    }

    /// The roots that are open, with what they were opened as.
    pub(super) fn open_roots(&self) -> impl Iterator<Item = (&Path, &Anchor)> {
        self.anchors
            .iter()
            .filter_map(|(root, a)| Some((root.as_path(), a.as_deref()?)))
    }

    /// Whether a path (without looking at it) is excluded, lies on what is never entered, or
    /// below a directory of snapshots.
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

    /// The names in a directory that may not be looked at.
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
