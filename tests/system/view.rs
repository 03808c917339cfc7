use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Daemon, Sandbox, fuse_works, is_installed, names};

/// Makes a home folder with a report, an edited version and a copy of that report, and an unrelated
/// file.
fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    let report = prose(1, 12_000);
    for (name, bytes) in [
        ("report.txt", &report),
        ("archive/report-v2.txt", &edited(&report, 7, 3)),
        ("archive/copy.txt", &report),
        ("minutes.txt", &prose(2, 9_000)),
    ] {
        let path = sandbox.path("home").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, bytes).expect("a file");
    }
    sandbox
}

/// Starts a daemon with the given options that watches the whole home folder.
fn watching<'s>(sandbox: &'s Sandbox, options: &[&OsStr]) -> Daemon<'s> {
    let mut command = sandbox.program("resembled");
    command.args(options).arg(sandbox.path("home"));
    let daemon = sandbox.start(&mut command).expect("it starts");
    daemon.sync();
    daemon
}

fn linked(sandbox: &Sandbox) -> Daemon<'_> {
    let link = sandbox.path("home/Similar");
    watching(sandbox, &[OsStr::new("--link"), link.as_os_str()])
}

/// Returns the default mount point of the view.
fn view_of(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("run/resemble/view")
}

/// Returns the contents of all regular files below a folder. Links are not followed.
fn contents(folder: &Path) -> BTreeSet<Vec<u8>> {
    let mut contents = BTreeSet::new();
    for name in names(folder) {
        let path = folder.join(name);
        let kind = fs::symlink_metadata(&path).expect("an entry").file_type();
        if kind.is_dir() {
            contents.append(&mut self::contents(&path));
        } else if kind.is_file() {
            contents.insert(fs::read(&path).expect("a file"));
        }
    }
    contents
}

const LISTED: [&str; 2] = ["098%_report-v2.txt", "100%_copy.txt"];

fn listing(path: impl AsRef<Path>) -> Vec<String> {
    let names = names(path.as_ref().join(".similar")).into_iter();
    names.map(|n| n.to_string_lossy().into_owned()).collect()
}

/// The view is mounted at `resemble/view` in the runtime folder. A symbolic link at a convenient
/// path leads to it. `status` names both.
#[test]
fn the_view_is_mounted_in_the_runtime_folder_and_linked() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    let link = sandbox.path("home/Similar");
    let daemon = linked(&sandbox);
    assert_eq!(fs::read_link(&link).expect("a link"), view_of(&sandbox));
    let shown = listing(link.join("report.txt"));
    assert_eq!(shown[1], LISTED[1], "{shown:?}");
    let status = daemon.status();
    let mount = &status["mounts"][0];
    assert_eq!(mount["path"], view_of(&sandbox).to_str().expect("text"));
    assert_eq!(mount["link"], link.to_str().expect("text"));
    let said = sandbox.resemble(["status"]).text();
    assert!(said.contains("linked from"), "{said}");
    assert!(!sandbox.log().contains("lies in"), "{}", sandbox.log());
    assert_eq!(daemon.stop(), 0);
    assert!(fs::symlink_metadata(&link).is_err(), "the link goes");
    assert!(!view_of(&sandbox).exists(), "and so does the view");

    // Without options the view is mounted, but there is no link to it.
    let daemon = watching(&sandbox, &[]);
    assert_eq!(listing(sandbox.view("report.txt")), shown);
    assert!(fs::symlink_metadata(&link).is_err());
    assert_eq!(daemon.stop(), 0);
    let daemon = watching(&sandbox, &[OsStr::new("--no-mount")]);
    assert!(
        daemon.status()["mounts"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
}

/// Listings show `.similar` under another name, which file managers do not hide. The option
/// `--similar-name` or the key `similar-name` sets this name for every view of the daemon.
#[test]
fn a_name_that_file_managers_show() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    fs::write(sandbox.path("home/Similar files"), "mine").expect("a file");
    let daemon = watching(
        &sandbox,
        &["--similar-name", "Similar files"].map(OsStr::new),
    );
    let report = sandbox.view("report.txt");
    assert_eq!(names(&report), ["Similar files", "report.txt"]);
    let shown = names(report.join("Similar files"));
    assert_eq!(shown, names(report.join(".similar")));
    assert_eq!(shown[1], LISTED[1]);
    assert!(!names(view_of(&sandbox)).contains(&"Similar files".into()));
    assert_eq!(daemon.status()["roots"][0]["hidden"], 1);
    let other = sandbox.path("other");
    let mount = ["view".as_ref(), "on".as_ref(), other.as_os_str()];
    sandbox.resemble(mount).success();
    assert_eq!(
        names(other.join("report.txt")),
        ["Similar files", "report.txt"]
    );
    assert_eq!(daemon.stop(), 0);

    let key = sandbox.path("resembled.toml");
    fs::write(&key, "similar-name = \"Like it\"\n").expect("a file");
    let daemon = watching(&sandbox, &[OsStr::new("--config"), key.as_os_str()]);
    assert_eq!(names(report), ["Like it", "report.txt"]);
    assert_eq!(daemon.status()["roots"][0]["hidden"], 0);
    assert_eq!(daemon.stop(), 0);
}

