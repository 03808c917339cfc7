//! The search for cut points alone.

use std::ops::ControlFlow;

use super::{BLOCK, CARRY, Criteria, Divisor, RollingPlatform};

/// Finds the windows that match a divisor, for as long as somebody wants them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matcher {
    criteria: Criteria,
    platform: RollingPlatform,
}

/// Windows at a time of a [`Matcher`] that cannot stop after any block.
pub(super) const STEP: usize = 512;

impl Matcher {
    /// For matches of D' (and D = 2·D').
    pub(crate) fn new(backup_divisor: u32, platform: RollingPlatform) -> Self {
        // Samples are not asked for, so there are as few as possible.
        Self::of(Criteria::new(backup_divisor, 63), platform)
    }

    pub(super) const fn of(criteria: Criteria, platform: RollingPlatform) -> Self {
        Self { criteria, platform }
    }

    /// Whether little more is looked at than the windows up to the last that was wanted.
    pub(crate) const fn stops_at_once(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if matches!(self.platform, RollingPlatform::Vbmi) {
            return true;
        }
        false
    }

    /// Hands the windows of `bytes` that match a divisor to `found`, by number, until that has
    /// enough of them; how many windows were looked at.
    pub(crate) fn find(
        &self,
        bytes: &[u8],
        found: &mut impl FnMut(usize, Divisor) -> ControlFlow<()>,
    ) -> usize {
        let count = bytes.len().saturating_sub(CARRY);
        #[cfg(target_arch = "x86_64")]
        if matches!(self.platform, RollingPlatform::Vbmi) && count > 0 {
            return super::vbmi::find(bytes, &self.criteria, &mut |window, hash| {
                let divisor = self.criteria.divisor(hash);
                divisor.map_or(ControlFlow::Continue(()), |divisor| found(window, divisor))
            });
        }
        let mut hashes = [0; STEP + BLOCK];
        let mut bits = [0; STEP / BLOCK];
        for first in (0..count).step_by(STEP) {
            let now = STEP.min(count - first);
            let windows = &bytes[first..first + now + CARRY];
            self.platform.hashes(windows, &mut hashes);
            self.platform
                .matches(&hashes, now, &self.criteria, &mut bits);
            for index in ones(&bits[..now.div_ceil(BLOCK)]) {
                if let Some(divisor) = self.criteria.divisor(hashes[index])
                    && found(first + index, divisor).is_break()
                {
                    return first + index + 1;
                }
            }
        }
        count
    }
}

/// Which bits are set, in order.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(number, &word)| {
        let mut word = word;
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
            word &= word - 1;
            Some(BLOCK * number + bit)
        })
    })
}
