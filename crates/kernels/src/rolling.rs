//! The rolling hash of all windows of 64 bytes, and the scan that finds possible cuts and samples.
//!
//! ```text
//! let mut scanner = Scanner::new(backup, level);   // at the start of a file
//! scanner.scan(buffer, &mut |hit: Hit| …);         // buffers of any size, in order
//! scanner.scan_zeros(count, &mut |hit: Hit| …);    // a hole: O(1) if zeros match no divisor
//! scanner.raise_level(level);                      // from the next call on: fewer samples
//! scanner.reset();                                 // the next file
//!
//! Hit { end: u64,                       // the window is the 64 bytes before position `end`
//!       cut: Option<Divisor>,           // Backup: matches D'. Main: matches D, so D' too
//!       sample: Option<Fingerprint> }   // a window of at least the level asked for
//! ```
//!
//! # The hash
//!
//! Rabin-Karp modulo 2^64 over a table of random values ([`table`]): a window w has the hash Σ
//! T\[`w_i`\]·B^(63-i), see [`hash_window`]. The hash serves two purposes. They use nearly
//! independent properties of the number, a remainder and a size:
//!
//! * the high 32 bits are the H of TTTD: a window matches D if H mod D = D-1;
//! * a window is a sample of level k if the top k bits are zero ([`Fingerprint`]).
//!
//! Modulo 2^64 the low bits are weak: bit n does not depend on any higher bit of any value. The
//! high bits depend on every bit of every byte. So the low 29 bits are never used. A polynomial
//! without a table would map windows of small bytes to small numbers. Gear or Buzhash would be as
//! good, but their short memory (Gear: bit n sees n bytes) conflicts with an even divisor.
//!
//! # The scan
//!
//! Every position of every file is scanned. So the scan works in three stages, over segments that
//! stay in the nearest cache. First it computes all hashes of a segment. Then it sets a bit for
//! each hash that may be a hit. At last it turns the bits into [`Hit`]s. Hits are rare: one window
//! in 29 at level 5 and with the paper's divisors. Their positions are random, so each hit costs a
//! misprediction. So only the last stage has branches.
//!
//! 1. *The recurrence* h' = h·B + (T\[in\] - T\[out\]·B^64) is a multiplication and a dependent
//!    addition: 4 to 5 cycles a byte. `strips` runs several recurrences side by side, each over a
//!    strip of the segment. The recurrence of a strip starts on the 63 bytes before the strip. With
//!    the byte permutations of AVX-512 VBMI, `vbmi` computes 64 windows at a time from prefix sums
//!    instead.
//! 2. *Divisibility without dividing*: let d = o·2^s, with o odd. Compute n/o modulo 2^64 and
//!    rotate it right by s. n is a multiple of d if and only if the result is at most ⌊(2^64-1)/d⌋.
//!    n/o is computed by a multiplication by the inverse of o (Granlund and Montgomery 1994,
//!    section 9; Hacker's Delight, section 10-17). n is H+1, up to 2^32. For H = 2^32-1, n in 32
//!    bits would be 0, a multiple of everything. The second stage uses 32 bits and lets this H
//!    pass. The last stage tests again with 64 bits.
//! 3. *D is 2·D'*, so one quotient is enough: a window that matches D' also matches D if the
//!    quotient of the test for D' is even.
//! 4. *Runs of equal bytes* are never samples: [`table::ENTERING`] is constructed in this way, so
//!    no test is needed. Such runs do not match the paper's divisors, either. Other divisors may
//!    match ([`Scanner::zero_window`]).
//!
//! `benches/benches/hash.rs` and docs/benchmarks.md have the speed of each platform. With VBMI, one
//! kernel does all three stages, so hashes that are not hits stay in the nearest cache.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod matcher;
mod strips;
pub mod table;
#[cfg(target_arch = "x86_64")]
mod vbmi;

#[cfg(test)]
mod tests;

