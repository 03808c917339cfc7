//! The content of the screen: groups of files, and their folders.
//!
//! A report of `groups` has sets of identical files, and clusters. A report of `compare` has rows
//! of at most two files. In this module all of them are groups, that is, files that are shown
//! together.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use resemble_proto::clock::is_past;
use resemble_proto::documents::{CompareDocument, GroupsDocument};
use resemble_proto::message::{ClusterKind, CompareClass, SoftError};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

/// The relation between the files of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// The bytes of the files are equal.
    Identical,
    /// The files are similar.
    Cluster(ClusterKind),
    /// The files are those of one row of a comparison.
    Row(CompareClass),
}

/// All kinds of groups. The screen has a tab for each kind that occurs, in this order.
const KINDS: [GroupKind; 14] = [
    GroupKind::Identical,
    GroupKind::Cluster(ClusterKind::Versions),
    GroupKind::Cluster(ClusterKind::Contains),
    GroupKind::Cluster(ClusterKind::Pair),
    GroupKind::Cluster(ClusterKind::Family),
    GroupKind::Cluster(ClusterKind::Archive),
    GroupKind::Row(CompareClass::Edited),
    GroupKind::Row(CompareClass::Moved),
    GroupKind::Row(CompareClass::MovedEdited),
    GroupKind::Row(CompareClass::Contained),
    GroupKind::Row(CompareClass::Contains),
    GroupKind::Row(CompareClass::OnlyA),
    GroupKind::Row(CompareClass::OnlyB),
    GroupKind::Row(CompareClass::Same),
];

impl GroupKind {
    /// Returns the word for this kind in the protocol.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Cluster(kind) => kind.word(),
            Self::Row(class) => class.word(),
        }
    }

    /// Returns whether the files of such a group have equal bytes.
    pub(crate) const fn is_equal(self) -> bool {
        matches!(
            self,
            Self::Identical | Self::Row(CompareClass::Same | CompareClass::Moved)
        )
    }
}

/// Files that are shown together.
#[derive(Clone, Debug)]
pub(crate) struct FileGroup {
    pub(crate) kind: GroupKind,
    /// The indexes of the group's files in [`Collection::files`].
    pub(crate) files: Range<usize>,
    /// The number of bytes that the group has more than once. For a row of a comparison, it is the
    /// number of bytes that differ.
    pub(crate) bytes: u64,
    /// A similarity of the group. For a cluster, it is the mean of the larger containments of its
    /// links. For a row of a comparison, it is the larger containment of its two files.
    pub(crate) share: Fraction,
}

#[derive(Clone, Debug)]
pub(crate) struct GroupFile {
    pub(crate) path: PathText,
    pub(crate) size: Option<u64>,
    /// The bytes that the file takes on its disk.
    pub(crate) taken: u64,
    pub(crate) mtime: Option<i64>,
    /// The share of the file that is in the centre of its group, and the share of the centre that
    /// is in the file.
    pub(crate) shares: (Fraction, Fraction),
    pub(crate) group: usize,
}

/// The groups of a report. Those with the most bytes are first.
#[derive(Debug, Default)]
pub struct Collection {
    pub(crate) groups: Vec<FileGroup>,
    pub(crate) files: Vec<GroupFile>,
    /// The kinds of groups that occur.
    pub(crate) kinds: Vec<GroupKind>,
    /// True if the report is a comparison of two trees, false if it has groups.
    pub(crate) is_comparison: bool,
    /// The number of files that could not be read.
    pub(crate) unread: usize,
    /// The indexes of the files that the view of folders shows, sorted by path.
    by_path: Vec<usize>,
}

