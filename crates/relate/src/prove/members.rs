//! Extracts the members of an archive or a mail again, to measure them.
//!
//! An archive is compared by those contents in it that cannot be unpacked further. They may be at
//! any depth, and packed in any way. The text of a document is such a content, and so is the text
//! of a mail. The index has two wholes of an archive: all texts among these contents, and all other
//! contents.

use std::path::Path;

use resemble_core::hash::content::{digest, of_set};
use resemble_core::similarity::proof::ProvableMembers;
use resemble_core::similarity::{Templates, Unit};
use resemble_core::{ByteLen, ContentDigest, ContentKind};
use resemble_extract::{Part, Role, Sink};
use resemble_scan::parts::PartReader;

use crate::ask::AskError;
use crate::prove::extracted::{OpenedFile, way};
use crate::prove::read::LARGEST_READ;
use crate::renditions::owners::StandIn;
use crate::renditions::{INTO, Rendition, WholeDigest};

/// One side of a pair. At least one side of the pair has members.
#[derive(Clone, Copy, Debug)]
pub enum ComparedSide {
    /// A side with members. It has two wholes: all texts among its members joined, and all its
    /// other members joined.
    Held([Option<WholeDigest>; 2]),
    /// A side without members, which is compared by a single content.
    Alone(AloneSide),
}

/// The only content of a side without members: see [`ComparedSide::Alone`].
#[derive(Clone, Copy, Debug)]
pub struct AloneSide {
    /// The role of the content for its file.
    pub rendition: Rendition,
    /// The digest that the content must have when it is read.
    pub digest: ContentDigest,
    /// The number of bytes of the content.
    pub size: ByteLen,
    /// The kind of the content in the index.
    pub kind: ContentKind,
}

impl AloneSide {
    /// Describes a content that represents a file.
    pub const fn of(content: &StandIn) -> Self {
        Self {
            rendition: content.rendition,
            digest: content.digest,
            size: content.size,
            kind: content.kind,
        }
    }
}

impl ComparedSide {
    /// Returns the key of the stored measures for this side in this unit. If some members are not
    /// texts, they are measured in bytes for both units, but in different ways. So the keys differ.
    pub fn key(&self, asked: Unit) -> ContentDigest {
        let named = match self {
            Self::Alone(alone) => alone.digest,
            Self::Held(wholes) => {
                let digests = wholes.iter().flatten().map(|whole| whole.digest);
                of_set(&digests.collect::<Vec<_>>())
            }
        };
        match asked {
            Unit::Words => named,
            Unit::Bytes => of_set(&[named]),
        }
    }

    /// Returns the number of bytes of all contents by which the side is compared.
    pub fn size(&self) -> ByteLen {
        match self {
            Self::Alone(alone) => alone.size,
            Self::Held(wholes) => wholes.iter().flatten().map(|whole| whole.size).sum(),
        }
    }

    fn has_texts_alone(&self) -> bool {
        match self {
            Self::Alone(alone) => alone.kind == ContentKind::Text,
            Self::Held(wholes) => wholes[1].is_none(),
        }
    }
}

/// Returns the unit in which two sides are measured. It is the unit of
/// [`ProvableMembers::measure`].
pub fn unit_of(a: &ComparedSide, b: &ComparedSide, asked: Unit) -> Unit {
    match asked {
        Unit::Words if a.has_texts_alone() && b.has_texts_alone() => Unit::Words,
        _ => Unit::Bytes,
    }
}

/// One of the contents in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldContent {
    /// The names that lead from the archive to the content. They are empty for the text of a mail.
    pub names: Vec<u8>,
    /// The kind of the content in the index.
    pub kind: ContentKind,
    /// The bytes of the content.
    pub bytes: Vec<u8>,
}

/// Extracts the contents of the file at a path, or of the member that the path names after a `!`.
/// Returns `None` if the file or member cannot be extracted, has no members, or is too large to be
/// read.
pub fn held_by(
    path: &Path,
    part_reader: &dyn PartReader,
) -> Result<Option<Vec<HeldContent>>, AskError> {
    let (file, names) = way(path);
    held_in(&OpenedFile::of(file)?, names, part_reader)
}

/// Does the same as [`held_by`], for bytes that are not in a file.
pub fn held_by_bytes(
    name: &Path,
    bytes: &[u8],
    part_reader: &dyn PartReader,
) -> Result<Option<Vec<HeldContent>>, AskError> {
    held_in(&OpenedFile::of_bytes(name, bytes)?, None, part_reader)
}

fn held_in(
    opened: &OpenedFile<'_>,
    names: Option<&[u8]>,
    part_reader: &dyn PartReader,
) -> Result<Option<Vec<HeldContent>>, AskError> {
    if opened.is_too_large() && names.is_none() {
        return Ok(None);
    }
    let mut unpacking = Unpacking::new(names);
    let understood = opened.take_apart(part_reader, &mut unpacking)?;
    Ok(if understood { unpacking.held() } else { None })
}

/// Returns whether these contents are those in the index. Two digests must match: that of all
/// texts, and that of all other contents.
pub fn are_of(held: &[HeldContent], wholes: &[Option<WholeDigest>; 2]) -> bool {
    let set = |is_text: bool| {
        let of_kind = held
            .iter()
            .filter(|content| (content.kind == ContentKind::Text) == is_text);
        let digests: Vec<ContentDigest> = of_kind.map(|content| digest(&content.bytes)).collect();
        (!digests.is_empty()).then(|| of_set(&digests))
    };
    let known = |whole: Option<WholeDigest>| whole.map(|whole| whole.digest);
    [set(true), set(false)] == wholes.map(known)
}

