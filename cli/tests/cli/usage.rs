//! Tests wrong arguments, the manual pages and the reference.

use resemble_testutil::prose::paragraphs;
use resemble_testutil::{pack, page_is_up_to_date};
use rustix::fs::{CWD, FileType};
use serde_json::Value;

use crate::environment;

#[test]
fn a_member_of_an_archive_is_named_as_one_by_verbs_that_take_files() {
    let env = environment();
    let text = paragraphs(1, 20);
    env.write("b.txt", &text);
    env.write("a.zip", pack::zip(&[("in/c.txt", text.as_bytes())]));
    let member = "a.zip!in/c.txt";
    for question in [
        &["check", member, "--in", "."][..],
        &["compare", member, "b.txt"],
        &["compare", "b.txt", member],
        &["pairs", member],
        &["groups", ".", "--of", member],
        &["find", member, "--in", ".", "--holders"],
        &["versions", member, "--in", "."],
    ] {
        let ran = env.run([question, &["--local"]].concat());
        assert_eq!((ran.code, &*ran.text()), (2, ""), "{question:?}");
        let said = "'a.zip!in/c.txt': a member of an archive; this verb takes files, `resemble \
                    find` and `resemble why` take members\n";
        assert!(ran.err.ends_with(said), "{question:?}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{question:?}: {}", ran.err);
    }
    for question in [
        &["find", member, "--in", "."][..],
        &["why", member, "b.txt"],
    ] {
        let ran = env.run(question);
        assert_eq!(ran.code, 0, "{question:?}: {}", ran.err);
    }
    // The file before the `!` is no archive.
    let ran = env.run(["pairs", "b.txt!c", "--local"]);
    ran.is(2, "", "resemble: 'b.txt!c': No such file or directory\n");
}

