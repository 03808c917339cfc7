//! How two files meet: in one way or in several, of which the best is their row.

use resemble_core::similarity::{Estimated, Unit};
use resemble_core::{ContentId, ContentKind, Relation};
use resemble_proto::message::MeasureUnit;

use super::Question;
use crate::judge::matched::{Match, shown_wholes};
use crate::nominate::evidence::Kept;
use crate::renditions::Rendition;

/// The contents of two files, the lesser first, and one way in which these meet.
pub(super) type Pair = ((ContentId, ContentId), Way);

/// The contents of two files, and how these meet.
pub(super) type Met = ((ContentId, ContentId), Match);

/// One way in which two files meet.
pub(super) enum Way {
    Whole(Match),
    /// By one of the wholes of both: of texts or of all else.
    Part(usize, Estimated),
}

impl Way {
    pub(super) fn swapped(self) -> Self {
        match self {
            Self::Part(at, Estimated { measures, interval }) => {
                let (measures, interval) = (measures.swapped(), interval.swapped());
                Self::Part(at, Estimated { measures, interval })
            }
            Self::Whole(matched) => Self::Whole(Match {
                relation: matched.relation.map(Relation::swapped),
                measures: matched.measures.swapped(),
                interval: matched
                    .interval
                    .map(|interval| Box::new(interval.swapped())),
                sizes: (matched.sizes.1, matched.sizes.0),
                ..matched
            }),
        }
    }
}

impl Question<'_> {
    /// Whether two contents stand for files by their own bytes, and neither is a text: what they
    /// have in common are windows.
    pub(super) fn are_judged_by_windows(&self, pair: (&Kept, &Kept)) -> bool {
        let is_text = |content: &Kept| content.kind == ContentKind::Text;
        let of_files = |(one, other): ((ContentId, Rendition), (ContentId, Rendition))| {
            one.1 == Rendition::Own && other.1 == Rendition::Own
        };
        !is_text(pair.0) && !is_text(pair.1) && self.meetings(pair).all(of_files)
    }

    /// The best way in which each pair of files meets. There may be very many: they stay in the
    /// same memory.
    pub(super) fn best_of(&self, mut matched: Vec<Pair>) -> Vec<Met> {
        matched.sort_unstable_by_key(|&(owners, _)| owners);
        let (mut from, mut best) = (0, 0);
        while let Some(&(owners, _)) = matched.get(from) {
            let same = matched[from..].iter().take_while(|pair| pair.0 == owners);
            let to = from + same.count();
            let found = self.best_way(owners, &matched[from..to]);
            if let Some(found) = found {
                matched[best] = (owners, Way::Whole(found));
                best += 1;
            }
            from = to;
        }
        matched.truncate(best);
        let whole = |(owners, way)| match way {
            Way::Whole(found) => Some((owners, found)),
            Way::Part(..) => None,
        };
        matched.into_iter().filter_map(whole).collect()
    }

    /// The best of the ways in which two files meet.
    fn best_way(&self, owners: (ContentId, ContentId), ways: &[Pair]) -> Option<Match> {
        let (mut best, mut parts) = (None::<&Match>, [None, None]);
        for (_, way) in ways {
            match way {
                Way::Part(at, found) => parts[*at] = Some(*found),
                Way::Whole(found) => {
                    if best.is_none_or(|best| found.is_better_than(best)) {
                        best = Some(found);
                    }
                }
            }
        }
        if owners.0 != owners.1 && self.holds_members(owners.0) && self.holds_members(owners.1) {
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
