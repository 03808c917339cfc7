//! Tests `pairs` and `find` with many near-copies of a file. In the tests of `pairs` there are more
//! near-copies than the limit for boilerplate. The contents are binaries, or texts that are not all
//! in memory together. `--estimate` reads no file, so it never has texts in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use resemble_core::Params;
use resemble_index::Snapshot;
use resemble_proto::message::{Answer, FindOptions, GroupsRequest, PairRow, PairsRequest};
use resemble_proto::path::PathText;
use resemble_query::find;
use resemble_testutil::prose::{copies_of_a_page, sentences};
use resemble_testutil::random::noise;

use crate::plain::{groups, pairs};
use crate::scene::Scene;
use crate::scene::fake::{Fake, fake, member, text_of};

/// The number of near-copies. In so large a number of contents that are not near-copies, common
/// pieces would be boilerplate.
const COPIES: usize = 1040;

fn asked(scene: &Scene, estimate: bool) -> Answer<PairRow> {
    let snapshot: Snapshot = scene.index.snapshot().expect("a snapshot");
    let request = PairsRequest {
        scope: scene.scope(),
        estimate,
        ..PairsRequest::default()
    };
    pairs(&snapshot, &request).expect("an answer")
}

fn name(path: &PathText) -> String {
    let name = path.as_path().file_name().expect("a name");
    name.to_string_lossy().into_owned()
}

/// Checks that each copy has a row with the first copy and rows with its neighbours. No other file
/// may have a row.
fn are_held_together(answer: &Answer<PairRow>) {
    assert_eq!(answer.header.near_copies, Some(COPIES as u64));
    let rows = &answer.rows;
    assert!(rows.len() < 12 * COPIES, "{} rows", rows.len());
    let is_of_copies = |row: &PairRow| !name(&row.b).starts_with('x');
    assert!(rows.iter().all(is_of_copies));
    // The first copy has a row with every other copy.
    let mut of_each = BTreeMap::new();
    for path in rows.iter().flat_map(|row| [&row.a, &row.b]) {
        *of_each.entry(name(path)).or_insert(0) += 1;
    }
    assert_eq!(of_each.values().max(), Some(&(COPIES - 1)));
    assert!(of_each.values().all(|&rows| rows >= 9), "neighbours");
}

#[test]
fn near_copies_of_a_binary_are_held_together_by_the_first() {
    let mut scene = Scene::new();
    let base = noise(1, 4000);
    for at in 0..COPIES {
        let mut bytes = base.clone();
        let from = 64 * (at * 7 % 60);
        bytes[from..from + 64].copy_from_slice(&noise(100 + at as u64, 64));
        scene.write(&format!("{at:04}"), bytes);
    }
    for at in 0..20 {
        scene.write(&format!("x{at}"), noise(50_000 + at, 4000));
    }
    scene.scan();
    let answer = asked(&scene, false);
    are_held_together(&answer);
    assert!(answer.rows.iter().all(|row| !row.told.estimate));
}

#[test]
fn near_copies_of_a_text_are_held_together_by_the_first() {
    let mut scene = Scene::new();
    let page = sentences(1, 40);
    for at in 0..COPIES {
        let line = sentences(10_000 + at as u64, 1);
        scene.write(&format!("{at:04}"), format!("{page}{line}"));
    }
    for at in 0..20 {
        scene.write(&format!("x{at}"), sentences(500 + at, 40));
    }
    scene.scan();
    are_held_together(&asked(&scene, true));
}

/// In a family above a certain size, members are compared with their leader only. A family just
/// above that size is one cluster. It does not matter which members share further windows.
#[test]
fn near_copies_of_a_binary_are_one_cluster() {
    for seed in 0..12 {
        let mut scene = Scene::new();
        let base = noise(seed, 4000);
        for at in 0..70 {
            let mut bytes = base.clone();
            let own = noise(1000 * (seed + 1) + at, 16);
            let from = usize::from(own[0]) * 15;
            bytes[from..from + 8].copy_from_slice(&own[8..]);
            scene.write(&format!("{at:02}"), bytes);
        }
        scene.scan();
        let snapshot = scene.index.snapshot().expect("a snapshot");
        let request = GroupsRequest {
            scope: scene.scope(),
            ..GroupsRequest::default()
        };
        let clusters = groups(&snapshot, &request, scene.temp.root())
            .expect("an answer")
            .body
            .clusters;
        let sizes: Vec<usize> = clusters.iter().map(|one| one.members.len()).collect();
        assert_eq!(sizes, [70], "seed {seed}");
    }
}

