//! `pairs`: every pair of files with something in common, however little.
//!
//! Made for scripts and for scoring: nothing is cut by a threshold unless one is given.
//!
//! 1. The signatures of the files in question are taken into memory, and posting lists are made of
//!    them (`candidates`).
//! 2. Keys that more contents than the limit have are boilerplate, counted among these files alone.
//! 3. Of texts one common fingerprint is enough to look: each text is read once (`texts`), and what
//!    two of them really have in common decides whether there is a row, and is its score. Of
//!    everything else, and where there is too much to read, pairs with a chunk or two fingerprints
//!    in common are estimated.
//! 4. What stands for files (`renditions`) is among the contents. Whatever two files are met by,
//!    the best of it is their row (`met`).

use std::path::Path;

use resemble_core::similarity::proof::unit_of;
use resemble_core::similarity::{LEAST_JUDGED, Proof, Sketch, Unit, shared_chunk_bytes};
use resemble_core::{ByteLen, ContentId, ContentKind, Measures, Relation, Score, rank, similarity};
use resemble_index::{ReadError, Snapshot};
use resemble_proto::message::{
    Answer, Layer, MeasureUnit, PairRow, PairScore, PairsRequest, SoftError,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_scan::parts::PartReader;

use crate::ask::{AskError, soft_error};
use crate::judge::estimate::{enough_shared, estimate_in};
use crate::judge::matched::{Match, all_words, match_of_wholes};
use crate::nominate::block::{Common, PostingBlock};
use crate::nominate::evidence::{Counts, Kept};
use crate::parallel::threads;
use crate::prove::archives::Archives;
use crate::prove::exact::prove_once;
use crate::prove::read::{LARGEST_READ, bytes_of};
use crate::prove::texts::{Compared, Texts};
use crate::renditions::owners::RenditionOwners;
use crate::renditions::{Rendition, is_same_text, layer, same_words};
use crate::scope::{ScopedFile, ScopedFiles};

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
    let kept = keep(snapshot, &scoped, &renditions)?;
    let (block, counts) =
        PostingBlock::counting(kept, snapshot.boilerplate_limit(), snapshot.stop());
    let files = (snapshot, &scoped);
    let texts = Texts::read(files, &renditions, part_reader, &block.kept)?;
    let question = Question {
        snapshot,
        scoped: &scoped,
        renditions: &renditions,
        request,
        counts: &counts,
    };
    let table = || texts.table(snapshot.boilerplate_limit());
    let start = || (WorkerPairs::default(), table());
    let found = block.nominees(threads(), start, |(found, table), a, b, common| {
        let pair = (&block.kept[a], &block.kept[b]);
        let proof = match table.compare(a, b, common) {
            Compared::Proven(proof) => Some(proof),
            Compared::Unknown if common.is_candidate() => None,
            _ if same_words(pair.0.words, pair.1.words) => None,
            Compared::Unknown | Compared::Strangers => return Ok(()),
        };
        found.pair(&question, pair, proof);
        Ok::<(), AskError>(())
    })?;
    let mut found: Vec<WorkerPairs> = found.into_iter().map(|(found, _)| found).collect();
    let limit = snapshot.boilerplate_limit();
    let missed = texts.of_small_ones(limit, snapshot.stop())?;
    let (mut further, mut table) = start();
    for of_one in missed.chunk_by(|x, y| x.0 == y.0) {
        snapshot.stop().go_on()?;
        let pieces = block.kept[of_one[0].0].pieces();
        for &(a, b) in of_one {
            let pair = (&block.kept[a], &block.kept[b]);
            // Those were nominated.
            if pair.1.has_any(&pieces) {
                continue;
            }
            if let Compared::Proven(proof) = table.compare(a, b, Common::WORTH_A_LOOK) {
                further.pair(&question, pair, Some(proof));
            }
        }
    }
    found.push(further);
    let mut equal = WorkerPairs::default();
    for content in &block.kept {
        snapshot.stop().go_on()?;
        equal.same_content(&question, content);
    }
    found.push(equal);

    let mut errors = scoped.errors.clone();
    let mut matched = Vec::new();
    for part in found {
        matched.extend(part.matched);
        errors.extend(part.errors);
    }
    errors.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    errors.dedup();
    let mut rows = Vec::new();
    let matched = question.best_of(matched);
    let matched = question.by_members(matched, part_reader)?;
    for (owners, matched) in &matched {
        question.rows(*owners, matched, &mut rows);
    }
    rows.sort_by(PairDraft::compare);
    let rows = rows.iter().map(PairDraft::to_answer).collect();
    let mut answer = Answer::fresh(rows, errors).cut(request.top);
    answer.header.looked = Some(scoped.looked(snapshot));
    Ok(answer)
}

/// The contents that can be compared, by id: those of the members and what stands for these. Empty
/// files are counted, not grouped.
fn keep(
    snapshot: &Snapshot,
    scoped: &ScopedFiles,
    renditions: &RenditionOwners,
) -> Result<Vec<Kept>, ReadError> {
    let mut contents = renditions.contents();
    contents.extend(scoped.contents());
    let mut kept = Vec::new();
    for id in contents {
        let Some(row) = snapshot.content(id)? else {
            continue;
        };
        if row.size > ByteLen::ZERO {
            kept.push(Kept::of(snapshot, &row)?);
        }
    }
    Ok(kept)
}

