//! Chooses the segments to merge.
//!
//! If there would be more than [`MOST`] segments after a batch, a run of the newest segments is
//! merged into one. The run is as short as possible, but the segment before it must be at least as
//! large as the whole run. If there is no such segment, all segments are merged. If `s` segments
//! are allowed, `n` equal batches rewrite each posting about `(s! n)^(1/s)` times. For 100,000
//! batches and 8 segments, this is 16 times. The first 8 batches rewrite nothing. A large segment
//! is not rewritten until the tiny batches after it have grown to its size.

/// The maximum number of segments after an ordinary batch.
pub(crate) const MOST: usize = 8;

/// The maximum number of segments after a batch of a bulk load. They are merged at the end of the
/// load.
pub(crate) const MOST_IN_BULK: usize = 64;

/// Returns the index of the first segment to merge. The merged run ends with the newest segment.
/// Returns `None` if no merge is needed. `sizes` has the number of postings of each segment, oldest
/// first.
pub(crate) fn merge_from(sizes: &[u64], most: usize) -> Option<usize> {
    if sizes.len() <= most {
        return None;
    }
    let mut sum = 0u64;
    for start in (0..sizes.len()).rev() {
        sum = sum.saturating_add(sizes[start]);
        let run = sizes.len() - start;
        if run >= 2 && (start == 0 || sizes[start - 1] >= sum) {
            return Some(start);
        }
    }
    Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tiny_ones_leave_the_large_one_alone() {
        assert_eq!(merge_from(&[1_000_000, 1, 1, 1, 1, 1, 1, 1], MOST), None);
        assert_eq!(
            merge_from(&[1_000_000, 1, 1, 1, 1, 1, 1, 1, 1], MOST),
            Some(1)
        );
        assert_eq!(merge_from(&[1; 9], MOST), Some(0));
        assert_eq!(merge_from(&[9, 8, 1, 1, 1, 1, 1, 1, 1], MOST), Some(2));
    }

    proptest! {
        #[test]
        fn few_segments_and_few_rewrites(batches in prop::collection::vec(1u64..1000, 0..2000)) {
            let mut segments: Vec<u64> = Vec::new();
            let mut written = 0;
            let total: u64 = batches.iter().sum();
            for batch in batches {
                segments.push(batch);
                if let Some(start) = merge_from(&segments, MOST) {
                    let sum = segments.drain(start..).sum();
                    written += sum;
                    segments.push(sum);
                }
                prop_assert!(segments.len() <= MOST);
            }
            prop_assert!(written <= 16 * total, "{written} of {total}");
        }
    }
}
