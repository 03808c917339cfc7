//! Takes a container apart once for all pairs of its members.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use resemble_core::hash::content::digest;
use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::{Provable, ProvableMembers, unit_of as unit_of_kinds};
use resemble_core::{ByteLen, ContentDigest, ContentKind};
use resemble_index::{ContentRow, Snapshot};
use resemble_scan::parts::PartReader;

use super::layout::{MemberLayout, MemberSide};
use crate::prove::exact::{Proven, judged, provable};
use crate::prove::members::{
    AloneSide, ComparedSide, HeldContent, held_by, provable_members, unit_of,
};

/// A file that holds members. It is read when a pair of its members is first measured.
#[derive(Debug)]
pub(super) struct OpenedContainer<'a> {
    snapshot: &'a Snapshot,
    part_reader: Option<&'a dyn PartReader>,
    path: PathBuf,
    held: OnceLock<HashMap<ContentDigest, (ContentKind, Vec<u8>)>>,
}

/// The prepared form of a member, which is made when the member is first measured.
#[derive(Debug, Default)]
pub(super) struct ReadyMember {
    alone: OnceLock<Option<Provable>>,
    members: OnceLock<Option<ProvableMembers>>,
}

/// A member and its prepared form.
pub(super) type ReadySide<'m> = (&'m MemberLayout, &'m ReadyMember);

impl<'a> OpenedContainer<'a> {
    /// Creates the container for the file at a path, without reading it. Without a part reader, no
    /// member can be read.
    pub(super) const fn new(
        snapshot: &'a Snapshot,
        part_reader: Option<&'a dyn PartReader>,
        path: PathBuf,
    ) -> Self {
        let held = OnceLock::new();
        Self {
            snapshot,
            part_reader,
            path,
            held,
        }
    }

    /// Measures two members. Returns `None` if one of them cannot be read now.
    pub(super) fn measure(
        &self,
        (a, b): (ReadySide<'_>, ReadySide<'_>),
        asked: Unit,
        min_shared: ByteLen,
    ) -> Option<Proven> {
        if let (MemberSide::Alone(..), MemberSide::Alone(..)) = (a.0.side, b.0.side) {
            return self.measure_alone((a, b), asked, min_shared);
        }
        let (one, other) = (compared(a.0), compared(b.0));
        let keys = (one.key(asked), other.key(asked));
        let unit = unit_of(&one, &other, asked);
        if let Some(found) = self.snapshot.kept_measures(&keys.0, &keys.1, unit) {
            return Some(judged(found, (one.size(), other.size()), min_shared));
        }
        let (one, other) = (self.members(a)?, self.members(b)?);
        let found = one.measure(other, asked);
        self.snapshot.keep_measures(&keys.0, &keys.1, &found);
        Some(judged(found, (one.size(), other.size()), min_shared))
    }

    /// Measures two members that are each compared by one content.
    fn measure_alone(
        &self,
        (a, b): (ReadySide<'_>, ReadySide<'_>),
        asked: Unit,
        min_shared: ByteLen,
    ) -> Option<Proven> {
        let (one, other) = (&a.0.leaves[0], &b.0.leaves[0]);
        let keys = (one.digest, other.digest);
        let unit = unit_of_kinds(one.kind, other.kind, asked);
        if let Some(found) = self.snapshot.kept_measures(&keys.0, &keys.1, unit) {
            return Some(judged(found, (one.size, other.size), min_shared));
        }
        let (one, other) = (self.ready(a)?, self.ready(b)?);
        let found = one.measure(other, asked);
        self.snapshot.keep_measures(&keys.0, &keys.1, &found);
        Some(judged(found, (one.size(), other.size()), min_shared))
    }

    fn ready<'m>(&self, (layout, ready): ReadySide<'m>) -> Option<&'m Provable> {
        let made = || {
            let row = &layout.leaves[0];
            let (_, bytes) = self.held().get(&row.digest)?;
            Some(provable(self.snapshot.templates(), row.kind, bytes.clone()))
        };
        ready.alone.get_or_init(made).as_ref()
    }

    fn members<'m>(&self, (layout, ready): ReadySide<'m>) -> Option<&'m ProvableMembers> {
        ready.members.get_or_init(|| self.all(layout)).as_ref()
    }

    /// Prepares all contents in a member for measuring. Returns `None` if one of them cannot be
    /// read now.
    fn all(&self, layout: &MemberLayout) -> Option<ProvableMembers> {
        let held = layout.digests().map(|digest| {
            let (kind, bytes) = self.held().get(&digest)?;
            let (kind, bytes, names) = (*kind, bytes.clone(), Vec::new());
            Some(HeldContent { names, kind, bytes })
        });
        let held: Option<Vec<HeldContent>> = held.collect();
        Some(provable_members(self.snapshot.templates(), held?))
    }

    /// Returns the present contents of the file by their digests. Returns no contents if the file
    /// cannot be read.
    fn held(&self) -> &HashMap<ContentDigest, (ContentKind, Vec<u8>)> {
        self.held.get_or_init(|| {
            let reader = self.part_reader;
            let held = reader.and_then(|reader| held_by(&self.path, reader).ok()?);
            let held = held.into_iter().flatten();
            held.map(|one| (digest(&one.bytes), (one.kind, one.bytes)))
                .collect()
        })
    }
}

/// Returns a member as one side of a comparison in which at least one side holds members.
fn compared(member: &MemberLayout) -> ComparedSide {
    match member.side {
        MemberSide::Held(wholes) => ComparedSide::Held(wholes),
        MemberSide::Alone(rendition, _) => {
            let ContentRow {
                digest, size, kind, ..
            } = member.leaves[0];
            ComparedSide::Alone(AloneSide {
                rendition,
                digest,
                size,
                kind,
            })
        }
    }
}
