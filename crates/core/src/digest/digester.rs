//! One pass over a content.

mod composing;
mod kind;
mod recording;
mod revised;
mod revising;
mod stretches;

use std::mem;

pub use self::composing::{ComposedDigest, LargeDigest};
pub use self::revising::{ComparedStretch, NextStretch};
pub use self::stretches::Stretches;

use smallvec::SmallVec;

use self::kind::KindFinder;
use self::recording::Recorder;
use crate::chunk::{Chunker, Cut};
use crate::code::CodeSampler;
use crate::digest::{ChunkEdit, ChunkList, ChunkRun, ContentKind, Digest, EditedDigest};
use crate::hash::content::ContentHasher;
use crate::hash::md5::Md5Digest;
use crate::hash::md5_many;
use crate::ids::{ByteLen, ChunkHash, ContentDigest, Fingerprint, WordsDigest};
use crate::params::{Params, SamplingParams};
use crate::sample::{Sampler, Signature};
use crate::words::{Shingled, Shingler, without_line_ends};

/// Makes the [`Digest`] of bytes that arrive in pieces of any size.
///
/// # Data flow
///
/// 1. Bytes are processed in blocks of `BLOCK` bytes. A block is scanned for cuts and samples, and
///    is hashed as a part of the whole content. Its chunks are hashed while their bytes are still
///    in the processor's cache.
/// 2. MD5 is fastest on many chunks at a time. Chunks stay pending until they have `BATCH` bytes in
///    total, or until the content ends. A small file is one batch.
/// 3. A chunk is hashed where its bytes are: in the caller's block if the block has the whole
///    chunk, and in `kept` only if the chunk began in an earlier block. So large pieces are hardly
///    copied.
/// 4. All memory is reused for the next file. Even after a large file, a digester allocates for a
///    small file only the memory of the small file's digest.
///
/// Invariant between calls: `kept` has the bytes from `kept_from` up to the position. All pending
/// chunks and the current chunk are in it.
#[derive(Clone, Debug)]
pub struct Digester {
    chunker: Chunker,
    sampler: Sampler,
    shingler: Shingler,
    /// The result of `shingler`, if the whole content arrived at once.
    shingled: Option<Shingled>,
    /// The chunker that scans encoded data after its line ends are removed.
    joined: Chunker,
    encoded: Sampler,
    /// The sampler of a text's shingles for posting lists. The signature of the text is a part of
    /// these samples.
    texts: Sampler,
    posted: SamplingParams,
    /// The sampler of extra shingles, for texts whose letters take several bytes.
    more: Sampler,
    /// The shingler of all words of HTML and XML, tags included. It is used while the content may
    /// still turn out to be mostly tags.
    plain: Shingler,
    tags: Sampler,
    code: CodeSampler,
    /// The sampler of machine code. It makes the signature of an executable.
    codes: Sampler,
    content: ContentHasher,
    kind: KindFinder,
    /// True if the whole content arrives at once.
    whole: bool,
    kept: Vec<u8>,
    kept_from: u64,
    /// Complete chunks that are not hashed yet, in order; each element is exactly one chunk.
    pending: Vec<Cut>,
    hashes: Vec<Md5Digest>,
    /// The number of runs of the resumed content before those in `chunks`.
    runs_before: u64,
    chunks: ChunkList,
    /// The sampling of windows.
    windows: SamplingParams,
    /// The recorder of stretches, if stretches are recorded.
    recorder: Option<Box<Recorder>>,
}

/// The state of a [`Digester`] at a position in a content. If the file has grown,
/// [`Digester::resume`] continues at this position, and only the new bytes are scanned. Of the
/// chunks before the position, only the last run is here, because the next bytes may extend it.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    digester: Box<Digester>,
}

impl Checkpoint {
    /// Returns the number of bytes before the checkpoint.
    pub const fn position(&self) -> u64 {
        self.digester.position()
    }

    /// Estimates the bytes of memory that the checkpoint takes.
    pub fn bytes(&self) -> usize {
        self.digester.kept.capacity() + Self::USUAL
    }

    /// The usual memory of a checkpoint without `kept`: three scans, and the samples of a large
    /// text. The measured value is 1.4 MB.
    const USUAL: usize = 3 << 19;
}

