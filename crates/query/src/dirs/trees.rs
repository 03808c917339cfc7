//! Arranges the files of a question as a forest of directories.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use resemble_core::tree::{Forest, Held, Holdings, Limits, Node};
use resemble_core::{ByteLen, ContentId};
use resemble_index::Snapshot;
use resemble_relate::AskError;
use resemble_relate::scope::ScopedFiles;

use super::countable::{Countable, LeastCommon};
use super::links::{EstimatedLink, FoundLinks};
use crate::groups::near::MOST_ESTIMATES;

/// The maximum number of directory levels below a path of the question. Deeper files are counted in
/// the directory at this depth. A chain of thousands of directories is an accident or an attack.
/// With two such chains, every level of one would make a pair with every level of the other.
const LEVELS: usize = 64;

/// The forest of directories, with their names. The shares are computed without the names.
#[derive(Debug)]
pub(super) struct Trees {
    pub(super) holdings: Holdings,
    /// The path of each directory, by node.
    paths: Vec<PathBuf>,
    nodes: HashMap<PathBuf, Node>,
    /// Directories that directly contain a file that could not be read, ascending.
    unread: Vec<Node>,
    /// Links whose shares are only estimated.
    estimates: Vec<EstimatedLink>,
    /// The bytes of each content.
    sizes: Vec<u64>,
}

impl Trees {
    /// Builds the forest of the directories at and below `bases` that contain files of `scoped`.
    /// `links` is called with the contents of the files, and returns the links between them, as
    /// indexes into these contents. Its second argument decides which links can matter.
    pub(super) fn of(
        snapshot: &Snapshot,
        scoped: &ScopedFiles,
        (bases, least): (&[&Path], Option<LeastCommon>),
        links: impl FnOnce(&[ContentId], &Countable<'_>) -> Result<FoundLinks, AskError>,
    ) -> Result<Self, AskError> {
        let mut growing = Growing::new(bases);
        let mut contents: Vec<ContentId> = Vec::new();
        let mut sizes = Vec::new();
        let mut places: HashMap<ContentId, u32> = HashMap::new();
        let mut held: Vec<(u32, Vec<usize>)> = Vec::with_capacity(scoped.files.len());
        for file in &scoped.files {
            let content = if let Some(&content) = places.get(&file.content) {
                content
            } else {
                let content = contents.len() as u32;
                let row = snapshot.content(file.content)?;
                sizes.push(row.map_or(ByteLen::ZERO, |row| row.size).0);
                contents.push(file.content);
                places.insert(file.content, content);
                content
            };
            let dirs = scoped.paths(file).filter_map(Path::parent);
            held.push((content, dirs.filter_map(|dir| growing.place(dir)).collect()));
        }
        let unread: Vec<usize> = scoped
            .errors
            .iter()
            .filter_map(|error| growing.place(error.path.as_path().parent()?))
            .collect();
        let (forest, nodes) = Forest::new(&growing.parents);
        let mut paths = vec![PathBuf::new(); nodes.len()];
        for (path, &at) in &growing.places {
            paths[nodes[at].index()].clone_from(path);
        }
        let named = growing.places.into_iter();
        let held: Vec<Held> = held
            .into_iter()
            .map(|(content, dirs)| Held {
                content,
                places: dirs.into_iter().map(|dir| nodes[dir]).collect(),
            })
            .collect();
        let mut holders: Vec<Vec<Node>> = vec![Vec::new(); contents.len()];
        for file in &held {
            holders[file.content as usize].extend(&file.places);
        }
        let countable = Countable {
            forest: &forest,
            sizes: &sizes,
            held: &held,
            holders,
            least,
        };
        let FoundLinks { links, estimates } = links(&contents, &countable)?;
        let mut unread: Vec<Node> = unread.into_iter().map(|at| nodes[at]).collect();
        unread.sort_unstable();
        Ok(Self {
            holdings: Holdings::new(forest, sizes.clone(), &held, &links, Limits::default()),
            sizes,
            paths,
            nodes: named.map(|(path, at)| (path, nodes[at])).collect(),
            unread,
            estimates,
        })
    }

    /// Returns the path of a directory.
    pub(super) fn path(&self, of: Node) -> &Path {
        &self.paths[of.index()]
    }

    /// Returns the directory at a path, if a file lies below it.
    pub(super) fn node(&self, at: &Path) -> Option<Node> {
        self.nodes.get(at).copied()
    }

    /// Returns whether the common part of two directories includes an estimate. Returns true for
    /// every pair if there are very many estimates.
    pub(super) fn is_estimate(&self, a: Node, b: Node) -> bool {
        self.estimates.len() > MOST_ESTIMATES
            || self
                .estimates
                .iter()
                .any(|link| self.counts(a, link, b) || self.counts(b, link, a))
    }

    /// Returns the possible error of the shared bytes of each directory: the sum of the errors of
    /// the estimates among the links. Each error has two numbers of bytes. The true value may be
    /// lower by the first number, and higher by the second. `None` means that the error is unknown.
    pub(super) fn slack(&self, a: Node, b: Node) -> Option<[(u64, u64); 2]> {
        if self.estimates.len() > MOST_ESTIMATES {
            return None;
        }
        let bytes = |of: u32, share: u32| {
            (u128::from(self.sizes[of as usize]) * u128::from(share) / 1_000_000) as u64
        };
        let mut all = [(0, 0); 2];
        for link in &self.estimates {
            let is_swapped = !self.counts(a, link, b);
            if is_swapped && !self.counts(b, link, a) {
                continue;
            }
            let slack = link.slack?;
            for (at, of) in [link.of, link.to].into_iter().enumerate() {
                let sum = &mut all[at ^ usize::from(is_swapped)];
                sum.0 += bytes(of, slack[at].0);
                sum.1 += bytes(of, slack[at].1);
            }
        }
        Some(all)
    }

    /// Returns whether a link is part of the common content of two directories. Its first content
    /// must lie in `here` and its second one in `there`.
    fn counts(&self, here: Node, link: &EstimatedLink, there: Node) -> bool {
        let &EstimatedLink { of, to, .. } = link;
        let (has, holdings) = (Holdings::has, &self.holdings);
        // If both directories have both contents, these are already counted as equal contents.
        let are_met = has(holdings, here, of) && has(holdings, there, to);
        are_met && !(has(holdings, there, of) && has(holdings, here, to))
    }

    /// Returns whether two directories are identical. All files below them must have been read, and
    /// each must have an equal file below the other directory.
    pub(super) fn identical(&self, a: Node, b: Node) -> bool {
        let read = |node| {
            let from = self.unread.partition_point(|&unread| unread < node);
            let next = self.unread.get(from);
            next.is_none_or(|&next| !self.holdings.forest().holds(node, next))
        };
        read(a) && read(b) && self.holdings.identical(a, b)
    }
}

/// Numbers the directories in the order in which files lead to them.
struct Growing<'a> {
    bases: Vec<&'a Path>,
    parents: Vec<Option<usize>>,
    places: HashMap<PathBuf, usize>,
    /// The directory of the previous file. Most files are in the same directory as the file before.
    last: Option<(PathBuf, usize)>,
}

