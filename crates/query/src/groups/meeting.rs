//! Measures two files of a group, even if no link connects them.
//!
//! A family has members that share nothing with the requested file. An answer also shows the worst
//! pair of a group: the two members that share least. So figures are needed for files without a
//! link. Measuring all pairs of a group would take longer than measuring all its links. So the
//! worst pair is chosen by estimates, and only that pair is measured.

use resemble_core::similarity::{Estimated, Interval, Unit};
use resemble_core::{ContentId, Measures, Relation, Score};
use resemble_index::Snapshot;
use resemble_proto::message::EstimateInterval;
use resemble_proto::number::Fraction;
use resemble_relate::AskError;
use resemble_relate::judge::estimate::{estimate, shown_in, shown_whole};
use resemble_relate::judge::matched::{Match, all_words, match_of_wholes, shown_wholes};
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::nominate::members::shown_of_files;
use resemble_relate::prove::many::PairProver;
use resemble_relate::renditions::{Place, Rendition, is_same_text, renditions, same_words};

use super::Collection;
use super::links::HalfLink;
use super::solve::{IgnoredPieces, stripped};
use resemble_relate::join::Table;

/// The maximum number of members among which the worst pair of a group is searched. These are the
/// members furthest from the centre. The number is small, because a group of a thousand members has
/// half a million pairs.
pub(super) const MEASURED: usize = 48;

/// A file of a group: its place, and the contents to compare.
pub(super) type GroupSide<'s> = (u32, &'s [(Rendition, StoredSketch)]);

/// Returns the measures of two contents, if they were measured.
type Measure<'m> = dyn Fn(&StoredSketch, &StoredSketch) -> Result<Option<Measures>, AskError> + 'm;

/// The groups of an answer, and the data and objects with which they are measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) collection: &'a Collection,
    pub(super) prover: &'a PairProver<'a>,
}

/// The shares of two files: how much of each lies in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MeetingShares {
    pub(super) there: Fraction,
    pub(super) back: Fraction,
    pub(super) is_estimate: bool,
    /// The interval of an estimate, if it is known.
    pub(super) interval: Option<EstimateInterval>,
}

impl MeetingShares {
    /// The shares of a file and itself.
    pub(super) const ALL: Self = Self {
        there: Fraction::ONE,
        back: Fraction::ONE,
        is_estimate: false,
        interval: None,
    };

    fn new(shares: (Option<Score>, Option<Score>), is_estimate: bool) -> Self {
        Self {
            there: Fraction::from(shares.0),
            back: Fraction::from(shares.1),
            is_estimate,
            interval: None,
        }
    }
}

