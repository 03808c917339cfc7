//! Chooses the best of several pairs of renditions of two files.
//!
//! Two files can be compared by their bytes, by their texts, by their packed contents, or by
//! everything that they contain. A row shows the strongest match: equal bytes first, then equal
//! texts, then the larger share. If two matches have equal measures, the row shows the match of the
//! bytes.

use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::{self, Estimated, Interval, LEAST_JUDGED, Unit, too_small};
use resemble_core::{ByteLen, Measures, Relation, Score, rank};
use resemble_proto::message::{Discount, Layer};

use crate::renditions::{Named, Rendition, WholeDigest, layer, same_text};

/// The form of the part that two contents have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommonPart {
    /// Runs that are neither a passage nor mostly repeated.
    Runs,
    /// A passage, even if it is a small part of both contents.
    Passage,
    /// Mostly repetitions of a few runs, and no passage. No question lists a pair that has only
    /// this in common.
    Repetition,
}

/// The measures of two renditions, one of each file.
#[derive(Clone, Debug)]
pub struct Match {
    /// The relation of the two renditions, if they have one.
    pub relation: Option<Relation>,
    /// The layer of the renditions.
    pub layer: Layer,
    /// The unit of the shares.
    pub unit: Unit,
    /// True if the measures are estimates, and false if the contents were read.
    pub is_estimate: bool,
    /// The measures. The first file is a, and the second file is b.
    pub measures: Measures,
    /// The sizes of the two renditions in bytes.
    pub sizes: (ByteLen, ByteLen),
    /// The score after the discount for pieces that many files have.
    pub discount: Discount,
    /// True if both contents are texts, and every word of them was read. They may be too small to
    /// judge.
    pub are_read_texts: bool,
    /// The intervals of the measures, if the measures are estimates for two contents.
    pub interval: Option<Box<Interval>>,
    /// The count of numbers that differ, if the two texts differ in nothing else. Only an exact
    /// `find` determines it; otherwise it is `None`.
    pub numbers: Option<u64>,
    /// The larger of the discounted shares, if it was requested.
    pub rare: Option<Score>,
    /// The rarity of the shared pieces. It is `None` if none of these pieces is common text.
    pub rarity: Option<Rarity>,
    /// The form of the common part.
    pub common: CommonPart,
    /// True if the samples show that both contents have the same rare text.
    pub has_rare_text: bool,
}

impl Match {
    /// Creates a match whose measures are estimates in bytes.
    pub fn new(
        relation: Option<Relation>,
        layer: Layer,
        measures: Measures,
        sizes: (ByteLen, ByteLen),
    ) -> Self {
        Self {
            relation,
            layer,
            unit: Unit::Bytes,
            is_estimate: true,
            measures,
            sizes,
            discount: Discount::default(),
            are_read_texts: false,
            interval: None,
            numbers: None,
            rare: None,
            rarity: None,
            common: CommonPart::Runs,
            has_rare_text: false,
        }
    }

    /// Returns the same match with the two files swapped.
    #[must_use]
    pub fn swapped(self) -> Self {
        Self {
            relation: self.relation.map(Relation::swapped),
            measures: self.measures.swapped(),
            interval: self.interval.map(|interval| Box::new(interval.swapped())),
            sizes: (self.sizes.1, self.sizes.0),
            ..self
        }
    }

    /// Returns the lower ends of the intervals of the measures. Rows are ranked by these lower
    /// ends.
    pub fn least(&self) -> Measures {
        let Self {
            interval, measures, ..
        } = self;
        let interval = interval.as_deref();
        interval.map_or(*measures, |interval| interval.least(measures))
    }

    /// Returns the values by which two matches are compared. The better match has the greater
    /// values.
    fn rank(&self) -> (bool, bool, Score, &Measures, bool) {
        (
            self.relation == Some(Relation::Identical),
            self.relation == Some(Relation::SameText),
            self.measures.containment().unwrap_or(Score::ZERO),
            &self.measures,
            self.layer == Layer::Bytes,
        )
    }