pub use matcher::Matcher;
#[cfg(target_arch = "x86_64")]
pub use vbmi::TableLookUp;

use std::fmt;

use crate::fingerprint::Fingerprint;

/// The number of bytes in a window.
pub const WINDOW: usize = 64;

/// The number of windows that a scan processes at once: their hashes take 32 KiB.
const SEGMENT: usize = 4096;

/// The number of bytes of one buffer that the first windows of the next buffer can include.
const CARRY: usize = WINDOW - 1;

/// Returns the hash of a window, by its definition.
pub fn hash_window(window: &[u8; WINDOW]) -> u64 {
    window.iter().fold(0, |hash: u64, &byte| {
        hash.wrapping_mul(table::MULTIPLIER)
            .wrapping_add(table::ENTERING[usize::from(byte)])
    })
}

/// The divisor of TTTD that a window matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divisor {
    /// D' only.
    Backup,
    /// D, and therefore also D'.
    Main,
}

/// A window that may end a chunk, or is a sample, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The position after the last byte of the window, from the start of the file.
    pub end: u64,
    /// The divisor that the window matches, if any.
    pub cut: Option<Divisor>,
    /// The fingerprint of the window, if it is a sample of the scanner's level.
    pub sample: Option<Fingerprint>,
}

/// The properties that a scan looks for.
#[derive(Clone, Copy, Debug)]
struct Criteria {
    /// The greatest hash of a sample: a hash of level k has k leading zeros.
    sample_limit: u64,
    /// The inverse of the odd part of D' modulo 2^64. Its low half is the inverse modulo 2^32.
    inverse: u64,
    /// The number of times that 2 divides D': D' is its odd part, shifted left by this number.
    shift: u32,
    /// The greatest quotient: ⌊(2^64-1)/D'⌋.
    quotient_limit: u64,
}

impl Criteria {
    fn new(backup_divisor: u32, level: u8) -> Self {
        assert!(backup_divisor > 0, "D' is at least 1");
        let divisor = u64::from(backup_divisor);
        let shift = divisor.trailing_zeros();
        let odd = divisor >> shift;
        // Each step of Newton's iteration doubles the number of correct low bits. At first three
        // bits are correct, because an odd number is its own inverse modulo 8.
        let mut inverse = odd;
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        }
        Self {
            sample_limit: Self::sample_limit(level),
            inverse,
            shift,
            quotient_limit: u64::MAX / divisor,
        }
    }

    fn sample_limit(level: u8) -> u64 {
        u64::MAX >> level.clamp(Fingerprint::BASE_LEVEL, 63)
    }

    #[inline]
    fn divisor(&self, hash: u64) -> Option<Divisor> {
        let quotient = self.quotient(hash);
        if quotient > self.quotient_limit {
            return None;
        }
        Some(if quotient & 1 == 0 {
            Divisor::Main
        } else {
            Divisor::Backup
        })
    }

    /// Returns (H+1)/D' if the quotient is a whole number. Otherwise returns a number above
    /// `quotient_limit`.
    #[inline]
    fn quotient(&self, hash: u64) -> u64 {
        ((hash >> 32) + 1)
            .wrapping_mul(self.inverse)
            .rotate_right(self.shift)
    }

    // The constants of the divisor in 32 bits, for kernels. The inverse modulo 2^32 is the low half
    // of the inverse modulo 2^64. A limit is the integer part of (2^64 - 1) / d for some d. So its
    // high half is the limit of the same kind for 2^32.

    const fn inverse_32(&self) -> u32 {
        self.inverse as u32
    }

    const fn quotient_limit_32(&self) -> u32 {
        (self.quotient_limit >> 32) as u32
    }

    const fn sample_limit_32(&self) -> u32 {
        (self.sample_limit >> 32) as u32
    }

    #[inline]
    fn sample(&self, hash: u64) -> Option<Fingerprint> {
        if hash <= self.sample_limit {
            Fingerprint::of_hash(hash)
        } else {
            None
        }
    }
}

