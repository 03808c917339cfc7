//! Chooses the maximum number of fingerprints that a catalogue keeps of each content. The catalogue
//! should not exceed a given size.

use resemble_core::params::SamplingParams;
use resemble_core::{Digest, Signature};
use resemble_index::packed;
use resemble_proto::number::Fraction;

use super::Samples;

/// The maximum numbers of fingerprints for each content, in the order in which they are tried. With
/// fewer than 16, only copies of whole files and small edits would be found.
const MOST: [u32; 5] = [64, 48, 32, 24, 16];

/// The number of bytes that thinning to each limit of [`MOST`] would save in the catalogue.
#[derive(Clone, Debug, Default)]
pub(super) struct Thinning {
    saved: [u64; MOST.len()],
}

impl Thinning {
    /// Adds the bytes that thinning this content would save.
    pub(super) fn see(&mut self, digest: &Digest) {
        let mut packed = Vec::new();
        let mut length = |signature: &Signature| {
            packed.clear();
            packed::pack(&digest.chunks, signature, &mut packed);
            packed.len() as u64
        };
        let whole = length(&digest.signature);
        let mut signature = digest.signature.clone();
        for (most, saved) in MOST.into_iter().zip(&mut self.saved) {
            if signature.fingerprints.len() > most as usize {
                // A sparser set of samples is a subset of a denser set. So the result for one limit
                // can be thinned to the next limit.
                signature = signature.thinned(&SamplingParams::at(0, most));
            }
            *saved += whole.saturating_sub(length(&signature));
        }
    }

    /// Returns the densest samples with which the size of the catalogue is within `part` of the
    /// size of the files. If no samples are sparse enough, returns the sparsest samples.
    /// `catalogue` is the size of the catalogue with all samples.
    pub(super) fn fitting(&self, catalogue: u64, files: u64, part: Fraction) -> Samples {
        let part = u128::from(part.millionths().unwrap_or(u32::MAX));
        let fits = |bytes: u64| u128::from(bytes) * 1_000_000 <= u128::from(files) * part;
        if fits(catalogue) {
            return Samples::All;
        }
        let kept = |saved: &u64| catalogue.saturating_sub(*saved);
        let fitting = self.saved.iter().position(|saved| fits(kept(saved)));
        Samples::AtMost(MOST[fitting.unwrap_or(MOST.len() - 1)])
    }
}
