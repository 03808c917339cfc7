//! Tests questions to the daemon of another machine with `--socket ssh://HOST`. On that machine,
//! `resemble relay` passes the questions on.
//!
//! The other machine is a second sandbox. A script replaces ssh: it runs the command in that
//! sandbox and records what was sent. `system_mode/ssh.rs` has tests with a real ssh.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Ran, Sandbox};
use serde_json::Value;

/// This machine and another machine.
struct Machines {
    here: Sandbox,
    there: Sandbox,
}

impl Machines {
    fn new() -> Self {
        let (here, there) = (Sandbox::new(), Sandbox::new());
        let program = there.program("resemble");
        let program = program.get_program().to_str().expect("a plain path");
        fs::create_dir(here.path("bin")).expect("a folder");
        let ssh = here.path("bin/ssh");
        let run = there.path("run");
        let script = format!(
            "#!/bin/sh\n\
             [ \"$1 $2\" = '-T --' ] || exit 2\n\
             case $3 in *down) exit 255 ;; *bare) exit 127 ;; esac\n\
             [ \"$4 $5\" = 'resemble relay' ] || exit 2\n\
             shift 5\n\
             unset RESEMBLE_SOCKET; export XDG_RUNTIME_DIR='{1}'\n\
             exec 3<&0; heard='{0}'.$$; mkfifo \"$heard\"\n\
             tee -a '{0}' <&3 >\"$heard\" 3<&- &\n\
             exec 3<&-\n\
             eval \"'{program}' relay $*\" <\"$heard\"\n\
             code=$?; kill $!; exit $code\n",
            here.path("asked").display(),
            run.display(),
        );
        fs::write(&ssh, script).expect("a script");
        fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).expect("it runs");
        Self { here, there }
    }

    fn ask_at(&self, host: &str, words: &[&str]) -> Ran {
        let mut command = self.here.program("resemble");
        command.env("PATH", Sandbox::path_with(&self.here.path("bin")));
        command.args(words).args(["--socket", host]);
        command.output().expect("resemble runs").into()
    }

    fn ask(&self, words: &[&str]) -> Ran {
        self.ask_at("ssh://nas", words)
    }

    /// Returns the requests that were sent to the other machine so far.
    fn asked(&self) -> String {
        fs::read_to_string(self.here.path("asked")).unwrap_or_default()
    }
}

/// Returns the path and relation of each row.
fn rows(ran: &Ran) -> Vec<(String, String)> {
    let document: Value = serde_json::from_str(&ran.text()).expect("JSON");
    let rows = document["results"].as_array().expect("rows");
    let text = |row: &Value, name: &str| row[name].as_str().expect("a string").to_owned();
    rows.iter()
        .map(|row| (text(row, "path"), text(row, "relation")))
        .collect()
}

#[test]
fn a_file_stays_here_and_what_resembles_it_is_found_there() {
    let machines = Machines::new();
    let (here, there) = (&machines.here, &machines.there);
    let report = prose(1, 20_000);
    there.write("report.txt", &report);
    there.write("old/report.txt", edited(&report, 5, 3));
    there.write("letter.txt", prose(2, 20_000));
    let daemon = there.daemon([""; 0]);
    daemon.sync();
    here.write("my secret name.txt", &report);
    here.write("new.txt", edited(&report, 9, 2));
    let found = |name: &str, relation: &str| {
        let path = there.tree(name).to_str().expect("a plain path").to_owned();
        (path, relation.to_owned())
    };
    let mine = here.tree("my secret name.txt");
    let mine = mine.to_str().expect("a plain path");
    let ran = machines.ask(&["find", mine, "--format", "json"]).success();
    assert_eq!(
        rows(&ran),
        [
            found("report.txt", "identical"),
            found("old/report.txt", "near")
        ]
    );
    assert!(
        ran.text().contains("my secret name.txt"),
        "rows name it as it was named here"
    );
    let new = here.tree("new.txt");
    let words = [
        "find",
        new.to_str().expect("a plain path"),
        "--format",
        "json",
    ];
    let ran = machines.ask(&words).success();
    let near = ["report.txt", "old/report.txt"].map(|name| found(name, "near"));
    assert_eq!(rows(&ran).len(), 2);
    assert!(rows(&ran).iter().all(|row| near.contains(row)), "{ran:?}");

    // The daemon may also be named by an environment variable.
    let mut command = here.program("resemble");
    command.env("PATH", Sandbox::path_with(&here.path("bin")));
    command.env("RESEMBLE_SOCKET", "ssh://nas").args(words);
    let by_environment: Ran = command.output().expect("resemble runs").into();
    assert_eq!(rows(&by_environment), rows(&ran));

    // Only the digest of the file was sent. Its path and its bytes were not sent.
    let asked = machines.asked();
    assert!(asked.contains("\"digest\""));
    for secret in [
        "secret",
        "new.txt",
        "\"path\":\"",
        "\"bytes\":\"",
        "\"ino\"",
    ] {
        assert!(!asked.contains(secret), "{secret} in {asked}");
    }
    let text = String::from_utf8(report.clone()).expect("text");
    for piece in text.split('.').filter(|piece| piece.len() > 20).take(50) {
        assert!(!asked.contains(piece));
    }
}

