//! Checks every pair of connected contents with something in common, and makes the links.
//!
//! The sets of [`common_pieces`](resemble_relate::join::common_pieces) are independent problems.
//! Most contents share nothing with any other and are dropped. Small sets are packed into problems
//! of a suitable size, and [`PostingBlock`] solves a problem in memory. If memory is bounded, one
//! pass through the index first writes the contents of each problem to disk. Problems are then read
//! from the disk. A pair that may be a link becomes a draft (`drafts`). Measuring decides whether
//! the draft becomes a link.
//!
//! A set that does not fit is solved **piecewise**, block by block. The contents of each block are
//! compared with each other and with all later contents, which are read one after the other. The
//! pairs are the same, but the set is read once per block.

mod drafts;
mod kin;
mod known;
mod linked;
mod needed;

use std::path::Path;

use parking_lot::Mutex;
use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::frame::Frame;
use resemble_core::similarity::{Boilerplate, Sketch};
use resemble_core::{ByteLen, Fingerprint, Measures, Relation};
use resemble_index::Snapshot;
use resemble_relate::AskError;
use resemble_relate::judge::estimate::estimate_in;
use resemble_relate::judge::matched::all_words;
use resemble_relate::nominate::block::{Common, PostingBlock, Tally};
use resemble_relate::nominate::evidence::{Counts, StoredSketch};
use resemble_relate::nominate::families::Families;
use resemble_relate::nominate::frames::{Frames, less_of};
use resemble_relate::nominate::kinship::Kinships;
use resemble_relate::parallel::{in_parallel, on_threads, ordered, threads};
use resemble_relate::prove::many::PairProver;
use resemble_relate::renditions::{Rendition, is_same_text};
use resemble_relate::sort::{Record, SortedRun, Sorter};

use super::links::{By, HalfLink};
use super::problems::{ContentSource, Problems};
use super::terms::{LinkTerms, PairFound};
use drafts::LinkDraft;
use kin::MatchContext;
use resemble_relate::join::CommonSamples;
use resemble_relate::join::PairLists;
use resemble_relate::join::Table;
use resemble_relate::sort::MemoryBudget;

pub(super) use known::KnownDrafts;
pub(super) use needed::NeededLinks;

/// The test for boilerplate in contents from which [`stripped`] has removed the ignored
/// fingerprints. Only chunks are tested. To test the fingerprints again would cost as much as the
/// estimate itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct IgnoredPieces<'c>(pub(super) &'c Counts);

impl Boilerplate for IgnoredPieces<'_> {
    fn chunk(&self, key: u64) -> bool {
        Boilerplate::chunk(self.0, key)
    }

    fn fingerprint(&self, _fingerprint: Fingerprint) -> bool {
        false
    }
}

/// The data and tools with which problems are solved.
pub(super) struct Solver<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) table: &'a Table,
    pub(super) counts: &'a Counts,
    pub(super) families: &'a Families,
    /// True if samples are weighed by `counts`. Some contents that have a sample may not be counted
    /// there.
    pub(super) weighs_by_counts: bool,
    /// The frames of the contents, and the samples of which frames may consist.
    pub(super) frames: (&'a Frames<'a>, &'a CommonSamples),
    /// Stores the drafts of this question, so that later questions need not compute them again.
    /// `None` if drafts are not stored.
    pub(super) known: Option<KnownDrafts<'a>>,
    /// The candidate pairs, if an external engine has found them. `None` if the solver must search
    /// for them.
    pub(super) given: Option<&'a PairLists>,
    pub(super) terms: LinkTerms,
    pub(super) prover: &'a PairProver<'a>,
    /// Returns whether two contents, given by their places in `table`, are compared.
    pub(super) is_wanted: &'a (dyn Fn(u32, u32) -> bool + Sync),
    /// Selects the requested links; `None`: all are requested.
    pub(super) needed: Option<NeededLinks<'a>>,
    /// The maximum number of bytes to read: see [`resemble_relate::prove::cost::MOST_WORK`].
    pub(super) work: u64,
    pub(super) room: MemoryBudget,
    pub(super) dir: &'a Path,
}

