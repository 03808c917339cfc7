//! Divides a large content into stretches, and keeps the results of each. When the content has
//! changed, an unchanged stretch is hashed for a comparison, but not digested again.
//!
//! # Definition
//!
//! The digest of a content is put together from its parts. Chunks are concatenated, and sums of
//! words are added ([`WordSums`]). The samples of the content are the samples of all parts, at one
//! common level. Only the last few bytes and words before a part affect the results of the part:
//! they are the [`Standing`] of the part. So two stretches with equal standings and equal bytes
//! have the same results, wherever they are.
//!
//! # Choices
//!
//! 1. **Which contents**: texts in words, and binaries without code that [`crate::code`] filters.
//!    Such code, table rows, encoded data, and markup that has no words need more state at a
//!    boundary. They have no stretches, and are read again as a whole.
//! 2. **The samples of a stretch are denser** than the content needs. On the first reading, all
//!    stretches together have at most twice the distinct samples of the content, and `SPARE` more.
//!    When the content loses samples, samples of a lower level usually replace them. If too few
//!    such samples are stored, the content is digested again as a whole.
//! 3. **Chunks are not kept**: they are in the index. A stretch stores the number of its runs, its
//!    first run and its last one. These show which of the stored runs stay ([`ChunkEdit`]).

use std::ops::Range;
use std::sync::Arc;

use super::Digester;
use crate::chunk::ChunkerStanding;
use crate::digest::{ChunkEdit, ChunkList, ChunkRun};
use crate::hash::content::{BLOCK, BlockRun, push_run};
use crate::ids::Fingerprint;
use crate::words::{ShinglerStanding, WordSums};

/// All stretches together may have twice as many samples as the content, and this number more.
pub(super) const SPARE: u32 = 1000;

/// A stretch of a large content.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    /// The length of the stretch in bytes. It is a multiple of the block length, with two
    /// exceptions: at the end of the content, and where bytes were inserted or removed before the
    /// next stretch.
    pub(super) len: u64,
    /// The digests of the stretch's blocks. The first block begins where the stretch begins.
    pub(super) blocks: Vec<BlockRun>,
    /// The runs of chunks that end in the stretch; `None` if no chunk ends there.
    pub(super) runs: Option<RunSpan>,
    pub(super) words: WordSums,
    /// The samples of the stretch, and the extra samples of its shingles.
    pub(super) samples: [StretchSample; 2],
    /// The state at the end of the stretch.
    pub(super) end: Arc<Standing>,
}

impl Stretch {
    const fn is_blocks(&self) -> bool {
        self.len.is_multiple_of(BLOCK)
    }

    /// Returns this stretch and the next one, joined. This stretch must consist of whole blocks.
    fn and(&self, next: &Self) -> Self {
        let mut blocks = self.blocks.clone();
        next.blocks
            .iter()
            .for_each(|&run| push_run(&mut blocks, run));
        Self {
            len: self.len + next.len,
            blocks,
            runs: RunSpan::of_both(self.runs, next.runs),
            words: self.words.and(&next.words),
            samples: [0, 1].map(|k| self.samples[k].and(&next.samples[k])),
            end: Arc::clone(&next.end),
        }
    }

    fn bytes(&self) -> usize {
        let samples = self.samples.iter();
        let samples: usize = samples.map(|sample| sample.fingerprints.len()).sum();
        size_of::<Self>()
            + size_of::<Standing>()
            + self.end.under_way.len()
            + self.blocks.len() * size_of::<BlockRun>()
            + samples * size_of::<u32>()
    }
}

/// The state of a digester that affects the results of the next bytes. The position in the content
/// is not a part of the state.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) chunker: ChunkerStanding,
    /// The bytes of the current chunk.
    pub(super) under_way: Box<[u8]>,
    /// The state of the shingler, if the content is a text.
    pub(super) words: Option<ShinglerStanding>,
}

/// The distinct fingerprints of a stretch, in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub(super) struct StretchSample {
    /// The lowest level at which the fingerprints are complete.
    pub(super) level: u8,
    /// The fingerprints, which have 32 bits each.
    pub(super) fingerprints: Vec<u32>,
    /// The number of samples before they were thinned, repetitions included.
    pub(super) pushed: u64,
}

