//! Drafts that were made before, for the next time the same is asked.
//!
//! Which pairs of a collection may be links follows from what the index keeps of its contents, and
//! estimating them is nine tenths of a question whose measures are kept. So the drafts are kept
//! under a name made of everything that they follow from: the contents in their order, what these
//! stand for, the families among them, the limit, and the terms of a link. If anything of it
//! changes they are not found. Names of files are not among it. Those that were measured and came
//! to nothing are left out, which are most: the same would come of them again.
//!
//! Not kept is what was made without what templates take away, what was not to fit into memory, and
//! what was beyond what a question may read; nor anything of a view in which a caller does not see
//! everything, for how common pieces are follows from all that he sees, the scope or not.

use resemble_core::hash::content::digest;
use resemble_index::Snapshot;
use resemble_index::varint::{Reader, put};

use super::drafts::LinkDraft;
use crate::compare::FindingsCache;
use crate::groups::common::CommonPieces;
use crate::groups::table::Table;
use crate::groups::terms::LinkTerms;

/// Part of every name. It is raised whenever drafts are laid out or estimated otherwise.
const VERSION: u64 = 3;

/// Fewer drafts are made sooner than kept.
const LEAST: usize = 256;

/// Where the drafts of one collection are kept.
#[derive(Debug)]
pub(in crate::groups) struct KnownDrafts<'a> {
    cache: &'a dyn FindingsCache,
    name: String,
    /// How many contents there are.
    contents: u32,
}

impl<'a> KnownDrafts<'a> {
    /// Those of these contents; `None` if they must not be kept.
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

    /// What was kept, in order; `None`: nothing, or not what [`Self::put`] wrote.
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

    /// Keeps drafts, if they are many.
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
