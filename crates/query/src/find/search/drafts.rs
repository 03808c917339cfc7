//! Orders and measures drafts, which are pairs that are to be measured.
//!
//! A pair becomes a draft because of its estimate or because of a rare passage. Drafts are measured
//! while the budget of the question lasts. The others keep their estimates, with the intervals.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::frame::{self, Frame};
use resemble_core::similarity::{self, NoBoilerplate, Prepared, Unit};
use resemble_core::{ContentDigest, ContentKind, Relation};
use resemble_index::{ContentRow, PostingKind};
use resemble_proto::message::Discount;
use resemble_relate::AskError;
use resemble_relate::judge::estimate::{shown_prepared, shown_whole};
use resemble_relate::judge::listing;
use resemble_relate::judge::matched::{Match, shown_wholes};
use resemble_relate::nominate::evidence::{Counts, StoredSketch};
use resemble_relate::nominate::frames::{Frames, ListedHolders, less_of};
use resemble_relate::nominate::quotations::Passage;
use resemble_relate::prove::members::ComparedSide;
use resemble_relate::renditions::{Occurrence, Place, Rendition, WholeDigest};

use super::{ComparedRendition, Search};
use crate::find::Wanted;
use crate::find::prover::{SubjectSide, UnmeasuredPair};

/// A pair to be measured by reading its contents.
pub(super) struct Draft {
    pub(super) place: Place,
    pub(super) compared: DraftSides,
    /// The estimate, with the rarity of the samples that it used.
    pub(super) estimate: Match,
    pub(super) rarity_of_all: Option<Rarity>,
    /// True if the pair may have a relation, judging by the estimate.
    pub(super) could_relate: bool,
    /// The rare passage that both contents may have.
    pub(super) passage: Option<Passage>,
    /// The frame that both contents have.
    pub(super) frame: Frame,
}

/// The two sides of a pair to be measured.
pub(super) enum DraftSides {
    Contents(SubjectSide, Occurrence, ContentRow),
    /// The members of both sides. If the other side holds no members, the option has the place of
    /// its one content.
    Members(ComparedSide, (ComparedSide, Option<Occurrence>)),
}

impl Draft {
    /// Returns the sort key of drafts with equal estimates. For pairs of contents, it depends on
    /// the digests and not on the time of the scan, so every index gives the same answer.
    fn order(&self) -> (Option<(ContentDigest, Rendition)>, Place) {
        let compared = match &self.compared {
            DraftSides::Contents(subject, _, row) => Some((row.digest, subject.rendition)),
            DraftSides::Members(..) => None,
        };
        (compared, self.place)
    }
}

/// The maximum number of pairs that are measured only because they may share a passage. Those with
/// the longest and rarest passages come first.
const QUOTATIONS: usize = 128;

/// The number of bytes of a passage that must not be common text, so that the passage counts.
const LEAST_PASSAGE: f64 = 128.0;

