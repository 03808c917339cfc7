//! Stores the links between contents, by content.
//!
//! Every link is stored twice, once from each end, in the order of the ends. So the links of a
//! content are one run, and only its start must be in memory. The run itself is in memory, too, or
//! it is read from a scratch file when it is needed.

use std::path::Path;

use resemble_core::cluster::{Network, Tie, UnionFind};
use resemble_core::similarity::discount::Rarity;
use resemble_core::{ByteLen, Measures, Relation, StopFlag};
use resemble_proto::message::Discount;
use resemble_proto::number::Fraction;
use resemble_relate::AskError;
use resemble_relate::nominate::evidence::Counts;
use resemble_relate::parallel::{in_a_step, named};
use resemble_relate::renditions::Rendition;
use resemble_relate::sort::{Merge, Record, RunWriter, SortedRun, put_words, take_words};

use resemble_relate::join::Table;
use resemble_relate::sort::MemoryBudget;

/// A link seen from one of its ends. Shares are in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HalfLink {
    pub(super) from: u32,
    pub(super) to: u32,
    /// The share of `from` that lies in `to`. [`HalfLink::UNKNOWN`] if `from` is too small to
    /// judge.
    there: u32,
    back: u32,
    /// The score for the grouping ([`Tie::score`]).
    score: u32,
    /// The larger containment after the discount for common text.
    left: u32,
    /// The number of contents with the common text, if there is a discount. The top bits hold
    /// [`By`] and flags.
    contents: u32,
    // The number of shared bytes, split into two `u32`. A `u64` would increase the size of this
    // type from 40 to 48 bytes.
    shared: [u32; 2],
    /// The kinship as float bits; 0 for texts. It depends on how few other contents have the common
    /// pieces.
    kinship: u32,
}

/// The renditions of two files that make a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The bytes of both files.
    Bytes,
    /// Other contents. At least one of the two files is not compared by its bytes.
    Text,
    /// The wholes of one kind: all texts (0) or all other parts (1). Both kinds are joined into one
    /// link later.
    Whole(usize),
}

impl By {
    /// Returns the kind of a rendition that is a whole; `None` for any other rendition. Only wholes
    /// of one kind are compared.
    pub(super) const fn of_wholes(rendition: Rendition) -> Option<Self> {
        match rendition {
            Rendition::WholeText => Some(Self::Whole(0)),
            Rendition::WholeBytes => Some(Self::Whole(1)),
            Rendition::Own | Rendition::Unpacked | Rendition::Text | Rendition::Member => None,
        }
    }
}

impl HalfLink {
    const UNKNOWN: u32 = u32::MAX;
    /// Bits of `contents`.
    const BY_TEXT: u32 = 1 << 31;
    const BY_WHOLE: [u32; 2] = [1 << 30, 1 << 29];
    const ESTIMATE: u32 = 1 << 28;
    const SAME_TEXT: u32 = 1 << 27;
    const COUNT: u32 = (1 << 27) - 1;
    /// Bits that do not depend on the renditions.
    const KEPT: u32 = Self::COUNT | Self::ESTIMATE | Self::SAME_TEXT;

    /// Returns the link of two places with these measures and this [`Tie::score`]. `rarity` is the
    /// rarity of the pieces that both share, if some of these are common.
    pub(super) fn new(
        (from, to): (u32, u32),
        measures: &Measures,
        score: u32,
        rarity: Option<Rarity>,
    ) -> Self {
        let millionths = |score| Fraction::from(score).millionths().unwrap_or(Self::UNKNOWN);
        let raw = measures.containment();
        let left = rarity.map_or(raw, |rarity| raw.map(|raw| rarity.discounted(raw)));
        let shared = measures.shared_bytes.0;
        Self {
            from,
            to,
            there: millionths(measures.a_in_b),
            back: millionths(measures.b_in_a),
            score,
            left: millionths(left),
            contents: rarity.map_or(0, |rarity| rarity.contents.min(Self::COUNT)),
            shared: [shared as u32, (shared >> 32) as u32],
            kinship: 0,
        }
    }

