//! What files say and hold, through the worker: one binary, one module a theme.

#![allow(clippy::unwrap_used)] // what fails here fails the test

mod archives; // archives, compressed files, and everything in one another
mod bombs; // files made to do harm
mod dates; // what documents say of when they were written
mod documents; // documents that other programs made
mod fuzz; // samples changed at random
mod hidden; // text that is not shown
mod pdf; // PDFs, one cause of lost text each
mod pdf_letters; // the same for letters, their widths and their order
mod pieces; // takes bytes apart and remembers what came out
mod seven_zips; // archives of 7z
mod sheets; // cells as they are shown
mod starter; // workers that another process starts
mod worker; // what goes on between the two processes; converters

#[test]
fn every_file_is_part_of_the_tests() {
    resemble_testutil::every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it"));
}
