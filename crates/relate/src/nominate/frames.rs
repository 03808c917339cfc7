//! The frames of contents among those of a question ([`Frame`]), by their posting lists.
//!
//! Every verb that lists relatives asks here of the pairs that it would list, so all of them leave
//! the same pairs out.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::frame::{Frame, HeldSample};
use resemble_core::{ContentId, ContentKind, Fingerprint, Signature};
use resemble_index::{PostingKind, ReadError, Snapshot};

use crate::nominate::evidence::Kept;

/// Of those that have a frame so many are asked whether it is theirs as well.
const ASKED: usize = 8;

/// What more contents have counts next to nothing already
/// ([`weight`](resemble_core::similarity::discount::weight)).
pub const MOST: usize = 256;

/// Knows which contents of a question have a sample.
pub trait SampleHolders: Sync {
    /// The samples that at most [`MOST`] contents have, each with all of these if they are
    /// [`LEAST`](resemble_core::similarity::frame::LEAST) or more.
    fn held(&self, samples: &Signature) -> Result<Vec<HeldSample>, ReadError>;
}

/// By the posting lists of the index.
pub struct ListedHolders<'a> {
    /// The index.
    pub snapshot: &'a Snapshot,
    /// Whether a content is one of those in question; `None`: all of the index are.
    pub is_here: Option<&'a (dyn Fn(ContentId) -> bool + Sync)>,
}

impl fmt::Debug for ListedHolders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListedHolders").finish_non_exhaustive()
    }
}

impl SampleHolders for ListedHolders<'_> {
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
        self.snapshot
            .postings_up_to(kind, &keys, most_read, &mut |at, contents| {
                let is_here = |content: &ContentId| self.is_here.is_none_or(|is| is(*content));
                held[at] = contents.iter().copied().filter(is_here).collect();
            })?;
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

/// The frames of the contents of a question, each looked up once.
pub struct Frames<'a> {
    snapshot: &'a Snapshot,
    holders: &'a dyn SampleHolders,
    /// By content, before others are asked.
    alone: Mutex<HashMap<ContentId, Arc<OwnFrame>>>,
    /// By content, after others are asked.
    agreed: Mutex<HashMap<ContentId, Arc<Frame>>>,
}

/// What looks like the frame of a content by its own samples, and who has it.
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
    /// Among the contents that `holders` knows.
    pub fn among(snapshot: &'a Snapshot, holders: &'a dyn SampleHolders) -> Self {
        Self {
            snapshot,
            holders,
            alone: Mutex::default(),
            agreed: Mutex::default(),
        }
    }

    /// What is frame of two texts.
    pub fn of_both(&self, a: &Kept, b: &Kept) -> Result<Frame, ReadError> {
        if (a.kind, b.kind) != (ContentKind::Text, ContentKind::Text) {
            return Ok(Frame::default());
        }
        let of_a = self.of(a.id, &a.signature)?;
        if of_a.is_empty() {
            return Ok(Frame::default());
        }
        Ok(of_a.and(&*self.of(b.id, &b.signature)?))
    }

    /// The frame of a content of the index.
    pub fn of(&self, content: ContentId, samples: &Signature) -> Result<Arc<Frame>, ReadError> {
        known(&self.agreed, content, || {
            let own = known(&self.alone, content, || self.alone(samples))?;
            self.agreed(&own)
        })
    }

    /// The frame of what has these samples: what most of those that have it have as a frame, too.
    /// Two texts that quote a document have that in common with its versions, which have more.
    pub fn of_samples(&self, samples: &Signature) -> Result<Frame, ReadError> {
        self.agreed(&self.alone(samples)?)
    }

    fn agreed(&self, own: &OwnFrame) -> Result<Frame, ReadError> {
        let mut with_digests = Vec::with_capacity(own.holders.len());
        for &holder in &own.holders {
            let row = self.snapshot.content(holder)?;
            with_digests.extend(row.map(|row| (row.digest, holder)));
        }
        with_digests.sort_unstable_by_key(|holder| holder.0.0);
        let step = with_digests.len().div_ceil(ASKED).max(1);
        let (mut asked, mut agree) = (0, 0);
        for &(_, holder) in with_digests.iter().step_by(step) {
            let of_it = known(&self.alone, holder, || {
                self.alone(&self.snapshot.signature(holder)?)
            })?;
            asked += 1;
            agree += usize::from(!of_it.frame.is_empty());
        }
        Ok(if 2 * agree > asked {
            own.frame.clone()
        } else {
            Frame::default()
        })
    }

    fn alone(&self, signature: &Signature) -> Result<OwnFrame, ReadError> {
        let samples = self.holders.held(signature)?;
        let frame = Frame::of(&samples);
        let in_frame = samples.into_iter().filter(|held| frame.has(held.sample));
        let most = in_frame.max_by_key(|held| held.holders.len());
        let holders = most.map_or_else(Vec::new, |held| held.holders);
        Ok(OwnFrame { frame, holders })
    }
}

fn known<T>(
    all: &Mutex<HashMap<ContentId, Arc<T>>>,
    content: ContentId,
    find: impl FnOnce() -> Result<T, ReadError>,
) -> Result<Arc<T>, ReadError> {
    if let Some(known) = all.lock().get(&content) {
        return Ok(Arc::clone(known));
    }
    let found = Arc::new(find()?);
    all.lock().insert(content, Arc::clone(&found));
    Ok(found)
}

/// The rarity by which less is left: without what is common, or without a frame.
pub fn less_of(common: Option<Rarity>, framed: Option<Rarity>) -> Option<Rarity> {
    let weight = |rarity: &Rarity| rarity.weight;
    let is_more = common.as_ref().map(weight) > framed.as_ref().map(weight);
    if framed.is_some() && (common.is_none() || is_more) {
        framed
    } else {
        common
    }
}
