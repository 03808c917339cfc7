//! Tests the command without a daemon: real trees, every format, the cache.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::environment;
use resemble_testutil::prose::paragraphs;
use resemble_testutil::random::{Random, letters};
use resemble_testutil::{Environment, asked_for, finish};

mod caches;

/// Makes `docs/` with a text, a copy of it, its first quarter and an edited version. The folder
/// also has an unrelated text and an empty file.
fn collection() -> Environment {
    let env = environment();
    let text = paragraphs(1, 60);
    env.write("docs/report.txt", &text);
    env.write("docs/old/copy.txt", &text);
    env.write("docs/edited.txt", text.replacen("river", "brook", 2));
    env.write("docs/part.txt", &text[..text.len() / 4]);
    env.write("docs/stranger.txt", paragraphs(2, 60));
    env.write("docs/empty", "");
    env
}

#[test]
fn find_text() {
    let env = collection();
    let found = env.run(["find", "docs/report.txt", "--in", "docs"]);
    let text = found.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(lines[0], "100%  identical  docs/old/copy.txt");
    assert!(
        lines[1..]
            .iter()
            .any(|line| line.ends_with("%  near  docs/edited.txt")),
        "{text}"
    );
    // All of `part.txt` is in `report.txt`, but the row shows 99 %: 100 % is only for identical
    // files.
    assert!(
        lines[1..].contains(&"99%  contains  docs/part.txt"),
        "{text}"
    );
    assert_eq!((found.code, found.err.as_str()), (0, ""));
}

#[test]
fn find_in_every_format_says_the_same() {
    let env = collection();
    let ask = |format: &str| {
        env.run([
            "find",
            "docs/report.txt",
            "--in",
            "docs",
            "--format",
            format,
        ])
    };
    let json = ask("json").json();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["command"], "find");
    assert_eq!(
        json["parameters"]["files"],
        serde_json::json!(["docs/report.txt"])
    );
    assert_eq!(json["parameters"]["in"], serde_json::json!(["docs"]));
    assert_eq!(json["fresh"], true);
    assert_eq!(json["errors"], serde_json::json!([]));
    let results = json["results"].as_array().unwrap();
    assert_eq!((json["total"].as_u64(), results.len()), (Some(3), 3));
    assert_eq!(results[0]["relation"], "identical");
    assert_eq!(results[0]["path"], "docs/old/copy.txt");
    assert_eq!(results[0]["layer"], "bytes");

    let jsonl = ask("jsonl").text();
    let lines: Vec<serde_json::Value> = jsonl
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["total"], 3);
    assert_eq!(&lines[1..], results);

    let columns = [
        "file",
        "path",
        "relation",
        "unit",
        "layer",
        "estimate",
        "a_in_b",
        "b_in_a",
        "resemblance",
        "shared_bytes",
        "discounted",
        "reason",
        "document_date",
        "newer",
        "newer_by",
    ];
    let csv = ask("csv").text();
    let tsv = ask("tsv").text();
    assert_eq!(csv.lines().next(), Some(columns.join(",").as_str()));
    assert_eq!(
        csv.lines()
            .skip(1)
            .map(|line| line.split(',').take(10).collect::<Vec<_>>().join("\t"))
            .collect::<Vec<_>>(),
        tsv.lines().collect::<Vec<_>>()
    );
    for (line, row) in tsv.lines().zip(results) {
        for (field, column) in line.split('\t').zip(columns) {
            match &row[column] {
                serde_json::Value::String(text) => assert_eq!(field, text),
                // If a row has no discount, JSON has no fields `discounted` and `reason`, and TSV
                // has empty columns.
                serde_json::Value::Null => assert_eq!(field, "", "{column}"),
                serde_json::Value::Bool(yes) => assert_eq!(field, yes.to_string()),
                number => assert_eq!(
                    field.parse::<serde_json::Number>().ok(),
                    number.as_number().cloned()
                ),
            }
        }
    }
}

#[test]
fn exit_codes() {
    let env = collection();
    env.run(["find", "docs/stranger.txt", "--in", "docs"])
        .found_nothing();
    env.run(["find", "docs/empty", "--in", "docs"])
        .found_nothing();
    env.run(["pairs", "docs/old"]).found_nothing();
    assert_eq!(env.run(["pairs", "docs"]).code, 0);
    env.run(["find", "absent", "--in", "docs"]).is(
        2,
        "",
        "resemble: absent: No such file or directory\n",
    );
    // The message is about the missing FILE, not about the missing daemon.
    for args in [&["find", "absent"][..], &["find", "absent", "--holders"]] {
        env.run(args)
            .is(2, "", "resemble: absent: No such file or directory\n");
    }
    env.run(["find", "docs", "--in", "docs"])
        .is(2, "", "resemble: docs: is a directory\n");
    env.run(["find", "docs/report.txt", "--in", "nowhere"]).is(
        2,
        "",
        "resemble: nowhere: No such file or directory\n",
    );
    env.run(["pairs", "nowhere"])
        .is(2, "", "resemble: nowhere: No such file or directory\n");
    env.run(["dump", "--canonical", "nowhere"]).is(
        2,
        "",
        "resemble: nowhere: No such file or directory\n",
    );
}

