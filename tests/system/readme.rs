//! Runs the README's demo, command by command, and compares the output.

use std::fs;
use std::path::Path;

use resemble_testutil::{Daemon, Sandbox, fuse_works};

/// A command in the README, and the output that the README shows below the command.
struct Shown {
    command: String,
    output: String,
}

/// Returns the commands in the console blocks between two headings of the README.
fn shown_between(from: &str, to: &str) -> Vec<Shown> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let page = fs::read_to_string(page).expect("the README");
    let (_, page) = page.split_once(from).expect(from);
    let (page, _) = page.split_once(to).expect(to);
    let mut shown: Vec<Shown> = Vec::new();
    for block in page.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").expect("a block ends");
        for line in block.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                let command = command.to_owned();
                let output = String::new();
                shown.push(Shown { command, output });
            } else if let Some(last) = shown.last_mut() {
                last.output.push_str(line);
                last.output.push('\n');
            }
        }
    }
    shown
}

/// Copies a folder.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the demo") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copied(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

/// Returns the output of a command in the folder `clone`. `ls` prints columns for a terminal of 100
/// columns.
fn printed(sandbox: &Sandbox, command: &str) -> String {
    let programs = sandbox.program("resemble");
    let programs = Path::new(programs.get_program()).parent();
    let programs = programs.expect("a folder").to_owned();
    // `cargo run` would build the program again, so the program under test is used. `ls` would
    // print no columns, because its output is a pipe.
    let command = command.replace("cargo run --release --bin resemble --", "resemble");
    let script = format!(
        "ls() {{ command ls -C -w 100 --quoting-style=shell-escape \"$@\"; }}\n\
         PATH=\"$1:$PATH\"; cd clone; {command}"
    );
    let shell = ["-c", &script, "bash"];
    let output = sandbox.foreign("bash").args(shell).arg(programs).output();
    let output = output.expect("a shell");
    let text = String::from_utf8(output.stdout).expect("text");
    let clone = sandbox.path("clone");
    text.replace(clone.to_str().expect("text"), "…")
}

fn watching(sandbox: &Sandbox) -> Daemon<'_> {
    let demo = sandbox.path("clone/docs/demo");
    let mut command = sandbox.program("resembled");
    command
        .arg("--link")
        .arg(sandbox.path("home/Similar"))
        .arg(demo);
    let started = sandbox.start(&mut command);
    started.unwrap_or_else(|ran| panic!("resembled ended at once: {ran:?}"))
}

#[test]
fn the_demo_shows_what_the_readme_says() {
    if !fuse_works() {
        return;
    }
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/demo");
    let shown = shown_between("## Sixty seconds", "## Tests");
    // Only commands about the demo can be run here.
    let of_demo = shown
        .iter()
        .filter(|shown| shown.command.contains("~/Similar") || shown.command.contains("docs/demo"));
    let sandbox = Sandbox::new();
    copied(&demo, &sandbox.path("clone/docs/demo"));
    let daemon = watching(&sandbox);
    daemon.sync();
    let mut asked = 0;
    for Shown { command, output } in of_demo {
        let found = printed(&sandbox, command);
        // Waits for the daemon. When a person types the commands, the daemon is fast enough.
        daemon.sync();
        assert_eq!(found.trim(), output.trim(), "of {command}");
        asked += 1;
    }
    assert_eq!(asked, 6, "commands of the demo");
    assert_eq!(daemon.stop(), 0);
}
