//! Tests questions and scans on real trees, both from the disk and from an index.

mod answer;
mod bounded;
mod catalogue_files;
mod catalogues;
mod compare;
mod convergence;
mod covered;
mod dir_listings;
mod dirs;
mod edited;
mod estimates;
mod everything;
mod frames;
mod groups;
mod grown;
mod header;
mod hostile;
mod identical;
mod ingest;
mod kept;
mod kept_listings;
mod kinship;
mod large_families;
mod local;
mod markup;
mod members;
mod one_figure;
mod parts;
mod plain;
mod proven_pairs;
mod questions;
mod quotations;
mod reads;
mod scene;
mod sent;
mod short;
mod siblings;
mod stopped;
mod tables;
mod templates;
mod truth;
mod unread;
mod why;
mod words;

#[test]
fn every_file_is_part_of_the_tests() {
    resemble_testutil::every_file_is_a_module(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it"));
}
