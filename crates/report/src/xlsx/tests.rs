use super::*;
use resemble_proto::documents::GroupsDocument;
use serde_json::json;

fn document(sets: usize, files: usize) -> GroupsDocument {
    let paths: Vec<String> = (0..files).map(|n| format!("/f/{n}")).collect();
    let set = json!({"size": 10, "paths": paths, "mtimes": []});
    let mut head = json!({
        "schema": 1, "version": "0.1.0", "command": "groups",
        "parameters": {"roots": ["/f"], "of": null, "family": false, "degree": "usual",
            "memory": null, "min": null, "min_shared": 256, "min_size": 0, "include": [],
            "exclude": [], "top": null, "exact": false, "params": "p"},
        "fresh": true, "pending": 0, "total": sets, "shown": sets,
        "summary": {"files": 0, "bytes": 0, "sets": sets, "set_files": 0, "overhead": 0,
            "clusters": 0, "cluster_files": 0, "cluster_bytes": 0, "links": 0, "components": 0,
            "ignored": 0, "notes": []},
        "clusters": [], "errors": []
    });
    head["identical"] = vec![set; sets].into();
    serde_json::from_value(head).unwrap()
}

/// Counts the sheets of a workbook. The directory of the archive names a file for each sheet.
fn sheets(bytes: &[u8]) -> usize {
    let directory = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    let names = String::from_utf8_lossy(&bytes[directory..]).into_owned();
    names.matches("xl/worksheets/sheet").count()
}

fn written(document: &GroupsDocument, rows: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let extras = Extras::default();
    write_limited(&mut out, Report::Groups(document), &extras, 0, rows).unwrap();
    out
}

#[test]
fn what_does_not_fit_goes_on_in_a_further_sheet() {
    // The four sheets are clusters, identical files, links, and about.
    assert_eq!(sheets(&written(&document(4, 2), 100)), 4);
    // Of eight rows, two are a header and one is spare, so five rows of data remain. So each sheet
    // has two sets of two files.
    assert_eq!(sheets(&written(&document(4, 2), 8)), 5);
    assert_eq!(sheets(&written(&document(5, 2), 8)), 6);
    // A set that is larger than a sheet is split.
    assert!(sheets(&written(&document(1, 30), 12)) > 5);
}

#[test]
fn the_same_report_is_the_same_bytes() {
    let document = document(3, 3);
    assert_eq!(written(&document, 100), written(&document, 100));
}

#[test]
fn only_identical_is_100_percent() {
    assert_eq!(tenths(Fraction::ONE, false), Some(0.999));
    assert_eq!(tenths(Fraction::ONE, true), Some(1.0));
    assert_eq!(
        tenths(Fraction::from_millionths(699_999), false),
        Some(0.699)
    );
    assert_eq!(tenths(Fraction::NONE, false), None);
}

#[test]
fn a_cell_has_a_bound() {
    let long = "é".repeat(CELL_CHARS + 1);
    let Value::Text(text) = value(&Field::Text(&long)) else {
        panic!("text");
    };
    assert_eq!(text.chars().count(), CELL_CHARS + 1);
    assert!(text.ends_with('…'));
}
