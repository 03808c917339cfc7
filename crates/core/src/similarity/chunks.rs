//! Evidence from chunks that two files have in common.

use crate::digest::ChunkList;
use crate::ids::{ByteLen, ChunkHash};
use crate::similarity::Boilerplate;

/// Returns the number of bytes that common chunks prove to be shared. For a and for b, this is a
/// lower bound of the bytes in common runs of at least 64 bytes.
///
/// A chunk that occurs m times in a and n times in b counts min(m, n) times. Boilerplate is
/// excluded. Chunks of fewer than 64 bytes are excluded, because they are too short for a common
/// run. Chunks whose bytes are all equal are excluded, because padding and holes would relate
/// everything.
pub fn shared_chunk_bytes(a: &ChunkList, b: &ChunkList, boilerplate: &dyn Boilerplate) -> ByteLen {
    Common::of(a, b, boilerplate).bytes
}

/// The chunks that two lists have in common, if they are evidence.
#[derive(Debug)]
pub(super) struct Common {
    /// The chunks, sorted and distinct.
    chunks: Vec<(ChunkHash, u32)>,
    /// The number of bytes in these chunks, each counted as often as both lists have it.
    pub(super) bytes: ByteLen,
}

impl Common {
    pub(super) fn of(a: &ChunkList, b: &ChunkList, boilerplate: &dyn Boilerplate) -> Self {
        let (few, many) = if a.0.len() <= b.0.len() {
            (a, b)
        } else {
            (b, a)
        };
        // Each chunk, with the number of its occurrences in the shorter and in the longer list.
        // Sorted by chunk.
        let mut counts: Vec<((ChunkHash, u32), u64, u64)> = few
            .0
            .iter()
            .filter(|run| run.is_evidence())
            .map(|run| ((run.hash, run.len), run.count, 0))
            .collect();
        counts.sort_unstable_by_key(|&(chunk, ..)| chunk);
        counts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        if !counts.is_empty() {
            for run in many.0.iter().filter(|run| run.is_evidence()) {
                if let Ok(at) =
                    counts.binary_search_by_key(&(run.hash, run.len), |&(chunk, ..)| chunk)
                {
                    counts[at].2 += run.count;
                }
            }
        }
        let mut common = Self {
            chunks: Vec::new(),
            bytes: ByteLen::ZERO,
        };
        for (chunk, m, n) in counts {
            if n > 0 && !boilerplate.chunk(chunk.0.posting_key()) {
                common.chunks.push(chunk);
                common.bytes += ByteLen(u64::from(chunk.1) * m.min(n));
            }
        }
        common
    }

    /// Returns the distinct common chunks that are not boilerplate.
    pub(super) fn chunks(&self) -> impl Iterator<Item = (ChunkHash, u32)> + '_ {
        self.chunks.iter().copied()
    }
}
