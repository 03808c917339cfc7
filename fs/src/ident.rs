//! A hash for names and inode numbers.
//!
//! Names and inode numbers outlive the process: a script may store a name, and `tar` or `rsync` an
//! inode number. So the hash must never change, and it is defined here and not by a library. It is
//! FNV-1a with 64 bits (Fowler, Noll, Vo), followed by the mixer of splitmix64 (Steele, Lea, Flood
//! 2014). So every bit of the result depends on every byte. The hash need not be cryptographic,
//! because its callers resolve collisions.

/// Hashes a list of parts. The parts must not contain a NUL byte (paths never do). `key` keeps the
/// hashes of different uses apart.
pub(crate) fn hash64(key: u64, parts: &[&[u8]]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64 ^ mix(key);
    for part in parts {
        for &byte in *part {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        // This hashes a NUL byte at the end of each part. So ("a", "b") and ("ab", "") have
        // different hashes.
        state = state.wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(state)
}

/// Mixes the bits of a number. This is the last step of splitmix64. It gives different results for
/// different numbers.
pub(crate) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_written_down_and_never_changes() {
        assert_eq!(hash64(0, &[b"/srv/docs/report.txt"]), 0x566e_a5cd_daf5_8e82);
        assert_eq!(hash64(7, &[b"a", b"b"]), hash64(7, &[b"a", b"b"]));
    }

    #[test]
    fn key_and_boundaries_of_the_parts_count() {
        let all = [
            hash64(0, &[b"a", b"b"]),
            hash64(1, &[b"a", b"b"]),
            hash64(0, &[b"ab", b""]),
            hash64(0, &[b"ab"]),
            hash64(0, &[b"", b"ab"]),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b), "{all:x?}");
        }
    }
}
