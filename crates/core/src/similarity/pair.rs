//! The key of the stored measures of two contents.

use crate::ids::ContentDigest;
use crate::similarity::Unit;

/// The key of the measures of two contents in one unit. The order of the contents does not change
/// the key.
///
/// The key is the first 128 bits of the keyed BLAKE3 hash of both content digests and the unit.
/// Contents that were made to collide in chunks or MD5 still have different digests, so their keys
/// differ, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairKey(pub u128);

/// The key of the hash. If the measures change, the number in this key must change too, so that the
/// measures stored by earlier versions are not found. The test
/// `the_measures_are_those_of_this_version` detects a change.
const VERSION: &[u8; 32] = b"resemble measures of a pair, v02";

impl PairKey {
    /// Returns the key of two contents, and whether `b` comes first in the stored measures. The
    /// measures are stored with the lesser digest first.
    pub fn of(a: &ContentDigest, b: &ContentDigest, unit: Unit) -> (Self, bool) {
        let is_swapped = b < a;
        let (lesser, greater) = if is_swapped { (b, a) } else { (a, b) };
        let mut named = [0; 65];
        named[..32].copy_from_slice(&lesser.0);
        named[32..64].copy_from_slice(&greater.0);
        named[64] = match unit {
            Unit::Words => 0,
            Unit::Bytes => 1,
        };
        let hash = blake3::keyed_hash(VERSION, &named);
        let (key, _) = hash
            .as_bytes()
            .split_first_chunk()
            .unwrap_or((&[0; 16], &[]));
        (Self(u128::from_le_bytes(*key)), is_swapped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContentKind;
    use crate::ids::{ByteLen, Score};
    use crate::similarity::proof::Provable;

    #[test]
    fn the_order_does_not_matter_and_everything_else_does() {
        let of = |a, b, unit| PairKey::of(&ContentDigest([a; 32]), &ContentDigest([b; 32]), unit);
        let (key, is_swapped) = of(1, 2, Unit::Words);
        assert!(!is_swapped);
        assert_eq!(of(2, 1, Unit::Words), (key, true));
        for other in [
            of(1, 2, Unit::Bytes),
            of(1, 3, Unit::Words),
            of(3, 2, Unit::Words),
        ] {
            assert_ne!(other.0, key);
        }
        // The digests of 0 and 3 have the same sum as those of 1 and 2.
        assert_ne!(of(0, 3, Unit::Words).0, key);
    }

    /// A change of these figures must also change the number in `VERSION`.
    #[test]
    fn the_measures_are_those_of_this_version() {
        let text = |step: u32| -> Vec<u8> {
            let words = (0..400u32).map(|at| format!("w{} ", at * 7919 % step));
            words.collect::<String>().into_bytes()
        };
        let of = |kind| {
            let (a, b) = (text(389), text(397));
            let b = [&a[..900], &b[..]].concat();
            let (a, b) = (Provable::new(kind, a), Provable::new(kind, b));
            let found = a.measure(&b, Unit::Words).measures;
            let shares = [found.a_in_b, found.b_in_a, found.resemblance];
            (
                shares.map(|share| share.map(Score::get)),
                found.shared_bytes,
            )
        };
        let words = [0.51, 0.325_463_743_676_222_6, 0.239_543_726_235_741_44].map(Some);
        assert_eq!(of(ContentKind::Text), (words, ByteLen(949)));
        let bytes = [
            0.477_453_580_901_856_74,
            0.322_812_051_649_928_27,
            0.225_606_469_002_695_43,
        ];
        assert_eq!(of(ContentKind::Binary), (bytes.map(Some), ByteLen(900)));
    }
}
