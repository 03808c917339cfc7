//! Caches drafts for the next identical question.
//!
//! The question first estimates, from the index, which pairs of a collection may be links. If the
//! measures of these pairs are already stored, the estimates take nine tenths of its time. So the
//! drafts are stored under a name made of all their inputs: the ordered contents, their renditions
//! and families, the limit, and the terms of a link. If any input changes, the name does too. File
//! names are not an input. Most drafts are measured and rejected. They are not stored, because they
//! would be rejected again.
//!
//! Drafts are not stored if the question is about one file, or if templates are marked. They are
//! not stored, either, if memory is bounded, or if some drafts are beyond the read budget. The same
//! applies to drafts of a caller who does not see all files. The visible files determine which
//! pieces are common.

use resemble_core::hash::content::digest;
use resemble_index::Snapshot;
use resemble_index::varint::{Reader, put};

use super::drafts::LinkDraft;
use crate::groups::terms::LinkTerms;
use resemble_relate::findings::FindingsCache;
use resemble_relate::join::CommonPieces;
use resemble_relate::join::Table;

/// The version is part of every name. It must be raised when the code lays out, nominates or
/// estimates drafts in another way.
const VERSION: u64 = 5;

/// If there are fewer drafts than this, computing them is faster than storing them.
const LEAST: usize = 256;

/// The stored drafts of one collection.
#[derive(Debug)]
pub(in crate::groups) struct KnownDrafts<'a> {
    cache: &'a dyn FindingsCache,
    name: String,
    /// The number of contents.
    contents: u32,
}

impl<'a> KnownDrafts<'a> {
    /// Returns the object that reads and writes the stored drafts of these contents. Returns `None`
    /// if drafts must not be stored.
    pub(in crate::groups) fn of(
        cache: &'a dyn FindingsCache,
        (snapshot, table, common): (&Snapshot, &Table, &CommonPieces),
        terms: LinkTerms,
    ) -> Option<Self> {
        if !snapshot.templates().is_empty() || snapshot.is_partial() {
            return None;
        }
        let mut all = Vec::new();
        put(&mut all, VERSION);
        let terms = format!(
            "{} {} {} {terms:?}\0",
            env!("CARGO_PKG_VERSION"),
            snapshot.params(),
            common.counts.limit()
        );
        all.extend_from_slice(terms.as_bytes());
        table.put_name(&mut all);
        for (member, leader) in common.families.members() {
            put(&mut all, u64::from(member));
            put(&mut all, u64::from(leader));
        }
        Some(Self {
            cache,
            name: format!("groups {}", digest(&all)),
            contents: table.all(),
        })
    }

    /// Returns the drafts that [`Self::put`] stored, in order. Returns `None` if nothing is stored,
    /// or if the stored bytes cannot be decoded.
    pub(super) fn get(&self) -> Option<Vec<LinkDraft>> {
        let bytes = self.cache.get(&self.name)?;
        let (mut reader, mut before) = (Reader(&bytes), 0);
        let mut drafts = Vec::new();
        while !reader.0.is_empty() {
            let draft = LinkDraft::take_after(before, &mut reader)?;
            if draft.a.max(draft.b) >= self.contents {
                return None;
            }
            before = draft.a;
            drafts.push(draft);
        }
        drafts.sort_unstable();
        Some(drafts)
    }

    /// Stores the drafts if there are enough of them.
    pub(super) fn put(&self, drafts: &[LinkDraft]) {
        if drafts.len() < LEAST {
            return;
        }
        let mut drafts: Vec<&LinkDraft> = drafts.iter().collect();
        drafts.sort_unstable_by_key(|draft| (draft.a, draft.b));
        let (mut bytes, mut before) = (Vec::new(), 0);
        for draft in drafts {
            draft.put_after(before, &mut bytes);
            before = draft.a;
        }
        tracing::debug!(bytes = bytes.len(), "drafts for the next time");
        self.cache.put(&self.name, &bytes);
    }
}
