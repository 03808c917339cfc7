//! Finds the renditions of the files of a question about all pairs.
//!
//! Here, a file is given by its content. The content of a document is the **owner** of the
//! document's text, and the text is a **stand-in** for the document. Several documents may have the
//! same text, so a stand-in can have several owners. A stand-in may also be a file of the question
//! itself.

use std::collections::{BTreeSet, HashMap, HashSet};

use resemble_core::similarity::too_small;
use resemble_core::{ByteLen, ContentDigest, ContentId, ContentKind};
use resemble_index::{ContentRow, ReadError, SkippedPart, Snapshot};

use crate::renditions::faces::Faces;
use crate::renditions::{MOST_MEMBERS, Place, Rendition, WholeDigest, held_contents, renditions};
use crate::scope::ScopedFiles;

/// A content that represents a file (a stand-in).
#[derive(Clone, Copy, Debug)]
pub struct StandIn {
    /// The role of the content for the file.
    pub rendition: Rendition,
    /// The id of the content in the index.
    pub content: ContentId,
    /// The digest of the content.
    pub digest: ContentDigest,
    /// The number of bytes of the content.
    pub size: ByteLen,
    /// The kind of the content in the index.
    pub kind: ContentKind,
}

impl StandIn {
    /// Describes a content that is in the index.
    pub const fn of(rendition: Rendition, row: &ContentRow) -> Self {
        Self {
            rendition,
            content: row.id,
            digest: row.digest,
            size: row.size,
            kind: row.kind,
        }
    }
}

/// Returns the notice that only [`MOST_MEMBERS`] of the `count` contents in an archive nominate it.
/// Returns `None` if all contents nominate it.
pub fn further_members(count: usize) -> Option<SkippedPart> {
    let purpose = SkippedPart::ON_PURPOSE;
    (count > MOST_MEMBERS).then(|| SkippedPart {
        path: Vec::new(),
        reason: format!(
            "{purpose}single files are looked for in {MOST_MEMBERS} of {count} members"
        ),
    })
}

/// Returns a content as a member of an archive. Returns `None` if it is too small to be compared.
fn member(snapshot: &Snapshot, content: ContentId) -> Result<Option<StandIn>, ReadError> {
    let row = snapshot.content(content)?;
    let row = row.filter(|row| !too_small(row.size));
    Ok(row.map(|row| StandIn::of(Rendition::Member, &row)))
}

/// The renditions of the files of a question, without their own bytes.
#[derive(Debug, Default)]
pub struct RenditionOwners {
    /// For each content that represents files: the contents of these files (the owners) in
    /// ascending order, each with the role of the content for that file.
    owners: HashMap<ContentId, Vec<(ContentId, Rendition)>>,
    /// For each file, the contents that represent it.
    stand_ins: HashMap<ContentId, Vec<StandIn>>,
    /// For each file, the renditions by which it is compared.
    faces: HashMap<ContentId, Faces>,
    /// The archives, mails and compressed files, if the question does not open them.
    unopened: HashSet<ContentId>,
}

impl RenditionOwners {
    /// Finds the renditions of all files of a question.
    pub fn of(snapshot: &Snapshot, scoped: &ScopedFiles) -> Result<Self, ReadError> {
        Self::read(snapshot, scoped, MOST_MEMBERS)
    }

    /// Finds only the texts of documents. Archives, mails and compressed files are not opened.
    pub fn of_documents(snapshot: &Snapshot, scoped: &ScopedFiles) -> Result<Self, ReadError> {
        let mut found = Self::read(snapshot, scoped, 0)?;
        let is_held = |one: &StandIn| one.rendition != Rendition::Text;
        let holders = found.stand_ins.iter();
        let holders = holders.filter(|(_, stand_ins)| stand_ins.iter().any(is_held));
        found.unopened = holders.map(|(&owner, _)| owner).collect();
        let unopened = &found.unopened;
        found.stand_ins.retain(|owner, _| !unopened.contains(owner));
        found.faces.retain(|owner, _| !unopened.contains(owner));
        found.owners.retain(|_, owners| {
            owners.retain(|(owner, _)| !unopened.contains(owner));
            !owners.is_empty()
        });
        Ok(found)
    }

