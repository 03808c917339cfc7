use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use resemble_methods::judged::Overlap;
use resemble_methods::select::select;
use resemble_methods::sorted5::overlap;
use resemble_methods::{Features, Method, MethodParams, MethodSignature, Settings};

use super::*;

const BITS: u8 = 8;

fn params() -> MethodParams {
    let settings = Settings {
        bits: Some(BITS.into()),
        ..Settings::default()
    };
    MethodParams::new(Method::Sorted5, &settings).expect("right")
}

/// Returns the signature of a document with these chunks. The upper eight bits of a chunk are its
/// value.
fn signature(chunks: &[u16]) -> MethodSignature {
    let values = chunks.iter().map(|&chunk| u64::from(chunk) << 48);
    select(&params(), &Features::of_values(values))
}

type Documents = BTreeMap<u32, MethodSignature>;

fn documents() -> impl Strategy<Value = Documents> {
    let chunks = prop::collection::vec(any::<u16>(), 0..60);
    prop::collection::btree_map(0u32..40, chunks, 0..10).prop_map(|map| {
        map.iter()
            .map(|(key, chunks)| (*key, signature(chunks)))
            .collect()
    })
}

fn merge(folder: &ArraysFolder, new: &Documents, stays: &dyn Fn(u32) -> bool) -> MappedParts {
    let new: Vec<(u32, &MethodSignature)> = new.iter().map(|(key, s)| (*key, s)).collect();
    let update = ArraysUpdate {
        bits: BITS,
        new: &new,
        shards: 1,
    };
    folder.update(&update, stays).expect("a merge")
}

fn bytes(set: &MappedParts) -> Vec<Vec<u8>> {
    set.paths()
        .iter()
        .map(|path| fs::read(path).expect("a part"))
        .collect()
}

