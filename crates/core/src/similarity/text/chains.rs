//! Shingles that never stand apart.
//!
//! What several texts have, they have in pieces of many words, so most shingles follow the same one
//! wherever they occur. Such shingles are a *chain*. Which texts have them, how often and where is
//! said by the first of them, so that a chain is numbered, kept and looked up as one.
//!
//! Of 6,046 mails the 563,526 shingles that several have make 123,809 chains, which stand in 1.7
//! million places instead of 3.7; of 8,000 C files 528,344 make 207,050, in 1.3 million instead of
//! 2.4.

use std::iter::successors;

use super::NumberedText;
use crate::bits::BitSet;

/// The chains that numbered shingles make.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// For each shingle by its number the chain that it begins, counted from 1; 0: it continues
    /// one.
    begun: Vec<u32>,
    /// For each chain the number of its first shingle.
    firsts: Vec<u32>,
    /// For each chain how many shingles it has.
    lengths: Vec<u32>,
}

impl Chains {
    /// The chains in the order of their first occurrence in these texts. `times` says of each
    /// number how often its shingle occurs in all texts together.
    pub fn of<'t>(texts: impl Iterator<Item = &'t NumberedText> + Clone, times: &[u32]) -> Self {
        /// Not yet seen.
        const UNSEEN: u32 = u32::MAX;
        /// Followed now by one, now by another, or by none that several texts have.
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
        // One that is always followed by a second continues in it if that occurs no more often.
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

    /// For each chain the number of its first shingle.
    pub fn firsts(&self) -> &[u32] {
        &self.firsts
    }

    /// For each chain how many shingles it has.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// The chain that a shingle begins, by their numbers.
    pub(super) fn begun_by(&self, number: u32) -> Option<u32> {
        self.begun[number as usize].checked_sub(1)
    }
}
