//! Merges the sorted entries of two trees. Finds the paths that both trees have, and the paths that
//! only one tree has.

use std::cmp::Ordering;

use crate::compare::sides::{Side, Sides};

/// The paths that both sides have, and the paths that only one side has.
#[derive(Debug, Default)]
pub(in crate::compare) struct Joined {
    /// Pairs of regular files at the same path, as indexes of their entries.
    pub(in crate::compare) pairs: Vec<(u32, u32)>,
    /// Regular files with no regular file at their path on the other side.
    pub(in crate::compare) alone: [Vec<u32>; 2],
    /// The entries of A and of B at each path with an entry that is not a regular file.
    pub(in crate::compare) others: Vec<(Option<u32>, Option<u32>)>,
}

impl Joined {
    pub(in crate::compare) fn of(sides: &Sides) -> Self {
        let (a, b) = (&sides.a.entries, &sides.b.entries);
        let mut joined = Self::default();
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let order = match (a.get(i), b.get(j)) {
                // If the user named two files, they are compared whatever their names are.
                (Some(_), Some(_)) if sides.a.single && sides.b.single => Ordering::Equal,
                (Some(a), Some(b)) => a.path.cmp(&b.path),
                (Some(_), None) => Ordering::Less,
                _ => Ordering::Greater,
            };
            let of_a = order.is_le().then_some(i as u32);
            let of_b = order.is_ge().then_some(j as u32);
            i += usize::from(of_a.is_some());
            j += usize::from(of_b.is_some());
            let file = |side: &Side, at: Option<u32>| {
                at.is_some_and(|at| side.entries[at as usize].what.content().is_some())
            };
            match (file(&sides.a, of_a), file(&sides.b, of_b)) {
                (true, true) => joined.pairs.extend(of_a.zip(of_b)),
                (in_a, in_b) => {
                    joined.alone[0].extend(of_a.filter(|_| in_a));
                    joined.alone[1].extend(of_b.filter(|_| in_b));
                    let lone_file = (in_a && of_b.is_none()) || (in_b && of_a.is_none());
                    if !lone_file {
                        joined.others.push((of_a, of_b));
                    }
                }
            }
        }
        joined
    }

    /// Returns pairs of unequal contents of files at the same path. Each pair has the content of A,
    /// then the content of B. The pairs are in ascending order.
    pub(in crate::compare) fn twins(&self, sides: &Sides) -> Vec<(u32, u32)> {
        let content = |side: &Side, at: u32| side.entries[at as usize].what.content();
        let contents = self.pairs.iter();
        let contents = contents
            .filter_map(|&(a, b)| content(&sides.a, a).zip(content(&sides.b, b)))
            .filter(|(a, b)| a != b);
        let mut twins: Vec<(u32, u32)> = contents.collect();
        twins.sort_unstable();
        twins.dedup();
        twins
    }

    /// Returns, for each side, the contents of the files in `alone`, in ascending order.
    pub(in crate::compare) fn lone_contents(&self, sides: &Sides) -> [Vec<u32>; 2] {
        [0, 1].map(|side| {
            let entries = &[&sides.a, &sides.b][side].entries;
            let alone = self.alone[side].iter();
            let alone = alone.filter_map(|&at| entries[at as usize].what.content());
            let mut alone: Vec<u32> = alone.collect();
            alone.sort_unstable();
            alone.dedup();
            alone
        })
    }
}