/// The instructions that a scan uses. They do not change any result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RollingPlatform {
    /// Instructions of every processor.
    Portable,
    /// AVX2: Haswell, Zen and later.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with the byte permutations of VBMI: Ice Lake, Zen 4 and later.
    #[cfg(target_arch = "x86_64")]
    Vbmi(TableLookUp),
}

impl RollingPlatform {
    /// Returns the fastest platform of this processor.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(platform) = Self::vbmi().or_else(Self::avx2) {
            return platform;
        }
        Self::Portable
    }

    /// Returns AVX2, if this processor has it.
    #[cfg(target_arch = "x86_64")]
    pub fn avx2() -> Option<Self> {
        avx2::is_available().then_some(Self::Avx2)
    }

    /// Returns AVX-512 VBMI, if this processor has it.
    #[cfg(target_arch = "x86_64")]
    pub fn vbmi() -> Option<Self> {
        vbmi::is_available().then(|| Self::Vbmi(TableLookUp::fastest()))
    }

    /// Returns every platform that this processor has.
    pub fn available() -> Vec<Self> {
        let mut all = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        all.extend(Self::avx2());
        #[cfg(target_arch = "x86_64")]
        if vbmi::is_available() {
            all.extend(TableLookUp::ALL.map(Self::Vbmi));
        }
        all
    }

    /// Writes the hashes of all windows of `bytes`, in order. There are 63 fewer windows than
    /// bytes. The rest of `hashes` is undefined afterwards. (With VBMI, another kernel makes the
    /// hashes and tests them in one pass.)
    #[inline]
    fn hashes(self, bytes: &[u8], hashes: &mut [u64]) {
        assert!(
            (WINDOW..=hashes.len() - BLOCK + CARRY).contains(&bytes.len()),
            "there is room for all windows and a block"
        );
        match self {
            Self::Portable => strips::hashes(bytes, hashes),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => strips::hashes(bytes, hashes),
            #[cfg(target_arch = "x86_64")]
            Self::Vbmi(_) => strips::hashes(bytes, hashes),
        }
    }

    /// Sets a bit for each of the first `count` windows whose hash meets the criteria. Can also set
    /// the bits of a few other windows. Clears all other bits.
    #[inline]
    fn matches(self, hashes: &[u64], count: usize, criteria: &Criteria, bits: &mut [u64]) {
        assert!(count <= hashes.len(), "as many hashes");
        match self {
            Self::Portable => strips::matches(hashes, count, criteria, bits),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => avx2::matches(hashes, count, criteria, bits),
            #[cfg(target_arch = "x86_64")]
            Self::Vbmi(_) => strips::matches(hashes, count, criteria, bits),
        }
        if !count.is_multiple_of(BLOCK) {
            bits[count / BLOCK] &= (1 << (count % BLOCK)) - 1;
        }
    }

    /// Passes the number and the hash of each window of `bytes` that meets the criteria to `found`,
    /// in order. Can also pass a few other windows. `bits` and `hashes` are the buffers of one
    /// pass. `bits` has a bit for each window. `hashes` has room for the hashes of these windows
    /// and of one more block.
    #[inline]
    fn find(
        self,
        bytes: &[u8],
        criteria: &Criteria,
        (hashes, bits): (&mut [u64], &mut [u64]),
        found: &mut impl FnMut(usize, u64),
    ) {
        let count = bytes.len().saturating_sub(CARRY);
        #[cfg(target_arch = "x86_64")]
        if let Self::Vbmi(look_up) = self {
            if count > 0 {
                vbmi::find(bytes, criteria, look_up, found);
            }
            return;
        }
        let step = BLOCK * bits.len();
        for first in (0..count).step_by(step) {
            let now = step.min(count - first);
            self.hashes(&bytes[first..first + now + CARRY], hashes);
            self.matches(hashes, now, criteria, bits);
            for (number, &bits) in bits[..now.div_ceil(BLOCK)].iter().enumerate() {
                let mut bits = bits;
                while bits != 0 {
                    let window = BLOCK * number + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    found(first + window, hashes[window]);
                }
            }
        }
    }
}