fn figures(signature: &MethodSignature) -> Vec<(u64, u64)> {
    signature
        .entries()
        .iter()
        .map(|entry| (entry.value, entry.count))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Merging documents in batches gives the same bytes as building the arrays at once, even if
    /// some documents are removed. A search of the arrays finds the same pairs as comparing all
    /// signatures.
    #[test]
    fn merging_is_building_from_nothing(
        batches in prop::collection::vec(documents(), 1..4),
        gone in 0u32..5,
    ) {
        let temp = tempfile::tempdir().expect("a folder");
        let step = ArraysFolder::new(temp.path(), "sorted5.test", "steps");
        let mut left = Documents::new();
        let mut merged = None;
        for batch in &batches {
            let stays = |key: u32| key % 5 != gone;
            left.retain(|key, _| stays(*key));
            left.extend(batch.clone());
            merged = Some(merge(&step, batch, &stays));
        }
        let merged = merged.expect("a batch");
        let whole = ArraysFolder::new(temp.path(), "sorted5.test", "whole");
        let whole = merge(&whole, &left, &|_| true);
        prop_assert_eq!(bytes(&merged), bytes(&whole));
        prop_assert_eq!(bytes(&step.open().expect("the state")), bytes(&whole));

        // Only every second document is included in the search.
        let numbered = (0u32..).zip(left.values()).filter(|(number, _)| number % 2 == 0);
        let lists = DocumentValues::of(numbered.clone());
        for least in [0.0, 0.3] {
            let mut expected = Vec::new();
            for (b, other) in numbered.clone() {
                for (a, one) in numbered.clone().take_while(|(a, _)| *a < b) {
                    let overlap = overlap(&figures(one), &figures(other));
                    let Overlap { common, a: of_a, b: of_b } = overlap;
                    let figure = common as f64 / of_a.min(of_b).max(1) as f64;
                    if common > 0 && figure >= least {
                        expected.push(CommonChunks { a, b, common: common as u32 });
                    }
                }
            }
            expected.sort_unstable();
            prop_assert_eq!(pairs(&merged, &lists, least).expect("pairs"), expected);
        }
    }

    /// The values that are read back from the arrays equal the values that were added. This is true
    /// for any documents and any range of them.
    #[test]
    fn the_values_of_documents_are_read_off_the_arrays(
        documents in documents(),
        from in 0usize..10,
        to in 0usize..10,
        shards in 1u32..4,
        most in 1u64..100,
    ) {
        let temp = tempfile::tempdir().expect("a folder");
        let new: Vec<_> = documents.iter().map(|(key, signature)| (*key, signature)).collect();
        let update = ArraysUpdate { bits: BITS, new: &new, shards: 1 };
        let folder = ArraysFolder::new(temp.path(), "sorted5.test", "one");
        let set = folder.update(&update, &|_| true).expect("arrays");
        // Every third document is left out of the search.
        let numbered = (0u32..).zip(documents.values()).filter(|(number, _)| number % 3 != 1);
        let given = DocumentValues::of(numbered.clone());
        let numbers: Vec<u32> = numbered.map(|(number, _)| number).collect();
        let to = to.min(numbers.len());
        let from = from.min(to);
        let parts = set.parts().expect("parts");
        let read = DocumentValues::of_arrays(&parts, &numbers, from, to).expect("read");
        for at in from..to {
            let same = given.values(at).eq(read.values(at));
            prop_assert!(same, "{}", at);
        }
        // The values are read in blocks of at most `most` values. The documents are searched in one
        // range for each process.
        let expected = pairs(&set, &given, 0.1).expect("pairs");
        prop_assert_eq!(&pairs_among(&set, &numbers, 0.1, 2).expect("pairs"), &expected);
        let mut found = Vec::new();
        for range in build::cut(0, numbers.len() as u64, shards.into()) {
            let places = range.from as usize..range.to as usize;
            let more = search::pairs_of_places(&set, &numbers, places, 0.1, 1, most);
            found.extend(more.expect("pairs"));
        }
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn damaged_and_missing_parts_are_made_anew() {
    let temp = tempfile::tempdir().expect("a folder");
    let folder = ArraysFolder::new(temp.path(), "sorted5.test", "one");
    assert!(folder.open().is_none());
    let documents: Documents = (0..9u16)
        .map(|key| (key.into(), signature(&[key * 700, 7, 9])))
        .collect();
    let whole = bytes(&merge(&folder, &documents, &|_| true));
    let state = || folder.open().map(|set| bytes(&set));
    assert_eq!(state(), Some(whole.clone()));
    let part = || folder.open().expect("the state").paths()[0].clone();

    // Damaged lists are noticed only when they are merged. The arrays are then rebuilt.
    let at = part();
    let mut damaged = whole[0].clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    fs::write(&at, &damaged).expect("written");
    assert_eq!(state(), Some(vec![damaged]));
    assert_eq!(bytes(&merge(&folder, &documents, &|_| true)), whole);

    for change in [&whole[0][..100], &whole[0][..whole[0].len() - 1], b""] {
        fs::write(part(), change).expect("written");
        assert!(folder.open().is_none(), "{} bytes", change.len());
        assert_eq!(bytes(&merge(&folder, &documents, &|_| true)), whole);
    }
    fs::remove_file(part()).expect("removed");
    assert!(folder.open().is_none());
    assert_eq!(bytes(&merge(&folder, &documents, &|_| true)), whole);
    let inner = at.parent().expect("a folder");
    fs::write(
        inner.join("current"),
        b"{\"params\":\"sorted5.test\",\"parts\":[\"../x\"]}",
    )
    .expect("written");
    assert!(folder.open().is_none());
    assert_eq!(bytes(&merge(&folder, &documents, &|_| true)), whole);
    // The folder has only the lock, the file `current` and one part.
    assert_eq!(fs::read_dir(inner).expect("listed").count(), 3);
}

#[test]
fn states_of_parameters_that_nobody_uses_go() {
    let temp = tempfile::tempdir().expect("a folder");
    let documents: Documents = [(1, signature(&[1, 2, 3]))].into();
    for params in 0..7 {
        merge(
            &ArraysFolder::new(temp.path(), &format!("sorted5.{params}"), ""),
            &documents,
            &|_| true,
        );
    }
    assert!(
        ArraysFolder::new(temp.path(), "sorted5.6", "")
            .open()
            .is_some()
    );
    assert!(
        ArraysFolder::new(temp.path(), "sorted5.0", "")
            .open()
            .is_none()
    );
    assert_eq!(fs::read_dir(temp.path()).expect("listed").count(), 4);
    // Arrays of another index are not used, because that index gives the same ids to other
    // contents.
    assert!(
        ArraysFolder::new(temp.path(), "sorted5.6", "another")
            .open()
            .is_none()
    );
}
