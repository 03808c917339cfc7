//! If a dozen files share a passage and are otherwise different, the passage is a frame: it does
//! not make two files relatives. A passage that only versions of a file share makes them relatives.

use std::collections::{BTreeMap, BTreeSet};

use resemble_core::Params;
use resemble_proto::message::{
    CompareOptions, CompareRequest, CoveredRequest, DirsRequest, FindOptions, GroupsRequest,
    PairsRequest,
};
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_relate::findings::MemoryCache;
use resemble_testutil::random::Random;
use resemble_trees::compare::compare_with_parts;
use resemble_trees::covered::covered;

use crate::plain::{dirs, groups, pairs};
use crate::scene::Scene;

fn words(random: &mut Random, count: usize) -> Vec<String> {
    let word = |random: &mut Random| {
        let length = 3 + random.below(6);
        let letters = (0..length).map(|_| char::from(b'a' + random.below(26) as u8));
        letters.collect()
    };
    (0..count).map(|_| word(random)).collect()
}

/// Writes `files` files, alternately in two folders. `text` returns the words of each file.
fn scene(files: usize, mut text: impl FnMut(usize) -> Vec<String>) -> Scene {
    let mut scene = Scene::new();
    for number in 0..files {
        let folder = ["even", "odd"][number % 2];
        scene.write(&format!("{folder}/{number:03}"), text(number).join(" "));
    }
    scene.scan();
    scene
}

/// For each verb, counts the rows of all files together.
fn listed(scene: &Scene, files: usize) -> BTreeMap<&'static str, usize> {
    let snapshot = scene.snapshot();
    let scope = scene.scope();
    let mut counts = BTreeMap::new();
    for number in 0..files {
        let path = scene.path(&format!("{}/{number:03}", ["even", "odd"][number % 2]));
        let subject = Subject::indexed(&snapshot, &path, &Params::default());
        let subject = subject.expect("readable").expect("indexed");
        let asked = PathText::from(path.as_path());
        let mut find = |verb, options: FindOptions| {
            let answer = find::find(&snapshot, &subject, &asked, &options).expect("rows");
            *counts.entry(verb).or_default() += answer.rows.len();
        };
        find("find", FindOptions::default());
        let scope = scope.clone();
        find(
            "find --in",
            FindOptions {
                scope,
                ..FindOptions::default()
            },
        );
        let (entries, _) = find::listing(&snapshot, &subject, true).expect("a listing");
        *counts.entry(".similar").or_default() += entries.len();
    }
    let request = GroupsRequest {
        scope: scope.clone(),
        ..GroupsRequest::default()
    };
    let answer = groups(&snapshot, &request, scene.temp.root()).expect("groups");
    let members = answer
        .body
        .clusters
        .iter()
        .map(|cluster| cluster.members.len());
    counts.insert("groups", members.sum());
    let request = DirsRequest {
        scope,
        ..DirsRequest::default()
    };
    counts.insert(
        "dirs",
        dirs(&snapshot, &request, scene.temp.root())
            .expect("rows")
            .rows
            .len(),
    );
    let request = CoveredRequest {
        dir: scene.path("even").as_path().into(),
        by: vec![scene.path("odd").as_path().into()],
        by_digest: false,
        memory: None,
    };
    let answer = covered(&snapshot, &request, None).expect("an answer");
    counts.insert("covered", answer.body.near.len());
    let request = CompareRequest {
        a: scene.path("even").as_path().into(),
        b: scene.path("odd").as_path().into(),
        options: CompareOptions::default(),
    };
    let answer =
        compare_with_parts(&snapshot, &request, None, &MemoryCache::default()).expect("an answer");
    let pairs = answer.body.entries.iter();
    counts.insert(
        "compare",
        pairs
            .filter(|row| row.a.is_some() && row.b.is_some())
            .count(),
    );
    counts
}

/// Checks that no verb lists any two of these files as related.
fn are_strangers(files: usize, text: impl FnMut(usize) -> Vec<String>) -> Scene {
    let scene = scene(files, text);
    let listed = listed(&scene, files);
    assert!(listed.values().all(|&rows| rows == 0), "{listed:?}");
    scene
}

