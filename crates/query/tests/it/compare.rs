//! Tests `compare` on real trees. Each class is tested with examples and against a naive reference.
//! Answers from the index and from the disk must be the same, byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::plain::{compare, pairs};
use crate::scene::Scene;
use proptest::prelude::*;
use resemble_core::Params;
use resemble_core::similarity::Templates;
use resemble_proto::message::{
    CompareClass as Class, CompareOptions, CompareRequest, CompareRow, Comparison, OtherSummary,
    PairsRequest, Whole,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::local::{LocalIndex, LocalOptions};
use resemble_relate::findings::MemoryCache;
use resemble_scan::ingest::Unobserved;
use resemble_testutil::random::letters as text;

mod truth;

fn request(scene: &Scene, a: &str, b: &str, options: CompareOptions) -> CompareRequest {
    CompareRequest {
        a: PathText::from(scene.path(a).as_path()),
        b: PathText::from(scene.path(b).as_path()),
        options,
    }
}

/// Returns the answer from the index. First checks that a scan of the disk gives the same answer.
#[track_caller]
fn asked(scene: &mut Scene, request: &CompareRequest) -> Whole<Comparison> {
    let params = Params::default();
    scene.scan();
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let recent = MemoryCache::default();
    let ask = || compare(&snapshot, request, &recent).expect("an answer");
    let by_index = ask();
    assert_eq!(ask(), by_index, "what is remembered differs");
    let mut local = LocalIndex::open(LocalOptions {
        catalogues: None,
        part_reader: None,
        cache: None,
        cache_bytes: 0,
        params,
        own: Vec::new(),
    })
    .expect("an index");
    let by_disk = local
        .compare(request, &Templates::default(), &mut Unobserved)
        .expect("an answer");
    assert_eq!(by_index, by_disk, "the two ways differ");
    by_index
}

#[track_caller]
fn compared(scene: &mut Scene) -> Whole<Comparison> {
    fs::create_dir_all(scene.path("a")).expect("a folder");
    fs::create_dir_all(scene.path("b")).expect("a folder");
    let request = request(scene, "a", "b", CompareOptions::default());
    asked(scene, &request)
}

fn shown(path: Option<&PathText>) -> String {
    path.map_or_else(
        || "-".to_owned(),
        |path| path.as_path().display().to_string(),
    )
}

fn line(row: &CompareRow) -> String {
    let copy = if row.copy { " copy" } else { "" };
    let (a, b) = (shown(row.a.as_ref()), shown(row.b.as_ref()));
    format!("{} {a} {b}{copy}", row.class.word())
}

fn lines(answer: &Whole<Comparison>) -> Vec<String> {
    answer.body.entries.iter().map(line).collect()
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// Returns paragraphs of about 400 bytes.
fn paragraphs(seed: u64, count: u64) -> Vec<Vec<u8>> {
    (0..count).map(|n| text(seed * 1000 + n, 400)).collect()
}

#[test]
fn two_equal_trees_are_the_same_and_nothing_else() {
    let mut scene = Scene::new();
    for tree in ["a", "b"] {
        scene.write(&format!("{tree}/x"), text(1, 3000));
        scene.write(&format!("{tree}/d/empty"), "");
        fs::hard_link(
            scene.path(&format!("{tree}/x")),
            scene.path(&format!("{tree}/d/link")),
        )
        .expect("a link");
        symlink("x", scene.path(&format!("{tree}/s"))).expect("a link");
    }
    let answer = compared(&mut scene);
    assert_eq!(
        lines(&answer),
        ["same d/empty d/empty", "same d/link d/link", "same x x"]
    );
    let summary = answer.body.summary;
    assert!(summary.is_same());
    assert_eq!((summary.classes.same, summary.other.same), (3, 1));
    assert_eq!(
        (summary.bytes_a, summary.bytes_a_in_b, summary.bytes_b_in_a),
        (6000, 6000, 6000)
    );
    let looked = answer.header.looked.expect("said");
    assert_eq!((looked.files, looked.bytes, looked.small), (4, 6000, 2));
    assert!(answer.body.trees.is_empty() && answer.body.others.is_empty());
}

#[test]
fn a_moved_directory_is_moved_files_and_one_tree() {
    let mut scene = Scene::new();
    for n in 0..4 {
        scene.write(&format!("a/old/place/{n}"), text(n, 2000));
        scene.write(&format!("b/new/{n}"), text(n, 2000));
    }
    scene.write("a/stays", text(9, 2000));
    scene.write("b/stays", text(9, 2000));
    let answer = compared(&mut scene);
    assert_eq!(answer.body.summary.classes.moved, 4);
    assert_eq!(lines(&answer)[0], "moved old/place/0 new/0");
    let tree = &answer.body.trees[..];
    assert_eq!(tree.len(), 1, "{tree:?}");
    assert_eq!(
        (tree[0].a.as_path(), tree[0].b.as_path()),
        (Path::new("old/place"), Path::new("new"))
    );
    assert_eq!(
        (tree[0].a_in_b, tree[0].b_in_a),
        (Fraction::ONE, Fraction::ONE)
    );
    assert_eq!((tree[0].files_a, tree[0].bytes_a), (4, 8000));
}

#[test]
fn equals_are_paired_by_name_then_by_path_and_the_rest_are_copies() {
    let mut scene = Scene::new();
    let x = text(1, 1000);
    for path in ["a/1/other", "a/2/name", "a/3/name", "b/4/name", "b/5/last"] {
        scene.write(path, &x);
    }
    let answer = compared(&mut scene);
    assert_eq!(
        lines(&answer),
        [
            "moved 1/other 5/last",
            "moved 2/name 4/name",
            "moved 3/name 4/name copy"
        ]
    );
    // The equal files of B now have equal files at their own paths in A. So the three other files
    // are surplus copies.
    scene.write("a/4/name", &x);
    scene.write("a/5/last", &x);
    let answer = compared(&mut scene);
    let copies = [
        "moved 1/other 4/name copy",
        "moved 2/name 4/name copy",
        "moved 3/name 4/name copy",
    ];
    assert_eq!(lines(&answer)[..3], copies);
    assert_eq!(
        (
            answer.body.summary.classes.same,
            answer.body.summary.classes.moved
        ),
        (2, 3)
    );
}

#[test]
fn an_edited_file_is_edited_whatever_its_score() {
    let mut scene = Scene::new();
    scene.write("a/near", joined(&[&text(1, 3000), &text(2, 3000)]));
    scene.write(
        "b/near",
        joined(&[&text(1, 3000), b" edited ", &text(2, 3000)]),
    );
    scene.write("a/nothing", text(3, 3000));
    scene.write("b/nothing", text(4, 3000));
    scene.write("a/tiny", "one");
    scene.write("b/tiny", "two");
    let answer = compared(&mut scene);
    let expected = [
        "edited near near",
        "edited nothing nothing",
        "edited tiny tiny",
    ];
    assert_eq!(lines(&answer), expected);
    let rows = &answer.body.entries;
    assert!(
        rows[0].a_in_b > Fraction::from_millionths(950_000),
        "{:?}",
        rows[0]
    );
    assert_eq!(rows[1].a_in_b, Fraction::ZERO);
    assert_eq!(rows[2].a_in_b, Fraction::NONE);
    let summary = answer.body.summary;
    assert_eq!((summary.files_a_not_in_b, summary.files_b_not_in_a), (2, 2));
    assert!((5700..=6000).contains(&summary.bytes_a_in_b), "{summary:?}");
}

#[test]
fn swapped_names_are_moves() {
    let mut scene = Scene::new();
    let (x, y) = (text(1, 3000), text(2, 3000));
    scene.write("a/x", &x);
    scene.write("a/y", &y);
    scene.write("b/x", &y);
    scene.write("b/y", &x);
    assert_eq!(lines(&compared(&mut scene)), ["moved x y", "moved y x"]);
    // The names are swapped, and now the files are edited, too.
    scene.write("b/x", joined(&[&y, b" and more"]));
    scene.write("b/y", joined(&[&x, b" and more"]));
    assert_eq!(
        lines(&compared(&mut scene)),
        ["moved-edited x y", "moved-edited y x"]
    );
}

#[test]
fn who_stays_with_its_twin_tears_no_other_pair_apart() {
    let mut scene = Scene::new();
    let body = text(1, 8000);
    // `b/x` is a little nearer to `a/y` than to `a/x`. But `a/y` stays with `b/y`, the file at its
    // own path, and so `b/x` stays with `a/x`.
    scene.write("a/x", joined(&[&body, &text(2, 500)]));
    scene.write("b/x", joined(&[&body, &text(3, 500)]));
    scene.write("a/y", joined(&[&body, &text(3, 400)]));
    scene.write("b/y", joined(&[&body, &text(3, 400), b"y"]));
    assert_eq!(lines(&compared(&mut scene)), ["edited x x", "edited y y"]);
}

/// A file has a partner at its own path. A moved copy of another file does not replace that
/// partner, even if it is more similar.
#[test]
fn a_better_partner_that_only_moved_tears_no_pair_apart() {
    let mut scene = Scene::new();
    let all = paragraphs(1, 14);
    let part = |from: usize, to: usize| all[from..to].concat();
    scene.write("a/x", part(0, 10));
    scene.write("b/x", part(0, 12));
    scene.write("a/m", [part(0, 10), joined(&[b"one more line"])].concat());
    scene.write(
        "b/moved/m",
        [part(0, 10), joined(&[b"one more line"])].concat(),
    );
    scene.write("a/k", part(0, 11));
    scene.write("b/moved/k", part(0, 11));
    scene.write("b/y", [part(0, 5), part(12, 14), part(5, 8)].concat());
    let answer = compared(&mut scene);
    assert_eq!(
        lines(&answer),
        [
            "moved k moved/k",
            "moved m moved/m",
            "edited x x",
            "contains x y"
        ]
    );
}

#[test]
fn a_split_and_a_merged_file() {
    let mut scene = Scene::new();
    let parts: Vec<Vec<u8>> = (0..3).map(|n| text(n, 6000)).collect();
    let whole = parts.concat();
    scene.write("a/whole", &whole);
    for (n, part) in parts.iter().enumerate() {
        scene.write(&format!("b/part{n}"), part);
    }
    let answer = compared(&mut scene);
    let split = [
        "contains whole part0",
        "contains whole part1",
        "contains whole part2",
    ];
    assert_eq!(lines(&answer), split);
    assert_eq!(
        (
            answer.body.summary.classes.contains,
            answer.body.summary.classes.only_a
        ),
        (3, 0)
    );
    let summary = answer.body.summary;
    assert!(summary.bytes_a_in_b >= 17_000, "{summary:?}");
    assert!(summary.bytes_b_in_a >= 17_000, "{summary:?}");

    let mut scene = Scene::new();
    scene.write("b/whole", &whole);
    for (n, part) in parts.iter().enumerate() {
        scene.write(&format!("a/part{n}"), part);
    }
    let answer = compared(&mut scene);
    let merged = [
        "contained part0 whole",
        "contained part1 whole",
        "contained part2 whole",
    ];
    assert_eq!(lines(&answer), merged);
    assert!(answer.body.summary.bytes_b_in_a >= 17_000);
}

#[test]
fn a_file_in_an_archive_of_mail_even_if_the_archive_is_settled() {
    let mut scene = Scene::new();
    let letter = text(7, 5000);
    let mail = joined(&[
        &text(1, 30_000),
        b"\nFrom somebody\n",
        &letter,
        &text(2, 30_000),
    ]);
    scene.write("a/mail", &mail);
    scene.write("b/mail", &mail);
    scene.write("a/letter", &letter);
    let answer = compared(&mut scene);
    assert_eq!(lines(&answer), ["contained letter mail", "same mail mail"]);
    assert!(answer.body.summary.bytes_a_in_b >= 65_000 + 4900);
}

#[test]
fn shuffled_paragraphs_a_shared_header_and_the_same_vocabulary() {
    let mut scene = Scene::new();
    let ordered = paragraphs(1, 20);
    let mut shuffled = ordered.clone();
    shuffled.reverse();
    scene.write("a/ordered", ordered.concat());
    scene.write("b/shuffled", shuffled.concat());
    let header = text(50, 2500);
    scene.write("a/form1", joined(&[&header, &text(51, 6000)]));
    scene.write("b/form2", joined(&[&header, &text(52, 6000)]));
    let words = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta",
    ];
    let prose = |seed: u64| -> String {
        let order = text(seed, 1500);
        let word = |byte: &u8| words[usize::from(*byte) % words.len()];
        order.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    scene.write("a/prose1", prose(3));
    scene.write("b/prose2", prose(4));
    let answer = compared(&mut scene);
    assert_eq!(
        lines(&answer),
        [
            "moved-edited form1 form2",
            "moved-edited ordered shuffled",
            "only-a prose1 -",
            "only-b - prose2",
        ]
    );
    let rows = &answer.body.entries;
    let percent = |row: &CompareRow| row.a_in_b.percent(false).expect("a figure");
    assert!((20..=38).contains(&percent(&rows[0])), "{:?}", rows[0]);
    assert!(percent(&rows[1]) >= 80, "{:?}", rows[1]);
}

#[test]
fn the_best_pair_first_and_what_is_left_stands_beside_it() {
    let mut scene = Scene::new();
    let body = text(1, 9000);
    scene.write("a/old", &body);
    scene.write("b/best", joined(&[&body, b" little"]));
    scene.write("b/second", joined(&[&body, &text(2, 2000)]));
    scene.write("b/third", joined(&[&body[..4000], &text(3, 5000)]));
    let answer = compared(&mut scene);
    assert_eq!(
        lines(&answer),
        [
            "moved-edited old best",
            "contains old second",
            "moved-edited old third copy"
        ]
    );
    let others: Vec<String> = answer.body.entries[0]
        .others
        .iter()
        .map(|partner| shown(Some(&partner.path)))
        .collect();
    assert_eq!(others, ["second", "third"]);
}

#[test]
fn links_by_target_others_by_type_and_what_cannot_be_read() {
    let mut scene = Scene::new();
    for (tree, target) in [("a", "one"), ("b", "two")] {
        fs::create_dir_all(scene.path(tree)).expect("a folder");
        symlink("same", scene.path(&format!("{tree}/link"))).expect("a link");
        symlink(target, scene.path(&format!("{tree}/other"))).expect("a link");
        let fifo = scene.path(&format!("{tree}/pipe"));
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .expect("a pipe");
        scene.write(&format!("{tree}/locked"), text(1, 1000));
    }
    symlink("x", scene.path("a/only")).expect("a link");
    scene.write("a/turned", "a file here");
    symlink("x", scene.path("b/turned")).expect("a link");
    scene.write("b/dir/file", "a directory there");
    scene.write("a/dir", "and a file here");
    let locked = scene.path("b/locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).expect("locked");
    let is_root = fs::File::open(&locked).is_ok();
    let answer = compared(&mut scene);
    let other = |path: &str| {
        let row = answer
            .body
            .others
            .iter()
            .find(|row| row.path.as_path() == Path::new(path))
            .unwrap_or_else(|| panic!("{path} is missing: {:?}", answer.body.others));
        (row.a.as_deref(), row.b.as_deref())
    };
    assert_eq!(other("other"), (Some("link"), Some("link")));
    assert_eq!(other("only"), (Some("link"), None));
    assert_eq!(other("turned"), (Some("file"), Some("link")));
    assert_eq!(other("dir"), (Some("file"), Some("directory")));
    let mut expected = OtherSummary {
        same: 2,
        differ: 3,
        only_a: 1,
        only_b: 0,
    };
    if !is_root {
        assert_eq!(other("locked"), (Some("file"), Some("unreadable")));
        assert_eq!(answer.errors.len(), 1);
        assert_eq!(answer.header.looked.expect("said").unreadable, 1);
        expected.differ += 1;
    }
    assert_eq!(answer.body.summary.other, expected);
    assert!(
        lines(&answer).contains(&"only-a dir -".to_owned()),
        "{:?}",
        lines(&answer)
    );
    assert!(lines(&answer).contains(&"only-a turned -".to_owned()));
    assert!(lines(&answer).contains(&"only-b - dir/file".to_owned()));
}

#[test]
fn any_name_and_any_ignore_file() {
    let mut scene = Scene::new();
    let name = OsStr::from_bytes(b"bad\xff\nname");
    for tree in ["a", "b"] {
        fs::create_dir_all(scene.path(tree)).expect("a folder");
        fs::write(scene.path(tree).join(name), text(1, 1000)).expect("a file");
        scene.write(&format!("{tree}/.gitignore"), "*\n");
        scene.write(&format!("{tree}/.git/config"), "ignored by nobody");
    }
    let answer = compared(&mut scene);
    assert_eq!(answer.body.summary.classes.same, 3);
    let bad = &answer.body.entries[2];
    assert_eq!(
        bad.a.as_ref().map(PathText::as_bytes),
        Some(name.as_bytes())
    );
}

#[test]
fn files_a_tree_in_itself_and_nothing_at_all() {
    let mut scene = Scene::new();
    let (x, edited) = (text(1, 3000), joined(&[&text(1, 3000), b"!"]));
    scene.write("a/x", &x);
    scene.write("a/inner/x", &x);
    scene.write("a/inner/y", &edited);
    let ask = |scene: &mut Scene, a: &str, b: &str| {
        let request = request(scene, a, b, CompareOptions::default());
        lines(&asked(scene, &request))
    };
    assert_eq!(ask(&mut scene, "a/x", "a/inner/x"), ["same x x"]);
    assert_eq!(ask(&mut scene, "a/x", "a/inner/y"), ["edited x y"]);
    assert_eq!(ask(&mut scene, "a", "a").len(), 3);
    // If one tree is inside the other, the files of the inner tree do not count as files of the
    // outer tree. Otherwise each of them would match itself.
    let expected = ["same x x", "contains x y"];
    assert_eq!(ask(&mut scene, "a", "a/inner"), expected);
    assert_eq!(ask(&mut scene, "a/x", "a/inner"), expected);
    let missing = request(&scene, "a", "b", CompareOptions::default());
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let failure = compare(&snapshot, &missing, &MemoryCache::default()).expect_err("nothing there");
    assert!(failure.to_string().contains("/b"), "{failure}");
}

#[test]
fn options_choose_partners_and_rows() {
    let mut scene = Scene::new();
    let body = text(1, 4000);
    scene.write("a/doc.txt", &body);
    scene.write("b/large.txt", joined(&[&body, &text(2, 40_000)]));
    scene.write("b/doc.md", joined(&[&body, b" more"]));
    scene.write("a/same", "same");
    scene.write("b/same", "same");
    scene.write("b/small", "s");
    let mut ask = |options: CompareOptions| {
        let request = request(&scene, "a", "b", options);
        let answer = asked(&mut scene, &request);
        (lines(&answer), answer)
    };
    let (all, _) = ask(CompareOptions::default());
    let edited = "moved-edited doc.txt doc.md".to_owned();
    let large = "contained doc.txt large.txt".to_owned();
    assert!(all.contains(&edited), "{all:?}");
    let (suffix, _) = ask(CompareOptions {
        same_suffix: true,
        ..CompareOptions::default()
    });
    assert!(suffix.contains(&large), "{suffix:?}");
    let (ratio, _) = ask(CompareOptions {
        same_suffix: true,
        size_ratio: Fraction::from_millionths(500_000),
        ..CompareOptions::default()
    });
    assert!(ratio.contains(&"only-a doc.txt -".to_owned()), "{ratio:?}");
    let (min_shared, _) = ask(CompareOptions {
        // `doc.txt` shares 4,000 bytes with each partner, half of this minimum. For `large.txt` the
        // shared bytes are estimated.
        min_shared: Some(8000),
        ..CompareOptions::default()
    });
    assert!(
        min_shared.contains(&"only-a doc.txt -".to_owned()),
        "{min_shared:?}"
    );
    let (exact, answer) = ask(CompareOptions {
        exact: true,
        ..CompareOptions::default()
    });
    assert_eq!(exact, all);
    assert_eq!(
        answer.body.entries[0].a_in_b,
        Fraction::from_millionths(999_999)
    );
    let (classes, answer) = ask(CompareOptions {
        classes: vec![Class::Same, Class::OnlyB],
        top: Some(1),
        ..CompareOptions::default()
    });
    assert_eq!(classes, ["same same same"]);
    assert_eq!((answer.header.total, answer.header.shown), (2, 1));
    assert_eq!(answer.body.summary.classes.moved_edited, 1);
    let mut options = CompareOptions::default();
    options.scope.min_size = 100;
    options.scope.exclude = vec!["large*".to_owned()];
    let (scope, answer) = ask(options);
    assert_eq!(scope, [edited]);
    assert_eq!(answer.header.looked.expect("said").skipped, 4);
}

/// Writes five versions of one file on each side. Any two versions share 80 %. The two files at the
/// same path are nearly equal.
fn family(scene: &mut Scene) {
    let body = text(7, 8000);
    for n in 0..5 {
        let own = joined(&[&body, &text(100 + n, 2000)]);
        scene.write(&format!("a/{n}"), &own);
        scene.write(&format!("b/{n}"), joined(&[&own, b" and a word"]));
    }
}

#[test]
fn relatives_of_what_is_settled_at_its_own_path_are_not_looked_for() {
    let mut scene = Scene::new();
    family(&mut scene);
    let mut ask = |all: bool| {
        let options = CompareOptions {
            all,
            ..CompareOptions::default()
        };
        let request = request(&scene, "a", "b", options);
        asked(&mut scene, &request)
    };
    let (few, all) = (ask(false), ask(true));
    assert_eq!(lines(&few), lines(&all));
    assert_eq!(lines(&few)[4], "edited 4 4");
    for (few, all) in few.body.entries.iter().zip(&all.body.entries) {
        assert_eq!((few.a_in_b, few.b_in_a), (all.a_in_b, all.b_in_a));
        assert_eq!((few.others.len(), all.others.len()), (0, 4));
    }
}

#[test]
fn what_is_left_over_is_looked_up_among_what_is_settled() {
    let mut scene = Scene::new();
    family(&mut scene);
    // `a/alone` has no partner of its own, because the best match in B has a file at its own path
    // in A. `a/5` shares almost nothing with `b/5`.
    let of_family = joined(&[&text(7, 8000), &text(300, 2000)]);
    scene.write("a/alone", &of_family);
    scene.write("a/5", joined(&[&of_family, b" once more"]));
    scene.write("b/5", text(400, 3000));
    let request = request(&scene, "a", "b", CompareOptions::default());
    let answer = asked(&mut scene, &request);
    let row = |name: &str| {
        let mut rows = answer.body.entries.iter();
        let of =
            |path: &Option<PathText>| path.as_ref().map(PathText::as_bytes).map(<[u8]>::to_vec);
        rows.find(|row| of(&row.a) == Some(name.into()))
            .expect("a row")
    };
    let alone = row("alone");
    assert_eq!((alone.class, alone.others.len()), (Class::Contained, 4));
    let unlike = row("5");
    assert_eq!((unlike.class, unlike.others.len()), (Class::Edited, 5));
    // Most bytes of A are in B, including those of `a/alone` and `a/5`.
    let summary = &answer.body.summary;
    assert!(summary.bytes_a_in_b as f64 > 0.9 * summary.bytes_a as f64 - 4000.0);
}

#[test]
fn names_that_were_swapped_are_seen_though_the_files_are_much_alike() {
    let mut scene = Scene::new();
    let body = text(7, 8000);
    for (name, other) in [(0, 1), (1, 0)] {
        let own = |n: u64| joined(&[&body, &text(100 + n, 2000)]);
        scene.write(&format!("a/{name}"), own(name));
        scene.write(&format!("b/{name}"), joined(&[&own(other), b" and a word"]));
    }
    let request = request(&scene, "a", "b", CompareOptions::default());
    let rows = lines(&asked(&mut scene, &request));
    assert_eq!(rows, ["moved-edited 0 1", "moved-edited 1 0"]);
}

#[test]
fn names_break_ties_where_that_is_asked_for() {
    let mut scene = Scene::new();
    let body = text(1, 4000);
    scene.write("a/1/report", joined(&[&body, b"a"]));
    scene.write("b/2/aaa", joined(&[&body, b"b"]));
    scene.write("b/2/report", joined(&[&body, b"c"]));
    let mut ask = |names: bool| {
        let options = CompareOptions {
            names,
            exact: true,
            ..CompareOptions::default()
        };
        let request = request(&scene, "a", "b", options);
        let rows = lines(&asked(&mut scene, &request));
        let pair = rows.into_iter().find(|row| row.starts_with("moved-edited"));
        pair.expect("a pair")
    };
    assert_eq!(ask(false), "moved-edited 1/report 2/aaa");
    assert_eq!(ask(true), "moved-edited 1/report 2/report");
}

#[test]
fn text_of_more_than_a_thousand_files_is_nobodys() {
    let mut scene = Scene::new();
    let header = text(0, 3000);
    for n in 0..700u64 {
        scene.write(&format!("a/{n}"), joined(&[&header, &text(n + 1, 400)]));
        scene.write(
            &format!("b/other/{n}"),
            joined(&[&header, &text(n + 10_001, 400)]),
        );
    }
    let answer = compared(&mut scene);
    assert_eq!(
        (
            answer.body.summary.classes.only_a,
            answer.body.summary.classes.only_b
        ),
        (700, 700)
    );
}

// ---- against a naive reference ------------------------------------------------------------------
