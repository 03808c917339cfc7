//! Tests that `docs/index-format.md` agrees with the bytes that are written.

use resemble_index::{FORMAT_VERSION, TABLES};

use crate::made::{digest, memory, read};

const DOC: &str = include_str!("../../../../docs/index-format.md");

#[test]
fn the_document_has_the_version_and_every_table() {
    assert!(DOC.contains(&format!("Format version: **{FORMAT_VERSION}**")));
    for table in TABLES {
        assert!(
            DOC.contains(&format!("\n### `{table}`\n")),
            "{table} has no section"
        );
    }
    for table in ["chunk_postings/N", "fingerprint_postings/N"] {
        assert!(DOC.contains(&format!("`{table}`")), "{table} is not named");
    }
}

#[test]
fn the_document_has_no_table_that_is_not_written() {
    for section in DOC.lines().filter_map(|line| line.strip_prefix("### `")) {
        let name = section.trim_end_matches('`');
        assert!(
            TABLES.contains(&name) || name.ends_with("_postings/N"),
            "{name}"
        );
    }
}

#[test]
fn the_file_has_the_tables_of_the_list_and_its_segments() {
    let index = memory();
    index
        .apply(vec![read("/a", 1, digest(1, &[1], &[2]))])
        .unwrap();
    let mut names: Vec<_> = index
        .table_sizes()
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let mut expected: Vec<String> = TABLES.map(str::to_owned).to_vec();
    expected.extend(["chunk_postings/0".into(), "fingerprint_postings/0".into()]);
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected);
}
