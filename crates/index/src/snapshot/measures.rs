//! Stored measures.

use resemble_core::ContentDigest;
use resemble_core::similarity::proof::Proven;
use resemble_core::similarity::{PairKey, Unit};

use super::Snapshot;
use crate::measures::written;

impl Snapshot {
    /// Returns the measures of two contents in this unit, if they are stored. A look-up takes a
    /// microsecond or two.
    pub fn kept_measures(
        &self,
        a: &ContentDigest,
        b: &ContentDigest,
        unit: Unit,
    ) -> Option<Proven> {
        // To callers who do not see everything, measures that others caused would reveal their
        // files and questions.
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

    /// Stores the measures of two contents, for this snapshot and all others of the index.
    pub fn keep_measures(&self, a: &ContentDigest, b: &ContentDigest, found: &Proven) {
        if self.templates().is_empty() && !self.is_partial() {
            let (key, is_swapped) = PairKey::of(a, b, found.unit);
            let found = if is_swapped { found.swapped() } else { *found };
            self.inner.new_measures.put(key, found);
        }
    }
}
