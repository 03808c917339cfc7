//! Compares estimates with exact measures on edited contents. For each kind of edit, checks the
//! share of intervals that contain the truth, and the mean absolute error.
//!
//! For each kind, [`KINDS`] has a bound of the mean absolute error. The bound is twice the error
//! that was measured when the bound was set.

#![allow(clippy::print_stdout)]

mod kinds;

use kinds::{KINDS, drawing, text};
use resemble_core::similarity::proof::Provable;
use resemble_core::similarity::{
    Compared, Estimated, Measures, NoBoilerplate, Prepared, Unit, estimate_shown,
};
use resemble_core::{ContentKind, Digest, Params};
use resemble_testutil::random::Random;

/// Sums of errors, and the number of intervals that contain the truth.
#[derive(Default)]
struct Errors {
    count: f64,
    sum: f64,
    absolute: f64,
    intervals: f64,
    held: f64,
    width: f64,
}

impl Errors {
    /// Adds the errors of both containments, and the intervals of both containments and of the
    /// resemblance.
    fn add(&mut self, found: &Estimated, exact: &Measures) {
        let Estimated { measures, interval } = found;
        for (estimated, truth) in [
            (measures.a_in_b, exact.a_in_b),
            (measures.b_in_a, exact.b_in_a),
        ] {
            // Without a common chunk there is no estimate for a text and data.
            let Some(estimated) = estimated else {
                continue;
            };
            let error = estimated.get() - truth.expect("judged").get();
            self.count += 1.0;
            self.sum += error;
            self.absolute += error.abs();
        }
        for (ends, truth) in [
            (interval.a_in_b, exact.a_in_b),
            (interval.b_in_a, exact.b_in_a),
            (interval.resemblance, exact.resemblance),
        ] {
            let Some((low, high)) = ends else {
                continue;
            };
            let truth = truth.expect("judged");
            self.intervals += 1.0;
            self.held += f64::from(u8::from(low <= truth && truth <= high));
            self.width += high.get() - low.get();
        }
    }

    fn held(&self) -> f64 {
        self.held / self.intervals
    }

    fn bias(&self) -> f64 {
        self.sum / self.count
    }

    fn mean(&self) -> f64 {
        self.absolute / self.count
    }
}

/// Returns the stored digest of some bytes.
fn kept(bytes: &[u8]) -> Digest {
    let params = Params::default();
    let digest = Digest::of(bytes, &params);
    let signature = digest.kept(&params);
    Digest {
        signature,
        ..digest
    }
}

/// Returns the estimate of a pair from the stored data, and the exact measures.
fn estimated(a: &[u8], b: &[u8]) -> (Estimated, Measures) {
    let [of_a, of_b] = [a, b].map(kept);
    let provable = |kind: ContentKind, bytes: &[u8]| Provable::new(kind, bytes.to_vec());
    let exact = provable(of_a.kind, a).measure(&provable(of_b.kind, b), Unit::Words);
    let compared = Compared::of(of_a.kind, of_b.kind, Unit::Words);
    let [a, b] = [&of_a, &of_b].map(|of| Prepared::of(&of.sketch(), &NoBoilerplate));
    (
        estimate_shown(&a, &b, compared, &NoBoilerplate),
        exact.measures,
    )
}

/// The number that is added to odd seeds. Pairs of the resulting seeds were not used to choose any
/// constant.
const HELD_OUT: u64 = 1_000_000;

/// The intervals are made to contain the truth in 19 cases of 20. For every kind of edit they
/// contain it in at least 18.6. If the edits of a kind are not the worst case, nearly all contain
/// it.
#[test]
fn intervals_hold_the_truth_of_every_kind() {
    for (kind, make, most) in KINDS {
        let mut halves = [Errors::default(), Errors::default()];
        for (size, rounds) in [(1500, 40), (8000, 40), (60_000, 12), (300_000, 4)] {
            for seed in 0..rounds {
                let draw = if seed % 2 == 0 { seed } else { HELD_OUT + seed };
                let mut random = Random::new(draw * 1000 + size as u64);
                let len = size / 2 + random.below(size);
                let (a, b) = make(len, &mut random);
                // Identical contents are not estimated.
                if a != b {
                    let (found, exact) = estimated(&a, &b);
                    halves[seed as usize % 2].add(&found, &exact);
                }
            }
        }
        for (half, errors) in halves.iter().enumerate() {
            println!(
                "{kind}\t{half}\theld {:.3} of {}, width {:.3}, bias {:+.3}, mean error {:.3}",
                errors.held(),
                errors.intervals,
                errors.width / errors.intervals,
                errors.bias(),
                errors.mean(),
            );
            assert!(errors.held() >= 0.93, "{kind}: {}", errors.held());
            assert!(errors.mean() <= most, "{kind}: {}", errors.mean());
        }
    }
}

