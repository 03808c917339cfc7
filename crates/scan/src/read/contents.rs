//! Defines how a reader queries the index, and which content it returns for a file.

use resemble_core::{ComposedDigest, ContentDigest, ContentId, Digest, EditedDigest};
use resemble_index::Look;

/// The answer to a reader that has hashed a content, but not chunked it yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The index has the content.
    Known(ContentId),
    /// Another reader is currently digesting an equal file.
    InFlight,
    /// The content is new. The calling reader has claimed the digest, and must digest the content.
    New,
}

/// Looks up contents by digest.
pub trait Contents {
    /// Returns whether the index has this content, or another reader digests it. In all other
    /// cases, the caller claims the digest.
    fn look_up(&self, digest: &ContentDigest) -> Lookup;

    /// Returns the content with this digest, if the index has it. Unlike [`Self::look_up`], this
    /// does not claim the digest.
    fn part(&self, digest: &ContentDigest) -> Option<ContentId> {
        let _ = digest;
        None
    }

    /// Returns whether a content of the index was taken apart.
    fn look(&self, content: ContentId) -> Look {
        let _ = content;
        Look::Unseen
    }
}

/// A [`Contents`] in which every content is new, for reading without an index.
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
    /// A content that an equal file is currently adding to the index.
    InFlight(ContentDigest),
    /// A new content.
    New(Box<Digest>),
    /// A new content, given as edits of a content of the index.
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
    /// Takes the content out. If the content is new, leaves its digest behind as
    /// [`Content::InFlight`].
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
