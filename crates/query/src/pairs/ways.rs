//! Selects the best of the ways in which two files are matched. The best way becomes the row of the
//! pair.

use resemble_core::bits::BitSet;
use resemble_core::similarity::{Estimated, Unit};
use resemble_core::{ContentId, ContentKind};
use resemble_proto::message::MeasureUnit;
use resemble_relate::judge::matched::{Match, shown_wholes};
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::renditions::Rendition;

use super::{PairMatch, Question};

/// The contents of two files, and one way in which the files are matched. The lesser content comes
/// first.
pub(super) type Pair = ((ContentId, ContentId), Way);

/// One way in which two files are matched.
pub(super) enum Way {
    Whole(Match),
    /// The files are matched by their wholes of one kind: all texts, or everything else.
    Part(usize, Estimated),
}

impl Way {
    pub(super) fn swapped(self) -> Self {
        match self {
            Self::Part(at, Estimated { measures, interval }) => {
                let (measures, interval) = (measures.swapped(), interval.swapped());
                Self::Part(at, Estimated { measures, interval })
            }
            Self::Whole(matched) => Self::Whole(matched.swapped()),
        }
    }
}

impl Question<'_> {
    /// Returns whether both contents are the own bytes of files, and neither is a text. They are
    /// then judged by their common windows.
    pub(super) fn are_judged_by_windows(&self, pair: (&StoredSketch, &StoredSketch)) -> bool {
        let is_text = |content: &StoredSketch| content.kind == ContentKind::Text;
        let of_files = |(one, other): ((ContentId, Rendition), (ContentId, Rendition))| {
            one.1 == Rendition::Own && other.1 == Rendition::Own
        };
        !is_text(pair.0) && !is_text(pair.1) && self.meetings(pair).all(of_files)
    }

    /// Returns the best way for each pair of files, unordered. There may be very many pairs, so
    /// only their indexes are sorted, not the pairs.
    pub(super) fn best_of(&self, mut matched: Vec<Pair>) -> Vec<PairMatch> {
        let places = (0u32..).zip(&matched);
        let mut by_owners: Vec<_> = places.map(|(at, &(owners, _))| (owners, at)).collect();
        by_owners.sort_unstable();
        let mut is_best = BitSet::default();
        for ways in by_owners.chunk_by(|a, b| a.0 == b.0) {
            let (owners, first) = ways[0];
            let met = ways.iter().map(|&(_, at)| &matched[at as usize].1);
            if let [_] = ways
                && matches!(matched[first as usize].1, Way::Whole(_))
                && !self.both_hold_members(owners)
            {
                is_best.insert(first);
            } else if let Some(found) = self.best_way(owners, met) {
                matched[first as usize].1 = Way::Whole(found);
                is_best.insert(first);
            }
        }
        drop(by_owners);
        let of_best = (0u32..)
            .zip(matched)
            .filter_map(|(at, (owners, way))| match way {
                Way::Whole(found) if is_best.has(at) => Some((owners, found)),
                _ => None,
            });
        of_best.collect()
    }

    /// Returns whether the two files are different and both hold members.
    fn both_hold_members(&self, owners: (ContentId, ContentId)) -> bool {
        owners.0 != owners.1 && self.holds_members(owners.0) && self.holds_members(owners.1)
    }

    /// Returns the best of the ways in which two files are matched.
    fn best_way<'w>(
        &self,
        owners: (ContentId, ContentId),
        ways: impl Iterator<Item = &'w Way>,
    ) -> Option<Match> {
        let (mut best, mut parts) = (None::<&Match>, [None, None]);
        for way in ways {
            match way {
                Way::Part(at, found) => parts[*at] = Some(*found),
                Way::Whole(found) => {
                    if best.is_none_or(|best| found.is_better_than(best)) {
                        best = Some(found);
                    }
                }
            }
        }
        if self.both_hold_members(owners) {
            let (a, b) = (
                self.renditions.wholes(owners.0),
                self.renditions.wholes(owners.1),
            );
            let mut found = shown_wholes(a, b, parts, self.min_shared())?;
            if self.request.unit == MeasureUnit::Bytes {
                found.unit = Unit::Bytes;
            }
            return Some(found);
        }
        best.cloned()
    }
}
