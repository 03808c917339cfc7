//! The result of one pass over a file's bytes.
//!
//! A [`Digest`] is all that the pass computes; [`Digester`] makes it.

mod digester;
mod posted;

use std::collections::HashSet;
use std::ops::Range;

pub use digester::{
    Checkpoint, ComparedStretch, ComposedDigest, Digester, LargeDigest, NextStretch, Stretches,
};
pub use posted::{FingerprintEdit, PostedFingerprints};

use crate::ids::{ByteLen, ChunkHash, ContentDigest, Fingerprint, WordsDigest};
use crate::params::Params;
use crate::sample::Signature;
use crate::words;

/// A run of equal consecutive chunks. Almost every run is one chunk. But a hole of a sparse file
/// can be millions of equal chunks, and must cost only one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRun {
    /// MD5 of each chunk of the run.
    pub hash: ChunkHash,
    /// The number of bytes of each chunk of the run.
    pub len: u32,
    /// The number of equal consecutive chunks, at least 1.
    pub count: u64,
    /// True if all bytes of the chunk are equal (zeros, padding). Such a chunk is stored, and
    /// compared with those of other versions, but nominates no file and is no evidence.
    pub constant: bool,
}

impl ChunkRun {
    /// Returns whether this run and the next consist of the same chunk.
    pub fn goes_on_as(&self, next: &Self) -> bool {
        self.hash == next.hash && self.len == next.len
    }

    /// Returns whether a chunk like this can be evidence that two files are related. A chunk of
    /// equal bytes cannot, because padding and holes would relate everything. A chunk of fewer than
    /// 64 bytes is no evidence either: only runs of at least 64 bytes count as shared. A chunk that
    /// is no evidence has no posting, nominates no file and never counts as shared.
    #[inline]
    pub const fn is_evidence(&self) -> bool {
        !self.constant && self.len as usize >= Params::WINDOW
    }
}

/// The chunks of a content in file order; their lengths add up to its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkList(pub Vec<ChunkRun>);

impl ChunkList {
    /// Appends a run of chunks, and joins it with the last run if they have the same chunk.
    pub fn push(&mut self, run: ChunkRun) {
        match self.0.last_mut() {
            Some(last) if last.goes_on_as(&run) => last.count += run.count,
            _ => self.0.push(run),
        }
    }

    /// Counts the equal runs at the beginning of both lists, and then, among the other runs, the
    /// equal runs at the end.
    pub fn common_ends(&self, other: &Self) -> (usize, usize) {
        let same = |(a, b): &(&ChunkRun, &ChunkRun)| a == b;
        let start = self.0.iter().zip(&other.0).take_while(same).count();
        let ends = self.0[start..]
            .iter()
            .rev()
            .zip(other.0[start..].iter().rev());
        (start, ends.take_while(same).count())
    }

    /// Returns the number of equal bytes at the beginning of both contents, and the number at the
    /// end. Counts only whole runs of chunks.
    pub fn common_bytes(&self, other: &Self) -> [ByteLen; 2] {
        let (first, last) = self.common_ends(other);
        let bytes = |runs: &[ChunkRun]| {
            let runs = runs.iter().map(|run| u64::from(run.len) * run.count);
            ByteLen(runs.sum())
        };
        [
            bytes(&self.0[..first]),
            bytes(&self.0[self.0.len() - last..]),
        ]
    }

