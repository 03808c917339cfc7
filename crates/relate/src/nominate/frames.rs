//! Finds the frames of contents among the contents of a question. A [`Frame`] is a text that
//! otherwise different files share, such as a letterhead.
//!
//! Every verb that lists similar files uses these frames, so all verbs leave out the same pairs.
//!
//! If a text exists in ten formats, it counts as one content that has its samples. Otherwise the
//! text that its formats share would be taken for a frame.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::frame::{Frame, HeldSample};
use resemble_core::{ContentDigest, ContentId, ContentKind, Fingerprint, Signature};
use resemble_index::{PostingKind, ReadError, Snapshot};

use crate::AskError;
use crate::nominate::evidence::StoredSketch;

/// At most this many of the contents with a frame are checked. The frame counts only if most of the
/// checked contents have a frame, too.
const ASKED: usize = 8;

/// If more contents than this have a sample, it is not considered. Such a sample would have almost
/// no weight ([`weight`](resemble_core::similarity::discount::weight)).
pub const MOST: usize = 256;

/// Contents with equal samples count as one text only if they have this many samples outside of the
/// frame. Short letters with the same letterhead have fewer, so each of several equal letters
/// counts.
const TELLING: usize = 6;

/// Gives access to the contents for which frames are searched.
pub trait SampledContents: Sync {
    /// Returns the digest of a content, if it is known.
    fn digest(&self, content: ContentId) -> Result<Option<ContentDigest>, AskError>;

    /// Returns the samples of a content.
    fn samples(&self, content: ContentId) -> Result<Signature, AskError>;
}

impl SampledContents for Snapshot {
    fn digest(&self, content: ContentId) -> Result<Option<ContentDigest>, AskError> {
        Ok(self.content(content)?.map(|row| row.digest))
    }

    fn samples(&self, content: ContentId) -> Result<Signature, AskError> {
        Ok(self.signature(content)?)
    }
}

/// Finds the contents of a question that have a given sample.
pub trait SampleHolders: Sync {
    /// Returns the samples that at most [`MOST`] contents have. Each has the list of these
    /// contents, if there are at least [`LEAST`](resemble_core::similarity::frame::LEAST) of them.
    fn held(&self, samples: &Signature) -> Result<Vec<HeldSample>, ReadError>;

    /// Returns the lowest level of the samples of a content that [`Self::held`] knows.
    fn level(&self, content: ContentId) -> u8;
}

/// Finds the contents that have a sample by the posting lists of the index.
pub struct ListedHolders<'a> {
    /// The index that has the posting lists.
    pub snapshot: &'a Snapshot,
    /// Returns whether a content is part of the question. If this is `None`, all contents of the
    /// index are part of the question.
    pub is_here: Option<&'a IsHere<'a>>,
}

/// The type of [`ListedHolders::is_here`]. It takes a content and the key of a sample.
pub type IsHere<'a> = dyn Fn(ContentId, u64) -> Result<bool, ReadError> + Sync + 'a;

impl fmt::Debug for ListedHolders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListedHolders").finish_non_exhaustive()
    }
}

impl SampleHolders for ListedHolders<'_> {
    /// Posting lists have samples of all levels.
    fn level(&self, _content: ContentId) -> u8 {
        0
    }

    fn held(&self, samples: &Signature) -> Result<Vec<HeldSample>, ReadError> {
        let mut keys: Vec<u64> = samples.fingerprints.iter().map(|f| f.0).collect();
        keys.sort_unstable();
        let mut held: Vec<Vec<ContentId>> = vec![Vec::new(); keys.len()];
        let most_read = if self.is_here.is_some() {
            u32::MAX
        } else {
            self.snapshot.boilerplate_limit()
        };
        let kind = PostingKind::Fingerprint;
        let mut failed = Ok(());
        self.snapshot
            .postings_up_to(kind, &keys, most_read, &mut |at, contents| {
                for &content in contents {
                    match self.is_here.map_or(Ok(true), |is| is(content, keys[at])) {
                        Ok(true) => held[at].push(content),
                        Ok(false) => {}
                        Err(error) => failed = Err(error),
                    }
                }
            })?;
        failed?;
        let mut samples = Vec::with_capacity(keys.len());
        for (key, holders) in keys.into_iter().zip(held) {
            let is_with_all = holders.len() > MOST
                || holders.is_empty() && self.snapshot.is_boilerplate(kind, key)?;
            if !is_with_all {
                let sample = Fingerprint(key);
                samples.push(HeldSample { sample, holders });
            }
        }
        Ok(samples)
    }
}

/// The frames of the contents of a question. Computed frames are kept.
pub struct Frames<'a> {
    contents: &'a dyn SampledContents,
    holders: &'a dyn SampleHolders,
    /// The frame of each content, from its own samples only.
    alone: Mutex<HashMap<ContentId, Arc<OwnFrame>>>,
    /// The frame of each content, if most of the other contents with this frame have a frame, too;
    /// otherwise an empty frame.
    agreed: Mutex<HashMap<ContentId, Arc<Frame>>>,
    /// For each content, a hash of all its samples, and the number of these samples.
    texts: Mutex<HashMap<ContentId, Arc<(u64, usize)>>>,
}

/// The frame of a content from its own samples only. `holders` are the contents that have the most
/// frequent sample of the frame.
#[derive(Default)]
struct OwnFrame {
    frame: Frame,
    holders: Vec<ContentId>,
}

impl fmt::Debug for Frames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames").finish_non_exhaustive()
    }
}

impl<'a> Frames<'a> {
    /// Searches for frames among the contents that `holders` finds.
    pub fn among(contents: &'a dyn SampledContents, holders: &'a dyn SampleHolders) -> Self {
        Self {
            contents,
            holders,
            alone: Mutex::default(),
            agreed: Mutex::default(),
            texts: Mutex::default(),
        }
    }

