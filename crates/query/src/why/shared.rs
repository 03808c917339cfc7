//! Shared and differing ranges of two files, with their measures.

use std::ops::Range;

use resemble_core::numbers::OnlyNumbers;
use resemble_core::similarity::Unit;
use resemble_core::{ByteLen, Measures, Relation};
use resemble_proto::message::Layer;

use super::order::Placing;

/// A member of one archive, and its partner in the other archive. The partner is the member that
/// shares most and has no other partner yet. Otherwise it is an equal or related member that
/// already has a partner, or else a member of the same name. One side is `None` if a member has no
/// partner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberMatch {
    /// The names that lead to the member of a, and its size. The names are empty for the text of a
    /// mail, and for a file that is not an archive.
    pub a: Option<(Vec<u8>, ByteLen)>,
    /// The same for b.
    pub b: Option<(Vec<u8>, ByteLen)>,
    /// The relation of the two members, if both exist.
    pub relation: Option<Relation>,
    /// The measures of the two members and their unit, if both exist.
    pub measures: Option<(Measures, Unit)>,
    /// Whether the member of a is also in an earlier match, and whether the member of b is.
    pub again: (bool, bool),
}

/// A stretch of a and the equal stretch of b.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedRange {
    /// Bytes of a.
    pub a: Range<u64>,
    /// The equal bytes of b.
    pub b: Range<u64>,
    /// The first and the last line of the range in a, from 1, if both files are text and were read.
    pub lines_a: Option<(u64, u64)>,
    /// The first and the last line of the range in b.
    pub lines_b: Option<(u64, u64)>,
    /// The placing of this range among the others.
    pub placing: Placing,
}

impl SharedRange {
    /// Returns the length of the range in bytes.
    pub fn bytes(&self) -> u64 {
        self.a.end - self.a.start
    }
}

/// A stretch of one file that the other file does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The bytes of the stretch.
    pub range: Range<u64>,
    /// The first and the last line of the stretch, from 1, if both files are text and were read.
    pub lines: Option<(u64, u64)>,
}

/// The kind of the shared ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangesOf {
    /// Runs of bytes, exact to the byte.
    Runs,
    /// Rows of any length that two tables share, and also runs of bytes.
    Rows,
    /// Common chunks. The files are too large for a comparison of all bytes.
    Chunks,
}

/// The common and differing parts of two files, with their measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// The stretches, in the order of file `a`. No byte of file `a` is in two stretches.
    pub ranges: Vec<SharedRange>,
    /// Other stretches of b that a has, too, in the order of b. They are further copies of
    /// [`Self::ranges`].
    pub repeats: Vec<SharedRange>,
    /// The parts of a that are nowhere in b: the bytes outside all ranges.
    pub differs_a: Vec<Stretch>,
    /// The parts of b that are nowhere in a: the bytes outside all ranges and repeats.
    pub differs_b: Vec<Stretch>,
    /// The kind of the ranges.
    pub ranges_of: RangesOf,
    /// True if both files have the same bytes.
    pub identical: bool,
    /// True if both files are text: they have no NUL in the first 8 KiB.
    pub text: bool,
    /// For archives, the matched members. Archives have no ranges.
    pub members: Vec<MemberMatch>,
    /// The layer of all ranges, sizes and measures: the files' own bytes, or their texts.
    pub layer: Layer,
    /// The differing numbers of two texts that are equal otherwise.
    pub numbers: Option<OnlyNumbers>,
    /// The measures in words, if both are texts that were read. Every other question shows the same
    /// measures.
    pub words: Option<Measures>,
    /// The measures in bytes of two texts that are not measured in words, such as encoded data,
    /// whose line ends do not count. If templates are marked, these are the measures in bytes of
    /// any two contents, without the text of the templates.
    pub payload: Option<Measures>,
    /// The relation by the measures in words if there are any, and otherwise by those in bytes. It
    /// is `None` if the files share too little for any relation.
    pub relation: Option<Relation>,
    /// True if most of the common part is a short piece that is repeated. The files then have no
    /// relation.
    pub is_repetition: bool,
    /// The sizes of a and b.
    pub sizes: (ByteLen, ByteLen),
    /// The measures that belong to the ranges.
    pub measures: Measures,
}

impl Shared {
    /// Returns the number of bytes of all differing stretches, of a and of b.
    pub fn differing_bytes(&self) -> (u64, u64) {
        let sum = |stretches: &[Stretch]| -> u64 {
            stretches
                .iter()
                .map(|stretch| stretch.range.end - stretch.range.start)
                .sum()
        };
        (sum(&self.differs_a), sum(&self.differs_b))
    }

    /// Returns the measures of the pair that every question shows, and their unit. If both files
    /// are texts, the unit is words.
    pub fn told(&self) -> (&Measures, Unit) {
        match (&self.words, &self.payload) {
            (Some(words), _) => (words, Unit::Words),
            (None, Some(payload)) => (payload, Unit::Bytes),
            (None, None) => (&self.measures, Unit::Bytes),
        }
    }

    /// Returns whether all of a occurs in b in order, and whether all of b occurs in a in order.
    /// Two bytes must not match the same byte of the other file. Returns false for texts of
    /// documents, for members, and for files that were not compared whole.
    pub fn whole_in_order(&self) -> (bool, bool) {
        let pairs = self.ranges.windows(2);
        let is_ordered = self.layer == Layer::Bytes
            && self.members.is_empty()
            && self.ranges_of != RangesOf::Chunks
            && pairs.into_iter().all(|two| two[0].b.end <= two[1].b.start);
        let is_whole = |size: ByteLen| is_ordered && self.range_bytes() == size.0;
        (is_whole(self.sizes.0), is_whole(self.sizes.1))
    }

    /// Returns the number of bytes of a that lie in ranges.
    pub fn range_bytes(&self) -> u64 {
        self.ranges.iter().map(SharedRange::bytes).sum()
    }
}
