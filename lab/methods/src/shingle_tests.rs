use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::Supplies;
use crate::select::select;
use crate::testing::{contents, prose};
use crate::{
    Features, Measure, Method, MethodParams, ParamError, Refused, Scheme, Settings, score, sign,
};

#[allow(clippy::needless_pass_by_value)] // most are made where they are handed over
fn params(settings: Settings) -> MethodParams {
    MethodParams::new(Method::Shingle, &settings).expect("in range")
}

fn shingles(params: &ShingleParams, text: &[u8]) -> Vec<u64> {
    let mut all = Vec::new();
    let mut shingling = Shingling::new(params);
    shingling.update(text, |shingle| all.push(shingle));
    shingling.finish(|shingle| all.push(shingle));
    all
}

/// Tests an example of the paper: "The 4-shingling of (a, rose, is, a, rose, is, a, rose) is the
/// set {…}", which has three elements.
#[test]
fn the_rose_has_three_shingles() {
    let params = ShingleParams {
        words: 4,
        sample: Sample::Mod(1),
        seed: None,
    };
    let all = shingles(&params, b"a rose is a rose is a rose");
    assert_eq!(all.len(), 5);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 3);
    // Markup and upper case make no difference.
    let html = b"<html><b>A</b> Rose<br>is a <i>ROSE</i> is a&nbsp;rose</html>";
    assert_eq!(shingles(&params, html), all);
}

#[test]
fn lexically_equivalent_texts_have_one_name() {
    let name = |text: &[u8]| {
        let mut shingling = Shingling::new(&ShingleParams::default());
        shingling.update(text, |_| ());
        shingling.finish(|_| ())
    };
    let rose = name(b"a rose is a rose");
    assert_eq!(name(b"<html>A <b>rose</b>, is a ROSE!</html>"), rose);
    assert_ne!(name(b"a rose is rose a"), rose);
    assert_ne!(name(b"a rose is a rose a"), rose);
    assert_eq!(name(b" .,- "), [0; 16]);
}

#[test]
fn fewer_words_than_a_shingle_are_none() {
    let params = ShingleParams::default();
    assert!(shingles(&params, b"one two three four five six seven eight nine").is_empty());
    assert_eq!(shingles(&params, b"1 2 3 4 5 6 7 8 9 ten").len(), 1);
}

fn of_set(params: &MethodParams, set: &BTreeSet<u64>) -> MethodSignature {
    select(params, &Features::of_values(set.iter().copied()))
}

fn ratio(part: usize, whole: usize) -> Judged {
    Judged::ratio(part as u64, whole as u64)
}

fn sets() -> impl Strategy<Value = (BTreeSet<u64>, BTreeSet<u64>)> {
    let one = || prop::collection::btree_set(0u64..300, 0..150);
    prop_oneof![
        (one(), one()),
        // Here, one set is a part of the other set.
        (one(), 0usize..60).prop_map(|(all, few)| {
            let part = all.iter().copied().take(few).collect();
            (all, part)
        }),
    ]
}

