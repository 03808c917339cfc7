//! The model: whole paths in a map, files swept when no path names them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use resemble_core::FileId;
use resemble_index::{FileStat, Look};

/// What is at a path; files are numbers of [`Model::files`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Dir,
    File(usize),
    Symlink(u8),
    Special,
    /// An errno, or 0: left out by an ignore file.
    Gap(i32),
}

#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) id: FileId,
    pub(crate) stat: FileStat,
    pub(crate) state: ModelState,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ModelState {
    Settled(u64),
    Unsettled(u64),
    Unreadable,
    Skipped,
}

impl ModelState {
    pub(crate) fn content(&self) -> Option<u64> {
        match self {
            Self::Settled(n) | Self::Unsettled(n) => Some(*n),
            Self::Unreadable | Self::Skipped => None,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Model {
    /// Everything but "/", by whole path.
    pub(crate) tree: BTreeMap<PathBuf, Node>,
    pub(crate) files: BTreeMap<usize, File>,
    pub(crate) inodes: BTreeMap<u64, usize>,
    pub(crate) born: usize,
    /// What was remembered of looking into contents.
    pub(crate) looks: BTreeMap<u64, Looked>,
}

/// What looking into a content came to: its parts' contents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Looked {
    pub(crate) look: Look,
    pub(crate) parts: Vec<Option<u64>>,
    pub(crate) skipped: bool,
}

impl Model {
    pub(crate) fn of_files(&self) -> BTreeSet<u64> {
        self.files
            .values()
            .filter_map(|file| file.state.content())
            .collect()
    }

    /// Contents of files and their parts.
    pub(crate) fn live(&self) -> BTreeSet<u64> {
        let parts = self.looks.values().flat_map(|looked| &looked.parts);
        let mut live = self.of_files();
        live.extend(parts.flatten());
        live
    }

    /// The end of a batch: what no file has lets its parts go.
    pub(crate) fn let_go(&mut self) {
        let of_files = self.of_files();
        self.looks.retain(|content, _| of_files.contains(content));
    }

    /// Removes what is at `path` and below, and then files without names.
    pub(crate) fn clear(&mut self, path: &Path) {
        self.tree.retain(|at, _| !at.starts_with(path));
        self.sweep();
    }

    pub(crate) fn sweep(&mut self) {
        let named: BTreeSet<usize> = self
            .tree
            .values()
            .filter_map(|node| {
                if let Node::File(file) = node {
                    Some(*file)
                } else {
                    None
                }
            })
            .collect();
        self.files.retain(|file, _| named.contains(file));
        let files = &self.files;
        self.inodes.retain(|_, file| files.contains_key(file));
    }

    pub(crate) fn parents(&mut self, path: &Path) {
        let above: Vec<_> = path.ancestors().skip(1).map(Path::to_path_buf).collect();
        for dir in above.into_iter().rev().filter(|dir| dir != Path::new("/")) {
            if self.tree.get(&dir) != Some(&Node::Dir) {
                self.clear(&dir);
                self.tree.insert(dir, Node::Dir);
            }
        }
    }

    pub(crate) fn put(&mut self, path: &Path, node: &Node) {
        self.parents(path);
        self.tree.insert(path.to_path_buf(), node.clone());
        self.tree
            .retain(|at, _| at == path || !at.starts_with(path));
        self.sweep();
    }

    pub(crate) fn rename(&mut self, from: &Path, to: &Path) {
        if from == to || !self.tree.contains_key(from) {
            return;
        }
        let moved: Vec<_> = self
            .tree
            .iter()
            .filter(|(at, _)| at.starts_with(from))
            .map(|(at, node)| (at.strip_prefix(from).unwrap().to_path_buf(), node.clone()))
            .collect();
        // Without sweeping: the moved files have no name for a moment.
        self.tree.retain(|at, _| !at.starts_with(from));
        let above: Vec<_> = to.ancestors().skip(1).map(Path::to_path_buf).collect();
        for dir in above.into_iter().rev().filter(|dir| dir != Path::new("/")) {
            if self.tree.get(&dir) != Some(&Node::Dir) {
                self.tree.retain(|at, _| !at.starts_with(&dir));
                self.tree.insert(dir, Node::Dir);
            }
        }
        self.tree.retain(|at, _| !at.starts_with(to));
        for (below, node) in moved {
            let at = if below.as_os_str().is_empty() {
                to.to_path_buf()
            } else {
                to.join(below)
            };
            self.tree.insert(at, node);
        }
        self.sweep();
    }
}