/// A row of the list of folders: a folder or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FolderRow {
    pub(crate) path: PathText,
    /// The index of the file; `None` for a folder.
    pub(crate) file: Option<usize>,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl Collection {
    /// Makes a collection of the sets and clusters of a report. Relative names start from `base`.
    pub fn of_groups(document: &GroupsDocument, base: Option<&PathText>) -> Self {
        let mut all = Vec::new();
        for set in &document.body.identical {
            let times = set.mtimes.iter().copied().map(Some);
            let times = times.chain(std::iter::repeat(None));
            let files = set.paths.iter().zip(times).enumerate();
            let files = files.map(|(at, (path, mtime))| GroupFile {
                path: based(base, path),
                size: Some(set.size),
                taken: set.taken_by(at),
                mtime,
                shares: (Fraction::ONE, Fraction::ONE),
                group: 0,
            });
            let bytes = set.overhead();
            let files: Vec<_> = files.collect();
            all.push((GroupKind::Identical, bytes, Fraction::ONE, files));
        }
        for cluster in &document.body.clusters {
            let files = cluster.members.iter().map(|member| GroupFile {
                path: based(base, &member.path),
                size: Some(member.size),
                taken: member.size,
                mtime: Some(member.mtime),
                shares: (member.a_in_b, member.b_in_a),
                group: 0,
            });
            let bytes = cluster.shared_with_center().map(|(_, bytes)| bytes).sum();
            let kind = GroupKind::Cluster(cluster.kind);
            all.push((kind, bytes, cluster.average, files.collect()));
        }
        Self::made(all, &document.errors, false)
    }

    /// Makes a collection of the rows of a comparison.
    pub fn of_compare(document: &CompareDocument, base: Option<&PathText>) -> Self {
        let parameters = &document.parameters;
        let (a, b) = (based(base, &parameters.a), based(base, &parameters.b));
        let rows = document.body.entries.iter().map(|row| {
            let file = |root: &PathText, path: &PathText, size: Option<u64>, shares| GroupFile {
                path: based(Some(root), path),
                size,
                taken: size.unwrap_or_default(),
                mtime: None,
                shares,
                group: 0,
            };
            let (ab, ba) = (row.a_in_b, row.b_in_a);
            let of_a = row
                .a
                .iter()
                .map(|path| file(&a, path, row.size_a, (ab, ba)));
            let of_b = row
                .b
                .iter()
                .map(|path| file(&b, path, row.size_b, (ba, ab)));
            let kind = GroupKind::Row(row.class);
            let size = row.size_a.max(row.size_b).unwrap_or_default();
            let equal = if kind.is_equal() {
                size
            } else {
                row.shared_bytes
            };
            let bytes = size.saturating_sub(equal);
            (kind, bytes, ab.max(ba), of_a.chain(of_b).collect())
        });
        Self::made(rows.collect(), &document.errors, true)
    }

    fn made(
        mut all: Vec<(GroupKind, u64, Fraction, Vec<GroupFile>)>,
        errors: &[SoftError],
        is_comparison: bool,
    ) -> Self {
        all.retain(|(.., files)| !files.is_empty());
        all.sort_by_key(|(_, bytes, ..)| Reverse(*bytes));
        let mut made = Self {
            is_comparison,
            unread: errors.iter().filter(|error| error.is_trouble()).count(),
            ..Self::default()
        };
        for (kind, bytes, share, files) in all {
            let (group, from) = (made.groups.len(), made.files.len());
            let files = files.into_iter().map(|file| GroupFile { group, ..file });
            made.files.extend(files);
            let files = from..made.files.len();
            made.groups.push(FileGroup {
                kind,
                files,
                bytes,
                share,
            });
        }
        let is_there = |kind: &GroupKind| made.groups.iter().any(|group| group.kind == *kind);
        made.kinds = KINDS.into_iter().filter(is_there).collect();
        let counts =
            |file: &usize| made.groups[made.files[*file].group].kind.is_equal() != is_comparison;
        let mut by_path: Vec<usize> = (0..made.files.len()).filter(counts).collect();
        by_path.sort_by(|x, y| made.files[*x].path.cmp(&made.files[*y].path));
        made.by_path = by_path;
        made
    }

    /// Returns the files of a group.
    pub(crate) fn members(&self, group: usize) -> &[GroupFile] {
        self.groups
            .get(group)
            .map_or(&[], |group| &self.files[group.files.clone()])
    }

    /// Returns the deepest folder that contains all files of the view of folders.
    pub(crate) fn top(&self) -> PathBuf {
        let ends = self.by_path.first().zip(self.by_path.last());
        let Some((first, last)) = ends else {
            return PathBuf::new();
        };
        let path = |file: &usize| self.files[*file].path.as_path();
        let above = path(first).parent().unwrap_or(Path::new(""));
        let common = above
            .ancestors()
            .find(|folder| path(last).starts_with(folder));
        common.unwrap_or(Path::new("")).to_owned()
    }

    /// Returns the files below a folder that the view of folders shows. For groups, these are files
    /// with an identical file. For a comparison, they are files without one.
    pub(crate) fn below<'a>(&'a self, folder: &'a Path) -> impl Iterator<Item = usize> + 'a {
        let path = |file: &usize| self.files[*file].path.as_path();
        // Paths are sorted as bytes. All paths in a folder begin with the path of the folder and a
        // slash, so they are neighbours.
        let mut start = folder.as_os_str().as_bytes().to_vec();
        if !start.is_empty() && !start.ends_with(b"/") {
            start.push(b'/');
        }
        let bytes = move |file: &usize| path(file).as_os_str().as_bytes();
        let from = self
            .by_path
            .partition_point(|file| bytes(file) < &start[..]);
        let files = self.by_path[from..].iter();
        files
            .take_while(move |file| bytes(file).starts_with(&start))
            .copied()
    }

    /// Returns the entries of a folder. The entry with the most bytes is first. Only files for
    /// which `wanted` is true are counted.
    pub(crate) fn folder(
        &self,
        folder: &Path,
        wanted: impl Fn(&GroupFile) -> bool,
    ) -> Vec<FolderRow> {
        let skip = folder.as_os_str().len();
        let mut rows: BTreeMap<&[u8], FolderRow> = BTreeMap::new();
        for at in self.below(folder) {
            let file = &self.files[at];
            if !wanted(file) {
                continue;
            }
            let bytes = file.path.as_bytes();
            let from = skip
                + bytes[skip..]
                    .iter()
                    .take_while(|byte| **byte == b'/')
                    .count();
            let slash = bytes[from..].iter().position(|byte| *byte == b'/');
            let to = slash.map_or(bytes.len(), |slash| from + slash);
            let row = rows.entry(&bytes[..to]).or_insert_with(|| FolderRow {
                path: PathText::from_bytes(&bytes[..to]),
                file: slash.is_none().then_some(at),
                files: 0,
                bytes: 0,
            });
            row.files += 1;
            row.bytes += file.taken;
        }
        let mut rows: Vec<FolderRow> = rows.into_values().collect();
        rows.sort_by_key(|row| Reverse(row.bytes));
        rows
    }

    /// Returns the index of the file with which the other files of a group are compared. It is the
    /// newest file or, if `by_size` is true, the largest file. Of several such files, it is the
    /// first.
    pub(crate) fn reference(&self, group: usize, by_size: bool) -> usize {
        let rank = |file: &GroupFile| {
            if by_size {
                file.size
                    .map(|size| i64::try_from(size).unwrap_or(i64::MAX))
            } else {
                file.mtime.filter(is_past)
            }
        };
        let files = self.members(group).iter().enumerate();
        let first = files.min_by_key(|(at, file)| (Reverse(rank(file)), *at));
        first.map_or(0, |(at, _)| at)
    }
}

/// Returns whether a path contains `text`, ignoring the case of ASCII letters.
pub(crate) fn has(path: &PathText, text: &[u8]) -> bool {
    let Some(first) = text.first() else {
        return true;
    };
    let bytes = path.as_bytes();
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let last = bytes.len().saturating_sub(text.len() - 1);
    bytes[..last].iter().enumerate().any(|(at, byte)| {
        (*byte == lower || *byte == upper) && bytes[at..at + text.len()].eq_ignore_ascii_case(text)
    })
}

fn based(base: Option<&PathText>, path: &PathText) -> PathText {
    match base {
        Some(base) if path.as_path() == Path::new("") => base.clone(),
        Some(base) => PathText::from(base.as_path().join(path.as_path())),
        None => path.clone(),
    }
}

/// Returns typed text as a path.
pub(crate) fn as_path(text: &str) -> &Path {
    Path::new(OsStr::from_bytes(text.as_bytes()))
}
