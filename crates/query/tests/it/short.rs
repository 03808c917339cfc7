//! Tests `find`, `compare` and `groups` on texts of some hundred bytes. Such a text has few
//! samples, so it may have only one sample in common with its near-copy.

use std::collections::{BTreeSet, HashSet};
use std::fs;

use resemble_core::hash::content::digest;
use resemble_core::{Fingerprint, Params};
use resemble_proto::message::{CompareOptions, CompareRequest, FindOptions, GroupsRequest};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_relate::findings::MemoryCache;
use resemble_testutil::prose::{sentences, words};

use crate::plain::{compare, groups};
use crate::scene::Scene;

const PAIRS: usize = 40;

/// Returns the last names of these paths, which are numbers.
fn numbers<'a>(paths: impl IntoIterator<Item = &'a PathText>) -> BTreeSet<usize> {
    let name = |path: &'a PathText| path.as_path().file_name()?.to_str()?.parse().ok();
    let numbers = paths.into_iter().map(name);
    numbers.map(|number| number.expect("a number")).collect()
}

/// Writes pairs of files. Each file consists of `lines` lines, and the two files of a pair differ
/// only in the last line. Each verb must find exactly the pairs that have a sample in common.
#[track_caller]
fn are_found(lines: usize, line: impl Fn(usize) -> String) {
    let mut scene = Scene::new();
    for pair in 0..PAIRS {
        let from = pair * (lines + 1);
        let mut text: Vec<String> = (from..from + lines).map(&line).collect();
        scene.write(&format!("a/{pair}"), text.concat());
        text[lines - 1] = line(from + lines);
        scene.write(&format!("b/0{pair}"), text.concat());
    }
    scene.scan();
    let snapshot = scene.snapshot();
    let samples = |path: &str| -> HashSet<Fingerprint> {
        let bytes = fs::read(scene.path(path)).expect("a file");
        let content = snapshot.content_by_digest(&digest(&bytes));
        let content = content.expect("readable").expect("indexed");
        let signature = snapshot.signature(content).expect("readable");
        signature.fingerprints.into_iter().collect()
    };
    let common = |pair| {
        let (a, b) = (
            samples(&format!("a/{pair}")),
            samples(&format!("b/0{pair}")),
        );
        a.intersection(&b).count()
    };
    let common: Vec<usize> = (0..PAIRS).map(common).collect();
    let of_one = common.iter().filter(|&&common| common == 1).count();
    assert!(of_one > 0, "{common:?}");
    let expected = (0..PAIRS).filter(|&pair| common[pair] > 0);
    let expected: BTreeSet<usize> = expected.collect();

    let found = (0..PAIRS).filter(|&pair| {
        let path = scene.path(&format!("a/{pair}"));
        let subject = Subject::indexed(&snapshot, &path, &Params::default());
        let subject = subject.expect("readable").expect("indexed");
        let options = FindOptions::default();
        let answer = find::find(&snapshot, &subject, &PathText::from("asked"), &options);
        let rows = answer.expect("an answer").rows;
        !rows.is_empty() && numbers(rows.iter().map(|row| &row.path)) == BTreeSet::from([pair])
    });
    assert_eq!(found.collect::<BTreeSet<usize>>(), expected, "find");

    let request = CompareRequest {
        a: PathText::from(scene.path("a")),
        b: PathText::from(scene.path("b")),
        options: CompareOptions::default(),
    };
    let answer = compare(&snapshot, &request, &MemoryCache::default()).expect("an answer");
    let rows = answer.body.entries.iter();
    let partners = rows.filter_map(|row| Some([row.a.as_ref()?, row.b.as_ref()?]));
    let paired: Vec<BTreeSet<usize>> = partners.map(numbers).collect();
    assert!(paired.iter().all(|pair| pair.len() == 1), "{paired:?}");
    assert_eq!(
        paired.into_iter().flatten().collect::<BTreeSet<usize>>(),
        expected,
        "compare"
    );

    let request = GroupsRequest {
        scope: scene.scope(),
        ..GroupsRequest::default()
    };
    let answer = groups(&snapshot, &request, scene.temp.root()).expect("an answer");
    let clusters = answer.body.clusters.iter();
    let members = clusters.map(|cluster| numbers(cluster.members.iter().map(|of| &of.path)));
    let grouped: Vec<BTreeSet<usize>> = members.collect();
    assert!(grouped.iter().all(|pair| pair.len() == 1), "{grouped:?}");
    assert_eq!(
        grouped.into_iter().flatten().collect::<BTreeSet<usize>>(),
        expected,
        "groups"
    );
}

#[test]
fn short_tables_are_found_by_one_common_row() {
    are_found(20, |row| {
        let word = words(row, 1);
        format!("{};{};open\n", row * 7919 % 500, word.trim().repeat(2))
    });
}

#[test]
fn short_texts_are_found_by_one_common_shingle() {
    are_found(5, |sentence| sentences(sentence as u64, 1));
}

/// Seven of the eight lines of an extract are in a larger file. For some extracts, the share of
/// common samples is far below 80 %, because there are few samples.
#[test]
fn a_minimum_drops_no_pair_that_reaches_it() {
    let mut scene = Scene::new();
    for number in 0..60 {
        let whole = sentences(number, 150);
        let lines: Vec<&str> = whole.split_inclusive('\n').collect();
        let extract = lines[20..27].concat() + &sentences(1000 + number, 1);
        scene.write(&format!("a/{number}"), extract);
        scene.write(&format!("b/0{number}"), whole);
    }
    scene.scan();
    let snapshot = scene.snapshot();
    let found = |min: Fraction| {
        let of_one = |number: usize| {
            let subject = scene.subject(&format!("a/{number}"));
            let options = FindOptions {
                min,
                ..FindOptions::default()
            };
            let answer = find::find(&snapshot, &subject, &PathText::from("asked"), &options);
            let rows = answer.expect("an answer").rows;
            rows.iter().map(|row| row.path.clone()).collect::<Vec<_>>()
        };
        (0..60).map(of_one).collect::<Vec<_>>()
    };
    let compared = |min: Fraction| {
        let request = CompareRequest {
            a: PathText::from(scene.path("a")),
            b: PathText::from(scene.path("b")),
            options: CompareOptions {
                min,
                ..CompareOptions::default()
            },
        };
        let answer = compare(&snapshot, &request, &MemoryCache::default());
        let rows = answer.expect("an answer").body.entries;
        let pairs = rows.into_iter().map(|row| (row.a, row.b));
        pairs.collect::<BTreeSet<_>>()
    };
    let min = Fraction::from_millionths(800_000);
    assert!(found(min).iter().all(|rows| rows.len() == 1));
    assert_eq!(found(min), found(Fraction::NONE));
    assert_eq!(compared(min), compared(Fraction::NONE));
}
