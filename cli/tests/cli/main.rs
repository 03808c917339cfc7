//! Tests the built binary as scripts and people use it, each test in a private environment.

// Clippy allows `unwrap` in tests, but not in functions that tests call. It is allowed in these
// functions, too, because a test must fail if its preparation fails.
#![allow(clippy::unwrap_used)]

mod action; // the action of GitHub that runs `check`
mod away; // plans with catalogues
mod check; // near-copies of what is about to be written
mod conflicts; // what sync programs kept twice
mod daemon; // against a daemon that says what the test wants
mod dates;
mod documents; // reports as they are saved
mod first_days; // versions, first screens, local time
mod fold; // lists of hits
mod interrupted; // plans that were killed, and that run beside each other
mod lab; // handing over to the laboratory
mod linked; // pairs that an engine has found
mod local; // without a daemon: real trees, every format
mod mcp; // a client of the Model Context Protocol
mod mounts; // plans that move files to other mounts
mod old_names; // verbs that had other names
mod owners; // whose the files of an answer are
mod plan_names; // plans of files with several names, and of several roots
mod plans; // plans that are run, on trees that change, and undone
mod renames; // moves that are replayed on the other side
mod reports; // compare, covered, dirs, groups: exit codes, formats, plans
mod review; // a person goes through clusters
mod saved; // saved reports, filtered and printed again
mod screen; // the whole screen
mod streams; // terminals, pipes that close, full disks
mod superseded; // plans of near copies
mod sweeps; // lost, history: dated catalogues
mod text; // the text of a file
mod usage; // wrong arguments, the manual
mod why; // where two files agree: lists, columns, other programs

use resemble_testutil::{Environment, every_file_is_a_module};

/// Returns an environment with a private home, in which the program under test runs.
fn environment() -> Environment {
    Environment::of(env!("CARGO_BIN_EXE_resemble"))
}

#[test]
fn every_file_is_part_of_the_tests() {
    every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli"));
}
