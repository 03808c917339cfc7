//! Compares one file with all other files, as sif does: finds the files that have fingerprints in
//! common with a query file.
//!
//! **Paper.** Manber 1994, section 3. One list has all fingerprints of all files, each with the
//! number of its file. The query's fingerprints are looked up in this list, and the hits of each
//! file are counted. The paper searches the whole list ("as long as the set is no more than a few
//! megabytes, this search is very effective"). It also names an alternative: to "sort both sets and
//! intersect them".
//!
//! [`AllFingers::scan`] searches the list from end to end. [`SortedFingers::search`] looks
//! fingerprints up in a sorted list. Both functions count the same hits. Tests compare their
//! results.

use std::collections::{BTreeMap, HashSet};

/// All occurrences of fingerprints, each with the number of its file, in the order of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllFingers(Vec<(u64, u32)>);

/// A file that has fingerprints of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHits {
    /// The number of the file.
    pub file: u32,
    /// The number of times that fingerprints of the query occur in the file. This number, divided
    /// by the number of the query's fingerprints, is the paper's percentage:
    /// [`crate::sif::Common::figure`].
    pub occurrences: u64,
}

impl AllFingers {
    /// Adds all occurrences of fingerprints in the next file.
    pub fn add(&mut self, file: u32, fingerprints: impl IntoIterator<Item = u64>) {
        self.0
            .extend(fingerprints.into_iter().map(|value| (value, file)));
    }

    /// Returns the files that have fingerprints of the query, ordered by file number. The time
    /// grows with the number of all fingerprints.
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

    /// Sorts the list, so that it can be searched.
    pub fn sorted(mut self) -> SortedFingers {
        self.0.sort_unstable();
        SortedFingers(self.0)
    }
}

/// All occurrences of fingerprints, each with the number of its file, in the order of the
/// fingerprints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortedFingers(Vec<(u64, u32)>);

impl SortedFingers {
    /// Returns the files that have fingerprints of the query, ordered by file number. The search
    /// takes the time of a binary search for each fingerprint, and a time that grows with the
    /// number of hits.
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
            let features = |values: &[u64]| Features::of_values(values.iter().copied());
        let sign = |values: &[u64]| select(&params, &features(values));
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
