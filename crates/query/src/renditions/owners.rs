//! What stands for the files of a question, for questions about all pairs among them.
//!
//! Files go by their contents here: the **owner** of a text is the content of the document. What
//! one document says another may say as well, so a stand-in has any number of owners; and it may be
//! a file of the question itself.

use std::collections::{BTreeSet, HashMap};

use resemble_core::{ContentId, ContentKind};
use resemble_index::{ReadError, Snapshot};

use crate::renditions::faces::Faces;
use crate::renditions::{Place, Rendition, WholeDigest, renditions};
use crate::scope::ScopedFiles;

/// The renditions of the files of a question, apart from their own bytes.
#[derive(Debug, Default)]
pub(crate) struct RenditionOwners {
    /// For each rendition the owners, ascending, and what it is to them.
    owners: HashMap<ContentId, Vec<(ContentId, Rendition)>>,
    /// For each owner its two wholes.
    wholes: HashMap<ContentId, [Option<WholeDigest>; 2]>,
    /// What each owner is compared by.
    faces: HashMap<ContentId, Faces>,
}

impl RenditionOwners {
    /// Finds the renditions of all files of a question.
    pub(crate) fn of(snapshot: &Snapshot, scoped: &ScopedFiles) -> Result<Self, ReadError> {
        let mut found = Self::default();
        for owner in scoped.contents() {
            let Some(own) = snapshot.content(owner)?.filter(|row| row.parts > 0) else {
                continue;
            };
            let mut kinds = Vec::new();
            for (rendition, content) in renditions(snapshot, Place::file(owner))? {
                let row = snapshot.content(content)?;
                kinds.extend(row.map(|row| (rendition, row.kind)));
                let owners = found.owners.entry(content).or_default();
                // One text may be in two places of a file.
                if owners.contains(&(owner, rendition)) {
                    continue;
                }
                owners.push((owner, rendition));
                if let Some(row) = row.filter(|_| rendition.is_whole()) {
                    let side = WholeDigest {
                        digest: row.digest,
                        size: row.size,
                    };
                    found.wholes.entry(owner).or_default()
                        [usize::from(rendition == Rendition::WholeBytes)] = Some(side);
                }
            }
            found.faces.insert(owner, Faces::of(own.kind, kinds));
        }
        Ok(found)
    }

    /// All renditions, ascending.
    pub(crate) fn contents(&self) -> BTreeSet<ContentId> {
        self.owners.keys().copied().collect()
    }

    /// The owners of a content, itself not counted.
    pub(crate) fn owners(&self, content: ContentId) -> &[(ContentId, Rendition)] {
        self.owners.get(&content).map_or(&[], Vec::as_slice)
    }

    /// What a file whose own bytes are of this kind is compared by.
    pub(crate) fn faces(&self, owner: ContentId, own: ContentKind) -> Faces {
        let known = self.faces.get(&owner).copied();
        known.unwrap_or_else(|| Faces::of(own, []))
    }

    /// The two wholes of an owner.
    pub(crate) fn wholes(&self, owner: ContentId) -> [Option<WholeDigest>; 2] {
        self.wholes.get(&owner).copied().unwrap_or_default()
    }
}
