//! `pairs`: every pair of files with something in common, however little.
//!
//! Made for scripts and for scoring: nothing is cut by a threshold unless one is given.
//!
//! 1. Each text is read once (`prove::texts`). Those that have enough rare shingles in common are
//!    looked at, and what two of them really have in common decides whether there is a row, and is
//!    its score.
//! 2. Everything else, and what there is too much of to be in memory at once, is nominated by what
//!    the index keeps (`candidates`): a chunk or two fingerprints in common. Of what is no text
//!    that must be more than strangers have in common (`nominate::kinship`). These pairs are read
//!    for one another, the best by their estimates first (`prove::pairwise`); what is beyond the
//!    budget keeps its estimate and says so.
//! 3. What stands for files (`renditions`) is among the contents. Whatever two files are met by,
//!    the best of it is their row (`meet`).

use std::cmp::Reverse;
use std::collections::HashSet;

use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::proof::{Proven, unit_of};
use resemble_core::similarity::{Estimated, Proof, Unit};
use resemble_core::{ByteLen, ContentId, ContentKind, Measures, Relation, Score, similarity};
use resemble_index::{ReadError, Snapshot};
use resemble_proto::message::{Answer, Layer, PairRow, PairScore, PairsRequest};
use resemble_scan::parts::PartReader;

use crate::ask::AskError;
use crate::judge::estimate::{enough_shared, estimate_in, shown_in};
use crate::judge::matched::{Match, all_words};
use crate::nominate::block::PostingBlock;
use crate::nominate::evidence::{Counts, Kept};
use crate::nominate::kinship::Kinships;
use crate::parallel::{ordered, threads};
use crate::prove::archives::Archives;
use crate::prove::contents::{ContentReader, WantedContent, WantedOfKind};
use crate::prove::exact::judged;
use crate::prove::pairwise::{COMPARED, DraftPair, MeasuredPair, OneByOne};
use crate::prove::read::LARGEST_READ;
use crate::prove::texts::{TEXTS_READ, Texts};
use crate::renditions::owners::RenditionOwners;
use crate::renditions::{Rendition, is_same_text, layer, same_words};
use crate::scope::{ScopedFile, ScopedFiles};

mod copies;
mod draft;
mod ways;

use copies::named_alike;
use draft::{PairDraft, row};
use ways::{Met, Pair, Way};

/// [`pairs_with_parts`], without a reader of documents.
pub fn pairs(snapshot: &Snapshot, request: &PairsRequest) -> Result<Answer<PairRow>, AskError> {
    pairs_with_parts(snapshot, request, None)
}

