//! `groups --files-from` folds a list of files, such as the hits of a search, into one line per
//! cluster.

use std::fs;

use crate::environment;
use resemble_testutil::prose::paragraphs;
use resemble_testutil::{Environment, finish};

fn hits() -> Environment {
    let env = environment();
    let text = paragraphs(1, 200);
    env.write("d/a-copy.txt", &text);
    env.write("d/edited.txt", text.replacen("river", "brook", 2));
    env.write("d/original.txt", &text);
    env.write("d/other.txt", paragraphs(2, 200));
    fs::hard_link(env.path("d/other.txt"), env.path("d/linked.txt")).unwrap();
    env.write("d/not listed.txt", paragraphs(2, 200));
    env.write("d/short", "x");
    env
}

const LIST: &str =
    "d/original.txt\nd/short\nd/linked.txt\nd/edited.txt\nd/a-copy.txt\nd/other.txt\n";

#[test]
fn the_first_of_the_list_stands_for_its_cluster() {
    let env = hits();
    let text = env.feed(["groups", "--files-from", "-"], LIST.as_bytes());
    text.is(0, "d/original.txt  +2\nd/short\nd/linked.txt  +1\n", "");
    let tsv = env.feed(
        ["groups", "--files-from", "-", "--format", "tsv"],
        LIST.as_bytes(),
    );
    tsv.is(0, "d/original.txt\t2\nd/short\t0\nd/linked.txt\t1\n", "");
    let json = env.feed(
        ["groups", "--files-from", "-", "--format", "json"],
        LIST.as_bytes(),
    );
    assert_eq!(
        json.json()["folded"][0]["others"],
        serde_json::json!(["d/edited.txt", "d/a-copy.txt"])
    );
    let null = LIST.replace('\n', "\0");
    let mut command = env.command(["groups", "--files-from", "-", "-0"]);
    let names = finish(&mut command, null.as_bytes());
    names.is(0, "d/original.txt\0d/short\0d/linked.txt\0", "");
    // In every format, `-0` describes the list. In TSV, it also ends the rows with NUL.
    for (format, lines) in [("jsonl", 4), ("csv", 4), ("tsv", 1)] {
        let args = ["groups", "--files-from", "-", "-0", "--format", format];
        let ran = env.feed(args, null.as_bytes());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{format}");
        assert_eq!(
            ran.text().lines().count(),
            lines,
            "{format}: {}",
            ran.text()
        );
    }
    let json = env.feed(
        ["groups", "--files-from", "-", "-0", "--format", "json"],
        null.as_bytes(),
    );
    assert_eq!(json.json()["total"], 3);
    let page = env.feed(
        ["groups", "--files-from", "-", "-0", "--format", "html"],
        b"",
    );
    assert!(
        page.code == 2 && page.err.contains("whole reports"),
        "{page:?}"
    );
}

#[test]
fn what_is_no_file_is_said() {
    let env = hits();
    let gone = env.feed(["groups", "--files-from", "-"], b"d/original.txt\nd/gone\n");
    assert_eq!((gone.code, gone.text().as_str()), (2, "d/original.txt\n"));
    assert!(gone.err.contains("d/gone: No such file"), "{}", gone.err);
    let dir = env.feed(["groups", "--files-from", "-"], b"d\nd/original.txt\n");
    assert_eq!((dir.code, dir.text().as_str()), (2, "d/original.txt\n"));
    assert!(dir.err.contains("d: Is a directory"), "{}", dir.err);
    let nothing = env.feed(["groups", "--files-from", "-"], b"");
    assert_eq!((nothing.code, nothing.text().as_str()), (1, ""));
}

#[test]
fn a_file_that_a_filter_leaves_out_has_no_line() {
    let env = hits();
    let ask = |more: &[&str]| {
        let list = ["groups", "--files-from", "-"];
        env.feed([&list[..], more].concat(), LIST.as_bytes())
    };
    let large = ask(&["--min-size=1K", "--exclude=edited*"]);
    large.is(0, "d/original.txt  +1\nd/linked.txt  +1\n", "");
    ask(&["--include=short"]).is(0, "d/short\n", "");
    let none = ask(&["--include=no-such"]);
    assert_eq!((none.code, none.text().as_str()), (1, ""));
}

#[test]
fn a_name_that_is_listed_again_counts_once() {
    let env = hits();
    let list = b"d/edited.txt\nd/edited.txt\nd/../d/edited.txt\nd/a-copy.txt\n";
    let text = env.feed(["groups", "--files-from", "-"], list);
    text.is(0, "d/edited.txt  +1\n", "");
}
