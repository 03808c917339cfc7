use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::collate::Collator;
use crate::testing::random;

fn collated(files: &[Vec<u64>]) -> Collated {
    let mut collator = Collator::default();
    for file in files {
        collator.add(file.iter().copied());
    }
    collator.finish()
}

fn all(files: &[Vec<u64>], least: u64) -> Vec<InterestingSet> {
    let found = interesting(&collated(files), least, None, STEPS);
    assert!(found.complete);
    found.sets
}

/// Finds the sets by trying every subset of the files. A set is left out if it is a subset of
/// another set that qualifies.
fn by_brute_force(files: &[Vec<u64>], least: u64) -> Vec<InterestingSet> {
    let files: Vec<BTreeSet<u64>> = files.iter().map(|f| f.iter().copied().collect()).collect();
    let common = |subset: u32| {
        (0..files.len())
            .filter(|file| subset >> file & 1 == 1)
            .map(|file| files[file].clone())
            .reduce(|a, b| &a & &b)
            .map_or(0, |set| set.len() as u64)
    };
    let enough: Vec<u32> = (0..1u32 << files.len())
        .filter(|&subset| subset.count_ones() >= 2 && common(subset) >= least)
        .collect();
    let mut sets: Vec<InterestingSet> = enough
        .iter()
        .filter(|&&set| {
            !enough
                .iter()
                .any(|&other| other != set && other & set == set)
        })
        .map(|&set| InterestingSet {
            files: (0..files.len() as u32)
                .filter(|file| set >> file & 1 == 1)
                .collect(),
            common: common(set),
        })
        .collect();
    sets.sort_unstable();
    sets
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn sets_are_those_of_brute_force(
        files in prop::collection::vec(prop::collection::vec(0u64..14, 0..14), 0..10),
        least in 1u64..6,
    ) {
        prop_assert_eq!(all(&files, least), by_brute_force(&files, least));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn sets_of_twelve_files_are_those_of_brute_force(
        files in prop::collection::vec(prop::collection::vec(0u64..24, 6..24), 12),
        least in 1u64..8,
    ) {
        prop_assert_eq!(all(&files, least), by_brute_force(&files, least));
    }
}

#[test]
fn three_files_alike_pairwise_with_nothing_in_common_are_three_sets_of_two() {
    let range = |from: u64| (from..from + 40).collect::<Vec<u64>>();
    let files = [
        [range(0), range(100)].concat(),
        [range(100), range(200)].concat(),
        [range(200), range(0)].concat(),
    ];
    let sets = all(&files, 25);
    let pairs: Vec<&[u32]> = sets.iter().map(|set| &set.files[..]).collect();
    assert_eq!(pairs, [[0, 1], [0, 2], [1, 2]]);
    assert!(sets.iter().all(|set| set.common == 40));
}

/// Tests an example of the paper: "A, B, C, and D can share 20 fingerprints in common, A and C
/// share 40, B and D share 65, A, B, and D share 38, and so on."
#[test]
fn the_papers_case_of_four_files() {
    let (mut files, mut next) = (vec![Vec::new(); 4], 0);
    for (members, count) in [
        (&[0, 1, 2, 3][..], 20),
        (&[0, 2], 20),
        (&[0, 1, 3], 18),
        (&[1, 3], 27),
    ] {
        for fingerprint in next..next + count {
            for &file in members {
                let file: usize = file;
                files[file].push(fingerprint);
            }
        }
        next += count;
    }
    let sets = |least| -> Vec<(Vec<u32>, u64)> {
        all(&files, least)
            .into_iter()
            .map(|set| (set.files, set.common))
            .collect()
    };
    assert_eq!(sets(20), [(vec![0, 1, 2, 3], 20)]);
    assert_eq!(sets(38), [(vec![0, 1, 3], 38), (vec![0, 2], 40)]);
    assert_eq!(sets(40), [(vec![0, 2], 40), (vec![1, 3], 65)]);
    assert_eq!(sets(66), []);
}

#[test]
fn work_without_end_is_given_up_and_said() {
    // Each of the 30 files lacks a different one of 30 fingerprints. So any 15 files have 15
    // fingerprints in common, which makes 155 million sets.
    let files: Vec<Vec<u64>> = (0..30)
        .map(|i| (0..30).filter(|&f| f != i).collect())
        .collect();
    let found = interesting(&collated(&files), 15, None, 200_000);
    assert!(!found.complete);
    assert!(
        found
            .sets
            .iter()
            .all(|set| set.files.len() == 15 && set.common == 15)
    );
    assert!(interesting(&collated(&files[..8]), 15, None, STEPS).complete);
}

#[test]
fn a_hundred_thousand_files_are_done_in_time() {
    let mut collator = Collator::default();
    for file in 0..100_000u64 {
        let mut all: Vec<u64> = (0..20).map(|i| random(file / 10, i)).collect();
        all.extend((0..5).map(|i| random(1 << 32 | file, i)));
        collator.add(all);
    }
    let found = interesting(&collator.finish(), 10, None, STEPS);
    assert!(found.complete);
    assert_eq!(found.sets.len(), 10_000);
}
