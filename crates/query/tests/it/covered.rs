//! Tests `covered`, which says whether a directory can be deleted because its files exist
//! elsewhere.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

use resemble_core::similarity::Templates;
use resemble_proto::message::{CoverPair, Coverage, CoveredRequest, SoftError, Whole};
use resemble_scan::ingest::Unobserved;
use resemble_trees::covered::covered;

use crate::identical::index;
use crate::scene::Scene;
use resemble_testutil::prose::copies_of_a_page;
use resemble_testutil::random::{letters as text, noise};
use resemble_testutil::{Mounted, in_a_process_of_its_own, skipped};

fn request(dir: &Path, by: &[PathBuf]) -> CoveredRequest {
    CoveredRequest {
        dir: dir.into(),
        by: by.iter().map(|root| root.as_path().into()).collect(),
        by_digest: false,
        memory: None,
    }
}

/// Returns the answer from the index, which may be out of date.
fn by_index(scene: &Scene, dir: &Path, by: &[PathBuf]) -> Whole<Coverage> {
    let snapshot = scene.index.snapshot().expect("a snapshot");
    covered(&snapshot, &request(dir, by), None).expect("an answer")
}

/// Returns the answer from the index. If there is one root, first checks that a scan of the disk
/// gives the same answer.
fn ask(scene: &Scene, dir: &Path, by: &[PathBuf]) -> Whole<Coverage> {
    let answer = by_index(scene, dir, by);
    let request = request(dir, by);
    let scanned = index(None).covered(&request, &Templates::default(), &mut Unobserved);
    if let Some(scanned) = scanned.expect("an answer") {
        assert_eq!(scanned, answer);
    }
    answer
}

fn coverage(scene: &Scene, dir: &str, by: &[&str]) -> Coverage {
    coverage_by(ask, scene, dir, by)
}

fn coverage_by(
    ask: impl Fn(&Scene, &Path, &[PathBuf]) -> Whole<Coverage>,
    scene: &Scene,
    dir: &str,
    by: &[&str],
) -> Coverage {
    let by: Vec<PathBuf> = by.iter().map(|root| scene.path(root)).collect();
    let answer = ask(scene, &scene.path(dir), &by);
    assert_eq!(answer.errors, [], "nothing is amiss");
    check(&answer.body);
    answer.body
}

/// Checks the properties that every answer has.
fn check(body: &Coverage) {
    assert_eq!(body.covered, body.missing.is_empty());
    assert_eq!(
        body.files as usize,
        body.missing.len() + body.linked.len() + body.copies.len()
    );
    for near in &body.near {
        assert!(body.missing.iter().any(|row| row.path == near.path));
    }
}

impl Scene {
    fn below(&self, path: &Path) -> String {
        let root = self.root();
        path.strip_prefix(root)
            .expect("in the tree")
            .display()
            .to_string()
    }

    fn pairs(&self, pairs: &[CoverPair]) -> Vec<(String, String)> {
        let shown = |pair: &CoverPair| {
            let (path, by) = (pair.path.as_path(), pair.by.as_path());
            (self.below(path), self.below(by))
        };
        pairs.iter().map(shown).collect()
    }

    fn missing(&self, body: &Coverage) -> Vec<(String, String)> {
        let rows = body.missing.iter();
        rows.map(|row| (self.below(row.path.as_path()), row.reason.clone()))
            .collect()
    }
}

fn two(a: &str, b: &str) -> (String, String) {
    (a.to_owned(), b.to_owned())
}

