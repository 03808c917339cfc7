//! Tests 7z archives that the program 7-Zip made.

use resemble_extract::Skipped;

use crate::pieces::{sample, take};

#[test]
fn seven_zips_are_read_whatever_they_are_packed_with() {
    let pieces = take("x", &sample("solid.7z")).unwrap();
    assert_eq!(
        pieces.paths(),
        ["d/eins.txt", "d/zweí.txt", "water.txt", "empty"]
    );
    assert_eq!(pieces.bytes_of("water.txt"), sample("water.txt"));
    assert_eq!(pieces.bytes_of("d/zweí.txt"), "ünï\n".as_bytes());
    assert_eq!(pieces.skipped, []);
    // The members are stored, or compressed by deflate, bzip2, or LZMA with a filter. The link is
    // not a part.
    let pieces = take("x", &sample("methods.7z")).unwrap();
    assert_eq!(
        pieces.paths(),
        ["d/eins.txt", "d/zweí.txt", "water.txt", "w2.txt"]
    );
    assert_eq!(pieces.bytes_of("w2.txt"), sample("water.txt"));
    assert_eq!(pieces.skipped, []);
    let pieces = take("x", &sample("program.7z")).unwrap();
    assert_eq!(pieces.bytes_of("prog").len(), 35_664);
    for (name, why) in [
        ("encrypted.7z", Skipped::Encrypted),
        ("encrypted-names.7z", Skipped::Encrypted),
        (
            "ppmd.7z",
            Skipped::Unsupported("compressed by PPMD".to_owned()),
        ),
    ] {
        assert_eq!(take("x", &sample(name)).unwrap_err(), why, "{name}");
    }
}

#[test]
fn a_damaged_block_of_a_7z_costs_what_is_in_it() {
    let mut bytes = sample("methods.7z");
    // Each byte before this offset is changed in turn. The header of the archive begins here.
    let at = bytes.len() - 200;
    let whole = take("x", &bytes).unwrap();
    let mut lost = 0;
    for at in 32..at {
        bytes[at] ^= 0x10;
        if let Ok(pieces) = take("x", &bytes) {
            let all = pieces.paths().len() + pieces.skipped.len();
            assert!(all >= whole.paths().len(), "{at}: {:?}", pieces.skips());
            lost += usize::from(!pieces.skipped.is_empty() && !pieces.paths().is_empty());
        }
        bytes[at] ^= 0x10;
    }
    assert!(lost > 10, "{lost}");
}
