//! Tests `check`, which finds near-copies of files that are about to be written or committed.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use resemble_testutil::prose::paragraphs;
use resemble_testutil::{Environment, Ran, finish, is_installed, names, skipped};
use serde_json::Value;

use crate::environment;
use crate::streams::{ENDING, end, interruptible};

/// A work tree of git.
pub(super) struct Repository(pub(super) Environment);

impl Repository {
    /// Returns a repository with these files committed; `None` if git is not installed.
    pub(super) fn with(files: &[(&str, &str)]) -> Option<Self> {
        if !is_installed("git") {
            skipped("git is not installed");
            return None;
        }
        let repository = Self(environment());
        repository.git(&["init", "-q"]);
        for (name, text) in files {
            repository.0.write(name, text);
        }
        repository.git(&["add", "-A"]);
        repository.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        Some(repository)
    }

    pub(super) fn git(&self, args: &[&str]) {
        let who = ["-c", "user.name=me", "-c", "user.email=me@example.org"];
        finish(self.0.foreign("git").args(who).args(args), b"").success();
    }

    /// Runs `resemble` so that it finds git.
    pub(super) fn run(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let path = std::env::var_os("PATH").unwrap_or_default();
        finish(self.0.command(args).env("PATH", path), stdin)
    }

    fn staged(&self) -> Ran {
        self.run(&["check", "--staged"], b"")
    }
}

pub(super) fn text(seed: u64) -> String {
    paragraphs(seed, 12)
}

pub(super) fn near(seed: u64) -> String {
    let text = text(seed);
    let mut words: Vec<&str> = text.split(' ').collect();
    words[100] = "other";
    words[300] = "other";
    words.join(" ")
}

#[test]
fn a_staged_near_copy_is_a_row_and_its_own_version_is_none() {
    let Some(it) = Repository::with(&[("a.txt", &text(1)), ("b.txt", &text(2))]) else {
        return;
    };
    let nothing = it.staged();
    assert_eq!((nothing.code, nothing.text()), (0, String::new()));
    assert_eq!(nothing.err, "resemble: nothing is staged\n");
    symlink("a.txt", it.0.path("link.txt")).unwrap();
    it.git(&["add", "link.txt"]);
    let link = it.staged().exits(0);
    let said = "resemble: no regular file is staged; only regular files are checked\n";
    assert_eq!((link.text(), &link.err[..]), (String::new(), said));
    it.git(&["reset", "-q", "--hard"]);
    // HEAD, the index of git and the work tree have different versions of `a.txt`. They do not
    // count as copies of each other.
    it.0.write("a.txt", near(1));
    it.git(&["add", "a.txt"]);
    it.0.write("a.txt", text(1));
    let own = it.staged();
    assert_eq!((own.code, own.text()), (0, String::new()), "{}", own.err);
    it.git(&["reset", "-q", "--hard"]);
    // The staged content is checked, not the content in the work tree.
    it.0.write("sub/new.txt", near(2));
    it.git(&["add", "sub/new.txt"]);
    it.0.write("sub/new.txt", text(3));
    let ran = it.staged().exits(1);
    let line = ran.text();
    assert!(line.starts_with("sub/new.txt: 9"), "{line}");
    assert!(
        line.ends_with("% of it is in b.txt; reuse that file\n"),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1, "{line}");
    let rows = it
        .run(&["check", "--staged", "--format", "json"], b"")
        .exits(1)
        .json();
    let row = &rows["results"][0];
    assert_eq!(
        (&row["file"], &row["path"], &row["relation"]),
        (&"sub/new.txt".into(), &"b.txt".into(), &"near".into())
    );
    assert!(row["score"].as_f64().unwrap() >= 0.8, "{row}");
    let lines = it
        .run(&["check", "--staged", "--format", "jsonl"], b"")
        .exits(1)
        .text();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    it.run(&["check", "--staged", "--min", "100%"], b"")
        .exits(0);
    // The command gives the same answer in a folder below the root of the work tree.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut below = it.0.command(["check", "--staged"]);
    below.env("PATH", path).current_dir(it.0.path("sub"));
    assert_eq!(finish(&mut below, b"").exits(1).text(), line);
}