    /// Returns the ranges of bytes of this content that `other` does not have, in whole runs of
    /// chunks.
    ///
    /// Runs at equal positions in both contents are compared first, so that edits in place cost one
    /// pass. The runs that differ are then looked up by their hash, but only among the differing
    /// runs of `other`. So if one copy of a run is equal in place, a second copy elsewhere is
    /// returned.
    pub fn bytes_unlike(&self, other: &Self) -> Vec<Range<u64>> {
        let mut others = other.positions().peekable();
        let mut moved = HashSet::new();
        let mut unmatched = Vec::new();
        for (start, run) in self.positions() {
            while let Some((_, passed)) = others.next_if(|(at, _)| *at < start) {
                moved.insert(passed.hash);
            }
            if others.next_if_eq(&(start, run)).is_none() {
                unmatched.push((start, run));
            }
        }
        moved.extend(others.map(|(_, run)| run.hash));
        let mut unlike: Vec<Range<u64>> = Vec::new();
        unmatched.retain(|(_, run)| !moved.contains(&run.hash));
        for (start, run) in unmatched {
            let end = start + u64::from(run.len) * run.count;
            match unlike.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => unlike.push(start..end),
            }
        }
        unlike
    }

    /// Appends `next` and leaves it empty. Joins the runs at the seam if they have the same chunk.
    pub fn append(&mut self, next: &mut Self) {
        if self.0.is_empty() {
            std::mem::swap(self, next);
            return;
        }
        let mut runs = next.0.drain(..);
        runs.next().into_iter().for_each(|run| self.push(run));
        self.0.extend(runs);
    }

    /// Counts the chunks, including each repetition.
    pub fn len_chunks(&self) -> u64 {
        self.0.iter().map(|run| run.count).sum()
    }

    /// Returns the number of bytes in all chunks: the size of the content.
    pub fn total_len(&self) -> ByteLen {
        self.0
            .iter()
            .map(|run| ByteLen(u64::from(run.len) * run.count))
            .sum()
    }

    /// Returns the runs with the position of their first byte in the content.
    pub fn positions(&self) -> impl Iterator<Item = (u64, &ChunkRun)> {
        self.0.iter().scan(0, |at, run| {
            let start = *at;
            *at += u64::from(run.len) * run.count;
            Some((start, run))
        })
    }
}

/// The kind of a content. A content with a NUL in its first 8 KiB is binary. Any other content that
/// is not empty is text if it has enough words, else data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// No bytes at all.
    Empty,
    /// No NUL byte in the first 8 KiB, and enough words to be measured in words.
    Text,
    /// No NUL byte in the first 8 KiB, but few words: encoded data, templates full of attributes,
    /// drawings. It is measured in bytes.
    Data,
    /// Anything else.
    Binary,
}

/// All that one pass over a content computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The hash of all bytes, which names the content.
    pub content: ContentDigest,
    /// The size of the content.
    pub size: ByteLen,
    /// Text, data, binary or empty.
    pub kind: ContentKind,
    /// The chunks of the content.
    pub chunks: ChunkList,
    /// The sampled fingerprints. In the digest of a text that was just read, these are the samples
    /// of its shingles for posting lists ([`Params::posted`]). The index stores fewer samples as
    /// the signature ([`Digest::kept`]).
    pub signature: Signature,
    /// Extra fingerprints that have posting lists. They only help to find the content; nothing is
    /// estimated from them. For data that is not encoded, and for texts that are mostly markup,
    /// they are shingles of all words, tags included. For texts whose letters take several bytes,
    /// they are further shingles of the text.
    pub besides: Vec<Fingerprint>,
    /// The digest of the content's words, if the content is a text with enough words:
    /// [`Shingled::words`](crate::words::Shingled).
    pub words: Option<WordsDigest>,
}

/// An edit of a chunk list: some runs, and the runs that replace them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkEdit {
    /// The replaced runs of the old list, by number. Numbers beyond the end of the list are
    /// ignored.
    pub runs: Range<u64>,
    /// The runs that replace them.
    pub by: ChunkList,
}

impl ChunkEdit {
    /// Returns whether the edit changes nothing.
    pub fn is_none(&self) -> bool {
        self.runs.is_empty() && self.by.0.is_empty()
    }
}

/// The digest of a content that is mostly equal to another one. It lacks the chunks that both
/// contents have. There are millions of such chunks if a log of gigabytes gets a new line, or if
/// one block of an image is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedDigest {
    /// The other content.
    pub base: ContentDigest,
    /// The edits that turn the chunks of `base` into those of this content, in order; no two of
    /// them touch. A run that grew because an equal chunk was inserted next to it is replaced as
    /// well.
    pub edits: Vec<ChunkEdit>,
    /// The edit that turns the posted fingerprints of `base` into those of this content. `None` if
    /// the edit is not known: all fingerprints may differ.
    pub fingerprints: Option<FingerprintEdit>,
    /// The digest of this content. Its list of chunks is empty; [`Self::whole`] fills it.
    pub digest: Box<Digest>,
}

