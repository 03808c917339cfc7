use std::collections::{BTreeMap, BTreeSet, HashSet};

use proptest::prelude::*;

use super::*;
use crate::Method;
use crate::feature::Features;
use crate::rabin::tests::windows;
use crate::scheme::Settings;
use crate::select::{select, sign};
use crate::shingles::mix;
use crate::testing::{all_params, contents, prose, random};

fn params(method: Method, n: u32) -> MethodParams {
    let settings = Settings {
        n: Some(n),
        ..Settings::default()
    };
    MethodParams::new(method, &settings).expect("in range")
}

fn of_values(params: &MethodParams, values: &[u64]) -> MethodSignature {
    select(params, &Features::of_values(values.iter().copied()))
}

fn value(judged: Judged) -> f64 {
    judged.value().expect("judged")
}

/// Computes the figures of Cherkasova et al. 2009, section 2, on sets, by following the paper
/// literally.
mod by_the_paper {
    use super::*;

    pub(crate) fn ratio(part: usize, whole: usize) -> Judged {
        Judged::ratio(part as u64, whole as u64)
    }

    pub(crate) fn mod_n(all: &[u64], n: u64) -> BTreeSet<u64> {
        all.iter().copied().filter(|f| f % n == 0).collect()
    }

    pub(crate) fn bsw_n(all: &[u64], n: u64) -> BTreeSet<u64> {
        all.split_inclusive(|f| f % n == 0)
            .map(|chunk| *chunk.iter().min().expect("a chunk has one"))
            .collect()
    }

    /// Returns which share of the n smallest values of the union is in both sets.
    pub(crate) fn min_n(a: &[u64], b: &[u64], n: usize) -> Judged {
        let (a, b): (BTreeSet<_>, BTreeSet<_>) = (a.iter().collect(), b.iter().collect());
        let least: Vec<_> = a.union(&b).take(n).collect();
        let common = least.iter().filter(|f| a.contains(**f) && b.contains(**f));
        ratio(common.count(), least.len())
    }

