//! A content of which all is at hand that measuring a pair takes.

use std::cell::OnceCell;

use resemble_core::Measures;
use resemble_core::similarity::proof::Provable;
use resemble_core::similarity::{Prepared, Unit};
use resemble_relate::judge::estimate::prepared_in;
use resemble_relate::nominate::evidence::Kept;

use crate::compare::common::CommonKeys;

/// A content ready to be measured.
pub(super) struct Ready {
    pub(super) kept: Kept,
    pub(super) prepared: Prepared,
    /// What is in it, once it was needed; `None`: it cannot be read.
    pub(super) content: OnceCell<Option<Provable>>,
}

impl Ready {
    pub(super) fn of(kept: Kept, common: &CommonKeys) -> Self {
        let prepared = Prepared::of(&kept.sketch(), common);
        Self {
            kept,
            prepared,
            content: OnceCell::new(),
        }
    }

    /// What both have in common by their samples, without boilerplate.
    pub(super) fn estimate(&self, other: &Self, unit: Unit, common: &CommonKeys) -> Measures {
        prepared_in(
            unit,
            (&self.prepared, self.kept.kind),
            (&other.prepared, other.kept.kind),
            common,
        )
    }

    /// How many samples of this level both have, without boilerplate.
    pub(super) fn common_samples(&self, other: &Self, level: u8) -> u64 {
        let samples = self.kept.signature.fingerprints.iter();
        let common = samples.filter(|sample| {
            let has = |side: &Self| side.prepared.has_fingerprint(**sample);
            sample.level() >= level && has(self) && has(other)
        });
        common.count() as u64
    }

    /// Whether most of it is boilerplate.
    pub(super) fn is_header(&self) -> bool {
        let all = self.kept.signature.fingerprints.len() as u64;
        let own = self.prepared.samples_at(0);
        own < all && 2 * own <= all
    }
}
