//! Tests the first outputs that a new user sees, and what the pages promise about them.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use resemble_testutil::prose::paragraphs;
use resemble_testutil::{Environment, Ran, finish, office, pack};

use crate::environment;
use crate::streams::on_terminal;

/// Writes a file whose modification time is `seconds` after 1970.
pub(crate) fn dated(env: &Environment, name: &str, bytes: &str, seconds: u64) {
    let path = env.write(name, bytes);
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds))
        .unwrap();
}

/// Makes four versions, a copy of one, and an unrelated file. The names of the versions are not in
/// the order of their dates.
fn versions() -> Environment {
    let env = environment();
    let text = |edits: u64| [paragraphs(1, 60), paragraphs(100 + edits, 2)].concat();
    let day = |day: u64| 1_700_000_000 + day * 86_400;
    dated(&env, "docs/d.txt", &text(1), day(1));
    dated(&env, "docs/a.txt", &text(2), day(2));
    dated(&env, "docs/old/copy.txt", &text(2), day(3));
    dated(&env, "docs/c.txt", &text(3), day(4));
    dated(&env, "docs/b.txt", &text(4), day(5));
    dated(&env, "docs/stranger.txt", &paragraphs(9, 60), day(6));
    env
}

/// On a terminal `find` lists versions of FILE first, then files that contain FILE, then files that
/// FILE contains. In a pipe, rows are sorted by score alone. On a terminal the newest version is
/// marked, unless it is FILE.
#[test]
fn a_terminal_gets_versions_first_with_sizes_and_dates() {
    let env = environment();
    let day = |day: u64| 951_825_600 + day * 86_400;
    let (text, more) = (paragraphs(1, 30), paragraphs(2, 60));
    dated(&env, "docs/report.txt", &text, day(2));
    dated(&env, "docs/copy.txt", &text, day(1));
    let edited = [&text[..text.len() * 8 / 10], &paragraphs(3, 6)].concat();
    dated(&env, "docs/edited.txt", &edited, day(4));
    dated(&env, "docs/book.txt", &[&text[..], &more].concat(), day(9));
    dated(&env, "docs/page.txt", &paragraphs(1, 3), day(8));
    let half = [&text[..text.len() / 2], &more].concat();
    dated(&env, "docs/half.txt", &half, day(7));
    let shown = |file: &str| {
        let (code, text) = on_terminal(&env, &["find", file, "--in", "docs"], "dumb");
        assert_eq!(code, Some(0), "{text}");
        let lines = text.lines().skip(1).map(str::to_owned);
        lines.collect::<Vec<String>>()
    };
    let fields = |line: &String| line.split_whitespace().map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = shown("docs/report.txt").iter().map(fields).collect();
    let order: Vec<&str> = rows.iter().map(|row| &row[5][..]).collect();
    let last = ["docs/book.txt", "docs/page.txt", "docs/half.txt"];
    assert_eq!(order[..2], ["docs/copy.txt", "docs/edited.txt"], "{rows:?}");
    assert_eq!(order[2..], last, "{rows:?}");
    let relations: Vec<&str> = rows.iter().map(|row| &row[1][..]).collect();
    let expected = ["identical", "near", "contained", "contains", "shares"];
    assert_eq!(relations, expected, "{rows:?}");
    let size = fs::metadata(env.path("docs/edited.txt")).unwrap().len();
    let size = resemble_report::human::human_size(size);
    let dated = [&size[..], "2000-03-04", "docs/edited.txt", "newest"].join(" ");
    assert!(rows[1].join(" ").ends_with(&dated), "{rows:?}");
    let marked = rows.iter().filter(|row| row.len() > 6).count();
    assert_eq!(marked, 1, "{rows:?}");
    // FILE itself is the newest version, so no row is marked.
    let of_newest = shown("docs/edited.txt");
    assert!(!of_newest.concat().contains("newest"), "{of_newest:?}");
    // In a pipe, rows are sorted by score and have no sizes and dates.
    let piped = env.run(["find", "docs/report.txt", "--in", "docs"]);
    let text_of_pipe = piped.text();
    let rows = text_of_pipe.lines().map(|line| line.rsplit("  ").next());
    let paths: Vec<&str> = rows.flatten().collect();
    let by_score = [
        "docs/copy.txt",
        "docs/book.txt",
        "docs/page.txt",
        "docs/edited.txt",
        "docs/half.txt",
    ];
    assert_eq!(paths, by_score, "{piped:?}");
    // The row of a member has neither a size nor a date.
    let zip = pack::zip(&[("member.txt", text.as_bytes())]);
    env.write("docs/old.zip", zip);
    let with_member = shown("docs/report.txt");
    let is_member = |line: &&String| line.contains("!member.txt");
    let member = with_member.iter().find(is_member);
    let member = member.unwrap_or_else(|| panic!("{with_member:?}"));
    assert_eq!(member.split_whitespace().count(), 3, "{member:?}");
}

