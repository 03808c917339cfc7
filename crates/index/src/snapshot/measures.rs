//! Queries of the stored measures of pairs.

use resemble_core::ContentDigest;
use resemble_core::similarity::proof::Proven;
use resemble_core::similarity::{PairKey, Unit};

use super::Snapshot;
use crate::measures::written;

impl Snapshot {
    /// Returns the stored measures of two contents in this unit, if there are any. This takes one
    /// or two microseconds.
    pub fn kept_measures(
        &self,
        a: &ContentDigest,
        b: &ContentDigest,
        unit: Unit,
    ) -> Option<Proven> {
        // Measures are stored when somebody asks about a pair. So the measures would reveal files
        // and questions of others to a caller who does not see all files.
        if !self.templates().is_empty() || self.is_partial() {
            return None;
        }
        let (key, is_swapped) = PairKey::of(a, b, unit);
        let new = &self.inner.new_measures;
        let [newer, older] = &self.inner.measures;
        let found = new
            .get(key)
            .or_else(|| written(newer, key, unit))
            .or_else(|| {
                let found = written(older, key, unit)?;
                new.put(key, found);
                Some(found)
            })?;
        Some(if is_swapped { found.swapped() } else { found })
    }

    /// Stores the measures of two contents, so that all snapshots of the index can use them. Does
    /// nothing in a restricted snapshot, or in a snapshot with templates.
    pub fn keep_measures(&self, a: &ContentDigest, b: &ContentDigest, found: &Proven) {
        if self.templates().is_empty() && !self.is_partial() {
            let (key, is_swapped) = PairKey::of(a, b, found.unit);
            let found = if is_swapped { found.swapped() } else { *found };
            self.inner.new_measures.put(key, found);
        }
    }
}
