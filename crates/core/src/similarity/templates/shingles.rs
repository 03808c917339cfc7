//! Templates in words: the shingles that marked texts have in common, all of them.
//!
//! A text is measured in words, so what is template in it must be known of each word. A sample of
//! the shingles does not tell that, and chunks miss what lies beside them. So this is the whole
//! set: a word is template if one of the shingles over it is in it, just as a word is covered if
//! one of the shingles over it is in another text.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::ids::Fingerprint;
use crate::params::Params;
use crate::words::{CollectedWords, rows_of};

/// The shingles of marked texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateShingles(HashSet<u64>);

impl TemplateShingles {
    /// Adds those of one template.
    pub(super) fn extend(&mut self, shingles: &[u64]) {
        self.0.extend(shingles);
    }

    /// The fingerprints of those that may be sampled.
    pub(super) fn samples(shingles: &[u64]) -> impl Iterator<Item = Fingerprint> {
        let shingles = shingles.iter();
        shingles.filter_map(|&shingle| Fingerprint::of_hash(shingle))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this shingle is one of them.
    #[inline]
    pub fn has(&self, shingle: u64) -> bool {
        !self.0.is_empty() && self.0.contains(&shingle)
    }

    /// The words of a text that are template, by place: ascending, and none in two ranges.
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

/// Finds the shingles that enough of some texts have.
#[derive(Clone, Debug)]
pub struct CommonShingles {
    /// How many texts are still to come.
    left: usize,
    enough: usize,
    having: HashMap<u64, usize>,
}

impl CommonShingles {
    /// Of so many contents at least this share (0..=1), and at least one, must have a shingle.
    pub fn new(contents: usize, share: f64) -> Self {
        Self {
            left: contents,
            enough: (1..contents)
                .find(|&having| super::is_enough(having, contents, share))
                .unwrap_or(contents),
            having: HashMap::new(),
        }
    }

    /// Adds the next content; `None`: it is no text, or cannot be read, and has no shingle.
    pub fn add(&mut self, text: Option<&[u8]>) {
        let Some(bytes) = text else {
            self.left = self.left.saturating_sub(1);
            return;
        };
        let mut shingles = CollectedWords::of(bytes).shingles;
        shingles.extend(rows_of(bytes).unwrap_or_default());
        let distinct: HashSet<u64> = shingles.into_iter().collect();
        // What is new now may still come to enough.
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

    /// Those that enough of them have, ascending.
    pub fn found(self) -> Vec<u64> {
        let enough = self.enough;
        let having = self.having.into_iter();
        let found = having.filter(|&(_, having)| having >= enough);
        let mut found: Vec<u64> = found.map(|(shingle, _)| shingle).collect();
        found.sort_unstable();
        found
    }
}
