//! Who may resemble whom: candidates by posting lists, and what counts as boilerplate.
//!
//! A content is nominated by a chunk or by fingerprints that it has in common with the subject.
//! What more than the limit (1,000) of the contents in question have nominates nobody, and is left
//! out of both files when the pair is measured, so that a licence header is neither a reason to
//! look nor a share of what is found.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use resemble_core::params::SamplingParams;
use resemble_core::similarity::discount::{self, FREE, Frequency, Rarity};
use resemble_core::similarity::frame::Frame;
use resemble_core::similarity::passages::text_of_chunks;
use resemble_core::similarity::{Boilerplate, Sketch};
use resemble_core::{ContentId, ContentKind, Digest, Fingerprint, Signature};
use resemble_index::{PostingKind, ReadError, Snapshot};
use resemble_proto::message::Discount;
use resemble_proto::number::Fraction;

pub use crate::nominate::kept::{CHUNK, Kept, chunk_keys, fingerprint_keys, piece_of};

use crate::nominate::common::Common;
use crate::nominate::copies::{SubjectCopies, near_copies};
use crate::nominate::quotations::{Passage, RareSamples};
use crate::nominate::windows::SubjectWindows;
use crate::scope::ScopedFiles;

/// A content that has something in common with the subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nominee {
    /// Which content it is.
    pub content: ContentId,
    /// What both have in common. How rare that is is told of a subject that is no text.
    pub common: Common,
    /// How many of the samples by which the subject is found besides.
    pub besides: u32,
    /// What it may have of one place of the subject, if that was asked for.
    pub passage: Passage,
}

impl Nominee {
    /// [`Self::besides`], as far as it is evidence: two contents of which neither is a text are
    /// known by their windows alone.
    pub fn besides_in(&self, kind: ContentKind, other: ContentKind) -> u32 {
        let is_text = kind == ContentKind::Text || other == ContentKind::Text;
        if is_text { self.besides } else { 0 }
    }
}

/// How many contents have a piece, where that matters: more than [`FREE`] of those in question.
/// Boilerplate is what more than the limit have.
#[derive(Clone, Debug)]
pub struct Counts {
    limit: u32,
    chunks: HashMap<u64, u32>,
    fingerprints: HashMap<u64, u32>,
    /// Fingerprints that would be boilerplate but for the near-copies of the subject.
    of_copies: HashSet<u64>,
    /// The near-copies of the subject, if they are many.
    copies: SubjectCopies,
}

impl Counts {
    /// Nothing is common yet; `limit` as [`Snapshot::boilerplate_limit`].
    pub fn new(limit: u32) -> Self {
        Self {
            limit,
            chunks: HashMap::new(),
            fingerprints: HashMap::new(),
            of_copies: HashSet::new(),
            copies: SubjectCopies::default(),
        }
    }

    /// Whether a fingerprint would be boilerplate but for the near-copies of the subject.
    pub fn is_of_copies(&self, fingerprint: Fingerprint) -> bool {
        self.of_copies.contains(&fingerprint.0)
    }

    /// Whether the subject has many near-copies.
    pub fn have_copies(&self) -> bool {
        !self.copies.is_empty()
    }

    /// Whether a content is one of many near-copies of the subject.
    pub fn is_copy(&self, content: ContentId) -> bool {
        self.copies.has(content)
    }

    /// Leaves so many of the nominees that are near-copies of the subject, those that have most in
    /// common with it, and returns the near-copies that are no nominees then.
    pub fn cut_copies(&self, nominees: &mut Vec<Nominee>, most: usize) -> Vec<ContentId> {
        let is_copy = |nominee: &Nominee| self.is_copy(nominee.content);
        let copies = nominees.iter().filter(|nominee| is_copy(nominee));
        let copies = copies.map(|nominee| (nominee.content, nominee.common.fingerprints));
        let left = self.copies.best(copies.collect(), most);
        let is_cut = left.len() == most;
        let left: HashSet<ContentId> = left.into_iter().map(|copy| copy.0).collect();
        if is_cut {
            nominees.retain(|nominee| !is_copy(nominee) || left.contains(&nominee.content));
        }
        let copies = self.copies.iter();
        copies.filter(|copy| !left.contains(copy)).collect()
    }

