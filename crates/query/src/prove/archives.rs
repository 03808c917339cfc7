//! The archives and mails among the files of a question, measured by their members against each
//! other and against single files.
//!
//! Each is taken apart when a pair of it is first measured, and kept for the next one as long as
//! all together are no more than [`KEPT`] bytes.

use std::collections::HashMap;
use std::rc::Rc;

use resemble_core::hash::content::digest;
use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::ProvableMembers;
use resemble_core::{ByteLen, ContentId};
use resemble_index::{ReadError, Snapshot};
use resemble_scan::parts::PartReader;

use crate::prove::exact::{Proven, judged};
use crate::prove::extracted::extract;
use crate::prove::members::{
    AloneSide, ComparedSide, are_of, held_by, provable_members, provable_single, unit_of,
};
use crate::prove::read::{LARGEST_READ, bytes_if};
use crate::renditions::owners::RenditionOwners;
use crate::renditions::{Place, Rendition, renditions};
use crate::scope::ScopedFiles;

/// So many bytes that were taken out of files are kept.
const KEPT: u64 = 128 << 20;

/// Measures files of a question by their members.
pub(crate) struct Archives<'a> {
    snapshot: &'a Snapshot,
    scoped: &'a ScopedFiles,
    owners: &'a RenditionOwners,
    part_reader: &'a dyn PartReader,
    /// What was read; `None`: it cannot be.
    read: HashMap<ContentId, Option<Rc<ProvableMembers>>>,
    kept: u64,
}

impl<'a> Archives<'a> {
    pub(crate) fn of(
        (snapshot, scoped): (&'a Snapshot, &'a ScopedFiles),
        owners: &'a RenditionOwners,
        part_reader: &'a dyn PartReader,
    ) -> Self {
        Self {
            snapshot,
            scoped,
            owners,
            part_reader,
            read: HashMap::new(),
            kept: 0,
        }
    }

    /// The measures of two files, named by their contents, of which one at least holds members;
    /// `None`: they cannot be read, and keep their estimate.
    pub(crate) fn measure(
        &mut self,
        (a, b): (ContentId, ContentId),
        asked: Unit,
        min_shared: ByteLen,
    ) -> Result<Option<Proven>, ReadError> {
        let (Some(one), Some(other)) = (self.side(a)?, self.side(b)?) else {
            return Ok(None);
        };
        let sizes = (one.size(), other.size());
        if sizes.0.max(sizes.1) > LARGEST_READ {
            return Ok(None);
        }
        let keys = (one.key(asked), other.key(asked));
        let unit = unit_of(&one, &other, asked);
        if let Some(found) = self.snapshot.kept_measures(&keys.0, &keys.1, unit) {
            return Ok(Some(judged(found, sizes, min_shared)));
        }
        let (Some(one), Some(other)) = (self.members(a, &one), self.members(b, &other)) else {
            return Ok(None);
        };
        let found = one.measure(&other, asked);
        self.snapshot.keep_measures(&keys.0, &keys.1, &found);
        Ok(Some(judged(found, (one.size(), other.size()), min_shared)))
    }

    /// By what a file is compared.
    fn side(&self, owner: ContentId) -> Result<Option<ComparedSide>, ReadError> {
        let wholes = self.owners.wholes(owner);
        if wholes.iter().any(Option::is_some) {
            return Ok(Some(ComparedSide::Held(wholes)));
        }
        let Some(own) = self.snapshot.content(owner)? else {
            return Ok(None);
        };
        let rendition = self.owners.faces(owner, own.kind).alone();
        let row = if rendition == Rendition::Own {
            Some(own)
        } else {
            let others = renditions(self.snapshot, Place::file(owner))?;
            let mut others = others.into_iter().filter(|(other, _)| *other == rendition);
            match others.next() {
                Some((_, content)) => self.snapshot.content(content)?,
                None => None,
            }
        };
        Ok(row.map(|row| {
            ComparedSide::Alone(AloneSide {
                rendition,
                digest: row.digest,
                size: row.size,
                kind: row.kind,
            })
        }))
    }

    /// What a file holds, or its one content.
    fn members(&mut self, owner: ContentId, side: &ComparedSide) -> Option<Rc<ProvableMembers>> {
        if let Some(read) = self.read.get(&owner) {
            return read.clone();
        }
        let read = self.read_now(owner, side).map(Rc::new);
        let size = read.as_ref().map_or(0, |read| read.size().0);
        if self.kept + size > KEPT {
            self.read.clear();
            self.kept = 0;
        }
        self.kept += size;
        self.read.insert(owner, read.clone());
        read
    }

    /// What cannot be read now, or is no longer what the index has, keeps its estimate.
    fn read_now(&self, owner: ContentId, side: &ComparedSide) -> Option<ProvableMembers> {
        let templates = self.snapshot.templates();
        let path = &self.scoped.holders(owner).next()?.path;
        let alone = match side {
            ComparedSide::Held(wholes) => {
                let held = held_by(path, self.part_reader).ok()??;
                let held = are_of(&held, wholes).then_some(held)?;
                return Some(provable_members(templates, held));
            }
            ComparedSide::Alone(alone) => alone,
        };
        let bytes = if alone.rendition == Rendition::Own {
            bytes_if(path, &alone.digest).ok()??
        } else {
            let extracted = extract(path, self.part_reader).ok()??;
            let bytes = extracted.rendition(alone.rendition);
            bytes.filter(|bytes| digest(bytes) == alone.digest)?
        };
        Some(provable_single(templates, alone.kind, bytes))
    }
}