/// The number of windows whose matches fit into one word of bits.
const BLOCK: usize = 64;

/// The hashes of a segment, and room for a block that reaches beyond it.
type Hashes = [u64; SEGMENT + BLOCK];

/// A bit for each window of a segment.
type MatchBits = [u64; SEGMENT / BLOCK];

/// The memory of a scan. It is aligned, because reading a vector across two cache lines takes twice
/// as long.
#[repr(align(64))]
struct Scratch {
    hashes: Hashes,
    bits: MatchBits,
}

impl Scratch {
    #[allow(clippy::large_stack_arrays)] // on their way to the heap
    fn new() -> Box<Self> {
        Box::new(Self {
            hashes: [0; SEGMENT + BLOCK],
            bits: [0; SEGMENT / BLOCK],
        })
    }
}

/// Scans a file, in buffers of any size, for cut points and samples.
///
/// The hits do not depend on how the file was divided into buffers. Every window is wholly within
/// the file, so no hit ends before position 64.
pub struct Scanner {
    criteria: Criteria,
    level: u8,
    first_level: u8,
    platform: RollingPlatform,
    /// The number of bytes scanned.
    position: u64,
    /// The last bytes scanned, at the front. Their number is `carried`: min(63, `position`).
    carry: [u8; CARRY],
    carried: usize,
    scratch: Box<Scratch>,
}

impl Clone for Scanner {
    fn clone(&self) -> Self {
        Self {
            criteria: self.criteria,
            level: self.level,
            first_level: self.first_level,
            platform: self.platform,
            position: self.position,
            carry: self.carry,
            carried: self.carried,
            // A clone gets new scratch memory, because nothing in it is needed after a scan.
            scratch: Scratch::new(),
        }
    }
}

impl fmt::Debug for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanner")
            .field("position", &self.position)
            .field("level", &self.level)
            .field("platform", &self.platform)
            .finish_non_exhaustive()
    }
}

impl Scanner {
    /// Makes a scanner at the start of a file for D' (and D = 2·D'). It reports the samples of
    /// `level`, which must be at least [`Fingerprint::BASE_LEVEL`].
    ///
    /// # Panics
    ///
    /// If D' is 0.
    pub fn new(backup_divisor: u32, level: u8) -> Self {
        Self::with(backup_divisor, level, RollingPlatform::detect())
    }

    /// Makes a scanner at the start of a file for D' (and D = 2·D') and a given platform. It
    /// reports the samples of `level`, which must be at least [`Fingerprint::BASE_LEVEL`].
    ///
    /// # Panics
    ///
    /// If D' is 0.
    pub fn with(backup_divisor: u32, level: u8, platform: RollingPlatform) -> Self {
        Self {
            criteria: Criteria::new(backup_divisor, level),
            level,
            first_level: level,
            platform,
            position: 0,
            carry: [0; CARRY],
            carried: 0,
            scratch: Scratch::new(),
        }
    }

    /// Returns the number of bytes scanned since the start of the file.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Returns the lowest level of the reported samples.
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Reports only samples of this level and above from now on; never lowers the level.
    ///
    /// Use this when a signature is full, to get fewer hits. Hits that were reported before the
    /// call can have a lower level.
    pub fn raise_level(&mut self, level: u8) {
        if level > self.level {
            self.level = level;
            self.criteria.sample_limit = Criteria::sample_limit(level);
        }
    }

    /// Returns the last bytes scanned, at most 63.
    pub fn last_bytes(&self) -> &[u8] {
        &self.carry[..self.carried]
    }

    /// Continues within a file at `position`. `last_bytes` are the bytes before this position.
    pub fn go_on(&mut self, position: u64, last_bytes: &[u8]) {
        self.reset();
        self.position = position;
        self.carried = last_bytes.len();
        self.carry[..self.carried].copy_from_slice(last_bytes);
    }

