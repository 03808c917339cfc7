//! `groups --from REPORT` with a filter must print the same as `groups` with that filter.

use std::fs;
use std::time::{Duration, SystemTime};

use resemble_testutil::pack::{mail, zip};
use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Ran, Sandbox};
use serde_json::Value;

/// Makes versions and copies of texts, and two texts with a file that contains both. Also makes an
/// archive of some files, and an archive and a mail whose members are similar.
fn mixed_tree(sandbox: &Sandbox) {
    let report = prose(1, 20_000);
    for at in 0..4u64 {
        let version = edited(&report, 10 + at, 3 + at as usize);
        sandbox.write(format!("work/report-{at}.txt"), &version);
        if at == 1 {
            sandbox.write("old/report-1.txt", &version);
            sandbox.write("a/report-1.md", &version);
        }
    }
    let small = prose(2, 3_000);
    sandbox.write("work/small.txt", &small);
    sandbox.write("old/small-2.txt", edited(&small, 3, 2));
    let (one, other) = (prose(4, 9_000), prose(5, 7_000));
    sandbox.write("parts/one.txt", &one);
    sandbox.write("parts/other.md", edited(&other, 6, 3));
    sandbox.write("parts/both.txt", [&one[..], &other].concat());
    sandbox.write("a/parts.zip", zip(&[("1", &one[..]), ("2", &other)]));
    let letter = prose(7, 4_000);
    let letters: Vec<Vec<u8>> = (0..3).map(|at| edited(&letter, 20 + at, 4)).collect();
    let members: Vec<(String, &[u8])> = (0..)
        .zip(&letters)
        .map(|(at, letter): (u32, _)| (format!("letter-{at}.txt"), &letter[..]))
        .collect();
    let members: Vec<(&str, &[u8])> = members
        .iter()
        .map(|(name, letter)| (&name[..], *letter))
        .collect();
    sandbox.write("old/letters.zip", zip(&members));
    let note = prose(8, 2_500);
    let notes = [edited(&note, 9, 2), edited(&note, 30, 2)];
    let notes: Vec<(&str, &[u8])> = [("x.txt", &notes[0][..]), ("y.txt", &notes[1])].into();
    sandbox.write("work/notes.eml", mail("notes", &notes));
    // Each file gets a different modification time.
    let ran = sandbox.resemble(["dump", "--canonical", "tree", "--local"]);
    let day = Duration::from_secs(86_400);
    let begin = SystemTime::UNIX_EPOCH + day * 15_000;
    for (at, line) in (0..).zip(ran.text().lines()) {
        let path = line.split('\t').next().unwrap_or_default();
        if let Ok(file) = fs::File::options().write(true).open(path) {
            file.set_modified(begin + day * ((at * 7) % 23))
                .expect("a time");
        }
    }
}

/// Returns the groups of an answer, without the fields that cannot be computed from a report.
fn groups(ran: &Ran) -> Value {
    let mut document = ran.json();
    let mut body = serde_json::Map::new();
    for list in ["identical", "clusters"] {
        body.insert(list.to_owned(), document[list].take());
    }
    for total in [
        "sets",
        "set_files",
        "overhead",
        "clusters",
        "cluster_files",
        "links",
    ] {
        body.insert(
            format!("summary.{total}"),
            document["summary"][total].take(),
        );
    }
    let mut body = Value::Object(body);
    without_unknown(&mut body);
    body
}

fn without_unknown(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for unknown in ["worst", "component", "discounted", "reason"] {
                fields.remove(unknown);
            }
            fields.values_mut().for_each(without_unknown);
        }
        Value::Array(values) => values.iter_mut().for_each(without_unknown),
        _ => {}
    }
}

#[test]
fn a_filter_says_the_same_of_a_saved_report_as_of_the_files() {
    let sandbox = Sandbox::new();
    mixed_tree(&sandbox);
    let ask = |words: &[&str]| {
        let words = [&["groups"], words, &["--format", "json"]].concat();
        sandbox.resemble(words)
    };
    let saved = sandbox.path("saved.json");
    let whole = ask(&["tree", "--local"]);
    fs::write(&saved, &whole.out).expect("a report");
    let whole = groups(&whole);
    let clusters = whole["clusters"].as_array().expect("clusters");
    let within = clusters.iter().filter(|one| one.get("container").is_some());
    assert_eq!(within.count(), 2, "{whole:#}");
    let filters: [&[&str]; 12] = [
        &[],
        &["--min-size", "4K"],
        &["--min-size", "10K"],
        &["--include", "*.txt"],
        &["--include", "*.zip", "--include", "*.eml"],
        &["--exclude", "old/"],
        &["--exclude", "a/"],
        &["--exclude", "report-0*", "--exclude", "both*"],
        &["--min", "99.8%"],
        &["--only", "near"],
        &["--exclude", "a/", "--only", "near"],
        &["--only", "identical"],
    ];
    let mut differ = 0;
    for filter in filters {
        let direct = groups(&ask(&[&["tree", "--local"], filter].concat()));
        let from = ["--from", saved.to_str().expect("a name")];
        let again = groups(&ask(&[&from[..], filter].concat()));
        assert_eq!(again, direct, "{filter:?}");
        differ += usize::from(direct != whole);
    }
    assert_eq!(
        differ,
        filters.len() - 1,
        "each filter takes something away"
    );
}

#[test]
fn what_a_saved_report_leaves_out_is_named_and_memory_is_no_parameter() {
    let sandbox = Sandbox::new();
    mixed_tree(&sandbox);
    let words = [
        "groups", "tree", "--local", "--top", "1", "--format", "json",
    ];
    let cut = sandbox.resemble([&words[..], &["--memory", "64M"]].concat());
    assert_eq!(cut.text(), sandbox.resemble(words).text());
    let parameters = &cut.json()["parameters"];
    assert!(parameters.get("memory").is_none(), "{parameters}");
    fs::write(sandbox.path("cut.json"), &cut.out).expect("a report");
    let again = sandbox.resemble(["groups", "--from", "cut.json"]);
    let note = "rows are in the report: it was made with --top";
    assert!(again.err.contains(note), "{}", again.err);
    assert!(!again.err.contains("near-copies"), "{}", again.err);
}