    /// Counts the near-copies of the subject no more. `count` says how many contents have a piece
    /// of which only that they are too many was noted.
    fn leave_out_copies(
        &mut self,
        kind: PostingKind,
        copies: u32,
        count: impl Fn(u64) -> Option<u32>,
    ) {
        let counts = match kind {
            PostingKind::Chunk => &mut self.chunks,
            PostingKind::Fingerprint => &mut self.fingerprints,
        };
        for (&key, contents) in counts.iter_mut() {
            let known = if *contents == u32::MAX {
                count(key)
            } else {
                None
            };
            let all = known.unwrap_or(*contents);
            let others = all.saturating_sub(copies);
            if kind == PostingKind::Fingerprint && all > self.limit && others <= self.limit {
                self.of_copies.insert(key);
            }
            *contents = others.max(1);
        }
        counts.retain(|_, contents| *contents > FREE.min(self.limit));
    }

    /// What more contents have is boilerplate.
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Takes note of a key that so many contents have.
    pub fn note(&mut self, kind: PostingKind, key: u64, contents: usize) {
        let contents = u32::try_from(contents).unwrap_or(u32::MAX);
        if contents > FREE.min(self.limit) {
            let counts = match kind {
                PostingKind::Chunk => &mut self.chunks,
                PostingKind::Fingerprint => &mut self.fingerprints,
            };
            let known = counts.entry(key).or_default();
            *known = contents.max(*known);
        }
    }

    /// Takes note of how common the text in the chunks of a content is: one of a common text is as
    /// common, however few contents have the very chunk.
    pub fn note_passages(&mut self, sketch: &Sketch<'_>) {
        let passages = self.passages(sketch);
        self.raise(passages);
    }

    /// The chunks of a content that hold common text, and how many contents have that.
    pub fn passages(&self, sketch: &Sketch<'_>) -> Vec<(u64, u32)> {
        if self.fingerprints.is_empty() {
            return Vec::new();
        }
        let count = |sample: Fingerprint| Frequency::fingerprint(self, sample);
        text_of_chunks(sketch, count)
            .filter(|&(_, contents)| contents > FREE.min(self.limit))
            .map(|(place, contents)| (sketch.chunks.0[place].hash.posting_key(), contents))
            .collect()
    }

    /// Takes over what somebody else took note of the chunks.
    pub fn join(&mut self, other: Self) {
        self.raise(other.chunks);
    }

    /// Takes note that the texts of these chunks are in so many contents at least.
    pub fn raise(&mut self, chunks: impl IntoIterator<Item = (u64, u32)>) {
        for (key, contents) in chunks {
            let known = self.chunks.entry(key).or_default();
            *known = contents.max(*known);
        }
    }

    /// How rare what a pair shares is; `None` where nothing of it is common.
    pub fn rarity(&self, a: &Sketch<'_>, b: &Sketch<'_>) -> Option<Rarity> {
        if self.chunks.is_empty() && self.fingerprints.is_empty() {
            return None;
        }
        Some(discount::rarity(a, b, self, self.limit)).filter(|rarity| rarity.weight < 1.0)
    }

    /// How rare all is that a pair shares, boilerplate included; `None` where nothing of it is
    /// common.
    pub fn rarity_of_all(&self, a: &Sketch<'_>, b: &Sketch<'_>) -> Option<Rarity> {
        if self.chunks.is_empty() && self.fingerprints.is_empty() {
            return None;
        }
        let rarity = discount::rarity_of_all(a, b, self, self.limit);
        Some(rarity).filter(|rarity| rarity.weight < 1.0)
    }

    /// [`Self::rarity`] and [`Self::rarity_of_all`].
    pub fn rarities(&self, a: &Sketch<'_>, b: &Sketch<'_>) -> (Option<Rarity>, Option<Rarity>) {
        if self.chunks.is_empty() && self.fingerprints.is_empty() {
            return (None, None);
        }
        let (evident, all) = discount::rarities(a, b, self, self.limit);
        let common = |rarity: Rarity| Some(rarity).filter(|rarity| rarity.weight < 1.0);
        (common(evident), common(all))
    }

