//! Many unrelated files share a header that makes up most of each file. Each verb must find the
//! files that also resemble each other in the text below the header.

use std::collections::BTreeSet;

use resemble_core::Params;
use resemble_proto::message::{
    CompareOptions, CompareRequest, FindOptions, GroupsRequest, PairsRequest,
};
use resemble_proto::path::PathText;
use resemble_query::find::{self, Subject};
use resemble_relate::findings::MemoryCache;
use resemble_testutil::random::Random;

use crate::plain::{compare, groups, pairs};
use crate::scene::Scene;

/// The number of files with the header. It is so large that the header is boilerplate.
const FILES: usize = 1100;

/// The number of files that have a relative: a copy in which some of the file's own words are
/// edited: 5, 15 or 30 percent, in turn.
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

/// Returns the words after edits to `percent` percent of them: each of these is removed, replaced
/// or followed by a new word.
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

/// Writes files with a common header of `header` words. Each file also has `own` words of its own.
fn scene(seed: u64, (header, own): (usize, usize)) -> Scene {
    scene_of(seed, header, |_| own)
}

/// Does the same as [`scene`], but `own` returns the number of words of each file's own text.
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

/// Counts the pairs of relatives, and the pairs of files that are not relatives.
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

/// Compares the trees `new` and `old`. Counts the rows of relatives and of other pairs, as
/// [`judged`] does.
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

/// Each file has 800 words. For files of more than 512 words, one shingle in 16 is kept. So about
/// 16 kept shingles are from the file's own text. A relative may share only one of them.
#[test]
fn trees_find_relatives_of_which_few_samples_are_left() {
    let scene = scene(5, (540, 260));
    let (found, strangers) = compared(&scene);
    assert!(found >= LEAST && strangers <= 1, "{found}, {strangers}");
}

/// All files have the header, but the signatures of small files have more shingles of it than those
/// of large files. A shingle that only small files keep is in too few signatures to be boilerplate.
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
