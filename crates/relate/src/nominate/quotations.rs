//! Finds quotations: passages that are a small part of both files.
//!
//! Two long files that share one paragraph have a hundredth of their words in common. Two unrelated
//! files may have as many common words. The *order* of the samples distinguishes the two cases. The
//! samples of a paragraph are consecutive in the subject, and few other files have them. The
//! phrases that unrelated files share are scattered, and many files have them.

use resemble_core::similarity::{RARE, discount};
use resemble_core::{ContentId, Fingerprint};

/// The maximum distance, in samples of the subject, between two common samples of one quotation. If
/// a content has samples of a higher level than the subject, it lacks some of the samples in
/// between.
const GAP: u32 = 4;

/// The minimum number of bytes of text that one sample represents. One shingle in eight is sampled.
const BYTES: f64 = 48.0;

/// The minimum weight of a sample by which a quotation is found.
const LEAST_WEIGHT: f64 = 0.02;

/// The rare samples of a subject, and the contents that have them.
pub(crate) struct RareSamples {
    /// The key of each sample, with its position in the subject.
    places: Vec<(u64, u32)>,
    /// The number of bytes of rare text that the sample at each position represents.
    rare: Vec<f64>,
    met: Vec<(ContentId, u32)>,
    limit: u32,
}

/// A passage of the subject that a content may have, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// The number of common samples in the passage.
    pub samples: u32,
    /// The approximate number of bytes of rare text that these samples represent.
    pub rare: u32,
}

impl RareSamples {
    /// Takes the samples of a subject in their order. A sample that more than `limit` contents have
    /// is boilerplate.
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

    /// Records the contents that have the sample with this key.
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

    /// Returns for each content the passage with the most rare text, in the order of content ids.
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
    /// Returns whether the passage has enough rare text to be a quotation. The minimum is the same
    /// as for the evidence of a pair
    /// ([`Proof::is_evidence`](resemble_core::similarity::Proof::is_evidence)).
    pub fn is_rare(self) -> bool {
        f64::from(self.rare) >= RARE
    }

    /// Returns the value by which candidates are ordered. Candidates with a single sample are the
    /// worst. Two samples of one passage are better evidence, because they are seldom common by
    /// chance.
    pub const fn promise(self) -> (bool, u32) {
        (self.samples > 1, self.rare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the contents that have a passage, each with the number of bytes of rare text in the
    /// passage.
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

    /// If 110 contents have a passage, its bytes count less. If 900 contents have it, it does not
    /// count.
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
