//! Measures archives and mails by their members, against each other and against single files.
//!
//! Each archive is extracted when a pair with this archive is first measured. Its members are kept
//! in memory for later pairs. If more than `KEPT` bytes would be kept, all members in memory are
//! first dropped.

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use resemble_core::hash::content::digest;
use resemble_core::similarity::proof::ProvableMembers;
use resemble_core::similarity::{Templates, Unit};
use resemble_core::{ByteLen, ContentId};
use resemble_index::{ReadError, Snapshot};
use resemble_scan::parts::PartReader;

use crate::prove::exact::{Proven, judged};
use crate::prove::extracted::extract;
use crate::prove::members::{
    AloneSide, ComparedSide, are_of, held_by, provable_members, provable_single, unit_of,
};
use crate::prove::read::{LARGEST_READ, bytes_if};
use crate::renditions::Rendition;
use crate::renditions::owners::{RenditionOwners, StandIn};
use crate::scope::ScopedFiles;

/// The maximum number of bytes of extracted members that are kept in memory.
const KEPT: u64 = 128 << 20;

/// Gives access to the files of a question by their contents.
pub trait OwnedFiles {
    /// Returns the content of a file. Returns `None` if it is no longer known.
    fn own(&self, owner: ContentId) -> Result<Option<AloneSide>, ReadError>;

    /// Returns the path of a file that has this content.
    fn path(&self, owner: ContentId) -> Option<PathBuf>;
}

/// Gives access to the files of an index.
impl OwnedFiles for (&Snapshot, &ScopedFiles) {
    fn own(&self, owner: ContentId) -> Result<Option<AloneSide>, ReadError> {
        let row = self.0.content(owner)?;
        Ok(row.map(|row| AloneSide::of(&StandIn::of(Rendition::Own, &row))))
    }

    fn path(&self, owner: ContentId) -> Option<PathBuf> {
        let holder = self.1.holders(owner).next()?;
        Some(holder.path.to_path_buf())
    }
}

/// Measures files of a question by their members, against each other and against single files.
#[derive(Debug)]
pub struct Archives<'a, F> {
    files: F,
    owners: &'a RenditionOwners,
    part_reader: &'a dyn PartReader,
    templates: &'a Templates,
    /// The index in which measures are stored for later questions, if there is one.
    measured: Option<&'a Snapshot>,
    /// The members of each file that was read, or the only content of the file. The value is `None`
    /// if they cannot be read.
    read: HashMap<ContentId, Option<Rc<ProvableMembers>>>,
    kept: u64,
}

impl<'a> Archives<'a, (&'a Snapshot, &'a ScopedFiles)> {
    /// Makes a prover for the files of an index.
    pub fn of(
        files: (&'a Snapshot, &'a ScopedFiles),
        owners: &'a RenditionOwners,
        part_reader: &'a dyn PartReader,
    ) -> Self {
        let (snapshot, _) = files;
        let measured = (&**snapshot.templates(), Some(snapshot));
        Self::among(files, owners, part_reader, measured)
    }
}

impl<'a, F: OwnedFiles> Archives<'a, F> {
    /// Makes a prover for these files.
    pub fn among(
        files: F,
        owners: &'a RenditionOwners,
        part_reader: &'a dyn PartReader,
        (templates, measured): (&'a Templates, Option<&'a Snapshot>),
    ) -> Self {
        Self {
            files,
            owners,
            part_reader,
            templates,
            measured,
            read: HashMap::new(),
            kept: 0,
        }
    }

    /// Measures two files, which are given by their contents. At least one of them has members.
    /// Returns `None` if one of the files cannot be read or is too large; the pair then keeps its
    /// estimate.
    pub fn measure(
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
        let kept = self.measured;
        if let Some(found) = kept.and_then(|kept| kept.kept_measures(&keys.0, &keys.1, unit)) {
            return Ok(Some(judged(found, sizes, min_shared)));
        }
        let (Some(one), Some(other)) = (self.members(a, &one), self.members(b, &other)) else {
            return Ok(None);
        };
        let found = one.measure(&other, asked);
        if let Some(kept) = kept {
            kept.keep_measures(&keys.0, &keys.1, &found);
        }
        Ok(Some(judged(found, (one.size(), other.size()), min_shared)))
    }

    /// Returns the contents by which a file is compared.
    fn side(&self, owner: ContentId) -> Result<Option<ComparedSide>, ReadError> {
        let wholes = self.owners.wholes(owner);
        if wholes.iter().any(Option::is_some) {
            return Ok(Some(ComparedSide::Held(wholes)));
        }
        let Some(own) = self.files.own(owner)? else {
            return Ok(None);
        };
        let rendition = self.owners.faces(owner, own.kind).alone();
        let mut stand_ins = self.owners.stand_ins(owner).iter();
        let alone = if rendition == Rendition::Own {
            Some(own)
        } else {
            let stand_in = stand_ins.find(|one| one.rendition == rendition);
            stand_in.map(AloneSide::of)
        };
        Ok(alone.map(ComparedSide::Alone))
    }

    /// Returns the members of a file, or its only content, prepared for measuring.
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

    /// Reads the contents of a side. Returns `None` if they cannot be read now, or differ from
    /// those in the index.
    fn read_now(&self, owner: ContentId, side: &ComparedSide) -> Option<ProvableMembers> {
        let templates = self.templates;
        let path = &self.files.path(owner)?;
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
