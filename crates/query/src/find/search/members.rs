//! Selects the pairs of a search that are compared by members, and collects the evidence for them.

use std::sync::Arc;

use resemble_core::similarity::frame::Frame;
use resemble_core::{Digest, Relation, similarity};
use resemble_index::ContentRow;
use resemble_relate::AskError;
use resemble_relate::judge::archives::shown_of_archives;
use resemble_relate::judge::matched::Match;
use resemble_relate::judge::members::shown_of_members;
use resemble_relate::nominate::members::{HeldMembers, nominate_by_members, sampled};
use resemble_relate::prove::members::{AloneSide, ComparedSide};
use resemble_relate::renditions::faces::Faces;
use resemble_relate::renditions::{
    self, MOST_MEMBERS, Occurrence, Place, Rendition, WholeDigest, faces_of, held_contents,
    is_packed_again, occurrences,
};

use super::drafts::{Draft, DraftSides};
use super::{Meeting, Search};
use crate::find::held::HeldNominee;

impl Search<'_> {
    /// Returns the way in which a rendition of the subject is compared with a rendition of a place,
    /// or `None` if they are not compared. `row` is the row of the place's content. Equal contents
    /// of files without members are always compared, even if their renditions differ.
    pub(super) fn meeting(
        &self,
        rendition: Rendition,
        occurrence: &Occurrence,
        row: &ContentRow,
        is_equal: bool,
    ) -> Result<Option<Meeting>, AskError> {
        let met = (rendition, occurrence.rendition);
        if rendition.is_whole() {
            return Ok(Some(Meeting::Members));
        }
        // Nearly every nominee is a file that has only its own bytes. Such a file needs no look-up
        // in the index.
        let other = if occurrence.number.is_none() && row.parts == 0 {
            Some(Faces::of(row.kind, []))
        } else {
            faces_of(self.snapshot, occurrence.place, self.options.text)?
        };
        let Some(other) = other else {
            return Ok(None);
        };
        let hold = (self.faces.holds_members(), other.holds_members());
        let is_identical = is_equal && met == (Rendition::Own, Rendition::Own);
        if hold == (false, false) || is_identical {
            let is_compared = is_equal || self.faces.meeting(other) == met;
            return Ok(is_compared.then_some(Meeting::Contents));
        }
        // A mail that is a container is nominated by its text, too.
        let nominates = |faces: Faces, rendition: Rendition| {
            let by = if faces.holds_members() {
                Rendition::Text
            } else {
                faces.alone()
            };
            rendition == by
        };
        let is_compared = nominates(self.faces, met.0) && nominates(other, met.1);
        Ok(is_compared.then_some(if hold.1 {
            Meeting::Members
        } else {
            Meeting::OurMembers
        }))
    }

    /// Makes drafts of the pairs that are compared by members.
    pub(super) fn combine(&mut self, others: &[(Rendition, Arc<Digest>)]) -> Result<(), AskError> {
        let of = |rendition| {
            let own = (rendition == Rendition::Own).then_some(&*self.subject.digest);
            let mut others = others.iter().filter(|(other, _)| *other == rendition);
            own.or_else(|| others.next().map(|(_, digest)| &**digest))
        };
        let whole = |rendition| {
            of(rendition).map(|digest| WholeDigest {
                digest: digest.content,
                size: digest.size,
            })
        };
        let rendition = self.faces.alone();
        let ours = if self.faces.holds_members() {
            ComparedSide::Held([whole(Rendition::WholeText), whole(Rendition::WholeBytes)])
        } else if let Some(digest) = of(rendition) {
            ComparedSide::Alone(AloneSide {
                rendition,
                digest: digest.content,
                size: digest.size,
                kind: digest.kind,
            })
        } else {
            return Ok(());
        };
        if self.faces.holds_members() {
            self.nominate_members()?;
        }
        for (place, nominee) in std::mem::take(&mut self.held) {
            let theirs = match &nominee.alone {
                Some((occurrence, row)) => ComparedSide::Alone(AloneSide {
                    rendition: occurrence.rendition,
                    digest: row.digest,
                    size: row.size,
                    kind: row.kind,
                }),
                None => ComparedSide::Held(self.wholes_of(place, &nominee)?),
            };
            let unit = self.options.unit.into();
            let estimate = nominee.estimate(&ours, &theirs, unit, self.min_shared);
            // Equal wholes need no reading.
            if estimate.relation == Some(Relation::SameText) {
                let is_estimate = false;
                let found = Match {
                    is_estimate,
                    ..estimate
                };
                self.offer(place, found);
                continue;
            }
            self.drafts.push(Draft {
                place,
                compared: DraftSides::Members(ours, (theirs, nominee.alone.map(|alone| alone.0))),
                estimate,
                rarity_of_all: None,
                could_relate: true,
                passage: None,
                frame: Frame::default(),
            });
        }
        Ok(())
    }

    /// Returns the two wholes of a nominated place: of its texts, and of its other parts.
    fn wholes_of(
        &self,
        place: Place,
        nominee: &HeldNominee,
    ) -> Result<[Option<WholeDigest>; 2], AskError> {
        let mut wholes = nominee.wholes.map(|found| found.map(|(_, whole)| whole));
        let Some(number) = nominee.number else {
            return Ok(renditions::wholes_of(self.snapshot, place)?);
        };
        if let Some(missing) = wholes.iter_mut().find(|whole| whole.is_none())
            && let Some(other) = renditions::other_whole(self.snapshot, place.content, number)?
        {
            let row = self.snapshot.content(other)?;
            *missing = row.as_ref().map(WholeDigest::of);
        }
        Ok(wholes)
    }

    /// Estimates a pair of a container and another file if one of them is not read.
    pub(super) fn shown_of_members(
        &self,
        place: Place,
        sides: (&ComparedSide, &ComparedSide),
    ) -> Result<Option<Match>, AskError> {
        let unit = self.options.unit.into();
        let known = |members: &HeldMembers| members.members.clone().into_iter().map(Ok);
        match sides {
            (ComparedSide::Held(wholes), ComparedSide::Alone(single)) => {
                let row = self.snapshot.content_by_digest(&single.digest)?;
                let row = row.map(|id| self.snapshot.content(id)).transpose()?;
                let Some(row) = row.flatten() else {
                    return Ok(None);
                };
                let single = sampled(self.snapshot, &row)?;
                let archive = (*wholes, known(&self.members));
                shown_of_members(unit, archive, &single, self.min_shared)
            }
            (ComparedSide::Alone(single), ComparedSide::Held(wholes)) => {
                let Some(own) = self.compared.get(&single.rendition) else {
                    return Ok(None);
                };
                let single = own.sampled(single);
                let members = HeldMembers::in_place(self.snapshot, place)?;
                let archive = (*wholes, known(&members));
                let found = shown_of_members(unit, archive, &single, self.min_shared)?;
                Ok(found.map(Match::swapped))
            }
            (ComparedSide::Held(ours), ComparedSide::Held(theirs)) => {
                let members = HeldMembers::in_place(self.snapshot, place)?.members;
                let own = (*ours, &self.members.members[..]);
                let other = (*theirs, &members[..]);
                Ok(shown_of_archives(unit, own, other, self.min_shared))
            }
            (ComparedSide::Alone(_), ComparedSide::Alone(_)) => Ok(None),
        }
    }

    /// Nominates the files that equal a member of the subject or share much with its members.
    fn nominate_members(&mut self) -> Result<(), AskError> {
        self.members = match (&self.subject.held, self.own_place) {
            (None, None) => return Ok(()),
            (None, Some(own)) => HeldMembers::in_place(self.snapshot, own)?,
            // Members that were read with the subject come first. The index may have these bytes
            // only as a member of another file.
            (Some(held), _) => held.clone(),
        };
        let mut members = Vec::new();
        for member in &self.members.members {
            members.extend(self.snapshot.content_by_digest(&member.content)?);
        }
        // Members beyond the bound are not compared by their samples. They nominate only files that
        // are equal to one of them.
        if let Some(own) = self.own_place {
            let held = held_contents(self.snapshot, own, usize::MAX)?;
            for content in held.into_iter().skip(MOST_MEMBERS) {
                let row = self.snapshot.content(content)?;
                let is_elsewhere = |row: ContentRow| row.files > 0 || row.uses > 1;
                if row.is_some_and(is_elsewhere) {
                    members.push(content);
                }
            }
        }
        let samples = self.members.samples();
        for found in nominate_by_members(self.snapshot, &members, &samples, self.scoped)? {
            let Some(row) = self.snapshot.content(found.content)? else {
                continue;
            };
            if row.size < similarity::LEAST_JUDGED {
                continue;
            }
            for occurrence in occurrences(self.snapshot, &row, self.options.text)? {
                let place = occurrence.place;
                if place.member.is_some() || occurrence.rendition.is_whole() {
                    continue;
                }
                let is_here = (self.scoped).is_none_or(|scoped| scoped.has_file_of(place.content));
                let faces = faces_of(self.snapshot, place, self.options.text)?;
                let is_single = faces.is_some_and(|faces| {
                    !faces.holds_members() && faces.alone() == occurrence.rendition
                });
                if is_here
                    && is_single
                    && !self.is_of_subject(place)?
                    && !is_packed_again(self.snapshot, &occurrence)?
                {
                    let nominee = self.held.entry(place).or_default();
                    nominee.alone = Some((occurrence, row));
                    nominee.in_members = Some(found);
                }
            }
        }
        Ok(())
    }
}