    /// Returns whether a file gets no result, because it is an archive, a mail or a compressed file
    /// that is not opened.
    pub fn is_unopened(&self, owner: ContentId) -> bool {
        self.unopened.contains(&owner)
    }

    /// Returns the files that get no result ([`Self::is_unopened`]).
    pub fn unopened(&self) -> impl Iterator<Item = ContentId> {
        self.unopened.iter().copied()
    }

    fn read(snapshot: &Snapshot, scoped: &ScopedFiles, members: usize) -> Result<Self, ReadError> {
        let mut all: Vec<(ContentRow, Vec<StandIn>)> = Vec::new();
        let mut further: Vec<(usize, Vec<ContentId>)> = Vec::new();
        for owner in scoped.contents() {
            let Some(own) = snapshot.content(owner)?.filter(|row| row.parts > 0) else {
                continue;
            };
            let mut stand_ins = Vec::new();
            for (rendition, content) in renditions(snapshot, Place::file(owner))? {
                let row = snapshot.content(content)?;
                stand_ins.extend(row.map(|row| StandIn::of(rendition, &row)));
            }
            let holds = stand_ins.iter().any(|one| one.rendition.is_whole());
            let most = if holds && members > 0 { usize::MAX } else { 0 };
            let mut held = held_contents(snapshot, Place::file(owner), most)?;
            if held.len() > members {
                further.push((all.len(), held.split_off(members)));
            }
            for content in held {
                stand_ins.extend(member(snapshot, content)?);
            }
            all.push((own, stand_ins));
        }
        // Members beyond the bound do not nominate pairs. But files that are equal to such a member
        // are found.
        let alone = all.iter().flat_map(|(_, stand_ins)| stand_ins);
        let alone =
            alone.filter(|one| matches!(one.rendition, Rendition::Text | Rendition::Unpacked));
        let alone: HashSet<ContentId> = alone.map(|one| one.content).collect();
        for (at, mut held) in further {
            held.retain(|content| scoped.has_file_of(*content) || alone.contains(content));
            for content in held {
                all[at].1.extend(member(snapshot, content)?);
            }
        }
        let mut found = Self::default();
        for (own, stand_ins) in all {
            found.add(own.id, own.kind, stand_ins);
        }
        Ok(found)
    }

    /// Adds a file whose own bytes are of kind `own`, and the contents that represent it. Files
    /// must be added in ascending order.
    pub fn add(&mut self, owner: ContentId, own: ContentKind, mut stand_ins: Vec<StandIn>) {
        let kinds = stand_ins.iter().map(|one| (one.rendition, one.kind));
        self.faces.insert(owner, Faces::of(own, kinds));
        stand_ins.retain(|one| {
            let owners = self.owners.entry(one.content).or_default();
            // The same text may be at two places of a file.
            let is_new = !owners.contains(&(owner, one.rendition));
            if is_new {
                owners.push((owner, one.rendition));
            }
            is_new
        });
        self.stand_ins.insert(owner, stand_ins);
    }

    /// Returns all contents that represent a file, in ascending order.
    pub fn contents(&self) -> BTreeSet<ContentId> {
        self.owners.keys().copied().collect()
    }

    /// Returns the contents of the files that a content represents (its owners). The content itself
    /// is not among them.
    pub fn owners(&self, content: ContentId) -> &[(ContentId, Rendition)] {
        self.owners.get(&content).map_or(&[], Vec::as_slice)
    }

    /// Returns the contents that represent a file.
    pub fn stand_ins(&self, owner: ContentId) -> &[StandIn] {
        self.stand_ins.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// Returns the renditions by which a file is compared. Its own bytes are of kind `own`.
    pub fn faces(&self, owner: ContentId, own: ContentKind) -> Faces {
        let known = self.faces.get(&owner).copied();
        known.unwrap_or_else(|| Faces::of(own, []))
    }

    /// Returns the two wholes of a file: all its texts joined, and all its other contents joined.
    pub fn wholes(&self, owner: ContentId) -> [Option<WholeDigest>; 2] {
        let mut wholes = [None; 2];
        for one in self.stand_ins(owner) {
            if let Some(at) = one.rendition.which_whole() {
                wholes[at] = Some(WholeDigest {
                    digest: one.digest,
                    size: one.size,
                });
            }
        }
        wholes
    }
}
