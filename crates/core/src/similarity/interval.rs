//! How far an estimated share can be trusted.

use crate::ids::Score;

/// The interval of a share of `of` independent trials, `z` standard errors wide on either side
/// (Wilson 1927, "Probable inference, the law of succession, and statistical inference"): unlike
/// share ± z·error it is right near 0 and 1, where most shares are.
pub fn wilson(share: f64, of: f64, z: f64) -> (f64, f64) {
    if of <= 0.0 {
        return (0.0, 1.0);
    }
    let share = share.clamp(0.0, 1.0);
    let z2 = z * z;
    let middle = share + z2 / (2.0 * of);
    let half = z * (share * (1.0 - share) / of + z2 / (4.0 * of * of)).sqrt();
    let scale = 1.0 + z2 / of;
    (
        ((middle - half) / scale).clamp(0.0, share),
        ((middle + half) / scale).clamp(share, 1.0),
    )
}

/// The end of that interval on one side: `errors` below 0 for the lower one.
pub(super) fn bound(share: f64, of: f64, errors: f64) -> f64 {
    let e2 = errors * errors / of;
    let middle = share + 0.5 * e2;
    let half = errors / of.sqrt() * (share * (1.0 - share) + 0.25 * e2).sqrt();
    ((middle + half) / (1.0 + e2)).clamp(0.0, 1.0)
}

/// Outcomes by their weights: (weight, share).
#[derive(Clone, Debug, Default)]
pub(super) struct Outcomes(pub(super) Vec<(f64, f64)>);

impl Outcomes {
    /// Parts of equal weight, each by the share in its middle.
    const PARTS: usize = 40;

    /// Sorts them, and says which share has so much of the weight below it.
    fn at(&mut self) -> impl Fn(f64) -> f64 {
        self.0.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
        let all: f64 = self.0.iter().map(|&(weight, _)| weight).sum();
        let outcomes = &self.0;
        move |part| {
            let mut sum = 0.0;
            let found = outcomes.iter().find(|&&(weight, _)| {
                sum += weight;
                sum >= part * all
            });
            found.or(outcomes.last()).map_or(0.0, |&(_, share)| share)
        }
    }

    /// As few that say nearly the same.
    pub(super) fn thinned(mut self) -> Self {
        let at = self.at();
        let parts = (0..Self::PARTS).map(|part| (part as f64 + 0.5) / Self::PARTS as f64);
        Self(parts.map(|part| (1.0, at(part))).collect())
    }

    /// What 19 in 20 of them lie in.
    pub(super) fn interval(mut self) -> (Score, Score) {
        let at = self.at();
        (Score::new(at(0.025)), Score::new(at(0.975)))
    }
}

/// Samples that are worth one independent of the others: neighbours are edited and moved together.
///
/// Of 2,925 containments of 19 kinds of change the interval holds 91 % of the true values at 1,
/// 95.5 % at 2 and 97 % at 3; of resemblances of these, of 3,081 pairs of licences and of 1,800 of
/// edited pages 99 % and more at 2.
const TOGETHER: f64 = 2.0;

/// A quick interval for an estimate from so many samples of the file that it is a share of: whether
/// a pair may reach a threshold. What is shown has that of [`super::estimate_with_interval`].
pub fn interval(share: Score, samples: u64) -> (Score, Score) {
    let of = (samples as f64 / TOGETHER).max(1.0);
    let (low, high) = wilson(share.get(), of, 1.96);
    (Score::new(low), Score::new(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_samples_are_a_narrower_interval_around_the_share() {
        let width = |samples| {
            let (low, high) = interval(Score::new(0.4), samples);
            assert!(low.get() < 0.4 && 0.4 < high.get());
            high.get() - low.get()
        };
        assert!(width(2) > width(20) && width(20) > width(128));
        // The textbook's: 20 of 50 at 95 %.
        let (low, high) = wilson(0.4, 50.0, 1.96);
        assert!((low - 0.276).abs() < 0.001 && (high - 0.538).abs() < 0.001);
    }

    #[test]
    fn all_and_nothing_are_not_certain() {
        let (low, high) = interval(Score::ONE, 40);
        assert!(high == Score::ONE && low.get() > 0.7 && low.get() < 0.9);
        let (low, high) = interval(Score::ZERO, 40);
        assert!(low == Score::ZERO && high.get() > 0.1);
        assert_eq!(wilson(0.5, 0.0, 3.0), (0.0, 1.0));
    }
}