/// The links, and statistics of the search.
#[derive(Debug, Default)]
pub(super) struct SolvedLinks {
    pub(super) runs: Vec<SortedRun<HalfLink>>,
    pub(super) notes: Vec<String>,
}

/// The maximum number of files with the same text that are all linked with each other. If more
/// files have the text, each is linked only with the first of them.
const MOST_OF_ONE_TEXT: usize = 48;

/// The size of a block in bytes if memory is not bounded. A block is large enough to be solved
/// efficiently, and small enough that there are blocks for several threads.
const USUAL_BLOCK: u64 = 96 << 20;

impl Solver<'_> {
    /// Finds all links. For each place, `sets` has the least place of its set. `only` restricts the
    /// links to one set.
    pub(super) fn solve(&self, sets: &[u32], only: Option<u32>) -> Result<SolvedLinks, AskError> {
        let (mut solved, links) = (SolvedLinks::default(), Sinks::default());
        let known = self.known.as_ref();
        if let Some(drafts) = known.and_then(KnownDrafts::get) {
            tracing::debug!(drafts = drafts.len(), "drafted before");
            self.prove(vec![SortedRun::Memory(drafts)], &|_| true, &links)?;
        } else {
            let (drafts, notes) = self.drafts(sets, only)?;
            solved.notes = notes;
            let needed = self.needed(&drafts)?;
            let is_needed = |draft: &LinkDraft| self.is_needed(draft, needed.as_ref());
            let drafts = self.prove(drafts, &is_needed, &links)?;
            if let Some((known, drafts)) = known.zip(drafts) {
                known.put(&drafts);
            }
        }
        self.same_texts(sets, only, &links)?;
        solved.runs = links.finish()?;
        Ok(solved)
    }

    /// Returns the pairs that may be links, and statistics of the search.
    fn drafts(
        &self,
        sets: &[u32],
        only: Option<u32>,
    ) -> Result<(Vec<SortedRun<LinkDraft>>, Vec<String>), AskError> {
        if let Some(given) = self.given.filter(|_| self.room.part(1).is_some()) {
            let sinks = Sinks::default();
            self.given_pairs(given, (sets, only), &sinks)?;
            self.families(sets, only, &sinks)?;
            return Ok((sinks.finish()?, Vec::new()));
        }
        let part = 3 * threads() as u64;
        let capacity = self.room.part(part).unwrap_or(USUAL_BLOCK);
        let problems = Problems::of(self.table, sets, only, capacity);
        let source = ContentSource::of(
            &problems,
            (self.snapshot, self.table),
            (self.room, self.dir),
        )?;
        let all: u64 = problems.weights.iter().sum();
        // A large problem, which is much of the work, gets all threads. Each small problem gets one
        // thread.
        let (large, small): (Vec<usize>, Vec<usize>) = (0..problems.weights.len())
            .partition(|&at| problems.weights[at] > capacity.min(all / 2));

        let (mut notes, sinks) = (Vec::new(), Sinks::default());
        for problem in large {
            let whole = self.room.part(3).unwrap_or(u64::MAX);
            let pieces = self.piecewise(&source, problem, whole, &sinks)?;
            if pieces > 1 {
                notes.push(format!(
                    "{} files share too much to be compared in the memory given: they were \
                     compared on disk, in {pieces} pieces",
                    problems.sizes[problem]
                ));
            }
        }
        notes.sort_unstable();
        let solve = |at: usize, (): &mut ()| {
            let (places, kept) = self.contents(&source, small[at])?;
            self.block(&places, &self.block_of(kept, false), 1, &sinks)
        };
        ordered(small.len(), || (), solve)?;
        drop(source);
        self.families(sets, only, &sinks)?;
        Ok((sinks.finish()?, notes))
    }

    /// Compares the members of families with their leaders.
    fn families(
        &self,
        sets: &[u32],
        only: Option<u32>,
        sinks: &Sinks<LinkDraft>,
    ) -> Result<(), AskError> {
        let mut members: Vec<(u32, u32)> = self.families.members().collect();
        members.retain(|&(_, leader)| only.is_none_or(|only| sets[leader as usize] == only));
        members.sort_unstable_by_key(|&(member, leader)| (leader, member));
        let families: Vec<&[(u32, u32)]> = members.chunk_by(|a, b| a.1 == b.1).collect();
        let kept = |place| {
            let row = self.snapshot.content(self.table.id(place))?;
            let kept = row
                .map(|row| StoredSketch::of(self.snapshot, &row))
                .transpose()?;
            Ok::<_, AskError>(kept.map(|kept| stripped(self.counts, kept)))
        };
        let compare = |at: usize, sink: &mut Option<Sorter<LinkDraft>>| {
            let family = families[at];
            let Some((leader, of_leader)) = kept(family[0].1)? else {
                return Ok(());
            };
            let pieces = leader.pieces();
            for &(place, of) in family {
                self.snapshot.stop().go_on()?;
                let Some((member, of_member)) = kept(place)? else {
                    continue;
                };
                let common = Common::of(&pieces, &member);
                let pair = ((&leader, &of_leader[..]), (&member, &of_member[..]));
                self.pair(
                    (sinks, sink),
                    (of, place),
                    pair,
                    (common, MatchContext::Family),
                )?;
            }
            Ok::<_, AskError>(())
        };
        let used = in_parallel(families.len(), || None, compare)?;
        sinks.put_back(used);
        Ok(())
    }

    /// Returns the places and the contents of a problem.
    fn contents(
        &self,
        source: &ContentSource,
        problem: usize,
    ) -> Result<(Vec<u32>, Vec<StoredSketch>), AskError> {
        let (places, kept) = source.all(problem, (self.snapshot, self.table))?;
        let kept = places.iter().zip(kept);
        let kept = kept.map(|(&place, kept)| self.content(place, kept));
        let kept = kept.collect();
        Ok((places, kept))
    }

    /// Adds to a content the pieces of its family's leader. These pieces do not nominate the
    /// content.
    fn content(&self, place: u32, kept: StoredSketch) -> StoredSketch {
        StoredSketch {
            of_leader: self.families.of_leader(place),
            ..kept
        }
    }

    /// Links the files that share a content as a rendition.
    fn same_texts(
        &self,
        sets: &[u32],
        only: Option<u32>,
        links: &Sinks<HalfLink>,
    ) -> Result<(), AskError> {
        let mut sink = None;
        for place in self.table.stand_ins() {
            if only.is_some_and(|only| sets[place as usize] != only) {
                continue;
            }
            let owners: Vec<(u32, Rendition)> = self.table.owners(place).collect();
            let size = ByteLen(self.table.size(place));
            let measures = Measures::identical(size);
            let found = PairFound {
                sizes: (size, size),
                measures: all_words(&measures),
                relation: Some(Relation::SameText),
                is_estimate: false,
                rarity: None,
                of_both: None,
            };
            self.snapshot.stop().go_on()?;
            for (at, &one) in owners.iter().enumerate() {
                // If only a few files have the text, all are linked with each other. Otherwise each
                // is linked only with the first file, which becomes their centre.
                if at > 0 && owners.len() > MOST_OF_ONE_TEXT {
                    break;
                }
                for &other in &owners[at + 1..] {
                    let ends = (one.0, other.0);
                    if one.0 == other.0 {
                        continue;
                    }
                    let of_member = [one.1, other.1].contains(&Rendition::Member);
                    let link = if of_member {
                        let is_held = self.table.is_held(one, other);
                        let link = is_held.then(|| self.link_of_held((one, other), &found));
                        link.flatten()
                    } else if let Some(by) = By::of_wholes(one.1) {
                        let whole = HalfLink::new(ends, &measures, 0, None).with_match(by);
                        (one.1 == other.1).then_some(whole)
                    } else if is_same_text(one.1, other.1, size) {
                        // Equal packed bytes make a link at any size. An extracted text must be
                        // large enough to judge.
                        let link = self.terms.link_of(ends, &found);
                        link.map(|link| link.with_match(By::Text))
                    } else {
                        None
                    };
                    if let Some(link) = link {
                        self.push((links, &mut sink), link)?;
                    }
                }
            }
        }
        links.put_back(vec![sink]);
        Ok(())
    }

    /// Adds a link, from both its ends, to the thread's own `sink`.
    pub(super) fn push(
        &self,
        (sinks, sink): (&Sinks<HalfLink>, &mut Option<Sorter<HalfLink>>),
        link: HalfLink,
    ) -> Result<(), AskError> {
        let sink = self.own(sinks, sink)?;
        sink.push(link)?;
        sink.push(link.swapped())
    }

    /// Returns the sink of one thread: its own, one that no thread uses, or a new one.
    fn own<'s, R: Record>(
        &self,
        sinks: &Sinks<R>,
        sink: &'s mut Option<Sorter<R>>,
    ) -> Result<&'s mut Sorter<R>, AskError> {
        match sink {
            Some(sink) => Ok(sink),
            none => {
                let part = self.room.part(6 * threads() as u64);
                let idle = sinks.0.lock().pop();
                let idle = idle.map_or_else(|| Sorter::new(part, self.dir), Ok)?;
                Ok(none.insert(idle))
            }
        }
    }

    /// Returns a block of contents. `is_part` is true if the problem has other contents that are
    /// not in the block.
    fn block_of(&self, kept: Vec<StoredSketch>, is_part: bool) -> ProblemBlock {
        let mut ignored = Vec::with_capacity(kept.len());
        let mut usable = Vec::with_capacity(kept.len());
        for content in kept {
            let (content, of_it) = stripped(self.counts, content);
            usable.push(content);
            ignored.push(of_it);
        }
        let postings = PostingBlock::of(usable, self.counts, self.snapshot.stop());
        let kinships = (!is_part).then(|| Kinships::of(&postings, self.counts.limit()));
        ProblemBlock {
            postings,
            ignored,
            kinships,
        }
    }

    /// Compares the contents of a block with each other.
    fn block(
        &self,
        places: &[u32],
        block: &ProblemBlock,
        threads: usize,
        sinks: &Sinks<LinkDraft>,
    ) -> Result<(), AskError> {
        let found = |sink: &mut Option<Sorter<LinkDraft>>, a: usize, b: usize, common: Common| {
            let places = (places[a], places[b]);
            let pair = (block.at(a), block.at(b));
            let known = block.kinships.as_ref();
            let met = known.map_or(MatchContext::Part, |known| {
                MatchContext::Whole(known, (a, b))
            });
            self.pair((sinks, sink), places, pair, (common, met))
        };
        let used = match self.given {
            None => block.postings.nominees(threads, || None, found)?,
            Some(given) => {
                let pairs = given.among(places)?;
                block.postings.among(&pairs, threads, || None, found)?
            }
        };
        sinks.put_back(used);
        Ok(())
    }

    /// Adds a draft to the thread's own `sink`, if the pair may be a link.
    fn pair(
        &self,
        (sinks, sink): (&Sinks<LinkDraft>, &mut Option<Sorter<LinkDraft>>),
        places: (u32, u32),
        (a, b): (BlockContent<'_>, BlockContent<'_>),
        (common, met): (Common, MatchContext<'_>),
    ) -> Result<(), AskError> {
        let is_candidate = common.is_candidate_of(&a.0.signature, &b.0.signature);
        if !(is_candidate || is_header(a) && is_header(b)) {
            return Ok(());
        }
        let ways = self.ways(places.0, places.1);
        let is_whole = ways.whole;
        let pair = (a.0, b.0);
        let mut may_link = (ways.met || ways.held) && self.terms.could_be(pair, common) && {
            let weight = self.weight(pair, common, met);
            self.terms.is_worth_an_estimate(pair, common, weight)
        };
        let mut kinship = None;
        if may_link && !ways.held {
            kinship = self.kinship(places, (a, b), (common, met))?;
            may_link = kinship.is_some();
        }
        if !(may_link || is_whole) {
            return Ok(());
        }
        let measures = self.estimate(pair);
        // The estimate leaves out ignored pieces, so `of_it` leaves them out, too.
        let sketches = (pair.0.sketch(), pair.1.sketch());
        let (of_it, of_all) = self.counts.rarities(&sketches.0, &sketches.1);
        may_link &= self.terms.may_link(pair, common, &measures, of_it);
        if may_link || is_whole {
            let mut rarity = if a.1.is_empty() || b.1.is_empty() {
                of_all
            } else {
                self.rarity(a, b)
            };
            if may_link {
                let frame = self.frame(places, (a.0, b.0))?;
                let framed = frame.rarity(&a.0.signature, &b.0.signature);
                // If the weight is 0, all common samples are in the frame. These samples are not
                // evidence that the texts share other words.
                may_link = framed.is_none_or(|framed| framed.weight > 0.0);
                rarity = less_of(rarity, framed);
            }
            if !(may_link || is_whole) {
                return Ok(());
            }
            let draft = LinkDraft::new(places, &measures, rarity, may_link);
            let draft = draft.with_kinship(kinship.unwrap_or_default());
            self.own(sinks, sink)?.push(draft)?;
        }
        Ok(())
    }

    /// Returns the frame that two texts have in common.
    pub(super) fn frame(
        &self,
        places: (u32, u32),
        (a, b): (&StoredSketch, &StoredSketch),
    ) -> Result<Frame, AskError> {
        let (frames, samples) = self.frames;
        let may_have = |place: u32, kept: &StoredSketch| {
            Frame::is_possible(samples.of(place), kept.signature.fingerprints.len())
        };
        if may_have(places.0, a) && may_have(places.1, b) {
            Ok(frames.of_both(a, b)?)
        } else {
            Ok(Frame::default())
        }
    }

    /// Returns the average worth of the samples that two contents share. If only a family or a part
    /// of a problem is in memory, some contents with a sample are unknown. Then the worth follows
    /// from `self.counts`, as if [`Self::weighs_by_counts`] were true.
    fn weight(
        &self,
        (a, b): (&StoredSketch, &StoredSketch),
        common: Common,
        met: MatchContext<'_>,
    ) -> f64 {
        if !self.weighs_by_counts && matches!(met, MatchContext::Whole(..)) {
            f64::from(common.rare) / f64::from(common.fingerprints.max(1))
        } else {
            let rarity = self.counts.rarity(&a.sketch(), &b.sketch());
            rarity.map_or(1.0, |rarity| rarity.weight)
        }
    }

    fn estimate(&self, (a, b): (&StoredSketch, &StoredSketch)) -> Measures {
        let (of_a, of_b) = ((&a.sketch(), a.kind), (&b.sketch(), b.kind));
        estimate_in(self.terms.unit, of_a, of_b, &IgnoredPieces(self.counts))
    }

    /// Returns the rarity of all pieces that a pair shares. Ignored pieces are included, because
    /// the measures count them, too.
    fn rarity(&self, a: BlockContent<'_>, b: BlockContent<'_>) -> Option<Rarity> {
        let whole = |(kept, ignored): BlockContent<'_>| {
            let mut signature = kept.signature.clone();
            signature.fingerprints.extend(ignored);
            signature
        };
        let (of_a, of_b) = (whole(a), whole(b));
        let of_a = Sketch {
            signature: &of_a,
            ..a.0.sketch()
        };
        let of_b = Sketch {
            signature: &of_b,
            ..b.0.sketch()
        };
        self.counts.rarity_of_all(&of_a, &of_b)
    }

    /// Solves a problem in blocks of at most `room` bytes. Returns the number of blocks.
    fn piecewise(
        &self,
        source: &ContentSource,
        problem: usize,
        room: u64,
        sinks: &Sinks<LinkDraft>,
    ) -> Result<usize, AskError> {
        let ContentSource::Disk(partition) = source else {
            let (places, kept) = self.contents(source, problem)?;
            self.block(&places, &self.block_of(kept, false), threads(), sinks)?;
            return Ok(1);
        };
        let mut contents = partition.contents(problem);
        let mut held = None;
        for pieces in 0.. {
            let (mut places, mut kept, mut weight) = (Vec::new(), Vec::new(), 0);
            while let Some((place, content)) = match held.take() {
                Some(held) => Some(held),
                None => contents.next()?,
            } {
                weight += self.table.weight(place);
                if weight > room && !kept.is_empty() {
                    held = Some((place, content));
                    break;
                }
                places.push(place);
                kept.push(self.content(place, content));
            }
            if kept.is_empty() {
                return Ok(pieces);
            }
            let block = self.block_of(kept, true);
            self.block(&places, &block, threads(), sinks)?;
            // The remaining contents are read one after the other and compared with the block.
            let rest = Mutex::new((held.clone(), contents.clone()));
            let used = on_threads(threads(), || {
                let mut sink = None;
                let mut tally = Tally::new(places.len());
                loop {
                    self.snapshot.stop().go_on()?;
                    let mut rest_of = rest.lock();
                    let next = match rest_of.0.take() {
                        Some(held) => Some(held),
                        None => rest_of.1.next()?,
                    };
                    drop(rest_of);
                    let Some((place, content)) = next else {
                        return Ok::<_, AskError>(sink);
                    };
                    let content = self.content(place, content);
                    let (content, ignored) = stripped(self.counts, content);
                    block.postings.against(&content, &mut tally, |a, common| {
                        let pair = (block.at(a), (&content, &ignored[..]));
                        let common = (common, MatchContext::Part);
                        self.pair((sinks, &mut sink), (places[a], place), pair, common)
                    })?;
                }
            })?;
            sinks.put_back(used);
        }
        Ok(0)
    }
}

