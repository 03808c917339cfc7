//! Tests `dirs`: pairs of similar directories, and the listing of directories that are similar to a
//! given directory.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::plain::dirs;
use crate::scene::Scene;
use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::Provable;
use resemble_core::tree::Share;
use resemble_core::{ContentKind, Relation};
use resemble_proto::message::{Answer, DirRow, DirsRequest, Scope};
use resemble_proto::number::Fraction;
use resemble_query::dirs::{listing, relation};
use resemble_scan::ingest::{RootOptions, Target};
use resemble_testutil::in_a_process_of_its_own;
use resemble_testutil::prose::{copies_of_a_page, edited, prose};
use resemble_testutil::random::letters as text;

fn ask(scene: &Scene, request: DirsRequest) -> Answer<DirRow> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let mut request = request;
    if request.scope.within.is_empty() {
        request.scope.within.push(scene.root().as_path().into());
    }
    dirs(&snapshot, &request, scene.temp.root()).expect("an answer")
}

pub(crate) fn all(scene: &Scene) -> Vec<DirRow> {
    let answer = ask(scene, DirsRequest::default());
    assert_eq!(answer.errors, []);
    for row in &answer.rows {
        let (a, b) = (row.a.as_path(), row.b.as_path());
        assert!(!a.starts_with(b) && !b.starts_with(a), "{row:?}");
    }
    answer.rows
}

pub(crate) fn listed(scene: &Scene, dir: &str) -> Vec<DirRow> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let (rows, total) = listing(&snapshot, &scene.path(dir), None).expect("a listing");
    assert_eq!(rows.len(), total.min(100));
    rows
}

/// Returns, for each row, both names below the root and both shares in percent.
pub(crate) fn shown(scene: &Scene, rows: &[DirRow]) -> Vec<(String, String, u32, u32)> {
    let name = |path: &Path| {
        let below = path.strip_prefix(scene.root()).expect("in the tree");
        below.display().to_string()
    };
    let percent = |share: Fraction| share.millionths().expect("a share") / 10_000;
    rows.iter()
        .map(|row| {
            let (a, b) = (name(row.a.as_path()), name(row.b.as_path()));
            (a, b, percent(row.a_in_b), percent(row.b_in_a))
        })
        .collect()
}

fn one(a: &str, b: &str, a_in_b: u32, b_in_a: u32) -> (String, String, u32, u32) {
    (a.to_owned(), b.to_owned(), a_in_b, b_in_a)
}

/// `min_shared` is a minimum of the bytes that both directories have. Here one directory has two
/// copies of a small file (324 bytes), the other has one copy (162 bytes). Without `min_shared`,
/// identical directories are reported even below the usual minimum.
#[test]
fn what_both_have_is_what_min_shared_bounds() {
    let mut scene = Scene::new();
    let small = text(1, 162);
    for (dir, files) in [("a", 2), ("b", 1), ("c", 2), ("d", 1)] {
        for file in 0..files {
            scene.write(&format!("{dir}/{file}"), small.clone());
        }
    }
    scene.write("b/other", text(2, 100));
    scene.write("d/other", text(3, 100));
    scene.write("e/one", text(4, 100));
    scene.write("f/one", text(4, 100));
    scene.scan();
    // `a` and `c` have only copies of that file, and `e` and `f` are identical and smaller than the
    // usual minimum of 256 bytes.
    let identical = [one("a", "c", 100, 100), one("e", "f", 100, 100)];
    assert_eq!(shown(&scene, &all(&scene)), identical);
    let with = |min_shared| {
        let min_shared = Some(min_shared);
        let request = DirsRequest {
            min_shared,
            ..DirsRequest::default()
        };
        ask(&scene, request).rows.len()
    };
    assert_eq!((with(162), with(163), with(325)), (6, 1, 0));
}

/// The files of a project: ten files in four directories.
const PROJECT: [&str; 10] = [
    "readme",
    "src/main",
    "src/part",
    "src/io/read",
    "src/io/write",
    "doc/one",
    "doc/two",
    "doc/three",
    "doc/four",
    "licence",
];

fn project(scene: &Scene, at: &str) {
    for (n, name) in (1..).zip(PROJECT) {
        scene.write(&format!("{at}/{name}"), text(n, 1000));
    }
}

/// Writes files that resemble no other file.
fn noise(scene: &Scene, at: &str, files: u64) {
    for n in 0..files {
        let seed = at.bytes().fold(1000 + n, |seed, byte| {
            seed.wrapping_mul(31) + u64::from(byte)
        });
        scene.write(&format!("{at}/other-{n}"), text(seed, 1000));
    }
}