#[test]
fn files_with_a_frame_in_common_are_no_relatives() {
    let mut random = Random::new(1);
    let letterhead = words(&mut random, 200);
    let scene = are_strangers(30, |_| {
        let own = words(&mut random, 130);
        [&letterhead[..120], &own, &letterhead[120..]].concat()
    });
    // With `all`, pairs that have only a frame in common are shown with a discount.
    let snapshot = scene.snapshot();
    let path = scene.path("even/000");
    let subject = Subject::indexed(&snapshot, &path, &Params::default());
    let subject = subject.expect("readable").expect("indexed");
    let options = FindOptions {
        all: true,
        ..FindOptions::default()
    };
    let asked = PathText::from(path.as_path());
    let rows = find::find(&snapshot, &subject, &asked, &options)
        .expect("rows")
        .rows;
    assert_eq!(rows.len(), 29);
    for row in rows {
        let raw = row.a_in_b.score().expect("a share").get();
        assert!((0.55..0.65).contains(&raw), "{raw}");
        let reason = row.discount.reason.expect("a discount");
        assert!(
            reason.ends_with("0 % after the frame that 30 files share"),
            "{reason}"
        );
    }
    let request = PairsRequest {
        scope: scene.scope(),
        ..PairsRequest::default()
    };
    let rows = pairs(&snapshot, &request).expect("rows").rows;
    assert_eq!(rows.len(), 30 * 29 / 2);

    // Each file is a form with the same labels, in which different words are filled in.
    let labels: Vec<_> = (0..14).map(|_| words(&mut random, 14)).collect();
    are_strangers(20, |_| {
        let filled = |label: &Vec<String>| [&label[..], &words(&mut random, 16)].concat();
        labels.iter().flat_map(filled).collect()
    });
    // Each file has the letterhead of the company, then the letterhead of one of two departments.
    let departments = [words(&mut random, 90), words(&mut random, 90)];
    are_strangers(60, |number| {
        let own = words(&mut random, 150);
        [&letterhead[..100], &departments[number % 2], &own].concat()
    });
}

/// Here the signatures of about half of the files have one level, and the other signatures have the
/// next level. So a signature may lack a sample that its text has.
#[test]
fn a_frame_of_texts_whose_signatures_have_two_levels_is_found() {
    let mut of_two_levels = 0;
    for (seed, length) in (6..).zip([1440, 1490, 1540, 1590, 1640, 1690]) {
        let mut random = Random::new(seed);
        let letterhead = words(&mut random, length);
        let half = length / 2;
        let scene = are_strangers(30, |_| {
            let own = words(&mut random, length);
            [&letterhead[..half], &own, &letterhead[half..]].concat()
        });
        let snapshot = scene.snapshot();
        let mut levels = BTreeSet::new();
        for number in 0..30 {
            let path = scene.path(&format!("{}/{number:03}", ["even", "odd"][number % 2]));
            let row = snapshot.file_at(&path).expect("a row").expect("a file");
            let content = row.state.content().expect("a content");
            levels.insert(snapshot.signature(content).expect("samples").level);
        }
        of_two_levels += usize::from(levels.len() == 2);
    }
    assert!(of_two_levels >= 3, "{of_two_levels}");
}

/// Checks that every verb lists these files as related.
fn are_relatives(files: usize, text: impl FnMut(usize) -> Vec<String>) {
    let scene = scene(files, text);
    let listed = listed(&scene, files);
    // A few files that differ much from all others may be in no group.
    assert!(listed["groups"] >= files * 3 / 4, "{listed:?}");
    for verb in ["covered", "compare"] {
        assert!(listed[verb] >= files / 2 * 3 / 4, "{listed:?}");
    }
    assert_eq!(listed["dirs"], 1, "{listed:?}");
    for verb in ["find", "find --in", ".similar"] {
        assert!(listed[verb] >= files * (files - 1) * 9 / 10, "{listed:?}");
    }
}

#[test]
fn near_copies_and_versions_are_relatives_however_many_they_are() {
    let mut random = Random::new(2);
    let page = words(&mut random, 400);
    // In each file, one paragraph of the page is replaced by words that no other file has.
    are_relatives(40, |number| {
        let own = words(&mut random, 40);
        let at = number % 10 * 40;
        [&page[..at], &own, &page[at + 40..]].concat()
    });
    // Each version is longer than the previous one.
    let mut text = words(&mut random, 200);
    are_relatives(16, |_| {
        text.extend(words(&mut random, 25));
        text.clone()
    });
    // In each file, a random fifth of the paragraphs is rewritten.
    are_relatives(30, |_| {
        let parts = page.chunks(40).flat_map(|part| {
            if random.below(5) == 0 {
                words(&mut random, 40)
            } else {
                part.to_vec()
            }
        });
        parts.collect()
    });
}

