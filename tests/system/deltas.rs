//! Tests deltas, the changes since a catalogue was written: `catalogue write --since`,
//! `catalogue join`, and `-o -`.

use std::fs;
use std::process::Stdio;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Ran, Sandbox, names, pack};

/// Makes the tree of the first day: documents, an archive, a link, and a file with two names.
fn first_day(sandbox: &Sandbox) {
    for n in 0..40 {
        sandbox.write(format!("a/{n}.txt"), prose(n, 3_000));
    }
    sandbox.write(
        "b/archive.zip",
        pack::zip(&[("in/7.txt", &prose(7, 3_000))]),
    );
    sandbox.write("b/one name", prose(90, 2_000));
    fs::hard_link(sandbox.tree("b/one name"), sandbox.tree("b/other name")).expect("a link");
    std::os::unix::fs::symlink("a", sandbox.tree("link")).expect("a link");
}

/// Makes changes of all kinds: files are edited, added, moved, removed, copied, packed, and linked
/// at other places.
fn second_day(sandbox: &Sandbox) {
    sandbox.write("a/3.txt", edited(&prose(3, 3_000), 5, 3));
    sandbox.write("a/0 new.txt", prose(100, 3_000));
    fs::rename(sandbox.tree("a/5.txt"), sandbox.tree("b/5 moved.txt")).expect("it moves");
    fs::remove_file(sandbox.tree("a/9.txt")).expect("it goes");
    sandbox.write("b/copy.txt", prose(11, 3_000));
    let members: [(&str, &[u8]); 2] = [("in/7.txt", &prose(7, 3_000)), ("8.txt", &prose(8, 3_000))];
    sandbox.write("b/archive.zip", pack::zip(&members));
    fs::remove_file(sandbox.tree("link")).expect("it goes");
    std::os::unix::fs::symlink("b", sandbox.tree("link")).expect("a link");
}

fn third_day(sandbox: &Sandbox) {
    fs::rename(sandbox.tree("a"), sandbox.tree("z")).expect("it moves");
    fs::remove_file(sandbox.tree("b/other name")).expect("it goes");
    sandbox.write("b/one name", prose(91, 2_000));
}

fn run(sandbox: &Sandbox, words: &[&str]) -> Ran {
    sandbox.resemble(words.iter())
}

fn bytes(sandbox: &Sandbox, name: &str) -> Vec<u8> {
    fs::read(sandbox.path(name)).expect(name)
}

/// Returns the shell script of the nightly systemd unit, without the quoting of systemd.
fn nightly() -> String {
    let units = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../systemd");
    let unit = fs::read_to_string(units.join("resemble-export@.service"))
        .expect("a unit")
        .replace("\\\n", "");
    let run = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let (_, script) = run
        .and_then(|run| run.split_once(" sh -efuc '"))
        .expect("a script");
    script
        .strip_suffix('\'')
        .expect("an end")
        .replace("$$", "$")
}

/// In the first night, a whole catalogue is sent. In later nights, only the changes are sent. If
/// sending fails, the changes are sent in the next night, together with the new changes.
#[test]
fn the_unit_of_every_night_sends_what_is_new() {
    let sandbox = Sandbox::new();
    first_day(&sandbox);
    let daemon = sandbox.daemon([""; 0]);
    let state = sandbox.path("nights");
    fs::create_dir(&state).expect("a folder");
    let program = sandbox.program("resemble");
    let programs = std::path::Path::new(program.get_program())
        .parent()
        .expect("a folder");
    let script = nightly();
    let night = |send: &str| -> Ran {
        daemon.sync();
        let mut sh = sandbox.foreign("sh");
        sh.args(["-efuc", &script]);
        sh.env("PATH", Sandbox::path_with(programs))
            .env("SEND", send);
        sh.env("LABEL", "laptop")
            .env("ROOTS", sandbox.tree(""))
            .env("STATE_DIRECTORY", &state);
        sh.output().expect("sh runs").into()
    };
    // This script acts as the other machine: it stores the first catalogue and joins each delta to
    // it.
    let send = "if [ $FORM = cat ]; then cat >../there.cat; else cat >../in.delta && \
                resemble catalogue join ../there.cat ../in.delta -o ../there.cat; fi";
    night(send).success();
    let first = bytes(&sandbox, "there.cat");
    second_day(&sandbox);
    assert_ne!(night("exit 3").code, 0);
    assert_eq!(bytes(&sandbox, "nights/sent.cat"), first, "it was not sent");
    third_day(&sandbox);
    night(send).success();
    let sent = bytes(&sandbox, "nights/sent.cat");
    assert!(sent != first && bytes(&sandbox, "there.cat") == sent);
    assert!(bytes(&sandbox, "in.delta").len() < sent.len());
    // The catalogue on the other machine has the same files as the tree.
    run(&sandbox, &["compare", "there.cat", "tree"]).success();
}