/// Returns whether at least half of the samples of a content are ignored. If a file has such a long
/// header, one sample of its other text is as much evidence as two samples of a usual file.
const fn is_header((kept, ignored): BlockContent<'_>) -> bool {
    ignored.len() >= kept.signature.fingerprints.len() && !ignored.is_empty()
}

/// Removes the ignored fingerprints from a content. Returns the content and those fingerprints.
pub(super) fn stripped(
    counts: &Counts,
    mut kept: StoredSketch,
) -> (StoredSketch, Vec<Fingerprint>) {
    let is_ignored = |f: &mut Fingerprint| Boilerplate::fingerprint(counts, *f);
    let ignored = kept.signature.fingerprints.extract_if(.., is_ignored);
    let ignored = ignored.collect();
    (kept, ignored)
}

/// A content without its ignored fingerprints, and those fingerprints.
pub(super) type BlockContent<'b> = (&'b StoredSketch, &'b [Fingerprint]);

/// Contents that are compared with each other.
struct ProblemBlock {
    /// The contents without their ignored fingerprints.
    postings: PostingBlock,
    /// The ignored fingerprints of each content.
    ignored: Vec<Vec<Fingerprint>>,
    /// Separates kin from unrelated contents; `None` if the block lacks some contents of its
    /// problem.
    kinships: Option<Kinships>,
}

impl ProblemBlock {
    fn at(&self, at: usize) -> BlockContent<'_> {
        (&self.postings.kept[at], &self.ignored[at])
    }
}

/// The sinks that no thread uses at the moment. A sink sorts the records that a thread adds.
#[derive(Debug)]
pub(super) struct Sinks<R>(Mutex<Vec<Sorter<R>>>);

impl<R> Default for Sinks<R> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<R: Record> Sinks<R> {
    pub(super) fn put_back(&self, used: Vec<Option<Sorter<R>>>) {
        self.0.lock().extend(used.into_iter().flatten());
    }

    fn finish(self) -> Result<Vec<SortedRun<R>>, AskError> {
        let mut runs = Vec::new();
        for sink in self.0.into_inner() {
            runs.extend(sink.finish()?);
        }
        Ok(runs)
    }
}
