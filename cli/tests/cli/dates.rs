//! Tests the dates that pictures and web pages state, and where versions of a file are found.

use std::fs;

use resemble_testutil::pack;
use resemble_testutil::picture::{MODIFIED, jpeg, tiff};
use resemble_testutil::prose::paragraphs;
use resemble_testutil::random::noise;

use crate::environment;
use crate::plans::set_time;

/// Pictures and web pages have no parts, but they state a date. The date determines the newest
/// version. This holds for files on the disk, for files in a catalogue, and for a file from
/// standard input.
#[test]
fn pictures_and_pages_state_their_dates() {
    let env = environment();
    let bytes = noise(7, 90_000);
    for (name, day, edit) in [("a", 7, "once"), ("b", 5, "twice"), ("c", 6, "thrice")] {
        let exif = tiff(&[(MODIFIED.0, &format!("2020:01:0{day} 12:00:00"))], 0);
        let edited = [&bytes[..40_000], edit.as_bytes(), &bytes[40_000..]].concat();
        env.write(format!("docs/{name}.jpg"), jpeg(&exif, &edited));
        let page = format!(
            "<!doctype html><head><meta name=\"date\" content=\"2020-01-0{day}\"></head>\n\
             <p>{}{edit}",
            paragraphs(3, 40)
        );
        env.write(format!("docs/{name}.html"), page);
    }
    assert_eq!(env.run(["export", "docs", "-o", "docs.cat"]).code, 0);
    for scope in ["docs", "docs.cat"] {
        let json = env.run(["groups", scope, "--format", "json"]).json();
        let clusters = json["clusters"].as_array().expect("clusters");
        let mut newest: Vec<_> = clusters
            .iter()
            .flat_map(|cluster| cluster["members"].as_array().expect("members"))
            .filter(|member| member["newest"] == true)
            .map(|member| {
                let path = member["path"].as_str().expect("a path");
                let source = member["document_date"]["source"].as_str();
                (path.rsplit('/').next().unwrap_or_default(), source)
            })
            .collect();
        newest.sort_unstable();
        let expected = [("a.html", Some("date")), ("a.jpg", Some("DateTime"))];
        assert_eq!(newest, expected, "{scope}: {json}");
    }
    let picture = fs::read(env.path("docs/b.jpg")).unwrap();
    let found = env
        .feed(["find", "-", "--in", "docs", "-v"], &picture)
        .text();
    assert!(
        found.contains("a.jpg  DateTime 2020-01-07  newer by stated date"),
        "{found}"
    );
}

/// If texts are turned off, no document is read. So the answer must not depend on what the cache
/// knows.
#[test]
fn no_stated_date_counts_if_bytes_are_compared() {
    let env = environment();
    for (name, day, edit) in [("a", 7, "once"), ("b", 5, "twice")] {
        let text = paragraphs(3, 40);
        let mail = format!(
            "From: a@example.org\nDate: Tue, {day} Jan 2020 12:00:00 +0000\n\n{text}\n{edit}\n"
        );
        env.write(format!("docs/{name}.eml"), mail);
    }
    let ask = |args: &[&str]| {
        env.run([args, &["--format=json", "--text=off"]].concat())
            .json()
    };
    let answers = || {
        let pairs = ask(&["pairs", "docs"])["pairs"].clone();
        let groups = ask(&["groups", "docs"])["clusters"].clone();
        let found = ask(&["find", "docs/b.eml", "--in=docs"])["results"].clone();
        [pairs, groups, found]
    };
    let before = answers();
    assert!(before.iter().all(|rows| rows[0].is_object()), "{before:?}");
    let by_texts = env.run(["groups", "docs", "--format=json"]).json();
    let date = &by_texts["clusters"][0]["members"][0]["document_date"];
    assert!(date.is_object(), "{by_texts}");
    assert_eq!(answers(), before);
}

