//! Measures drafts, which are candidate pairs that were estimated.
//!
//! The index data of two contents only decides whether they are read. The link and all its
//! displayed figures are measured by reading the contents. The drafts are visited in two passes:
//!
//! 1. **Best first.** This pass decides which pairs the question may read
//!    ([`resemble_relate::prove::cost::MOST_WORK`]). The pairs beyond that budget keep their
//!    estimates. The choice does not depend on the schedule of the threads.
//! 2. **By path.** A draft is ordered by the later of its two files, so all drafts of one file are
//!    adjacent. The other file was usually read shortly before, because most similar files share a
//!    directory.

use parking_lot::Mutex;
use resemble_core::similarity::discount::Rarity;
use resemble_core::{ByteLen, Measures, Relation, Score};
use resemble_index::ContentRow;
use resemble_index::varint::{Reader, put, put_signed};
use resemble_proto::number::Fraction;

use super::{Sinks, Solver};
use crate::groups::links::{By, HalfLink};
use crate::groups::terms::PairFound;
use resemble_proto::message::Layer;
use resemble_relate::AskError;
use resemble_relate::join::Table;
use resemble_relate::judge::matched::{all_words, of_part};
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::parallel::{on_threads, threads};
use resemble_relate::prove::cost::{ReadBudget, TAKEN_APART};
use resemble_relate::renditions::{Rendition, layer, same_words};
use resemble_relate::sort::{Merge, Record, SortedRun, Sorter, put_words, take_words};

/// The number of drafts that a thread takes in one step.
const BATCH: usize = 64;

/// An estimated pair of contents that may make links. Shares are in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LinkDraft {
    /// The sort key: see the module documentation.
    order: [u32; 2],
    pub(super) a: u32,
    pub(super) b: u32,
    there: u32,
    back: u32,
    shared: [u32; 2],
    /// The weight of the common pieces, as float bits.
    weight: [u32; 2],
    /// The number of contents that have the common pieces. The top bits are flags.
    contents: u32,
    /// The kinship, as float bits.
    kinship: u32,
}

impl LinkDraft {
    const UNKNOWN: u32 = u32::MAX;
    /// The flag bits of `contents`.
    const MAY_LINK: u32 = 1 << 31;
    const BEYOND: u32 = 1 << 30;
    const COUNT: u32 = (1 << 30) - 1;

    /// Creates a draft for two places. `may_link` is false if the pair itself cannot be a link and
    /// is needed only for the link of two archives.
    pub(super) fn new(
        (a, b): (u32, u32),
        measures: &Measures,
        rarity: Option<Rarity>,
        may_link: bool,
    ) -> Self {
        let millionths = |score| Fraction::from(score).millionths().unwrap_or(Self::UNKNOWN);
        let contents = rarity.map_or(0, |rarity| rarity.contents.clamp(1, Self::COUNT));
        let (there, back) = (millionths(measures.a_in_b), millionths(measures.b_in_a));
        let draft = Self {
            order: [0; 2],
            a,
            b,
            there,
            back,
            shared: halves(measures.shared_bytes.0),
            weight: halves(rarity.map_or(1.0, |rarity| rarity.weight).to_bits()),
            contents: contents | if may_link { Self::MAY_LINK } else { 0 },
            kinship: 0,
        };
        draft.best_first()
    }

    /// Sets the order of the first pass.
    pub(super) fn best_first(self) -> Self {
        let known = |share: u32| if share == Self::UNKNOWN { 0 } else { share };
        Self {
            order: [u32::MAX - known(self.there).max(known(self.back)), 0],
            ..self
        }
    }

    /// Returns the draft with this kinship.
    pub(super) const fn with_kinship(self, kinship: f32) -> Self {
        Self {
            kinship: kinship.to_bits(),
            ..self
        }
    }

    const fn may_link(&self) -> bool {
        self.contents & Self::MAY_LINK != 0
    }

    /// Returns whether the pair is beyond the read budget.
    const fn is_beyond(&self) -> bool {
        self.contents & Self::BEYOND != 0
    }