    /// What the samples that two contents have in common lose by being common: of each the share of
    /// its words that count nothing, and how many samples are left. Those of the frame lose all.
    pub fn losses(
        &self,
        (a, b): (&Signature, &Signature),
        frame: &Frame,
    ) -> (HashMap<Fingerprint, f64>, f64) {
        let mut weights = self.weights(a, b);
        let in_frame = weights.iter_mut().filter(|(sample, _)| frame.has(*sample));
        in_frame.for_each(|(_, weight)| *weight = 0.0);
        let left = weights.iter().map(|&(_, weight)| weight).sum();
        let losses = weights
            .into_iter()
            .map(|(sample, weight)| (sample, 1.0 - weight));
        (losses.collect(), left)
    }

    /// How many samples of those in common are left ([`Self::losses`]).
    pub fn left(&self, a: &Signature, b: &Signature) -> f64 {
        self.weights(a, b).iter().map(|&(_, weight)| weight).sum()
    }

    /// What each sample counts that two contents have in common.
    pub fn weights(&self, a: &Signature, b: &Signature) -> Vec<(Fingerprint, f64)> {
        let level = a.level.max(b.level);
        let mut of_b: Vec<Fingerprint> = b.at_level(level).collect();
        of_b.sort_unstable();
        let shared = a
            .at_level(level)
            .filter(|sample| of_b.binary_search(sample).is_ok());
        let weight = |sample| discount::weight(Frequency::fingerprint(self, sample), self.limit);
        shared.map(|sample| (sample, weight(sample))).collect()
    }

    /// A discount in words.
    pub fn in_words(raw: Fraction, left: Fraction, contents: u32) -> Discount {
        Self::discount(raw, left, || Self::reason(raw, left, contents).into())
    }

    /// A discount with this reason, if there is any.
    pub fn discount(raw: Fraction, left: Fraction, reason: impl FnOnce() -> Arc<str>) -> Discount {
        if raw == left {
            return Discount::default();
        }
        Discount {
            discounted: left,
            reason: Some(reason()),
        }
    }

    /// Why a score is less after the discount.
    pub fn reason(raw: Fraction, left: Fraction, contents: u32) -> String {
        let percent = |share: Fraction| share.percent(false).unwrap_or(0);
        let (raw, left) = (percent(raw), percent(left));
        // What few have counts less only in a frame.
        let why = match contents {
            ..=FREE => format!("the frame that {contents} files share"),
            // So common that nobody has counted.
            u32::MAX => "boilerplate".to_owned(),
            _ => format!("text found in {contents} files"),
        };
        format!("{raw} % raw, {left} % after {why}")
    }
}

impl Boilerplate for Counts {
    fn chunk(&self, key: u64) -> bool {
        self.chunks.get(&key).is_some_and(|&n| n > self.limit)
    }

    fn fingerprint(&self, fingerprint: Fingerprint) -> bool {
        let count = self.fingerprints.get(&fingerprint.0);
        count.is_some_and(|&n| n > self.limit)
    }
}

impl Frequency for Counts {
    fn chunk(&self, key: u64) -> u32 {
        self.chunks.get(&key).map_or(1, |&n| n)
    }

    fn fingerprint(&self, fingerprint: Fingerprint) -> u32 {
        self.fingerprints.get(&fingerprint.0).map_or(1, |&n| n)
    }
}

/// The most samples of a subject that are looked up: of a text, all up to some 1.5 MB.
pub const LOOKED_UP: SamplingParams = SamplingParams::at(0, 1 << 14);

/// What a subject is found by.
#[derive(Clone, Copy, Debug)]
pub struct FoundBy<'a> {
    /// Its samples and chunks.
    pub sketch: Sketch<'a>,
    /// [`Digest::besides`].
    pub besides: &'a [Fingerprint],
}

/// What is told of the nominees besides how many pieces they have in common with the subject.
#[derive(Debug, Default)]
pub struct Told {
    /// Those that have little of the subject's words are among them, by the samples of these of
    /// this level or a greater one.
    pub passages_at: Option<u8>,
    /// How rare the windows and chunks are that they have; the subject is no text.
    pub windows: Option<SubjectWindows>,
}

/// What has something in common with a subject.
#[derive(Debug)]
pub struct Nominees {
    /// By content.
    pub all: Vec<Nominee>,
    /// How common the subject's pieces are.
    pub counts: Counts,
    /// How rare, of a subject that is no text.
    pub windows: Option<SubjectWindows>,
}