impl StretchSample {
    pub(super) fn iter(&self) -> impl Iterator<Item = Fingerprint> + '_ {
        let all = self.fingerprints.iter();
        all.map(|&fingerprint| Fingerprint(u64::from(fingerprint)))
    }

    /// Drops the fingerprints below this level.
    fn raise(&mut self, level: u8) {
        if level > self.level {
            let is_above = |&fingerprint: &u32| Fingerprint(fingerprint.into()).level() >= level;
            self.fingerprints.retain(is_above);
            self.fingerprints.shrink_to_fit();
            self.level = level;
        }
    }

    fn and(&self, next: &Self) -> Self {
        let level = self.level.max(next.level);
        let mut seen = std::collections::HashSet::new();
        let all = self.iter().chain(next.iter());
        let all = all.filter(|sample| sample.level() >= level && seen.insert(*sample));
        Self {
            level,
            fingerprints: all.map(|sample| sample.0 as u32).collect(),
            pushed: self.pushed + next.pushed,
        }
    }
}

/// Runs of consecutive chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunSpan {
    pub(super) count: u64,
    pub(super) first: ChunkRun,
    pub(super) last: ChunkRun,
}

impl RunSpan {
    pub(super) fn of(chunks: &ChunkList) -> Option<Self> {
        Some(Self {
            count: chunks.0.len() as u64,
            first: *chunks.0.first()?,
            last: *chunks.0.last()?,
        })
    }

    /// Joins two spans. The last run of the first span and the first run of the second span may
    /// become one run.
    pub(super) fn of_both(these: Option<Self>, next: Option<Self>) -> Option<Self> {
        let (Some(these), Some(next)) = (these, next) else {
            return these.or(next);
        };
        if !these.last.goes_on_as(&next.first) {
            return Some(Self {
                count: these.count + next.count,
                first: these.first,
                last: next.last,
            });
        }
        let one = ChunkRun {
            count: these.last.count + next.first.count,
            ..next.first
        };
        let all_one = |span: &Self, other| if span.count == 1 { one } else { other };
        Some(Self {
            count: these.count + next.count - 1,
            first: all_one(&these, these.first),
            last: all_one(&next, next.last),
        })
    }
}

/// The stretches of a content, or of its beginning.
#[derive(Debug)]
pub struct Stretches {
    pub(super) all: Vec<Arc<Stretch>>,
    /// The length of new stretches in bytes.
    pub(super) length: u64,
    /// The state of the digester after the beginning of the content. The kind of the content was
    /// decided by this beginning.
    pub(super) beginning: Arc<Digester>,
    /// The chunk that ends with the content.
    pub(super) last_chunk: Option<ChunkRun>,
    /// True if the stretches reach the end of the content.
    pub(super) are_whole: bool,
}

impl Stretches {
    /// Returns the stretches without the stretch that reaches the end of the content. The result is
    /// for another content that has only the beginning in common with this content.
    #[must_use]
    pub fn of_beginning(&self) -> Self {
        let most = self.all.len() - usize::from(self.are_whole && !self.all.is_empty());
        Self {
            all: self.all[..most].to_vec(),
            length: self.length,
            beginning: Arc::clone(&self.beginning),
            last_chunk: None,
            are_whole: false,
        }
    }

    /// Estimates the bytes of memory that the stretches take.
    pub fn bytes(&self) -> usize {
        let stretches: usize = self.all.iter().map(|stretch| stretch.bytes()).sum();
        stretches + Self::OF_BEGINNING
    }

    /// The approximate memory of `beginning` in bytes. The scans of a digester take this memory.
    const OF_BEGINNING: usize = 160 << 10;

    /// Returns whether each stretch begins at the start of a block of the content.
    pub(super) fn are_blocks(&self) -> bool {
        let before_end = self.all.len() - usize::from(self.are_whole && !self.all.is_empty());
        self.all[..before_end]
            .iter()
            .all(|stretch| stretch.is_blocks())
    }

    /// Returns the lowest levels at which the samples of all stretches are complete.
    pub(super) fn levels(&self) -> [u8; 2] {
        levels(&self.all)
    }

