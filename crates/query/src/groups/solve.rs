//! From contents that hang together to links: every pair with something in common is measured.
//!
//! The sets of [`super::common`] are problems by themselves. Contents that have nothing in common
//! with any other are dropped, which are most; small sets are packed into problems of a size that
//! fits; and a problem is solved in memory by [`PostingBlock`]. Where memory is bounded the
//! contents of each problem are written to disk first, in one pass through the index, and read from
//! there in one piece.
//!
//! A set that does not fit is solved **piecewise**: a block of it that fits is compared with itself
//! and with all that follows, which is read past it; then the next block. The pairs are the same,
//! the price is that it is read once for each block.

use std::path::Path;

use parking_lot::Mutex;
use resemble_core::cluster::{Sharing, first_fit_decreasing};
use resemble_core::similarity::Boilerplate;
use resemble_core::similarity::discount::Rarity;
use resemble_core::{ByteLen, Fingerprint, Measures, Relation, Score, similarity};
use resemble_index::Snapshot;
use resemble_proto::message::{GroupsRequest, Layer};
use resemble_proto::number::Fraction;

use super::Room;
use super::links::{By, HalfLink};
use super::partition::Partition;
use super::sort::{SortedRun, Sorter};
use super::table::Table;
use crate::ask::AskError;
use crate::judge::estimate::{enough_shared, estimate};
use crate::judge::matched::match_of_wholes;
use crate::nominate::block::{Common, PostingBlock, Tally};
use crate::nominate::evidence::{Counts, Kept};
use crate::parallel::{on_threads, ordered, threads};
use crate::renditions::{Rendition, is_same_text, layer, same_words};

/// Which pairs are links.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkTerms {
    min: Fraction,
    min_shared: ByteLen,
}

/// Scattered edits spoil 64 windows each but one byte: with a share p of the windows in common the
/// containment is at most about p·(1 − ln p), which is below 6·p for every p ≥ 0.007. The factor
/// 8 leaves room for the error of small samples. (The bound of `find`.)
const MOST_PER_WINDOW: f64 = 8.0;

impl LinkTerms {
    pub(super) fn of(request: &GroupsRequest) -> Self {
        let shared = request.min_shared.map(ByteLen);
        Self {
            min: request.min,
            min_shared: shared.unwrap_or(Relation::MIN_SHARED),
        }
    }

    /// The least score that a link must have left after the discount for common text.
    fn least(&self) -> Fraction {
        let partly = Fraction::from(Score::new(Relation::PARTLY));
        if self.min == Fraction::NONE {
            partly
        } else {
            self.min.min(partly)
        }
    }

    /// Whether so much in common could come to a link: thousands share a phrase, few share a file.
    fn could_be(&self, (a, b): (&Kept, &Kept), common: Common) -> bool {
        if common.chunks > 0 {
            return true;
        }
        let level = a.signature.level.max(b.signature.level);
        let usable = |kept: &Kept| kept.signature.at_level(level).count();
        let fewer = usable(a).min(usable(b)).max(1);
        let least = self.min.score().map_or(Relation::PARTLY, Score::get);
        f64::from(common.fingerprints) / fewer as f64 >= least / MOST_PER_WINDOW
    }

    /// The link of a pair as seen from its first content, if the pair is one.
    fn link(
        &self,
        places: (u32, u32),
        (a, b): (&Kept, &Kept),
        counts: &Counts,
    ) -> Option<HalfLink> {
        let (of_a, of_b) = ((&a.sketch(), a.kind), (&b.sketch(), b.kind));
        let measures = estimate(of_a, of_b, &Ignored(counts));
        let rarity = || counts.rarity(&a.sketch(), &b.sketch());
        let same = same_words(a.words, b.words);
        self.link_of(places, (a.size, b.size), &measures, same, rarity)
    }

