//! Drafts of which no link comes that is asked for.

use std::collections::HashSet;

use resemble_core::ContentId;
use resemble_relate::AskError;
use resemble_relate::sort::SortedRun;

use super::Solver;
use super::drafts::LinkDraft;

/// Says which of some links are asked for, by their contents.
pub(crate) type NeededLinks<'a> = &'a (dyn Fn(&[(ContentId, ContentId)]) -> Vec<bool> + Sync);

/// The links that are asked for, by their contents.
pub(super) type NeededPairs = HashSet<(ContentId, ContentId)>;

impl Solver<'_> {
    /// The links that are asked for, of all that may come of these drafts; `None`: all.
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
        // What has one text is linked without a draft.
        let same = self.table.stand_ins().into_iter();
        links.extend(same.flat_map(|place| self.between(place, place)));
        let needed = links.iter().zip(needed(&links));
        let needed = needed.filter_map(|(&link, needed)| needed.then_some(link));
        Ok(Some(needed.collect()))
    }

    /// Whether a link may come of a draft that is among these.
    pub(super) fn is_needed(&self, draft: &LinkDraft, needed: Option<&NeededPairs>) -> bool {
        needed.is_none_or(|needed| {
            let mut links = self.between(draft.a, draft.b);
            links.any(|link| needed.contains(&link))
        })
    }

    /// The files that two contents stand for, by the contents of these.
    fn between(&self, a: u32, b: u32) -> impl Iterator<Item = (ContentId, ContentId)> {
        let table = self.table;
        let ends = table
            .owners(a)
            .flat_map(move |a| table.owners(b).map(move |b| (a.0, b.0)));
        let ends = ends.filter(|(a, b)| a != b);
        ends.map(move |(a, b)| (table.id(a), table.id(b)))
    }
}
