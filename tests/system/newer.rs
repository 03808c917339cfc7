use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use resemble_testutil::Sandbox;
use resemble_testutil::office::dated_docx;
use resemble_testutil::pack::zip;
use resemble_testutil::prose::prose;
use serde_json::Value;

/// If both files are documents that state a date, these dates decide which file is newer. Otherwise
/// the modification times of the files decide.
#[test]
fn the_newer_of_two_files_is_the_same_both_ways() {
    let sandbox = Sandbox::new();
    let words = |seed| String::from_utf8(prose(seed, 9_000)).expect("text");
    let changed = |name: &str, days: u64| {
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + days * 86_400);
        let file = File::options().write(true).open(sandbox.path(name));
        file.and_then(|file| file.set_modified(time)).expect(name);
    };
    let (text, more) = (words(1), words(1) + &words(2)[..900]);
    sandbox.write("old.docx", dated_docx(&text, "2024-03-01T10:00:00Z"));
    sandbox.write("new.docx", dated_docx(&more, "2025-03-01T10:00:00Z"));
    sandbox.write("one.txt", words(3));
    sandbox.write("two.txt", words(3) + &words(4)[..900]);
    sandbox.write("packed.zip", zip(&[("in.txt", words(3).as_bytes())]));
    std::fs::write(
        sandbox.path("outside.docx"),
        dated_docx(&text, "2026-03-01T10:00:00Z"),
    )
    .expect("a file");
    std::fs::write(sandbox.path("outside.txt"), words(3)).expect("a file");
    // The modification times of these documents have the opposite order of the dates that they
    // state.
    for (name, days) in [
        ("tree/old.docx", 9),
        ("tree/new.docx", 1),
        ("outside.docx", 0),
    ] {
        changed(name, days);
    }
    for (name, days) in [("tree/one.txt", 1), ("tree/two.txt", 2), ("outside.txt", 3)] {
        changed(name, days);
    }
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let ages = |args: &[&str], list: &str| -> BTreeSet<String> {
        let ask = |more: &[&str]| sandbox.resemble(args.iter().chain(more)).json();
        let (asked, alone) = (
            ask(&["--format", "json"]),
            ask(&["--local", "--format", "json"]),
        );
        assert_eq!(asked[list], alone[list], "{args:?}");
        let name = |row: &Value, side: &str| {
            let path = row[side].as_str().map(Path::new);
            let name = path.and_then(Path::file_name).unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        let (a, b) = if list == "pairs" {
            ("a", "b")
        } else {
            ("file", "path")
        };
        let rows = asked[list].as_array().expect("rows").iter();
        let word = |row: &Value, key: &str| row[key].as_str().unwrap_or("-").to_owned();
        rows.map(|row| {
            let (newer, by) = (word(row, "newer"), word(row, "newer_by"));
            format!("{} {} {newer} {by}", name(row, a), name(row, b))
        })
        .collect()
    };
    let is = |rows: BTreeSet<String>, expected: &[&str]| {
        let expected = expected.iter().map(|row| (*row).to_owned());
        assert_eq!(rows, expected.collect());
    };
    let documents = ["new.docx old.docx a document", "one.txt two.txt b file"];
    is(ages(&["pairs", "tree"], "pairs"), &documents);
    let find = |file| ages(&["find", file, "--in", "tree"], "results");
    is(find("tree/old.docx"), &["old.docx new.docx b document"]);
    is(
        find("tree/two.txt"),
        &["two.txt one.txt a file", "two.txt packed.zip!in.txt - -"],
    );
    is(
        find("outside.docx"),
        &[
            "outside.docx new.docx a document",
            "outside.docx old.docx a document",
        ],
    );
    is(
        find("outside.txt"),
        &[
            "outside.txt one.txt a file",
            "outside.txt two.txt a file",
            "outside.txt packed.zip!in.txt - -",
        ],
    );
    let csv = ["find", "tree/two.txt", "--in", "tree", "--format", "csv"];
    assert!(sandbox.resemble(csv).text().contains(",a,file\n"));
    let told = sandbox.resemble(["pairs", "tree", "-v"]).text();
    assert!(
        told.contains("the second is newer by time of change"),
        "{told}"
    );
    // If only the modification time of a file changes, the answer about the newer file changes at
    // once.
    changed("tree/one.txt", 5);
    daemon.sync();
    is(
        ages(&["pairs", "tree"], "pairs"),
        &[documents[0], "one.txt two.txt a file"],
    );
    is(
        find("tree/two.txt"),
        &["two.txt one.txt b file", "two.txt packed.zip!in.txt - -"],
    );
}

/// The dates in the catalogue decide the age of a catalogued file, with a daemon and without.
#[test]
fn a_file_of_a_catalogue_that_the_daemon_has_not_is_as_old_as_it_was() {
    let sandbox = Sandbox::new();
    let words = |seed| String::from_utf8(prose(seed, 9_000)).expect("text");
    std::fs::create_dir(sandbox.path("disk")).expect("a folder");
    let then = |name: &str| {
        let time = UNIX_EPOCH + Duration::from_secs(1_600_000_000);
        let file = File::options().write(true).open(sandbox.path(name));
        file.and_then(|file| file.set_modified(time)).expect(name);
    };
    std::fs::write(sandbox.path("disk/plain.txt"), words(1)).expect("a file");
    let dated = dated_docx(&words(2), "2020-01-01T10:00:00Z");
    std::fs::write(sandbox.path("disk/dated.docx"), dated).expect("a file");
    then("disk/plain.txt");
    sandbox.write("plain.txt", words(1) + &words(3)[..600]);
    let later = dated_docx(&(words(2) + &words(4)[..600]), "2021-01-01T10:00:00Z");
    sandbox.write("dated.docx", later);
    sandbox
        .resemble(["catalogue", "write", "disk", "-o", "disk.cat", "--local"])
        .success();
    std::fs::remove_dir_all(sandbox.path("disk")).expect("gone");
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    for (file, by) in [("plain.txt", "file"), ("dated.docx", "document")] {
        let subject = format!("disk.cat:/{file}");
        let ask = |local: &[&str]| {
            let words = [
                &["find", &subject, "--in", "tree", "--format", "json"],
                local,
            ]
            .concat();
            let results = sandbox.resemble(words).json()["results"].take();
            (results[0]["newer"].clone(), results[0]["newer_by"].clone())
        };
        assert_eq!(ask(&[]), ("b".into(), by.into()), "{file}");
        assert_eq!(ask(&["--local"]), ask(&[]), "{file}");
    }
}