impl Shown<'_> {
    /// Returns the contents by which the file at a place is compared: its own content and its
    /// renditions. Ignored fingerprints are removed.
    pub(super) fn kept_of(&self, place: u32) -> Result<Vec<(Rendition, StoredSketch)>, AskError> {
        let table = &self.collection.table;
        let all = all_of(self.snapshot, table.id(place), self.collection.text)?.into_iter();
        let without_ignored = |content| stripped(&self.collection.counts, content).0;
        Ok(all
            .map(|(rendition, content)| (rendition, without_ignored(content)))
            .collect())
    }

    /// Returns the shares of two files. They are measured if both files can be read, and otherwise
    /// estimated.
    pub(super) fn measured(
        &self,
        a: GroupSide<'_>,
        b: GroupSide<'_>,
    ) -> Result<MeetingShares, AskError> {
        let table = &self.collection.table;
        let holds = |place| table.wholes(place).iter().any(Option::is_some);
        if holds(a.0) || holds(b.0) {
            let owners = (table.id(a.0), table.id(b.0));
            if let Some(found) = self.prover.measure_members(owners, Relation::MIN_SHARED)? {
                let measures = found.measures;
                return Ok(MeetingShares::new(
                    (measures.a_in_b, measures.b_in_a),
                    false,
                ));
            }
        }
        let met = self.meeting(a, b, &|a, b| {
            let row = |kept: &StoredSketch| self.snapshot.content(kept.id);
            let (Some(row_a), Some(row_b)) = (row(a)?, row(b)?) else {
                return Ok(None);
            };
            let least = Relation::MIN_SHARED;
            let proven = self.prover.measure(&row_a, &row_b, least)?;
            Ok(proven.map(|proven| proven.measures))
        })?;
        if met.is_estimate {
            return Ok(self.shown((a.0, b.0))?.unwrap_or(met));
        }
        Ok(met)
    }

    /// Returns how much of each end of a link lies in the other end. If the link is an estimate,
    /// these are the figures that every question shows for the two files.
    pub(super) fn of_link(&self, link: &HalfLink) -> Result<MeetingShares, AskError> {
        let (there, back) = link.shares();
        let known = MeetingShares {
            there,
            back,
            is_estimate: link.is_estimate(),
            interval: None,
        };
        if !known.is_estimate {
            return Ok(known);
        }
        Ok(self.shown((link.from, link.to))?.unwrap_or(known))
    }

    /// Returns the shares of two unread files, if their contents allow an estimate.
    fn shown(&self, places: (u32, u32)) -> Result<Option<MeetingShares>, AskError> {
        let collection = self.collection;
        let compared = (collection.text, collection.unit);
        let found = shown((self.snapshot, &collection.table), compared, places)?;
        Ok(found.map(|Estimated { measures, interval }| MeetingShares {
            interval: (interval != Interval::default()).then(|| interval.into()),
            ..MeetingShares::new((measures.a_in_b, measures.b_in_a), true)
        }))
    }

    /// Returns the shares of two files. They are those of the pair of renditions that shares most.
    /// `measure` returns the measures of two contents; if it returns `None`, the measures are
    /// estimated.
    fn meeting(
        &self,
        (a, of_a): GroupSide<'_>,
        (b, of_b): GroupSide<'_>,
        measure: &Measure<'_>,
    ) -> Result<MeetingShares, AskError> {
        let table = &self.collection.table;
        let mut best = ((None, None), false);
        let mut offer = |measures: &Measures, is_estimate: bool| {
            let shares = (measures.a_in_b, measures.b_in_a);
            if shares.0.max(shares.1) > best.0.0.max(best.0.1) {
                best = (shares, is_estimate);
            }
        };
        let mut parts = [None, None];
        for (one, in_a) in of_a {
            let is_compared = |other: Rendition| table.is_compared((a, *one), (b, other));
            for (other, in_b) in of_b.iter().filter(|(other, _)| is_compared(*other)) {
                let estimated = || {
                    let ignored = IgnoredPieces(&self.collection.counts);
                    let (of_a, of_b) = (in_a.sketch(), in_b.sketch());
                    let estimate = estimate((&of_a, in_a.kind), (&of_b, in_b.kind), &ignored);
                    if same_words(in_a.words, in_b.words) {
                        all_words(&estimate)
                    } else {
                        estimate
                    }
                };
                let is_same = in_a.id == in_b.id;
                let identical = Measures::identical(in_a.whole);
                if one.is_whole() {
                    let measures = if is_same { identical } else { estimated() };
                    parts[usize::from(*one == Rendition::WholeBytes)] = Some(measures);
                } else if is_same {
                    if is_same_text(*one, *other, in_a.whole) {
                        offer(&all_words(&identical), false);
                    }
                } else {
                    let measured = measure(in_a, in_b)?;
                    offer(&measured.unwrap_or_else(estimated), measured.is_none());
                }
            }
        }
        if parts.iter().any(Option::is_some) {
            let wholes = (table.wholes(a), table.wholes(b));
            let matched = match_of_wholes(wholes.0, wholes.1, parts, Relation::MIN_SHARED);
            if let Some(matched) = matched {
                offer(&matched.measures, matched.is_estimate);
            }
        }
        Ok(MeetingShares::new(best.0, best.1))
    }

    /// Returns the least containment of any two members, and whether it is an estimate. Among the
    /// first [`MEASURED`] of `members`, the pairs without a link are estimated. The pair with the
    /// least estimate is then measured. Pairs too small to judge are skipped.
    pub(super) fn worst(
        &self,
        links: &[HalfLink],
        members: &[u32],
    ) -> Result<(Fraction, bool), AskError> {
        let of_link = links.iter().min_by_key(|link| link.tie().containment());
        let linked = of_link.map_or((Fraction::ZERO, false), |link| {
            let worst = Fraction::from_millionths(link.tie().containment());
            (worst, link.is_estimate())
        });
        let pairs = members.len() * (members.len() - 1) / 2;
        if links.len() >= pairs {
            return Ok(linked);
        }
        let mut ends: Vec<(u32, u32)> = links
            .iter()
            .map(|link| (link.from.min(link.to), link.from.max(link.to)))
            .collect();
        ends.sort_unstable();
        let looked_at = &members[..members.len().min(MEASURED)];
        let mut kept = Vec::new();
        for &place in looked_at {
            kept.push(self.kept_of(place)?);
        }
        let side = |at: usize| (looked_at[at], &kept[at][..]);
        let mut least: Option<(Fraction, usize, usize)> = None;
        for a in 0..kept.len() {
            for b in a + 1..kept.len() {
                let places = (looked_at[a], looked_at[b]);
                let pair = (places.0.min(places.1), places.0.max(places.1));
                if ends.binary_search(&pair).is_ok() {
                    continue;
                }
                let shares = self.meeting(side(a), side(b), &|_, _| Ok(None))?;
                let score = shares.there.max(shares.back);
                if score != Fraction::NONE && least.is_none_or(|(least, ..)| score < least) {
                    least = Some((score, a, b));
                }
            }
        }
        let Some((_, a, b)) = least else {
            return Ok(linked);
        };
        let shares = self.measured(side(a), side(b))?;
        let worst = (shares.there.max(shares.back), shares.is_estimate);
        let is_worse = worst.0 != Fraction::NONE && worst.0 < linked.0;
        Ok(if is_worse { worst } else { linked })
    }
}

