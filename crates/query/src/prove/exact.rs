//! The measures of two contents by what is in them.
//!
//! They are a function of the two contents alone (and of what the user marked as template): the
//! same two have the same figures, unit and relation in every question.

use resemble_core::similarity::proof::{self, Provable};
use resemble_core::similarity::{self, Templates, Unit};
use resemble_core::{ByteLen, ContentKind, Measures, Relation};

/// What two contents that are not identical turned out to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Proven {
    pub(crate) relation: Option<Relation>,
    pub(crate) measures: Measures,
    /// What the measures are shares of.
    pub(crate) unit: Unit,
    /// The sizes of both without their templates.
    pub(crate) sizes: (ByteLen, ByteLen),
    /// They are two texts with a [`PASSAGE`](proof::PASSAGE) in common.
    pub(crate) has_passage: bool,
}

/// A content of this kind ready to be measured against others, without what is template.
pub(crate) fn provable(templates: &Templates, kind: ContentKind, bytes: Vec<u8>) -> Provable {
    Provable::new(kind, templates.into_payload(bytes))
}

/// Measures two contents that are not identical: in words if both are texts, unless bytes are asked
/// for.
pub(crate) fn prove(a: &Provable, b: &Provable, asked: Unit, min_shared: ByteLen) -> Proven {
    judged(a.measure(b, asked), (a.size(), b.size()), min_shared)
}

/// What these measures of contents of these sizes are.
pub(crate) fn judged(
    proven: proof::Proven,
    sizes: (ByteLen, ByteLen),
    min_shared: ByteLen,
) -> Proven {
    let proof::Proven {
        measures,
        unit,
        is_same_text,
        has_passage,
    } = proven;
    let relation = if is_same_text {
        Some(Relation::SameText)
    } else if measures.shared_bytes < min_shared {
        None
    } else {
        similarity::relation(false, sizes.0, sizes.1, &measures, min_shared)
    };
    Proven {
        relation,
        measures,
        unit,
        sizes,
        has_passage,
    }
}

/// [`prove`] of two contents that are compared with no other.
pub(crate) fn prove_once(
    templates: &Templates,
    (a, b): (Vec<u8>, Vec<u8>),
    asked: Unit,
    min_shared: ByteLen,
) -> Proven {
    // Of the whole: a payload may begin anywhere.
    let ready = |bytes: Vec<u8>| provable(templates, ContentKind::of_whole(&bytes), bytes);
    prove(&ready(a), &ready(b), asked, min_shared)
}

#[cfg(test)]
mod tests {
    use resemble_core::Score;
    use resemble_testutil::prose::words;

    use super::*;

    fn of(a: &str, b: &str) -> Proven {
        let files = (a.as_bytes().to_vec(), b.as_bytes().to_vec());
        prove_once(
            &Templates::default(),
            files,
            Unit::Words,
            Relation::MIN_SHARED,
        )
    }

    #[test]
    fn layout_is_no_difference() {
        let text = words(0, 200);
        let wrapped = text.to_uppercase().replace(' ', "\n");
        let found = of(&text, &wrapped);
        assert_eq!(
            (found.relation, found.unit),
            (Some(Relation::SameText), Unit::Words)
        );
        let half = format!("{}{}", wrapped, words(9000, 200));
        assert_eq!(of(&text, &half).relation, Some(Relation::Contained));
        assert_eq!(of(&half, &text).relation, Some(Relation::Contains));
    }

    #[test]
    fn few_words_and_strangers_have_no_relation() {
        let few = words(0, 10);
        assert_eq!(of(&few, &few.to_uppercase()).relation, None);
        assert_eq!(of(&words(0, 200), &words(900, 200)).relation, None);
    }

    /// What a small file has in common with a large one is judged by the small one's bytes: those
    /// of the large one may be the same line a hundred times.
    #[test]
    fn few_shared_bytes_make_no_relation() {
        let line = "one two three four five six seven eight. ";
        let small = format!("{line}{}", words(0, 40));
        let large = format!("{}{}", line.repeat(300), words(900, 3000));
        for found in [of(&small, &large), of(&large, &small)] {
            assert!(found.measures.containment() > Some(Score::new(Relation::PARTLY)));
            assert!(found.measures.shared_bytes < Relation::MIN_SHARED);
            assert_eq!(found.relation, None);
        }
    }

    #[test]
    fn what_is_no_text_is_measured_in_bytes() {
        let nul = format!("{}\0", words(0, 200));
        let found = of(&nul, &words(0, 200));
        assert_eq!(found.unit, Unit::Bytes);
        assert_eq!(found.relation, Some(Relation::Near));
    }
}