    /// Returns whether this match is shown instead of `other`.
    pub fn is_better_than(&self, other: &Self) -> bool {
        let (a, b) = (self.rank(), other.rank());
        let order = (a.0, a.1).cmp(&(b.0, b.1));
        // Next, the measures are compared. If these are equal, the match of the bytes is better.
        let order = order.then_with(|| rank::compare((b.2, b.3, ()), (a.2, a.3, ())));
        let order = order.then_with(|| a.4.cmp(&b.4));
        // The sizes are compared last, so that the result does not depend on the order of the
        // matches.
        order.then_with(|| self.sizes.cmp(&other.sizes)).is_gt()
    }
}

/// Combines the matches of the wholes of two archives into one match. A whole is all texts of an
/// archive joined, or all its other contents joined. Shares are weighted by bytes.
///
/// If a whole is too small to judge, wholes of its kind do not count. If only one archive has a
/// whole of a kind, nothing of this whole is shared. Returns `None` if the wholes are equal and too
/// small to judge.
pub fn match_of_wholes(
    ours: [Option<WholeDigest>; 2],
    theirs: [Option<WholeDigest>; 2],
    measures: [Option<Measures>; 2],
    min_shared: ByteLen,
) -> Option<Match> {
    let found = |measures| Estimated {
        measures,
        interval: Interval::default(),
    };
    let found = measures.map(|measures| measures.map(found));
    shown_wholes(ours, theirs, found, min_shared)
}

/// Does the same as [`match_of_wholes`], for measures with intervals. The lower ends of both wholes
/// are added up, and so are the upper ends, as if both errors had the same sign.
pub fn shown_wholes(
    ours: [Option<WholeDigest>; 2],
    theirs: [Option<WholeDigest>; 2],
    found: [Option<Estimated>; 2],
    min_shared: ByteLen,
) -> Option<Match> {
    let digests = |sides: [Option<WholeDigest>; 2]| sides.map(|side| side.map(|side| side.digest));
    let size = |sides: [Option<WholeDigest>; 2]| sides.iter().flatten().map(|side| side.size).sum();
    let sizes: (ByteLen, ByteLen) = (size(ours), size(theirs));
    let unit = if ours[1].is_none() && theirs[1].is_none() {
        Unit::Words
    } else {
        Unit::Bytes
    };
    if digests(ours) == digests(theirs) {
        let measures = all_words(&Measures::identical(sizes.0));
        let same = Match {
            unit,
            is_estimate: false,
            ..Match::new(Some(Relation::SameText), Layer::Text, measures, sizes)
        };
        return (!too_small(sizes.0)).then_some(same);
    }
    let bytes = |side: Option<WholeDigest>| side.map_or(0.0, |side| side.size.0 as f64);
    let mut judged = [JudgedShare::default(); 3];
    for at in 0..2 {
        let (a, b) = (ours[at], theirs[at]);
        let small = |side: Option<WholeDigest>| side.is_some_and(|side| side.size < LEAST_JUDGED);
        if small(a) || small(b) {
            continue;
        }
        // Only one archive has a whole of this kind. It is certain that nothing of this whole is
        // shared.
        let nothing = (Some(Score::ZERO), Some((Score::ZERO, Score::ZERO)));
        let shares = found[at].map_or([nothing; 3], |Estimated { measures, interval }| {
            [
                (measures.a_in_b, interval.a_in_b),
                (measures.b_in_a, interval.b_in_a),
                (measures.resemblance, interval.resemblance),
            ]
        });
        let weights = [bytes(a), bytes(b), bytes(a) + bytes(b)];
        for ((judged, share), weight) in judged.iter_mut().zip(shares).zip(weights) {
            judged.add(share, weight);
        }
    }
    let [in_a, in_b, of_both] = judged.map(JudgedShare::finish);
    let measures = Measures {
        a_in_b: in_a.0,
        b_in_a: in_b.0,
        resemblance: of_both.0,
        shared_bytes: found
            .iter()
            .flatten()
            .map(|found| found.measures.shared_bytes)
            .sum(),
    };
    let interval = Interval {
        a_in_b: in_a.1,
        b_in_a: in_b.1,
        resemblance: of_both.1,
    };
    let relation = similarity::relation(false, sizes.0, sizes.1, &measures, min_shared);
    Some(Match {
        unit,
        interval: (interval != Interval::default()).then(|| Box::new(interval)),
        ..Match::new(relation, Layer::Text, measures, sizes)
    })
}

