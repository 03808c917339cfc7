//! Estimates how many contents have a sample. Signatures of a higher level lack samples of a lower
//! level.
//!
//! The level of a signature grows with the size of its content, so only small contents keep samples
//! of a low level. Suppose that 1,800 files have the same header, and half of the files are small.
//! Samples of the header with a high level are in 1,800 signatures. Samples with a low level are in
//! only 900 signatures, although all files contain them. So these samples would not count as
//! boilerplate, and would nominate all pairs of small files.
//!
//! So the share of contents with a sample is computed only among the contents that keep samples of
//! its level. The other contents are assumed to have the same share. `MOST` limits the factor by
//! which this increases a count.

use resemble_core::Fingerprint;
use resemble_core::sample::LEVELS;

use crate::nominate::families::Families;

/// The maximum factor by which a count is multiplied. If only few contents keep a sample, they show
/// little about the others.
const MOST: u64 = 16;

/// For each level, the number of contents whose signatures have it. The first list is for contents
/// that are not texts (sampled by windows), and the second for texts (sampled by shingles).
#[derive(Clone, Debug)]
pub struct SignatureLevels([[u32; LEVELS]; 2]);

impl Default for SignatureLevels {
    fn default() -> Self {
        Self([[0; LEVELS]; 2])
    }
}

impl SignatureLevels {
    /// Counts contents. Each is given by its place, a flag that is true for a text, and its level.
    /// A family counts once.
    pub fn of(families: &Families, contents: impl IntoIterator<Item = (u32, (bool, u8))>) -> Self {
        let mut levels = Self::default();
        let contents = contents.into_iter();
        contents
            .filter(|&(place, _)| families.leader(place) == place)
            .for_each(|(_, (is_text, level))| levels.note(is_text, level));
        levels
    }

    /// Counts one more content whose signature has this level.
    pub fn note(&mut self, is_text: bool, level: u8) {
        self.0[usize::from(is_text)][usize::from(level).min(LEVELS - 1)] += 1;
    }

    /// Adds the counts of other contents.
    pub fn join(&mut self, other: &Self) {
        let ours = self.0.iter_mut().flatten();
        ours.zip(other.0.iter().flatten())
            .for_each(|(ours, theirs)| *ours += theirs);
    }

    /// Returns the estimated number of contents that have a sample, if `kept` signatures have it.
    /// If this number would exceed `limit` when all signatures kept samples of this level, returns
    /// more than `limit`.
    pub fn contents(&self, sample: Fingerprint, is_text: bool, kept: usize, limit: u32) -> usize {
        let (limit, count) = (u64::from(limit), kept as u64);
        if count > limit || count * MOST <= limit {
            return kept;
        }
        let of_kind = &self.0[usize::from(is_text)];
        let sum = |counts: &[u32]| counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        let could = sum(&of_kind[..=usize::from(sample.level()).min(LEVELS - 1)]);
        if count * sum(of_kind) > limit * could.max(1) {
            limit as usize + 1
        } else {
            kept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_small_contents_keep_is_as_common_as_what_all_keep() {
        let mut levels = SignatureLevels::default();
        (0..900).for_each(|_| levels.note(true, 3));
        (0..900).for_each(|_| levels.note(true, 6));
        (0..5000).for_each(|_| levels.note(false, 9));
        let of_level = |level: u8| {
            let fingerprint = (0..64).map(|bit| Fingerprint(1 << bit));
            let mut of_level = fingerprint.filter(|sample| sample.level() == level);
            of_level.next().expect("a sample of each level")
        };
        let contents = |level, kept| levels.contents(of_level(level), true, kept, 1000);
        assert_eq!(contents(3, 900), 1001);
        assert_eq!(contents(3, 501), 1001);
        assert_eq!(contents(3, 500), 500);
        // All signatures keep samples of this level, so the count does not change.
        assert_eq!(contents(6, 900), 900);
        assert_eq!(contents(6, 1400), 1400);
        let mut few = SignatureLevels::default();
        (0..60).for_each(|_| few.note(true, 3));
        (0..9000).for_each(|_| few.note(true, 6));
        assert_eq!(few.contents(of_level(3), true, 60, 1000), 60);
    }
}
