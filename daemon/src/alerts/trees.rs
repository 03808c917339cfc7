//! Finds copied trees among the paths of similar files. It reads no files and no clock.
//!
//! A file of a copied tree has the same path below the copy as its original below the original
//! tree. For example, `/mail/2024/a.eml` and `/backup/2024/a.eml` both end in `2024/a.eml`. If the
//! longest common ending is cut off, the same pair of directories is left for every file of the
//! tree: `/mail` and `/backup`. So each pair of similar files votes for the pair of directories
//! that is left. The pair with the most votes is the tree. If all files of the copy are in one
//! deeper folder, the tree is named after that folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The least number of files that make a tree.
pub const LEAST_FILES: usize = 2;

/// The maximum number of trees that one call of [`group`] finds. Further files have an alert each,
/// and the rate limit combines these alerts.
const MOST_TREES: usize = 64;

/// A directory whose files resemble the files at the same paths below another directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The new directory.
    pub copy: PathBuf,
    /// The directory that was there before.
    pub original: PathBuf,
    /// The copied directory of the pair with the most votes: [`Self::copy`] or a directory above
    /// it. While files appear anywhere below this directory, the tree may grow.
    pub above: PathBuf,
    /// The positions of the tree's files in the input of [`group`].
    pub members: Vec<usize>,
}

/// Groups findings into trees. A finding is a path with the paths that it resembles. Each finding
/// is in at most one tree.
pub fn group(findings: &[(&Path, Vec<&Path>)]) -> Vec<Tree> {
    let mut votes: BTreeMap<(PathBuf, PathBuf), BTreeSet<usize>> = BTreeMap::new();
    for (at, (path, partners)) in findings.iter().enumerate() {
        for partner in partners {
            if let Some((copy, original)) = split(path, partner) {
                votes
                    .entry((copy.to_path_buf(), original.to_path_buf()))
                    .or_default()
                    .insert(at);
            }
        }
    }
    let mut trees = Vec::new();
    while trees.len() < MOST_TREES {
        // If two pairs have equally many votes, the pair that sorts first wins. So equal input
        // gives equal output.
        let Some(best) = votes
            .iter()
            .rev()
            .max_by_key(|(_, members)| members.len())
            .filter(|(_, members)| members.len() >= LEAST_FILES)
            .map(|(pair, _)| pair.clone())
        else {
            break;
        };
        let Some(members) = votes.remove(&best) else {
            break;
        };
        for others in votes.values_mut() {
            others.retain(|member| !members.contains(member));
        }
        votes.retain(|_, others| others.len() >= LEAST_FILES);
        trees.push(named_deep(&best, findings, members));
    }
    trees
}

/// Removes the longest common ending of two paths; `None` if the file names differ.
fn split<'a>(a: &'a Path, b: &'a Path) -> Option<(&'a Path, &'a Path)> {
    let (mut left, mut right) = (a, b);
    while let (Some(x), Some(y)) = (left.file_name(), right.file_name()) {
        if x != y {
            break;
        }
        left = left.parent()?;
        right = right.parent()?;
    }
    (left != a).then_some((left, right))
}

/// Makes a tree of the pair and its members. `copy` and `original` are moved down together to the
/// deepest directory that contains all members.
fn named_deep(
    (copy, original): &(PathBuf, PathBuf),
    findings: &[(&Path, Vec<&Path>)],
    members: BTreeSet<usize>,
) -> Tree {
    let mut common: Option<PathBuf> = None;
    for member in &members {
        let Some(dir) = findings
            .get(*member)
            .and_then(|(path, _)| path.strip_prefix(copy).ok())
            .and_then(Path::parent)
        else {
            continue;
        };
        common = Some(match common {
            None => dir.to_path_buf(),
            Some(so_far) => so_far
                .components()
                .zip(dir.components())
                .take_while(|(x, y)| x == y)
                .map(|(x, _)| x)
                .collect(),
        });
    }
    let common = common.unwrap_or_default();
    let down = |dir: &Path| {
        if common.as_os_str().is_empty() {
            dir.to_path_buf()
        } else {
            dir.join(&common)
        }
    };
    Tree {
        copy: down(copy),
        original: down(original),
        above: copy.clone(),
        members: members.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trees(findings: &[(&str, &[&str])]) -> Vec<(String, String, usize)> {
        let findings: Vec<(&Path, Vec<&Path>)> = findings
            .iter()
            .map(|(path, partners)| (Path::new(*path), partners.iter().map(Path::new).collect()))
            .collect();
        group(&findings)
            .into_iter()
            .map(|tree| {
                let text = |path: PathBuf| path.into_os_string().into_string().unwrap();
                (text(tree.copy), text(tree.original), tree.members.len())
            })
            .collect()
    }

    #[test]
    fn a_copy_beside_the_original() {
        assert_eq!(
            trees(&[
                ("/r/proj2/a", &["/r/proj/a"]),
                ("/r/proj2/d/b", &["/r/proj/d/b", "/r/proj2/a"]),
                ("/r/proj2/d/c", &["/r/proj/d/c"]),
            ]),
            [("/r/proj2".into(), "/r/proj".into(), 3)]
        );
    }

    #[test]
    fn a_copy_of_the_same_name_elsewhere_is_named_deep() {
        assert_eq!(
            trees(&[("/y/p/d/a", &["/x/p/d/a"]), ("/y/p/b", &["/x/p/b"])]),
            [("/y/p".into(), "/x/p".into(), 2)]
        );
    }

    #[test]
    fn a_file_counts_in_the_larger_tree() {
        assert_eq!(
            trees(&[
                ("/n/a", &["/o/a", "/z/a"]),
                ("/n/b", &["/o/b", "/z/b"]),
                ("/n/c", &["/o/c"]),
            ]),
            [("/n".into(), "/o".into(), 3)]
        );
    }

    #[test]
    fn files_of_other_names_are_no_tree() {
        assert_eq!(trees(&[("/n/a", &["/o/x"]), ("/n/b", &["/o/y"])]), []);
        assert_eq!(trees(&[("/n/a", &["/o/a"])]), []);
    }
}
