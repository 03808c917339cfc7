//! Records the state of a large content by stretches while it is digested. Known stretches need not
//! be digested again. [`super::stretches`] defines a stretch.
//!
//! ```text
//! first reading              keep_stretches, update ..., finish_large
//! the content has changed    revise; while next_stretch is
//!                              Compare: begin_comparing, its update ..., compare
//!                              Digest: begin_stretch, update ..., end_revised
//!                            finish_large
//! ```
//!
//! While stretches are recorded, the digester has only the sums of the current stretch. At the end
//! it adds the sums of all stretches. It is then in the same state as a digester that recorded no
//! stretches.

use std::mem;
use std::sync::Arc;

use super::Digester;
use super::revised::Revised;
use super::stretches::{Piece, RunSpan, SPARE, Standing, Stretch, StretchSample, join_in_pairs};
use crate::digest::ChunkList;
use crate::hash::content::{BLOCK, ContentHasher};
use crate::params::SamplingParams;
use crate::sample::Sampler;
use crate::words::WordSums;

/// The length of a stretch in bytes, before any stretches are joined. Digesting such a stretch
/// takes about 20 ms.
const LENGTH: u64 = 8 << 20;

/// The number of stretches at which every two neighbours are joined to one. A stretch takes about 4
/// KB, and the memory of its samples.
pub(super) const MOST: usize = 256;

/// The state of the stretches so far.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    pub(super) stretches: Vec<Arc<Stretch>>,
    pub(super) pieces: Vec<Piece>,
    /// The start and the end of the current stretch.
    pub(super) from: u64,
    pub(super) until: u64,
    /// The length of a stretch in bytes.
    pub(super) length: u64,
    /// The number of stretches at which neighbours are joined.
    pub(super) most: usize,
    /// The samples of all stretches together. Their level is the level of the next stretch.
    pub(super) samples: Option<[Sampler; 2]>,
    /// The hash of the bytes of all stretches so far.
    pub(super) content: ContentHasher,
    /// True if some stretch begins within a block of the content. The content is then hashed
    /// separately from the stretches.
    pub(super) hashes_twice: bool,
    pub(super) beginning: Option<Arc<Digester>>,
    pub(super) revised: Option<Revised>,
}

/// Returns the sampling for all stretches together. The sampling begins at `level`. Its cap is more
/// than twice the cap of `params`, the sampling of the content.
const fn wide(params: &SamplingParams, level: u8) -> SamplingParams {
    let most = match params.cap {
        0 => 0,
        cap => cap.saturating_mul(2).saturating_add(SPARE),
    };
    SamplingParams::at(level, most)
}

impl Recorder {
    pub(super) fn new(revised: Option<Revised>, length: u64, most: usize) -> Self {
        Self {
            most,
            stretches: Vec::new(),
            pieces: Vec::new(),
            from: 0,
            until: length,
            length,
            samples: None,
            content: ContentHasher::new(),
            hashes_twice: false,
            beginning: None,
            revised,
        }
    }

    /// Adds an unchanged stretch. `number` is its number in the old content.
    pub(super) fn push_known(&mut self, stretch: Arc<Stretch>, number: usize) {
        match self.pieces.last_mut() {
            Some(Piece::Kept(kept)) => kept.end = number + 1,
            _ => self.pieces.push(Piece::Kept(number..number + 1)),
        }
        self.push(stretch);
    }

    /// Adds a new stretch. Moves its chunks out of `chunks`, whose memory may be reused.
    fn push_new(&mut self, stretch: Arc<Stretch>, chunks: &mut ChunkList) {
        match self.pieces.last_mut() {
            Some(Piece::New(all)) => all.append(chunks),
            _ => self.pieces.push(Piece::New(mem::take(chunks))),
        }
        self.push(stretch);
    }

    fn push(&mut self, stretch: Arc<Stretch>) {
        self.from += stretch.len;
        self.until = self.from + self.length;
        self.stretches.push(stretch);
        if self.revised.is_none() && self.stretches.len() >= self.most {
            self.join_in_pairs();
        }
    }

    pub(super) fn join_in_pairs(&mut self) {
        join_in_pairs(&mut self.stretches);
        self.length *= 2;
        self.until = self.from + self.length;
    }

