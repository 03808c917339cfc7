//! Searches for cut points only, without samples.

use super::{BLOCK, CARRY, Criteria, Divisor, RollingPlatform};

/// Finds the end of a chunk among windows.
#[derive(Clone, Copy, Debug)]
pub struct Matcher {
    criteria: Criteria,
    platform: RollingPlatform,
}

/// The number of windows of one pass. A pass is finished before its first match is returned.
pub(super) const STEP: usize = 512;

/// The number of windows of one pass in a search for the last match. These windows span 256 bytes.
const BACK: usize = 4 * BLOCK - CARRY;

impl Matcher {
    /// Makes a matcher for D' (and D = 2·D').
    pub fn new(backup_divisor: u32, platform: RollingPlatform) -> Self {
        // Samples are not needed, so the level is the greatest.
        Self::of(Criteria::new(backup_divisor, 63), platform)
    }

    pub(super) const fn of(criteria: Criteria, platform: RollingPlatform) -> Self {
        Self { criteria, platform }
    }

    /// Returns whether time is saved by leaving out the windows that cannot end a chunk.
    pub const fn stops_soon(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if matches!(self.platform, RollingPlatform::Vbmi(_)) {
            return true;
        }
        false
    }

    /// Returns the number of the first window of `bytes` that matches D, if one does.
    pub fn first_main(&self, bytes: &[u8]) -> Option<usize> {
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

    /// Returns the number of the last window of `bytes` that matches D', if one does. This window
    /// is usually near the end.
    pub fn last_backup(&self, bytes: &[u8]) -> Option<usize> {
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

    /// Passes the windows of `bytes` that match D' to `found`, by number.
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
