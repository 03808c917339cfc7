//! Tests the protocol between parent and worker with workers that misbehave. Also tests converters.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::pieces::{Pieces, converting, gzip, limits, program, stored, take_with, zip};
use crate::starter::starter;
use resemble_extract::{Bound, Extractor, Limits, Skipped, Workers};

/// Runs a shell script as the worker, once for each way in which a worker can be started.
fn with_script(script: &str, limits: Limits) -> Result<Pieces, Skipped> {
    let program: Vec<PathBuf> = ["/bin/sh", "-c", script].iter().map(Into::into).collect();
    let take = |workers| {
        let extractor = Extractor::new(workers, limits, Vec::new());
        take_with(&extractor, "x", &gzip(b"x"))
    };
    let (_folder, socket) = starter(program.clone());
    let (of_ours, of_a_starter) = (take(Workers::OfOurs(program)), take(Workers::Of(socket)));
    let told = |taken: &Result<Pieces, Skipped>| match taken {
        Ok(pieces) => Ok(pieces.paths()),
        Err(why) => Err(why.clone()),
    };
    assert_eq!(told(&of_ours), told(&of_a_starter), "{script}");
    of_ours
}

fn short() -> Limits {
    Limits {
        time: Duration::from_millis(400),
        ..limits()
    }
}