impl EditedDigest {
    /// Returns the digest with all chunks. `base` must be the chunks of the other content. Returns
    /// `None` if the lengths of the resulting chunks do not add up to the size of this content.
    pub fn whole(self, base: &ChunkList) -> Option<Box<Digest>> {
        let mut digest = self.digest;
        digest.complete(base, self.edits).then_some(digest)
    }
}

/// The part of a content's digest that comparisons need.
#[derive(Clone, Copy, Debug)]
pub struct Sketch<'a> {
    /// The size of the content.
    pub size: ByteLen,
    /// The chunks of the content.
    pub chunks: &'a ChunkList,
    /// The signature of the content.
    pub signature: &'a Signature,
}

impl Digest {
    /// Returns the digest of bytes in memory. For many small files one after another,
    /// [`Digester::digest`] saves the setup.
    pub fn of(bytes: &[u8], params: &Params) -> Self {
        Digester::new(params).digest(bytes)
    }

    /// Sets the chunks to those of `base` after these edits. Returns `false` if the length of all
    /// chunks is not the size of the content.
    pub fn complete(&mut self, base: &ChunkList, edits: Vec<ChunkEdit>) -> bool {
        let all = base.0.len();
        let in_list = |run: u64| usize::try_from(run).unwrap_or(all).min(all);
        let (mut chunks, mut kept_to) = (ChunkList::default(), 0);
        for mut edit in edits {
            let from = in_list(edit.runs.start).max(kept_to);
            chunks.0.extend_from_slice(&base.0[kept_to..from]);
            chunks.append(&mut edit.by);
            kept_to = in_list(edit.runs.end).max(from);
        }
        chunks.0.extend_from_slice(&base.0[kept_to..]);
        self.chunks = chunks;
        self.chunks.total_len() == self.size
    }

    /// Returns the signature that the index stores.
    pub fn kept(&self, params: &Params) -> Signature {
        match self.kind {
            ContentKind::Text => self.signature.thinned(&params.shingles),
            _ => self.signature.clone(),
        }
    }

    /// Returns all fingerprints of the content that have posting lists.
    pub fn posted(&self) -> impl Iterator<Item = Fingerprint> + '_ {
        let signature = self.signature.fingerprints.iter();
        signature.chain(&self.besides).copied()
    }

    /// Returns the part that comparisons need.
    pub const fn sketch(&self) -> Sketch<'_> {
        Sketch {
            size: self.size,
            chunks: &self.chunks,
            signature: &self.signature,
        }
    }
}

impl ContentKind {
    /// Returns the number by which indexes and catalogues store a kind: 0 empty, 1 text, 2 binary,
    /// 3 data.
    pub const fn number(self) -> u8 {
        match self {
            Self::Empty => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Data => 3,
        }
    }

    /// Returns the kind with this number, or `None` if no kind has it.
    pub const fn of_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Empty),
            1 => Some(Self::Text),
            2 => Some(Self::Binary),
            3 => Some(Self::Data),
            _ => None,
        }
    }

    /// Returns whether the content has lines: it is not empty, and its first 8 KiB have no NUL
    /// byte.
    pub const fn has_lines(self) -> bool {
        matches!(self, Self::Text | Self::Data)
    }

    /// Returns the kind of a whole content.
    pub fn of_whole(bytes: &[u8]) -> Self {
        match Self::of(bytes) {
            Self::Text if !words::is_text(bytes) => Self::Data,
            kind => kind,
        }
    }

    /// The number of bytes at the start of a content that decide whether it is binary.
    pub const LOOKED_AT: usize = 8 << 10;

    /// Returns the kind of a content by its first [`Self::LOOKED_AT`] bytes, or by all bytes if it
    /// is shorter. Never returns [`Self::Data`], because only the words distinguish data from text.
    pub fn of(head: &[u8]) -> Self {
        let head = &head[..head.len().min(Self::LOOKED_AT)];
        if head.is_empty() {
            Self::Empty
        } else if head.contains(&0) {
            Self::Binary
        } else {
            Self::Text
        }
    }
}

#[cfg(test)]
mod tests;