impl Search<'_> {
    /// Returns the pairs to be measured: the best estimates first, then the most promising
    /// quotations.
    fn ordered_drafts(&mut self) -> Vec<Draft> {
        let all = std::mem::take(&mut self.drafts);
        let (mut drafts, mut quotations): (Vec<Draft>, Vec<Draft>) =
            all.into_iter().partition(|draft| draft.could_relate);
        drafts.sort_by(|a, b| {
            let score = |draft: &Draft| draft.estimate.measures.containment();
            score(b)
                .cmp(&score(a))
                .then_with(|| a.order().cmp(&b.order()))
        });
        quotations.sort_by_key(|draft| {
            let promise = draft.passage.map(Passage::promise);
            (Reverse(promise), draft.order())
        });
        quotations.truncate(QUOTATIONS);
        drafts.extend(quotations);
        drafts
    }

    /// Returns the pairs to be measured, in order. A frame that both contents of a pair have does
    /// not count when their rarity is computed. If the options select the rows of a listing, a pair
    /// with nothing else in common is dropped.
    fn without_frames(&mut self) -> Result<Vec<Draft>, AskError> {
        let (snapshot, scoped) = (self.snapshot, self.scoped);
        let is_here = |content, key| match scoped {
            Some(scoped) if scoped.has(content) => {
                scoped.knows(snapshot, content, (PostingKind::Fingerprint, key))
            }
            _ => Ok(false),
        };
        let holders = ListedHolders {
            snapshot,
            is_here: scoped.map(|_| &is_here as &_),
        };
        let frames = Frames::among(snapshot, &holders);
        let mut drafts = self.ordered_drafts();
        let mut own: HashMap<Rendition, Frame> = HashMap::new();
        for draft in &mut drafts {
            let DraftSides::Contents(subject, _, row) = &draft.compared else {
                continue;
            };
            let compared = self.compared.get(&subject.rendition);
            let is_text = |found: &&ComparedRendition| found.kind == row.kind;
            let may_have = |found: &&ComparedRendition| found.nominees >= frame::LEAST;
            let Some(compared) = compared.filter(may_have).filter(is_text) else {
                continue;
            };
            if row.kind != ContentKind::Text || draft.estimate.relation == Some(Relation::SameText)
            {
                continue;
            }
            let samples = &compared.kept.sketch().signature.clone();
            let own = match own.entry(subject.rendition) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(frames.of_samples(samples)?),
            };
            if own.is_empty() {
                continue;
            }
            let other = snapshot.signature(row.id)?;
            draft.frame = own.and(&*frames.of(row.id, &other)?);
            let framed = draft.frame.rarity(samples, &other);
            draft.rarity_of_all = less_of(draft.rarity_of_all, framed);
        }
        if self.are_rows_listed() {
            let is_listed =
                |draft: &Draft| draft.rarity_of_all.is_none_or(|rarity| rarity.weight > 0.0);
            drafts.retain(|draft| draft.frame.is_empty() || is_listed(draft));
        }
        Ok(drafts)
    }

    pub(super) fn prove(&mut self) -> Result<(), AskError> {
        let drafts = self.without_frames()?;
        let pairs: Vec<UnmeasuredPair<'_>> = drafts
            .iter()
            .filter_map(|draft| match &draft.compared {
                DraftSides::Contents(subject, occurrence, row) => Some((subject, occurrence, row)),
                DraftSides::Members(..) => None,
            })
            .collect();
        let mut of_contents = self.prover.measure_all(&pairs)?.into_iter();
        for draft in drafts {
            let proven = match &draft.compared {
                DraftSides::Contents(..) => of_contents.next().flatten(),
                DraftSides::Members(ours, theirs) => {
                    self.prover.measure_members(ours, (draft.place, theirs))?
                }
            };
            let found = match proven {
                Some(proven) => Match {
                    rarity: draft.rarity_of_all,
                    has_rare_text: draft.passage.is_some(),
                    ..proven
                },
                None => match self.unproven(&draft)? {
                    Some(estimate) => estimate,
                    None => continue,
                },
            };
            let found = match &draft.compared {
                DraftSides::Contents(subject, _, row) => {
                    self.with_rare_words((subject, row), &draft.frame, found)?
                }
                DraftSides::Members(..) => found,
            };
            if self.is_common_text(&draft, &found)? {
                continue;
            }
            let raw = found.measures.containment();
            let discount = match (found.rarity, raw) {
                (Some(rarity), Some(raw)) if self.wanted == Wanted::Everything => {
                    let left = rarity.discounted(raw);
                    Counts::in_words(raw.into(), left.into(), rarity.contents)
                }
                _ => Discount::default(),
            };
            let found = Match { discount, ..found };
            self.offer(draft.place, found);
        }
        Ok(())
    }

    /// Returns the share of the subject's words that the other content has only in text that many
    /// files have. It is `None` if unknown. Also returns the weight of the common samples that
    /// still count.
    fn lost(
        &mut self,
        (subject, row): (&SubjectSide, &ContentRow),
        frame: &Frame,
    ) -> Result<(Option<f64>, f64), AskError> {
        let Some(compared) = self.compared.get(&subject.rendition) else {
            return Ok((None, 0.0));
        };
        let own = &compared.kept.signature;
        let other = self.snapshot.signature(row.id)?;
        let (losses, left) = compared.counts.losses((own, &other), frame);
        let level = own.level.max(other.level);
        let lost = self.prover.share_nearest(subject, level, &losses)?;
        Ok((lost, left))
    }

    /// Returns whether a pair that was measured because of a passage shares only common text.
    fn is_common_text(&mut self, draft: &Draft, found: &Match) -> Result<bool, AskError> {
        let DraftSides::Contents(subject, _, row) = &draft.compared else {
            return Ok(false);
        };
        let is_nominee = draft.could_relate && draft.passage.is_none();
        if is_nominee || found.is_estimate || found.rarity.is_none() {
            return Ok(false);
        }
        // A passage counts even if it lies in a frame, so no frame is subtracted.
        let (lost, _) = self.lost((subject, row), &Frame::default())?;
        let lost = lost.zip(found.measures.a_in_b);
        let size = found.sizes.0.0 as f64;
        Ok(lost.is_some_and(|(lost, share)| (share.get() - lost) * size < LEAST_PASSAGE))
    }

    /// Refines the rarity of a proven pair, if the pair is listed only because few other files have
    /// its text. The samples alone are too few for that decision. So the subject's words nearest to
    /// the samples of common text are counted.
    fn with_rare_words(
        &mut self,
        pair: (&SubjectSide, &ContentRow),
        frame: &Frame,
        found: Match,
    ) -> Result<Match, AskError> {
        let is_listed = |rarity| listing::is_listed(found.relation, &found.measures, rarity);
        let Some(rarity) = found.rarity.filter(|_| !found.is_estimate) else {
            return Ok(found);
        };
        let in_words = found.unit == Unit::Words;
        if !in_words || is_listed(Some(rarity)) || !is_listed(None) {
            return Ok(found);
        }
        let (lost, left) = self.lost(pair, frame)?;
        if left < 1.0 {
            return Ok(found);
        }
        let lost = lost.zip(found.measures.a_in_b);
        let by_words = lost.and_then(|(lost, share)| rarity.of_words(lost, share, found.sizes.0));
        Ok(Match {
            rarity: by_words.or(Some(rarity)),
            ..found
        })
    }

    /// Returns the row of a pair that was not read, if the pair has a row. Its figures are
    /// estimated again: the first estimate left boilerplate out and has no interval.
    fn unproven(&self, draft: &Draft) -> Result<Option<Match>, AskError> {
        let estimate = Match {
            rarity: draft.rarity_of_all,
            ..draft.estimate.clone()
        };
        let (subject, row) = match &draft.compared {
            DraftSides::Contents(subject, _, row) => (subject, row),
            DraftSides::Members(ours, (theirs, _)) => {
                let mut found = self.shown_of_members(draft.place, (ours, theirs))?;
                if let (ComparedSide::Held(ours), ComparedSide::Held(theirs), None) =
                    (ours, theirs, &found)
                {
                    found = self.shown_of_wholes(*ours, *theirs)?;
                    found = found.or_else(|| Some(draft.estimate.clone()));
                }
                return Ok(found);
            }
        };
        let own = self.compared.get(&subject.rendition);
        let Some(own) = own.filter(|_| estimate.relation != Some(Relation::SameText)) else {
            return Ok(Some(estimate));
        };
        let other = StoredSketch::of(self.snapshot, row)?;
        let other = (&Prepared::of(&other.sketch(), &NoBoilerplate), row.kind);
        let (a, b) = estimate.sizes;
        let unit = self.options.unit.into();
        let found = shown_prepared(unit, (own.with_boilerplate(), own.kind), other);
        let measures = found.measures;
        Ok(Some(Match {
            relation: similarity::relation(false, a, b, &measures, self.min_shared),
            measures,
            interval: Some(Box::new(found.interval)),
            ..estimate
        }))
    }

    /// Returns the match of two places by their wholes. It is shown if the two files are not read.
    fn shown_of_wholes(
        &self,
        ours: [Option<WholeDigest>; 2],
        theirs: [Option<WholeDigest>; 2],
    ) -> Result<Option<Match>, AskError> {
        let mut found = [None; 2];
        for (at, rendition) in [Rendition::WholeText, Rendition::WholeBytes]
            .into_iter()
            .enumerate()
        {
            let (Some(one), Some(other)) = (ours[at], theirs[at]) else {
                continue;
            };
            let Some(own) = self.compared.get(&rendition) else {
                return Ok(None);
            };
            let id = self.snapshot.content_by_digest(&other.digest)?;
            let row = id.map(|id| self.snapshot.content(id)).transpose()?;
            let Some(row) = row.flatten() else {
                return Ok(None);
            };
            let kept = StoredSketch::of(self.snapshot, &row)?;
            let (a, b) = (own.kept.sketch(), kept.sketch());
            let are_equal = one.digest == other.digest;
            let unit = self.options.unit.into();
            found[at] = Some(shown_whole(unit, (&a, own.kind), (&b, row.kind), are_equal));
        }
        Ok(shown_wholes(ours, theirs, found, self.min_shared))
    }
}