#[test]
fn an_old_catalogue_and_its_deltas_are_the_new_one() {
    let sandbox = Sandbox::new();
    first_day(&sandbox);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    // With `--local`, the command itself digests the tree. Otherwise, the data of the daemon are
    // used. The bytes must be the same in both cases.
    for options in [
        &[][..],
        &["--local"],
        &["--no-names"],
        &["--no-text", "--local"],
    ] {
        let fresh = Sandbox::new();
        first_day(&fresh);
        let sandbox = if options.contains(&"--local") {
            &fresh
        } else {
            &sandbox
        };
        let local: &[&str] = if options.contains(&"--local") {
            &["--local"]
        } else {
            &[]
        };
        let whole = |to: &str, created: &str| {
            let fixed = [
                "catalogue",
                "write",
                "tree",
                "--label",
                "x",
                "--created",
                created,
                "-o",
                to,
            ];
            run(sandbox, &[&fixed, options].concat()).success();
        };
        let since = |base: &str, to: &str, created: &str| {
            let fixed = [
                "catalogue",
                "write",
                "tree",
                "--since",
                base,
                "--created",
                created,
                "-o",
                to,
            ];
            run(sandbox, &[&fixed, local].concat()).success()
        };
        let settle = || {
            if local.is_empty() {
                daemon.sync();
            }
        };
        whole("1.cat", "1");
        second_day(sandbox);
        settle();
        since("1.cat", "2.delta", "2");
        whole("2.cat", "2");
        third_day(sandbox);
        settle();
        since("2.cat", "3.delta", "3");
        whole("3.cat", "3");
        let join = |words: &[&str]| run(sandbox, &[&["catalogue", "join"], words].concat());
        let said = join(&["1.cat", "2.delta", "-o", "joined.cat"]).success();
        assert!(said.err.contains("files with"), "{}", said.err);
        assert!(
            bytes(sandbox, "joined.cat") == bytes(sandbox, "2.cat"),
            "{options:?}"
        );
        // The two deltas are joined in one command, and the result replaces the first file.
        join(&["1.cat", "2.delta", "3.delta", "-o", "1.cat"]).success();
        assert!(
            bytes(sandbox, "1.cat") == bytes(sandbox, "3.cat"),
            "{options:?}"
        );
        if !options.contains(&"--no-names") {
            let (delta, whole) = (bytes(sandbox, "2.delta"), bytes(sandbox, "2.cat"));
            assert!(
                delta.len() < whole.len() / 4,
                "{} of {}",
                delta.len(),
                whole.len()
            );
        }
        // The tree of the daemon is reset to the first day for the next pass.
        if local.is_empty() {
            for name in names(sandbox.path("tree")) {
                let path = sandbox.tree(name);
                let gone = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
                gone.expect("it goes");
            }
            first_day(sandbox);
            daemon.sync();
        }
    }
}

