//! Relatives below a header that makes up most of each file and is shared by many unrelated files.

use std::collections::BTreeSet;

use resemble_core::Params;
use resemble_proto::message::{
    CompareOptions, CompareRequest, FindOptions, GroupsRequest, PairsRequest,
};
use resemble_proto::path::PathText;
use resemble_query::compare::MemoryCache;
use resemble_query::find::{self, Subject};
use resemble_testutil::random::Random;

use crate::plain::{compare, groups, pairs};
use crate::scene::Scene;

/// The number of files with the header: more than the limit for pieces that nominate.
const FILES: usize = 1100;

/// The number of files with a relative. In turn, 5, 15 and 30 percent of the relatives' own words
/// are edited.
const RELATIVES: usize = 90;

/// The minimum number of relatives that every verb must find.
const LEAST: usize = 87;

fn words(random: &mut Random, count: usize) -> Vec<String> {
    let word = |random: &mut Random| {
        let length = 2 + random.below(8);
        let letters = (0..length).map(|_| char::from(b'a' + random.below(26) as u8));
        letters.collect()
    };
    (0..count).map(|_| word(random)).collect()
}

/// Returns the words with this percentage of them replaced, removed or followed by a new one.
fn edited(random: &mut Random, words_of_it: &[String], percent: usize) -> Vec<String> {
    let mut found = Vec::new();
    for word in words_of_it {
        if random.below(100) >= percent {
            found.push(word.clone());
            continue;
        }
        match random.below(3) {
            0 => {}
            1 => found.extend(words(random, 1)),
            _ => found.extend([word.clone(), words(random, 1).remove(0)]),
        }
    }
    found
}

/// Returns the names of a file and its relative.
fn names(number: usize) -> (String, String) {
    (
        format!("new/{number:04}"),
        format!("old/edited-{number:04}"),
    )
}

/// Writes files with a common header. `header` and `own` are the numbers of words of the header and
/// of each file's own text.
fn scene(seed: u64, (header, own): (usize, usize)) -> Scene {
    scene_of(seed, header, |_| own)
}

/// Like [`scene`], but `own` returns the number of words of each file's own text.
fn scene_of(seed: u64, header: usize, own: impl Fn(usize) -> usize) -> Scene {
    let mut random = Random::new(seed);
    let header = words(&mut random, header);
    let mut scene = Scene::new();
    let text = |own: &[String]| [&header[..], own].concat().join(" ");
    for number in 0..FILES {
        let own = words(&mut random, own(number));
        let (new, old) = names(number);
        scene.write(&new, text(&own));
        if number < RELATIVES {
            let percent = [5, 15, 30][number % 3];
            scene.write(&old, text(&edited(&mut random, &own, percent)));
        }
    }
    scene.scan();
    scene
}

/// Counts the pairs of relatives and the other pairs.
fn judged(scene: &Scene, pairs: impl IntoIterator<Item = (PathText, PathText)>) -> (usize, usize) {
    let (mut found, mut strangers) = (BTreeSet::new(), 0);
    for (a, b) in pairs {
        let (a, b) = (a.as_path().to_owned(), b.as_path().to_owned());
        let relatives = (0..RELATIVES).map(names).find(|(new, old)| {
            let two = [scene.path(new), scene.path(old)];
            two == [a.clone(), b.clone()] || two == [b.clone(), a.clone()]
        });
        match relatives {
            Some(names) => {
                found.insert(names);
            }
            None => strangers += 1,
        }
    }
    (found.len(), strangers)
}

/// Returns the rows of two trees: files and their relatives.
fn compared(scene: &Scene) -> (usize, usize) {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let sides = ["new", "old"].map(|side| PathText::from(scene.path(side)));
    let [a, b] = sides.clone();
    let options = CompareOptions::default();
    let request = CompareRequest { a, b, options };
    let answer = compare(&snapshot, &request, &MemoryCache::default()).expect("a comparison");
    let full =
        |side: usize, path: PathText| PathText::from(sides[side].as_path().join(path.as_path()));
    let entries = answer.body.entries.into_iter();
    let rows = entries.filter_map(|row| Some((full(0, row.a?), full(1, row.b?))));
    judged(scene, rows)
}

/// Files of more than 512 words keep one shingle in 16. About 16 of them are the file's own, and a
/// relative may share only one.
#[test]
fn trees_find_relatives_of_which_few_samples_are_left() {
    let scene = scene(5, (540, 260));
    let (found, strangers) = compared(&scene);
    assert!(found >= LEAST && strangers <= 1, "{found}, {strangers}");
}

/// Small files keep more shingles than large ones. Some header shingles are kept only by small
/// files. These are in too few signatures to be boilerplate, although all files have them.
#[test]
fn a_header_of_small_and_of_large_files_is_one() {
    let scene = scene_of(7, 300, |number| if number % 2 == 0 { 200 } else { 1500 });
    let (found, strangers) = compared(&scene);
    assert!(found >= LEAST && strangers <= 1, "{found}, {strangers}");
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let scope = scene.scope();
    let request = PairsRequest {
        scope,
        estimate: true,
        ..PairsRequest::default()
    };
    let rows = pairs(&snapshot, &request).expect("pairs").rows.into_iter();
    let (found, strangers) = judged(&scene, rows.map(|row| (row.a, row.b)));
    assert!(found >= LEAST && strangers <= 1, "{found}, {strangers}");
}

#[test]
fn every_verb_finds_relatives_under_a_header_and_nobody_else() {
    let scene = scene(3, (300, 200));
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let scope = scene.scope();
    let mut found = Vec::new();

    let request = GroupsRequest {
        scope: scope.clone(),
        ..GroupsRequest::default()
    };
    let answer = groups(&snapshot, &request, scene.temp.root()).expect("groups");
    let links = answer.body.clusters.into_iter().flat_map(|c| c.links);
    let links = links.map(|link| (link.a, link.b));
    found.push(("groups", judged(&scene, links)));

    let (mut rows, mut entries) = (Vec::new(), Vec::new());
    for number in 0..RELATIVES {
        let (name, _) = names(number);
        let path = scene.path(&name);
        let subject = Subject::indexed(&snapshot, &path, &Params::default());
        let subject = subject.expect("readable").expect("indexed");
        let asked = PathText::from(path.as_path());
        let options = FindOptions::default();
        let answer = find::find(&snapshot, &subject, &asked, &options).expect("rows");
        rows.extend(answer.rows.into_iter().map(|row| (asked.clone(), row.path)));
        let (listed, _) = find::listing(&snapshot, &subject, true).expect("a listing");
        let listed = listed.into_iter().map(|entry| PathText::from(entry.path));
        entries.extend(listed.map(|path| (asked.clone(), path)));
    }
    found.push(("find", judged(&scene, rows)));
    found.push((".similar", judged(&scene, entries)));

    let request = PairsRequest {
        scope,
        ..PairsRequest::default()
    };
    let rows = pairs(&snapshot, &request).expect("pairs").rows;
    let best = rows.into_iter().take(RELATIVES);
    let best = best.map(|row| (row.a, row.b)).collect::<Vec<_>>();
    found.push(("pairs", judged(&scene, best)));

    found.push(("compare", compared(&scene)));

    println!("{found:?}");
    for (verb, (found, strangers)) in found {
        let few_strangers = strangers <= 1 || verb == "pairs";
        assert!(
            found >= LEAST && few_strangers,
            "{verb}: {found}, {strangers}"
        );
    }
}
