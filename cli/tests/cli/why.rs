//! `why` shows where two files agree, in every format.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::environment;
use crate::streams::{cut_off, on_terminal};
use resemble_testutil::pack::zip;
use resemble_testutil::prose::paragraphs;
use resemble_testutil::{Environment, Ran, finish};

/// Writes a support document and its update, like those of figure 3 of Forman et al. (2005).
fn documents(env: &Environment) {
    let document = |id: &str, date: &str, you: &str| {
        format!(
            "technical document information\n\
             title: Is there an integration between the service desk and the inventory?\n\
             document id: OV-EN00{id}\n\
             product: service manager\n\
             updated: {date}\n\
             \n\
             The service desk comes with an importer, which allows you to build interfaces \
             with the configuration database.\n\
             The extractor for the inventory can be built with the developer kit \
             that is also delivered.\n\
             Next to the importer there is an event interface, enabling {you}to build interfaces \
             with the help desk.\n\
             It opens and closes calls without anybody at the keyboard, whatever the product that\n\
             sends the event, and it keeps a record of every event that it has seen so far.\n\
             Examples are delivered for the common products.\n\
             (*) see the guide for the administrator\n"
        )
    };
    env.write("old.txt", document("0734", "1999-Jul-19", ""));
    env.write("new.txt", document("1182", "2000-Aug-02", "you "));
}

fn why(env: &Environment, args: &[&str]) -> Ran {
    env.run(["why"].iter().chain(args))
}

const SUMMARY: &str = "\
a          old.txt  (732 bytes)
b          new.txt  (736 bytes)
relation   near
a in b     93% of its words
b in a     93% of its words
alike      75%
shared     682 of 732 bytes of a in 3 ranges (compared to the byte)
differs    50 bytes of a in 1 place, 53 bytes of b in 2 places
";

#[test]
fn a_pipe_gets_a_list_of_ranges() {
    let env = environment();
    documents(&env);
    let list = "
= a lines 1-3          b lines 1-3          (126 bytes)
- a lines 3-5                               (50 bytes)
+                      b lines 3-5          (50 bytes)
= a lines 5-9          b lines 5-9          (264 bytes)
+                      b line 9             (4 bytes)
= a lines 9-13         b lines 9-13         (292 bytes)
";
    why(&env, &["old.txt", "new.txt"]).is(0, &format!("{SUMMARY}{list}"), "");
}

/// On a terminal of 80 columns the output has two columns.
#[test]
fn a_terminal_gets_two_columns() {
    let env = environment();
    documents(&env);
    let columns = "
 1 1│technical document information       1 1│technical document information
 2 1│title: Is there an integration       2 1│title: Is there an integration
    │between the service desk and the        │between the service desk and the
    │inventory?                              │inventory?
 3 1│document id: OV-EN00[-0734-]      |  3 1│document id: OV-EN00{+1182+}
 4  │product: service manager             4  │product: service manager
 5  │updated: 1999-Jul-19              |  5  │updated: 2000-Aug-02
 6 2│                                     6 2│
 7 2│The service desk comes with an       7 2│The service desk comes with an
    │importer, which allows you to           │importer, which allows you to
    │build interfaces with the               │build interfaces with the
    │configuration database.                 │configuration database.
 8 2│The extractor for the inventory      8 2│The extractor for the inventory
    │can be built with the developer         │can be built with the developer
    │kit that is also delivered.             │kit that is also delivered.
 9 2│Next to the importer there is an  |  9 2│Next to the importer there is an
    │event interface, enabling to            │event interface, enabling {+you
    │build interfaces with the help          │+}to build interfaces with the
    │desk.                                   │help desk.
10 3│It opens and closes calls           10 3│It opens and closes calls
    │without anybody at the keyboard,        │without anybody at the keyboard,
    │whatever the product that               │whatever the product that
11 3│sends the event, and it keeps a     11 3│sends the event, and it keeps a
    │record of every event that it           │record of every event that it
    │has seen so far.                        │has seen so far.
12 3│Examples are delivered for the      12 3│Examples are delivered for the
    │common products.                        │common products.
13 3│(*) see the guide for the           13 3│(*) see the guide for the
    │administrator                           │administrator
";
    let (code, text) = on_terminal(&env, &["why", "old.txt", "new.txt"], "dumb");
    assert_eq!((code, &*text), (Some(0), &*format!("{SUMMARY}{columns}")));
    // With `--side-by-side` the output has two columns even in a pipe.
    why(&env, &["old.txt", "new.txt", "--side-by-side"]).is(0, &text, "");
}