/// All contents (of `scoped`, if given) that have something in common with the subject.
pub fn nominate(
    snapshot: &Snapshot,
    FoundBy { sketch, besides }: FoundBy<'_>,
    scoped: Option<&ScopedFiles>,
    told: Told,
) -> Result<Nominees, ReadError> {
    let limit = snapshot.boilerplate_limit();
    let mut counts = Counts::new(limit);
    let subject = &sketch;
    let looked_up = subject.signature.thinned(&LOOKED_UP);
    let besides = Signature {
        level: Fingerprint::BASE_LEVEL,
        fingerprints: besides.to_vec(),
        repeats: None,
    };
    let besides = besides.thinned(&LOOKED_UP);
    let keys = |signature| {
        fingerprint_keys(&Sketch {
            signature,
            ..sketch
        })
    };
    let samples = keys(&looked_up);
    let Told {
        passages_at,
        mut windows,
    } = told;
    let mut rare = passages_at.map(|level| {
        // No window is a passage.
        let of_text = looked_up.at_level(level).filter(|_| windows.is_none());
        let samples: Vec<Fingerprint> = of_text.chain(besides.at_level(level)).collect();
        RareSamples::of(&samples, limit)
    });
    let files = (snapshot, scoped);
    let kind = PostingKind::Fingerprint;
    let mut by_fingerprint = hits(files, kind, &samples, &mut counts, &mut |key, contents| {
        if let Some(rare) = &mut rare {
            rare.note(key, contents);
        }
        if let Some(windows) = &mut windows {
            windows.note(kind, key, contents);
        }
    })?;
    // How common these are is of no account: nothing is estimated by them.
    let mut no_counts = Counts::new(limit);
    let keys = keys(&besides);
    let by_besides = hits(files, kind, &keys, &mut no_counts, &mut |key, contents| {
        if let Some(rare) = &mut rare {
            rare.note(key, contents);
        }
    })?;
    let passages = rare.map(RareSamples::passages).unwrap_or_default();
    let copies = if 2 * counts.fingerprints.len() > samples.len() {
        let kept = subject.signature.thinned(&snapshot.params().shingles);
        near_copies(snapshot, &kept, scoped)?
    } else {
        SubjectCopies::default()
    };
    let count_of = |kind| move |key| snapshot.boilerplate_count(kind, key);
    if !copies.is_empty() {
        counts.leave_out_copies(kind, copies.len() as u32, count_of(kind));
        nominate_copies(&copies, counts.of_copies.len() as u32, &mut by_fingerprint);
    }
    counts.note_passages(subject);
    let mut chunks = chunk_keys(subject);
    chunks.retain(|&key| !Boilerplate::chunk(&counts, key));
    let kind = PostingKind::Chunk;
    let by_chunk = hits(files, kind, &chunks, &mut counts, &mut |key, contents| {
        if let Some(windows) = &mut windows {
            windows.note(kind, key, contents);
        }
    })?;
    if !copies.is_empty() {
        counts.leave_out_copies(kind, copies.len() as u32, count_of(kind));
    }
    counts.copies = copies;
    let rarities = windows.as_mut().map(SubjectWindows::take_common);
    let rarities = rarities.unwrap_or_default();
    let all = merged([by_fingerprint, by_chunk, by_besides], &passages, &rarities);
    Ok(Nominees {
        all,
        counts,
        windows,
    })
}

/// Each content once, with all that was found of it; every list ascends by content.
fn merged(
    hits: [Vec<(ContentId, u32)>; 3],
    passages: &[(ContentId, Passage)],
    rarities: &[(ContentId, Common)],
) -> Vec<Nominee> {
    let mut nominees: Vec<Nominee> = Vec::new();
    let mut by = hits.map(|hits| hits.into_iter().peekable());
    let mut passages = passages.iter().peekable();
    let mut rarities = rarities.iter().peekable();
    while let Some(content) = by.iter_mut().filter_map(|hits| Some(hits.peek()?.0)).min() {
        let hit = by.each_mut().map(|hits| {
            let hit = hits.next_if(|hit| hit.0 == content);
            hit.map_or(0, |hit| hit.1)
        });
        let [fingerprints, chunks, besides] = hit;
        while passages.next_if(|found| found.0 < content).is_some() {}
        let passage = passages.next_if(|found| found.0 == content);
        while rarities.next_if(|found| found.0 < content).is_some() {}
        let rarity = rarities.next_if(|found| found.0 == content);
        nominees.push(Nominee {
            content,
            common: Common {
                fingerprints,
                chunks,
                ..rarity.map_or(Common::NONE, |found| found.1)
            },
            besides,
            passage: passage.map_or_else(Passage::default, |found| found.1),
        });
    }
    nominees
}