impl<'a> Growing<'a> {
    fn new(bases: &[&'a Path]) -> Self {
        let mut bases = bases.to_vec();
        bases.sort_unstable();
        bases.dedup_by(|next, kept| next.starts_with(kept));
        Self {
            bases,
            parents: Vec::new(),
            places: HashMap::new(),
            last: None,
        }
    }

    /// Returns the number of a directory at or below a base. Returns `None` for any other
    /// directory, such as the folder of a base that is a file.
    fn place(&mut self, dir: &Path) -> Option<usize> {
        if let Some((path, at)) = &self.last
            && path == dir
        {
            return Some(*at);
        }
        // In the order of paths, the base of a path is the last base at or before it.
        let next = self.bases.partition_point(|&base| base <= dir);
        let base = *self.bases.get(next.checked_sub(1)?)?;
        let below = dir.strip_prefix(base).ok()?;
        let mut at = self.entry(base, None);
        let mut path = base.to_path_buf();
        for name in below.components().take(LEVELS) {
            path.push(name);
            at = self.entry(&path, Some(at));
        }
        self.last = Some((dir.to_path_buf(), at));
        Some(at)
    }

    fn entry(&mut self, path: &Path, parent: Option<usize>) -> usize {
        if let Some(&at) = self.places.get(path) {
            return at;
        }
        let at = self.parents.len();
        self.parents.push(parent);
        self.places.insert(path.to_path_buf(), at);
        at
    }
}