#[test]
fn a_copy_with_three_changed_one_missing_and_one_linked() {
    let mut scene = Scene::new();
    for n in 0..20 {
        let dir = ["", "x/", "x/y/"][n % 3];
        scene.write(&format!("old/{dir}{n}.txt"), text(n as u64, 4000 + n));
        scene.write(&format!("new/{dir}{n}.txt"), text(n as u64, 4000 + n));
    }
    // In `new`, three files are slightly changed, one is missing, and one is only a hard link to
    // the file in `old`.
    for n in [3, 6, 9] {
        let mut bytes = text(n, 4000 + n as usize);
        bytes[100] = b'!';
        let dir = ["", "x/", "x/y/"][n as usize % 3];
        scene.write(&format!("new/{dir}{n}.txt"), bytes);
    }
    fs::remove_file(scene.path("new/x/4.txt")).expect("gone");
    fs::remove_file(scene.path("new/12.txt")).expect("gone");
    fs::hard_link(scene.path("old/12.txt"), scene.path("new/12.txt")).expect("a link");
    scene.scan();

    let body = coverage(&scene, "old", &["new"]);
    assert!(!body.covered);
    assert_eq!(body.files, 20);
    assert_eq!(body.bytes, (0..20).map(|n| 4000 + n).sum::<u64>());
    assert_eq!(
        scene.missing(&body),
        [
            two("old/3.txt", "no equal file"),
            two("old/6.txt", "no equal file"),
            two("old/9.txt", "no equal file"),
            two("old/x/4.txt", "no equal file"),
        ]
    );
    let near: Vec<_> = body
        .near
        .iter()
        .map(|row| {
            assert!(row.a_in_b.millionths().expect("judged") > 900_000);
            two(
                &scene.below(row.path.as_path()),
                &scene.below(row.by.as_path()),
            )
        })
        .collect();
    assert_eq!(
        near,
        [
            two("old/3.txt", "new/3.txt"),
            two("old/6.txt", "new/6.txt"),
            two("old/9.txt", "new/9.txt"),
        ]
    );
    assert_eq!(scene.pairs(&body.linked), [two("old/12.txt", "new/12.txt")]);
    let copies = scene.pairs(&body.copies);
    assert_eq!(copies.len(), 15);
    for (path, by) in copies {
        assert_eq!(path.replace("old/", "new/"), by);
    }
}

#[test]
fn the_equal_that_is_named_is_no_accident() {
    let mut scene = Scene::new();
    let same = text(1, 3000);
    scene.write("old/a/f.txt", &same);
    for other in ["new/z/g.txt", "new/b/f.txt", "new/a/f.txt", "new/0.txt"] {
        scene.write(other, &same);
    }
    scene.scan();
    let by = |scene: &Scene| coverage(scene, "old", &["new"]).copies[0].by.clone();
    let mut expect = |name: &str| {
        assert_eq!(by(&scene).as_path(), scene.path(name));
        fs::remove_file(scene.path(name)).expect("gone");
        scene.scan();
    };
    expect("new/a/f.txt"); // the same path
    expect("new/b/f.txt"); // the same name
    expect("new/0.txt"); // the least path
    expect("new/z/g.txt");
    assert!(!coverage(&scene, "old", &["new"]).covered);
}

#[test]
fn the_bytes_decide_whatever_the_index_says() {
    let mut scene = Scene::new();
    for name in ["old/a", "new/a", "old/b", "new/b", "old/c", "new/c"] {
        scene.write(
            name,
            text(name.len() as u64 + u64::from(name.as_bytes()[4]), 5000),
        );
    }
    scene.scan();
    // After a second scan, the index treats all files as settled, so it trusts their sizes and
    // times.
    let mut later = scene.later();
    let root = scene.root();
    later
        .reconcile(
            &[resemble_scan::ingest::Target::subtree(root)],
            &mut Unobserved,
        )
        .expect("looked at again");
    assert!(coverage(&scene, "old", &["new"]).covered);

    // Changes one byte of a file and restores its times, so that the index does not notice.
    let change = |name: &str| {
        let path = scene.path(name);
        let file = fs::File::options().write(true).open(&path).expect("a file");
        let times = file.metadata().expect("times").modified().expect("a time");
        file.write_at(b"!", 4999).expect("written");
        file.set_modified(times).expect("set");
    };
    change("new/a");
    // A file of the directory itself changes, too, and the index does not have another file of the
    // directory.
    change("old/b");
    scene.write("old/d", text(99, 700));
    fs::remove_file(scene.path("new/c")).expect("gone");
    let body = coverage_by(by_index, &scene, "old", &["new"]);
    assert_eq!(
        scene.missing(&body),
        [
            two("old/a", "its equal changed"),
            two("old/b", "no equal file"),
            two("old/c", "its equal changed"),
            two("old/d", "no equal file"),
        ]
    );
    // A file counts as covered if the bytes agree, even if the index is out of date.
    fs::copy(scene.path("new/b"), scene.path("old/b")).expect("copied");
    fs::copy(scene.path("new/b"), scene.path("old/d")).expect("copied");
    let body = coverage_by(by_index, &scene, "old", &["new"]);
    assert_eq!(
        scene.pairs(&body.copies),
        [two("old/b", "new/b"), two("old/d", "new/b")]
    );
}