#[test]
fn wrong_usage_ends_with_2_and_one_clear_line() {
    let env = environment();
    env.write("a.txt", "x");
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(CWD, env.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage: resemble"),
        (&["frob"], "unrecognized subcommand 'frob'"),
        (&["alerts", "ack"], "required arguments"),
        (
            &["alerts", "ack", "a", "b", "--group"],
            "cannot be used with",
        ),
        (&["history"], "required arguments"),
        (&["find"], "required arguments"),
        (&["find", "a.txt", "--min", "101"], "more than 100%"),
        (
            &["find", "a.txt", "--min", "x"],
            "neither a percentage such as 70%",
        ),
        (
            &["find", "a.txt", "--min-size", "10X"],
            "not a size such as 4096",
        ),
        (
            &["find", "a.txt", "--top", "-1"],
            "invalid value '-1' for '--top <N>': not a number of rows such as 20",
        ),
        (
            &["pairs", ".", "--top", "many"],
            "not a number of rows such as 20",
        ),
        (
            &["find", "a.txt", "--format", "xml"],
            "possible values: text, json, jsonl, csv, tsv",
        ),
        (
            &["find", "a.txt", "--local", "--socket", "x"],
            "cannot be used with",
        ),
        (
            &["find", "-", "-", "--in", "."],
            "standard input can be read only once",
        ),
        (
            &["find", "-", "--exact", "--in", "."],
            "--exact needs files",
        ),
        (
            &["pairs", ".", "--chunk-size", "10"],
            "--chunk-size 10: must be between 145 and 16777216",
        ),
        (
            &["pairs", ".", "--score", "paper"],
            "possible values: containment, resemblance, discounted",
        ),
        // Published methods are only available in `resemble lab`.
        (
            &["groups", ".", "--method", "sif"],
            "unexpected argument '--method'",
        ),
        (&["eval", "sif", "."], "unrecognized subcommand 'eval'"),
        (
            &["groups", ".", "--json"],
            "tip: formats are named: '--format json'",
        ),
        (
            &["status", "--jsn"],
            "unexpected argument '--jsn' found\n\nUsage",
        ),
        (
            &["find", "--exlude", "x"],
            "a similar argument exists: '--exclude'",
        ),
        // `absent` might also be the id of a cluster. But the missing file is reported before a
        // daemon is asked.
        (
            &["templates", "mark", "absent"],
            "absent: No such file or directory",
        ),
        (&["dump"], "--canonical"),
        (
            &["help", "--all", "find"],
            "--all lists every command: leave it out to have 'find' explained",
        ),
        (
            &["alerts", "--follow", "--format", "json"],
            "use --format jsonl",
        ),
        (&["compare", "a.txt"], "required arguments"),
        (
            &["compare", "a.txt", "absent"],
            "cannot look at absent: No such file or directory",
        ),
        (
            &["compare", ".", "a.txt"],
            "cannot compare the directory . with the file a.txt",
        ),
        (
            &["compare", ".", ".", "--class", "new"],
            "possible values: same, edited, moved, moved-edited",
        ),
        (
            &["compare", ".", ".", "--new-only", "--all"],
            "cannot be used with",
        ),
        (
            &["compare", ".", ".", "--new-only", "--format", "csv"],
            "take --class only-b --format csv",
        ),
        (
            &["compare", ".", ".", "--format", "fdupes"],
            "`compare` has none",
        ),
        (&["compare", ".", ".", "-0"], "-0 is for names (--new-only)"),
        (
            &["compare", ".", ".", "--format", "json", "-0"],
            "--format json has no such lines",
        ),
        (&["covered", "."], "required arguments"),
        (
            &["covered", "absent", "--by", "."],
            "cannot look at absent: No such file or directory",
        ),
        (
            &["covered", "a.txt", "--by", "."],
            "cannot look into a.txt: not a directory",
        ),
        (
            &["covered", ".", "--by", "absent"],
            "cannot look at absent: No such file or directory",
        ),
        (
            &["covered", ".", "--by", ".", "--plan", "delete"],
            "possible values: symlink, hardlink, reflink",
        ),
        (
            &[
                "covered", ".", "--by", ".", "--plan", "symlink", "--format", "json",
            ],
            "cannot be used with",
        ),
        // A file where a directory is required is wrong usage. It must not be an error at the end
        // of an empty answer.
        (
            &["covered", ".", "--by", "a.txt"],
            "cannot look into a.txt: not a directory",
        ),
        (
            &["compare", "a.txt", "pipe"],
            "cannot compare pipe: it is neither a file nor a directory",
        ),
        (&["compare", "pipe", "pipe"], "cannot compare pipe: it is"),
        (&["pairs", "pipe"], "pipe is not a directory"),
        (
            &["find", "pipe", "--in", "."],
            "pipe: is not a regular file",
        ),
        (&["find", ".", "--in", "."], ".: is a directory"),
        (
            &["why", "pipe", "a.txt"],
            "cannot read pipe: not a regular file",
        ),
        (&["why", "a.txt", "."], ". is a directory"),
        (&["groups", ".", "--of", "absent"], "cannot look at absent"),
        (
            &["history", "."],
            ". is a directory; this is about one file",
        ),
        (&["lost"], "required arguments"),
        (
            &["catalogue", "write", ".", "-o", "pipe"],
            "it exists and is not a regular file",
        ),
        (
            &["catalogue", "write", ".", "-o", "no/x"],
            "cannot write no/x: No such file",
        ),
        (
            &["catalogue", "add", "a.txt"],
            "a.txt cannot be used as a catalogue",
        ),
        (
            &["catalogue", "add", "absent"],
            "cannot read the catalogue absent",
        ),
        (
            &["alerts", "--since", "lately"],
            "neither a duration such as 2h",
        ),
        (&["sync", "--timeout", "abc"], "not a time such as 30"),
        (
            &["watch", "add", "absent"],
            "cannot watch absent: No such file",
        ),
        (&["shell-init", "tcsh"], "possible values: bash, zsh, fish"),
        (&["templates", "unmark", "x"], "no template is called \"x\""),
        (
            &["pairs", "--files-from", "."],
            "cannot read .: Is a directory",
        ),
        (
            &["groups", ".", "-o", "no/x"],
            "cannot write no/x: No such file",
        ),
        (&["help", "frob"], "unrecognized subcommand 'frob'"),
        (&["dirs", ".", "--format", "fdupes"], "`dirs` has none"),
        (&["dirs", ".", "--of", "a.txt"], "cannot look into a.txt"),
        // A question with nothing to compare is wrong usage. It must not be an empty answer with
        // exit code 1.
        (
            &["pairs", "a.txt"],
            "a.txt is not a directory; `pairs` compares files in directories; \
             `resemble find a.txt` names",
        ),
        (&["dirs", "a.txt", "a.txt"], "a.txt is not a directory"),
        (&["groups", "a.txt"], "a.txt is not a directory"),
        (&["groups", ".", "--family"], "--of <FILE>"),
        (&["groups", ".", "--degree", "0"], "nor `half`"),
        (
            &[
                "groups",
                ".",
                "--only",
                "identical",
                "--of",
                "x",
                "--family",
            ],
            "have none",
        ),
        (
            &["groups", ".", "--only", "near", "--plan", "symlink"],
            "--plan is about sets",
        ),
        (
            &["groups", ".", "--only", "near", "--format", "fdupes"],
            "--only near has none",
        ),
        (&["groups", ".", "--only", "near", "--order"], "--order"),
        (&["groups", ".", "--only", "copies"], "near, identical"),
        (&["groups", ".", "--memory", "x"], "not a size such as 4096"),
        (&["groups", ".", "-0"], "-0 is for names (--format fdupes)"),
        (
            &["groups", ".", "--order", "--format", "html"],
            "--format html is for whole reports",
        ),
        (
            &["groups", "--from", "absent.json"],
            "cannot read absent.json: No such file or directory",
        ),
        (&["groups", "--from", "a.txt"], "a.txt is"),
        (&["groups", ".", "--from", "a.txt"], "cannot be used with"),
    ];
    for (args, expected) in cases {
        let ran = env.run(*args);
        assert_eq!(
            (ran.code, ran.text()),
            (2, String::new()),
            "{args:?}: {}",
            ran.err
        );
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_pattern_that_is_none_is_refused_by_every_verb_that_takes_patterns() {
    let env = environment();
    env.write("a.txt", "x");
    env.write("[a", "x");
    let verbs: [&[&str]; 7] = [
        &["find", "a.txt", "--in", "."],
        &["find", "a.txt", "--in", ".", "--holders"],
        &["pairs", "."],
        &["compare", ".", "."],
        &["covered", "--from", "saved.json"],
        &["dirs", "."],
        &["groups", "."],
    ];
    for verb in verbs {
        for option in ["--include", "--exclude"] {
            for (glob, expected) in [
                ("[a", "unclosed character class; missing ']'"),
                ("", "it is empty"),
                ("#a", r"it is a comment; write \# for a name with #"),
            ] {
                let ran = env.run([verb, &[option, glob]].concat());
                let asked = format!("{verb:?} {option} {glob:?}: {}", ran.err);
                assert_eq!((ran.code, ran.text()), (2, String::new()), "{asked}");
                let line = format!("invalid value '{glob}' for '{option} <GLOB>': {expected}");
                // clap has a separate message for an option with an empty value.
                let without = format!("a value is required for '{option} <GLOB>'");
                assert!(
                    ran.err.contains(&line) || ran.err.contains(&without),
                    "{asked}"
                );
            }
        }
    }
    let ran = env.run(["find", "a.txt", "--in", ".", "--include", r"\[a"]);
    assert_eq!(
        (ran.code, ran.text().contains("[a")),
        (0, true),
        "{}",
        ran.err
    );
}

#[test]
fn without_a_daemon_what_needs_one_ends_with_2_and_says_how_to_start_one() {
    let env = environment();
    env.write("a.txt", "x");
    for args in [
        &["status"][..],
        &["sync"],
        &["alerts"],
        &["alerts", "--digest"],
        &["alerts", "ack", "a.txt"],
        &["alerts", "ack", "--list"],
        &["notify", "--once"],
        &["watch", "list"],
        &["watch", "add", "."],
        &["view", "on", "M"],
        &["view", "off"],
        &["dump", "--canonical"],
    ] {
        let ran = env.run(args);
        assert_eq!((ran.code, ran.text()), (2, String::new()), "{args:?}");
        assert!(
            ran.err
                .contains("start one with `resembled DIR`, or for good with `resemble setup`"),
            "{args:?}: {}",
            ran.err
        );
        assert_eq!(ran.err.lines().count(), 1, "{args:?}: {}", ran.err);
    }
}

#[test]
fn help_and_version_are_answers() {
    let env = environment();
    let version = format!("resemble {}\n", env!("CARGO_PKG_VERSION"));
    env.run(["--version"]).is(0, &version, "");
    let help = env.run(["--help"]);
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    assert!(help.text().contains("Exit codes:"), "{}", help.text());
    assert!(
        help.text().contains("\nWatch:\n  setup "),
        "{}",
        help.text()
    );
    assert!(!help.text().contains("\n  dump"), "{}", help.text());
    let all = env.run(["help", "--all"]).success().text();
    assert!(
        all.contains("\nOthers:\n") && all.contains("\n  dump"),
        "{all}"
    );
    for verb in [&["find"][..], &["watch", "add"]] {
        let of_help = env.run([&["help"], verb].concat()).success().text();
        let of_verb = env.run([verb, &["--help"]].concat()).success().text();
        assert_eq!(of_help, of_verb);
    }
    assert_eq!(env.run(["help"]).success().text(), help.text());
}

#[test]
fn completions_and_manual_pages() {
    let env = environment();
    for (shell, expected) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef resemble"),
        ("fish", "complete -c resemble"),
    ] {
        let ran = env.run(["completions", shell]);
        assert_eq!(ran.code, 0);
        assert!(ran.text().contains(expected), "{shell}");
    }
    assert_eq!(env.run(["completions", "tcsh"]).code, 2);
    let page = env.run(["man"]);
    assert!(page.text().contains(".TH resemble 1"), "{}", page.text());
    env.run(["man", "pages"]).is(0, "", "");
    let mut names: Vec<_> = std::fs::read_dir(env.path("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "resemble-alerts-ack.1",
            "resemble-alerts.1",
            "resemble-catalogue-add.1",
            "resemble-catalogue-drop.1",
            "resemble-catalogue-join.1",
            "resemble-catalogue-list.1",
            "resemble-catalogue-write.1",
            "resemble-catalogue.1",
            "resemble-check.1",
            "resemble-compare.1",
            "resemble-completions.1",
            "resemble-covered.1",
            "resemble-digest.1",
            "resemble-dirs.1",
            "resemble-doctor.1",
            "resemble-dump.1",
            "resemble-find.1",
            "resemble-groups.1",
            "resemble-help.1",
            "resemble-history.1",
            "resemble-lab.1",
            "resemble-lost.1",
            "resemble-man.1",
            "resemble-mcp.1",
            "resemble-measure.1",
            "resemble-notify.1",
            "resemble-pairs.1",
            "resemble-relay.1",
            "resemble-setup.1",
            "resemble-shell-init.1",
            "resemble-status.1",
            "resemble-sync.1",
            "resemble-templates-list.1",
            "resemble-templates-mark.1",
            "resemble-templates-unmark.1",
            "resemble-templates.1",
            "resemble-text.1",
            "resemble-trash.1",
            "resemble-ui.1",
            "resemble-versions.1",
            "resemble-view-off.1",
            "resemble-view-on.1",
            "resemble-view.1",
            "resemble-watch-add.1",
            "resemble-watch-list.1",
            "resemble-watch-remove.1",
            "resemble-watch.1",
            "resemble-why.1",
            "resemble.1",
        ]
    );
    let find = std::fs::read_to_string(env.path("pages/resemble-find.1")).unwrap();
    assert!(find.contains(".TH resemble-find 1"), "{find}");
    assert!(find.contains("\\fBresemble find\\fR"), "{find}");
    // The page of every verb about files has examples.
    for verb in [
        "find", "pairs", "compare", "covered", "dirs", "groups", "why",
    ] {
        let page = env.path(format!("pages/resemble-{verb}.1"));
        let page = std::fs::read_to_string(page).unwrap();
        let shown = format!(".SH EXAMPLES\n.PP\n\\fBresemble {verb} ");
        assert!(page.contains(&shown), "{verb}: {page}");
    }
    for name in names {
        let page = std::fs::read_to_string(env.path(format!("pages/{name}"))).unwrap();
        let sections = ["\"EXIT STATUS\"", "ENVIRONMENT", "FILES", "\"SEE ALSO\""];
        let at = sections.map(|section| page.find(&format!("\n.SH {section}\n")));
        assert!(at.is_sorted() && at[0].is_some(), "{name}: {at:?}");
        assert!(page.contains("\n\\fB2\\fR\ntrouble: "), "{name}: {page}");
    }
}

/// `docs/cli-reference.md` is generated from the help of every command.
#[test]
fn the_reference_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cli-reference.md");
    page_is_up_to_date(path, &resemble_cli::reference::page());
}

