//! Collects changes until they are applied to the index together.
//!
//! Because of the order of changes in a batch, no file is read for a rename. A file keeps its row
//! as long as it has a name. So links are applied before all changes that can replace a name.
//! Removals are applied at the end of the round.
//!
//! All other changes are applied in the order of the walk, even if the files were read in another
//! order. So new rows are written in the order of their keys, and fill their pages.

use std::path::PathBuf;

use resemble_core::{ContentDigest, ContentId, FileId};
use resemble_index::{Change, ContentRef, FileStat, NewLook, NewState};

use crate::ingest::Committed;

/// A new name of a file that the index has.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) path: PathBuf,
    pub(super) file: FileId,
    pub(super) content: Option<ContentId>,
    pub(super) was: Option<ContentId>,
}

/// The changes that are not applied yet.
#[derive(Debug, Default)]
pub(super) struct Batch {
    links: Vec<Link>,
    stats: Vec<Change>,
    /// All other changes. Each has its position in the order of the walk.
    others: Vec<(u64, Change)>,
    /// The digests of contents that this batch adds to the index.
    contents: Vec<ContentDigest>,
    /// The approximate number of chunks and fingerprints that the batch adds.
    postings: u64,
    /// The approximate number of bytes that the batch takes in memory.
    weight: usize,
}

/// A batch that is ready to be applied.
#[derive(Debug)]
pub(super) struct Taken {
    /// The changes in the order in which they are applied.
    pub(super) changes: Vec<Change>,
    /// The links, as they are reported to the observer after the commit.
    pub(super) linked: Vec<Committed>,
    /// The digests of contents that these changes add to the index.
    pub(super) contents: Vec<ContentDigest>,
    /// The approximate number of chunks and fingerprints that these changes add.
    pub(super) postings: u64,
}

/// The number of bytes in memory at which a batch is applied.
const HEAVY: usize = 64 << 20;

/// The number of added chunks and fingerprints at which a batch is applied.
const MANY_POSTINGS: u64 = 250_000;

/// The approximate number of bytes of a change, including its path.
const CHANGE: usize = 300;

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.links.is_empty() && self.stats.is_empty() && self.others.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.weight >= HEAVY || self.postings >= MANY_POSTINGS
    }

    pub(super) fn link(&mut self, link: Link) {
        self.links.push(link);
        self.weight += CHANGE;
    }

    pub(super) fn stat(&mut self, file: FileId, stat: FileStat) {
        self.stats.push(Change::Stat { file, stat });
        self.weight += CHANGE;
    }

    /// Adds a change. `number` is the position of the change in the order of the walk. It is the
    /// number of the change's job or of the next job.
    pub(super) fn push(&mut self, number: u64, change: Change) {
        self.weight += CHANGE;
        if let Change::File {
            state: NewState::Settled(content) | NewState::Unsettled(content),
            ..
        } = &change
        {
            self.contents
                .extend(content.new_digest().map(|digest| digest.content));
            self.weigh(content);
        }
        self.others.push((number, change));
    }

    /// Adds the size of a new content to the sums. For an edited content, postings are written only
    /// for the chunks and fingerprints that its base does not have. If it is not known which
    /// fingerprints these are, postings are written for all.
    fn weigh(&mut self, content: &ContentRef) {
        let Some(digest) = content.new_digest() else {
            return;
        };
        let prints_in_all = digest.posted().count();
        let (chunks, new) = match content {
            ContentRef::Edited(edited) => {
                let chunks = edited.edits.iter().map(|edit| edit.by.0.len()).sum();
                let prints = edited.fingerprints.as_ref();
                (
                    chunks,
                    chunks + prints.map_or(prints_in_all, |edit| edit.new.len()),
                )
            }
            ContentRef::New(_) | ContentRef::Known(_) => {
                let chunks = digest.chunks.0.len();
                (chunks, chunks + prints_in_all)
            }
        };
        self.weight += chunks * 32 + prints_in_all * 8;
        self.postings += new as u64;
    }

    /// Adds the result of searching a file for parts, if there is one. It must be added after the
    /// change of the file itself.
    pub(super) fn extend(&mut self, number: u64, look: Option<Change>) {
        let Some(look) = look else { return };
        if let Change::Look {
            look: NewLook::Apart { parts, .. },
            ..
        } = &look
        {
            self.weight += parts.len() * CHANGE;
            for part in parts {
                part.content.iter().for_each(|content| self.weigh(content));
            }
        }
        self.weight += CHANGE;
        self.others.push((number, look));
    }

    /// Takes all changes out of the batch, in the order in which they are applied.
    pub(super) fn take(&mut self) -> Taken {
        let Self {
            links,
            stats,
            mut others,
            contents,
            postings,
            ..
        } = std::mem::take(self);
        others.sort_by_key(|(number, _)| *number);
        let mut changes = Vec::with_capacity(links.len() + stats.len() + others.len());
        let mut linked = Vec::with_capacity(links.len());
        for Link {
            path,
            file,
            content,
            was,
        } in links
        {
            linked.push(Committed {
                path: path.clone(),
                file,
                content,
                was,
            });
            changes.push(Change::Link { path, file });
        }
        changes.extend(stats);
        changes.extend(others.into_iter().map(|(_, change)| change));
        Taken {
            changes,
            linked,
            contents,
            postings,
        }
    }
}

#[cfg(test)]
mod tests {
    use resemble_core::{ChunkEdit, ChunkList, Digester, EditedDigest, FingerprintEdit, Params};

    use super::*;

    #[test]
    fn a_large_content_that_was_edited_brings_few_postings() {
        let bytes: Vec<u8> = (0..200_000_u32)
            .flat_map(|n| n.to_string().into_bytes())
            .collect();
        let digest = Box::new(Digester::new(&Params::default()).digest(&bytes));
        let postings = |content: &ContentRef| {
            let mut batch = Batch::default();
            batch.weigh(content);
            batch.postings
        };
        let base = digest.content;
        let mut edited = EditedDigest {
            base,
            edits: vec![],
            fingerprints: Some(FingerprintEdit {
                gone: vec![],
                new: digest.posted().take(4).collect(),
            }),
            digest: digest.clone(),
        };
        let by = ChunkList(std::mem::take(&mut edited.digest.chunks.0)[..3].to_vec());
        edited.edits.push(ChunkEdit { runs: 7..10, by });
        assert_eq!(postings(&ContentRef::Edited(Box::new(edited.clone()))), 7);
        edited.fingerprints = None;
        let prints = digest.posted().count();
        assert_eq!(
            postings(&ContentRef::Edited(Box::new(edited))),
            3 + prints as u64
        );
        let all = digest.chunks.0.len() + prints;
        assert_eq!(postings(&ContentRef::New(digest)), all as u64);
    }

    #[test]
    fn changes_come_in_the_order_of_the_walk() {
        let mut batch = Batch::default();
        for (number, name) in [(0, "dir"), (2, "dir/c"), (0, "dir/a"), (1, "dir/b")] {
            batch.push(number, Change::Dir(name.into()));
        }
        let order: Vec<_> = batch.take().changes;
        let names = ["dir", "dir/a", "dir/b", "dir/c"];
        assert_eq!(order, names.map(|name| Change::Dir(name.into())));
    }
}
