//! Tests `ui`: the screen on a terminal, and the messages if there is no terminal or the feature is
//! not compiled in.

use crate::environment;

/// Runs a command that must fail with exit code 2 and the message `sentence`.
fn refused(args: &[&str], sentence: &str) {
    let ran = environment().run(args);
    assert_eq!(ran.code, 2, "{args:?}");
    assert_eq!(ran.out, b"", "{args:?}");
    assert!(ran.err.contains(sentence), "{args:?}: {}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{args:?}: {}", ran.err);
}

#[cfg(not(feature = "ui"))]
#[test]
fn screen_of_another_package() {
    refused(&["ui"], "the package `resemble` has it");
}

#[cfg(feature = "ui")]
mod with_screen {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::process::{Child, Stdio};

    use resemble_testutil::Environment;

    use super::{environment, refused};
    use crate::review::{clusters, pages};
    use crate::streams::terminal_of;

    /// Reads from the terminal until the output contains a word.
    fn until(master: &mut File, word: &str) {
        let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&seen).contains(word) {
            let count = master.read(&mut piece).unwrap_or_default();
            let text = String::from_utf8_lossy(&seen);
            assert!(count > 0, "it ended without {word}: {text:?}");
            seen.extend_from_slice(&piece[..count]);
        }
    }

    /// Starts the screen for a folder, on a terminal without colors.
    fn shown(env: &Environment, folder: &str) -> (File, Child) {
        let (master, terminal) = terminal_of(24, 80);
        let plain = [("TERM", "xterm"), ("LC_ALL", "C"), ("NO_COLOR", "1")];
        let child = env
            .command(["ui", "--local", folder])
            .envs(plain)
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        (master, child)
    }

    #[test]
    fn screen_needs_a_terminal_and_two_trees_to_compare() {
        refused(&["ui"], "`ui` needs a terminal");
        refused(&["ui", "--compare", "a"], "--compare takes two directories");
    }

    #[test]
    fn screen_writes_a_plan_and_changes_no_file() {
        let env = environment();
        let bytes = [7; 5000];
        let files = ["tree/first.bin", "tree/second.bin"];
        let files = files.map(|name| env.write(name, bytes));
        let (mut master, mut child) = shown(&env, "tree");
        until(&mut master, "tree/first.bin");
        master.write_all(b"\r").unwrap();
        until(&mut master, "tree/second.bin");
        // The keys write a plan that replaces the first file by a symbolic link.
        master.write_all(b" ws\r").unwrap();
        until(&mut master, "then");
        master.write_all(b"q").unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let plan = std::fs::read_to_string(env.path("plan.sh")).unwrap();
        assert!(
            plan.starts_with("#!/bin/sh") && plan.contains("first.bin"),
            "{plan}"
        );
        for file in files {
            assert_eq!(std::fs::read(file).unwrap(), bytes);
        }
    }

    #[test]
    fn screen_marks_a_template_and_asks_again() {
        let env = pages();
        let (mut master, mut child) = shown(&env, "docs");
        until(&mut master, "docs/page-");
        master.write_all(b"T").unwrap();
        until(&mut master, "template");
        master.write_all(b"y").unwrap();
        until(&mut master, "unmark");
        master.write_all(b"q").unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(clusters(&env), [2, 2]);
    }

    #[test]
    fn screen_ends_with_2_without_its_report() {
        let env = environment();
        env.write("letter.txt", "Dear Sir");
        let (mut master, terminal) = terminal_of(24, 80);
        let mut command = env.command(["ui", "--from", "letter.txt"]);
        let output = command
            .env("TERM", "xterm")
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal)
            .output();
        let output = output.unwrap();
        drop(command);
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("letter.txt is not a saved report"), "{text}");
        // The screen has ended, so the terminal leaves its alternative screen.
        until(&mut master, "\x1b[?1049l");
    }
}
