use std::sync::Arc;

use resemble_core::similarity::{Measures, Template, Templates};
use resemble_core::{ByteLen, ContentDigest, Fingerprint, Params, Score};
use resemble_testutil::TempTree;

use super::*;
use crate::index::{Index, Options};
use crate::rows::SetAside;

fn digest(n: u32) -> ContentDigest {
    let mut bytes = [7; 32];
    bytes[..4].copy_from_slice(&n.to_le_bytes());
    ContentDigest(bytes)
}

fn proven(a_in_b: f64, b_in_a: f64) -> Proven {
    Proven {
        measures: Measures {
            a_in_b: Some(Score::new(a_in_b)),
            b_in_a: Some(Score::new(b_in_a)),
            resemblance: None,
            shared_bytes: ByteLen(1 << 40),
        },
        unit: Unit::Words,
        is_same_text: true,
        has_passage: true,
        is_pattern: true,
    }
}

fn memory() -> Index {
    Index::in_memory(&Params::default()).unwrap()
}

fn open(place: &TempTree) -> (Index, Option<SetAside>) {
    let path = place.path("index.redb");
    Index::open(&path, &Params::default(), &Options::default()).unwrap()
}

/// Returns the measures of two contents from a new snapshot.
fn get(index: &Index, a: u32, b: u32, unit: Unit) -> Option<Proven> {
    let snapshot = index.snapshot().unwrap();
    snapshot.kept_measures(&digest(a), &digest(b), unit)
}

fn keep(index: &Index, a: u32, b: u32, found: &Proven) {
    let snapshot = index.snapshot().unwrap();
    snapshot.keep_measures(&digest(a), &digest(b), found);
}

/// Writes ten pairs for each number in `generations`. A table has at most ten pairs.
fn write_tens(index: &Index, generations: std::ops::Range<u32>) {
    for generation in generations {
        let new: Vec<_> = (0..10)
            .map(|n| {
                let (a, b) = (digest(generation), digest(100 + n));
                (PairKey::of(&a, &b, Unit::Words).0, proven(0.5, 0.25))
            })
            .collect();
        index
            .transact(|writing| Ok(write(writing.txn, &new, 10)?))
            .unwrap();
    }
}

fn rows(index: &Index) -> [u64; 2] {
    let sizes = index.table_sizes().unwrap();
    ["measures", "older_measures"].map(|name| {
        let size = sizes.iter().find(|(table, _)| table == name);
        size.unwrap().1.rows
    })
}

#[test]
fn sides_are_exchanged_with_the_contents_and_units_are_apart() {
    let index = memory();
    keep(&index, 2, 1, &proven(0.2, 0.1));
    for written in [false, true] {
        assert_eq!(get(&index, 2, 1, Unit::Words), Some(proven(0.2, 0.1)));
        assert_eq!(get(&index, 1, 2, Unit::Words), Some(proven(0.1, 0.2)));
        assert_eq!(get(&index, 1, 2, Unit::Bytes), None);
        assert_eq!(get(&index, 1, 3, Unit::Words), None);
        assert_eq!(index.write_measures().unwrap(), !written);
    }
}

#[test]
fn what_was_written_outlives_the_process_to_the_last_bit() {
    let place = TempTree::new();
    let shares = [None, Some(0.0), Some(1.0 / 3.0), Some(0.999_999), Some(1.0)];
    let mut all = Vec::new();
    for (n, share) in (0..).zip(shares) {
        for is_same_text in [false, true] {
            for unit in [Unit::Words, Unit::Bytes] {
                let found = Proven {
                    measures: Measures {
                        a_in_b: share.map(Score::new),
                        b_in_a: shares[n as usize / 2].map(Score::new),
                        resemblance: share.map(Score::new),
                        shared_bytes: ByteLen(u64::MAX - u64::from(n)),
                    },
                    unit,
                    is_same_text,
                    has_passage: n % 2 == 0,
                    is_pattern: n % 3 == 0,
                };
                all.push((2 * n + u32::from(is_same_text), unit, found));
            }
        }
    }
    let (index, _) = open(&place);
    for (n, _, found) in &all {
        keep(&index, 1000, *n, found);
    }
    assert!(index.write_measures().unwrap());
    keep(&index, 1000, 999, &proven(0.5, 0.5));
    drop(index);
    let (index, set_aside) = open(&place);
    assert_eq!(set_aside, None);
    for (n, unit, found) in all {
        assert_eq!(get(&index, 1000, n, unit), Some(found));
    }
    assert_eq!(
        get(&index, 1000, 999, Unit::Words),
        None,
        "it was not written"
    );
    // Closing the index writes the remaining measures.
    keep(&index, 1000, 999, &proven(0.5, 0.5));
    index.close().unwrap();
    let (index, _) = open(&place);
    assert_eq!(get(&index, 1000, 999, Unit::Words), Some(proven(0.5, 0.5)));
}

