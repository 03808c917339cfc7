use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use resemble_core::cluster::UnionFind;
use resemble_core::hash::content::digest;
use resemble_methods::select::select;
use resemble_methods::shingle::{self, estimates, sketch};
use resemble_methods::super_shingle::super_shingles;
use resemble_methods::{Features, Judged, Method, MethodParams, MethodSignature, Scheme, Settings};
use tempfile::TempDir;

use super::*;
use crate::error::PhaseError;

/// A test document: its shingles and a number. Documents have equal bytes only if both the shingles
/// and the number are equal.
type Made = (BTreeSet<u64>, u8);

fn plan(params: MethodParams, common: Option<u32>) -> ClusterPlan {
    ClusterPlan {
        common,
        memory: 0,
        ..ClusterPlan::new(params)
    }
}

#[allow(clippy::needless_pass_by_value)] // made where they are handed over
fn by_shingles(settings: Settings) -> MethodParams {
    MethodParams::new(Method::Shingle, &settings).expect("in range")
}

fn all_shingles() -> MethodParams {
    by_shingles(Settings {
        rate: Some(1),
        ..Settings::default()
    })
}

fn super_of(length: u32) -> MethodParams {
    let settings = Settings {
        rate: Some(1),
        length: Some(length),
        ..Settings::default()
    };
    MethodParams::new(Method::SuperShingle, &settings).expect("in range")
}

fn signature(params: &MethodParams, set: &BTreeSet<u64>) -> MethodSignature {
    select(params, &Features::of_values(set.iter().copied()))
}

fn document(params: &MethodParams, made: &Made) -> SketchedDocument {
    // The number is part of the content, so documents with equal shingles can have different
    // contents.
    let name: Vec<u8> = made.0.iter().flat_map(|x| x.to_le_bytes()).collect();
    SketchedDocument {
        content: digest(&[&name[..], &[made.1]].concat()),
        words: [0; 16],
        size: 1,
        sketch: signature(params, &made.0),
    }
}

/// Takes documents through all phases, in batches of these sizes and a last batch with the rest.
fn settled(folder: &Path, plan: &ClusterPlan, made: &[Made], sizes: &[usize]) -> PhaseResults {
    let mut rest = made;
    let mut results = None;
    for &size in sizes.iter().chain([&usize::MAX]) {
        let (now, later) = rest.split_at(size.min(rest.len()));
        rest = later;
        let mut batch = ClusterBatch::begin(folder, plan).expect("a batch");
        for made in now {
            batch.add(&document(&plan.params, made)).expect("added");
        }
        results = Some(batch.settle().expect("settled").0);
    }
    results.expect("a batch")
}

fn clusters(results: &PhaseResults, policy: &Policy) -> (Clusters, BTreeMap<(u32, u32), u64>) {
    let mut links = BTreeMap::new();
    let mut link = |link: ClusterLink| {
        assert!(
            links
                .insert((link.a, link.b), link.estimates.common)
                .is_none()
        );
    };
    let clusters = results.cluster(policy, &mut link).expect("clusters");
    (clusters, links)
}

fn fresh(plan: &ClusterPlan, made: &[Made], policy: &Policy) -> Clusters {
    let folder = tempfile::tempdir().expect("a folder");
    clusters(&settled(folder.path(), plan, made, &[]), policy).0
}

/// Returns the clusters by their definition: every pair is compared.
fn naive(plan: &ClusterPlan, made: &[Made], policy: &Policy) -> Clusters {
    let params = &plan.params;
    let signed: Vec<MethodSignature> = made.iter().map(|one| signature(params, &one.0)).collect();
    let keys = |signature: &MethodSignature| -> Vec<u64> {
        let values = sketch(signature).expect("a sketch").1;
        match &params.scheme {
            Scheme::SuperShingle(params) => super_shingles(values, params.length as usize),
            _ => values.to_vec(),
        }
    };
    // The phases process only one of several documents with equal sketches. So these documents are
    // counted as one when common shingles are determined.
    let running: BTreeSet<Vec<u8>> = signed.iter().map(MethodSignature::encode).collect();
    let mut lists: BTreeMap<u64, usize> = BTreeMap::new();
    for encoded in &running {
        let signature = MethodSignature::decode(encoded).expect("a signature");
        for key in keys(&signature) {
            *lists.entry(key).or_default() += 1;
        }
    }
    let limit = plan.common.map_or(usize::MAX, |common| common as usize);
    let ignored: Vec<u64> = lists
        .into_iter()
        .filter(|&(_, count)| count > limit)
        .map(|(key, _)| key)
        .collect();
    let mut sets = UnionFind::new(made.len() as u32);
    for b in 0..made.len() {
        for a in 0..b {
            let is_empty = sketch(&signed[a]).expect("a sketch").1.is_empty();
            let equal = made[a] == made[b] || (signed[a] == signed[b] && !is_empty);
            let linked = match &params.scheme {
                Scheme::SuperShingle(_) => {
                    let (ka, kb) = (keys(&signed[a]), keys(&signed[b]));
                    let shared = ka
                        .iter()
                        .any(|key| kb.contains(key) && ignored.binary_search(key).is_err());
                    let estimated = estimates(shingle::Sample::Mod(1), &signed[a], &signed[b], &[]);
                    let value = estimated.expect("sketches").resemblance.value;
                    shared
                        && value
                            .value()
                            .is_some_and(|value| value >= policy.resemblance)
                }
                Scheme::Shingle(params) => {
                    let estimated = estimates(params.sample, &signed[a], &signed[b], &ignored)
                        .expect("sketches");
                    let reaches = |value: Judged, least: f64| {
                        value
                            .value()
                            .is_some_and(|value| value > 0.0 && value >= least)
                    };
                    let contained = [estimated.a_in_b, estimated.b_in_a].into_iter().flatten();
                    reaches(estimated.resemblance.value, policy.resemblance)
                        || policy.containment.is_some_and(|least| {
                            contained.into_iter().any(|e| reaches(e.value, least))
                        })
                }
                _ => panic!("another method"),
            };
            if equal || linked {
                sets.union(a as u32, b as u32);
            }
        }
    }
    Clusters(sets.into_least())
}

