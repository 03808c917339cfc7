//! Folds a long list of files to a screenful, with folders in place of the files below them.
//!
//! The list is a tree of folders. The folder with the most bytes is opened first, then the next,
//! until the lines are used up. A closed folder is one line with the numbers of its files and
//! bytes. So a short list is shown whole, and a single change in a deep folder is visible. If a
//! single folder has 10,000 files, the biggest are shown and the others are counted. A folder that
//! contains only one folder never has its own line.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// A file of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaf<'a> {
    /// The path of the file, with `/` between folders.
    path: &'a [u8],
    /// Its size.
    bytes: u64,
    /// The index of the file in the caller's list.
    index: usize,
}

/// A line of the folded list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// The file with this index.
    File(usize),
    /// A closed folder.
    Folder {
        /// The path of the folder, which ends with `/`. It is empty for the folder of the whole
        /// list.
        path: &'a [u8],
        /// Files below it.
        files: u64,
        /// The bytes of these files.
        bytes: u64,
    },
}

/// A folded list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Folded<'a> {
    /// The lines, those with the most bytes first. Lines with equal bytes are sorted by path.
    pub lines: Vec<Line<'a>>,
    /// The number of files without a line. Neither these files nor a folder above them has a line.
    pub hidden_files: u64,
    /// The number of folders in which these files are.
    pub hidden_folders: u64,
}

impl Folded<'_> {
    /// Returns whether at least one file has no line of its own.
    pub(super) fn is_folded(&self) -> bool {
        self.hidden_files > 0
            || self
                .lines
                .iter()
                .any(|line| matches!(line, Line::Folder { .. }))
    }
}

/// A folder or a file, as the leaves whose paths have the same prefix. These leaves are neighbours,
/// because leaves are sorted by their raw bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    /// The length of the common prefix: a folder's path with its `/`, or a file's whole path.
    prefix: usize,
    leaves: Range<usize>,
    bytes: u64,
}

/// Folds a list of paths and sizes. The result has at most `room` lines; 0 counts as 1.
pub(super) fn fold<'a>(files: impl Iterator<Item = (&'a [u8], u64)>, room: usize) -> Folded<'a> {
    let leaf = |(index, (path, bytes))| Leaf { path, bytes, index };
    let mut leaves: Vec<Leaf<'a>> = files.enumerate().map(leaf).collect();
    leaves.sort_by(|x, y| x.path.cmp(y.path).then(x.index.cmp(&y.index)));
    let leaves = &leaves[..];
    if leaves.is_empty() {
        return Folded::default();
    }
    let room = room.max(1);
    let mut done = children(leaves, &whole(leaves));
    let mut folded = Folded::default();
    if done.len() > room {
        done.sort_by_key(order);
        for node in done.drain(room..) {
            folded.hidden_files += node.leaves.len() as u64;
            folded.hidden_folders += u64::from(is_folder(&node));
        }
        // Hidden files may also lie directly in the folder of the whole list. That folder counts as
        // one hidden folder.
        folded.hidden_folders = folded.hidden_folders.max(1);
    }
    let mut closed: BinaryHeap<(u64, Reverse<usize>, usize)> = BinaryHeap::new();
    let (mut open, folders): (Vec<Node>, Vec<Node>) =
        done.into_iter().partition(|node| !is_folder(node));
    let mut nodes = folders;
    for (at, node) in nodes.iter().enumerate() {
        closed.push((node.bytes, Reverse(node.leaves.start), at));
    }
    let mut lines = open.len() + nodes.len();
    let mut kept = Vec::new();
    while let Some((_, _, at)) = closed.pop() {
        let inside = children(leaves, &nodes[at]);
        if lines - 1 + inside.len() > room {
            kept.push(nodes[at].clone());
            continue;
        }
        lines += inside.len() - 1;
        for node in inside {
            if is_folder(&node) {
                closed.push((node.bytes, Reverse(node.leaves.start), nodes.len()));
                nodes.push(node);
            } else {
                open.push(node);
            }
        }
    }
    open.append(&mut kept);
    open.sort_by_key(order);
    folded.lines = open
        .iter()
        .map(|node| {
            let first = leaves[node.leaves.start];
            if is_folder(node) {
                Line::Folder {
                    path: &first.path[..node.prefix],
                    files: node.leaves.len() as u64,
                    bytes: node.bytes,
                }
            } else {
                Line::File(first.index)
            }
        })
        .collect();
    folded
}