#[test]
fn a_copy_is_one_row_whatever_its_names_and_its_layout() {
    let mut scene = Scene::new();
    project(&scene, "work/project");
    noise(&scene, "work/else", 5);
    // Writes two copies of the project: one without subfolders and with other names, and one that
    // is nested more deeply.
    for (n, _) in (1..).zip(PROJECT) {
        scene.write(&format!("flat/f{n}"), text(n, 1000));
        scene.write(&format!("deep/er/{}/{n}/x{n}", n % 2), text(n, 1000));
    }
    noise(&scene, "deep/beside", 7);
    scene.scan();
    let rows = all(&scene);
    assert_eq!(
        shown(&scene, &rows),
        [
            one("deep/er", "flat", 100, 100),
            one("deep/er", "work/project", 100, 100),
            one("flat", "work/project", 100, 100),
        ]
    );
    for row in &rows {
        assert!(row.identical);
        assert_eq!(
            (row.shared_bytes, row.bytes_a, row.bytes_b),
            (10_000, 10_000, 10_000)
        );
        assert_eq!((row.files_a, row.files_b), (10, 10));
    }
}

/// One directory has ten copies of a file, and the other has one copy. The shared bytes are those
/// of one copy.
#[test]
fn shared_bytes_are_no_more_than_either_directory_has() {
    let mut scene = Scene::new();
    for n in 0..10 {
        scene.write(&format!("many/copy-{n}"), text(1, 1000));
    }
    scene.write("one/copy", text(1, 1000));
    scene.write("one/other", text(2, 600));
    scene.scan();
    let rows = all(&scene);
    assert_eq!(shown(&scene, &rows), [one("many", "one", 99, 62)]);
    let row = &rows[0];
    assert_eq!((row.bytes_a, row.bytes_b), (10_000, 1600));
    assert_eq!(row.shared_bytes, 1000);
    let seen_from = |dir| listed(&scene, dir)[0].shared_bytes;
    assert_eq!((seen_from("many"), seen_from("one")), (1000, 1000));
}

#[test]
fn part_of_a_directory_and_the_larger_one_around_it() {
    let mut scene = Scene::new();
    project(&scene, "project");
    // `part` has six of the project's ten files, and six other files.
    for (n, name) in (1..).zip(&PROJECT[..6]) {
        scene.write(&format!("part/{name}"), text(n, 1000));
    }
    noise(&scene, "part/more", 6);
    scene.scan();
    let rows = all(&scene);
    // Directories below `part` match better, but the pair that would save most space is listed
    // first.
    assert_eq!(
        shown(&scene, &rows)[0],
        one("part", "project", 50, 60),
        "{rows:?}"
    );
    assert!(!rows[0].identical);
    assert_eq!(rows[0].shared_bytes, 6000);
    // The next rows are about directories below these two that match clearly better. In each of
    // these rows, all content of one directory is in the other. If pairs are nested, only the
    // topmost is listed.
    let lower = shown(&scene, &rows)[1..].to_vec();
    assert_eq!(
        lower,
        [
            one("part/src", "project/src", 100, 100),
            one("part/doc", "project/doc", 99, 25)
        ]
    );
    let answer = |min: u32| {
        let min = Fraction::from_millionths(min);
        let request = DirsRequest {
            min,
            ..DirsRequest::default()
        };
        ask(&scene, request).rows.len()
    };
    assert_eq!((answer(600_000), answer(600_001)), (3, 2));
}

#[test]
fn near_files_count_with_their_share() {
    let mut scene = Scene::new();
    for n in 0..8_u64 {
        let bytes = text(n, 20_000);
        scene.write(&format!("a/{n}"), &bytes);
        // In `b`, every second file lacks its last quarter.
        let kept = if n % 2 == 0 { 20_000 } else { 15_000 };
        scene.write(&format!("b/x/{n}"), &bytes[..kept]);
    }
    scene.scan();
    let rows = all(&scene);
    let (_, _, a_in_b, b_in_a) = shown(&scene, &rows)[0];
    assert_eq!(rows.len(), 1);
    assert!((84..=92).contains(&a_in_b), "{a_in_b}");
    assert!(b_in_a >= 97, "{b_in_a}");
    assert!(!rows[0].identical);
    assert_eq!(relation(&rows[0]), Relation::Near);
}

