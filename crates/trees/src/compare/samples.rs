//! Finds the contents of both sides that have a given sample. This is used to find frames.
//!
//! An index has the contents with a sample in its posting lists. Without an index, a first pass
//! counts all samples in buckets. A second pass lists the contents with a sample, but only for
//! samples in buckets whose count is a dozen or more.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};

use resemble_core::similarity::frame::{HeldSample, LEAST};
use resemble_core::{ContentDigest, ContentId, Fingerprint, Signature};
use resemble_index::ReadError;
use resemble_relate::AskError;
use resemble_relate::nominate::evidence::CHUNK;
use resemble_relate::nominate::frames::{MOST, SampleHolders, SampledContents};
use resemble_relate::parallel::in_parallel;

use super::common::Buckets;
use super::sides::{Pieces, Sides};

/// The contents of two sides by number, and the lists of contents for samples that a dozen contents
/// have.
pub(crate) struct SideSamples<'a> {
    sides: &'a Sides,
    pieces: &'a dyn Pieces,
    holders: HashMap<u64, Vec<ContentId>>,
    /// The level of the samples of each content, by the number of the content.
    levels: Vec<u8>,
}

impl<'a> SideSamples<'a> {
    pub(crate) fn of(sides: &'a Sides, pieces: &'a dyn Pieces) -> Result<Self, AskError> {
        let all = sides.contents.len();
        let buckets = Buckets::new(all, LEAST as u32 - 1);
        let levels: Vec<AtomicU8> = (0..all).map(|_| AtomicU8::new(0)).collect();
        in_parallel(all, Vec::new, |content, samples| {
            samples_of(pieces, content as u32, samples)?;
            for &sample in samples.iter() {
                buckets.count(sample);
            }
            // A signature nearly always has a sample at its own level.
            let least = samples
                .iter()
                .map(|&sample| Fingerprint(sample).level())
                .min();
            levels[content].store(least.unwrap_or_default(), Ordering::Relaxed);
            Ok::<_, AskError>(())
        })?;
        let mut holders: HashMap<u64, Vec<ContentId>> = HashMap::new();
        if let Some(suspects) = buckets.suspects() {
            let state = || (Vec::new(), HashMap::<u64, Vec<ContentId>>::new());
            let parts = in_parallel(all, state, |content, (samples, holders)| {
                samples_of(pieces, content as u32, samples)?;
                for &sample in samples.iter().filter(|&&sample| suspects.has(sample)) {
                    let holders = holders.entry(sample).or_default();
                    holders.push(ContentId(content as u32));
                }
                Ok::<_, AskError>(())
            })?;
            for (sample, mut part) in parts.into_iter().flat_map(|(_, holders)| holders) {
                holders.entry(sample).or_default().append(&mut part);
            }
            for holders in holders.values_mut() {
                holders.sort_unstable();
            }
        }
        Ok(Self {
            sides,
            pieces,
            holders,
            levels: levels.into_iter().map(AtomicU8::into_inner).collect(),
        })
    }
}

/// Fills `samples` with the samples of a content.
fn samples_of(pieces: &dyn Pieces, content: u32, samples: &mut Vec<u64>) -> Result<(), AskError> {
    pieces.go_on()?;
    if pieces.keys(content, samples) {
        samples.retain(|key| key & CHUNK == 0);
    } else {
        samples.clear();
        let (_, signature) = pieces.pieces(content)?;
        samples.extend(signature.fingerprints.iter().map(|sample| sample.0));
    }
    Ok(())
}

impl SampledContents for SideSamples<'_> {
    fn digest(&self, content: ContentId) -> Result<Option<ContentDigest>, AskError> {
        let content = self.sides.contents.get(content.0 as usize);
        Ok(content.map(|content| content.digest))
    }

    fn samples(&self, content: ContentId) -> Result<Signature, AskError> {
        Ok(self.pieces.pieces(content.0)?.1)
    }
}

impl SampleHolders for SideSamples<'_> {
    fn level(&self, content: ContentId) -> u8 {
        self.levels
            .get(content.0 as usize)
            .copied()
            .unwrap_or_default()
    }

    fn held(&self, samples: &Signature) -> Result<Vec<HeldSample>, ReadError> {
        let held = samples.fingerprints.iter().map(|&sample| HeldSample {
            sample,
            holders: self.holders.get(&sample.0).cloned().unwrap_or_default(),
        });
        let mut held: Vec<HeldSample> = held.filter(|held| held.holders.len() <= MOST).collect();
        held.sort_unstable_by_key(|held| held.sample);
        Ok(held)
    }
}