/// Returns a content and, if requested, its renditions.
fn all_of(
    snapshot: &Snapshot,
    id: ContentId,
    text: bool,
) -> Result<Vec<(Rendition, StoredSketch)>, AskError> {
    let mut contents = vec![(Rendition::Own, id)];
    if text {
        contents.extend(renditions(snapshot, Place::file(id))?);
    }
    let mut kept = Vec::new();
    for (rendition, content) in contents {
        if let Some(row) = snapshot.content(content)? {
            kept.push((rendition, StoredSketch::of(snapshot, &row)?));
        }
    }
    Ok(kept)
}

/// Returns the figures that every question shows of two unread files. They are those of the pair of
/// renditions that shares most. Returns `None` if no estimate is possible.
pub(super) fn shown(
    (snapshot, table): (&Snapshot, &Table),
    (text, unit): (bool, Unit),
    (a, b): (u32, u32),
) -> Result<Option<Estimated>, AskError> {
    let shown = |matched: Match| Estimated {
        measures: matched.measures,
        interval: matched.interval.as_deref().copied().unwrap_or_default(),
    };
    let holds = |place| table.wholes(place).iter().any(Option::is_some);
    if holds(a) || holds(b) {
        let owners = (table.id(a), table.id(b));
        let found = shown_of_files(snapshot, owners, Unit::Words, Relation::MIN_SHARED)?;
        if found.is_some() || holds(a) != holds(b) {
            return Ok(found.map(shown));
        }
    }
    let of = |place| all_of(snapshot, table.id(place), text);
    let (of_a, of_b) = (of(a)?, of(b)?);
    let mut best: Option<Estimated> = None;
    let mut parts = [None; 2];
    for (one, in_a) in &of_a {
        let is_compared = |other: Rendition| table.is_compared((a, *one), (b, other));
        for (_, in_b) in of_b.iter().filter(|(other, _)| is_compared(*other)) {
            let (sketch_a, sketch_b) = (in_a.sketch(), in_b.sketch());
            let (side_a, side_b) = ((&sketch_a, in_a.kind), (&sketch_b, in_b.kind));
            if one.is_whole() {
                let found = shown_whole(Unit::Words, side_a, side_b, in_a.id == in_b.id);
                parts[usize::from(*one == Rendition::WholeBytes)] = Some(found);
            } else if in_a.id != in_b.id && !same_words(in_a.words, in_b.words) {
                let found = shown_in(unit, side_a, side_b);
                let score = |found: &Estimated| found.measures.containment();
                if best.as_ref().is_none_or(|best| score(&found) > score(best)) {
                    best = Some(found);
                }
            }
        }
    }
    if parts.iter().all(Option::is_none) {
        return Ok(best);
    }
    let wholes = (table.wholes(a), table.wholes(b));
    let matched = shown_wholes(wholes.0, wholes.1, parts, Relation::MIN_SHARED);
    Ok(matched.map(shown))
}
