//! Measures as numbers, for storage and transfer without loss.

use crate::ids::{ByteLen, Score};
use crate::similarity::proof::Proven;
use crate::similarity::{Measures, Unit};

/// Bits of the first number: the known shares, and the properties of the pair.
mod flag {
    pub(super) const A_IN_B: u64 = 1;
    pub(super) const B_IN_A: u64 = 1 << 1;
    pub(super) const RESEMBLANCE: u64 = 1 << 2;
    pub(super) const SAME_TEXT: u64 = 1 << 3;
    pub(super) const PASSAGE: u64 = 1 << 4;
    pub(super) const PATTERN: u64 = 1 << 5;
    pub(super) const ALL: u64 = A_IN_B | B_IN_A | RESEMBLANCE | SAME_TEXT | PASSAGE | PATTERN;
}

impl Proven {
    /// Returns the measures as numbers: a number below 64 for six flags, the bits of each of the
    /// three shares, and the shared bytes. The unit is not among the numbers.
    pub fn to_words(&self) -> [u64; 5] {
        let Measures {
            a_in_b,
            b_in_a,
            resemblance,
            shared_bytes,
        } = self.measures;
        let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
        let flags = flag(a_in_b.is_some(), flag::A_IN_B)
            | flag(b_in_a.is_some(), flag::B_IN_A)
            | flag(resemblance.is_some(), flag::RESEMBLANCE)
            | flag(self.is_same_text, flag::SAME_TEXT)
            | flag(self.has_passage, flag::PASSAGE)
            | flag(self.is_pattern, flag::PATTERN);
        let bits = |share: Option<Score>| share.map_or(0, |share| share.get().to_bits());
        [
            flags,
            bits(a_in_b),
            bits(b_in_a),
            bits(resemblance),
            shared_bytes.0,
        ]
    }

    /// Reads the numbers that [`Self::to_words`] returned for measures in this unit. Returns `None`
    /// if [`Self::to_words`] never returns such numbers.
    pub fn of_words(
        [flags, a_in_b, b_in_a, resemblance, shared]: [u64; 5],
        unit: Unit,
    ) -> Option<Self> {
        let share = |bits: u64, flag: u64| {
            let value = f64::from_bits(bits);
            match flags & flag != 0 {
                true if (0.0..=1.0).contains(&value) => Some(Some(Score::new(value))),
                false if bits == 0 => Some(None),
                _ => None,
            }
        };
        let measures = Measures {
            a_in_b: share(a_in_b, flag::A_IN_B)?,
            b_in_a: share(b_in_a, flag::B_IN_A)?,
            resemblance: share(resemblance, flag::RESEMBLANCE)?,
            shared_bytes: ByteLen(shared),
        };
        (flags & !flag::ALL == 0).then_some(Self {
            measures,
            unit,
            is_same_text: flags & flag::SAME_TEXT != 0,
            has_passage: flags & flag::PASSAGE != 0,
            is_pattern: flags & flag::PATTERN != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_say_what_was_measured(
            shares in prop::array::uniform3(prop::option::of(0.0..=1.0)),
            shared in any::<u64>(),
            is_same_text in any::<bool>(),
            (has_passage, is_pattern) in any::<(bool, bool)>(),
        ) {
            let [a_in_b, b_in_a, resemblance] = shares.map(|share| share.map(Score::new));
            let measures = Measures { a_in_b, b_in_a, resemblance, shared_bytes: ByteLen(shared) };
            let unit = Unit::Bytes;
            let found = Proven { measures, unit, is_same_text, has_passage, is_pattern };
            let words = found.to_words();
            prop_assert_eq!(Proven::of_words(words, Unit::Bytes), Some(found));
            let (great, small) = (2f64.to_bits(), (-0.5f64).to_bits());
            for (at, wrong) in [(0, words[0] | 64), (1, u64::MAX), (2, great), (3, small)] {
                let mut others = words;
                others[at] = wrong;
                prop_assert_eq!(Proven::of_words(others, Unit::Bytes), None);
            }
        }
    }
}
