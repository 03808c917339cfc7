//! Tests that files give the right dates, texts and members through the worker. All modules are in
//! one binary. Each module has one topic.

#![allow(clippy::unwrap_used)] // a failure here fails the test

mod archives; // archives, compressed files, and nested ones
mod bombs; // malicious files
mod cut; // files whose end is missing
mod dates; // the dates that documents state
mod documents; // documents that other programs made
mod fuzz; // samples changed at random
mod hidden; // hidden text
mod names; // the names of members
mod pdf; // PDFs, one cause of lost text each
mod pdf_letters; // the same for letters, their widths and their order
mod pieces; // takes bytes apart and records the parts
mod seven_zips; // 7z archives
mod sheets; // cells as they are shown
mod starter; // workers that another process starts
mod worker; // the protocol of the two processes; converters

#[test]
fn every_file_is_part_of_the_tests() {
    resemble_testutil::every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it"));
}
