//! `text` prints the text by which a file is compared. git can use it as its `textconv`.

use resemble_testutil::office::{docx, odt};
use resemble_testutil::pack::{mail, zip};
use resemble_testutil::prose::paragraphs;
use resemble_testutil::{Ran, finish, skipped};

use crate::environment;

#[test]
fn a_document_has_the_text_that_why_names_lines_of() {
    let env = environment();
    let text = paragraphs(1, 12);
    env.write("a.docx", docx(&text));
    env.write("a.odt", odt(&text));
    env.write("a.txt", &text);
    let of = |file: &str| env.run(["text", file]).success();
    let plain = of("a.txt");
    assert_eq!((plain.text(), plain.err.as_str()), (text.clone(), ""));
    let words = |ran: &Ran| -> Vec<String> {
        let text = ran.text();
        text.split_whitespace().map(str::to_owned).collect()
    };
    for file in ["a.docx", "a.odt"] {
        assert_eq!(words(&of(file)), words(&plain), "{file}");
    }
    // `why` numbers the lines of a document as the output of `text` does.
    let edited: Vec<&str> = text
        .lines()
        .enumerate()
        .map(|(at, line)| if at == 2 { "else" } else { line })
        .collect();
    env.write("b.docx", docx(&edited.join("\n")));
    let differs = env
        .run(["why", "a.docx", "b.docx", "--format", "json"])
        .json();
    let line = differs["differs_b"][0]["lines"][0].as_u64().unwrap();
    let numbered = env.run(["text", "--lines", "b.docx"]).success().text();
    assert!(
        numbered.contains(&format!("\n{line}\telse\n")),
        "{line}: {numbered}"
    );
}

#[test]
fn what_is_not_compared_by_text_ends_with_1_and_says_by_what() {
    let env = environment();
    env.write("data", [0, 1, 2, 3].repeat(100));
    env.write("a.txt", "some words without an end of line");
    env.write(
        "all.zip",
        zip(&[("in/a.txt", b"of the member\n"), ("in/b", &[0; 300])]),
    );
    env.run(["text", "data"])
        .is(1, "", "resemble: data: compared by bytes\n");
    env.run(["text", "all.zip"]).is(
        1,
        "",
        "resemble: all.zip: compared by its members; --members prints their texts\n",
    );
    env.run(["text", "--members", "all.zip"]).is(
        0,
        "== 'all.zip!in/a.txt' ==\nof the member\n",
        "resemble: all.zip: 1 member compared by bytes\n",
    );
    env.run(["text", "all.zip!in/a.txt"])
        .is(0, "of the member\n", "");
    env.run(["text", "a.txt", "data", "all.zip!in/a.txt"]).is(
        1,
        "== a.txt ==\nsome words without an end of line\n== 'all.zip!in/a.txt' ==\nof the member\n",
        "resemble: data: compared by bytes\n",
    );
    env.write(
        "all.eml",
        mail("A letter.\n", &[("b.txt", b"Its enclosure.\n")]),
    );
    let all = env
        .run(["text", "--members", "--lines", "all.eml"])
        .success()
        .text();
    assert!(
        all.contains("A letter.") && all.contains("== 'all.eml!b.txt' ==\n1\tIts enclosure.\n"),
        "{all}"
    );
}

#[test]
fn trouble_ends_with_2_and_the_other_files_are_printed() {
    let env = environment();
    env.write("a.txt", "some words\n");
    env.write("bad.docx", &docx("some words")[..40]);
    for (bad, said) in [
        ("absent", "absent: No such file or directory"),
        ("a.txt!b", "'a.txt!b': No such file"),
        ("bad.docx", "bad.docx: damaged"),
    ] {
        let ran = env.run(["text", bad, "a.txt"]);
        assert_eq!(
            (ran.code, ran.text()),
            (2, "== a.txt ==\nsome words\n".into()),
            "{bad}: {}",
            ran.err
        );
        assert!(ran.err.contains(said), "{bad}: {}", ran.err);
    }
    let ran = env.run(["text", "."]);
    assert_eq!(
        (ran.code, ran.err.contains("is a directory")),
        (2, true),
        "{}",
        ran.err
    );
}

/// A member that is there but cannot be read is not called absent.
#[test]
fn an_encrypted_member_is_called_encrypted() {
    let env = environment();
    let marked = |mut zip: Vec<u8>, members: usize| {
        // The flag of an encrypted member is in its record in the directory of the archive.
        let is_record = |at: &usize| zip[*at..].starts_with(b"PK\x01\x02");
        let records: Vec<usize> = (0..zip.len()).filter(is_record).take(members).collect();
        for at in records {
            zip[at + 8] |= 1;
        }
        zip
    };
    let files: [(&str, &[u8]); 2] = [("a.txt", b"the first"), ("b.txt", b"the second")];
    env.write("some.zip", marked(zip(&files), 1));
    env.write("all.zip", marked(zip(&files), 2));
    for (member, said) in [
        ("some.zip!a.txt", "encrypted"),
        ("some.zip!c.txt", "No such file or directory"),
        (
            "all.zip!a.txt",
            "the file that holds it cannot be read: encrypted",
        ),
    ] {
        let said = format!("'{member}': {said}\n");
        let text = env.run(["text", member]);
        text.is(2, "", &format!("resemble: {said}"));
        let found = env.run(["find", member, "--in", ".", "--local"]);
        assert!(found.code == 2 && found.err.contains(&said), "{found:?}");
        let why = env.run(["why", member, "some.zip!b.txt"]);
        why.is(2, "", &format!("resemble: cannot read {said}"));
    }
}

/// A member that is there but too large is not called absent.
#[test]
fn a_large_member_is_called_large() {
    let env = environment();
    let large = vec![b'x'; (64 << 20) + 1];
    env.write(
        "some.zip",
        zip(&[("large.bin", &large), ("b.txt", b"small")]),
    );
    let said = "'some.zip!large.bin': members larger than 64 MiB are not read whole\n";
    let text = env.run(["text", "some.zip!large.bin"]);
    text.is(2, "", &format!("resemble: {said}"));
    let why = env.run(["why", "some.zip!b.txt", "some.zip!large.bin"]);
    why.is(2, "", &format!("resemble: cannot read {said}"));
}

/// `git diff` of two versions of a document compares their texts.
#[test]
fn git_compares_documents_by_their_texts() {
    let env = environment();
    if finish(env.foreign("git").arg("--version"), b"").code != 0 {
        return skipped("git is not installed");
    }
    let git = |args: &[&str]| finish(env.foreign("git").args(args), b"").success();
    git(&["init", "-q"]);
    let textconv = format!("'{}' text", env!("CARGO_BIN_EXE_resemble"));
    git(&["config", "diff.resemble.textconv", &textconv]);
    env.write(".gitattributes", "*.docx diff=resemble\n");
    let [old, new] = ["old", "new"].map(|word| docx(&format!("The first.\nThe {word} second.")));
    env.write("a.docx", old);
    git(&["add", "."]);
    env.write("a.docx", new);
    let diff = git(&["diff"]).text();
    assert!(
        diff.contains("\n-The old second.\n") && diff.contains("\n+The new second.\n"),
        "{diff}"
    );
    assert!(diff.contains("\n The first.\n"), "{diff}");
}
