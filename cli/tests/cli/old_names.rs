//! Tests that old names of verbs do the same as the new names.

use resemble_proto::message::Request;
use resemble_testutil::prose::paragraphs;

use crate::daemon::{Daemon, hello, rows};
use crate::environment;

/// A verb sends the daemon the same requests by its old name and by its new name. Output and exit
/// code are the same, too.
#[test]
fn orders_to_a_daemon() {
    let mark = r#"{"time":5,"group":false,"paths":["/a","/b"]}"#;
    let mount = r#"{"warning":"it lies among your files","mount":null}"#;
    let pairs: [(&[&str], &[&str]); 8] = [
        (&["ack", "a"], &["alerts", "ack", "a"]),
        (&["ack", "--list"], &["alerts", "ack", "--list"]),
        (
            &["-q", "ack", "--undo", "a", "b", "--format", "json"],
            &[
                "-q", "alerts", "ack", "--undo", "a", "b", "--format", "json",
            ],
        ),
        (&["mount"], &["view", "on"]),
        (
            &["mount", "M", "--view", "files"],
            &["view", "on", "M", "--view", "files"],
        ),
        (&["unmount", "M"], &["view", "off", "M"]),
        (&["--local", "mount"], &["--local", "view", "on"]),
        (&["ack"], &["alerts", "ack"]),
    ];
    let env = environment();
    let daemon = Daemon::start(&env.socket(), &hello(), move |request| match request {
        Request::Mount { .. } | Request::Unmount { .. } => rows(&[mount]),
        Request::AckUndo { .. } => rows(&[]),
        _ => rows(&[mark]),
    });
    let mut codes = Vec::new();
    for (old, new) in pairs {
        let [old, new] = [old, new].map(|args| env.run(args));
        assert_eq!(
            (old.code, old.text(), &old.err),
            (new.code, new.text(), &new.err)
        );
        codes.push(new.code);
    }
    assert_eq!(codes, [0, 0, 1, 0, 0, 0, 2, 2]);
    let asked = daemon.stop();
    assert_eq!(asked.len(), 12);
    for both in asked.chunks(2) {
        assert_eq!(both[0], both[1]);
    }
}

/// The old and new names of verbs that write, keep, list and drop catalogues do the same. These
/// verbs need no daemon.
#[test]
fn catalogues() {
    // There is only one file, so that the answers for the old and the new name have the same date.
    let env = environment();
    env.write("docs/a.txt", paragraphs(1, 20));
    let written = |[write, keep]: [&[&str]; 2]| {
        let options = ["docs", "-o", "docs.cat", "--created", "1"];
        let ran = [
            env.run([write, &options].concat()),
            env.run([write, &["absent", "-o", "x.cat"]].concat()),
            env.run([keep, &["docs.cat"]].concat()),
            env.run([keep, &["absent"]].concat()),
        ];
        let ran = ran.map(|ran| (ran.code, ran.text(), ran.err));
        let bytes = std::fs::read(env.path("docs.cat")).unwrap();
        std::fs::remove_file(env.path("docs.cat")).unwrap();
        (bytes, ran)
    };
    let (old, old_ran) = written([&["export"], &["import"]]);
    let (new, new_ran) = written([&["catalogue", "write"], &["catalogue", "add"]]);
    assert!(old == new);
    assert_eq!(old_ran, new_ran);
    assert_eq!(new_ran.map(|(code, ..)| code), [0, 2, 0, 2]);
    env.run(["catalogue", "list"]).is(0, "docs:\n", "");
    let rows = env.run(["catalogue", "list", "--format", "json"]).json();
    assert_eq!(rows["catalogues"][0]["path"], "docs:");
    let refused = env.run(["catalogue", "drop", "a/b"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("is no label"), "{}", refused.err);
    env.run(["catalogue", "drop", "docs:"]).is(0, "", "");
    let none = "resemble: no catalogue is kept; `resemble catalogue add FILE` keeps one\n";
    env.run(["catalogue", "list"]).is(1, "", none);
    env.run(["--local", "catalogue", "list"]).is(1, "", none);
    assert_eq!(env.run(["catalogue", "drop", "docs"]).code, 2);
}

/// No list of verbs has an old name. The help of an old name is the help of the new name.
#[test]
fn nothing_lists_an_old_name() {
    let env = environment();
    for old in ["ack", "export", "import", "mount", "unmount"] {
        let is_listed = |text: &str| {
            let words = text.split(|c: char| !(c.is_alphanumeric() || "-_/.".contains(c)));
            words
                .into_iter()
                .any(|word| word == format!("resemble-{old}"))
                || text.contains(&format!("resemble__subcmd__{old})"))
                || text.contains(&format!("needs_command\" -f -a \"{old}\""))
                || text.contains(&format!("\n  {old} "))
        };
        for args in [
            &["help", "--all"][..],
            &["completions", "bash"],
            &["completions", "fish"],
            &["man"],
        ] {
            let text = env.run(args).success().text();
            assert!(!is_listed(&text), "{old}: {args:?}");
        }
    }
    let [old, new] = [&["help", "ack"][..], &["alerts", "ack", "--help"]].map(|args| env.run(args));
    assert_eq!(old.success().text(), new.success().text());
}
