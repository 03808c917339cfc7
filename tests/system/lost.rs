//! Tests `lost` and `history` without catalogues. The answers use what the daemon has seen of
//! renamed and removed files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Ran, Sandbox};
use serde_json::Value;

/// Returns the places in an answer, as names relative to the tree, with their relations.
fn places(sandbox: &Sandbox, ran: &Ran) -> Vec<(String, Value)> {
    let document = ran.json();
    let rows = document["places"].as_array().expect("places").iter();
    let tree = sandbox.tree("");
    let name = |row: &Value| {
        let path = row["path"].as_str().expect("a path");
        let path = path
            .strip_prefix(tree.to_str().expect("a name"))
            .unwrap_or(path);
        path.trim_start_matches('/').to_owned()
    };
    rows.map(|row| (name(row), row["relation"].clone()))
        .collect()
}

fn sync(sandbox: &Sandbox) {
    let ran = sandbox.resemble(["sync"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

fn lost(sandbox: &Sandbox, name: impl AsRef<Path>) -> Ran {
    let path = sandbox.tree(name);
    sandbox.resemble([
        "lost".as_ref(),
        path.as_os_str(),
        "--format".as_ref(),
        "json".as_ref(),
    ])
}

#[test]
fn what_was_moved_renamed_or_removed_is_found_by_its_old_path() {
    let sandbox = Sandbox::new();
    for (name, seed) in [
        ("renamed", 1),
        ("removed", 2),
        ("edited", 3),
        ("d/e/below", 4),
        ("d/e/edited", 6),
        ("no", 5),
    ] {
        sandbox.write(format!("{name}.txt"), prose(seed, 9_000));
    }
    sandbox.write("copies/a.txt", prose(2, 9_000));
    sandbox.write("copies/near.txt", edited(&prose(2, 9_000), 1, 2));
    let daemon = sandbox.daemon([""; 0]);
    sync(&sandbox);
    let rename = |from: &str, to: &str| {
        fs::rename(sandbox.tree(from), sandbox.tree(to)).expect("it is renamed");
    };
    rename("renamed.txt", "copies/other name.txt");
    rename("edited.txt", "copies/edited.txt");
    rename("d", "copies/moved");
    for gone in ["removed.txt", "no.txt"] {
        fs::remove_file(sandbox.tree(gone)).expect("it is removed");
    }
    sync(&sandbox);
    sandbox.write("copies/edited.txt", edited(&prose(3, 9_000), 1, 2));
    sandbox.write("copies/moved/e/edited.txt", edited(&prose(6, 9_000), 1, 2));
    sync(&sandbox);
    let found = |name: &str, expected: &[(&str, Value)]| {
        let ran = lost(&sandbox, name);
        let expected = expected
            .iter()
            .map(|(name, relation)| ((*name).to_owned(), relation.clone()));
        assert_eq!(
            places(&sandbox, &ran),
            expected.collect::<Vec<_>>(),
            "{name}"
        );
        assert_eq!(
            ran.code,
            i32::from(ran.json()["places"] == Value::Array(Vec::new())),
            "{name}"
        );
    };
    let all = || {
        found(
            "renamed.txt",
            &[("copies/other name.txt", "identical".into())],
        );
        found("edited.txt", &[("copies/edited.txt", Value::Null)]);
        found(
            "d/e/below.txt",
            &[("copies/moved/e/below.txt", "identical".into())],
        );
        found(
            "d/e/edited.txt",
            &[("copies/moved/e/edited.txt", Value::Null)],
        );
        found("d", &[("copies/moved", Value::Null)]);
        let removed = [
            ("copies/a.txt", "identical".into()),
            ("copies/near.txt", "near".into()),
        ];
        found("removed.txt", &removed);
        found("no.txt", &[]);
        found("never.txt", &[]);
    };
    all();
    let said = sandbox.resemble(["lost".as_ref(), sandbox.tree("no.txt").as_os_str()]);
    assert!(said.err.contains("last known as"), "{}", said.err);
    // After a restart, the daemon still knows the files that departed before. It also finds the
    // files that departed while it was not running.
    drop(daemon);
    fs::remove_file(sandbox.tree("copies/near.txt")).expect("it is removed");
    fs::rename(sandbox.tree("copies/a.txt"), sandbox.tree("b.txt")).expect("it is renamed");
    let _daemon = sandbox.daemon([""; 0]);
    sync(&sandbox);
    found("copies/a.txt", &[("b.txt", "identical".into())]);
    found("removed.txt", &[("b.txt", "identical".into())]);
    found(
        "renamed.txt",
        &[("copies/other name.txt", "identical".into())],
    );
}

#[test]
fn what_is_watched_no_more_is_forgotten() {
    let sandbox = Sandbox::new();
    let added = sandbox.path("home/added");
    let file = added.join("x.txt");
    fs::create_dir(&added).expect("a directory");
    fs::write(&file, prose(1, 9_000)).expect("a file");
    sandbox.write("y.txt", prose(1, 9_000));
    let _daemon = sandbox.daemon([""; 0]);
    let watch = |verb: &str| {
        let ran = sandbox.resemble(["watch".as_ref(), verb.as_ref(), added.as_os_str()]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        sync(&sandbox);
    };
    watch("add");
    fs::remove_file(&file).expect("it is removed");
    sync(&sandbox);
    assert_eq!(places(&sandbox, &lost(&sandbox, &file)).len(), 1);
    watch("remove");
    assert_eq!(places(&sandbox, &lost(&sandbox, &file)), []);
    watch("add");
    assert_eq!(places(&sandbox, &lost(&sandbox, &file)), []);
}

#[test]
fn links_that_lead_nowhere_are_listed_with_where_their_targets_are() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/plan.txt", prose(1, 9_000));
    sandbox.write("docs/there.txt", prose(2, 9_000));
    fs::create_dir_all(sandbox.tree("links/below")).expect("a directory");
    let link = |target: &str, name: &str| {
        symlink(target, sandbox.tree(format!("links/{name}"))).expect("a link");
    };
    link("../docs/plan.txt", "plan");
    link("../../docs/plan.txt", "below/deep");
    link("../docs/there.txt", "there");
    link("/nowhere/never", "never");
    link("/nowhere/else", "a first one");
    let _daemon = sandbox.daemon([""; 0]);
    sync(&sandbox);
    fs::rename(
        sandbox.tree("docs/plan.txt"),
        sandbox.tree("docs/old plan.txt"),
    )
    .expect("a rename");
    sync(&sandbox);
    let ask = |words: &[&str]| {
        let links = sandbox.tree("links");
        let mut all = vec!["lost".into(), "--links".into(), links.into_os_string()];
        all.extend(words.iter().map(Into::into));
        sandbox.resemble(all)
    };
    let ran = ask(&["--format", "json"]);
    let document = ran.json();
    let rows = document["links"].as_array().expect("links").iter();
    let end = |value: &Value| {
        value
            .as_str()
            .map(|path| path.rsplit('/').next().unwrap().to_owned())
    };
    let rows: Vec<_> = rows
        .map(|row| (end(&row["path"]).unwrap(), end(&row["place"])))
        .collect();
    let place = || Some("old plan.txt".to_owned());
    let expected = [
        ("a first one".to_owned(), None),
        ("deep".to_owned(), place()),
        ("never".to_owned(), None),
        ("plan".to_owned(), place()),
    ];
    assert_eq!(rows, expected);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // The exit code is 0, because a file was found, even though `--top` hides its row.
    assert_eq!(ask(&["--top", "1"]).code, 0);
    let text = ask(&[]);
    assert!(
        text.text().contains("plan  ->  ") && text.text().contains("not known"),
        "{}",
        text.text()
    );
}

/// After a rename, another file may take the new name. That file must not be reported as the lost
/// one.
#[test]
fn another_file_of_the_name_is_not_the_lost_one() {
    let sandbox = Sandbox::new();
    let names = ["plan", "k1", "w/x", "w/y", "a", "b", "contract", "kept"];
    for (name, seed) in names.into_iter().zip([1, 2, 3, 4, 5, 6, 7, 7]) {
        sandbox.write(name, prose(seed, 9_000));
    }
    let daemon = sandbox.daemon([""; 0]);
    let step = |step: &dyn Fn()| {
        step();
        sync(&sandbox);
    };
    let tree = |name: &str| sandbox.tree(name);
    let rename = |from: &str, to: &str| {
        step(&|| fs::rename(tree(from), tree(to)).expect("it is renamed"));
    };
    let remove = |name: &str| step(&|| fs::remove_file(tree(name)).expect("it is removed"));
    let write = |name: &str, seed| step(&|| sandbox.write(name, prose(seed, 9_000)));
    rename("plan", "draft");
    remove("draft");
    write("draft", 11);
    rename("draft", "holiday");
    rename("k1", "k2");
    remove("k2");
    step(&|| fs::create_dir(tree("k2")).expect("a directory"));
    rename("k2", "k3");
    step(&|| fs::remove_dir_all(tree("w")).expect("it is removed"));
    write("w/y", 12);
    rename("w", "w2");
    write("w2/x", 13);
    rename("a", "c");
    step(&|| assert!(fs::copy(tree("c"), tree("copy of a")).is_ok()));
    rename("b", "c");
    let is_nowhere = |name: &str| {
        let ran = lost(&sandbox, name);
        assert_eq!(
            (places(&sandbox, &ran), ran.code),
            (Vec::new(), 1),
            "{name}"
        );
    };
    for name in ["plan", "k1", "w/x"] {
        is_nowhere(name);
    }
    let is_at = |name: &str, place: &str| {
        let found = places(&sandbox, &lost(&sandbox, name));
        assert_eq!(found, [(place.to_owned(), "identical".into())], "{name}");
    };
    is_at("draft", "holiday");
    is_at("a", "copy of a");
    is_at("b", "c");
    // The file that is written next may get the inode number of the removed file.
    drop(daemon);
    fs::remove_file(tree("contract")).expect("it is removed");
    sandbox.write("shopping", prose(14, 500));
    let _daemon = sandbox.daemon([""; 0]);
    sync(&sandbox);
    is_at("contract", "kept");
}

/// The lost content is the content before the edit, so only copies of that content have figures.
#[test]
fn what_a_renamed_file_became_is_not_what_was_lost() {
    let sandbox = Sandbox::new();
    sandbox.write("plan", prose(1, 9_000));
    sandbox.write("keep/plan", prose(1, 9_000));
    let _daemon = sandbox.daemon([""; 0]);
    sync(&sandbox);
    fs::rename(sandbox.tree("plan"), sandbox.tree("draft")).expect("it is renamed");
    sync(&sandbox);
    let found = || places(&sandbox, &lost(&sandbox, "plan"));
    let row = |place: &str, relation: &str| (place.to_owned(), Value::from(relation));
    let without = |place: &str| (place.to_owned(), Value::Null);
    sandbox.write("draft", prose(2, 9_000));
    sandbox.write("keep/draft", prose(2, 9_000));
    sync(&sandbox);
    assert_eq!(found(), [without("draft"), row("keep/plan", "identical")]);
    sandbox.write("draft", edited(&prose(1, 9_000), 1, 2));
    sync(&sandbox);
    let near = [row("draft", "near"), row("keep/plan", "identical")];
    assert_eq!(found(), near);
    // Many programs save a file by renaming a new file to the old name.
    sandbox.write("draft.new", edited(&prose(1, 9_000), 2, 2));
    fs::rename(sandbox.tree("draft.new"), sandbox.tree("draft")).expect("it is saved");
    sync(&sandbox);
    assert_eq!(found(), near);
    fs::remove_file(sandbox.tree("keep/plan")).expect("it is removed");
    sandbox.write("keep/near", edited(&prose(1, 9_000), 3, 4));
    sync(&sandbox);
    assert_eq!(found(), [without("draft"), without("keep/near")]);
}

/// `history` reports when, and under which name, the daemon first saw a content. `find -v` reports
/// the same in each row.
#[test]
fn a_copy_that_was_moved_says_where_it_was_first_seen() {
    let sandbox = Sandbox::new();
    sandbox.write("downloads/plan (1).txt", prose(1, 9_000));
    let daemon = sandbox.daemon([""; 0]);
    sync(&sandbox);
    let (old, new) = ("downloads/plan (1).txt", "docs/plan.txt");
    fs::create_dir(sandbox.tree("docs")).expect("a directory");
    fs::rename(sandbox.tree(old), sandbox.tree(new)).expect("it is renamed");
    sandbox.write("docs/copy.txt", prose(1, 9_000));
    sandbox.write("docs/near.txt", edited(&prose(1, 9_000), 1, 2));
    sync(&sandbox);
    let ask = |verb: &str, name: &str, options: &[&str]| {
        let path = sandbox.tree(name);
        let words = [verb.as_ref(), path.as_os_str()].into_iter();
        sandbox.resemble(words.chain(options.iter().map(OsStr::new)))
    };
    let first = |row: &Value| {
        let time = row["first_seen"]["time"].as_i64().expect("a time");
        assert!(time > 1_700_000_000, "{row}");
        row["first_seen"]["path"].clone()
    };
    let path = |name: &str| Value::from(sandbox.tree(name).to_str().expect("a name"));
    let history = |name: &str| ask("history", name, &["--format", "json"]).json();
    let all = || {
        for name in [new, "docs/copy.txt"] {
            assert_eq!(first(&history(name)["versions"][0]), path(old), "{name}");
        }
        let near = path("docs/near.txt");
        assert_eq!(first(&history("docs/near.txt")["versions"][0]), near);
        let found = ask("find", "docs/copy.txt", &["-v", "--format", "json"]).json();
        let found = found["results"].as_array().expect("rows").iter();
        let found: Vec<_> = found.map(|row| (row["path"].clone(), first(row))).collect();
        let expected = [(path(new), path(old)), (near.clone(), near)];
        assert_eq!(found, expected);
    };
    all();
    let lines = ask("history", new, &[]).text();
    let as_what = format!(" as {}", sandbox.tree(old).display());
    assert!(
        lines.contains("  first seen 20") && lines.contains(&as_what),
        "{lines}"
    );
    let lines = ask("find", "docs/copy.txt", &["-v"]).text();
    assert_eq!(lines.matches("  first seen 20").count(), 2, "{lines}");
    assert_eq!(lines.matches(&as_what).count(), 1, "{lines}");
    assert!(
        !ask("find", "docs/copy.txt", &[])
            .text()
            .contains("first seen")
    );
    // After a restart, the daemon still knows the first name. Without a daemon, the command does
    // not know it.
    drop(daemon);
    let _daemon = sandbox.daemon([""; 0]);
    sync(&sandbox);
    all();
    let local = ask(
        "history",
        new,
        &["--in", "tree", "--local", "--format", "json"],
    );
    assert_eq!(local.json()["versions"][0].get("first_seen"), None);
}

/// When a root is no longer watched, the daemon forgets the files that departed from it.
#[test]
fn a_name_of_a_root_that_is_watched_no_more_is_forgotten() {
    let sandbox = Sandbox::new();
    let added = sandbox.path("home/added");
    fs::create_dir(&added).expect("a directory");
    fs::write(added.join("x.txt"), prose(1, 9_000)).expect("a file");
    sandbox.write("z.txt", prose(2, 9_000));
    let _daemon = sandbox.daemon([""; 0]);
    let watch = |verb: &str| {
        let ran = sandbox.resemble(["watch".as_ref(), verb.as_ref(), added.as_os_str()]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        sync(&sandbox);
    };
    watch("add");
    sandbox.write("y.txt", prose(1, 9_000));
    sync(&sandbox);
    let first = || {
        let path = sandbox.tree("y.txt");
        let words = [
            "history".as_ref(),
            path.as_os_str(),
            "--format".as_ref(),
            "json".as_ref(),
        ];
        let row = sandbox.resemble(words).json()["versions"][0].clone();
        row.get("first_seen").map(|first| first["path"].clone())
    };
    let path = added.join("x.txt");
    assert_eq!(first(), Some(path.to_str().expect("a name").into()));
    watch("remove");
    assert_eq!(first(), None);
}
