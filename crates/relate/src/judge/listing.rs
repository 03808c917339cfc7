//! Decides which files are listed as similar to a file.

use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::{LEAST_JUDGED, Unit};
use resemble_core::{ByteLen, Measures, Relation, Score};

use crate::judge::matched::{CommonPart, Match};

/// The maximum number of entries in the `.similar` of one file.
pub const LISTED: usize = 100;

/// Returns whether a file is listed as similar to the subject (a). An identical file, or one with
/// the same text, is listed. Any other file is listed if it contains a quarter of the subject, or
/// if the subject contains most of the file. Common text is not counted.
pub fn is_listed(relation: Option<Relation>, measures: &Measures, rarity: Option<Rarity>) -> bool {
    let share = |score: Option<Score>| score.map_or(0.0, Score::get);
    let rare = |score: Score| rarity.map_or(score, |rarity| rarity.discounted(score));
    relation.is_some_and(|relation| {
        matches!(relation, Relation::Identical | Relation::SameText)
            || share(measures.a_in_b.map(rare)) >= Relation::PARTLY
            || share(measures.b_in_a.map(rare)) >= Relation::MOSTLY
    })
}

/// A file that is too small to judge counts as a quotation if at least this share of it, and this
/// number of bytes, are in the other file.
const QUOTED_OF_SMALL: (f64, ByteLen) = (Relation::MOSTLY, ByteLen(64));

/// Returns whether two files without a relation share a rare passage, so that one file quotes the
/// other. A question shows such a pair. The overlay does not show it, because entries of the
/// overlay show shares, and the shares of a quotation are almost zero. `least` is the requested
/// minimum of shared bytes.
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