    /// Returns the estimate. The resemblance is not stored.
    fn measures(&self) -> Measures {
        let score = |share: u32| {
            let known = (share != Self::UNKNOWN).then_some(share);
            known
                .map_or(Fraction::NONE, Fraction::from_millionths)
                .score()
        };
        Measures {
            a_in_b: score(self.there),
            b_in_a: score(self.back),
            resemblance: None,
            shared_bytes: ByteLen(bits(self.shared)),
        }
    }

    fn rarity(&self) -> Option<Rarity> {
        let contents = self.contents & Self::COUNT;
        (contents > 0).then(|| Rarity {
            weight: f64::from_bits(bits(self.weight)),
            // The greatest count means that the number is unknown.
            contents: if contents == Self::COUNT {
                u32::MAX
            } else {
                contents
            },
        })
    }

    /// Appends the draft to `out`, in about 24 bytes. `before` is the `a` of the previous draft,
    /// which is at most this draft's `a`.
    pub(super) fn put_after(&self, before: u32, out: &mut Vec<u8>) {
        put(out, u64::from(self.a - before));
        put_signed(out, i64::from(self.b) - i64::from(self.a));
        for share in [self.there, self.back] {
            put(out, u64::from(share.wrapping_sub(Self::UNKNOWN)));
        }
        put(out, bits(self.shared));
        put(out, u64::from(self.contents.rotate_left(2)));
        out.extend_from_slice(&bits(self.weight).to_le_bytes());
        out.extend_from_slice(&self.kinship.to_le_bytes());
    }

    /// Reads the output of [`Self::put_after`].
    pub(super) fn take_after(before: u32, reader: &mut Reader<'_>) -> Option<Self> {
        let a = before.checked_add(reader.u32()?)?;
        let b = reader.i64()?.checked_add(i64::from(a))?;
        let mut share = || Some(reader.u32()?.wrapping_add(Self::UNKNOWN));
        let (there, back) = (share()?, share()?);
        let draft = Self {
            order: [0; 2],
            a,
            b: b.try_into().ok()?,
            there,
            back,
            shared: halves(reader.u64()?),
            contents: reader.u32()?.rotate_right(2),
            weight: halves(u64::from_le_bytes(reader.bytes(8)?.try_into().ok()?)),
            kinship: u32::from_le_bytes(reader.bytes(4)?.try_into().ok()?),
        };
        Some(draft.best_first())
    }

    /// Sets the order of the second pass.
    fn in_order_of_paths(self, table: &Table) -> Self {
        let rank = |place: u32| {
            let owner = table.owners(place).next();
            owner.map_or(u32::MAX, |(owner, _)| table.rank(owner))
        };
        let (a, b) = (rank(self.a), rank(self.b));
        Self {
            order: [a.max(b), a.min(b)],
            ..self
        }
    }
}

const fn bits([low, high]: [u32; 2]) -> u64 {
    low as u64 | (high as u64) << 32
}

const fn halves(bits: u64) -> [u32; 2] {
    [bits as u32, (bits >> 32) as u32]
}

impl Record for LinkDraft {
    const BYTES: usize = 48;

    fn put(&self, out: &mut [u8]) {
        let words = [
            self.order[0],
            self.order[1],
            self.a,
            self.b,
            self.there,
            self.back,
            self.shared[0],
            self.shared[1],
            self.weight[0],
            self.weight[1],
            self.contents,
            self.kinship,
        ];
        put_words(&words, out);
    }

    fn take(bytes: &[u8]) -> Self {
        let [
            first,
            second,
            a,
            b,
            there,
            back,
            low,
            high,
            light,
            heavy,
            contents,
            kinship,
        ] = take_words(bytes);
        Self {
            order: [first, second],
            a,
            b,
            there,
            back,
            shared: [low, high],
            weight: [light, heavy],
            contents,
            kinship,
        }
    }
}