/// A pair of files before it is an answer; `a` has the lesser path.
struct PairDraft<'a> {
    a: &'a Path,
    b: &'a Path,
    matched: &'a Match,
    score: Score,
    relation: Option<Relation>,
    measures: Measures,
    /// So many files have the bytes of both, if the row is that of all of them.
    copies: Option<u64>,
}

impl PairDraft<'_> {
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        rank::compare(
            (
                self.score,
                &self.measures,
                self.a.as_os_str().as_encoded_bytes(),
            ),
            (
                other.score,
                &other.measures,
                other.a.as_os_str().as_encoded_bytes(),
            ),
        )
        .then_with(|| {
            self.b
                .as_os_str()
                .as_encoded_bytes()
                .cmp(other.b.as_os_str().as_encoded_bytes())
        })
    }

    fn to_answer(&self) -> PairRow {
        PairRow {
            a: PathText::from(self.a),
            b: PathText::from(self.b),
            relation: self.relation,
            unit: self.matched.unit.into(),
            estimate: self.matched.is_estimate,
            identical: self.matched.relation == Some(Relation::Identical),
            layer: self.matched.layer,
            copies: self.copies,
            score: Fraction::from(self.score),
            a_in_b: Fraction::from(self.measures.a_in_b),
            b_in_a: Fraction::from(self.measures.b_in_a),
            resemblance: Fraction::from(self.measures.resemblance),
            shared_bytes: self.measures.shared_bytes.0,
            discount: self.matched.discount.clone(),
        }
    }
}

/// The contents of two files, the lesser first, and one way in which these meet.
type Pair = ((ContentId, ContentId), Way);

/// The contents of two files, and how these meet.
type Met = ((ContentId, ContentId), Match);

/// One way in which two files meet.
enum Way {
    Whole(Match),
    /// By one of the wholes of both: of texts or of all else.
    Part(usize, Measures),
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