/// Generates collections of families. A family has a base, versions with some changed shingles,
/// parts, and copies.
fn collections() -> impl Strategy<Value = Vec<Made>> {
    let one = (0u64..4, 0usize..14, 0u64..8, 0u8..2).prop_map(|(base, from, change, name)| {
        let all = (from as u64..14).map(|i| {
            let i = if (i + change).is_multiple_of(5) {
                i + 100 * change
            } else {
                i
            };
            (base * 10_007 + i * 977) % 5003
        });
        (all.collect(), name)
    });
    prop::collection::vec(one, 0..24)
}

fn policies() -> impl Strategy<Value = Policy> {
    let shares = prop::sample::select(vec![0.0, 0.2, 0.5, 0.9, 1.0]);
    (shares.clone(), prop::option::of(shares)).prop_map(|(resemblance, containment)| Policy {
        resemblance,
        containment,
        every: false,
    })
}

fn schemes() -> impl Strategy<Value = MethodParams> {
    let of = |n, sizes| {
        by_shingles(Settings {
            n,
            sizes,
            ..Settings::default()
        })
    };
    prop_oneof![
        Just(all_shingles()),
        Just(of(Some(6), None)),
        Just(of(None, Some(3))),
        Just(super_of(2)),
        Just(super_of(3)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The four phases give the same clusters as comparing every pair, for any limit of ignored
    /// shingles and any policy.
    #[test]
    fn phases_are_every_pair_compared(
        made in collections(),
        params in schemes(),
        common in prop::option::of(1u32..9),
        policy in policies(),
    ) {
        let plan = plan(params, common);
        prop_assert_eq!(fresh(&plan, &made, &policy), naive(&plan, &made, &policy));
    }

    /// If no shingle is ignored, processing one document for each sketch gives the same clusters as
    /// processing all documents.
    #[test]
    fn elimination_changes_nothing_without_a_cut_off(
        made in collections(),
        params in schemes().prop_filter("its short sketches have no super shingle", |params| {
            params.method() == Method::Shingle
        }),
        policy in policies(),
    ) {
        let with = plan(params, None);
        let without = ClusterPlan { eliminate: false, ..with.clone() };
        // With elimination, documents with equal bytes are in one cluster even if they have no
        // shingles. Without elimination they are not, so this test leaves out documents without
        // shingles.
        let made: Vec<Made> = made.into_iter().filter(|one| !one.0.is_empty()).collect();
        prop_assert_eq!(fresh(&with, &made, &policy), fresh(&without, &made, &policy));
    }

    /// Several batches give the clusters, links and files of a single batch, even if a shingle
    /// becomes common in a later batch.
    #[test]
    fn batches_are_as_one(
        made in collections(),
        sizes in prop::collection::vec(0usize..12, 0..4),
        params in schemes(),
        common in prop::option::of(1u32..9),
        policy in policies(),
    ) {
        let plan = plan(params, common);
        let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
        let at_once = settled(folders[0].path(), &plan, &made, &[]);
        let in_batches = settled(folders[1].path(), &plan, &made, &sizes);
        prop_assert_eq!(clusters(&at_once, &policy), clusters(&in_batches, &policy));
        for name in ["documents", "sketches", "shingles", "pairs", "ignored"] {
            let read = |folder: &TempDir| std::fs::read(folder.path().join(name)).expect("read");
            let [one, other] = folders.each_ref().map(read);
            prop_assert_eq!(one, other, "{}", name);
        }
    }

    /// If the documents are added in another order, their numbers differ, but the clusters are the
    /// same.
    #[test]
    fn the_order_means_nothing(
        made in collections(),
        params in schemes(),
        common in prop::option::of(1u32..9),
    ) {
        let plan = plan(params, common);
        let policy = Policy { resemblance: 0.0, ..Policy::PAPER };
        let sets = |made: &[Made]| {
            let sets = fresh(&plan, made, &policy).sets();
            let named = sets.into_iter().map(|set| {
                let members = set.into_iter().map(|id| made[id as usize].clone());
                let mut set: Vec<Made> = members.collect();
                set.sort();
                set
            });
            named.collect::<BTreeSet<_>>()
        };
        let reversed: Vec<Made> = made.iter().rev().cloned().collect();
        prop_assert_eq!(sets(&made), sets(&reversed));
    }

    /// The clusters are the same, whether all documents with a common super shingle are linked with
    /// each other or only with one of them.
    #[test]
    fn every_link_of_super_shingles_adds_nothing(made in collections()) {
        let plan = plan(super_of(2), Some(6));
        let few = Policy { resemblance: 0.0, ..Policy::PAPER };
        let every = Policy { every: true, ..few };
        let found = fresh(&plan, &made, &few);
        prop_assert_eq!(&found, &fresh(&plan, &made, &every));
        let folder = tempfile::tempdir().expect("a folder");
        let by_one = settled(folder.path(), &plan, &made, &[]).cluster_by_one();
        prop_assert_eq!(found, by_one.expect("clusters"));
    }
}

/// Clusters thousands of documents with little memory, which needs many runs and several rounds of
/// merging.
#[test]
fn little_memory_is_enough() {
    let made: Vec<Made> = (0..3000u64)
        .map(|at| {
            let family = at / 3;
            let set = (0..20)
                .map(|i| (family * 1_000_003 + i * (1 + u64::from(i < 4) * (at % 3))) % (1 << 40));
            (set.collect(), 0)
        })
        .collect();
    let little = plan(all_shingles(), Some(1000));
    let much = ClusterPlan {
        memory: MEMORY,
        ..little.clone()
    };
    let found = fresh(&little, &made, &Policy::PAPER);
    assert_eq!(found, fresh(&much, &made, &Policy::PAPER));
    assert_eq!(found.sets().len(), 1000);
}

#[test]
fn other_parameters_and_other_seeds_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let seeded = |seed: &str| {
        let seed = std::sync::Arc::new(shingle::Seed::new(seed));
        let settings = Settings {
            seed: Some(seed),
            ..Settings::default()
        };
        plan(by_shingles(settings), Some(9))
    };
    let made = vec![((0..30).collect(), 0)];
    settled(folder.path(), &seeded("one"), &made, &[]);
    let refused = |plan: &ClusterPlan| {
        ClusterBatch::begin(folder.path(), plan)
            .expect_err("refused")
            .to_string()
    };
    assert!(refused(&seeded("two")).contains("another seed"));
    let other = plan(all_shingles(), Some(9));
    let message = refused(&other);
    assert!(
        message.contains("keeps clusters of shingle.words-10.rate-25.seed-"),
        "{message}"
    );
    // The results for the first seed are still in the folder.
    assert_eq!(
        settled(folder.path(), &seeded("one"), &[], &[]).documents(),
        1
    );
}

/// A folder with files of different generations is treated as a folder without results. A damaged
/// file is reported.
#[test]
fn what_does_not_fit_is_not_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(all_shingles(), None);
    let made: Vec<Made> = (0..40u64).map(|at| ((at..at + 30).collect(), 0)).collect();
    settled(folder.path(), &plan, &made[..20], &[]);
    let old = std::fs::read(folder.path().join("pairs")).expect("read");
    settled(folder.path(), &plan, &made[20..], &[]);
    let pairs = folder.path().join("pairs");
    let new = std::fs::read(&pairs).expect("read");
    std::fs::write(&pairs, &old).expect("written");
    assert_eq!(
        ClusterBatch::digests(folder.path(), &plan).expect("looked"),
        None
    );
    for at in [20, new.len() / 2] {
        let mut bytes = new.clone();
        bytes[at] ^= 1;
        std::fs::write(&pairs, &bytes).expect("written");
        let begun = ClusterBatch::begin(folder.path(), &plan).and_then(|batch| {
            let (results, _) = batch.settle()?;
            results.cluster(&Policy::PAPER, &mut |_| ())
        });
        assert!(
            matches!(
                begun,
                Err(crate::error::LabError::Phase(PhaseError::Damaged { .. }))
            ),
            "{begun:?}"
        );
    }
    std::fs::write(&pairs, &new).expect("written");
    assert_eq!(
        ClusterBatch::digests(folder.path(), &plan)
            .expect("looked")
            .map(|all| all.len()),
        Some(40)
    );
    let files = std::fs::read_dir(folder.path()).expect("listed");
    assert!(files.count() >= 5);
}
