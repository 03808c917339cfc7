//! Decides which pairs are links, by their estimates and by their measures.
//!
//! A pair is a **link** if it has a relation (or reaches `min`), and if its score without common
//! text is high enough. This rule applies to the measures of the two contents. Before a pair is
//! measured, it must pass three checks that take less time. Each check takes longer than the check
//! before, and is made for fewer pairs. Two checks consider how much both contents have in common
//! ([`LinkTerms::could_be`], [`LinkTerms::is_worth_an_estimate`]). The third considers the upper
//! ends of the estimates' intervals ([`LinkTerms::may_link`]). A check drops a possible
//! link only if the samples of the pair are far from what they are on average.

use resemble_core::cluster::Sharing;
use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::proof::unit_of;
use resemble_core::similarity::{self, Unit, too_small};
use resemble_core::{ByteLen, Measures, Relation, Score};
use resemble_proto::message::GroupsRequest;
use resemble_proto::number::Fraction;
use resemble_relate::judge::estimate::{enough_shared, interval_at};
use resemble_relate::judge::matched::match_of_wholes;
use resemble_relate::nominate::block::Common;
use resemble_relate::nominate::evidence::StoredSketch;

use super::links::{By, HalfLink};
use resemble_relate::join::Table;

/// The rule for links.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkTerms {
    min: Fraction,
    pub(super) min_shared: ByteLen,
    pub(super) unit: Unit,
}

/// The data of a pair of contents.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairFound {
    pub(super) sizes: (ByteLen, ByteLen),
    pub(super) measures: Measures,
    /// The relation of the pair. For an estimate, only `SameText` can be known.
    pub(super) relation: Option<Relation>,
    /// True if the measures are estimates.
    pub(super) is_estimate: bool,
    pub(super) rarity: Option<Rarity>,
    /// The smaller of the two shares after the discount, if the common words were counted;
    /// otherwise `None`.
    pub(super) of_both: Option<Score>,
}

impl PairFound {
    pub(super) fn is_same_text(&self) -> bool {
        self.relation == Some(Relation::SameText)
    }
}

/// The upper bound of a containment, divided by the share of common windows. `find` uses the same
/// bound. Every scattered edit changes 64 windows, but only one byte. With a share p of common
/// windows, the containment is at most about p·(1 − ln p). That is below 6·p for every p ≥ 0.007.
/// The factor 8 allows for the error of small samples.
const MOST_PER_WINDOW: f64 = 8.0;

/// The allowance for regular edits: the bound p·(1 − ln p) assumes random edits of windows. For
/// texts the bound is [`similarity::words_in_runs`], which no estimate exceeds.
const ROOM: f64 = 2.0;

impl LinkTerms {
    pub(super) fn of(request: &GroupsRequest) -> Self {
        let shared = request.min_shared.map(ByteLen);
        Self {
            min: request.min,
            min_shared: shared.unwrap_or(Relation::MIN_SHARED),
            unit: request.unit.into(),
        }
    }

    /// Returns the least score that a link must keep after the discount for common text.
    fn least(&self) -> Fraction {
        let partly = Fraction::from(Score::new(Relation::PARTLY));
        if self.min == Fraction::NONE {
            partly
        } else {
            self.min.min(partly)
        }
    }

    /// Returns whether this much common content could make a link. The check is useful, because
    /// thousands of files share a phrase, but few files share most of their text.
    pub(super) fn could_be(&self, (a, b): (&StoredSketch, &StoredSketch), common: Common) -> bool {
        if too_small(a.size) || too_small(b.size) {
            return false;
        }
        if common.chunks > 0 {
            return true;
        }
        let (usable_a, usable_b) = usable((a, b));
        let fewer = usable_a.min(usable_b).max(1);
        let least = self.min.score().map_or(Relation::PARTLY, Score::get);
        f64::from(common.fingerprints) / fewer as f64 >= least / MOST_PER_WINDOW
    }

    /// Returns whether this much common content could make a link after the discount. `weight` is
    /// the average worth of a common sample. Nearly all pairs that could be links before the
    /// discount share only a licence.
    pub(super) fn is_worth_an_estimate(
        &self,
        (a, b): (&StoredSketch, &StoredSketch),
        common: Common,
        weight: f64,
    ) -> bool {
        if common.chunks > 0 {
            return true;
        }
        let are_texts = unit_of(a.kind, b.kind, self.unit) == Unit::Words;
        // For a member of a family, `common` omits the pieces that its leader has
        // (`nominating_pieces`). So `shared` is too small, and `words_in_runs` is no upper bound.
        let is_all = are_texts && a.of_leader.is_none() && b.of_leader.is_none();
        let shared = f64::from(common.fingerprints);
        let most = |of: usize| {
            let all = of.max(1) as f64;
            let share = if is_all {
                similarity::words_in_runs(shared / all)
            } else {
                let part = ((shared + 1.0) / all).min(1.0);
                (ROOM * part * (1.0 - part.ln())).min(1.0)
            };
            similarity::interval(Score::new(share), of as u64).1
        };
        let (usable_a, usable_b) = usable((a, b));
        self.is_enough((a.size, b.size), (most(usable_a), most(usable_b)), weight)
    }

