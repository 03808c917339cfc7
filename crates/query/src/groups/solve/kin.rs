//! Computes the kinship of two contents that are not texts. Kinship shows whether these contents
//! share more than unrelated contents do.
//!
//! Kinship depends on how few contents have the common pieces ([`WindowCounts`]). If a problem is
//! solved in parts, the lists of a part lack some of these contents. Then the lists of the index
//! are read, which costs as much as measuring the pair. So the answer does not depend on the bound
//! of memory.
//!
//! Kinship also decides which contents are grouped ([`super::super::links`]), because shared bytes
//! may mislead. Two drivers of one framework may share more bytes than two builds of one driver.

use resemble_core::{ContentKind, Fingerprint};
use resemble_index::{PostingKind, ReadError};
use resemble_relate::AskError;
use resemble_relate::nominate::block::{Common, PieceWorth, nominating_pieces};
use resemble_relate::nominate::evidence::{CHUNK, StoredSketch};
use resemble_relate::nominate::kinship::{Kinships, WindowCounts, rare_in_less, sum_is_at_most};

use super::{BlockContent, Solver};

/// The part of the search that compares two contents.
#[derive(Clone, Copy, Debug)]
pub(super) enum MatchContext<'k> {
    /// The pair is in a block that has all contents of its problem. The numbers are the places of
    /// the two contents in the block.
    Whole(&'k Kinships, (usize, usize)),
    /// The pair is in a part of its problem.
    Part,
    /// The pair is a member of a family and its leader.
    Family,
}

impl Solver<'_> {
    /// Returns the kinship of the contents at two places, judged by their common pieces. Returns
    /// `None` if they are unrelated, and 0 if they are not judged by kinship.
    pub(super) fn kinship(
        &self,
        places: (u32, u32),
        (a, b): (BlockContent<'_>, BlockContent<'_>),
        (common, met): (Common, MatchContext<'_>),
    ) -> Result<Option<f32>, AskError> {
        let is_text = a.0.kind == ContentKind::Text || b.0.kind == ContentKind::Text;
        let are_files = self.table.is_plain(places.0) && self.table.is_plain(places.1);
        if is_text || !are_files {
            return Ok(Some(0.0));
        }
        let (of_a, of_b) = (&a.0.signature, &b.0.signature);
        let level = of_a.level.max(of_b.level);
        let ignored = |of: &[Fingerprint]| of.iter().filter(|f| f.level() >= level).count();
        let windows = WindowCounts::of(of_a, of_b).and(ignored(a.1), ignored(b.1));
        let (are_kin, common, rare) = match met {
            // All contents of a family have the same windows, so each window has little weight. But
            // near-copies are the closest kin.
            MatchContext::Family => return Ok(Some(1.0)),
            MatchContext::Whole(known, pair) => {
                let is_at_most = |most| Ok::<_, AskError>(known.is_at_most(pair, level, most));
                let are_kin = windows.are_kin(common, is_at_most)?;
                (are_kin, common, known.rare_in_less(pair, level))
            }
            MatchContext::Part => {
                let common = self.common_in_problem(a.0, b.0)?;
                let (of_a, of_b) = (self.worths_of(a.0, level)?, self.worths_of(b.0, level)?);
                let is_at_most = |most| {
                    let is_at_most = |of: &[PieceWorth]| sum_is_at_most(of.iter().copied(), most);
                    Ok::<_, AskError>(is_at_most(&of_a) || is_at_most(&of_b))
                };
                let are_kin = windows.are_kin(common, is_at_most)?;
                let rare = rare_in_less(of_a.into_iter(), of_b.into_iter());
                (are_kin, common, rare)
            }
        };
        let kinship = if rare > 0.0 {
            f64::from(common.own) / rare
        } else {
            0.0
        };
        Ok(are_kin.then_some(kinship as f32))
    }

    /// Sums up the common pieces of two contents. The worth of a piece depends on the number of
    /// contents of the question that have it.
    fn common_in_problem(&self, a: &StoredSketch, b: &StoredSketch) -> Result<Common, ReadError> {
        let mut common = Common::NONE;
        for kind in [PostingKind::Fingerprint, PostingKind::Chunk] {
            let of_b = nominating_pieces(kind, b, self.counts);
            let mut keys = nominating_pieces(kind, a, self.counts);
            keys.retain(|key| of_b.binary_search(key).is_ok());
            self.worths(kind, &keys, |worth| common.add(kind, worth))?;
        }
        Ok(common)
    }

    /// Returns the worth of each window of a content at or above this level.
    fn worths_of(&self, content: &StoredSketch, level: u8) -> Result<Vec<PieceWorth>, ReadError> {
        let kind = PostingKind::Fingerprint;
        let mut keys = nominating_pieces(kind, content, self.counts);
        keys.retain(|&key| Fingerprint(key).level() >= level);
        let mut worths = Vec::with_capacity(keys.len());
        self.worths(kind, &keys, |worth| worths.push(worth))?;
        Ok(worths)
    }

    /// Calls `found` with the worth of each piece. The worth is the same as in a block of all
    /// contents of the question.
    fn worths(
        &self,
        kind: PostingKind,
        keys: &[u64],
        mut found: impl FnMut(PieceWorth),
    ) -> Result<(), ReadError> {
        let mark = match kind {
            PostingKind::Fingerprint => 0,
            PostingKind::Chunk => CHUNK,
        };
        self.snapshot.postings(kind, keys, &mut |at, contents| {
            // The members of a family are not nominated by the pieces of its leader.
            let is_its_own = |&place: &u32| {
                let of_leader = self.families.of_leader(place);
                of_leader.is_none_or(|pieces| !pieces.contains(&(keys[at] | mark)))
            };
            let places = contents.iter().filter_map(|&id| self.table.place(id));
            let count = places.filter(is_its_own).count();
            found(PieceWorth::of(count as u32, self.counts.limit()));
        })
    }
}