/// With every form of `--text off`, each verb compares bytes, even if the files are plain texts. So
/// all verbs show the same figures for a pair.
#[test]
fn text_off_asks_every_verb_for_bytes() {
    let env = environment();
    let text = paragraphs(1, 30);
    env.write("a/report.txt", &text);
    env.write("b/report.txt", text.replacen("and", "or", 2));
    env.write("off/other.txt", paragraphs(2, 30));
    let pair = ["a/report.txt", "b/report.txt"];
    let questions: [&[&str]; 5] = [
        &["find", pair[0], "--in", "b"],
        &["why", pair[0], pair[1]],
        &["pairs", "a", "b"],
        &["groups", "a", "b"],
        &["compare", "a", "b"],
    ];
    let figures = |question: &[&str], options: &[&str]| {
        let args = [question, options, &["--format", "json"]].concat();
        let document = env.run(&args).json();
        let row = match question[0] {
            "find" => &document["results"][0],
            "why" => &document,
            "pairs" => &document["pairs"][0],
            "groups" => &document["clusters"][0]["links"][0],
            _ => &document["entries"][0],
        };
        // Links of a group have no field `unit`.
        let unit = row.get("unit").and_then(Value::as_str).map(str::to_owned);
        let shares = ["a_in_b", "b_in_a"].map(|key| row[key].to_string());
        (unit, shares)
    };
    let [words, bytes] = ["auto", "off"].map(|wanted| {
        let (_, shares) = figures(questions[0], &[&format!("--text={wanted}")]);
        shares
    });
    assert_ne!(words, bytes);
    let off: [&[&str]; 3] = [&["--text", "off"], &["--text=off"], &["--no-text"]];
    let on: [&[&str]; 4] = [&[], &["--text", "all"], &["--text=documents"], &["--text"]];
    for question in questions {
        for (forms, unit, expected) in [(&off[..], "bytes", &bytes), (&on[..], "words", &words)] {
            for options in forms {
                let (found, mut shares) = figures(question, options);
                // In a group, either file of a pair may be `a`, so the two shares may be swapped.
                if question[0] == "groups" && &shares != expected {
                    shares.reverse();
                }
                assert_eq!(&shares, expected, "{question:?} {options:?}");
                let is_asked = found.is_none_or(|found| found == unit);
                assert!(is_asked, "{question:?} {options:?}");
            }
        }
    }
    // A folder named `off` can be searched if its name cannot be taken for the value of `--text`.
    env.run(["pairs", "--text", "./off"]).exits(1);
    env.run(["pairs", "--text=all", "--", "off"]).exits(1);
}