/// All files begin with the same letterhead, and each file has an edited copy. Only this copy is
/// listed.
#[test]
fn relatives_under_a_frame_are_listed() {
    let mut random = Random::new(3);
    let letterhead = words(&mut random, 150);
    let own: Vec<_> = (0..20).map(|_| words(&mut random, 200)).collect();
    let scene = scene(40, |number| {
        let mut own = own[number / 2].clone();
        if number % 2 == 1 {
            let at = random.below(180);
            own[at..at + 15].clone_from_slice(&words(&mut random, 15));
        }
        [&letterhead[..], &own].concat()
    });
    let listed = listed(&scene, 40);
    for verb in ["find", "find --in", ".similar", "groups"] {
        assert_eq!(listed[verb], 40, "{listed:?}");
    }
    let of_folders = ["dirs", "covered", "compare"].map(|verb| listed[verb]);
    assert_eq!(of_folders, [1, 20, 20]);
}

/// A text in ten formats counts as one text. Here each of two versions of a text is in ten formats.
/// So only two texts share a passage, and the passage is not a frame.
#[test]
fn versions_in_ten_formats_are_listed() {
    let mut random = Random::new(5);
    let shared = words(&mut random, 200);
    let own = [(); 2].map(|()| words(&mut random, 220));
    let mut scene = Scene::new();
    for number in 0..20 {
        let text = [&shared[..], &own[number % 2]].concat();
        let lines = text.chunks(8 + number / 2).map(|line| line.join(" "));
        let folder = ["even", "odd"][number % 2];
        let lines: Vec<String> = lines.collect();
        scene.write(&format!("{folder}/{number:03}"), lines.join("\n"));
    }
    scene.scan();
    let listed = listed(&scene, 20);
    for verb in ["find", "find --in", ".similar"] {
        assert_eq!(listed[verb], 20 * 19, "{listed:?}");
    }
    assert_eq!(
        (listed["groups"], listed["covered"]),
        (20, 10),
        "{listed:?}"
    );
}

/// A letterhead that more than 256 files share is no frame, but common text. Twenty letters have an
/// edited copy, in which every fifth word differs. Only these copies are listed.
#[test]
fn edited_letters_under_a_letterhead_of_hundreds_are_listed() {
    let mut random = Random::new(8);
    let letterhead = words(&mut random, 400);
    let mut last = Vec::new();
    let scene = scene(300, |number| {
        if number % 2 == 1 && number < 40 {
            let others = words(&mut random, 400);
            for (word, other) in last.iter_mut().zip(others) {
                if random.below(5) == 0 {
                    *word = other;
                }
            }
        } else {
            last = words(&mut random, 400);
        }
        [&letterhead[..240], &last, &letterhead[240..]].concat()
    });
    let listed = listed(&scene, 300);
    for verb in ["find", "find --in", ".similar"] {
        assert_eq!(listed[verb], 40, "{listed:?}");
    }
    assert!((34..=40).contains(&listed["groups"]), "{listed:?}");
    assert_eq!(
        ["covered", "compare"].map(|verb| listed[verb]),
        [20; 2],
        "{listed:?}"
    );
}

/// A page has more near-copies than count in full. They stay relatives in a comparison, because a
/// family counts once.
#[test]
fn a_page_with_hundreds_of_copies_is_compared_with_its_copies() {
    let mut random = Random::new(9);
    let page = words(&mut random, 300);
    let scene = scene(300, |_| {
        let own = words(&mut random, 45);
        let at = random.below(250);
        [&page[..at], &own, &page[at + 45..]].concat()
    });
    let request = CompareRequest {
        a: scene.path("even").as_path().into(),
        b: scene.path("odd").as_path().into(),
        options: CompareOptions::default(),
    };
    let answer = compare_with_parts(&scene.snapshot(), &request, None, &MemoryCache::default());
    let answer = answer.expect("an answer");
    let mut rows = answer.body.entries.iter();
    assert!(rows.all(|row| row.a.is_some() && row.b.is_some()));
    assert!(answer.body.entries.len() >= 150);
}
