//! Tests the figures of pairs in which one side is only in a catalogue. Some pairs are two
//! archives. Other pairs are an archive and a file that is a copy or an edited version of a member.

use std::fs;
use std::path::Path;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::random::noise;
use resemble_testutil::{Sandbox, pack};
use serde_json::Value;

const KIN: [&str; 3] = ["data.bin", "minutes.txt", "same.txt"];

/// Writes an archive with 39 members: three files, twelve unrelated texts, twelve texts with a
/// common frame, and twelve tiny texts. `files` gets edited versions of the first two of the three
/// files, a copy of the third file, and unrelated files.
fn archive_and_files(archive: &Path, files: &Path) {
    let (minutes, same) = (prose(1, 14_000), prose(2, 9_000));
    let data = noise(3, 60_000);
    let frame = prose(4, 600);
    let framed = |seed| [&frame[..], &prose(seed, 4_000)].concat();
    let mut members = vec![
        ("in/minutes.txt".to_owned(), minutes.clone()),
        ("in/data.bin".to_owned(), data.clone()),
        ("in/same.txt".to_owned(), same.clone()),
    ];
    for at in 0..12u64 {
        members.push((format!("other/{at}.txt"), prose(100 + at, 6_000)));
        members.push((format!("framed/{at}.txt"), framed(200 + at)));
        members.push((format!("tiny/{at}.txt"), prose(300 + at, 200)));
    }
    let members: Vec<(&str, &[u8])> = members
        .iter()
        .map(|(name, bytes)| (&name[..], &bytes[..]))
        .collect();
    fs::create_dir_all(archive).expect("a folder");
    fs::create_dir_all(files).expect("a folder");
    fs::write(archive.join("archive.zip"), pack::zip(&members)).expect("an archive");
    let mut changed = data;
    changed[30_000..30_040].fill(b'x');
    let loose: [(&str, Vec<u8>); 6] = [
        ("minutes.txt", edited(&minutes, 5, 6)),
        ("data.bin", changed),
        ("same.txt", same),
        ("framed.txt", framed(400)),
        ("tiny.txt", prose(300, 220)),
        ("stranger.txt", prose(401, 5_000)),
    ];
    for (name, bytes) in loose {
        fs::write(files.join(name), bytes).expect("a file");
    }
}

/// Writes an archive, and three other archives in `files`. Compared with `archive`, the first of
/// them has half of the members, the second has edited members, and the third has other members.
fn archives(archive: &Path, files: &Path) {
    let text = |at: u64| prose(100 + at, 5_000 + 300 * at as usize);
    let data = |at: u64| noise(200 + at, 20_000 + 1_000 * at as usize);
    let pack = |texts: &[Vec<u8>], others: &[Vec<u8>]| {
        let members = texts.iter().chain(others);
        let names: Vec<String> = (0..texts.len() + others.len())
            .map(|at| format!("in/{at}"))
            .collect();
        let members: Vec<(&str, &[u8])> = names
            .iter()
            .zip(members)
            .map(|(name, bytes)| (&name[..], &bytes[..]))
            .collect();
        pack::zip(&members)
    };
    let texts = |range: std::ops::Range<u64>| range.map(text).collect::<Vec<_>>();
    let others = |range: std::ops::Range<u64>| range.map(data).collect::<Vec<_>>();
    let mut newer = texts(0..20);
    for (at, text) in newer.iter_mut().enumerate().filter(|(at, _)| at % 3 == 0) {
        *text = edited(text, at as u64, 4);
    }
    fs::create_dir_all(archive).expect("a folder");
    fs::create_dir_all(files).expect("a folder");
    let write = |to: &Path, name: &str, bytes: Vec<u8>| {
        fs::write(to.join(name), bytes).expect("an archive");
    };
    write(archive, "archive.zip", pack(&texts(0..20), &others(0..4)));
    write(files, "half.zip", pack(&texts(10..30), &others(2..6)));
    write(files, "newer.zip", pack(&newer, &others(0..4)));
    write(files, "stranger.zip", pack(&texts(50..60), &others(50..52)));
}