#[test]
fn a_worker_that_does_not_end_is_killed_with_all_it_started() {
    for script in [
        "sleep 100",
        "sleep 100 & sleep 100",
        "while :; do :; done",
        "exec sleep 100 >&-",
    ] {
        let started = Instant::now();
        let why = with_script(script, short()).unwrap_err();
        assert_eq!(why, Skipped::TooMuch(Bound::Time), "{script}");
        assert!(started.elapsed() < Duration::from_secs(5), "{script}");
    }
    // The worker ends and leaves a child running. The child must not keep the pipes open.
    let started = Instant::now();
    assert_eq!(
        with_script("sleep 100 & exit 0", limits()).unwrap_err(),
        Skipped::Crashed
    );
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn whatever_a_worker_says_that_makes_no_sense_is_a_crash() {
    let begin = r"printf '\004\000\000\000\000\002\000\000'";
    let end = r"printf '\001\000\000\000\002'";
    let done = r"printf '\001\000\000\000\010'";
    for script in [
        "exit 0",
        "exit 1",
        "kill -SEGV $$",
        "kill -KILL $$",
        "printf nonsense",
        r"printf '\003\000\000\000\001\001x'",
        r"printf '\377\377\377\377'",
        r"printf '\005\000\000\000\000\002\001\011\000'",
        r"printf '\004\000\000\000\000\011\000\000'",
        &format!("{begin}; {begin}"),
        &format!("{begin}; {done}"),
        &format!("{end}; {done}"),
        &format!("{done}; {begin}"),
        &format!("{done}; printf x"),
        &format!("{done}; exit 1"),
        r"printf '\001\000\000\000\006'",
    ] {
        assert_eq!(
            with_script(script, limits()).unwrap_err(),
            Skipped::Crashed,
            "{script}"
        );
    }
    let pieces = with_script(&format!("{begin}; {end}; {done}"), limits()).unwrap();
    assert_eq!(pieces.paths(), [""]);
}

#[test]
fn the_parent_counts_for_itself() {
    let flood = concat!(
        r"printf '\004\000\000\000\000\002\000\000'; ",
        r"while :; do printf '\014\000\000\000\001\0120123456789'; done"
    );
    let little = Limits {
        bytes: 1000,
        ..limits()
    };
    assert_eq!(
        with_script(flood, little).unwrap_err(),
        Skipped::TooMuch(Bound::Bytes)
    );
    let members =
        r"while :; do printf '\004\000\000\000\000\002\000\000\001\000\000\000\002'; done";
    let few = Limits {
        parts: 20,
        ..limits()
    };
    assert_eq!(
        with_script(members, few).unwrap_err(),
        Skipped::TooMuch(Bound::Parts)
    );
}

#[test]
fn a_worker_that_cannot_be_run_is_told_with_the_reason() {
    for program in [vec![], vec!["/nonexistent/worker".into()]] {
        let extractor = Extractor::new(Workers::OfOurs(program), limits(), Vec::new());
        let why = take_with(&extractor, "x", &gzip(b"x")).unwrap_err();
        assert!(
            matches!(&why, Skipped::NotRun(reason) if !reason.is_empty()),
            "{why}"
        );
    }
}

/// The end of the order of a first run. No reader is left out, and no converter is configured.
const NOTHING_BEFORE: &str = r#""leave_out":[],"not_these":[]}"#;

/// Makes an extractor that uses the real worker. In the first run, the worker crashes after it has
/// written this number of bytes.
fn crashing_after(bytes: usize) -> Extractor {
    let real = program()[0].to_string_lossy().into_owned();
    let cut = format!("{real} --worker \"${{1/:$PPID,/:$$,}}\" | head -c {bytes}; kill -SEGV $$");
    let whole = format!("exec {real} --worker \"$1\"");
    let script = format!("case \"$1\" in *'{NOTHING_BEFORE}') {cut};; *) {whole};; esac");
    let program = ["/bin/bash", "-c", &script, "bash"].map(PathBuf::from);
    Extractor::new(Workers::OfOurs(program.to_vec()), limits(), Vec::new())
}

#[test]
fn a_crash_costs_what_crashed_and_at_worst_the_file() {
    let inner = zip(&[stored("in.txt", b"inner")]);
    let docx = crate::pieces::sample("minutes.docx");
    let members = [
        stored("1.docx", &docx),
        stored("2.zip", &inner),
        stored("3.txt", b"three"),
    ];
    let outer = zip(&members);
    let whole = take_with(
        &Extractor::new(Workers::OfOurs(program()), limits(), Vec::new()),
        "x",
        &outer,
    )
    .unwrap();
    assert_eq!(
        whole.paths(),
        ["1.docx", "1.docx!*", "2.zip", "2.zip!in.txt", "3.txt"]
    );
    let (mut without_docx, mut without_zip) = (0, 0);
    for bytes in (0..8600).step_by(173).chain((8000..8400).step_by(4)) {
        match take_with(&crashing_after(bytes), "x", &outer) {
            Err(why) => assert_eq!(why, Skipped::Crashed, "{bytes}"),
            Ok(pieces) => {
                let paths = pieces.paths();
                match &pieces.skips()[..] {
                    [one] if one == "1.docx: the reader crashed" => {
                        without_docx += 1;
                        assert_eq!(paths, ["1.docx", "2.zip", "2.zip!in.txt", "3.txt"]);
                    }
                    [one] if one == "2.zip: the reader crashed" => {
                        without_zip += 1;
                        assert_eq!(paths, ["1.docx", "1.docx!*", "2.zip", "3.txt"]);
                    }
                    skips => panic!("{bytes}: {skips:?}"),
                }
                for path in paths {
                    assert_eq!(pieces.bytes_of(&path), whole.bytes_of(&path));
                }
            }
        }
    }
    assert!(
        without_docx > 5 && without_zip > 5,
        "{without_docx} {without_zip}"
    );
}

#[test]
fn a_document_that_hangs_costs_itself_alone() {
    // In the first run, only 6500 bytes of the real worker's output arrive. Then nothing more
    // arrives.
    let real = program()[0].to_string_lossy().into_owned();
    let cut = format!("{real} --worker \"${{1/:$PPID,/:$$,}}\" | head -c 6500; exec sleep 100");
    let whole = format!("exec {real} --worker \"$1\"");
    let script = format!("case \"$1\" in *'{NOTHING_BEFORE}') {cut};; *) {whole};; esac");
    let program = ["/bin/bash", "-c", &script, "bash"].map(PathBuf::from);
    let limits = Limits {
        time: Duration::from_secs(8),
        ..limits()
    };
    let docx = crate::pieces::sample("minutes.docx");
    let outer = zip(&[stored("1.docx", &docx), stored("2.txt", b"two")]);
    let started = Instant::now();
    let pieces = take_with(
        &Extractor::new(Workers::OfOurs(program.to_vec()), limits, Vec::new()),
        "x",
        &outer,
    );
    let pieces = pieces.unwrap();
    assert_eq!(pieces.paths(), ["1.docx", "2.txt"]);
    assert_eq!(pieces.skips(), ["1.docx: took too long"]);
    assert!(started.elapsed() < Duration::from_secs(6));
}

#[test]
fn converters_make_text_of_what_nothing_else_reads() {
    let extractor = converting(&["doc", "wri"], &["tr", "a-z", "A-Z"], limits());
    let pieces = take_with(&extractor, "Letter.DOC", b"\xd0\xcf\x11\xe0hello").unwrap();
    assert_eq!(pieces.paths(), ["*"]);
    assert!(pieces.bytes_of("*").ends_with(b"HELLO"));
    // This converter reads the file at the path in its arguments, and not its standard input.
    let by_path = converting(&["doc"], &["cat", "{}"], limits());
    assert_eq!(
        take_with(&by_path, "a.doc", b"as it is")
            .unwrap()
            .bytes_of("*"),
        b"as it is"
    );
    // A converter also reads members of archives whose names have its ending. No other reader takes
    // such a member apart.
    let docx = crate::pieces::sample("minutes.docx");
    let archive = zip(&[
        stored("b.doc", b"deep"),
        stored("c.doc", &docx),
        stored("d.txt", b"x"),
    ]);
    let pieces = take_with(
        &converting(&["doc"], &["head", "-c", "4"], limits()),
        "a.zip",
        &archive,
    )
    .unwrap();
    assert_eq!(
        pieces.paths(),
        ["b.doc", "b.doc!*", "c.doc", "c.doc!*", "d.txt"]
    );
    assert_eq!(pieces.bytes_of("b.doc!*"), b"deep");
    // A converter that writes nothing makes no part.
    assert!(
        take_with(&converting(&["doc"], &["true"], limits()), "a.doc", b"x")
            .unwrap()
            .all
            .is_empty()
    );
}

#[test]
fn converters_are_bounded_and_their_faults_told() {
    let fault = |command: &[&str], limits: Limits| {
        let started = Instant::now();
        let why = take_with(&converting(&["doc"], command, limits), "a.doc", b"x").unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(8), "{command:?}");
        why
    };
    let why = fault(&["/nonexistent/antiword", "-"], limits());
    assert!(
        matches!(&why, Skipped::NotRun(reason) if reason.contains("antiword")),
        "{why}"
    );
    let why = fault(&["sh", "-c", "echo no document >&2; exit 3"], limits());
    assert_eq!(why, Skipped::Damaged("sh: no document".to_owned()));
    assert_eq!(
        fault(&["sleep", "100"], short()),
        Skipped::TooMuch(Bound::Time)
    );
    let little = Limits {
        bytes: 100_000,
        ..limits()
    };
    assert_eq!(fault(&["yes"], little), Skipped::TooMuch(Bound::Bytes));
    // If the file is in an archive, only the text of this member is lost.
    let archive = zip(&[stored("b.doc", b"x"), stored("c.txt", b"y")]);
    let pieces = take_with(
        &converting(&["doc"], &["false"], limits()),
        "a.zip",
        &archive,
    )
    .unwrap();
    assert_eq!(pieces.paths(), ["b.doc", "c.txt"]);
    assert_eq!(pieces.skipped.len(), 1);
    assert_eq!(pieces.skipped[0].0, b"b.doc");
}