/// So many near-copies are nominated at most, those first that have something else in common.
const MOST_COPIES: usize = 512;

/// Adds to what each content has in common with the subject the samples that all near-copies have
/// and whose lists were not read.
fn nominate_copies(copies: &SubjectCopies, common: u32, hits: &mut Vec<(ContentId, u32)>) {
    if common == 0 {
        return;
    }
    let found: HashMap<ContentId, u32> = hits.iter().copied().collect();
    let in_common = |copy: ContentId| found.get(&copy).copied().unwrap_or(0) + common;
    let all = copies.iter().map(|copy| (copy, in_common(copy)));
    let nominated = copies.best(all.collect(), MOST_COPIES);
    let others = hits.iter().filter(|hit| !copies.has(hit.0));
    let mut all: Vec<(ContentId, u32)> = others.copied().collect();
    all.extend(nominated);
    all.sort_unstable();
    *hits = all;
}

/// All contents with a chunk or a fingerprint of the digest, or with its bytes; boilerplate counts.
pub fn sharing(snapshot: &Snapshot, digest: &Digest) -> Result<BTreeSet<ContentId>, ReadError> {
    let sketch = digest.sketch();
    let mut posted: Vec<u64> = digest.posted().map(|sample| sample.0).collect();
    posted.sort_unstable();
    posted.dedup();
    let mut found: BTreeSet<ContentId> = BTreeSet::new();
    found.extend(snapshot.content_by_digest(&digest.content)?);
    for (kind, keys) in [
        (PostingKind::Chunk, chunk_keys(&sketch)),
        (PostingKind::Fingerprint, posted),
    ] {
        snapshot.postings(kind, &keys, &mut |_, contents| found.extend(contents))?;
    }
    Ok(found)
}

/// How many of the keys each content has, boilerplate aside; by content. What is common is noted in
/// `counts`, boilerplate among it; of what is none `note` is told the key and who has it.
pub(crate) fn hits(
    (snapshot, scoped): (&Snapshot, Option<&ScopedFiles>),
    kind: PostingKind,
    keys: &[u64],
    counts: &mut Counts,
    note: &mut dyn FnMut(u64, &[ContentId]),
) -> Result<Vec<(ContentId, u32)>, ReadError> {
    let limit = snapshot.boilerplate_limit();
    let mut all: Vec<ContentId> = Vec::new();
    match scoped {
        None => {
            let mut unnamed = vec![true; keys.len()];
            snapshot.postings_up_to(kind, keys, limit, &mut |at, contents| {
                unnamed[at] = false;
                counts.note(kind, keys[at], contents.len());
                note(keys[at], contents);
                all.extend_from_slice(contents);
            })?;
            // A key that nobody is named for is boilerplate, or nobody is found by it: a content is
            // posted by fewer samples than are kept of it.
            for (&key, _) in keys.iter().zip(unnamed).filter(|key| key.1) {
                if snapshot.is_boilerplate(kind, key)? {
                    counts.note(kind, key, usize::MAX);
                }
            }
        }
        Some(scoped) => snapshot.postings(kind, keys, &mut |at, contents| {
            let before = all.len();
            all.extend(
                contents
                    .iter()
                    .copied()
                    .filter(|&content| scoped.has(content)),
            );
            let count = all.len() - before;
            counts.note(kind, keys[at], count);
            if count > limit as usize {
                all.truncate(before);
            } else {
                note(keys[at], &all[before..]);
            }
        })?,
    }
    all.sort_unstable();
    let mut counted: Vec<(ContentId, u32)> = Vec::new();
    for content in all {
        match counted.last_mut() {
            Some(last) if last.0 == content => last.1 += 1,
            _ => counted.push((content, 1)),
        }
    }
    Ok(counted)
}