#[test]
fn the_number_is_bounded_and_what_nobody_asks_for_goes_first() {
    let index = memory();
    write_tens(&index, 0..2);
    assert_eq!(rows(&index), [10, 10]);
    // A measure that is read from the older table is also written to the newer one.
    assert!(get(&index, 0, 100, Unit::Words).is_some());
    let moved = index.new_measures.sorted();
    assert_eq!(moved.len(), 1);
    index
        .transact(|writing| Ok(write(writing.txn, &moved, 10)?))
        .unwrap();
    assert_eq!(rows(&index), [1, 10]);
    index.new_measures.0.lock().clear();
    assert!(get(&index, 0, 100, Unit::Words).is_some());
    assert_eq!(get(&index, 0, 101, Unit::Words), None);
    write_tens(&index, 2..9);
    let [newer, older] = rows(&index);
    assert!(newer <= 10 && older == 10, "{newer} and {older}");
    assert_eq!(get(&index, 0, 100, Unit::Words), None);
    assert!(get(&index, 8, 105, Unit::Words).is_some());
}

#[test]
fn what_is_never_written_is_bounded_too() {
    let new = NewMeasures::default();
    for n in 0..u128::from(GENERATION) + 5 {
        new.put(PairKey(n), proven(0.5, 0.5));
    }
    assert_eq!(new.0.lock().len(), 5);
}

#[test]
fn a_damaged_row_is_as_none() {
    let index = memory();
    keep(&index, 1, 2, &proven(0.5, 0.25));
    index.write_measures().unwrap();
    let sound = encode(&proven(0.5, 0.25));
    let nan = f64::NAN.to_bits();
    let damaged = [
        (0xff, sound.1, sound.2, sound.3, sound.4),
        (sound.0, nan, sound.2, sound.3, sound.4),
        (sound.0, sound.1, (-0.5f64).to_bits(), sound.3, sound.4),
        (sound.0, sound.1, sound.2, 1.5f64.to_bits(), sound.4),
        // The flags of this row mark the first share as unknown, but the row has a value for it.
        (sound.0 & !1, sound.1, sound.2, sound.3, sound.4),
    ];
    let (key, _) = PairKey::of(&digest(1), &digest(2), Unit::Words);
    for row in damaged {
        let put = |value: MeasuresValue| {
            index.transact(|writing| {
                let mut table = writing.txn.open_table(schema::MEASURES)?;
                table.insert(key.0, value)?;
                Ok(())
            })
        };
        put(row).unwrap();
        assert_eq!(get(&index, 1, 2, Unit::Words), None, "{row:?}");
        // The pair is measured again, and stored in place of the damaged row.
        keep(&index, 1, 2, &proven(0.5, 0.25));
        index.write_measures().unwrap();
        assert_eq!(get(&index, 1, 2, Unit::Words), Some(proven(0.5, 0.25)));
    }
}

#[test]
fn templates_neither_find_nor_keep_any() {
    let index = memory();
    keep(&index, 1, 2, &proven(0.5, 0.25));
    let mut templates = Templates::new(&Params::default());
    templates.add(&Template {
        fingerprints: vec![Fingerprint(1)],
        ..Template::default()
    });
    let marked = index
        .snapshot()
        .unwrap()
        .with_templates(Arc::new(templates));
    assert_eq!(
        marked.kept_measures(&digest(1), &digest(2), Unit::Words),
        None
    );
    marked.keep_measures(&digest(3), &digest(4), &proven(0.5, 0.25));
    assert_eq!(get(&index, 3, 4, Unit::Words), None);
    assert!(get(&index, 1, 2, Unit::Words).is_some());
}

#[test]
fn a_snapshot_of_before_finds_what_others_keep_meanwhile() {
    let index = memory();
    let before = index.snapshot().unwrap();
    keep(&index, 1, 2, &proven(0.5, 0.25));
    assert!(
        before
            .kept_measures(&digest(1), &digest(2), Unit::Words)
            .is_some()
    );
    // The snapshot reads the tables of its own commit. So it does not see measures that a later
    // commit wrote.
    index.write_measures().unwrap();
    assert_eq!(
        before.kept_measures(&digest(1), &digest(2), Unit::Words),
        None
    );
}
