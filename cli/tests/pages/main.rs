//! Opens reports in the programs for which they are made: HTML pages in a browser, workbooks in a
//! spreadsheet program.
//!
//! These tests start slow programs that may not be installed. So they are a separate step: `cargo
//! test -p resemble-cli --test pages`. `RESEMBLE_REQUIRE_BROWSER` decides whether they run. With
//! `1` a missing program is a failure, and with `0` they are skipped. Otherwise they run if the
//! program is installed. A skipped test prints a warning.

// Clippy allows `unwrap` in tests, but not in functions that tests call. It is allowed in these
// functions, too, because a test must fail if its preparation fails.
#![allow(clippy::unwrap_used)]

mod browser; // a real browser without a window
mod pages; // what a person sees in a page, and does with it
mod workbooks; // what a spreadsheet program reads

// The module belongs to the tests of the command. Each of the two test programs uses only some of
// its functions.
#[allow(dead_code)]
#[path = "../cli/documents.rs"]
mod documents;

use resemble_testutil::{Environment, every_file_is_a_module};

/// Returns an environment with a private home, in which the program under test runs.
fn environment() -> Environment {
    Environment::of(env!("CARGO_BIN_EXE_resemble"))
}

#[test]
fn every_file_is_part_of_the_tests() {
    every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages"));
}
