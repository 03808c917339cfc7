//! The contents of each directory.

use super::forest::{Forest, Node};

/// A share in millionths, rounded down. Bytes computed from shares are whole numbers, so their sums
/// do not depend on the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u32);

impl Share {
    /// A share of 100 %.
    pub const ALL: Self = Self(Self::MILLION);
    /// A share of 50 %.
    pub const HALF: Self = Self(Self::MILLION / 2);
    /// A share of 0 %.
    pub const ZERO: Self = Self(0);

    const MILLION: u32 = 1_000_000;

    /// Makes a share of this many millionths; more than a million is all.
    pub fn from_millionths(millionths: u32) -> Self {
        Self(millionths.min(Self::MILLION))
    }

    /// Returns the share `part` / `whole`; zero if `whole` is zero.
    pub fn of(part: u64, whole: u64) -> Self {
        if whole == 0 {
            return Self::ZERO;
        }
        let million = u128::from(Self::MILLION);
        let share = u128::from(part) * million / u128::from(whole);
        Self(share.min(million) as u32)
    }

    /// Returns the share in millionths, 0..=1,000,000.
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// Returns this share of `of` bytes, rounded down.
    pub fn bytes(self, of: u64) -> u64 {
        (u128::from(of) * u128::from(self.0) / u128::from(Self::MILLION)) as u64
    }
}

/// A file: one content, in one directory or (with hard links) in several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The content of the file, as an index into the list of sizes.
    pub content: u32,
    /// The directories directly above the file.
    pub places: Vec<Node>,
}

/// A content that is partly contained in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The content.
    pub of: u32,
    /// The other content.
    pub to: u32,
    /// The share of `of` that is in `to`.
    pub share: Share,
}

/// Limits on the number of directories that have a content. The limits bound the number of pairs of
/// directories that the content makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// If a content is in at most this many directories, every two of them are paired. Links of a
    /// content in more directories are not followed.
    pub every: usize,
    /// The number of neighbours on each side. If a content is in more than [`Self::every`]
    /// directories, each directory is paired only with its neighbours: this many directories before
    /// it, and this many after it.
    pub window: usize,
    /// A content in more directories than this is ubiquitous and makes no pair.
    pub most: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            every: 64,
            window: 16,
            most: 1000,
        }
    }
}

/// The number of files of one content directly in a directory; negative where hard links meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) node: u32,
    pub(super) content: u32,
    pub(super) files: i64,
}

/// The files of a forest.
#[derive(Clone, Debug)]
pub struct Holdings {
    pub(super) forest: Forest,
    pub(super) sizes: Vec<u64>,
    pub(super) limits: Limits,
    /// All entries, ordered by node, then by content.
    pub(super) entries: Vec<Entry>,
    /// The entries whose content is in more than `every` directories.
    pub(super) frequent: Vec<Entry>,
    /// The directories directly above each content, ascending: `holders[content]`.
    holders: Vec<Vec<u32>>,
    /// The links of each content, best first: `links[content]`.
    links: Vec<Vec<(Share, u32)>>,
    files: Vec<u64>,
    bytes: Vec<u64>,
    frequent_bytes: Vec<u64>,
}

