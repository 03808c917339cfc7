//! Tests of the index through its public interface, with one module for each topic.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod changed;
mod concurrent;
mod departures;
mod footprints;
mod format_doc;
mod gaps;
mod killed;
mod last_commit;
mod made;
mod model;
mod opening;
mod origins;
mod postings;
mod rot;
mod seen;
mod tree;

#[test]
fn every_file_is_part_of_the_tests() {
    resemble_testutil::every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it"));
}
