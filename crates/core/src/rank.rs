//! The order of answers.
//!
//! Lists have the same order on every machine, whatever order the index returned. Rows are sorted
//! by score, by the share of the queried file, and by resemblance, all descending. Rows that are
//! equal in all three are sorted by the caller's own key. This key ends with the raw bytes of the
//! path, which do not depend on the locale. So rows of different paths never tie.

use std::cmp::Ordering;

use crate::ids::Score;
use crate::similarity::Measures;

/// Compares two rows (score, measures, the caller's own key). The result is `Less` if row a is
/// listed before row b.
///
/// Among equal scores, rows without a containment sort last; their files are too small to judge.
pub fn compare<K: Ord + Copy>(a: (Score, &Measures, K), b: (Score, &Measures, K)) -> Ordering {
    b.0.cmp(&a.0)
        .then_with(|| b.1.a_in_b.cmp(&a.1.a_in_b))
        .then_with(|| b.1.resemblance.cmp(&a.1.resemblance))
        .then_with(|| a.2.cmp(&b.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ByteLen;

    fn measures(a_in_b: Option<f64>, resemblance: f64) -> Measures {
        Measures {
            a_in_b: a_in_b.map(Score::new),
            b_in_a: Some(Score::ONE),
            resemblance: Some(Score::new(resemblance)),
            shared_bytes: ByteLen(1000),
        }
    }

    #[test]
    fn score_then_containment_then_resemblance_then_path() {
        let rows = [
            (Score::new(0.9), measures(Some(0.1), 0.1), "z"),
            (Score::new(0.8), measures(Some(0.8), 0.1), "y"),
            (Score::new(0.8), measures(Some(0.7), 0.6), "x"),
            (Score::new(0.8), measures(Some(0.7), 0.5), "B"),
            (Score::new(0.8), measures(Some(0.7), 0.5), "a"),
            (Score::new(0.8), measures(None, 0.5), "A"),
        ];
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate() {
                let order = compare((a.0, &a.1, a.2.as_bytes()), (b.0, &b.1, b.2.as_bytes()));
                assert_eq!(order, i.cmp(&j), "{a:?} {b:?}");
            }
        }
    }
}
