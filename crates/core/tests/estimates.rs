//! Estimates against exact answers on edited contents: how often the intervals hold the truth, and
//! the mean absolute error, by kind of edit.
//!
//! The bound of the mean absolute error is twice what was measured when it was set.

#![allow(clippy::print_stdout)]

mod kinds;

use kinds::{KINDS, drawing, text};
use resemble_core::similarity::proof::Provable;
use resemble_core::similarity::{
    Compared, Estimated, Measures, NoBoilerplate, Prepared, Unit, estimate_shown,
};
use resemble_core::{ContentKind, Digest, Params};
use resemble_testutil::random::Random;

/// Sums of errors, and how many intervals held the truth.
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
    /// Adds the containments; of these and of the resemblance the intervals.
    fn add(&mut self, found: &Estimated, exact: &Measures) {
        let Estimated { measures, interval } = found;
        for (estimated, truth) in [
            (measures.a_in_b, exact.a_in_b),
            (measures.b_in_a, exact.b_in_a),
        ] {
            // Without a common chunk nothing is said of a text and data.
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

/// The kept digest of some bytes.
fn kept(bytes: &[u8]) -> Digest {
    let params = Params::default();
    let digest = Digest::of(bytes, &params);
    let signature = digest.kept(&params);
    Digest {
        signature,
        ..digest
    }
}

/// The estimate of a pair by what is kept of it, and its measures.
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

/// Pairs that no constant was chosen by: those of the odd seeds.
const HELD_OUT: u64 = 1_000_000;

/// Every interval holds the truth in 19 cases of 20, or more: of no kind in fewer than 18.6, and
/// where the edits of a kind are not the worst for it, in nearly all.
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
                // What is equal is known to be.
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

/// A paragraph that a text has ten times is one tenth of its distinct shingles and half of it: of
/// another text that has it, or has it not, the samples alone say too little, and too surely.
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
    // It is .7 if nothing is known of what a text says again.
    assert!(errors.held() >= 0.93, "{}", errors.held());
}

/// Texts that have a paragraph of ten in common and say some others again: what they say again is
/// no more shared than the rest.
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
    // The bias is .06; it would be .10 if two fifths of what is said again counted as shared.
    let (bias, mean) = (errors.bias(), errors.mean());
    assert!(bias <= 0.07 && mean <= 0.08, "{bias} {mean}");
}

/// One word in a text of pages: most pairs share all their samples, and the resemblance is not 1.
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

/// A drawing and a copy with prose around it, which is a text: they have no kind of sample in
/// common, and the estimate knows that it does not know.
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
