//! The properties of the discount: it is between zero and the raw score, and falls with every
//! frequency.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::digest::{ChunkList, ChunkRun};
use crate::ids::{ByteLen, ChunkHash};
use crate::sample::Signature;

/// Frequencies by key. Keys that are not in the table have the frequency 1.
#[derive(Default)]
struct Table {
    chunks: HashMap<u64, u32>,
    fingerprints: HashMap<u64, u32>,
}

impl Frequency for Table {
    fn chunk(&self, key: u64) -> u32 {
        self.chunks.get(&key).map_or(1, |&count| count)
    }

    fn fingerprint(&self, fingerprint: Fingerprint) -> u32 {
        let count = self.fingerprints.get(&fingerprint.0);
        count.map_or(1, |&count| count)
    }
}

fn chunk(name: u8) -> ChunkRun {
    ChunkRun {
        hash: ChunkHash([name; 16]),
        len: 1000,
        count: 1,
        constant: false,
    }
}

fn content(names: &[u8]) -> (ChunkList, Signature) {
    let chunks = ChunkList(names.iter().copied().map(chunk).collect());
    let fingerprints = names.iter().map(|&name| sample(name)).collect();
    (
        chunks,
        Signature {
            level: 5,
            fingerprints,
            repeats: None,
        },
    )
}

/// Makes a sample of level 5 or more.
fn sample(name: u8) -> Fingerprint {
    Fingerprint(u64::from(name) + 1)
}

fn sketch((chunks, signature): &(ChunkList, Signature)) -> Sketch<'_> {
    Sketch {
        size: ByteLen(1000 * chunks.0.len() as u64),
        chunks,
        signature,
    }
}

fn table(counts: &[u32]) -> Table {
    let mut table = Table::default();
    for (name, &count) in counts.iter().enumerate() {
        let name = name as u8;
        let key = chunk(name).hash.posting_key();
        table.chunks.insert(key, count);
        table.fingerprints.insert(sample(name).0, count);
    }
    table
}

#[test]
fn weights_begin_at_one_and_end_at_the_cut_off() {
    assert!((weight(0, 1000) - 1.0).abs() < 1e-12);
    assert!((weight(FREE, 1000) - 1.0).abs() < 1e-12);
    assert!(weight(FREE + 1, 1000) < 1.0);
    assert!(weight(400, 1000) < 0.01);
    assert!(weight(999, 1000) < 1e-12 && weight(1000, 1000) == 0.0);
    // Pieces of up to FREE contents have full weight even if the limit is lower.
    assert!((weight(10, 10) - 1.0).abs() < 1e-12);
}

