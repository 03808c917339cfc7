//! Tests the overlay without a kernel and as a real mount. Each module has the tests of one theme.

#![allow(clippy::unwrap_used, missing_docs)] // a test program

mod commands; // what users do
mod model; // the files view against the tree itself
mod mounting; // mounting and unmounting
mod processes;
mod replaced; // files that change // mounts of other processes and users
mod semantics; // the page of promises
mod site; // a tree with an overlay on it
mod slow; // slow answers, panics

#[test]
fn every_file_is_part_of_the_tests() {
    resemble_testutil::every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it"));
}