    pub(crate) fn sketch_n(a: &[u64], b: &[u64], n: u64) -> Judged {
        let number = |i: u64| mix(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let agree = (1..=n).filter(|i| {
            let f = |x: &u64| {
                mix(*x)
                    .wrapping_mul(number(2 * i) | 1)
                    .wrapping_add(number(2 * i + 1))
            };
            !a.is_empty() && a.iter().map(f).min() == b.iter().map(f).min()
        });
        let any = !a.is_empty() || !b.is_empty();
        ratio(agree.count(), if any { n as usize } else { 0 })
    }
}

proptest! {
    #[test]
    fn figures_are_the_papers(
        a in prop::collection::vec(0u64..400, 0..300),
        b in prop::collection::vec(0u64..400, 0..300),
        n in 1u32..60,
    ) {
        let mixed = |values: Vec<u64>| -> Vec<u64> { values.into_iter().map(mix).collect() };
        let (a, b) = (mixed(a), mixed(b));
        let scores = |method| {
            let params = params(method, n);
            score(&params, &of_values(&params, &a), &of_values(&params, &b))
        };
        for (method, sample) in [
            (Method::Mod, by_the_paper::mod_n as fn(&[u64], u64) -> BTreeSet<u64>),
            (Method::BswMin, by_the_paper::bsw_n),
        ] {
            let (x, y) = (sample(&a, n.into()), sample(&b, n.into()));
            let common = x.intersection(&y).count();
            let scores = scores(method);
            prop_assert_eq!(scores.score, by_the_paper::ratio(common, x.union(&y).count()));
            prop_assert_eq!(scores.resemblance, Ok(scores.score));
            prop_assert_eq!(scores.a_in_b, Ok(by_the_paper::ratio(common, x.len())));
            prop_assert_eq!(scores.b_in_a, Ok(by_the_paper::ratio(common, y.len())));
        }
        prop_assert_eq!(scores(Method::Min).score, by_the_paper::min_n(&a, &b, n as usize));
        prop_assert_eq!(scores(Method::Sketch).score, by_the_paper::sketch_n(&a, &b, n.into()));
    }

    /// The figure must equal the figure of Manber 1994, section 3. This test computes the expected
    /// figure with maps.
    #[test]
    fn sif_counts_every_occurrence(
        a in prop::collection::vec(0u64..60, 0..80),
        b in prop::collection::vec(0u64..60, 0..80),
    ) {
        let params = MethodParams::paper(Method::Sif);
        let scores = score(&params, &of_values(&params, &a), &of_values(&params, &b));
        let query: HashSet<u64> = a.iter().copied().collect();
        let found = b.iter().filter(|f| query.contains(f)).count();
        prop_assert_eq!(scores.score, by_the_paper::ratio(found, a.len()));
        let other: HashSet<u64> = b.iter().copied().collect();
        let common = query.intersection(&other).count();
        prop_assert_eq!(scores.a_in_b, Ok(by_the_paper::ratio(common, query.len())));
        prop_assert_eq!(scores.b_in_a, Ok(by_the_paper::ratio(common, other.len())));
    }

    /// The figure must equal the figure of Forman et al. 2005, section 2.3. This test computes the
    /// expected figure with maps.
    #[test]
    fn chunks_count_as_often_as_both_have_them(
        a in prop::collection::vec((0u64..20, 1u64..9), 0..40),
        b in prop::collection::vec((0u64..20, 1u64..9), 0..40),
    ) {
        let params = MethodParams::paper(Method::Tttd);
        let features = |list: &[(u64, u64)]| {
            Features(list.iter().map(|&(value, len)| crate::Feature::chunk(value, len)).collect())
        };
        let counts = |list: &[(u64, u64)]| {
            let mut counts = BTreeMap::new();
            for chunk in list {
                *counts.entry(*chunk).or_insert(0u64) += 1;
            }
            counts
        };
        let (of_a, of_b) = (counts(&a), counts(&b));
        let common: u64 = of_a
            .iter()
            .map(|(chunk, m)| chunk.1 * m.min(of_b.get(chunk).unwrap_or(&0)))
            .sum();
        let size = |list: &[(u64, u64)]| list.iter().map(|chunk| chunk.1).sum::<u64>();
        let signature = |list| select(&params, &features(list));
        let scores = score(&params, &signature(&a), &signature(&b));
        prop_assert_eq!(scores.shared_bytes, Some(common));
        prop_assert_eq!(scores.a_in_b, Ok(Judged::ratio(common, size(&a))));
        let smaller = match (size(&a), size(&b)) {
            (0, other) | (other, 0) => other,
            (a, b) => a.min(b),
        };
        prop_assert_eq!(scores.score, Judged::ratio(common, smaller));
    }

    #[test]
    fn a_figure_above_nothing_has_a_common_key(a in contents(), b in contents()) {
        let b = [&a[a.len() / 3..], &b].concat();
        for params in all_params() {
            let (a, b) = (sign(&params, &a), sign(&params, &b));
            let scores = score(&params, &a, &b);
            let keys: HashSet<u64> = a.keys().into_iter().collect();
            let common = b.keys().iter().any(|key| keys.contains(key));
            let above = scores.score.value().is_some_and(|s| s > 0.0);
            prop_assert!(common || !above, "{}", params);
            // With `Min_n` and `shingle`, a key that both signatures have may not be among the n
            // smallest keys of their union.
            let is_least = matches!(params.method(), Method::Min | Method::Shingle);
            prop_assert!(above || !common || is_least, "{}", params);
        }
    }

    #[test]
    fn a_content_is_all_of_itself_and_pairs_look_alike_from_both_sides(
        a in contents(),
        b in contents(),
    ) {
        for params in all_params() {
            let (a, b) = (sign(&params, &a), sign(&params, &b));
            let of_itself = score(&params, &a, &a).score;
            let expected = if a.is_empty() { Judged::TooSmall } else { Judged::Value(1.0) };
            prop_assert_eq!(of_itself, expected);
            let (ab, ba) = (score(&params, &a, &b), score(&params, &b, &a));
            prop_assert_eq!(ab.a_in_b, ba.b_in_a);
            prop_assert_eq!(ab.b_in_a, ba.a_in_b);
            prop_assert_eq!(ab.resemblance, ba.resemblance);
            if params.method().is_symmetric() {
                prop_assert_eq!(ab.score, ba.score);
            }
        }
    }
}

/// Tests table 1 of the paper, in which "B is the first section of a 4-section document A".
#[test]
fn table_1() {
    let a = prose(12_000, 7);
    let b = &a[..a.len() / 4];
    let scores = |method| {
        let params = params(method, 100);
        score(&params, &sign(&params, &a), &sign(&params, b))
    };
    let truth = 0.25;
    for method in [Method::Mod, Method::BswMin] {
        let scores = scores(method);
        assert!(
            (value(scores.score) - truth).abs() < 0.05,
            "{method}: {scores:?}"
        );
        assert!(
            value(scores.b_in_a.expect("a measure")) > 0.98,
            "{method}: {scores:?}"
        );
        let a_in_b = value(scores.a_in_b.expect("a measure"));
        assert!((a_in_b - truth).abs() < 0.05, "{method}: {scores:?}");
    }
    assert_eq!(scores(Method::Mod).b_in_a, Ok(Judged::Value(1.0)));
    for method in [Method::Min, Method::Sketch] {
        let scores = scores(method);
        // A hundred draws with probability 1/4 have a standard deviation of 4.3 %.
        assert!(
            (value(scores.score) - truth).abs() < 0.13,
            "{method}: {scores:?}"
        );
        assert_eq!(scores.a_in_b, Err(Refused::Containment { method }));
        assert_eq!(scores.b_in_a, Err(Refused::Containment { method }));
    }
    // All of B is in A, but only a quarter of B's sample is in A's sample. Therefore the method
    // refuses containment.
    let params = params(Method::Min, 100);
    let (of_a, of_b) = (sign(&params, &a).keys(), sign(&params, b).keys());
    let common = of_b.iter().filter(|f| of_a.contains(f)).count();
    assert!((10..45).contains(&common), "{common} of 100");
    let last = &a[a.len() - a.len() / 50..];
    let of_last = sign(&params, last).keys();
    let common = of_last.iter().filter(|f| of_a.contains(f)).count();
    assert!(common < 9, "{common} of 100");
}

/// According to table 1, the samples of `Min_n` and `Sketch_n` have a fixed size, and the samples
/// of `Mod_n` and `BSW_n` grow with the file.
#[test]
fn sizes_are_fixed_or_grow_with_the_file() {
    let len = |method, words| sign(&MethodParams::paper(method), &prose(words, 8)).len();
    for (words, bytes) in [(2_000, 13_000), (8_000, 52_000)] {
        assert_eq!(len(Method::Min, words), 100);
        assert_eq!(len(Method::Sketch, words), 100);
        for method in [Method::Mod, Method::BswMin] {
            // "If document D is S bytes long then its feature vector has on average S/n entries."
            let entries = len(method, words) as f64;
            let expected = f64::from(bytes) / 100.0;
            assert!(
                (entries / expected - 1.0).abs() < 0.25,
                "{method} {entries} {expected}"
            );
        }
    }
}

/// Checks the mean and the deviation of many estimates of the same resemblance and the same
/// containment.
#[test]
fn estimates_are_unbiased_within_their_variance() {
    const RUNS: u64 = 400;
    // A has 4000 values and B has 2000, of which 1500 are common.
    let (resemblance, containment) = (1500.0 / 4500.0, 1500.0 / 2000.0);
    for (method, n, resemblance_deviation) in [
        // About 45 of the 4500 values are in the two samples.
        (
            Method::Mod,
            100,
            (resemblance * (1.0 - resemblance) / 45.0f64).sqrt(),
        ),
        (
            Method::Min,
            50,
            (resemblance * (1.0 - resemblance) / 50.0f64).sqrt(),
        ),
        (
            Method::Sketch,
            50,
            (resemblance * (1.0 - resemblance) / 50.0f64).sqrt(),
        ),
    ] {
        let params = params(method, n);
        let (mut sums, mut squares, mut contained) = (0.0, 0.0, 0.0);
        for run in 0..RUNS {
            let value_of = |i: u64| random(run, i);
            let a: Vec<u64> = (0..4000).map(value_of).collect();
            let b: Vec<u64> = (2500..4500).map(value_of).collect();
            let scores = score(&params, &of_values(&params, &a), &of_values(&params, &b));
            let estimate = value(scores.resemblance.expect("a measure"));
            sums += estimate;
            squares += estimate * estimate;
            if let Ok(b_in_a) = scores.b_in_a {
                contained += value(b_in_a);
            }
        }
        let runs = RUNS as f64;
        let mean = sums / runs;
        let deviation = (squares / runs - mean * mean).sqrt();
        assert!(
            (mean - resemblance).abs() < 4.0 * deviation / runs.sqrt(),
            "{method}: {mean} ± {deviation}"
        );
        assert!(
            (deviation / resemblance_deviation - 1.0).abs() < 0.2,
            "{method}: {deviation}, expected {resemblance_deviation}"
        );
        if method == Method::Mod {
            let of_one = (containment * (1.0 - containment) / 20.0f64).sqrt();
            let mean = contained / runs;
            assert!(
                (mean - containment).abs() < 5.0 * of_one / runs.sqrt(),
                "{mean}"
            );
        }
    }
}

/// Checks the estimates with windows of texts. The Rabin fingerprints of such windows are not
/// random numbers. Many texts are needed, because the mean of a few estimates proves nothing.
#[test]
fn estimates_of_texts_are_unbiased() {
    for method in [Method::Mod, Method::Min, Method::Sketch, Method::BswMin] {
        let params = params(method, 60);
        let (mut errors, mut squares, runs) = (0.0, 0.0, 60);
        for run in 0..runs {
            let a = prose(900, 1000 + run);
            let b = [&a[..a.len() / 2], &prose(400, 5000 + run)].concat();
            let all: HashSet<u64> = windows(&a, 20).into_iter().collect();
            let of_b: HashSet<u64> = windows(&b, 20).into_iter().collect();
            let truth = all.intersection(&of_b).count() as f64 / all.union(&of_b).count() as f64;
            let error = value(score(&params, &sign(&params, &a), &sign(&params, &b)).score) - truth;
            errors += error;
            squares += error * error;
        }
        let mean = errors / runs as f64;
        let deviation = (squares / runs as f64).sqrt();
        assert!(
            mean.abs() < 4.0 * deviation / (runs as f64).sqrt(),
            "{method}: {mean} ± {deviation}"
        );
        assert!(deviation < 0.09, "{method}: {deviation}");
    }
}

#[test]
fn what_has_no_sample_is_too_small_to_judge() {
    let text = prose(3000, 9);
    for params in all_params() {
        let (nothing, something) = (sign(&params, b""), sign(&params, &text));
        let both = score(&params, &nothing, &nothing);
        assert_eq!(both.score, Judged::TooSmall, "{params}");
        assert_eq!(both.resemblance, Ok(Judged::TooSmall), "{params}");
        let one = score(&params, &nothing, &something);
        if something.is_empty() {
            continue;
        }
        if let Ok(a_in_b) = one.a_in_b {
            assert_eq!(a_in_b, Judged::TooSmall, "{params}");
            assert_eq!(one.b_in_a, Ok(Judged::Value(0.0)), "{params}");
        }
    }
    // sif divides by the number of the query's fingerprints, which is 0 for an empty query.
    let sif = MethodParams::paper(Method::Sif);
    let (nothing, something) = (sign(&sif, b""), sign(&sif, &text));
    assert_eq!(score(&sif, &nothing, &something).score, Judged::TooSmall);
    assert_eq!(score(&sif, &something, &nothing).score, Judged::Value(0.0));
}

#[test]
fn signatures_of_another_method_say_nothing() {
    let text = prose(3000, 10);
    let (a, b) = (
        MethodParams::paper(Method::Sketch),
        MethodParams::paper(Method::Mod),
    );
    let scores = score(&a, &sign(&a, &text), &sign(&b, &text));
    assert_eq!(scores.score, Judged::TooSmall);
    assert!(scores.a_in_b.is_err());
}
