//! Nominates the contents that share pieces with a subject, by posting lists, and counts how common
//! these pieces are.
//!
//! A content is nominated if it shares a chunk or fingerprints with the subject. A piece is
//! boilerplate if more contents than the limit (1,000) have it. Such a piece nominates no content,
//! and the estimates that decide about a pair leave it out. So two contents that share only a
//! licence header are not a pair.

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

pub use crate::nominate::kept::{CHUNK, StoredSketch, chunk_keys, fingerprint_keys, piece_of};

use crate::nominate::common::Common;
use crate::nominate::copies::{SubjectCopies, near_copies};
use crate::nominate::quotations::{Passage, RareSamples};
use crate::nominate::windows::SubjectWindows;
use crate::scope::ScopedFiles;

/// A content that shares pieces with the subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nominee {
    /// The id of the content.
    pub content: ContentId,
    /// The pieces that the content shares with the subject. The weights are filled in only if the
    /// subject is not a text.
    pub common: Common,
    /// The number of additional samples of the subject ([`FoundBy::besides`]) that the content has.
    pub besides: u32,
    /// The passage of the subject that the content may have, too. It is set only if the question
    /// asks for passages.
    pub passage: Passage,
}

impl Nominee {
    /// Returns [`Self::besides`] if one of the two contents is a text, and 0 otherwise. Two
    /// contents that are not texts are compared only by their windows.
    pub fn besides_in(&self, kind: ContentKind, other: ContentKind) -> u32 {
        let is_text = kind == ContentKind::Text || other == ContentKind::Text;
        if is_text { self.besides } else { 0 }
    }
}

/// The number of contents that have a piece, for each piece that more than [`FREE`] contents of the
/// question have. A piece of more than `limit` contents is boilerplate.
#[derive(Clone, Debug)]
pub struct Counts {
    limit: u32,
    chunks: HashMap<u64, u32>,
    fingerprints: HashMap<u64, u32>,
    /// The fingerprints that would be boilerplate if the near-copies of the subject were counted.
    of_copies: HashSet<u64>,
    /// The near-copies of the subject, if it has many.
    copies: SubjectCopies,
}

impl Counts {
    /// Makes empty counts. `limit` is [`Snapshot::boilerplate_limit`].
    pub fn new(limit: u32) -> Self {
        Self {
            limit,
            chunks: HashMap::new(),
            fingerprints: HashMap::new(),
            of_copies: HashSet::new(),
            copies: SubjectCopies::default(),
        }
    }

    /// Returns whether a fingerprint would be boilerplate if the near-copies of the subject were
    /// counted.
    pub fn is_of_copies(&self, fingerprint: Fingerprint) -> bool {
        self.of_copies.contains(&fingerprint.0)
    }

    /// Returns whether the subject has many near-copies.
    pub fn have_copies(&self) -> bool {
        !self.copies.is_empty()
    }

    /// Returns whether a content is a near-copy of the subject. Returns false for every content if
    /// the subject has few near-copies.
    pub fn is_copy(&self, content: ContentId) -> bool {
        self.copies.has(content)
    }

    /// Leaves only `most` near-copies in `nominees`: those that share most with the subject.
    /// Returns all other near-copies.
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