#[test]
fn a_converter_gets_no_shell_and_no_other_rights() {
    let words = converting(&["doc"], &["printf", "%s", "$HOME; `id` *"], limits());
    assert_eq!(
        take_with(&words, "a.doc", b"x").unwrap().bytes_of("*"),
        b"$HOME; `id` *"
    );
    let status = converting(
        &["doc"],
        &["grep", "-E", "^(NoNewPrivs|Seccomp):", "/proc/self/status"],
        limits(),
    );
    let pieces = take_with(&status, "a.doc", b"x").unwrap();
    assert!(pieces.bytes_of("*").starts_with(b"NoNewPrivs:\t1"));
}

#[test]
fn the_worker_says_which_fences_are_up() {
    let fences = Extractor::new(Workers::OfOurs(program()), limits(), Vec::new()).fences();
    let lsm = std::fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
    let landlock = fences.unwrap().landlock;
    assert!(landlock.is_some() || !lsm.contains("landlock"), "{lsm}");
    let none = Extractor::new(
        Workers::OfOurs(vec!["/bin/false".into()]),
        limits(),
        Vec::new(),
    )
    .fences();
    assert_eq!(none, Err(Skipped::Crashed));
}

/// Prevents a regression: an earlier worker read files even without a filter of system calls.
#[test]
fn without_a_filter_of_system_calls_no_document_is_read() {
    const CHILD: &str = "RESEMBLE_WITHOUT_FILTERS";
    let name = "worker::without_a_filter_of_system_calls_no_document_is_read";
    let docx = crate::pieces::sample("minutes.docx");
    let extractor = Extractor::new(Workers::OfOurs(program()), limits(), Vec::new());
    if std::env::var_os(CHILD).is_none() {
        // As a control, checks that the file is read if filters are possible.
        let pieces = take_with(&extractor, "minutes.docx", &docx).unwrap();
        assert_eq!(pieces.paths(), ["*"]);
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        return;
    }
    crate::pieces::refuse_filters();
    let why = take_with(&extractor, "minutes.docx", &docx).unwrap_err();
    let Skipped::NotRun(why) = why else {
        panic!("{why}");
    };
    assert!(why.contains("filter of system calls"), "{why}");
    assert!(extractor.fences().is_err());
}
