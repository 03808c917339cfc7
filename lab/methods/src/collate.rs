//! Compares all files with each other, as sif does: finds the files that have fingerprints in
//! common.
//!
//! **Paper.** Manber 1994, section 4, figures 1 to 3.
//!
//! ```text
//! (fingerprint, file) of all files ── sort ─► sets of files that share a fingerprint (figure 1);
//!        sets of one file and the fingerprints themselves are dropped
//! sets ── sort ─► distinct sets, each with a counter of its fingerprints (figure 2) = Collated
//! for each file R: over the sets with R, the sums of the counters for each other member; those
//!        that reach the threshold in percent of R's fingerprints (figure 3)    = CollatedGroup
//! ```
//!
//! [`Collated`] is enough to answer every question. So another threshold or another rule about
//! files needs no new scan of the files. [`Collated`] can be encoded and stored.
//!
//! **Readings.** A set names a file once, even if the file has a fingerprint several times. So
//! percentages here are shares of the *distinct* fingerprints, and an equal file has 100 %. (The
//! comparison of one file with all others counts occurrences: [`crate::sif`].) "Minimum similarity
//! = 25%" in figure 3 includes 25 % itself. "Any set of files is output no more than once": if
//! several R have the same set, the first file is its reference.
//!
//! **Cost.** Sorting all n pairs (fingerprint, file) takes n log n steps and 16 bytes for each
//! pair. To make the group of R, the members of R's sets are read. The largest sets are skipped, as
//! long as all skipped sets together have too few of R's fingerprints. A similar file must then
//! also be in one of the other sets. Files with the same sets are handled once. The time is still
//! quadratic if very many files share a large part and differ in the rest.
//! [`GroupQuery::most_members`] leaves out the sets with too many files (the remedy of Forman et
//! al. 2005, section 2.5). Then the figure is not exact.

use std::collections::HashSet;

use crate::encode::{DecodeError, Reader, put_varint};

/// Collects the fingerprints of files.
#[derive(Clone, Debug, Default)]
pub struct Collator {
    /// The pairs (fingerprint, file) of all files.
    pairs: Vec<(u64, u32)>,
    /// The number of distinct fingerprints of each file.
    totals: Vec<u32>,
}

impl Collator {
    /// Adds the next file with its fingerprints ([`crate::MethodSignature::keys`] of sif). A
    /// repeated fingerprint is counted once. Returns the number of the file, counted from 0.
    pub fn add(&mut self, fingerprints: impl IntoIterator<Item = u64>) -> u32 {
        let file = self.totals.len() as u32;
        let mut distinct: Vec<u64> = fingerprints.into_iter().collect();
        distinct.sort_unstable();
        distinct.dedup();
        self.totals.push(distinct.len() as u32);
        self.pairs
            .extend(distinct.into_iter().map(|value| (value, file)));
        file
    }

    /// Returns the sets of all files that were added. This sorts twice.
    pub fn finish(mut self) -> Collated {
        self.pairs.sort_unstable();
        // Figure 1 of the paper: the start of each set in `pairs`, and its length.
        let mut sets: Vec<(u32, u32)> = Vec::new();
        let mut at = 0;
        for of_one in self.pairs.chunk_by(|a, b| a.0 == b.0) {
            if of_one.len() > 1 {
                sets.push((at, of_one.len() as u32));
            }
            at += of_one.len() as u32;
        }
        let pairs = &self.pairs;
        let members = |&(start, len): &(u32, u32)| {
            pairs[start as usize..][..len as usize]
                .iter()
                .map(|&(_, file)| file)
        };
        sets.sort_unstable_by(|a, b| members(a).cmp(members(b)));
        // Figure 2 of the paper: the distinct sets with their counters.
        let mut collated = Collated {
            totals: self.totals,
            ..Collated::default()
        };
        for same in sets.chunk_by(|a, b| members(a).eq(members(b))) {
            collated.push(same.len() as u32, members(&same[0]));
        }
        collated
    }
}

/// The distinct sets of files. The counter of a set is the number of fingerprints that its files
/// have and no other file has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collated {
    totals: Vec<u32>,
    counters: Vec<u32>,
    /// The end of each set in `members`.
    ends: Vec<usize>,
    members: Vec<u32>,
}

/// The conditions by which groups are made from the sets.
pub struct GroupQuery<'a> {
    /// The minimum share of the reference file's fingerprints that another file must have. It must
    /// be above 0. The paper uses 0.25.
    pub threshold: f64,
    /// Returns whether the second file is allowed in the group of the first file. The rule may
    /// depend on size, suffix, type, or a wish of the user. If it is `None`, every file is allowed.
    pub accept: Option<&'a dyn Fn(u32, u32) -> bool>,
    /// The maximum number of files in a set. Larger sets are left out. If it is `None`, all sets
    /// are used, as in the paper.
    pub most_members: Option<u32>,
}

impl Default for GroupQuery<'_> {
    fn default() -> Self {
        Self {
            threshold: 0.25,
            accept: None,
            most_members: None,
        }
    }
}