impl Solver<'_> {
    /// Measures the drafts that are needed, and makes links of those that share enough. Returns the
    /// drafts that may become links when the question is asked again. The contents of all other
    /// drafts share too little. Returns `None` if some drafts are beyond the read budget. Then all
    /// drafts are needed to choose those within the budget.
    pub(super) fn prove(
        &self,
        drafts: Vec<SortedRun<LinkDraft>>,
        is_needed: &dyn Fn(&LinkDraft) -> bool,
        links: &Sinks<HalfLink>,
    ) -> Result<Option<Vec<LinkDraft>>, AskError> {
        let mut best_first = Merge::new(drafts, self.room.part(4), self.dir)?;
        let mut in_order = Sorter::new(self.room.part(4), self.dir)?;
        let mut budget = ReadBudget::new(self.work);
        let size = |place: u32| self.table.size(place);
        let reading = |place: u32| {
            let times = if place < self.table.file_contents() {
                1
            } else {
                TAKEN_APART
            };
            size(place).saturating_mul(times)
        };
        let mut is_beyond = false;
        while let Some(mut draft) = best_first.next()? {
            self.snapshot.stop().go_on()?;
            if !is_needed(&draft) {
                continue;
            }
            // A member of an archive is read when the links of the whole archive are joined.
            let is_met = || self.ways(draft.a, draft.b).met;
            let mut is_read = || is_met() && budget.takes([draft.a, draft.b], size, reading);
            if draft.may_link() && !is_read() {
                draft.contents |= LinkDraft::BEYOND;
                is_beyond |= is_met();
            }
            in_order.push(draft.in_order_of_paths(self.table))?;
        }
        drop((best_first, budget));
        let in_order = Mutex::new(Merge::new(in_order.finish()?, self.room.part(4), self.dir)?);
        let used = on_threads(threads(), || {
            let (mut sink, mut open) = (None, Vec::new());
            let mut batch = Vec::with_capacity(BATCH);
            loop {
                let mut drafts = in_order.lock();
                while batch.len() < BATCH
                    && let Some(draft) = drafts.next()?
                {
                    batch.push(draft);
                }
                drop(drafts);
                if batch.is_empty() {
                    return Ok::<_, AskError>((sink, open));
                }
                for draft in batch.drain(..) {
                    self.snapshot.stop().go_on()?;
                    if self.settle(&draft, (links, &mut sink))? && self.known.is_some() {
                        open.push(draft);
                    }
                }
            }
        })?;
        let (used, open): (Vec<_>, Vec<_>) = used.into_iter().unzip();
        links.put_back(used);
        Ok((!is_beyond).then(|| open.concat()))
    }

    /// Stores the links of a draft. Returns whether the draft made a link, or might make one if
    /// both contents could be read.
    fn settle(
        &self,
        draft: &LinkDraft,
        (links, sink): (&Sinks<HalfLink>, &mut Option<Sorter<HalfLink>>),
    ) -> Result<bool, AskError> {
        let row = |place| self.snapshot.content(self.table.id(place));
        let (Some(a), Some(b)) = (row(draft.a)?, row(draft.b)?) else {
            return Ok(true);
        };
        let proven = if draft.may_link() && !draft.is_beyond() {
            self.prover.measure(&a, &b, self.terms.min_shared)?
        } else {
            None
        };
        let estimate = draft.measures();
        let found = if let Some(proven) = proven {
            PairFound {
                sizes: proven.sizes,
                measures: proven.measures,
                relation: proven.relation,
                is_estimate: false,
                rarity: draft.rarity(),
                of_both: None,
            }
        } else {
            let same = same_words(a.words, b.words);
            let size = |row| StoredSketch::of(self.snapshot, row).map(|kept| kept.size);
            let sizes = if self.snapshot.templates().is_empty() {
                (a.size, b.size)
            } else {
                (size(&a)?, size(&b)?)
            };
            PairFound {
                sizes,
                measures: if same { all_words(&estimate) } else { estimate },
                relation: same.then_some(Relation::SameText),
                is_estimate: true,
                rarity: draft.rarity(),
                of_both: None,
            }
        };
        let (found, is_read) = self.with_rare_words((draft.a, draft.b), (&a, &b), found)?;
        let mut is_open = found.is_estimate || !is_read;
        for one in self.table.owners(draft.a) {
            for other in self.table.owners(draft.b) {
                if draft.may_link() && self.table.is_held(one, other) {
                    if let Some(link) = self.link_of_held((one, other), &found) {
                        self.push((links, &mut *sink), link)?;
                        is_open = true;
                    }
                    continue;
                }
                if !self.table.is_compared(one, other) {
                    continue;
                }
                let ends = (one.0, other.0);
                let link = if let Some(by) = By::of_wholes(one.1) {
                    Some(HalfLink::new(ends, &estimate, 0, None).with_match(by))
                } else if draft.may_link() {
                    let is_text = found.is_same_text() || layer(one.1, other.1) == Layer::Text;
                    let by = if is_text { By::Text } else { By::Bytes };
                    let link = self.terms.link_of(ends, &found);
                    let kinship = f32::from_bits(draft.kinship);
                    link.map(|link| link.with_match(by).with_kinship(kinship))
                } else {
                    None
                };
                if let Some(link) = link {
                    self.push((links, &mut *sink), link)?;
                    is_open = true;
                }
            }
        }
        Ok(is_open)
    }

    /// Checks again a proven pair that would be a link without the discount for common text. If the
    /// samples leave the result open, the words nearest to the common text decide. In a file with a
    /// long header, few samples lie outside the header, in the words that an edited version shares.
    /// The returned flag is false if a content could not be read.
    fn with_rare_words(
        &self,
        places: (u32, u32),
        (a, b): (&ContentRow, &ContentRow),
        found: PairFound,
    ) -> Result<(PairFound, bool), AskError> {
        let Some(rarity) = found
            .rarity
            .filter(|_| !found.is_estimate && !found.is_same_text())
        else {
            return Ok((found, true));
        };
        let all = PairFound {
            rarity: None,
            ..found
        };
        if self.terms.link_of(places, &found).is_some()
            || self.terms.link_of(places, &all).is_none()
        {
            return Ok((found, true));
        }
        let kept = |row| StoredSketch::of(self.snapshot, row);
        let (of_a, of_b) = (kept(a)?, kept(b)?);
        let frame = self.frame(places, (&of_a, &of_b))?;
        let (of_a, of_b) = (of_a.signature, of_b.signature);
        let level = of_a.level.max(of_b.level);
        let (losses, left) = self.counts.losses((&of_a, &of_b), &frame);
        if left < 1.0 {
            return Ok((found, true));
        }
        let side = |row: &ContentRow, size: ByteLen, share: Option<Score>| {
            let lost = self.prover.share_nearest(row, level, &losses)?;
            let side = lost.zip(share);
            Ok::<_, AskError>(side.and_then(|(lost, share)| rarity.of_words(lost, share, size)))
        };
        let Measures { a_in_b, b_in_a, .. } = found.measures;
        let in_a = side(a, found.sizes.0, a_in_b)?;
        let in_b = side(b, found.sizes.1, b_in_a)?;
        let (Some(in_a), Some(in_b)) = (in_a, in_b) else {
            return Ok((found, false));
        };
        let left = |rarity: Rarity, share: Option<Score>| share.map(|raw| rarity.discounted(raw));
        let of_both = left(in_a, a_in_b).min(left(in_b, b_in_a));
        // The content with the lesser id is a, and ids depend on the order of scanning. The result
        // must not depend on this order.
        let of_a = (a_in_b, in_a.weight, in_a.contents);
        let of_b = (b_in_a, in_b.weight, in_b.contents);
        let found = PairFound {
            rarity: Some(if of_a >= of_b { in_a } else { in_b }),
            of_both,
            ..found
        };
        Ok((found, true))
    }

    /// Returns the link of an archive and a single file. It is made from the link of a member and
    /// that file. The file is measured against the whole archive when the links are joined.
    pub(super) fn link_of_held(
        &self,
        (one, other): ((u32, Rendition), (u32, Rendition)),
        found: &PairFound,
    ) -> Option<HalfLink> {
        let is_first = other.1 == Rendition::Member;
        let (single, archive) = if is_first { (one, other) } else { (other, one) };
        let (measures, (size, member)) = if is_first {
            (found.measures, found.sizes)
        } else {
            (found.measures.swapped(), (found.sizes.1, found.sizes.0))
        };
        let wholes = self.table.wholes(archive.0);
        let whole = wholes.iter().flatten().map(|whole| whole.size).sum();
        let found = PairFound {
            sizes: (size, whole),
            measures: of_part(measures, member, (size, whole)),
            relation: None,
            is_estimate: true,
            rarity: None,
            of_both: None,
        };
        let link = self.terms.link_of((single.0, archive.0), &found)?;
        Some(link.with_match(By::Text))
    }

    /// Returns the ways in which two places are compared.
    pub(super) fn ways(&self, a: u32, b: u32) -> Ways {
        let own = |place| (place, Rendition::Own);
        let mut ways = Ways::default();
        if self.table.is_plain(a) && self.table.is_plain(b) {
            ways.met = self.table.is_compared(own(a), own(b)) && (self.is_wanted)(a, b);
            return ways;
        }
        for one in self.table.owners(a) {
            for other in self.table.owners(b) {
                let way = if self.table.is_held(one, other) {
                    &mut ways.held
                } else if !self.table.is_compared(one, other) {
                    continue;
                } else if one.1.is_whole() {
                    &mut ways.whole
                } else {
                    &mut ways.met
                };
                *way |= (self.is_wanted)(one.0, other.0);
                if ways.met && ways.held && ways.whole {
                    return ways;
                }
            }
        }
        ways
    }
}