/// The text of many near-copies is not boilerplate.
#[test]
fn near_copies_of_one_page_count_however_many_they_are() {
    let mut scene = Scene::new();
    for (at, copy) in copies_of_a_page(1, 40, 400).enumerate() {
        let side = if at % 2 == 0 { "a" } else { "b" };
        scene.write(&format!("{side}/{at:03}"), copy);
    }
    scene.scan();
    let rows = shown(&scene, &all(&scene));
    assert_eq!(rows.len(), 1, "{rows:?}");
    let (_, _, a_in_b, b_in_a) = rows[0];
    assert!(a_in_b >= 90 && b_in_a >= 90, "{rows:?}");
}

#[test]
fn small_files_count_by_identity_alone() {
    let mut scene = Scene::new();
    for n in 0..30_u64 {
        let mut bytes = text(n, 250);
        scene.write(&format!("a/{n}"), &bytes);
        if n % 3 == 0 {
            bytes[10] = b'!';
        }
        scene.write(&format!("b/{n}"), &bytes);
    }
    scene.write("a/empty", "");
    scene.scan();
    let rows = all(&scene);
    assert_eq!(shown(&scene, &rows), [one("a", "b", 66, 66)]);
    // Now all files but one are equal. The empty file has no bytes, but it is a file that `b`
    // lacks.
    for n in (0..30).step_by(3) {
        fs::copy(scene.path(&format!("a/{n}")), scene.path(&format!("b/{n}"))).expect("a copy");
    }
    scene.scan();
    let rows = all(&scene);
    assert_eq!(shown(&scene, &rows), [one("a", "b", 99, 99)]);
    assert!(!rows[0].identical);
    scene.write("b/sub/nothing", "");
    scene.scan();
    assert!(all(&scene)[0].identical);
}

#[test]
fn a_hard_link_is_one_file_in_two_directories() {
    let mut scene = Scene::new();
    scene.write("a/f", text(1, 4000));
    scene.write("a/g", text(2, 4000));
    fs::create_dir(scene.path("b")).expect("a folder");
    for (from, to) in [("a/f", "b/f"), ("a/g", "b/h"), ("a/f", "a/f too")] {
        fs::hard_link(scene.path(from), scene.path(to)).expect("a link");
    }
    scene.scan();
    let rows = all(&scene);
    assert_eq!(shown(&scene, &rows), [one("a", "b", 100, 100)]);
    assert!(rows[0].identical);
    let row = &rows[0];
    assert_eq!((row.files_a, row.bytes_a), (2, 8000));
}

#[test]
fn the_question_decides_which_files_and_rows() {
    let mut scene = Scene::new();
    project(&scene, "one");
    project(&scene, "two");
    project(&scene, "three/copy");
    scene.scan();
    let within = |names: &[&str]| Scope {
        within: names
            .iter()
            .map(|name| scene.path(name).as_path().into())
            .collect(),
        ..Scope::default()
    };
    let rows = |request: DirsRequest| {
        let answer = ask(&scene, request);
        assert_eq!(answer.header.shown, answer.rows.len() as u64);
        (shown(&scene, &answer.rows), answer.header.total)
    };
    let scope = within(&["one", "three"]);
    let request = DirsRequest {
        scope,
        ..DirsRequest::default()
    };
    assert_eq!(rows(request.clone()).0, [one("one", "three", 100, 100)]);
    let looked = ask(&scene, request).header.looked.expect("looked");
    assert_eq!(
        (looked.files, looked.bytes, looked.unreadable),
        (20, 20_000, 0)
    );
    let request = DirsRequest {
        top: Some(1),
        ..DirsRequest::default()
    };
    assert_eq!(rows(request), (vec![one("one", "three", 100, 100)], 3));
    let request = DirsRequest {
        min_shared: Some(10_001),
        ..DirsRequest::default()
    };
    assert_eq!(rows(request).1, 0);
    let scope = Scope {
        exclude: vec!["src".to_owned()],
        ..within(&["one", "two"])
    };
    let request = DirsRequest {
        scope,
        ..DirsRequest::default()
    };
    assert_eq!(ask(&scene, request).rows[0].bytes_a, 6000);
    // In a question about one directory, that directory is `a` in each row, even if its name sorts
    // last. The rows are about the directory itself, even if the directories above match, too.
    let of = |dir: &str| Some(scene.path(dir).as_path().into());
    let request = DirsRequest {
        of: of("two/src"),
        ..DirsRequest::default()
    };
    assert_eq!(
        rows(request).0,
        [
            one("two/src", "one/src", 100, 100),
            one("two/src", "three/copy/src", 100, 100)
        ]
    );
    let scope = within(&["one"]);
    let request = DirsRequest {
        of: of("two/src"),
        scope,
        ..DirsRequest::default()
    };
    assert_eq!(rows(request).0, [one("two/src", "one/src", 100, 100)]);
    for nothing in ["none", "two/readme"] {
        let request = DirsRequest {
            of: of(nothing),
            ..DirsRequest::default()
        };
        assert_eq!(rows(request).1, 0, "{nothing}");
    }
}

