//! Tests the laboratory as scripts and people use it. The tests run the built program in a private
//! environment.

// Clippy allows `unwrap` in test functions, but not in the functions that they call. If such a
// function cannot prepare a test, the test must fail, too.
#![allow(clippy::unwrap_used)]

mod asked; // methods: find, pairs, dump
mod clusters; // clusters out of core: shingles and super shingles
mod eval; // the papers' experiments
mod exports; // sketches without the files
mod groups; // methods: groups
mod handed_over; // `resemble lab`
mod kept; // the same answer with a cache and without
mod manual; // help, man pages, completions, the page of docs/
mod papers; // docs/papers.md from saved results
mod phases; // clustering out of core, on files
mod requests; // what is asked about a scene
#[allow(dead_code)] // the tests of `query` use more of it
#[path = "../../../../crates/query/tests/it/scene/mod.rs"]
mod scene; // a tree on disk and the index of it
mod shards; // the arrays of sorted5 by one process and by several
mod signatures; // which signatures are cached, made anew, removed
mod sorted; // the arrays of sorted5

use resemble_testutil::{Environment, every_file_is_a_module};

/// Creates a private home in which the program runs.
fn environment() -> Environment {
    Environment::of(env!("CARGO_BIN_EXE_resemble-lab"))
}

#[test]
fn every_file_is_part_of_the_tests() {
    every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it"));
}