#[test]
fn versions_of_a_file_come_by_their_dates() {
    let env = versions();
    for file in ["docs/a.txt", "docs/b.txt", "docs/d.txt"] {
        let mut order = vec!["docs/d.txt", "docs/a.txt", "docs/c.txt", "docs/b.txt"];
        // A copy of FILE has a row of its own. Copies of another version are only counted.
        let has_copy = file == "docs/a.txt";
        if has_copy {
            order.insert(2, "docs/old/copy.txt");
        }
        let ran = env.run(["versions", file, "--in", "docs", "--format", "json"]);
        let json = ran.json();
        let rows = json["versions"].as_array().unwrap();
        let paths: Vec<&str> = rows
            .iter()
            .map(|row| row["path"].as_str().unwrap())
            .collect();
        assert_eq!((ran.code, &paths), (0, &order), "{file}");
        assert_eq!(json["total"], order.len());
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(row["newest"], at + 1 == order.len(), "{file}: {row}");
            let path = row["path"].as_str().unwrap();
            let size = fs::metadata(env.path(path)).unwrap().len();
            assert_eq!(row["size"], size, "{row}");
            assert_eq!(row["asked"], path == file, "{row}");
            let is_counted = path == "docs/a.txt" && !has_copy;
            assert_eq!(row["copies"], if is_counted { 2 } else { 1 }, "{row}");
            let is_equal = path == file || (has_copy && path == "docs/old/copy.txt");
            let share = |name: &str| row[name].as_f64().unwrap();
            let shares = (share("a_in_b"), share("b_in_a"));
            assert_eq!(shares == (1.0, 1.0), is_equal, "{row}");
            assert!(shares.0 > 0.5 && shares.1 > 0.5, "{row}");
        }
    }
    let text = env.run(["versions", "docs/a.txt", "--in", "docs"]).text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(lines[1].starts_with("FILE  "), "{text}");
    assert!(lines[2].starts_with("100%  "), "{text}");
    assert!(
        lines[4].contains("  2023-11-19  docs/b.txt  newest"),
        "{text}"
    );
    let tsv = env
        .run(["versions", "docs/a.txt", "--in", "docs", "--format", "tsv"])
        .text();
    assert!(
        tsv.lines().all(|line| line.split('\t').count() == 8),
        "{tsv}"
    );
    let csv = env
        .run(["versions", "docs/a.txt", "--in", "docs", "--format", "csv"])
        .text();
    assert!(
        csv.starts_with("path,mtime,size,a_in_b,b_in_a,estimate,newest,copies,document_date\n"),
        "{csv}"
    );

    let alone = env.run(["versions", "docs/stranger.txt", "--in", "docs"]);
    assert_eq!((alone.code, alone.text().as_str()), (1, ""), "{alone:?}");
    assert!(alone.err.contains("no other version found"), "{alone:?}");
    let dir = env.run(["versions", "docs"]);
    assert_eq!(dir.code, 2);
    assert!(dir.err.contains("is a directory"), "{dir:?}");
    let listed = env.run(["help", "--all"]).text();
    assert!(listed.contains("  versions "), "{listed}");
}

