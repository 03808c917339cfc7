//! The method sif: keeps fingerprints whose low bits are zero.
//!
//! **Paper.** Manber, *Finding similar files in a large file system*, 1994: the second method of
//! section 2, and section 3.
//!
//! **Fingerprints.** The fingerprint of a window t1 … t50 of 50 bytes is
//! `(t1 p^49 + t2 p^48 + … + t50) mod M`, called F and computed by Horner's rule. It is updated
//! with a table of 256 entries. M is 2^30 (2^31 and 2^32 "if the number of files is very large").
//! Fingerprints whose k = 8 low bits are zero are kept. These bits are removed, so 22 bits remain.
//! "Once a fingerprint is identified, the text is shifted to the end of it". So kept windows never
//! overlap, and 70 underlines give at most one fingerprint. (The paper prints the step as p F1 +
//! t51 - t1 p^49. But after the multiplication, t1 p^50 must be subtracted.)
//!
//! **p.** The paper asks for a prime. A run of 50 equal bytes c has F = c (p^50 - 1)/(p - 1), which
//! has as many factors 2 as c and p + 1 together. So a window of blanks (2^5) is always kept if p
//! is 7 (mod 8). A window of `@` (2^6) is always kept if p is 3 or 7 (mod 8). A window of NUL or of
//! 0x80 (2^7) is kept with every p. Here, p is 5 modulo 8, which has the longest period that is
//! possible modulo 2^30. Windows of only NUL or 0x80 are skipped. Otherwise padding would make all
//! binary files similar.
//!
//! **Figure** (section 3). The figure is the share of the query file's fingerprints that the other
//! file also has. It estimates how much of the query is in the other file. Occurrences are counted,
//! so the figure can be above 1 if the other file has pieces of the query twice. The paper found
//! 160 %. The figure is not symmetric.
//!
//! **Cost.** Each byte takes a multiplication and a look-up in a table. There is one fingerprint in
//! 305 bytes (256 + 49), which makes 3 or 4 in a KiB.
//!
//! **Sees** pieces in whole files, in any order. **Is blind** to common pieces below about 5 KB
//! (section 6: five to ten common fingerprints are evidence). With a few thousand files, values of
//! 22 bits begin to collide by chance. Two unrelated files of n fingerprints each have n²/2^22
//! fingerprints in common. Headers that many files share (`PostScript`) count like other text,
//! unless they are removed: see [`crate::formatting`].
//!
//! **Density by file size** (section 6, optional: [`SifParams::most`]). For a large file, more low
//! bits must be zero in a kept fingerprint, so that a file never has more than `most` fingerprints.
//! This number of additional bits is the *level* of the file. A pair is compared at the higher
//! level of its two files. This limits the size of a signature, but **a small file inside a large
//! one may be missed**.

use crate::judged::{Judged, Overlap};

/// The parameters of sif.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SifParams {
    /// The size of a window in bytes: 50 in the paper.
    pub window: u32,
    /// The number k of low bits that are zero in a kept fingerprint, and that are removed from it:
    /// 8 in the paper.
    pub zeros: u32,
    /// The exponent of M, which is 2^30, 2^31 or 2^32.
    pub bits: u32,
    /// The multiplier p.
    pub multiplier: u32,
    /// The maximum number of distinct fingerprints of a file. If it is `None`, as in the paper, all
    /// fingerprints are kept.
    pub most: Option<u32>,
}

impl Default for SifParams {
    fn default() -> Self {
        Self {
            window: 50,
            zeros: 8,
            bits: 30,
            multiplier: Self::MULTIPLIER,
            most: None,
        }
    }
}

impl SifParams {
    /// The default p: a prime that is 5 modulo 8. It was drawn at random (with the seed 1994).
    pub const MULTIPLIER: u32 = 917_097_781;

    /// Returns whether a number can be p: whether it is a prime that is 5 modulo 8.
    pub fn is_multiplier(p: u32) -> bool {
        let p = u64::from(p);
        p % 8 == 5
            && (3..)
                .step_by(2)
                .take_while(|i| i * i <= p)
                .all(|i| p % i != 0)
    }
}

/// Finds the fingerprints of a content that comes in pieces of any size.
#[derive(Clone, Debug)]
pub struct SifScanner {
    params: SifParams,
    /// The product t · p^w for every byte t. All arithmetic is modulo 2^32. M divides 2^32.
    leaving: Box<[u32; 256]>,
    value: u32,
    /// The bytes of the current window, in a ring. The next byte is written at `at`.
    ring: Vec<u8>,
    at: usize,
    /// The number of bytes in the ring. It is smaller than a window at the start and after a kept
    /// fingerprint.
    filled: usize,
}

impl SifScanner {
    /// Begins the first content. Any odd multiplier is accepted, for experiments.
    pub fn new(params: SifParams) -> Self {
        let power = params.multiplier.wrapping_pow(params.window);
        let mut leaving = Box::new([0u32; 256]);
        for (byte, value) in (0u32..).zip(leaving.iter_mut()) {
            *value = byte.wrapping_mul(power);
        }
        Self {
            leaving,
            value: 0,
            ring: vec![0; params.window as usize],
            at: 0,
            filled: 0,
            params,
        }
    }

    /// Begins another content.
    pub fn reset(&mut self) {
        (self.value, self.at, self.filled) = (0, 0, 0);
    }