#[test]
fn one_missing_file_spoils_neither_the_others_nor_the_document() {
    let env = collection();
    let found = env.run([
        "find",
        "absent",
        "docs/report.txt",
        "--in",
        "docs",
        "--in",
        "nowhere",
        "--format",
        "json",
    ]);
    assert_eq!(found.code, 2);
    assert_eq!(
        found.err,
        "resemble: absent: No such file or directory\n\
         resemble: nowhere: No such file or directory\n"
    );
    let json = found.json();
    assert_eq!(json["results"].as_array().unwrap().len(), 3);
    assert_eq!(json["errors"][0]["path"], "absent");
    assert_eq!(json["errors"][0]["kind"], "not-found");
    assert_eq!(json["errors"][1]["path"], "nowhere");
}

#[test]
fn what_is_no_file_is_never_opened() {
    let env = collection();
    let fifo = env.path("fifo");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    // No writer opens the FIFO. So the command must not open it, because that would block.
    env.run(["find", "fifo", "--in", "docs"])
        .is(2, "", "resemble: fifo: is not a regular file\n");
    env.run(["find", "/dev/zero", "--in", "docs"]).is(
        2,
        "",
        "resemble: /dev/zero: is not a regular file\n",
    );
    std::fs::rename(&fifo, env.path("docs/fifo")).unwrap();
    assert_eq!(env.run(["pairs", "docs"]).code, 0);
}

#[test]
fn several_files_are_grouped_under_headings() {
    let env = collection();
    let found = env.run([
        "find",
        "docs/old/copy.txt",
        "docs/stranger.txt",
        "docs/report.txt",
        "--in",
        "docs",
        "--top",
        "1",
    ]);
    found.is(
        0,
        "docs/old/copy.txt:\n100%  identical  docs/report.txt\n\
         docs/report.txt:\n100%  identical  docs/old/copy.txt\n",
        "resemble: 2 of 6 rows shown (--top 1)\n",
    );
}

#[test]
fn names_from_a_list() {
    let env = collection();
    let ask = ["find", "--in", "docs", "--top", "1", "-q", "--files-from"];
    let lines = env.feed(
        ask.iter().chain(&["-"]),
        b"docs/report.txt\n\ndocs/part.txt",
    );
    let text = lines.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "docs/report.txt:",
            "100%  identical  docs/old/copy.txt",
            "docs/part.txt:"
        ]
    );
    assert!(lines[3].starts_with("99%  contained  docs/"), "{text}");
    assert_eq!(lines.len(), 4);
    env.write("list", b"docs/report.txt\0docs/stranger.txt\0");
    let null = env.run(ask.iter().chain(&["list", "-0"]));
    null.is(
        0,
        "docs/report.txt:\x00100%  identical  docs/old/copy.txt\0",
        "",
    );
    env.run(ask.iter().chain(&["absent"])).is(
        2,
        "",
        "resemble: cannot read absent: No such file or directory\n",
    );
    let pairs = env.feed(
        ["pairs", "--files-from", "-", "--min", "100"],
        b"docs/report.txt\ndocs/old\n",
    );
    pairs.is(0, "100%  docs/old/copy.txt  docs/report.txt\n", "");
    env.feed(["pairs", "--files-from", "-"], b"").is(
        2,
        "",
        "resemble: no directories to look in\n",
    );
}

#[test]
fn standard_input() {
    let env = collection();
    let text = paragraphs(1, 60);
    let ask = [
        "find", "-", "--in", "docs", "--min", "100%", "--format", "tsv",
    ];
    let found = env.feed(ask, text.as_bytes());
    let lines: Vec<String> = found.text().lines().map(str::to_owned).collect();
    assert_eq!(found.code, 0);
    // The subject is standard input, which is no file of `docs`. So both equal files are listed.
    assert!(
        lines[0].starts_with("-\tdocs/old/copy.txt\tidentical\t"),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("-\tdocs/report.txt\tidentical\t"),
        "{lines:?}"
    );
    env.feed(["find", "-", "--in", "docs"], b"").found_nothing();
    env.feed(["find", "-", "--in", "docs"], paragraphs(9, 60).as_bytes())
        .found_nothing();
}

