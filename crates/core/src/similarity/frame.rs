//! Frames: text that a dozen otherwise different contents share in one piece.
//!
//! Thirty invoices share a letterhead, and thirty mails share a disclaimer. The number of contents
//! that have a piece does not distinguish a frame from a text of thirty versions. Two properties
//! distinguish them. First, a content has all of a frame or nothing of it. Second, no other content
//! shares what the content has outside of the frame. But each version of a text has a different
//! part of the text, and near-copies have no other text.
//!
//! So each sample of a content is judged by the contents that have this sample. A sample is
//! *common* if at least a dozen contents have it. A content is a *neighbour* if it has at least an
//! eighth of the common samples, and at least two of them.
//!
//! 1. The common samples that nine of ten neighbours have are a frame. But for every five such
//!    samples, at most one other common sample may be in half to nine tenths of the neighbours.
//! 2. The frame is removed, and the other common samples are judged again: the letterhead of a
//!    department is in fewer contents than the letterhead of its company.
//! 3. At the end, for every five samples of the frame, at most one sample outside of the frame may
//!    be in many contents.
//! 4. At least a quarter of all samples, and at least six samples, must be in few contents.
//!    Otherwise the rest is too small for a judgement, and the content has no frame.
//!
//! A signature has only the samples at or above its level. So a sample is judged only by the
//! neighbours whose levels are not above its own. The other neighbours lack the sample, whether or
//! not they have its text.
//!
//! For a pair, only text that is in the frames of both contents is discounted. A form and a
//! filled-in copy of it stay related, because the form has no other text.

use crate::ids::{ContentId, Fingerprint};
use crate::sample::{LEVELS, SamplesFrom, Signature};
use crate::similarity::discount::Rarity;

/// The minimum number of contents that must have a sample for it to be common.
pub const LEAST: usize = 12;

/// A neighbour has at least this share of the common samples.
const NEIGHBOURLY: f64 = 0.125;

/// At least this share of the neighbours have each sample of a frame.
const NEARLY_ALL: f64 = 0.9;

/// A sample in more than this share of the neighbours and less than [`NEARLY_ALL`] counts against
/// the frame.
const HALF: f64 = 0.5;

/// If more than this share of the first round's neighbours have a sample outside of the frame, the
/// sample counts against the frame.
const MANY: f64 = 0.35;

/// The maximum number of samples that count against the frame, for each sample in the frame.
const NEITHER: f64 = 0.2;

/// The minimum share, and the minimum number, of samples that fewer than [`LEAST`] contents have.
const REST: (f64, usize) = (0.25, 6);

/// A sample, and the contents that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSample {
    /// The sample.
    pub sample: Fingerprint,
    /// All contents that have the sample, among the contents that are compared.
    pub holders: Vec<ContentId>,
}

/// The frame of a content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The samples in the frame, ascending. Next to each sample is the number of contents that have
    /// the sample.
    parts: Vec<(Fingerprint, u32)>,
    /// The lowest level at which a dozen neighbours have samples. Samples below this level are not
    /// judged.
    level: u8,
}

impl Frame {
    /// Returns whether a content can have a frame: enough of its samples must be in few contents.
    /// `common` of `all` samples are in [`LEAST`] contents or more.
    pub fn is_possible(common: usize, all: usize) -> bool {
        let rest = all.saturating_sub(common);
        common > 1 && rest >= REST.1 && rest as f64 >= REST.0 * all as f64
    }

    /// Finds the frame of a content from all its samples. `level` returns the lowest level at which
    /// all samples of a content are known.
    pub fn of(samples: &[HeldSample], level: &dyn Fn(ContentId) -> u8) -> Self {
        let is_common = |held: &&HeldSample| held.holders.len() >= LEAST;
        let mut left: Vec<&HeldSample> = samples.iter().filter(is_common).collect();
        if !Self::is_possible(left.len(), samples.len()) {
            return Self::default();
        }
        let (mut frame, mut first) = (Vec::new(), None);
        while left.len() > 1 {
            let neighbours = Neighbours::of(&left, level);
            if neighbours.contents.len() < LEAST {
                break;
            }
            let shares: Vec<f64> = left.iter().map(|held| neighbours.share(held)).collect();
            let is_frame = |share: f64| share >= NEARLY_ALL;
            let found = shares.iter().filter(|&&share| is_frame(share)).count();
            let between = shares.iter().filter(|&&share| share > HALF).count() - found;
            if found < 2 || between as f64 > NEITHER * found as f64 {
                break;
            }
            first.get_or_insert(neighbours);
            let mut shares = shares.into_iter();
            left.retain(|held| {
                let is_frame = shares.next().is_some_and(is_frame);
                if is_frame {
                    frame.push((held.sample, held.holders.len() as u32));
                }
                !is_frame
            });
        }
        let able = |held: &HeldSample| first.as_ref().map_or(0, |first| first.able(held.sample));
        let with_many = |held: &&&HeldSample| held.holders.len() as f64 > MANY * able(held) as f64;
        let neither = left.iter().filter(with_many).count();
        if neither as f64 > NEITHER * frame.len() as f64 {
            return Self::default();
        }
        frame.sort_unstable();
        Self {
            parts: frame,
            level: first.map_or(0, |first| first.level()),
        }
    }

    /// Returns whether there is no frame.
    pub const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns whether a sample is in the frame.
    pub fn has(&self, sample: Fingerprint) -> bool {
        self.contents(sample).is_some()
    }

