//! What an archive or a mail holds: its members, taken out of it again.
//!
//! An archive is compared by the contents in it that are taken apart no further, whatever archives
//! lie in it and whatever packed them: the same as its two wholes are made of in the index. Of a
//! document its text is such a content, and so is the text of a mail.

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

/// What one side of a pair is compared by of which one side at least holds members.
#[derive(Clone, Copy, Debug)]
pub enum ComparedSide {
    /// Its members: all texts, all else.
    Held([Option<WholeDigest>; 2]),
    /// The one content of something that holds no members.
    Alone(AloneSide),
}

/// See [`ComparedSide::Alone`].
#[derive(Clone, Copy, Debug)]
pub struct AloneSide {
    /// What it is to the file.
    pub rendition: Rendition,
    /// What it must be when it is read.
    pub digest: ContentDigest,
    /// Its bytes.
    pub size: ByteLen,
    /// What it is to the index.
    pub kind: ContentKind,
}

impl AloneSide {
    /// A content that stands for a file.
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
    /// Names what is compared in this unit, where measures are kept. Members of which not all are
    /// texts are measured in bytes in both cases, and differently.
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

    /// Bytes of all that it is compared by.
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

/// What the measures of two are shares of: [`ProvableMembers::measure`] says the same.
pub fn unit_of(a: &ComparedSide, b: &ComparedSide, asked: Unit) -> Unit {
    match asked {
        Unit::Words if a.has_texts_alone() && b.has_texts_alone() => Unit::Words,
        _ => Unit::Bytes,
    }
}

/// One of the contents in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldContent {
    /// The names that lead to it from the archive; empty: the text of a mail.
    pub names: Vec<u8>,
    /// What it is to the index.
    pub kind: ContentKind,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What the file at a path holds, or the member that it leads to from some `!` on; `None`: it holds
/// no members, or more than is read at once.
pub fn held_by(
    path: &Path,
    part_reader: &dyn PartReader,
) -> Result<Option<Vec<HeldContent>>, AskError> {
    let (file, names) = way(path);
    held_in(&OpenedFile::of(file)?, names, part_reader)
}

/// What bytes hold that are no file's; see [`held_by`].
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

/// Whether these are what the index knows: all texts, all else.
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

/// Contents ready to be measured, without what is template.
pub fn provable_members(templates: &Templates, held: Vec<HeldContent>) -> ProvableMembers {
    let members = held.into_iter();
    let members = members.map(|content| (content.kind, content.bytes));
    ProvableMembers::without(templates, members.collect())
}

/// The one content of something that holds no members, ready to be measured against some.
pub fn provable_single(
    templates: &Templates,
    kind: ContentKind,
    bytes: Vec<u8>,
) -> ProvableMembers {
    let names = Vec::new();
    provable_members(templates, vec![HeldContent { names, kind, bytes }])
}

/// What a part is to the thing asked about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bearing<'n> {
    /// It is that thing, or stands for it.
    Is,
    /// It lies in it.
    Within,
    /// These names lead on from it.
    LeadsOn(&'n [u8]),
    Unrelated,
}

struct UnpackedPart<'n> {
    bearing: Bearing<'n>,
    names: Vec<u8>,
    /// It was taken apart itself.
    has_parts: bool,
    bytes: Option<Vec<u8>>,
}

/// Keeps what lies in a file, or in a member of it, and is taken apart no further.
struct Unpacking<'n> {
    top: Bearing<'n>,
    parts: Vec<UnpackedPart<'n>>,
    under_way: bool,
    /// Bytes that are kept now.
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
                // Of several of one name the first that is there.
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
        // The member asked about is no part of what it holds.
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
