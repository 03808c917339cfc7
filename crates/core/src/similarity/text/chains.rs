//! Shingles that always occur together.
//!
//! Texts share pieces of many words, so most shared shingles are always followed by the same next
//! shingle. Such shingles are a *chain*. The first shingle determines the texts, counts and places
//! of all shingles in the chain. So a chain is numbered, stored and looked up as a unit.
//!
//! In 6,046 mails, the 563,526 shared shingles make 123,809 chains, with 1.7 instead of 3.7 million
//! places. In 8,000 C files, 528,344 shared shingles make 207,050 chains, with 1.3 instead of 2.4
//! million places.

use std::iter::successors;

use super::NumberedText;
use crate::bits::BitSet;

/// The chains of numbered shingles.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// The number of the chain that each shingle begins, counted from 1; 0 if the shingle continues
    /// a chain. The index is the number of the shingle.
    begun: Vec<u32>,
    /// The first shingle of each chain, by its number.
    firsts: Vec<u32>,
    /// The number of shingles in each chain.
    lengths: Vec<u32>,
}

impl Chains {
    /// Finds the chains, in the order of their first occurrence in these texts. For each numbered
    /// shingle, `times` has the number of its occurrences in all texts.
    pub fn of<'t>(texts: impl Iterator<Item = &'t NumberedText> + Clone, times: &[u32]) -> Self {
        /// Marks a shingle that has not occurred yet.
        const UNSEEN: u32 = u32::MAX;
        /// Marks a shingle that is followed by different shingles, or by a shingle that no other
        /// text has.
        const NONE: u32 = u32::MAX - 1;
        let mut next = vec![UNSEEN; times.len()];
        for text in texts.clone() {
            for (at, &number) in text.numbers.iter().enumerate() {
                let follows = text.places.get(at + 1) == Some(&(text.places[at] + 1));
                let after = if follows { text.numbers[at + 1] } else { NONE };
                let known = &mut next[number as usize];
                if *known == UNSEEN || *known == after {
                    *known = after;
                } else {
                    *known = NONE;
                }
            }
        }
        // Suppose that a shingle is always followed by the same next shingle. If the next shingle
        // occurs equally often, it continues the chain.
        let mut continuing = BitSet::default();
        for (number, after) in next.iter_mut().enumerate() {
            if *after < NONE && times[*after as usize] == times[number] {
                continuing.insert(*after);
            } else {
                *after = NONE;
            }
        }
        let mut chains = Self {
            begun: vec![0; times.len()],
            ..Self::default()
        };
        let after = |&number: &u32| Some(next[number as usize]).filter(|&after| after != NONE);
        for &number in texts.flat_map(|text| &text.numbers) {
            if chains.begun[number as usize] == 0 && !continuing.has(number) {
                chains.firsts.push(number);
                chains.begun[number as usize] = chains.firsts.len() as u32;
                let length = successors(Some(number), after).count();
                chains.lengths.push(length as u32);
            }
        }
        chains
    }

    /// Returns the first shingle of each chain, by its number.
    pub fn firsts(&self) -> &[u32] {
        &self.firsts
    }

    /// Returns the number of shingles in each chain.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Returns the number of the chain that begins with the shingle of this number, if there is
    /// one.
    pub(super) fn begun_by(&self, number: u32) -> Option<u32> {
        self.begun[number as usize].checked_sub(1)
    }
}