/// With `--top`, pairs that are similar but not equal are listed first, larger files before smaller
/// ones. With `--score`, rows are sorted by that score.
#[test]
fn the_first_pairs_are_worth_reading() {
    let env = environment();
    for copy in 0..3 {
        env.write(format!("docs/same-{copy}.txt"), paragraphs(1, 400));
    }
    let (small, large) = (paragraphs(2, 40), paragraphs(3, 200));
    env.write("docs/small-1.txt", &small);
    env.write(
        "docs/small-2.txt",
        [&small[..], &paragraphs(50, 1)].concat(),
    );
    env.write("docs/large-1.txt", &large);
    env.write(
        "docs/large-2.txt",
        [&large[..], &paragraphs(51, 20)].concat(),
    );
    let first = |args: &[&str]| -> Vec<String> {
        let ran = env.run([&["pairs", "docs", "--format", "tsv"], args].concat());
        let text = ran.text();
        text.lines()
            .map(|line| line.split('\t').next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(first(&["--top", "1"]), ["docs/large-1.txt"]);
    assert_eq!(
        first(&["--top", "3"]),
        ["docs/large-1.txt", "docs/small-1.txt", "docs/same-0.txt"]
    );
    assert_eq!(
        first(&["--top", "1", "--score", "containment"]),
        ["docs/same-0.txt"]
    );
    assert_eq!(
        first(&[])[0],
        "docs/same-0.txt",
        "all rows by the score, as ever"
    );
    // If one relation is selected, the header counts only the rows of that relation.
    assert_eq!(
        first(&["--only", "near"]),
        ["docs/small-1.txt", "docs/large-1.txt"]
    );
    assert_eq!(first(&["--only", "identical"]), ["docs/same-0.txt"]);
    let json = env
        .run(["pairs", "docs", "--only", "near", "--format", "json"])
        .json();
    assert_eq!(
        (&json["total"], &json["parameters"]["relation"]),
        (&2.into(), &serde_json::json!(["near"]))
    );
    let nothing = env.run(["pairs", "docs", "--only", "contains"]);
    assert_eq!((nothing.code, nothing.text().as_str()), (1, ""));
}

/// The files are copies, two versions, a file that holds another, and a part of that file.
#[test]
fn rows_are_filtered_by_the_relation() {
    let env = environment();
    let text = paragraphs(3, 30);
    env.write("docs/one.txt", &text);
    env.write("docs/copy.txt", &text);
    env.write("docs/edited.txt", text.replacen(' ', " edited ", 3));
    env.write("docs/long.txt", format!("{text}{}", paragraphs(700, 60)));
    env.write("docs/part.txt", paragraphs(700, 10));
    let paths = |verb: &[&str], filter: &str| -> Vec<String> {
        let filtered = ["--relation", filter, "--format", "json"];
        let ran = env.run(verb.iter().chain(&filtered));
        let json = ran.json();
        assert_eq!(json["total"], json["shown"]);
        let wanted: Vec<&str> = filter.split(',').collect();
        assert_eq!(json["parameters"]["relation"], serde_json::json!(wanted));
        let rows = json["results"].as_array().or(json["pairs"].as_array());
        let rows = rows.expect("rows");
        assert_eq!(json["total"], rows.len());
        let path = |row: &serde_json::Value| {
            let relation = row["relation"].as_str().expect("a relation").to_owned();
            let path = row["path"].as_str().or(row["b"].as_str());
            format!("{relation} {}", path.expect("a path"))
        };
        let mut rows: Vec<String> = rows.iter().map(path).collect();
        rows.sort();
        rows
    };
    let find = ["find", "docs/one.txt", "--in", "docs"];
    assert_eq!(paths(&find, "near"), ["near docs/edited.txt"]);
    assert_eq!(
        paths(&find, "identical,near"),
        ["identical docs/copy.txt", "near docs/edited.txt"]
    );
    // The relation of a row describes the subject: `contained` means that the row's file contains
    // the subject.
    assert_eq!(paths(&find, "contained"), ["contained docs/long.txt"]);
    assert_eq!(paths(&find, "contains"), Vec::<String>::new());
    // In `pairs` neither file is the subject, so `contains` and `contained` select the same rows.
    let pairs = ["pairs", "docs"];
    assert_eq!(paths(&pairs, "contains"), paths(&pairs, "contained"));
    assert_eq!(paths(&pairs, "contains").len(), 4);
    let groups = |filter: &str| {
        let ran = env.run(["groups", "docs", "--relation", filter, "--format", "json"]);
        let json = ran.json();
        let sets = json["identical"].as_array().expect("sets").len();
        let mut clusters: Vec<usize> = json["clusters"]
            .as_array()
            .expect("clusters")
            .iter()
            .map(|cluster| cluster["members"].as_array().expect("members").len())
            .collect();
        clusters.sort_unstable();
        assert_eq!(json["total"], sets + clusters.len());
        (sets, clusters)
    };
    assert_eq!(groups("near"), (0, vec![2]));
    assert_eq!(groups("near,identical"), (1, vec![2]));
    assert_eq!(groups("identical"), (1, vec![]));
    assert_eq!(groups("contained").0, 0);
    for verb in [&find[..], &pairs[..], &["groups", "docs"], &["alerts"]] {
        let ran = env.run(verb.iter().chain(&["--relation", "alike"]));
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(
            ran.err.contains("'alike' for '--relation <RELATION>'"),
            "{ran:?}"
        );
    }
}

#[test]
fn a_directory_and_one_inside_it_are_not_compared_with_themselves() {
    let env = environment();
    env.write("all/a.txt", paragraphs(1, 20));
    env.write("all/part/b.txt", paragraphs(1, 20));
    for (args, side) in [(["all", "all/part"], "A"), (["all/part", "all"], "B")] {
        let ran = env.run(["compare", args[0], args[1]]);
        let note = format!("all/part lies in all: {side} is all without all/part");
        assert!(ran.err.contains(&note), "{ran:?}");
        let head: Vec<String> = ran.text().lines().take(2).map(str::to_owned).collect();
        assert!(
            head.iter().all(|line| line.contains("1 file, ")),
            "{head:?}"
        );
    }
    let beside = env.run(["compare", "all/part", "all/part"]);
    assert!(!beside.err.contains("lies in"), "{beside:?}");
}

/// Runs a shell command line whose `PATH` has the program.
fn sh(env: &Environment, line: &str) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_resemble")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", program.display());
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .env_clear()
        .env("PATH", path)
        .env("HOME", env.home())
        .current_dir(env.path(""));
    finish(&mut command, b"")
}

