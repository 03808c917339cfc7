//! The newtypes that the crates share.
//!
//! Each type has only the operations that make sense: lengths can be added, ids cannot.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Sub};

pub use resemble_kernels::Fingerprint;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteLen(pub u64);

impl ByteLen {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// Returns the number itself.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for ByteLen {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for ByteLen {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for ByteLen {
    type Output = Self;
    /// Saturates at zero: a length is never negative.
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::iter::Sum for ByteLen {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for ByteLen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a content in one index; a content is the bytes of one or more files. The id is never
/// reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub u32);

/// The id of a file (an inode of one file system) in one index. It survives renames and is never
/// reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// The id of a directory in one index. It survives renames and is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirId(pub u32);

/// The MD5 of a chunk's bytes: the chunk's name (Forman, Eshghi, Chiocchetti 2005, section 2.2).
///
/// An adversary can make two chunks with the same MD5. So whole contents are compared by
/// [`ContentDigest`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkHash(pub [u8; 16]);

impl ChunkHash {
    /// Returns the first 40 bits, big-endian: the key of the chunk in posting lists. Two chunks
    /// with the same key are distinguished by the full hash in the contents' chunk lists.
    pub fn posting_key(self) -> u64 {
        let b = self.0;
        u64::from_be_bytes([0, 0, 0, b[0], b[1], b[2], b[3], b[4]])
    }
}

/// The unkeyed 256-bit digest of a whole content; equal digests mean equal contents. Defined in
/// [`crate::hash::content`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentDigest(pub [u8; 32]);

/// The name of a canonical text: a hash of 128 bits of all words in order ([`crate::words`]).
///
/// Two contents with equal digests are the *same text*, whatever their markup, capitals and line
/// widths. The hash is fast and made for honest texts. Collisions can be made on purpose, but only
/// cause a wrong [`Relation::SameText`](crate::Relation::SameText). Only [`ContentDigest`] decides
/// what is identical.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WordsDigest(pub [u8; 16]);

/// Hashes are printed in hexadecimal, for people and in debug output alike.
macro_rules! printed_in_hex {
    ($($trait:ident for $hash:ty),*) => {
        $(impl fmt::$trait for $hash {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        })*
    };
}

printed_in_hex!(
    Display for ChunkHash, Debug for ChunkHash,
    Display for ContentDigest, Debug for ContentDigest,
    Display for WordsDigest, Debug for WordsDigest
);

/// Parses the hexadecimal form of a hash; `None` if the text is not the digits of `N` bytes.
pub fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let digit = |c: u8| char::from(c).to_digit(16);
    let mut bytes = [0; N];
    for (byte, &[high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = (digit(high)? << 4 | digit(low)?) as u8;
    }
    Some(bytes)
}

/// A share between 0 and 1: a containment or a resemblance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score(
    /// The bits of the fraction, plus one. They sort as the fractions do and are never zero. So an
    /// `Option<Score>` takes no more memory than a score. There are millions of such options.
    NonZeroU64,
);

impl Score {
    /// The share of the whole: 1.
    pub const ONE: Self = Self::of(1.0);
    /// The share of nothing: 0.
    pub const ZERO: Self = Self::of(0.0);
    /// The greatest score of contents that are not identical; only identical ones have 1.
    pub const ALL_BUT_IDENTICAL: Self = Self::of(0.999_999);

    /// Makes a score of a fraction. The fraction must be neither negative nor `-0`.
    const fn of(fraction: f64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(fraction.to_bits()))
    }

    /// Makes a score from a value, which is clamped to 0..=1; not-a-number becomes 0.
    pub fn new(value: f64) -> Self {
        Self::of(if value > 0.0 { value.min(1.0) } else { 0.0 })
    }

    /// Returns the share as a fraction.
    pub const fn get(self) -> f64 {
        f64::from_bits(self.0.get() - 1)
    }

    /// Returns the share in whole percent, rounded down, and at most 99 unless `identical`.
    ///
    /// Only identical files have 100 %. A file that is wholly inside another one has 99 %.
    pub fn percent(self, identical: bool) -> u8 {
        if identical {
            return 100;
        }
        // 0.29 * 100.0 is 28.999…; the small addition makes this 29.
        ((self.get() * 100.0 + 1e-7).floor() as u8).min(99)
    }
}

impl Default for Score {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Debug for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Score").field(&self.get()).finish()
    }
}
