//! Checks whether two texts share more than text that many contents have.

use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::frame::Frame;
use resemble_core::similarity::{Boilerplate, Unit};
use resemble_core::{ContentKind, Fingerprint, Measures, Relation, Score};
use resemble_proto::message::{PairFigures, SoftError};
use resemble_relate::AskError;
use resemble_relate::judge::listing::is_listed;
use resemble_relate::nominate::evidence::Counts;
use resemble_relate::prove::exact::Proven;

use super::PartnerQuestion;
use super::ready::Ready;
use crate::compare::common::CommonKeys;
use crate::compare::framed::SideFrames;

const TEXT: ContentKind = ContentKind::Text;

/// The minimum share that two partners have in common, if common text counts for less. It is lower
/// than the share of a relation, because a quotation from a text with a hundred versions is common
/// for the quoting file only.
const LEAST_RARE: f64 = Relation::PARTLY / 2.0;

const fn all_or_nothing(is_common: bool) -> f64 {
    if is_common { 1.0 } else { 0.0 }
}

impl PartnerQuestion<'_> {
    /// Returns whether two texts would still be partners without their boilerplate. Only texts that
    /// are mostly boilerplate are checked. Such texts may have been nominated by a chunk of the
    /// boilerplate, or by a sample at its edge.
    pub(super) fn has_own(
        &self,
        (a, b): (&Ready, &Ready),
        found: &Proven,
        common: &CommonKeys,
        errors: &mut Vec<SoftError>,
    ) -> bool {
        if !(self.may_lack_own(found) && a.is_header() && b.is_header()) {
            return true;
        }
        let lost = |sample| all_or_nothing(Boilerplate::fingerprint(common, sample));
        let [of_a, of_b] = self.have_own((a, b), found, (&lost, Relation::PARTLY), errors);
        of_a != Some(false) && of_b != Some(false)
    }

    /// Returns whether at least one of two texts would still be a partner without the frame that
    /// both have.
    pub(super) fn has_unframed(
        &self,
        (a, b): (&Ready, &Ready),
        found: &Proven,
        (common, frames): (&CommonKeys, &SideFrames<'_>),
        errors: &mut Vec<SoftError>,
    ) -> Result<bool, AskError> {
        if !self.may_lack_own(found) || found.relation == Some(Relation::SameText) {
            return Ok(true);
        }
        let frame = frames.of_both(&a.kept, &b.kept)?;
        match frame.rarity(&a.kept.signature, &b.kept.signature) {
            None => return Ok(true),
            // All common samples are in the frame. In a form, words of the frame and other words
            // alternate, so the words nearest to the samples would say little.
            Some(framed) if framed.weight <= 0.0 => return Ok(false),
            Some(_) => {}
        }
        let is_common = |sample| frame.has(sample) || Boilerplate::fingerprint(common, sample);
        let lost = |sample| all_or_nothing(is_common(sample));
        let own = self.have_own((a, b), found, (&lost, Relation::PARTLY), errors);
        Ok(own != [Some(false); 2])
    }

    /// Returns whether two texts share more than common text, which counts less the more contents
    /// have it. If the samples show too little, the words nearest to the common samples decide.
    pub(super) fn has_rare(
        &self,
        (a, b): (&Ready, &Ready),
        found: &Proven,
        counts: &Counts,
        errors: &mut Vec<SoftError>,
    ) -> bool {
        let are_texts = found.unit == Unit::Words && found.relation != Some(Relation::SameText);
        if !are_texts || !self.may_lack_own(found) {
            return true;
        }
        let Some(rarity) = counts.rarity_of_all(&a.kept.sketch(), &b.kept.sketch()) else {
            return true;
        };
        let Measures { a_in_b, b_in_a, .. } = found.measures;
        let most = a_in_b.max(b_in_a).map(|share| rarity.discounted(share));
        if most >= Some(Score::new(LEAST_RARE)) {
            return true;
        }
        let signatures = (&a.kept.signature, &b.kept.signature);
        let (losses, left) = counts.losses(signatures, &Frame::default());
        let lost = |sample| losses.get(&sample).copied().unwrap_or(0.0);
        left >= 1.0 && self.have_own((a, b), found, (&lost, LEAST_RARE), errors) != [Some(false); 2]
    }

    /// Returns the rarity of what two contents share, by which `find` lists the second one for the
    /// first one. Returns `None` if nothing that they share is common.
    pub(in crate::compare) fn rarity(
        &self,
        (a, b): (u32, u32),
        (told, measures): (&PairFigures, &Measures),
        counts: &Counts,
    ) -> Result<Option<Rarity>, AskError> {
        let (of_a, of_b) = (self.load(a)?, self.load(b)?);
        let rarity = counts.rarity_of_all(&of_a.sketch(), &of_b.sketch());
        let is_listed = |rarity| is_listed(told.relation, measures, rarity);
        let in_words = !told.estimate && (of_a.kind, of_b.kind) == (TEXT, TEXT);
        if !in_words || is_listed(rarity) || !is_listed(None) {
            return Ok(rarity);
        }
        let signatures = (&of_a.signature, &of_b.signature);
        let level = signatures.0.level.max(signatures.1.level);
        let (losses, left) = counts.losses(signatures, &Frame::default());
        if left < 1.0 {
            return Ok(rarity);
        }
        let lost = |sample| losses.get(&sample).copied().unwrap_or(0.0);
        let a = Ready::of(of_a, &CommonKeys::default());
        let content = self.content_of(&a, &mut Vec::new());
        let by_words = content.zip(rarity).and_then(|(content, rarity)| {
            let lost = content.words()?.share_nearest(level, lost);
            rarity.of_words(lost, measures.a_in_b?, content.size())
        });
        Ok(by_words.or(rarity))
    }

    /// Returns whether it is possible that a measured pair shares only text that many contents
    /// have. Pairs that are not partners are not checked, because the check reads contents.
    fn may_lack_own(&self, found: &Proven) -> bool {
        let is_partner = found.measures.containment() >= Some(Score::new(self.least()));
        is_partner && !self.options.exact
    }

    /// Returns for each of two texts whether at least `least` of it is in the other text, without
    /// common text. `lost` returns which share, 0..=1, of the words nearest to a sample is common
    /// text. A result is `None` if its content cannot be read, or is no text.
    fn have_own(
        &self,
        (a, b): (&Ready, &Ready),
        found: &Proven,
        (lost, least): (&dyn Fn(Fingerprint) -> f64, f64),
        errors: &mut Vec<SoftError>,
    ) -> [Option<bool>; 2] {
        let level = a.kept.signature.level.max(b.kept.signature.level);
        let mut has_own = |side: &Ready, share: Option<Score>| {
            let content = self.content_of(side, errors)?;
            let (words, share) = (content.words()?, share?);
            let of_header = Rarity {
                weight: 0.0,
                contents: 0,
            };
            let lost = words.share_nearest(level, lost);
            let own = of_header.of_words(lost, share, content.size());
            Some(own.is_some_and(|own| own.discounted(share).get() >= least))
        };
        let Measures { a_in_b, b_in_a, .. } = found.measures;
        [has_own(a, a_in_b), has_own(b, b_in_a)]
    }
}
