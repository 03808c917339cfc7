//! The scan with AVX-512: 64 windows at a time, in order and without strips.
//!
//! 1. *The table* is looked up in one of two ways ([`TableLookUp`]). Permutations use eight planes,
//!    one for each byte of the table's values. The 256 bytes of a plane are four registers; two
//!    permutations and a blend look up 64 bytes in the plane. One permutation is enough if all 64
//!    bytes are ASCII. Unpacking the planes makes the 64-bit values. On processors with fast
//!    gathers, gathers load the values instead. The units that permute and multiply are then free
//!    for the other steps.
//! 2. *The sums*: P\[i\] is the sum of T\[byte j\]·B^-j over all bytes j up to i. The hash of the
//!    window that ends with i is (P\[i\] - P\[i-64\])·B^i. B is odd, so it has an inverse. The
//!    powers begin again after every [`BLOCKS`] blocks, so a small table has all powers. Then the
//!    sums that continue into the next block are multiplied by the power for the bytes that were
//!    counted.
//! 3. *The lanes* are eight runs of eight bytes. One vector has the first byte of each run, the
//!    next vector the second bytes, and so on. Most of a sum is made without moving anything
//!    between lanes. Hashes are in this order, too. Only a few hashes are read ([`place`]).
//! 4. *The start* needs no special case. The sums are linear. So if all values before the first
//!    byte count as zero, the hash of every window within the bytes is right. The other windows are
//!    masked.
//! 5. *Groups*: each step waits for the step before, longer than a processor can look ahead. So a
//!    step is done for all blocks of a group ([`GROUP`]) before the next step.
#![allow(unsafe_code)]

use core::arch::x86_64::{
    __cpuid, __m512i, _mm512_add_epi32, _mm512_add_epi64, _mm512_alignr_epi64, _mm512_and_si512,
    _mm512_cmple_epu32_mask, _mm512_i64gather_epi64, _mm512_loadu_si512, _mm512_mask_blend_epi8,
    _mm512_movepi8_mask, _mm512_mullo_epi32, _mm512_mullo_epi64, _mm512_permutex2var_epi8,
    _mm512_permutex2var_epi32, _mm512_permutexvar_epi8, _mm512_permutexvar_epi64,
    _mm512_rorv_epi32, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_srlv_epi64, _mm512_sub_epi64, _mm512_unpackhi_epi8, _mm512_unpackhi_epi16,
    _mm512_unpackhi_epi32, _mm512_unpacklo_epi8, _mm512_unpacklo_epi16, _mm512_unpacklo_epi32,
};
use std::sync::LazyLock;

use super::table::{ENTERING, MULTIPLIER, power};
use super::{BLOCK, CARRY, Criteria, Divisor};

/// Returns whether this processor has all instructions of the kernels.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vbmi")
}

/// The way in which the values of bytes are looked up. The way does not change any result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLookUp {
    /// One byte of all values at a time, by permutations.
    Permutations,
    /// Whole values, by gathers.
    Gathers,
}

impl TableLookUp {
    /// Both ways.
    pub(super) const ALL: [Self; 2] = [Self::Permutations, Self::Gathers];

    /// Returns the faster of the two ways on this processor.
    ///
    /// Intel's processors from Sapphire Rapids on load two or three values a cycle. Older
    /// processors are slowed down on purpose (CVE-2022-40982), and AMD's processors split a gather
    /// into many operations.
    pub(super) fn fastest() -> Self {
        // The answer is kept, because in a virtual machine the query of the vendor takes about 7
        // µs.
        static FASTEST: LazyLock<TableLookUp> = LazyLock::new(|| {
            if is_x86_feature_detected!("avx512fp16") && is_intel() {
                TableLookUp::Gathers
            } else {
                TableLookUp::Permutations
            }
        });
        *FASTEST
    }
}

fn is_intel() -> bool {
    let maker = __cpuid(0);
    [maker.ebx, maker.edx, maker.ecx]
        .map(u32::to_le_bytes)
        .concat()
        == b"GenuineIntel"
}

/// Calls `found` with the number and the hash of each window of `bytes` that meets the criteria.
/// Can also pass a few other windows.
pub(super) fn find(
    bytes: &[u8],
    criteria: &Criteria,
    look_up: TableLookUp,
    found: &mut impl FnMut(usize, u64),
) {
    assert!(is_available(), "the kernel's instructions");
    // SAFETY: the processor has the features that the functions enable.
    unsafe {
        match look_up {
            TableLookUp::Permutations => find_vbmi::<false>(bytes, criteria, found),
            TableLookUp::Gathers => find_vbmi::<true>(bytes, criteria, found),
        }
    }
}