#[test]
fn a_pair_that_shares_a_header_keeps_the_rest() {
    // Six of the shared pieces are in 400 contents, and one is in two contents. a also has three
    // pieces that b does not have.
    let (a, b) = (
        content(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        content(&[0, 1, 2, 3, 4, 5, 6]),
    );
    let table = table(&[400, 400, 400, 400, 400, 400, 2]);
    let rarity = rarity(&sketch(&a), &sketch(&b), &table, 1000);
    assert_eq!(rarity.contents, 400);
    // One shared piece keeps its weight. With the three pieces that are not shared, there are four
    // pieces.
    let left = rarity.discounted(Score::new(0.7)).get();
    assert!((left - 0.25).abs() < 0.01, "{left}");
}

#[test]
fn a_large_family_stays_one() {
    let (a, b) = (content(&[0, 1, 2]), content(&[0, 1, 2]));
    let rarity = rarity(&sketch(&a), &sketch(&b), &table(&[300, 300, 300]), 1000);
    assert!(rarity.discounted(Score::ONE).get() > 0.999_999);
    assert!(rarity.discounted(Score::new(0.9)).get() < 0.9);
}

#[test]
fn boilerplate_has_no_say() {
    let (a, b) = (content(&[0, 1]), content(&[0, 1]));
    let rarity = rarity(&sketch(&a), &sketch(&b), &table(&[5000, 2]), 1000);
    assert!((rarity.weight - 1.0).abs() < 1e-12);
    let nothing = super::rarity(&sketch(&a), &sketch(&content(&[])), &Table::default(), 1000);
    assert_eq!(nothing.contents, 0);
    assert_eq!(nothing.discounted(Score::ZERO), Score::ZERO);
}

proptest! {
    /// A table of weights gives the same rarity as the definition.
    #[test]
    fn rarity_is_the_same_by_known_weights(
        contents in prop::collection::vec(1u32..1200, 0..60),
        limit in 10u32..1100,
    ) {
        let common = contents.iter().filter(|&&contents| contents > FREE);
        let mut common: Vec<(u32, u32)> = common.map(|&contents| (contents, 1)).collect();
        common.sort_unstable();
        let known = Rarities::new(limit).of(contents.len() as u64, common.into_iter());
        let pieces = contents.iter().map(|&contents| (contents, 1.0)).collect();
        let expected = contents.iter().any(|&contents| contents > FREE);
        prop_assert_eq!(known, expected.then(|| rarity_of(pieces, limit)));
    }

    #[test]
    fn weights_fall(df in 0u32..2000, more in 0u32..500, limit in 2u32..1500) {
        let (few, many) = (weight(df, limit), weight(df + more, limit));
        prop_assert!((0.0..=1.0).contains(&few));
        prop_assert!(many <= few);
    }

    #[test]
    fn discounted_lies_between_nothing_and_raw(
        mut counts in proptest::collection::vec(1u32..1001, 8),
        in_a in proptest::collection::vec(0u8..8, 0..12),
        in_b in proptest::collection::vec(0u8..8, 0..12),
        raw in 0.0f64..=1.0,
        at in 0usize..8,
        more in 0u32..500,
    ) {
        let (a, b) = (content(&in_a), content(&in_b));
        let raw = Score::new(raw);
        let of = |counts: &[u32]| {
            let there = rarity(&sketch(&a), &sketch(&b), &table(counts), 1000);
            let back = rarity(&sketch(&b), &sketch(&a), &table(counts), 1000);
            (there.discounted(raw), (there.weight - back.weight).abs())
        };
        let (before, _) = of(&counts);
        prop_assert!(before >= Score::ZERO && before <= raw);
        if counts.iter().all(|&count| count <= FREE) {
            prop_assert_eq!(before, raw);
        }
        counts[at] = (counts[at] + more).min(1000);
        let (after, _) = of(&counts);
        prop_assert!(after.get() <= before.get() + 1e-12, "{:?} {:?}", before, after);
    }

    /// The mean weight is compared with its definition, piece by piece.
    #[test]
    fn the_mean_weight_is_the_mean(
        counts in proptest::collection::vec(1u32..1200, 8),
        in_a in proptest::collection::btree_set(0u8..8, 1..8),
        in_b in proptest::collection::btree_set(0u8..8, 1..8),
    ) {
        let list = |set: &std::collections::BTreeSet<u8>| {
            content(&set.iter().copied().collect::<Vec<_>>())
        };
        let found = rarity(&sketch(&list(&in_a)), &sketch(&list(&in_b)), &table(&counts), 1000);
        let shared: Vec<u32> = in_a
            .intersection(&in_b)
            .map(|&name| counts[usize::from(name)])
            .filter(|&count| count <= 1000)
            .collect();
        let sum: f64 = shared.iter().map(|&count| weight(count, 1000)).sum();
        let mean = if shared.is_empty() { 1.0 } else { sum / shared.len() as f64 };
        prop_assert!((found.weight - mean).abs() < 1e-9, "{} {mean}", found.weight);
    }
}

/// The bytes between the last sample of a header and the next sample may belong to the header. So a
/// small rest beyond the header shows nothing.
#[test]
fn little_that_is_left_by_words_says_nothing() {
    let rarity = Rarity {
        weight: 0.1,
        contents: 400,
    };
    let by_words = |lost: f64, size: u64| {
        let found = rarity.of_words(lost, Score::new(0.8), ByteLen(size));
        found.map(|found| (found.weight * 1000.0).round())
    };
    assert_eq!(by_words(0.6, 4000), Some(250.0));
    assert_eq!(by_words(0.6, 1000), None);
    assert_eq!(
        by_words(0.75, 40_000),
        Some(100.0),
        "never less than before"
    );
    assert_eq!(by_words(0.9, 40_000), None);
}

/// A chunk that ends in the text after a header is in few files. But its samples show that its text
/// is common. If a sample in the chunk is rare, the chunk counts as evidence.
#[test]
fn a_chunk_is_no_rarer_than_all_samples() {
    let (chunks, mut signature) = content(&[0, 1]);
    signature.fingerprints = (0..16).map(sample).collect();
    let content = (chunks, signature);
    let names = (0..16).map(|name| sample(name).0);
    let mut table = Table {
        chunks: [0, 1]
            .map(|name| (chunk(name).hash.posting_key(), 26))
            .into(),
        fingerprints: names.map(|name| (name, 5000)).collect(),
    };
    let weight = |table: &Table| {
        let (a, mut b) = (sketch(&content), sketch(&content));
        let all = rarity_of_all(&a, &b, table, 1000);
        assert_eq!(rarities(&a, &b, table, 1000).1, all);
        // If either content has few samples for its size, they show nothing about the chunk. So the
        // chunk counts as evidence.
        b.size = ByteLen(100_000);
        let unseen = rarity_of_all(&a, &b, table, 1000);
        assert!(unseen.weight > 0.5);
        assert_eq!(rarity_of_all(&b, &a, table, 1000), unseen);
        all.weight
    };
    assert!(weight(&table) <= 0.0);
    table.fingerprints.insert(sample(3).0, 2);
    assert!(weight(&table) > 0.5);
}