    /// Subtracts the number of near-copies from the counts. If the count of a piece is not known,
    /// because the piece is too common, `count` is called. It returns the stored count of a piece,
    /// if there is one.
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
            // If the count is still unknown, it stays unknown.
            let others = match all {
                u32::MAX => all,
                _ => all.saturating_sub(copies),
            };
            if kind == PostingKind::Fingerprint && all > self.limit && others <= self.limit {
                self.of_copies.insert(key);
            }
            *contents = others.max(1);
        }
        counts.retain(|_, contents| *contents > FREE.min(self.limit));
    }

    /// Returns the number of contents above which a piece is boilerplate.
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Records the number of contents that have a key, if it is more than [`FREE`]. If the key
    /// already has a number, the larger number is kept.
    pub fn note(&mut self, kind: PostingKind, key: u64, contents: usize) {
        let contents = u32::try_from(contents).unwrap_or(u32::MAX);
        if contents > FREE.min(self.limit) {
            let known = self.of_kind(kind).entry(key).or_default();
            *known = contents.max(*known);
        }
    }

    const fn of_kind(&mut self, kind: PostingKind) -> &mut HashMap<u64, u32> {
        match kind {
            PostingKind::Chunk => &mut self.chunks,
            PostingKind::Fingerprint => &mut self.fingerprints,
        }
    }

    /// Returns whether a key that is not boilerplate lowers the score of pairs.
    pub fn is_discounted(&self, kind: PostingKind, key: u64) -> bool {
        let counts = match kind {
            PostingKind::Chunk => &self.chunks,
            PostingKind::Fingerprint => &self.fingerprints,
        };
        counts.get(&key).is_some_and(|&n| n <= self.limit)
    }

    /// Lowers the count of a key to this number of contents.
    pub fn lower(&mut self, kind: PostingKind, key: u64, contents: usize) {
        self.of_kind(kind).remove(&key);
        self.note(kind, key, contents);
    }

    /// Records the chunks whose text is common. Such a chunk counts as common even if few contents
    /// have exactly this chunk.
    pub fn note_passages(&mut self, sketch: &Sketch<'_>) {
        let passages = self.passages(sketch);
        self.raise(passages);
    }

    /// Returns those chunks of a content whose text is common, each with the number of contents
    /// that have the text.
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

    /// Adds the counts of chunks from `other`. If both count a chunk, the larger count is kept.
    pub fn join(&mut self, other: Self) {
        self.raise(other.chunks);
    }

    /// Adds counts of chunks. If a chunk is already counted, the larger count is kept.
    pub fn raise(&mut self, chunks: impl IntoIterator<Item = (u64, u32)>) {
        for (key, contents) in chunks {
            let known = self.chunks.entry(key).or_default();
            *known = contents.max(*known);
        }
    }

    /// Returns the rarity of the pieces that two contents share, without boilerplate. Returns
    /// `None` if none of these pieces is common.
    pub fn rarity(&self, a: &Sketch<'_>, b: &Sketch<'_>) -> Option<Rarity> {
        if self.chunks.is_empty() && self.fingerprints.is_empty() {
            return None;
        }
        Some(discount::rarity(a, b, self, self.limit)).filter(|rarity| rarity.weight < 1.0)
    }

    /// Returns the rarity of the pieces that two contents share, with boilerplate. Returns `None`
    /// if none of these pieces is common.
    pub fn rarity_of_all(&self, a: &Sketch<'_>, b: &Sketch<'_>) -> Option<Rarity> {
        if self.chunks.is_empty() && self.fingerprints.is_empty() {
            return None;
        }
        let rarity = discount::rarity_of_all(a, b, self, self.limit);
        Some(rarity).filter(|rarity| rarity.weight < 1.0)
    }

    /// Returns the results of [`Self::rarity`] and [`Self::rarity_of_all`].
    pub fn rarities(&self, a: &Sketch<'_>, b: &Sketch<'_>) -> (Option<Rarity>, Option<Rarity>) {
        if self.chunks.is_empty() && self.fingerprints.is_empty() {
            return (None, None);
        }
        let (evident, all) = discount::rarities(a, b, self, self.limit);
        let common = |rarity: Rarity| Some(rarity).filter(|rarity| rarity.weight < 1.0);
        (common(evident), common(all))
    }

    /// Returns for each shared sample the weight that it loses because other contents have it, too.
    /// A sample of the frame loses all its weight. Also returns the sum of the weights that remain.
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

    /// Returns the sum of the weights of the samples that two contents share. Unlike
    /// [`Self::losses`], it includes the samples of a frame.
    pub fn left(&self, a: &Signature, b: &Signature) -> f64 {
        self.weights(a, b).iter().map(|&(_, weight)| weight).sum()
    }

    /// Returns the weight of each sample that two contents share.
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

    /// Returns the discount that lowers `raw` to `left`, with the reason in words.
    pub fn in_words(raw: Fraction, left: Fraction, contents: u32) -> Discount {
        Self::discount(raw, left, || Self::reason(raw, left, contents).into())
    }

    /// Returns the discount that lowers `raw` to `left`, with this reason. If the two are equal,
    /// there is no discount.
    pub fn discount(raw: Fraction, left: Fraction, reason: impl FnOnce() -> Arc<str>) -> Discount {
        if raw == left {
            return Discount::default();
        }
        Discount {
            discounted: left,
            reason: Some(reason()),
        }
    }

    /// Returns the reason for a discount, in words.
    pub fn reason(raw: Fraction, left: Fraction, contents: u32) -> String {
        let percent = |share: Fraction| share.percent(false).unwrap_or(0);
        let (raw, left) = (percent(raw), percent(left));
        // A piece that few contents have loses weight only if it is part of a frame, which is text
        // that otherwise different files share.
        let why = match contents {
            ..=FREE => format!("the frame that {contents} files share"),
            // The number of contents is not known, because it exceeds the limit.
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

/// The maximum number of samples of a subject that are looked up. A text of up to about 1.5 MB has
/// no more samples than this.
pub const LOOKED_UP: SamplingParams = SamplingParams::at(0, 1 << 14);

/// The pieces of a subject by which contents are nominated.
#[derive(Clone, Copy, Debug)]
pub struct FoundBy<'a> {
    /// The samples and the chunks of the subject.
    pub sketch: Sketch<'a>,
    /// The additional samples of the subject: see [`Digest::besides`].
    pub besides: &'a [Fingerprint],
}

/// Selects the facts that are recorded about nominees, in addition to the numbers of common pieces.
#[derive(Debug, Default)]
pub struct NominationSettings {
    /// The minimum level of the samples by which passages are found. If it is set, contents that
    /// share only a passage are nominated, too.
    pub passages_at: Option<u8>,
    /// Collects the contents that have the windows and chunks of the subject, if the subject is not
    /// a text.
    pub windows: Option<SubjectWindows>,
}

/// The contents that share something with a subject.
#[derive(Debug)]
pub struct Nominees {
    /// The nominees in the order of their content ids.
    pub all: Vec<Nominee>,
    /// The counts of those pieces of the subject that are common.
    pub counts: Counts,
    /// The contents that have the subject's windows and chunks, if the subject is not a text.
    pub windows: Option<SubjectWindows>,
}

/// Returns the contents that share something with the subject. If `scoped` is given, only its
/// contents are returned.
pub fn nominate(
    snapshot: &Snapshot,
    FoundBy { sketch, besides }: FoundBy<'_>,
    scoped: Option<&ScopedFiles>,
    told: NominationSettings,
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
    let NominationSettings {
        passages_at,
        mut windows,
    } = told;
    let mut rare = passages_at.map(|level| {
        // Only texts have passages, and `windows` is set only if the subject is not a text.
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
    // These samples are used only to nominate. No estimate uses them, so their counts are
    // discarded.
    let mut no_counts = Counts::new(limit);
    let keys = keys(&besides);
    let by_besides = hits(files, kind, &keys, &mut no_counts, &mut |key, contents| {
        if let Some(rare) = &mut rare {
            rare.note(key, contents);
        }
    })?;
    let passages = rare.map(RareSamples::passages).unwrap_or_default();
    let copies = if 2 * counts.fingerprints.len() >= samples.len() {
        let kept = subject.signature.thinned(&snapshot.params().shingles);
        let is_common = |sample: Fingerprint| counts.fingerprints.contains_key(&sample.0);
        near_copies(snapshot, &kept, is_common, scoped)?
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

/// Combines all hits for a content into one nominee. All lists are in the order of content ids.
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

/// The maximum number of near-copies that are nominated. Those that share most with the subject are
/// preferred.
const MOST_COPIES: usize = 512;

/// Adds `common` samples to the hits of each near-copy, and keeps only the best [`MOST_COPIES`].
/// The lists of these samples are too long to be read, and most contents in them are near-copies.
/// So every near-copy is assumed to have all of them.
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

/// Returns all contents that share a chunk or a fingerprint with the digest, and the content of the
/// digest itself. Boilerplate is not left out.
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

/// Returns for each content how many of the keys it has, in the order of content ids. Boilerplate
/// is not counted. All common keys are recorded in `counts`, including boilerplate. `note` is
/// called with each key that is not boilerplate, and with the contents that have it.
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
            // No list was read for this key. Either the key is boilerplate, or it has no list. Some
            // stored samples have no list.
            for (&key, _) in keys.iter().zip(unnamed).filter(|key| key.1) {
                if snapshot.is_boilerplate(kind, key)? {
                    counts.note(kind, key, usize::MAX);
                }
            }
        }
        Some(scoped) => scoped.postings(snapshot, kind, keys, &mut |at, contents| {
            counts.note(kind, keys[at], contents.len());
            if contents.len() <= limit as usize {
                note(keys[at], contents);
                all.extend_from_slice(contents);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Near-copies are subtracted from a count only if the count is known.
    #[test]
    fn a_count_that_is_not_known_is_not_printed() {
        let kind = PostingKind::Fingerprint;
        let mut counts = Counts::new(1000);
        counts.note(kind, 1, usize::MAX);
        counts.note(kind, 2, 500);
        counts.leave_out_copies(kind, 300, |_| None);
        let count = |key| Frequency::fingerprint(&counts, Fingerprint(key));
        assert_eq!([count(1), count(2)], [u32::MAX, 200]);
        let [raw, left] = [600_000, 100_000].map(Fraction::from_millionths);
        let reasons = [1, 2].map(|key| Counts::reason(raw, left, count(key)));
        let expected = ["boilerplate", "text found in 200 files"];
        assert_eq!(
            reasons,
            expected.map(|why| format!("60 % raw, 10 % after {why}"))
        );
    }
}
