//! Discounts text that both files of a row share with many other files.

use std::collections::HashMap;

use resemble_core::{Measures, Score};
use resemble_proto::message::{CompareClass, Discount};
use resemble_proto::number::Fraction;
use resemble_relate::AskError;
use resemble_relate::nominate::evidence::Counts;
use resemble_relate::parallel::ordered;

use super::classes::ClassRow;
use super::files::FilesMeet;
use super::partners::PartnerQuestion;
use super::sides::Sides;

/// The discounted score of each pair of contents, and the number of contents that have the common
/// text. `None` if nothing is discounted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Discounts(pub(super) HashMap<(u32, u32), Option<(Fraction, u32)>>);

/// Returns the two contents of a row and the measures of the row, if the contents are unequal and
/// share something.
fn pair_of(sides: &Sides, row: &ClassRow) -> Option<((u32, u32), Measures)> {
    if matches!(row.class, CompareClass::Same | CompareClass::Moved) {
        return None;
    }
    let a = sides.a.entries[row.a? as usize].what.content()?;
    let b = sides.b.entries[row.b? as usize].what.content()?;
    let measures = row.measures?;
    (measures.containment()? > Score::ZERO).then_some(((a, b), measures))
}

impl Discounts {
    pub(super) fn of(
        question: &PartnerQuestion<'_>,
        counts: &Counts,
        rows: &[ClassRow],
    ) -> Result<Self, AskError> {
        let pair = |row: &ClassRow| Some((pair_of(question.sides, row)?, row.told));
        let mut pairs: Vec<_> = rows.iter().filter_map(pair).collect();
        pairs.sort_unstable_by_key(|&((pair, _), _)| pair);
        pairs.dedup_by_key(|&mut ((pair, _), _)| pair);
        let discount = |at: usize, (): &mut ()| {
            let (((a, b), measures), told) = pairs[at];
            // A pair has no discount if it is compared by members, or if its two renditions are
            // equal.
            let (x, y) = match question.files.meeting(a, b) {
                FilesMeet::Contents(x, y) if x != y => (x, y),
                _ => return Ok(((a, b), None)),
            };
            let rarity = question.rarity((x, y), (&told, &measures), counts)?;
            let left = rarity
                .zip(measures.containment())
                .map(|(rarity, score)| (Fraction::from(rarity.discounted(score)), rarity.contents));
            Ok::<_, AskError>(((a, b), left))
        };
        let found = ordered(pairs.len(), || (), discount)?;
        Ok(Self(found.into_iter().collect()))
    }

    /// Returns whether the discounts of all these rows are known.
    pub(super) fn has_all(&self, sides: &Sides, rows: &[ClassRow]) -> bool {
        let mut pairs = rows.iter().filter_map(|row| pair_of(sides, row));
        pairs.all(|(pair, _)| self.0.contains_key(&pair))
    }

    /// Returns the discount of a row.
    pub(super) fn of_row(&self, sides: &Sides, row: &ClassRow) -> Discount {
        let discount = pair_of(sides, row).and_then(|(pair, measures)| {
            let (left, contents) = (*self.0.get(&pair)?)?;
            Some(Counts::in_words(
                Fraction::from(measures.containment()),
                left,
                contents,
            ))
        });
        discount.unwrap_or_default()
    }
}