    /// Returns the least levels at which the next stretch is sampled: for its samples, and for its
    /// extra shingles.
    pub(super) fn levels(&self) -> [u8; 2] {
        let known = self.revised.as_ref().map(|revised| revised.known.levels());
        let all = self
            .samples
            .as_ref()
            .map(|all| [all[0].level(), all[1].level()]);
        all.or(known).unwrap_or_default()
    }
}

impl Digester {
    /// Begins a content whose stretches are recorded.
    pub fn keep_stretches(&mut self) {
        self.keep_stretches_of(LENGTH, MOST);
    }

    /// Like [`Self::keep_stretches`], with at most `most` stretches, of `length` bytes at first.
    pub(crate) fn keep_stretches_of(&mut self, length: u64, most: usize) {
        self.begin_first();
        self.recorder = Some(Box::new(Recorder::new(None, length, most)));
    }

    /// Prepares for the first stretch.
    pub(super) fn begin_first(&mut self) {
        self.reset();
        self.content = ContentHasher::keeping_blocks();
        self.sample_widely(None, [0; 2]);
    }

    /// Returns how many of the next bytes belong to the current stretch. A full stretch is ended
    /// first.
    pub(super) fn room(&mut self, next: u64) -> u64 {
        let is_full = |recorder: &Recorder| self.position() >= recorder.until;
        if self.recorder.as_deref().is_some_and(is_full) {
            self.end_stretch();
        }
        match self.recorder.as_deref() {
            Some(recorder) => next.min(recorder.until - self.position()),
            None => next,
        }
    }

    /// Like [`Self::room`], but for zeros. Any number of whole blocks of zeros becomes one stretch.
    pub(super) fn room_for_zeros(&mut self, next: u64) -> u64 {
        let room = self.room(next);
        let position = self.position();
        match self.recorder.as_deref_mut() {
            Some(recorder) if room < next && position == recorder.from => {
                recorder.until = position + next / BLOCK * BLOCK;
                next / BLOCK * BLOCK
            }
            _ => room,
        }
    }

    /// Hashes bytes a second time for the whole content, if the blocks of the stretches are not the
    /// blocks of the content.
    pub(super) fn hash_content(&mut self, hash: impl FnOnce(&mut ContentHasher)) {
        if let Some(recorder) = self.recorder.as_deref_mut()
            && recorder.hashes_twice
        {
            hash(&mut recorder.content);
        }
    }

    pub(super) fn forget_stretches(&mut self) {
        if self.recorder.take().is_some() {
            self.sample_as_usual(None);
        }
    }

    /// From here on, takes samples as if no stretches were recorded. `from` has the beginning of
    /// the content, and the levels at which the samples begin.
    pub(super) fn sample_as_usual(&mut self, from: Option<(&Self, [u8; 2])>) {
        let of_any_text = self.posted.of_any_text();
        let (text, levels) = from.map_or((true, [0; 2]), |(beginning, levels)| {
            (beginning.kind.is_text(false), levels)
        });
        let level = |of_text: bool, k: usize| if of_text == text { levels[k] } else { 0 };
        self.texts = Sampler::at_level(&of_any_text, level(true, 0));
        self.more = Sampler::at_level(&of_any_text, level(true, 1));
        self.sampler = Sampler::at_level(&self.windows, level(false, 0));
    }

    /// Reduces the dense samples taken so far to the usual samples.
    pub(super) fn sample_as_before(&mut self) {
        let of_any_text = self.posted.of_any_text();
        let usual = |wide: &mut Sampler, params: &SamplingParams| {
            let pushed = wide.pushed();
            let all = wide.take();
            let mut usual = Sampler::at_level(params, all.level);
            all.fingerprints
                .into_iter()
                .for_each(|sample| usual.push(sample));
            usual.set_pushed(pushed);
            *wide = usual;
        };
        usual(&mut self.texts, &of_any_text);
        usual(&mut self.more, &of_any_text);
        usual(&mut self.sampler, &self.windows);
    }

    /// Returns whether contents of this kind have stretches. The beginning of the content shows the
    /// kind.
    fn has_stretches(&self) -> bool {
        if self.kind.is_text(false) {
            self.texts.samples() && self.shingler.is_in_words()
        } else {
            self.kind.nul && self.sampler.samples() && self.code.is_none()
        }
    }

