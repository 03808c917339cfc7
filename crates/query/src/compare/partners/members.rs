//! Pairs of files of which one at least holds members.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use resemble_core::similarity::{Estimated, Interval, Unit};
use resemble_core::{ByteLen, ContentId};
use resemble_index::ReadError;
use resemble_relate::AskError;
use resemble_relate::judge::estimate::shown_whole;
use resemble_relate::judge::matched::shown_wholes;
use resemble_relate::prove::archives::{Archives, OwnedFiles};
use resemble_relate::prove::exact::Proven;
use resemble_relate::prove::members::AloneSide;
use resemble_relate::renditions::WholeDigest;

use super::budget::{BeyondBudget, CostlyPair};
use super::{Link, PartnerQuestion};

/// A link, and the sizes of what was measured.
pub(super) type SizedLink = (Link, (ByteLen, ByteLen));

impl OwnedFiles for &PartnerQuestion<'_> {
    fn own(&self, owner: ContentId) -> Result<Option<AloneSide>, ReadError> {
        Ok(Some(self.files.own(owner.0)))
    }

    fn path(&self, owner: ContentId) -> Option<PathBuf> {
        PartnerQuestion::path(self, owner.0)
    }
}

impl PartnerQuestion<'_> {
    /// Measures pairs of files by all that they hold, as far as they can be read: the links, and
    /// the sizes of what was measured.
    pub(super) fn by_members(
        &self,
        pairs: &[(u32, u32)],
        beyond: &BeyondBudget,
    ) -> Result<Vec<SizedLink>, AskError> {
        let measured = self.pieces.measured().filter(|_| self.templates.is_empty());
        let mut archives = self.part_reader.map(|part_reader| {
            let measured = (self.templates, measured);
            Archives::among(self, &self.files.renditions, part_reader, measured)
        });
        let mut links = Vec::with_capacity(pairs.len());
        for &(a, b) in pairs {
            self.pieces.go_on()?;
            let owners = (ContentId(a), ContentId(b));
            let is_beyond = beyond.has(CostlyPair::Files(a, b));
            let proven = match &mut archives {
                Some(archives) if !is_beyond => {
                    archives.measure(owners, Unit::Words, self.min_shared())?
                }
                _ => None,
            };
            let found = if let Some(proven) = proven {
                Some((proven, None))
            } else {
                if !is_beyond {
                    self.has_unread.store(true, Ordering::Relaxed);
                }
                self.estimate_of_members((a, b))?
            };
            let link = found.map(|(found, estimate)| {
                let sizes = found.sizes;
                (Link::of((a, b), &found, estimate), sizes)
            });
            links.extend(link);
        }
        Ok(links)
    }

    /// What is known of two files without reading what they hold.
    pub(super) fn estimate_of_members(
        &self,
        (a, b): (u32, u32),
    ) -> Result<Option<(Proven, Option<Interval>)>, AskError> {
        let wholes = (self.files.wholes(a), self.files.wholes(b));
        let mut shown: [Option<Estimated>; 2] = [None, None];
        for (at, found) in shown.iter_mut().enumerate() {
            if let (Some(one), Some(other)) = (wholes.0[at], wholes.1[at]) {
                let are_equal = one == other;
                let (one, other) = (self.load(one)?, self.load(other)?);
                let (of_one, of_other) = (one.sketch(), other.sketch());
                *found = Some(shown_whole(
                    Unit::Words,
                    (&of_one, one.kind),
                    (&of_other, other.kind),
                    are_equal,
                ));
            }
        }
        let digest = |content: u32| {
            let content = self.content(content);
            WholeDigest {
                digest: content.digest,
                size: content.size,
            }
        };
        let digests = |wholes: [Option<u32>; 2]| wholes.map(|whole| whole.map(digest));
        let sides = (digests(wholes.0), digests(wholes.1));
        let matched = shown_wholes(sides.0, sides.1, shown, self.min_shared());
        Ok(matched.map(|matched| {
            let found = Proven {
                relation: matched.relation,
                measures: matched.measures,
                unit: matched.unit,
                sizes: matched.sizes,
                has_passage: matched.has_passage,
            };
            (
                found,
                Some(
                    matched
                        .interval
                        .map(|interval| *interval)
                        .unwrap_or_default(),
                ),
            )
        }))
    }
}
