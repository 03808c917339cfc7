//! Selects the rows of a file that the overlay and questions list.

use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::{LEAST_JUDGED, Unit};
use resemble_core::{ByteLen, Measures, Relation, Score};

use crate::judge::matched::{CommonPart, Match};

/// The maximum number of entries of one `.similar` listing.
pub const LISTED: usize = 100;

/// Returns whether a similar file is listed. Identical files and files of the same text are. Any
/// other file is listed if it has a quarter of the subject (a), or if the subject has most of it.
/// Common text does not count.
pub fn is_listed(relation: Option<Relation>, measures: &Measures, rarity: Option<Rarity>) -> bool {
    let share = |score: Option<Score>| score.map_or(0.0, Score::get);
    let rare = |score: Score| rarity.map_or(score, |rarity| rarity.discounted(score));
    relation.is_some_and(|relation| {
        matches!(relation, Relation::Identical | Relation::SameText)
            || share(measures.a_in_b.map(rare)) >= Relation::PARTLY
            || share(measures.b_in_a.map(rare)) >= Relation::MOSTLY
    })
}

/// The common share and bytes from which on a file that is too small to judge counts as a
/// quotation.
const QUOTED_OF_SMALL: (f64, ByteLen) = (Relation::MOSTLY, ByteLen(64));

/// Returns whether a pair without a relation is a text and its quotation: they share a rare
/// passage. A question shows such a pair. The overlay does not, because its entries show shares,
/// which are almost nothing here. `least` is the requested minimum of shared bytes.
pub fn is_quotation(found: &Match, least: Option<ByteLen>) -> bool {
    let smaller = found.sizes.0.min(found.sizes.1);
    let shared = found.measures.shared_bytes;
    let (most, bytes) = QUOTED_OF_SMALL;
    let is_small_part = found.unit == Unit::Words
        && smaller < LEAST_JUDGED
        && shared >= bytes
        && shared.0 as f64 >= most * smaller.0 as f64;
    found.has_rare_text
        && !found.is_estimate
        && (found.common == CommonPart::Passage || is_small_part)
        && least.is_none_or(|least| shared >= least)
}