/// Prepares contents for measuring. Templates are left out.
pub fn provable_members(templates: &Templates, held: Vec<HeldContent>) -> ProvableMembers {
    let members = held.into_iter();
    let members = members.map(|content| (content.kind, content.bytes));
    ProvableMembers::without(templates, members.collect())
}

/// Prepares the content of a side without members for measuring against members.
pub fn provable_single(
    templates: &Templates,
    kind: ContentKind,
    bytes: Vec<u8>,
) -> ProvableMembers {
    let names = Vec::new();
    provable_members(templates, vec![HeldContent { names, kind, bytes }])
}

/// The relation of a part to the requested file or member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bearing<'n> {
    /// The part is the requested file or member, or the content unpacked from it.
    Is,
    /// The part is within the requested file or member.
    Within,
    /// The part contains the requested member. The value has the names that follow the name of the
    /// part.
    LeadsOn(&'n [u8]),
    Unrelated,
}

struct UnpackedPart<'n> {
    bearing: Bearing<'n>,
    names: Vec<u8>,
    /// True if other parts were extracted from this part.
    has_parts: bool,
    bytes: Option<Vec<u8>>,
}

/// Receives the parts of a file or of a member, and keeps those that cannot be unpacked further.
struct Unpacking<'n> {
    top: Bearing<'n>,
    parts: Vec<UnpackedPart<'n>>,
    under_way: bool,
    /// The number of bytes that are in memory now.
    kept: u64,
    has_members: bool,
    is_too_much: bool,
}

impl<'n> Unpacking<'n> {
    fn new(names: Option<&'n [u8]>) -> Self {
        Self {
            top: names.map_or(Bearing::Is, Bearing::LeadsOn),
            parts: Vec::new(),
            under_way: false,
            kept: 0,
            has_members: false,
            is_too_much: false,
        }
    }

    fn held(self) -> Option<Vec<HeldContent>> {
        if !self.has_members || self.is_too_much {
            return None;
        }
        let leaves = self.parts.into_iter().filter(|part| !part.has_parts);
        let held = leaves.filter_map(|part| {
            let bytes = part.bytes.filter(|bytes| !bytes.is_empty())?;
            Some(HeldContent {
                names: part.names,
                kind: ContentKind::of_whole(&bytes),
                bytes,
            })
        });
        Some(held.collect())
    }

    fn forget(&mut self, part: usize) {
        if let Some(bytes) = self.parts[part].bytes.take() {
            self.kept -= bytes.len() as u64;
        }
    }
}

impl Sink for Unpacking<'_> {
    fn begin(&mut self, part: Part) {
        let parent = part.parent.map(|parent| parent as usize);
        let parent = parent.filter(|&parent| parent < self.parts.len());
        let is_found = |parts: &[UnpackedPart<'_>]| {
            let mut parts = parts.iter();
            parts.any(|part| part.bearing == Bearing::Is)
        };
        let above = parent.map_or(self.top, |parent| self.parts[parent].bearing);
        let is_member = part.role == Role::Member;
        let bearing = match above {
            Bearing::Is if !is_member && part.role == Role::Unpacked => Bearing::Is,
            Bearing::Is | Bearing::Within => Bearing::Within,
            Bearing::LeadsOn(names) if part.role == Role::Unpacked => Bearing::LeadsOn(names),
            Bearing::LeadsOn(names) if is_member => match names.strip_prefix(&part.name[..]) {
                // If several members have this name, the first of them is used.
                Some([]) if !is_found(&self.parts) => Bearing::Is,
                Some([INTO, rest @ ..]) => Bearing::LeadsOn(rest),
                _ => Bearing::Unrelated,
            },
            Bearing::LeadsOn(_) | Bearing::Unrelated => Bearing::Unrelated,
        };
        self.has_members |= above == Bearing::Is && is_member;
        let mut names = Vec::new();
        if let Some(parent) = parent {
            names.clone_from(&self.parts[parent].names);
            self.parts[parent].has_parts = true;
            self.forget(parent);
        }
        if is_member && bearing == Bearing::Within {
            if !names.is_empty() {
                names.push(INTO);
            }
            names.extend_from_slice(&part.name);
        }
        self.under_way = matches!(bearing, Bearing::Is | Bearing::Within) && !self.is_too_much;
        // The bytes of the requested member itself are not kept, but only those of its parts.
        self.under_way &= !(bearing == Bearing::Is && is_member);
        self.parts.push(UnpackedPart {
            bearing,
            names,
            has_parts: false,
            bytes: self.under_way.then(Vec::new),
        });
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if !self.under_way {
            return;
        }
        if let Some(kept) = self.parts.last_mut().and_then(|part| part.bytes.as_mut()) {
            kept.extend_from_slice(bytes);
            self.kept += bytes.len() as u64;
        }
        if self.kept > LARGEST_READ.0 {
            self.is_too_much = true;
            self.under_way = false;
            (0..self.parts.len()).for_each(|part| self.forget(part));
        }
    }

    fn end(&mut self) {
        self.under_way = false;
    }

    fn drop_part(&mut self) {
        self.under_way = false;
        if let Some(last) = self.parts.len().checked_sub(1) {
            self.forget(last);
        }
    }
}