/// `--unit bytes` is an old form of `--text=off`: archives are not looked into, either.
#[test]
fn the_unit_of_bytes_is_text_off() {
    let env = environment();
    let text = paragraphs(1, 60);
    env.write("d/a.txt", &text);
    env.write("d/a.zip", pack::zip(&[("a.txt", text.as_bytes())]));
    for question in [&["find", "d/a.txt", "--in", "d"][..], &["pairs", "d"]] {
        let asked = |options: &[&str]| {
            let ran = env.run([question, options].concat());
            (ran.code, ran.text(), ran.err)
        };
        assert_eq!(asked(&["--unit", "bytes"]), asked(&["--text=off"]));
    }
    let found = |unit: &str| {
        env.run(["find", "d/a.txt", "--in", "d", "--unit", unit])
            .text()
    };
    assert!(found("words").contains("a.zip!a.txt"));
    assert!(!found("bytes").contains('!'));
}

/// The examples of pipes and rules in the help do what they say, in any shell.
#[test]
fn examples_of_the_help_run() {
    let env = environment();
    let home = env.home();
    for folder in ["Photos/phone", "Documents"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
        std::fs::write(home.join(folder).join("a"), paragraphs(1, 20)).unwrap();
        std::fs::write(home.join(folder).join("../b"), paragraphs(1, 20)).unwrap();
        std::fs::write(home.join(folder).join("c"), paragraphs(1, 20)).unwrap();
    }
    env.write("../old/a.c", paragraphs(1, 20));
    env.write("b.c", paragraphs(1, 20));
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_resemble")).parent();
    let path = format!("{}:/usr/bin:/bin", programs.unwrap().display());
    for (verb, part, expected) in [
        ("groups", "--format fdupes", "/Documents/c"),
        ("groups", "--keep not-in:", ""),
        ("find", "--format tsv", "b.c\t../old/a.c\t1.000000"),
    ] {
        let help = env.run([verb, "--help"]).text();
        let mut lines = help.lines().map(str::trim);
        let example = lines.find(|line| line.starts_with("resemble") && line.contains(part));
        let mut shell = env.foreign("sh");
        shell.args(["-c", example.unwrap()]).env("PATH", &path);
        let ran = resemble_testutil::finish(&mut shell, b"");
        assert_eq!(ran.code, 0, "{example:?} {ran:?}");
        assert!(ran.text().contains(expected), "{example:?} {ran:?}");
    }
    assert!(env.path("plan.sh").exists());
}
