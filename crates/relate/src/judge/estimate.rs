//! Estimates the measures of a pair from the stored sketches of both contents.

use resemble_core::similarity::proof::unit_of;
use resemble_core::similarity::{
    self, Boilerplate, Compared, Estimated, Interval, NoBoilerplate, Prepared, Sketch, Unit,
};
use resemble_core::{ByteLen, ContentKind, Measures, Relation, Score, WordsDigest};
use resemble_proto::message::Layer;
use resemble_proto::number::Fraction;

use crate::judge::matched::{Match, all_words};
use crate::renditions::same_words;

/// Estimates the measures of two contents. Two texts are compared by shingles of words, and other
/// contents by windows.
pub fn estimate(
    a: (&Sketch<'_>, ContentKind),
    b: (&Sketch<'_>, ContentKind),
    boilerplate: &dyn Boilerplate,
) -> Measures {
    estimate_in(Unit::Words, a, b, boilerplate)
}

/// Does the same as [`estimate`], but measures two texts in `unit`.
pub fn estimate_in(
    unit: Unit,
    (a, a_kind): (&Sketch<'_>, ContentKind),
    (b, b_kind): (&Sketch<'_>, ContentKind),
    boilerplate: &dyn Boilerplate,
) -> Measures {
    let (a, b) = (Prepared::of(a, boilerplate), Prepared::of(b, boilerplate));
    prepared_in(unit, (&a, a_kind), (&b, b_kind), boilerplate)
}

/// Does the same as [`estimate_in`], for contents that were prepared with the same boilerplate.
pub fn prepared_in(
    unit: Unit,
    (a, a_kind): (&Prepared, ContentKind),
    (b, b_kind): (&Prepared, ContentKind),
    boilerplate: &dyn Boilerplate,
) -> Measures {
    similarity::estimate_prepared(a, b, Compared::of(a_kind, b_kind, unit), boilerplate)
}

/// Estimates the measures that a row shows for two contents that are not identical. These measures
/// include boilerplate, as do those of contents that are read.
pub fn shown_in(
    unit: Unit,
    (a, a_kind): (&Sketch<'_>, ContentKind),
    (b, b_kind): (&Sketch<'_>, ContentKind),
) -> Estimated {
    let (a, b) = (
        Prepared::of(a, &NoBoilerplate),
        Prepared::of(b, &NoBoilerplate),
    );
    shown_prepared(unit, (&a, a_kind), (&b, b_kind))
}

/// Does the same as [`shown_in`], for contents that were prepared without boilerplate.
pub fn shown_prepared(
    unit: Unit,
    (a, a_kind): (&Prepared, ContentKind),
    (b, b_kind): (&Prepared, ContentKind),
) -> Estimated {
    let compared = Compared::of(a_kind, b_kind, unit);
    let found = similarity::estimate_shown(a, b, compared, &NoBoilerplate);
    Estimated {
        measures: found.measures.below_identical(),
        interval: found.interval.below_identical(),
    }
}

/// A content that is estimated: its sketch, its kind, and the digest of its words.
pub type Estimable<'a> = (&'a Sketch<'a>, ContentKind, Option<WordsDigest>);

/// Returns the match of two contents that are not identical and that were not read. If both have
/// the same words, the shares are certain.
pub fn estimated(
    unit: Unit,
    (a, b): (Estimable<'_>, Estimable<'_>),
    layer: Layer,
    min_shared: ByteLen,
) -> Match {
    let sizes = (a.0.size, b.0.size);
    let Estimated { measures, interval } = shown_in(unit, (a.0, a.1), (b.0, b.1));
    let unit = unit_of(a.1, b.1, unit);
    if same_words(a.2, b.2) {
        let same = Some(Relation::SameText);
        let same = Match::new(same, Layer::Text, all_words(&measures), sizes);
        return Match { unit, ..same };
    }
    let relation = similarity::relation(false, sizes.0, sizes.1, &measures, min_shared);
    Match {
        unit,
        interval: Some(Box::new(interval)),
        ..Match::new(relation, layer, measures, sizes)
    }
}

/// Does the same as [`shown_in`], for wholes of two archives. A whole is all texts of an archive
/// joined, or all its other contents joined. If the wholes are equal, the measures are exact.
pub fn shown_whole(
    unit: Unit,
    a: (&Sketch<'_>, ContentKind),
    b: (&Sketch<'_>, ContentKind),
    are_equal: bool,
) -> Estimated {
    if !are_equal {
        return shown_in(unit, a, b);
    }
    let measures = Measures::identical(a.0.size);
    Estimated {
        measures,
        interval: Interval::of(&measures),
    }
}

/// Returns the interval of an estimated share of a content. Its width depends on the number of
/// samples that the content has at this level.
pub fn interval_at(share: Option<Score>, of: &Sketch<'_>, level: u8) -> Option<(Score, Score)> {
    let samples = of.signature.at_level(level).count() as u64;
    share.map(|share| similarity::interval(share, samples))
}

/// Returns the minimum share for a pair to be read: the pair's estimate must be able to reach it.
/// If `min` is above [`Relation::PARTLY`], the share is [`Relation::PARTLY`]. It is not higher,
/// because an estimate by few samples may be far too low.
pub fn least_to_read(min: Fraction) -> f64 {
    let least = min.score().map_or(Relation::PARTLY, Score::get);
    least.min(Relation::PARTLY)
}

/// Returns whether a pair shares at least `min_shared` bytes. An estimate is judged by its shares,
/// because its chunks prove only a part of the shared bytes. A measured pair is judged by its
/// shared bytes, because a share may count words.
pub fn enough_shared(
    (a, b): (ByteLen, ByteLen),
    (measures, is_estimate): (&Measures, bool),
    min_shared: ByteLen,
) -> bool {
    let bytes = |score: Option<Score>, size: ByteLen| score.map_or(0.0, Score::get) * size.0 as f64;
    let estimated = || bytes(measures.a_in_b, a).max(bytes(measures.b_in_a, b));
    measures.shared_bytes >= min_shared || is_estimate && estimated() >= min_shared.0 as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_count_only_in_estimates() {
        let measures = Measures {
            shared_bytes: ByteLen(400),
            ..Measures::identical(ByteLen(1000))
        };
        let sizes = (ByteLen(1000), ByteLen(1000));
        let enough =
            |is_estimate, least| enough_shared(sizes, (&measures, is_estimate), ByteLen(least));
        assert!(enough(false, 400) && !enough(false, 401));
        assert!(enough(true, 1000) && !enough(true, 1001));
    }
}
