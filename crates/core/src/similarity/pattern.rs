//! The order of shared and missing samples in a file.

/// The sequence of a file's samples, each either shared with the other file or missing in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The number of samples.
    pub(super) total: u64,
    /// The number of shared samples.
    pub(super) shared: u64,
    /// The number of runs of missing samples between two shared ones.
    pub(super) breaks: u64,
    /// The number of all runs of missing samples, including those before the first and after the
    /// last shared sample. It is 0 if no sample is shared.
    pub(super) runs: u64,
}

impl Pattern {
    /// Counts a sequence of samples; `true` is a shared one.
    pub(super) fn of(samples: impl IntoIterator<Item = bool>) -> Self {
        let mut pattern = Self::default();
        let mut is_missing = false;
        for is_shared in samples {
            pattern.total += 1;
            if is_shared && is_missing {
                pattern.runs += 1;
                pattern.breaks += u64::from(pattern.shared > 0);
            }
            pattern.shared += u64::from(is_shared);
            is_missing = !is_shared;
        }
        pattern.runs += u64::from(is_missing && pattern.shared > 0);
        pattern
    }

    /// Counts the missing samples.
    pub(super) const fn missing(&self) -> u64 {
        self.total - self.shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Pattern {
        Pattern::of(text.chars().map(|c| c == '1'))
    }

    #[test]
    fn runs_are_counted_between_shared_samples_and_at_the_ends() {
        let p = of("001101000100");
        assert_eq!((p.total, p.shared, p.missing()), (12, 4, 8));
        assert_eq!((p.breaks, p.runs), (2, 4));
        let p = of("1101");
        assert_eq!((p.breaks, p.runs), (1, 1));
    }

    #[test]
    fn nothing_shared_has_no_runs() {
        let p = of("000");
        assert_eq!((p.total, p.breaks, p.runs), (3, 0, 0));
        assert_eq!(of(""), Pattern::default());
    }
}
