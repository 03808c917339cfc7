//! `pairs`: lists every pair of files that have something in common, even if it is little.
//!
//! The question is made for scripts and for scoring. So no threshold applies unless the user gives
//! one.
//!
//! 1. Each text is read once (`prove::texts`). Texts with enough common shingles are compared.
//!    Their common content, not an estimate, decides whether the pair has a row, and determines the
//!    score. Data is read as well. A text and data are paired by their words, and their measures
//!    count bytes.
//! 2. All other contents, and texts that do not fit into memory, are nominated by the index
//!    (`candidates`): by one common chunk or two fingerprints. Contents that are not texts must
//!    share more than unrelated contents do (`nominate::kinship`). Here, too, a family of
//!    near-copies (`nominate::families`) counts once. Families of more than 1,000 contents are
//!    connected by their leaders and by neighbours. The nominated pairs are then read, the best
//!    estimates first (`prove::many`). Pairs beyond the budget keep their estimates and are marked.
//! 3. The contents include the renditions of files (`renditions`). If two files are matched in
//!    several ways, the best match is their row (`ways`).

use std::borrow::Cow;
use std::collections::HashSet;

use resemble_core::{ByteLen, ContentId, ContentKind};
use resemble_index::Snapshot;
use resemble_proto::message::{Answer, Header, PairRow, PairsRequest, SoftError};
use resemble_scan::parts::PartReader;

mod draft;
mod question;
mod search;
mod ways;
mod worker;

use draft::{PairDraft, RowTexts, StatedDates};
use question::Question;
use resemble_relate::AskError;
use resemble_relate::copies;
use resemble_relate::judge::matched::Match;
use resemble_relate::nominate::block::PostingBlock;
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::nominate::families::LARGE;
use resemble_relate::parallel::{in_a_step, named, ordered};
use resemble_relate::prove::contents::{ContentReader, WantedContent, WantedOfKind};
use resemble_relate::prove::cost::COMPARED;
use resemble_relate::prove::many::{MeasuredPair, PairProver};
use resemble_relate::prove::read::{LARGEST_READ, OpenFolders};
use resemble_relate::prove::texts::{TEXTS_READ, Texts};
use resemble_relate::renditions::owners::RenditionOwners;
use resemble_relate::scope::ScopedFiles;
use search::{FoundPairs, PairSearch};
use worker::WorkerPairs;

/// The contents of two files, and their match.
type PairMatch = ((ContentId, ContentId), Match);

/// Calls `take` with the pairs of the files in the request's scope, best first. `part_reader`
/// extracts documents again, so that their common text is measured; without one it is estimated.
/// Each row is made when the iterator reaches it, because there may be very many rows.
pub fn pairs_to<R>(
    snapshot: &Snapshot,
    request: &PairsRequest,
    part_reader: Option<&dyn PartReader>,
    take: impl FnOnce(Header, &mut dyn Iterator<Item = PairRow>, Vec<SoftError>) -> R,
) -> Result<R, AskError> {
    let scoped = ScopedFiles::of(snapshot, &request.scope)?;
    let renditions = match (request.text, request.archives) {
        (false, _) => RenditionOwners::default(),
        (true, false) => RenditionOwners::of_documents(snapshot, &scoped)?,
        (true, true) => RenditionOwners::of(snapshot, &scoped)?,
    };
    let folders = OpenFolders::default();
    let reader = ContentReader {
        snapshot,
        scoped: &scoped,
        renditions: &renditions,
        folders: &folders,
        part_reader,
    };
    let limit = snapshot.boilerplate_limit();
    let (mut kept, wanted, mut stated) = keep(reader)?;
    if !request.text {
        // This question reads no document, but the index may know dates of documents from another
        // question.
        stated.clear();
    }
    let among = texts_among(request, reader, &wanted)?;
    let mut texts = Texts::read(reader, &among, !request.text, limit)?;
    // If the shingles of a template are not known, the beginning of the template's last chunk stays
    // in all payloads. Then only the samples show which words lie outside the template.
    let outside_templates: Vec<HashSet<u64>> = if snapshot.templates().are_all_in_words() {
        Vec::new()
    } else {
        kept.iter().map(StoredSketch::pieces).collect()
    };
    texts.take_over(&mut kept);
    let prover = (!request.estimate).then(|| PairProver::new(reader, None));
    let families = copies::families(&kept, snapshot, prover.as_ref())?;
    let large = families.of_more_than(LARGE);
    copies::leave_to_leaders(&mut kept, &families, &large);
    let (block, counts) = PostingBlock::counting(kept, &families, limit, snapshot.stop());
    drop((families, prover));
    let question = Question {
        snapshot,
        scoped: &scoped,
        renditions: &renditions,
        request,
        counts: &counts,
    };
    let search = PairSearch {
        question,
        block: &block,
        texts: &texts,
        outside_templates: &outside_templates,
    };
    let mut found = search.found(&large)?;
    let unread_texts = std::mem::take(&mut texts.unread);
    let in_large_families = std::mem::take(&mut texts.in_large_families);
    let were_read: Vec<bool> = (0..block.kept.len())
        .map(|place| texts.has(place))
        .collect();
    // The texts take most of a question's memory, and are no longer needed.
    drop(texts);
    let prover = PairProver::new(reader, None).asked(request.unit.into());
    let budget = match request {
        PairsRequest { estimate: true, .. } => ByteLen::ZERO,
        PairsRequest { exact: true, .. } => ByteLen(u64::MAX),
        _ => COMPARED,
    };
    let (measured, unread) = prover.measure_best(&wanted, &found.drafts, budget)?;
    drop(prover);
    let drafts = of_drafts(&question, (&block, &were_read), &found, measured)?;
    found.by_thread.push(drafts);

    let mut cut = in_large_families;
    let large = large.into_iter().flat_map(|(_, members)| members);
    large.for_each(|place| cut.insert(place));
    let cut = cut.iter().map(|place| block.kept[place as usize].id);
    let mut errors = scoped.errors.clone();
    if request.exact {
        errors.extend(unread);
        errors.extend(unread_texts);
    }
    errors.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    errors.dedup();
    let part_reader = part_reader.filter(|_| !request.estimate);
    let matched = found.by_thread.into_iter().flat_map(|part| part.matched);
    let matched = question.best_of(matched.collect());
    let matched = question.by_members(matched, part_reader)?;
    let siblings = question.siblings(part_reader)?;
    let mut rows = Vec::new();
    for (owners, matched) in &matched {
        question.rows(*owners, matched, &mut rows);
    }
    for container in &siblings {
        question.rows_within(container, &mut rows);
    }
    PairDraft::sort(&mut rows, request.order);
    let mut answer = Answer::fresh(rows, errors).cut(request.top);
    answer.header.looked = Some(scoped.looked(snapshot));
    answer.header.near_copies = files_of(&scoped, cut);
    answer.header.unopened = files_of(&scoped, renditions.unopened());
    let mut known = RowTexts::of(stated);
    let rows = answer.rows.iter();
    let mut rows = rows.map(|row| row.to_answer(&mut known));
    Ok(take(answer.header, &mut rows, answer.errors))
}

