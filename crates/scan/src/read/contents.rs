//! The queries of a reader to an index, and its results.

use resemble_core::{ComposedDigest, ContentDigest, ContentId, Digest, EditedDigest};
use resemble_index::Look;

/// The result of looking up a digest, before the content is chunked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The index has it.
    Known(ContentId),
    /// Another reader is digesting an equal file at this moment.
    InFlight,
    /// The content is new, and the caller must digest it.
    New,
}

/// Looks up contents by digest.
pub trait Contents {
    /// Returns whether this content is known.
    fn look_up(&self, digest: &ContentDigest) -> Lookup;

    /// Returns the content of a part, if it is known. Unlike [`Self::look_up`], this does not claim
    /// the digest.
    fn part(&self, digest: &ContentDigest) -> Option<ContentId> {
        let _ = digest;
        None
    }

    /// Returns whether a known content was taken apart.
    fn look(&self, content: ContentId) -> Look {
        let _ = content;
        Look::Unseen
    }
}

/// Treats every content as new: for reading outside an index.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoContents;

impl Contents for NoContents {
    fn look_up(&self, _digest: &ContentDigest) -> Lookup {
        Lookup::New
    }
}

/// The content of a file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A content of the index.
    Known(ContentId),
    /// A content that an equal file is just adding to the index.
    InFlight(ContentDigest),
    /// A new content.
    New(Box<Digest>),
    /// A new content that is mostly equal to an indexed one.
    Edited(Box<EditedDigest>),
}

impl From<ComposedDigest> for Content {
    fn from(made: ComposedDigest) -> Self {
        match made {
            ComposedDigest::Whole(digest) => Self::New(digest),
            ComposedDigest::Edited(edited) => Self::Edited(edited),
        }
    }
}

impl Content {
    /// Takes the content out. A new content leaves its digest behind, as one in flight.
    pub(crate) fn take(&mut self) -> Self {
        let left = match &*self {
            Self::New(digest) => Self::InFlight(digest.content),
            Self::Edited(edited) => Self::InFlight(edited.digest.content),
            other => other.clone(),
        };
        std::mem::replace(self, left)
    }

    /// Returns whether the content is new and has this digest.
    pub(super) fn is_new(&self, digest: &ContentDigest) -> bool {
        match self {
            Self::New(new) => new.content == *digest,
            Self::Edited(new) => new.digest.content == *digest,
            Self::Known(_) | Self::InFlight(_) => false,
        }
    }
}