/// Returns the number of the first window of `bytes` that matches D, if one does.
pub(super) fn first_main(bytes: &[u8], criteria: &Criteria, look_up: TableLookUp) -> Option<usize> {
    assert!(is_available(), "the kernel's instructions");
    // SAFETY: the processor has the features that the functions enable.
    unsafe {
        match look_up {
            TableLookUp::Permutations => first_main_vbmi::<false>(bytes, criteria),
            TableLookUp::Gathers => first_main_vbmi::<true>(bytes, criteria),
        }
    }
}

/// Aligns numbers from which vectors are loaded. A load across two cache lines takes twice as long.
#[repr(align(64))]
struct Aligned<T>(T);

/// Byte k of all table entries, for each k.
static PLANES: Aligned<[[[u8; BLOCK]; 4]; 8]> = Aligned({
    let mut planes = [[[0; BLOCK]; 4]; 8];
    let mut byte = 0;
    while byte < 256 {
        let entry = ENTERING[byte].to_le_bytes();
        let mut k = 0;
        while k < 8 {
            planes[k][byte / BLOCK][byte % BLOCK] = entry[k];
            k += 1;
        }
        byte += 1;
    }
    planes
});

/// For each place of a block, the number of the byte that moves there before the look-up. Unpacking
/// takes pairs of neighbours from each of the four quarters. After these moves, the unpacked values
/// are in the order of the runs.
static ORDER: Aligned<[u8; BLOCK]> = Aligned({
    let mut order = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        let (quarter, pair, one) = (at / 16, at % 16 / 2, at % 2);
        order[at] = place(8 * pair + 2 * quarter + one) as u8;
        at += 1;
    }
    order
});

/// Returns the place of the hash of a window of a block: rows and columns are transposed.
const fn place(window: usize) -> usize {
    window % 8 * 8 + window / 8
}

/// Moves the bit of each window from the place of the window's hash to the number of the window.
const fn in_order(bits: u64) -> u64 {
    // Transposes 8 by 8 bits (Hacker's Delight, section 7-3).
    let swapped = (bits ^ bits >> 7) & 0x00aa_00aa_00aa_00aa;
    let bits = bits ^ swapped ^ swapped << 7;
    let swapped = (bits ^ bits >> 14) & 0x0000_cccc_0000_cccc;
    let bits = bits ^ swapped ^ swapped << 14;
    let swapped = (bits ^ bits >> 28) & 0x0000_0000_f0f0_f0f0;
    bits ^ swapped ^ swapped << 28
}

/// The number of blocks that are hashed together, step by step.
const GROUP: usize = 2;

/// The number of blocks that share a table of powers: several groups.
const BLOCKS: usize = 4 * GROUP;

/// Returns the power of `base` for each byte of [`BLOCKS`] blocks, in the order of the lanes.
const fn powers(base: u64) -> [[[u64; 8]; 8]; BLOCKS] {
    let mut powers = [[[0; 8]; 8]; BLOCKS];
    let (mut power, mut at) = (1u64, 0);
    while at < BLOCKS * BLOCK {
        powers[at / BLOCK][at % 8][at % BLOCK / 8] = power;
        power = power.wrapping_mul(base);
        at += 1;
    }
    powers
}

