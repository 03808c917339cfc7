//! The constants of the rolling hash. A change here changes the meaning of every index: the
//! version in the params id must change with it.

use crate::ids::Fingerprint;

use super::WINDOW;

/// Where the table's random numbers start: `resemble` in ASCII.
pub const SEED: u64 = 0x7265_7365_6d62_6c65;

/// B, by which the hash is multiplied for each byte that enters: a 64-bit multiplier for
/// congruential generators with a good spectrum (Steele and Vigna, "Computationally easy,
/// spectrally good multipliers for congruential pseudorandom number generators", 2021, table 6).
///
/// Being 5 mod 8 it has the greatest order there is modulo 2^64, so no two places in a window weigh
/// the same.
pub const MULTIPLIER: u64 = 0xd134_2543_de82_ef95;

/// The divisor D' of the paper's parameters, which no window of equal bytes matches.
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

/// T: what a byte adds to the hash when it enters the window.
///
/// Entry c is the next output of splitmix64 (Steele, Lea, Flood 2014) for which the window of 64
/// bytes c is neither a sample nor a match of the paper's D'. About one output in eight is passed
/// over for that. Samples: so that padding can never be a fingerprint, nor slow the scan down,
/// without anybody asking. D': so that a run of equal bytes is cut into chunks of Tmax; with other
/// divisors it may match at every position, which is as right, only shorter.
pub const ENTERING: [u64; 256] = {
    let mut table = [0; 256];
    let (mut state, mut byte) = (SEED, 0);
    while byte < 256 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
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

/// T·B^64: what a byte takes with it when it leaves, 64 bytes after it entered.
pub(super) const LEAVING: [u64; 256] = {
    let (mut table, mut byte) = ([0; 256], 0);
    while byte < 256 {
        table[byte] = ENTERING[byte].wrapping_mul(power(WINDOW as u32));
        byte += 1;
    }
    table
};
