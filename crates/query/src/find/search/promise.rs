//! Rejects, by samples alone, texts that cannot be in the listing of a subject.
//!
//! On average, nine of ten texts that share samples with a subject have no entry in its listing.
//! The index stores few samples of a large text. They cannot show whether the text has a twentieth
//! or a quarter of the subject. The posting lists can show it: they have one shingle in eight. They
//! give the number of these shingles that each nominee has in common with the subject. A text is
//! read only if these samples allow at least one of two cases:
//!
//! * A quarter of the subject, without its boilerplate, lies in the text.
//! * Most of the text lies in the subject.
//!
//! # From shingles to words
//!
//! Suppose that words are edited at random and a part q of them stays. Then a part p = q⁵ of the
//! shingles stays. The words in runs of five or more are 5q⁵ - 4q⁶ = 5p - 4p^(6/5) of all words.
//! Any other distribution of edits leaves more shingles for the same number of words. The samples
//! count repeated text only once, because their shingles are distinct. But all of the repeated text
//! may lie in the other text.
//!
//! The true share of common samples may exceed the observed one by as much as in an
//! [estimate](similarity::interval).

use resemble_core::sample::SamplesFrom;
use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::{self, Boilerplate, too_small};
use resemble_core::{ByteLen, ContentKind, Digest, Relation, Repeats, Score, Signature};
use resemble_index::ContentRow;
use resemble_relate::nominate::block::Common;
use resemble_relate::nominate::evidence::{Counts, LOOKED_UP};

/// The samples of a subject, which is a text.
pub(super) struct ListingPromise<'a> {
    counts: &'a Counts,
    size: ByteLen,
    repeats: Option<Repeats>,
    /// The level of the subject's samples that have posting lists.
    level: u8,
    /// The subject's samples that are not boilerplate.
    rare: SamplesFrom,
    has_boilerplate: bool,
}

impl<'a> ListingPromise<'a> {
    /// Returns the samples of a subject. Returns `None` if not all of them were looked up, or if
    /// the subject has many near-copies, which are counted in another way.
    pub(super) fn of(digest: &Digest, posted: &Signature, counts: &'a Counts) -> Option<Self> {
        if posted.fingerprints.len() > LOOKED_UP.cap as usize || counts.have_copies() {
            return None;
        }
        let samples = posted.fingerprints.iter().copied();
        let rare = samples.filter(|&sample| !Boilerplate::fingerprint(counts, sample));
        let rare = SamplesFrom::of(rare);
        Some(Self {
            counts,
            size: digest.size,
            repeats: digest.signature.repeats,
            level: posted.level,
            rare,
            has_boilerplate: rare.level(0) < posted.fingerprints.len() as f64,
        })
    }

    /// Returns whether a content with these common samples may be in the listing. `own` and `other`
    /// are the stored samples of the subject and of the content.
    pub(super) fn could_be_listed(
        &self,
        own: &Signature,
        common: Common,
        row: &ContentRow,
        other: &Signature,
    ) -> bool {
        // Chunks may prove common bytes that the few samples do not show.
        if row.kind != ContentKind::Text || common.chunks > 0 {
            return true;
        }
        // A content that is too small to judge has no shares, so the pair is not listed.
        if too_small(self.size) || too_small(row.size) {
            return false;
        }
        let weights = self.counts.weights(own, other);
        let kept = weights.len() as f64;
        let rare: f64 = weights.iter().map(|&(_, weight)| weight).sum();
        let level = own.level.max(other.level);
        let among = |signature: &Signature| signature.at_level(level).count() as f64;
        let posted_level = self.level.max(row.level);
        let posted = f64::from(common.fingerprints);

        let of_rare = self.rare.level(posted_level);
        if most_words(posted, of_rare, self.repeats) >= Relation::PARTLY {
            let most = most_words(kept, among(own), self.repeats);
            let rarity = Rarity {
                weight: if kept > 0.0 { rare / kept } else { 1.0 },
                contents: 0,
            };
            if rare >= 1.0 || rarity.discounted(Score::new(most)).get() >= Relation::PARTLY {
                return true;
            }
        }
        let of_other = among(other);
        if most_words(kept, of_other, other.repeats) < Relation::MOSTLY {
            return false;
        }
        // `row.fingerprints` also counts samples that are not stored with the content.
        let all = f64::from(row.fingerprints) / 2f64.powi(i32::from(posted_level - row.level));
        let of_kept = other.fingerprints.len() as f64;
        let sparser = i32::from(posted_level) - i32::from(other.level);
        let all = all.min(of_kept / 2f64.powi(sparser));
        let mut most = most_share(posted, all);
        if self.has_boilerplate {
            let is_common = |sample| Boilerplate::fingerprint(self.counts, sample);
            let common = other.at_level(level).filter(|&sample| is_common(sample));
            most += most_share(common.count() as f64, of_other);
        }
        covered_words(most, other.repeats) >= Relation::MOSTLY
    }
}