/// If the tree later gets an entry with the name of that folder, the folder hides it, and `status`
/// counts it.
#[test]
fn an_entry_behind_the_folder_of_a_root_is_counted() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    let added = sandbox.path("added");
    fs::create_dir(&added).expect("a folder");
    fs::write(added.join("of the root"), "a").expect("a file");
    let daemon = watching(&sandbox, &[]);
    let watch = |verb: &str| {
        let words = ["watch".as_ref(), verb.as_ref(), added.as_os_str()];
        sandbox.resemble(words).success();
        daemon.sync();
    };
    let hidden = || daemon.status()["roots"][0]["hidden"].clone();
    watch("add");
    assert_eq!(hidden(), 0);
    fs::create_dir(sandbox.path("home/added")).expect("a folder");
    fs::write(sandbox.path("home/added/of the tree"), "b").expect("a file");
    daemon.sync();
    assert_eq!(names(sandbox.view("added"))[0], "of the root");
    assert_eq!(hidden(), 1);
    watch("remove");
    assert_eq!(hidden(), 0);
}

/// The link is replaced or removed only if it leads to the daemon's mount point. The link of a
/// killed daemon is taken over.
#[test]
fn the_link_replaces_nothing_but_itself() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    let link = sandbox.path("home/Similar");
    linked(&sandbox).crash();
    assert!(fs::read_link(&link).is_ok(), "it stays behind");
    let daemon = linked(&sandbox);
    assert_eq!(listing(link.join("report.txt")).len(), 2);
    // While the daemon runs, a user replaces the link by a file.
    fs::remove_file(&link).expect("the link");
    fs::write(&link, b"precious").expect("a file");
    assert_eq!(daemon.stop(), 0);
    assert_eq!(fs::read(&link).expect("the file"), b"precious");

    let mut command = sandbox.program("resembled");
    command.arg("--link").arg(&link).arg(sandbox.path("home"));
    let refused = sandbox.start(&mut command).expect_err("it does not start");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("is in the way"), "{}", refused.err);
    assert_eq!(fs::read(&link).expect("the file"), b"precious");
    // The folder was left by the killed daemon, so this daemon does not remove it.
    assert!(names(view_of(&sandbox)).is_empty(), "nothing stays mounted");
}

/// A mount point below the home folder or in a watched root works on request, with one warning.
#[test]
fn a_view_among_the_files_is_worth_a_warning() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    let point = sandbox.path("home/Similar");
    let daemon = watching(&sandbox, &[OsStr::new("--mount"), point.as_os_str()]);
    assert_eq!(listing(point.join("report.txt")).len(), 2);
    let warnings = |log: String| log.matches("may delete the originals").count();
    assert_eq!(warnings(sandbox.log()), 1, "{}", sandbox.log());
    // If a request mounts the view at such a place, the answer has the warning.
    sandbox.resemble(["view", "off"]).success();
    let asked = sandbox.resemble(["view".as_ref(), "on".as_ref(), point.as_os_str()]);
    assert_eq!(warnings(asked.success().err), 1);
    assert_eq!(daemon.stop(), 0);
}

