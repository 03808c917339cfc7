//! Relations, bounds and the limits of judgement.

#![allow(
    clippy::float_cmp,
    clippy::items_after_statements,
    clippy::trivially_copy_pass_by_ref
)]

use proptest::prelude::*;

use resemble_testutil::random::noise;

use super::*;
use crate::digest::{ChunkList, ChunkRun, Digest};
use crate::ids::ChunkHash;
use crate::params::{ChunkParams, Params, SamplingParams};

fn measures(a_in_b: f64, b_in_a: f64, shared: u64) -> Measures {
    Measures {
        a_in_b: Some(Score::new(a_in_b)),
        b_in_a: Some(Score::new(b_in_a)),
        resemblance: Some(Score::new(0.5)),
        shared_bytes: ByteLen(shared),
    }
}

fn digest(bytes: &[u8]) -> Digest {
    Digest::of(bytes, &Params::default())
}

#[test]
fn relations_at_their_thresholds() {
    let size = ByteLen(10_000);
    let of = |a, b| relation(false, size, size, &measures(a, b, 0), Relation::MIN_SHARED);
    assert_eq!(of(0.7, 0.7), Some(Relation::Near));
    assert_eq!(of(0.69, 0.7), Some(Relation::Contains));
    assert_eq!(of(0.7, 0.69), Some(Relation::Contained));
    assert_eq!(of(0.69, 0.1), Some(Relation::Shares));
    assert_eq!(of(0.1, 0.25), Some(Relation::Shares));
    assert_eq!(of(0.24, 0.24), None);
    // An exact fraction that equals a threshold reaches it.
    assert_eq!(of(700.0 / 1000.0, 0.0), Some(Relation::Contained));
}

#[test]
fn relations_need_shared_bytes() {
    let of = |size, share, proven, least| {
        let m = measures(share, share, proven);
        relation(false, ByteLen(size), ByteLen(size), &m, ByteLen(least))
    };
    assert_eq!(of(300, 0.9, 0, 256), Some(Relation::Near));
    assert_eq!(of(300, 0.8, 0, 256), None, "240 bytes estimated");
    assert_eq!(
        of(300, 0.8, 256, 256),
        Some(Relation::Near),
        "256 bytes proven"
    );
    assert_eq!(of(300, 0.8, 0, 200), Some(Relation::Near));
    assert_eq!(of(255, 1.0, 255, 0), None, "too small to judge");
}

#[test]
fn identical_files_are_identical_whatever_their_size() {
    let nothing = Measures {
        a_in_b: None,
        b_in_a: None,
        resemblance: None,
        shared_bytes: ByteLen::ZERO,
    };
    for size in [0, 1, 255, 1 << 40] {
        let size = ByteLen(size);
        assert_eq!(
            relation(true, size, size, &nothing, Relation::MIN_SHARED),
            Some(Relation::Identical)
        );
        assert_eq!(
            relation(false, size, size, &nothing, Relation::MIN_SHARED),
            None
        );
    }
}

#[test]
fn percents_are_rounded_down_and_100_is_kept_for_identical_files() {
    let percent = |value| Score::new(value).percent(false);
    assert_eq!(percent(0.0), 0);
    assert_eq!(percent(0.009_999), 0);
    assert_eq!(percent(0.29), 29);
    assert_eq!(percent(0.57), 57);
    assert_eq!(percent(0.989_999), 98);
    assert_eq!(percent(0.99), 99);
    assert_eq!(percent(1.0), 99);
    assert_eq!(Score::ONE.percent(true), 100);
    for whole in 0..100u8 {
        assert_eq!(percent(f64::from(whole) / 100.0), whole);
    }
    assert_eq!(Score::new(f64::NAN), Score::ZERO);
    assert_eq!(Score::new(7.0), Score::ONE);
    assert!(Score::ZERO < Score::new(1e-9));
}