    /// Returns the link, marked with the renditions that make it.
    pub(super) const fn with_match(self, by: By) -> Self {
        let bit = match by {
            By::Bytes => 0,
            By::Text => Self::BY_TEXT,
            By::Whole(at) => Self::BY_WHOLE[at],
        };
        Self {
            contents: self.contents & Self::KEPT | bit,
            ..self
        }
    }

    /// Returns the link, marked as an estimate.
    pub(super) const fn estimated(self) -> Self {
        Self {
            contents: self.contents | Self::ESTIMATE,
            ..self
        }
    }

    /// Returns the link, marked as one between files of the same text.
    pub(super) const fn of_same_text(self) -> Self {
        Self {
            contents: self.contents | Self::SAME_TEXT,
            ..self
        }
    }

    /// Returns whether the link is one between files of the same text.
    pub(super) const fn is_same_text(&self) -> bool {
        self.contents & Self::SAME_TEXT != 0
    }

    /// Returns the relation of the two ends, seen from the first end. Returns `None` if they share
    /// too little for any relation.
    pub(super) fn relation(&self) -> Option<Relation> {
        let tie = self.tie();
        let is_mostly = |share: Option<u32>| share >= Some(Tie::MOSTLY);
        Some(match (is_mostly(tie.there), is_mostly(tie.back)) {
            _ if self.is_same_text() => Relation::SameText,
            (true, true) => Relation::Near,
            (true, false) => Relation::Contained,
            (false, true) => Relation::Contains,
            (false, false) if f64::from(tie.containment()) >= Relation::PARTLY * 1e6 => {
                Relation::Shares
            }
            (false, false) => return None,
        })
    }

    /// Returns the link with this kinship.
    pub(super) const fn with_kinship(self, kinship: f32) -> Self {
        Self {
            kinship: kinship.to_bits(),
            ..self
        }
    }

    const fn kinship(&self) -> f32 {
        f32::from_bits(self.kinship)
    }

    /// Returns whether the measures of the link are estimates. Otherwise they are exact.
    pub(super) const fn is_estimate(&self) -> bool {
        self.contents & Self::ESTIMATE != 0
    }

    /// Returns the renditions that make the link.
    pub(super) fn matched_by(&self) -> By {
        let whole = Self::BY_WHOLE
            .iter()
            .position(|&bit| self.contents & bit != 0);
        match whole {
            Some(at) => By::Whole(at),
            None if self.contents & Self::BY_TEXT != 0 => By::Text,
            None => By::Bytes,
        }
    }

    /// Returns the measures of a pair that is not a link yet. The resemblance is not stored.
    pub(super) fn measures(&self) -> Measures {
        let (there, back) = self.shares();
        Measures {
            a_in_b: there.score(),
            b_in_a: back.score(),
            resemblance: None,
            shared_bytes: ByteLen(self.shared()),
        }
    }

    /// Returns a key for the choice between two links of one pair. The link with the larger
    /// containment has the greater key.
    pub(super) fn worth(&self) -> impl Ord {
        let by_bytes = self.matched_by() == By::Bytes;
        let tie = self.tie();
        (tie.containment(), tie.there, by_bytes, *self)
    }