    /// Adds the next bytes. `sink` receives the fingerprints of the windows that end in these
    /// bytes.
    pub fn update(&mut self, bytes: &[u8], mut sink: impl FnMut(u64)) {
        let (width, mut at) = (self.ring.len(), 0);
        while at < bytes.len() {
            // Some bytes of the current window are only in the ring. When all of them are in
            // `bytes`, the byte that leaves the window is read from `bytes`.
            let mut from_ring = width;
            while at < bytes.len() && (self.filled < width || from_ring > 0) {
                let byte = bytes[at];
                at += 1;
                from_ring = from_ring.saturating_sub(1);
                if let Some(found) = self.push(byte) {
                    sink(found);
                    from_ring = width;
                }
            }
            let rest = &bytes[at - width.min(at)..];
            if at < bytes.len() {
                at += self.within(rest, &mut sink);
            }
        }
    }

    /// Processes the bytes after the current window, up to the end of a kept window. `bytes` begins
    /// with the current window. Returns the number of bytes that were processed.
    fn within(&mut self, bytes: &[u8], sink: &mut impl FnMut(u64)) -> usize {
        let width = self.ring.len();
        let zeros = (1u32 << self.params.zeros) - 1;
        let multiplier = self.params.multiplier;
        let mut value = self.value;
        for (i, (&gone, &byte)) in bytes.iter().zip(&bytes[width..]).enumerate() {
            value = value
                .wrapping_mul(multiplier)
                .wrapping_add(u32::from(byte).wrapping_sub(self.leaving[usize::from(gone)]));
            if value & zeros == 0 && !is_padding(&bytes[i + 1..=i + width]) {
                sink(self.kept(value));
                self.reset();
                return i + 1;
            }
        }
        self.value = value;
        self.at = 0;
        self.ring.copy_from_slice(&bytes[bytes.len() - width..]);
        bytes.len() - width
    }

    /// Adds one byte. Returns the fingerprint of the window that ends with this byte, if the
    /// fingerprint is kept.
    #[inline]
    fn push(&mut self, byte: u8) -> Option<u64> {
        let gone = std::mem::replace(&mut self.ring[self.at], byte);
        self.at += 1;
        if self.at == self.ring.len() {
            self.at = 0;
        }
        self.value = self
            .value
            .wrapping_mul(self.params.multiplier)
            .wrapping_add(u32::from(byte));
        if self.filled == self.ring.len() {
            self.value = self.value.wrapping_sub(self.leaving[usize::from(gone)]);
        } else {
            self.filled += 1;
        }
        let zeros = (1u32 << self.params.zeros) - 1;
        if self.filled < self.ring.len() || self.value & zeros != 0 || is_padding(&self.ring) {
            return None;
        }
        let found = self.kept(self.value);
        self.reset();
        Some(found)
    }

    fn kept(&self, value: u32) -> u64 {
        modulo(value, self.params.bits) >> self.params.zeros
    }
}

/// Returns whether a window has only NULs or only bytes 0x80. The window may be a ring that begins
/// at any byte.
fn is_padding(window: &[u8]) -> bool {
    matches!(window[0], 0 | 0x80) && window.iter().all(|&byte| byte == window[0])
}

/// Returns the low `bits` bits of `value`.
#[inline]
const fn modulo(value: u32, bits: u32) -> u64 {
    value as u64 & ((1 << bits) - 1)
}

/// Returns F for these bytes, with all its bits. This is the checksum of [`crate::anchors`].
pub fn checksum(bytes: &[u8], bits: u32) -> u64 {
    let value = bytes.iter().fold(0u32, |value, &byte| {
        value
            .wrapping_mul(SifParams::MULTIPLIER)
            .wrapping_add(u32::from(byte))
    });
    modulo(value, bits)
}

/// Returns the smallest number of low bits that must be zero so that at most `most` of these
/// fingerprints are left.
pub(crate) fn level(fingerprints: &[(u64, u64)], most: u64) -> u8 {
    (0..32)
        .find(|&level| at_level(fingerprints, level).count() as u64 <= most)
        .unwrap_or(32)
}

/// Returns the fingerprints whose `level` low bits are zero.
pub(crate) fn at_level(
    fingerprints: &[(u64, u64)],
    level: u8,
) -> impl Iterator<Item = (u64, u64)> + '_ {
    let mask = (1u64 << level) - 1;
    fingerprints
        .iter()
        .copied()
        .filter(move |(value, _)| value & mask == 0)
}

/// Returns the sum of these counts, or the greatest number if the sum is larger.
pub(crate) fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// The fingerprints that two files have in common, as counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Common {
    /// The overlap. Each distinct fingerprint counts once.
    pub distinct: Overlap,
    /// The number of fingerprints of the query file, including repeated fingerprints.
    pub of_query: u64,
    /// The number of times that fingerprints of the query occur in the other file. It is the number
    /// of lines that the paper's `agrep` prints.
    pub found: u64,
}

impl Common {
    /// Compares the query with another file. A file is given by its level and its distinct
    /// fingerprints in ascending order. Each fingerprint has the number of times that it occurs.
    pub(crate) fn of(query: (u8, &[(u64, u64)]), other: (u8, &[(u64, u64)])) -> Self {
        let level = query.0.max(other.0);
        let mut common = Self::default();
        let mut others = at_level(other.1, level).peekable();
        for (value, count) in at_level(query.1, level) {
            common.distinct.a += 1;
            common.of_query = common.of_query.saturating_add(count);
            while let Some(&(theirs, found)) = others.peek() {
                if theirs > value {
                    break;
                }
                common.distinct.b += 1;
                if theirs == value {
                    common.distinct.common += 1;
                    common.found = common.found.saturating_add(found);
                }
                others.next();
            }
        }
        common.distinct.b += others.count() as u64;
        common
    }

    /// Returns the paper's percentage as a fraction.
    pub fn figure(self) -> Judged {
        Judged::ratio(self.found, self.of_query)
    }
}

#[cfg(test)]
#[path = "sif_tests.rs"]
mod tests;