/// With `-o -` a pipe gets the same bytes as a file would, and no file is left behind.
#[test]
fn a_pipe_gets_the_same_bytes() {
    let sandbox = Sandbox::new();
    first_day(&sandbox);
    let temp = sandbox.path("temp");
    fs::create_dir(&temp).expect("a folder");
    let piped = |words: &[&str]| {
        let mut command = sandbox.program("resemble");
        let output = command
            .args(words)
            .env("TMPDIR", &temp)
            .stdout(Stdio::piped())
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let fixed = ["catalogue", "write", "tree", "--local", "--created", "1"];
    run(&sandbox, &[&fixed[..], &["-o", "tree.cat"]].concat()).success();
    assert!(piped(&[&fixed[..], &["-o", "-"]].concat()) == bytes(&sandbox, "tree.cat"));
    fs::copy(sandbox.path("tree.cat"), sandbox.path("old.cat")).expect("a copy");
    second_day(&sandbox);
    let since = ["--since", "old.cat"];
    run(
        &sandbox,
        &[&fixed[..], &since, &["-o", "new.delta"]].concat(),
    )
    .success();
    let delta = piped(&[&fixed[..], &since, &["-o", "-"]].concat());
    assert!(delta == bytes(&sandbox, "new.delta"));
    run(&sandbox, &[&fixed[..], &["-o", "tree.cat"]].concat()).success();
    let joined = piped(&["catalogue", "join", "old.cat", "new.delta", "-o", "-"]);
    assert!(joined == bytes(&sandbox, "tree.cat"));
    assert!(names(&temp).is_empty(), "{:?}", names(&temp));
}

/// Each unfit file is refused with one sentence and exit code 2. Earlier files stay unchanged.
#[test]
fn what_does_not_fit_is_refused() {
    let sandbox = Sandbox::new();
    first_day(&sandbox);
    let export = |words: &[&str]| {
        let fixed = ["catalogue", "write", "tree", "--local"];
        run(&sandbox, &[&fixed[..], words].concat())
    };
    export(&["-o", "1.cat"]).success();
    second_day(&sandbox);
    export(&["-o", "2.cat"]).success();
    export(&["--since", "1.cat", "-o", "2.delta"]).success();
    let delta = bytes(&sandbox, "2.delta");
    fs::write(sandbox.path("torn.delta"), &delta[..delta.len() - 7]).expect("a file");
    let before = names(sandbox.path(""));
    let kept = bytes(&sandbox, "2.cat");
    let refused = |ran: Ran, why: &str| {
        let ran = ran.exits(2);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(ran.err.contains(why), "{}", ran.err);
    };
    let join =
        |base: &str, delta: &str| run(&sandbox, &["catalogue", "join", base, delta, "-o", "2.cat"]);
    refused(join("1.cat", "torn.delta"), "damaged");
    refused(join("2.cat", "2.delta"), "does not continue");
    refused(join("1.cat", "1.cat"), "it is not a delta");
    refused(join("2.delta", "2.delta"), "resemble catalogue join");
    refused(join("none.cat", "2.delta"), "none.cat");
    refused(
        run(&sandbox, &["catalogue", "add", "2.delta", "--local"]),
        "does not continue",
    );
    let since = [
        "catalogue",
        "write",
        "tree",
        "--since",
        "2.delta",
        "-o",
        "2.cat",
    ];
    refused(
        run(&sandbox, &[&since[..], &["--local"]].concat()),
        "resemble catalogue join",
    );
    let to = ["-o", "2.cat"];
    for option in [&["--no-names"][..], &["--text=off"], &["--within", "5%"]] {
        refused(
            export(&[option, &["--since", "1.cat"], &to].concat()),
            option[0],
        );
    }
    let tables = ["--format", "parquet"];
    refused(export(&[&tables[..], &["-o", "-"]].concat()), "-o -");
    refused(
        export(&[&tables[..], &["--since", "1.cat"], &to].concat()),
        "--since",
    );
    let other = ["--since", "1.cat", "--chunk-size", "4096"];
    refused(export(&[&other[..], &to].concat()), "--chunk-size");
    assert_eq!(names(sandbox.path("")), before);
    assert!(bytes(&sandbox, "2.cat") == kept);
}

/// A kept catalogue is joined with a delta. The answers are then the same as if the new catalogue
/// had been added, with a daemon and without.
#[test]
fn a_kept_catalogue_is_brought_up_to_date() {
    let sandbox = Sandbox::new();
    first_day(&sandbox);
    let export = |words: &[&str]| {
        let fixed = ["catalogue", "write", "tree", "--local", "--label", "disk"];
        run(&sandbox, &[&fixed[..], &["--created", "1"], words].concat()).success();
    };
    export(&["-o", "1.cat"]);
    second_day(&sandbox);
    export(&["-o", "2.cat"]);
    export(&["--since", "1.cat", "-o", "2.delta"]);
    third_day(&sandbox);
    export(&["-o", "3.cat"]);
    export(&["--since", "2.cat", "-o", "3.delta"]);
    fs::create_dir(sandbox.path("empty")).expect("a folder");
    for local in [&[][..], &["--local"]] {
        let daemon = local.is_empty().then(|| {
            let mut command = sandbox.program("resembled");
            command.arg("--no-mount").arg(sandbox.path("empty"));
            sandbox.start(&mut command).expect("it starts")
        });
        let import = |file: &str| run(&sandbox, &[&["catalogue", "add", file], local].concat());
        let dump = |of: &str| {
            let words = ["dump", "--canonical", of];
            run(&sandbox, &[&words[..], local].concat()).success().out
        };
        import("1.cat").success();
        // This delta is based on another catalogue, so it is refused.
        import("3.delta").exits(2);
        let said = import("2.delta").success();
        assert!(said.err.contains("kept as disk:"), "{}", said.err);
        let by_delta = dump("disk:");
        import("2.cat").success();
        assert!(dump("disk:") == by_delta);
        import("3.delta").success();
        let by_delta = dump("disk:");
        run(
            &sandbox,
            &[&["catalogue", "add", "3.cat", "--label", "other"], local].concat(),
        )
        .success();
        let whole = String::from_utf8_lossy(&dump("other:")).replace("other:", "disk:");
        assert_eq!(String::from_utf8_lossy(&by_delta), whole);
        drop(daemon);
    }
}
