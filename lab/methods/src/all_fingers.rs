//! One against all, as sif does it: which files have fingerprints of a query file.
//!
//! **Paper.** Manber 1994, section 3. All fingerprints of all files stand in one list, each with
//! the number of its file; those of the query are looked for, and what is found is counted for each
//! file. The paper searches the list from end to end ("as long as the set is no more than a few
//! megabytes, this search is very effective") and names the alternative, to "sort both sets and
//! intersect them".
//!
//! [`AllFingers::scan`] is the one and keeps the list as it came; [`SortedFingers::search`] is the
//! other, in the time of what is found. Both count the same, and the scan is what the tests
//! believe.

use std::collections::{BTreeMap, HashSet};

/// All fingerprints in the order of the files, each occurrence, with file numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllFingers(Vec<(u64, u32)>);

/// A file that has fingerprints of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHits {
    /// The file.
    pub file: u32,
    /// Occurrences in it of fingerprints of the query. Over the query's own number of fingerprints
    /// it is the paper's percentage: [`crate::sif::Common::figure`].
    pub occurrences: u64,
}

impl AllFingers {
    /// Takes the fingerprints of the next file, each occurrence.
    pub fn add(&mut self, file: u32, fingerprints: impl IntoIterator<Item = u64>) {
        self.0
            .extend(fingerprints.into_iter().map(|value| (value, file)));
    }

    /// The files with fingerprints of the query, by number. Time: all fingerprints there are.
    pub fn scan(&self, query: impl IntoIterator<Item = u64>) -> Vec<FileHits> {
        let query: HashSet<u64> = query.into_iter().collect();
        let mut counts = BTreeMap::new();
        for (value, file) in &self.0 {
            if query.contains(value) {
                *counts.entry(*file).or_insert(0) += 1;
            }
        }
        found(counts)
    }

    /// The same, ready to be searched.
    pub fn sorted(mut self) -> SortedFingers {
        self.0.sort_unstable();
        SortedFingers(self.0)
    }
}

/// All fingerprints in their own order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortedFingers(Vec<(u64, u32)>);

impl SortedFingers {
    /// The files with fingerprints of the query, by number. Time: a binary search for each
    /// fingerprint, and what is found.
    pub fn search(&self, query: impl IntoIterator<Item = u64>) -> Vec<FileHits> {
        let query: HashSet<u64> = query.into_iter().collect();
        let mut counts = BTreeMap::new();
        for value in query {
            let from = self.0.partition_point(|entry| entry.0 < value);
            for (_, file) in self.0[from..].iter().take_while(|entry| entry.0 == value) {
                *counts.entry(*file).or_insert(0) += 1;
            }
        }
        found(counts)
    }
}

fn found(counts: BTreeMap<u32, u64>) -> Vec<FileHits> {
    let found = counts.into_iter();
    found
        .map(|(file, occurrences)| FileHits { file, occurrences })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Features, Judged, Method, MethodParams, score, select::select};

    proptest! {
        #[test]
        fn searching_is_scanning_is_the_score_of_each_pair(
            files in prop::collection::vec(prop::collection::vec(0u64..40, 0..30), 0..12),
            query in prop::collection::vec(0u64..40, 1..30),
        ) {
            let mut all = AllFingers::default();
            for (number, file) in (0..).zip(&files) {
                all.add(number, file.iter().copied());
            }
            let scanned = all.scan(query.iter().copied());
            prop_assert_eq!(&all.sorted().search(query.iter().copied()), &scanned);
            let params = MethodParams::paper(Method::Sif);
            let sign = |values: &[u64]| select(&params, &Features::of_values(values.iter().copied()));
            for (number, file) in (0..).zip(&files) {
                let occurrences = scanned
                    .iter()
                    .find(|found| found.file == number)
                    .map_or(0, |found| found.occurrences);
                let figure = score(&params, &sign(&query), &sign(file)).score;
                prop_assert_eq!(figure, Judged::ratio(occurrences, query.len() as u64));
            }
        }
    }
}
