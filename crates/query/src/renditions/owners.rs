//! What stands for the files of a question, for questions about all pairs among them.
//!
//! Files go by their contents here: the **owner** of a text is the content of the document. What
//! one document says another may say as well, so a stand-in has any number of owners; and it may be
//! a file of the question itself.

use std::collections::{BTreeSet, HashMap};

use resemble_core::ContentId;
use resemble_index::{ReadError, Snapshot};

use crate::renditions::{Place, Rendition, WholeDigest, renditions};
use crate::scope::ScopedFiles;

/// The stand-ins of the files of a question.
#[derive(Debug, Default)]
pub(crate) struct RenditionOwners {
    /// By stand-in: the contents that it stands for, ascending, and as what.
    owners: HashMap<ContentId, Vec<(ContentId, Rendition)>>,
    /// By owner: all texts and all else that it holds.
    wholes: HashMap<ContentId, [Option<WholeDigest>; 2]>,
}

impl RenditionOwners {
    /// Of all files of a question.
    pub(crate) fn of(snapshot: &Snapshot, scoped: &ScopedFiles) -> Result<Self, ReadError> {
        let mut found = Self::default();
        for owner in scoped.contents() {
            let row = snapshot.content(owner)?;
            if row.is_none_or(|row| row.parts == 0) {
                continue;
            }
            for (rendition, content) in renditions(snapshot, Place::file(owner))? {
                let owners = found.owners.entry(content).or_default();
                // One text may be in two places of a file.
                if owners.contains(&(owner, rendition)) {
                    continue;
                }
                owners.push((owner, rendition));
                if rendition.is_whole()
                    && let Some(row) = snapshot.content(content)?
                {
                    let side = WholeDigest {
                        digest: row.digest,
                        size: row.size,
                    };
                    found.wholes.entry(owner).or_default()
                        [usize::from(rendition == Rendition::WholeBytes)] = Some(side);
                }
            }
        }
        Ok(found)
    }

    /// The stand-ins, ascending.
    pub(crate) fn contents(&self) -> BTreeSet<ContentId> {
        self.owners.keys().copied().collect()
    }

    /// What a content stands for, itself not counted.
    pub(crate) fn owners(&self, content: ContentId) -> &[(ContentId, Rendition)] {
        self.owners.get(&content).map_or(&[], Vec::as_slice)
    }

    /// All texts and all else that a file holds.
    pub(crate) fn wholes(&self, owner: ContentId) -> [Option<WholeDigest>; 2] {
        self.wholes.get(&owner).copied().unwrap_or_default()
    }
}
