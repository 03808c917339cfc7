//! Tests the real program: it is started, asked over its socket, disturbed and killed.
//!
//! Each test has its own folder with a tree, a state folder and a socket, and its own environment.
//! A test waits for a barrier (`sync`), an answer or the end of a process, and never for a fixed
//! time.

// Tests fail by a panic, so `unwrap` is allowed, as in unit tests.
#![allow(clippy::unwrap_used)]

mod convergence;
mod faults;
mod lifecycle;
mod manual;
mod overlay;
mod questions;
mod reload;
mod renames;
mod support;

#[test]
fn every_file_is_part_of_the_tests() {
    resemble_testutil::every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/daemon"));
}