/// A text has one paragraph ten times. The paragraph is an eleventh of the distinct shingles and
/// half of the text. The samples alone would give a wrong estimate with a narrow interval.
#[test]
fn a_text_that_repeats_itself() {
    let mut random = Random::new(7);
    let mut errors = Errors::default();
    for has_it in [true, false] {
        for _ in 0..40 {
            let paragraph = text(&mut random, 600);
            let own: Vec<Vec<u8>> = (0..10).map(|_| text(&mut random, 600)).collect();
            let a: Vec<u8> = own
                .iter()
                .flat_map(|own| [&own[..], &paragraph].concat())
                .collect();
            let first = own[..6].concat();
            let b = if has_it {
                [&first[..], &paragraph].concat()
            } else {
                first
            };
            let (found, exact) = estimated(&a, &b);
            errors.add(&found, &exact);
        }
    }
    // If the repetitions of a text were not known, only 70 % of the intervals would contain the
    // truth.
    assert!(errors.held() >= 0.93, "{}", errors.held());
}

/// Two texts share one paragraph of ten. Each repeats other paragraphs, which are not shared.
#[test]
fn what_strangers_say_again_is_not_shared() {
    let mut random = Random::new(11);
    let mut errors = Errors::default();
    for _ in 0..60 {
        let common = text(&mut random, 900);
        let mut make = || {
            let own: Vec<Vec<u8>> = (0..9).map(|_| text(&mut random, 900)).collect();
            [&own.concat()[..], &common, &own[..4].concat()].concat()
        };
        let [a, b] = [make(), make()];
        let (found, exact) = estimated(&a, &b);
        errors.add(&found, &exact);
    }
    // On average the estimate is 0.06 too high. With a rule that counts two fifths of all
    // repetitions as shared, the error would be 0.10.
    let (bias, mean) = (errors.bias(), errors.mean());
    assert!(bias <= 0.07 && mean <= 0.08, "{bias} {mean}");
}

/// One word is inserted into a long text. Most pairs then share all samples, but the resemblance is
/// not 1.
#[test]
fn where_all_samples_are_shared_all_may_be() {
    let mut random = Random::new(3);
    let mut errors = Errors::default();
    for _ in 0..40 {
        let a = text(&mut random, 12_000);
        let at = random.below(a.len());
        let b = [&a[..at], b" another ", &a[at..]].concat();
        let (found, exact) = estimated(&a, &b);
        errors.add(&found, &exact);
    }
    assert!(errors.held() >= 0.93, "{}", errors.held());
}

/// A drawing, and a text of prose with a part of the drawing in it. The drawing and the text have
/// no comparable samples, so only common chunks are evidence.
#[test]
fn a_drawing_and_a_text_that_holds_it() {
    let mut random = Random::new(5);
    let mut errors = Errors::default();
    for round in 0..40 {
        let a = drawing(&mut random, 12_000);
        let part = &a[..a.len() * (2 + round % 3) / 4];
        let b = [&text(&mut random, 9000)[..], part, &text(&mut random, 9000)].concat();
        let kinds = [&a[..], &b].map(|bytes| kept(bytes).kind);
        assert_eq!(kinds, [ContentKind::Data, ContentKind::Text]);
        let (found, exact) = estimated(&a, &b);
        errors.add(&found, &exact);
    }
    assert!(errors.intervals >= 90.0);
    assert!(errors.held() >= 0.93, "{}", errors.held());
}