/// A path in a question names a file of this machine. The file at the same path of the other
/// machine is another file. So the file of the other machine can be listed as identical to the file
/// of this machine.
#[test]
fn a_path_is_that_of_the_machine_where_it_is_named() {
    let machines = Machines::new();
    let there = &machines.there;
    there.write("report.txt", prose(1, 9_000));
    let daemon = there.daemon([""; 0]);
    daemon.sync();
    let path = there.tree("report.txt");
    let path = path.to_str().expect("a plain path");
    let ran = machines.ask(&["find", path, "--format", "json"]).success();
    assert_eq!(rows(&ran), [(path.to_owned(), "identical".to_owned())]);
    assert!(!machines.asked().contains("report.txt"));
    machines.ask(&["sync"]).success();
    machines.ask(&["status"]).success();
    let listed = machines.ask(&["watch", "list"]).success();
    assert!(
        listed.text().contains(
            there
                .tree("")
                .to_str()
                .expect("plain")
                .trim_end_matches('/')
        )
    );
    // Here the address has the path of a socket. A shell on the other machine must read it as one
    // word.
    let odd = there.path("it's; here");
    fs::rename(there.path("run/resemble"), &odd).expect("it moves");
    let host = format!("ssh://nas{}/socket", odd.display());
    machines.ask_at(&host, &["sync"]).success();
    // The folder is moved back, because the daemon unmounts the view by its original path.
    fs::rename(&odd, there.path("run/resemble")).expect("it moves back");
}

#[test]
fn what_cannot_be_asked_there_is_said_in_a_sentence() {
    let machines = Machines::new();
    machines.here.write("a.txt", prose(1, 3_000));
    let tree = machines.here.tree("");
    let tree = tree.to_str().expect("a plain path");
    let file = format!("{tree}a.txt");
    let cases: [(&[&str], &str); 8] = [
        (
            &["groups", tree],
            "is to be run there: `ssh ssh://nas resemble ...`",
        ),
        (&["watch", "add", tree], "is to be run there"),
        (&["alerts", "ack", &file], "is to be run there"),
        (&["catalogue", "add", &file], "is to be run there"),
        (
            &["find", &file, "--in", tree],
            "--in names what is on this machine",
        ),
        (&["find", &file, "--exact"], "--exact reads both files"),
        (&["find", &file, "--holders"], "--holders reads the file"),
        (
            &["find", &file],
            "`resemble relay` there ended with exit status: 2",
        ),
    ];
    for (words, sentence) in cases {
        let ran = machines.ask(words);
        assert_eq!(ran.code, 2, "{words:?}: {ran:?}");
        assert!(ran.err.contains(sentence), "{words:?}: {ran:?}");
    }
    for (host, sentence) in [
        (
            "ssh://down",
            "no daemon answers at ssh://down: ssh cannot connect",
        ),
        ("ssh://bare", "there is no `resemble` for ssh to run"),
    ] {
        let ran = machines.ask_at(host, &["find", &file]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains(sentence), "{ran:?}");
        assert!(!ran.err.contains("start one with"), "{ran:?}");
    }
    // A host that begins with `-` must not be taken for an option of ssh.
    let ran = machines.ask_at("ssh://-oProxyCommand=touch ran", &["sync"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(!machines.here.path("ran").exists());
}