fn whole(leaves: &[Leaf<'_>]) -> Node {
    Node {
        prefix: 0,
        leaves: 0..leaves.len(),
        bytes: 0,
    }
}

/// Returns whether a node is a folder. A folder that has only one file below it counts as that
/// file.
fn is_folder(node: &Node) -> bool {
    node.leaves.len() > 1
}

/// Returns the key by which nodes are sorted: the node with the most bytes is first. Nodes with
/// equal bytes are sorted by path, because leaves are sorted by path and `start` is the index of a
/// leaf.
fn order(node: &Node) -> (Reverse<u64>, usize) {
    (Reverse(node.bytes), node.leaves.start)
}

/// Returns the children of a folder. If its only child is a folder, the children of that folder are
/// returned.
fn children(leaves: &[Leaf<'_>], folder: &Node) -> Vec<Node> {
    let mut prefix = folder.prefix;
    loop {
        let nodes = level(leaves, &folder.leaves, prefix);
        match nodes.as_slice() {
            [one] if is_folder(one) => prefix = one.prefix,
            _ => return nodes,
        }
    }
}

fn level(leaves: &[Leaf<'_>], range: &Range<usize>, prefix: usize) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for at in range.clone() {
        let path = leaves[at].path;
        let end = path[prefix..]
            .iter()
            .position(|byte| *byte == b'/')
            .map(|slash| prefix + slash + 1);
        if let (Some(end), Some(last)) = (end, nodes.last_mut())
            && leaves[last.leaves.start].path.get(..end) == Some(&path[..end])
        {
            last.leaves.end = at + 1;
            last.bytes += leaves[at].bytes;
            continue;
        }
        nodes.push(Node {
            prefix: end.unwrap_or(path.len()),
            leaves: at..at + 1,
            bytes: leaves[at].bytes,
        });
    }
    nodes
}

#[cfg(test)]
mod tests {
    use resemble_testutil::random::Random;

    use super::*;

    fn folded<'a>(files: &[(&'a str, u64)], room: usize) -> Folded<'a> {
        fold(
            files.iter().map(|(path, bytes)| (path.as_bytes(), *bytes)),
            room,
        )
    }

    fn shown(files: &[(&str, u64)], room: usize) -> (Vec<String>, u64, u64) {
        let folded = folded(files, room);
        let lines = folded
            .lines
            .iter()
            .map(|line| match line {
                Line::File(index) => files[*index].0.to_owned(),
                Line::Folder { path, files, bytes } => {
                    format!("{} {files} {bytes}", String::from_utf8_lossy(path))
                }
            })
            .collect();
        (lines, folded.hidden_files, folded.hidden_folders)
    }

    #[test]
    fn a_short_list_is_whole() {
        let files = [("b/x", 1), ("a", 5), ("b/y", 7), ("c/d/e", 7)];
        let (lines, hidden, _) = shown(&files, 4);
        assert_eq!(lines, ["b/y", "c/d/e", "a", "b/x"]);
        assert_eq!(hidden, 0);
        assert_eq!(shown(&[], 4).0, [""; 0]);
    }

    #[test]
    fn folders_stand_for_what_has_no_room() {
        let files = [
            ("top", 1),
            ("src/net/a", 50),
            ("src/net/b", 50),
            ("src/gpu/a", 10),
            ("src/gpu/b", 10),
            ("doc/a", 1),
            ("doc/b", 1),
        ];
        assert_eq!(shown(&files, 3).0, ["src/ 4 120", "doc/ 2 2", "top"]);
        assert_eq!(
            shown(&files, 4).0,
            ["src/net/ 2 100", "src/gpu/ 2 20", "doc/ 2 2", "top"]
        );
        assert_eq!(
            shown(&files, 5).0,
            ["src/net/a", "src/net/b", "src/gpu/ 2 20", "doc/ 2 2", "top"]
        );
    }

    #[test]
    fn a_chain_of_folders_is_one_line() {
        let files = [("a/b/c/x", 1), ("a/b/c/y", 2), ("z", 9), ("a/b/c/q", 3)];
        assert_eq!(shown(&files, 2).0, ["z", "a/ 3 6"]);
        let files = [("a/b/c/x", 1), ("a/b/c/y", 2)];
        assert_eq!(shown(&files, 1).0, ["a/b/c/y"]);
    }

    #[test]
    fn the_biggest_of_a_flat_folder() {
        let files = [("a", 1), ("b", 3), ("c", 2), ("d/x", 0), ("d/y", 0)];
        assert_eq!(
            shown(&files, 2),
            (vec!["b".to_owned(), "c".to_owned()], 3, 1)
        );
    }

    /// A name that sorts between two files of a folder does not split that folder into two.
    #[test]
    fn names_around_the_slash() {
        let files = [("a/x", 1), ("a-b", 1), ("a0", 1), ("a/y", 1), ("a", 1)];
        assert_eq!(shown(&files, 4).0, ["a/ 2 2", "a", "a-b", "a0"]);
    }

    /// Checks that every file is in exactly one line or counted as hidden, for any list and room.
    /// There are never more lines than the room allows.
    #[test]
    fn nothing_is_lost() {
        let mut random = Random::new(7);
        let mut next = |n| random.below(n) as u64;
        for _ in 0..300 {
            let count = next(60);
            let names: Vec<String> = (0..count)
                .map(|i| {
                    let depth = next(4);
                    let folders: Vec<String> = (0..depth).map(|_| next(3).to_string()).collect();
                    format!("{}/f{i}", folders.join("/"))
                })
                .collect();
            let files: Vec<(&str, u64)> = names
                .iter()
                .map(|name| (name.as_str(), next(100)))
                .collect();
            let room = next(20) as usize + 1;
            let folded = folded(&files, room);
            let mut seen = folded.hidden_files;
            for line in &folded.lines {
                seen += match line {
                    Line::File(_) => 1,
                    Line::Folder { files, .. } => *files,
                };
            }
            assert_eq!(seen, count, "{files:?} in {room}");
            assert!(folded.lines.len() <= room, "{files:?} in {room}");
        }
    }
}
