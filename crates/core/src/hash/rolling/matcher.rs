//! The search for cut points alone.

use super::{BLOCK, CARRY, Criteria, Divisor, RollingPlatform};

/// Finds where a chunk ends among windows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matcher {
    criteria: Criteria,
    platform: RollingPlatform,
}

/// Windows at a time where all are looked at before the first match is told.
pub(super) const STEP: usize = 512;

/// Windows at a time where the last match is looked for: with what comes before the first, 256
/// bytes.
const BACK: usize = 4 * BLOCK - CARRY;

impl Matcher {
    /// For matches of D' (and D = 2·D').
    pub(crate) fn new(backup_divisor: u32, platform: RollingPlatform) -> Self {
        // Samples are not asked for, so there are as few as possible.
        Self::of(Criteria::new(backup_divisor, 63), platform)
    }

    pub(super) const fn of(criteria: Criteria, platform: RollingPlatform) -> Self {
        Self { criteria, platform }
    }

    /// Whether it pays to leave out the windows that cannot end a chunk.
    pub(crate) const fn stops_soon(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if matches!(self.platform, RollingPlatform::Vbmi(_)) {
            return true;
        }
        false
    }

    /// The number of the first window of `bytes` that matches D.
    pub(crate) fn first_main(&self, bytes: &[u8]) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if let RollingPlatform::Vbmi(look_up) = self.platform {
            return super::vbmi::first_main(bytes, &self.criteria, look_up);
        }
        let count = bytes.len().saturating_sub(CARRY);
        (0..count).step_by(STEP).find_map(|from| {
            let mut main = None;
            let behind = count.min(from + STEP);
            self.each(&bytes[from..behind + CARRY], &mut |window, divisor| {
                if main.is_none() && divisor == Divisor::Main {
                    main = Some(from + window);
                }
            });
            main
        })
    }

    /// The number of the last window of `bytes` that matches D'. It is seldom far from the end.
    pub(crate) fn last_backup(&self, bytes: &[u8]) -> Option<usize> {
        let (mut last, mut behind) = (None, bytes.len().saturating_sub(CARRY));
        while last.is_none() && behind > 0 {
            let from = behind.saturating_sub(BACK);
            self.each(&bytes[from..behind + CARRY], &mut |window, _| {
                last = Some(from + window);
            });
            behind = from;
        }
        last
    }

    /// Hands the windows of `bytes` that match D' to `found`, by number.
    fn each(&self, bytes: &[u8], found: &mut impl FnMut(usize, Divisor)) {
        let (mut hashes, mut bits) = ([0; STEP + BLOCK], [0; STEP / BLOCK]);
        let memory = (&mut hashes[..], &mut bits[..]);
        self.platform
            .find(bytes, &self.criteria, memory, &mut |window, hash| {
                if let Some(divisor) = self.criteria.divisor(hash) {
                    found(window, divisor);
                }
            });
    }
}
