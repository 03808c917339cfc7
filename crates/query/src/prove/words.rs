//! What two texts share as words, where that is more than the bytes say.
//!
//! A run of 64 bytes ends at every changed capital, tag and line end, so of two copies of a text in
//! two layouts the bytes may have nothing in common. Their words have: these are compared as
//! canonical texts ([`resemble_core::words::canonical`]), by the same definitions, and what comes
//! of it is said instead of what the bytes say if it is another thing to say: a stronger relation.
//! A little more of the same is not.

use resemble_core::similarity::{self, Unit, runs};
use resemble_core::words::canonical;
use resemble_core::{ByteLen, ContentKind, Measures, Relation};

/// Two texts, compared as words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AsWords {
    pub(crate) relation: Relation,
    pub(crate) measures: Measures,
    /// The sizes of the canonical texts.
    pub(crate) sizes: (ByteLen, ByteLen),
}

/// What two texts are as words, if that is more than the relation of their bytes.
pub(crate) fn as_words(
    a: &[u8],
    b: &[u8],
    unit: Unit,
    bytes: Option<Relation>,
    min_shared: ByteLen,
) -> Option<AsWords> {
    let is_text = |bytes| ContentKind::of(bytes) == ContentKind::Text;
    if strength(bytes) >= strength(Some(Relation::SameText)) || !is_text(a) || !is_text(b) {
        return None;
    }
    let (a, b) = (canonical(a), canonical(b));
    if a != b && strength(bytes) >= strength(Some(Relation::Near)) {
        return None;
    }
    let (relation, measures, sizes) = of_canonical(&a, &b, unit, min_shared);
    let relation = relation.filter(|_| strength(relation) > strength(bytes))?;
    Some(AsWords {
        relation,
        measures,
        sizes,
    })
}

/// What two texts are as words, and what they share; the sizes are those of the canonical texts.
pub(crate) fn measure_words(
    a: &[u8],
    b: &[u8],
    unit: Unit,
    min_shared: ByteLen,
) -> (Option<Relation>, Measures, (ByteLen, ByteLen)) {
    of_canonical(&canonical(a), &canonical(b), unit, min_shared)
}

fn of_canonical(
    a: &[u8],
    b: &[u8],
    unit: Unit,
    min_shared: ByteLen,
) -> (Option<Relation>, Measures, (ByteLen, ByteLen)) {
    let sizes = (ByteLen(a.len() as u64), ByteLen(b.len() as u64));
    let measures = match unit {
        Unit::Bytes => runs::exact(a, b, (ContentKind::Text, ContentKind::Text)),
        Unit::Words => runs::exact_words(a, b),
    };
    let small = similarity::too_small(sizes.0) || similarity::too_small(sizes.1);
    let relation = if a == b && !small {
        Some(Relation::SameText)
    } else {
        similarity::relation(false, sizes.0, sizes.1, &measures, min_shared)
    };
    (relation, measures, sizes)
}

/// How much a relation says.
const fn strength(relation: Option<Relation>) -> u8 {
    match relation {
        None => 0,
        Some(Relation::Shares) => 1,
        Some(Relation::Contains | Relation::Contained) => 2,
        Some(Relation::Near) => 3,
        Some(Relation::SameText) => 4,
        Some(Relation::Identical) => 5,
    }
}

#[cfg(test)]
mod tests {
    use resemble_testutil::prose::words;

    use super::*;

    fn of(a: &str, b: &str, bytes: Option<Relation>) -> Option<Relation> {
        let (a, b) = (a.as_bytes(), b.as_bytes());
        let found = as_words(a, b, Unit::Bytes, bytes, Relation::MIN_SHARED);
        found.map(|found| found.relation)
    }

    #[test]
    fn layout_is_no_difference() {
        let text = words(0, 200);
        let wrapped = text.to_uppercase().replace(' ', "\n");
        assert_eq!(of(&text, &wrapped, None), Some(Relation::SameText));
        let near = Some(Relation::Near);
        assert_eq!(of(&text, &wrapped, near), Some(Relation::SameText));
        let half = format!("{}{}", wrapped, words(9000, 200));
        assert_eq!(of(&text, &half, None), Some(Relation::Contained));
    }

    #[test]
    fn more_of_the_same_is_not_said() {
        let (text, other) = (words(0, 200), words(3, 200));
        assert_eq!(of(&text, &other, Some(Relation::Near)), None);
        assert_eq!(of(&text, &other, None), Some(Relation::Near));
        assert_eq!(of(&text, &words(900, 200), None), None);
    }

    #[test]
    fn few_words_and_no_texts_say_nothing() {
        let few = words(0, 10);
        assert_eq!(of(&few, &few.to_uppercase(), None), None);
        let nul = format!("{}\0", words(0, 200));
        assert_eq!(of(&nul, &nul, None), None);
    }
}
