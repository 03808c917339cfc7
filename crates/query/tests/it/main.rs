//! Questions and scans over real trees, on a disk and in an index.

mod answer;
mod catalogue_files;
mod catalogues;
mod compare;
mod convergence;
mod covered;
mod dirs;
mod groups;
mod hostile;
mod ingest;
mod parts;
mod questions;
mod reads;
mod scene;
mod stopped;
mod templates;
mod truth;
mod why;
mod words;

/// A test file that is not named above would never run.
#[test]
fn every_file_is_part_of_the_tests() {
    let this = include_str!("main.rs");
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    for entry in std::fs::read_dir(dir).expect("the folder of the tests") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        let module = name.strip_suffix(".rs").unwrap_or(&name);
        assert!(
            module == "main" || this.contains(&format!("mod {module};")),
            "{name}"
        );
    }
}