#[test]
fn a_listing_says_what_the_question_about_one_directory_says() {
    let mut scene = Scene::new();
    for at in ["one", "two/inner", "three/a/b"] {
        project(&scene, at);
    }
    noise(&scene, "two/inner/own", 3);
    noise(&scene, "three/a/beside", 40);
    noise(&scene, "far/away", 40);
    for n in 0..6_u64 {
        let mut bytes = text(500 + n, 9000);
        scene.write(&format!("near/x/{n}"), &bytes);
        bytes[4000] = b'!';
        scene.write(&format!("close/{n}"), &bytes);
    }
    scene.scan();
    let mut rows_seen = 0;
    for dir in [
        "one",
        "one/src",
        "one/src/io",
        "two",
        "two/inner",
        "three",
        "three/a",
        "near",
        "near/x",
        "close",
        "far",
    ] {
        let answer = ask(
            &scene,
            DirsRequest {
                of: Some(scene.path(dir).as_path().into()),
                min: Fraction::from_millionths(250_000),
                ..DirsRequest::default()
            },
        );
        assert_eq!(listed(&scene, dir), answer.rows, "{dir}");
        rows_seen += answer.rows.len();
    }
    assert!(rows_seen > 12, "{rows_seen}");
    assert_eq!(
        shown(&scene, &listed(&scene, "one")),
        [one("one", "three/a/b", 100, 100), one("one", "two", 99, 76)]
    );
}

#[test]
fn a_listing_follows_the_tree() {
    let mut scene = Scene::new();
    project(&scene, "one");
    project(&scene, "two");
    scene.scan();
    assert!(listed(&scene, "one")[0].identical);
    scene.write("two/src/main", text(77, 1000));
    scene.scan();
    assert_eq!(
        shown(&scene, &listed(&scene, "one")),
        [one("one", "two", 90, 90)]
    );
    fs::rename(scene.path("two"), scene.path("three")).expect("renamed");
    scene.scan();
    assert_eq!(
        shown(&scene, &listed(&scene, "one")),
        [one("one", "three", 90, 90)]
    );
    fs::remove_dir_all(scene.path("three")).expect("gone");
    scene.scan();
    assert!(listed(&scene, "one").is_empty());
    assert!(listed(&scene, "three").is_empty());
    assert!(listed(&scene, "one/readme").is_empty(), "a file has none");
}

#[test]
fn hostile_names_and_depths() {
    let mut scene = Scene::new();
    let names: [&[u8]; 4] = [b"a\nb", b"\xff\xfe", b" ", b"~"];
    for side in ["x", "y"] {
        for (n, name) in (0..).zip(names) {
            let folder = scene.path(side).join(OsStr::from_bytes(name));
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join(OsStr::from_bytes(name)), text(n, 700)).expect("a file");
        }
        // The file is nested more deeply than the number of levels that are distinguished.
        let deep = (0..90).map(|_| "d").collect::<PathBuf>();
        scene.write(&format!("{side}/{}/file", deep.display()), text(9, 5000));
    }
    scene.scan();
    assert_eq!(shown(&scene, &all(&scene)), [one("x", "y", 100, 100)]);
    let name = Path::new("x").join(OsStr::from_bytes(b"\xff\xfe"));
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let (rows, _) = listing(&snapshot, &scene.root().join(name), None).expect("a listing");
    assert!(rows[0].b.as_bytes().ends_with(b"y/\xff\xfe"), "{rows:?}");
}

#[test]
fn what_could_not_be_read_is_not_identical() {
    if in_a_process_of_its_own("dirs::what_could_not_be_read_is_not_identical", true) {
        return;
    }
    let mut scene = Scene::new();
    project(&scene, "one");
    project(&scene, "two");
    scene.write("two/src/secret", text(50, 10));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    fs::set_permissions(scene.path("two/src/secret"), mode).expect("set");
    scene.scan();
    let answer = ask(&scene, DirsRequest::default());
    assert_eq!(answer.errors.len(), 1);
    assert_eq!(shown(&scene, &answer.rows), [one("one", "two", 99, 99)]);
    assert!(!answer.rows[0].identical);
    assert!(listed(&scene, "one/doc")[0].identical);
    assert!(!listed(&scene, "one/src")[0].identical);
}