/// The duplicate finders `fdupes -rdN` and `jdupes -rdN` delete copies, but do not enter the view.
/// Afterwards at least one file of every content still exists.
#[test]
fn duplicate_finders_leave_the_originals() {
    if !fuse_works() {
        return;
    }
    for program in ["fdupes", "jdupes"] {
        if !is_installed(program) {
            continue;
        }
        let sandbox = home();
        // jdupes sorts equal files by name and keeps the first one. So the link gets a name that
        // sorts before all other names.
        let link = sandbox.path("home/A view");
        let _daemon = watching(&sandbox, &[OsStr::new("--link"), link.as_os_str()]);
        let files = sandbox.path("home");
        let before = contents(&files);
        let ran = sandbox.foreign(program).arg("-rdN").arg(&files).output();
        let ran = ran.expect("it runs");
        assert!(ran.status.success(), "{program}: {ran:?}");
        assert_eq!(contents(&files), before, "{program}: {ran:?}");
        let copies = ["report.txt", "archive/copy.txt"].map(|name| files.join(name).exists());
        assert_ne!(copies[0], copies[1], "{program} does find a real copy");
    }
}

/// The script that `rmlint` writes deletes copies, too. Afterwards at least one file of every
/// content still exists.
#[test]
fn rmlint_leaves_the_originals() {
    if !fuse_works() || !is_installed("rmlint") {
        return;
    }
    let sandbox = home();
    let _daemon = linked(&sandbox);
    let files = sandbox.path("home");
    let before = contents(&files);
    let mut lint = sandbox.foreign("rmlint");
    lint.args(["-T", "duplicates", "-o", "sh:lint.sh"])
        .arg(&files);
    let ran = lint.output().expect("it runs");
    assert!(ran.status.success(), "{ran:?}");
    let mut script = sandbox.foreign("sh");
    let ran = script.args(["lint.sh", "-d"]).output().expect("it runs");
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(contents(&files), before, "{ran:?}");
    let copies = ["report.txt", "archive/copy.txt"].map(|name| files.join(name).exists());
    assert_ne!(copies[0], copies[1], "it does find a real copy");
}

/// `find`, `du`, `tar`, `rsync -a`, `cp -a`, `grep -r`, `updatedb` and `git status` see the link,
/// and nothing behind it.
#[test]
fn programs_that_walk_do_not_enter_the_view() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    let ran = |program: &str, script: &str| {
        let script = script.to_owned();
        let mut shell = sandbox.foreign("sh");
        let shell = shell
            .args(["-ec", &script])
            .current_dir(sandbox.path("home"));
        let output = shell.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {said}{errors}");
        said
    };
    let programs = [
        ("find", "find . | sort"),
        ("du", "du -a --apparent-size . | grep -v '\\.$' | sort -k2"),
        ("tar", "tar -cf ../all.tar . && tar -tf ../all.tar | sort"),
        (
            "rsync",
            "rm -rf ../backup; rsync -a ./ ../backup && cd ../backup && find . | sort",
        ),
        (
            "cp",
            "rm -rf ../copy; cp -a . ../copy && cd ../copy && find . | sort",
        ),
        ("grep", "grep -rl . . | sort"),
        (
            "updatedb",
            "updatedb -l 0 -U . -o ../names.db --prunepaths '' --prunefs '' --prune-bind-mounts no \
             && locate -d ../names.db / | sort",
        ),
        (
            "git",
            "git init -q ../tree.git && git --git-dir=../tree.git/.git --work-tree=. status \
             --porcelain -uall | sort",
        ),
    ];
    let programs: Vec<_> = programs
        .into_iter()
        .filter(|(program, _)| is_installed(program))
        .collect();
    let alone: Vec<String> = programs
        .iter()
        .map(|(name, script)| ran(name, script))
        .collect();
    let link = sandbox.path("home/Similar");
    let _daemon = linked(&sandbox);
    assert_eq!(
        listing(link.join("report.txt")).len(),
        2,
        "the link leads to the view"
    );
    for ((program, script), before) in programs.iter().zip(&alone) {
        let seen = ran(program, script);
        let without_link = |said: &str| -> String {
            let lines = said.lines().filter(|line| !line.ends_with("Similar"));
            lines.flat_map(|line| [line, "\n"]).collect()
        };
        assert!(
            !before.is_empty() && before.contains("report.txt"),
            "{program}: {before}"
        );
        assert_eq!(without_link(&seen), *before, "{program}");
        let links = seen.lines().count() - before.lines().count();
        assert!(links <= 1, "{program}: {seen}");
    }
}

