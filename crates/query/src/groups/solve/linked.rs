//! Makes drafts of given pairs. [`super`] makes drafts of the pairs that it finds itself.
//!
//! If memory is unbounded, problems are solved as usual, but a block is not searched for pairs. So
//! the figures of a pair are added up in the same order as usual. If memory is bounded, the two
//! contents of each pair are read from the index, which takes almost no memory.

use resemble_relate::AskError;
use resemble_relate::nominate::block::Common;
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::parallel::in_parallel;
use resemble_relate::sort::Sorter;

use super::drafts::LinkDraft;
use super::kin::MatchContext;
use super::{Sinks, Solver, stripped};
use resemble_relate::join::PairLists;

impl Solver<'_> {
    /// Makes drafts of the given pairs that may be links, one pair at a time. `sets` and `only` are
    /// as in [`Solver::solve`].
    pub(super) fn given_pairs(
        &self,
        given: &PairLists,
        (sets, only): (&[u32], Option<u32>),
        sinks: &Sinks<LinkDraft>,
    ) -> Result<(), AskError> {
        let compare = |place: usize, sink: &mut Option<Sorter<LinkDraft>>| {
            let set = sets[place];
            if only.is_some_and(|only| only != set) {
                return Ok(());
            }
            let place = place as u32;
            let mut greater = Vec::new();
            given.read(place, &mut greater)?;
            // A content of another set shares only ignored pieces with this content.
            greater.retain(|&other| sets[other as usize] == set);
            if greater.is_empty() {
                return Ok(());
            }
            let Some(kept) = self.given_content(place)? else {
                return Ok(());
            };
            let (kept, ignored) = stripped(self.counts, kept);
            for other in greater {
                self.snapshot.stop().go_on()?;
                let Some(content) = self.given_content(other)? else {
                    continue;
                };
                let (content, of_it) = stripped(self.counts, content);
                let common = Common::of_both(&kept, &content, self.counts);
                if common == Common::NONE {
                    continue;
                }
                let ends = [
                    (place, (&kept, &ignored[..])),
                    (other, (&content, &of_it[..])),
                ];
                // In a block the contents are in the order of ids, so the pair is put in that
                // order.
                let [a, b] = if kept.id <= content.id {
                    ends
                } else {
                    [ends[1], ends[0]]
                };
                self.pair(
                    (sinks, sink),
                    (a.0, b.0),
                    (a.1, b.1),
                    (common, MatchContext::Part),
                )?;
            }
            Ok::<_, AskError>(())
        };
        let used = in_parallel(sets.len(), || None, compare)?;
        sinks.put_back(used);
        Ok(())
    }

    fn given_content(&self, place: u32) -> Result<Option<StoredSketch>, AskError> {
        let row = self.snapshot.content(self.table.id(place))?;
        let kept = row
            .map(|row| StoredSketch::of(self.snapshot, &row))
            .transpose()?;
        Ok(kept.map(|kept| self.content(place, kept)))
    }
}
