//! Bounds the number of bytes that a comparison reads.
//!
//! An exact comparison reads all pairs that must be measured. Any other comparison reads at most
//! [`PartnerQuestion::work`] bytes, which is usually enough. If it is not enough, the pairs of
//! files with the same path on both sides are read first, then the pairs with the best estimates.
//! The other pairs keep their estimates. This choice depends only on the contents, not on threads
//! or earlier measures.

use std::cmp::Reverse;
use std::collections::HashSet;

use resemble_core::Score;
use resemble_relate::AskError;
use resemble_relate::judge::estimate::estimate;
use resemble_relate::parallel::ordered;
use resemble_relate::prove::cost::{ReadBudget, TAKEN_APART};
use resemble_relate::prove::read::LARGEST_READ;

use super::PartnerQuestion;
use super::candidates::Candidate;
use crate::compare::common::CommonKeys;
use crate::compare::files::FilesMeet;

/// A pair that is to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum CostlyPair {
    Contents(u32, u32),
    /// Two files that are compared by all contents that they hold.
    Files(u32, u32),
}

/// The pairs that keep their estimates because they exceed the read budget.
#[derive(Debug, Default)]
pub(super) struct BeyondBudget(HashSet<CostlyPair>);

impl BeyondBudget {
    pub(super) fn has(&self, pair: CostlyPair) -> bool {
        self.0.contains(&pair)
    }
}

impl PartnerQuestion<'_> {
    /// Returns what is measured for `twins`, the pairs of files with the same path on both sides:
    /// pairs of contents, or pairs of files with members.
    pub(super) fn of_twins(&self, twins: &[(u32, u32)]) -> Vec<CostlyPair> {
        let pairs = twins.iter().map(|&(a, b)| match self.files.meeting(a, b) {
            FilesMeet::Contents(x, y) => CostlyPair::Contents(x, y),
            FilesMeet::Members => CostlyPair::Files(a, b),
        });
        pairs.collect()
    }

    /// Returns the pairs of contents or files that are measured for the candidates and for the
    /// pairs with members.
    pub(super) fn of_candidates(
        candidates: &[Candidate],
        of_members: &[(u32, u32)],
    ) -> Vec<CostlyPair> {
        let contents = candidates.iter();
        let contents = contents.map(|one| CostlyPair::Contents(one.met.0, one.met.1));
        let files = of_members.iter().map(|&(a, b)| CostlyPair::Files(a, b));
        contents.chain(files).collect()
    }

    /// Returns the pairs that exceed the rest of the budget. The costs of the other pairs are
    /// subtracted from the budget.
    pub(super) fn beyond_budget(
        &self,
        budget: &mut ReadBudget,
        mut pairs: Vec<CostlyPair>,
        common: &CommonKeys,
    ) -> Result<BeyondBudget, AskError> {
        if self.options.exact {
            return Ok(BeyondBudget::default());
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut all = budget.clone();
        if pairs.iter().all(|&pair| self.takes(&mut all, pair)) {
            *budget = all;
            return Ok(BeyondBudget::default());
        }
        let score = |at: usize, (): &mut ()| {
            self.pieces.go_on()?;
            self.estimated_score(pairs[at], common)
        };
        let scores = ordered(pairs.len(), || (), score)?;
        let mut best_first: Vec<(Reverse<Score>, CostlyPair)> =
            scores.into_iter().map(Reverse).zip(pairs).collect();
        best_first.sort_unstable();
        let beyond = best_first.into_iter().map(|(_, pair)| pair);
        let beyond = beyond.filter(|&pair| !self.takes(budget, pair));
        Ok(BeyondBudget(beyond.collect()))
    }

    /// Subtracts the cost of a pair from the budget, and returns whether the budget allows it.
    /// Contents that are too large to be read cost nothing.
    fn takes(&self, budget: &mut ReadBudget, pair: CostlyPair) -> bool {
        let size = |content: u32| self.content(content).size;
        let (CostlyPair::Contents(a, b) | CostlyPair::Files(a, b)) = pair;
        if a == b || size(a).max(size(b)) > LARGEST_READ {
            return true;
        }
        match pair {
            CostlyPair::Files(..) => {
                let both = (size(a) + size(b)).0;
                budget.spends(both.saturating_mul(TAKEN_APART))
            }
            CostlyPair::Contents(..) => {
                let reading = |content: u32| self.reading(content);
                budget.takes([a, b], |content| size(content).0, reading)
            }
        }
    }

    /// Returns the cost of reading a content. For a rendition, its file must be read and taken
    /// apart.
    fn reading(&self, content: u32) -> u64 {
        let size = self.content(content).size;
        if self.holders.iter().any(|holders| holders.has(content)) {
            return size.0;
        }
        let owner = self.files.owners(content).next();
        let file = owner.map_or(size, |(owner, _)| self.content(owner).size);
        file.max(size).0.saturating_mul(TAKEN_APART)
    }

    fn estimated_score(&self, pair: CostlyPair, common: &CommonKeys) -> Result<Score, AskError> {
        let measures = match pair {
            CostlyPair::Contents(a, b) if a == b => return Ok(Score::ONE),
            CostlyPair::Contents(a, b) => {
                let (a, b) = (self.load(a)?, self.load(b)?);
                let (of_a, of_b) = (a.sketch(), b.sketch());
                Some(estimate((&of_a, a.kind), (&of_b, b.kind), common))
            }
            CostlyPair::Files(a, b) => {
                let found = self.estimate_of_members((a, b))?;
                found.map(|(found, _)| found.measures)
            }
        };
        let score = measures.and_then(|measures| measures.containment());
        Ok(score.unwrap_or(Score::ZERO))
    }
}