/// The pairs of the files in the request's scope, best first. `part_reader` takes documents apart
/// again, so that what their texts share is measured; without one it is estimated.
pub fn pairs_with_parts(
    snapshot: &Snapshot,
    request: &PairsRequest,
    part_reader: Option<&dyn PartReader>,
) -> Result<Answer<PairRow>, AskError> {
    let scoped = ScopedFiles::of(snapshot, &request.scope)?;
    let renditions = if request.text {
        RenditionOwners::of(snapshot, &scoped)?
    } else {
        RenditionOwners::default()
    };
    let reader = ContentReader {
        snapshot,
        scoped: &scoped,
        renditions: &renditions,
        part_reader,
    };
    let limit = snapshot.boilerplate_limit();
    let (mut kept, wanted) = keep(reader)?;
    let among = texts_among(request, reader, &wanted)?;
    let mut texts = Texts::read(reader, &among, !request.text, limit)?;
    // A template ends in the middle of a chunk, whose beginning is left of it in all payloads. Only
    // the samples say what of that is template.
    let marked: Vec<HashSet<u64>> = if snapshot.templates().is_empty() {
        Vec::new()
    } else {
        kept.iter().map(Kept::pieces).collect()
    };
    texts.take_over(&mut kept);
    let (block, counts) = PostingBlock::counting(kept, limit, snapshot.stop());
    let question = Question {
        snapshot,
        scoped: &scoped,
        renditions: &renditions,
        request,
        counts: &counts,
    };
    let by_text = texts.pairs(
        snapshot.stop(),
        WorkerPairs::default,
        |found, (a, b), proof, rarity| {
            let pair = (&block.kept[a], &block.kept[b]);
            if marked
                .get(a)
                .zip(marked.get(b))
                .is_some_and(|(a, b)| a.is_disjoint(b))
            {
                return Ok(());
            }
            if Unit::from(request.unit) == Unit::Bytes || texts.are_tables(a, b) {
                let estimate = Score::new(proof.containment());
                found.drafts.push(DraftPair { a, b, estimate });
            } else {
                let layer = if texts.is_decoded(a) || texts.is_decoded(b) {
                    Layer::Text
                } else {
                    Layer::Bytes
                };
                found.texts(&question, pair, (proof, layer), rarity);
            }
            Ok::<(), AskError>(())
        },
    )?;
    let kinships = Kinships::of(&block, limit);
    let by_samples = block.nominees(threads(), WorkerPairs::default, |found, a, b, common| {
        let pair = (&block.kept[a], &block.kept[b]);
        let is_candidate = if question.are_judged_by_windows(pair) {
            common.is_candidate() && kinships.are_kin((a, b), common)
        } else {
            common.is_candidate() || same_words(pair.0.words, pair.1.words)
        };
        if is_candidate && !(texts.has(a) && texts.has(b)) && question.meet(pair) {
            let estimate = question.estimate(pair).containment();
            let estimate = estimate.unwrap_or(Score::ZERO);
            found.drafts.push(DraftPair { a, b, estimate });
        }
        Ok::<(), AskError>(())
    })?;
    let unread_texts = std::mem::take(&mut texts.unread);
    let in_large_families = std::mem::take(&mut texts.in_large_families);
    let of_tables: Vec<DraftPair> = texts.tables().collect();
    // All texts at once are most of what a question takes; what follows needs them no more.
    drop(texts);
    let mut further = WorkerPairs::default();
    let mut found: Vec<WorkerPairs> = by_text.into_iter().chain(by_samples).collect();
    let mut drafts: Vec<DraftPair> = found
        .iter_mut()
        .flat_map(|part| part.drafts.drain(..))
        .chain(of_tables)
        .collect();
    drafts.sort_by_key(|draft| (draft.a, draft.b, Reverse(draft.estimate)));
    drafts.dedup_by_key(|draft| (draft.a, draft.b));
    let prover = OneByOne {
        reader,
        contents: &wanted,
        asked: request.unit.into(),
        budget: match request {
            PairsRequest { estimate: true, .. } => ByteLen::ZERO,
            PairsRequest { exact: true, .. } => ByteLen(u64::MAX),
            _ => COMPARED,
        },
    };
    let (measured, unread) = prover.prove(&drafts)?;
    for (draft, measured) in drafts.iter().zip(measured) {
        snapshot.stop().go_on()?;
        let pair = (&block.kept[draft.a], &block.kept[draft.b]);
        let by_kinship =
            request.score == PairScore::Discounted && question.are_judged_by_windows(pair);
        let kinship = by_kinship.then(|| kinships.kinship((draft.a, draft.b)));
        let kinship = kinship.flatten().map(Score::new);
        further.others(&question, pair, measured, kinship);
    }
    for content in &block.kept {
        snapshot.stop().go_on()?;
        further.same_content(&question, content);
    }
    found.push(further);

    let large = in_large_families.iter();
    let near_copies = large.map(|place| scoped.holders(block.kept[place as usize].id).count());
    let near_copies = near_copies.sum::<usize>() as u64;
    let mut errors = scoped.errors.clone();
    let mut matched = Vec::with_capacity(found.iter().map(|part| part.matched.len()).sum());
    for part in found {
        matched.extend(part.matched);
    }
    if request.exact {
        errors.extend(unread);
        errors.extend(unread_texts);
    }
    errors.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    errors.dedup();
    let mut rows = Vec::new();
    let matched = question.best_of(matched);
    let part_reader = part_reader.filter(|_| !request.estimate);
    let matched = question.by_members(matched, part_reader)?;
    for (owners, matched) in &matched {
        question.rows(*owners, matched, &mut rows);
    }
    rows.sort_by(PairDraft::compare);
    let rows = rows.iter().map(PairDraft::to_answer).collect();
    let mut answer = Answer::fresh(rows, errors).cut(request.top);
    answer.header.looked = Some(scoped.looked(snapshot));
    answer.header.near_copies = (near_copies > 0).then_some(near_copies);
    Ok(answer)
}