/// The kind of a content and its samples.
struct Sampled {
    kind: ContentKind,
    signature: Signature,
    besides: Vec<Fingerprint>,
    words: Option<WordsDigest>,
}

/// The number of bytes that are scanned and hashed in one go.
const BLOCK: usize = 256 << 10;

/// The number of bytes of a content that are scanned before the level of its samples may rise.
const FIRST_PIECE: u64 = 4 << 10;

/// The number of bytes of pending chunks at which a batch is hashed: about 130 chunks of the usual
/// size. This number is half a block, so that a whole block never waits for the next one.
const BATCH: usize = BLOCK / 2;

/// The maximum number of chunks whose bytes are collected without an allocation, because threads
/// contend for the allocator. Most files have no more chunks.
const FEW_CHUNKS: usize = 64;

impl Digester {
    /// Makes a digester at the start of a content.
    pub fn new(params: &Params) -> Self {
        Self {
            chunker: Chunker::sampling(params),
            sampler: Sampler::new(&params.sampling),
            shingler: Shingler::new(),
            shingled: None,
            joined: Chunker::sampling(params),
            encoded: Sampler::new(&params.sampling),
            texts: Sampler::new(&params.posted.of_any_text()),
            posted: params.posted,
            more: Sampler::new(&params.posted.of_any_text()),
            plain: Shingler::plain(),
            tags: Sampler::new(&params.posted.of_any_text()),
            code: CodeSampler::new(params),
            codes: Sampler::new(&params.sampling),
            content: ContentHasher::new(),
            kind: KindFinder::default(),
            whole: false,
            kept: Vec::new(),
            kept_from: 0,
            pending: Vec::new(),
            hashes: Vec::new(),
            runs_before: 0,
            chunks: ChunkList::default(),
            windows: params.sampling,
            recorder: None,
        }
    }

