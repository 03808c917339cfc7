//! Drafts of which no link comes that is asked for.

use std::collections::HashSet;

use resemble_core::ContentId;
use resemble_relate::sort::SortedRun;

use super::Solver;
use super::drafts::LinkDraft;

/// Says which of some links are asked for, by their contents.
pub(crate) type NeededLinks<'a> = &'a (dyn Fn(&[(ContentId, ContentId)]) -> Vec<bool> + Sync);

impl Solver<'_> {
    /// The drafts of which links may come that are asked for.
    pub(super) fn needed(&self, drafts: Vec<SortedRun<LinkDraft>>) -> Vec<SortedRun<LinkDraft>> {
        let Some(needed) = self.needed else {
            return drafts;
        };
        let table = self.table;
        let between = |a: u32, b: u32| {
            let pair = move |(a, b)| (table.id(a), table.id(b));
            let ends = table
                .owners(a)
                .flat_map(move |a| table.owners(b).map(move |b| (a.0, b.0)));
            ends.filter(|(a, b)| a != b).map(pair)
        };
        let ends = |run: &SortedRun<LinkDraft>| match run {
            SortedRun::Memory(drafts) => drafts.iter().map(|draft| (draft.a, draft.b)).collect(),
            SortedRun::Disk { .. } => Vec::new(),
        };
        let ends: Vec<(u32, u32)> = drafts.iter().flat_map(ends).collect();
        // What has one text is linked without a draft.
        let same = table
            .stand_ins()
            .into_iter()
            .flat_map(|place| between(place, place));
        let links = ends.iter().flat_map(|&(a, b)| between(a, b)).chain(same);
        let links: Vec<(ContentId, ContentId)> = links.collect();
        let needed = needed(&links);
        let needed = links.into_iter().zip(needed).filter(|&(_, needed)| needed);
        let needed: HashSet<(ContentId, ContentId)> = needed.map(|(link, _)| link).collect();
        let is_needed =
            |draft: &LinkDraft| between(draft.a, draft.b).any(|of| needed.contains(&of));
        let keep = |run: SortedRun<LinkDraft>| match run {
            SortedRun::Memory(mut drafts) => {
                drafts.retain(is_needed);
                SortedRun::Memory(drafts)
            }
            disk @ SortedRun::Disk { .. } => disk,
        };
        drafts.into_iter().map(keep).collect()
    }
}