impl Holdings {
    /// Makes the holdings of `forest`. `sizes` are the sizes of the contents in bytes. Three kinds
    /// of links are ignored: those between equal contents, those with a share of zero, and those
    /// from or to a content in more than [`Limits::every`] directories.
    pub fn new(
        forest: Forest,
        sizes: Vec<u64>,
        files: &[Held],
        links: &[Link],
        limits: Limits,
    ) -> Self {
        let mut holders: Vec<Vec<u32>> = vec![Vec::new(); sizes.len()];
        let mut entries = Vec::new();
        for file in files {
            let mut places = file.places.clone();
            places.sort_unstable();
            places.dedup();
            let mut enter = |node: Node, files| {
                entries.push(Entry {
                    node: node.0,
                    content: file.content,
                    files,
                });
            };
            for &place in &places {
                enter(place, 1);
            }
            for two in places.windows(2) {
                if let Some(meeting) = forest.meeting(two[0], two[1]) {
                    enter(meeting, -1);
                }
            }
            holders[file.content as usize].extend(places.iter().map(|place| place.0));
        }
        for holders in &mut holders {
            holders.sort_unstable();
            holders.dedup();
        }
        entries.sort_unstable();
        entries.dedup_by(|next, kept| {
            let same = (next.node, next.content) == (kept.node, kept.content);
            if same {
                kept.files += next.files;
            }
            same
        });
        let is_frequent = |content: u32| holders[content as usize].len() > limits.every;
        let mut by_content: Vec<Vec<(Share, u32)>> = vec![Vec::new(); sizes.len()];
        for link in links {
            let useful = link.of != link.to && link.share > Share::ZERO;
            if useful && !is_frequent(link.of) && !is_frequent(link.to) {
                by_content[link.of as usize].push((link.share, link.to));
            }
        }
        for links in &mut by_content {
            links.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        let frequent: Vec<Entry> = entries
            .iter()
            .copied()
            .filter(|entry| is_frequent(entry.content))
            .collect();
        let sum = |entries: &[Entry], of: &dyn Fn(&Entry) -> i64| {
            let mut sums = vec![0_i64; forest.len()];
            for entry in entries {
                sums[entry.node as usize] += of(entry);
            }
            for at in (0..sums.len()).rev() {
                if let Some(parent) = forest.parent(Node(at as u32)) {
                    sums[parent.index()] += sums[at];
                }
            }
            sums.into_iter().map(|sum| sum.max(0) as u64).collect()
        };
        let bytes = |entry: &Entry| entry.files * sizes[entry.content as usize] as i64;
        Self {
            files: sum(&entries, &|entry| entry.files),
            bytes: sum(&entries, &bytes),
            frequent_bytes: sum(&frequent, &bytes),
            forest,
            sizes,
            limits,
            entries,
            frequent,
            holders,
            links: by_content,
        }
    }

    /// Returns the directories.
    pub const fn forest(&self) -> &Forest {
        &self.forest
    }

    /// Counts the files at and below a directory, each once.
    pub fn files(&self, below: Node) -> u64 {
        self.files[below.index()]
    }

    /// Returns the bytes of the files at and below a directory, each counted once.
    pub fn bytes(&self, below: Node) -> u64 {
        self.bytes[below.index()]
    }

    /// Like [`Self::bytes`], but counts only files whose contents are in more than
    /// [`Limits::every`] directories.
    pub(super) fn frequent_bytes(&self, below: Node) -> u64 {
        self.frequent_bytes[below.index()]
    }

    pub(super) fn holders(&self, content: u32) -> &[u32] {
        &self.holders[content as usize]
    }

    pub(super) fn is_frequent(&self, content: u32) -> bool {
        self.holders(content).len() > self.limits.every
    }

    /// Returns the contents that have a part of this content, best first.
    pub(super) fn links(&self, content: u32) -> &[(Share, u32)] {
        &self.links[content as usize]
    }

    /// Returns whether a file at or below a directory has this content.
    pub fn has(&self, below: Node, content: u32) -> bool {
        let span = self.forest.span(below);
        let holders = self.holders(content);
        let at = holders.partition_point(|&holder| holder < span.start);
        holders.get(at).is_some_and(|&holder| holder < span.end)
    }

    /// Returns whether every file below either directory has an equal file below the other
    /// directory.
    pub fn identical(&self, a: Node, b: Node) -> bool {
        let covers = |a: Node, b: Node| {
            let entries = within(&self.entries, self.forest.span(a));
            entries.iter().all(|entry| self.has(b, entry.content))
        };
        covers(a, b) && covers(b, a)
    }
}

/// Returns the entries (in the order of nodes) in a span of nodes.
pub(super) fn within(entries: &[Entry], span: std::ops::Range<u32>) -> &[Entry] {
    let from = entries.partition_point(|entry| entry.node < span.start);
    let to = entries.partition_point(|entry| entry.node < span.end);
    &entries[from..to]
}