#[test]
fn a_directory_inside_a_root_is_covered_by_what_is_outside_of_it() {
    let mut scene = Scene::new();
    scene.write("docs/report", text(1, 2000));
    scene.write("docs/backup/report", text(1, 2000));
    // The text of `draft` is in the directory twice, and nowhere else.
    scene.write("docs/backup/draft", text(2, 2000));
    scene.write("docs/backup/draft 2", text(2, 2000));
    fs::hard_link(
        scene.path("docs/backup/draft"),
        scene.path("docs/backup/draft 3"),
    )
    .expect("a link");
    scene.scan();
    let body = coverage(&scene, "docs/backup", &["docs"]);
    assert_eq!(
        scene.pairs(&body.copies),
        [two("docs/backup/report", "docs/report")]
    );
    assert_eq!(body.missing.len(), 3);
    assert_eq!((body.files, body.bytes), (4, 6000), "hard links once");
    assert!(body.near.is_empty() && body.linked.is_empty());

    // A root in the directory does not count, and the answer says so.
    fs::create_dir(scene.path("docs/backup/inner")).expect("a folder");
    fs::copy(
        scene.path("docs/backup/draft"),
        scene.path("docs/backup/inner/draft"),
    )
    .expect("a copy");
    scene.scan();
    let roots = ["docs/backup/inner", "docs/backup", "docs", "nowhere"];
    let answer = ask(
        &scene,
        &scene.path("docs/backup"),
        &roots.map(|root| scene.path(root)),
    );
    check(&answer.body);
    assert_eq!(answer.body.missing.len(), 4);
    let said: Vec<(String, &str)> = answer
        .errors
        .iter()
        .map(|error: &SoftError| (scene.below(error.path.as_path()), &*error.message))
        .collect();
    let inside = "lies in the directory that is to go: its files do not count";
    assert_eq!(
        said,
        [
            ("docs/backup".to_owned(), inside),
            ("docs/backup/inner".to_owned(), inside),
            ("nowhere".to_owned(), "No such file or directory"),
        ]
    );
}

#[test]
fn what_is_no_regular_file_is_not_covered() {
    let mut scene = Scene::new();
    for dir in ["old", "new"] {
        scene.write(&format!("{dir}/empty"), "");
        scene.write(&format!("{dir}/file"), "small");
        symlink("file", scene.path(&format!("{dir}/link"))).expect("a link");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            scene.path(&format!("{dir}/pipe")),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .expect("a pipe");
        fs::create_dir(scene.path(&format!("{dir}/hollow"))).expect("a folder");
    }
    let socket = std::os::unix::net::UnixListener::bind(scene.path("old/socket"));
    let socket = socket.expect("a socket");
    scene.write("old/.snapshot/file", "small");
    scene.scan();
    let body = coverage(&scene, "old", &["new"]);
    assert_eq!(
        scene.missing(&body),
        [
            two("old/.snapshot", "snapshot directory, not looked into"),
            two("old/link", "symbolic link"),
            two("old/pipe", "fifo"),
            two("old/socket", "socket"),
        ]
    );
    assert_eq!(
        scene.pairs(&body.copies),
        [two("old/empty", "new/empty"), two("old/file", "new/file")]
    );
    drop(socket);
    // When these entries are gone, the directory is covered, although it has empty directories.
    fs::remove_dir_all(scene.path("old/.snapshot")).expect("gone");
    for name in ["link", "pipe", "socket"] {
        fs::remove_file(scene.path("old").join(name)).expect("gone");
    }
    assert!(coverage(&scene, "old", &["new"]).covered);
    assert!(
        coverage(&scene, "old/hollow", &["new"]).covered,
        "nothing is lost"
    );
}