#[test]
fn answers_do_not_depend_on_the_order_of_coming() {
    let mut scene = Scene::new();
    for n in 0..60_u64 {
        let mut bytes = text(n % 11, 3000);
        bytes[(n * 37) as usize % 3000] = b'!';
        scene.write(&format!("{}/{}/{n}", n % 4, n % 3), bytes);
    }
    project(&scene, "p/one");
    project(&scene, "p/two");
    scene.scan();
    let first = ask(&scene, DirsRequest::default());
    assert!(first.rows.len() > 3);
    let mut other = Scene::new();
    std::mem::swap(&mut other.temp, &mut scene.temp);
    let root = other.root();
    other.ingest.set_roots(vec![RootOptions::new(&root)]);
    for part in ["p/two", "3/1", "2", ""] {
        other.look(&[Target::subtree(root.join(part))]);
    }
    assert_eq!(first, ask(&other, DirsRequest::default()));
    for _ in 0..3 {
        assert_eq!(first, ask(&other, DirsRequest::default()));
    }
}

/// Reads two files and returns the share of the first that lies in the second.
fn exact_share(a: &Path, b: &Path) -> u32 {
    let ready = |path: &Path| {
        let bytes = fs::read(path).expect("a file");
        Provable::new(ContentKind::of_whole(&bytes), bytes)
    };
    let proven = ready(a).measure(&ready(b), Unit::Words);
    let share = Fraction::from(proven.measures.a_in_b);
    share.millionths().expect("judged")
}

#[test]
fn near_files_count_with_what_is_in_them() {
    let mut scene = Scene::new();
    for n in 0..6 {
        let page = prose(20_000 + n, 5000);
        scene.write(&format!("one/{n}"), &page);
        scene.write(&format!("two/{n}"), edited(&page, n, 20 + 15 * n as usize));
        scene.write(&format!("same/a/{n}"), text(20_100 + n, 3000));
        scene.write(&format!("same/b/{n}"), text(20_100 + n, 3000));
    }
    scene.scan();
    let expected = |from: &str, to: &str| {
        let (mut shared, mut bytes) = (0, 0);
        for n in 0..6 {
            let paths = [from, to].map(|dir| scene.path(&format!("{dir}/{n}")));
            let size = fs::metadata(&paths[0]).expect("a file").len();
            shared += size * u64::from(exact_share(&paths[0], &paths[1])) / 1_000_000;
            bytes += size;
        }
        Share::of(shared, bytes).millionths()
    };
    let near = |rows: &[DirRow]| {
        let row = rows.iter().find(|row| row.a.as_path().ends_with("one"));
        row.cloned().expect("a row")
    };
    let row = near(&all(&scene));
    let shown = (row.a_in_b.millionths(), row.b_in_a.millionths());
    let (there, back) = (expected("one", "two"), expected("two", "one"));
    assert_eq!((shown, row.estimate), ((Some(there), Some(back)), false));
    let of_listing = near(&listed(&scene, "one"));
    assert_eq!(of_listing, row);
}

#[test]
fn what_is_gone_counts_by_its_estimate_and_is_marked() {
    let scene = || {
        let mut scene = Scene::new();
        for n in 0..3 {
            let page = prose(20_200 + n, 5000);
            scene.write(&format!("one/{n}"), &page);
            scene.write(&format!("two/{n}"), edited(&page, n, 20));
            for copy in ["same/a", "same/b"] {
                scene.write(&format!("{copy}/{n}"), text(20_300 + n, 3000));
            }
        }
        scene.scan();
        scene
    };
    let truth = all(&scene());
    assert!(truth.iter().all(|row| row.interval.is_none()));
    let truth = truth.iter().find(|row| row.a.as_path().ends_with("one"));
    let truth = truth.expect("a row");
    let scene = scene();
    fs::remove_file(scene.path("two/1")).expect("removed");
    fs::remove_file(scene.path("same/b/1")).expect("removed");
    for row in all(&scene) {
        assert_eq!(row.estimate, row.a.as_path().ends_with("one"), "{row:?}");
        assert_eq!(row.interval.is_some(), row.estimate, "{row:?}");
        let Some(interval) = row.interval else {
            continue;
        };
        for ([low, high], share, truth) in [
            (interval.a_in_b, row.a_in_b, truth.a_in_b),
            (interval.b_in_a, row.b_in_a, truth.b_in_a),
        ] {
            assert!(low < share && share < high, "{row:?}");
            assert!(low <= truth && truth <= high, "{row:?}, {truth:?}");
            // Measured figures are certain.
            assert!(low > Fraction::from_millionths(500_000), "{row:?}");
        }
    }
}