/// The inverse of B modulo 2^64.
const INVERSE: u64 = {
    // Each step of Newton's iteration doubles the number of correct low bits. At first three bits
    // are correct, because an odd number is its own inverse modulo 8.
    let (mut inverse, mut round) = (MULTIPLIER, 0);
    while round < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(MULTIPLIER.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
};

static DIVIDING: Aligned<[[[u64; 8]; 8]; BLOCKS]> = Aligned(powers(INVERSE));
static MULTIPLYING: Aligned<[[[u64; 8]; 8]; BLOCKS]> = Aligned(powers(MULTIPLIER));

/// The state that a group of blocks passes to the next group.
struct GroupState {
    /// The number of the next block among those that share the powers.
    number: usize,
    /// The sum P (see the head of this module) at each byte of the last block.
    sums: [__m512i; 8],
    /// The sum P at the last byte of the last block, in all lanes.
    last: __m512i,
}

impl GroupState {
    /// The state before the first byte.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Self {
        let zero = _mm512_setzero_si512();
        Self {
            number: 0,
            sums: [zero; 8],
            last: zero,
        }
    }

    /// Begins the powers again at the next block, and multiplies the sums to match.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn count_anew(&mut self) {
        self.number = 0;
        let to_next = _mm512_set1_epi64(const { power((BLOCKS * BLOCK) as u32).cast_signed() });
        self.last = _mm512_mullo_epi64(self.last, to_next);
        for sum in &mut self.sums {
            *sum = _mm512_mullo_epi64(*sum, to_next);
        }
    }

    /// Makes the hashes of the windows that end in the bytes of a group.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
    fn hash<const GATHERS: bool>(
        &mut self,
        group: &[u8; GROUP * BLOCK],
        made: &mut [BlockHashes; GROUP],
    ) {
        if self.number == BLOCKS {
            self.count_anew();
        }
        let first = self.number;
        self.number += GROUP;
        let (blocks, _) = group.as_chunks();
        let dividing = blocks.iter().zip(&DIVIDING.0[first..]);
        for (BlockHashes(made), (block, powers)) in made.iter_mut().zip(dividing) {
            let values = if GATHERS {
                gather(block)
            } else {
                permute(block)
            };
            for k in 0..8 {
                made[k] = _mm512_mullo_epi64(values[k], load(&powers[k]));
            }
        }
        for (BlockHashes(made), powers) in made.iter_mut().zip(&MULTIPLYING.0[first..]) {
            self.sum_up(made, powers);
        }
    }

    /// Makes the hashes of the windows that end in a block, from the products of its bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn sum_up(&mut self, made: &mut [__m512i; 8], powers: &[[u64; 8]; 8]) {
        // The sums within each run.
        for k in 1..8 {
            made[k] = _mm512_add_epi64(made[k - 1], made[k]);
        }
        // The sums of whole runs: of one run, then of up to two, four and eight consecutive runs.
        let zero = _mm512_setzero_si512();
        let one = made[7];
        let two = _mm512_add_epi64(one, _mm512_alignr_epi64::<7>(one, zero));
        let four = _mm512_add_epi64(two, _mm512_alignr_epi64::<6>(two, zero));
        let all = _mm512_add_epi64(four, _mm512_alignr_epi64::<4>(four, zero));
        let before = _mm512_add_epi64(self.last, _mm512_alignr_epi64::<7>(all, zero));
        let of_block = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), all);
        self.last = _mm512_add_epi64(self.last, of_block);
        for k in 0..8 {
            let sum = _mm512_add_epi64(made[k], before);
            let of_window = _mm512_sub_epi64(sum, self.sums[k]);
            self.sums[k] = sum;
            made[k] = _mm512_mullo_epi64(of_window, load(&powers[k]));
        }
    }
}

/// The hashes of the windows that end in a block, each at its [`place`].
#[derive(Clone, Copy)]
#[repr(transparent)]
struct BlockHashes([__m512i; 8]);

impl BlockHashes {
    /// Returns the hash of a window, by its number in the block.
    #[inline]
    fn of(&self, window: usize) -> u64 {
        let Self(vectors) = self;
        // SAFETY: a vector is eight numbers in order, and any bits are a valid number.
        let hashes: &[u64; BLOCK] = unsafe { &*vectors.as_ptr().cast() };
        hashes[place(window)]
    }

    /// Tests the high halves of all hashes, sixteen at a time. Returns a bit for each hash.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn each_sixteen(&self, test: impl Fn(__m512i) -> u16) -> u64 {
        let Self(vectors) = self;
        let mut bits = 0;
        for (k, [low, high]) in vectors.as_chunks().0.iter().enumerate() {
            let halves = _mm512_permutex2var_epi32(*low, load(&HIGH_HALVES.0), *high);
            bits |= u64::from(test(halves)) << (16 * k);
        }
        bits
    }
}

/// The groups of some bytes, one after the other.
struct Groups<'a, const GATHERS: bool> {
    rest: &'a [u8],
    padded: [u8; GROUP * BLOCK],
    state: GroupState,
    /// The current group. It is stored here because it is too large to be passed.
    group: Group,
}

/// A group of blocks whose hashes are known.
struct Group {
    /// The number of the window that ends with the first byte of the group. The first 63 windows
    /// begin before the bytes, and have negative numbers.
    first: isize,
    hashes: [BlockHashes; GROUP],
    /// A bit for each window within the bytes, at the place of its hash.
    within: [u64; GROUP],
}

