//! The fingerprint of a window or of a shingle.

/// The sampled fingerprint of one 64-byte window or five-word shingle: 32 bits.
///
/// The hash of a window has 64 bits. A window can be sampled only if the top
/// [`Fingerprint::BASE_LEVEL`] bits are zero. The fingerprint is the 32 bits below these bits. So
/// its own leading zeros are further leading zeros of the hash: see [`Fingerprint::level`].
///
/// A fingerprint has only 32 bits, because one bit more would add a hundredth to the size of the
/// postings. In a kernel tree with ten million fingerprints, one in fifty equals another
/// fingerprint by accident. A pair that is nominated by accident either has no second common
/// fingerprint, or is proven to share nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// The number of bits of a fingerprint.
    pub const BITS: u32 = 32;
    /// The lowest level of any fingerprint. One window in 2^3 has this level or a higher one.
    pub const BASE_LEVEL: u8 = 3;

    /// Returns the fingerprint of a window or shingle with this hash, or `None` if its level is
    /// below [`Self::BASE_LEVEL`].
    #[inline]
    pub const fn of_hash(hash: u64) -> Option<Self> {
        if hash >> (64 - Self::BASE_LEVEL as u32) != 0 {
            return None;
        }
        Some(Self((hash << Self::BASE_LEVEL) >> (64 - Self::BITS)))
    }

    /// Returns the level: the number of leading zero bits of the hash. More zero bits than a
    /// fingerprint can show are not counted. A file at sampling level `k` keeps the fingerprints of
    /// level ≥ `k`, so one window in 2^k. This is the `Mod_n` of Broder 1997, section 3, with n =
    /// 2^k. So every fingerprint that a higher level keeps is also kept at a lower level.
    #[inline]
    pub const fn level(self) -> u8 {
        Self::BASE_LEVEL + (self.0.leading_zeros() - (64 - Self::BITS)) as u8
    }
}
