//! Reports in the programs that they are for: pages in a browser, workbooks in a spreadsheet.
//!
//! These tests start programs that take seconds and that not everybody has, so they are a step of
//! their own: `cargo test -p resemble-cli --test pages`. `RESEMBLE_REQUIRE_BROWSER` says what
//! happens to them. With `1` a missing program is a failure, with `0` they are skipped, and
//! otherwise they run if the program is there. Whatever is skipped says so.

// Clippy knows test functions, not what they call: a stage that cannot be set is a failed test.
#![allow(clippy::unwrap_used)]

mod browser; // a real browser without a window
mod pages; // what a person sees in a page, and does with it
mod workbooks; // what a spreadsheet program reads

// Used by the tests of the command, too: some of it by these alone.
#[allow(dead_code)]
#[path = "../cli/documents.rs"]
mod documents;

use resemble_testutil::{Environment, every_file_is_a_module};

/// A private home, in which the program is run.
fn environment() -> Environment {
    Environment::of(env!("CARGO_BIN_EXE_resemble"))
}

#[test]
fn every_file_is_part_of_the_tests() {
    every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages"));
}