    /// Starts the next file, with the initial level.
    pub fn reset(&mut self) {
        self.position = 0;
        self.carried = 0;
        self.level = self.first_level;
        self.criteria.sample_limit = Criteria::sample_limit(self.level);
    }

    /// Scans the next bytes of the file. The hits are in the order of their positions.
    ///
    /// Buffers of a few KiB and more are best: each buffer costs about two hundred extra windows.
    pub fn scan(&mut self, bytes: &[u8], sink: &mut impl FnMut(Hit)) {
        self.scan_seam(bytes, sink);
        self.windows(bytes, self.position, sink);
        self.pass(bytes);
    }

    /// Reports the hits of the windows that start before `bytes` and end in it.
    pub fn scan_seam(&mut self, bytes: &[u8], sink: &mut impl FnMut(Hit)) {
        let mut seam = [0; 2 * CARRY];
        let head = bytes.len().min(CARRY);
        let seam_len = self.carried + head;
        seam[..self.carried].copy_from_slice(&self.carry[..self.carried]);
        seam[self.carried..seam_len].copy_from_slice(&bytes[..head]);
        let seam_start = self.position - self.carried as u64;
        self.windows(&seam[..seam_len], seam_start, sink);
    }

    /// Skips the next bytes without examining their windows.
    pub fn pass(&mut self, bytes: &[u8]) {
        self.position += bytes.len() as u64;
        let last = &bytes[bytes.len().saturating_sub(CARRY)..];
        let kept = self.carried.min(CARRY - last.len());
        self.carry.copy_within(self.carried - kept..self.carried, 0);
        self.carried = kept + last.len();
        self.carry[kept..self.carried].copy_from_slice(last);
    }

    /// Returns a matcher for the same divisors.
    pub const fn matcher(&self) -> Matcher {
        Matcher::of(self.criteria, self.platform)
    }

    /// Reports the hits of all windows in `bytes`. `start` is the position of `bytes` in the file.
    fn windows(&mut self, bytes: &[u8], start: u64, sink: &mut impl FnMut(Hit)) {
        let criteria = self.criteria;
        let Scratch { hashes, bits } = &mut *self.scratch;
        let memory = (&mut hashes[..], &mut bits[..]);
        self.platform
            .find(bytes, &criteria, memory, &mut |window, hash| {
                let (cut, sample) = (criteria.divisor(hash), criteria.sample(hash));
                if cut.is_some() || sample.is_some() {
                    let end = start + (window + WINDOW) as u64;
                    sink(Hit { end, cut, sample });
                }
            });
    }

    /// Scans `count` zero bytes. Reports the same hits as [`Self::scan`], in O(1) unless
    /// [`Self::zero_window`] is a match.
    pub fn scan_zeros(&mut self, count: u64, sink: &mut impl FnMut(Hit)) {
        let head = count.min(CARRY as u64);
        self.scan(&[0; CARRY][..head as usize], sink);
        let rest = count - head;
        if rest > 0 {
            if let Some(cut) = self.zero_window() {
                for i in 1..=rest {
                    sink(Hit {
                        end: self.position + i,
                        cut: Some(cut),
                        sample: None,
                    });
                }
            }
            self.skip_zeros(rest);
        }
    }

    /// Returns the divisor that a window of zeros matches, if any. If there is one, every position
    /// within a hole, from its 64th byte on, is a hit. The paper's divisors never match.
    pub fn zero_window(&self) -> Option<Divisor> {
        self.criteria.divisor(hash_window(&[0; WINDOW]))
    }

    /// Skips `count` zero bytes that follow at least 63 other zero bytes, and reports no hits. The
    /// caller derives the hits from [`Self::zero_window`].
    pub fn skip_zeros(&mut self, count: u64) {
        debug_assert!(
            self.carried == CARRY && self.carry == [0; CARRY],
            "zeros come before"
        );
        self.position += count;
    }
}
