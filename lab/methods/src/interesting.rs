//! Interesting sets: files that all have enough in common, and to which no file can be added.
//!
//! **Paper.** Manber 1994, section 4: "a set is considered interesting if all members of the set
//! have sufficient number of common fingerprints and the set is not a subset of a larger
//! interesting set. The problem of generating interesting sets turns out to be NP-complete." The
//! paper does not give its own algorithm.
//!
//! **Here.** This is the search for maximal frequent item sets. The collated sets are the
//! transactions, files are the items, and counters are the weights. Each interesting set is the
//! intersection of the collated sets that contain it. Such a set is called *closed*. The closed
//! sets are visited by prefix-preserving extension (LCM: Uno, Asai, Uchida & Arimura 2004). This
//! method visits each closed set once, without a list of the visited sets. Two things make this
//! fast on file trees. First, files that are in the same sets are one item. Second, the search does
//! not always extend a set item by item. If the set with all items that could be added has enough
//! in common, this union is an interesting set. Then no other interesting set can be found from
//! there.
//!
//! **Cost.** In the worst case the time is exponential in the number of files. On file trees it is
//! about the number of members of all sets, times the depth of their overlaps. A maximum number of
//! steps bounds the time. [`Interesting::complete`] is true if these steps were enough.
//!
//! **Sees** groups in which *all* files have the same fingerprints in common. If three files are
//! similar only in pairs, and nothing is common to all three, they are three sets of two.

use std::collections::{HashMap, HashSet};

use crate::collate::Collated;

/// The interesting sets of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interesting {
    /// The sets, in the order of their files.
    pub sets: Vec<InterestingSet>,
    /// True if `sets` has all interesting sets. If it is false, sets may be missing, but each set
    /// in `sets` is an interesting set.
    pub complete: bool,
}

/// Files that have something in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterestingSet {
    /// The numbers of two or more files, ascending.
    pub files: Vec<u32>,
    /// The number of fingerprints that all of these files have.
    pub common: u64,
}

/// The default number of steps after which the search gives up. This number of steps takes some
/// seconds.
pub const STEPS: u64 = 1 << 31;

/// Returns the sets of at least two files that have at least `least` fingerprints in common. No set
/// is part of another set.
///
/// The search gives up when it has read `steps` members of sets ([`STEPS`] is usually enough).
/// Collated sets of more than `most_members` files are left out. If it is `None`, all sets are
/// used.
pub fn interesting(
    collated: &Collated,
    least: u64,
    most_members: Option<u32>,
    steps: u64,
) -> Interesting {
    let items = Items::of(collated, least.max(1), most_members);
    let mut walk = Walk {
        counts: vec![0; items.files.len()],
        delivered: vec![Vec::new(); items.files.len()],
        found: HashSet::new(),
        least: least.max(1),
        steps,
        items: &items,
    };
    let complete = walk.run();
    let mut sets: Vec<InterestingSet> = walk
        .found
        .into_iter()
        .map(|(set, common)| {
            let mut files: Vec<u32> = set
                .iter()
                .flat_map(|&item| items.files[item as usize].iter().copied())
                .collect();
            files.sort_unstable();
            InterestingSet { files, common }
        })
        .filter(|set| set.files.len() >= 2)
        .collect();
    sets.sort_unstable();
    Interesting { sets, complete }
}

/// The files, grouped into items: files that are in the same sets are one item.
#[derive(Debug)]
struct Items {
    /// The files of each item.
    files: Vec<Vec<u32>>,
    /// The weight of each set, and its items in ascending order.
    sets: Vec<(u64, Vec<u32>)>,
}

impl Items {
    fn of(collated: &Collated, least: u64, most_members: Option<u32>) -> Self {
        let of_files = collated.sets_of_files(most_members);
        let mut numbers: HashMap<&[u32], u32> = HashMap::new();
        let mut files: Vec<Vec<u32>> = Vec::new();
        let mut sets: Vec<(u64, Vec<u32>)> = collated
            .sets()
            .map(|(counter, _)| (u64::from(counter), Vec::new()))
            .collect();
        for file in 0..collated.files() {
            let mine = of_files.of(file);
            let weight: u64 = mine.iter().map(|&set| sets[set as usize].0).sum();
            if weight < least {
                continue;
            }
            let next = files.len() as u32;
            let item = *numbers.entry(mine).or_insert(next);
            if item == next {
                files.push(Vec::new());
                for &set in mine {
                    sets[set as usize].1.push(item);
                }
            }
            files[item as usize].push(file);
        }
        sets.retain(|(_, members)| !members.is_empty());
        Self { files, sets }
    }
}

