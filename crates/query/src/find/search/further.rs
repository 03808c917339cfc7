//! Near-copies of a subject beyond the hundred entries of a listing. Their places are counted, so
//! that the listing can state how many entries it leaves out.

use std::collections::{BTreeMap, HashSet};

use resemble_core::{ContentId, Relation};
use resemble_index::PartRole;
use resemble_relate::AskError;
use resemble_relate::renditions::{Place, Rendition, wholes_of};

use super::Search;
use crate::find::Similar;

/// The near-copies that were not compared. Each is assumed to have the similarity of a typical
/// near-copy.
#[derive(Clone, Debug, Default)]
pub(in crate::find) struct FurtherCopies {
    /// For each content, the number of files that have it, not counting the subject.
    files: BTreeMap<ContentId, usize>,
    /// Contents of members of archives and mails. All copies of one content are one entry.
    members: HashSet<ContentId>,
}

impl FurtherCopies {
    /// Counts the entries that these copies would add to the given rows.
    pub(in crate::find) fn entries(&self, rows: &[Similar]) -> usize {
        let shown: HashSet<ContentId> = rows.iter().filter_map(|row| row.member).collect();
        self.files.values().sum::<usize>() + self.members.difference(&shown).count()
    }
}

impl Search<'_> {
    /// Records the places of a near-copy that is not compared.
    pub(super) fn note_further(
        &mut self,
        rendition: Rendition,
        copy: ContentId,
    ) -> Result<(), AskError> {
        let Some(row) = self.snapshot.content(copy)? else {
            return Ok(());
        };
        for (occurrence, _) in self.occurrences(rendition, &row, false)? {
            let content = occurrence.place.content;
            if occurrence.place.member.is_some() {
                self.further.members.insert(copy);
            } else if !self.further.files.contains_key(&content)
                && self.is_copy(rendition, content)?
            {
                let files = self.files_of(content)?;
                self.further.files.insert(content, files);
            }
        }
        Ok(())
    }

    /// Returns whether a content counts as a near-copy of the subject because this rendition of the
    /// content is a near-copy. An archive or a mail counts only if the rendition is a whole, and if
    /// this whole is most of the content of both files.
    fn is_copy(&self, rendition: Rendition, content: ContentId) -> Result<bool, AskError> {
        if !self.holds_members(content)? {
            return Ok(true);
        }
        let Some(at) = rendition.which_whole() else {
            return Ok(false);
        };
        let theirs = wholes_of(self.snapshot, Place::file(content))?;
        let theirs = theirs.map(|whole| whole.map_or(0, |whole| whole.size.0));
        let is_most = |sizes: [u64; 2]| {
            sizes[at] as f64 >= Relation::MOSTLY * sizes.iter().sum::<u64>() as f64
        };
        Ok(is_most(self.wholes) && is_most(theirs))
    }

    /// Returns whether a content is an archive or a mail.
    fn holds_members(&self, content: ContentId) -> Result<bool, AskError> {
        let row = self.snapshot.content(content)?;
        if row.is_none_or(|row| row.parts == 0) {
            return Ok(false);
        }
        let parts = self.snapshot.parts(content)?;
        Ok(parts.iter().any(|part| part.role == PartRole::Member))
    }

    fn files_of(&self, content: ContentId) -> Result<usize, AskError> {
        let is_other = |file| Some(file) != self.subject.file;
        if let Some(scoped) = self.scoped {
            let files = scoped.holders(content);
            return Ok(files.filter(|holder| is_other(holder.file)).count());
        }
        let mut count = 0;
        for file in self.snapshot.files_of(content)? {
            count += usize::from(is_other(file) && self.is_shown(file)?);
        }
        Ok(count)
    }

    /// Returns the further copies, except contents that have a row because of another rendition.
    pub(super) fn further_besides_rows(&mut self) -> FurtherCopies {
        let mut further = std::mem::take(&mut self.further);
        let has_row = |&content: &ContentId| self.rows.contains_key(&Place::file(content));
        further.files.retain(|content, _| !has_row(content));
        further
    }
}
