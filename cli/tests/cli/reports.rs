//! Tests the exit codes, formats and plans of `compare`, `covered`, `dirs` and `groups`.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

use crate::environment;
use resemble_testutil::prose::paragraphs;
use resemble_testutil::{Environment, finish, in_a_process_of_its_own};

/// Makes the trees `old` and `new`. There is one file of each kind: the same, edited, moved, moved
/// and edited, inside another file, new, and gone.
pub(crate) fn two_trees() -> Environment {
    let env = environment();
    let texts: Vec<String> = (1..6).map(|seed| paragraphs(seed, 60)).collect();
    env.write("old/same.txt", &texts[0]);
    env.write("new/same.txt", &texts[0]);
    env.write("old/edited.txt", &texts[1]);
    env.write("new/edited.txt", texts[1].replacen("river", "brook", 2));
    env.write("old/a/moved.txt", &texts[2]);
    env.write("new/b/moved.txt", &texts[2]);
    env.write("old/a/both.txt", &texts[3]);
    env.write("new/b/else.txt", texts[3].replacen("stone", "STONE", 2));
    env.write("old/part.txt", &texts[4][..texts[4].len() / 5]);
    env.write("new/whole.txt", &texts[4]);
    env.write("old/gone.txt", paragraphs(77, 30));
    env.write("new/fresh.txt", paragraphs(78, 30));
    env
}

/// Makes `docs` with a text, a copy and an edited version of it. `only` has an unrelated text.
pub(crate) fn collection() -> Environment {
    let env = environment();
    let text = paragraphs(1, 60);
    env.write("docs/report.txt", &text);
    env.write("docs/old/copy.txt", &text);
    env.write("docs/edited.txt", text.replacen("river", "brook", 2));
    env.write("docs/empty", "");
    env.write("only/stranger.txt", paragraphs(2, 60));
    env
}

#[test]
fn compare_ends_like_diff() {
    let env = two_trees();
    env.write("copy/same.txt", paragraphs(1, 60));
    env.write("same/same.txt", paragraphs(1, 60));
    let code = |args: &[&str]| env.run(args).code;
    assert_eq!(code(&["compare", "copy", "same"]), 0);
    assert_eq!(code(&["compare", "copy", "copy"]), 0);
    // Text has no rows for equal files. So the note must say that there is no difference, and not
    // that nothing was found.
    let equal = env.run(["compare", "copy", "same"]);
    let said = "resemble: no difference: compared 2 files of ";
    assert!(equal.err.starts_with(said), "{equal:?}");
    std::fs::create_dir(env.path("empty")).unwrap();
    let empty = env.run(["covered", "empty", "--by", "copy"]);
    assert!(
        empty.err.starts_with("resemble: nothing to cover: "),
        "{empty:?}"
    );
    assert_eq!(code(&["compare", "old", "new"]), 1);
    let same = ["compare", "old", "new", "--class", "same"];
    assert_eq!(code(&same), 1, "all rows count, not only those shown");
    assert_eq!(code(&["compare", "old", "absent"]), 2);
    // A symbolic link that only one directory has is a difference.
    symlink("x", env.path("same/link")).unwrap();
    assert_eq!(code(&["compare", "copy", "same"]), 1);
    symlink("x", env.path("copy/link")).unwrap();
    assert_eq!(code(&["compare", "copy", "same"]), 0);
    // A comparison of two single files has the same exit codes as a comparison of directories.
    assert_eq!(code(&["compare", "old/same.txt", "new/same.txt"]), 0);
    assert_eq!(code(&["compare", "old/edited.txt", "new/edited.txt"]), 1);
}