    /// What sorts, if anything is known of it.
    fn score(&self, matched: &Match) -> Option<Score> {
        let measures = &matched.measures;
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

    /// The best way in which each pair of files meets.
    fn best_of(&self, mut matched: Vec<Pair>) -> Vec<Met> {
        matched.sort_by_key(|&(owners, _)| owners);
        let mut best = Vec::new();
        let mut ways = matched.into_iter().peekable();
        while let Some((owners, way)) = ways.next() {
            let (mut found, mut parts) = (None::<Match>, [None, None]);
            let mut next = Some(way);
            while let Some(way) = next {
                match way {
                    Way::Part(at, measures) => parts[at] = Some(measures),
                    Way::Whole(matched) => {
                        if found
                            .as_ref()
                            .is_none_or(|found| matched.is_better_than(found))
                        {
                            found = Some(matched);
                        }
                    }
                }
                next = ways.next_if(|other| other.0 == owners).map(|other| other.1);
            }
            let hold_members = self.holds_members(owners.0) && self.holds_members(owners.1);
            if owners.0 != owners.1 && hold_members {
                let (a, b) = (
                    self.renditions.wholes(owners.0),
                    self.renditions.wholes(owners.1),
                );
                found = match_of_wholes(a, b, parts, self.min_shared());
                if let Some(found) = &mut found
                    && self.request.unit == MeasureUnit::Bytes
                {
                    found.unit = Unit::Bytes;
                }
            }
            best.extend(found.map(|matched| (owners, matched)));
        }
        best
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
        let Some(score) = self.score(matched) else {
            return;
        };
        let scoped: &'m ScopedFiles = self.scoped;
        let holders = |content| scoped.holders(content).collect::<Vec<&'m ScopedFile>>();
        let (ones, others) = (holders(a), holders(b));
        if a == b && ones.len() > 2 && !self.request.all {
            let copies = Some(ones.len() as u64);
            let of_all = row((ones[0], ones[1]), score, matched);
            rows.push(PairDraft { copies, ..of_all });
            return;
        }
        for (at, &one) in ones.iter().enumerate() {
            let others = if a == b { &ones[at + 1..] } else { &others[..] };
            for &other in others {
                rows.push(row((one, other), score, matched));
            }
        }
    }
}

/// The measures of two texts that were read: what they share is known. Of bytes no more is than
/// what chunks prove.
fn proven(proof: &Proof, (a, b): (&Sketch<'_>, &Sketch<'_>), counts: &Counts) -> Measures {
    let judged = a.size >= LEAST_JUDGED && b.size >= LEAST_JUDGED;
    let share = |share: f64| judged.then(|| Score::new(share).min(Score::ALL_BUT_IDENTICAL));
    Measures {
        a_in_b: share(proof.a_in_b),
        b_in_a: share(proof.b_in_a),
        resemblance: share(proof.resemblance),
        shared_bytes: shared_chunk_bytes(a.chunks, b.chunks, counts),
    }
}

/// What one worker found.
#[derive(Default)]
struct WorkerPairs {
    matched: Vec<Pair>,
    errors: Vec<SoftError>,
}

impl WorkerPairs {
    /// Measures a pair of contents for all files that they stand for; with the proof of what two
    /// texts have in common.
    fn pair(&mut self, question: &Question<'_>, (a, b): (&Kept, &Kept), proof: Option<Proof>) {
        let counts = question.counts;
        let unit = question.request.unit.into();
        let measures = match &proof {
            Some(proof) => proven(proof, (&a.sketch(), &b.sketch()), counts),
            None => estimate_in(unit, (&a.sketch(), a.kind), (&b.sketch(), b.kind), counts),
        };
        let read = proof.map(|proof| {
            (
                Score::new(proof.a_in_b.max(proof.b_in_a)).min(Score::ALL_BUT_IDENTICAL),
                Score::new(proof.resemblance).min(Score::ALL_BUT_IDENTICAL),
            )
        });
        let rare = match (question.request.score, &proof) {
            (PairScore::Discounted, Some(proof)) => Some(Score::new(proof.kinship)),
            (PairScore::Discounted, None) => measures.containment().map(|raw| {
                let rarity = counts.rarity(&a.sketch(), &b.sketch());
                rarity.map_or(raw, |rarity| rarity.discounted(raw))
            }),
            _ => None,
        };
        let sizes = (a.size, b.size);
        let mut discount = None;
        for one in question.owners(a.id) {
            for other in question.owners(b.id) {
                if one.0 == other.0 || !question.are_compared((one, a.kind), (other, b.kind)) {
                    continue;
                }
                let (mut measures, mut sizes) = (measures, sizes);
                let mut is_estimate = proof.is_none();
                let own = (one.1, other.1) == (Rendition::Own, Rendition::Own);
                let small = a.whole <= LARGEST_READ && b.whole <= LARGEST_READ;
                let is_asked = question.request.exact || unit == Unit::Bytes;
                if own && is_asked && small {
                    let Some((one, other)) = self.read_both(question.scoped, a, b) else {
                        continue;
                    };
                    let templates = question.snapshot.templates();
                    let least = question.min_shared();
                    let found = prove_once(templates, (one, other), unit, least);
                    (measures, sizes) = (found.measures, found.sizes);
                    is_estimate = false;
                    // Files that share nothing to the byte may still be one text.
                    if proof.is_none() && measures.shared_bytes == ByteLen::ZERO {
                        continue;
                    }
                }
                if one.1.is_whole() {
                    let at = usize::from(one.1 == Rendition::WholeBytes);
                    self.keep(one.0, other.0, Way::Part(at, measures));
                    continue;
                }
                let relation = if same_words(a.words, b.words) {
                    Some(Relation::SameText)
                } else {
                    let least = question.min_shared();
                    similarity::relation(false, sizes.0, sizes.1, &measures, least)
                };
                let matched = Match {
                    read,
                    rare,
                    unit: unit_of(a.kind, b.kind, unit),
                    is_estimate,
                    ..Match::new(relation, layer(one.1, other.1), measures, sizes)
                };
                // What is shown nowhere needs no memory.
                if question.passes(&matched) {
                    let score = question.score(&matched);
                    let discount = discount
                        .get_or_insert_with(|| counts.discount(&a.sketch(), &b.sketch(), score));
                    let discount = discount.clone();
                    self.keep(
                        one.0,
                        other.0,
                        Way::Whole(Match {
                            discount,
                            ..matched
                        }),
                    );
                }
            }
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

    /// The bytes of one file of each content; `None` (and an error row) if one cannot be read.
    fn read_both(
        &mut self,
        scoped: &ScopedFiles,
        a: &Kept,
        b: &Kept,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut read = |content: &Kept| {
            let path = &scoped.holders(content.id).next()?.path;
            bytes_of(path)
                .map_err(|error| self.errors.push(soft_error(path, &error)))
                .ok()
        };
        Some((read(a)?, read(b)?))
    }
}

impl Way {
    fn swapped(self) -> Self {
        match self {
            Self::Part(at, measures) => Self::Part(at, measures.swapped()),
            Self::Whole(matched) => Self::Whole(Match {
                relation: matched.relation.map(Relation::swapped),
                measures: matched.measures.swapped(),
                sizes: (matched.sizes.1, matched.sizes.0),
                ..matched
            }),
        }
    }
}

/// The row of two files; the measures are those of (one, other).
fn row<'a>(
    (one, other): (&'a ScopedFile, &'a ScopedFile),
    score: Score,
    matched: &'a Match,
) -> PairDraft<'a> {
    let raw = |member: &'a ScopedFile| member.path.as_os_str().as_encoded_bytes();
    let swapped = raw(one) > raw(other);
    let (one, other) = if swapped { (other, one) } else { (one, other) };
    PairDraft {
        a: &one.path,
        b: &other.path,
        matched,
        copies: None,
        score,
        relation: if swapped {
            matched.relation.map(Relation::swapped)
        } else {
            matched.relation
        },
        measures: if swapped {
            matched.measures.swapped()
        } else {
            matched.measures
        },
    }
}