/// The contents that can be compared: those of the members and what stands for these, in the order
/// of the least paths that lead to them, so that nothing depends on when a file was read. Empty
/// files are counted, not grouped.
fn keep(reader: ContentReader<'_>) -> Result<(Vec<Kept>, Vec<WantedOfKind>), AskError> {
    let ContentReader {
        snapshot,
        scoped,
        renditions,
        ..
    } = reader;
    let mut contents = renditions.contents();
    contents.extend(scoped.contents());
    let path = |content: ContentId| {
        let owners = renditions.owners(content).iter().map(|&(owner, _)| owner);
        let holders = std::iter::once(content).chain(owners);
        let paths = holders.filter_map(|owner| scoped.holders(owner).next());
        paths
            .map(|holder| holder.path.as_os_str().as_encoded_bytes())
            .min()
    };
    let mut rows = Vec::new();
    for id in contents {
        let row = snapshot.content(id)?.filter(|row| row.size > ByteLen::ZERO);
        rows.extend(row.map(|row| (path(id), row)));
    }
    rows.sort_by(|a, b| (a.0, a.1.digest.0).cmp(&(b.0, b.1.digest.0)));
    let mut kept = Vec::with_capacity(rows.len());
    let mut wanted = Vec::with_capacity(rows.len());
    for (_, row) in rows {
        kept.push(Kept::of(snapshot, &row)?);
        wanted.push((WantedContent::of(&row), row.kind));
    }
    Ok((kept, wanted))
}

/// The texts that are read at once, by place: all, if they are not too much. Where no reader of
/// documents has looked for them, those in other encodings are among them.
fn texts_among(
    request: &PairsRequest,
    reader: ContentReader<'_>,
    wanted: &[WantedOfKind],
) -> Result<Vec<Option<WantedContent>>, AskError> {
    let is_text = |place: usize, (): &mut ()| {
        let (content, kind) = &wanted[place];
        Ok::<_, AskError>(
            content.size <= LARGEST_READ
                && (*kind == ContentKind::Text || !request.text && reader.is_encoded(content)?),
        )
    };
    let are_texts = ordered(wanted.len(), || (), is_text)?;
    let texts = wanted.iter().zip(are_texts);
    let texts = texts.map(|((content, _), is_text)| is_text.then_some(*content));
    let texts: Vec<Option<WantedContent>> = texts.collect();
    let all: ByteLen = texts.iter().flatten().map(|content| content.size).sum();
    if request.estimate || all > TEXTS_READ && !request.exact {
        return Ok(Vec::new());
    }
    Ok(texts)
}

/// All that the pairs of a question depend on.
#[derive(Clone, Copy)]
struct Question<'a> {
    snapshot: &'a Snapshot,
    scoped: &'a ScopedFiles,
    renditions: &'a RenditionOwners,
    request: &'a PairsRequest,
    counts: &'a Counts,
}

impl<'a> Question<'a> {
    fn min_shared(&self) -> ByteLen {
        self.request
            .min_shared
            .map_or(Relation::MIN_SHARED, ByteLen)
    }

    /// The files that a content stands for, and as what, by their contents.
    fn owners(&self, content: ContentId) -> impl Iterator<Item = (ContentId, Rendition)> {
        let own = self.scoped.has_file_of(content);
        let own = own.then_some((content, Rendition::Own)).into_iter();
        own.chain(self.renditions.owners(content).iter().copied())
    }

    /// Whether two files are compared by these renditions of theirs, which are of these kinds.
    fn are_compared(
        &self,
        (one, kind): ((ContentId, Rendition), ContentKind),
        (other, other_kind): ((ContentId, Rendition), ContentKind),
    ) -> bool {
        if one.1.is_whole() || other.1.is_whole() {
            return one.1 == other.1;
        }
        // What has renditions besides its own bytes is known by these.
        let faces = |owner, kind| self.renditions.faces(owner, kind);
        let (ours, theirs) = (faces(one.0, kind), faces(other.0, other_kind));
        // What holds members is compared by these; its text is a reason to look.
        ours.meeting(theirs) == (one.1, other.1)
    }

    /// Whether two contents stand for two files that are compared by them.
    fn meet(&self, (a, b): (&Kept, &Kept)) -> bool {
        self.meetings((a, b)).next().is_some()
    }