/// The ways in which the files of two contents are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ways {
    /// The files are compared by these two contents.
    pub(super) met: bool,
    /// One content is a member of an archive, and the other is that of a single file.
    pub(super) held: bool,
    /// Both contents are wholes of archives.
    pub(super) whole: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_comes_back_from_disk() {
        let measures = Measures {
            a_in_b: Some(Score::new(0.4)),
            b_in_a: None,
            resemblance: None,
            shared_bytes: ByteLen(1 << 40),
        };
        let rarity = Some(Rarity {
            weight: 0.123_456_789,
            contents: 77,
        });
        for (rarity, may_link) in [(rarity, true), (None, false)] {
            let draft = LinkDraft::new((1, 2), &measures, rarity, may_link);
            let mut bytes = [0; LinkDraft::BYTES];
            draft.put(&mut bytes);
            let draft = LinkDraft::take(&bytes);
            assert_eq!(draft.measures(), measures);
            assert_eq!((draft.rarity(), draft.may_link()), (rarity, may_link));
        }
    }

    #[test]
    fn a_draft_comes_back_from_a_cache() {
        let scores = [None, Some(0.0), Some(0.123_456), Some(1.0)].map(|of| of.map(Score::new));
        let (mut drafts, mut bytes) = (Vec::new(), Vec::new());
        for (number, a_in_b) in (0..).zip(scores) {
            for b_in_a in scores {
                let measures = Measures {
                    a_in_b,
                    b_in_a,
                    resemblance: None,
                    shared_bytes: ByteLen(u64::MAX >> (9 * number)),
                };
                let rarity = a_in_b.map(|score| Rarity {
                    weight: score.get() / 3.0,
                    contents: 1 << number,
                });
                let pair = (7 * number, [0, 3, u32::MAX][number as usize % 3]);
                let draft = LinkDraft::new(pair, &measures, rarity, b_in_a.is_some());
                drafts.push(draft.with_kinship(0.7 * number as f32));
            }
        }
        let mut before = 0;
        for draft in &drafts {
            draft.put_after(before, &mut bytes);
            before = draft.a;
        }
        let (mut reader, mut before) = (Reader(&bytes), 0);
        for draft in &drafts {
            assert_eq!(LinkDraft::take_after(before, &mut reader), Some(*draft));
            before = draft.a;
        }
        assert!(reader.0.is_empty());
        for cut in 0..bytes.len() {
            let mut reader = Reader(&bytes[..cut]);
            let taken = std::iter::from_fn(|| LinkDraft::take_after(0, &mut reader));
            assert!(taken.count() < drafts.len());
        }
    }
}
