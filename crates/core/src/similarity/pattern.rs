//! The order of shared and missing pieces in a file.

/// What the sequence of a file's pieces (samples or chunks) looks like when each is either shared
/// with the other file or missing there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pattern {
    /// All pieces.
    pub(super) total: u64,
    /// The shared ones.
    pub(super) shared: u64,
    /// The lengths of the runs of missing pieces between two shared ones.
    pub(super) breaks: Vec<u64>,
    /// Missing pieces before the first shared one; all of them if none is shared.
    pub(super) before: u64,
    /// Missing pieces after the last shared one.
    pub(super) after: u64,
}

impl Pattern {
    /// Reads the pieces in order: (how many times in a row, shared or not).
    pub(super) fn of(pieces: impl IntoIterator<Item = (u64, bool)>) -> Self {
        let mut pattern = Self::default();
        for (count, shared) in pieces {
            pattern.total += count;
            if !shared {
                pattern.after += count;
                continue;
            }
            if pattern.shared == 0 {
                pattern.before = pattern.after;
            } else if pattern.after > 0 {
                pattern.breaks.push(pattern.after);
            }
            pattern.shared += count;
            pattern.after = 0;
        }
        if pattern.shared == 0 {
            (pattern.before, pattern.after) = (pattern.after, 0);
        }
        pattern
    }

    /// Pairs of successive shared pieces: how often a break could have been seen.
    pub(super) const fn steps(&self) -> u64 {
        self.shared.saturating_sub(1)
    }

    /// All missing pieces.
    pub(super) const fn missing(&self) -> u64 {
        self.total - self.shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Pattern {
        Pattern::of(text.chars().map(|c| (1, c == '1')))
    }

    #[test]
    fn counts_runs_between_shared_pieces_only() {
        let p = of("001101000100");
        assert_eq!((p.total, p.shared, p.missing(), p.steps()), (12, 4, 8, 3));
        assert_eq!(p.breaks, [1, 3]);
        assert_eq!((p.before, p.after), (2, 2));
    }

    #[test]
    fn nothing_shared_is_all_before() {
        let p = of("000");
        assert_eq!((p.before, p.after, p.breaks.len()), (3, 0, 0));
        assert_eq!(of(""), Pattern::default());
    }

    #[test]
    fn counts_weigh_pieces() {
        let p = Pattern::of([(5, true), (7, false), (1, true)]);
        assert_eq!((p.total, p.shared), (13, 6));
        assert_eq!(p.breaks, [7]);
    }
}