    /// The files that two contents stand for, as far as these are compared by them.
    fn meetings(
        &self,
        (a, b): (&Kept, &Kept),
    ) -> impl Iterator<Item = ((ContentId, Rendition), (ContentId, Rendition))> {
        let kinds = (a.kind, b.kind);
        let (a, b) = (a.id, b.id);
        let pairs = self.owners(a).flat_map(move |one| {
            let others = self.owners(b);
            others.map(move |other| (one, other))
        });
        pairs.filter(move |&(one, other)| {
            one.0 != other.0 && self.are_compared((one, kinds.0), (other, kinds.1))
        })
    }

    /// What the samples say of two contents.
    fn estimate(&self, (a, b): (&Kept, &Kept)) -> Measures {
        let asked = self.request.unit.into();
        let (one, other) = (a.sketch(), b.sketch());
        estimate_in(asked, (&one, a.kind), (&other, b.kind), self.counts)
    }

    /// What sorts, if anything is known of it.
    fn score(&self, matched: &Match) -> Option<Score> {
        self.score_by(&matched.measures, matched)
    }

    /// What ranks: of an estimate what the score is at least.
    fn rank(&self, matched: &Match) -> Option<Score> {
        self.score_by(&matched.least(), matched)
    }

    fn score_by(&self, measures: &Measures, matched: &Match) -> Option<Score> {
        let told = match self.request.score {
            PairScore::Containment => measures.containment(),
            PairScore::Resemblance => measures.resemblance,
            PairScore::Discounted => matched.rare.or(measures.containment()),
        };
        // What is too small to judge by a sample is not when it was read.
        told.or_else(|| {
            let (containment, resemblance) = matched.read?;
            Some(match self.request.score {
                PairScore::Resemblance => resemblance,
                PairScore::Containment | PairScore::Discounted => containment,
            })
        })
    }

    /// Whether a pair is shown.
    fn passes(&self, matched: &Match) -> bool {
        let equal = matches!(
            matched.relation,
            Some(Relation::Identical | Relation::SameText)
        );
        let score = self.score(matched);
        score.is_some_and(|score| self.request.min.accepts(score))
            && (equal
                || (matched.read.is_some() && self.request.min_shared.is_none())
                || enough_shared(matched.sizes, &matched.measures, self.min_shared()))
    }

    /// Whether the file of a content is compared by its members.
    fn holds_members(&self, owner: ContentId) -> bool {
        self.renditions.wholes(owner).iter().any(Option::is_some)
    }

    /// Measures archives and mails by their members. What is left of all pairs is shown.
    fn by_members(
        &self,
        mut matched: Vec<Met>,
        part_reader: Option<&dyn PartReader>,
    ) -> Result<Vec<Met>, ReadError> {
        if let Some(part_reader) = part_reader {
            let files = (self.snapshot, self.scoped);
            let mut archives = Archives::of(files, self.renditions, part_reader);
            for (owners, matched) in &mut matched {
                let holds = (self.holds_members(owners.0), self.holds_members(owners.1));
                // Of two archives that is said of equal members.
                let is_known =
                    holds == (true, true) && matched.relation == Some(Relation::SameText);
                if owners.0 == owners.1 || holds == (false, false) || is_known {
                    continue;
                }
                self.snapshot.stop().go_on()?;
                let unit = self.request.unit.into();
                if let Some(found) = archives.measure(*owners, unit, self.min_shared())? {
                    *matched = Match {
                        is_estimate: false,
                        unit: found.unit,
                        ..Match::new(found.relation, Layer::Text, found.measures, found.sizes)
                    };
                }
            }
        }
        matched.retain(|(_, matched)| self.passes(matched));
        Ok(matched)
    }

    /// A row for each two files; of several identical ones one for all, unless all are asked for.
    fn rows<'m>(
        &self,
        (a, b): (ContentId, ContentId),
        matched: &'m Match,
        rows: &mut Vec<PairDraft<'m>>,
    ) where
        'a: 'm,
    {
        let Some(scores) = self.score(matched).zip(self.rank(matched)) else {
            return;
        };
        let scoped: &'m ScopedFiles = self.scoped;
        let holders = |content| scoped.holders(content).collect::<Vec<&'m ScopedFile>>();
        let (ones, others) = (holders(a), holders(b));
        if a == b && ones.len() > 2 && !self.request.all {
            let Some((one, other)) = named_alike(&ones) else {
                return;
            };
            let mut of_all = row((one, other), scores, matched);
            of_all.copies = Some(ones.len() as u64);
            rows.push(of_all);
            return;
        }
        for (at, &one) in ones.iter().enumerate() {
            let others = if a == b { &ones[at + 1..] } else { &others[..] };
            for &other in others {
                rows.push(row((one, other), scores, matched));
            }
        }
    }
}

