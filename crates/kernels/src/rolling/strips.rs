//! The scan in plain Rust: several strips of a segment side by side.

use super::table::{ENTERING, LEAVING, MULTIPLIER};
use super::{BLOCK, CARRY, Criteria, WINDOW};

/// The number of strips at a time. Two to four strips are twice as fast as one. More strips do not
/// fit into the registers.
const LANES: usize = 3;

/// The number of steps of all lanes between two bounds checks of their slices.
const STEPS: usize = 32;

/// Computes the hashes of all windows of `bytes`. There are 63 fewer windows than bytes.
pub(super) fn hashes(bytes: &[u8], hashes: &mut [u64]) {
    let hashes = &mut hashes[..bytes.len() - CARRY];
    let strip = hashes.len() / LANES / STEPS * STEPS;
    let mut done = 0;
    // Each strip first needs the hash of the 63 bytes before it. If strips are shorter than this,
    // the extra hashes take more time than working on several strips at a time saves.
    if strip >= 2 * WINDOW {
        done = strip * LANES;
        strips(&bytes[..done + CARRY], &mut hashes[..done], strip);
    }
    // The remaining windows are one strip. If there were strips before, it continues from their
    // last window. Otherwise, it begins with the first 63 bytes.
    let (mut hash, mut leaving) = match done.checked_sub(1) {
        Some(last) => (hashes[last], LEAVING[usize::from(bytes[last])]),
        None => (
            bytes[..CARRY]
                .iter()
                .fold(0, |hash, &byte| enter(hash, byte)),
            0,
        ),
    };
    let windows = bytes[done + CARRY..].iter().zip(&bytes[done..]);
    for ((&entering, &first), out) in windows.zip(&mut hashes[done..]) {
        hash = enter(hash, entering).wrapping_sub(leaving);
        leaving = LEAVING[usize::from(first)];
        *out = hash;
    }
}

/// Computes the hashes of `LANES` strips of `strip` windows each.
fn strips(bytes: &[u8], hashes: &mut [u64], strip: usize) {
    let mut hash = [0; LANES];
    for i in 0..CARRY {
        for lane in 0..LANES {
            hash[lane] = enter(hash[lane], bytes[lane * strip + i]);
        }
    }
    // The contribution of the byte that leaves the window next; 0 before the first window.
    let mut left = [0; LANES];
    for start in (0..strip).step_by(STEPS) {
        let steps = |from| -> [&[u8]; LANES] {
            std::array::from_fn(|lane| &bytes[lane * strip + start + from..][..STEPS])
        };
        let (entering, leaving) = (steps(CARRY), steps(0));
        let mut new = [[0; STEPS]; LANES];
        for i in 0..STEPS {
            for lane in 0..LANES {
                hash[lane] = enter(hash[lane], entering[lane][i]).wrapping_sub(left[lane]);
                left[lane] = LEAVING[usize::from(leaving[lane][i])];
                new[lane][i] = hash[lane];
            }
        }
        for lane in 0..LANES {
            hashes[lane * strip + start..][..STEPS].copy_from_slice(&new[lane]);
        }
    }
}

#[inline]
fn enter(hash: u64, byte: u8) -> u64 {
    hash.wrapping_mul(MULTIPLIER)
        .wrapping_add(ENTERING[usize::from(byte)])
}

/// Sets a bit for each hash that meets the criteria, or has H = 2^32-1.
///
/// This function has no branch, because hits are random and each hit would cost a misprediction.
pub(super) fn matches(hashes: &[u64], count: usize, criteria: &Criteria, bits: &mut [u64]) {
    let inverse = criteria.inverse_32();
    let quotient_limit = criteria.quotient_limit_32();
    let sample_limit = criteria.sample_limit_32();
    let (blocks, _) = hashes.as_chunks::<BLOCK>();
    for (block, bits) in blocks.iter().zip(&mut bits[..count.div_ceil(BLOCK)]) {
        *bits = 0;
        for (i, &hash) in block.iter().enumerate() {
            let high = (hash >> 32) as u32;
            // Computes (H+1)·x as H·x + x.
            let product = high.wrapping_mul(inverse).wrapping_add(inverse);
            let cut = product.rotate_right(criteria.shift) <= quotient_limit;
            let sample = high <= sample_limit;
            *bits |= u64::from(cut | sample) << i;
        }
    }
}