/// Returns the largest plausible share, if `part` of `of` samples are common. It is the upper end
/// of the interval.
fn most_share(part: f64, of: f64) -> f64 {
    if of < 1.0 {
        return 1.0;
    }
    similarity::interval(Score::new(part / of), of as u64)
        .1
        .get()
}

/// Returns the largest share of a text's words that may be in common runs of five. `shingles` is
/// the share of its shingles that are common. Samples do not show which shingles are repeated, so
/// all repeated text counts as common.
fn covered_words(shingles: f64, repeats: Option<Repeats>) -> f64 {
    let words = similarity::words_in_runs(shingles);
    words + repeats.map_or(0.0, Repeats::share) * (1.0 - words)
}

/// Returns the largest plausible share of a text's words in common runs, if `part` of `of` samples
/// are common.
fn most_words(part: f64, of: f64, repeats: Option<Repeats>) -> f64 {
    covered_words(most_share(part, of), repeats)
}

#[cfg(test)]
mod tests {
    use resemble_core::{ContentId, Params, words as sampled};
    use resemble_index::{Look, PostingKind};
    use resemble_testutil::prose::words;

    use super::*;

    /// Returns all samples of a text that have posting lists.
    fn posted(text: &str) -> Signature {
        let (signature, _) = sampled::sample(text.as_bytes(), &Params::default().posted);
        signature.expect("a text")
    }

    /// Returns whether `other` may be in the listing of `subject`, if the samples of `boilerplate`
    /// count as boilerplate.
    fn promises(subject: &str, other: &str, boilerplate: &str) -> bool {
        let params = Params::default();
        let mut counts = Counts::new(1000);
        for sample in posted(boilerplate).fingerprints {
            counts.note(PostingKind::Fingerprint, sample.0, usize::MAX);
        }
        let digest = Digest::of(subject.as_bytes(), &params);
        let (ours, theirs) = (posted(subject), posted(other));
        let is_rare = |sample| !Boilerplate::fingerprint(&counts, sample);
        let met = ours
            .fingerprints
            .iter()
            .filter(|&&sample| theirs.fingerprints.contains(&sample) && is_rare(sample));
        let common = Common {
            fingerprints: met.count() as u32,
            ..Common::NONE
        };
        let row = ContentRow {
            id: ContentId(1),
            digest: digest.content,
            size: ByteLen(other.len() as u64),
            kind: ContentKind::Text,
            level: theirs.level,
            fingerprints: theirs.fingerprints.len() as u32,
            chunk_runs: 1,
            files: 1,
            uses: 0,
            look: Look::default(),
            parts: 0,
            skipped: false,
            words: None,
            date: None,
        };
        let promise = ListingPromise::of(&digest, &ours, &counts).expect("a text with samples");
        let kept = |all: &Signature| all.thinned(&params.shingles);
        promise.could_be_listed(&kept(&ours), common, &row, &kept(&theirs))
    }

    #[test]
    fn a_quarter_of_the_subject_and_most_of_the_other_are_enough() {
        let text = words(0, 6000);
        let with =
            |shared: usize, all: usize| words(0, shared) + " " + &words(20_000, all - shared);
        assert!(promises(&text, &with(1500, 6000), ""));
        assert!(promises(&text, &with(1500, 40_000), ""));
        assert!(!promises(&text, &with(150, 6000), ""));
        // The other text lies in the subject, and is a small part of it.
        assert!(promises(&text, &with(300, 350), ""));
        assert!(!promises(&text, &with(60, 1500), ""));
    }

    #[test]
    fn what_a_text_says_again_may_all_be_shared() {
        let line = words(0, 40) + "\n";
        let repeated = line.repeat(100) + &words(1000, 2000);
        let one = line + &words(30_000, 2000);
        assert!(promises(&repeated, &one, ""));
    }

    #[test]
    fn boilerplate_promises_nothing_but_that_most_of_the_other_is_in_the_subject() {
        let licence = words(50_000, 500);
        let subject = words(0, 3000) + " " + &licence;
        let other = words(9000, 3000) + " " + &licence;
        assert!(!promises(&subject, &other, &licence));
        assert!(promises(&subject, &other, ""));
        assert!(promises(
            &subject,
            &(words(9000, 80) + " " + &licence),
            &licence
        ));
    }

    #[test]
    fn what_is_too_small_has_no_shares() {
        assert!(!promises(&words(0, 30), &words(0, 300), ""));
        assert!(promises(&words(0, 100), &words(0, 300), ""));
    }
}
