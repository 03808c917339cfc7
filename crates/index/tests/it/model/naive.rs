//! The naive model, which is a map from whole paths to entries. A file without a path is removed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use resemble_core::FileId;
use resemble_index::{FileStat, Look};

/// The entry at a path. A file is given by its number in [`Model::files`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Dir,
    File(usize),
    Symlink(u8),
    Special,
    /// A gap with this `errno`, or 0 if an ignore file leaves the name out.
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
    /// All entries except "/", by their whole paths.
    pub(crate) tree: BTreeMap<PathBuf, Node>,
    pub(crate) files: BTreeMap<usize, File>,
    pub(crate) inodes: BTreeMap<u64, usize>,
    pub(crate) born: usize,
    /// Files that have lost their last name in this batch.
    pub(crate) nameless: BTreeMap<usize, File>,
    /// The result of the search for parts, for each content that was searched.
    pub(crate) looks: BTreeMap<u64, Looked>,
}

/// The result of searching a content for parts. It has the contents of these parts.
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

    /// Returns the contents that files have, and the contents of their parts.
    pub(crate) fn live(&self) -> BTreeSet<u64> {
        let parts = self.looks.values().flat_map(|looked| &looked.parts);
        let mut live = self.of_files();
        live.extend(parts.flatten());
        live
    }

    /// Ends a batch. A content without a file then releases its parts.
    pub(crate) fn let_go(&mut self) {
        self.nameless.clear();
        let of_files = self.of_files();
        self.looks.retain(|content, _| of_files.contains(content));
    }

    /// Removes the entries at and below `path`, and then all files that have no name left.
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
        let nameless = self.files.extract_if(.., |file, _| !named.contains(file));
        self.nameless.extend(nameless);
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
        // Files without names are not removed here, because a file that moves has no name for a
        // moment.
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
