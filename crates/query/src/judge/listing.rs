//! What the overlay lists of a file.

use resemble_core::similarity::discount::Rarity;
use resemble_core::{Measures, Relation, Score};

/// The most entries of one `.similar` listing.
pub const LISTED: usize = 100;

/// Whether a similar file is listed: it is identical or of the same text, or a quarter of the
/// subject (a) lies in it without common text, or most of it lies in the subject.
pub(crate) fn is_listed(
    relation: Option<Relation>,
    measures: &Measures,
    rarity: Option<Rarity>,
) -> bool {
    let share = |score: Option<Score>| score.map_or(0.0, Score::get);
    let rare = |score: Score| rarity.map_or(score, |rarity| rarity.discounted(score));
    relation.is_some_and(|relation| {
        matches!(relation, Relation::Identical | Relation::SameText)
            || share(measures.a_in_b.map(rare)) >= Relation::PARTLY
            || share(measures.b_in_a) >= Relation::MOSTLY
    })
}