    /// Returns whether the true shares of an estimated pair may be large enough for a link.
    pub(super) fn may_link(
        &self,
        (a, b): (&StoredSketch, &StoredSketch),
        common: Common,
        measures: &Measures,
        rarity: Option<Rarity>,
    ) -> bool {
        let level = a.signature.level.max(b.signature.level);
        let most = |share: Option<Score>, of: &StoredSketch| {
            let interval = interval_at(share, &of.sketch(), level);
            interval.map_or(Score::ONE, |(_, most)| most)
        };
        let most = (most(measures.a_in_b, a), most(measures.b_in_a, b));
        let weight = rarity.map_or(1.0, |rarity| rarity.weight);
        let weight = weight.max(self.weight_of_words((a, b), common, measures, weight));
        self.is_enough((a.size, b.size), most, weight)
    }

    /// Estimates the mean weight of the common words of two texts. `weight` is the mean weight of
    /// their common samples. A changed word removes up to five shingles. So if many files have a
    /// header, an edited version of such a file loses more of its other samples than of its other
    /// words, and the samples weigh too little.
    fn weight_of_words(
        &self,
        (a, b): (&StoredSketch, &StoredSketch),
        common: Common,
        measures: &Measures,
        weight: f64,
    ) -> f64 {
        let lost = (1.0 - weight) * f64::from(common.fingerprints);
        if lost <= 0.0 || unit_of(a.kind, b.kind, self.unit) != Unit::Words {
            return weight;
        }
        let of_side = |share: Option<Score>, usable: usize| {
            let words = share.map_or(0.0, Score::get) * usable as f64;
            1.0 - lost / words.max(lost)
        };
        let (usable_a, usable_b) = usable((a, b));
        of_side(measures.a_in_b, usable_a).max(of_side(measures.b_in_a, usable_b))
    }

    fn is_enough(&self, sizes: (ByteLen, ByteLen), most: (Score, Score), weight: f64) -> bool {
        let sharing = Sharing {
            sizes: (sizes.0.0, sizes.1.0),
            shares: (most.0.get(), most.1.get()),
            weight,
        };
        Fraction::from_millionths(sharing.most_kinship()) >= self.least()
    }

    /// Returns the link that a pair makes, seen from the first place. Returns `None` if the pair
    /// makes no link.
    pub(super) fn link_of(&self, places: (u32, u32), found: &PairFound) -> Option<HalfLink> {
        let PairFound {
            sizes,
            measures,
            relation,
            is_estimate,
            rarity,
            of_both,
        } = found;
        let raw = measures.containment()?;
        let by_figures = similarity::relation(false, sizes.0, sizes.1, measures, self.min_shared);
        // If two files repeat the same phrase, they share many of their bytes, but have no
        // relation.
        let is_phrase = !is_estimate && relation.is_none() && by_figures.is_some();
        let is_link = Fraction::from(raw) >= self.min
            && (found.is_same_text()
                || !is_phrase
                    && if self.min == Fraction::NONE {
                        by_figures.is_some()
                    } else {
                        enough_shared(*sizes, (measures, *is_estimate), self.min_shared)
                    });
        if !is_link {
            return None;
        }
        let share = |share: Option<Score>| share.map_or(0.0, Score::get);
        let score = Sharing {
            sizes: (sizes.0.0, sizes.1.0),
            shares: (share(measures.a_in_b), share(measures.b_in_a)),
            weight: rarity.map_or(1.0, |rarity| rarity.weight),
        }
        .kinship();
        // The smaller share is used, so that a licence is not linked with the code that contains
        // it.
        let of_both = Fraction::from(*of_both).millionths().unwrap_or(0);
        let score = score.max(of_both);
        if Fraction::from_millionths(score) < self.least() {
            return None;
        }
        let mut link = HalfLink::new(places, measures, score, *rarity);
        if found.is_same_text() {
            link = link.of_same_text();
        }
        Some(if *is_estimate { link.estimated() } else { link })
    }

    /// Returns the link of two files by their wholes of both kinds, judged without reading the
    /// files.
    pub(super) fn of_wholes(&self, halves: &[HalfLink], table: &Table) -> Option<HalfLink> {
        let mut parts = [None, None];
        for half in halves {
            if let By::Whole(at) = half.matched_by() {
                parts[at] = Some(half.measures());
            }
        }
        let ends = halves.first().map(|half| (half.from, half.to))?;
        let wholes = (table.wholes(ends.0), table.wholes(ends.1));
        parts.iter().flatten().next()?;
        let matched = match_of_wholes(wholes.0, wholes.1, parts, self.min_shared)?;
        let found = PairFound {
            sizes: matched.sizes,
            measures: matched.measures,
            relation: matched.relation,
            is_estimate: matched.is_estimate,
            rarity: None,
            of_both: None,
        };
        let link = self.link_of(ends, &found)?;
        Some(link.with_match(By::Text))
    }
}

/// Counts the samples of both contents at the higher of their levels, at which both signatures are
/// complete.
fn usable((a, b): (&StoredSketch, &StoredSketch)) -> (usize, usize) {
    let level = a.signature.level.max(b.signature.level);
    let usable = |kept: &StoredSketch| {
        if kept.signature.level == level {
            kept.signature.fingerprints.len()
        } else {
            kept.signature.at_level(level).count()
        }
    };
    (usable(a), usable(b))
}