#[test]
fn a_file_outside_the_directories_and_links_to_it() {
    let env = collection();
    env.write("outside.txt", paragraphs(1, 60));
    std::os::unix::fs::symlink("outside.txt", env.path("link")).unwrap();
    let expected = "100%  identical  docs/old/copy.txt\n100%  identical  docs/report.txt\n";
    for file in ["outside.txt", "link"] {
        let found = env.run(["find", file, "--in", "docs", "--top", "2", "-q"]);
        found.is(0, expected, "");
    }
    // A hard link of the subject is the same file, so it is not listed as similar.
    std::fs::hard_link(env.path("docs/stranger.txt"), env.path("docs/same.txt")).unwrap();
    std::fs::hard_link(env.path("docs/stranger.txt"), env.path("same.txt")).unwrap();
    env.run(["find", "same.txt", "--in", "docs"])
        .found_nothing();
    env.run(["find", "docs/same.txt", "--in", "docs"])
        .found_nothing();
}

/// The list has more names than the process may have open descriptors. Half of the files are in one
/// folder, and each of the others has its own folder. So the command must not keep folders open.
#[test]
fn a_list_of_many_names_needs_few_descriptors() {
    let env = environment();
    let mut names = Vec::new();
    for number in 0..700 {
        for name in [format!("one/{number}"), format!("many/{number}/file")] {
            env.write(&name, format!("the text of {}\n", number / 2).repeat(30));
            names.push(name);
        }
    }
    env.write("names", names.join("\n"));
    let asked = [
        "pairs",
        "--local",
        "--all",
        "--files-from",
        "names",
        "--min",
        "100",
    ];
    let command = env.command(asked);
    let mut limited = std::process::Command::new("timeout");
    limited.args(["120", "sh", "-c", "ulimit -n 400; exec \"$@\"", "sh"]);
    limited.arg(command.get_program()).args(command.get_args());
    limited.env_clear().current_dir(env.path(""));
    limited.env("HOME", env.home()).env("PATH", "/usr/bin:/bin");
    let done = limited.output().expect("sh runs");
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{:?} {told}", done.status);
    let rows = String::from_utf8_lossy(&done.stdout).lines().count();
    // Each text is in four files, which make six pairs.
    assert_eq!(rows, 350 * 6, "{told}");
}