#[test]
fn what_cannot_be_read_is_not_covered() {
    if in_a_process_of_its_own("covered::what_cannot_be_read_is_not_covered", true) {
        return;
    }
    let mut scene = Scene::new();
    scene.write("old/secret", "small");
    scene.write("old/locked/file", "small");
    scene.write("old/linked", "small");
    scene.write("new/file", "small");
    fs::hard_link(scene.path("old/linked"), scene.path("new/linked")).expect("a link");
    scene.scan();
    let root = scene.root();
    let lock = |name: &str, mode| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(root.join(name), permissions).expect("set");
    };
    for name in ["old/secret", "old/locked", "old/linked"] {
        lock(name, 0);
    }
    scene.scan();
    let answer = ask(&scene, &scene.path("old"), &[scene.path("new")]);
    lock("old/locked", 0o700);
    check(&answer.body);
    let reason = "cannot be read: Permission denied";
    assert_eq!(
        scene.missing(&answer.body),
        ["old/linked", "old/locked", "old/secret"].map(|name| two(name, reason))
    );
    // `new/linked` is another name of an unreadable file, so it is an error of the root `new`.
    assert_eq!(answer.errors.len(), 4);
    assert_eq!(answer.header.looked.expect("looked").unreadable, 3);
    // An unreadable file with several names is reported by the name that sorts first.
    let again = scene.path("old/secret again");
    fs::hard_link(scene.path("old/secret"), &again).expect("a link");
    scene.scan();
    let answer = ask(&scene, &scene.path("new"), &[scene.path("old")]);
    let errors = answer.errors.iter().map(|error| error.path.as_path());
    let names: Vec<_> = errors.map(|path| scene.below(path)).collect();
    assert_eq!(names, ["new/linked", "old/linked", "old/secret"]);
    fs::remove_file(again).expect("removed");
    // An equal file that cannot be read does not cover another file.
    lock("old/secret", 0o600);
    scene.scan();
    lock("new/file", 0);
    let answer = by_index(&scene, &scene.path("old/secret"), &[scene.path("new")]);
    let reason = "its equal changed";
    assert_eq!(scene.missing(&answer.body), [two("old/secret", reason)]);
}

/// A bind mount shows the directory under another path. The files below it are the same files, so
/// they do not cover the directory.
#[test]
fn the_same_directory_by_another_way_does_not_count() {
    let mut scene = Scene::new();
    scene.write("old/file", text(1, 900));
    scene.write("old/sub/twice", text(2, 900));
    fs::hard_link(scene.path("old/sub/twice"), scene.path("old/again")).expect("a link");
    scene.write("real/file", text(1, 900));
    let bind = scene.path("elsewhere/bind");
    fs::create_dir_all(&bind).expect("a folder");
    if rustix::mount::mount_bind(scene.path("old"), &bind).is_err() {
        skipped("no right to mount");
        return;
    }
    let _bind = Mounted(bind);
    scene.scan();
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let indexed = snapshot.file_at(&scene.path("elsewhere/bind/sub/twice"));
    assert!(
        indexed.expect("readable").is_some(),
        "the index knows both ways"
    );
    let answer = ask(&scene, &scene.path("old"), &[scene.path("elsewhere")]);
    assert_eq!(
        scene.missing(&answer.body),
        ["old/again", "old/file", "old/sub/twice"].map(|name| two(name, "no equal file"))
    );
    let answer = ask(&scene, &scene.path("old/file"), &[scene.path("elsewhere")]);
    assert!(!answer.body.covered);
    let all = [scene.path("elsewhere"), scene.path("real")];
    let answer = ask(&scene, &scene.path("old"), &all);
    assert_eq!(
        scene.pairs(&answer.body.copies),
        [two("old/file", "real/file")]
    );
    // If the bind mount itself is the root, it counts as a root inside the directory.
    let answer = ask(&scene, &scene.path("old"), &[scene.path("elsewhere/bind")]);
    assert_eq!(answer.errors.len(), 1, "and that is said");
}