proptest! {
    /// Tests a statement of the paper: "The resemblance distance … is a metric and obeys the
    /// triangle inequality."
    #[test]
    fn one_minus_resemblance_obeys_the_triangle_inequality(
        (a, b) in sets(),
        c in prop::collection::btree_set(0u64..300, 0..150),
    ) {
        let params = params(Settings { rate: Some(1), ..Settings::default() });
        let signed = [&a, &b, &c].map(|set| of_set(&params, set));
        let distance = |i: usize, j: usize| {
            score(&params, &signed[i], &signed[j]).score.value().map(|r| 1.0 - r)
        };
        if let (Some(ab), Some(bc), Some(ac)) = (distance(0, 1), distance(1, 2), distance(0, 2)) {
            prop_assert!(ac <= ab + bc + 1e-12, "{} {} {}", ac, ab, bc);
        }
    }

    /// The estimates must be those of the paper's theorem, which this test computes on sets.
    #[test]
    fn estimates_are_those_of_the_theorem((a, b) in sets(), m in 1u32..9, s in 1u32..80) {
        let by_mod = params(Settings { rate: Some(m), ..Settings::default() });
        let v = |set: &BTreeSet<u64>| -> BTreeSet<u64> {
            set.iter().copied().filter(|x| x % u64::from(m) == 0).collect()
        };
        let (va, vb) = (v(&a), v(&b));
        let common = va.intersection(&vb).count();
        let scores = score(&by_mod, &of_set(&by_mod, &a), &of_set(&by_mod, &b));
        prop_assert_eq!(scores.score, ratio(common, va.union(&vb).count()));
        prop_assert_eq!(scores.a_in_b, Ok(ratio(common, va.len())));
        prop_assert_eq!(scores.b_in_a, Ok(ratio(common, vb.len())));

        let by_min = params(Settings { n: Some(s), ..Settings::default() });
        let least = |set: &mut dyn Iterator<Item = u64>| -> BTreeSet<u64> {
            set.collect::<BTreeSet<_>>().into_iter().take(s as usize).collect()
        };
        let (fa, fb) = (least(&mut a.iter().copied()), least(&mut b.iter().copied()));
        let both = least(&mut fa.union(&fb).copied());
        let common = both.iter().filter(|x| fa.contains(x) && fb.contains(x)).count();
        let scores = score(&by_min, &of_set(&by_min, &a), &of_set(&by_min, &b));
        prop_assert_eq!(scores.score, ratio(common, both.len()));
        prop_assert_eq!(scores.a_in_b, Err(Refused::OfLeast { method: Method::Shingle }));
    }

    /// The size of a document determines the class i of `V_i`, and 2^i divides the kept values.
    /// Documents are compared as if both sketches had the modulus of the longer document.
    #[test]
    fn sizes_are_compared_at_the_longer_ones_modulus((a, b) in sets(), least in 1u32..40) {
        let params = params(Settings { sizes: Some(least), ..Settings::default() });
        let class = |len: usize| {
            (0..40).take_while(|i| len as u64 >= u64::from(least) << (i + 1)).count() as u32
        };
        let v = |set: &BTreeSet<u64>, i: u32| -> BTreeSet<u64> {
            set.iter().copied().filter(|x| x % (1 << i) == 0).collect()
        };
        let signed = [&a, &b].map(|set| of_set(&params, set));
        for (set, signed) in [&a, &b].into_iter().zip(&signed) {
            let (level, values) = sketch(signed).expect("a sketch");
            prop_assert_eq!(u32::from(level), class(set.len()));
            prop_assert!(values.iter().copied().eq(v(set, level.into())));
        }
        let i = class(a.len().max(b.len()));
        let (va, vb) = (v(&a, i), v(&b, i));
        let common = va.intersection(&vb).count();
        let scores = score(&params, &signed[0], &signed[1]);
        prop_assert_eq!(scores.score, ratio(common, va.union(&vb).count()));
        prop_assert_eq!(scores.a_in_b, Ok(ratio(common, va.len())));
    }

    /// Ignored shingles must count as if neither document had them.
    #[test]
    fn ignored_shingles_are_in_neither(
        (a, b) in sets(),
        gone in prop::collection::btree_set(0u64..300, 0..100),
        s in 1u32..80,
    ) {
        let ignored: Vec<u64> = gone.iter().copied().collect();
        let without = |set: &BTreeSet<u64>| set.difference(&gone).copied().collect::<BTreeSet<_>>();
        let params_mod = params(Settings { rate: Some(3), ..Settings::default() });
        let signed = |set| of_set(&params_mod, set);
        prop_assert_eq!(
            estimates(Sample::Mod(3), &signed(&a), &signed(&b), &ignored),
            estimates(Sample::Mod(3), &signed(&without(&a)), &signed(&without(&b)), &[])
        );
        // If c shingles are left out of one of two `MIN_s`, the sketches are compared as
        // `MIN_{s-c}` of the remaining shingles.
        let params_min = params(Settings { n: Some(s), ..Settings::default() });
        let (fa, fb) = (of_set(&params_min, &a), of_set(&params_min, &b));
        let lost = |signed: &MethodSignature| {
            sketch(signed).expect("a sketch").1.iter().filter(|x| gone.contains(x)).count() as u32
        };
        let rest = s - lost(&fa).max(lost(&fb)).min(s);
        let estimated = estimates(Sample::Min(s), &fa, &fb, &ignored).expect("an estimate");
        if rest > 0 {
            let fewer = params(Settings { n: Some(rest), ..Settings::default() });
            let (ga, gb) = (of_set(&fewer, &without(&a)), of_set(&fewer, &without(&b)));
            let direct = estimates(Sample::Min(rest), &ga, &gb, &[]).expect("an estimate");
            prop_assert_eq!(estimated, direct);
        } else {
            prop_assert_eq!(estimated.resemblance.value, Judged::TooSmall);
        }
    }

    #[test]
    fn pieces_of_any_size_give_the_same_shingles(bytes in contents(), size in 1usize..300) {
        let params = ShingleParams { words: 3, ..ShingleParams::default() };
        let mut all = Vec::new();
        let mut shingling = Shingling::new(&params);
        for _twice in 0..2 {
            all.clear();
            bytes.chunks(size).for_each(|piece| shingling.update(piece, |s| all.push(s)));
            shingling.finish(|s| all.push(s));
            prop_assert_eq!(&all, &shingles(&params, &bytes));
        }
    }
}