/// Returns the figures of the archive and each other file, sorted by the name of the other file. In
/// a row, the archive may be the first or the second file.
fn figures(answer: &Value) -> Vec<(String, Vec<Value>)> {
    let mut found = Vec::new();
    collect(answer, &mut found);
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn collect(value: &Value, found: &mut Vec<(String, Vec<Value>)>) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| collect(one, found)),
        Value::Object(fields) => {
            let path = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
            let sides = [
                (path("a"), path("b")),
                (path("file"), path("path")),
                (path("path"), path("by")),
            ];
            let is_archive = |path: &str| path.ends_with("archive.zip");
            for (one, other) in sides {
                if is_archive(one) == is_archive(other) || one.is_empty() || other.is_empty() {
                    continue;
                }
                let (single, order) = if is_archive(one) {
                    (other, ["a_in_b", "b_in_a"])
                } else {
                    (one, ["b_in_a", "a_in_b"])
                };
                let name = single.rsplit('/').next().unwrap_or_default();
                let mut all: Vec<Value> = order.map(|share| fields[share].clone()).into();
                all.push(fields["estimate"].clone());
                let interval = fields.get("interval");
                all.extend(
                    order.map(|share| interval.map_or(Value::Null, |all| all[share].clone())),
                );
                found.push((name.to_owned(), all));
            }
            fields.values().for_each(|field| collect(field, found));
        }
        _ => {}
    }
}

/// Checks that each verb reports the same estimates with a daemon and without. The intervals must
/// contain the true figures, and no unrelated file may be listed. One of the folders `archive` and
/// `files` is `tree`. The other folder is `disk`, which is catalogued and then removed.
fn one_estimate_in_every_verb(
    (archive, files): (&str, &str),
    write: fn(&Path, &Path),
    kin: &[&str],
    most_off: f64,
) {
    let sandbox = Sandbox::new();
    write(&sandbox.path(archive), &sandbox.path(files));
    let ask = |words: &[&str]| sandbox.resemble([words, &["--format", "json"]].concat());
    let find = |archive: &str, files: &str| {
        let archive = format!("{archive}/archive.zip");
        let answer = ask(&["find", &archive, "--in", files, "--local", "--no-cache"]);
        figures(&answer.json())
    };
    let proven = find(archive, files);
    sandbox
        .resemble(["catalogue", "write", "disk", "-o", "disk.cat", "--local"])
        .success();
    fs::remove_dir_all(sandbox.path("disk")).expect("gone");
    let recorded = |folder: &str| {
        if folder == "disk" {
            "disk.cat:"
        } else {
            "tree"
        }
    };
    let expected = find(recorded(archive), recorded(files));
    let names: Vec<&str> = expected.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, kin);
    for ((name, estimate), (of, truth)) in expected.iter().zip(&proven) {
        assert_eq!(name, of);
        assert_eq!([&estimate[2], &truth[2]], [true, false]);
        for side in 0..2 {
            let share = |value: &Value| value.as_f64().expect("a share");
            let ends = &estimate[3 + side];
            let (low, high, truth) = (share(&ends[0]), share(&ends[1]), share(&truth[side]));
            // Shares are rounded to six digits.
            let is_within = low - 1e-6 <= truth && truth <= high + 1e-6;
            assert!(is_within, "{name}: {truth} in {low} to {high}");
            let off = (share(&estimate[side]) - truth).abs();
            assert!(off <= most_off, "{name}: {off}");
        }
    }
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let subject = format!("{}/archive.zip", recorded(archive));
    let relations = "near,contains,contained,shares";
    let mut verbs = vec![
        vec!["find", &subject, "--in", recorded(files)],
        vec!["compare", "disk.cat", "tree"],
        vec!["compare", "tree", "disk.cat"],
        vec!["groups", "tree", "disk.cat"],
        vec![
            "pairs",
            "tree",
            "disk.cat",
            "--text",
            "all",
            "--relation",
            relations,
        ],
    ];
    if archive == "disk" {
        verbs.push(vec!["covered", "tree", "--by", "disk.cat"]);
    }
    for words in verbs {
        for local in [&["--local", "--no-cache"][..], &[]] {
            let answer = ask(&[&words[..], local].concat());
            let mut found = figures(&answer.json());
            // `groups` reports each pair twice: as a link and at a member.
            found.dedup();
            assert_eq!(found, expected, "{words:?} {local:?}");
        }
    }
}

#[test]
fn an_archive_in_a_catalogue_meets_files_that_are_here() {
    one_estimate_in_every_verb(("disk", "tree"), archive_and_files, &KIN, 1.0);
}

#[test]
fn an_archive_that_is_here_meets_files_in_a_catalogue() {
    one_estimate_in_every_verb(("tree", "disk"), archive_and_files, &KIN, 1.0);
}

#[test]
fn archives_of_which_one_is_in_a_catalogue_are_judged_by_their_members() {
    for places in [("disk", "tree"), ("tree", "disk")] {
        one_estimate_in_every_verb(places, archives, &["half.zip", "newer.zip"], 0.05);
    }
}