#[test]
fn equal_parts_have_equal_colours() {
    let env = environment();
    documents(&env);
    let (code, text) = on_terminal(&env, &["why", "old.txt", "new.txt"], "xterm-256color");
    assert_eq!(code, Some(0));
    let line = text.lines().find(|line| line.contains("OV-EN00")).unwrap();
    // The line number is faint. The number of the run is bold and has the colour of the run, and so
    // has the shared text. All other text is plain. The right column has the same colours.
    let half = |id: &str| {
        format!(
            "\x1b[2m 3\x1b[0m \x1b[1m\x1b[38;5;33m1\x1b[0m│\
             \x1b[38;5;33mdocument id: OV-EN00\x1b[0m{id}"
        )
    };
    assert_eq!(
        line,
        format!("{}          | {}", half("0734"), half("1182"))
    );
    assert!(!text.contains("[-"), "{text}");
}

#[test]
fn blocks_that_moved_are_said_and_folded() {
    let env = environment();
    let block = |seed| paragraphs(seed, 40).replace(' ', "\n");
    let (one, two, three) = (block(1), block(2), block(3));
    env.write("a", format!("{one}{two}{three}"));
    env.write("b", format!("{three}{one}{two}"));
    let list = why(&env, &["a", "b"]).text();
    assert!(list.contains(", 1 moved (compared to the byte)"), "{list}");
    let moved: Vec<&str> = list.lines().filter(|line| line.starts_with('~')).collect();
    assert_eq!(moved.len(), 2, "{list}");
    assert!(
        moved[0].contains("; moved: a lines 3281-4920)"),
        "{moved:?}"
    );
    assert!(moved[1].contains("; moved: b lines 1-1640)"), "{moved:?}");
    let columns = why(&env, &["a", "b", "-y"]).text();
    assert!(columns.lines().count() < 40, "{columns}");
    assert!(
        columns.contains("2 moved: a lines 3281-4920, b lines 1-1640\n"),
        "{columns}"
    );
    assert!(columns.contains("│… 1,634 lines of 2 …"), "{columns}");
    assert!(columns.contains("    … 3,274 lines equal …\n"), "{columns}");
    let more = why(&env, &["a", "b", "-y", "--context", "9"]).text();
    assert!(more.contains("… 3,262 lines equal …\n"), "{more}");
}

#[test]
fn matches_only_hides_what_differs() {
    let env = environment();
    documents(&env);
    let expected = "
 1  1 1│technical document information
 2  2 1│title: Is there an integration between the service desk and the inventory?
 3  3 1│document id: OV-EN00
";
    let ran = why(&env, &["old.txt", "new.txt", "--matches-only"]);
    let text = ran.text();
    assert_eq!(ran.code, 0);
    assert!(text.starts_with(&expected[1..]), "{text}");
    assert!(
        !text.contains("0734") && !text.contains("enabling you"),
        "{text}"
    );
    assert!(
        text.contains(" 9  9 2│Next to the importer there is an event interface, enabling \n"),
        "{text}"
    );
    assert!(
        text.contains(" 9  9 3│to build interfaces with the help desk.\n"),
        "{text}"
    );
    let document = why(
        &env,
        &["old.txt", "new.txt", "--matches-only", "--format", "json"],
    )
    .json();
    assert_eq!(document["ranges"].as_array().unwrap().len(), 3);
    assert_eq!(document["differs_a"], json!([]));
}