/// A set to be visited by the search.
#[derive(Debug)]
struct Node {
    /// The items of this set, ascending.
    set: Vec<u32>,
    /// The numbers of the collated sets that contain this set.
    within: Vec<u32>,
    /// The last item that was added. Items up to it are not added any more.
    core: Option<u32>,
}

#[derive(Debug)]
struct Walk<'a> {
    items: &'a Items,
    least: u64,
    steps: u64,
    /// For each item, the weight of the collated sets that contain both the item and the visited
    /// set. All weights are 0 between visits.
    counts: Vec<u64>,
    /// For each item that can extend the visited set: the collated sets that contain both the item
    /// and the visited set. All lists are empty between visits.
    delivered: Vec<Vec<u32>>,
    found: HashSet<(Vec<u32>, u64)>,
}

impl Walk<'_> {
    /// Visits all closed sets. Returns whether the steps were enough.
    fn run(&mut self) -> bool {
        let mut nodes = vec![Node {
            set: Vec::new(),
            within: (0..self.items.sets.len() as u32).collect(),
            core: None,
        }];
        while let Some(node) = nodes.pop() {
            let work: u64 = node
                .within
                .iter()
                .map(|&set| self.items.sets[set as usize].1.len() as u64)
                .sum();
            if work > self.steps {
                return false;
            }
            self.steps -= work;
            self.visit(node, &mut nodes);
        }
        true
    }

    /// Visits a node. Its `set` may not be closed yet.
    fn visit(&mut self, mut node: Node, nodes: &mut Vec<Node>) {
        let mut touched = Vec::new();
        let mut support = 0;
        for &set in &node.within {
            let (weight, members) = &self.items.sets[set as usize];
            support += weight;
            for &item in members {
                let count = &mut self.counts[item as usize];
                if *count == 0 {
                    touched.push(item);
                }
                *count += weight;
            }
        }
        touched.sort_unstable();
        let closed: Vec<u32> = touched
            .iter()
            .copied()
            .filter(|&item| self.counts[item as usize] == support)
            .collect();
        // If closing the set has added items before the core, the search reaches this closed set
        // from another node.
        let before = |set: &[u32]| set.iter().filter(|&&item| Some(item) < node.core).count();
        let is_mine = before(&closed) == before(&node.set);
        let more: Vec<u32> = touched
            .iter()
            .copied()
            .filter(|&item| (self.least..support).contains(&self.counts[item as usize]))
            .collect();
        for item in touched {
            self.counts[item as usize] = 0;
        }
        if !is_mine || support < self.least {
            return;
        }
        node.set = closed;
        // `whole` is the set with all items that could be added. `with_all` is the weight that all
        // items of `whole` have in common.
        let (mut with_all, mut whole) = (0, node.set.clone());
        whole.extend_from_slice(&more);
        whole.sort_unstable();
        for &set in &node.within {
            let (weight, members) = &self.items.sets[set as usize];
            if contains(members, &whole) {
                with_all += weight;
            }
        }
        if with_all >= self.least {
            if !whole.is_empty() {
                self.found.insert((whole, with_all));
            }
            return;
        }
        let later: Vec<u32> = more
            .into_iter()
            .filter(|&item| Some(item) > node.core)
            .collect();
        for &item in &later {
            self.delivered[item as usize].clear();
        }
        for &set in &node.within {
            let members = &self.items.sets[set as usize].1;
            each_common(members, &later, |item| {
                self.delivered[item as usize].push(set);
            });
        }
        for &item in later.iter().rev() {
            let mut set = node.set.clone();
            set.push(item);
            nodes.push(Node {
                set,
                within: std::mem::take(&mut self.delivered[item as usize]),
                core: Some(item),
            });
        }
    }
}

/// Returns whether `whole` contains all of `part`. Both lists are ascending.
fn contains(whole: &[u32], part: &[u32]) -> bool {
    if part.len() > whole.len() {
        return false;
    }
    let mut rest = whole.iter();
    part.iter()
        .all(|item| rest.by_ref().find(|&other| other >= item) == Some(item))
}

/// Calls `sink` for each number that is in both lists. The lists must be in ascending order.
fn each_common(one: &[u32], other: &[u32], mut sink: impl FnMut(u32)) {
    let mut rest = other.iter().peekable();
    for &item in one {
        while rest.next_if(|&&other| other < item).is_some() {}
        if rest.next_if_eq(&&item).is_some() {
            sink(item);
        }
    }
}

#[cfg(test)]
#[path = "interesting_tests.rs"]
mod tests;