/// Git decides which file was renamed. The old path of a renamed file is not reported, even if a
/// file is written there again.
#[test]
fn a_renamed_file_is_no_copy_of_itself() {
    let Some(it) = Repository::with(&[("old.txt", &text(1)), ("gone.txt", &text(2))]) else {
        return;
    };
    it.git(&["mv", "old.txt", "new.txt"]);
    it.0.write("new.txt", near(1));
    it.git(&["add", "new.txt"]);
    it.0.write("old.txt", text(1));
    let renamed = it.staged();
    assert_eq!(
        (renamed.code, renamed.text()),
        (0, String::new()),
        "{}",
        renamed.err
    );
    // `gone.txt` has the same text, but the commit removes it, so it is not reported.
    it.git(&["rm", "-q", "--cached", "gone.txt"]);
    it.0.write("moved.txt", text(2));
    it.git(&["add", "moved.txt"]);
    let removed = it.staged();
    assert_eq!(
        (removed.code, removed.text()),
        (0, String::new()),
        "{}",
        removed.err
    );
}

#[test]
fn staged_twins_are_compared_with_each_other() {
    let Some(it) = Repository::with(&[("known.txt", &text(9))]) else {
        return;
    };
    it.0.write("a.txt", text(1));
    it.0.write("b.txt", text(1));
    it.0.write("known.txt", near(9) + &text(5));
    it.0.write("like-known.txt", text(5));
    it.0.write("empty-1", "");
    it.0.write("empty-2", "");
    symlink("a.txt", it.0.path("link")).unwrap();
    it.git(&["add", "-A"]);
    // Both files are staged. Then they are removed from the work tree, so their contents are only
    // in git.
    fs::remove_file(it.0.path("a.txt")).unwrap();
    fs::remove_file(it.0.path("b.txt")).unwrap();
    let ran = it.staged().exits(1);
    assert_eq!(
        ran.text(),
        "b.txt: identical to a.txt; reuse that file\n\
         like-known.txt: 99% of it is in known.txt; reuse that file\n"
    );
}

#[test]
fn accepted_pairs_are_left_out_until_a_content_changes() {
    let Some(it) = Repository::with(&[("a.txt", &text(1))]) else {
        return;
    };
    it.0.write("b.txt", near(1));
    it.git(&["add", "b.txt"]);
    let check = ["check", "--staged", "--baseline", "accepted"];
    let missing = it.run(&check, b"").exits(2);
    assert!(
        missing.err.contains("cannot read accepted: No such file"),
        "{}",
        missing.err
    );
    let accept = it.run(&[&check[..], &["--accept"]].concat(), b"");
    assert_eq!((accept.code, accept.text()), (0, String::new()));
    assert!(
        accept.err.starts_with("resemble: 1 pair accepted\n"),
        "{}",
        accept.err
    );
    it.run(&check, b"").exits(0);
    // A baseline records digests of contents, not names, so a renamed file is still accepted.
    it.git(&["mv", "a.txt", "c.txt"]);
    it.git(&["commit", "-q", "-m", "second"]);
    it.git(&["rm", "-q", "--cached", "b.txt"]);
    it.git(&["commit", "-q", "-m", "third"]);
    it.git(&["add", "b.txt"]);
    it.run(&check, b"").exits(0);
    it.0.write("b.txt", near(1) + "more\n");
    it.git(&["add", "b.txt"]);
    let ran = it
        .run(&[&check[..], &["--format", "json"]].concat(), b"")
        .exits(1);
    assert_eq!(
        ran.json()["results"][0]["pair"].as_str().map(str::len),
        Some(129)
    );
    it.0.write("accepted", "# a comment\n\nnonsense\n");
    let bad = it.run(&check, b"").exits(2);
    assert!(
        bad.err.contains("accepted line 3: not two digests"),
        "{}",
        bad.err
    );
}

/// `b.txt` and `c.txt` are equal. So the row about `a.txt` and `b.txt` and the row about `a.txt`
/// and `c.txt` have the same pair of contents. It is accepted once. The second pair is that of the
/// equal files.
#[test]
fn a_pair_is_accepted_once_however_many_files_have_it() {
    let Some(it) = Repository::with(&[("a.txt", &text(1))]) else {
        return;
    };
    it.0.write("b.txt", near(1));
    it.0.write("c.txt", near(1));
    it.git(&["add", "-A"]);
    assert_eq!(it.staged().exits(1).text().lines().count(), 3);
    let accept = ["check", "--staged", "--baseline", "accepted", "--accept"];
    let accepted = it.run(&accept, b"").exits(0).err;
    assert!(
        accepted.starts_with("resemble: 2 pairs accepted\n"),
        "{accepted}"
    );
    let lines = fs::read_to_string(it.0.path("accepted")).unwrap();
    assert_eq!(lines.lines().count(), 3, "a comment and two pairs: {lines}");
}

