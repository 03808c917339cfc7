//! How two files meet: the best of several pairs of what stands for them.
//!
//! A pair of files can be compared by their bytes, their texts, what is packed in them, and by all
//! that they hold. What is said of them is what says most: equal bytes, then equal texts, then the
//! larger share; of equal figures those of the bytes.

use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::{self, Estimated, Interval, LEAST_JUDGED, Unit, too_small};
use resemble_core::{ByteLen, Measures, Relation, Score, rank};
use resemble_proto::message::{Discount, Layer};

use crate::renditions::{Named, Rendition, WholeDigest, layer, same_text};

/// A pair of renditions, measured.
#[derive(Clone, Debug)]
pub struct Match {
    /// How the two are related, if they are.
    pub relation: Option<Relation>,
    /// Which renditions the measures are of.
    pub layer: Layer,
    /// What the measures are shares of.
    pub unit: Unit,
    /// The measures are estimates; else they are those of the contents.
    pub is_estimate: bool,
    /// a is the first of the two.
    pub measures: Measures,
    /// Bytes of both renditions.
    pub sizes: (ByteLen, ByteLen),
    /// What is left without what many files have.
    pub discount: Discount,
    /// Of two texts that were read: the larger containment and the resemblance, however small the
    /// files are.
    pub read: Option<(Score, Score)>,
    /// Where the measures lie, if they are estimates of two contents.
    pub interval: Option<Box<Interval>>,
    /// Both are texts that differ in so many numbers and in nothing else, as far as that was looked
    /// at.
    pub numbers: Option<u64>,
    /// The larger share of what is rare, if that was asked for.
    pub rare: Option<Score>,
    /// How rare what they share is; `None`: nothing of it is common.
    pub rarity: Option<Rarity>,
    /// What they have in common includes a passage, however small a part of them it is.
    pub has_passage: bool,
    /// Samples say that they have rare text in common.
    pub has_rare_text: bool,
}

impl Match {
    /// An estimate in bytes, of which no more is known.
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
            read: None,
            interval: None,
            numbers: None,
            rare: None,
            rarity: None,
            has_passage: false,
            has_rare_text: false,
        }
    }

    /// The same pair seen from b.
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

    /// What the measures are at least: those by which rows are ranked.
    pub fn least(&self) -> Measures {
        let Self {
            interval, measures, ..
        } = self;
        let interval = interval.as_deref();
        interval.map_or(*measures, |interval| interval.least(measures))
    }

    /// What the better of two pairs of one place has more of.
    fn rank(&self) -> (bool, bool, Score, &Measures, bool) {
        (
            self.relation == Some(Relation::Identical),
            self.relation == Some(Relation::SameText),
            self.measures.containment().unwrap_or(Score::ZERO),
            &self.measures,
            self.layer == Layer::Bytes,
        )
    }

    /// Whether this match stands where a pair of files has both.
    pub fn is_better_than(&self, other: &Self) -> bool {
        let (a, b) = (self.rank(), other.rank());
        let order = (a.0, a.1).cmp(&(b.0, b.1));
        // Of equal figures those of the bytes stand.
        let order = order.then_with(|| rank::compare((b.2, b.3, &[]), (a.2, a.3, &[])));
        let order = order.then_with(|| a.4.cmp(&b.4));
        // Nothing is left to the order in which they are found.
        order.then_with(|| self.sizes.cmp(&other.sizes)).is_gt()
    }
}

/// The wholes of two places as one pair: shares of all bytes in them.
///
/// What is too small to judge has no say; what one of them has nothing of is not shared.
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

/// [`match_of_wholes`] with the interval of what is shown, which is that of the parts as if the
/// errors of both had one sign.
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
        // What only one of them has is not shared, and that is known.
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

/// The measures of a single content, a, and an archive or mail, from those of it and one content of
/// this size that the other holds.
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

/// A share of several parts, and its interval if that is known of all of them.
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

/// The measures of two texts that have all words in common and not all bytes: just below 1, so that
/// equal bytes come first.
pub fn all_words(measures: &Measures) -> Measures {
    let all = Some(Score::ALL_BUT_IDENTICAL);
    Measures {
        a_in_b: all,
        b_in_a: all,
        resemblance: all,
        shared_bytes: measures.shared_bytes,
    }
}

/// How two contents relate as renditions of two files, and by which measures; `None`: equal, and
/// too few words to say anything. Of the same text all is shared, whatever the bytes say.
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
