//! Finds families of near-copies. The indexed data decides about most pairs, so few contents are
//! read. Also selects two of several identical files to represent all of them.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::Component;

use resemble_core::similarity::discount::FREE;
use resemble_core::{ContentId, Relation, StopFlag};
use resemble_index::Snapshot;

use crate::AskError;
use crate::nominate::evidence::StoredSketch;
use crate::nominate::families::{Families, FamilyNames, NEIGHBOURS, NearCopies, are_near_copies};
use crate::prove::many::PairProver;
use crate::scope::ScopedFile;

/// Returns the families of contents by their indexed data. If that data does not decide about a
/// pair, and there is a `prover`, both contents are read.
pub fn families(
    kept: &[StoredSketch],
    snapshot: &Snapshot,
    prover: Option<&PairProver<'_>>,
) -> Result<Families, AskError> {
    families_by(kept, snapshot.stop(), &|a, b| {
        let id = |place: u32| kept[place as usize].id;
        prover.map_or(Ok(false), |prover| are_near(prover, id(a), id(b)))
    })
}

/// Reads two contents and returns whether they are near-copies. A content that cannot be read is
/// not a near-copy.
pub(crate) fn are_near(
    prover: &PairProver<'_>,
    a: ContentId,
    b: ContentId,
) -> Result<bool, AskError> {
    let row = |content| prover.snapshot().content(content);
    let (Some(a), Some(b)) = (row(a)?, row(b)?) else {
        return Ok(false);
    };
    let proven = prover.measure(&a, &b, Relation::MIN_SHARED)?;
    Ok(proven.is_some_and(|proven| are_near_copies(&proven.measures)))
}

/// Does the same as [`families`], but `are_near` decides about the contents at two places of
/// `kept`.
pub(crate) fn families_by(
    kept: &[StoredSketch],
    stop: &StopFlag,
    are_near: &dyn Fn(u32, u32) -> Result<bool, AskError>,
) -> Result<Families, AskError> {
    let names = (0u32..).zip(kept).map(|(place, content)| {
        let fingerprints = content.signature.fingerprints.iter().map(|f| f.0);
        FamilyNames::of(place, fingerprints)
    });
    let names: Vec<FamilyNames> = names.collect();
    let copies = KeptCopies {
        kept,
        stop,
        are_near,
    };
    Families::of(&names, FREE, &copies)
}

/// In each member of a large family, marks the pieces that the leader has, too. A member nominates
/// no content by these pieces.
pub fn leave_to_leaders(kept: &mut [StoredSketch], families: &Families, large: &[(u32, Vec<u32>)]) {
    for (_, members) in large {
        for &place in members {
            kept[place as usize].of_leader = families.of_leader(place);
        }
    }
}

/// Returns the pairs that connect the members of each large family: a member with its leader, and
/// neighbours in the order of paths. The lesser place is first in a pair.
pub fn held_together(large: &[(u32, Vec<u32>)]) -> impl Iterator<Item = (usize, usize)> + '_ {
    large.iter().flat_map(|(leader, members)| {
        let of_one = members.iter().enumerate().flat_map(move |(at, &place)| {
            let end = members.len().min(at + 1 + NEIGHBOURS);
            let neighbours = members[at + 1..end].iter();
            let neighbours = neighbours.map(move |&next| (place, next));
            let led = (place != *leader).then_some((place.min(*leader), place.max(*leader)));
            neighbours.chain(led)
        });
        of_one.map(|(a, b)| (a as usize, b as usize))
    })
}

/// The contents among which families are searched, and the function that decides about pairs if the
/// indexed data does not.
struct KeptCopies<'a> {
    kept: &'a [StoredSketch],
    stop: &'a StopFlag,
    are_near: &'a dyn Fn(u32, u32) -> Result<bool, AskError>,
}

impl NearCopies for KeptCopies<'_> {
    type Error = AskError;

    fn pieces(&self, place: u32) -> Result<HashSet<u64>, AskError> {
        self.stop.go_on()?;
        Ok(self.kept[place as usize].pieces())
    }

    fn are_near_copies(&self, a: u32, b: u32) -> Result<bool, AskError> {
        (self.are_near)(a, b)
    }
}

/// Returns the two of these files whose paths have the longest common ending. If the files are
/// copies in two versions of a tree, these two files are usually one file in its two versions.
pub fn named_alike<'a>(files: &[&'a ScopedFile]) -> Option<(&'a ScopedFile, &'a ScopedFile)> {
    let ending = |file: &&'a ScopedFile| {
        let names = file.path.components().rev();
        (names.collect::<Vec<Component<'a>>>(), *file)
    };
    let mut endings: Vec<_> = files.iter().map(ending).collect();
    // After sorting, the paths with the longest common ending are neighbours.
    endings.sort_by(|a, b| a.0.cmp(&b.0));
    let common = |a: &[Component<'_>], b: &[Component<'_>]| {
        let names = a.iter().zip(b);
        names.take_while(|(one, other)| one == other).count()
    };
    let pairs = endings.windows(2).map(|two| {
        let (one, other) = (two[0].1, two[1].1);
        let least = (&one.path).min(&other.path);
        ((Reverse(common(&two[0].0, &two[1].0)), least), (one, other))
    });
    Some(pairs.min_by(|a, b| a.0.cmp(&b.0))?.1)
}

#[cfg(test)]
mod tests {
    use resemble_core::{ByteLen, FileId};

    use super::*;

    #[test]
    fn a_file_and_its_other_version_stand_for_all_copies() {
        let paths = [
            "a/x/note.png",
            "a/y/note.png",
            "b/x/other.png",
            "b/y/note.png",
        ];
        let files: Vec<ScopedFile> = (0u32..)
            .zip(paths)
            .map(|(number, path)| ScopedFile {
                file: FileId(number),
                path: path.into(),
                content: ContentId(7),
                size: ByteLen(300),
                mtime: 0,
            })
            .collect();
        let files: Vec<&ScopedFile> = files.iter().collect();
        let named = named_alike(&files).map(|(a, b)| (a.path.clone(), b.path.clone()));
        assert_eq!(named, Some(("a/y/note.png".into(), "b/y/note.png".into())));
    }
}