#[test]
fn paths_are_shown_as_the_arguments_lead_to_them() {
    let env = collection();
    std::os::unix::fs::symlink("docs/old", env.path("alias")).unwrap();
    let ask = |dirs: &[&str]| {
        env.run(
            ["pairs", "--min", "100", "--format", "tsv"]
                .iter()
                .chain(dirs),
        )
        .text()
    };
    let first = |text: &str| {
        text.split('\t')
            .take(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        first(&ask(&["docs"])),
        ["docs/old/copy.txt", "docs/report.txt"]
    );
    assert_eq!(
        first(&ask(&["./docs/"])),
        ["./docs/old/copy.txt", "./docs/report.txt"]
    );
    assert_eq!(
        first(&ask(&["alias", "docs"])),
        ["alias/copy.txt", "docs/report.txt"]
    );
    let absolute = env.path("docs");
    let rows = ask(&[absolute.to_str().unwrap()]);
    assert!(rows.starts_with(absolute.to_str().unwrap()), "{rows}");
}

#[test]
fn hostile_names() {
    let env = environment();
    let names: [&[u8]; 5] = [
        b"new\nline",
        b"tab\tback\\slash",
        b"\x1b[31mred",
        b"not\xffutf8",
        b"#x",
    ];
    for name in names {
        env.write(std::ffi::OsStr::from_bytes(name), paragraphs(1, 20));
    }
    let tsv = env.run(["pairs", ".", "--all", "--format", "tsv"]);
    assert_eq!((tsv.code, tsv.err.as_str()), (0, ""));
    let lines: Vec<&[u8]> = tsv
        .out
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(lines.len(), 10);
    let mut seen: Vec<Vec<u8>> = Vec::new();
    for line in &lines {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
        assert_eq!(fields.len(), 7, "{}", String::from_utf8_lossy(line));
        seen.extend(fields[..2].iter().map(|field| field.to_vec()));
    }
    seen.sort();
    seen.dedup();
    let expected: [&[u8]; 5] = [
        b"./\x1b[31mred",
        b"./#x",
        b"./new\\nline",
        b"./not\xffutf8",
        b"./tab\\tback\\\\slash",
    ];
    assert_eq!(seen, expected);

    let json = env.run(["pairs", ".", "--all", "--format", "json"]).json();
    let odd = json["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row.get("b_b64").is_some());
    assert_eq!(odd.unwrap()["b"], "./not\u{fffd}utf8");
    assert_eq!(odd.unwrap()["b_b64"], "Li9ub3T/dXRmOA==");

    let list = b"#x\0new\nline\0";
    let found = env.feed(
        [
            "find",
            "--files-from",
            "-",
            "-0",
            "--in",
            ".",
            "--format",
            "tsv",
        ],
        list,
    );
    assert_eq!(found.code, 0);
    assert!(
        found.out.starts_with(b"./#x\t./\x1b[31mred\tidentical\t"),
        "{}",
        found.text()
    );
    assert_eq!(found.text().split_terminator('\0').count(), 8);
}

#[test]
fn selection() {
    let env = collection();
    let found = |options: &[&str]| {
        let ran = env.run(
            ["find", "docs/report.txt", "--in", "docs", "-q"]
                .iter()
                .chain(options),
        );
        let names: Vec<String> = ran
            .text()
            .lines()
            .map(|line| line.rsplit('/').next().unwrap_or_default().to_owned())
            .collect();
        (ran.code, names.join(" "))
    };
    let all = found(&[]).1;
    assert_eq!(all.split(' ').count(), 3);
    assert_eq!(found(&["--top", "1"]), (0, "copy.txt".into()));
    assert_eq!(found(&["--top", "0"]), (0, String::new()));
    assert_eq!(
        found(&["--min", "100%"]).1.split(' ').next(),
        Some("copy.txt")
    );
    assert_eq!(found(&["--include", "old/"]), (0, "copy.txt".into()));
    assert_eq!(
        found(&["--include", "*.txt", "--exclude", "old", "--exclude", "e*"]),
        (0, "part.txt".into())
    );
    assert_eq!(found(&["--min-size", "1G"]), (1, String::new()));
    assert_eq!(
        found(&["--min-shared", "1G"]),
        (0, "copy.txt".into()),
        "identical is identical"
    );
    assert_eq!(found(&["--exclude", "*"]), (1, String::new()));
    let bad = env.run([
        "find",
        "docs/report.txt",
        "--in",
        "docs",
        "--include",
        "[z-a]",
    ]);
    assert_eq!((bad.code, bad.text()), (2, String::new()));
    assert!(bad.err.contains("[z-a]"), "{}", bad.err);
}

#[test]
fn pairs_are_complete_and_ordered() {
    let env = collection();
    let json = env.run(["pairs", "docs", "--format", "json"]).json();
    let rows = json["pairs"].as_array().unwrap();
    // Four files resemble each other, which makes six pairs. The unrelated text and the empty file
    // are in no pair.
    assert_eq!((rows.len(), json["total"].as_u64()), (6, Some(6)));
    let key = |row: &serde_json::Value| {
        let number = |name: &str| (row[name].as_f64().unwrap() * -1e6).round() as i64;
        (
            number("score"),
            number("a_in_b"),
            number("resemblance"),
            row["a"].to_string(),
        )
    };
    assert!(rows.is_sorted_by_key(key), "{json:#}");
    for row in rows {
        assert!(row["a"].as_str() < row["b"].as_str(), "{row}");
        let share = |name: &str| row[name].as_f64().unwrap();
        let larger = Some(share("a_in_b").max(share("b_in_a")));
        assert_eq!(row["score"].as_f64(), larger, "{row}");
    }
    assert_eq!(
        rows.iter()
            .filter(|row| row.get("identical").is_some())
            .count(),
        1
    );
    let by_resemblance = env
        .run([
            "pairs",
            "docs",
            "--score",
            "resemblance",
            "--format",
            "json",
        ])
        .json();
    for row in by_resemblance["pairs"].as_array().unwrap() {
        assert_eq!(row["score"], row["resemblance"]);
    }
    let exact = env
        .run(["pairs", "docs", "--exact", "--format", "json"])
        .json();
    assert_eq!(exact["parameters"]["exact"], true);
    assert_eq!(exact["pairs"].as_array().unwrap().len(), 6);
}

#[test]
fn a_result_file_is_not_found_by_its_own_search() {
    let env = collection();
    let ask = ["pairs", "docs", "--format", "tsv", "-o", "docs/result"];
    env.run(ask).is(0, "", "");
    let first = std::fs::read_to_string(env.path("docs/result")).unwrap();
    assert_eq!(first.lines().count(), 6);
}

#[test]
fn verbose_says_who_answers_and_more_of_each_row() {
    let env = collection();
    let found = env.run([
        "-v",
        "find",
        "docs/report.txt",
        "--in",
        "docs",
        "--top",
        "1",
    ]);
    let size = std::fs::metadata(env.path("docs/report.txt"))
        .unwrap()
        .len();
    let text = found.text();
    let start = format!(
        "100%  identical  {}  20",
        resemble_report::human::human_size(size)
    );
    let end = format!("  a in b 100%  b in a 100%  {size} bytes  docs/old/copy.txt\n");
    assert!(text.starts_with(&start) && text.ends_with(&end), "{text}");
    assert!(
        found.err.contains("reading the named files"),
        "{}",
        found.err
    );
}