/// A date more than a day ahead counts as unknown. This holds for the time of a file and for the
/// date in a document.
#[test]
fn no_version_of_the_future_is_the_newest() {
    let env = environment();
    for (name, edit, seconds) in [
        ("a", "once", 1_000_000_000),
        ("b", "twice", 1_100_000_000),
        ("c", "thrice", 9_000_000_000),
        ("d", "often", 900_000_000),
    ] {
        let text = format!("{} {edit}", paragraphs(3, 40));
        set_time(&env.write(format!("docs/{name}.txt"), &text), seconds, 0);
        let day = if name == "a" {
            "2222-02-02"
        } else {
            "2020-01-05"
        };
        let page = format!(
            "<!doctype html><head><meta name=\"date\" content=\"{day}\"></head>\n<p>{} {edit}",
            paragraphs(4, 40)
        );
        set_time(&env.write(format!("docs/{name}.html"), page), seconds, 0);
    }
    let newest = |rows: &serde_json::Value| -> Vec<String> {
        let rows = rows.as_array().expect("rows").iter();
        let newest = rows.filter(|row| row["newest"] == true);
        newest.map(|row| row["path"].to_string()).collect()
    };
    let report = ["groups", "docs", "--format", "json", "-o", "report"];
    env.run(report).success();
    for asked in [["docs", "--local"], ["--from", "report"]] {
        let all = [&["groups"], &asked[..], &["--format", "json"]].concat();
        // If `d` is excluded, the other files have the same newest version as before.
        for more in [&[][..], &["--exclude", "d.*"]] {
            let json = env.run([&all[..], more].concat()).json();
            let clusters = json["clusters"].as_array().expect("clusters").iter();
            let mut found: Vec<String> = clusters.flat_map(|one| newest(&one["members"])).collect();
            found.sort();
            let expected = ["\"docs/b.html\"", "\"docs/b.txt\""];
            assert_eq!(found, expected, "{asked:?} {more:?}: {json}");
        }
    }
    let text = env.run(["groups", "docs", "--local"]).text();
    assert!(text.contains("docs/b.html  newest\n"), "{text}");
    for name in ["txt", "html"] {
        let file = format!("docs/a.{name}");
        let json = env.run(["versions", &file, "--in", "docs", "--format", "json"]);
        let expected = [format!("\"docs/b.{name}\"")];
        assert_eq!(newest(&json.json()["versions"]), expected);
    }
    let rows = env.run(["find", "docs/c.txt", "--in", "docs", "--format", "json"]);
    let rows = rows.json();
    assert!(rows["results"][0]["relation"] == "near" && rows["results"][0]["newer"].is_null());
}

/// FILE may lie outside the directories of --in, or in a catalogue. As in `find`, a file below
/// these directories that cannot be read in full does not change the exit code.
#[test]
fn versions_are_found_in_another_directory() {
    let env = environment();
    let text = |edit: u64| [paragraphs(1, 40), paragraphs(100 + edit, 1)].concat();
    env.write("old/v1.txt", text(1));
    env.write("old/v2.txt", text(2));
    env.write("new/v3.txt", text(3));
    env.write("new/other.txt", text(4));
    let versions = |file: &str, within: &str| {
        let ran = env.run(["versions", file, "--in", within, "--format", "json"]);
        let json = ran.exits(0).json();
        let rows = json["versions"].as_array().expect("rows").iter();
        let mut paths: Vec<_> = rows
            .map(|row| row["path"].as_str().unwrap().to_owned())
            .collect();
        paths.sort_unstable();
        paths
    };
    let expected = ["new/v3.txt", "old/v1.txt", "old/v2.txt"];
    assert_eq!(versions("new/v3.txt", "old"), expected);
    let zip = pack::zip(&[("member.txt", text(5).as_bytes())]);
    env.write("old/broken.zip", &zip[..zip.len() / 2]);
    assert_eq!(versions("new/v3.txt", "old"), expected);
    fs::remove_file(env.path("old/broken.zip")).unwrap();
    env.run(["catalogue", "write", "old", "-o", "old.cat"])
        .exits(0);
    let expected = ["old.cat:/v1.txt", "old.cat:/v2.txt"];
    assert_eq!(versions("old.cat:/v1.txt", "old.cat"), expected);
}
