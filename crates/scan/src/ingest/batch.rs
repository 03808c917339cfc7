//! Changes on their way into the index.
//!
//! The order within a batch makes renames cost no read. A file keeps its row while it has a name.
//! So its new name must be added before the old one is removed. Links come first. In a chain of
//! renames, `a → b → c`, the last link comes first. Then follows everything that may replace a
//! name. Removals wait for the end of the whole reconcile.
//!
//! Everything else is applied in the order of the walk, whichever file was read first. So new rows
//! arrive in the order of their keys, and fill their pages.

use std::collections::HashMap;
use std::path::PathBuf;

use resemble_core::{ContentDigest, ContentId, FileId};
use resemble_index::{Change, ContentRef, FileStat, NewLook, NewState};

use crate::ingest::Committed;

/// A name for a file that the index knows.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) path: PathBuf,
    pub(super) file: FileId,
    /// The indexed file at the path.
    pub(super) occupant: Option<FileId>,
    pub(super) content: Option<ContentId>,
    pub(super) was: Option<ContentId>,
}

/// Changes that are not applied yet.
#[derive(Debug, Default)]
pub(super) struct Batch {
    links: Vec<Link>,
    stats: Vec<Change>,
    /// The other changes with their positions in the order.
    others: Vec<(u64, Change)>,
    /// Contents that are new with the batch.
    contents: Vec<ContentDigest>,
    /// Approximate number of new chunks and fingerprints.
    postings: u64,
    /// Rough memory, in bytes.
    weight: usize,
}

/// The changes of a batch, with their data.
#[derive(Debug)]
pub(super) struct Taken {
    /// The changes in their order.
    pub(super) changes: Vec<Change>,
    /// The reports to the observer about the links once they are applied.
    pub(super) linked: Vec<Committed>,
    /// Contents that are new with these changes.
    pub(super) contents: Vec<ContentDigest>,
    /// Approximate number of new chunks and fingerprints.
    pub(super) postings: u64,
}

/// A batch is applied when it has this size in bytes.
const HEAVY: usize = 64 << 20;

/// The batch is also applied if it has this many new chunks and fingerprints.
const MANY_POSTINGS: u64 = 250_000;

/// Bytes of a change with its path, roughly.
const CHANGE: usize = 300;

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.links.is_empty() && self.stats.is_empty() && self.others.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.weight >= HEAVY || self.postings >= MANY_POSTINGS
    }

    pub(super) fn link(&mut self, link: Link, stat: FileStat) {
        self.stats.push(Change::Stat {
            file: link.file,
            stat,
        });
        self.links.push(link);
        self.weight += 2 * CHANGE;
    }

    pub(super) fn stat(&mut self, file: FileId, stat: FileStat) {
        self.stats.push(Change::Stat { file, stat });
        self.weight += CHANGE;
    }

    /// Adds a change. `number` is that of its job, or of the next one.
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

    /// Counts the size of a new content. For an edited content, counts only the bytes that its base
    /// does not have, if these are known, because the index writes no others.
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

    /// Adds a change, if there is one, to the change that it belongs to.
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

    /// Empties the batch.
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
            ..
        } in pushed_along_first(links)
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

/// Orders links so that a file gets its new name before another file takes its old name. In a cycle
/// (two exchanged files) one of them comes too late, and is read again.
fn pushed_along_first(links: Vec<Link>) -> Vec<Link> {
    let by_file: HashMap<FileId, usize> = links
        .iter()
        .enumerate()
        .map(|(at, link)| (link.file, at))
        .collect();
    let mut links: Vec<Option<Link>> = links.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(links.len());
    for start in 0..links.len() {
        let (mut chain, mut at) = (Vec::new(), Some(start));
        while let Some(link) = at.and_then(|at| links[at].take()) {
            at = link
                .occupant
                .filter(|o| *o != link.file)
                .and_then(|o| by_file.get(&o).copied());
            chain.push(link);
        }
        ordered.extend(chain.into_iter().rev());
    }
    ordered
}

#[cfg(test)]
mod tests {
    use resemble_core::{ChunkEdit, ChunkList, Digester, EditedDigest, FingerprintEdit, Params};

    use super::*;

    fn link(path: &str, file: u32, occupant: Option<u32>) -> Link {
        Link {
            path: path.into(),
            file: FileId(file),
            occupant: occupant.map(FileId),
            content: None,
            was: None,
        }
    }

    #[test]
    fn a_rotation_is_linked_from_its_end() {
        // log → log.1 → log.2: files 0 and 1 move up.
        let links = vec![
            link("log.1", 0, Some(1)),
            link("log.2", 1, Some(2)),
            link("x", 9, None),
        ];
        let order: Vec<_> = pushed_along_first(links)
            .into_iter()
            .map(|l| l.path)
            .collect();
        assert_eq!(order, ["log.2", "log.1", "x"].map(PathBuf::from));
    }

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

    #[test]
    fn a_circle_loses_no_link() {
        let links = vec![link("a", 1, Some(0)), link("b", 0, Some(1))];
        assert_eq!(pushed_along_first(links).len(), 2);
    }
}
