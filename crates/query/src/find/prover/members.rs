//! Proves pairs with at least one container.

use std::path::Path;
use std::sync::OnceLock;

use resemble_core::ByteLen;
use resemble_core::similarity::proof::ProvableMembers;
use resemble_proto::message::Layer;
use resemble_relate::AskError;
use resemble_relate::judge::matched::Match;
use resemble_relate::prove::cost::TAKEN_APART;
use resemble_relate::prove::exact::judged;
use resemble_relate::prove::members::{
    ComparedSide, HeldContent, are_of, held_by, held_by_bytes, provable_members, provable_single,
    unit_of,
};
use resemble_relate::prove::read::LARGEST_READ;
use resemble_relate::renditions::{Occurrence, Place, WholeDigest, names, shown};
use resemble_scan::parts::PartReader;

use super::Prover;
use crate::find::{SentBytes, holders};

impl Prover<'_> {
    /// Measures all contents of the subject against all contents of a place. A side without members
    /// has only its one content. Returns `None` if one of the two sides cannot be read or is too
    /// large. Also returns `None` if the pair exceeds the budget and has no stored measures. A pair
    /// with stored measures uses the budget, too.
    pub(in crate::find) fn measure_members(
        &mut self,
        ours: &ComparedSide,
        (place, (theirs, occurrence)): (Place, &(ComparedSide, Option<Occurrence>)),
    ) -> Result<Option<Match>, AskError> {
        self.snapshot.stop().go_on()?;
        let sizes = (ours.size(), theirs.size());
        if sizes.0.max(sizes.1) > LARGEST_READ {
            return Ok(None);
        }
        let asked = self.options.unit.into();
        let file = self.snapshot.content(place.content)?;
        let taken_out = file.map_or(sizes.1, |file| file.size.max(sizes.1));
        let cost = taken_out.0.saturating_mul(TAKEN_APART) + sizes.0.0;
        let is_affordable = self.budget.take(ByteLen(cost));
        let keys = (ours.key(asked), theirs.key(asked));
        let unit = unit_of(ours, theirs, asked);
        if !self.options.exact
            && let Some(found) = self.snapshot.kept_measures(&keys.0, &keys.1, unit)
        {
            let proven = judged(found, sizes, self.min_shared);
            return Ok(Some(proven.matched(Layer::Text)));
        }
        if !is_affordable {
            return Ok(None);
        }
        if self.held.get().is_none() {
            let read = self.read_ours(ours)?;
            self.held = OnceLock::from(read);
        }
        // If the subject cannot be read, the other file is not read.
        if self.held.get().is_none_or(Option::is_none) {
            return Ok(None);
        }
        let other = match (theirs, occurrence) {
            (ComparedSide::Held(wholes), _) => {
                let holders =
                    holders(self.snapshot, place.content, self.scoped, self.subject.file)?;
                let Some((first, _)) = holders.first() else {
                    return Ok(None);
                };
                let path = shown(first, &names(self.snapshot, place)?);
                self.members_at(&path, wholes)
            }
            (ComparedSide::Alone(alone), Some(occurrence)) => {
                let mut errors = Vec::new();
                let bytes = self.other(occurrence, &alone.digest, &mut errors)?;
                self.errors.extend(errors);
                let templates = self.snapshot.templates();
                bytes.map(|bytes| provable_single(templates, alone.kind, bytes))
            }
            (ComparedSide::Alone(_), None) => None,
        };
        let (Some(Some(own)), Some(other)) = (self.held.get(), other) else {
            return Ok(None);
        };
        let found = own.measure(&other, asked);
        self.snapshot.keep_measures(&keys.0, &keys.1, &found);
        let proven = judged(found, (own.size(), other.size()), self.min_shared);
        Ok(Some(proven.matched(Layer::Text)))
    }

    /// Reads the contents of the subject that are compared with a container.
    fn read_ours(&mut self, ours: &ComparedSide) -> Result<Option<ProvableMembers>, AskError> {
        match ours {
            ComparedSide::Alone(alone) => {
                let mut errors = Vec::new();
                let read = self.read_subject(alone.rendition, &alone.digest, &mut errors)?;
                self.errors.extend(errors);
                let templates = self.snapshot.templates();
                Ok(read.map(|bytes| provable_single(templates, alone.kind, bytes)))
            }
            ComparedSide::Held(wholes) => {
                let subject = self.subject;
                if let Some(SentBytes { name, bytes }) = &subject.sent {
                    let held =
                        |part_reader: &dyn PartReader| held_by_bytes(name, bytes, part_reader);
                    return Ok(self.members(name, held, wholes));
                }
                let Some(path) = subject.path.as_deref() else {
                    return Ok(None);
                };
                let path = shown(path, subject.member.as_deref().unwrap_or_default());
                Ok(self.members_at(&path, wholes))
            }
        }
    }

    /// Reads the contents of the file or member at a path, if they are those of the index.
    fn members_at(
        &mut self,
        path: &Path,
        wholes: &[Option<WholeDigest>; 2],
    ) -> Option<ProvableMembers> {
        self.members(path, |part_reader| held_by(path, part_reader), wholes)
    }

    fn members(
        &mut self,
        path: &Path,
        held: impl Fn(&dyn PartReader) -> Result<Option<Vec<HeldContent>>, AskError>,
        wholes: &[Option<WholeDigest>; 2],
    ) -> Option<ProvableMembers> {
        let part_reader = self.subject.part_reader.as_deref()?;
        let mut errors = Vec::new();
        let held = held(part_reader)
            .map_err(|error| self.note(path, &error, &mut errors))
            .ok();
        self.errors.extend(errors);
        let held = held.flatten().filter(|held| are_of(held, wholes));
        let templates = self.snapshot.templates();
        self.here(held.map(|held| provable_members(templates, held)))
    }
}
