//! Makes groups of similar files from the answer of [`super::sets`].
//!
//! For sif, the groups are those of its paper (Manber 1994, section 4). A group is a file with all
//! other files that reach the threshold. Groups with the same files are listed once. The papers of
//! the other methods speak only of pairs. For these methods, a chain of similar pairs makes a group
//! (single link, as in Broder et al. 1997, section 4), and the reference is the file with the most
//! links.

use std::collections::HashMap;

use crate::figure::Figure;
use resemble_core::cluster::UnionFind;
use resemble_methods::collate::GroupQuery;
use resemble_methods::interesting::{Interesting, STEPS, interesting};

use super::sets::GroupsAnswer;

/// A group of similar files. Files are indices of [`GroupsAnswer::files`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimilarFiles {
    /// The file with which the other files are compared.
    pub reference: u32,
    /// The other files, the most similar first.
    pub members: Vec<SimilarFile>,
}

impl SimilarFiles {
    /// Returns whether a file is in the group.
    pub fn has(&self, file: u32) -> bool {
        self.reference == file || self.members.iter().any(|member| member.file == file)
    }
}

/// A file of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimilarFile {
    /// The index of the file.
    pub file: u32,
    /// The figure of the file and the reference. It is [`Figure::NONE`] if this file and the
    /// reference are connected only by other files.
    pub score: Figure,
    /// For sif, the number of fingerprints that the file has in common with the reference.
    pub common: Option<u32>,
}

/// Decides whether the second file may be in a group together with the first.
pub type Accept<'a> = &'a dyn Fn(u32, u32) -> bool;

/// Returns the groups, ordered by the paths of their references. Only sif uses `threshold` and
/// `most_members`. It ignores fingerprints that more than `most_members` files have. The pairs of
/// all other methods are already selected.
pub fn groups(
    grouping: &GroupsAnswer,
    threshold: f64,
    most_members: Option<u32>,
    accept: Option<Accept<'_>>,
) -> Vec<SimilarFiles> {
    let Some(sets) = &grouping.sets else {
        return linked(grouping, accept);
    };
    let query = GroupQuery {
        threshold,
        accept,
        most_members,
    };
    let groups = sets.groups(&query).into_iter();
    groups
        .map(|group| SimilarFiles {
            reference: group.reference,
            members: group
                .members
                .into_iter()
                .map(|member| SimilarFile {
                    file: member.file,
                    score: Figure::new(member.score),
                    common: Some(member.common),
                })
                .collect(),
        })
        .collect()
}

/// Returns the sets of files that all have at least `least` fingerprints in common. No such set is
/// part of another one. Returns `None` for methods other than sif.
pub fn interesting_sets(
    grouping: &GroupsAnswer,
    least: u64,
    most_members: Option<u32>,
) -> Option<Interesting> {
    let sets = grouping.sets.as_ref()?;
    Some(interesting(sets, least, most_members, STEPS))
}

/// Groups files that similar pairs connect, directly or through other files.
fn linked(grouping: &GroupsAnswer, accept: Option<Accept<'_>>) -> Vec<SimilarFiles> {
    // Pairs name files by their paths, so a table from paths to indices is needed. Clusters that
    // are computed on disk have no pairs. Their links name files by index. Such clusters may have
    // millions of files, so no table is built for them.
    let places: HashMap<&[u8], u32> = if grouping.pairs.is_empty() {
        HashMap::new()
    } else {
        let paths = grouping.files.iter().map(|file| file.path.as_bytes());
        paths.zip(0..).collect()
    };
    let mut around: HashMap<u32, Vec<(u32, Figure)>> = HashMap::new();
    let mut sets = UnionFind::new(grouping.files.len() as u32);
    for pair in &grouping.pairs {
        let place = |path: &[u8]| places.get(path).copied();
        let (Some(a), Some(b)) = (place(pair.a.as_bytes()), place(pair.b.as_bytes())) else {
            continue;
        };
        if accept.is_some_and(|accept| !accept(a, b)) {
            continue;
        }
        around.entry(a).or_default().push((b, pair.score));
        around.entry(b).or_default().push((a, pair.score));
        sets.union(a, b);
    }
    let links = of_classes(grouping, accept.is_some());
    for &(a, b, score) in &links {
        if accept.is_some_and(|accept| !accept(a, b)) {
            continue;
        }
        around.entry(a).or_default().push((b, score));
        around.entry(b).or_default().push((a, score));
        sets.union(a, b);
    }
    let mut together: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut files: Vec<u32> = around.keys().copied().collect();
    files.sort_unstable();
    for file in files {
        together.entry(sets.find(file)).or_default().push(file);
    }
    let mut groups: Vec<SimilarFiles> = together
        .into_values()
        .map(|files| {
            // The reference is the file with the most links. If several files have the same number
            // of links, it is the one whose path is first. `max_by_key` returns the last maximum,
            // so the order is reversed.
            let most = files.iter().rev().max_by_key(|file| around[file].len());
            let reference = most.copied().unwrap_or_default();
            let scores: HashMap<u32, Figure> = around[&reference].iter().copied().collect();
            let others = files.into_iter().filter(|&file| file != reference);
            let mut members: Vec<SimilarFile> = others
                .map(|file| SimilarFile {
                    file,
                    score: scores.get(&file).copied().unwrap_or_default(),
                    common: None,
                })
                .collect();
            members.sort_by(|a, b| b.score.cmp(&a.score).then(a.file.cmp(&b.file)));
            SimilarFiles { reference, members }
        })
        .collect();
    groups.sort_unstable_by_key(|group| group.reference);
    groups
}