/// Returns the pairs of the drafts, with their measures. A pair that was not measured has an
/// estimate. Also returns the pairs of files with equal contents.
fn of_drafts(
    question: &Question<'_>,
    (block, were_read): (&PostingBlock, &[bool]),
    found: &FoundPairs,
    measured: Vec<MeasuredPair>,
) -> Result<WorkerPairs, AskError> {
    let snapshot = question.snapshot;
    let mut pairs = WorkerPairs::default();
    // The block has only some samples of a text that was read. If the pair was not measured, its
    // estimate needs all samples.
    let whole = |place: usize, is_measured: bool| {
        let kept = &block.kept[place];
        if is_measured || !were_read[place] {
            return Ok(Cow::Borrowed(kept));
        }
        kept.whole_again(snapshot).map(Cow::Owned)
    };
    for (draft, measured) in found.drafts.iter().zip(measured) {
        snapshot.stop().go_on()?;
        let is_measured = measured.is_some();
        let (a, b) = (whole(draft.a, is_measured)?, whole(draft.b, is_measured)?);
        let kinship = found.kinships.get(&(draft.a, draft.b)).copied();
        pairs.others(question, (&*a, &*b), measured, kinship);
    }
    for content in &block.kept {
        snapshot.stop().go_on()?;
        pairs.same_content(question, content);
    }
    Ok(pairs)
}

/// Counts the files with these contents; `None` if there are none.
fn files_of(scoped: &ScopedFiles, contents: impl Iterator<Item = ContentId>) -> Option<u64> {
    let files: usize = contents.map(|one| scoped.holders(one).count()).sum();
    (files > 0).then_some(files as u64)
}

/// Returns the contents that can be compared: those of the files in scope, and their renditions.
/// They are in the order of the first path that leads to each content. So the order does not depend
/// on when a file was read. Empty files are left out. Also returns the dates that documents state.
fn keep(
    reader: ContentReader<'_>,
) -> Result<(Vec<StoredSketch>, Vec<WantedOfKind>, StatedDates), AskError> {
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
    let count = rows.len();
    let mut kept = Vec::with_capacity(count);
    let mut wanted = Vec::with_capacity(count);
    let mut stated = StatedDates::new();
    let read = |done: &(dyn Fn(usize) + Sync)| {
        for (_, row) in rows {
            kept.push(StoredSketch::of(snapshot, &row)?);
            wanted.push((WantedContent::of(&row), row.kind));
            stated.extend(row.date.map(|date| (row.id, date.seconds)));
            done(1);
        }
        Ok((kept, wanted, stated))
    };
    named("reading the index", || in_a_step(count, read))
}

/// Returns, by place, the texts that are read into memory together. No text is read if only
/// estimates are requested, or if the question is not exact and the texts do not fit into memory.
/// If data fits as well, it is added. Texts in other encodings are included unless a reader of
/// documents has already converted them.
fn texts_among(
    request: &PairsRequest,
    reader: ContentReader<'_>,
    wanted: &[WantedOfKind],
) -> Result<Vec<Option<WantedOfKind>>, AskError> {
    let is_text = |place: usize, (): &mut ()| {
        let (content, kind) = &wanted[place];
        Ok::<_, AskError>(
            content.size <= LARGEST_READ
                && (*kind == ContentKind::Text || !request.text && reader.is_encoded(content)?),
        )
    };
    let are_texts = ordered(wanted.len(), || (), is_text)?;
    let size = |is_one: &dyn Fn(usize) -> bool| {
        let places = (0..wanted.len()).filter(|&place| is_one(place));
        places.map(|place| wanted[place].0.size).sum::<ByteLen>()
    };
    let texts = size(&|place| are_texts[place]);
    if request.estimate || texts > TEXTS_READ && !request.exact {
        return Ok(Vec::new());
    }
    let is_data = |place: usize| {
        let (content, kind) = &wanted[place];
        *kind == ContentKind::Data && content.size <= LARGEST_READ
    };
    let with_data = texts + size(&is_data) <= TEXTS_READ;
    let is_read = |place: usize| are_texts[place] || with_data && is_data(place);
    let read = wanted.iter().enumerate();
    let read = read.map(|(place, wanted)| is_read(place).then_some(*wanted));
    Ok(read.collect())
}