/// Several processes add pairs to one baseline at the same time, and no pair is lost. Hooks of
/// several work trees do that.
#[test]
fn who_accepts_at_the_same_time_as_others_loses_none_of_theirs() {
    const SEEDS: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
    let names = SEEDS.map(|seed| (format!("{seed}.txt"), text(seed)));
    let files = names.each_ref().map(|(name, text)| (&**name, &**text));
    let Some(it) = Repository::with(&files) else {
        return;
    };
    // Half of the processes name the baseline by its path, the others by a symbolic link. During
    // the checks there are temporary files beside the baseline. One temporary file of an earlier
    // check was left behind. None of these files is reported.
    it.0.write("accepted", "");
    it.0.write(".accepted.1.0.new", near(1));
    fs::create_dir(it.0.path("linked")).unwrap();
    symlink("../accepted", it.0.path("linked/accepted")).unwrap();
    std::thread::scope(|scope| {
        for (seed, path) in SEEDS
            .into_iter()
            .zip(["accepted", "linked/accepted"].iter().cycle())
        {
            let draft = near(seed);
            let it = &it;
            scope.spawn(move || {
                let accept = ["check", "-", "--baseline", path, "--accept"];
                let accepted = it.run(&accept, draft.as_bytes()).exits(0).err;
                assert!(!accepted.contains(".new"), "{accepted}");
            });
        }
    });
    let lines = fs::read_to_string(it.0.path("accepted")).unwrap();
    assert_eq!(lines.lines().count(), 1 + SEEDS.len(), "{lines}");
}

/// Both files repeat the same 128 bytes. A run of 128 bytes in common is too short for a relation.
#[test]
fn data_that_repeat_a_short_pattern_are_no_near_copies() {
    let env = environment();
    let pattern: Vec<u8> = (128..=255).collect();
    env.write("a/q", pattern.repeat(160));
    env.write("b/r", pattern.repeat(240));
    let checked = env.run(["check", "a/q", "--in", "b", "--min", "30%"]);
    assert_eq!(checked.exits(0).text(), "");
}

#[test]
fn what_is_to_be_written_is_no_copy_of_what_is_there() {
    let Some(it) = Repository::with(&[("a.txt", &text(1)), (".gitignore", "built\n")]) else {
        return;
    };
    let draft = near(1);
    let check = |args: &[&str]| it.run(&[&["check"], args].concat(), draft.as_bytes());
    assert!(check(&["-"]).exits(1).text().starts_with("-: 9"));
    assert!(
        check(&["-", "--name", "b.txt"])
            .exits(1)
            .text()
            .starts_with("b.txt: 9")
    );
    check(&["-", "--name", "a.txt"]).exits(0);
    check(&["-", "--name", "./a.txt"]).exits(0);
    // A hard link is another name of the same file, so it is not reported as a copy.
    fs::hard_link(it.0.path("a.txt"), it.0.path("linked.txt")).unwrap();
    check(&["-", "--name", "linked.txt"]).exits(0);
    fs::remove_file(it.0.path("linked.txt")).unwrap();
    // Git ignores `built`, and `c.txt` is not tracked yet, so neither is reported.
    it.0.write("built", &draft);
    it.0.write("c.txt", &draft);
    let own = check(&["c.txt"]).exits(1);
    assert_eq!(own.text().lines().count(), 1, "{}", own.text());
    assert!(own.text().contains(" in a.txt"), "{}", own.text());
    let both = check(&["-", "--name", "a.txt"]).exits(1);
    assert_eq!(both.text(), "a.txt: identical to c.txt; reuse that file\n");
    check(&["-", "--exclude", "*.txt"]).exits(0);
    // `--in` decides which files are searched, even if git ignores them.
    it.0.write("other/d.txt", text(4));
    check(&["-", "--in", "other"]).exits(0);
    let built = check(&["-", "--in", "built"]).exits(1);
    assert_eq!(built.text(), "-: identical to built; reuse that file\n");
}

/// Both names of a row are relative to the root of the work tree, however the files were named.
#[test]
fn names_are_relative_to_the_work_tree() {
    let files = [("sub/a.txt", &text(1)[..]), ("lib/b.txt", &text(2))];
    let Some(it) = Repository::with(&files) else {
        return;
    };
    it.0.write("sub/new.txt", near(1));
    it.0.write("sub/other.txt", near(2));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let below = |args: &[&str]| {
        let mut command = it.0.command([&["check"], args].concat());
        command.env("PATH", &path).current_dir(it.0.path("sub"));
        finish(&mut command, near(1).as_bytes()).exits(1)
    };
    let full = it.0.path("sub/new.txt");
    for args in [
        &["new.txt"][..],
        &[full.to_str().unwrap()],
        &["-", "--name", "new.txt"],
    ] {
        let line = below(args).text();
        assert!(line.starts_with("sub/new.txt: "), "{args:?}: {line}");
        assert!(line.contains(" in sub/a.txt"), "{args:?}: {line}");
        let github = below(&[args, &["--format", "github"]].concat()).text();
        assert!(
            github.starts_with("::warning file=sub/new.txt,"),
            "{args:?}: {github}"
        );
        let log = below(&[args, &["--format", "sarif"]].concat()).json();
        let result = &log["runs"][0]["results"][0];
        let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(uri, "sub/new.txt", "{args:?}");
    }
    let within = below(&["other.txt", "--in", "../lib"]).text();
    assert!(within.starts_with("sub/other.txt: "), "{within}");
    assert!(within.contains(" in lib/b.txt"), "{within}");
}

