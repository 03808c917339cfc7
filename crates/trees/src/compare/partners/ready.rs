//! Prepares contents for the measurement of pairs.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use resemble_core::Measures;
use resemble_core::similarity::proof::Provable;
use resemble_core::similarity::{Prepared, Unit};
use resemble_relate::AskError;
use resemble_relate::judge::estimate::prepared_in;
use resemble_relate::nominate::evidence::StoredSketch;

use crate::compare::common::CommonKeys;

/// The maximum number of prepared contents of B that a thread keeps, because the contents of a
/// family are used repeatedly. Each takes about 4 KB. If the content was read, it also takes 25
/// bytes per word.
const READY: usize = 512;

/// The prepared contents of a thread.
#[derive(Default)]
pub(super) struct ReadyContents {
    by_number: HashMap<u32, Ready>,
    bytes: u64,
}

impl ReadyContents {
    /// Returns a prepared content. `make` prepares the content if the thread does not keep it. If
    /// the thread keeps too many contents, or more than `room` bytes, all kept contents are dropped
    /// first.
    pub(super) fn get(
        &mut self,
        content: u32,
        room: u64,
        make: impl FnOnce() -> Result<Ready, AskError>,
    ) -> Result<&Ready, AskError> {
        if self.by_number.len() >= READY || self.bytes > room {
            self.by_number.clear();
            self.bytes = 0;
        }
        Ok(match self.by_number.entry(content) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let ready = make()?;
                self.bytes += ready.kept.whole.0;
                new.insert(ready)
            }
        })
    }
}

/// A content ready to be measured.
pub(super) struct Ready {
    pub(super) kept: StoredSketch,
    pub(super) prepared: Prepared,
    /// The content in the form for proofs, which is read when it is first needed. The inner option
    /// is `None` if the content cannot be read.
    pub(super) content: OnceCell<Option<Provable>>,
}

impl Ready {
    pub(super) fn of(kept: StoredSketch, common: &CommonKeys) -> Self {
        let prepared = Prepared::of(&kept.sketch(), common);
        Self {
            kept,
            prepared,
            content: OnceCell::new(),
        }
    }

    /// Estimates the common part of both contents by their samples, without boilerplate.
    pub(super) fn estimate(&self, other: &Self, unit: Unit, common: &CommonKeys) -> Measures {
        prepared_in(
            unit,
            (&self.prepared, self.kept.kind),
            (&other.prepared, other.kept.kind),
            common,
        )
    }

    /// Counts the samples that both contents have at or above `level`, without boilerplate.
    pub(super) fn common_samples(&self, other: &Self, level: u8) -> u64 {
        let samples = self.kept.signature.fingerprints.iter();
        let common = samples.filter(|sample| {
            let has = |side: &Self| side.prepared.has_fingerprint(**sample);
            sample.level() >= level && has(self) && has(other)
        });
        common.count() as u64
    }

    /// Returns whether at least half of the content's samples are boilerplate.
    pub(super) fn is_header(&self) -> bool {
        let all = self.kept.signature.fingerprints.len() as u64;
        let own = self.prepared.samples_at(0);
        own < all && 2 * own <= all
    }
}
