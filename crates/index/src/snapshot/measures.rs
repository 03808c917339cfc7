//! What was measured before.

use resemble_core::ContentDigest;
use resemble_core::similarity::proof::Proven;
use resemble_core::similarity::{PairKey, Unit};

use super::Snapshot;
use crate::measures::written;

impl Snapshot {
    /// What these contents have in common in this unit, if it was kept. A look into the index takes
    /// a microsecond or two.
    pub fn kept_measures(
        &self,
        a: &ContentDigest,
        b: &ContentDigest,
        unit: Unit,
    ) -> Option<Proven> {
        // What was measured for others tells of their files and their questions.
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

    /// Keeps what these contents have in common, for this snapshot and all others of the index.
    pub fn keep_measures(&self, a: &ContentDigest, b: &ContentDigest, found: &Proven) {
        if self.templates().is_empty() && !self.is_partial() {
            let (key, is_swapped) = PairKey::of(a, b, found.unit);
            let found = if is_swapped { found.swapped() } else { *found };
            self.inner.new_measures.put(key, found);
        }
    }
}
