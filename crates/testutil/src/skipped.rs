//! Reports tests that cannot run on this machine.

use std::fmt::Display;

/// Reports that a test cannot run on this machine. Fails if `RESEMBLE_REQUIRE_FUSE` is 1.
#[track_caller]
pub fn skipped(why: impl Display) {
    assert!(
        std::env::var_os("RESEMBLE_REQUIRE_FUSE").is_none_or(|value| value != "1"),
        "RESEMBLE_REQUIRE_FUSE=1 and {why}"
    );
    eprintln!("\n*** SKIPPED, NOT TESTED: {why} ***\n");
}

/// Returns whether a program is installed. If it is not, the test is [`skipped`].
#[track_caller]
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !is_there {
        skipped(format_args!("{program} is not installed"));
    }
    is_there
}