/// Different texts with the same header are not near-copies, because all that they share is
/// boilerplate.
#[test]
fn texts_under_one_header_are_no_near_copies() {
    let mut scene = Scene::new();
    let header = sentences(1, 60);
    for at in 0..COPIES {
        let own = sentences(1000 + at as u64, 40);
        scene.write(&format!("{at:04}"), format!("{header}{own}"));
    }
    scene.scan();
    let answer = asked(&scene, true);
    assert_eq!(answer.header.near_copies, None);
    let rows = answer.rows.iter();
    let rows: Vec<_> = rows.map(|row| (name(&row.a), name(&row.b))).collect();
    assert!(rows.is_empty(), "{} {:?}", rows.len(), rows.first());
}

/// Mails with the same attachment are near-copies, because nearly all of their content is equal.
#[test]
fn near_copies_of_a_mail_that_have_no_row_are_counted() {
    let mut scene = Scene::with_parts();
    let attached = member("a.txt", sentences(1, 150));
    for at in 0..COPIES {
        let own = text_of(sentences(10_000 + at as u64, 4));
        scene.write(
            &format!("{at:04}"),
            fake(at as u64, &[own, attached.clone()]),
        );
    }
    scene.scan();
    let snapshot: Snapshot = scene.index.snapshot().expect("a snapshot");
    let path = scene.path("0000");
    let subject = find::Subject::indexed(&snapshot, &path, &Params::default());
    let subject = subject.expect("an index").expect("an indexed file");
    let subject = subject.with_part_reader(Some(Arc::new(Fake)));
    let asked = PathText::from(path.as_path());
    let options = FindOptions {
        text: true,
        ..FindOptions::default()
    };
    let answer = find::find(&snapshot, &subject, &asked, &options).expect("an answer");
    assert!(answer.rows.len() < COPIES - 1);
    assert_eq!(answer.header.total, COPIES as u64 - 1);
}

/// Short texts are not near-copies, either, if 60 % of each text is the same header.
#[test]
fn short_texts_under_one_header_find_none_of_each_other() {
    let mut scene = Scene::new();
    let header = sentences(3, 6);
    for at in 0..400 {
        let own = sentences(20_000 + at as u64, 4);
        scene.write(&format!("{at:04}"), format!("{header}{own}"));
    }
    scene.scan();
    let snapshot: Snapshot = scene.index.snapshot().expect("a snapshot");
    for at in 0..10 {
        let subject = scene.subject(&format!("{at:04}"));
        let options = FindOptions::default();
        let rows = find::find(&snapshot, &subject, &PathText::from("text"), &options);
        assert_eq!(rows.expect("an answer").rows, [], "{at}");
    }
}

/// If several near-copies resemble a file equally well, only some of them are compared. The choice
/// does not depend on the order of scans.
#[test]
fn the_copies_that_are_found_do_not_depend_on_what_was_scanned_first() {
    let page = sentences(1, 60);
    let found = |steps: [std::ops::Range<usize>; 2]| {
        let mut scene = Scene::new();
        scene.write("page", &page);
        for step in steps {
            for at in step {
                let line = sentences(10_000 + at as u64, 1);
                scene.write(&format!("{at:04}"), format!("{page}{line}"));
            }
            scene.scan();
        }
        let snapshot: Snapshot = scene.index.snapshot().expect("a snapshot");
        let subject = scene.subject("page");
        let options = FindOptions::default();
        let rows = find::find(&snapshot, &subject, &PathText::from("page"), &options);
        let rows = rows.expect("an answer").rows;
        let found: BTreeSet<String> = rows.iter().map(|row| name(&row.path)).collect();
        let (listed, _) = find::listing(&snapshot, &subject, true).expect("a listing");
        let listed = listed
            .iter()
            .map(|entry| name(&PathText::from(&*entry.path)));
        (found, listed.collect::<Vec<String>>())
    };
    let (found_first, listed_first) = found([0..COPIES / 2, COPIES / 2..COPIES]);
    assert!(found_first.len() < COPIES / 2 + 100, "nothing was cut");
    let (found_last, listed_last) = found([COPIES / 2..COPIES, 0..COPIES / 2]);
    assert_eq!(found_first, found_last);
    assert_eq!(listed_first, listed_last);
}

/// A short page has a dozen samples. If a line of a copy is changed, the copy may lose a third of
/// these samples, and get samples that no other copy has.
#[test]
fn copies_of_a_short_page_find_each_other_whichever_line_is_changed() {
    for seed in [3, 4, 6] {
        let mut scene = Scene::new();
        for (at, copy) in copies_of_a_page(seed, 10, 400).enumerate() {
            scene.write(&format!("{at:04}"), copy);
        }
        scene.scan();
        let snapshot: Snapshot = scene.index.snapshot().expect("a snapshot");
        for at in 0..10 {
            let subject = scene.subject(&format!("{at:04}"));
            let options = FindOptions::default();
            let rows = find::find(&snapshot, &subject, &PathText::from("page"), &options);
            let rows = rows.expect("an answer").rows;
            assert_eq!(rows.len(), 399, "{seed}: line {at}");
        }
    }
}
