//! One small hash for names and inode numbers.
//!
//! Both outlive the process: a script may store a name, and `tar` or `rsync` an inode number. So
//! the hash is defined here and not by a library that may change it. It is FNV-1a with 64 bits
//! (Fowler, Noll, Vo), finished by the mixer of splitmix64 (Steele, Lea, Flood 2014). So every bit
//! of the result depends on every byte. It need not be cryptographic: collisions are resolved where
//! it is used.

/// Hashes the parts, which contain no NUL byte (paths never do); `key` separates the uses.
pub(crate) fn hash64(key: u64, parts: &[&[u8]]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64 ^ mix(key);
    for part in parts {
        for &byte in *part {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        // The NUL that ends each part: ("a", "b") and ("ab", "") differ.
        state = state.wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(state)
}

/// The finaliser of splitmix64: a bijection of the 64-bit numbers.
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
