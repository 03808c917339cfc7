//! Checks whether two texts share more than text that many contents have.

use resemble_core::similarity::Boilerplate;
use resemble_core::similarity::discount::Rarity;
use resemble_core::{Fingerprint, Measures, Relation, Score};
use resemble_proto::message::SoftError;
use resemble_relate::AskError;
use resemble_relate::prove::exact::Proven;

use super::PartnerQuestion;
use super::ready::Ready;
use crate::compare::common::CommonKeys;
use crate::compare::framed::SideFrames;

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
        let is_common = |sample| Boilerplate::fingerprint(common, sample);
        let [of_a, of_b] = self.have_own((a, b), found, &is_common, errors);
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
        let own = self.have_own((a, b), found, &is_common, errors);
        Ok(own != [Some(false); 2])
    }

    /// Returns whether it is possible that a measured pair shares only text that many contents
    /// have. Pairs that are not partners are not checked, because the check reads contents.
    fn may_lack_own(&self, found: &Proven) -> bool {
        let is_partner = found.measures.containment() >= Some(Score::new(self.least()));
        is_partner && !self.options.exact
    }

    /// Returns for each of two texts whether enough of it is in the other text. The words nearest
    /// to the samples for which `is_common` is true are left out. A result is `None` if its content
    /// cannot be read, or is no text.
    fn have_own(
        &self,
        (a, b): (&Ready, &Ready),
        found: &Proven,
        is_common: &dyn Fn(Fingerprint) -> bool,
        errors: &mut Vec<SoftError>,
    ) -> [Option<bool>; 2] {
        let level = a.kept.signature.level.max(b.kept.signature.level);
        let worth = |sample| f64::from(u8::from(is_common(sample)));
        let mut has_own = |side: &Ready, share: Option<Score>| {
            let content = self.content_of(side, errors)?;
            let (words, share) = (content.words()?, share?);
            let of_header = Rarity {
                weight: 0.0,
                contents: 0,
            };
            let lost = words.share_nearest(level, worth);
            let own = of_header.of_words(lost, share, content.size());
            Some(own.is_some_and(|own| own.discounted(share).get() >= Relation::PARTLY))
        };
        let Measures { a_in_b, b_in_a, .. } = found.measures;
        [has_own(a, a_in_b), has_own(b, b_in_a)]
    }
}