    /// Ends the current stretch and records it. If contents of this kind have no stretches, ends
    /// the recording instead.
    pub(super) fn end_stretch(&mut self) {
        let Some(mut recorder) = self.recorder.take() else {
            return;
        };
        let is_first = recorder.stretches.is_empty();
        if is_first && !self.has_stretches() {
            self.content.forget_blocks();
            return self.sample_as_before();
        }
        self.hash(&[], true);
        let is_text = self.kind.is_text(false);
        let words = if is_text {
            self.shingler.take_sums()
        } else {
            WordSums::default()
        };
        let samples = self.take_samples(is_text);
        let content = mem::replace(&mut self.content, ContentHasher::keeping_blocks());
        let mut chunks = mem::take(&mut self.chunks);
        let stretch = Stretch {
            len: self.position() - recorder.from,
            blocks: content.blocks(),
            runs: RunSpan::of(&chunks),
            words,
            samples,
            end: Arc::new(self.standing()),
        };
        if !recorder.hashes_twice {
            recorder.content.extend(content);
        }
        let levels = self.level_behind(&mut recorder, &stretch);
        self.sample_widely(Some(is_text), levels);
        if is_first {
            recorder.beginning = Some(Arc::new(self.clone()));
        }
        recorder.push_new(Arc::new(stretch), &mut chunks);
        self.chunks = chunks;
        self.recorder = Some(recorder);
    }

    /// Returns the levels at which the stretches after `stretch` are sampled.
    fn level_behind(&self, recorder: &mut Recorder, stretch: &Stretch) -> [u8; 2] {
        if recorder.revised.is_some() {
            let known = recorder.levels();
            return [0, 1].map(|k| known[k].max(stretch.samples[k].level));
        }
        let params = if self.kind.is_text(false) {
            [self.posted.of_any_text(); 2]
        } else {
            [self.windows; 2]
        };
        let all = recorder.samples.get_or_insert_with(|| {
            [0, 1].map(|k| Sampler::new(&wide(&params[k], params[k].least_level)))
        });
        for (all, these) in all.iter_mut().zip(&stretch.samples) {
            all.raise(these.level);
            these.iter().for_each(|sample| all.push(sample));
            all.keep_waiting();
        }
        recorder.levels()
    }

    /// Prepares dense samples of the next stretch: as text, as binary, or as both if the kind is
    /// not known.
    fn sample_widely(&mut self, is_text: Option<bool>, levels: [u8; 2]) {
        let begin = |sampler: &mut Sampler, params: &SamplingParams, level: u8| {
            sampler.begin(&wide(params, level.max(params.least_level)));
        };
        if is_text != Some(false) {
            let params = self.posted.of_any_text();
            begin(&mut self.texts, &params, levels[0]);
            begin(&mut self.more, &params, levels[1]);
        }
        if is_text != Some(true) {
            begin(&mut self.sampler, &self.windows, levels[0]);
        }
    }

    fn take_samples(&mut self, is_text: bool) -> [StretchSample; 2] {
        let take = |sampler: &mut Sampler| {
            let pushed = sampler.pushed();
            let signature = sampler.take();
            let samples = signature.fingerprints.iter();
            StretchSample {
                level: signature.level,
                fingerprints: samples.map(|sample| sample.0 as u32).collect(),
                pushed,
            }
        };
        if is_text {
            [take(&mut self.texts), take(&mut self.more)]
        } else {
            [take(&mut self.sampler), StretchSample::default()]
        }
    }

    /// Returns the state of the digester. All complete chunks must have been hashed.
    fn standing(&self) -> Standing {
        let is_text = self.kind.is_text(false);
        Standing {
            chunker: self.chunker.standing(),
            under_way: self.kept.as_slice().into(),
            words: is_text.then(|| self.shingler.standing()),
        }
    }

    /// Restores the state at the end of a stretch. `at` is that state, and `position` is the end of
    /// the stretch. `beginning` is the digester after the first stretch of the content.
    pub(super) fn stand(
        &mut self,
        beginning: &Self,
        at: &Standing,
        (position, levels): (u64, [u8; 2]),
    ) {
        self.clone_from(beginning);
        self.chunker.go_on(position, &at.chunker);
        if let Some(words) = &at.words {
            self.shingler.go_on(words);
        }
        self.kept.clear();
        self.kept.extend_from_slice(&at.under_way);
        self.kept_from = position - at.under_way.len() as u64;
        self.content = ContentHasher::keeping_blocks();
        self.sample_widely(Some(at.words.is_some()), levels);
    }
}
