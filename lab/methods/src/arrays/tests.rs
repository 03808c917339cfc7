use std::collections::BTreeMap;

use proptest::prelude::*;

use super::deltas::Deltas;
use super::layout::{HEADER, id_width, offset_width};
use super::sort::{Posting, radix_sort};
use super::*;
use crate::sorted5::{overlap, total};

/// A test document: its key, and the number of chunks that it has of each value.
type Document = (u32, BTreeMap<u32, u64>);

const BITS: u8 = 6;

/// Makes the arrays of these documents for a range of values, by a simple algorithm.
fn build(documents: &[Document], from: u64, to: u64) -> Vec<u8> {
    let width = id_width(documents.len() as u64);
    let (mut table, mut offsets, mut ids, mut entries) = (Vec::new(), Vec::new(), Vec::new(), 0u64);
    for (key, values) in documents {
        let chunks: u64 = values.values().sum();
        table.extend_from_slice(&Documents::encode(*key, chunks as u32));
    }
    for value in from..=to {
        offsets.extend_from_slice(&(entries as u32).to_le_bytes());
        if value == to {
            break;
        }
        for (number, (_, values)) in (0u32..).zip(documents) {
            for _ in 0..values.get(&(value as u32)).copied().unwrap_or(0) {
                ids.extend_from_slice(&number.to_le_bytes()[..usize::from(width)]);
                entries += 1;
            }
        }
    }
    let digest = |bytes: &[u8]| *blake3::hash(bytes).as_bytes();
    let header = Header {
        params: "sorted5.test".into(),
        bits: BITS,
        id_width: width,
        offset_width: offset_width(entries),
        from,
        to,
        documents: documents.len() as u64,
        entries,
        digests: [digest(&table), digest(&offsets), digest(&ids)],
    };
    let head = header.encode().expect("a header");
    [&head[..], &table, &offsets, &ids].concat()
}

fn documents() -> impl Strategy<Value = Vec<Document>> {
    let values = prop::collection::btree_map(0u32..1 << BITS, 1u64..4, 0..20);
    prop::collection::btree_map(0u32..500, values, 0..12).prop_map(|map| map.into_iter().collect())
}

fn pairs(values: &BTreeMap<u32, u64>) -> Vec<(u64, u64)> {
    values
        .iter()
        .map(|(&value, &count)| (value.into(), count))
        .collect()
}