/// A symbolic link leads to the checked file, so that file is not its copy.
#[test]
fn a_link_to_a_file_is_that_file() {
    let env = environment();
    env.write("a.txt", text(1));
    symlink("a.txt", env.path("link.txt")).unwrap();
    env.run(["check", "link.txt", "--in", "."]).exits(0);
    let written = ["check", "-", "--name", "link.txt", "--in", "."];
    env.feed(written, near(1).as_bytes()).exits(0);
    env.write("copy.txt", text(1));
    let copy = env.run(["check", "link.txt", "--in", "."]).exits(1);
    assert_eq!(
        copy.text(),
        "link.txt: identical to ./copy.txt; reuse that file\n"
    );
}

/// The same form is in 120 otherwise different files. A form that two files share is no reason to
/// call them copies.
#[test]
fn common_text_is_left_out_of_the_score() {
    let form = text(1);
    let files = (0..120).map(|n| (format!("{n}.txt"), paragraphs(100 + n, 40)));
    let files: Vec<_> = files
        .map(|(name, own)| (name, format!("{form}\n{own}")))
        .collect();
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    let Some(it) = Repository::with(&files) else {
        return;
    };
    let draft = format!("{form}\n{}", paragraphs(1000, 2));
    let find = [
        "find", "-", "--in", ".", "--all", "--min", "80%", "--format", "json",
    ];
    let found = it.run(&find, draft.as_bytes()).exits(0).json();
    let row = &found["results"][0];
    let [raw, rare] = ["a_in_b", "discounted"].map(|key| row[key].as_f64().unwrap_or(1.0));
    assert!(raw >= 0.8 && rare < 0.8, "{row}");
    let check = it.run(&["check", "-"], draft.as_bytes());
    assert_eq!((check.code, check.text()), (0, String::new()));
}

#[test]
fn trouble_ends_with_2_and_the_other_files_are_checked() {
    let Some(it) = Repository::with(&[("a.txt", &text(1)), ("copy.txt", &text(1))]) else {
        return;
    };
    for (bad, said) in [
        ("absent", "absent: No such file"),
        (".", ".: is a directory"),
    ] {
        let ran = it.run(&["check", bad, "copy.txt"], b"").exits(2);
        assert_eq!(
            ran.text(),
            "copy.txt: identical to a.txt; reuse that file\n"
        );
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    for (args, said) in [
        (&["check"][..], "required arguments"),
        (&["check", "--staged", "a.txt"], "cannot be used with"),
        (
            &["check", "a.txt", "copy.txt", "--name", "x"],
            "--name is for one FILE",
        ),
        (&["check", "a.txt", "--accept"], "--baseline <FILE>"),
        (
            &["check", "a.txt", "--format", "csv"],
            "possible values: text, json, jsonl, sarif, github",
        ),
    ] {
        let ran = it.run(args, b"").exits(2);
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
    }
    let bare = environment();
    bare.write("a.txt", text(1));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let run = |args: &[&str]| finish(bare.command(args).env("PATH", &path), text(1).as_bytes());
    let none = run(&["check", "--staged"]).exits(2);
    assert!(
        none.err
            .contains("git rev-parse: fatal: not a git repository"),
        "{}",
        none.err
    );
    assert_eq!(none.err.lines().count(), 1, "{}", none.err);
    // Outside a work tree, `check` searches the same files as `find`.
    let here = run(&["check", "-"]).exits(1);
    assert_eq!(here.text(), "-: identical to ./a.txt; reuse that file\n");
    // If git is not installed, the command finds no work tree, either.
    let without = |args: &[&str]| {
        let mut command = bare.command(args);
        finish(command.env("PATH", bare.path("none")), text(1).as_bytes())
    };
    assert_eq!(without(&["check", "-"]).exits(1).text(), here.text());
    let staged = without(&["check", "--staged"]).exits(2);
    assert!(
        staged.err.contains("git rev-parse: No such file"),
        "{}",
        staged.err
    );
}

/// A file name with a newline cannot end an annotation of `GitHub` or a line of text. In SARIF the
/// name is escaped as a URI.
#[test]
fn hostile_names_break_no_format() {
    let Some(it) = Repository::with(&[("a.txt", &text(1))]) else {
        return;
    };
    let hostile = b"100%,a::b\n::error::c \xff.txt";
    let path = it.0.path(OsStr::from_bytes(hostile));
    fs::write(path, near(1)).unwrap();
    it.git(&["add", "-A"]);
    let github = it
        .run(&["check", "--staged", "--format", "github"], b"")
        .exits(1)
        .text();
    let file = "100%25%2Ca%3A%3Ab%0A%3A%3Aerror%3A%3Ac \u{fffd}.txt";
    assert!(
        github.starts_with(&format!("::warning file={file},title=near-copy::9")),
        "{github}"
    );
    assert_eq!(github.lines().count(), 1, "{github}");
    assert!(
        github.contains("%25 of it is in a.txt; reuse that file\n"),
        "{github}"
    );
    let lines = it.staged().exits(1).text();
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let log = it
        .run(&["check", "--staged", "--format", "sarif"], b"")
        .exits(1)
        .json();
    is_sarif(&log);
    let result = &log["runs"][0]["results"][0];
    let uri = |location: &Value| location["physicalLocation"]["artifactLocation"]["uri"].clone();
    assert_eq!(
        uri(&result["locations"][0]),
        "100%25%2Ca%3A%3Ab%0A%3A%3Aerror%3A%3Ac%20%FF.txt"
    );
    assert_eq!(uri(&result["relatedLocations"][0]), "a.txt");
    // Now `b.txt` is checked, which resembles both other files. A missing file causes an error.
    fs::write(it.0.path("b.txt"), near(1)).unwrap();
    let run = ["check", "b.txt", "absent", "--format", "sarif"];
    let log = it.run(&run, b"").exits(2).json();
    is_sarif(&log);
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        log["runs"][0]["invocations"][0]["executionSuccessful"],
        false
    );
}

