//! Takes apart samples of documents and archives after random changes.

use std::fs;
use std::path::Path;

use resemble_extract::{Extractor, HEAD, Workers};
use resemble_testutil::fuzz;

use crate::pieces::{limits, program, take_with};

/// Changes each sample alone. A mixture of samples in two formats would mostly have neither format.
#[test]
fn changed_samples_are_taken_apart_or_refused() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples");
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        // Samples of plain text are left out, because plain text is not taken apart.
        .filter(|name| {
            Path::new(name)
                .extension()
                .is_none_or(|kind| kind != "txt" && kind != "csv" && kind != "md")
        })
        .collect();
    names.sort();
    assert!(names.len() > 20, "{names:?}");
    let extractor = Extractor::new(Workers::OfOurs(program()), limits(), Vec::new());
    for name in names {
        let sample = fs::read(format!("{folder}/{name}")).unwrap();
        let mut takes = |bytes: &[u8]| {
            let head = &bytes[..bytes.len().min(HEAD)];
            let is_any = extractor.format(name.as_bytes(), head).is_some();
            // If a file has no parts even when it is unchanged, it is useless as a sample.
            is_any
                && take_with(&extractor, &name, bytes)
                    .is_ok_and(|pieces| !pieces.all.is_empty() && pieces.skipped.is_empty())
        };
        // A file that needs a password is left out, because it is never taken apart.
        let samples = vec![sample, Vec::new()];
        if takes(&samples[0]) {
            fuzz(&name, 40, samples, &mut takes);
        }
    }
}