impl std::fmt::Debug for GroupQuery<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupQuery")
            .field("threshold", &self.threshold)
            .field("accept", &self.accept.is_some())
            .field("most_members", &self.most_members)
            .finish()
    }
}

/// A file and the files that are similar to it, as in figure 3.
#[derive(Clone, Debug, PartialEq)]
pub struct CollatedGroup {
    /// The reference. The paper says: "R indicates the file with which all others are compared."
    pub reference: u32,
    /// The other files, the most similar file first. Equally similar files are ordered by number.
    pub members: Vec<GroupMember>,
}

/// A file that is similar to a reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupMember {
    /// The number of the file.
    pub file: u32,
    /// The number of fingerprints that the file has in common with the reference.
    pub common: u32,
    /// The share of the reference's fingerprints that the file also has.
    pub score: f64,
}

impl Collated {
    fn push(&mut self, counter: u32, members: impl Iterator<Item = u32>) {
        self.counters.push(counter);
        self.members.extend(members);
        self.ends.push(self.members.len());
    }

    /// Returns the number of files that were added, including files without a similar file.
    pub fn files(&self) -> u32 {
        self.totals.len() as u32
    }

    /// Returns the number of distinct fingerprints of a file.
    pub fn total(&self, file: u32) -> u32 {
        self.totals[file as usize]
    }

    /// Returns the number of sets.
    pub fn len(&self) -> usize {
        self.counters.len()
    }

    /// Returns whether there are no sets, so that no two files have anything in common.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty()
    }

    /// Returns a set: its counter, and its members in ascending order.
    ///
    /// # Panics
    ///
    /// Panics if there is no set with this number.
    pub fn set(&self, number: usize) -> (u32, &[u32]) {
        let start = if number == 0 {
            0
        } else {
            self.ends[number - 1]
        };
        (
            self.counters[number],
            &self.members[start..self.ends[number]],
        )
    }

    /// Returns all sets in the order of their members, as in figure 2. (The paper sorts lines of
    /// text, so its file numbers are in alphabetical order.)
    pub fn sets(&self) -> impl Iterator<Item = (u32, &[u32])> {
        (0..self.len()).map(|number| self.set(number))
    }

    /// Returns the numbers of the sets of each file in ascending order.
    pub(crate) fn sets_of_files(&self, most_members: Option<u32>) -> SetsOfFiles {
        let mut starts = vec![0usize; self.totals.len() + 1];
        let most = most_members.map_or(usize::MAX, |most| most as usize);
        let chosen = || {
            (0u32..)
                .zip(self.sets())
                .filter(|(_, (_, set))| set.len() <= most)
        };
        for (_, (_, members)) in chosen() {
            for &file in members {
                starts[file as usize + 1] += 1;
            }
        }
        for file in 1..starts.len() {
            starts[file] += starts[file - 1];
        }
        let mut sets = vec![0; starts.last().copied().unwrap_or(0)];
        let mut next = starts.clone();
        for (number, (_, members)) in chosen() {
            for &file in members {
                sets[next[file as usize]] = number;
                next[file as usize] += 1;
            }
        }
        SetsOfFiles { starts, sets }
    }

    /// Returns the groups of similar files in the order of their references. Each set of files is
    /// returned once.
    pub fn groups(&self, query: &GroupQuery<'_>) -> Vec<CollatedGroup> {
        let of_files = self.sets_of_files(query.most_members);
        let mut groups = Vec::new();
        let mut printed: HashSet<Vec<u32>> = HashSet::new();
        let mut asked: HashSet<(&[u32], u32)> = HashSet::new();
        let mut sums = Sums::new(self.files());
        for reference in 0..self.files() {
            let sets = of_files.of(reference);
            if sets.is_empty() {
                continue;
            }
            // Without a rule about the files, the group depends only on the sets of a file and its
            // number of fingerprints. So files that have the same sets and the same number of
            // fingerprints are handled once.
            if query.accept.is_none() && !asked.insert((sets, self.total(reference))) {
                continue;
            }
            let members = self.similar(reference, sets, query, &mut sums);
            if members.is_empty() {
                continue;
            }
            let mut files: Vec<u32> = members.iter().map(|member| member.file).collect();
            files.push(reference);
            files.sort_unstable();
            if printed.insert(files) {
                groups.push(CollatedGroup { reference, members });
            }
        }
        groups
    }

    /// Returns the files that are similar to `reference`, the most similar file first.
    fn similar(
        &self,
        reference: u32,
        sets: &[u32],
        query: &GroupQuery<'_>,
        sums: &mut Sums,
    ) -> Vec<GroupMember> {
        let total = self.total(reference);
        // Compares ratios, because the product of threshold and total would be rounded: 11 of 20
        // would not reach 55 %.
        let reaches = |common: u32| f64::from(common) / f64::from(total) >= query.threshold;
        let mut by_size: Vec<u32> = sets.to_vec();
        by_size.sort_by_key(|&set| self.set(set as usize).1.len());
        // Skips the largest sets, as long as the counters of all skipped sets together do not reach
        // the threshold. A similar file is then in one of the other sets.
        let (mut walked, mut rest) = (by_size.len(), 0);
        while walked > 0 {
            let counter = self.set(by_size[walked - 1] as usize).0;
            if reaches(rest + counter) {
                break;
            }
            rest += counter;
            walked -= 1;
        }
        for &set in &by_size[..walked] {
            let (counter, members) = self.set(set as usize);
            for &file in members {
                sums.add(file, counter);
            }
        }
        for &set in &by_size[walked..] {
            let (counter, members) = self.set(set as usize);
            sums.add_to_known(members, counter);
        }
        let mut members = Vec::new();
        sums.drain(|file, common| {
            let accepted = || query.accept.is_none_or(|accept| accept(reference, file));
            if file != reference && common > 0 && reaches(common) && accepted() {
                members.push(GroupMember {
                    file,
                    common,
                    score: f64::from(common) / f64::from(total),
                });
            }
        });
        members.sort_unstable_by_key(|member| (std::cmp::Reverse(member.common), member.file));
        members
    }

    /// Encodes the sets as varints: the number of files, their totals, and the number of sets. The
    /// sets follow. Each set has its counter, the number of its members, and the differences
    /// between consecutive members minus 1.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.totals.len() as u64);
        for &total in &self.totals {
            put_varint(&mut out, total.into());
        }
        put_varint(&mut out, self.len() as u64);
        for (counter, members) in self.sets() {
            put_varint(&mut out, counter.into());
            put_varint(&mut out, members.len() as u64);
            let mut next = 0;
            for &file in members {
                put_varint(&mut out, u64::from(file - next));
                next = file + 1;
            }
        }
        out
    }

    /// Decodes sets. The input can be any bytes: invalid input gives an error.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut from = Reader(bytes);
        let small = |value: u64| {
            u32::try_from(value).map_err(|_| DecodeError::Damaged("a number of more than 32 bits"))
        };
        let mut collated = Self::default();
        for _ in 0..from.count(8)? {
            collated.totals.push(small(from.varint()?)?);
        }
        for _ in 0..from.count(32)? {
            let counter = small(from.varint()?)?;
            let start = collated.members.len();
            let mut next = 0u64;
            for _ in 0..from.count(8)? {
                let file = next.saturating_add(from.varint()?);
                if file >= collated.totals.len() as u64 {
                    return Err(DecodeError::Damaged("the number of a file is too high"));
                }
                collated.members.push(file as u32);
                next = file + 1;
            }
            if counter == 0 || collated.members.len() - start < 2 {
                return Err(DecodeError::Damaged("a set of fewer than two files"));
            }
            collated.counters.push(counter);
            collated.ends.push(collated.members.len());
        }
        from.end()?;
        let mut sums = vec![0u64; collated.totals.len()];
        for (counter, members) in collated.sets() {
            for &file in members {
                sums[file as usize] += u64::from(counter);
            }
        }
        if sums
            .iter()
            .zip(&collated.totals)
            .any(|(sum, &total)| *sum > total.into())
        {
            return Err(DecodeError::Damaged(
                "more fingerprints in common than a file has",
            ));
        }
        let sets: Vec<&[u32]> = collated.sets().map(|(_, members)| members).collect();
        if !sets.is_sorted_by(|a, b| a < b) {
            return Err(DecodeError::Damaged("a set twice or out of order"));
        }
        Ok(collated)
    }
}