    /// The link that these measures make, if they make one; `same`: both have the same text.
    fn link_of(
        &self,
        places: (u32, u32),
        sizes: (ByteLen, ByteLen),
        measures: &Measures,
        same: bool,
        rarity: impl FnOnce() -> Option<Rarity>,
    ) -> Option<HalfLink> {
        let raw = measures.containment()?;
        let is_link = same
            || if self.min == Fraction::NONE {
                let (a, b) = sizes;
                similarity::relation(false, a, b, measures, self.min_shared).is_some()
            } else {
                Fraction::from(raw) >= self.min && enough_shared(sizes, measures, self.min_shared)
            };
        if !is_link {
            return None;
        }
        let rarity = rarity();
        let share = |share: Option<Score>| share.map_or(0.0, Score::get);
        let score = Sharing {
            sizes: (sizes.0.0, sizes.1.0),
            shares: (share(measures.a_in_b), share(measures.b_in_a)),
            weight: rarity.map_or(1.0, |rarity| rarity.weight),
        }
        .kinship();
        if Fraction::from_millionths(score) < self.least() {
            return None;
        }
        Some(HalfLink::new(places, measures, score, rarity))
    }

    /// The one link of two files that several pairs of renditions connect: the best of them. The
    /// two wholes make one link together.
    pub(super) fn join(&self, halves: &[HalfLink], table: &Table) -> Option<HalfLink> {
        let mut best: Option<HalfLink> = None;
        let mut parts = [None, None];
        for half in halves {
            match half.matched_by() {
                By::Whole(at) => parts[at] = Some(half.measures()),
                By::Bytes | By::Text => {
                    if best.is_none_or(|best| half.worth() > best.worth()) {
                        best = Some(*half);
                    }
                }
            }
        }
        let ends = halves.first().map(|half| (half.from, half.to))?;
        let wholes = (table.wholes(ends.0), table.wholes(ends.1));
        let whole = parts
            .iter()
            .any(Option::is_some)
            .then(|| match_of_wholes(wholes.0, wholes.1, parts, self.min_shared))
            .flatten()
            .and_then(|matched| {
                let same = matched.relation == Some(Relation::SameText);
                self.link_of(ends, matched.sizes, &matched.measures, same, || None)
            })
            .map(|half| half.with_match(By::Text));
        match (best, whole) {
            (Some(best), Some(whole)) if whole.worth() > best.worth() => Some(whole),
            (Some(best), _) => Some(best),
            (None, whole) => whole,
        }
    }
}

/// Boilerplate for contents whose ignored fingerprints have been taken out already. Asking about
/// each of them again would cost as much as the estimate itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ignored<'c>(pub(super) &'c Counts);

impl Boilerplate for Ignored<'_> {
    fn chunk(&self, key: u64) -> bool {
        Boilerplate::chunk(self.0, key)
    }

    fn fingerprint(&self, _fingerprint: Fingerprint) -> bool {
        false
    }
}

/// What problems are solved with.
#[derive(Debug)]
pub(super) struct Solver<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) table: &'a Table,
    pub(super) counts: &'a Counts,
    pub(super) terms: LinkTerms,
    pub(super) room: Room,
    pub(super) dir: &'a Path,
}

/// The links, and notes about how they were found.
#[derive(Debug, Default)]
pub(super) struct Solved {
    pub(super) runs: Vec<SortedRun<HalfLink>>,
    pub(super) notes: Vec<String>,
}

/// If more files have one text, they are linked with the first of them only.
const MOST_OF_ONE_TEXT: usize = 48;

/// Bytes of a block where memory is not bounded: large enough to be quick, small enough that
/// several threads have work.
const USUAL_BLOCK: u64 = 96 << 20;