    fn contents(&self, sample: Fingerprint) -> Option<u32> {
        let at = self.parts.binary_search_by_key(&sample, |part| part.0);
        at.ok().map(|at| self.parts[at].1)
    }

    /// Returns the samples in both frames.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let parts = self.parts.iter().filter(|part| other.has(part.0));
        Self {
            parts: parts.copied().collect(),
            level: self.level.max(other.level),
        }
    }

    /// Computes the rarity of what two contents share. Samples in the frame have weight 0. `None`
    /// if nothing shared is in the frame.
    pub fn rarity(&self, a: &Signature, b: &Signature) -> Option<Rarity> {
        let level = a.level.max(b.level).max(self.level);
        let mut of_b: Vec<Fingerprint> = b.at_level(level).collect();
        of_b.sort_unstable();
        let is_shared = |sample: &Fingerprint| of_b.binary_search(sample).is_ok();
        let shared: Vec<Fingerprint> = a.at_level(level).filter(is_shared).collect();
        let in_frame = shared.iter().filter_map(|&sample| self.contents(sample));
        let mut in_frame: Vec<u32> = in_frame.collect();
        in_frame.sort_unstable();
        let contents = *in_frame.get(in_frame.len().checked_sub(1)? / 2)?;
        Some(Rarity {
            weight: 1.0 - in_frame.len() as f64 / shared.len() as f64,
            contents,
        })
    }
}

/// The neighbours of a content: the contents that share some of its common samples.
struct Neighbours {
    /// The contents, in ascending order.
    contents: Vec<ContentId>,
    /// For each level, the number of neighbours that have this level or a lower one.
    at_most: [usize; LEVELS],
}

impl Neighbours {
    fn of(samples: &[&HeldSample], level: &dyn Fn(ContentId) -> u8) -> Self {
        let known = SamplesFrom::of(samples.iter().map(|held| held.sample));
        let holders = samples.iter().flat_map(|held| &held.holders);
        let mut holders: Vec<ContentId> = holders.copied().collect();
        holders.sort_unstable();
        let (mut contents, mut at_most) = (Vec::new(), [0usize; LEVELS]);
        // Most contents have only one of the samples. Their levels are not looked up.
        let of_several = holders.chunk_by(|a, b| a == b).filter(|had| had.len() > 1);
        for had in of_several {
            let level = level(had[0]);
            if had.len() as f64 >= NEIGHBOURLY * known.level(level) {
                contents.push(had[0]);
                at_most[index(level)..]
                    .iter_mut()
                    .for_each(|count| *count += 1);
            }
        }
        Self { contents, at_most }
    }

    /// Returns the number of neighbours whose levels let them have this sample.
    fn able(&self, sample: Fingerprint) -> usize {
        self.at_most[index(sample.level())]
    }

    /// Returns the lowest level at which [`LEAST`] neighbours have samples.
    fn level(&self) -> u8 {
        let upto = self.at_most.iter().take_while(|&&count| count < LEAST);
        upto.count() as u8
    }

    /// Returns the share of the neighbours that have a sample.
    fn share(&self, held: &HeldSample) -> f64 {
        let holders = held.holders.iter();
        let neighbours = holders
            .filter(|&holder| self.contents.binary_search(holder).is_ok())
            .count();
        neighbours as f64 / self.able(held.sample).max(1) as f64
    }
}

/// Returns the place of a level in a table of all levels.
fn index(level: u8) -> usize {
    usize::from(level).min(LEVELS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the frame of content 0 among 30 contents. There are 40 samples, and content 0 has
    /// all of them. Content `n` has sample `s` if `has(n, s)`.
    fn frame(has: impl Fn(u32, u64) -> bool) -> Frame {
        let held = |sample| HeldSample {
            sample: Fingerprint(sample),
            holders: (0..30)
                .filter(|&n| n == 0 || has(n, sample))
                .map(ContentId)
                .collect(),
        };
        let samples: Vec<HeldSample> = (0..40).map(held).collect();
        Frame::of(&samples, &|_| 0)
    }

    #[test]
    fn what_all_have_alike_is_a_frame_where_the_rest_is_with_few() {
        let of_thirty = frame(|_, sample| sample < 20);
        assert_eq!(of_thirty.parts.len(), 20);
        assert_eq!(of_thirty.contents(Fingerprint(7)), Some(30));
        // Thirteen contents are enough, and one of thirty may lack a part.
        assert_eq!(frame(|n, sample| n < 13 && sample < 20).parts.len(), 20);
        assert_eq!(
            frame(|n, sample| sample < 20 && (n != 5 || sample < 9))
                .parts
                .len(),
            20
        );
        // The second round adds the samples that only half of the contents have.
        assert_eq!(
            frame(|n, sample| sample < 12 || sample < 20 && n < 14)
                .parts
                .len(),
            20
        );
    }

    #[test]
    fn neither_near_copies_nor_versions_nor_few_have_a_frame() {
        assert!(frame(|_, sample| sample < 36).is_empty());
        assert!(frame(|n, sample| n < 11 && sample < 20).is_empty());
        // Each content has a different part of a text, about two thirds.
        let scattered = |n: u32, sample| (u64::from(n) * 7 + sample * 11) % 19 < 12;
        assert!(frame(|n, sample| sample < 28 && scattered(n, sample)).is_empty());
        // Each content starts one sample later than the content before it.
        assert!(frame(|n, sample| sample < 29 && sample >= u64::from(n)).is_empty());
    }
}