/// Returns the links between files for clusters that are computed on disk. With `every`, each file
/// of one sketch is linked to each file of the other sketch, because a rule may accept only some of
/// these pairs. Without `every`, the first files of both sketches are linked, and each first file
/// is linked to the other files of its sketch.
fn of_classes(grouping: &GroupsAnswer, every: bool) -> Vec<(u32, u32, Figure)> {
    let same: HashMap<u32, &[u32]> = grouping
        .same
        .iter()
        .filter_map(|files| Some((*files.first()?, &files[..])))
        .collect();
    let one = Figure::new(1.0);
    let mut all = Vec::new();
    for files in same.values() {
        let firsts = if every { files.len() } else { 1 };
        for (at, &a) in files.iter().enumerate().take(firsts) {
            all.extend(files[at + 1..].iter().map(|&b| (a, b, one)));
        }
    }
    for link in &grouping.links {
        let class = |first: &u32| match same.get(first) {
            Some(files) if every => files.to_vec(),
            _ => vec![*first],
        };
        for a in class(&link.a) {
            all.extend(
                class(&link.b)
                    .into_iter()
                    .map(|b| (a.min(b), a.max(b), link.score)),
            );
        }
    }
    all.sort_unstable_by_key(|&(a, b, _)| (a, b));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::{MethodFileRow, MethodPairRow};
    use resemble_proto::number::Fraction;

    fn grouping(files: &[&str], pairs: &[(&str, &str, f64)]) -> GroupsAnswer {
        GroupsAnswer {
            files: files
                .iter()
                .map(|path| MethodFileRow {
                    path: (*path).into(),
                    size: 1,
                    text: true,
                })
                .collect(),
            sets: None,
            same: Vec::new(),
            links: Vec::new(),
            common: Vec::new(),
            pairs: pairs
                .iter()
                .map(|&(a, b, score)| MethodPairRow {
                    a: a.into(),
                    b: b.into(),
                    score: Figure::new(score),
                    a_in_b: Fraction::NONE,
                    b_in_a: Fraction::NONE,
                    resemblance: Fraction::NONE,
                    shared_bytes: None,
                    identical: false,
                })
                .collect(),
        }
    }

    #[test]
    fn pairs_connect_files_and_the_middle_is_the_reference() {
        let grouping = grouping(
            &["a", "b", "c", "d", "e", "f"],
            &[("b", "c", 0.9), ("c", "d", 0.8), ("d", "f", 0.7)],
        );
        let found = groups(&grouping, 0.0, None, None);
        let [group] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(group.reference, 2);
        let members: Vec<(u32, Option<f64>)> = group
            .members
            .iter()
            .map(|member| (member.file, member.score.value()))
            .collect();
        assert_eq!(members, [(1, Some(0.9)), (3, Some(0.8)), (5, None)]);
        // A user's rule may reject the pair of c and d.
        let separated = groups(&grouping, 0.0, None, Some(&|a, b| (a, b) != (2, 3)));
        let sizes: Vec<(u32, usize)> = separated
            .iter()
            .map(|g| (g.reference, g.members.len()))
            .collect();
        assert_eq!(sizes, [(1, 1), (3, 1)]);
    }
}