    /// Returns the frame of two texts: text that both share with otherwise different files. The
    /// frame is empty if one of the two contents is not a text.
    pub fn of_both(&self, a: &StoredSketch, b: &StoredSketch) -> Result<Frame, AskError> {
        self.of_pair((a.id, a), (b.id, b))
    }

    /// Does the same as [`Self::of_both`] for sketches with other ids. The ids beside the sketches
    /// are those of the contents in this struct.
    pub fn of_pair(
        &self,
        (a, of_a): (ContentId, &StoredSketch),
        (b, of_b): (ContentId, &StoredSketch),
    ) -> Result<Frame, AskError> {
        if (of_a.kind, of_b.kind) != (ContentKind::Text, ContentKind::Text) {
            return Ok(Frame::default());
        }
        let in_a = self.of(a, &of_a.signature)?;
        if in_a.is_empty() {
            return Ok(Frame::default());
        }
        Ok(in_a.and(&*self.of(b, &of_b.signature)?))
    }

    /// Returns the frame of a content: text that it shares with otherwise different files.
    pub fn of(&self, content: ContentId, samples: &Signature) -> Result<Arc<Frame>, AskError> {
        known(&self.agreed, content, || {
            let own = known(&self.alone, content, || self.alone(samples))?;
            self.agreed(&own)
        })
    }

    /// Returns the frame of these samples. The frame counts only if most of the contents that have
    /// it have a frame, too; otherwise it is empty. For example, a text quoted from a document with
    /// many versions is not a frame: the versions share more than the quotation, so they have no
    /// frame.
    pub fn of_samples(&self, samples: &Signature) -> Result<Frame, AskError> {
        self.agreed(&self.alone(samples)?)
    }

    fn agreed(&self, own: &OwnFrame) -> Result<Frame, AskError> {
        let mut with_digests = Vec::with_capacity(own.holders.len());
        for &holder in &own.holders {
            let digest = self.contents.digest(holder)?;
            with_digests.extend(digest.map(|digest| (digest, holder)));
        }
        with_digests.sort_unstable_by_key(|holder| holder.0.0);
        let step = with_digests.len().div_ceil(ASKED).max(1);
        let asked = with_digests.iter().step_by(step);
        let (all, mut have, mut lack) = (asked.len(), 0, 0);
        for &(_, holder) in asked {
            let of_it = known(&self.alone, holder, || {
                self.alone(&self.contents.samples(holder)?)
            })?;
            if of_it.frame.is_empty() {
                lack += 1;
            } else {
                have += 1;
            }
            // The other holders cannot change the outcome.
            if 2 * have > all || 2 * lack >= all {
                break;
            }
        }
        Ok(if 2 * have > all {
            own.frame.clone()
        } else {
            Frame::default()
        })
    }

    fn alone(&self, signature: &Signature) -> Result<OwnFrame, AskError> {
        let mut samples = self.holders.held(signature)?;
        let level = |content| self.holders.level(content);
        let mut frame = Frame::of(&samples, &level);
        if !frame.is_empty() && self.leave_one_of_each_text(&mut samples, &frame)? {
            frame = Frame::of(&samples, &level);
        }
        let in_frame = samples.into_iter().filter(|held| frame.has(held.sample));
        let most = in_frame.max_by_key(|held| held.holders.len());
        let holders = most.map_or_else(Vec::new, |held| held.holders);
        Ok(OwnFrame { frame, holders })
    }

    /// Treats contents with equal samples as one text: keeps only one of them in the lists of
    /// `samples`. All contents with few samples outside of the frame are kept ([`TELLING`]).
    /// Returns whether any content was removed.
    fn leave_one_of_each_text(
        &self,
        samples: &mut [HeldSample],
        frame: &Frame,
    ) -> Result<bool, AskError> {
        let in_frame = samples.iter().filter(|held| frame.has(held.sample));
        let holders = in_frame.clone().flat_map(|held| &held.holders);
        let mut holders: Vec<ContentId> = holders.copied().collect();
        holders.sort_unstable();
        holders.dedup();
        let least = in_frame.count() + TELLING;
        let (mut texts, mut others) = (HashSet::new(), HashSet::new());
        for holder in holders {
            let text = known(&self.texts, holder, || {
                let samples = self.contents.samples(holder)?.fingerprints;
                let mut hash = DefaultHasher::new();
                samples.hash(&mut hash);
                Ok((hash.finish(), samples.len()))
            })?;
            if text.1 >= least && !texts.insert(text.0) {
                others.insert(holder);
            }
        }
        for held in samples {
            held.holders.retain(|holder| !others.contains(holder));
        }
        Ok(!others.is_empty())
    }
}

fn known<T>(
    all: &Mutex<HashMap<ContentId, Arc<T>>>,
    content: ContentId,
    find: impl FnOnce() -> Result<T, AskError>,
) -> Result<Arc<T>, AskError> {
    if let Some(known) = all.lock().get(&content) {
        return Ok(Arc::clone(known));
    }
    let found = Arc::new(find()?);
    all.lock().insert(content, Arc::clone(&found));
    Ok(found)
}

/// Returns the smaller of two rarities. `common` discounts common pieces, and `framed` discounts
/// the pieces of a frame.
pub fn less_of(common: Option<Rarity>, framed: Option<Rarity>) -> Option<Rarity> {
    let weight = |rarity: &Rarity| rarity.weight;
    let is_more = common.as_ref().map(weight) > framed.as_ref().map(weight);
    if framed.is_some() && (common.is_none() || is_more) {
        framed
    } else {
        common
    }
}
