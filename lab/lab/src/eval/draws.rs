//! The values of a figure under several seeds.

use std::fmt;
use std::fmt::Write as _;

use super::{Random, mean};

/// The values of one figure, one for each seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Draws(Vec<f64>);

impl Draws {
    pub(super) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(super) fn mean(&self) -> f64 {
        mean(&self.0)
    }

    /// The standard error of the mean.
    pub(super) fn standard_error(&self) -> f64 {
        let mean = self.mean();
        let squares = self
            .0
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>();
        let count = self.0.len() as f64;
        (squares / (count - 1.0).max(1.0) / count.max(1.0)).sqrt()
    }

    pub(super) fn least(&self) -> f64 {
        self.0.iter().copied().reduce(f64::min).unwrap_or(0.0)
    }

    pub(super) fn greatest(&self) -> f64 {
        self.0.iter().copied().reduce(f64::max).unwrap_or(0.0)
    }

    /// Counts the seeds for which the figure is above `value`.
    pub(super) fn above(&self, value: f64) -> usize {
        self.0.iter().filter(|&&one| one > value).count()
    }

    /// Counts the seeds for which the figure is below `value`.
    pub(super) fn below(&self, value: f64) -> usize {
        self.0.iter().filter(|&&one| one < value).count()
    }

    /// Returns the differences between this figure and another one, seed by seed.
    pub(super) fn minus(&self, other: &Self) -> Self {
        self.0.iter().zip(&other.0).map(|(a, b)| a - b).collect()
    }

    /// Formats the mean and the range in percent, with this number of decimals.
    pub(super) fn percents(&self, decimals: usize) -> String {
        self.scaled(100.0).rounded(decimals)
    }

    /// Formats the mean and the range, with this number of decimals.
    pub(super) fn rounded(&self, decimals: usize) -> String {
        let number = |value: f64| {
            let text = format!("{value:.decimals$}");
            match text.strip_prefix('-') {
                // A negative number that is rounded to zero loses its sign.
                Some(rest) if !rest.contains(|one| ('1'..='9').contains(&one)) => rest.to_owned(),
                _ => text,
            }
        };
        if self.0.is_empty() {
            return "none".to_owned();
        }
        let (mean, least, greatest) = (self.mean(), self.least(), self.greatest());
        if number(least) == number(greatest) {
            return number(mean);
        }
        format!(
            "{} ({} to {})",
            number(mean),
            number(least),
            number(greatest)
        )
    }

    fn scaled(&self, by: f64) -> Self {
        self.0.iter().map(|value| value * by).collect()
    }
}

impl FromIterator<f64> for Draws {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

/// Formats the mean and the range in percent, with one decimal.
impl fmt::Display for Draws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.percents(1))
    }
}

/// Compares two figures seed by seed. Returns a sentence with the mean difference. The sentence
/// also says for how many seeds the difference is positive, negative or zero. So the sentence shows
/// whether the sign depends on the seed.
pub(super) fn compared(a: (&str, &Draws), b: (&str, &Draws)) -> String {
    let difference = a.1.minus(b.1);
    let (more, less) = (difference.above(0.0), difference.below(0.0));
    let equal = difference.0.len() - more - less;
    let (upper, lower) = if difference.mean() < 0.0 {
        (b, a)
    } else {
        (a, b)
    };
    let (agree, against) = if difference.mean() < 0.0 {
        (less, more)
    } else {
        (more, less)
    };
    let mut text = format!(
        "{} above {} by {:.2} points on average, under {agree} of {} seeds",
        upper.0,
        lower.0,
        difference.mean().abs() * 100.0,
        difference.0.len()
    );
    if against > 0 {
        let _ = write!(text, " (below it under {against}: the sign turns)");
    }
    if equal > 0 {
        let _ = write!(text, " (equal under {equal})");
    }
    text
}

/// Replaces each byte value by another one, as the seed determines. Texts that are renamed with one
/// seed keep their common passages but get other fingerprints. So a method that samples by
/// fingerprints draws another sample. Seed 0 changes nothing.
pub(super) fn renamed(seed: u64, text: &[u8]) -> Vec<u8> {
    if seed == 0 {
        return text.to_vec();
    }
    let mut names: [u8; 256] = std::array::from_fn(|value| value as u8);
    let mut random = Random(seed);
    for at in (1..names.len()).rev() {
        names.swap(at, random.below(at + 1));
    }
    text.iter().map(|&byte| names[usize::from(byte)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(values: &[f64]) -> Draws {
        values.iter().copied().collect()
    }

    #[test]
    fn a_figure_has_its_range() {
        assert_eq!(draws(&[0.5, 0.25, 0.75]).to_string(), "50.0 (25.0 to 75.0)");
        assert_eq!(draws(&[0.5, 0.5]).to_string(), "50.0");
        assert_eq!(draws(&[-0.0001, 0.0]).percents(1), "0.0");
        assert_eq!(draws(&[3.0, 5.0]).rounded(0), "4 (3 to 5)");
        assert_eq!(draws(&[]).to_string(), "none");
        assert_eq!(format!("{:.1}", draws(&[]).mean()), "0.0");
        // The variance of these four values is 4/3.
        let spread = draws(&[1.0, 1.0, 3.0, 3.0]).standard_error();
        assert!((spread - (4.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_sign_that_turns_is_reported() {
        let (a, b) = (draws(&[0.5, 0.6, 0.7]), draws(&[0.4, 0.5, 0.8]));
        assert_eq!(
            compared(("A", &a), ("B", &b)),
            "A above B by 3.33 points on average, under 2 of 3 seeds (below it under 1: the sign \
             turns)"
        );
        assert_eq!(
            compared(("A", &draws(&[0.1])), ("B", &draws(&[0.2]))),
            "B above A by 10.00 points on average, under 1 of 1 seeds"
        );
        assert_eq!(
            compared(("A", &a), ("B", &a)),
            "A above B by 0.00 points on average, under 0 of 3 seeds (equal under 3)"
        );
    }

    #[test]
    fn renaming_keeps_what_is_common() {
        let all: Vec<u8> = (0..=255).collect();
        let other = renamed(7, &all);
        assert_ne!(other, all);
        let mut sorted = other.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, all);
        assert_eq!(renamed(0, b"abc"), b"abc");
        let text = renamed(7, b"abcabc");
        assert_eq!(text[..3], text[3..]);
    }
}
