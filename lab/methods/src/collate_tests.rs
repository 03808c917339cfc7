use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::testing::random;

fn collated(files: &[Vec<u64>]) -> Collated {
    let mut collator = Collator::default();
    for (number, file) in (0..).zip(files) {
        assert_eq!(collator.add(file.iter().copied()), number);
    }
    collator.finish()
}

/// Figure 1 of the paper. Each line has the numbers of the files that have one fingerprint.
const FIGURE_1: [&str; 14] = [
    "10 1174 129 196 647",
    "10 129 196 647",
    "12 213 30 3023 40 4207 44 649 733 942 962",
    "12 213 30 3023 40 4207 44 649 733 942 962",
    "10 129 196 647",
    "11 212 3021 4203 648 732 76 942 961",
    "12 213 30 3023 40 4207 44 649 733 942 962",
    "11 212 3021 4203 648 732 942 961",
    "10 129 196 647",
    "11 212 3021 4203 648 732 942 961",
    "12 213 30 3023 40 4207 44 649 733 77 942 962",
    "11 212 3021 4203 648 732 76 942 961",
    // Each of these fingerprints is in only one file, so it is dropped.
    "5",
    "4300",
];

#[test]
fn figure_1_becomes_figure_2() {
    let mut files = vec![Vec::new(); 4301];
    for (fingerprint, line) in (0..).zip(FIGURE_1) {
        for file in line.split(' ') {
            files[file.parse::<usize>().expect("a number")].push(fingerprint);
        }
    }
    let collated = collated(&files);
    let mut lines: Vec<String> = collated
        .sets()
        .map(|(counter, members)| {
            let mut names: Vec<String> = members.iter().map(u32::to_string).collect();
            // The paper sorts the numbers as words and not by value.
            names.sort_unstable();
            format!("{counter} {}", names.join(" "))
        })
        .collect();
    lines.sort_by_key(|line| line.split_once(' ').map(|(_, names)| names.to_string()));
    let mut figure_2 = [
        "1 10 1174 129 196 647",
        "3 10 129 196 647",
        "3 12 213 30 3023 40 4207 44 649 733 942 962",
        "2 11 212 3021 4203 648 732 76 942 961",
        "2 11 212 3021 4203 648 732 942 961",
        "1 12 213 30 3023 40 4207 44 649 733 77 942 962",
    ];
    figure_2.sort_by_key(|line| line.split_once(' ').map(|(_, names)| names));
    assert_eq!(lines, figure_2);
    assert_eq!((collated.total(5), collated.total(942)), (1, 8));
}

#[test]
fn figure_3_is_a_reference_and_the_files_similar_to_it() {
    // foo.c has 100 fingerprints, of which 79 are in bar.c and 75 in foobar.c.
    let bar = (0..79).chain(1000..1021).collect();
    let files = [
        (0..100).collect(),
        bar,
        (25..100).collect(),
        (95..300).collect(),
    ];
    let groups = collated(&files).groups(&GroupQuery::default());
    let of_foo = &groups[0];
    let rows: Vec<(u32, f64)> = of_foo.members.iter().map(|m| (m.file, m.score)).collect();
    assert_eq!(of_foo.reference, 0);
    assert_eq!(rows, [(1, 0.79), (2, 0.75)]);
}

/// Makes the groups as section 4 describes, from all sets with the file and all sums. Returns no
/// set of files twice.
fn by_the_paper(
    files: &[Vec<u64>],
    threshold: f64,
    accept: &dyn Fn(u32, u32) -> bool,
) -> Vec<CollatedGroup> {
    let files: Vec<BTreeSet<u64>> = files.iter().map(|f| f.iter().copied().collect()).collect();
    let (mut groups, mut printed) = (Vec::new(), BTreeSet::new());
    for (reference, mine) in (0..).zip(&files) {
        let mut members: Vec<GroupMember> = (0..)
            .zip(&files)
            .filter(|&(file, _)| file != reference && accept(reference, file))
            .map(|(file, theirs)| {
                let common = mine.intersection(theirs).count() as u32;
                GroupMember {
                    file,
                    common,
                    score: f64::from(common) / mine.len() as f64,
                }
            })
            .filter(|member| member.common > 0 && member.score >= threshold)
            .collect();
        members.sort_by_key(|member| (std::cmp::Reverse(member.common), member.file));
        let mut set: BTreeSet<u32> = members.iter().map(|member| member.file).collect();
        set.insert(reference);
        if !members.is_empty() && printed.insert(set) {
            groups.push(CollatedGroup { reference, members });
        }
    }
    groups
}

