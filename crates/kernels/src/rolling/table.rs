//! The constants of the rolling hash. A change here changes the meaning of every index, so the
//! version in the params id must change, too.

use crate::fingerprint::Fingerprint;

use super::WINDOW;

/// The seed of the table's random numbers: `resemble` in ASCII.
pub const SEED: u64 = 0x7265_7365_6d62_6c65;

/// B, the multiplier of the hash for each byte that enters. It is a 64-bit multiplier for
/// congruential generators with a good spectrum (Steele and Vigna, "Computationally easy,
/// spectrally good multipliers for congruential pseudorandom number generators", 2021, table 6).
///
/// The multiplier is 5 mod 8, so it has the maximum order modulo 2^64. Therefore no two positions
/// in a window have the same weight.
pub const MULTIPLIER: u64 = 0xd134_2543_de82_ef95;

/// The divisor D' of the paper's parameters. No window of equal bytes matches it.
const PAPER_BACKUP_DIVISOR: u64 = 270;

/// Σ B^i for i < 64: a window of 64 bytes c hashes to `ENTERING[c]` times this.
pub(super) const CONSTANT_FACTOR: u64 = {
    let (mut sum, mut i) = (0u64, 0);
    while i < WINDOW {
        sum = sum.wrapping_mul(MULTIPLIER).wrapping_add(1);
        i += 1;
    }
    sum
};

/// B^n.
pub(super) const fn power(n: u32) -> u64 {
    MULTIPLIER.wrapping_pow(n)
}

/// The distance between the states of splitmix64 (Steele, Lea, Flood 2014).
pub(crate) const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output of splitmix64 for a state.
pub(crate) const fn splitmix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// T: the value that a byte adds to the hash when it enters the window.
///
/// Entry c is an output of splitmix64 (Steele, Lea, Flood 2014). The window of 64 bytes c must be
/// neither a sample nor a match of the paper's D'. So about one output in eight is skipped. For
/// this reason padding is never a fingerprint, no test is needed, and padding does not slow down
/// the scan. A run of equal bytes is cut into chunks of Tmax. With other divisors the run may match
/// at every position. Its chunks are then shorter, but correct.
pub const ENTERING: [u64; 256] = {
    let mut table = [0; 256];
    let (mut state, mut byte) = (SEED, 0);
    while byte < 256 {
        state = state.wrapping_add(GAMMA);
        let z = splitmix(state);
        let window = z.wrapping_mul(CONSTANT_FACTOR);
        let sample = Fingerprint::of_hash(window).is_some();
        let cut = ((window >> 32) + 1).is_multiple_of(PAPER_BACKUP_DIVISOR);
        if !sample && !cut {
            table[byte] = z;
            byte += 1;
        }
    }
    table
};

/// T·B^64: the value that a byte subtracts when it leaves, 64 bytes after it entered.
pub(super) const LEAVING: [u64; 256] = {
    let (mut table, mut byte) = ([0; 256], 0);
    while byte < 256 {
        table[byte] = ENTERING[byte].wrapping_mul(power(WINDOW as u32));
        byte += 1;
    }
    table
};