/// The numbers of the sets that each file is in.
#[derive(Debug)]
pub(crate) struct SetsOfFiles {
    starts: Vec<usize>,
    sets: Vec<u32>,
}

impl SetsOfFiles {
    pub(crate) fn of(&self, file: u32) -> &[u32] {
        &self.sets[self.starts[file as usize]..self.starts[file as usize + 1]]
    }
}

/// A sum for each file. Most sums are 0.
#[derive(Debug)]
struct Sums {
    sums: Vec<u32>,
    known: Vec<u32>,
}

impl Sums {
    fn new(files: u32) -> Self {
        Self {
            sums: vec![0; files as usize],
            known: Vec::new(),
        }
    }

    #[inline]
    fn add(&mut self, file: u32, count: u32) {
        let sum = &mut self.sums[file as usize];
        if *sum == 0 {
            self.known.push(file);
        }
        *sum += count;
    }

    /// Adds `count` to those sums of `members` that are not 0. Goes through the members, or through
    /// the files with a sum, whichever is faster.
    fn add_to_known(&mut self, members: &[u32], count: u32) {
        if self.known.len() * 16 < members.len() {
            for &file in &self.known {
                if members.binary_search(&file).is_ok() {
                    self.sums[file as usize] += count;
                }
            }
        } else {
            for &file in members {
                if self.sums[file as usize] > 0 {
                    self.sums[file as usize] += count;
                }
            }
        }
    }

    fn drain(&mut self, mut sink: impl FnMut(u32, u32)) {
        for file in self.known.drain(..) {
            sink(file, std::mem::take(&mut self.sums[file as usize]));
        }
    }
}

#[cfg(test)]
#[path = "collate_tests.rs"]
mod tests;
