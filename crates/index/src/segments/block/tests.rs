//! Tests of blocks. A decoded block has the postings that were encoded. Arbitrary bytes are decoded
//! or refused, without a panic.

use super::*;
use proptest::prelude::*;
use resemble_testutil::random::Random;

fn blocks(postings: &[Posting]) -> Vec<(Posting, Vec<u8>)> {
    let mut builder = Builder::default();
    let mut out = Vec::new();
    let mut bytes = Vec::new();
    for &posting in postings {
        if !builder.push(posting) {
            let first = builder.take(&mut bytes).unwrap();
            out.push((first, bytes.clone()));
            assert!(builder.push(posting));
        }
    }
    if let Some(first) = builder.take(&mut bytes) {
        out.push((first, bytes));
    }
    out
}

fn postings() -> impl Strategy<Value = Vec<Posting>> {
    (1u32..=64, 1u32..=32, 0usize..3000).prop_flat_map(|(key, id, count)| {
        let keys = any::<u64>().prop_map(move |k| k >> (64 - key));
        let ids = any::<u32>().prop_map(move |i| i >> (32 - id));
        prop::collection::btree_set((keys, ids), 0..=count)
            .prop_map(|set| set.into_iter().collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn postings_come_back(postings in postings()) {
        let mut decoded = Vec::new();
        for (first, bytes) in blocks(&postings) {
            prop_assert!(bytes.len() <= BLOCK);
            let block = Block::parse(first.0, &bytes).unwrap();
            let start = decoded.len();
            block.decode(&mut decoded).unwrap();
            prop_assert_eq!(decoded[start], first);
            let here = &decoded[start..];
            let keys = here.chunk_by(|a, b| a.0 == b.0).count();
            prop_assert_eq!(keys, block.keys);
            for &(key, _) in here {
                let mut found = Vec::new();
                block.find(key, &mut found).unwrap();
                let expected: Vec<_> =
                    here.iter().filter(|p| p.0 == key).map(|p| p.1).collect();
                prop_assert_eq!(found, expected);
                for near in [key.wrapping_sub(1), key.wrapping_add(1)] {
                    let mut found = Vec::new();
                    block.find(near, &mut found).unwrap();
                    prop_assert_eq!(
                        found.len(),
                        here.iter().filter(|p| p.0 == near).count()
                    );
                }
            }
        }
        prop_assert_eq!(decoded, postings);
    }

    #[test]
    fn any_bytes_are_read_or_refused(first: u64, key: u64, bytes: Vec<u8>) {
        if let Ok(block) = Block::parse(first, &bytes) {
            let _all = block.decode(&mut Vec::new());
            let _found = block.find(key, &mut Vec::new());
        }
    }
}

#[test]
fn changed_blocks_are_read_or_refused() {
    let mut random = Random::new(2);
    let mut key = 0;
    let mut posting = |gap: u64| {
        key += random.draw() % gap;
        (key, random.draw() as u32 % 5000)
    };
    let mut samples = Vec::new();
    for gap in [2, 900, 1 << 40] {
        let mut all: Vec<Posting> = (0..3000).map(|_| posting(gap)).collect();
        all.sort_unstable();
        all.dedup();
        let blocks = blocks(&all).into_iter().map(|((key, _), bytes)| {
            // A sample is the key of the first posting, and then the block.
            [&key.to_le_bytes()[..], &bytes].concat()
        });
        samples.extend(blocks.take(3));
    }
    let mut takes = |bytes: &[u8]| {
        let Some((first, bytes)) = bytes.split_first_chunk() else {
            return false;
        };
        let Ok(block) = Block::parse(u64::from_le_bytes(*first), bytes) else {
            return false;
        };
        let mut all = Vec::new();
        let is_taken = block.decode(&mut all).is_ok();
        // A block has at most a page of bytes, and a posting takes at least one bit.
        assert!(all.len() <= 8 * bytes.len().max(BLOCK));
        for &(key, _) in all.iter().take(3) {
            let _found = block.find(key, &mut Vec::new());
        }
        is_taken
    };
    resemble_testutil::fuzz("posting blocks", 10_000, samples, &mut takes);
}

#[test]
fn random_postings_cost_what_theory_says() {
    // The theoretical size of a posting, for 80,000 contents and 6 million fingerprints of 38 bits,
    // is log2(2^38 / 6e6) + 2 + 17 bits.
    let mut key = 0;
    let mut random = Random::new(1);
    let mut next = || random.draw() >> 33;
    let postings: Vec<_> = (0..20_000)
        .map(|_| {
            key += next() % 91_600;
            (key, (next() % 80_000) as u32)
        })
        .collect();
    let bytes: usize = blocks(&postings).iter().map(|block| block.1.len()).sum();
    let each = bytes as f64 / postings.len() as f64;
    assert!(each < 4.5, "{each}");
}