impl Solver<'_> {
    /// Finds all links. `sets` has for each place the least place of its set. With `only`, links of
    /// this set alone.
    pub(super) fn solve(&self, sets: &[u32], only: Option<u32>) -> Result<Solved, AskError> {
        let part = 3 * threads() as u64;
        let capacity = self.room.part(part).unwrap_or(USUAL_BLOCK);
        let problems = Problems::of(self.table, sets, only, capacity);
        let source = self.source(&problems)?;
        let all: u64 = problems.weights.iter().sum();
        // A problem that is most of the work gets all threads.
        let (large, small): (Vec<usize>, Vec<usize>) = (0..problems.weights.len())
            .partition(|&at| problems.weights[at] > capacity.min(all / 2));

        let mut solved = Solved::default();
        let sinks = Sinks::default();
        for problem in large {
            let whole = self.room.part(3).unwrap_or(u64::MAX);
            let pieces = self.piecewise(&source, problem, whole, &sinks)?;
            if pieces > 1 {
                solved.notes.push(format!(
                    "{} contents that hang together by what they have in common do not fit into \
                     the memory given: they were compared on disk, in {pieces} pieces",
                    problems.sizes[problem]
                ));
            }
        }
        solved.notes.sort_unstable();
        let solve = |at: usize, (): &mut ()| {
            let (places, kept) = source.all(small[at], self)?;
            self.block(&places, &self.block_of(kept), 1, &sinks)
        };
        ordered(small.len(), || (), solve)?;
        self.same_texts(sets, only, &sinks)?;
        for sink in sinks.0.into_inner() {
            solved.runs.extend(sink.finish()?);
        }
        Ok(solved)
    }

    /// Links the files that have one content as a rendition.
    fn same_texts(&self, sets: &[u32], only: Option<u32>, sinks: &Sinks) -> Result<(), AskError> {
        let mut sink = None;
        for place in self.table.stand_ins() {
            if only.is_some_and(|only| sets[place as usize] != only) {
                continue;
            }
            let owners: Vec<(u32, Rendition)> = self.table.owners(place).collect();
            let size = ByteLen(self.table.size(place));
            self.snapshot.stop().go_on()?;
            for (at, &one) in owners.iter().enumerate() {
                // A few are all linked with each other. More are linked with the first one, which
                // becomes their centre.
                if at > 0 && owners.len() > MOST_OF_ONE_TEXT {
                    break;
                }
                for &other in &owners[at + 1..] {
                    let measures = Measures::identical(size);
                    // What is packed in two files may be equal whatever text is in it.
                    let is_equal = is_same_text(one.1, other.1, size);
                    if one.0 == other.0 || !(is_equal || self.table.is_compared(one, other)) {
                        continue;
                    }
                    self.keep((sinks, &mut sink), (one, other), |ends| {
                        is_equal
                            .then(|| {
                                self.terms
                                    .link_of(ends, (size, size), &measures, true, || None)
                            })
                            .flatten()
                            .map(|link| (link, measures))
                    })?;
                }
            }
        }
        sinks.put_back(vec![sink]);
        Ok(())
    }

    /// Keeps the link that a pair of renditions makes between two files. `link` makes it from the
    /// two ends and returns it with the measures.
    fn keep(
        &self,
        (sinks, sink): (&Sinks, &mut Option<Sink>),
        (one, other): ((u32, Rendition), (u32, Rendition)),
        link: impl FnOnce((u32, u32)) -> Option<(HalfLink, Measures)>,
    ) -> Result<(), AskError> {
        let ends = (one.0, other.0);
        let Some((link, measures)) = link(ends) else {
            return Ok(());
        };
        let link = if one.1.is_whole() {
            let at = usize::from(one.1 == Rendition::WholeBytes);
            HalfLink::new(ends, &measures, 0, None).with_match(By::Whole(at))
        } else {
            match layer(one.1, other.1) {
                Layer::Bytes => link,
                Layer::Text => link.with_match(By::Text),
            }
        };
        self.push((sinks, sink), link)
    }

    /// Keeps a link, from both its ends, in the thread's own `sink`.
    fn push(
        &self,
        (sinks, sink): (&Sinks, &mut Option<Sink>),
        link: HalfLink,
    ) -> Result<(), AskError> {
        let sink = match sink {
            Some(sink) => sink,
            none => none.insert(self.sink(sinks)?),
        };
        sink.push(link)?;
        sink.push(link.swapped())
    }

    /// A sink for the links of one thread.
    fn sink(&self, sinks: &Sinks) -> Result<Sink, AskError> {
        let idle = sinks.0.lock().pop();
        let part = 6 * threads() as u64;
        idle.map_or_else(|| Sorter::new(self.room.part(part), self.dir), Ok)
    }

    fn block_of(&self, kept: Vec<Kept>) -> PostingBlock {
        PostingBlock::of(kept, self.counts, self.snapshot.stop())
    }

    /// Compares the contents of a block with each other.
    fn block(
        &self,
        places: &[u32],
        block: &PostingBlock,
        threads: usize,
        sinks: &Sinks,
    ) -> Result<(), AskError> {
        let used = block.candidates(
            threads,
            || None,
            |sink, a, b, common| {
                let pair = (&block.kept[a], &block.kept[b]);
                self.pair((sinks, sink), (places[a], places[b]), pair, common)
            },
        )?;
        sinks.put_back(used);
        Ok(())
    }

    /// Keeps the link of a pair, if it is one, in the thread's own `sink`.
    fn pair(
        &self,
        (sinks, sink): (&Sinks, &mut Option<Sink>),
        places: (u32, u32),
        pair: (&Kept, &Kept),
        common: Common,
    ) -> Result<(), AskError> {
        let (a, b) = places;
        let own = |place| (place, Rendition::Own);
        let plain = self.table.is_plain(a) && self.table.is_plain(b);
        if !plain || !self.table.is_compared(own(a), own(b)) {
            return self.stand_ins((sinks, sink), places, pair, common);
        }
        if self.terms.could_be(pair, common)
            && let Some(link) = self.terms.link(places, pair, self.counts)
        {
            self.push((sinks, sink), link)?;
        }
        Ok(())
    }

    /// As [`Self::pair`], where at least one content is a rendition of other files.
    fn stand_ins(
        &self,
        (sinks, sink): (&Sinks, &mut Option<Sink>),
        (a, b): (u32, u32),
        pair: (&Kept, &Kept),
        common: Common,
    ) -> Result<(), AskError> {
        let could_be = self.terms.could_be(pair, common);
        for one in self.table.owners(a) {
            for other in self.table.owners(b) {
                let is_whole = one.1.is_whole() && one.1 == other.1;
                if !(could_be || is_whole) || !self.table.is_compared(one, other) {
                    continue;
                }
                self.keep((sinks, &mut *sink), (one, other), |ends| {
                    if is_whole {
                        let (of_a, of_b) = (
                            (&pair.0.sketch(), pair.0.kind),
                            (&pair.1.sketch(), pair.1.kind),
                        );
                        let measures = estimate(of_a, of_b, &Ignored(self.counts));
                        return Some((HalfLink::new(ends, &measures, 0, None), measures));
                    }
                    let link = self.terms.link(ends, pair, self.counts)?;
                    Some((link, link.measures()))
                })?;
            }
        }
        Ok(())
    }

    /// Solves a problem block by block, each of at most `room` bytes. Returns how many blocks it
    /// took.
    fn piecewise(
        &self,
        source: &ContentSource,
        problem: usize,
        room: u64,
        sinks: &Sinks,
    ) -> Result<usize, AskError> {
        let ContentSource::Disk(partition) = source else {
            let (places, kept) = source.all(problem, self)?;
            self.block(&places, &self.block_of(kept), threads(), sinks)?;
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
                kept.push(stripped(self.counts, content));
            }
            if kept.is_empty() {
                return Ok(pieces);
            }
            let block = self.block_of(kept);
            self.block(&places, &block, threads(), sinks)?;
            // What follows is read past the block.
            let rest = Mutex::new((held.clone(), contents.clone()));
            let used = on_threads(threads(), || {
                let mut sink = None;
                let mut tally = Tally::new(block.kept.len());
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
                    let content = stripped(self.counts, content);
                    block.against(&content, &mut tally, |a, common| {
                        let pair = (&block.kept[a], &content);
                        self.pair((sinks, &mut sink), (places[a], place), pair, common)
                    })?;
                }
            })?;
            sinks.put_back(used);
        }
        Ok(0)
    }

    /// Where the contents of all problems can be read: from the index, or from disk if memory is
    /// bounded.
    fn source(&self, problems: &Problems) -> Result<ContentSource, AskError> {
        let bins = problems.weights.len();
        let of = |place: u32| {
            let bin = problems.bin_of[place as usize];
            (bin != Problems::NONE).then_some(bin as usize)
        };
        let Some(room) = self.room.part(3) else {
            let mut places = vec![Vec::new(); bins];
            for &place in &self.table.by_id {
                if let Some(bin) = of(place) {
                    places[bin].push(place);
                }
            }
            return Ok(ContentSource::Index(places));
        };
        let mut partition = Partition::new(bins, room, self.dir)?;
        for &place in &self.table.by_id {
            if let Some(bin) = of(place)
                && let Some(row) = self.snapshot.content(self.table.id(place))?
            {
                partition.push(bin, place, &Kept::of(self.snapshot, &row)?)?;
            }
        }
        partition.finish()?;
        Ok(ContentSource::Disk(partition))
    }
}

