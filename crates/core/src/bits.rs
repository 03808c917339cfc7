//! A type for sets of small numbers, for example content ids.

/// A set of numbers, stored as one bit for each number up to the greatest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet {
    words: Vec<u64>,
    count: usize,
}

impl BitSet {
    /// Returns whether the set contains a number.
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        let word = self.words.get(number as usize / 64).copied().unwrap_or(0);
        word >> (number % 64) & 1 == 1
    }

    /// Adds a number.
    #[inline]
    pub fn insert(&mut self, number: u32) {
        let index = number as usize / 64;
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        let bit = 1 << (number % 64);
        self.count += usize::from(self.words[index] & bit == 0);
        self.words[index] |= bit;
    }

    /// Removes a number.
    pub fn remove(&mut self, number: u32) {
        if let Some(word) = self.words.get_mut(number as usize / 64) {
            let bit = 1 << (number % 64);
            self.count -= usize::from(*word & bit != 0);
            *word &= !bit;
        }
    }

    /// Counts the numbers in the set.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| index as u32 * 64 + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(steps in prop::collection::vec((any::<bool>(), 0u32..300), 0..200)) {
            let mut set = BitSet::default();
            let mut model = BTreeSet::new();
            for (add, id) in steps {
                if add {
                    set.insert(id);
                    model.insert(id);
                } else {
                    set.remove(id);
                    model.remove(&id);
                }
                prop_assert_eq!(set.has(id), model.contains(&id));
            }
            prop_assert_eq!(set.len(), model.len());
            prop_assert!(set.iter().eq(model.into_iter()));
        }
    }
}
