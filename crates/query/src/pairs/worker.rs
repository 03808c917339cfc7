//! Collects the pairs of contents that one worker finds. A pair counts for all files that are
//! compared by these contents.

use std::collections::HashMap;

use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::proof::{Proven, unit_of};
use resemble_core::similarity::{Estimated, Interval, Proof};
use resemble_core::{ContentId, Measures, Relation, Score};
use resemble_proto::message::{Layer, PairScore};
use resemble_relate::judge::estimate::estimated;
use resemble_relate::judge::matched::{Match, all_words};
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::prove::exact::judged;
use resemble_relate::prove::many::{DraftPair, MeasuredPair};
use resemble_relate::renditions::{Rendition, is_same_text, layer};

use super::question::Question;
use super::ways::{Pair, Way};

#[derive(Default)]
pub(super) struct WorkerPairs {
    pub(super) matched: Vec<Pair>,
    /// Pairs that are still to be measured.
    pub(super) drafts: Vec<DraftPair>,
    /// The kinships of the drafts that are not texts, if the requested score is the discounted one.
    pub(super) kinships: HashMap<(usize, usize), Score>,
}

impl WorkerPairs {
    /// Records a pair of texts, with their common words and the rarity of these words.
    pub(super) fn texts(
        &mut self,
        question: &Question<'_>,
        (a, b): (&StoredSketch, &StoredSketch),
        (proof, layer): (&Proof, Layer),
        rarity: Option<Rarity>,
    ) {
        let sizes = (a.size, b.size);
        let proven = Proven::of_common(&proof.common, sizes);
        let found = judged(proven, sizes, question.min_shared());
        let is_rare = question.request.score == PairScore::Discounted;
        let matched = Match {
            are_read_texts: true,
            rare: is_rare.then(|| Score::new(proof.kinship)),
            rarity,
            ..found.matched(layer)
        };
        self.meet(question, (a, b), &matched);
    }

    /// Records a pair that was measured for this question or could not be measured. `kinship`
    /// replaces the discounted share, if it is known.
    pub(super) fn others(
        &mut self,
        question: &Question<'_>,
        (a, b): (&StoredSketch, &StoredSketch),
        measured: MeasuredPair,
        kinship: Option<Score>,
    ) {
        let counts = question.counts;
        let sketches = (a.sketch(), b.sketch());
        let unit = question.request.unit.into();
        let matched = if let Some((proven, sizes)) = measured {
            let found = judged(proven, sizes, question.min_shared());
            found.matched(Layer::Bytes)
        } else {
            let pair = (
                (&sketches.0, a.kind, a.words),
                (&sketches.1, b.kind, b.words),
            );
            estimated(unit, pair, Layer::Bytes, question.min_shared())
        };
        let rarity = counts.rarity(&sketches.0, &sketches.1);
        let rare = matched
            .measures
            .containment()
            .filter(|_| question.request.score == PairScore::Discounted);
        let rare = rare.map(|raw| rarity.map_or(raw, |rarity| rarity.discounted(raw)));
        let rare = kinship.or(rare);
        let matched = Match {
            rare,
            rarity,
            ..matched
        };
        self.meet(question, (a, b), &matched);
    }

    /// Records the match of two contents for all files that are compared by them.
    fn meet(
        &mut self,
        question: &Question<'_>,
        (a, b): (&StoredSketch, &StoredSketch),
        found: &Match,
    ) {
        for (one, other) in question.meetings((a, b)) {
            if one.1.is_whole() {
                let at = usize::from(one.1 == Rendition::WholeBytes);
                // If the words are equal, there is no interval, because the shares are certain.
                let interval = found.interval.as_deref().copied();
                let part = Estimated {
                    measures: found.measures,
                    interval: interval.unwrap_or_else(|| Interval::of(&found.measures)),
                };
                self.keep(one.0, other.0, Way::Part(at, part));
                continue;
            }
            if let Some(matched) = question.of_member(one, other, found) {
                self.keep(one.0, other.0, Way::Whole(matched));
                continue;
            }
            // A match that the answer does not show is not stored.
            if !question.passes(found) {
                continue;
            }
            let matched = Match {
                layer: match found.relation {
                    Some(Relation::SameText) => Layer::Text,
                    _ if found.layer == Layer::Text => Layer::Text,
                    _ => layer(one.1, other.1),
                },
                ..found.clone()
            };
            self.keep(one.0, other.0, Way::Whole(matched));
        }
    }

    /// Records a way in which two files are matched. The lesser content comes first.
    fn keep(&mut self, a: ContentId, b: ContentId, way: Way) {
        let pair = if a <= b {
            ((a, b), way)
        } else {
            ((b, a), way.swapped())
        };
        self.matched.push(pair);
    }

    /// Records the pairs of files that share one content, as their bytes or as another rendition.
    pub(super) fn same_content(&mut self, question: &Question<'_>, content: &StoredSketch) {
        let owners: Vec<(ContentId, Rendition)> = question.owners(content.id).collect();
        let measures = Measures::identical(content.whole);
        let sizes = (content.whole, content.whole);
        let unit = unit_of(content.kind, content.kind, question.request.unit.into());
        let matched = |relation, layer| Match {
            unit,
            is_estimate: false,
            ..Match::new(Some(relation), layer, measures, sizes)
        };
        for (at, one) in owners.iter().enumerate() {
            if one.1 == Rendition::Own {
                let identical = matched(Relation::Identical, Layer::Bytes);
                self.matched.push(((one.0, one.0), Way::Whole(identical)));
            }
            for other in &owners[at + 1..] {
                let kinds = (content.kind, content.kind);
                if one.0 == other.0 || !question.may_be_equal((*one, *other), kinds) {
                    continue;
                }
                let equal = matched(Relation::SameText, Layer::Text);
                let way = if let Some(held) = question.of_member(*one, *other, &equal) {
                    Way::Whole(held)
                } else if one.1.is_whole() {
                    let interval = Interval::of(&measures);
                    let part = Estimated { measures, interval };
                    Way::Part(usize::from(one.1 == Rendition::WholeBytes), part)
                } else if is_same_text(one.1, other.1, content.whole) {
                    // The renditions are equal, but the files themselves may differ.
                    let measures = all_words(&measures);
                    let same = matched(Relation::SameText, layer(one.1, other.1));
                    Way::Whole(Match { measures, ..same })
                } else {
                    continue;
                };
                self.keep(one.0, other.0, way);
            }
        }
    }
}
