//! Estimates how many contents have a sample, by the levels of their signatures.
//!
//! The level of a signature grows with the size of its content, so only small contents keep samples
//! of a low level. Suppose that 1,800 files have one header, and half of them are small. Some
//! samples of the header are in 1,800 signatures. Other samples have a low level: all files contain
//! them, but only 900 signatures do. By these counts they would not be boilerplate, and would
//! nominate all pairs of small files.
//!
//! So a sample is counted among the contents that would have kept it. It is assumed to be equally
//! common among the other contents. `MOST` bounds the factor by which this increases a count.

use resemble_core::Fingerprint;

use crate::nominate::families::Families;

/// The maximum factor by which a count is multiplied. If few contents are small, their samples say
/// little about the others.
const MOST: u64 = 16;

/// The number of levels. Every level is less than this number.
const LEVELS: usize = 64;

/// Numbers of contents with signatures of each level: of texts, sampled by shingles, and of others.
#[derive(Clone, Debug)]
pub struct SignatureLevels([[u32; LEVELS]; 2]);

impl Default for SignatureLevels {
    fn default() -> Self {
        Self([[0; LEVELS]; 2])
    }
}

impl SignatureLevels {
    /// Counts contents, which are given by place, kind (true for texts) and level. A family counts
    /// once.
    pub fn of(families: &Families, contents: impl IntoIterator<Item = (u32, (bool, u8))>) -> Self {
        let mut levels = Self::default();
        let contents = contents.into_iter();
        contents
            .filter(|&(place, _)| families.leader(place) == place)
            .for_each(|(_, (is_text, level))| levels.note(is_text, level));
        levels
    }

    /// Counts one more content with a signature of this level.
    pub fn note(&mut self, is_text: bool, level: u8) {
        self.0[usize::from(is_text)][usize::from(level).min(LEVELS - 1)] += 1;
    }

    /// Adds the counts of other contents.
    pub fn join(&mut self, other: &Self) {
        let ours = self.0.iter_mut().flatten();
        ours.zip(other.0.iter().flatten())
            .for_each(|(ours, theirs)| *ours += theirs);
    }

    /// Returns the number of contents that a sample counts for, if `kept` signatures have it. The
    /// result exceeds `limit` if it would do so with all signatures dense enough to keep the
    /// sample.
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

/// For each level, the number of samples with at least that level.
#[derive(Clone, Copy, Debug)]
pub struct SamplesFrom([u32; LEVELS]);

impl SamplesFrom {
    /// Counts these samples.
    pub fn of(samples: impl IntoIterator<Item = Fingerprint>) -> Self {
        let mut from = [0; LEVELS];
        for sample in samples {
            for count in &mut from[..=usize::from(sample.level()).min(LEVELS - 1)] {
                *count += 1;
            }
        }
        Self(from)
    }

    /// Returns the number of samples with at least this level.
    pub fn level(&self, level: u8) -> f64 {
        f64::from(self.0[usize::from(level).min(LEVELS - 1)])
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
        // All signatures are dense enough to keep this sample.
        assert_eq!(contents(6, 900), 900);
        assert_eq!(contents(6, 1400), 1400);
        let mut few = SignatureLevels::default();
        (0..60).for_each(|_| few.note(true, 3));
        (0..9000).for_each(|_| few.note(true, 6));
        assert_eq!(few.contents(of_level(3), true, 60, 1000), 60);
    }
}
