//! Quotations: what is nominated although it is a small part of both files.
//!
//! Two long files that have one paragraph in common share a hundredth of their words, as strangers
//! do. The samples tell them apart by their *order*: those of a paragraph follow each other in the
//! subject and nobody else has them, where the phrases of strangers stand scattered, and many files
//! have them.

use resemble_core::similarity::{RARE, discount};
use resemble_core::{ContentId, Fingerprint};

/// Samples of one quotation stand at most so many places apart: a content that is sampled more
/// thinly than the subject lacks those between.
const GAP: u32 = 4;

/// A sample stands for so many bytes of text at least: one shingle of eight is sampled.
const BYTES: f64 = 48.0;

/// What counts for less nominates no quotation, however long.
const LEAST_WEIGHT: f64 = 0.02;

/// The samples of a subject that are not common, and who has them.
pub(crate) struct RareSamples {
    /// The place of each sample among those of the subject, by its key.
    places: Vec<(u64, u32)>,
    /// Bytes of rare text that the sample in each place stands for.
    rare: Vec<f64>,
    met: Vec<(ContentId, u32)>,
    limit: u32,
}

/// What a content may have of one place of the subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Samples of that place.
    pub samples: u32,
    /// Bytes of rare text that these stand for, about.
    pub rare: u32,
}

impl RareSamples {
    /// Of these samples of a subject, in the order in which they stand in it; `limit`: what more
    /// contents have is boilerplate.
    pub(crate) fn of(samples: &[Fingerprint], limit: u32) -> Self {
        let mut places: Vec<(u64, u32)> = samples.iter().map(|sample| sample.0).zip(0..).collect();
        places.sort_unstable();
        Self {
            rare: vec![0.0; places.len()],
            places,
            met: Vec::new(),
            limit,
        }
    }

    /// Takes note of the contents that have a sample.
    pub(crate) fn note(&mut self, key: u64, contents: &[ContentId]) {
        let count = u32::try_from(contents.len()).unwrap_or(u32::MAX);
        let weight = discount::weight(count, self.limit);
        if weight < LEAST_WEIGHT {
            return;
        }
        if let Ok(at) = self.places.binary_search_by_key(&key, |&(key, _)| key) {
            let place = self.places[at].1;
            self.rare[place as usize] = weight * BYTES;
            self.met
                .extend(contents.iter().map(|&content| (content, place)));
        }
    }

    /// The rarest passage of each content; by content.
    pub(crate) fn passages(mut self) -> Vec<(ContentId, Passage)> {
        self.met.sort_unstable();
        let passage = |samples: &[(ContentId, u32)]| {
            let rare = samples.iter().map(|sample| self.rare[sample.1 as usize]);
            Passage {
                samples: samples.len() as u32,
                rare: rare.sum::<f64>() as u32,
            }
        };
        let of_content = |found: &[(ContentId, u32)]| {
            let passages = found.chunk_by(|a, b| b.1 - a.1 <= GAP).map(passage);
            let rarest = passages.max_by_key(|passage| (passage.rare, passage.samples));
            (found[0].0, rarest.unwrap_or_default())
        };
        let contents = self.met.chunk_by(|a, b| a.0 == b.0);
        contents.map(of_content).collect()
    }
}

impl Passage {
    /// Whether it may be a quotation, by as much rare text as is evidence of a pair of texts
    /// ([`Proof::is_evidence`](resemble_core::similarity::Proof::is_evidence)).
    pub fn is_rare(self) -> bool {
        f64::from(self.rare) >= RARE
    }

    /// Which of two is looked at first: chance brings one sample and not two in one place.
    pub const fn promise(self) -> (bool, u32) {
        (self.samples > 1, self.rare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contents with passages of so many rare bytes.
    fn rare(met: &[(u32, &[u32])]) -> Vec<(u32, u32)> {
        let samples: Vec<Fingerprint> = (0..100).map(|at| Fingerprint(1000 - at)).collect();
        let mut rare = RareSamples::of(&samples, 1000);
        for &(at, contents) in met {
            let contents: Vec<ContentId> = contents.iter().copied().map(ContentId).collect();
            rare.note(samples[at as usize].0, &contents);
        }
        let mut passages = rare.passages();
        passages.retain(|(_, passage)| passage.promise().0 && passage.is_rare());
        passages
            .iter()
            .map(|(content, passage)| (content.0, passage.rare))
            .collect()
    }

    #[test]
    fn samples_that_follow_each_other_are_a_quotation() {
        let found = rare(&[(7, &[1, 2]), (8, &[1]), (12, &[1]), (30, &[2]), (90, &[2])]);
        assert_eq!(found, [(1, 144)]);
    }

    /// Text of a family of a hundred counts for less, and of a thousand nothing.
    #[test]
    fn the_more_contents_have_a_passage_the_longer_it_must_be() {
        let some: Vec<u32> = (0..110).collect();
        assert_eq!(rare(&[(7, &some), (8, &some)]), []);
        assert_eq!(rare(&[(7, &some), (8, &some), (9, &some)]).len(), 110);
        let many: Vec<u32> = (0..900).collect();
        let all: Vec<(u32, &[u32])> = (0..100).map(|at| (at, &many[..])).collect();
        assert_eq!(rare(&all), []);
    }

    #[test]
    fn one_sample_promises_less_than_two() {
        let mut rare = RareSamples::of(&[Fingerprint(5), Fingerprint(4)], 1000);
        rare.note(5, &[ContentId(1), ContentId(2)]);
        rare.note(4, &[ContentId(2)]);
        rare.note(6, &[ContentId(3)]);
        let [(one, single), (two, double)] = rare.passages()[..] else {
            panic!("two contents have samples");
        };
        assert_eq!((one, two), (ContentId(1), ContentId(2)));
        assert!(single.is_rare() && double.promise() > single.promise());
    }
}