fn seeded(text: &str, settings: Settings) -> MethodParams {
    params(Settings {
        seed: Some(Arc::new(Seed::new(text))),
        ..settings
    })
}

/// The estimates for a pair with known measures must be unbiased over 600 permutations. The
/// interval should contain the true value in 19 of 20 cases. The test requires 93 %.
#[test]
#[allow(clippy::many_single_char_names)] // the paper's
fn estimates_are_unbiased_and_intervals_hold() {
    let text = prose(1400, 7);
    let words: Vec<&[u8]> = text
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .collect();
    let a = words[..1000].join(&b' ');
    let b = words[300..1400].join(&b' ');
    let full = params(Settings {
        rate: Some(1),
        ..Settings::default()
    });
    let truth = score(&full, &sign(&full, &a), &sign(&full, &b));
    let exact = |judged: Judged| judged.value().expect("judged");
    let (r, c) = (
        exact(truth.score),
        exact(truth.a_in_b.expect("an estimate")),
    );
    let samples = [
        Settings::default(),
        Settings {
            n: Some(60),
            ..Settings::default()
        },
        Settings {
            sizes: Some(100),
            ..Settings::default()
        },
    ];
    for settings in samples {
        let (mut sum, mut covered, mut inside, mut contained) = (0.0, 0, 0.0, 0);
        let rounds = 600;
        for round in 0..rounds {
            let params = seeded(&round.to_string(), settings.clone());
            let Scheme::Shingle(shingles) = &params.scheme else {
                panic!("another method");
            };
            let (a, b) = (sign(&params, &a), sign(&params, &b));
            let estimated = estimates(shingles.sample, &a, &b, &[]).expect("an estimate");
            sum += exact(estimated.resemblance.value);
            let interval = estimated.resemblance.low..=estimated.resemblance.high;
            covered += u32::from(interval.contains(&r));
            if let Some(in_b) = estimated.a_in_b {
                inside += exact(in_b.value);
                contained += u32::from((in_b.low..=in_b.high).contains(&c));
            }
        }
        let n = f64::from(rounds);
        // Samples of about 60 values have a standard error of at most 0.0026.
        assert!((sum / n - r).abs() < 0.01, "{settings:?}: {} {r}", sum / n);
        assert!(f64::from(covered) / n > 0.93, "{settings:?}: {covered}");
        if settings.n.is_none() {
            assert!(
                (inside / n - c).abs() < 0.012,
                "{settings:?}: {}",
                inside / n
            );
            assert!(f64::from(contained) / n > 0.93, "{settings:?}: {contained}");
        }
    }
}

