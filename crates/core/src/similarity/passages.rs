//! Estimates how many contents have the text of a chunk, from the samples in it.
//!
//! A licence that a thousand files carry is boilerplate, and its samples are known to be
//! boilerplate. Its chunks are not known as boilerplate, because each file begins with another name
//! and year. So each of these chunks is in only two or twenty files and looks like evidence.
//! Therefore a chunk counts as if all contents with its text had the chunk. For each sample in the
//! chunk, the contents that have this sample are counted. The median of these counts is taken as
//! the number of contents with the text.
//!
//! Samples have no positions. But they are in the order of the file, and are about evenly spaced:
//! each distinct shingle or window has the same chance to be a sample. So the i-th of n samples is
//! assumed to be at (i + ½)/n of the file. In the middle of a file this position is wrong by about
//! a chunk. At the beginning, where frames are, it is right. A chunk with fewer than [`LEAST`]
//! samples is not judged. A common chunk is in both files of a pair. The smaller file has denser
//! samples, so the chunk is judged in the smaller file.

use crate::ids::Fingerprint;
use crate::similarity::Sketch;

/// A chunk with fewer samples is not judged, because so few samples do not show whether its text is
/// common.
pub const LEAST: usize = 3;

/// Returns the chunks of a content that are evidence, by their place in its list. For each chunk,
/// also returns the number of contents that have its text: the lower median over its samples.
/// Chunks with too few samples are left out.
pub fn text_of_chunks<'s>(
    sketch: &'s Sketch<'_>,
    contents: impl Fn(Fingerprint) -> u32 + 's,
) -> impl Iterator<Item = (usize, u32)> + 's {
    let samples = &sketch.signature.fingerprints;
    let size = sketch.chunks.total_len().0.max(1);
    // Returns the index of the first sample after a position.
    let behind = move |at: u64| {
        let share = at as f64 / size as f64;
        ((share * samples.len() as f64 - 0.5).ceil().max(0.0) as usize).min(samples.len())
    };
    let mut counts = Vec::new();
    let positions = sketch.chunks.positions().enumerate();
    positions.filter_map(move |(place, (start, run))| {
        let within = &samples[behind(start)..behind(start + u64::from(run.len))];
        if within.len() < LEAST || !run.is_evidence() {
            return None;
        }
        counts.clear();
        counts.extend(within.iter().map(|&sample| contents(sample)));
        let middle = (counts.len() - 1) / 2;
        let (_, median, _) = counts.select_nth_unstable(middle);
        Some((place, *median))
    })
}

#[cfg(test)]
mod tests {
    use resemble_testutil::prose::words;

    use super::*;
    use crate::digest::Digest;
    use crate::params::Params;

    #[test]
    fn a_chunk_is_as_common_as_the_text_in_it() {
        let licence = words(0, 250);
        let text = format!("Copyright 2019 somebody\n{licence}{}", words(5000, 700));
        let params = Params::default();
        let of_licence = Digest::of(licence.as_bytes(), &params)
            .signature
            .fingerprints;
        let digest = Digest::of(text.as_bytes(), &params);
        let sketch = digest.sketch();
        let common = |sample| {
            if of_licence.contains(&sample) {
                5000
            } else {
                1
            }
        };
        let found: Vec<(usize, u32)> = text_of_chunks(&sketch, common).collect();
        let starts: Vec<u64> = digest.chunks.positions().map(|(start, _)| start).collect();
        assert!(found.len() >= digest.chunks.0.len() / 2, "{found:?}");
        for (place, count) in found {
            let end = starts.get(place + 1).copied().unwrap_or(sketch.size.0);
            if end < licence.len() as u64 {
                assert_eq!(count, 5000, "chunk {place} of {starts:?}");
            } else if starts[place] > licence.len() as u64 + 500 {
                assert_eq!(count, 1, "chunk {place} of {starts:?}");
            }
        }
    }

    #[test]
    fn without_samples_nothing_is_said() {
        let params = Params::default();
        let digest = Digest::of(words(0, 60).as_bytes(), &params);
        let mut bare = digest.clone();
        bare.signature.fingerprints.clear();
        assert_eq!(text_of_chunks(&bare.sketch(), |_| 5000).count(), 0);
        let empty = Digest::of(b"", &params);
        assert_eq!(text_of_chunks(&empty.sketch(), |_| 5000).count(), 0);
    }
}