/// Runs the commands of the page about `covered` as they are printed there.
#[test]
fn the_page_of_covered_makes_a_disk_safe() {
    let env = environment();
    env.write("orig/kept.txt", paragraphs(1, 40));
    env.write("old-disk/kept.txt", paragraphs(1, 40));
    env.write(
        "old-disk/near.txt",
        [paragraphs(1, 40), paragraphs(2, 1)].concat(),
    );
    env.write("old-disk/deep/er/lost\nname", paragraphs(3, 40));
    env.write("old-disk/-dash", "minus");
    let names = env.run(["covered", "old-disk", "--by", "orig", "-0"]);
    let expected = b"-dash\0deep/er/lost\nname\0near.txt\0";
    assert_eq!(
        (names.code, &names.out[..]),
        (1, &expected[..]),
        "{names:?}"
    );
    let trailing = env.run(["covered", "./old-disk/", "--by", "orig", "-0"]);
    assert_eq!(trailing.out, expected, "{trailing:?}");

    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/covered.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, way) = page.split_once("**To make a disk safe**").unwrap();
    let block = way
        .split("```console\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let commands: Vec<&str> = block
        .lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .collect();
    assert!(commands.len() >= 3, "{commands:?}");
    let mut last = None;
    for command in commands {
        last = Some(sh(&env, command));
    }
    let last = last.unwrap();
    assert_eq!(last.code, 0, "{last:?}");
    assert!(last.text().ends_with("it can go\n"), "{last:?}");
    assert_eq!(fs::read(env.path("orig/rescued/-dash")).unwrap(), b"minus");
    let none = env.run(["covered", "old-disk", "--by", "orig", "-0"]);
    assert_eq!((none.code, &none.out[..]), (0, &b""[..]));
}