/// Returns the measures of a single content (a) and an archive or mail (b). `measures` are those of
/// a and one content in b. This content has `part` bytes.
pub fn of_part(measures: Measures, part: ByteLen, sizes: (ByteLen, ByteLen)) -> Measures {
    let share = |score: Option<Score>| score.map_or(0.0, Score::get);
    let in_a = share(measures.b_in_a) * part.0 as f64 / sizes.1.0.max(1) as f64;
    let shared = share(measures.a_in_b) * sizes.0.0 as f64;
    let union = sizes.0.0 as f64 + sizes.1.0 as f64 - shared;
    Measures {
        b_in_a: Some(Score::new(in_a)),
        resemblance: Some(Score::new(shared / union.max(1.0))),
        ..measures
    }
}

/// The weighted sum of the shares of several parts. It has an interval if all parts have one.
#[derive(Clone, Copy, Debug, Default)]
struct JudgedShare {
    shared: f64,
    ends: (f64, f64),
    all: f64,
    is_unsure: bool,
}

impl JudgedShare {
    fn add(&mut self, (share, ends): (Option<Score>, Option<(Score, Score)>), weight: f64) {
        let Some(share) = share else {
            return;
        };
        self.all += weight;
        self.shared += share.get() * weight;
        match ends {
            Some((low, high)) => {
                self.ends.0 += low.get() * weight;
                self.ends.1 += high.get() * weight;
            }
            None => self.is_unsure = true,
        }
    }

    fn finish(self) -> (Option<Score>, Option<(Score, Score)>) {
        if self.all <= 0.0 {
            return (None, None);
        }
        let of_all = |part: f64| Score::new(part / self.all);
        let ends = (of_all(self.ends.0), of_all(self.ends.1));
        (Some(of_all(self.shared)), (!self.is_unsure).then_some(ends))
    }
}

/// Returns the measures of two texts that have the same words and different bytes. The shares are
/// just below 1, so that a row with equal bytes is ranked first.
pub fn all_words(measures: &Measures) -> Measures {
    let all = Some(Score::ALL_BUT_IDENTICAL);
    Measures {
        a_in_b: all,
        b_in_a: all,
        resemblance: all,
        shared_bytes: measures.shared_bytes,
    }
}

/// Returns the relation, the layer and the measures of two renditions. If both are the same text,
/// all of it is shared, even if the bytes differ. Returns `None` if both are equal, but have too
/// few words to count as the same text.
pub fn relate(
    a: (Rendition, Named),
    b: (Rendition, Named),
    sizes: (ByteLen, ByteLen),
    measures: Measures,
    min_shared: ByteLen,
) -> Option<(Option<Relation>, Layer, Measures)> {
    let layer = layer(a.0, b.0);
    let equal = a.1.content == b.1.content;
    if equal && layer == Layer::Bytes {
        return Some((Some(Relation::Identical), layer, measures));
    }
    if same_text(a, b, sizes.0) {
        let all = all_words(&measures);
        return Some((Some(Relation::SameText), Layer::Text, all));
    }
    let relation = similarity::relation(false, sizes.0, sizes.1, &measures, min_shared);
    (!equal).then_some((relation, layer, measures))
}