#[test]
fn compare_in_every_format() {
    let env = two_trees();
    let ask = |args: &[&str]| env.run([&["compare", "old", "new"], args].concat());
    let json = ask(&["--format", "json"]).json();
    assert_eq!(
        (&json["schema"], &json["command"]),
        (&1.into(), &"compare".into())
    );
    assert_eq!(json["parameters"]["a"], "old");
    let entries = json["entries"].as_array().unwrap();
    let word = |entry: &serde_json::Value, key: &str| entry[key].as_str().map(str::to_owned);
    let classes: Vec<_> = entries
        .iter()
        .map(|entry| (word(entry, "class"), word(entry, "a"), word(entry, "b")))
        .collect();
    for (class, a, b) in [
        ("same", Some("same.txt"), Some("same.txt")),
        ("edited", Some("edited.txt"), Some("edited.txt")),
        ("moved", Some("a/moved.txt"), Some("b/moved.txt")),
        ("moved-edited", Some("a/both.txt"), Some("b/else.txt")),
        ("contained", Some("part.txt"), Some("whole.txt")),
        ("only-a", Some("gone.txt"), None),
        ("only-b", None, Some("fresh.txt")),
    ] {
        let owned = |name: Option<&str>| name.map(str::to_owned);
        let expected = (owned(Some(class)), owned(a), owned(b));
        assert!(classes.contains(&expected), "{expected:?}: {classes:?}");
    }
    assert_eq!(classes.len(), 7);
    assert_eq!(json["total"], 7);
    assert_eq!(json["summary"]["moved-edited"], 1);

    let jsonl = ask(&["--format", "jsonl"]).text();
    let lines: Vec<serde_json::Value> = jsonl
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["summary"], json["summary"]);
    let rows: Vec<_> = lines.iter().filter(|line| line["row"] == "entry").collect();
    assert_eq!(rows.len(), 7);
    assert_eq!(rows[0]["class"], entries[0]["class"]);

    let csv = ask(&["--format", "csv"]).text();
    let header =
        "class,a,b,a_in_b,b_in_a,shared_bytes,size_a,size_b,copy,discounted,reason,estimate";
    assert_eq!(csv.lines().next(), Some(header));
    assert_eq!(csv.lines().count(), 8);
    let tsv = ask(&["--format", "tsv"]).text();
    let tabbed: Vec<String> = csv.lines().skip(1).map(|l| l.replace(',', "\t")).collect();
    assert_eq!(tsv.lines().collect::<Vec<_>>(), tabbed);

    let text = ask(&[]).text();
    assert!(text.starts_with("A  old:  6 files, "), "{text}");
    assert!(text.contains("\n=   1  1  same\n"), "{text}");
    assert!(
        !text.contains("same.txt"),
        "what is the same is not listed: {text}"
    );
    let verbose = env.run(["compare", "old", "new", "--all", "-v"]).text();
    assert!(verbose.contains("\n=   100%"), "{verbose}");
    assert!(ask(&["--class", "same"]).text().contains("same.txt"));

    let html = ask(&["--format", "html", "-o", "r.html"]);
    assert_eq!((html.code, html.text().as_str()), (1, ""));
    let page = std::fs::read_to_string(env.path("r.html")).unwrap();
    assert!(
        page.to_lowercase().starts_with("<!doctype html>"),
        "{page:.60}"
    );
    let xlsx = ask(&["--format", "xlsx"]);
    assert_eq!((xlsx.code, &xlsx.out[..4]), (1, &b"PK\x03\x04"[..]));
}

/// If a directory moved as a whole, one line names it, and not its parents.
#[test]
fn moved_directories_are_one_line() {
    let env = environment();
    for seed in 1..9 {
        env.write(format!("old/src/net/{seed}.c"), paragraphs(seed, 20));
        env.write(format!("new/code/net/{seed}.c"), paragraphs(seed, 20));
    }
    env.write("old/stays", paragraphs(20, 10));
    env.write("new/stays", paragraphs(20, 10));
    let text = env.run(["compare", "old", "new"]).text();
    let tree = ">/  99%  25 KiB  8 files  src/net/ -> code/net/\n";
    let size = text.split(">/  99%  ").nth(1).unwrap_or_default();
    let size = size.split("  ").next().unwrap_or_default();
    let tree = tree.replace("25 KiB", size);
    assert!(text.contains(&tree), "{text}");
    assert!(
        text.contains("8 files moved with their directories"),
        "{text}"
    );
    assert!(!text.contains("1.c"), "{text}");
    let without = env.run(["compare", "old", "new", "--no-trees"]).text();
    assert!(without.contains("src/net/1.c -> code/net/1.c"), "{without}");
}