fn some_files() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let file = prop_oneof![
        prop::collection::vec(0u64..12, 0..9),
        prop::collection::vec(0u64..200, 0..30),
        Just((0..10).collect::<Vec<u64>>()),
    ];
    prop::collection::vec(file, 0..14)
}

proptest! {
    #[test]
    fn sets_are_those_of_a_map(files in some_files()) {
        let mut having: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        for (number, file) in (0..).zip(&files) {
            for f in file {
                having.entry(*f).or_default().insert(number);
            }
        }
        let mut counters: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for set in having.into_values().filter(|set| set.len() > 1) {
            *counters.entry(set.into_iter().collect()).or_default() += 1;
        }
        let collated = collated(&files);
        let sets: Vec<(Vec<u32>, u32)> = collated.sets().map(|(c, m)| (m.to_vec(), c)).collect();
        prop_assert_eq!(sets, counters.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn groups_are_the_papers(files in some_files(), percent in 1u32..101) {
        let threshold = f64::from(percent) / 100.0;
        let collated = collated(&files);
        let query = GroupQuery { threshold, ..GroupQuery::default() };
        prop_assert_eq!(collated.groups(&query), by_the_paper(&files, threshold, &|_, _| true));
        let accept = |a: u32, b: u32| !(a + b).is_multiple_of(3);
        let query = GroupQuery { accept: Some(&accept), ..query };
        prop_assert_eq!(collated.groups(&query), by_the_paper(&files, threshold, &accept));
    }

    #[test]
    fn sets_that_are_kept_are_read_back(files in some_files()) {
        let collated = collated(&files);
        prop_assert_eq!(Collated::decode(&collated.encode()), Ok(collated));
    }

    #[test]
    fn any_bytes_are_refused_or_are_sets(
        bytes in prop::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..40),
    ) {
        if let Ok(collated) = Collated::decode(&bytes) {
            prop_assert_eq!(collated.encode(), bytes);
            collated.groups(&GroupQuery { threshold: 0.01, ..GroupQuery::default() });
        }
    }
}

#[test]
fn sets_of_too_many_files_can_be_left_out() {
    let files: Vec<Vec<u64>> = (0..50)
        .map(|i| (0..10).chain([1000 + i / 2, 2000 + i / 2]).collect())
        .collect();
    let collated = collated(&files);
    assert_eq!(collated.groups(&GroupQuery::default()).len(), 1);
    let query = GroupQuery {
        threshold: 0.1,
        most_members: Some(10),
        ..GroupQuery::default()
    };
    let groups = collated.groups(&query);
    assert_eq!(groups.len(), 25);
    assert!(
        groups
            .iter()
            .all(|group| group.members.len() == 1 && group.members[0].common == 2)
    );
}

/// Groups 100,000 files: families of versions, many equal files, and files with a common header.
/// The files with the header are a fifth of all. If no sets were skipped, the header alone would
/// take 4·10^8 additions for each of its fingerprints.
#[test]
fn a_hundred_thousand_files_are_grouped_in_time() {
    let mut collator = Collator::default();
    for file in 0..100_000u64 {
        let family = file / 10;
        let mut all: Vec<u64> = (0..20).map(|i| random(family, i)).collect();
        all.extend((0..5).map(|i| random(1 << 32 | file, i)));
        if file % 5 == 0 {
            all.extend((0..3).map(|i| random(u64::MAX, i)));
        }
        collator.add(all);
    }
    for _equal in 0..20_000 {
        collator.add((0..30).map(|i| random(1 << 40, i)));
    }
    let groups = collator.finish().groups(&GroupQuery::default());
    assert_eq!(groups.len(), 10_001);
    assert!(
        groups[..10_000]
            .iter()
            .all(|group| group.members.len() == 9)
    );
    assert_eq!(groups[10_000].members.len(), 19_999);
}