    /// Returns the number of bytes taken since the start of the content.
    pub const fn position(&self) -> u64 {
        self.chunker.position()
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = self.room(rest.len() as u64) as usize;
            let (now, behind) = rest.split_at(room);
            self.hash_content(|content| content.update(now));
            for block in now.chunks(BLOCK) {
                self.scan(block);
                self.content.update(block);
                self.hash(block, self.pending_len() >= BATCH);
            }
            rest = behind;
        }
    }

    /// Takes `count` zero bytes: a hole of a sparse file. The result is that of [`Self::update`]
    /// with `count` zeros. Zeros beyond a few chunks cost neither time nor memory.
    pub fn update_zeros(&mut self, count: u64) {
        let mut left = count;
        while left > 0 {
            let room = self.room_for_zeros(left);
            self.hash_content(|content| content.update_zeros(room));
            self.take_zeros(room);
            left -= room;
        }
    }

    fn take_zeros(&mut self, count: u64) {
        let from = self.position();
        self.kind.update_zeros(count);
        // Zeros only separate words, so one would be enough. But the first `DECIDED` bytes of a
        // text decide how its words are read, so up to `DECIDED` zeros are passed on.
        let mut decides = count.clamp(1, Shingler::DECIDED as u64) as usize;
        while decides > 0 {
            let zeros = decides.min(1 << 10);
            self.words(&[0; 1 << 10][..zeros]);
            decides -= zeros;
        }
        let Self { code, codes, .. } = self;
        code.update_zeros(count, &mut |sample| codes.push(sample));
        self.content.update_zeros(count);
        let Self {
            chunker,
            sampler,
            pending,
            ..
        } = self;
        let mut hole = None;
        chunker.scan_zeros(
            count,
            &mut |cut| {
                if cut.count > 1 {
                    hole = Some(cut);
                } else {
                    pending.push(cut);
                }
            },
            &mut |sample| sampler.push(sample),
        );
        let Some(hole) = hole else {
            self.keep_zeros(count);
            return self.hash(&[], self.pending_len() >= BATCH);
        };
        // The chunks of the hole are the last complete ones, and the pending chunks end where the
        // hole starts. The pending chunks are hashed now, and `kept` skips the hole. So only a few
        // chunks of zeros are ever buffered.
        self.keep_zeros(hole.start - from);
        self.flush(&[]);
        self.push_hole(hole);
        self.kept.clear();
        self.kept_from = hole.end();
        self.keep_zeros(self.position() - hole.end());
    }

    /// Returns the digest of the bytes taken. The digester is then at the start of another content.
    pub fn finish(&mut self) -> Digest {
        let content = mem::take(&mut self.content).finish();
        self.finish_with(&[], content)
    }

    /// Returns the digest of a whole content in memory. Drops the bytes taken before.
    ///
    /// The result is that of [`Self::update`] and [`Self::finish`], but one copy of the bytes is
    /// saved.
    pub fn digest(&mut self, bytes: &[u8]) -> Digest {
        self.reset();
        let last = bytes.len() - bytes.len().min(BLOCK);
        self.whole = last == 0;
        self.update(&bytes[..last]);
        self.scan(&bytes[last..]);
        self.content.update(&bytes[last..]);
        let content = mem::take(&mut self.content).finish();
        self.finish_with(&bytes[last..], content)
    }

    /// Returns the digest of bytes whose content digest is known to be `content`. If the bytes fit
    /// into one block, their content digest is not computed again.
    pub fn digest_named(&mut self, bytes: &[u8], content: ContentDigest) -> Digest {
        if bytes.len() > BLOCK {
            return self.digest(bytes);
        }
        self.reset();
        self.whole = true;
        self.scan(bytes);
        self.finish_with(bytes, content)
    }

    /// Returns the state, from which a digester can resume when more bytes have arrived. This
    /// digester itself can also continue.
    pub fn checkpoint(&mut self) -> Checkpoint {
        // The chunks stay with the content that ends here, because they take most of the memory.
        // Only the last run is copied, because the next bytes may extend it.
        let chunks = mem::take(&mut self.chunks);
        let mut digester = Box::new(self.clone());
        if let Some((&last, before)) = chunks.0.split_last() {
            digester.chunks.push(last);
            digester.runs_before += before.len() as u64;
        }
        self.chunks = chunks;
        Checkpoint { digester }
    }

    /// Resumes from a checkpoint and drops the bytes taken before. [`Self::finish_grown`] then
    /// returns the digest, based on the content that ended at the checkpoint.
    pub fn resume(&mut self, checkpoint: &Checkpoint) {
        self.clone_from(&checkpoint.digester);
    }

    /// Returns the digest of the bytes taken, based on `base`: the content whose end was the
    /// checkpoint that this digester resumed from. The digester is then at the start of another
    /// content.
    pub fn finish_grown(&mut self, base: ContentDigest) -> EditedDigest {
        let runs = self.runs_before..u64::MAX;
        let mut digest = Box::new(self.finish());
        let by = mem::take(&mut digest.chunks);
        EditedDigest {
            base,
            edits: vec![ChunkEdit { runs, by }],
            fingerprints: None,
            digest,
        }
    }

    /// Drops the bytes taken and keeps the memory.
    pub fn reset(&mut self) {
        self.forget_stretches();
        self.chunker.reset();
        self.sampler.reset();
        self.shingler.reset();
        self.shingled = None;
        self.joined.reset();
        self.encoded.reset();
        self.texts.reset();
        self.more.reset();
        self.plain.reset();
        self.tags.reset();
        self.code.reset();
        self.codes.reset();
        self.content = ContentHasher::new();
        self.kind = KindFinder::default();
        self.whole = false;
        self.kept.clear();
        self.kept_from = 0;
        self.pending.clear();
        self.runs_before = 0;
        self.chunks.0.clear();
    }

    /// Finds the chunks and samples that end in `block`.
    fn scan(&mut self, block: &[u8]) {
        self.kind.update(block);
        self.words(block);
        if self.codes.samples() {
            let Self { code, codes, .. } = self;
            code.update(block, &mut |sample| codes.push(sample));
        }
        if self.whole && self.samples_words() {
            let shingled = self.finish_words();
            if shingled.is_mostly_markup {
                self.all_words(block);
            }
            self.shingled = Some(shingled);
        }
        self.sample_joined(block);
        let windows = self.sampler.samples() && !self.is_text();
        let Self {
            chunker,
            sampler,
            pending,
            ..
        } = self;
        if !windows {
            // A text is sampled by words, and if the cap is 0, nothing is sampled. So only chunks
            // are needed here.
            return chunker.update(block, &mut |cut| pending.push(cut));
        }
        let mut rest = block;
        while !rest.is_empty() {
            // The level rises by one whenever the position doubles. A piece is not longer than all
            // bytes before it, so few samples of the piece are dropped later.
            let piece = chunker.position().max(FIRST_PIECE).min(rest.len() as u64);
            let (piece, behind) = rest.split_at(piece as usize);
            chunker.raise_level(sampler.level());
            chunker.scan(piece, &mut |cut| pending.push(cut), &mut |sample| {
                sampler.push(sample);
            });
            rest = behind;
        }
    }

    /// Returns whether the content is known to be text that is measured in words.
    fn is_text(&self) -> bool {
        let shingled = self.shingled.map(|shingled| shingled.is_text);
        self.kind.is_text(self.whole)
            && (!self.texts.samples() || shingled.or(self.shingler.is_text()) == Some(true))
    }

    /// Samples the windows of a content that is encoded data, or may still turn out to be encoded
    /// data.
    fn sample_joined(&mut self, block: &[u8]) {
        let known = self.shingled.map(|shingled| shingled.is_encoded);
        let is_encoded = known.or(self.shingler.is_encoded()).unwrap_or(true);
        if !self.samples_words() || !self.encoded.samples() || !is_encoded {
            return;
        }
        let Self {
            joined, encoded, ..
        } = self;
        joined.raise_level(encoded.level());
        joined.scan(&without_line_ends(block), &mut |_| (), &mut |sample| {
            encoded.push(sample);
        });
    }

    /// Returns whether shingles are sampled.
    const fn samples_words(&self) -> bool {
        !self.kind.nul && self.texts.samples()
    }

    /// Samples the shingles of a text. Zeros separate words; a thousand zeros have the effect of
    /// one.
    fn words(&mut self, bytes: &[u8]) {
        if !self.samples_words() {
            return;
        }
        let Self {
            shingler,
            texts,
            more,
            ..
        } = self;
        shingler.want(texts.level());
        shingler.update(bytes, &mut |sample| texts.push(sample));
        texts.leave_out(shingler.take_left_out());
        shingler.besides().for_each(|sample| more.push(sample));
        if !self.whole && self.shingler.may_be_mostly_markup() {
            self.all_words(bytes);
        }
    }

    /// Samples the shingles of all words, markup included.
    fn all_words(&mut self, bytes: &[u8]) {
        let Self { plain, tags, .. } = self;
        plain.update(bytes, &mut |sample| tags.push(sample));
        plain.besides().for_each(drop);
    }

    /// Ends the words, samples the last shingles, and returns the result.
    fn finish_words(&mut self) -> Shingled {
        let Self {
            shingler,
            texts,
            more,
            ..
        } = self;
        let shingled = shingler.finish(&mut |sample| texts.push(sample));
        texts.leave_out(shingler.take_left_out());
        shingler.besides().for_each(|sample| more.push(sample));
        shingled
    }

    /// Returns the kind of the content, its samples and the digest of its words. A text is sampled
    /// by shingles, code by its instructions without distances, and anything else by windows.
    fn sampled(&mut self) -> Sampled {
        let kind = self.kind.finish();
        if kind != ContentKind::Text {
            let Self { code, codes, .. } = self;
            code.finish(&mut |sample| codes.push(sample));
            let signature = if code.is_code() {
                codes.take()
            } else {
                self.sampler.take()
            };
            return Sampled {
                kind,
                signature,
                besides: Vec::new(),
                words: None,
            };
        }
        let shingled = match self.shingled.take() {
            Some(shingled) => shingled,
            None => self.finish_words(),
        };
        let posted = self.posted.of_text(shingled.continued);
        let shingles = self.texts.take_text(&posted);
        let with_tags = shingled.is_mostly_markup.then(|| {
            let Self { plain, tags, .. } = self;
            plain.finish(&mut |sample| tags.push(sample));
            tags.take_thinned(&posted)
        });
        let more = self.more.take_thinned(&posted);
        let mut besides = shingled.besides(&shingles, more, with_tags);
        let is_text = shingled.is_text || !self.texts.samples();
        let signature = if is_text {
            shingles
        } else {
            let windows = if shingled.is_encoded {
                &mut self.encoded
            } else {
                &mut self.sampler
            };
            let windows = windows.take();
            besides.retain(|sample| !windows.fingerprints.contains(sample));
            windows
        };
        Sampled {
            kind: if is_text { kind } else { ContentKind::Data },
            signature,
            besides,
            words: shingled.words.filter(|_| is_text),
        }
    }

    fn pending_len(&self) -> usize {
        self.pending
            .first()
            .map_or(0, |first| (self.chunker.start() - first.start) as usize)
    }

    /// Processes `block`: the bytes up to the position that are not in `kept` yet. If `time` is
    /// true, hashes the pending chunks. Then adds to `kept` the bytes that are needed later.
    fn hash(&mut self, block: &[u8], time: bool) {
        let mut block = block;
        if time {
            self.flush(block);
            let start = self.chunker.start();
            let block_from = self.position() - block.len() as u64;
            if start >= block_from {
                self.kept.clear();
                block = &block[(start - block_from) as usize..];
            } else {
                // The current chunk began in `kept` and did not end in the block. So the chunk has
                // the whole block.
                self.kept.drain(..(start - self.kept_from) as usize);
            }
            self.kept_from = start;
        }
        self.kept.extend_from_slice(block);
    }

    /// Adds zeros to `kept`. They arrived as a number and not as bytes.
    fn keep_zeros(&mut self, count: u64) {
        self.kept.resize(self.kept.len() + count as usize, 0);
    }

    /// Hashes all pending chunks; `block` has the bytes after those in `kept`. Afterwards the
    /// bytes of a chunk that began in `kept` and ended in `block` are in `kept`, too.
    fn flush(&mut self, block: &[u8]) {
        let block_from = self.kept_from + self.kept.len() as u64;
        if let Some(seam) = self.pending.iter().rfind(|cut| cut.start < block_from)
            && seam.end() > block_from
        {
            self.kept
                .extend_from_slice(&block[..(seam.end() - block_from) as usize]);
        }
        let (kept, kept_from) = (&self.kept, self.kept_from);
        let bytes_of = |cut: &Cut| {
            let (bytes, from) = if cut.start < block_from {
                (&kept[..], kept_from)
            } else {
                (block, block_from)
            };
            &bytes[(cut.start - from) as usize..(cut.end() - from) as usize]
        };
        let messages: SmallVec<[&[u8]; FEW_CHUNKS]> = self.pending.iter().map(bytes_of).collect();
        self.hashes.clear();
        md5_many(&messages, &mut self.hashes);
        for (bytes, &hash) in messages.iter().zip(&self.hashes) {
            let run = ChunkRun {
                hash: ChunkHash(hash),
                len: bytes.len() as u32,
                count: 1,
                constant: constant(bytes),
            };
            self.chunks.push(run);
        }
        self.pending.clear();
    }

    fn push_hole(&mut self, hole: Cut) {
        let zeros = vec![0; hole.len as usize];
        self.hashes.clear();
        md5_many(&[&zeros], &mut self.hashes);
        for &hash in &self.hashes {
            self.chunks.push(ChunkRun {
                hash: ChunkHash(hash),
                len: hole.len,
                count: hole.count,
                constant: true,
            });
        }
    }

    /// Returns the digest. `block` has the last bytes, which are scanned but not in `kept`.
    fn finish_with(&mut self, block: &[u8], content: ContentDigest) -> Digest {
        debug_assert!(self.recorder.is_none(), "stretches are put together first");
        let size = ByteLen(self.position());
        let Self {
            chunker, pending, ..
        } = self;
        chunker.finish(&mut |cut| pending.push(cut));
        self.flush(block);
        let sampled = self.sampled();
        let digest = Digest {
            content,
            size,
            kind: sampled.kind,
            chunks: ChunkList(self.chunks.0.as_slice().into()),
            signature: sampled.signature,
            besides: sampled.besides,
            words: sampled.words,
        };
        self.reset();
        digest
    }
}

/// Returns whether all bytes are equal.
fn constant(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| Some(byte) == bytes.first())
}