#[test]
fn sketches_of_other_seeds_have_nothing_in_common_and_are_refused() {
    let text = prose(2000, 3);
    let (one, other) = (
        seeded("one", Settings::default()),
        seeded("other", Settings::default()),
    );
    let sketches = [&one, &other].map(|params| sign(params, &text));
    let common = Overlap::of_sets(&sketches[0].keys(), &sketches[1].keys()).common;
    assert!(common == 0 && sketches[0].len() > 50);
    let id = one.to_string();
    let at_hand = |seed: Option<&str>| Supplies {
        seed: seed.map(Seed::new).map(Arc::new),
        ..Supplies::default()
    };
    for seed in [None, Some("other")] {
        let refused = MethodParams::parse_with(&id, &at_hand(seed)).expect_err("another seed");
        assert!(matches!(refused, ParamError::OtherSeed { .. }));
        assert!(refused.to_string().contains("give the same --seed again"));
    }
    assert_eq!(
        MethodParams::parse_with(&id, &at_hand(Some("one"))),
        Ok(one.clone())
    );
    // Neither an id nor a debug output contains the secret.
    let secret = seeded("open sesame", Settings::default());
    assert!(!format!("{secret} {secret:?}").contains("sesame"));
}

#[test]
fn containment_is_told_by_a_modulus_alone() {
    let tells = |settings: Settings| params(settings).tells(Measure::Containment).is_ok();
    assert!(tells(Settings::default()));
    let sizes = Settings {
        sizes: Some(100),
        ..Settings::default()
    };
    assert!(tells(sizes));
    let least = Settings {
        n: Some(100),
        ..Settings::default()
    };
    assert!(!tells(least));
    let super_shingle = MethodParams::paper(Method::SuperShingle);
    let refused = super_shingle.tells(Measure::Containment);
    let method = Method::SuperShingle;
    assert_eq!(refused, Err(Refused::OfSuper { method }));
}

/// If two texts have a super shingle in common, the score is the resemblance of their sketches.
/// Otherwise the score is 0. A part of a text is not detected.
#[test]
fn super_shingles_see_edits_and_no_parts() {
    let params = MethodParams::paper(Method::SuperShingle);
    let text = prose(10_000, 11);
    let edited = [&text[..9000], b" another sentence here ", &text[9000..]].concat();
    let of = |a: &[u8], b: &[u8]| score(&params, &sign(&params, a), &sign(&params, b));
    let near = of(&text, &edited);
    assert!(near.score == near.resemblance.expect("an estimate"));
    assert!(near.score.value().is_some_and(|score| score > 0.9));
    let part = of(&text, &text[..text.len() / 20]);
    assert_eq!(part.score, Judged::Value(0.0), "{part:?}");
    assert!(part.a_in_b.is_err());
    assert_eq!(of(&text, &prose(10_000, 12)).score, Judged::Value(0.0));
    // A sketch of three shingles has no super shingle of four.
    assert_eq!(of(&text, b"short").score, Judged::TooSmall);
}

#[test]
fn a_shingle_is_found_in_its_words() {
    let params = ShingleParams {
        words: 3,
        ..ShingleParams::default()
    };
    let text = b"<p>One two, THREE four</p>";
    let all = shingles(&params, text);
    let found = wording(&params, text, &[all[1], 1]);
    assert_eq!(found, [(all[1], "two three four".to_owned())]);
}

/// Memory is bounded by the sample, and a repeated shingle is kept once.
#[test]
fn repeats_count_for_the_size_alone() {
    let params = params(Settings {
        sizes: Some(100),
        words: Some(1),
        ..Settings::default()
    });
    let signed = sign(&params, "again ".repeat(100_000).as_bytes());
    let (level, values) = sketch(&signed).expect("a sketch");
    assert!(level == 9 && values.len() <= 1, "{level} {values:?}");
}
