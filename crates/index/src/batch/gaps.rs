//! Stores which directories could not be listed, and how many gaps each directory has. A gap is a
//! name that was not looked at.
//!
//! A question about a whole tree uses these counts instead of reading every entry.

use std::path::Path;

use resemble_core::DirId;

use super::{Batch, Refusal};
use crate::codec::rows::{StoredFile, decode_gaps, encode_gaps};
use crate::fault::Fault;
use crate::rows::{FileState, Gap, GapCounts, LeftOutRule};
use crate::store::ReadableTable;

/// The direction in which a count changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GapStep {
    More,
    Less,
}

impl Batch<'_, '_> {
    pub(super) fn set_unlisted(&mut self, path: &Path, errno: Option<i32>) -> Result<(), Refusal> {
        let dir = self.make_dirs(path)?;
        match errno {
            Some(errno) => self.unlisted.insert(dir.0, errno)?,
            None => self.unlisted.remove(dir.0)?,
        };
        Ok(())
    }

    /// Adds one gap to the counts of a directory, or subtracts one.
    pub(super) fn count_gap(&mut self, dir: DirId, gap: Gap, step: GapStep) -> Result<(), Fault> {
        let row = self.gaps.get(dir.0)?;
        let mut counts = row.map_or(Ok(GapCounts::default()), |row| decode_gaps(row.value()))?;
        let count = counts.of(gap);
        *count = match step {
            GapStep::More => count.saturating_add(1),
            GapStep::Less => count.saturating_sub(1),
        };
        if counts == GapCounts::default() {
            self.gaps.remove(dir.0)?;
        } else {
            encode_gaps(&counts, &mut self.row);
            self.gaps.insert(dir.0, &self.row[..])?;
        }
        Ok(())
    }

    /// Updates the gap counts of a directory that gains or loses a name of this file. Only a
    /// skipped file is a gap.
    pub(super) fn count_name(
        &mut self,
        row: &StoredFile,
        dir: DirId,
        step: GapStep,
    ) -> Result<(), Fault> {
        if is_skipped(row) {
            self.count_gap(dir, Gap::LeftOut(LeftOutRule::MaxSize), step)?;
        }
        Ok(())
    }

    /// Removes the gap counts and the listing error of a directory that was deleted.
    pub(super) fn forget_gaps(&mut self, dir: DirId) -> Result<(), Fault> {
        self.unlisted.remove(dir.0)?;
        self.gaps.remove(dir.0)?;
        Ok(())
    }
}

pub(super) const fn is_skipped(row: &StoredFile) -> bool {
    matches!(row.state, FileState::Skipped(_))
}
