//! Filters out drafts that cannot become a requested link.

use std::collections::HashSet;

use resemble_core::ContentId;
use resemble_relate::AskError;
use resemble_relate::sort::SortedRun;

use super::Solver;
use super::drafts::LinkDraft;

/// Selects the requested links from a list. A link is given by its two contents.
pub(crate) type NeededLinks<'a> = &'a (dyn Fn(&[(ContentId, ContentId)]) -> Vec<bool> + Sync);

/// The requested links, each named by its two contents.
pub(super) type NeededPairs = HashSet<(ContentId, ContentId)>;

impl Solver<'_> {
    /// Returns the requested links among those that these drafts may become. `None` means that all
    /// links are requested.
    pub(super) fn needed(
        &self,
        drafts: &[SortedRun<LinkDraft>],
    ) -> Result<Option<NeededPairs>, AskError> {
        let Some(needed) = self.needed else {
            return Ok(None);
        };
        let mut links: Vec<(ContentId, ContentId)> = Vec::new();
        for run in drafts {
            run.each(|draft| links.extend(self.between(draft.a, draft.b)))?;
        }
        // Files that share a content as a rendition are linked without a draft.
        let same = self.table.stand_ins().into_iter();
        links.extend(same.flat_map(|place| self.between(place, place)));
        let needed = links.iter().zip(needed(&links));
        let needed = needed.filter_map(|(&link, needed)| needed.then_some(link));
        Ok(Some(needed.collect()))
    }

    /// Returns whether a draft may become a needed link.
    pub(super) fn is_needed(&self, draft: &LinkDraft, needed: Option<&NeededPairs>) -> bool {
        needed.is_none_or(|needed| {
            let mut links = self.between(draft.a, draft.b);
            links.any(|link| needed.contains(&link))
        })
    }

    /// Returns the pairs of files that have these two contents as renditions. Files are named by
    /// their own contents.
    fn between(&self, a: u32, b: u32) -> impl Iterator<Item = (ContentId, ContentId)> {
        let table = self.table;
        let ends = table
            .owners(a)
            .flat_map(move |a| table.owners(b).map(move |b| (a.0, b.0)));
        let ends = ends.filter(|(a, b)| a != b);
        ends.map(move |(a, b)| (table.id(a), table.id(b)))
    }
}