/// A question that names a path in a view as a place to look in is refused with exit code 2,
/// because each file would be its own copy. FILE of `find` may be any file.
#[test]
fn a_view_is_no_place_to_look_in() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    let _daemon = linked(&sandbox);
    let (files, link) = (sandbox.path("home"), sandbox.path("home/Similar"));
    let [files, link] = [&files, &link].map(|path| path.to_str().expect("text"));
    let mount = view_of(&sandbox);
    let archive = mount.join("archive");
    let [mount, archive] = [&mount, &archive].map(|path| path.to_str().expect("text"));
    let minutes = format!("{files}/minutes.txt");
    for way in [&[][..], &["--local"]] {
        for view in [link, mount, archive] {
            for question in [
                &["covered", files, "--by", view][..],
                &["covered", view, "--by", files],
                &["compare", files, view],
                &["pairs", files, view],
                &["groups", files, view],
                &["dirs", files, view],
                &["find", &minutes, "--in", view],
            ] {
                let ran = sandbox.resemble(question.iter().chain(way));
                assert_eq!(ran.code, 2, "{question:?}: {ran:?}");
                let reason = "it lies in a view of resemble: name the real path";
                assert!(ran.err.contains(reason), "{question:?}: {ran:?}");
                for below in ["Similar/", "resemble/view"] {
                    assert!(!ran.text().contains(below), "{question:?}: {ran:?}");
                }
            }
        }
    }
    // The links of a listing lead to real files. A FILE can be any bytes.
    let listed = listing(format!("{link}/report.txt"));
    let copy = format!("{link}/report.txt/.similar/{}", listed[1]);
    let bytes = format!("{link}/report.txt/report.txt");
    for file in [&copy, &bytes] {
        sandbox.resemble(["find", file.as_str()]).success();
    }
}

/// Neither the index nor `covered` nor `compare` follows the link: nothing in the view counts as a
/// copy.
#[test]
fn questions_do_not_follow_the_link() {
    if !fuse_works() {
        return;
    }
    let sandbox = home();
    let _daemon = linked(&sandbox);
    let files = sandbox.path("home");
    let dump = sandbox
        .resemble([
            OsStr::new("dump"),
            OsStr::new("--canonical"),
            files.as_os_str(),
        ])
        .success();
    let of_view = |line: &&str| line.contains("Similar");
    let dump = dump.text();
    let lines: Vec<&str> = dump.lines().filter(of_view).collect();
    assert_eq!(lines.len(), 1, "the link and nothing behind it: {lines:?}");
    for way in [&[][..], &["--local"]] {
        let covered = sandbox.resemble(
            [OsStr::new("covered")]
                .into_iter()
                .chain(way.iter().map(OsStr::new))
                .chain([files.join("archive").as_os_str()])
                .chain([OsStr::new("--by"), files.as_os_str()]),
        );
        assert_eq!(covered.code, 1, "{}", covered.text());
        assert!(
            covered.text().contains("report-v2.txt"),
            "{}",
            covered.text()
        );
        let mirror = sandbox.path("mirror");
        fs::create_dir_all(&mirror).expect("a folder");
        let args = [
            OsStr::new("compare"),
            OsStr::new("--format"),
            OsStr::new("json"),
        ];
        let compared = sandbox.resemble(args.into_iter().chain([
            OsStr::new("--local"),
            files.as_os_str(),
            mirror.as_os_str(),
        ]));
        assert_eq!(
            compared.json()["summary"]["only-a"],
            4,
            "{}",
            compared.text()
        );
    }
}
