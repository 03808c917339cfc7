//! Templates in words: all shingles that marked texts have in common.
//!
//! A text is measured in words, so the template must be known for each word. Sampled shingles do
//! not show this, and chunks miss the words next to them. So the set has all shingles. A word is
//! template if one of the shingles over it is in the set. The same rule decides whether another
//! text covers a word.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::ids::Fingerprint;
use crate::params::Params;
use crate::words::{CollectedWords, rows_of};

/// The shingles of marked texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateShingles(HashSet<u64>);

impl TemplateShingles {
    /// Adds the shingles of one template.
    pub(super) fn extend(&mut self, shingles: &[u64]) {
        self.0.extend(shingles);
    }

    /// Returns the fingerprints of those shingles that can be samples.
    pub(super) fn samples(shingles: &[u64]) -> impl Iterator<Item = Fingerprint> {
        let shingles = shingles.iter();
        shingles.filter_map(|&shingle| Fingerprint::of_hash(shingle))
    }

    /// Returns whether there are no shingles.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether this shingle is one of the templates' shingles.
    #[inline]
    pub fn has(&self, shingle: u64) -> bool {
        !self.0.is_empty() && self.0.contains(&shingle)
    }

    /// Returns the words of a text that are template, as ascending and disjoint ranges of places.
    pub(crate) fn words_of(&self, text: &CollectedWords) -> Vec<Range<usize>> {
        let mut words: Vec<Range<usize>> = Vec::new();
        if self.is_empty() {
            return words;
        }
        for (place, &shingle) in text.shingles.iter().enumerate() {
            if self.has(shingle) {
                let end = (place + Params::SHINGLE).min(text.ends.len());
                match words.last_mut() {
                    Some(last) if place <= last.end => last.end = end,
                    _ => words.push(place..end),
                }
            }
        }
        words
    }
}

/// Finds the shingles that a given share of some texts have.
#[derive(Clone, Debug)]
pub struct CommonShingles {
    /// The number of contents that are not added yet.
    left: usize,
    enough: usize,
    having: HashMap<u64, usize>,
}

impl CommonShingles {
    /// Prepares to find the shingles that at least the share `share` (0..=1) of `contents` contents
    /// have. Even if `share` is 0, each of them is in at least one content.
    pub fn new(contents: usize, share: f64) -> Self {
        Self {
            left: contents,
            enough: (1..contents)
                .find(|&having| super::is_enough(having, contents, share))
                .unwrap_or(contents),
            having: HashMap::new(),
        }
    }

    /// Adds the next content. `None` is a content without shingles: it is not a text, or it cannot
    /// be read.
    pub fn add(&mut self, text: Option<&[u8]>) {
        let Some(bytes) = text else {
            self.left = self.left.saturating_sub(1);
            return;
        };
        let mut shingles = CollectedWords::of(bytes).shingles;
        shingles.extend(rows_of(bytes).unwrap_or_default());
        let distinct: HashSet<u64> = shingles.into_iter().collect();
        // A shingle that first occurs in this text can be in enough texts only if enough texts are
        // left, including this one.
        let may_begin = self.left >= self.enough;
        for shingle in distinct {
            if let Some(having) = self.having.get_mut(&shingle) {
                *having += 1;
            } else if may_begin {
                self.having.insert(shingle, 1);
            }
        }
        self.left = self.left.saturating_sub(1);
        let (left, enough) = (self.left, self.enough);
        self.having.retain(|_, having| *having + left >= enough);
    }

    /// Returns the shingles that enough of the texts have, ascending.
    pub fn found(self) -> Vec<u64> {
        let enough = self.enough;
        let having = self.having.into_iter();
        let found = having.filter(|&(_, having)| having >= enough);
        let mut found: Vec<u64> = found.map(|(shingle, _)| shingle).collect();
        found.sort_unstable();
        found
    }
}
