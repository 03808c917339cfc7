//! Words in runs of five, from the share of shingles alone: in closed form, where an estimate of
//! each pair ([`super::gaps`]) would cost more than the question.
//!
//! Let every word stay with chance q, apart from the others. A shingle is shared if its five words
//! stay, so p = q⁵ of them are. A run of shared shingles ends after each with chance 1 - q, and one
//! of n shingles covers n + 4 words. So the share of the words that lie in runs of five is
//!
//! ```text
//! p + 4·p·(1 - q) = 5·p - 4·p^(6/5)
//! ```
//!
//! Larger edits leave fewer words covered for the same p. Only pieces in another order leave more:
//! all of them.

/// The share of a text's words in runs of at least five that another text has, if single words were
/// edited at random and this share of its shingles is left.
pub fn words_in_runs(shingles: f64) -> f64 {
    let shingles = shingles.clamp(0.0, 1.0);
    (5.0 * shingles - 4.0 * shingles.powf(1.2)).clamp(0.0, 1.0)
}

/// The most that is estimated of two texts that share this part of one's samples and no chunk.
///
/// Below one half an estimate takes nothing for pieces in another order; and its edits are of whole
/// words with a density that is nearly, not wholly, the one of the module's text.
pub fn most_words_in_runs(shingles: f64) -> f64 {
    if shingles > 0.5 {
        1.0
    } else {
        (MODEL * words_in_runs(shingles)).min(1.0)
    }
}

/// The estimate's edits of one word cover so many times as much as those here, at most.
const MODEL: f64 = 1.05;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::similarity::chunks::Layout;
    use crate::similarity::gaps::Evidence;
    use crate::similarity::pattern::Pattern;

    /// A small generator: which words stay.
    fn random(state: &mut u64) -> f64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 11) as f64 / (1u64 << 53) as f64
    }

    #[test]
    fn edits_of_words_cover_as_much_as_is_said() {
        let mut state = 7;
        for stay in [0.5, 0.8, 0.95] {
            let words: Vec<bool> = (0..200_000).map(|_| random(&mut state) < stay).collect();
            let shared: Vec<bool> = words.windows(5).map(|of| of.iter().all(|&w| w)).collect();
            let covered = (0..words.len()).filter(|&at| {
                let last = at.min(shared.len() - 1);
                shared[at.saturating_sub(4)..=last].iter().any(|&s| s)
            });
            let covered = covered.count() as f64 / words.len() as f64;
            let part = shared.iter().filter(|&&s| s).count() as f64 / shared.len() as f64;
            let said = words_in_runs(part);
            assert!(
                (said - covered).abs() < 0.01,
                "{stay}: {said} for {covered}"
            );
        }
        assert_eq!((words_in_runs(0.0), words_in_runs(1.0)), (0.0, 1.0));
    }

    /// What is dropped by the closed form would be dropped by its estimate.
    #[test]
    fn no_estimate_comes_to_more() {
        let (mut state, mut least) = (1, f64::INFINITY);
        let chunks = Layout::default();
        for round in 0..4_000 {
            let total = 2 + round % 95;
            let share = random(&mut state);
            let run = 1.0 + 6.0 * random(&mut state);
            let mut is_shared = random(&mut state) < share;
            let pattern = (0..total).map(|_| {
                if random(&mut state) < 1.0 / run {
                    is_shared = random(&mut state) < share;
                }
                (1, is_shared)
            });
            let samples = Pattern::of(pattern);
            let spacing = 2f64.powi(3 + round % 5);
            let windows = spacing * f64::from(total);
            let evidence = Evidence {
                samples: &samples,
                chunks: &chunks,
                spacing,
                windows,
                free: 4.0,
                unit: 6.0,
                small: 1.0,
                is_text: true,
            };
            let fit = evidence.fit();
            let covered = 1.0 - fit.missing + 4.0 * fit.gaps;
            let part = samples.shared as f64 / samples.total as f64;
            let most = most_words_in_runs(part);
            // Half a sample is what is expected beforehand.
            let room = 1.0 / f64::from(total);
            least = f64::min(least, most + room - covered);
            assert!(covered <= most + room, "{samples:?}: {covered} of {most}");
        }
        assert!(least < 0.1, "the bound is far off: {least}");
    }
}
