//! What two files share and where they differ, as ranges with their measures.

use std::ops::Range;

use resemble_core::numbers::OnlyNumbers;
use resemble_core::similarity::Unit;
use resemble_core::{ByteLen, Measures, Relation};
use resemble_proto::message::Layer;

use super::order::Placing;

/// A member of one archive, and the member of the other that has something of it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberMatch {
    /// The names that lead to the member of a, and its size. No name: the text of a mail, or a file
    /// that is no archive.
    pub a: Option<(Vec<u8>, ByteLen)>,
    /// The same in b.
    pub b: Option<(Vec<u8>, ByteLen)>,
    /// How the two relate, if both are there.
    pub relation: Option<Relation>,
    /// Their measures and what these are shares of, if both are there.
    pub measures: Option<(Measures, Unit)>,
}

/// A stretch of a and the equal stretch of b.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedRange {
    /// Bytes of a.
    pub a: Range<u64>,
    /// The equal bytes of b.
    pub b: Range<u64>,
    /// First and last line of a, from 1, if both files are text and were read.
    pub lines_a: Option<(u64, u64)>,
    /// First and last line of b.
    pub lines_b: Option<(u64, u64)>,
    /// How it stands among the others.
    pub placing: Placing,
}

impl SharedRange {
    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.a.end - self.a.start
    }
}

/// A stretch of one file that the other has nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Bytes.
    pub range: Range<u64>,
    /// First and last line, from 1, if both files are text and were read.
    pub lines: Option<(u64, u64)>,
}

/// What shared ranges are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangesOf {
    /// Runs of bytes, exact to the byte.
    Runs,
    /// Rows that two tables share, however short they are, and runs.
    Rows,
    /// Common chunks of files that are too large for more.
    Chunks,
}

/// Where two files agree, and how much.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// The stretches in the order of a. No byte of a is in two of them.
    pub ranges: Vec<SharedRange>,
    /// Further stretches of b that a has too, in the order of b: copies of what [`Self::ranges`]
    /// names.
    pub repeats: Vec<SharedRange>,
    /// What of a is nowhere in b: the bytes that no range names.
    pub differs_a: Vec<Stretch>,
    /// What of b is nowhere in a: the bytes that neither a range nor a repeat names.
    pub differs_b: Vec<Stretch>,
    /// What the ranges are.
    pub ranges_of: RangesOf,
    /// Both files have the same bytes.
    pub identical: bool,
    /// Both are text: no NUL in the first 8 KiB.
    pub text: bool,
    /// Of archives which member belongs to which; there are no ranges then.
    pub members: Vec<MemberMatch>,
    /// The files' own bytes, or the texts that stand for them: what all ranges, sizes and measures
    /// are of.
    pub layer: Layer,
    /// How two texts differ that differ only in numbers.
    pub numbers: Option<OnlyNumbers>,
    /// The measures in words, if both are texts that were read: those of every other question.
    pub words: Option<Measures>,
    /// The measures in bytes of what two texts say, if they are not in words: of encoded data those
    /// without its line ends. With templates of any two contents, without what is template.
    pub payload: Option<Measures>,
    /// The relation by the measures in words, or else in bytes; `None` if they have none worth a
    /// word.
    pub relation: Option<Relation>,
    /// Sizes of a and b.
    pub sizes: (ByteLen, ByteLen),
    /// The measures that belong to the ranges.
    pub measures: Measures,
}

impl Shared {
    /// Bytes of all differing stretches of a and of b.
    pub fn differing_bytes(&self) -> (u64, u64) {
        let sum = |stretches: &[Stretch]| -> u64 {
            stretches
                .iter()
                .map(|stretch| stretch.range.end - stretch.range.start)
                .sum()
        };
        (sum(&self.differs_a), sum(&self.differs_b))
    }

    /// The measures of the pair and their unit, as every question tells them: in words if both are
    /// texts.
    pub fn told(&self) -> (&Measures, Unit) {
        match (&self.words, &self.payload) {
            (Some(words), _) => (words, Unit::Words),
            (None, Some(payload)) => (payload, Unit::Bytes),
            (None, None) => (&self.measures, Unit::Bytes),
        }
    }

    /// Whether a is b with something left out, and whether b is that of a: all of its bytes stand
    /// there in their order, and no byte there stands for two of them. Never of texts that stand
    /// for documents, of members, or of files that were not compared whole.
    pub fn whole_in_order(&self) -> (bool, bool) {
        let pairs = self.ranges.windows(2);
        let is_ordered = self.layer == Layer::Bytes
            && self.members.is_empty()
            && self.ranges_of != RangesOf::Chunks
            && pairs.into_iter().all(|two| two[0].b.end <= two[1].b.start);
        let is_whole = |size: ByteLen| is_ordered && self.range_bytes() == size.0;
        (is_whole(self.sizes.0), is_whole(self.sizes.1))
    }

    /// Bytes of a in ranges.
    pub fn range_bytes(&self) -> u64 {
        self.ranges.iter().map(SharedRange::bytes).sum()
    }
}