/// `--new-only` prints the names of new files in a form that rsync accepts.
#[test]
fn what_is_new_as_a_list() {
    let env = two_trees();
    env.write("new/#odd", paragraphs(90, 30));
    env.write("new/two\nlines", paragraphs(91, 30));
    let list = |args: &[&str]| env.run([&["compare", "old", "new", "--new-only"], args].concat());
    let plain = list(&[]);
    let mut lines: Vec<String> = plain.text().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["./#odd", "fresh.txt", "lines", "two"]);
    assert!(plain.err.contains("only -0"), "{plain:?}");
    let ran = list(&["-0"]);
    let mut names: Vec<&[u8]> = ran.out.split(|byte| *byte == 0).collect();
    assert_eq!(names.pop(), Some(&b""[..]));
    names.sort_unstable();
    assert_eq!(names, [&b"#odd"[..], b"fresh.txt", b"two\nlines"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
}

#[test]
fn covered_says_yes_only_if_all_is_elsewhere() {
    let env = collection();
    env.write("copy/a.txt", paragraphs(1, 60));
    let yes = env.run(["covered", "copy", "--by", "docs"]);
    assert_eq!(yes.code, 0, "{yes:?}");
    let start = "covered:  copy  all of 1 file, ";
    assert!(yes.text().starts_with(start), "{yes:?}");
    // If the user names a symbolic link, it is followed, and a note reports that.
    symlink("copy", env.path("link")).unwrap();
    let link = env.run(["covered", "link", "--by", "docs"]);
    let said = "resemble: link is a symbolic link: the answer is about /";
    assert!(link.code == 0 && link.err.starts_with(said), "{link:?}");
    assert!(link.text().starts_with("covered:  link  all of 1 file, "));
    assert!(yes.err.is_empty(), "{yes:?}");
    let inside = env.run(["covered", "docs", "--by", "docs"]);
    assert_eq!(inside.code, 2, "{inside:?}");
    let why = "docs: lies in the directory that is to go";
    assert!(inside.err.contains(why), "{inside:?}");

    let near = paragraphs(1, 60).replacen("river", "brook", 4);
    env.write("copy/b.txt", near);
    symlink("a.txt", env.path("copy/link")).unwrap();
    let no = env.run(["covered", "copy", "--by", "docs", "--format", "json"]);
    assert_eq!(no.code, 1, "{no:?}");
    let json = no.json();
    assert_eq!(
        (&json["covered"], &json["files"]),
        (&false.into(), &3.into())
    );
    let missing: Vec<&str> = json["missing"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["path"].as_str().unwrap())
        .collect();
    assert_eq!(missing, ["copy/b.txt", "copy/link"]);
    assert_eq!(json["near"][0]["path"], "copy/b.txt");
    assert_eq!(json["copies"][0]["path"], "copy/a.txt");
    let text = env.run(["covered", "copy", "--by", "docs"]).text();
    assert!(
        text.starts_with("NOT covered:  copy  2 of 3 files"),
        "{text}"
    );
    assert!(
        text.contains("NOT safe (how much of each is in the other):"),
        "{text}"
    );

    std::fs::remove_file(env.path("copy/b.txt")).unwrap();
    std::fs::remove_file(env.path("copy/link")).unwrap();
    std::fs::hard_link(env.path("docs/edited.txt"), env.path("copy/linked")).unwrap();
    let linked = env.run(["covered", "copy", "--by", "docs", "--format", "jsonl"]);
    assert_eq!(linked.code, 0, "{linked:?}");
    let row = r#"{"row":"linked","path":"copy/linked","by":"docs/edited.txt""#;
    assert!(linked.text().contains(row), "{linked:?}");
}

#[test]
fn groups_and_dirs_end_with_0_if_something_is_found() {
    let env = collection();
    for verb in ["groups", "dirs"] {
        let none = env.run([verb, "only"]);
        assert_eq!((none.code, none.text().as_str()), (1, ""), "{none:?}");
        let start = "resemble: nothing found: compared 1 file of ";
        assert!(none.err.starts_with(start), "{none:?}");
        let absent = env.run([verb, "absent", "--format", "json"]);
        assert_eq!(absent.code, 2);
        assert_eq!(absent.json()["errors"][0]["kind"], "not-found");
    }
    let found = env.run(["groups", "docs"]);
    assert_eq!(found.code, 0);
    let text = found.text();
    assert!(
        text.starts_with("1 set of identical files, 2 files, "),
        "{text}"
    );
    assert!(text.contains("docs/old/copy.txt\n"), "{text}");
    assert!(text.contains("docs/edited.txt\n"), "{text}");

    let json = env.run(["groups", "docs", "--format", "json"]).json();
    assert_eq!(json["identical"][0]["paths"].as_array().unwrap().len(), 2);
    assert_eq!(json["clusters"][0]["members"].as_array().unwrap().len(), 2);
    let fdupes = env.run(["groups", "docs", "--format", "fdupes"]);
    assert_eq!(fdupes.text(), "docs/old/copy.txt\ndocs/report.txt\n\n");
    let null = env.run(["groups", "docs", "--format", "fdupes", "-0"]);
    assert_eq!(null.out, b"docs/old/copy.txt\0docs/report.txt\0\0");

    // One of the two named roots is missing. The answer is about the other root, and the exit code
    // is 2.
    let ran = env.run(["groups", "docs", "absent"]);
    assert_eq!(ran.code, 2);
    assert!(ran.text().starts_with("1 set"), "{ran:?}");
}

/// Text shows the id of each cluster. `templates mark` accepts this id.
#[test]
fn the_id_in_text_can_be_marked() {
    let env = collection();
    let text = env.run(["groups", "docs"]).text();
    let head = text.lines().find(|line| line.starts_with("pair  "));
    let id = head.and_then(|line| line.split("  ").nth(1));
    let Some(id) = id else { panic!("{text}") };
    let json = env.run(["groups", "docs", "--format", "json"]).json();
    assert_eq!(json["clusters"][0]["id"], id);
    let marked = env.run(["templates", "mark", id, "docs"]);
    assert_eq!(marked.code, 0, "{marked:?}");
    // With `--of`, text shows the set and the cluster that the file is in.
    let of = env.run(["groups", "docs", "--of", "docs/report.txt"]);
    assert!(of.text().contains("identical  2 files"), "{of:?}");
}

/// `--family` lists versions step by step and marks the newest.
#[test]
fn a_family_in_text() {
    let env = environment();
    let mut text: Vec<String> = (1..21).map(|seed| paragraphs(seed, 3)).collect();
    for version in 0..5u64 {
        let path = env.write(format!("docs/v{version}.txt"), text.concat());
        let file = std::fs::File::options().write(true).open(path).unwrap();
        let day = std::time::Duration::from_secs(86_400 * (10_000 + version));
        file.set_modified(std::time::UNIX_EPOCH + day).unwrap();
        // Nearly a third of the text is replaced each time, so the fifth version shares nothing
        // with the first.
        for (at, part) in text
            .iter_mut()
            .enumerate()
            .skip(version as usize * 6)
            .take(6)
        {
            *part = paragraphs(1000 + at as u64, 3);
        }
    }
    let args = ["groups", "docs", "--of", "docs/v2.txt", "--family"];
    let ran = env.run(args);
    let text = ran.text();
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("docs/v"))
        .collect();
    assert_eq!(rows.len(), 5, "{ran:?}");
    assert!(
        rows[0].starts_with("-  ") && rows[0].ends_with("docs/v0.txt"),
        "{text}"
    );
    for row in &rows[1..] {
        assert!(row.contains('%'), "{text}");
    }
    assert!(rows[4].ends_with("docs/v4.txt  newest"), "{text}");
}