impl Group {
    /// Passes the numbers and hashes of windows in order, until `found` returns a value. `bits` has
    /// a bit for each of these windows, at the place of its hash.
    #[inline]
    fn each<T>(
        &self,
        bits: [u64; GROUP],
        mut found: impl FnMut(usize, u64) -> Option<T>,
    ) -> Option<T> {
        for (block, &bits) in bits.iter().enumerate() {
            let first = self.first + (BLOCK * block) as isize;
            let mut bits = if bits == 0 { 0 } else { in_order(bits) };
            while bits != 0 {
                let window = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let hash = self.hashes[block].of(window);
                let enough = found((first + window as isize) as usize, hash);
                if enough.is_some() {
                    return enough;
                }
            }
        }
        None
    }
}

impl<'a, const GATHERS: bool> Groups<'a, GATHERS> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn of(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            padded: [0; GROUP * BLOCK],
            state: GroupState::new(),
            group: Group {
                first: -((GROUP * BLOCK + CARRY) as isize),
                hashes: [BlockHashes([_mm512_setzero_si512(); 8]); GROUP],
                within: [0; GROUP],
            },
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
    fn next(&mut self) -> Option<&Group> {
        let Group {
            first,
            hashes,
            within,
        } = &mut self.group;
        *within = [u64::MAX; GROUP];
        let group = if let Some((group, behind)) = self.rest.split_first_chunk() {
            self.rest = behind;
            group
        } else if self.rest.is_empty() {
            return None;
        } else {
            let rest = std::mem::take(&mut self.rest);
            self.padded[..rest.len()].copy_from_slice(rest);
            for (n, within) in within.iter_mut().enumerate() {
                let bytes = rest.len().saturating_sub(BLOCK * n).min(BLOCK) as u32;
                *within = in_order(u64::MAX.checked_shr(BLOCK as u32 - bytes).unwrap_or(0));
            }
            &self.padded
        };
        *first += (GROUP * BLOCK) as isize;
        if *first < 0 {
            // Among the windows that end in the first block, only the last window begins within the
            // bytes.
            within[0] &= const { 1 << place(CARRY) };
        }
        self.state.hash::<GATHERS>(group, hashes);
        Some(&self.group)
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn find_vbmi<const GATHERS: bool>(
    bytes: &[u8],
    criteria: &Criteria,
    found: &mut impl FnMut(usize, u64),
) {
    let test = HitTest::new(criteria);
    let mut groups = Groups::<GATHERS>::of(bytes);
    while let Some(group) = groups.next() {
        // All tests of the group come before the first branch.
        let mut hits = group.within;
        for (bits, hashes) in hits.iter_mut().zip(&group.hashes) {
            *bits &= test.hits(hashes);
        }
        let _: Option<()> = group.each(hits, |window, hash| {
            found(window, hash);
            None
        });
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn first_main_vbmi<const GATHERS: bool>(bytes: &[u8], criteria: &Criteria) -> Option<usize> {
    let test = DivisorTest::of_main(criteria);
    let mut groups = Groups::<GATHERS>::of(bytes);
    while let Some(group) = groups.next() {
        let mut matches = group.within;
        for (bits, hashes) in matches.iter_mut().zip(&group.hashes) {
            *bits &= test.matches(hashes);
        }
        // One branch tests all blocks, because each misprediction costs the time of a block.
        if matches.iter().fold(0, |all, bits| all | bits) == 0 {
            continue;
        }
        let first = group.each(matches, |window, hash| {
            (criteria.divisor(hash) == Some(Divisor::Main)).then_some(window)
        });
        if first.is_some() {
            return first;
        }
    }
    None
}

/// Gathers the table values for the bytes of a block. The values of a run are in one lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn gather(block: &[u8; BLOCK]) -> [__m512i; 8] {
    let mut values = [load(block); 8];
    for (k, value) in (0..).zip(&mut values) {
        let shifted = _mm512_srlv_epi64(*value, _mm512_set1_epi64(8 * k));
        let bytes = _mm512_and_si512(shifted, _mm512_set1_epi64(0xff));
        // SAFETY: the table has a value for each byte.
        *value = unsafe { _mm512_i64gather_epi64::<8>(bytes, ENTERING.as_ptr().cast()) };
    }
    values
}

/// Like [`gather`], but with permutations.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn permute(block: &[u8; BLOCK]) -> [__m512i; 8] {
    let bytes = _mm512_permutexvar_epi8(load(&ORDER.0), load(block));
    // A permutation uses the low seven bits of a byte. The eighth bit chooses between the results
    // of two permutations.
    let upper = _mm512_movepi8_mask(bytes);
    let ascii = |[a, b, ..]: &[[u8; BLOCK]; 4]| _mm512_permutex2var_epi8(load(a), bytes, load(b));
    let planes = if upper == 0 {
        PLANES.0.each_ref().map(ascii)
    } else {
        PLANES.0.each_ref().map(|plane| {
            let [.., c, d] = plane;
            let high = _mm512_permutex2var_epi8(load(c), bytes, load(d));
            _mm512_mask_blend_epi8(upper, ascii(plane), high)
        })
    };
    // The planes are joined in three steps: to two bytes, to four bytes, and to all eight bytes of
    // each value.
    let pair = |k: usize| {
        let (a, b) = (planes[k], planes[k + 1]);
        [_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b)]
    };
    let four = |k: usize| {
        let ([a0, a1], [b0, b1]) = (pair(k), pair(k + 2));
        [
            _mm512_unpacklo_epi16(a0, b0),
            _mm512_unpackhi_epi16(a0, b0),
            _mm512_unpacklo_epi16(a1, b1),
            _mm512_unpackhi_epi16(a1, b1),
        ]
    };
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (four(0), four(4));
    [
        _mm512_unpacklo_epi32(a0, b0),
        _mm512_unpackhi_epi32(a0, b0),
        _mm512_unpacklo_epi32(a1, b1),
        _mm512_unpackhi_epi32(a1, b1),
        _mm512_unpacklo_epi32(a2, b2),
        _mm512_unpackhi_epi32(a2, b2),
        _mm512_unpacklo_epi32(a3, b3),
        _mm512_unpackhi_epi32(a3, b3),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load<const N: usize, T>(array: &[T; N]) -> __m512i {
    const { assert!(size_of::<[T; N]>() == size_of::<__m512i>()) };
    // SAFETY: the array has the size of a vector; the load needs no alignment.
    unsafe { _mm512_loadu_si512(array.as_ptr().cast()) }
}

/// Selects the high halves of sixteen 64-bit values.
static HIGH_HALVES: Aligned<[u32; 16]> =
    Aligned([1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31]);

/// [`Criteria`] in all lanes.
struct HitTest {
    cuts: DivisorTest,
    sample_limit: __m512i,
}

impl HitTest {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(criteria: &Criteria) -> Self {
        Self {
            cuts: DivisorTest::of_backup(criteria),
            sample_limit: broadcast(criteria.sample_limit_32()),
        }
    }

    /// Returns a bit for each hash of a block that matches D', has H = 2^32-1, or may be a sample.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn hits(&self, block: &BlockHashes) -> u64 {
        block.each_sixteen(|high| {
            let sample = _mm512_cmple_epu32_mask(high, self.sample_limit);
            self.cuts.sixteen(high) | sample
        })
    }
}

/// A divisor in all lanes.
struct DivisorTest {
    inverse: __m512i,
    shift: __m512i,
    quotient_limit: __m512i,
}

impl DivisorTest {
    /// Makes the test for D'.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn of_backup(criteria: &Criteria) -> Self {
        Self::new(criteria, criteria.shift, criteria.quotient_limit_32())
    }

    /// Makes the test for D. D and D' have the same odd part.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn of_main(criteria: &Criteria) -> Self {
        let limit = criteria.quotient_limit_32() / 2;
        Self::new(criteria, criteria.shift + 1, limit)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(criteria: &Criteria, shift: u32, quotient_limit: u32) -> Self {
        Self {
            inverse: broadcast(criteria.inverse_32()),
            shift: broadcast(shift),
            quotient_limit: broadcast(quotient_limit),
        }
    }

    /// Tests sixteen high halves of hashes. Returns a bit for each hash: set if the hash matches
    /// the divisor, or if its high half is 2^32-1.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn sixteen(&self, high: __m512i) -> u16 {
        // Computes (H+1)·x as H·x + x.
        let product = _mm512_mullo_epi32(high, self.inverse);
        let quotient = _mm512_rorv_epi32(_mm512_add_epi32(product, self.inverse), self.shift);
        _mm512_cmple_epu32_mask(quotient, self.quotient_limit)
    }

    /// Like [`Self::sixteen`], for all hashes of a block.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn matches(&self, block: &BlockHashes) -> u64 {
        block.each_sixteen(|high| self.sixteen(high))
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn broadcast(n: u32) -> __m512i {
    _mm512_set1_epi32(n.cast_signed())
}