    /// Returns the link seen from its other end.
    pub(super) fn swapped(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
            there: self.back,
            back: self.there,
            ..self
        }
    }

    pub(super) fn tie(&self) -> Tie {
        let known = |millionths| (millionths != Self::UNKNOWN).then_some(millionths);
        Tie {
            to: self.to,
            there: known(self.there),
            back: known(self.back),
            score: self.score,
            shared: self.shared(),
            is_of_kin: false,
        }
    }

    /// Returns the share of `from` that lies in `to`, and of `to` in `from`.
    pub(super) fn shares(&self) -> (Fraction, Fraction) {
        let tie = self.tie();
        let share = |share: Option<u32>| share.map_or(Fraction::NONE, Fraction::from_millionths);
        (share(tie.there), share(tie.back))
    }

    /// Returns the discount in the form that answers have.
    pub(super) fn discount(&self) -> Discount {
        let contents = self.contents & Self::COUNT;
        if contents == 0 {
            return Discount::default();
        }
        // The greatest count means that the number is unknown.
        let contents = if contents == Self::COUNT {
            u32::MAX
        } else {
            contents
        };
        let raw = Fraction::from_millionths(self.tie().containment());
        Counts::in_words(raw, Fraction::from_millionths(self.left), contents)
    }

    pub(super) fn shared(&self) -> u64 {
        u64::from(self.shared[0]) | u64::from(self.shared[1]) << 32
    }
}

impl Record for HalfLink {
    const BYTES: usize = 40;

    fn put(&self, out: &mut [u8]) {
        let words = [
            self.from,
            self.to,
            self.there,
            self.back,
            self.score,
            self.left,
            self.contents,
            self.shared[0],
            self.shared[1],
            self.kinship,
        ];
        put_words(&words, out);
    }

    fn take(bytes: &[u8]) -> Self {
        let [
            from,
            to,
            there,
            back,
            score,
            left,
            contents,
            low,
            high,
            kinship,
        ] = take_words(bytes);
        Self {
            from,
            to,
            there,
            back,
            score,
            left,
            contents,
            shared: [low, high],
            kinship,
        }
    }
}

/// All links, from both ends.
#[derive(Debug)]
pub(super) struct Links {
    /// The start of each content's links in `halves`. The content at `place` has the entries from
    /// `starts[place]` to `starts[place + 1]`.
    starts: Vec<u64>,
    halves: SortedRun<HalfLink>,
    /// For each place, the least place in its connected component.
    pub(super) components: Vec<u32>,
    /// For each place, the least place in its component of the graph of close links: see
    /// [`Links::kin`]. Empty if no link has a kinship.
    kin: Vec<u32>,
}

impl Links {
    /// Collects the halves of all links. `of` has the number of contents. `join` merges the links
    /// of one pair, which are all seen from the lesser end.
    pub(super) fn of(
        runs: Vec<SortedRun<HalfLink>>,
        of: (u32, &StopFlag),
        join: &mut JoinLinks<'_>,
        room: MemoryBudget,
        dir: &Path,
    ) -> Result<Self, AskError> {
        let take = |done: &(dyn Fn(usize) + Sync)| Self::take(runs, of, join, (room, dir), done);
        named("grouping", || in_a_step(of.0 as usize, take))
    }