proptest! {
    /// Compares the counts with those that a comparison of each pair of documents gives. The values
    /// may be cut into two parts.
    #[test]
    fn counting_in_lists_is_comparing_each_two(documents in documents(), cut in 0u64..=1 << BITS) {
        let all = build(&documents, 0, 1 << BITS);
        let two = [build(&documents, 0, cut), build(&documents, cut, 1 << BITS)];
        let of = |bytes: &[Vec<u8>]| -> Vec<Vec<Counted>> {
            let parts = bytes.iter().map(|part| Arrays::of(part).expect("arrays")).collect();
            let parts = Parts::of(parts).expect("the whole");
            parts.parts().iter().for_each(|part| part.verify().expect("as written"));
            let mut counter = Counter::new(documents.len());
            let count = |(_, values): &Document| {
            counter.count(&parts, pairs(values)).expect("sound")
        };
            documents.iter().map(count).collect()
        };
        let counted = of(std::slice::from_ref(&all));
        prop_assert_eq!(&of(&two), &counted);
        for ((_, a), counted) in documents.iter().zip(&counted) {
            for (number, (_, b)) in (0..).zip(&documents) {
                let found = counted.iter().find(|c| c.document == number).map_or(0, |c| c.common);
                let expected = overlap(&pairs(a), &pairs(b));
                prop_assert_eq!(found, expected.common);
                prop_assert_eq!(total(&pairs(a)), expected.a);
            }
        }
    }

    /// A changed byte or length leads to an error or a wrong figure, but never to a panic.
    #[test]
    fn hostile_files_are_refused_or_read(
        documents in documents(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let whole = build(&documents, 0, 1 << BITS);
        let short = &whole[..cut.index(whole.len())];
        prop_assert!(Arrays::of(short).is_err());
        let mut changed = whole.clone();
        let at = at.index(changed.len());
        changed[at] = byte;
        if changed == whole {
            return Ok(());
        }
        match Arrays::of(&changed) {
            Err(_) => prop_assert!(at < HEADER),
            Ok(arrays) => {
                prop_assert!(at >= HEADER);
                prop_assert!(arrays.verify().is_err());
                let parts = Parts::of(vec![arrays]).expect("the header is sound");
                let mut counter = Counter::new(documents.len());
                let every = (0..1 << BITS).map(|value| (value, 9));
                // Counts twice, because a counter that failed halfway must begin again from zero.
                let counts = [(); 2].map(|()| counter.count(&parts, every.clone()));
                prop_assert_eq!(&counts[0], &counts[1]);
                let renumbered: Vec<u32> = (0..documents.len() as u32).collect();
                let mut list = Vec::new();
                for value in 0..1 << BITS {
                    if let Ok(ids) = parts.part_of(value).list(value) {
                        let _ = Merging::list(&renumbered, ids.iter(), &[0], &mut list);
                    }
                }
            }
        }
    }

    /// After a merge, documents are numbered in the order of their keys, and the lists contain the
    /// documents that are left.
    #[test]
    fn a_merge_is_the_documents_that_are_left(
        old in documents(),
        new in documents(),
        gone in 0u32..4,
    ) {
        let stays = |key: u32| key % 4 != gone;
        let table = |documents: &[Document]| -> Vec<(u32, u32)> {
            let chunks = |values: &BTreeMap<u32, u64>| values.values().sum::<u64>() as u32;
            documents.iter().map(|(key, values)| (*key, chunks(values))).collect()
        };
        let merging = Merging::of(table(&old), &table(&new), stays);
        let mut left: BTreeMap<u32, BTreeMap<u32, u64>> =
            old.iter().filter(|(key, _)| stays(*key)).cloned().collect();
        left.extend(new.iter().cloned());
        let left: Vec<Document> = left.into_iter().collect();
        prop_assert_eq!(&merging.documents, &table(&left));
        let bytes = build(&old, 0, 1 << BITS);
        let arrays = Arrays::of(&bytes).expect("arrays");
        let expected = build(&left, 0, 1 << BITS);
        let expected = Arrays::of(&expected).expect("arrays");
        for value in 0..1u64 << BITS {
            let mut coming = Vec::new();
            for (number, (_, values)) in merging.new.iter().zip(&new) {
                let count = values.get(&(value as u32)).copied().unwrap_or(0);
                coming.extend((0..count).map(|_| *number));
            }
            let mut list = Vec::new();
            let ids = arrays.list(value).expect("a list");
            Merging::list(&merging.old, ids.iter(), &coming, &mut list).expect("sound");
            let expected: Vec<u32> = expected.list(value).expect("a list").iter().collect();
            prop_assert_eq!(list, expected);
        }
    }

    #[test]
    fn the_radix_sort_is_a_stable_sort(
        values in prop::collection::vec(prop_oneof![any::<u32>(), 0u32..40], 0..300),
    ) {
        let mut postings: Vec<Posting> =
            values.iter().zip(0..).map(|(&value, document)| Posting { value, document }).collect();
        let mut expected = postings.clone();
        expected.sort_by_key(|posting| posting.value);
        radix_sort(&mut postings);
        prop_assert_eq!(postings, expected);
    }

    #[test]
    fn differences_are_the_offsets(
        steps in prop::collection::vec(prop_oneof![0u64..3, 0u64..700], 0..400),
    ) {
        let mut sum = 0;
        let add = |step: &u64| { sum += step; sum };
        let offsets: Vec<u64> = steps.iter().map(add).collect();
        let deltas = Deltas::of(offsets.iter().copied());
        prop_assert_eq!(deltas.len(), offsets.len());
        for (at, offset) in offsets.iter().enumerate() {
            prop_assert_eq!(deltas.get(at), Some(*offset));
        }
        prop_assert_eq!(deltas.get(offsets.len()), None);
    }
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let one: Vec<Document> = vec![(7, BTreeMap::from([(3, 1), (50, 2)]))];
    let other: Vec<Document> = vec![(8, BTreeMap::new())];
    let (low, high) = (build(&one, 0, 20), build(&one, 20, 64));
    let (gap, strange) = (build(&one, 21, 64), build(&other, 20, 64));
    let of = |parts: &[&[u8]]| {
        let parts = parts.iter().map(|part| Arrays::of(part).expect("arrays"));
        Parts::of(parts.collect()).map(|parts| parts.documents().iter().collect::<Vec<_>>())
    };
    assert_eq!(of(&[&high, &low]), Ok(vec![(7, 3)]));
    for parts in [
        &[&low[..], &gap][..],
        &[&low, &strange],
        &[&low],
        &[&high],
        &[],
    ] {
        assert!(matches!(of(parts), Err(ArrayError::Parts(_))), "{parts:?}");
    }
    let mut version = low.clone();
    version[16] = 2;
    assert_eq!(Arrays::of(&version).map(drop), Err(ArrayError::Version(2)));
    assert_eq!(Arrays::of(&[1; 600]).map(drop), Err(ArrayError::Foreign));
    assert_eq!(
        [256, 257, 65536, 65537, 1 << 24, (1 << 24) + 1].map(id_width),
        [1, 2, 2, 3, 3, 4]
    );
    assert_eq!([0xffff_ffff, 0x1_0000_0000].map(offset_width), [4, 8]);
}
