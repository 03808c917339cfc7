//! Finds the pairs of a question: pairs of texts by their words, and other pairs by the index data.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use resemble_core::Score;
use resemble_core::similarity::Proof;
use resemble_core::similarity::Unit;
use resemble_core::similarity::discount::Rarity;
use resemble_proto::message::{Layer, PairScore};
use resemble_relate::AskError;
use resemble_relate::nominate::Common;
use resemble_relate::nominate::block::PostingBlock;
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::nominate::kinship::{Kinships, WindowCounts};
use resemble_relate::parallel::threads;
use resemble_relate::prove::many::DraftPair;
use resemble_relate::prove::texts::Texts;
use resemble_relate::renditions::same_words;

use super::question::Question;
use super::worker::WorkerPairs;
use resemble_relate::copies;

/// The contents of a question with their data.
#[derive(Clone, Copy)]
pub(super) struct PairSearch<'a> {
    pub(super) question: Question<'a>,
    pub(super) block: &'a PostingBlock,
    pub(super) texts: &'a Texts,
    /// The pieces of each content that lie outside of templates, by place. The list is empty if
    /// these pieces need not be checked.
    pub(super) outside_templates: &'a [HashSet<u64>],
}

/// The found pairs: those that were measured, by thread, and those that are still to be measured.
pub(super) struct FoundPairs {
    pub(super) by_thread: Vec<WorkerPairs>,
    /// The pairs that are still to be measured, sorted by place. No pair occurs twice.
    pub(super) drafts: Vec<DraftPair>,
    /// The kinships of the drafts that are not texts, if the requested score is the discounted one.
    pub(super) kinships: HashMap<(usize, usize), Score>,
}

impl PairSearch<'_> {
    /// Finds all pairs. `large` are the families of near-copies that are linked by their leaders.
    pub(super) fn found(&self, large: &[(u32, Vec<u32>)]) -> Result<FoundPairs, AskError> {
        let mut by_thread = self.by_words()?;
        by_thread.extend(self.by_samples()?);
        let in_families = copies::held_together(large).filter_map(|(a, b)| {
            let pair = self.pair(a, b);
            self.question.meet(pair).then(|| self.draft(a, b))
        });
        let drafts = by_thread.iter_mut().flat_map(|part| part.drafts.drain(..));
        let mut drafts: Vec<DraftPair> = drafts
            .chain(self.texts.tables())
            .chain(in_families)
            .collect();
        let kinships = by_thread.iter_mut().flat_map(|part| part.kinships.drain());
        let kinships = kinships.collect();
        drafts.sort_by_key(|draft| (draft.a, draft.b, Reverse(draft.estimate)));
        drafts.dedup_by_key(|draft| (draft.a, draft.b));
        Ok(FoundPairs {
            by_thread,
            drafts,
            kinships,
        })
    }

    fn pair(&self, a: usize, b: usize) -> (&StoredSketch, &StoredSketch) {
        (&self.block.kept[a], &self.block.kept[b])
    }

    fn draft(&self, a: usize, b: usize) -> DraftPair {
        let estimate = self.question.estimate(self.pair(a, b)).containment();
        let estimate = estimate.unwrap_or(Score::ZERO);
        DraftPair { a, b, estimate }
    }

    fn by_words(&self) -> Result<Vec<WorkerPairs>, AskError> {
        let stop = self.question.snapshot.stop();
        self.texts
            .pairs(stop, WorkerPairs::default, |found, pair, proof, rarity| {
                self.add_by_words(found, pair, proof, rarity);
                Ok(())
            })
    }

    /// Adds two texts that have common words, with figures that count these words. The pair becomes
    /// a draft instead if the unit is bytes, if one content is data, or if both contents are
    /// tables.
    fn add_by_words(
        &self,
        found: &mut WorkerPairs,
        (a, b): (usize, usize),
        proof: &Proof,
        rarity: Option<Rarity>,
    ) {
        let (question, texts) = (&self.question, self.texts);
        let outside = self.outside_templates;
        let outside = outside.get(a).zip(outside.get(b));
        if outside.is_some_and(|(a, b)| a.is_disjoint(b)) {
            return;
        }
        let is_of_data = texts.is_data(a) || texts.is_data(b);
        if is_of_data && !question.meet(self.pair(a, b)) {
            return;
        }
        let in_bytes = is_of_data || Unit::from(question.request.unit) == Unit::Bytes;
        if in_bytes || texts.are_tables(a, b) {
            let estimate = Score::new(proof.containment());
            found.drafts.push(DraftPair { a, b, estimate });
            return;
        }
        let layer = if texts.is_decoded(a) || texts.is_decoded(b) {
            Layer::Text
        } else {
            Layer::Bytes
        };
        found.texts(question, self.pair(a, b), (proof, layer), rarity);
    }

    fn by_samples(&self) -> Result<Vec<WorkerPairs>, AskError> {
        let kinships = Kinships::of(self.block, self.question.snapshot.boilerplate_limit());
        let add = |found: &mut WorkerPairs, a, b, common: Common| {
            self.add_by_samples(found, (a, b), common, &kinships)
        };
        self.block.nominees(threads(), WorkerPairs::default, add)
    }

    /// Adds two contents with common samples as a draft, if they share more than unrelated contents
    /// do. Pairs that are judged by their words are not added.
    fn add_by_samples(
        &self,
        found: &mut WorkerPairs,
        (a, b): (usize, usize),
        common: Common,
        kinships: &Kinships,
    ) -> Result<(), AskError> {
        let pair = self.pair(a, b);
        let windows = self.question.are_judged_by_windows(pair);
        let windows = windows.then(|| WindowCounts::of(&pair.0.signature, &pair.1.signature));
        let is_candidate = match windows {
            Some(windows) => {
                let is_at_most =
                    |most| Ok::<_, AskError>(kinships.is_at_most((a, b), windows.level, most));
                windows.are_kin(common, is_at_most)?
            }
            None => common.is_candidate() || same_words(pair.0.words, pair.1.words),
        };
        let are_texts = self.texts.has(a) && self.texts.has(b);
        if !is_candidate || are_texts || !self.question.meet(pair) {
            return Ok(());
        }
        found.drafts.push(self.draft(a, b));
        if self.question.request.score == PairScore::Discounted {
            let kinship = windows.and_then(|windows| kinships.kinship((a, b), windows, common));
            let kinship = kinship.map(|kinship| ((a, b), Score::new(kinship)));
            found.kinships.extend(kinship);
        }
        Ok(())
    }
}