#[test]
fn hostile_names_and_sizes() {
    let mut scene = Scene::new();
    let long = "n".repeat(255);
    let names: [&[u8]; 4] = [b"a\nb", b"\xff\xfe", b" ", long.as_bytes()];
    for (n, name) in names.iter().enumerate() {
        for dir in ["old", "new"] {
            let folder = scene.path(dir).join(OsStr::from_bytes(name));
            fs::create_dir_all(&folder).expect("a folder");
            let path = folder.join(OsStr::from_bytes(name));
            fs::write(path, text(n as u64, 300)).expect("a file");
        }
    }
    // `hole` is a hole of a terabyte. `spot` is such a hole with one byte written in it.
    let root = scene.root();
    let sparse = |name: &str, at: Option<u64>| {
        let file = fs::File::create(root.join(name)).expect("a file");
        file.set_len(1 << 40).expect("a hole");
        if let Some(at) = at {
            file.write_at(b"!", at).expect("written");
        }
    };
    sparse("old/hole", None);
    sparse("new/hole", None);
    sparse("old/spot", Some(1 << 39));
    sparse("new/spot", Some(1 << 39));
    scene.scan();
    let body = coverage(&scene, "old", &["new"]);
    assert!(body.covered, "{:?}", body.missing);
    assert_eq!(body.copies.len(), 6);
    sparse("new/spot", Some(1 << 38));
    let body = coverage_by(by_index, &scene, "old", &["new"]);
    assert_eq!(scene.missing(&body), [two("old/spot", "its equal changed")]);
}

#[test]
fn one_file_may_be_asked_about() {
    let mut scene = Scene::new();
    scene.write("a/file", text(1, 900));
    scene.write("b/file", text(1, 900));
    fs::hard_link(scene.path("a/file"), scene.path("a/name")).expect("a link");
    scene.scan();
    let body = coverage(&scene, "a/file", &["b"]);
    assert_eq!(scene.pairs(&body.copies), [two("a/file", "b/file")]);
    let body = coverage(&scene, "a/file", &["a"]);
    assert_eq!(scene.pairs(&body.linked), [two("a/file", "a/name")]);
    let snapshot = scene.index.snapshot().expect("a snapshot");
    let nothing = CoveredRequest {
        dir: scene.path("none").as_path().into(),
        by: vec![scene.path("b").as_path().into()],
        by_digest: false,
        memory: None,
    };
    let failure = covered(&snapshot, &nothing, None).expect_err("not there");
    assert!(failure.to_string().contains("none"), "{failure}");
}

#[test]
fn answers_do_not_depend_on_what_the_index_was_built_from() {
    let mut scene = Scene::new();
    for n in 0..40_u64 {
        scene.write(&format!("old/{n}"), text(n % 7, 600));
        scene.write(&format!("new/{}/{n}", n % 5), text(n % 9, 600));
    }
    scene.scan();
    let first = ask(&scene, &scene.path("old"), &[scene.path("new")]);
    let again = ask(&scene, &scene.path("old"), &[scene.path("new")]);
    assert_eq!(first, again);
    let mut other = Scene::new();
    std::mem::swap(&mut other.temp, &mut scene.temp);
    let root = other.root();
    other
        .ingest
        .set_roots(vec![resemble_scan::ingest::RootOptions::new(&root)]);
    // The same files are scanned in another order.
    for part in ["new/4", "old", "new/0", ""] {
        let at = root.join(part);
        other.look(&[resemble_scan::ingest::Target::subtree(at)]);
    }
    let fresh = ask(&other, &other.path("old"), &[other.path("new")]);
    assert_eq!(first, fresh);
    check(&first.body);
    assert!(first.body.covered);
}