    /// Returns the edits that turn the chunks of this content into those of a content that consists
    /// of `pieces`. A piece consists of stretches of this content, or of other chunks. If the last
    /// piece consists of stretches, it must include the last stretch of this content.
    pub(super) fn edits(&self, pieces: Vec<Piece>) -> Vec<ChunkEdit> {
        let spans = self.spans();
        let last = pieces.len().saturating_sub(1);
        let ends_as_before = matches!(pieces.last(), Some(Piece::Kept(_)));
        let (mut edits, mut by, mut kept_to) = (Vec::new(), ChunkList::default(), 0);
        for (at, piece) in pieces.into_iter().enumerate() {
            let kept = match piece {
                Piece::New(mut chunks) => {
                    by.append(&mut chunks);
                    continue;
                }
                Piece::Kept(kept) => kept,
            };
            let span = self.all[kept.clone()].iter().map(|stretch| stretch.runs);
            let end = RunSpan::of_chunk(self.last_chunk.filter(|_| at == last));
            let Some(span) = span.chain([end]).fold(None, RunSpan::of_both) else {
                continue;
            };
            // Where two pieces meet, the last run of one piece and the first run of the other may
            // be one run.
            let (mut from, mut to) = (spans[kept.start], spans[kept.start] + span.count);
            if at > 0 {
                by.push(span.first);
                from += 1;
            }
            let meets_others = at < last && from < to;
            to -= u64::from(meets_others);
            if from < to {
                let by = std::mem::take(&mut by);
                let runs = kept_to..from;
                edits.push(ChunkEdit { runs, by });
                kept_to = to;
            }
            if meets_others {
                by.push(span.last);
            }
        }
        // If the last piece is a single run, the run is in `by`, and nothing is kept at the end.
        let all = self.all.iter().map(|stretch| stretch.runs);
        let all = all.chain([RunSpan::of_chunk(self.last_chunk)]);
        let all = all
            .fold(None, RunSpan::of_both)
            .map_or(0, |span| span.count);
        if !ends_as_before || kept_to < all {
            let runs = kept_to..u64::MAX;
            edits.push(ChunkEdit { runs, by });
        }
        edits.retain(|edit| !edit.is_none());
        edits
    }

    /// Returns for each stretch the number of its first run. The run may begin in an earlier
    /// stretch.
    fn spans(&self) -> Vec<u64> {
        let mut before: Option<RunSpan> = None;
        let spans = self.all.iter().map(|stretch| {
            let next = stretch.runs;
            let goes_on = before
                .zip(next)
                .is_some_and(|(before, next)| before.last.goes_on_as(&next.first));
            let count = before.map_or(0, |before| before.count) - u64::from(goes_on);
            before = RunSpan::of_both(before, next);
            count
        });
        spans.collect()
    }
}

impl RunSpan {
    fn of_chunk(chunk: Option<ChunkRun>) -> Option<Self> {
        chunk.map(|chunk| Self {
            count: 1,
            first: chunk,
            last: chunk,
        })
    }
}

/// Drops the samples below the least level at which all these stretches have all their samples. The
/// first stretches also have samples of lower levels, because the content still had few samples
/// when they were made. In a large text, most samples of the first stretches are dropped.
pub(super) fn thin(stretches: &mut [Arc<Stretch>]) {
    let levels = levels(stretches);
    for stretch in stretches {
        if (0..2).any(|k| stretch.samples[k].level < levels[k]) {
            let stretch = Arc::make_mut(stretch);
            for (sample, level) in stretch.samples.iter_mut().zip(levels) {
                sample.raise(level);
            }
        }
    }
}

/// Returns the lowest levels at which the samples of all these stretches are complete.
pub(super) fn levels(stretches: &[Arc<Stretch>]) -> [u8; 2] {
    [0, 1].map(|k| {
        let levels = stretches.iter().map(|stretch| stretch.samples[k].level);
        levels.max().unwrap_or(0)
    })
}

/// Joins the stretches in pairs. A stretch that does not consist of whole blocks is not joined with
/// the next one.
pub(super) fn join_in_pairs(stretches: &mut Vec<Arc<Stretch>>) {
    let mut all = std::mem::take(stretches).into_iter().peekable();
    while let Some(one) = all.next() {
        let next = all.next_if(|_| one.is_blocks());
        stretches.push(next.map_or_else(|| Arc::clone(&one), |next| Arc::new(one.and(&next))));
    }
}

/// The chunks of a part of a new content.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// The chunks of these stretches of the old content. There is at least one stretch.
    Kept(Range<usize>),
    /// New chunks.
    New(ChunkList),
}

#[cfg(test)]
mod tests;