#[test]
fn multiplicity_is_the_smaller_count() {
    let run = |byte: u8, len, count, constant| ChunkRun {
        hash: ChunkHash([byte; 16]),
        len,
        count,
        constant,
    };
    let a = ChunkList(vec![
        run(1, 100, 3, false),
        run(2, 63, 1, false),
        run(3, 500, 1, true),
        run(1, 100, 2, false),
        run(4, 70, 1, false),
    ]);
    let b = ChunkList(vec![
        run(2, 63, 1, false),
        run(1, 100, 4, false),
        run(3, 500, 9, true),
        run(5, 70, 1, false),
    ]);
    for (a, b) in [(&a, &b), (&b, &a)] {
        assert_eq!(shared_chunk_bytes(a, b, &NoBoilerplate), ByteLen(400));
    }
    struct Ones;
    impl Boilerplate for Ones {
        fn chunk(&self, key: u64) -> bool {
            key == ChunkHash([1; 16]).posting_key()
        }
        fn fingerprint(&self, _: Fingerprint) -> bool {
            false
        }
    }
    assert_eq!(shared_chunk_bytes(&a, &b, &Ones), ByteLen::ZERO);
}

/// Makes two edited copies of a common base. An edit is a position, a number of removed bytes, and
/// a number of inserted bytes.
fn edited() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let edit = (0..1000usize, 0..600usize, 0..600usize, any::<u8>());
    let edits = || proptest::collection::vec(edit.clone(), 0..12);
    (any::<u64>(), 0..20_000usize, 1..3usize, edits(), edits()).prop_map(
        |(seed, len, copies, a, b)| {
            let mut base = noise(seed, len).repeat(copies);
            base.extend([0; 900]);
            let make = |edits: Vec<(usize, usize, usize, u8)>| {
                let mut data = base.clone();
                for (at, gone, new, seed) in edits {
                    let at = at * data.len() / 1000;
                    let end = (at + gone).min(data.len());
                    let new = if seed < 50 {
                        vec![0; new]
                    } else {
                        noise(seed.into(), new)
                    };
                    data.splice(at..end, new);
                }
                data
            };
            (make(a), make(b))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn common_chunks_prove_no_more_than_is_shared(
        (a, b) in edited(),
        average in proptest::sample::select(vec![ChunkParams::LEAST_AVERAGE, 300, 1015]),
    ) {
        let chunk = ChunkParams::scaled(average).unwrap();
        let sampling = SamplingParams::at(5, 128);
        let params = Params { chunk, sampling, ..Params::default() };
        let (of_a, of_b) = (Digest::of(&a, &params), Digest::of(&b, &params));
        let bound = shared_chunk_bytes(&of_a.chunks, &of_b.chunks, &NoBoilerplate).0 as f64;
        let (a_in_b, b_in_a) = runs::cover(&a, &b);
        prop_assert!(bound <= a_in_b.get() * a.len() as f64 + 1e-6);
        prop_assert!(bound <= b_in_a.get() * b.len() as f64 + 1e-6);

        let m = estimate(&of_a.sketch(), &of_b.sketch(), &NoBoilerplate);
        prop_assert_eq!(m.shared_bytes.0 as f64, bound);
        for (share, size) in [(m.a_in_b, a.len()), (m.b_in_a, b.len())] {
            if let Some(share) = share {
                prop_assert!(bound <= share.get() * size as f64 + 1e-6);
            }
        }
        // Exchanging the files exchanges their measures.
        let other = estimate(&of_b.sketch(), &of_a.sketch(), &NoBoilerplate);
        prop_assert_eq!(m, other.swapped());
    }
}

#[test]
fn small_files_are_not_judged() {
    let (small, large) = (noise(1, 255), noise(1, 5000));
    let m = estimate(
        &digest(&small).sketch(),
        &digest(&large).sketch(),
        &NoBoilerplate,
    );
    assert_eq!((m.a_in_b, m.b_in_a, m.resemblance), (None, None, None));
}

#[test]
fn a_file_without_samples_is_not_judged_but_its_partner_is() {
    let (zeros, other) = (vec![0; 5000], noise(1, 5000));
    let m = estimate(
        &digest(&zeros).sketch(),
        &digest(&other).sketch(),
        &NoBoilerplate,
    );
    assert_eq!((m.a_in_b, m.b_in_a), (None, Some(Score::ZERO)));
    assert_eq!(m.resemblance, Some(Score::ZERO));
    let m = estimate(
        &digest(&zeros).sketch(),
        &digest(&zeros).sketch(),
        &NoBoilerplate,
    );
    assert_eq!((m.a_in_b, m.b_in_a, m.resemblance), (None, None, None));
}

#[test]
fn unrelated_files_share_nothing() {
    let m = estimate(
        &digest(&noise(1, 9000)).sketch(),
        &digest(&noise(2, 9000)).sketch(),
        &NoBoilerplate,
    );
    assert_eq!(m, measures(0.0, 0.0, 0).with_resemblance(0.0));
    assert_eq!(m.containment(), Some(Score::ZERO));
}

impl Measures {
    fn with_resemblance(self, value: f64) -> Self {
        Self {
            resemblance: Some(Score::new(value)),
            ..self
        }
    }
}

#[test]
fn equal_files_share_everything() {
    for len in [300, 2000, 50_000, 3_000_000] {
        let of = digest(&noise(3, len));
        let m = estimate(&of.sketch(), &of.sketch(), &NoBoilerplate);
        assert_eq!(m.a_in_b, Some(Score::ONE));
        assert_eq!(m.resemblance, Some(Score::ONE));
        let m = estimate_texts(&of.sketch(), &of.sketch(), &NoBoilerplate);
        assert!(
            m.resemblance.is_some_and(|share| share.get() > 0.9999),
            "{m:?}"
        );
    }
}

#[test]
fn boilerplate_is_no_evidence() {
    struct All;
    impl Boilerplate for All {
        fn chunk(&self, _: u64) -> bool {
            true
        }
        fn fingerprint(&self, _: Fingerprint) -> bool {
            true
        }
    }
    let of = digest(&noise(3, 20_000));
    let m = estimate(&of.sketch(), &of.sketch(), &All);
    assert_eq!((m.a_in_b, m.b_in_a, m.resemblance), (None, None, None));
    assert_eq!(m.shared_bytes, ByteLen::ZERO);

    /// Treats a licence text at the head of both files as boilerplate.
    struct Head(Digest);
    impl Boilerplate for Head {
        fn chunk(&self, key: u64) -> bool {
            self.0
                .chunks
                .0
                .iter()
                .any(|run| run.hash.posting_key() == key)
        }
        fn fingerprint(&self, fingerprint: Fingerprint) -> bool {
            self.0.signature.fingerprints.contains(&fingerprint)
        }
    }
    let licence = noise(4, 3000);
    let (a, b) = (
        [&licence[..], &noise(5, 3000)].concat(),
        [&licence[..], &noise(6, 3000)].concat(),
    );
    let (a, b) = (digest(&a), digest(&b));
    let with = estimate(&a.sketch(), &b.sketch(), &NoBoilerplate);
    assert!(
        with.a_in_b
            .is_some_and(|share| (share.get() - 0.5).abs() < 0.1),
        "{with:?}"
    );
    let without = estimate(&a.sketch(), &b.sketch(), &Head(digest(&licence)));
    assert_eq!(without.a_in_b, Some(Score::ZERO));
}

#[test]
fn few_samples_are_weighed_down() {
    // At the level of the large file, the small file has few samples.
    let small = noise(10, 400);
    let large = [noise(8, 3000), small.clone(), noise(9, 3000)].concat();
    let m = estimate(
        &digest(&small).sketch(),
        &digest(&large).sketch(),
        &NoBoilerplate,
    );
    let share = m.a_in_b.unwrap().get();
    assert!((0.7..1.0).contains(&share), "{share}");
}