/// For each near copy, the answer names the file that contains most of it. The file at the same
/// path is not preferred. A file is not a near copy if a listing would not show it.
#[test]
fn the_near_copy_is_the_file_in_which_most_lies() {
    let mut scene = Scene::new();
    let own = text(1, 8000);
    let half = |n: u64| [&own[..7000], &text(n, 1500)[..]].concat();
    scene.write("old/x", &own);
    scene.write("new/x", half(2));
    scene.write(
        "new/whole",
        [&text(3, 20_000)[..], &own, &text(4, 20_000)].concat(),
    );
    scene.write("old/y", half(5));
    scene.write("new/y", [&half(5)[..], b" and a word"].concat());
    scene.write("old/z", text(6, 5000));
    scene.scan();
    let body = coverage(&scene, "old", &["new"]);
    let near = body.near.iter();
    let near: Vec<(String, String)> = near
        .map(|row| {
            (
                scene.below(row.path.as_path()),
                scene.below(row.by.as_path()),
            )
        })
        .collect();
    let expected = [("old/x", "new/whole"), ("old/y", "new/y")];
    assert_eq!(near, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

/// A near copy may have several names. It is reported by the name that sorts first among those
/// outside the directory.
#[test]
fn a_near_copy_with_several_names_has_the_least() {
    let mut scene = Scene::new();
    let own = text(1, 8000);
    scene.write("all/old/x", &own);
    scene.write("all/new/x", &own[..7000]);
    for name in ["all/a", "all/new/b", "all/old/sub"] {
        let name = scene.path(name);
        fs::hard_link(scene.path("all/new/x"), name).expect("a link");
    }
    scene.scan();
    for (by, name) in [("all/new", "all/new/b"), ("all", "all/a")] {
        let body = coverage(&scene, "all/old", &[by]);
        let near = body.near.iter().map(|row| scene.below(row.by.as_path()));
        assert_eq!(near.collect::<Vec<_>>(), [name], "{by}");
    }
}

/// `new/blob` is binary and `old/x` is a text, so they have no samples in common. Only common
/// chunks show that `new/blob` contains the text.
#[test]
fn what_lies_in_data_is_found_though_most_of_it_lies_at_its_own_path() {
    let mut scene = Scene::new();
    let own = text(1, 40_000);
    scene.write("old/x", &own);
    scene.write("new/x", [&own[..32_000], &text(2, 8_000)[..]].concat());
    scene.write(
        "new/blob",
        [&noise(3, 90_000)[..], &own, &noise(4, 90_000)].concat(),
    );
    scene.scan();
    let body = coverage(&scene, "old", &["new"]);
    let by: Vec<String> = (body.near.iter())
        .map(|row| scene.below(row.by.as_path()))
        .collect();
    assert_eq!(by, ["new/blob"]);
}

/// The text of many near-copies is not boilerplate, on either side.
#[test]
fn near_copies_of_one_page_are_near_however_many_they_are() {
    let mut scene = Scene::new();
    for (at, copy) in copies_of_a_page(1, 40, 400).enumerate() {
        let side = if at % 2 == 0 { "old" } else { "new" };
        scene.write(&format!("{side}/{at:03}"), copy);
    }
    scene.scan();
    let body = coverage(&scene, "old", &["new"]);
    assert_eq!((body.missing.len(), body.near.len()), (200, 200));
}