/// If `find` or `pairs` find nothing, a note says what was compared.
#[test]
fn nothing_found_says_what_was_compared() {
    let env = collection();
    for args in [
        &["pairs", "only"][..],
        &["find", "docs/report.txt", "--in", "only"],
    ] {
        let ran = env.run(args);
        assert_eq!((ran.code, ran.text().as_str()), (1, ""), "{ran:?}");
        let start = "resemble: nothing found: compared 1 file of ";
        assert!(ran.err.starts_with(start), "{ran:?}");
        assert!(!ran.err.contains("5,600"), "{ran:?}");
        let more = env.run([args, &["-v"]].concat());
        let least = "5,600 bytes in a row in common would have been found";
        assert!(more.err.contains(least), "{more:?}");
        let quiet = env.run([args, &["-q"]].concat());
        assert_eq!(quiet.err, "");
    }
    env.write("only/tiny", "x");
    let ran = env.run([
        "pairs",
        "only",
        "docs",
        "--exclude",
        "*.txt",
        "--min-size",
        "1",
    ]);
    let left = "compared 1 file of 1 B; 5 left out by a pattern, a size or a file system; 1 under \
                256 bytes, found only if identical";
    assert!(ran.err.contains(left), "{ran:?}");
}

#[test]
fn similar_directories() {
    let env = environment();
    for seed in 1..5 {
        env.write(format!("x/here/{seed}.txt"), paragraphs(seed, 20));
        env.write(format!("y/there/n{seed}"), paragraphs(seed, 20));
    }
    env.write("y/there/more", paragraphs(9, 20));
    let ran = env.run(["dirs", "x", "y"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = ran.text();
    assert!(
        text.starts_with("1 pair of similar directories, "),
        "{text}"
    );
    let json = env.run(["dirs", "x", "y", "--format", "json"]).json();
    let pair = &json["pairs"][0];
    assert_eq!((&pair["files_a"], &pair["files_b"]), (&4.into(), &5.into()));
    let of = env.run(["dirs", "x", "y", "--min", "99.9%", "--of", "x/here"]);
    assert_eq!(of.code, 0, "{of:?}");
    let csv = env.run(["dirs", "x", "y", "--format", "csv"]).text();
    assert!(csv.starts_with("a,b,a_in_b,"), "{csv}");
}

/// The script of a plan replaces the copies that it names by hard links, and no byte is lost.
#[test]
fn plans_run() {
    let env = collection();
    let plan = env.run(["groups", "docs", "--plan", "hardlink", "-o", "plan.sh"]);
    assert_eq!((plan.code, plan.text().as_str()), (0, ""));
    assert!(plan.err.contains("a plan of 1 step, "), "{plan:?}");
    let inode = |name: &str| std::fs::metadata(env.path(name)).unwrap().ino();
    let run = |args: &[&str]| {
        let mut sh = Command::new("sh");
        finish(sh.arg(env.path("plan.sh")).args(args), b"")
    };
    assert_eq!(run(&[]).code, 0);
    assert_ne!(inode("docs/report.txt"), inode("docs/old/copy.txt"));
    let done = run(&["--do-it"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(inode("docs/report.txt"), inode("docs/old/copy.txt"));
    let after = env.run(["groups", "docs", "--format", "fdupes"]);
    assert_eq!(after.text(), "");
    let empty = env.run(["groups", "only", "--plan", "symlink"]);
    assert_eq!(empty.code, 1);
    assert!(empty.text().starts_with("#!/bin/sh\n"), "{empty:?}");

    env.write("copy/a.txt", paragraphs(1, 60));
    let plan = env.run(["covered", "copy", "--by", "docs", "--plan", "symlink"]);
    assert_eq!(plan.code, 0, "{plan:?}");
    env.write("plan.sh", &plan.out);
    assert_eq!(run(&["--do-it"]).code, 0);
    let target = std::fs::read_link(env.path("copy/a.txt")).unwrap();
    assert!(target.starts_with(env.path("docs")), "{target:?}");
}

/// With `--only identical`, the answer has the same sets as an answer about all groups. This holds
/// for a search of the files, for an index, and for a saved report.
#[test]
fn identical_files_alone() {
    let env = collection();
    let only = |args: &[&str]| {
        let all = [&["groups", "--only", "identical", "--format", "json"], args].concat();
        let ran = env.run(all);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        ran.json()
    };
    let direct = only(&["docs"]);
    // Without an index, because of `--no-cache`, the files themselves are searched, and the answer
    // is the same.
    assert_eq!(only(&["docs", "--no-cache"]), direct);
    let all = env.run(["groups", "docs", "--format", "json", "-o", "all.json"]);
    assert_eq!(all.code, 0, "{all:?}");
    let fdupes = env.run(["groups", "docs", "--format", "fdupes"]).text();
    assert_eq!(only(&["docs"]), direct, "from the index");
    assert_eq!(only(&["--from", "all.json"]), direct, "from a report");
    assert_eq!(direct["parameters"]["only"], "identical");
    assert_eq!(direct["clusters"], serde_json::json!([]));
    assert_eq!(direct["total"], 1);
    let all: serde_json::Value =
        serde_json::from_slice(&std::fs::read(env.path("all.json")).unwrap()).unwrap();
    assert_eq!(all["identical"], direct["identical"]);
    assert_eq!(direct["identical"].as_array().unwrap().len(), 1);
    let paths = direct["identical"][0]["paths"].as_array().unwrap();
    let lines: Vec<&str> = paths.iter().map(|path| path.as_str().unwrap()).collect();
    assert_eq!(fdupes, format!("{}\n\n", lines.join("\n")));

    let near_report = env.run([
        "groups", "--from", "all.json", "--only", "near", "--format", "json",
    ]);
    let near = near_report.json();
    assert_eq!(
        (&near["clusters"], &near["identical"]),
        (&all["clusters"], &serde_json::json!([]))
    );
    let asked = env.run(["groups", "docs", "--only", "near", "--format", "json"]);
    assert_eq!(asked.json(), near);
    env.write("near.json", &near_report.out);
    let ran = env.run(["groups", "--from", "near.json", "--format", "fdupes"]);
    let said = "near.json has no sets of identical files; it was made with --only near";
    assert!(ran.code == 2 && ran.err.contains(said), "{ran:?}");
}

/// Unreadable files are reported, the other files are compared, and the exit code is 2.
#[test]
fn unreadable_files_are_trouble() {
    // Root can read everything, so this test runs again in a process of another user.
    if in_a_process_of_its_own("reports::unreadable_files_are_trouble", true) {
        return;
    }
    let env = two_trees();
    let locked = env.write("old/locked.txt", paragraphs(50, 10));
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    for args in [
        &["compare", "old", "new"][..],
        &["covered", "old", "--by", "new"],
        &["groups", "old", "--only", "identical"],
        &["groups", "old"],
        &["dirs", "old", "new"],
    ] {
        let ran = env.run(args);
        assert_eq!(ran.code, 2, "{ran:?}");
        let said = "old/locked.txt: Permission denied";
        assert!(ran.err.contains(said), "{ran:?}");
    }
    env.write("old/folder/a.txt", "a");
    let folder = env.path("old/folder");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o000)).unwrap();
    // If unreadable files are only among those that are searched, the exit code does not change.
    for (args, code) in [
        (&["covered", "new", "--by", "old"][..], 1),
        (&["find", "new/same.txt", "--in", "old"], 0),
        (&["find", "new/same.txt", "--holders", "--in", "old"], 0),
        // If the subject or a named path is unreadable or missing, the exit code is 2.
        (&["find", "old/locked.txt", "--in", "old"], 2),
        (&["find", "new/same.txt", "--in", "old/folder"], 2),
        (&["find", "new/same.txt", "--in", "old", "--in", "none"], 2),
    ] {
        let ran = env.run(args);
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        assert!(ran.err.contains("Permission denied"), "{args:?}: {ran:?}");
    }
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn similar_files_side_by_side() {
    let env = collection();
    env.write("docs/a stranger", paragraphs(40, 30));
    let ran = env.run(["groups", "docs", "--order", "-0"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut names: Vec<&[u8]> = ran.out.split(|byte| *byte == 0).collect();
    assert_eq!(names.pop(), Some(&b""[..]));
    assert_eq!(names.len(), 5, "{ran:?}");
    let at = |name: &str| {
        let name = std::ffi::OsStr::new(name).as_bytes();
        names.iter().position(|n| *n == name).unwrap()
    };
    let mut alike = [
        at("docs/report.txt"),
        at("docs/old/copy.txt"),
        at("docs/edited.txt"),
    ];
    alike.sort_unstable();
    assert_eq!(alike[2] - alike[0], 2, "{ran:?}");
    let json = env.run(["groups", "docs", "--order", "--format", "json"]);
    assert_eq!(json.json()["order"].as_array().unwrap().len(), 5);
}

/// `covered` gives the same answer, whichever directories the cache has.
#[test]
fn covered_says_the_same_whatever_the_cache_knows() {
    let env = environment();
    let text = paragraphs(1, 12);
    let other = paragraphs(2, 12);
    env.write("old/same.txt", &text);
    env.write("old/moved.txt", &other);
    env.write("old/edited.txt", paragraphs(3, 12) + " and more");
    // `swapped.txt` and `changed.txt` have the same size in both trees, but other bytes. The bytes
    // of `old/x/swapped.txt` are at another path of `new`; those of `old/x/changed.txt` are nowhere
    // in it.
    env.write("old/x/swapped.txt", &text);
    env.write("old/x/changed.txt", text.replace('e', "o"));
    env.write("old/only.txt", paragraphs(4, 12));
    env.write("new/same.txt", &text);
    env.write("new/y/other.txt", &other);
    env.write("new/edited.txt", paragraphs(3, 12));
    env.write("new/x/swapped.txt", text.replace('a', "u"));
    env.write("new/x/changed.txt", &text);
    let ask = |more: &[&str]| {
        let ask = [
            "covered", "old", "--by", "new", "--local", "--format", "json",
        ];
        env.run(ask.iter().chain(more)).text()
    };
    let fresh = ask(&["--no-cache"]);
    let json: serde_json::Value = serde_json::from_str(&fresh).unwrap();
    let names = |list: &str| -> Vec<&str> {
        let rows = json[list].as_array().unwrap().iter();
        rows.map(|row| row["path"].as_str().unwrap()).collect()
    };
    assert_eq!(
        names("missing"),
        ["old/edited.txt", "old/only.txt", "old/x/changed.txt"]
    );
    assert_eq!(names("near"), ["old/edited.txt"]);
    assert_eq!(
        names("copies"),
        ["old/moved.txt", "old/same.txt", "old/x/swapped.txt"]
    );
    assert_eq!(ask(&[]), fresh);
    assert_eq!(ask(&[]), fresh, "asked again");
    assert_eq!(env.run(["dirs", "old", "new", "--local"]).code, 0);
    assert_eq!(ask(&[]), fresh, "with both in the cache");
}