#[test]
fn programs_get_every_range() {
    let env = environment();
    documents(&env);
    let ran = why(&env, &["old.txt", "new.txt", "--format", "json"]);
    assert_eq!((ran.code, &*ran.err), (0, ""));
    let document = ran.json();
    assert_eq!(document["command"], "why");
    assert_eq!(document["parameters"]["a"], "old.txt");
    assert_eq!(document["relation"], "near");
    assert_eq!(
        (&document["exact"], &document["text"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        document["ranges"],
        json!([
            {"a": [0, 126], "b": [0, 126],
                "lines_a": [1, 3], "lines_b": [1, 3], "placing": "in-order"},
            {"a": [176, 440], "b": [176, 440],
                "lines_a": [5, 9], "lines_b": [5, 9], "placing": "in-order"},
            {"a": [440, 732], "b": [444, 736],
                "lines_a": [9, 13], "lines_b": [9, 13], "placing": "in-order"},
        ])
    );
    assert_eq!(
        document["differs_a"],
        json!([{"range": [126, 176], "lines": [3, 5]}])
    );
    assert_eq!(
        document["differs_b"],
        json!([{"range": [126, 176], "lines": [3, 5]}, {"range": [440, 443], "lines": [9, 9]}])
    );
    assert_eq!(
        (&document["differing_bytes_a"], &document["size_b"]),
        (&json!(50), &json!(736))
    );

    let lines = why(&env, &["old.txt", "new.txt", "--format", "jsonl"]).text();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let rows: Vec<&str> = lines[1..]
        .iter()
        .map(|line| line["row"].as_str().unwrap())
        .collect();
    assert_eq!(
        rows,
        [
            "range",
            "range",
            "range",
            "repeat",
            "differs-a",
            "differs-b",
            "differs-b"
        ]
    );
    assert_eq!(lines[0]["a_in_b"], document["a_in_b"]);

    why(&env, &["old.txt", "new.txt", "--format", "csv"]).is(
        0,
        "kind,a_from,a_to,b_from,b_to,a_first_line,a_last_line,b_first_line,b_last_line,bytes\n\
         in-order,0,126,0,126,1,3,1,3,126\n\
         in-order,176,440,176,440,5,9,5,9,264\n\
         in-order,440,732,444,736,9,13,9,13,292\n\
         again,439,440,443,444,9,9,9,9,1\n\
         only-a,126,176,,,3,5,,,50\n\
         only-b,,,126,176,,,3,5,50\n\
         only-b,,,440,443,,,9,9,3\n",
        "",
    );
    let tsv = why(
        &env,
        &["old.txt", "new.txt", "--format", "tsv", "--matches-only"],
    );
    assert_eq!(tsv.text().lines().count(), 4);
    assert!(tsv.text().starts_with("in-order\t0\t126\t0\t126\t"));
}

/// Archives have no ranges. Their tables have a row for each member.
#[test]
fn a_table_of_two_archives_has_their_members() {
    let env = environment();
    let [text, image] = [paragraphs(1, 20).into_bytes(), vec![0; 3000]];
    let both = [("a.txt", &text[..]), ("b", &image[..])];
    env.write("a.zip", zip(&both));
    env.write("b.zip", zip(&both[..1]));
    let size = text.len();
    let columns = "a,b,relation,unit,a_in_b,b_in_a,size_a,size_b";
    let shared = format!("a.txt,a.txt,identical,words,1.000000,1.000000,{size},{size}");
    let csv = why(&env, &["a.zip", "b.zip", "--format", "csv"]);
    csv.is(0, &format!("{columns}\n{shared}\nb,,,bytes,,,3000,\n"), "");
    let tsv = ["a.zip", "b.zip", "--format", "tsv", "--matches-only"];
    why(&env, &tsv).is(0, &format!("{}\n", shared.replace(',', "\t")), "");
}

#[test]
fn bytes_are_shown_as_bytes() {
    let env = environment();
    let mut a: Vec<u8> = (0..4000u32).flat_map(|n| (n * n).to_le_bytes()).collect();
    env.write("a", &a);
    a[8000] ^= 0xff;
    a.splice(100..100, *b"ABC");
    env.write("b", &a);
    let ran = why(&env, &["a", "b", "-y"]);
    assert_eq!(ran.code, 0);
    let text = ran.text();
    let columns = text.split("\n\n").nth(1).unwrap();
    assert_eq!(
        format!("\n{columns}"),
        "
       … 80 bytes equal …
0050 1│90010000 b9010000  ........       0050 1│90010000 b9010000  ........
0058 1│e4010000 11020000  ........       0058 1│e4010000 11020000  ........
0060 1│40020000           @...           0060 1│40020000           @...
                                       > 0064  │414243             ABC
0064 2│71020000 a4020000  q.......       0067 2│71020000 a4020000  q.......
006c 2│d9020000 10030000  ........       006f 2│d9020000 10030000  ........
0074 2│49030000 84030000  I.......       0077 2│49030000 84030000  I.......
       … 7,856 bytes equal …
1f2c 2│f9ba3c00 90ca3c00  ..<...<.       1f2f 2│f9ba3c00 90ca3c00  ..<...<.
1f34 2│29da3c00 c4e93c00  ).<...<.       1f37 2│29da3c00 c4e93c00  ).<...<.
1f3c 2│61f93c00           a.<.           1f3f 2│61f93c00           a.<.
1f40  │00                 .            | 1f43  │ff                 .
1f41 3│093d00a1 183d0044  .=...=.D       1f44 3│093d00a1 183d0044  .=...=.D
1f49 3│283d00e9 373d0090  (=..7=..       1f4c 3│283d00e9 373d0090  (=..7=..
1f51 3│473d0039 573d00e4  G=.9W=..       1f54 3│473d0039 573d00e4  G=.9W=..
       … 7,975 bytes equal …
"
    );
}

#[test]
fn content_cannot_paint_the_screen() {
    let env = environment();
    let evil = "\x1b[2J\x1b]0;owned\x07 \u{9b}31m \u{202e}desrever \r";
    env.write(
        "a",
        format!("{}\n{evil}\n{}", paragraphs(1, 3), paragraphs(2, 3)),
    );
    env.write(
        "b",
        format!("{}\nnothing {evil}\n{}", paragraphs(1, 3), paragraphs(2, 3)),
    );
    for args in [&["why", "a", "b"][..], &["why", "a", "b", "--matches-only"]] {
        let (code, text) = on_terminal(&env, args, "dumb");
        assert_eq!(code, Some(0));
        let obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.contains(obeyed), "{text:?}");
        assert!(text.contains("␛[2J␛]0;owned␇"), "{text}");
    }
}

#[test]
fn the_exit_code_says_whether_they_are_similar() {
    let env = environment();
    env.write("a", paragraphs(1, 20));
    env.write("same", paragraphs(1, 20));
    env.write("other", paragraphs(2, 20));
    env.write("tiny", "short");
    env.write("empty", "");
    let identical = why(&env, &["a", "same"]);
    assert_eq!(identical.code, 0);
    assert!(
        identical
            .text()
            .contains("relation   identical\na in b     100% of its words\n")
    );
    assert!(!identical.text().contains("differs"));
    let other = why(&env, &["a", "other"]);
    assert_eq!(other.code, 1);
    assert!(
        other
            .text()
            .ends_with("\nno run of 64 bytes or more is in both\n")
    );
    let tiny = why(&env, &["a", "tiny"]);
    assert_eq!(tiny.code, 1);
    assert!(tiny.text().contains("a in b     too small to judge\n"));
    assert_eq!(why(&env, &["a", "empty"]).code, 1);
    assert_eq!(why(&env, &["empty", "empty"]).code, 0);
    assert_eq!(
        why(&env, &["tiny", "tiny"]).err,
        "resemble: both names lead to one file\n"
    );
}

#[test]
fn what_is_no_file_is_trouble_and_never_waited_for() {
    let env = environment();
    env.write("a", paragraphs(1, 20));
    env.write("dir/x", "x");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        env.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    std::os::unix::fs::symlink("a", env.path("link")).unwrap();
    for (name, sentence) in [
        ("absent", "cannot read absent: No such file or directory"),
        (
            "dir",
            "dir is a directory; `resemble compare A B` compares directories",
        ),
        ("pipe", "cannot read pipe: not a regular file"),
    ] {
        why(&env, &["a", name]).is(2, "", &format!("resemble: {sentence}\n"));
        why(&env, &[name, "a"]).is(2, "", &format!("resemble: {sentence}\n"));
    }
    // `why` follows a symbolic link that the user names.
    assert_eq!(why(&env, &["link", "a"]).code, 0);
    assert_eq!(why(&env, &["a"]).code, 2);
    let both = why(&env, &["a", "link", "-y", "--format", "json"]);
    both.is(
        2,
        "",
        "resemble: --side-by-side is for people; leave out --format\n",
    );
}

#[test]
fn other_programs_show_the_differences() {
    let env = environment();
    env.write("-ab", "one\n");
    env.write("b", "two\n");
    env.write("c", paragraphs(1, 9));
    env.write("d", paragraphs(1, 9));
    let with = |diff: &str, args: &[&str]| {
        let mut command = env.command(["why", "--diff"].iter().chain(args));
        command.env("DIFF", diff).env("PATH", "/usr/bin:/bin");
        finish(&mut command, b"")
    };
    let ran = with("", &["--", "-ab", "b"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.text().starts_with("--- ./-ab\t"), "{ran:?}");
    assert!(ran.text().ends_with("@@ -1 +1 @@\n-one\n+two\n"), "{ran:?}");
    // The value of `DIFF` is split into words, and no shell runs. The exit code is that of `why`.
    with("printf [%s] $HOME  ;x", &["c", "d"]).is(0, "[$HOME][;x][c][d]", "");
    with("false", &["c", "d"]).is(0, "", "");
    let missing = "resemble: cannot run no-such-program to show the differences: \
                   there is no such program; set DIFF to another\n";
    with("no-such-program -u", &["c", "d"]).is(2, "", missing);
    // `DIFF` is the program `yes`. The reader has closed the pipe, so SIGPIPE ends `yes`, which is
    // not an error.
    let mut command = env.command(["why", "--diff", "c", "d"]);
    command.env("DIFF", "yes").env("PATH", "/usr/bin:/bin");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let cut = command
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let cut = cut.wait_with_output().unwrap();
    assert_eq!((cut.status.code(), &*cut.stderr), (Some(0), &b""[..]));
    with("printf %s,", &["c", "d", "-o", "out"]).is(0, "", "");
    assert_eq!(std::fs::read_to_string(env.path("out")).unwrap(), "c,d,");
    with("cat", &["c", "absent"]).is(
        2,
        "",
        "resemble: cannot read absent: No such file or directory\n",
    );
}

#[test]
fn output_has_a_bound() {
    let env = environment();
    let line = |n: u64| {
        format!(
            "line {n} of many, all of them different from each other, {}\n",
            n * n
        )
    };
    let a: String = (0..9_000).map(line).collect();
    // Every third line differs.
    let b: String = (0..9_000)
        .map(|n| {
            if n % 3 == 0 {
                line(n + 100_000)
            } else {
                line(n)
            }
        })
        .collect();
    env.write("a", &a);
    env.write("b", &b);
    for args in [
        &["a", "b"][..],
        &["a", "b", "-y"],
        &["a", "b", "--matches-only", "--context", "9999999"],
    ] {
        let ran = why(&env, args);
        assert_eq!(ran.code, 0);
        let text = ran.text();
        assert!(text.len() < 1 << 20, "{args:?}: {}", text.len());
        let last = text.lines().last().unwrap();
        assert!(
            last.contains("more") || last.contains("not shown"),
            "{last}"
        );
    }
    // Without newlines each text is one line of about a megabyte.
    env.write("a", a.replace('\n', " "));
    env.write("b", b.replace('\n', " "));
    let text = why(&env, &["a", "b", "-y"]).text();
    assert!(text.len() < 1 << 20, "{}", text.len());
}

#[test]
fn a_closed_reader_changes_nothing() {
    let env = environment();
    documents(&env);
    let ended = cut_off(&env, &["why", "old.txt", "new.txt"], 0);
    assert_eq!(ended, (Some(0), String::new()));
}
