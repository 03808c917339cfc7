//! Pairs of files of which one at least holds members.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use resemble_core::similarity::Unit;
use resemble_core::{ByteLen, ContentId, Measures};
use resemble_index::ReadError;

use super::budget::{BeyondBudget, CostlyPair};
use super::{Link, PartnerQuestion};
use crate::ask::AskError;
use crate::compare::common::CommonKeys;
use crate::judge::estimate::estimate;
use crate::judge::matched::match_of_wholes;
use crate::prove::archives::{Archives, OwnedFiles};
use crate::prove::exact::Proven;
use crate::prove::members::AloneSide;
use crate::renditions::WholeDigest;

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
        (common, beyond): (&CommonKeys, &BeyondBudget),
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
            let is_estimate = proven.is_none();
            let found = match proven {
                Some(proven) => Some(proven),
                None => self.estimate_of_members((a, b), common)?,
            };
            if is_estimate && !is_beyond {
                self.has_unread.store(true, Ordering::Relaxed);
            }
            let link = found.map(|found| (Link::of((a, b), &found, is_estimate), found.sizes));
            links.extend(link);
        }
        Ok(links)
    }

    /// What is known of two files without reading what they hold.
    pub(super) fn estimate_of_members(
        &self,
        (a, b): (u32, u32),
        common: &CommonKeys,
    ) -> Result<Option<Proven>, AskError> {
        let wholes = (self.files.wholes(a), self.files.wholes(b));
        let mut measures: [Option<Measures>; 2] = [None, None];
        for (at, found) in measures.iter_mut().enumerate() {
            if let (Some(one), Some(other)) = (wholes.0[at], wholes.1[at]) {
                let (one, other) = (self.load(one)?, self.load(other)?);
                let (of_one, of_other) = (one.sketch(), other.sketch());
                *found = Some(estimate(
                    (&of_one, one.kind),
                    (&of_other, other.kind),
                    common,
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
        let matched = match_of_wholes(sides.0, sides.1, measures, self.min_shared());
        Ok(matched.map(|matched| Proven {
            relation: matched.relation,
            measures: matched.measures,
            unit: matched.unit,
            sizes: matched.sizes,
            has_passage: matched.has_passage,
        }))
    }
}