    fn take(
        runs: Vec<SortedRun<HalfLink>>,
        (contents, stop): (u32, &StopFlag),
        join: &mut JoinLinks<'_>,
        (room, dir): (MemoryBudget, &Path),
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Self, AskError> {
        let mut merge = Merge::new(runs, room.part(2), dir)?;
        let mut starts = vec![0; contents as usize + 1];
        let mut components = UnionFind::new(contents);
        let mut closest = vec![0.0f32; contents as usize];
        let mut halves = RunWriter::new(room.part(1), dir)?;
        let mut ahead = merge.next()?;
        let mut of_pair = Vec::new();
        let mut last = 0;
        while let Some(first) = ahead {
            stop.go_on()?;
            let ends = (first.from, first.to);
            // Halves are sorted by their first ends. So the links of all contents before this end
            // are complete.
            done((first.from - last) as usize);
            last = first.from;
            of_pair.clear();
            while let Some(half) = ahead.filter(|half| (half.from, half.to) == ends) {
                of_pair.push(half);
                ahead = merge.next()?;
            }
            let Some(half) = joined(&of_pair, join)? else {
                continue;
            };
            starts[half.from as usize + 1] += 1;
            components.union(half.from, half.to);
            let closest = &mut closest[half.from as usize];
            *closest = closest.max(half.kinship());
            halves.push(half)?;
        }
        for place in 0..contents as usize {
            starts[place + 1] += starts[place];
        }
        let mut links = Self {
            starts,
            halves: halves.finish()?,
            components: components.into_least(),
            kin: Vec::new(),
        };
        links.kin = links.kin(&closest, stop)?;
        Ok(links)
    }

    /// Returns the components of the graph of close links. For each place, `closest` has the
    /// highest kinship of its links. A link is close if its kinship is at least half of this value
    /// of one of its ends.
    ///
    /// The bound is relative, because versions of one program are all equally close, however low
    /// their kinship is. If several drivers contain one framework, two builds of one driver are far
    /// closer than two different drivers.
    fn kin(&self, closest: &[f32], stop: &StopFlag) -> Result<Vec<u32>, AskError> {
        if closest.iter().all(|&closest| closest == 0.0) {
            return Ok(Vec::new());
        }
        let mut kin = UnionFind::new(closest.len() as u32);
        let mut halves = Vec::new();
        for (place, &of_place) in (0u32..).zip(closest) {
            stop.go_on()?;
            if of_place == 0.0 {
                continue;
            }
            self.read(place, &mut halves)?;
            for half in halves.iter().filter(|half| half.kinship() > 0.0) {
                let closest = of_place.min(closest[half.to as usize]);
                if 2.0 * half.kinship() >= closest {
                    kin.union(half.from, half.to);
                }
            }
        }
        Ok(kin.into_least())
    }

    /// Returns the number of links of a content.
    pub(super) fn degree(&self, place: u32) -> u64 {
        self.starts[place as usize + 1] - self.starts[place as usize]
    }

    /// Reads the links of a content into `halves`, in ascending order of their other ends.
    pub(super) fn read(&self, place: u32, halves: &mut Vec<HalfLink>) -> Result<(), AskError> {
        halves.clear();
        let (from, to) = (self.starts[place as usize], self.starts[place as usize + 1]);
        self.halves.read(from..to, halves)
    }
}

/// Merges all links of one pair into one.
pub(super) type JoinLinks<'j> = dyn FnMut(&[HalfLink]) -> Result<Option<HalfLink>, AskError> + 'j;

/// Joins the links of a pair into one. All of them are first turned to be seen from the lesser end,
/// so both ends get the same link.
fn joined(halves: &[HalfLink], join: &mut JoinLinks<'_>) -> Result<Option<HalfLink>, AskError> {
    match halves {
        [first, ..] if first.from <= first.to => join(halves),
        _ => {
            let swapped: Vec<HalfLink> = halves.iter().map(|half| half.swapped()).collect();
            Ok(join(&swapped)?.map(HalfLink::swapped))
        }
    }
}

/// The links in the form that the grouping uses.
#[derive(Debug)]
pub(super) struct LinkSimilarity<'l> {
    pub(super) links: &'l Links,
    pub(super) table: &'l Table,
    pub(super) stop: &'l StopFlag,
    pub(super) halves: Vec<HalfLink>,
}

impl Network for LinkSimilarity<'_> {
    type Error = AskError;

    fn nodes(&self) -> u32 {
        self.table.file_contents()
    }

    fn size(&self, node: u32) -> u64 {
        self.table.size(node)
    }

    fn ties(&mut self, node: u32, ties: &mut Vec<Tie>) -> Result<(), AskError> {
        self.stop.go_on()?;
        self.links.read(node, &mut self.halves)?;
        ties.clear();
        let kin = |place: u32| self.links.kin.get(place as usize);
        let own = kin(node);
        ties.extend(self.halves.iter().map(|half| Tie {
            is_of_kin: own.is_some() && own == kin(half.to),
            ..half.tie()
        }));
        Ok(())
    }

    fn has_kin(&self) -> bool {
        !self.links.kin.is_empty()
    }
}
