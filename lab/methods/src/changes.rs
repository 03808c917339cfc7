//! Makes a known number of edits to a text.
//!
//! **Paper.** Cherkasova et al. 2009, section 3. The paper makes near-duplicates of a document by
//! 1, 2, …, 50 edits: inserting "a " or removing a word, "in a random fashion or uniformly spread".
//! So the edit distance from the original is known. No collection of real texts offers that.
//!
//! The seed determines everything that is random. The random places of i edits are among the random
//! places of i + 1 edits. So a curve over i shows one text with more and more edits, instead of
//! fifty random texts. Evenly spread places are different for each i.

use crate::shingles::mix;

/// A kind of edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edit {
    /// Inserts "a " before a word.
    Insert,
    /// Removes a word and the blanks after it.
    Remove,
}

/// The distribution of edits over a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spread {
    /// The edits are at random words, with at most one edit at each word.
    Random,
    /// The edits are at words with equal distances.
    Even,
}

/// A generator of random numbers: splitmix64 (Steele, Lea & Flood 2014).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// Returns the next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number below `limit`, which must be at least 1.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.draw()) * limit as u128) >> 64) as usize
    }
}

/// Returns the text after `times` edits. A text with fewer than `times` words gets one edit for
/// each word.
///
/// A word is a run of bytes between white space.
///
/// ```
/// use resemble_methods::changes::{Edit, Spread, edited};
///
/// let text = b"one two three four";
/// assert_eq!(edited(text, Edit::Insert, Spread::Even, 2, 0), b"one a two three a four");
/// assert_eq!(edited(text, Edit::Remove, Spread::Even, 2, 0), b"one three ");
/// ```
pub fn edited(text: &[u8], edit: Edit, spread: Spread, times: usize, seed: u64) -> Vec<u8> {
    // The offset at which each word starts. A word includes the blanks after it, so it ends where
    // the next word starts.
    let starts: Vec<usize> = (0..text.len())
        .filter(|&at| {
            !text[at].is_ascii_whitespace() && (at == 0 || text[at - 1].is_ascii_whitespace())
        })
        .collect();
    let times = times.min(starts.len());
    let mut chosen: Vec<usize> = match spread {
        Spread::Even => (0..times)
            .map(|i| (2 * i + 1) * starts.len() / (2 * times))
            .collect(),
        Spread::Random => {
            // These are the first steps of a shuffle. A step does not depend on `times`.
            let mut order: Vec<usize> = (0..starts.len()).collect();
            let mut random = Random(seed);
            for i in 0..times {
                let other = i + random.below(order.len() - i);
                order.swap(i, other);
            }
            order.truncate(times);
            order
        }
    };
    chosen.sort_unstable();
    let (mut out, mut at) = (Vec::with_capacity(text.len() + 2 * times), 0);
    for word in chosen {
        out.extend_from_slice(&text[at..starts[word]]);
        at = starts[word];
        match edit {
            Edit::Insert => out.extend_from_slice(b"a "),
            Edit::Remove => at = starts.get(word + 1).copied().unwrap_or(text.len()),
        }
    }
    out.extend_from_slice(&text[at..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[u8]) -> Vec<&[u8]> {
        text.split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .collect()
    }

    #[test]
    fn so_many_words_come_or_go() {
        let text: Vec<u8> = (0..500)
            .flat_map(|i| format!("w{i}\n").into_bytes())
            .collect();
        for spread in [Spread::Random, Spread::Even] {
            for times in [0, 1, 7, 50, 500, 9999] {
                let with = edited(&text, Edit::Insert, spread, times, 3);
                let inserted = words(&with).iter().filter(|word| **word == b"a").count();
                assert_eq!(
                    (inserted, with.len()),
                    (times.min(500), text.len() + 2 * times.min(500))
                );
                let without = edited(&text, Edit::Remove, spread, times, 3);
                assert_eq!(words(&without).len(), 500 - times.min(500));
            }
        }
    }

    #[test]
    fn random_edits_are_the_same_each_time_and_grow() {
        let text = "some words and more of them ".repeat(40).into_bytes();
        let kept = |times, seed| edited(&text, Edit::Remove, Spread::Random, times, seed);
        assert_eq!(kept(20, 1), kept(20, 1));
        assert_ne!(kept(20, 1), kept(20, 2));
        // After 21 removals, one word fewer remains than after 20 removals. The other words are the
        // same.
        let (more, fewer) = (kept(20, 1), kept(21, 1));
        let (more, fewer) = (words(&more), words(&fewer));
        let mut rest = more.iter();
        assert!(fewer.iter().all(|word| rest.any(|other| other == word)));
    }

    #[test]
    fn even_edits_are_equally_far_apart() {
        let text = "x ".repeat(1000).into_bytes();
        let with = edited(&text, Edit::Insert, Spread::Even, 10, 0);
        let at: Vec<usize> = (0..with.len()).filter(|&i| with[i] == b'a').collect();
        assert!(at.windows(2).all(|pair| pair[1] - pair[0] == 202), "{at:?}");
    }

    #[test]
    fn a_text_without_words_stays() {
        assert_eq!(edited(b" \n", Edit::Insert, Spread::Random, 5, 1), b" \n");
        assert_eq!(edited(b"", Edit::Remove, Spread::Even, 5, 1), b"");
    }
}