/// What one worker found.
#[derive(Default)]
struct WorkerPairs {
    matched: Vec<Pair>,
    /// Pairs that are still to be measured.
    drafts: Vec<DraftPair>,
}

impl WorkerPairs {
    /// Keeps a pair of texts, with all that they have in common and how rare that is.
    fn texts(
        &mut self,
        question: &Question<'_>,
        (a, b): (&Kept, &Kept),
        (proof, layer): (&Proof, Layer),
        rarity: Option<Rarity>,
    ) {
        let sizes = (a.size, b.size);
        let proven = Proven::of_common(&proof.common, sizes);
        let found = judged(proven, sizes, question.min_shared());
        let below = |share| Score::new(share).min(Score::ALL_BUT_IDENTICAL);
        let is_rare = question.request.score == PairScore::Discounted;
        let matched = Match {
            is_estimate: false,
            unit: found.unit,
            read: Some((below(proof.containment()), below(proof.resemblance()))),
            rare: is_rare.then(|| Score::new(proof.kinship)),
            rarity,
            ..Match::new(found.relation, layer, found.measures, sizes)
        };
        self.meet(question, (a, b), &matched);
    }

    /// Keeps a pair of which the contents were measured for one another, or could not be.
    /// `kinship`: what sorts it, if that was asked for and is known of what is no text.
    fn others(
        &mut self,
        question: &Question<'_>,
        (a, b): (&Kept, &Kept),
        measured: MeasuredPair,
        kinship: Option<Score>,
    ) {
        let counts = question.counts;
        let sketches = (a.sketch(), b.sketch());
        let unit = question.request.unit.into();
        let matched = if let Some((proven, sizes)) = measured {
            let found = judged(proven, sizes, question.min_shared());
            Match {
                is_estimate: false,
                unit: found.unit,
                ..Match::new(found.relation, Layer::Bytes, found.measures, sizes)
            }
        } else {
            let sizes = (a.size, b.size);
            let Estimated { measures, interval } =
                shown_in(unit, (&sketches.0, a.kind), (&sketches.1, b.kind));
            let least = question.min_shared();
            let relation = similarity::relation(false, sizes.0, sizes.1, &measures, least);
            let found = Match {
                unit: unit_of(a.kind, b.kind, unit),
                interval: Some(Box::new(interval)),
                ..Match::new(relation, Layer::Bytes, measures, sizes)
            };
            if same_words(a.words, b.words) {
                Match {
                    relation: Some(Relation::SameText),
                    measures: all_words(&measures),
                    interval: None,
                    ..found
                }
            } else {
                found
            }
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

    /// Keeps what was found of two contents for all files that they stand for.
    fn meet(&mut self, question: &Question<'_>, (a, b): (&Kept, &Kept), found: &Match) {
        for (one, other) in question.meetings((a, b)) {
            if one.1.is_whole() {
                let at = usize::from(one.1 == Rendition::WholeBytes);
                self.keep(one.0, other.0, Way::Part(at, found.measures));
                continue;
            }
            // What is shown nowhere needs no memory.
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

    /// Keeps a way in which two files meet, the lesser first.
    fn keep(&mut self, a: ContentId, b: ContentId, way: Way) {
        let pair = if a <= b {
            ((a, b), way)
        } else {
            ((b, a), way.swapped())
        };
        self.matched.push(pair);
    }

    /// The files that one and the same content stands for.
    fn same_content(&mut self, question: &Question<'_>, content: &Kept) {
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
                if one.0 == other.0 || !one.1.meets(other.1) {
                    continue;
                }
                let way = if one.1.is_whole() {
                    Way::Part(usize::from(one.1 == Rendition::WholeBytes), measures)
                } else if is_same_text(one.1, other.1, content.whole) {
                    // Equal is what they hold, and not the files.
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
