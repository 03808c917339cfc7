//! Checks the tests and the pages themselves. Also runs tests in a separate process.

use std::fmt::Debug;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;

use crate::skipped;

/// Returns the value of an environment variable that lengthens a test, if it is set.
#[track_caller]
pub fn asked_for<T: FromStr<Err: Debug>>(variable: &str) -> Option<T> {
    let asked = std::env::var(variable).ok()?;
    Some(asked.parse().expect(variable))
}

/// Checks that `main.rs` declares every file and folder next to it as a module. Tests in a file
/// that is no module would never run.
#[track_caller]
pub fn every_file_is_a_module(folder: impl AsRef<Path>) {
    let main = fs::read_to_string(folder.as_ref().join("main.rs")).expect("main.rs");
    for name in crate::names(folder) {
        let name = name.to_string_lossy();
        let module = name.strip_suffix(".rs").unwrap_or(&name);
        let is_named = module == "main" || main.contains(&format!("mod {module};"));
        assert!(is_named, "main.rs does not name {module}");
    }
}

/// Checks that a generated file, such as a page of `docs/`, equals this text. If `UPDATE_REFERENCE`
/// is set, writes the file first.
#[track_caller]
pub fn page_is_up_to_date(path: impl AsRef<Path>, page: &str) {
    let path = path.as_ref();
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        fs::write(path, page).expect("the page is written");
    }
    assert!(
        fs::read_to_string(path).unwrap_or_default() == page,
        "{} is old: run the test with UPDATE_REFERENCE=1",
        path.display()
    );
}

/// The environment variable that holds the name of the test in the inner process.
const INNER: &str = "RESEMBLE_TEST_INNER";

fn is_inner(name: &str) -> bool {
    std::env::var_os(INNER).is_some_and(|inner| inner == name)
}

/// Runs the test of this name again, as root, in an inner process. Its mounts are separate from the
/// mounts outside, in both directions. Returns false in the inner process, so that the test does
/// its work there, and true in the outer process. Without root the test is [`skipped`].
pub fn in_mounts_of_its_own(name: &str) -> bool {
    if is_inner(name) {
        return false;
    }
    if !rustix::process::geteuid().is_root() {
        skipped(format_args!("{name} takes root"));
        return true;
    }
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--propagation", "private", "--"])
        .arg(std::env::current_exe().expect("a program"));
    run_inner(command, name);
    true
}

/// Runs the test of this name again in an inner process, as `nobody` if requested. Returns false in
/// the inner process, so that the test does its work there, and true in the outer process.
pub fn in_a_process_of_its_own(name: &str, as_nobody: bool) -> bool {
    if is_inner(name) {
        return false;
    }
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    if as_nobody && rustix::process::geteuid().is_root() {
        const NOBODY: u32 = 65534;
        command
            .uid(NOBODY)
            .gid(NOBODY)
            .current_dir("/")
            .env("TMPDIR", "/tmp");
    }
    run_inner(command, name);
    true
}

fn run_inner(mut command: Command, name: &str) {
    command
        .args(["--exact", name, "--nocapture"])
        .env(INNER, name);
    match command.output() {
        Ok(done) => {
            let told = String::from_utf8_lossy(&done.stdout);
            // If no test has this name, the inner process runs no test and succeeds.
            let has_run = done.status.success() && told.contains("1 passed");
            let trouble = String::from_utf8_lossy(&done.stderr);
            assert!(has_run, "{name} failed inside: {told}{trouble}");
            // The inner process prints figures and skipped tests to its standard error.
            eprint!("{trouble}");
        }
        Err(e) => skipped(format_args!("cannot run {name} in another process: {e}")),
    }
}