/// The content without the fingerprints that are ignored, which nothing that follows needs.
pub(super) fn stripped(counts: &Counts, mut kept: Kept) -> Kept {
    let ignored = |f: Fingerprint| Boilerplate::fingerprint(counts, f);
    kept.signature.fingerprints.retain(|&f| !ignored(f));
    kept
}

/// Where the links that a thread finds go.
type Sink = Sorter<HalfLink>;

/// The sinks that no thread uses at the moment.
#[derive(Debug, Default)]
struct Sinks(Mutex<Vec<Sink>>);

impl Sinks {
    fn put_back(&self, used: Vec<Option<Sink>>) {
        self.0.lock().extend(used.into_iter().flatten());
    }
}

/// Sets of contents packed into problems.
#[derive(Debug)]
struct Problems {
    /// For each place its problem; [`Self::NONE`] if it has nothing in common with others.
    bin_of: Vec<u32>,
    /// Bytes of memory that each takes, about.
    weights: Vec<u64>,
    /// Contents of each.
    sizes: Vec<u32>,
}

impl Problems {
    const NONE: u32 = u32::MAX;

    fn of(table: &Table, sets: &[u32], only: Option<u32>, capacity: u64) -> Self {
        let mut weights = vec![(0u32, 0u64); sets.len()];
        for (place, &set) in (0u32..).zip(sets) {
            let (contents, weight) = &mut weights[set as usize];
            *contents += 1;
            *weight += table.weight(place);
        }
        // Sets of one content are left out: they are most of all, and no work.
        let wanted = |set: u32| only.is_none_or(|only| only == set);
        let several: Vec<u32> = (0..sets.len() as u32)
            .filter(|&set| weights[set as usize].0 > 1 && wanted(set))
            .collect();
        let item_weights: Vec<u64> = several.iter().map(|&set| weights[set as usize].1).collect();
        let packing = first_fit_decreasing(&item_weights, capacity);
        drop(item_weights);
        let mut problem_of_set = vec![Self::NONE; sets.len()];
        for (&set, &bin) in several.iter().zip(&packing.bin_of) {
            problem_of_set[set as usize] = bin;
        }
        let bin_of: Vec<u32> = sets
            .iter()
            .map(|&set| problem_of_set[set as usize])
            .collect();
        let mut sizes = vec![0; packing.weights.len()];
        for &bin in bin_of.iter().filter(|&&bin| bin != Self::NONE) {
            sizes[bin as usize] += 1;
        }
        Self {
            bin_of,
            weights: packing.weights,
            sizes,
        }
    }
}

/// Where the contents of the problems are read from.
#[derive(Debug)]
enum ContentSource {
    /// The places of each problem's contents, in the order of their ids.
    Index(Vec<Vec<u32>>),
    Disk(Partition),
}

impl ContentSource {
    /// All contents of a problem and their places.
    fn all(&self, problem: usize, solver: &Solver<'_>) -> Result<(Vec<u32>, Vec<Kept>), AskError> {
        let mut all = (Vec::new(), Vec::new());
        let mut push = |place, kept| {
            all.0.push(place);
            all.1.push(stripped(solver.counts, kept));
        };
        match self {
            Self::Index(places) => {
                for &place in &places[problem] {
                    if let Some(row) = solver.snapshot.content(solver.table.id(place))? {
                        push(place, Kept::of(solver.snapshot, &row)?);
                    }
                }
            }
            Self::Disk(partition) => {
                let mut contents = partition.contents(problem);
                while let Some((place, kept)) = contents.next()? {
                    push(place, kept);
                }
            }
        }
        Ok(all)
    }
}