/// If no daemon runs, alerts are read from the log that a daemon has written. Times are shown in
/// the reader's time zone.
#[test]
fn alerts_without_a_daemon_are_those_of_its_log() {
    let env = environment();
    let log = ".local/state/resemble/alerts.jsonl";
    let row = |seq: u32, time: u64| {
        format!(r#"{{"seq":{seq},"time":{time},"kind":"file","a":"/d/new{seq}","b":"/d/old","#)
            + r#""relation":"near","a_in_b":0.9,"b_in_a":0.9,"shared_bytes":5000,"files":1}"#
    };
    let path = env.home().join(log);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    // Each time is half an hour before midnight in UTC. The last line is cut short, as by a crash.
    let rows = [
        row(1, 951_694_200),
        row(2, 951_780_600),
        "{\"seq\":3,".to_owned(),
    ];
    fs::write(&path, rows.join("\n")).unwrap();
    let ask = |args: &[&str]| {
        let mut command = env.command([&["alerts"], args].concat());
        finish(command.env("TZ", "XXX-1"), b"")
    };
    let all = ask(&[]);
    assert_eq!(all.code, 0, "{all:?}");
    assert_eq!(
        all.text(),
        "2000-02-28 00:30:00  90%  near  /d/new1  /d/old\n\
         2000-02-29 00:30:00  90%  near  /d/new2  /d/old\n"
    );
    assert!(all.err.contains("no daemon answers"), "{all:?}");
    assert!(all.err.contains("alerts.jsonl"), "{all:?}");
    // A date means a day in local time, unless the time ends in Z (UTC).
    assert_eq!(ask(&["--since", "2000-02-29"]).text().lines().count(), 1);
    assert_eq!(ask(&["--since", "2000-02-29T00:00Z"]).code, 1);
    assert_eq!(
        ask(&["--since", "2000-02-28T23:30Z"])
            .text()
            .lines()
            .count(),
        1
    );
    let digest = ask(&["--digest"]).text();
    assert!(
        digest.starts_with("2000-02-28: 1 alert (days are in local time)"),
        "{digest}"
    );
    let json = ask(&["--format", "json"]).json();
    assert_eq!(json["alerts"][1]["time"], 951_780_600);
    // Without a daemon, alerts cannot be followed. If another daemon is named by its socket, the
    // log is not read.
    for args in [&["--follow"][..], &["--socket", "dead"]] {
        let ran = ask(args);
        assert_eq!((ran.code, ran.text()), (2, String::new()), "{ran:?}");
    }
}

/// The first outputs that a user sees have no jargon.
#[test]
fn first_screens_have_no_jargon() {
    let env = environment();
    let text = paragraphs(1, 40);
    for n in 0..60 {
        env.write(
            format!("pages/{n}.txt"),
            [&text[..], &paragraphs(100 + n, 2)].concat(),
        );
    }
    // `all.html` has the text of every chapter, and each chapter is a file, too. No file is an
    // archive.
    let chapters: Vec<String> = (0..4).map(|n| paragraphs(900 + n, 30)).collect();
    let page = |body: &str| format!("<html><body><p>{body}</p></body></html>");
    env.write("book/all.html", page(&chapters.concat()));
    for (n, chapter) in chapters.iter().enumerate() {
        env.write(format!("book/{n}.html"), page(chapter));
    }
    env.write("lone.txt", paragraphs(77, 20));
    let (_, brief) = on_terminal(&env, &["groups", "."], "dumb");
    assert!(brief.contains("  contains  "), "{brief}");
    for word in ["archive", "worst", "cluster of more", "centre"] {
        assert!(!brief.contains(word), "{word}: {brief}");
    }
    assert!(brief.contains("that is in the other"), "a heading: {brief}");
    let nothing = env.run(["find", "lone.txt", "--in", "pages"]);
    assert!(
        nothing.err.contains("nothing found: compared 60 files"),
        "{nothing:?}"
    );
    assert!(!nothing.err.contains(" run "), "{nothing:?}");
    // The full output reports that some files of a large cluster were not compared with each other.
    let whole = env.run(["groups", "pages", "--all"]).text();
    assert!(
        whole.contains("not every two files of 1 cluster with more than 48 files"),
        "{whole}"
    );
    // With --of, only the links of the file's group are counted, not those of the collection.
    for (args, most) in [
        (&["--of", "book/0.html"][..], 10),
        (&["--of", "pages/0.txt", "--family"], 60),
    ] {
        let ran = env.run([&["groups", "."], args, &["--format", "json"]].concat());
        let json = ran.json();
        let links = json["clusters"][0]["links"].as_array().unwrap().len();
        assert_eq!(json["summary"]["links"], links, "{args:?}");
        assert!(links < most, "{links}");
    }
}

/// Help texts and error messages about sizes say what K and KB mean.
#[test]
fn sizes_say_what_they_mean() {
    let env = environment();
    env.write("a.txt", "x");
    let wrong = env.run(["find", "a.txt", "--min-size", "10X"]);
    assert!(wrong.err.contains("10K (10 x 1024)"), "{wrong:?}");
    for (verb, option) in [
        ("find", "--min-size"),
        ("groups", "--memory"),
        ("compare", "--memory"),
        ("covered", "--memory"),
        ("dirs", "--memory"),
        ("groups", "--cache-size"),
        ("watch add", "--max-size"),
        ("watch add", "--alert-min-size"),
        ("covered", "--min-size"),
    ] {
        let help = env.run(verb.split(' ').chain(["--help"])).text();
        let (_, text) = help.split_once(&format!("{option} <")).unwrap();
        let text: String = text.split("\n\n").next().unwrap().to_owned();
        let text = text.split("\n      --").next().unwrap().to_owned();
        assert!(text.contains("1024"), "{verb} {option}: {text}");
    }
    // `pairs --help` documents an option that only catalogues need.
    assert!(
        env.run(["pairs", "--help"])
            .text()
            .contains("--chunk-size <BYTES>")
    );
    assert!(!env.run(["pairs", "-h"]).text().contains("--chunk-size"));
}

/// If all documents of a group state a date, the latest of these dates marks the newest version,
/// whatever the times of the files. If one document states no date, the times of the files decide.
/// This holds in groups, families, versions, catalogues and the rows of `find` on a terminal.
#[test]
fn the_newest_document_is_told_by_the_dates_that_documents_state() {
    let env = environment();
    let text = |edit: u64| [paragraphs(1, 40), paragraphs(100 + edit, 1)].concat();
    for (name, stated, changed) in [("a", 3, 1), ("b", 2, 2), ("c", 1, 3)] {
        let stated_date = format!("2020-01-0{stated}T12:00:00Z");
        let document = office::dated_docx(&text(stated), &stated_date);
        let path = env.write(format!("docs/{name}.docx"), document);
        let file = File::options().write(true).open(path).unwrap();
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + changed * 86_400);
        file.set_modified(time).unwrap();
    }
    let newest = |args: &[&str]| {
        let ran = env.run([args, &["--format", "json"]].concat());
        let json = ran.json();
        let rows = [&json["clusters"][0]["members"], &json["versions"]];
        let rows = rows.iter().find_map(|rows| rows.as_array()).expect("rows");
        let newest = rows.iter().find(|row| row["newest"] == true);
        newest.map_or_else(String::new, |row| {
            let path = row["path"].as_str().unwrap_or_default();
            let source = row["document_date"]["source"].as_str().unwrap_or("-");
            format!("{} {source}", path.rsplit('/').next().unwrap_or_default())
        })
    };
    let family = ["groups", "docs", "--of", "docs/b.docx", "--family"];
    for args in [
        &["groups", "docs"][..],
        &family,
        &["versions", "docs/b.docx", "--in", "docs"],
    ] {
        assert_eq!(newest(args), "a.docx dcterms:modified", "{args:?}");
    }
    let said = env.run(["groups", "docs", "--all"]).text();
    let line = said
        .lines()
        .find(|line| line.contains("newest"))
        .expect("a line");
    assert!(line.contains("2020-01-03"), "{said}");
    assert!(
        line.ends_with("a.docx  newest by dcterms:modified"),
        "{said}"
    );
    let said = env
        .run(["find", "docs/b.docx", "--in", "docs", "-v"])
        .text();
    let line = said
        .lines()
        .find(|line| line.contains("c.docx"))
        .expect("a line");
    assert!(
        line.ends_with("dcterms:modified 2020-01-01  older by stated date"),
        "{said}"
    );
    let marked = |file: &str| {
        let (_, text) = on_terminal(&env, &["find", file, "--in", "docs"], "dumb");
        let lines = text.lines().filter(|line| line.contains("newest"));
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).skip(4).collect();
        words.join(" ")
    };
    let by_stated = "2020-01-03 docs/a.docx newest by dcterms:modified";
    assert_eq!(marked("docs/b.docx"), by_stated);
    assert_eq!(marked("docs/a.docx"), "");
    assert_eq!(env.run(["export", "docs", "-o", "docs.cat"]).code, 0);
    assert_eq!(newest(&["groups", "docs.cat"]), "a.docx dcterms:modified");
    env.write("docs/d.docx", office::docx(&text(9)));
    assert_eq!(newest(&["groups", "docs"]), "d.docx -");
    assert!(marked("docs/b.docx").ends_with(" docs/d.docx newest"));
    assert_eq!(marked("docs/d.docx"), "");
}

/// `find` with an archive looks for files that resemble the archive as a whole. To look for files
/// that resemble one member, the user names that member.
#[test]
fn find_of_an_archive_is_about_all_that_it_holds() {
    let env = environment();
    let (a, b, c) = (paragraphs(1, 40), paragraphs(2, 40), paragraphs(3, 4));
    let members = [("a.txt", &a), ("b.txt", &b), ("c.txt", &c)];
    let members = members.map(|(name, text)| (name, text.as_bytes()));
    env.write("docs/box.zip", pack::zip(&members));
    env.write("docs/edited.txt", b.replacen(' ', " edited ", 9));
    env.write("docs/holds-c.txt", paragraphs(9, 60) + &c);
    let found = |file: &str| env.run(["find", file, "--in", "docs"]).text();
    assert_eq!(found("docs/box.zip"), "98%  contains  docs/edited.txt\n");
    let member = found("docs/box.zip!c.txt");
    assert_eq!(member, "99%  contained  docs/holds-c.txt\n");
}
