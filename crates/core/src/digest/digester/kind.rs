//! Distinguishes texts from binaries by their first bytes.

use crate::digest::ContentKind;

/// The number of first bytes that were examined, and whether one of them is NUL.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KindFinder {
    looked_at: usize,
    pub(super) nul: bool,
}

impl KindFinder {
    #[inline]
    pub(super) fn update(&mut self, bytes: &[u8]) {
        if self.looked_at < ContentKind::LOOKED_AT {
            let head = &bytes[..bytes.len().min(ContentKind::LOOKED_AT - self.looked_at)];
            self.nul |= head.contains(&0);
            self.looked_at += head.len();
        }
    }

    pub(super) fn update_zeros(&mut self, count: u64) {
        if self.looked_at < ContentKind::LOOKED_AT && count > 0 {
            self.nul = true;
            self.looked_at += 1;
        }
    }

    /// Returns whether the content is known to be text. `whole` is true if no bytes follow.
    pub(super) const fn is_text(self, whole: bool) -> bool {
        (whole || self.looked_at >= ContentKind::LOOKED_AT) && !self.nul
    }

    pub(super) const fn finish(self) -> ContentKind {
        match self {
            Self { looked_at: 0, .. } => ContentKind::Empty,
            Self { nul: true, .. } => ContentKind::Binary,
            Self { nul: false, .. } => ContentKind::Text,
        }
    }
}
