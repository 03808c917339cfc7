//! Measures pairs of files in which at least one file holds members.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use resemble_core::similarity::{Estimated, Interval, Unit};
use resemble_core::{ByteLen, ChunkList, ContentId, Digest};
use resemble_index::ReadError;
use resemble_relate::AskError;
use resemble_relate::judge::archives::shown_of_archives;
use resemble_relate::judge::estimate::shown_whole;
use resemble_relate::judge::matched::{CommonPart, Match, shown_wholes};
use resemble_relate::judge::members::shown_of_members;
use resemble_relate::prove::archives::{Archives, OwnedFiles};
use resemble_relate::prove::exact::Proven;
use resemble_relate::prove::members::AloneSide;
use resemble_relate::renditions::WholeDigest;

use super::budget::{BeyondBudget, CostlyPair};
use super::{Link, PartnerQuestion};

/// A link, and the sizes of the measured contents.
pub(super) type SizedLink = (Link, (ByteLen, ByteLen));

impl OwnedFiles for &PartnerQuestion<'_> {
    fn own(&self, owner: ContentId) -> Result<Option<AloneSide>, ReadError> {
        Ok(Some(self.files.own(owner.0)))
    }

    fn path(&self, owner: ContentId) -> Option<PathBuf> {
        self.paths(owner.0).next()
    }
}

impl PartnerQuestion<'_> {
    /// Measures pairs of files by all their members. A pair is estimated if it exceeds the budget
    /// or cannot be read. Returns the links, and the sizes of the measured contents.
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

    /// Estimates a pair of files without reading their members.
    pub(super) fn estimate_of_members(
        &self,
        (a, b): (u32, u32),
    ) -> Result<Option<(Proven, Option<Interval>)>, AskError> {
        let matched = match (self.files.alone(a), self.files.alone(b)) {
            (None, Some(single)) => self.shown_beside(a, single)?,
            (Some(single), None) => self.shown_beside(b, single)?.map(Match::swapped),
            (None, None) => self.shown_of_archives((a, b))?,
            (Some(_), Some(_)) => None,
        };
        let matched = match matched {
            Some(matched) => Some(matched),
            None => self.shown_of_wholes((a, b))?,
        };
        Ok(matched.map(|matched| {
            let found = Proven {
                relation: matched.relation,
                measures: matched.measures,
                unit: matched.unit,
                sizes: matched.sizes,
                has_passage: matched.common == CommonPart::Passage,
                is_repetition: false,
            };
            let interval = matched.interval.as_deref().copied();
            (found, Some(interval.unwrap_or_default()))
        }))
    }

    /// Estimates the match of a file with members and a file that is compared by a single content.
    fn shown_beside(&self, archive: u32, single: u32) -> Result<Option<Match>, AskError> {
        let members = self.files.members(archive);
        let members = members.map(|member| self.sampled(member));
        shown_of_members(
            Unit::Words,
            (self.whole_digests(archive), members),
            &self.sampled(single)?,
            self.min_shared(),
        )
    }

    /// Estimates the match of two files that both hold members, without reading them.
    fn shown_of_archives(&self, (a, b): (u32, u32)) -> Result<Option<Match>, AskError> {
        let members = |file: u32| -> Result<Vec<Digest>, AskError> {
            let members = self.files.members(file);
            members.map(|member| self.sampled(member)).collect()
        };
        let (of_a, of_b) = (members(a)?, members(b)?);
        let sides = (
            (self.whole_digests(a), &of_a[..]),
            (self.whole_digests(b), &of_b[..]),
        );
        let least = self.min_shared();
        Ok(shown_of_archives(Unit::Words, sides.0, sides.1, least))
    }

    fn sampled(&self, content: u32) -> Result<Digest, AskError> {
        let kept = self.load(content)?;
        Ok(Digest {
            content: self.content(content).digest,
            size: kept.size,
            kind: kept.kind,
            chunks: ChunkList::default(),
            signature: kept.signature,
            besides: Vec::new(),
            words: kept.words,
        })
    }

    fn whole_digests(&self, file: u32) -> [Option<WholeDigest>; 2] {
        let wholes = self.files.wholes(file);
        wholes.map(|whole| whole.map(|whole| self.whole(whole)))
    }

    fn whole(&self, content: u32) -> WholeDigest {
        let content = self.content(content);
        WholeDigest {
            digest: content.digest,
            size: content.size,
        }
    }

    /// Estimates a pair of files by their wholes. A whole is all texts of a file together, or all
    /// its other parts together.
    fn shown_of_wholes(&self, (a, b): (u32, u32)) -> Result<Option<Match>, AskError> {
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
        let sides = (self.whole_digests(a), self.whole_digests(b));
        Ok(shown_wholes(sides.0, sides.1, shown, self.min_shared()))
    }
}
