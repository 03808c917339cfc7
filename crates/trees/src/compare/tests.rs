//! Tests which pairs a comparison reads.

use std::sync::Arc;

use resemble_index::Index;
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_scan::ingest::{Ingest, IngestOptions, RootOptions, Target, Unobserved};
use resemble_testutil::TempTree;
use resemble_testutil::prose::sentences;

use super::*;

/// Writes six files of about 12 KB, an edited version of each at another path, and two unrelated
/// files at the same path. Returns the index of all these files.
fn snapshot(temp: &TempTree) -> Snapshot {
    let root = temp.folder("tree");
    for n in 0..6u64 {
        let text = sentences(n, 150);
        let new = sentences(100 + n, 150);
        let cut = text.len() * (n as usize + 1) / 10;
        let edited = [&new[..cut], &text[cut..]].concat();
        temp.write(root.join(format!("a/{n}")), &text);
        temp.write(root.join(format!("b/moved-{n}")), edited);
    }
    temp.write(root.join("a/twin"), sentences(200, 150));
    temp.write(root.join("b/twin"), sentences(300, 150));
    let index = Arc::new(Index::in_memory(&Params::default()).expect("an index"));
    let options = IngestOptions {
        roots: vec![RootOptions::new(root.clone())],
        ..IngestOptions::default()
    };
    let mut ingest = Ingest::new(Arc::clone(&index), options);
    let targets = [Target::subtree(root)];
    ingest
        .reconcile(&targets, &mut Unobserved)
        .expect("scanned");
    index.snapshot().expect("a snapshot")
}

fn asked(temp: &TempTree, snapshot: &Snapshot, work: u64, exact: bool) -> Comparison {
    let [a, b] = ["tree/a", "tree/b"].map(|side| PathText::from(temp.path(side)));
    let options = CompareOptions {
        exact,
        ..CompareOptions::default()
    };
    let request = CompareRequest { a, b, options };
    let (sides, pieces) = indexed::sides(snapshot, &request).expect("both sides");
    let terms = Terms {
        options: &request.options,
        templates: snapshot.templates(),
        params: snapshot.params(),
        limit: snapshot.boilerplate_limit(),
        part_reader: None,
        work,
    };
    of_sides(&sides, &pieces, &terms, None)
        .expect("an answer")
        .body
}

/// Returns the shares of the estimated rows, and the shares of the other rows.
fn shares(answer: &Comparison) -> [Vec<Fraction>; 2] {
    let rows = answer
        .entries
        .iter()
        .filter(|row| row.a.is_some() && row.b.is_some());
    let (estimates, proven): (Vec<_>, Vec<_>) = rows.partition(|row| row.told.estimate);
    [estimates, proven].map(|rows| rows.iter().map(|row| row.a_in_b.max(row.b_in_a)).collect())
}

#[test]
fn what_is_beyond_the_budget_is_an_estimate_and_says_so() {
    let temp = TempTree::new();
    let snapshot = snapshot(&temp);
    let [estimates, proven] = shares(&asked(&temp, &snapshot, MOST_WORK, false));
    assert_eq!((estimates.len(), proven.len()), (0, 7));
    let some = asked(&temp, &snapshot, 100_000, false);
    let [estimates, proven] = shares(&some);
    assert!(proven.len() >= 2 && estimates.len() >= 2, "{some:?}");
    assert_eq!(proven.len() + estimates.len(), 7);
    // Pairs with the same path are measured although they share nothing. The other pairs follow,
    // best first.
    let nothing = Fraction::from_millionths(0);
    assert!(proven.contains(&nothing), "{proven:?}");
    let best = estimates.iter().max();
    let others = proven.iter().filter(|share| **share > nothing);
    assert!(others.min() > best, "{proven:?} {estimates:?}");
    // Measures that another question stored meanwhile do not change the rows.
    asked(&temp, &snapshot, MOST_WORK, false);
    assert_eq!(asked(&temp, &snapshot, 100_000, false), some);
    let [estimates, proven] = shares(&asked(&temp, &snapshot, 0, false));
    assert_eq!((estimates.len(), proven.len()), (7, 0));
    // An exact question has no estimates.
    let [estimates, _] = shares(&asked(&temp, &snapshot, 0, true));
    assert_eq!(estimates, []);
}
