//! Tests that `resemble lab` starts the laboratory and passes its arguments on.

use std::process::Command;

use crate::environment;
use resemble_testutil::prose::paragraphs;
use resemble_testutil::{Environment, Ran, finish, programs};

fn texts() -> Environment {
    let env = environment();
    for seed in 0..3 {
        let text = paragraphs(seed, 40);
        env.write(
            format!("docs/{seed}.new"),
            text.replacen("river", "brook", 3),
        );
        env.write(format!("docs/{seed}.txt"), text);
    }
    env
}

/// Runs `resemble-lab`, and `resemble lab`, with the same arguments and an empty standard input.
fn both(env: &Environment, before: &[&str], args: &[&str]) -> [Ran; 2] {
    let here = env.run(before.iter().chain(args));
    let mut command = env.command([""; 0]);
    let mut through = Command::new(programs().join("resemble"));
    through.args(before).arg("lab").args(args).env_clear();
    through.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    through.current_dir(command.get_current_dir().unwrap());
    command = through;
    [here, finish(&mut command, b"")]
}

#[test]
fn every_question_has_the_same_answer_through_the_command() {
    let env = texts();
    let questions: [(&[&str], &[&str], i32); 8] = [
        (
            &[],
            &["find", "docs/1.txt", "--in", "docs", "--method", "sif"],
            0,
        ),
        (
            &["-v", "--color", "always"],
            &["pairs", "docs", "--method", "mod"],
            0,
        ),
        (
            &[],
            &["groups", "--format", "json", "docs", "--method", "shingle"],
            0,
        ),
        (&[], &["dump", "--method", "min", "docs"], 0),
        // The next four cases: no file is found, the method lacks the measure, the usage is wrong,
        // help is requested.
        (
            &[],
            &[
                "find",
                "docs/1.txt",
                "--in",
                "docs/2.txt",
                "--method",
                "sif",
            ],
            1,
        ),
        (
            &[],
            &["pairs", "docs", "--method", "min", "--score", "containment"],
            2,
        ),
        (&[], &["pairs", "docs"], 2),
        (&[], &["--help"], 0),
    ];
    for (before, args, code) in questions {
        let [here, through] = both(&env, before, args);
        assert_eq!(here.code, code, "{args:?}: {here:?}");
        assert_eq!(
            (here.code, here.text(), &here.err),
            (through.code, through.text(), &through.err),
            "{before:?} {args:?}"
        );
    }
}

#[test]
fn a_catalogue_has_no_bytes_for_a_method() {
    let env = texts();
    let mut export = Command::new(programs().join("resemble"));
    let usual = env.command([""; 0]);
    export
        .args(["catalogue", "write", "docs", "-o", "docs.cat"])
        .env_clear();
    export.envs(
        usual
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    export.current_dir(env.path(""));
    assert_eq!(finish(&mut export, b"").code, 0);
    let refused = env.run(["pairs", "docs.cat", "docs", "--method", "sif"]);
    let message =
        "resemble: a method reads the files themselves; only a catalogue has those of docs.cat:\n";
    refused.is(2, "", message);
}