/// Checks that a log has only properties of the schema of SARIF 2.1.0, and that the values of those
/// properties are valid.
fn is_sarif(log: &Value) {
    let keys = |value: &Value, allowed: &[&str]| {
        for key in value.as_object().unwrap().keys() {
            assert!(allowed.contains(&&**key), "{key}");
        }
    };
    keys(log, &["$schema", "version", "runs"]);
    assert_eq!(log["version"], "2.1.0");
    for run in log["runs"].as_array().unwrap() {
        keys(run, &["tool", "invocations", "results"]);
        let driver = &run["tool"]["driver"];
        keys(driver, &["name", "version", "rules"]);
        assert_eq!(driver["name"], "resemble");
        for invocation in run["invocations"].as_array().unwrap() {
            assert!(invocation["executionSuccessful"].is_boolean());
            for told in invocation["toolExecutionNotifications"].as_array().unwrap() {
                keys(told, &["level", "message", "locations"]);
                assert!(told["message"]["text"].is_string());
            }
        }
        for result in run["results"].as_array().unwrap() {
            keys(
                result,
                &[
                    "ruleId",
                    "ruleIndex",
                    "level",
                    "message",
                    "locations",
                    "relatedLocations",
                    "partialFingerprints",
                ],
            );
            let rule = &driver["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
            assert_eq!(rule["id"], result["ruleId"]);
            assert_eq!(result["level"], "warning");
            assert!(result["message"]["text"].is_string());
            for list in ["locations", "relatedLocations"] {
                for location in result[list].as_array().unwrap() {
                    let uri = &location["physicalLocation"]["artifactLocation"]["uri"];
                    let uri = uri.as_str().unwrap();
                    assert!(uri.is_ascii() && !uri.contains([' ', '\n']), "{uri}");
                }
            }
        }
    }
}

/// Nobody else can read the copies of checked files, and a signal leaves none behind.
#[test]
fn copies_are_private_and_end_with_the_command() {
    let env = environment();
    let temp = env.path("../temp");
    fs::create_dir(&temp).unwrap();
    for signal in ENDING {
        let mut child = interruptible(&env, &["check", "-", "--name", "draft", "--in", "."])
            .env("TMPDIR", &temp)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // This is more than a pipe holds, so the command has begun to copy it.
        stdin.write_all(&vec![b'x'; 1 << 21]).unwrap();
        let folder = temp.join(&names(&temp)[0]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join("0/draft")), 0o600);
        end(child, signal);
        assert!(names(&temp).is_empty(), "{signal:?}");
    }
}
